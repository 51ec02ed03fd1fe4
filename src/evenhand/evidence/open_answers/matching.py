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
    """The different answers that no step found a label for, sorted.

    Args:
        answers: What ``open_answers.normalised`` made.
    """
    left = answers.filter((pl.col("matched") == "none") & (pl.col("category") == "answer"))
    return sorted(left["prediction"].unique().to_list())


def nearest_labels(
    texts: Sequence[str],
    vectors: npt.ArrayLike,
    names: Sequence[str],
    name_vectors: npt.ArrayLike,
    *,
    threshold: float,
    model: str = "",
) -> pl.DataFrame:
    """The label whose vector lies nearest to that of each answer: ``argmax_k cos(answer, label_k)``.

    Args:
        texts: N answers.
        vectors: Their vectors, shape (N, D); a vector that is not finite matches nothing.
        names: K labels.
        name_vectors: Their vectors, shape (K, D).
        threshold: The least similarity, in [-1, 1], that is accepted.
        model: Who made the vectors.

    Returns:
        One row an answer: columns of ``MATCHES``; ``similarity`` in [-1, 1], null where there is no
        vector. Of equally near labels the first is taken.
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
    """What a model is asked about an answer.

    Args:
        text: The normalised answer.
        names: The labels.
    """
    return (
        f'Somebody was asked to name something and said: "{text}". Which one of these means the same? '
        f"{'; '.join(names)}. Reply with that one alone, exactly as written, or with: {_NOTHING}."
    )


def asked_labels(
    texts: Sequence[str], replies: Sequence[str | None], vocabulary: Vocabulary, *, model: str = ""
) -> pl.DataFrame:
    """The labels that a model replied with.

    A reply is normalised like an answer; it is accepted where it comes to exactly one of the labels.

    Args:
        texts: N answers.
        replies: What the model said to ``matching_prompt`` of each; None where it did not reply.
        vocabulary: The labels.
        model: Who replied.

    Returns:
        One row an answer: columns of ``MATCHES``.
    """
    walker, names = PipelineRun(vocabulary), set(vocabulary.names)
    rows = []
    for text, reply in zip(texts, replies, strict=True):
        answer = walker.walk(reply or "")
        label = answer.prediction if answer.prediction in names and not answer.several else None
        rows.append(("llm", model, text, label, None, reply, label is not None))
    return pl.DataFrame(rows, schema=MATCHES, orient="row")


def accepted(matches: pl.DataFrame) -> dict[str, str]:
    """Answer to label, of the matches that were accepted.

    Args:
        matches: Columns of ``MATCHES``.
    """
    return dict(matches.filter("accepted").select("answer", "label").iter_rows())
