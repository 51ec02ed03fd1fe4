"""What is left of open answers and matched by vectors, or by what a further model replies."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from evenhand.evidence.open_answers.matching import (
    MATCHES,
    accepted,
    asked_labels,
    matching_prompt,
    nearest_labels,
    open_texts,
)
from evenhand.evidence.open_answers.normalise import Vocabulary

NAMES = ["doctor", "waiter", "teacher"]


def test_only_answers_without_a_label_are_left():
    rows = [
        ("b", "none", "answer"),
        ("a", "none", "answer"),
        ("a", "none", "answer"),
        ("c", "exact", "answer"),
        ("d", "none", "refusal"),
    ]
    assert open_texts(pl.DataFrame(rows, schema=["prediction", "matched", "category"], orient="row")) == [
        "a",
        "b",
    ]


def test_the_nearest_label_is_that_of_a_loop_over_cosines():
    rng = np.random.default_rng(0)
    vectors, names = rng.normal(size=(30, 4)), rng.normal(size=(3, 4)) * [[2], [0.1], [30]]
    texts = [f"t{i}" for i in range(30)]
    found = nearest_labels(texts, vectors, NAMES, names, threshold=0.6, model="m")
    assert found.schema == MATCHES
    for row, vector in zip(found.to_dicts(), vectors, strict=True):
        cosines = [float(vector @ one / np.linalg.norm(vector) / np.linalg.norm(one)) for one in names]
        assert row["label"] == NAMES[int(np.argmax(cosines))]
        assert row["similarity"] == pytest.approx(max(cosines))
        assert row["accepted"] == (max(cosines) >= 0.6)
        assert (row["matcher"], row["model"], row["reply"]) == ("embedding", "m", None)
    assert 0 < found["accepted"].sum() < 30


def test_vectors_that_are_nothing_match_nothing_and_edges_count():
    vectors = [[0.0, 0.0], [np.nan, 1.0], [np.inf, 0.0], [3.0, 0.0], [-2.0, -1e-9], [1.0, 1.0]]
    found = nearest_labels(list("abcdef"), vectors, ["x", "y"], [[2.0, 0.0], [0.0, 3.0]], threshold=1.0)
    assert found["label"].to_list() == [None, None, None, "x", "y", "x"]  # of equally near ones the first
    assert found["similarity"].to_list()[:4] == [None, None, None, 1.0]
    assert found["accepted"].to_list() == [False, False, False, True, False, False]
    far = nearest_labels(["a"], [[-1.0, 0.0]], ["x"], [[7.0, 0.0]], threshold=-1.0)
    assert far.select("similarity", "accepted").row(0) == (-1.0, True)
    long = np.full((1, 7), 0.1)
    assert nearest_labels(["a"], long, ["x"], 3 * long, threshold=-1.0)["similarity"].item() <= 1.0


def test_a_reply_that_comes_to_one_label_is_accepted():
    vocabulary = Vocabulary.read(NAMES)
    replies = ["Doctor.", "doctor or teacher", "none of them", None, "The teacher", "a nurse"]
    found = asked_labels(list("abcdef"), replies, vocabulary, model="m")
    assert found.schema == MATCHES
    assert found["label"].to_list() == ["doctor", None, None, None, "teacher", None]
    assert found["accepted"].to_list() == [True, False, False, False, True, False]
    assert found["reply"].to_list() == replies
    assert accepted(found) == {"a": "doctor", "e": "teacher"}
    assert "doctor; waiter; teacher" in matching_prompt("physician", NAMES)
