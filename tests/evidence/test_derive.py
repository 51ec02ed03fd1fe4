"""Labels from embeddings and from free answers."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest

from evenhand.evidence.derivation.from_vectors import (
    LOOKED_AT,
    NO_LABEL,
    SEVERAL_LABELS,
    label_in,
    normalised,
    plain,
    prototypes,
    zero_shot,
)


def frame(vectors: np.ndarray) -> pl.LazyFrame:
    return pl.LazyFrame(
        {"sample": [f"s{i}" for i in range(len(vectors))], "modality": "image", "vector": vectors.tolist()},
        schema_overrides={"vector": pl.List(pl.Float32)},
    )


@pytest.mark.parametrize("link", ["softmax", "sigmoid"])
def test_zero_shot_is_the_nearest_text_by_a_naive_loop(link):
    rng = np.random.default_rng(0)
    images = rng.normal(size=(40, 8)).astype(np.float32)
    texts = rng.normal(size=(6, 8))
    labels = [f"label {k}" for k in range(3)]
    unit = prototypes(texts, 2)
    found = zero_shot(frame(images), unit, labels, scale=7.0, offset=-1.0, link=link).collect()
    assert found.columns == ["sample", "prediction", "rank", "confidence"]
    for row, image in zip(found.iter_rows(named=True), images, strict=True):
        logits = []
        for k in range(3):
            a, b = (texts[2 * k + j] / np.linalg.norm(texts[2 * k + j]) for j in range(2))
            text = (a + b) / np.linalg.norm(a + b)
            logits.append(7.0 * float(image @ text) / np.linalg.norm(image) - 1.0)
        best = int(np.argmax(logits))
        weights = np.exp(logits) if link == "softmax" else None
        confidence = weights[best] / weights.sum() if link == "softmax" else 1 / (1 + np.exp(-logits[best]))
        assert row["prediction"] == labels[best]
        assert row["confidence"] == pytest.approx(confidence, rel=1e-5)
        assert row["rank"] == 1


def test_scale_changes_confidence_and_never_the_label():
    images, text = np.random.default_rng(1).normal(size=(30, 5)), np.eye(5)
    one, hundred = (
        zero_shot(frame(images), text, list("abcde"), scale=scale).collect() for scale in (1.0, 100.0)
    )
    assert one["prediction"].equals(hundred["prediction"])
    assert (hundred["confidence"] > one["confidence"]).all()


def test_evidence_without_rows_gives_predictions_without_rows():
    empty = frame(np.zeros((1, 2))).filter(pl.col("sample") == "none")
    assert zero_shot(empty, np.eye(2), ["a", "b"], scale=1.0).collect().height == 0


def test_a_vector_of_length_0_stays_0():
    assert normalised([[0.0, 0.0], [3.0, 4.0]]).tolist() == [[0.0, 0.0], [0.6, 0.8]]


LABELS = {plain(name): name for name in ("Male", "Female", "hot dog", "dog", "Garçon")}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Male", "Male"),
        ("  female. ", "Female"),
        ("The person is FEMALE.", "Female"),  # male is no word of its own in it
        ("It is a hot dog!", "hot dog"),  # the longer label at the same place
        ("a dog, a big dog", "dog"),
        ("un garc\u0327on", "Garçon"),  # a letter and its cedilla apart
    ],
)
def test_an_answer_names_a_label(text, label):
    assert label_in(text, LABELS) == (label, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", NO_LABEL),
        ("a cat", NO_LABEL),
        ("dogs", NO_LABEL),
        ("male or female", SEVERAL_LABELS),
        ("a hot dog and a dog", SEVERAL_LABELS),
    ],
)
def test_an_answer_that_names_none_or_several_is_no_prediction(text, reason):
    assert label_in(text, LABELS) == (None, reason)


def test_long_answers_are_read_in_no_time_and_not_to_their_end():
    began = time.process_time()
    assert label_in("dog " * 200_000, LABELS) == ("dog", None)
    assert time.process_time() - began < 2
    assert label_in("x " * LOOKED_AT + "dog", LABELS) == (None, NO_LABEL)
    assert label_in("x" * (LOOKED_AT - 4) + " dogs", LABELS) == (None, NO_LABEL)  # dog is no whole word


def test_labels_that_overlap_are_several():
    forms = {form: form for form in ("hot dog", "dog house", "dog", "")}
    assert label_in("a hot dog house", forms) == (None, SEVERAL_LABELS)
    assert label_in("a dog house!", forms) == ("dog house", None)
