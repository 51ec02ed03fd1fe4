"""Options under letters: a question of its own for each sample, asked in several orders of its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from evenhand.core.findings import TableWarning
from evenhand.core.requests import ImageSource, Question
from evenhand.evidence.open_answers.chosen_option import LETTERS, chosen_option

OPTIONS = "{options}"
ANSWERS = {
    "sample": pl.String, "order": pl.String, "question": pl.String, "answer": pl.String, "place": pl.Int64,
    "candidate": pl.String, "reason": pl.String,
}  # fmt: skip
"""Each answer with its question: what place (from 1) and candidate it chooses, or why none."""


@dataclass(frozen=True, eq=False)
class LetteredQuestion:
    """One question about every sample, its options in one order."""

    name: str  # of its evidence
    samples: Sequence[str]  # ids
    prompts: Sequence[str]  # of each sample, with {options} where the options go
    options: Sequence[Sequence[str]]  # texts of each sample, in the order of their letters
    candidates: Sequence[Sequence[str]]  # what these stand for, in the same order

    def texts(self) -> list[str]:
        """What is asked about each sample."""
        return [
            prompt.replace(
                OPTIONS, "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, row, strict=False))
            )
            for prompt, row in zip(self.prompts, self.options, strict=True)
        ]

    def question(self, images: ImageSource) -> Question:
        """What is asked of the model, with an image for each sample."""
        return Question(self.name, "answers_questions", self.samples, images, self.texts())

    def answers(self, evidence: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
        """What each answer chooses; the columns are those of ``ANSWERS``."""
        row_of = {sample: row for row, sample in enumerate(self.samples)}
        texts = self.texts()
        read: list[tuple[str | int | None, ...]] = []
        for sample, answer in evidence[self.name].select("sample", "text").collect().iter_rows():
            row = row_of[sample]
            choice, candidates = chosen_option(answer, self.options[row]), self.candidates[row]
            candidate = None if choice.index is None else candidates[choice.index]
            number = None if choice.index is None else choice.index + 1
            about = (sample, "/".join(candidates), texts[row], answer)
            read.append((*about, number, candidate, choice.reason or None))
        return pl.DataFrame(read, schema=ANSWERS, orient="row")


def unread_answers(answers: pl.DataFrame) -> pl.DataFrame:
    """The answers that choose no option, for a person to review: all but place and candidate."""
    return answers.filter(pl.col("place").is_null()).drop("place", "candidate")


def reasons_of(answers: pl.DataFrame) -> str:
    """Why answers are not read, the most frequent reason first."""
    counts = answers["reason"].drop_nulls().value_counts().sort("count", "reason", descending=[True, False])
    return ", ".join(f"{reason} {count}" for reason, count in counts.iter_rows())


def unread_warnings(answers: pl.DataFrame, outcome: str) -> list[TableWarning]:
    """How many answers choose nothing, and why; nothing where all do.

    ``outcome`` says what they do then, such as ``choose no caption and are left out``.
    """
    unread = answers["reason"].drop_nulls().len()
    if not unread:
        return []
    message = (
        f"{unread} of {answers.height} answers {outcome} ({reasons_of(answers)}); "
        "read them in the table unread_answers"
    )
    return [TableWarning(code="unread_answers", columns=["answer"], message=message)]
