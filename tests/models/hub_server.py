"""A Hugging Face hub on localhost that serves folders, and counts what it is asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """What the server serves and was asked for.

    Args:
        folders: From ``org/name`` to the folder with its files.
        gated: Names that want a login.
    """

    def __init__(self, folders: dict[str, Path], gated: tuple[str, ...] = ()) -> None:
        self.folders, self.gated = folders, gated
        self.fetched: list[str] = []
        self.url = ""

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a request."""
        parts = urlsplit(path).path.strip("/").split("/")
        api = parts[0] == "api"
        name = "/".join(parts[2:4] if api else parts[:2])
        if name in self.gated and (not api or "tree" in parts):
            return 403, {"X-Error-Code": "GatedRepo"}, b""
        if name not in self.folders:
            return 404, {"X-Error-Code": "RepoNotFound"}, b""
        rest = parts[4:] if api else parts[2:]
        if rest and len(rest) > 1 and rest[1] not in ("main", COMMIT):
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        return self._listing(name, rest) if api else self._file(self.folders[name].joinpath(*rest[2:]))

    def _listing(self, name: str, rest: list[str]) -> tuple[int, dict[str, str], bytes]:
        folder = self.folders[name]
        files = {
            file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*")) if file.is_file()
        }
        if rest and rest[0] == "tree":
            body = [
                {"type": "file", "path": path, "size": file.stat().st_size, "oid": _digest(file)[:40]}
                for path, file in files.items()
            ]
            return 200, {}, json.dumps(body).encode()
        siblings = [{"rfilename": path} for path in files]
        return 200, {}, json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}).encode()

    def _file(self, file: Path) -> tuple[int, dict[str, str], bytes]:
        if not file.is_file():
            return 404, {"X-Error-Code": "EntryNotFound"}, b""
        return 200, {"X-Repo-Commit": COMMIT, "ETag": f'"{_digest(file)}"'}, file.read_bytes()


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Serve on a free port of localhost, and give the hub with its address."""

    class Handler(BaseHTTPRequestHandler):
        def _reply(self, *, body: bool) -> None:
            status, headers, content = hub.answer(self.path)
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body:
                hub.fetched.append(self.path)
                self.wfile.write(content)

        def do_GET(self) -> None:
            self._reply(body=True)

        def do_HEAD(self) -> None:
            self._reply(body=False)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
