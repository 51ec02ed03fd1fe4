"""Hashes are those of sha256sum."""

import hashlib
import os

import pytest

from evenhand.files.hashing import sha256_each, sha256_file, sha256_text
from evenhand.files.threads import by_threads, cores
from evenhand.workflows.execution.options import AskOptions
from tests.architecture.source_tree import FILES

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("content", [b"", b"abc", b"\r\n\x00\xff" * 200_000])
def test_files(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    assert sha256_file(tmp_path / "file") == hashlib.sha256(content).hexdigest()


def test_known_values():
    assert sha256_text("") == EMPTY
    assert sha256_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_text_is_hashed_as_utf8(tmp_path):
    (tmp_path / "file").write_text("Cramér", encoding="utf-8")
    assert sha256_file(tmp_path / "file") == sha256_text("Cramér")
    assert sha256_text("Cramér") != sha256_text("Cramer")


def test_many_files_keep_their_order_and_their_troubles(tmp_path):
    """So many that threads share them; each result stands where its path does."""
    contents = [f"{number}".encode() * number for number in range(121)]
    paths = [tmp_path / f"{number}.bin" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    paths[60].unlink()
    results = sha256_each(paths)
    assert isinstance(results[60], FileNotFoundError)
    del results[60], contents[60]
    assert [digest for digest, _ in results] == [hashlib.sha256(content).hexdigest() for content in contents]


def test_systems_that_do_not_say_which_cores_are_free(tmp_path, monkeypatch):
    """Only Linux does; elsewhere every run stopped at this."""
    paths = [tmp_path / str(number) for number in range(60)]
    for path in paths:
        path.write_text(path.name, encoding="utf-8")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert cores() == os.cpu_count()
    assert AskOptions().n_workers() == min(os.cpu_count(), 8)
    assert [digest for digest, _ in sha256_each(paths)] == [sha256_text(path.name) for path in paths]
    asking = [path.name for path in FILES if "sched_getaffinity" in path.read_text(encoding="utf-8")]
    assert asking == ["threads.py"]


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
def test_shares_of_threads_keep_the_order(n):
    assert by_threads(lambda share: [2 * item for item in share], range(n), 3, "test") == list(
        range(0, 2 * n, 2)
    )
