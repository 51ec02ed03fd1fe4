"""Whole or not at all: a failure in the middle leaves the old content and no temporary files."""

import os
import stat
from pathlib import Path

import pytest

from evenhand.core.errors import InputError
from evenhand.files.atomic import atomic_folder, atomic_path, check_replaceable, write_bytes


class Failure(Exception):
    pass


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def write_half(target):
    with atomic_path(target) as temporary:
        temporary.write_bytes(b"half")
        raise Failure


def test_a_file_is_written_and_replaced(tmp_path):
    write_bytes(tmp_path / "deep" / "file", b"one")
    write_bytes(tmp_path / "deep" / "file", b"two")
    assert tree(tmp_path) == {"deep/file": b"two"}


def test_a_failure_keeps_the_old_file(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(Failure):
        write_half(tmp_path / "file")
    assert tree(tmp_path) == {"file": b"old"}


def test_a_failure_leaves_no_new_file(tmp_path):
    with pytest.raises(Failure):
        write_half(tmp_path / "file")
    assert tree(tmp_path) == {}


def test_the_old_file_is_seen_until_the_end(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    with atomic_path(tmp_path / "file") as temporary:
        temporary.write_bytes(b"new")
        assert (tmp_path / "file").read_bytes() == b"old"
        assert temporary.parent == tmp_path  # the same file system, so that renaming is atomic
    assert (tmp_path / "file").read_bytes() == b"new"


def test_files_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "file", b"x")
        with atomic_folder(tmp_path / "run", entries=("m",), markers=("m",)):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o750


def build(target, content, *, fail=False):
    with atomic_folder(target, entries=("marker", "sub", "file"), markers=("marker",)) as building:
        (building / "marker").write_bytes(content)
        (building / "sub").mkdir()
        (building / "sub" / "file").write_bytes(content)
        if fail:
            raise Failure


def test_a_folder_is_built_and_replaced_whole(tmp_path):
    build(tmp_path / "a" / "run", b"one")
    (tmp_path / "a" / "run" / "file").write_bytes(b"left from before")
    build(tmp_path / "a" / "run", b"two")
    assert tree(tmp_path) == {"a/run/marker": b"two", "a/run/sub/file": b"two"}


def test_a_failure_keeps_the_old_folder(tmp_path):
    build(tmp_path / "run", b"old")
    with pytest.raises(Failure):
        build(tmp_path / "run", b"new", fail=True)
    assert tree(tmp_path) == {"run/marker": b"old", "run/sub/file": b"old"}
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_failure_leaves_no_new_folder(tmp_path):
    with pytest.raises(Failure):
        build(tmp_path / "run", b"new", fail=True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_ours_is_refused(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").write_bytes(b"precious")
    with pytest.raises(
        InputError, match=r"holds other files such as 'one\.jpg'; give an empty or new folder with -o"
    ):
        build(tmp_path / "photos", b"new")
    assert tree(tmp_path) == {"photos/one.jpg": b"precious"}


def test_what_a_user_laid_into_our_folder_is_not_lost(tmp_path):
    build(tmp_path / "run", b"old")
    (tmp_path / "run" / "notes.txt").write_bytes(b"precious")
    with pytest.raises(InputError, match=r"such as 'notes\.txt'"):
        build(tmp_path / "run", b"new")
    assert (tmp_path / "run" / "notes.txt").read_bytes() == b"precious"


def test_a_folder_with_half_of_our_markers_is_refused(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "sub").write_bytes(b"not a run")
    with pytest.raises(InputError, match="holds other files"):
        build(tmp_path / "run", b"new")


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "run").write_bytes(b"a file")
    with pytest.raises(InputError, match="is a file; give a folder"):
        build(tmp_path / "run", b"new")
    assert tree(tmp_path) == {"run": b"a file"}


def test_an_empty_folder_is_used(tmp_path):
    (tmp_path / "run").mkdir()
    build(tmp_path / "run", b"new")
    assert tree(tmp_path / "run") == {"marker": b"new", "sub/file": b"new"}


def test_a_link_stays_a_link_and_its_target_is_filled_and_replaced(tmp_path):
    place, link = tmp_path / "disk" / "runs", tmp_path / "link"
    link.symlink_to(place)
    for content in (b"one", b"two"):
        build(link, content)
        assert link.is_symlink()
        assert tree(place) == {"marker": content, "sub/file": content}
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["disk", "link"]
    assert [entry.name for entry in place.parent.iterdir()] == ["runs"]


def test_a_target_that_is_being_written_is_refused_by_any_way_to_it(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "run")
    with atomic_folder(tmp_path / "run", entries=("m",), markers=("m",)) as building:
        (building / "m").write_bytes(b"first")
        with pytest.raises(InputError, match=rf"another process is writing .*process {os.getpid()} on .*-o"):
            build(link, b"second")
    assert tree(tmp_path / "run") == {"m": b"first"}
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "run"]


def test_an_old_folder_comes_back_when_the_swap_fails(tmp_path, monkeypatch):
    build(tmp_path / "run", b"old")
    rename = Path.rename

    def failing(self, target):
        if self.name == ".run.building":
            raise OSError("no space left")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="no space left"):
        build(tmp_path / "run", b"new")
    assert tree(tmp_path) == {"run/marker": b"old", "run/sub/file": b"old"}


@pytest.mark.parametrize("name", ["findings 1.json", "ünïcode", ".hidden"])
def test_any_name_can_be_written(tmp_path, name):
    write_bytes(tmp_path / name, b"x")
    assert tree(tmp_path) == {name: b"x"}


def test_where_nothing_can_be_written_is_said_and_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="/file' is a file; give a folder"):
        check_replaceable(tmp_path / "file" / "sub", entries=(), markers=())
    if Path("/proc").is_dir():
        with (
            pytest.raises(InputError, match="nothing can be written in '/proc'"),
            atomic_folder(Path("/proc/x"), entries=(), markers=()),
        ):
            pass
