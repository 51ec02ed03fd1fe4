"""Open answers become labels, step by step; every step is a column.

    raw "The person in the image is a **Waitress**." -> case -> frame -> article -> punctuation -> lemma
    -> synonym "waiter"

Nothing is merged in silence: two answers get one label only by a step in whose column they become equal.
What no step knows keeps its own normalised text as prediction; refusals and empty answers are labels of
their own.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from evenhand.core.errors import InputError
from evenhand.evidence.open_answers.decisions import Decisions, review_file, review_table
from evenhand.evidence.open_answers.pipeline import MATCHERS, STEPS, Pipeline, PipelineRun
from evenhand.evidence.open_answers.text import EMPTY, OTHER, REFUSAL
from evenhand.evidence.open_answers.vocabulary import Vocabulary

__all__ = [
    "EMPTY",
    "MATCHERS",
    "OTHER",
    "REFUSAL",
    "STEPS",
    "Decisions",
    "Pipeline",
    "PipelineRun",
    "Vocabulary",
    "normalised",
    "review_file",
    "review_table",
    "step_shares",
]

_REFUSED = ("refused", "refusal")  # what tables made elsewhere may call it in their column status


def normalised(
    answers: pl.DataFrame | pl.LazyFrame,
    vocabulary: Vocabulary,
    pipeline: Pipeline | None = None,
    *,
    decisions: Decisions | None = None,
    matches: Mapping[str, Mapping[str, str]] | None = None,
) -> pl.DataFrame:
    """Labels from free text, with every step on the way. Each different text is parsed once.

    Args:
        answers: Answers(sample, text, status); the status may be missing. One row an answer.
        vocabulary: Labels, and other spellings of them.
        pipeline: The steps; default: all that ask no further model.
        decisions: What a person decided on earlier answers; it counts whatever the steps found.
        matches: For ``embedding`` and ``llm``: what is left after the steps before, to a label.

    Returns:
        One row an answer, in the order given: ``sample``, ``raw``, one column for each step (the text after
        it), ``decision`` where decisions are given, ``prediction`` (always the last of these columns),
        ``category`` (answer, refusal or empty), ``matched`` (what found the label: exact, lemma, synonym,
        decision, embedding, llm; none: no label, the text is its own), ``several`` (it lists several labels;
        the first is kept).

    Raises:
        InputError: A column is missing.
        UnknownName: A match or decision that is no label.
    """
    pipeline = pipeline or Pipeline()
    lazy = answers.lazy()
    names = lazy.collect_schema().names()
    for name in ("sample", "text"):
        if name not in names:
            raise InputError(f"answers have no column {name!r}; they have {', '.join(names)}")
    status = pl.col("status").cast(pl.String) if "status" in names else pl.lit(None, pl.String)
    refused = status.is_in(list(_REFUSED)).fill_null(False)
    table = lazy.select(
        pl.col("sample").cast(pl.String),
        raw=pl.col("text").cast(pl.String).fill_null(""),
        _refused=refused,
    ).collect()
    walker = PipelineRun(vocabulary, pipeline, decisions, matches or {})
    different = table.select("raw", "_refused").unique(maintain_order=True)
    walked = [walker.walk(raw, refused=is_refused) for raw, is_refused in different.iter_rows()]
    columns = {
        name: pl.Series([answer.columns[index] for answer in walked], dtype=pl.String)
        for index, name in enumerate(walker.columns)
    }
    mapping = different.with_columns(
        **columns,
        prediction=pl.Series([answer.prediction for answer in walked], dtype=pl.String),
        category=pl.Series([answer.category for answer in walked], dtype=pl.String),
        matched=pl.Series([answer.matched for answer in walked], dtype=pl.String),
        several=pl.Series([answer.several for answer in walked], dtype=pl.Boolean),
    )
    return table.join(mapping, on=["raw", "_refused"], how="left", maintain_order="left").drop("_refused")


def step_shares(answers: pl.DataFrame) -> pl.DataFrame:
    """How many answers each step changed, their share of all, and how many different texts came of it."""
    skipped = ("sample", "prediction", "category", "matched", "several")
    columns = [name for name in answers.columns if name not in skipped]
    rows = []
    for index, name in enumerate(columns):
        changed = int((answers[name] != answers[columns[index - 1]]).sum()) if index else 0
        share = changed / len(answers) if len(answers) else None
        rows.append((name, changed, share, answers[name].n_unique()))
    schema = {"step": pl.String, "changed": pl.Int64, "share": pl.Float64, "different": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")
