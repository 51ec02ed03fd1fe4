"""Comparing audits of rows that were sampled in clusters, such as pictures of a person."""

import numpy as np
import polars as pl
import pytest

from evenhand.workflows.audit import audit_table
from evenhand.workflows.compare.engine import compare
from tests.runner.edits import as_before_outcomes
from tests.runner.test_compare import audited, table

pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.mark.parametrize("there", [True, False])
def test_audits_of_clusters_are_compared_by_cluster(tmp_path, there):
    """As independent rows, 60 persons who are right or wrong as a whole would differ beyond chance."""
    rng = np.random.default_rng(1)
    wrong = rng.random((60, 2)) < (0.2, 0.35)
    people = pl.DataFrame({"person": np.repeat(np.arange(60), 20), "label": ["c0", "c1"] * 600})
    flipped = pl.col("label").replace({"c0": "c1", "c1": "c0"})
    rows = people.with_row_index("id").with_columns(group=pl.col("person") % 3)
    for name, flips in (("first", wrong[:, 0]), ("second", wrong[:, 1])):
        of_row = pl.Series(np.repeat(flips, 20))
        rows = rows.with_columns(pl.when(of_row).then(flipped).otherwise("label").alias(name))
    rows.write_csv(tmp_path / "t.csv")
    for name in ("first", "second"):
        columns = {"truth": "label", "prediction": name, "id": "id", "cluster": "person"}
        audit_table(str(tmp_path / "t.csv"), columns=columns, by=["group"], out=tmp_path / name)
    if not there:
        (tmp_path / "t.csv").unlink()
        [as_before_outcomes(tmp_path / name) for name in ("first", "second")]
    compared = compare([tmp_path / "second", tmp_path / "first"])
    found = compared.finding("accuracy_difference", "group")
    assert found.value > 0.1
    assert found.details["units"] == 60
    assert "by person" in found.interval.method
    assert found.interval.high - found.interval.low > 0.25  # 1,200 rows would leave 0.07
    assert found.p_value > 0.001
    assert all(part.p_value is None or part.p_value > 0.001 for part in found.parts)
    assert compared.finding("accuracy_gap_difference", "group").interval is not None
    assert ("flips" in compared.tables) == there
    if there:
        assert compared.tables["flips"]["p"].null_count() == compared.tables["flips"].height > 0
        assert compared.counts["predictions-2-1"].cluster == "person"
        assert found.details["compared"] == "same samples"
    assert "without --cluster" not in str(compared.manifest) + str(compared.findings)
    assert "look surer" not in str(compared.manifest["warnings"])
    accuracies = compared.tables["ranking"].filter(pl.col("metric") == "accuracy")
    assert (accuracies["high"] - accuracies["low"]).min() > 0.1  # 1,200 rows would leave 0.05
    shares = compared.tables["rank_shares"].filter(pl.col("metric") == "accuracy")["share"]
    assert 0.001 < shares.min() < 0.1  # of rows: 0


@pytest.mark.parametrize("there", [True, False])
def test_rows_that_name_no_cluster_are_counted(tmp_path, there):
    rows = table().with_columns(person=pl.int_range(pl.len()) // 8)
    rows.with_columns(person=pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise("person")).write_csv(
        tmp_path / "t.csv"
    )
    for name in ("fair", "biased"):
        columns = {"truth": "label", "prediction": name, "id": "id", "cluster": "person"}
        audit_table(str(tmp_path / "t.csv"), columns=columns, by=["group"], out=tmp_path / name)
    if not there:
        (tmp_path / "t.csv").unlink()
        [as_before_outcomes(tmp_path / name) for name in ("fair", "biased")]
    compared = compare([tmp_path / "fair", tmp_path / "biased"], metrics=["accuracy"])
    found = compared.finding("accuracy_difference")
    assert found.n == rows.height - 5
    dropped = [(one.reason, one.count) for one in found.dropped]
    if there:
        assert dropped == [("missing person", 5)]
    else:
        assert sorted(dropped) == [(f"missing person in {name} of t.csv", 5) for name in ("biased", "fair")]


def test_an_audit_without_the_clusters_of_the_other_says_how_to_get_a_test(tmp_path):
    table().with_columns(person=pl.int_range(pl.len()) // 8).write_csv(tmp_path / "t.csv")
    plain = audited(tmp_path, tmp_path / "t.csv", "fair")
    columns = {"truth": "label", "prediction": "biased", "id": "id", "cluster": "person"}
    audit_table(str(tmp_path / "t.csv"), columns=columns, by=["group"], out=tmp_path / "clustered")
    compared = compare([plain, tmp_path / "clustered"], metrics=["accuracy"])
    found = compared.finding("accuracy_difference")
    assert (found.interval, found.p_value) == (None, None)
    assert "audit them again with the same --cluster" in " ".join(found.notes)
    assert "ranks, their shares and seeds take rows as independent" in " ".join(compared.manifest["warnings"])
