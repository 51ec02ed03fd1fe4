"""Only their owner may read the answers of models, whatever the user's mask is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import InputError
from evenhand.files.private import private_file, private_folder
from evenhand.workflows.execution.answering.answer_cache import AnswerStore

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
IDENTITY = {"name": "a model"}


@pytest.fixture
def home(tmp_path, monkeypatch) -> Iterator[Path]:
    """A home under a mask that takes nothing away."""
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    before = os.umask(0)
    yield tmp_path / "home"
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def modes(folder: Path) -> dict[str, int]:
    """Of the files, by how their names end."""
    return {file.name[32:]: mode(file) for file in folder.iterdir()}


def test_a_new_store_is_its_owners_alone(home) -> None:
    store = AnswerStore.of_model(IDENTITY)
    store.put({b"key": np.ones(2, np.float32)})
    assert mode(home / "answers") == 0o700
    assert modes(home / "answers") == dict.fromkeys(
        (".sqlite", ".sqlite-wal", ".sqlite-shm", ".sqlite.lock"), 0o600
    )
    store.close()


def test_a_store_that_others_could_read_is_closed_to_them_and_its_answers_stay(home) -> None:
    store = AnswerStore.of_model(IDENTITY)
    store.put({b"key": np.ones(2, np.float32)})
    (home / "answers").chmod(0o755)
    for file in (home / "answers").iterdir():
        file.chmod(0o664)
    again = AnswerStore.of_model(IDENTITY)
    assert mode(home / "answers") == 0o700
    assert set(modes(home / "answers").values()) == {0o600}
    assert again.known([b"key"])
    again.close()
    store.close()


def test_folders_above_stay_as_they_are(home) -> None:
    home.mkdir(mode=0o755)
    AnswerStore.of_model(IDENTITY).close()
    assert mode(home) == 0o755


@pytest.mark.parametrize("make", [private_file, private_folder])
def test_what_cannot_be_closed_to_others_is_refused_with_a_remedy(home, monkeypatch, make) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    home.mkdir()
    monkeypatch.setattr(os, "chmod", refused)
    monkeypatch.setattr(Path, "chmod", refused)
    (home / "x").touch() if make is private_file else (home / "x").mkdir()
    with pytest.raises(InputError, match="set EVENHAND_HOME to a folder of your own"):
        make(home / "x")


def test_a_file_that_another_process_deletes_meanwhile_is_not_made(home, monkeypatch) -> None:
    """SQLite deletes the log of a database when its last reader closes it."""
    home.mkdir()
    log = home / "x.sqlite-wal"
    log.touch()
    stat_of = Path.stat

    def deleted_after(path: Path, **options: bool) -> os.stat_result:
        seen = stat_of(path, **options)
        path.unlink()
        return seen

    monkeypatch.setattr(Path, "stat", deleted_after)
    private_file(log, make=False)
    assert os.listdir(home) == []
