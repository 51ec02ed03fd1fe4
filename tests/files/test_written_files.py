"""Only files and folders of ours are replaced or removed, and a run folder that was edited is noticed."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError
from evenhand.evidence.predictions.counts import Counts
from evenhand.files.atomic import atomic_path, write_bytes
from evenhand.files.tables.write import write_table
from evenhand.runs.run_folder import RunFolder, edited_allowed
from evenhand.runs.saved_counts import SavedCounts
from tests.runner.crash.commands import EVENHAND, environment, here, one_line_of

pytestmark = [
    pytest.mark.usefixtures("without_pages"),
    pytest.mark.skipif(os.name != "posix", reason="devices and pipes are those of POSIX"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A table and the run of its audit."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], 400, p=[0.5, 0.3, 0.2])
    right = rng.random(400) < np.where(group == "c", 0.5, 0.95)
    frame = pl.DataFrame({"t": np.where(right, "x", "x"), "p": np.where(right, "x", "y"), "g": group})
    frame.write_csv(folder / "table.csv")
    assert typed("audit", folder / "table.csv", *COLUMNS, "-o", folder / "run", "-q")[0] == 0
    return folder


COLUMNS = ("--truth", "t", "--prediction", "p", "--by", "g")


def typed(*words: object) -> tuple[int, str]:
    """Exit code and stderr of a command in this process."""
    code, _, err = here([*EVENHAND, *map(str, words)], Path(os.environ.get("EVENHAND_HOME", "/tmp")))  # noqa: S108
    return code, err


@pytest.fixture
def run(made, tmp_path) -> Path:
    return Path(shutil.copytree(made / "run", tmp_path / "run"))


def pipe(path: Path) -> None:
    os.mkfifo(path)


def untouched(path: Path) -> tuple[int, ...]:
    """What writing changes of a path; when it was last looked into may change."""
    about = path.lstat()
    return about.st_mode, about.st_ino, about.st_nlink, about.st_size, about.st_mtime_ns


def listening(path: Path) -> None:
    socket.socket(socket.AF_UNIX).bind(str(path))


@pytest.mark.parametrize("make", [pipe, listening])
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_file_stays(tmp_path, monkeypatch, make, linked) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name is short
    target = Path("odd")
    make(target)
    if linked:
        target.rename("other")
        target.symlink_to("other")
    before = untouched(target)
    for write in (lambda: write_bytes(target, b"x"), lambda: write_table(pl.DataFrame({"a": [1]}), target)):
        with pytest.raises(InputError, match="no file but a device, pipe or socket"):
            write()
    assert untouched(target) == before
    assert len(list(Path().iterdir())) == 1 + linked


@pytest.mark.pages
def test_a_device_stays_one(made) -> None:
    device = Path("/dev/null")
    before = device.stat()
    for words in (["export", made / "run", "--as", "csv"], ["report", made / "run"]):
        code, err = typed(*words, "-o", device)
        assert code == 2
        one_line_of(err, "'/dev/null' is no file but a device, pipe or socket; give the name of a file")
    code, err = typed("audit", made / "table.csv", *COLUMNS, "-o", device)
    assert code == 2
    one_line_of(err, "give a folder with -o")
    after = device.stat()
    assert (after.st_mode, after.st_rdev, after.st_ino) == (before.st_mode, before.st_rdev, before.st_ino)


def test_a_link_stays_and_what_it_leads_to_is_written(made, tmp_path) -> None:
    (tmp_path / "disk").mkdir()
    for name, there in (("old.csv", True), ("new.csv", False)):
        file, link = tmp_path / "disk" / name, tmp_path / name
        if there:
            file.write_text("before")
        link.symlink_to(file)
        assert typed("export", made / "run", "--as", "csv", "-o", link, "-q")[0] == 0
        assert link.is_symlink()
        assert file.read_bytes().startswith(b"manifest_id,") or b"," in file.read_bytes()
    assert sorted(entry.name for entry in (tmp_path / "disk").iterdir()) == ["new.csv", "old.csv"]
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises((InputError, OSError)):
        write_bytes(loop, b"x")
    assert loop.is_symlink()


LAID_THERE = {
    "exports/notes.txt": b"mine", "tables/mine.parquet": b"mine", "cases/annotated.csv": b"mine",
    "counts/deep/file": b"mine", "exports/empty": None,
}  # fmt: skip


@pytest.mark.parametrize("name", [*LAID_THERE, "link", "filled"])
def test_what_a_user_laid_into_a_run_is_neither_deleted_nor_read(made, run, name) -> None:
    if name == "link":
        (run / "exports").mkdir(exist_ok=True)
        (run / "exports" / "link").symlink_to(made / "table.csv")
        target = run / "exports" / "link"
    elif name == "filled":
        target = run / "cases" / "1.csv"
        target.write_text(target.read_text() + "a comment\n")
    else:
        target = run / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if LAID_THERE[name] is None:
            target.mkdir()
        else:
            target.write_bytes(LAID_THERE[name])
    before = untouched(target)
    code, err = typed("audit", made / "table.csv", *COLUMNS, "-o", run, "-q")
    assert code == 2
    one_line_of(err, "holds other files such as", "give an empty or new folder with -o")
    assert untouched(target) == before
    if name != "filled":
        read = eh.Run.read(run)
        assert not read.exports
        assert "mine" not in read.tables
        assert list(read.case_tables) == ["1"]
    assert typed("export", run, "-o", run.parent / "findings.md")[0] == 0


def test_a_run_is_made_again_where_it_lies(made, run) -> None:
    (run / "report.html").write_text("edited, and ours")
    (run / "findings.json").write_text("{}")
    assert typed("audit", made / "table.csv", *COLUMNS, "-o", run, "-q")[0] == 0
    assert typed("report", run)[0] == 0


def change_findings(run: Path) -> None:
    text = (run / "findings.json").read_text()
    (run / "findings.json").write_text(text.replace('"p_value"', '"p_value" ', 1))


def change_manifest(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"alpha": 1e-9}))


def change_counts(run: Path) -> None:
    path = run / "counts" / "predictions.parquet"
    counts = Counts.load(path)
    (counts + counts).save(path)


def lose_counts(run: Path) -> None:
    (run / "counts" / "predictions.parquet").rename(run / "counts" / "other.parquet")


CHANGES = [change_findings, change_manifest, change_counts, lose_counts]


@pytest.mark.pages
@pytest.mark.parametrize("change", CHANGES)
def test_a_run_that_was_edited_is_not_used_unless_that_is_allowed(made, run, tmp_path, change) -> None:
    change(run)
    commands = [
        ["report", run, "-o", tmp_path / "page.html"],
        ["export", run, "-o", tmp_path / "findings.csv"],
        ["export", run, "-o", tmp_path / "junit.xml", "--fail-if", "accuracy_gap@g>0.9"],
        ["compare", made / "run", run, "-q"],
        ["audit", run, "--by", "g", "-q"],
    ]
    for words in commands:
        code, err = typed(*words)
        assert code == 2, words
        one_line_of(err, "not as the run wrote", "--allow-edited")
    assert not any(tmp_path.glob("*.*"))
    if change is not lose_counts:
        assert typed(*commands[0], "--allow-edited")[0] == 0
        assert "&#34;edited&#34;" in (tmp_path / "page.html").read_text()
        assert typed(*commands[1], "--allow-edited")[0] == 0
        assert typed(*commands[4], "--allow-edited")[0] == 0


def test_python_says_the_same_and_names_what_was_edited(run) -> None:
    change_manifest(run)
    change_findings(run)
    with pytest.raises(InputError, match=r"and 1 more of its files are not as the run wrote"):
        eh.Run.read(run)
    with pytest.raises(InputError, match="not as the run wrote"):
        SavedCounts.read(str(run))
    with edited_allowed():
        assert RunFolder.read(run).manifest["edited"] == ["findings.json", "manifest.json"]
    with pytest.raises(InputError):
        RunFolder.read_findings(run)
    (run / "hashes.json").write_text("[]")
    with pytest.raises(InputError, match=r"hashes\.json' cannot be read"):
        eh.Run.read(run)
    (run / "hashes.json").unlink()  # as runs were before there were any
    assert "edited" not in eh.Run.read(run).manifest


def test_a_run_that_is_saved_again_is_sealed_again(run, tmp_path) -> None:
    eh.Run.read(run).save(tmp_path / "copy")
    assert eh.Run.read(tmp_path / "copy").findings.dump() == eh.Run.read(run).findings.dump()
    recorded = set(json.loads((tmp_path / "copy" / "hashes.json").read_text())["sha256"])
    there = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
    assert recorded == there - {"hashes.json", "report.html"}
    shutil.rmtree(tmp_path / "copy" / "tables")  # a part that a user does without
    assert eh.Run.read(tmp_path / "copy").tables == {}


def test_two_processes_that_write_one_file_leave_a_whole_one(tmp_path) -> None:
    target = tmp_path / "file"
    code = (
        "import sys; from pathlib import Path; from evenhand.files.atomic import write_bytes\n"
        "for _ in range(40): write_bytes(Path(sys.argv[1]), sys.argv[2].encode() * 100_000)"
    )
    commands = [[sys.executable, "-c", code, str(target), letter] for letter in "ab"]
    writers = [subprocess.Popen(command, env=environment(tmp_path / "home")) for command in commands]
    while any(writer.poll() is None for writer in writers):
        if target.exists():
            content = target.read_bytes()
            assert len(content) == 100_000
            assert len(set(content)) == 1
    assert [writer.returncode for writer in writers] == [0, 0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_reader_of_a_pipe_is_not_left_waiting(made) -> None:
    """What a shell gives as ``>(command)`` is a pipe: standard output takes its place."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        reading, writing = os.pipe()
        try:
            with pytest.raises(InputError, match="no file but"), atomic_path(Path(f"/dev/fd/{writing}")):
                pass
        finally:
            os.close(reading)
            os.close(writing)
