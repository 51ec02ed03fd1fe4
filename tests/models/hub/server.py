"""A Hugging Face hub on localhost: it answers as the real one does, and keeps a log.

What it answers is written from the client's own code (huggingface_hub) and public pages of the hub: the
JSON of ``/api/models``, its tree and its discussions; ``X-Repo-Commit``, ``ETag``, ``X-Linked-*``; a relative
redirect for small files, one to another host for large ones; ``X-Error-Code``; 429 with ``Retry-After``;
ranges.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONVERTER, CONVERSION = "SFconvertbot", "Adding `safetensors` variant of this model"
LARGE = (".safetensors", ".bin", ".h5", ".msgpack")  # what .gitattributes hands to LFS
TOO_MANY = (429, {"Retry-After": "0"}, b"")


@dataclass
class Hub:
    """What the server serves and was asked for.

    Args:
        folders: From ``org/name`` to the folder with its files.
        gated: Names that want a login, and what they are answered with: 401 without one, 403 with one.
        conversions: From a name to the folders of its pull requests, by number.
        renamed: From former names to present ones.
        cut: Ends of paths whose first transfer breaks off in the middle.
        busy: Ends of paths, and how many requests for each are refused at first as too many.
        author: Who opened the pull requests.
    """

    folders: dict[str, Path]
    gated: Mapping[str, int] = field(default_factory=dict)
    conversions: Mapping[str, Mapping[int, Path]] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    busy: Counter[str] = field(default_factory=Counter)
    author: str = CONVERTER
    fetched: list[str] = field(default_factory=list)
    log: list[tuple[str, str, int, int]] = field(default_factory=list)
    url: str = ""

    def bytes_of(self, name: str) -> int:
        """How much of a repository's files went out."""
        return sum(sent for method, path, _, sent in self.log if method == "GET" and f"{name}/" in path
                   and not path.startswith("/api/models"))  # fmt: skip

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a request."""
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        for end in [end for end, left in self.busy.items() if left and "/".join(parts).endswith(end)]:
            self.busy[end] -= 1
            return TOO_MANY
        kind = {"api": 2, "cdn": 1}.get(parts[0], 0)
        name, rest = "/".join(parts[kind : kind + 2]), parts[kind + 2 :]
        if parts[:2] == ["api", "resolve-cache"]:
            name, rest, kind = "/".join(parts[3:5]), ["resolve", *parts[5:]], 3
        if name in self.renamed:
            return 307, {"Location": path.replace(name, self.renamed[name], 1)}, b""
        if name not in self.folders:  # private ones and none at all look alike to who is not logged in
            return 401, {"X-Error-Code": "RepoNotFound"}, b""
        if kind == 2:
            return self._api(name, rest)
        if name in self.gated:
            return self.gated[name], {"X-Error-Code": "GatedRepo"}, b""
        return self._file(name, rest[1], "/".join(rest[2:]), final=kind != 0)

    def _at(self, name: str, revision: str) -> Path | None:
        """The files of a revision."""
        if revision in ("main", COMMIT):
            return self.folders[name]
        requests = self.conversions.get(name, {})
        at = {f"refs/pr/{number}": folder for number, folder in requests.items()}
        return next((at[ref] for ref in at if revision in (ref, _commit_of(ref))), None)

    def _commit(self, name: str, revision: str) -> str:
        return COMMIT if self._at(name, revision) == self.folders[name] else _commit_of(revision)

    def _api(self, name: str, rest: list[str]) -> tuple[int, dict[str, str], bytes]:
        if rest == ["discussions"]:
            entries = [
                {"num": number, "title": CONVERSION, "status": "open", "isPullRequest": True,
                 "author": {"name": self.author}, "createdAt": "2023-03-01T00:00:00.000Z",
                 "repo": {"name": name, "type": "model"}}
                for number in self.conversions.get(name, {})
            ]  # fmt: skip
            return _json({"discussions": entries, "count": len(entries), "start": 0})
        revision = rest[1] if len(rest) > 1 else "main"
        folder = self._at(name, revision)
        if folder is None:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        paths = sorted(file for file in folder.rglob("*") if file.is_file())
        files = {file.relative_to(folder).as_posix(): file for file in paths}
        if rest and rest[0] == "tree":
            return _json([_entry(path, file) for path, file in files.items()])
        siblings = [{"rfilename": path} for path in files]
        return _json({"id": name, "sha": self._commit(name, revision), "siblings": siblings})

    def _file(self, name: str, revision: str, path: str, *, final: bool) -> tuple[int, dict[str, str], bytes]:
        folder, commit = self._at(name, revision), self._commit(name, revision)
        if folder is None:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        file, repository = folder / path, {"X-Repo-Commit": commit}
        if not file.is_file():
            return 404, {"X-Error-Code": "EntryNotFound", **repository}, b""
        digest = _sha256(file, file.stat().st_mtime_ns)
        if final:
            return 200, {**repository, "ETag": f'"{digest}"'}, file.read_bytes()
        if file.suffix in LARGE:
            linked = {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(file.stat().st_size)}
            there = self.url.replace("127.0.0.1", "localhost")
            return (
                302,
                {**repository, **linked, "Location": f"{there}/cdn/{name}/resolve/{commit}/{path}"},
                b"",
            )
        return 307, {**repository, "Location": f"/api/resolve-cache/models/{name}/{commit}/{path}"}, b""


def _commit_of(ref: str) -> str:
    """The commit of a pull request; a commit is its own."""
    return hashlib.sha1(ref.encode(), usedforsecurity=False).hexdigest() if ref.startswith("refs/") else ref


def _json(content: object) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Type": "application/json"}, json.dumps(content).encode()


@cache
def _sha256(file: Path, _changed: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _entry(path: str, file: Path) -> dict[str, object]:
    digest, n_bytes = _sha256(file, file.stat().st_mtime_ns), file.stat().st_size
    lfs = {"lfs": {"oid": digest, "size": n_bytes, "pointerSize": 134}} if file.suffix in LARGE else {}
    return {"type": "file", "path": path, "size": n_bytes, "oid": digest[:40], **lfs}


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve on a free port of localhost, and give the hub with its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _reply(self, method: str) -> None:
            status, headers, content = hub.answer(self.path)
            sent = content if method == "GET" else b""
            if sent and status == 200 and (wanted := self.headers.get("Range")):
                start = int(wanted.removeprefix("bytes=").partition("-")[0])
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
                status, content = 206, content[start:]
                sent = content
            cut = next((end for end in hub.cut if sent and self.path.endswith(end)), None)
            if cut:
                hub.cut.discard(cut)
                sent = sent[: len(sent) // 2]
            hub.log.append((method, self.path, status, len(sent)))
            is_file = status in (200, 206) and not self.path.startswith("/api/models")
            if method == "GET" and is_file:
                hub.fetched.append(self.path)
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(sent)
            self.close_connection = bool(cut)

        def do_GET(self) -> None:
            self._reply("GET")

        def do_HEAD(self) -> None:
            self._reply("HEAD")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def online(hub: Hub, cache: Path) -> dict[str, str]:
    """What the environment of a process says that is to use this hub, and a cache of its own."""
    proxies = {
        name: "" for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy") if name in os.environ
    }
    return proxies | {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(cache),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "EVENHAND_HOME": str(cache / "evenhand"),
    }
