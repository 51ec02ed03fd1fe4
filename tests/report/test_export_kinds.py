"""Every format over every kind of run: a valid file, or a refusal in one line that says what to type."""

import io
import json
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import polars as pl
import pytest

from evenhand.core.errors import InputError, ParameterError, UserError
from evenhand.core.findings import Findings
from evenhand.report.exports import tracking
from evenhand.workflows.outputs.export import FORMATS, export, frame
from evenhand.workflows.outputs.result import Run
from tests.report.export_runs import EVIL, KINDS
from tests.report.export_samples import SCHEMAS, problems_of_every_eval_ever, problems_of_sarif
from tests.report.markdown_nodes import LINKED, nodes_of

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "findings.schema.json").read_text(encoding="utf-8"))
COMPARED = ("compare", "compare without predictions")
UNFORMULA = r"^'('*[=+\-@\t\r\n＝＋－＠])"  # as docs/exports.md says


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def run(kind, run_of_kind):
    return run_of_kind(kind)


@cache
def validator():
    """Of the published schema, which is one."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def checked_json(made, run):
    content = json.loads(made)
    assert list(validator().iter_errors(content)) == []
    assert Findings.model_validate(content) == run.findings


def checked_csv(made, run):
    rows = frame([run])
    read = pl.read_csv(io.BytesIO(made), schema=rows.schema)
    assert read.with_columns(pl.col(pl.String).str.replace(UNFORMULA, "$1")).equals(rows)


def checked_parquet(made, run):
    assert pl.read_parquet(io.BytesIO(made)).equals(frame([run]))


def checked_markdown(made, run):
    nodes, acted = nodes_of(made.decode("utf-8").rpartition("\n---\n")[2])
    assert set(acted) <= {"strong_open"}
    assert [part for part in "".join(nodes).split("\0") if LINKED.search(part)] == []
    assert any("Not estimable is not the same as fair." in node for node in nodes)


def checked_card(made, run):
    huggingface_hub = pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    card = huggingface_hub.ModelCard(made.decode("utf-8"))
    results = card.data.eval_results or []
    values = [finding.value for finding in run.findings.findings if finding.value is not None]
    assert [one.metric_value for one in results] == values
    assert len({(one.metric_type, one.metric_name) for one in results}) == len(results)
    checked_markdown(made, run)


def checked_record(made, run):
    record = json.loads(made)
    assert problems_of_every_eval_ever(record) == []
    told = json.loads(record["source_metadata"]["additional_details"]["not_estimable"])
    names = [one["evaluation_name"] for one in record["evaluation_results"]]
    assert len(names) + len(told) == len(run.findings.findings)
    assert len(set(names)) == len(names)


def checked_junit(made, run):
    xmlschema = pytest.importorskip("xmlschema", reason="needs xmlschema, of the test libraries")
    xmlschema.XMLSchema(SCHEMAS / "junit.xsd").validate(made.decode("utf-8"))
    cases = ElementTree.fromstring(made).findall(".//testcase")  # noqa: S314 - made here
    assert len(cases) == len(run.findings.findings)


def checked_sarif(made, run):
    content = json.loads(made)
    assert problems_of_sarif(content) == []
    for one in content["runs"][0]["results"]:
        assert (one["kind"] == "fail") == (one["level"] != "none")


def checked_any(made, run):
    """Of a format without a check of its own: a text that holds the run's findings."""
    assert run.findings.findings[0].name in made.decode("utf-8")


CHECKS = dict.fromkeys(set(FORMATS) - {"mlflow", "wandb", "ll144"}, checked_any) | {
    "json": checked_json,
    "csv": checked_csv,
    "parquet": checked_parquet,
    "markdown": checked_markdown,
    "model-card": checked_card,
    "every-eval-ever": checked_record,
    "junit": checked_junit,
    "sarif": checked_sarif,
    "controls": checked_markdown,
}


@pytest.mark.parametrize("format", sorted(CHECKS))
def test_a_file_is_valid_or_refused_in_a_line(kind, run, format, tmp_path):
    if format == "model-card":
        pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    out = str(tmp_path / "made")
    if format in ("model-card", "every-eval-ever") and kind in COMPARED:
        with pytest.raises(ParameterError, match="or --as markdown") as refused:
            export([run], format=format, out=out)
        assert "\n" not in str(refused.value)
        assert not Path(out).exists()
        return
    made = export([run], format=format, out=out).content
    assert Path(out).read_bytes() == made == export([run], format=format, out=out).content
    CHECKS[format](made, Run.read(run))


def test_trackers_get_keys_that_they_take(run):
    read = export([run], format="json").content
    findings = Findings.model_validate_json(read).findings
    keys = [tracking.key(finding.metric) for finding in findings]
    assert len(set(keys)) == len(findings)
    assert all(key.isascii() and len(key) <= 250 for key in keys)


def test_runs_of_every_kind_go_to_a_store(run, store):
    mlflow = pytest.importorskip("mlflow", reason="needs evenhand[mlflow]")
    (told,) = export([run], format="mlflow", out=store).messages
    logged = mlflow.MlflowClient(tracking_uri=store).get_run(told.rpartition(" ")[2])
    assert logged.info.status == "FINISHED"
    values = [one.value for one in Run.read(run).findings.findings if one.value is not None]
    assert sorted(value for key, value in logged.data.metrics.items() if not _extra(key)) == sorted(values)


@pytest.mark.parametrize("kind", ["audit", "debias", "compare without predictions"], indirect=True)
def test_runs_go_to_a_folder(run, tmp_path, monkeypatch):
    """What is logged is what a store of every kind holds above; wandb alone takes seconds."""
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB__SAVE_REQUIREMENTS", "false")  # a list of all libraries here, in every log
    wandb = pytest.importorskip("wandb", reason="needs evenhand[wandb]")
    (told,) = export([run], format="wandb", out=str(tmp_path)).messages
    wandb.teardown()  # as the end of a process does: what wandb holds back is written then
    (log,) = Path(told.removeprefix("logged to wandb: ")).glob("*.wandb")
    assert b"findings.json" in log.read_bytes()


def _extra(key):
    ends = ("low", "high", "chance_low", "chance_high", "chance_at", "corrected")
    return key.rpartition("/")[2] in (*ends, "p_value", "p_adjusted")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return f"sqlite:///{tmp_path_factory.mktemp('store') / 'store.db'}"


def test_impact_ratios_are_of_predictions_with_these_attributes(kind, run, tmp_path):
    given = {"selected": EVIL["c0"], "sex": "sex", "race": "race", "crossed": "yes"}
    if kind == "audit":
        made = export([run], format="ll144", out=str(tmp_path / "r.md"), parameters=given).content
        checked = made.decode("utf-8") + "\nNot estimable is not the same as fair.\n"
        checked_markdown(checked.encode(), run)
        rows = pl.read_csv(
            io.BytesIO(export([run], format="ll144", out=str(tmp_path / "r.csv"), parameters=given).content)
        )
        assert rows["sex"].drop_nulls().str.replace(UNFORMULA, "$1").unique().sort().to_list() == sorted(
            [EVIL["g0"], EVIL["g1"]]
        )
        return
    with pytest.raises(UserError) as refused:
        export([run], format="ll144", out=str(tmp_path / "r.csv"), parameters=given)
    said = str(refused.value)
    assert "\n" not in said
    assert "evenhand audit TABLE" in said or "no attribute in this run 'sex'" in said


@pytest.mark.parametrize("format", FORMATS)
def test_a_folder_that_is_no_run_is_refused_in_a_line(format, tmp_path):
    (tmp_path / "manifest.json").write_text("{}")  # as a fitted or adapted model keeps one
    with pytest.raises(InputError, match=r"is no run folder .* give what -o wrote"):
        export([tmp_path], format=format)


def test_no_format_is_lost():
    """A format that is added is tried here with ``checked_any`` until it has a check of its own."""
    assert set(FORMATS) == {*CHECKS, "mlflow", "wandb", "ll144"}
