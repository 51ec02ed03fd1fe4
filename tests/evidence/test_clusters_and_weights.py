from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import stats

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.levels import MOST_LEVELS
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.metrics.tables.grouping import Grouped
from evenhand.runs.saved_counts import SavedCounts
from evenhand.workflows.audit import audit_table

ROWS = pl.DataFrame(
    {
        "label": ["a", "a", "b", "b", "a", "b", "a"],
        "said": ["a", "b", "b", "b", "a", "a", "a"],
        "sex": ["f", "f", "f", "m", "m", "m", "m"],
        "person": ["p1", "p1", "p2", "p3", "p3", None, "p4"],
        "survey": [0.5, 1.5, 2.0, 1.0, 0.0, 3.0, 0.25],
    }
)
LABELS = {"truth": "label", "prediction": "said"}


def count(frame: object, **roles: str) -> Counts:
    return Predictions.from_frame(frame, **LABELS, **roles).count(["sex"])


def test_counts_by_cluster_sum_to_those_without() -> None:
    counts = count(ROWS, cluster="person")
    assert counts.cluster == "person"
    assert counts.attributes == ("sex",)
    assert counts.unclustered() == count(ROWS)
    assert counts.table().equals(count(ROWS).table())
    assert counts.n_total == ROWS.height


def test_rows_without_a_cluster_are_dropped_and_counted() -> None:
    grouped = Grouped.bind(count(ROWS, cluster="person"), ["sex"])
    assert grouped.dropped == (("missing cluster", 1),)
    assert grouped.n_rows == 6
    plain = Grouped.bind(count(ROWS.drop_nulls("person")), ["sex"])
    for name in ("truth", "group", "prediction", "n"):
        np.testing.assert_array_equal(getattr(grouped, name), getattr(plain, name))
    units = grouped.units
    assert units is not None
    assert units.name == "person"
    assert np.bincount(units.unit, units.n).tolist() == [2, 1, 2, 1]


def test_more_clusters_than_groups_may_have() -> None:
    many = MOST_LEVELS + 1
    frame = pl.DataFrame({"label": ["a"] * many, "said": ["a"] * many, "person": np.arange(many)})
    counts = Predictions.from_frame(frame, **LABELS, cluster="person").count()
    assert counts.n.size == many
    with pytest.raises(InputError, match="more than the 100,000 groups"):
        Predictions.from_frame(frame, **LABELS).count(["person"])


def test_a_column_called_cluster_is_an_attribute_as_before(tmp_path: Path) -> None:
    frame = ROWS.rename({"sex": "cluster"})
    counts = Predictions.from_frame(frame, **LABELS, cluster="cluster").count(["cluster"])
    assert counts.attributes == ("cluster",)
    counts.save(tmp_path / "counts.parquet")
    assert Counts.load(tmp_path / "counts.parquet") == counts


def test_weights_are_summed_with_their_squares_and_rows() -> None:
    counts = count(ROWS, weight="survey")
    assert counts.weighted

    assert counts.n.sum() == pytest.approx(8.25)
    assert counts.moments is not None
    assert counts.moments.sum(axis=1).tolist() == [6, 0.25 + 2.25 + 4 + 1 + 9 + 0.0625, 1]
    assert counts.n_total == ROWS.height


def test_weights_of_no_row_are_none() -> None:
    counts = count(ROWS.clear(), weight="survey")
    assert counts.weighted
    assert counts.n.sum() == counts.n_total == 0
    assert counts.moments is not None
    assert counts.moments.shape == (3, 0)


def test_rows_of_weight_zero_are_dropped_and_counted() -> None:
    grouped = Grouped.bind(count(ROWS, weight="survey"), ["sex"])
    assert grouped.dropped == (("weight 0", 1),)
    assert grouped.n_rows == 6
    assert grouped.group_sizes.tolist() == [3, 3]
    assert grouped.n.sum() == pytest.approx(8.25)
    assert grouped.moments is not None
    assert grouped.moments[1].sum() == pytest.approx(16.5625)


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf"), None])
def test_weights_that_are_none_are_refused(wrong: float | None) -> None:
    frame = ROWS.with_columns(survey=pl.Series([1.0] * 6 + [wrong]))
    with pytest.raises(InputError, match="weight column 'survey'"):
        count(frame, weight="survey")


def test_weights_of_words_are_refused() -> None:
    with pytest.raises(InputError, match="'p1'"):
        count(ROWS.fill_null("p9"), weight="person")


def test_unknown_columns_are_named_with_the_closest() -> None:
    with pytest.raises(UnknownName, match="person"):
        count(ROWS, cluster="persons")


def test_a_label_is_no_cluster() -> None:
    with pytest.raises(InputError, match="'said' holds labels"):
        count(ROWS, cluster="said")


@pytest.mark.parametrize(
    "roles", [{"cluster": "person"}, {"weight": "survey"}, {"cluster": "person", "weight": "survey"}]
)
def test_every_engine_counts_alike_and_counts_add_and_save(roles: dict[str, str], tmp_path: Path) -> None:
    whole = count(ROWS, **roles)
    assert count(ROWS.to_pandas(), **roles) == whole
    assert count(ROWS[::-1], **roles) == whole
    rows = duckdb.from_arrow(ROWS.to_arrow())
    assert count(rows, **roles) == whole
    assert count(ROWS[:3], **roles) + count(ROWS[3:], **roles) == whole
    whole.save(tmp_path / "counts.parquet")
    assert Counts.load(tmp_path / "counts.parquet") == whole
    assert whole.project([]).project([]) == Predictions.from_frame(ROWS, **LABELS, **roles).count()


def test_counts_with_and_without_weights_do_not_add() -> None:
    with pytest.raises(InputError, match="weights"):
        count(ROWS, weight="survey") + count(ROWS)


def test_the_command_reads_both_columns_and_the_manifest_says_so(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    ROWS.write_csv(table)
    columns = {**LABELS, "cluster": "person", "weight": "survey"}
    run = audit_table(str(table), columns=columns, by=["sex"], inference="none", out=tmp_path / "run")
    assert (run.manifest["cluster"], run.manifest["weight"]) == ("person", "survey")
    accuracy = next(one for one in run.findings.findings if one.name == "accuracy")
    assert accuracy.value == pytest.approx((0.5 + 2 + 1 + 0.25) / 5.25)
    assert [(one.reason, one.count) for one in accuracy.dropped] == [("missing cluster", 1), ("weight 0", 1)]
    assert accuracy.n == 5
    saved = SavedCounts.read(str(tmp_path / "run"))
    saved.check_columns({"cluster": "person"})
    with pytest.raises(ParameterError, match="--weight"):
        saved.check_columns({"weight": "survey"})


def test_without_either_the_manifest_is_as_before() -> None:
    run = eh.audit(Predictions.from_frame(ROWS, **LABELS), by="sex", inference="none")
    assert not {"cluster", "weight"} & set(run.manifest)


def people(seed=0, rates=(0.8, 0.62), persons=60):
    """Persons of 1 to 200 photos, whose photos are alike."""
    rng = np.random.default_rng(seed)
    photos = np.exp(rng.uniform(0, np.log(200), persons)).astype(int)
    rate = np.array(rates)[np.arange(persons) % 2]
    person = np.repeat(np.arange(persons), photos)
    right = rng.random(person.size) < rng.beta(rate * 7 / 3, (1 - rate) * 7 / 3)[person]
    truth = rng.integers(0, 2, person.size)
    said = np.where(right, truth, 1 - truth)
    return pl.DataFrame({"truth": truth, "said": said, "group": person % 2, "person": person, "right": right})


def equally(table, **more):
    columns = {"truth": "truth", "prediction": "said", "cluster": "person", "cluster_weights": "equal"}
    return eh.Predictions.from_frame(table, **{**columns, **more})


def test_persons_that_count_once_have_the_accuracy_of_their_means():
    table = people()
    finding = eh.metrics.accuracy(equally(table), by="group")
    means = table.group_by("person").agg(pl.col("group").first(), pl.col("right").mean())
    assert finding.value == pytest.approx(means["right"].mean())
    for part in finding.parts:
        mean = means.filter(pl.col("group") == int(part.key))["right"].mean()
        assert part.value == pytest.approx(mean)
    assert finding.n == table.height
    weighted = table.with_columns(w=1 / pl.len().over("person"))
    by_weight = eh.metrics.accuracy(
        eh.Predictions.from_frame(weighted, truth="truth", prediction="said", cluster="person", weight="w"),
        by="group",
    )
    assert finding.interval.low == pytest.approx(by_weight.interval.low)
    doubled = eh.metrics.accuracy(equally(weighted.with_columns(w=2.0), weight="w"), by="group")
    assert doubled.value == pytest.approx(finding.value)


def test_rows_without_an_answer_take_nothing_from_their_person():
    table = people()
    more = table.head(40).with_columns(said=pl.lit(None, dtype=pl.Int64))
    plain, missing = (
        eh.metrics.accuracy(equally(rows), by="group") for rows in (table, pl.concat([table, more]))
    )
    assert missing.value == pytest.approx(plain.value)
    assert [one.count for one in missing.dropped] == [40]


def test_equal_persons_have_the_power_of_a_test_of_their_means():
    found = np.zeros(3)
    for seed in range(40):
        table = people(seed)
        rows = eh.Predictions.from_frame(table, truth="truth", prediction="said", cluster="person")
        means = table.group_by("person").agg(pl.col("group").first(), pl.col("right").mean())
        first, second = (means.filter(group=group)["right"].to_numpy() for group in (0, 1))
        found += (
            eh.metrics.accuracy_gap(equally(table), by="group").p_value <= 0.05,
            stats.ttest_ind(first, second, equal_var=False).pvalue <= 0.05,
            eh.metrics.accuracy_gap(rows, by="group").p_value <= 0.05,
        )
    print(f"equal {found[0]:.0f}, person means {found[1]:.0f}, rows {found[2]:.0f} of 40")
    assert found[0] >= 0.8 * found[1]
    assert found[1] >= 15


def test_clusters_count_once_only_where_there_are_some():
    with pytest.raises(ParameterError, match="--cluster COL"):
        eh.Predictions.from_frame(people(), truth="truth", prediction="said", cluster_weights="equal")
    with pytest.raises(ParameterError, match="cluster_weights"):
        equally(people(), cluster_weights="all")
