"""The classes with the most different mistakes."""

import polars as pl

from evenhand.evidence.predictions.predictions import Predictions
from evenhand.metrics import disparity_lines, prediction_differences


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


def test_unlike_mistakes_of_like_accuracy_come_first():
    found = table(CHEF, DOCTOR)
    assert found.filter(pl.col("order") == 0)["truth"].unique().to_list() == ["doctor"]
    nurse = found.filter((pl.col("truth") == "doctor") & (pl.col("prediction") == "nurse"))
    assert dict(zip(nurse["group"], nurse["share"], strict=True)) == {"f": 0.28, "m": 0.0}
    assert set(found.filter(pl.col("truth") == "doctor")["group_accuracy"]) == {0.7}


def test_two_groups_are_chosen_among_many():
    third = rows("doctor", "x", {"doctor": 70, "nurse": 15, "surgeon": 13, "chef": 2})
    assert set(table(DOCTOR, third)["group"]) == {"f", "m"}


def test_the_hurt_group_of_three_stands_first():
    """Groups of like accuracy came first before, so that with three groups the hurt one was not shown."""
    hurt = rows("locked", "Lagos", {"locked": 66, "fraud": 33, "refund": 1})
    munich = rows("locked", "Munich", {"locked": 95, "fraud": 2, "refund": 3})
    osaka = rows("locked", "Osaka", {"locked": 95, "fraud": 3, "refund": 2})
    groups = table(CHEF, hurt, munich, osaka).filter(pl.col("order") == 0)
    assert groups["truth"].unique().to_list() == ["locked"]
    assert set(groups["group"]) == {"Lagos", "Munich"}
    shares = groups.filter(pl.col("prediction") == "fraud")
    assert dict(shares.select("group", "n").rows()) == {"Lagos": 33, "Munich": 2}


def test_classes_stand_in_the_order_of_their_lines():
    heart = [
        *rows("heart", "f", {"square": 30, "heart": 70}),
        *rows("heart", "m", {"heart": 100}),
    ]
    every = [*heart, *CHEF, *DOCTOR]
    frame = pl.DataFrame(every)
    evidence = Predictions.from_frame(frame, truth="truth", prediction="prediction")
    listed = disparity_lines(evidence, by="group").filter("listed")["truth"].unique(maintain_order=True)
    assert listed.to_list() == ["heart", "doctor"]
    assert table(every)["truth"].unique(maintain_order=True).to_list() == ["heart", "doctor", "chef"]


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


def test_three_predictions_of_each_group_are_shown_where_nothing_else_is_said():
    many = {"doctor": 40, "nurse": 20, "chef": 12, "baker": 8, "cook": 4}
    found = table(rows("doctor", "f", many), rows("doctor", "m", {"doctor": 60, "nurse": 2, "chef": 1}))
    assert found["prediction"].unique(maintain_order=True).sort().to_list() == ["chef", "doctor", "nurse"]
