"""Runs keep the outcome of each sample, and are compared by these where the table is gone."""

import shutil

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.report.chapters import in_chapters
from evenhand.report.page import chapter_words
from evenhand.workflows.outputs import audit_run
from evenhand.workflows.outputs.outcomes import outcomes_of

N = 400


@pytest.fixture
def table():
    """Three classes, three groups of unequal sizes, persons with many rows, an age as a float, two models."""
    rng = np.random.default_rng(0)
    truth, group = rng.choice(list("abc"), N), rng.choice(["x", "y", "z"], N, p=[0.6, 0.3, 0.1])
    one, two = (np.where(rng.random(N) < rate, truth, wrong) for rate, wrong in ((0.8, "a"), (0.7, "b")))
    columns = {
        "id": np.arange(N), "truth": truth, "group": group, "age": rng.integers(0, 3, N) * 1.0,
        "person": rng.integers(0, 50, N).astype(str), "one": one, "two": two,
    }  # fmt: skip
    return pl.DataFrame(columns).with_columns(pl.when(pl.col("id") > 5).then("truth"))


def audited(source, folder, **options):
    """Folders of audits of both models."""
    for model in ("one", "two"):
        columns = {"truth": "truth", "prediction": model, "by": ["group", "age"], **options}
        eh.audit(source, inference="none", out=folder / model, **columns)
    return [folder / "one", folder / "two"]


def pairing(runs):
    return eh.compare(runs).tables["pairing"].row(0, named=True)


NOT_KEPT = "rows are not kept one by one, so compare will know their counts only: "


@pytest.fixture
def said(caplog):
    """The notes so far about rows that are not kept."""
    caplog.set_level("INFO", logger="evenhand")
    return lambda: [line for line in caplog.messages if line.startswith(NOT_KEPT)]


@pytest.mark.parametrize("options", [{}, {"id": "id"}, {"cluster": "person", "map": {"a": "first"}}])
def test_audits_of_a_file_are_paired_when_the_file_is_gone(table, tmp_path, options):
    table.write_csv(tmp_path / "table.csv")
    runs = audited(str(tmp_path / "table.csv"), tmp_path, **options)
    before = eh.compare(runs)
    (tmp_path / "table.csv").unlink()
    after = eh.compare(runs)
    assert after.findings.dump() == before.findings.dump()
    assert pairing(runs)["compared"] == "same samples"
    assert pairing(runs)["samples"] == N - 6


@pytest.mark.parametrize("convert", [lambda frame: frame, lambda frame: frame.to_pandas()])
def test_audits_of_a_frame_are_paired_by_ids(table, tmp_path, convert):
    runs = audited(convert(table), tmp_path, id="id")
    assert (pairing(runs)["compared"], pairing(runs)["samples"]) == ("same samples", N - 6)


def test_rows_of_a_frame_without_ids_are_not_guessed_to_be_the_same(table, tmp_path):
    result = pairing(audited(table, tmp_path))
    assert result["compared"] == "not paired"
    assert "id" in result["reason"]


def test_outcomes_are_right_or_wrong_by_group(table, tmp_path):
    run = eh.Run.read(audited(table, tmp_path, cluster="person")[0])
    rows = run.tables["outcomes"]
    assert rows.height == N
    assert rows["value"].null_count() == 6
    assert rows["unit"].to_list() == table["person"].to_list()
    means = dict(rows.group_by("attribute:group").agg(pl.col("value").mean()).iter_rows())
    parts = {part.key: part.value for part in run.finding("accuracy", "group").parts}
    assert means == pytest.approx(parts)


def test_more_rows_than_are_kept_one_by_one_are_in_the_counts_alone(table, tmp_path, monkeypatch, said):
    monkeypatch.setattr(audit_run, "MOST_SAMPLES", N - 1)
    run = eh.Run.read(audited(table, tmp_path, id="id")[0])
    assert "outcomes" not in run.tables
    assert run.counts["predictions"].n_total == N
    assert set(said()) == {f"{NOT_KEPT}they are more than {N - 1:,}"}


def test_a_changed_file_gives_no_outcomes_of_other_rows(table, tmp_path, said):
    path = tmp_path / "table.csv"
    table.write_csv(path)
    run = eh.audit(str(path), truth="truth", prediction="one", by="group", inference="none")
    table.head(50).write_csv(path)
    run.save(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "evidence", ignore_errors=True)
    assert "outcomes" not in eh.Run.read(tmp_path / "run").tables
    assert said() == [f"{NOT_KEPT}its rows do not give its counts; did the table change?"]


@pytest.mark.parametrize("convert", [pl.DataFrame.clone, pl.DataFrame.to_pandas, pl.DataFrame.lazy])
def test_samples_without_a_first_rank_are_kept_as_they_were_counted(table, tmp_path, said, convert):
    """Their prediction is missing in the counts, too: the table did not change."""
    later = pl.col("id").is_in(table["id"].head(3).to_list())
    ranked = table.with_columns(rank=pl.when(later).then(2).otherwise(1))
    second = table.with_columns(rank=pl.lit(3), one=pl.col("two"))
    run = eh.audit(convert(pl.concat([ranked, second])), truth="truth", prediction="one", by="group",
                   id="id", rank="rank", inference="none")  # fmt: skip
    run.save(tmp_path / "run")
    outcomes = eh.Run.read(tmp_path / "run").tables["outcomes"]
    assert said() == []
    assert outcomes.height == N == run.counts["predictions"].n_total
    assert outcomes.filter(pl.col("prediction").is_null()).height >= 3


def test_pages_that_suppress_hold_no_outcomes(table, tmp_path):
    run = eh.Run.read(audited(table.with_columns(id=pl.format("name-{}", "id")), tmp_path, id="id")[0])
    assert "name-" not in run.html(suppress=5)


def test_outcomes_of_rows_with_weights_and_of_persons_that_count_once_give_the_accuracy(table, tmp_path):
    weighted = table.with_columns(heavy=pl.col("id") % 3 + 1)
    cases = ({"weight": "heavy"}, {"cluster": "person", "cluster_weights": "equal"})
    for number, options in enumerate(cases):
        columns = {"truth": "truth", "prediction": "one", "by": "group", **options}
        eh.audit(weighted, **columns, inference="none", out=tmp_path / str(number))
        run = eh.Run.read(tmp_path / str(number))
        rows = run.tables["outcomes"].drop_nulls("value")
        mean = (rows["value"] * rows["weight"]).sum() / rows["weight"].sum()
        assert mean == pytest.approx(run["accuracy"].value)


def test_what_cannot_be_kept_row_by_row_hinders_no_audit(table, tmp_path, said):
    """Groups called like a column of ours, names that are reserved elsewhere, and cells of any objects."""
    odd = table.rename({"group": "sample", "age": "weight"}).to_pandas()
    odd["unit"] = [("a", 1) if number % 2 else "b" for number in range(N)]
    for by, is_kept in (("sample", False), ("weight", True)):
        folder = tmp_path / by
        eh.audit(odd, truth="truth", prediction="one", by=by, inference="none", id="id", out=folder)
        run = eh.Run.read(folder)
        assert run["accuracy"].value is not None
        assert ("outcomes" in run.tables) == is_kept
    (line,) = said()  # of the one that is not kept
    assert line == f"{NOT_KEPT}groups of a column 'sample' would be taken for names of samples; rename it"
    assert run.tables["outcomes"]["weight"].to_list() == [1.0] * N
    assert set(run.tables["outcomes"]["attribute:weight"]) == {"0", "1", "2"}


def test_each_grouping_of_a_ranking_has_outcomes_of_its_own():
    rows = [(query, f"{query}{n}", "xy"[n % 2], "uv"[n // 3]) for query in "abc" for n in range(6)]
    table = pl.DataFrame(rows, schema=["query", "sample", "race", "sex"], orient="row").with_columns(
        score=-pl.int_range(pl.len())
    )
    rankings = eh.Rankings.from_frame(table, query="query", kind="caption")
    groups = {"race": ("x", "y"), "sex": ("u", "v")}
    findings = [eh.metrics.bias_at_k(rankings, by=by, k=3, groups=two) for by, two in groups.items()]
    outcomes = outcomes_of(eh.Run(eh.Findings(findings=findings, manifest_id="0"), {}))
    means = dict(outcomes.group_by("outcome").agg(pl.col("value").mean()).iter_rows())
    assert means == pytest.approx({finding.metric: finding.value for finding in findings})
    assert set(outcomes["unit_name"]) == {"ranking of one caption"}


def test_a_chapter_names_the_classes_that_changed_below_a_headline_on_them(table, tmp_path):
    """Over all rows nothing differs; what is the same under both groupings is said once."""
    run = eh.compare(audited(table, tmp_path, id="id"))
    texts = [line.text for line in run.overview.headlines]
    assert texts[0].startswith("a: with ")
    assert len(texts) == len(set(texts))
    for chapter in in_chapters(run.findings):
        verdict = chapter_words.verdict(chapter, 0.05)
        assert "no difference over all rows is more than noise; in class “a”" in verdict
        assert "does not prove" not in verdict
