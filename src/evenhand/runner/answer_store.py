"""The answers of one model, kept by what was asked: no question is asked twice, whoever asks it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from evenhand.core.capabilities import Floats, NotAnswered
from evenhand.core.questions import Question
from evenhand.files.database import connect, telling, transaction
from evenhand.files.home import home

Answer = Floats | str | NotAnswered

_SCHEMA = """
create table if not exists answers (key blob primary key, kind text not null, value blob not null);
create table if not exists facts (name text primary key, value text not null) without rowid;
"""
_AT_ONCE = 500  # keys in one select
_DECODING = "decoded/1"  # changes when the pixels of an image file would


def fingerprint(identity: Mapping[str, str]) -> str:
    """A hash of a model's identity."""
    text = json.dumps(dict(identity), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def keys_of(question: Question, start: int, digests: Sequence[str]) -> list[bytes]:
    """Keys of consecutive rows: a hash of capability, method, decoding, text, candidates and input.

    Args:
        question: What is asked.
        start: The first row.
        digests: Of the rows' images; empty texts where there are none.
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

    Args:
        path: Its file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = connect(path, _SCHEMA)

    @classmethod
    def of_model(cls, identity: Mapping[str, str]) -> Self:
        """The store of a model, under ``$EVENHAND_HOME/answers``."""
        return cls(home() / "answers" / f"{fingerprint(identity)[:32]}.sqlite")

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Answer]:
        """What is known."""
        found: dict[bytes, Answer] = {}
        for start in range(0, len(keys), _AT_ONCE):
            for key, kind, value in self._select("key, kind, value", keys[start : start + _AT_ONCE]):
                found[key] = _decode(kind, value)
        return found

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys that have an answer."""
        found: set[bytes] = set()
        for start in range(0, len(keys), _AT_ONCE):
            found |= {row[0] for row in self._select("key", keys[start : start + _AT_ONCE])}
        return found

    def put(self, answers: Mapping[bytes, Answer]) -> None:
        """Keep answers, all or none; a temporary failure is no answer and is not kept."""
        rows = [(key, *_encode(answer)) for key, answer in answers.items() if not is_temporary(answer)]
        with telling(self._path), transaction(self._connection):
            self._connection.executemany("insert or ignore into answers values (?, ?, ?)", rows)

    def facts(self) -> dict[str, Any]:
        """What the model said of itself: labels, logit scale; empty before it was first loaded."""
        with telling(self._path):
            rows = self._connection.execute("select name, value from facts").fetchall()
        return {name: json.loads(value) for name, value in rows}

    def put_facts(self, facts: Mapping[str, Any]) -> None:
        """Keep what the model says of itself."""
        rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in facts.items()]
        with telling(self._path), transaction(self._connection):
            self._connection.executemany("insert or replace into facts values (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _select(self, columns: str, keys: Sequence[bytes]) -> list[tuple[Any, ...]]:
        marks = ",".join("?" * len(keys))
        with telling(self._path):
            statement = f"select {columns} from answers where key in ({marks})"  # noqa: S608 - marks only
            rows: list[tuple[Any, ...]] = self._connection.execute(statement, list(keys)).fetchall()
        return rows


def is_temporary(answer: Answer) -> bool:
    """Whether the same question should be asked again next time."""
    return isinstance(answer, NotAnswered) and answer.temporary


def _encode(answer: Answer) -> tuple[str, bytes | str]:
    if isinstance(answer, str):
        return "text", answer
    if isinstance(answer, NotAnswered):
        return "none", json.dumps([answer.reason, answer.detail], ensure_ascii=False)
    return "floats", sqlite3.Binary(np.ascontiguousarray(answer, dtype="<f4").tobytes())  # type: ignore[return-value]


def _decode(kind: str, value: bytes | str) -> Answer:
    if kind == "floats":
        return np.frombuffer(value, dtype="<f4")  # type: ignore[arg-type]
    if kind == "text":
        return str(value)
    reason, detail = json.loads(value)
    return NotAnswered(reason, detail)
