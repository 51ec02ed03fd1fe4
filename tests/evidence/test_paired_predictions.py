"""Joining models by sample: what is joined, what is refused, what is counted as lost."""

import numpy as np
import polars as pl
import pytest

from evenhand.core.errors import InputError
from evenhand.evidence.derivation.paired import Aligned, match
from evenhand.evidence.predictions.counts import Counts
from tests.conftest import make_frame


def rows(seed=0, n=200, **kwargs):
    frame = make_frame(seed=seed, n=n, **kwargs)
    return frame.with_row_index("sample").with_columns(pl.col("sample").cast(pl.String))


def other(table, seed=1):
    return table.with_columns(prediction=table["prediction"].shuffle(seed))


def test_joined_counts_give_back_both_models():
    a = rows()
    b = other(a)
    matched = match([a, b], ["group", "other"], ["a", "b"])
    counts = matched.counts(["group", "other"])
    names = {name: name for name in ("truth", "group", "other", "prediction")}
    alone = [Counts.from_table(t.group_by(list(names)).agg(n=pl.len()), names) for t in (a, b)]
    assert counts.paired
    assert counts.of_first() == alone[0]
    assert counts.of_second() == alone[1]
    assert counts.attributes == ("group", "other")
    assert counts.project(["group"]).of_first() == alone[0].project(["group"])
    assert matched.samples == counts.n_total == 200


def test_joined_counts_are_saved_and_read(tmp_path):
    a = rows()
    counts = match([a, other(a)], ["group"], ["a", "b"]).counts(["group"])
    counts.save(tmp_path / "c.parquet")
    assert Counts.load(tmp_path / "c.parquet") == counts


def test_joined_counts_add():
    a = rows()
    b = other(a)
    whole = match([a, b], ["group"], ["a", "b"]).counts(["group"])
    halves = [
        match([a[part], b[part]], ["group"], ["a", "b"]).counts(["group"])
        for part in (slice(0, 90), slice(90, 200))
    ]
    assert halves[0] + halves[1] == whole


def test_counts_of_one_model_have_no_second():
    a = rows()
    counts = match([a, other(a)], ["group"], ["a", "b"]).counts(["group"]).of_first()
    assert not counts.paired
    assert counts.of_first() is counts
    with pytest.raises(InputError, match="counts of one model"):
        counts.of_second()


def test_samples_of_one_run_only_are_counted():
    a = rows()
    matched = match([a[:150], other(a)[20:]], ["group"], ["first", "second"])
    assert matched.samples == 130
    assert matched.dropped == (
        ("not among the samples of second", 20),
        ("only among the samples of second", 50),
    )


def test_another_order_gives_the_same():
    a = rows()
    b = other(a)
    shuffled = b.sample(fraction=1, shuffle=True, seed=3)
    assert match([a, b], ["group"], "ab").counts(["group"]) == match([a, shuffled], ["group"], "ab").counts(
        ["group"]
    )


@pytest.mark.parametrize("column", ["truth", "group"])
def test_runs_that_disagree_about_a_sample_are_refused(column):
    a = rows()
    b = other(a).with_columns(
        pl.when(pl.col("sample") == "7").then(pl.lit("else")).otherwise(pl.col(column)).alias(column)
    )
    with pytest.raises(
        InputError, match=f"'{column}' differs in 1 of 200 common samples: of '7'.*same annotations"
    ):
        match([a, b], ["group"], ["a", "b"])


def test_a_group_that_one_run_does_not_know_is_left_out_and_counted():
    a = rows()
    b = other(a).with_columns(pl.when(pl.col("sample") != "7").then(pl.col("group")).alias("group"))
    matched = match([a, b], ["group"], ["a", "b"])
    assert matched.samples == 199
    assert matched.dropped == (("missing group in a or b only", 1),)


def test_samples_with_something_missing_are_not_usable():
    a = rows().with_columns(pl.when(pl.col("sample") != "7").then(pl.col("group")).alias("group"))
    b = other(a).with_columns(
        pl.when(~pl.col("sample").is_in(["3", "4"])).then(pl.col("prediction")).alias("prediction")
    )
    matched = match([a, b], ["group"], ["a", "b"])
    assert (matched.samples, matched.usable) == (200, 197)


def test_repeated_ids_are_refused():
    a = rows()
    with pytest.raises(InputError, match="5 rows of b repeat a sample id"):
        match([a, pl.concat([a, a[:5]])], ["group"], ["a", "b"])


def test_cells_of_joined_models_are_sorted_and_complete():
    a = rows(n=300)
    b = other(a).with_columns(
        pl.when(pl.col("sample").cast(pl.Int64) > 9).then(pl.col("prediction")).alias("prediction")
    )
    matched = match([a, b, other(a, 5)], ["group"], "abc")
    aligned = Aligned.of_joined(matched.table, ["group"], matched.columns)
    assert aligned.answers.shape == (3, aligned.n.size)
    assert aligned.n.sum() == 290
    assert aligned.dropped == (("missing model 1", 10),)
    assert (np.diff(aligned.truth) >= 0).all()
    assert aligned.sizes.shape == (3, 2)
    assert (aligned.sizes.sum(axis=1) == 290).all()
    labels = np.array(aligned.labels)
    right = aligned.n[aligned.answers[0] == aligned.truth].sum()
    assert right == a[10:].filter(pl.col("truth") == pl.col("prediction")).height
    assert set(labels) == set(a["truth"])


def test_models_apart_share_labels_and_groups():
    a, b = rows(n=300), rows(seed=4, n=120)
    names = ("truth", "group", "prediction")
    tables = [t.group_by(names).agg(n=pl.len()) for t in (a, b)]
    aligned = Aligned.of_separate(tables, ["group"], ["a", "b"])
    assert not aligned.joined
    assert aligned.n.sum(axis=1).tolist() == [300, 120]
    assert aligned.sizes.sum(axis=1).tolist() == [300, 120]
    for table, n in zip((a, b), aligned.n, strict=True):
        right = table.filter(pl.col("truth") == pl.col("prediction")).height
        assert n[aligned.answers[0] == aligned.truth].sum() == right


def test_nothing_left_is_said():
    table = pl.DataFrame(
        {"truth": ["a"], "group": [None], "p": ["a"], "n": [3]}, schema_overrides={"group": pl.String}
    )
    with pytest.raises(InputError, match="no row can be compared: 3 with missing group"):
        Aligned.of_joined(table, ["group"], ["p"])


def counted(table):
    names = ("truth", "group", "prediction")
    return table.group_by(names).agg(n=pl.len())


def test_classes_and_groups_of_one_model_only_are_dropped_and_counted():
    a = rows(n=300)
    only = pl.col("truth") == a["truth"][0]
    b = rows(seed=4, n=120).filter(~only)
    aligned = Aligned.of_separate([counted(a), counted(b)], ["group"], ["a", "b"])
    lost = a.filter(only).height
    assert aligned.dropped == (("of classes and groups that not all models have, in a", lost),)
    assert aligned.n.sum(axis=1).tolist() == [300 - lost, b.height]
    cells = {(int(c), int(g)) for c, g in zip(aligned.truth, aligned.group, strict=True)}
    for model in range(2):
        mine = aligned.n[model] > 0
        assert {
            (int(c), int(g)) for c, g in zip(aligned.truth[mine], aligned.group[mine], strict=True)
        } == cells


def test_models_that_share_no_class_and_group_are_refused():
    a = rows(n=100)
    b = rows(n=100).with_columns(pl.lit("elsewhere").alias("group"))
    with pytest.raises(
        InputError, match=r"share no class and group of group \(a: c0/g0, .*; b: c0/elsewhere"
    ):
        Aligned.of_separate([counted(a), counted(b)], ["group"], ["a", "b"])


def test_counts_of_each_model_come_back():
    a = rows(n=300)
    b = other(a)
    names = {name: name for name in ("truth", "group", "prediction")}
    whole = [Counts.from_table(counted(one), names) for one in (a, b)]
    joined = match([a, b], ["group"], ["a", "b"])
    for aligned in (
        Aligned.of_joined(joined.table, ["group"], joined.columns),
        Aligned.of_separate([counted(a), counted(b)], ["group"], ["a", "b"]),
    ):
        assert [aligned.counts_of(place) for place in range(2)] == whole
