"""One audit, wherever the rows are: this machine, Spark, or halves that were audited apart."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.main import app
from evenhand.core.errors import InputError, UserError
from evenhand.runs.saved_counts import SavedCounts, is_saved
from evenhand.workflows.audit import audit_table
from tests.runner.edits import unsealed

pytestmark = pytest.mark.usefixtures("without_pages")

COLUMNS = {"truth": "label", "prediction": "pred"}
AUDIT = ["--truth", "label", "--prediction", "pred", "--by", "group"]


def rows(n: int = 3_000) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 6, n)
    group = rng.choice(["a", "b", "c"], n)
    wrong = rng.random(n) < np.where(group == "a", 0.4, 0.2)
    prediction = np.where(wrong, rng.integers(0, 6, n), truth)
    gap = rng.random(n) < 0.02
    return pl.DataFrame(
        {
            "label": [f"class {code}, “quoted”" for code in truth],
            "pred": pl.Series([f"class {code}, “quoted”" for code in prediction]),
            "group": pl.Series(group)
            .to_frame("g")
            .with_columns(pl.when(pl.Series(gap)).then(None).otherwise(pl.col("g")).alias("g"))["g"],
            "number": truth.astype(float),
            "id": np.arange(n),
        }
    )


def findings(run: Path) -> bytes:
    return (run / "findings.json").read_bytes()


def test_halves_that_were_audited_apart_add_up_to_the_whole(tmp_path: Path) -> None:
    whole = rows()
    whole.write_parquet(tmp_path / "whole.parquet")
    command = CliRunner()
    for name, part in (("half-1", whole.head(1_100)), ("half-2", whole.tail(1_900))):
        part.write_parquet(tmp_path / f"{name}.parquet")
        given = [str(tmp_path / f"{name}.parquet"), *AUDIT, "-o", str(tmp_path / "runs" / name), "-q"]
        assert command.invoke(app, ["audit", *given]).exit_code == 0
    given = [str(tmp_path / "whole.parquet"), *AUDIT, "-o", str(tmp_path / "runs" / "whole"), "-q"]
    assert command.invoke(app, ["audit", *given]).exit_code == 0
    given = [str(tmp_path / "runs" / "half-*"), "--by", "group", "-o", str(tmp_path / "runs" / "sum"), "-q"]
    assert command.invoke(app, ["audit", *given]).exit_code == 0
    assert findings(tmp_path / "runs" / "sum") == findings(tmp_path / "runs" / "whole")
    assert findings(tmp_path / "runs" / "sum") != findings(tmp_path / "runs" / "half-1")
    files = str(tmp_path / "runs" / "half-*" / "counts" / "predictions.parquet")
    again = audit_table(files, columns={"truth": None, "prediction": None}, by=["group"])
    assert (
        again.findings.model_dump_json() == eh.Run.read(tmp_path / "runs" / "sum").findings.model_dump_json()
    )


def test_parts_counted_over_more_attributes_are_projected(tmp_path: Path) -> None:
    whole = rows(900)
    first = eh.Predictions.from_frame(whole.head(400), **COLUMNS).count(["group", "number"])
    second = eh.Predictions.from_frame(whole.tail(500), **COLUMNS).count(["group"])
    first.save(tmp_path / "a.parquet")
    second.save(tmp_path / "b.parquet")
    added = SavedCounts.read(str(tmp_path / "*.parquet")).counts
    assert added == eh.Predictions.from_frame(whole, **COLUMNS).count(["group"])


def test_what_does_not_add_up_is_refused(tmp_path: Path) -> None:
    whole = rows(300)
    renamed = whole.rename({"label": "truth"})
    whole.write_parquet(tmp_path / "rows.parquet")
    eh.audit(eh.Predictions.from_frame(whole, **COLUMNS), by="group", out=tmp_path / "runs" / "a")
    other = eh.Predictions.from_frame(renamed, truth="truth", prediction="pred")
    eh.audit(other, by="group", out=tmp_path / "runs" / "b")
    with pytest.raises(InputError, match=r"column of truth differs: 'label' \(a\) and 'truth' \(b\)"):
        SavedCounts.read(str(tmp_path / "runs" / "*"))
    assert not is_saved(str(tmp_path / "rows.parquet"))
    with pytest.raises(UserError, match="--truth COL --prediction COL"):
        audit_table(str(tmp_path / "rows.parquet"), columns={"truth": None, "prediction": None}, by=["group"])
    shutil.rmtree(tmp_path / "runs" / "a" / "counts")
    with pytest.raises(InputError, match="a run without counts"):
        SavedCounts.read(str(tmp_path / "runs" / "a"))
    with pytest.raises(UserError, match="there is no column 'grup'; did you mean 'group'"):
        audit_table(str(tmp_path / "runs" / "b"), columns={"truth": None, "prediction": None}, by=["grup"])


def test_rows_are_never_added_twice_and_columns_cannot_be_chosen_again(tmp_path: Path) -> None:
    rows(300).write_parquet(tmp_path / "rows.parquet")
    for name in ("half-1", "half-1-again"):
        audit_table(
            str(tmp_path / "rows.parquet"), columns=COLUMNS, by=["group"], out=tmp_path / "runs" / name
        )
    with pytest.raises(InputError, match="half-1-again' counts the same rows as"):
        SavedCounts.read(str(tmp_path / "runs" / "*"))
    one = str(tmp_path / "runs" / "half-1")
    again = audit_table(one, columns=COLUMNS, by=["group"], inference="none")
    assert again.manifest["source"]["parts"] == [one]
    with pytest.raises(
        UserError, match="--prediction other cannot be chosen among counts; counted was 'pred'"
    ):
        audit_table(one, columns={"truth": None, "prediction": "other"}, by=["group"])
    with pytest.raises(UserError, match="--id id cannot be chosen"):
        audit_table(
            one, columns={"truth": None, "prediction": None, "id": "id"}, by=["group"], engine="spark"
        )


def test_runs_that_asked_a_model_do_not_add_up(tmp_path: Path) -> None:
    table = tmp_path / "rows.parquet"
    rows(60).with_columns(pl.col("id").cast(pl.String)).write_parquet(table)
    audit_table(str(table), columns=COLUMNS, by=["group"], inference="none", out=tmp_path / "run")
    manifest = unsealed(tmp_path / "run") / "manifest.json"
    told = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps(told | {"kind": "run"}), encoding="utf-8")
    with pytest.raises(InputError, match="asked a model, and a sum would forget"):
        SavedCounts.read(str(tmp_path / "run"))


@pytest.mark.filterwarnings("ignore")
def test_spark_tells_an_empty_text_from_nothing_as_this_machine_does(spark, tmp_path: Path) -> None:
    lines = ["label,pred,group", 'a,a,""', "a,b,", 'b,a,"x"', "b,b,y", "b,,x", 'a,a,"two\nlines, ""quoted"""']
    (tmp_path / "rows.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    here, there = (
        audit_table(
            str(tmp_path / "rows.csv"), columns=COLUMNS, by=["group"], inference="none", engine=engine
        )
        for engine in ("local", "spark")
    )
    assert "" in here.counts["predictions"].axis("group").levels
    assert there.counts["predictions"] == here.counts["predictions"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", "folder"])
def test_spark_gives_the_findings_of_this_machine(spark, tmp_path: Path, suffix: str) -> None:
    table = tmp_path / ("folder" if suffix == "folder" else f"rows{suffix}")
    whole = rows()
    if suffix == "folder":
        table.mkdir()
        whole.head(1_000).write_parquet(table / "part-1.parquet")
        whole.tail(2_000).write_parquet(table / "part-2.parquet")
    elif suffix == ".parquet":
        whole.write_parquet(table)
    else:
        whole.write_csv(table, separator="\t" if suffix == ".tsv" else ",")
    given = {**COLUMNS, "id": "id"}
    here = audit_table(str(table), columns=given, by=["group"], inference="none")
    there = audit_table(str(table), columns=given, by=["group"], inference="none", engine="spark")
    assert there.counts["predictions"] == here.counts["predictions"]
    assert there.findings.model_dump_json() == here.findings.model_dump_json()
    assert there.manifest["repeated_ids"] == here.manifest["repeated_ids"] == 0


@pytest.mark.filterwarnings("ignore")
def test_spark_reads_tables_of_its_catalogue_and_says_what_is_wrong(spark, tmp_path: Path) -> None:
    rows().write_parquet(tmp_path / "rows.parquet")
    spark.read.parquet(str(tmp_path / "rows.parquet")).createOrReplaceTempView("predictions_of_may")
    ours = eh.Predictions.read(tmp_path / "rows.parquet", **COLUMNS).count(["group", "number"])
    there = audit_table(
        "predictions_of_may", columns=COLUMNS, by=["group+number"], inference="none", engine="spark"
    )
    assert there.counts["predictions"] == ours
    for path, told in (
        (str(tmp_path / "no.parquet"), "Spark cannot read"),
        (str(tmp_path / "no.xlsx"), "is not read by Spark here"),
    ):
        with pytest.raises(InputError, match=told) as problem:
            audit_table(path, columns=COLUMNS, by=["group"], engine="spark")
        assert "\n" not in str(problem.value)
    (tmp_path / "ragged.csv").write_text("label,pred,group\na,a,x\na,b,y,z\n", encoding="utf-8")
    with pytest.raises(InputError, match="Spark cannot read"):
        audit_table(str(tmp_path / "ragged.csv"), columns=COLUMNS, by=["group"], engine="spark")


def test_an_engine_that_does_not_exist_is_named(tmp_path: Path) -> None:
    rows(200).write_parquet(tmp_path / "rows.parquet")
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "rows.parquet"), *AUDIT, "--engine", "flink"])
    assert isinstance(done.exception, UserError)
    assert "'local', 'spark'" in str(done.exception)
