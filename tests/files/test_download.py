"""The downloader against a server that does everything wrong: nothing is lost, everything is listed."""

import asyncio
import hashlib
import ipaddress
import json
import os
import resource
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import replace

import pytest

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.files.download.addresses import Failed, Host, addresses_of, is_public
from evenhand.files.download.downloads import DownloadStep, Link, download, fetch_file, remove_images
from evenhand.files.download.manifest import NAME, read_manifest, removed_ids
from evenhand.files.download.web import Limits
from tests.conftest import ROOT
from tests.files.hostile_server import Handler, Server, picture

LIMITS = Limits(
    connect=60,
    read=60,
    total=60,
    max_bytes=2**20,
    attempts=3,
    backoff=0.01,
    longest_wait=2,
    allowed=("127.0.0.1/32",),
)
"""Long times: nothing but a server that is meant to be slow is too slow, however busy the machine is."""
HASTY = replace(LIMITS, connect=2, read=1, total=2)


@pytest.fixture(scope="module")
def server():
    command = [sys.executable, "-m", "tests.files.hostile_server"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


def ask(server, path):
    with urllib.request.urlopen(f"{server}/{path}", timeout=10) as reply:  # noqa: S310 - localhost
        return reply.read().decode()


def links(server, **paths):
    own = ("http:", "https:", "file:", "data:")
    return [Link(each, path if path.startswith(own) else f"{server}/{path}") for each, path in paths.items()]


def only(server, folder, path, limits=LIMITS, **options) -> DownloadStep:
    (step,) = download(links(server, a=path), folder, limits=limits, **options).steps
    return step


FAILS = {
    "status/404": "HTTP 404",
    "status/410": "HTTP 410",
    "status/403": "HTTP 403",
    "status/503": "HTTP 503",
    "flaky/9": "HTTP 500",
    "later/3600": "HTTP 429",
    "cut": "connection broke off",
    "cutopen": "truncated image",
    "garbage": "connection broke off",
    "reset": "connection broke off",
    "html": "not an image",
    "empty": "empty file",
    "pixels": "too many pixels",
    "to/http://10.0.0.1/a.jpg": "private address",
    "to/http://169.254.169.254/latest/meta-data": "private address",
    "to/http://[::1]/a.jpg": "private address",
    "to/http://[::ffff:10.0.0.1]/a.jpg": "private address",
    "to/http://2130706434/a.jpg": "private address",
    "to/file:///etc/passwd": "not an http or https address",
    "to/ftp://127.0.0.1/a.jpg": "not an http or https address",
    "to/http://user:word@127.0.0.1/a.jpg": "address with a user name",
    "loop/0": "redirects in a circle",
    "farther/0": "too many redirects",
    "hugesaid": "too large",
    "huge": "too large",
    "hugechunks": "too large",
    "bomb": "too large",
    "bombs": "unknown content coding",
    "brotli": "unknown content coding",
    "http://127.0.0.1:1/": "no connection",
    "http://127.0.0.2/a.jpg": "private address",
    "http://no-such-host.invalid/a.jpg": "no such host",
    "file:///etc/passwd": "not an http or https address",
    "data:image/png;base64,AAAA": "not an http or https address",
    "http://": "not an http or https address",
    "http://[::1": "not an http or https address",
}


@pytest.fixture(scope="module")
def wrecks(server, tmp_path_factory):
    """Everything that goes wrong, in one download with good images between."""
    folder = tmp_path_factory.mktemp("wrecks")
    paths = {f"bad{number}": path for number, path in enumerate(FAILS)}
    good = {f"good{number}": f"ok/{number}" for number in range(20)}
    return folder, download(links(server, **good, **paths), folder, limits=LIMITS)


@pytest.mark.parametrize("number", range(len(FAILS)), ids=list(FAILS))
def test_what_goes_wrong_is_listed_with_its_reason(wrecks, number):
    folder, done = wrecks
    step = next(step for step in done.steps if step.id == f"bad{number}")
    expected = list(FAILS.values())[number]
    assert (step.action, step.record.reason) == ("failed", expected), step.record.detail
    assert read_manifest(folder)[step.id].reason == expected
    assert not list(folder.glob(f"{step.id}.*"))


def test_good_images_arrive_whole_among_the_wrecks(wrecks):
    folder, done = wrecks
    assert len(done.steps) == len(FAILS) + 20
    assert done.actions == {"fetched": 20, "failed": len(FAILS)}
    assert sum(done.troubles.values()) == len(FAILS)
    records = read_manifest(folder)
    for number in range(20):
        content = (folder / f"good{number}.jpg").read_bytes()
        assert content == picture(number)
        record = records[f"good{number}"]
        assert (record.sha256, record.size) == (hashlib.sha256(content).hexdigest(), len(content))
        assert (record.width, record.height, record.content_type) == (40, 40, "image/jpeg")
        assert record.date.endswith("+00:00")
        assert record.status == "fetched"
    assert not [path for path in folder.iterdir() if path.name.startswith(".good")]


@pytest.mark.slow
def test_what_drips_is_given_up_after_so_many_attempts(server, tmp_path):
    """No end of it is waited for: each would take minutes, or send nothing at all."""
    slow = ("drip", "driphead", "silent")
    done = download(links(server, **{path: path for path in slow}), tmp_path, limits=HASTY)
    assert [(step.id, step.action, step.record.reason) for step in done.steps] == [
        (path, "failed", "too slow") for path in slow
    ]
    assert {path: ask(server, f"count/{path}") for path in slow} == dict.fromkeys(slow, "3")
    assert {each: record.reason for each, record in read_manifest(tmp_path).items()} == dict.fromkeys(
        slow, "too slow"
    )
    assert not [path for path in tmp_path.iterdir() if path.stem.strip(".") in slow]


def test_two_gigabytes_are_cut_off_at_the_limit(server, tmp_path):
    """At 1 MB; what the server could send meanwhile is in buffers of the two and of the system."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for path in ("huge", "hugechunks", "hugesaid", "bomb"):
        assert only(server, tmp_path, path).record.reason == "too large"
    for path in ("huge", "hugechunks"):
        assert 2**20 <= int(ask(server, f"sent/{path}")) < 64 * 2**20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes


def test_a_server_that_recovers_is_asked_again(server, tmp_path):
    done = download(links(server, a="flaky/2", b="later/1"), tmp_path, limits=replace(LIMITS, total=5))
    assert done.actions == {"fetched": 2}
    assert ask(server, "count/flaky/2") == "3"


def test_what_cannot_pass_is_asked_once(server, tmp_path):
    only(server, tmp_path, "status/451")
    assert ask(server, "count/status/451") == "1"


def test_redirects_within_the_public_web_are_followed(server, tmp_path):
    step = only(server, tmp_path, f"to/{server}/ok/5")
    assert step.action == "fetched"
    assert step.record.final_url == f"{server}/ok/5"
    assert step.record.url == f"{server}/to/{server}/ok/5"


def test_packed_content_is_unpacked(server, tmp_path):
    assert only(server, tmp_path, "packed").action == "fetched"
    assert (tmp_path / "a.jpg").read_bytes() == picture(8)


@pytest.mark.parametrize(
    ("form", "ending"),
    [("PNG", ".png"), ("WEBP", ".webp"), ("GIF", ".gif"), ("BMP", ".bmp"), ("TIFF", ".tif"), ("PPM", ".ppm")],
)
def test_the_ending_is_that_of_the_content(server, tmp_path, form, ending):
    assert only(server, tmp_path, f"form/{form}").record.file == f"a{ending}"


def test_nothing_that_is_there_is_asked_again(server, tmp_path):
    wanted = links(server, **{f"i{number}": f"ok/{number}" for number in range(40, 45)})
    download(wanted, tmp_path, limits=LIMITS)
    (tmp_path / "i42.jpg").unlink()
    done = download(wanted, tmp_path, limits=LIMITS)
    assert done.actions == {"kept": 4, "fetched": 1}
    assert ask(server, "count/ok/41") == "1"
    assert ask(server, "count/ok/42") == "2"


def test_failures_are_asked_again_by_the_next_call(server, tmp_path):
    ask(server, "set/later/status404")
    assert only(server, tmp_path, "dial/later").record.reason == "HTTP 404"
    ask(server, "set/later/7")
    assert only(server, tmp_path, "dial/later").action == "fetched"
    assert read_manifest(tmp_path)["a"].reason == ""


def test_changed_content_is_reported_and_the_old_image_kept(server, tmp_path):
    ask(server, "set/change/1")
    only(server, tmp_path, "dial/change")
    ask(server, "set/change/2")
    assert only(server, tmp_path, "dial/change").action == "kept"
    step = only(server, tmp_path, "dial/change", check=True)
    assert (step.action, step.record.reason) == ("changed", "another image than before")
    assert step.record.seen_sha256 == hashlib.sha256(picture(2)).hexdigest()
    assert (tmp_path / "a.jpg").read_bytes() == picture(1)
    assert only(server, tmp_path, "dial/change", replace_changed=True).action == "replaced"
    assert (tmp_path / "a.jpg").read_bytes() == picture(2)
    assert only(server, tmp_path, "dial/change", check=True).action == "same"


def test_changed_content_is_not_taken_for_a_lost_file(server, tmp_path):
    ask(server, "set/lost/1")
    only(server, tmp_path, "dial/lost")
    (tmp_path / "a.jpg").unlink()
    ask(server, "set/lost/2")
    assert only(server, tmp_path, "dial/lost").action == "changed"
    assert not (tmp_path / "a.jpg").exists()
    ask(server, "set/lost/1")
    assert only(server, tmp_path, "dial/lost").action == "fetched"


def test_a_url_that_died_leaves_the_image(server, tmp_path):
    ask(server, "set/dies/1")
    only(server, tmp_path, "dial/dies")
    ask(server, "set/dies/status404")
    step = only(server, tmp_path, "dial/dies", check=True)
    assert (step.action, step.record.reason) == ("failed", "HTTP 404")
    assert (tmp_path / "a.jpg").read_bytes() == picture(1)
    assert only(server, tmp_path, "dial/dies").action == "kept"


def test_another_url_for_an_image_that_is_there_is_reported(server, tmp_path):
    only(server, tmp_path, "ok/1")
    step = only(server, tmp_path, "ok/2")
    assert (step.action, step.record.reason) == ("changed", "another URL than before")
    assert (tmp_path / "a.jpg").read_bytes() == picture(1)
    assert only(server, tmp_path, "ok/2", replace_changed=True).action == "replaced"


def test_files_of_the_user_are_taken_as_they_are(server, tmp_path):
    (tmp_path / "a.PNG").write_bytes(picture(70, form="PNG"))
    (tmp_path / "b.jpg").write_bytes(b"<html>")
    done = download(links(server, a="ok/71", b="ok/72"), tmp_path, limits=LIMITS)
    assert [(step.action, step.record.reason) for step in done.steps] == [
        ("found", ""),
        ("failed", "not an image"),
    ]
    assert (tmp_path / "a.PNG").read_bytes() == picture(70, form="PNG")
    assert (tmp_path / "b.jpg").read_bytes() == b"<html>"
    assert ask(server, "count/ok/71") == "0"
    assert download(links(server, a="ok/71"), tmp_path, limits=LIMITS).actions == {"kept": 1}


def test_an_image_that_was_edited_is_left_alone(server, tmp_path):
    only(server, tmp_path, "ok/73")
    (tmp_path / "a.jpg").write_bytes(picture(74))
    step = only(server, tmp_path, "ok/73")
    assert (step.action, step.record.reason) == ("found", "not the file that was fetched")
    assert (tmp_path / "a.jpg").read_bytes() == picture(74)


def test_two_files_for_one_id_are_refused(server, tmp_path):
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "a.jpg").write_bytes(b"")
    with pytest.raises(InputError, match=r"'a\.jpg' and 'a\.png' for one id"):
        only(server, tmp_path, "ok/1")


@pytest.mark.parametrize("each", ["../a", "a/b", ".a", "", "a\0b", "a b", "ä"])
def test_ids_that_cannot_name_a_file_are_refused(tmp_path, each):
    with pytest.raises(ParameterError, match="cannot name a file"):
        download([Link(each, "http://127.0.0.1/")], tmp_path)


def test_an_id_given_twice_is_refused(tmp_path):
    with pytest.raises(InputError, match="given 2 times"):
        download([Link("a", "http://127.0.0.1/1"), Link("a", "http://127.0.0.1/2")], tmp_path)


def test_links_to_skip_are_listed(server, tmp_path):
    done = download([Link("a", f"{server}/ok/75", "licence not confirmed")], tmp_path, limits=LIMITS)
    assert [(step.action, step.record.reason) for step in done.steps] == [
        ("skipped", "licence not confirmed")
    ]
    assert ask(server, "count/ok/75") == "0"


def test_removed_images_are_gone_and_stay_away(server, tmp_path):
    wanted = links(server, a="ok/80", b="ok/81")
    download(wanted, tmp_path, limits=LIMITS)
    assert remove_images(tmp_path, ["a"]) == ["a.jpg"]
    assert not (tmp_path / "a.jpg").exists()
    assert download(wanted, tmp_path, limits=LIMITS).actions == {"removed": 1, "kept": 1}
    assert download(wanted, tmp_path, limits=LIMITS, check=True).actions == {"removed": 1, "same": 1}
    assert ask(server, "count/ok/80") == "1"
    assert removed_ids(tmp_path) == ["a"]
    kept = (tmp_path / NAME).read_text()
    assert hashlib.sha256(picture(80)).hexdigest() not in kept
    assert "ok/80" not in kept
    with pytest.raises(UnknownName, match="there is no image 'c'"):
        remove_images(tmp_path, ["b", "c"])
    assert (tmp_path / "b.jpg").exists()


def test_images_that_stand_in_for_others_are_doubted(server, tmp_path):
    shared = {"a": "sorry/1", "b": "sorry/2", "c": "ok/82", "d": "plain", "e": "tiny"}
    done = download(
        links(server, **shared, f=f"to/{server}/unavailable/1", g="ok/83", h="ok/83"), tmp_path, limits=LIMITS
    )
    assert done.actions == {"fetched": 8}
    assert done.stand_ins == {
        "a": "same image from several URLs",
        "b": "same image from several URLs",
        "d": "one colour only",
        "e": "tiny image",
        "f": "redirected to a placeholder",
    }


def test_a_host_is_asked_politely(server, tmp_path):
    paths = {f"p{number}": f"lasting/{number}" for number in range(12)}
    began = time.monotonic()
    before = int(ask(server, "busiest"))
    download(links(server, **paths), tmp_path, limits=replace(LIMITS, per_host=2, at_once=8))
    assert time.monotonic() - began >= 12 / 2 * 0.15
    assert int(ask(server, "busiest")) <= max(2, before)
    assert all(agent.startswith("evenhand/") for agent in json.loads(ask(server, "agents")))


DOWNLOAD = """
import sys
from pathlib import Path
from evenhand.files.download.downloads import Link, download
from evenhand.files.download.web import Limits
server, folder = sys.argv[1:]
print("go", flush=True)
download(
    [Link(f"k{n}", f"{server}/lasting/{n}") for n in range(100, 140)], Path(folder),
    limits=Limits(allowed=("127.0.0.1/32",), per_host=2),
)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_download_loses_nothing(server, tmp_path, how):
    command = [sys.executable, "-c", DOWNLOAD, server, str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    while len(list(tmp_path.glob("k*.jpg"))) < 6:
        time.sleep(0.02)
    os.kill(process.pid, how)
    assert process.wait(timeout=120) != 0
    there = {path.stem: path.read_bytes() for path in tmp_path.glob("k*.jpg")}
    assert 6 <= len(there) < 40
    assert all(there[each] == picture(int(each[1:])) for each in there)
    known = {each for each, record in read_manifest(tmp_path).items() if record.status == "fetched"}
    assert len(there.keys() - known) <= 1  # the one that a kill cut off between file and journal
    counts = {each: ask(server, f"count/lasting/{each[1:]}") for each in there}
    wanted = links(server, **{f"k{number}": f"lasting/{number}" for number in range(100, 140)})
    done = download(wanted, tmp_path, limits=replace(LIMITS, total=20, per_host=8))
    assert done.actions["kept"] + done.actions["found"] == len(there)
    assert done.actions["fetched"] == 40 - len(there)
    assert {each: ask(server, f"count/lasting/{each[1:]}") for each in there} == counts
    assert len(read_manifest(tmp_path)) == 40


def test_a_journal_that_was_cut_off_goes_on(server, tmp_path):
    download(links(server, a="ok/90", b="ok/91"), tmp_path, limits=LIMITS)
    journal = tmp_path / NAME
    journal.write_bytes(journal.read_bytes()[:-40])
    done = download(links(server, a="ok/90", b="ok/91", c="ok/92"), tmp_path, limits=LIMITS)
    assert done.actions == {"kept": 1, "found": 1, "fetched": 1}
    assert set(read_manifest(tmp_path)) == {"a", "b", "c"}


def test_what_is_no_manifest_is_not_written_over(server, tmp_path):
    (tmp_path / NAME).write_text("my notes\nof today\n")
    with pytest.raises(InputError, match="no manifest of images"):
        only(server, tmp_path, "ok/1")
    assert (tmp_path / NAME).read_text() == "my notes\nof today\n"


def test_a_folder_is_filled_by_one_process(server, tmp_path):
    from filelock import FileLock

    with FileLock(tmp_path / ".manifest.lock"), pytest.raises(InputError, match="another process is filling"):
        only(server, tmp_path, "ok/1")


def test_a_known_file_is_fetched_once_and_checked(server, tmp_path):
    target, sha256 = tmp_path / "deep" / "x.tsv", hashlib.sha256(b"hello").hexdigest()
    fetch_file([f"{server}/text/hello"], target, sha256, limits=LIMITS)
    fetch_file([f"{server}/text/hello"], target, sha256, limits=LIMITS)
    assert target.read_bytes() == b"hello"
    assert ask(server, "count/text/hello") == "1"


def test_another_place_is_asked_where_the_first_does_not_know_the_file(server, tmp_path):
    target, sha256 = tmp_path / "x.tsv", hashlib.sha256(b"there").hexdigest()
    assert fetch_file([f"{server}/status/404", f"{server}/text/there"], target, sha256, limits=LIMITS)
    assert target.read_bytes() == b"there"
    assert not fetch_file([f"{server}/status/404", f"{server}/text/there"], target, sha256, limits=LIMITS)


def test_a_check_writes_no_image(server, tmp_path):
    done = download(links(server, a="ok/96", b="sorry/3", c="sorry/4"), tmp_path, check=True, limits=LIMITS)
    assert done.actions == {"alive": 3}
    assert set(done.stand_ins) == {"b", "c"}
    assert not list(tmp_path.glob("*.jpg"))
    assert download(links(server, a="ok/96"), tmp_path, limits=LIMITS).actions == {"fetched": 1}


def test_a_check_compares_files_of_the_user(server, tmp_path):
    (tmp_path / "a.jpg").write_bytes(picture(98))
    (tmp_path / "b.jpg").write_bytes(picture(97))
    done = download(links(server, a="ok/98", b="ok/99"), tmp_path, check=True, limits=LIMITS)
    assert [step.action for step in done.steps] == ["same", "changed"]
    assert (tmp_path / "b.jpg").read_bytes() == picture(97)


def test_an_image_that_became_a_placeholder_is_doubted(server, tmp_path):
    wanted = links(server, a="dial/gone1", b="dial/gone2", c="ok/97")
    ask(server, "set/gone2/2")
    download(wanted, tmp_path, limits=LIMITS)
    ask(server, "set/gone1/404")
    ask(server, "set/gone2/404")
    done = download(wanted, tmp_path, check=True, limits=LIMITS)
    assert done.actions == {"changed": 2, "same": 1}
    assert set(done.stand_ins) == {"a", "b"}


def test_another_file_than_expected_is_not_written(server, tmp_path):
    target = tmp_path / "x.tsv"
    with pytest.raises(InputError, match=r"another file than expected .*--data DIR"):
        fetch_file([f"{server}/text/evil"], target, "0" * 64, limits=LIMITS)
    assert not target.exists()
    target.write_bytes(b"mine")
    with pytest.raises(InputError, match="move it away"):
        fetch_file([f"{server}/text/hello"], target, "0" * 64, limits=LIMITS)
    assert target.read_bytes() == b"mine"


def test_without_a_network_there_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"cannot be fetched: no such host.*--data DIR") as problem:
        fetch_file(["http://no-such-host.invalid/x"], tmp_path / "x", "0" * 64, limits=LIMITS)
    assert "\n" not in str(problem.value)


PRIVATE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
    "0.0.0.0",  # noqa: S104
    "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "fec0::1",
    "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:192.168.0.1", "2002:7f00:1::", "64:ff9b::a00:1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_are_not_public(address):
    assert not is_public(ipaddress.ip_address(address))


PUBLIC = ["8.8.8.8", "151.101.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_that_are_public(address):
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("host", ["localhost", "127.1", "0x7f.1", "2130706433"])
def test_other_spellings_of_this_machine_are_private(host):
    with pytest.raises(Failed, match=r"private address|no such host"):
        asyncio.run(addresses_of(Host("http", host, 80)))


def test_the_checked_address_is_asked_whatever_the_name_says_later(server, tmp_path, monkeypatch):
    """A name that leads to a public address when it is checked and to this machine afterwards."""
    asked = []

    async def lookup(self, host, port, **_):
        asked.append(host)
        there = "127.0.0.1" if len(asked) == 1 else "10.0.0.1"
        return [(2, 1, 6, "", (there, port))]

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", lookup)
    port = server.rpartition(":")[2]
    step = only(server, tmp_path, f"http://rebinding.example:{port}/ok/95", replace(LIMITS, attempts=1))
    assert step.action == "fetched", step.record
    assert asked == ["rebinding.example"]


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """A server with a certificate for images.example, and the authority that signed it."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    folder = tmp_path_factory.mktemp("certificates")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    command += ["-addext", "subjectAltName=DNS:images.example", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], certificate
        server.shutdown()


@pytest.mark.parametrize(
    ("host", "trusted", "expected"),
    [
        ("images.example", True, "fetched"),
        ("images.example", False, "certificate not valid"),
        ("other.example", True, "certificate not valid"),
        ("127.0.0.1", True, "certificate not valid"),
    ],
)
def test_certificates_are_those_of_the_name_not_of_the_address(
    secure, tmp_path, monkeypatch, host, trusted, expected
):
    port, certificate = secure

    async def lookup(self, host, port, **_):
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", lookup)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    step = only("", tmp_path, f"https://{host}:{port}/ok/1")
    assert expected in (step.action, step.record.reason), step.record
