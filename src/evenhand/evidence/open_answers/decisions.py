"""Decisions of people on open answers: what to look at, what was decided, and reusing it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.evidence.open_answers.answer_lemma import singular
from evenhand.evidence.open_answers.synonyms import read_text
from evenhand.evidence.open_answers.text import EMPTY, SPECIAL, plain_form

REVIEW = {
    "raw": pl.String,
    "prediction": pl.String,
    "matched": pl.String,
    "n": pl.Int64,
    "samples": pl.String,
    "decision": pl.String,
}
_EXAMPLES = 3  # samples shown of each answer
_MOST_WORDS = 400  # looked at in a refusal
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_UNMATCHED = ("", "none")  # what the column matched says of an answer that came to no label
_ORDER = {"none": 0, "llm": 1, "embedding": 2, "synonym": 3, "lemma": 4, "decision": 5, "exact": 6}


@dataclass(frozen=True)
class _Row:
    """One decided line of a file."""

    raw: str  # the answer as given
    prediction: str  # what it was normalised to
    matched: str  # what found its label; empty where the file does not say
    label: str  # what was decided
    line: int  # in the file, from 1
    on_raw: bool  # whether it decides on the answer as given


@dataclass(frozen=True, eq=False)
class Decisions:
    """What people decided that answers mean."""

    by_raw: Mapping[str, str]  # answer, as the model gave it, to label
    by_prediction: Mapping[str, str]  # normalised answer to label, from lines that name no answer as given
    by_open: Mapping[str, str]  # normalised answer without label to label, from lines on answers as given
    content: bytes = b""  # the file as it was read, to be kept with a run

    @classmethod
    def read(cls, file: str | Path) -> Decisions:
        """From CSV with the columns ``raw`` or ``prediction`` (or both) and ``decision``.

        The table of answers to review is such a file. Lines without a decision decide nothing. A line with
        ``raw`` decides on the answer as given and on no other. Only where that answer came to no label does
        it count for every open answer that is normalised to the same text too, unless another line decides
        differently on one of those. A line with ``prediction`` alone decides on all that came to it.
        ``(refusal)``, ``(empty)`` and ``(other)`` are labels too. Nothing can be dropped.
        Cells may be separated by ``;`` or tabs too, as some spreadsheets write them.
        """
        file_name = str(file)
        content = read_text(Path(file), "give a CSV file with the columns raw and decision")
        first = content.partition("\n")[0].replace('"', "")
        mark = next((mark for mark in ";\t" if f"{mark}decision" in first or f"decision{mark}" in first), ",")
        reader = csv.reader(io.StringIO(content, newline=""), delimiter=mark)
        header = [name.strip() for name in next(reader, [])]
        if "decision" not in header or not {"raw", "prediction"} & set(header):
            raise InputError(
                f"{file_name!r} has the columns {one_line(', '.join(header), 120) or 'none'}; decisions "
                "need 'raw' or 'prediction', and 'decision'"
            )
        rows = []
        start = 2
        for cells in reader:
            if len(cells) > len(header):
                raise InputError(
                    f"{file_name!r} line {start} has {len(cells)} cells, the first line {len(header)}; put a "
                    f"cell that holds {mark!r} in double quotes"
                )
            values = dict(zip(header, map(from_cell, cells), strict=False))
            label = values.get("decision", "").strip()
            raw, prediction = values.get("raw", ""), values.get("prediction", "")
            if label and not raw and not prediction and "raw" not in header:
                raise InputError(f"{file_name!r} line {start} decides on no answer; fill in 'prediction'")
            if label:
                matched = values.get("matched", "").strip()
                on_raw = "raw" in header and bool(raw or matched or prediction in ("", EMPTY))
                rows.append(_Row(raw, prediction, matched, label, start, on_raw))
            start = reader.line_num + 1
        return cls._of_rows(rows, file_name, Path(file).expanduser().read_bytes())

    @classmethod
    def _of_rows(cls, rows: Iterable[_Row], file_name: str, content: bytes) -> Decisions:
        """From the decided lines of a file."""
        by_raw: dict[str, _Row] = {}
        by_prediction: dict[str, _Row] = {}
        same: dict[str, list[_Row]] = {}
        for row in rows:
            if not row.on_raw:
                _keep(by_prediction, row.prediction, row, file_name)
                continue
            _keep(by_raw, row.raw, row, file_name)
            if row.prediction and row.prediction not in SPECIAL and row.matched in _UNMATCHED:
                same.setdefault(row.prediction, []).append(row)
        by_open = {
            text: several[0]
            for text, several in same.items()
            if text not in by_prediction and len({row.label for row in several}) == 1
        }
        _refuse_chains(by_raw, by_raw, file_name)
        for ends in (by_raw, by_open, by_prediction):
            _refuse_chains(ends, {**by_open, **by_prediction}, file_name)
        return cls(
            {raw: row.label for raw, row in by_raw.items()},
            {prediction: row.label for prediction, row in by_prediction.items()},
            {text: row.label for text, row in by_open.items()},
            content,
        )

    @property
    def labels(self) -> list[str]:
        """The different labels that were decided."""
        return list(dict.fromkeys([*self.by_raw.values(), *self.by_prediction.values()]))

    def of(self, raw: str, prediction: str, *, is_open: bool) -> str | None:
        """The decision on an answer, or on what it was normalised to.

        ``is_open`` says that this is no label, refusal or empty answer.
        """
        decision = self.by_raw.get(raw)
        if decision is None:
            decision = self.by_prediction.get(prediction)
        return self.by_open.get(prediction) if decision is None and is_open else decision

    def used(self, answers: pl.DataFrame) -> pl.DataFrame:
        """How many answers each decision was for; 0 where one on a raw answer or a prediction met none.

        ``on`` is raw, prediction, or same text (open answers normalised to the text of one that was decided
        on). Those that met none come first.
        """
        decided = answers.filter(pl.col("matched") == "decision")
        before = decided.columns[max(decided.columns.index("decision") - 1, 1)]
        by_raw = dict(decided["raw"].value_counts().iter_rows())
        rest = decided.filter(~pl.col("raw").is_in(list(self.by_raw)))
        by_text = dict(rest[before].value_counts().iter_rows())
        rows = [(raw, "raw", label, by_raw.get(raw, 0)) for raw, label in self.by_raw.items()]
        rows += [
            (text, "prediction", label, by_text.get(text, 0)) for text, label in self.by_prediction.items()
        ]
        rows += [
            (text, "same text", label, by_text[text])
            for text, label in self.by_open.items()
            if text in by_text
        ]
        schema = {"answer": pl.String, "on": pl.String, "decision": pl.String, "n": pl.Int64}
        return pl.DataFrame(rows, schema=schema, orient="row").sort("n", "on", "answer")


def review_table(
    answers: pl.DataFrame, truths: Collection[str] = (), spellings: Collection[str] = ()
) -> pl.DataFrame:
    """The different answers, for people to review, those that need it most first.

    First come refusals in which one of ``truths`` or ``spellings`` (other words for labels) occurs, then
    answers without a label or with none of ``truths``, then the other answers, last the other refusals and
    the empty answers; the most frequent first. ``decision`` holds what was decided already, else is empty.
    """
    true_labels = {str(truth) for truth in truths if truth is not None}
    grouped = answers.group_by("raw", "prediction", "matched", "category", maintain_order=True).agg(
        n=pl.len().cast(pl.Int64), samples=pl.col("sample").sort().head(_EXAMPLES).str.join("; ")
    )
    words = {plain_form(text) for text in (*true_labels, *spellings)} - {""}
    refused = grouped.filter((pl.col("category") == "refusal") & (pl.col("matched") != "decision"))["raw"]
    naming = [raw for raw in refused.unique() if _names_any(raw, words)]
    outside = pl.lit(False) if not true_labels else ~pl.col("prediction").is_in(list(true_labels))
    return (
        grouped.with_columns(
            _open=((pl.col("category") == "answer") & outside) | (pl.col("matched") == "none"),
            _naming=pl.col("raw").is_in(naming) & (pl.col("category") == "refusal"),
            _special=pl.col("category") != "answer",
            _rank=pl.col("matched").replace_strict(_ORDER, return_dtype=pl.Int8),
            decision=pl.when(pl.col("matched") == "decision").then("prediction").otherwise(pl.lit("")),
        )
        .sort(
            ["_naming", "_special", "_open", "_rank", "n", "raw"],
            descending=[True, False, True, False, True, False],
        )
        .select(list(REVIEW))
        .cast(REVIEW)  # type: ignore[arg-type]
    )


def review_file(table: pl.DataFrame) -> bytes:
    """A review table as CSV that a spreadsheet opens without running anything in it.

    A cell that a spreadsheet would take for a formula (it begins with ``=``, ``+``, ``-``, ``@``) gets an
    apostrophe in front; ``Decisions.read`` takes it away again.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(table.columns)
    writer.writerows(
        [to_cell(value) if isinstance(value, str) else value for value in row] for row in table.rows()
    )
    return out.getvalue().encode("utf-8", "replace")


def to_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def from_cell(text: str) -> str:
    """The text that ``to_cell`` was given."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text[1:]) else text


def _names_any(raw: str, words: Collection[str]) -> bool:
    """Whether some words of an answer are among those given."""
    tokens = plain_form(raw).split()[:_MOST_WORDS]
    longest = max((word.count(" ") + 1 for word in words), default=0)
    parts = (
        " ".join(tokens[start : start + length])
        for start in range(len(tokens))
        for length in range(1, min(longest, len(tokens) - start) + 1)
    )
    return any(part in words or singular(part) in words for part in parts)


def _keep(rows: dict[str, _Row], key: str, row: _Row, file_name: str) -> None:
    first = rows.setdefault(key, row)
    if first.label != row.label:
        raise InputError(
            f"{file_name!r} lines {first.line} and {row.line} decide differently on {one_line(key, 80)!r}: "
            f"{one_line(first.label)!r} and {one_line(row.label)!r}; keep one of the lines"
        )


def _refuse_chains(rows: Mapping[str, _Row], further_on: Mapping[str, _Row], file_name: str) -> None:
    for row in rows.values():
        further = further_on.get(row.label)
        if further is not None and further.label != row.label:
            end = one_line(further.label)
            raise InputError(
                f"{file_name!r} line {row.line} decides on {one_line(row.label)!r}, which line "
                f"{further.line} turns into {end!r}; write {end!r} on line {row.line}"
            )
