"""Small cells are hidden in every export as in the report, and no format holds what was hidden."""

import io
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.findings import Dropped, Findings
from evenhand.report.content import ReportInput
from evenhand.report.exports.every_eval_ever import every_eval_ever
from evenhand.report.exports.sarif import sarif
from evenhand.report.exports.summary import summary
from evenhand.report.suppression.suppress import suppressed
from evenhand.workflows.outputs.evidence_rows import evidence_of
from evenhand.workflows.outputs.export import export
from evenhand.workflows.outputs.result import Run
from tests.report.export_samples import exported, problems_of_every_eval_ever, problems_of_sarif
from tests.report.report_samples import content, plain

FEWEST = {"audit": 110, "visogender resolution": 40}
TEXTS = ["json", "csv", "markdown", "every-eval-ever", "junit", "sarif", "controls", "model-card"]


@pytest.fixture(scope="module", params=list(FEWEST))
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def run(kind, run_of_kind):
    return Run.read(run_of_kind(kind))


@pytest.fixture(scope="module")
def shown(kind, run):
    """The findings with small cells hidden."""
    return suppressed(
        ReportInput(run.findings, run.manifest, evidence=evidence_of(run)), FEWEST[kind]
    ).findings


def gone(run, shown):
    """The digits of every value, of findings and parts, that stand nowhere in the findings that are shown."""
    held = [one for finding in run.findings.findings for one in (finding, *finding.parts)]
    digits = {repr(one.value)[:8] for one in held if one.value is not None and len(repr(one.value)) > 8}
    text = shown.dump().decode("utf-8")
    return {one for one in digits if one not in text}


@pytest.mark.parametrize("format", TEXTS)
def test_no_format_holds_a_value_that_is_hidden(kind, run, shown, format, tmp_path):
    if format == "model-card":
        pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    fewest = FEWEST[kind]
    hidden = gone(run, shown)
    assert len(hidden) > 5
    made = export([run], format=format, out=str(tmp_path / "made"), suppress=fewest).content.decode("utf-8")
    assert [number for number in hidden if number in made] == []
    if format == "json":
        assert Findings.model_validate_json(made) == shown
    if format == "sarif":
        assert problems_of_sarif(json.loads(made)) == []
    if format == "every-eval-ever":
        assert problems_of_every_eval_ever(json.loads(made)) == []
    if format == "markdown":
        assert f"cells of fewer than {fewest} rows are hidden" in made


@pytest.mark.parametrize("format", TEXTS)
def test_a_run_whose_number_of_rows_is_hidden_is_written(format, tmp_path):
    if format == "model-card":
        pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    rows = [("a", "a", "x"), ("b", "b", "y"), ("a", "b", "y"), ("b", "a", "x"), ("c", "c", "z")]
    run = eh.audit(
        pl.DataFrame(rows, schema=["t", "p", "g"], orient="row"), truth="t", prediction="p", by="g"
    )
    assert export([run], format=format, out=str(tmp_path / "made"), suppress=10).content


def test_rows_hold_no_small_count(kind, run, tmp_path):
    made = export([run], format="csv", suppress=FEWEST[kind]).content
    rows = pl.read_csv(io.BytesIO(made))
    assert rows.filter(pl.col("n").is_between(1, FEWEST[kind], closed="left")).height == 0
    hidden = rows.filter(pl.col("n") < 0)
    assert hidden.height
    assert hidden["value"].null_count() == hidden.filter(pl.col("reason") == "suppressed").height


def test_text_tells_what_is_hidden_apart_from_what_could_not_be_estimated():
    gone = plain("accuracy_gap", ("sex",), None, "lower is fairer", reason="suppressed")
    gone = gone.model_copy(update={"dropped": [Dropped(reason="missing sex", count=-10)]})
    empty = plain("equalized_odds", ("sex",), None, "lower is fairer", reason="empty")
    few = empty.model_copy(update={"dropped": [Dropped(reason="missing sex", count=12)]})
    run = replace(exported(content([gone, few])), fewest=10)
    text = summary([run]).decode("utf-8")
    assert "**Could not be estimated** (1)\n\n- Equalized odds difference by sex" in text
    assert "**Hidden, because cells of few rows are** (1)\n\n- Accuracy gap by sex\n" in text
    assert "- missing sex: hidden\n" in text
    assert "up to 0" not in text
    (first, _) = json.loads(sarif([run]))["runs"][0]["results"]
    assert "not estimable" not in first["message"]["text"]
    assert "Accuracy gap by sex: hidden, because" in first["message"]["text"]
    details = json.loads(every_eval_ever([run]))["source_metadata"]["additional_details"]
    assert json.loads(details["hidden"]) == ["accuracy_gap(by=sex)"]
    assert list(json.loads(details["not_estimable"])) == ["equalized_odds(by=sex)"]
    plainly = summary([exported(content([few]))]).decode("utf-8")
    assert "- missing sex: up to 12 of a finding\n" in plainly


def test_trackers_get_what_is_shown_only(run, kind, tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="needs evenhand[mlflow]")
    where = f"sqlite:///{tmp_path / 'store.db'}"
    (told,) = export([run], format="mlflow", out=where, suppress=FEWEST[kind]).messages
    client = mlflow.MlflowClient(tracking_uri=where)
    id = told.rpartition(" ")[2]
    (tmp_path / "got").mkdir()
    folder = Path(client.download_artifacts(id, "", str(tmp_path / "got")))
    shown = Findings.model_validate_json((folder / "findings.json").read_bytes())
    names = [one.metric for one in shown.findings if one.reason == "suppressed"]
    assert json.loads((folder / "hidden.json").read_text(encoding="utf-8")) == names != []
    hidden = gone(run, shown)
    assert len(hidden) > 5
    assert not hidden & {repr(value)[:8] for value in client.get_run(id).data.metrics.values()}


def test_what_cannot_be_hidden_is_refused(run):
    with pytest.raises(ParameterError, match="leave out --suppress"):
        export([run], format="ll144", suppress=5, parameters={"selected": "x", "sex": "sex"})
    with pytest.raises(InputError, match="--suppress -1 is below 0"):
        export([run], format="csv", suppress=-1)
