"""Addresses are stored and printed without what opens them."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import evenhand as eh
from evenhand.core.errors import InputError, UserError
from evenhand.core.unseen import without_secrets
from evenhand.files.tables.scan import Origin
from evenhand.runs.manifest import make_manifest
from tests.conftest import make_frame

SECRETS = ("passw0rd", "S3CRET", "t0ken")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://me:passw0rd@host.org/a/t.csv", "https://…@host.org/a/t.csv"),
        ("https://t0ken@host.org/t.csv", "https://…@host.org/t.csv"),
        ("s3://bucket/t.parquet?X-Amz-Signature=S3CRET&v=2", "s3://bucket/t.parquet?X-Amz-Signature=…&v=…"),
        ("https://host/t.csv?t0ken#S3CRET", "https://host/t.csv?…"),
        ("abfss://box@account.dfs.core.windows.net/t.parquet",) * 2,
        ("abfss://box:passw0rd@account.dfs.core.windows.net/t", "abfss://…@account.dfs.core.windows.net/t"),
        ("hf://datasets/org/name@refs/t.parquet",) * 2,
        ("api:tiny@http://127.0.0.1:8000/v1?rpm=60",) * 2,
        ("C:\\tables\\t.csv?no address",) * 2,
        ("'https://a:t0ken@h/x?k=S3CRET' cannot be read", "'https://…@h/x?k=…' cannot be read"),
        ("p@ss and who?me=you",) * 2,
    ],
)
def test_passwords_signatures_and_tokens_are_cut(given, shown):
    assert without_secrets(given) == shown
    assert not any(secret in without_secrets(given) for secret in SECRETS)


def test_origins_messages_and_commands_hold_none(monkeypatch):
    address = "https://me:passw0rd@host/t.csv?sig=S3CRET"
    assert Origin(address, None, None).path == "https://…@host/t.csv?sig=…"
    assert Origin(address, None, None).is_text
    assert str(UserError(f"{address!r} is gone")) == "'https://…@host/t.csv?sig=…' is gone"
    monkeypatch.setattr("sys.argv", ["evenhand", "audit", address])
    assert make_manifest({}, {})["command"] == ["evenhand", "audit", "https://…@host/t.csv?sig=…"]


class _Table(BaseHTTPRequestHandler):
    """Serves a table, by ranges too, as cloud storage does."""

    content = make_frame(bias=0.9).write_csv().encode()

    def do_HEAD(self):
        self._begin(200, len(self.content))

    def do_GET(self):
        first, last = 0, len(self.content) - 1
        asked = self.headers.get("Range", "").removeprefix("bytes=")
        if asked:
            begin, _, end = asked.partition("-")
            first, last = int(begin), min(int(end or last), last)
        self._begin(206 if asked else 200, last + 1 - first, f"bytes {first}-{last}/{len(self.content)}")
        self.wfile.write(self.content[first : last + 1])

    def _begin(self, status, length, part=""):
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.send_header("Accept-Ranges", "bytes")
        if status == 206:
            self.send_header("Content-Range", part)
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def host():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Table)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_table_behind_a_password_and_a_signature_leaves_neither_in_its_run(host, tmp_path):
    address = f"http://me:passw0rd@{host}/t.csv?sig=S3CRET"
    run = eh.audit(address, truth="truth", prediction="prediction", by="group", out=tmp_path / "run")
    assert run.manifest["source"]["path"] == f"http://…@{host}/t.csv?sig=…"
    files = [file for file in (tmp_path / "run").rglob("*") if file.is_file()]
    assert files
    for file in files:
        assert not any(secret.encode() in file.read_bytes() for secret in SECRETS), file.name
    with pytest.raises(InputError) as refused:
        eh.audit(address.replace(".csv", ".xyz"), truth="truth", prediction="prediction", by="group")
    assert not any(secret in str(refused.value) for secret in SECRETS)
