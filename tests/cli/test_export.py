"""``evenhand export`` as it is typed, from an audit of a table to each format."""

from __future__ import annotations

import json
import shutil
from xml.etree import ElementTree

import polars as pl
import pytest

from evenhand.core.findings import Findings
from evenhand.workflows.outputs.export import FORMATS, export, format_of, frame
from evenhand.workflows.outputs.result import Run
from tests.cli.test_audit import type_in
from tests.conftest import make_frame
from tests.report.export_samples import problems_of_every_eval_ever, problems_of_sarif
from tests.runner.edits import unsealed

pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    where = tmp_path_factory.mktemp("exported")
    made = []
    for name, bias in (("planted", 0.9), ("fair", 0.0)):
        make_frame(bias=bias).write_csv(where / f"{name}.csv")
        with pytest.MonkeyPatch.context() as patch:
            words = ["--truth", "truth", "--prediction", "prediction", "--by", "group", "--by", "group+other"]
            assert type_in(patch, "audit", where / f"{name}.csv", *words, "-q", "-o", where / name) == 0
        made.append(where / name)
    return made


def test_json_is_the_file_itself(folders, tmp_path, monkeypatch):
    out = tmp_path / "a" / "findings.json"
    assert type_in(monkeypatch, "export", folders[0], "-q", "-o", out) == 0
    assert out.read_bytes() == (folders[0] / "findings.json").read_bytes()
    Findings.model_validate_json(out.read_bytes())


@pytest.mark.parametrize(
    "name", sorted(set(FORMATS) - {"json", "mlflow", "wandb", "ll144", "every-eval-ever"})
)
def test_two_runs_give_one_file_twice_the_same(folders, tmp_path, monkeypatch, name):
    if name == "model-card":
        pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    more = ["-p", "name=ours"] if name == "model-card" else []
    for out in ("one", "two"):
        assert type_in(monkeypatch, "export", *folders, "--as", name, *more, "-q", "-o", tmp_path / out) == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes() != b""


@pytest.mark.parametrize(
    ("file", "format"),
    [("a.json", "json"), ("a.csv", "csv"), ("b.parquet", "parquet"), ("README.md", "markdown"),
     ("junit.xml", "junit"), ("out.SARIF", "sarif")],
)  # fmt: skip
def test_the_name_of_the_file_says_the_format(file, format):
    assert format_of(None, file) == format
    assert format_of("controls", file) == "controls"


def test_csv_and_parquet_hold_the_same_rows(folders, tmp_path, monkeypatch):
    for name in ("a.csv", "a.parquet"):
        assert type_in(monkeypatch, "export", *folders, "-q", "-o", tmp_path / name) == 0
    saved = pl.read_parquet(tmp_path / "a.parquet")
    read = pl.read_csv(tmp_path / "a.csv", schema=saved.schema)
    back = pl.col(pl.String).str.replace(r"^'('*[=+\-@\t\r\n＝＋－＠])", "$1")  # as docs/exports.md says
    assert read.with_columns(back).equals(saved)
    assert saved.equals(frame(folders))
    assert saved.filter(run="fair").equals(Run.read(folders[1]).to_frame())
    assert set(saved["run"]) == {"planted", "fair"}


def test_a_broken_gate_is_written_and_then_told(folders, tmp_path, monkeypatch, capsys):
    gate = "cramers_v_mean@group>0.3"
    words = ["export", *folders, "--fail-if", gate, "-q", "-o"]
    assert type_in(monkeypatch, *words, tmp_path / "junit.xml") == 4
    assert "gate broken: cramers_v_mean(by=group)" in capsys.readouterr().err
    planted, fair = ElementTree.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - made here
    assert (planted.attrib["failures"], fair.attrib["failures"]) == ("1", "0")
    assert planted.find("testcase").attrib["name"].startswith(gate)
    assert type_in(monkeypatch, *words, tmp_path / "a.sarif") == 4
    made = json.loads((tmp_path / "a.sarif").read_text())
    assert problems_of_sarif(made) == []
    levels = [{one["level"] for one in run["results"]} for run in made["runs"]]
    assert "error" in levels[0]
    assert "error" not in levels[1]


def test_gates_on_chance_are_tests_with_the_sentence_of_their_finding(folders, tmp_path, monkeypatch, capsys):
    gates = ["disparities@group beyond chance", "cramers_v@group beyond chance"]
    words = ["export", *folders, "--fail-if", gates[0], "--fail-if", gates[1], "-q", "-o"]
    assert type_in(monkeypatch, *words, tmp_path / "junit.xml") == 4
    planted, fair = ElementTree.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - made here
    messages = {
        case.attrib["name"]: case.find("failure").attrib["message"]
        for suite in (planted, fair)
        for case in suite.findall("testcase")
        if case.find("failure") is not None
    }
    assert list(messages) == [f"{gate} [{gate.split('@')[0]}(by=group)]" for gate in gates]
    listed, untested = messages.values()
    assert " is above chance (p = 0.003; n = 600): Of 47 g0 rows that are c1, 18 (38 %) are called " in listed
    assert "its p is exploratory" in untested
    assert "accuracy_gap@group" in untested  # what has a verdict in the whole run
    assert (planted.attrib["failures"], fair.attrib["failures"]) == ("2", "1")
    assert listed in capsys.readouterr().err
    assert type_in(monkeypatch, *words, tmp_path / "a.sarif", "--suppress", "6") == 4
    hidden = (tmp_path / "a.sarif").read_text()
    assert "Gate broken: disparities(by=group) has no value (suppressed)" in hidden
    assert "18 (38 %)" not in hidden


@pytest.fixture(scope="module")
def broke(folders):
    """A run whose own audit was given a gate that broke and one that held."""
    where = folders[0].parent
    words = ["--truth", "truth", "--prediction", "prediction", "--by", "group"]
    gates = ["--fail-if", "cramers_v_mean@group>0.3", "--fail-if", "cramers_v_mean@group>0.99"]
    with pytest.MonkeyPatch.context() as patch:
        assert (
            type_in(patch, "audit", where / "planted.csv", *words, *gates, "-q", "-o", where / "broke") == 4
        )
    return where / "broke"


def test_gates_that_the_run_kept_are_tests_too_and_leave_the_exit_code_alone(broke, tmp_path, monkeypatch):
    assert type_in(monkeypatch, "export", broke, "-q", "-o", tmp_path / "junit.xml") == 0
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - made here
    assert suite.attrib["failures"] == "1"
    cases = [case for case in suite.findall("testcase") if case.find("skipped") is None]
    assert [(case.attrib["name"].split(" ")[0], case.find("failure") is not None) for case in cases] == [
        ("cramers_v_mean@group>0.3", True), ("cramers_v_mean@group>0.99", False)
    ]  # fmt: skip
    assert type_in(monkeypatch, "export", broke, "-q", "-o", tmp_path / "a.sarif") == 0
    results = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]["results"]
    errors = [one["message"]["text"] for one in results if one["level"] == "error"]
    assert len(errors) == 1
    assert errors[0].startswith("Gate broken: cramers_v_mean(by=group) = ")
    assert type_in(monkeypatch, "export", broke, "--as", "controls", "-q", "-o", tmp_path / "c.md") == 0
    text = (tmp_path / "c.md").read_text()
    assert "held by 1 finding; created = " in text
    assert "broken \\(cramers\\_v\\_mean\\(by=group\\) = " in text


def test_a_gate_that_is_typed_and_kept_is_one_test_and_breaks_the_command(broke, tmp_path, monkeypatch):
    gate = "cramers_v_mean@group>0.3"
    words = ["export", broke, "--fail-if", gate, "-q", "-o", tmp_path / "junit.xml"]
    assert type_in(monkeypatch, *words) == 4
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - made here
    assert suite.attrib["failures"] == "1"
    assert sum(case.attrib["name"].startswith(gate) for case in suite.findall("testcase")) == 1


def test_a_manifest_that_was_changed_by_hand_is_exported_all_the_same(broke, tmp_path):
    for number, gates in enumerate(
        (["accuracy@nobody>1", "cramers_v_mean>much", "accuracy beyond chnce", 7, None], "accuracy>0", {})
    ):
        unsealed(shutil.copytree(broke, tmp_path / str(number)))
        manifest = json.loads((broke / "manifest.json").read_text())
        (tmp_path / str(number) / "manifest.json").write_text(json.dumps({**manifest, "gates": gates}))
        made = export([tmp_path / str(number)], format="junit").content
        assert b'failures="0"' in made


def test_text_is_printed_without_a_file(folders, monkeypatch, capfdbinary):
    gate = ["--fail-if", "cramers_v_mean@group>0.3"]
    assert type_in(monkeypatch, "export", folders[0], "--as", "markdown", *gate) == 4
    told = capfdbinary.readouterr()
    assert told.out.startswith(b"# Bias audit\n")
    assert told.err.startswith(b"evenhand: gate broken")


def test_impact_ratios_of_a_run(folders, tmp_path, monkeypatch, capsys):
    words = ["export", folders[0], "--as", "ll144", "-p", "selected=c1", "-p", "sex=group"]
    assert type_in(monkeypatch, *words, "-o", tmp_path / "r.csv") == 0
    assert "0 rows of unknown category" in capsys.readouterr().err
    whole = pl.read_csv(tmp_path / "r.csv")
    table = whole.drop_nulls("category")
    assert whole.height == table.height + 2
    rows = make_frame(bias=0.9).group_by("group").agg((pl.col("prediction") == "c1").mean()).sort("group")
    rate = rows["prediction"].to_list()
    assert table["selection_rate"].to_list() == pytest.approx(rate)
    assert table["impact_ratio"].to_list() == pytest.approx([one / max(rate) for one in rate])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--as", "jnuit"], "did you mean 'junit'"),
        ([], "add --as, one of json, csv"),
        (["-o", "file.docx"], "'file.docx' does not say the format"),
        (["--as", "parquet"], "add -o FILE.parquet"),
        (["--as", "csv", "-o", "."], "'.' is a folder"),
        (["--as", "junit", "-p", "a=b"], "there is no parameter of --as junit 'a'"),
        (["--as", "ll144"], "-p selected=LABEL"),
        (["--as", "csv", "--fail-if", "accuracy_gapp>1"], "did you mean"),
        (["--as", "csv", "--fail-if", "accuracy_gap@nobody>0.1"], "accuracy_gap@group"),
        (["--as", "controls", "-p", "framework=gdpr"], "eu-ai-act"),
    ],
)
def test_mistakes_are_one_line(folders, monkeypatch, capsys, words, says):
    assert type_in(monkeypatch, "export", folders[0], *words) == 2
    told = capsys.readouterr()
    assert says in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""


def test_a_comparison_is_exported_where_it_is_no_result_of_one_model(folders, tmp_path, monkeypatch, capsys):
    out = tmp_path / "compared"
    assert type_in(monkeypatch, "compare", *folders, "--metric", "accuracy", "-q", "-o", out) == 0
    assert type_in(monkeypatch, "export", out, "--as", "every-eval-ever") == 2
    assert "compares several" in capsys.readouterr().err
    assert (
        type_in(monkeypatch, "export", out, "-q", "-o", tmp_path / "controls.json", "--as", "controls") == 0
    )
    made = json.loads((tmp_path / "controls.json").read_text())
    found = [line for one in made["frameworks"] for control in one["controls"] for need in control["evidence"]
             for line in need["found"]]  # fmt: skip
    assert not any("manifest.json: compared" in line for line in found)  # nothing says which is earlier


def test_several_runs_where_one_is_asked(folders, monkeypatch, capsys):
    assert type_in(monkeypatch, "export", *folders, "--as", "json") == 2
    assert "--as csv" in capsys.readouterr().err


def test_a_run_given_twice_is_refused_in_one_line(folders, monkeypatch, capsys):
    again = folders[0].parent / "fair" / ".." / folders[0].name
    assert type_in(monkeypatch, "export", folders[0], again, "--as", "csv") == 2
    told = capsys.readouterr()
    assert told.err.endswith("is given twice; give each run once\n")
    assert told.out == ""


def test_runs_of_one_name_are_told_apart_by_their_folders(folders, tmp_path):
    for where in ("january", "march"):
        shutil.copytree(folders[0], tmp_path / where / "run")
    runs = [tmp_path / "january" / "run", tmp_path / "march" / "run", folders[1]]
    assert frame(runs)["run"].unique(maintain_order=True).to_list() == ["january/run", "march/run", "fair"]
    memory = [Run(one.findings, one.manifest) for one in map(Run.read, runs)]
    first = memory[0].findings.manifest_id[:12]
    assert frame(memory)["run"].unique(maintain_order=True).to_list()[:2] == [first, f"{first} #2"]
    made = json.loads(export(runs, format="sarif").content)["runs"]
    assert len({one["automationDetails"]["id"] for one in made}) == 3
    suites = ElementTree.fromstring(export(runs, format="junit").content)  # noqa: S314 - made here
    assert len({suite.attrib["name"] for suite in suites}) == 3


def test_runs_in_memory_are_exported_too(folders):
    run = Run.read(folders[0])
    assert export([run], format="csv").content == export([folders[0]], format="csv").content
    unsaved = Run(run.findings, run.manifest, run.counts)
    record = json.loads(export([unsaved], format="every-eval-ever").content)
    assert problems_of_every_eval_ever(record) == []
