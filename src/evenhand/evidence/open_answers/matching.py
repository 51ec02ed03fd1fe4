"""What is left of open answers, matched by a further model: by nearness of vectors, or by asking.

Both are opt-in and only look at answers that no step found a label for. What a model says is kept beside the
answer, so that a person can look at every match.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.evidence.derivation.from_vectors import normalised as unit_length
from evenhand.evidence.open_answers.pipeline import PipelineRun
from evenhand.evidence.open_answers.vocabulary import Vocabulary

MATCHES = {
    "matcher": pl.String,
    "model": pl.String,
    "answer": pl.String,
    "label": pl.String,
    "similarity": pl.Float64,
    "reply": pl.String,
    "accepted": pl.Boolean,
}
"""Columns of the table that says what a further model made of each answer."""
_NOTHING = "none of them"


def open_texts(answers: pl.DataFrame) -> list[str]:
    """The different answers that no step found a label for, sorted."""
    left = answers.filter((pl.col("matched") == "none") & (pl.col("category") == "answer"))
    return sorted(left["prediction"].unique().to_list())


def nearest_labels(
    texts: Sequence[str],
    vectors: npt.ArrayLike,  # shape (N, D); one that is not finite matches nothing
    names: Sequence[str],
    name_vectors: npt.ArrayLike,  # shape (K, D)
    *,
    threshold: float,  # the least similarity that is accepted
    model: str = "",  # what made the vectors
) -> pl.DataFrame:
    """The label whose vector lies nearest to that of each answer: ``argmax_k cos(answer, label_k)``.

    ``similarity`` is in [-1, 1], null where there is no vector. Of equally near labels the first is taken.
    """
    left, right = np.asarray(vectors, dtype=np.float64), unit_length(name_vectors)
    there = np.isfinite(left).all(axis=1) & np.any(left != 0, axis=1)
    similar = unit_length(np.where(there[:, None], left, 0.0)) @ right.T
    best = similar.argmax(axis=1)
    rows = [
        ("embedding", model, text, names[index], min(max(float(row[index]), -1.0), 1.0), None)
        if usable
        else ("embedding", model, text, None, None, None)
        for text, row, index, usable in zip(texts, similar, best, there, strict=True)
    ]
    accepted = pl.Series([row[4] is not None and row[4] >= threshold for row in rows], dtype=pl.Boolean)
    schema = {name: kind for name, kind in MATCHES.items() if name != "accepted"}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(accepted=accepted)


def matching_prompt(text: str, names: Sequence[str]) -> str:
    """What a model is asked about an answer."""
    return (
        f'Somebody was asked to name something and said: "{text}". Which one of these means the same? '
        f"{'; '.join(names)}. Reply with that one alone, exactly as written, or with: {_NOTHING}."
    )


def asked_labels(
    texts: Sequence[str], replies: Sequence[str | None], vocabulary: Vocabulary, *, model: str = ""
) -> pl.DataFrame:
    """The labels that a model replied with.

    A reply is normalised like an answer; it is accepted where it comes to exactly one of the labels.
    """
    walker, names = PipelineRun(vocabulary), set(vocabulary.names)
    rows = []
    for text, reply in zip(texts, replies, strict=True):
        answer = walker.walk(reply or "")
        label = answer.prediction if answer.prediction in names and not answer.several else None
        rows.append(("llm", model, text, label, None, reply, label is not None))
    return pl.DataFrame(rows, schema=MATCHES, orient="row")


def accepted(matches: pl.DataFrame) -> dict[str, str]:
    """Answer to label, of the matches that were accepted."""
    return dict(matches.filter("accepted").select("answer", "label").iter_rows())
