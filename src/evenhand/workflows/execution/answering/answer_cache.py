"""The answers of one model, kept by what was asked: no question is asked twice, whoever asks it."""

from __future__ import annotations

import datetime
import hashlib
import json
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

from evenhand.core.capabilities import Floats, NotAnswered
from evenhand.core.errors import InputError, one_line
from evenhand.core.requests import Question
from evenhand.files.database import connect, telling, transaction
from evenhand.files.home import home
from evenhand.files.private import private_folder

Answer = Floats | str | NotAnswered

_SCHEMA = """
create table if not exists answers
    (key blob primary key, kind text not null, value blob not null,
    day text not null default '', run integer not null default 0, grid text not null default '',
    checksum integer);
create table if not exists facts (name text primary key, value text not null) without rowid;
"""
_INSERT = (
    "insert or ignore into answers (key, kind, value, checksum, day, run, grid) values (?, ?, ?, ?, ?, ?, ?)"
)
_AT_ONCE = 500  # keys in one select
_CHANGES, _CODE = "changes", "code"  # facts of the store, not of the model
_DECODING = "decoded/1"  # changes when the pixels of an image file would


def fingerprint(identity: Mapping[str, str]) -> str:
    """A hash of a model's identity."""
    text = json.dumps(dict(identity), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def keys_of(question: Question, start: int, digests: Sequence[str]) -> list[bytes]:
    """Keys of consecutive rows: a hash of capability, method, decoding, text, candidates and input.

    The digest of a row without an image is an empty text.
    """
    keys = []
    for row, digest in enumerate(digests, start):
        text = question.texts[row] if question.texts is not None else None
        candidates = list(question.candidates[row]) if question.candidates is not None else None
        parts = [question.capability, question.method, _DECODING, text, candidates, digest]
        keys.append(hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).digest())
    return keys


class AnswerStore:
    """A database of answers by key. Several processes may use one; the first answer to a key stays.

    Only the file's owner may read it: answers may be about people.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = connect(path, _SCHEMA)
        self._run = secrets.randbits(62)  # tells answers that are put here from those of others
        self._add_columns()

    @classmethod
    def of_model(cls, identity: Mapping[str, str]) -> Self:
        """The store of a model, under ``$EVENHAND_HOME/answers``."""
        folder = home() / "answers"
        private_folder(folder)
        return cls(folder / f"{fingerprint(identity)[:32]}.sqlite")

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Answer]:
        """What is known."""
        answers: dict[bytes, Answer] = {}
        for start in range(0, len(keys), _AT_ONCE):
            rows = self._select("key, kind, value, checksum", keys[start : start + _AT_ONCE])
            with self._reading():
                answers |= {key: _decode(kind, value, checksum) for key, kind, value, checksum in rows}
        return answers

    def known(self, keys: Sequence[bytes]) -> dict[bytes, str | None]:
        """Those of the keys that have an answer, with the day on which it was given, in UTC as YYYY-MM-DD.

        The day is empty where it was not kept, and None for answers that were put through this object.
        """
        days: dict[bytes, str | None] = {}
        for start in range(0, len(keys), _AT_ONCE):
            for key, day, run in self._select("key, day, run", keys[start : start + _AT_ONCE]):
                days[key] = None if run == self._run else day
        return days

    def settled(self, keys: Sequence[bytes], grid: str) -> set[bytes]:
        """Those of the keys that were answered for another question, in batches of its own."""
        other: set[bytes] = set()
        for start in range(0, len(keys), _AT_ONCE):
            rows = self._select("key, grid", keys[start : start + _AT_ONCE])
            other.update(key for key, grid_of_key in rows if grid_of_key != grid)
        return other

    def put(self, answers: Mapping[bytes, Answer], grid: str = "") -> None:
        """Keep answers, all or none; a temporary failure is no answer and is not kept.

        ``grid`` names the batches they were asked in: the same for a question that goes on after it was
        stopped.
        """
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        last = (day, self._run, grid)
        rows = [(key, *_encode(answer), *last) for key, answer in answers.items() if not is_temporary(answer)]
        with telling(self._path), transaction(self._connection):
            self._connection.executemany(_INSERT, rows)

    def facts(self) -> dict[str, Any]:
        """What the model said of itself: labels, logit scale; empty before it was first loaded."""
        with telling(self._path):
            rows = self._connection.execute("select name, value from facts").fetchall()
        with self._reading():
            return {name: json.loads(value) for name, value in rows if name not in (_CHANGES, _CODE)}

    def changes(self) -> str:
        """How the model became another one by being asked; empty where it did not."""
        return str(self._fact(_CHANGES) or "")

    def first_code(self, code: Mapping[str, str]) -> Mapping[str, str]:
        """The sha256 of the files that the answers were first given by; ``code`` is kept if there is none."""
        first = self._fact(_CODE)
        if first is None:
            self.put_facts({_CODE: dict(code)})
        return code if first is None else dict(first)

    def _fact(self, name: str) -> Any:
        with telling(self._path):
            row = self._connection.execute("select value from facts where name = ?", [name]).fetchone()
        with self._reading():
            return None if row is None else json.loads(row[0])

    def put_changes(self, how: str) -> None:
        """Keep that the model became another one by being asked: no later run can use these answers."""
        self.put_facts({_CHANGES: how})

    def put_facts(self, facts: Mapping[str, Any]) -> None:
        """Keep what the model says of itself."""
        rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in facts.items()]
        with telling(self._path), transaction(self._connection):
            self._connection.executemany("insert or replace into facts values (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _add_columns(self) -> None:
        """Bring a store that was made before days were kept up to date."""
        with telling(self._path), transaction(self._connection):
            here = {row[1] for row in self._connection.execute("pragma table_info(answers)")}
            if not {"day", "run"} <= here:
                self._connection.execute("alter table answers add column day text not null default ''")
                self._connection.execute("alter table answers add column run integer not null default 0")
            if "grid" not in here:
                self._connection.execute("alter table answers add column grid text not null default ''")
            if "checksum" not in here:
                self._connection.execute("alter table answers add column checksum integer")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Tell of bytes that are not as they were written, which SQLite does not look for."""
        try:
            yield
        except (ValueError, TypeError) as problem:
            raise InputError(
                f"{str(self._path)!r} is damaged: {one_line(problem)}; delete the file: it only holds what "
                "can be asked again"
            ) from None

    def _select(self, columns: str, keys: Sequence[bytes]) -> list[tuple[Any, ...]]:
        marks = ",".join("?" * len(keys))
        with telling(self._path):
            statement = f"select {columns} from answers where key in ({marks})"  # noqa: S608 - marks only
            rows: list[tuple[Any, ...]] = self._connection.execute(statement, list(keys)).fetchall()
        return rows


def is_temporary(answer: Answer) -> bool:
    """Whether the same question should be asked again next time."""
    return isinstance(answer, NotAnswered) and answer.temporary


def _encode(answer: Answer) -> tuple[str, bytes | str, int]:
    """Kind, value and checksum."""
    value: bytes | str
    if isinstance(answer, str):
        kind, value = "text", answer
    elif isinstance(answer, NotAnswered):
        kind, value = "none", json.dumps([answer.reason, answer.detail], ensure_ascii=False)
    else:
        kind, value = "floats", np.ascontiguousarray(answer, dtype="<f4").tobytes()
    return kind, value, _checksum(kind, value)


def _checksum(kind: str, value: bytes | str) -> int:
    return zlib.crc32(value.encode() if isinstance(value, str) else value, zlib.crc32(kind.encode()))


def _decode(kind: str, value: bytes | str, checksum: int | None) -> Answer:
    """An answer; ``checksum`` is None in a store that was made before there were any."""
    if checksum is not None and checksum != _checksum(kind, value):
        raise ValueError("an answer has another checksum")
    if kind == "floats":
        return np.frombuffer(value, dtype="<f4")  # type: ignore[arg-type]
    if kind == "text":
        return str(value)
    reason, detail = json.loads(value)
    return NotAnswered(reason, detail)
