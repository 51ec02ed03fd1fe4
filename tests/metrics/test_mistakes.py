"""The classes with the most different mistakes."""

import polars as pl

from evenhand.evidence.predictions.predictions import Predictions
from evenhand.metrics import prediction_differences


def rows(truth, group, predictions):
    return [
        {"truth": truth, "group": group, "prediction": label}
        for label, n in predictions.items()
        for _ in range(n)
    ]


def table(*parts, **options):
    frame = pl.DataFrame([row for part in parts for row in part])
    evidence = Predictions.from_frame(frame, truth="truth", prediction="prediction")
    return prediction_differences(evidence, by="group", **options)


DOCTOR = [
    *rows("doctor", "f", {"doctor": 70, "nurse": 28, "chef": 2}),
    *rows("doctor", "m", {"doctor": 70, "surgeon": 28, "chef": 2}),
]
CHEF = [
    *rows("chef", "f", {"chef": 90, "baker": 5, "cook": 5}),
    *rows("chef", "m", {"chef": 88, "baker": 6, "cook": 6}),
]


def test_like_accuracy_and_unlike_mistakes_come_first():
    found = table(CHEF, DOCTOR)
    assert found.filter(pl.col("order") == 0)["truth"].unique().to_list() == ["doctor"]
    nurse = found.filter((pl.col("truth") == "doctor") & (pl.col("prediction") == "nurse"))
    assert dict(zip(nurse["group"], nurse["share"], strict=True)) == {"f": 0.28, "m": 0.0}
    assert set(found.filter(pl.col("truth") == "doctor")["group_accuracy"]) == {0.7}


def test_two_groups_are_chosen_among_many():
    third = rows("doctor", "x", {"doctor": 70, "nurse": 15, "surgeon": 13, "chef": 2})
    assert set(table(DOCTOR, third)["group"]) == {"f", "m"}


def test_groups_of_like_accuracy_come_before_groups_that_differ_more():
    far = rows("doctor", "x", {"doctor": 45, "pilot": 55})
    near = rows("doctor", "y", {"doctor": 66, "nurse": 20, "surgeon": 12, "chef": 2})
    both = table(DOCTOR[:100], far, near)
    assert set(both["group"]) == {"f", "y"}  # f and x have no mistake in common, and differ by 25 points
    assert set(table(DOCTOR[:100], far)["group"]) == {"f", "x"}


def test_a_class_in_which_one_group_makes_all_mistakes_is_shown_last():
    heart = [
        *rows("heart", "green", {"square": 30, "ellipse": 70}),
        *rows("heart", "red", {"heart": 100}),
        *rows("heart", "blue", {"heart": 100}),
    ]
    found = table(heart)
    assert "green" in set(found["group"])
    assert found.height > 0
    assert table(heart, DOCTOR).filter(pl.col("order") == 0)["truth"].unique().to_list() == ["doctor"]


def test_shares_are_of_all_rows_of_the_group():
    found = table(DOCTOR, top=5)
    totals = found.group_by("truth", "group").agg(pl.col("share").sum())
    assert totals["share"].to_list() == [1.0] * totals.height


def test_a_model_without_errors_gives_an_empty_table():
    assert table(rows("a", "f", {"a": 5}), rows("a", "m", {"a": 5})).height == 0


def test_two_labels_have_one_kind_of_mistake_and_still_two_groups():
    found = table(
        rows("doctor", "man", {"doctor": 12, "nurse": 8}),
        rows("doctor", "woman", {"doctor": 23, "nurse": 2}),
        rows("doctor", "x", {"doctor": 20, "nurse": 5}),
    )
    assert found.select("group", "prediction", "n", "share").rows() == [
        ("man", "doctor", 12, 0.6), ("man", "nurse", 8, 0.4),
        ("woman", "doctor", 23, 0.92), ("woman", "nurse", 2, 0.08),
    ]  # fmt: skip
