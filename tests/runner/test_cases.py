"""The rows behind a headline: exactly those that were counted, whatever the labels, rules and frame."""

from __future__ import annotations

from datetime import date, timedelta

import duckdb
import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, UnknownName
from evenhand.evidence.predictions.counts import Counts
from evenhand.files.tables.write import telling_where
from evenhand.workflows.outputs.audit_run import AuditRun

COLUMNS = {"truth": "truth", "prediction": "said"}
LABELS, GROUPS = ("cat", "dog", "fox"), ("a", "b", "c")


def planted(
    labels=LABELS, groups=GROUPS, *, wrong: tuple[int, ...] = (1,), rows: int = 60, hurt: int = 36
) -> pl.DataFrame:
    """Each class is right in all but 6 rows of a group; the first of the first group is mostly wrong."""
    lines = []
    for at, truth in enumerate(labels):
        for group in groups:
            errors = hurt if at == 0 and group == groups[0] else 6
            for row in range(rows):
                other = labels[wrong[row % len(wrong)]] if at == 0 else labels[(at + 1) % len(labels)]
                lines.append((truth, group, other if row < errors else truth))
    frame = pl.DataFrame(lines, schema=["truth", "group", "said"], orient="row")
    return frame.with_columns(note=pl.int_range(pl.len()).cast(pl.String)).sample(
        fraction=1.0, shuffle=True, seed=0
    )


def audited(evidence, by="group", **options):
    columns = {} if isinstance(evidence, eh.Predictions | eh.Counts) else COLUMNS
    return eh.audit(evidence, by=by, metrics=["disparities"], **columns, **options)


def check(run, table: pl.DataFrame | None = None) -> pl.DataFrame:
    """Every headline has as many rows as were counted; those of the first, with all columns."""
    assert run.overview.beyond
    for number, headline in enumerate(run.overview.headlines, 1):
        assert headline.rows
        assert run.cases(number).height == headline.cases
    first = run.cases(1)
    if table is not None:
        assert first.columns == table.columns
        assert first["note"].to_list() == [note for note in table["note"] if note in set(first["note"])]
    return first


KINDS = {
    "text": (LABELS, GROUPS),
    "integers": ((0, 1, 2), (10, 20, 30)),
    "booleans": ((True, False), (True, False)),
    "integral floats": ((0.0, 1.0, 2.0), (0.5, 1.5, 2.0)),
    "dates as groups": (LABELS, (date(2026, 1, 1), date(2026, 1, 2), date(2026, 2, 1))),
    "labels that look like conditions": (("=cat", "!dog", ""), ("=a", "!b", " ")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_every_kind(kind):
    table = planted(*KINDS[kind])
    labels, groups = KINDS[kind]
    first = check(audited(table), table)
    expected = table.filter(truth=labels[0], group=groups[0], said=labels[1])
    assert first.equals(expected)


def test_gaps_are_never_cases():
    table = planted((0.0, 1.0, 2.0), (0.5, 1.5, 2.0))
    gaps = pl.DataFrame(
        {"truth": [0.0, None, 0.0], "group": [0.5, 0.5, float("nan")], "said": [float("nan"), 1.0, 1.0],
         "note": ["x", "y", "z"]}
    )  # fmt: skip
    first = check(audited(pl.concat([table, gaps])))
    assert first.height == 36


FRAMES = {
    "lazy": pl.DataFrame.lazy,
    "pandas": pl.DataFrame.to_pandas,
    "pandas of objects": lambda table: pd.DataFrame(table.to_dict(as_series=False)).astype(object),
    "pandas of categories": lambda table: table.to_pandas().astype({"truth": "category", "said": "category"}),
    "arrow": pl.DataFrame.to_arrow,
    "categories": lambda table: table.with_columns(pl.col("truth", "said").cast(pl.Categorical)),
    "duckdb": lambda table: duckdb.from_arrow(table.to_arrow()),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_of_every_library(frame):
    table = planted()
    first = check(audited(FRAMES[frame](table)))
    notes = table.filter(truth="cat", group="a", said="dog")["note"].to_list()
    assert (
        (sorted(first["note"]) == sorted(notes)) if frame == "duckdb" else (first["note"].to_list() == notes)
    )


def test_booleans_with_a_gap_in_pandas():
    table = planted((True, False), ("a", "b")).to_pandas().astype(object)
    table.loc[0, "said"] = None
    first = check(audited(table))
    assert first.height > 0
    assert first["said"].null_count() == 0


def test_labels_under_the_rules_of_the_user(tmp_path):
    table = planted()
    dirty = table.with_columns(
        said=pl.when(pl.col("note").cast(pl.Int64) % 3 == 0)
        .then(pl.col("said").str.to_uppercase())
        .otherwise("said"),
        group=pl.col("group").replace({"b": "NA"}),
        truth=pl.col("truth").replace({"cat": "feline"}),
    )
    run = audited(dirty, map={"feline": "cat"}, normalize=True, missing="NA")
    first = check(run)
    assert first.height == 36
    assert set(first["said"]) == {"dog", "DOG"}
    assert set(first["truth"]) == {"feline"}


def test_numbers_of_a_text_table(tmp_path):
    path = tmp_path / "t.csv"
    planted(("97.0", "98.0", "99.0"), ("1", "2", "3")).write_csv(path)
    run = audited(path)
    assert run.overview.headlines[0].rows["truth"] == "=97"
    assert set(check(run)["truth"]) == {"97.0"}


def test_a_miss_has_every_wrong_label():
    labels = ("cat", "dog", "fox", "owl", "emu", "bee", "ant")
    table = planted(labels, wrong=(1, 2, 3, 4, 5, 6))
    run = audited(table)
    assert run.overview.headlines[0].rows["said"] == "!cat"
    first = check(run, table)
    assert set(first["said"]) == set(labels) - {"cat"}
    assert first.height == 36


def test_crossed_groups():
    table = planted().with_columns(
        sex=pl.when(pl.col("note").cast(pl.Int64) % 2 == 0).then(pl.lit("x")).otherwise(pl.lit("y"))
    )
    hurt = (pl.col("truth") == "cat") & (pl.col("group") == "a") & (pl.col("sex") == "x")
    table = table.with_columns(
        said=pl.when(hurt).then(pl.lit("dog")).when(pl.col("truth") == "cat").then("truth").otherwise("said")
    )
    run = audited(table, by=[("group", "sex")])
    assert run.overview.headlines[0].rows["sex"] == "=x"
    assert set(check(run)["sex"]) == {"x"}


def test_ranked_tables_count_the_first_rank_alone():
    table = planted().with_columns(rank=pl.lit(1))
    others = table.with_columns(rank=pl.lit(2), said=pl.lit("dog"))
    evidence = eh.Predictions.from_frame(pl.concat([table, others]), **COLUMNS, rank="rank")
    first = check(audited(evidence))
    assert first.height == 36
    assert set(first["rank"]) == {1}


def test_rows_without_a_cluster_are_no_cases():
    table = planted().with_columns(who=pl.int_range(pl.len()) // 3)
    gap = pl.DataFrame({"truth": ["cat"], "group": ["a"], "said": ["dog"], "note": ["x"], "who": [None]})
    evidence = eh.Predictions.from_frame(
        pl.concat([table, gap.cast({"who": pl.Int64})]), **COLUMNS, cluster="who"
    )
    assert "x" not in check(audited(evidence))["note"]


def test_files_are_written_and_read_back(tmp_path):
    formula = planted().with_columns(note="=1+" + pl.col("note"), tags=pl.lit(["x", "y"]))
    run = audited(formula, out=tmp_path / "run")
    text = (tmp_path / "run" / "cases" / "1.csv").read_text()
    assert "'=1+" in text
    assert text.count("\n") == 37
    back = eh.Run.read(tmp_path / "run")
    assert back.cases(1)["note"].to_list() == run.cases(1)["note"].to_list()
    assert set(back.case_tables) == set(run.case_tables)
    back.save(tmp_path / "again")
    assert (tmp_path / "again" / "cases" / "1.csv").read_text() == text


def test_values_that_csv_has_no_form_for_are_written_as_text(tmp_path):
    table = planted().with_columns(
        took=pl.lit(timedelta(minutes=-90)), byte=pl.lit(b"a"), pair=pl.struct(x="note"),
        many=pl.lit([1, 2]), box=pl.lit([1, 2], pl.Array(pl.Int64, 2)), each=pl.lit([timedelta(1)]),
    )  # fmt: skip
    table = table.with_columns(pl.Series("thing", [timedelta(1)] * table.height, pl.Object))
    path = tmp_path / "run"
    run = audited(table, out=path)
    first = eh.Run.read(path).cases(1)
    note = run.cases(1)["note"][0]
    texts = {
        "took": "-PT1H30M",
        "byte": "61",
        "pair": f'{{"x": "{note}"}}',
        "many": "[1, 2]",
        "box": "[1, 2]",
    }
    texts |= {"each": '["1 day, 0:00:00"]', "thing": '"1 day, 0:00:00"'}
    assert first.row(0, named=True).items() >= texts.items()


def test_only_the_system_is_answered_with_space_and_permissions(tmp_path):
    with pytest.raises(InputError, match="no space left; free some space"), telling_where(tmp_path):
        raise OSError("no space left")
    with pytest.raises(InputError, match="turn the columns") as refused, telling_where(tmp_path):
        pl.DataFrame({"took": [timedelta(1)]}).write_csv()
    assert "space" not in str(refused.value)


def test_more_rows_than_are_written(monkeypatch):
    monkeypatch.setattr("evenhand.workflows.outputs.audit_run.MOST_CASE_ROWS", 5)
    table = planted()
    run = audited(table)
    assert run.cases(1).equals(table.filter(truth="cat", group="a", said="dog").head(5))


def test_nothing_is_read_where_nothing_is_beyond_chance(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr("evenhand.workflows.outputs.audit_run.chosen_rows", lambda *_, **__: read.append(1))
    run = audited(planted(hurt=6), out=tmp_path / "run")
    assert run.case_tables == {}
    assert not (tmp_path / "run" / "cases").exists()
    assert read == []


def test_the_largest_that_chance_can_explain_has_rows_too():
    run = audited(planted(hurt=9))
    assert not run.overview.beyond
    assert run.cases(1).height == run.overview.headlines[0].cases == 9


def test_a_table_that_changed_is_named(tmp_path):
    path = tmp_path / "t.csv"
    planted().write_csv(path)
    run = audited(path)
    planted(hurt=30).write_csv(path)
    assert run.case_tables == {}
    with pytest.raises(InputError, match="the table changed"):
        run.cases(1)
    path.unlink()
    with pytest.raises(InputError, match=r"t\.csv"):
        run.cases(1)
    run.save(tmp_path / "run")  # the numbers need no table


def test_what_has_no_rows_says_what_to_do(tmp_path):
    table = planted()
    counts = eh.Predictions.from_frame(table, **COLUMNS).count(["group"])
    assert isinstance(counts, Counts)
    with pytest.raises(InputError, match="evenhand audit TABLE"):
        audited(counts).cases(1)
    run = audited(table)
    assert isinstance(run, AuditRun)
    with pytest.raises(UnknownName, match="headline"):
        run.cases(99)
    with pytest.raises(UnknownName, match="headline"):
        run.cases(0)


def test_a_report_that_hides_small_cells_holds_no_rows(monkeypatch):
    contents = []
    monkeypatch.setattr(
        "evenhand.report.page.html.render_html",
        lambda content, suppress, language: contents.append(content) or "",
    )
    run = audited(planted())
    run.html(suppress=5)
    run.html()
    assert [set(content.cases) for content in contents] == [set(), set(run.case_tables)]
    assert "1" in run.case_tables
