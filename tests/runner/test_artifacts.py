"""Artifacts from runs and data to every format, and what is said when they cannot be made."""

from __future__ import annotations

import json
import subprocess
import sys

import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.benchmarks.benchmark import Artifact, Made, Setting
from evenhand.cli.commands.outputs.artifact import artifact as make_artifact
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.figure import Figure
from evenhand.core.findings import Findings
from evenhand.core.registry import Registry
from evenhand.runs.run_folder import RunFolder
from evenhand.workflows.outputs.artifact import FORMATS, artifact, write_artifact
from evenhand.workflows.outputs.result import Run
from evenhand.workflows.outputs.run_artifacts import artifact_tables, drawn_of
from tests.conftest import make_frame
from tests.report.figure_samples import KINDS, pairs

OWN = """
import polars as pl
from evenhand.benchmarks.benchmark import Artifact, Made, Parameter
from evenhand.core.figure import Figure

def of_data(runs, setting):
    lines = setting.data.read_text().split()
    times = setting.parameters["times"]
    table = pl.DataFrame({"line": lines, "length": [len(line) * times for line in lines]})
    return Made(table, notes=(f"{len(lines)} lines, seed {setting.seed}",))

def of_runs(runs):
    return pl.DataFrame({"run": [str(run.manifest.get("model")) for run in runs]})

FIGURE = Figure("bars", x="line", y="length")
TIMES = {"times": Parameter(1)}
DATA = Artifact("own/data", "Lines <b>", of_data, (FIGURE,), runs=0, data=True, parameters=TIMES)
RUNS = Artifact("own/runs", "Runs", of_runs, benchmarks=("visogender",))
PAIR = Artifact("own/pair", "Two runs", of_runs, benchmarks=("sprites",), runs=2)
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "lines.txt").write_text("one three eleven")
    return lambda name: f"{tmp_path / 'own.py'}:{name}"


def made_run(benchmark):
    findings = Findings(schema_version="1.0", manifest_id="m", findings=[])
    return RunFolder(findings, {"benchmark": benchmark, "model": {"name": "m"}})


def test_an_artifact_that_describes_data_takes_data_and_parameters(own, tmp_path):
    made = artifact(own("DATA"), [], data=tmp_path / "lines.txt", parameters={"times": "2"}, seed=7)
    assert made.table.rows() == [("one", 6), ("three", 10), ("eleven", 12)]
    assert made.notes == ("3 lines, seed 7",)
    assert made.figures[0].kind == "bars"


def test_what_an_artifact_needs_is_told(own, tmp_path):
    with pytest.raises(InputError, match=r"own/data is made from the benchmark's data; add --data DIR"):
        artifact(own("DATA"), [])
    with pytest.raises(
        InputError, match=r"made from no run, 1 given; type: evenhand artifact own/data --data DIR"
    ):
        artifact(own("DATA"), [made_run("sprites")], data=tmp_path)
    with pytest.raises(InputError, match="does not exist; give a folder or file"):
        artifact(own("DATA"), [], data=tmp_path / "nothing")
    with pytest.raises(UnknownName, match="parameter of own/data 'time'; did you mean 'times'"):
        artifact(own("DATA"), [], data=tmp_path / "lines.txt", parameters={"time": "2"})
    with pytest.raises(ParameterError, match="not a int"):
        artifact(own("DATA"), [], data=tmp_path / "lines.txt", parameters={"times": "two"})
    with pytest.raises(
        InputError, match="needs a run of visogender, 0 given; type: evenhand run visogender --model"
    ):
        artifact(own("RUNS"), [])
    with pytest.raises(InputError, match="needs 2 runs of sprites, 1 given"):
        artifact(own("PAIR"), [made_run("sprites")])


def test_runs_of_another_benchmark_are_refused_in_one_line(own):
    assert (
        artifact(own("RUNS"), [made_run("visogender/resolution"), made_run("visogender")]).table.height == 2
    )
    for benchmark in ("sprites", "visogenderlike", None):
        with pytest.raises(InputError, match=r"own/runs is made from runs of visogender, .* is ") as told:
            artifact(own("RUNS"), [made_run(benchmark)])
        assert "type: evenhand run visogender --model URI -o DIR" in str(told.value)
        assert "\n" not in str(told.value)


def test_artifacts_that_take_runs_alone_still_work():
    made = artifact("skewsize/table1", [made_run_of_sprites()])
    assert set(made.table["source"]) == {"paper", "ours"}
    assert made.figures == (Figure("table"),)


def made_run_of_sprites():
    class Sprites(RunFolder):
        def finding(self, name, by=(), **params):
            from evenhand.core.findings import Finding

            return Finding.model_construct(value=0.5, parts=[])

    findings = Findings(schema_version="1.0", manifest_id="m", findings=[])
    return Sprites(
        findings, {"benchmark": "sprites", "parameters": {"removed": "none", "strength": "strong"}}
    )


def test_make_may_return_figures_that_depend_on_the_data():
    kinds = Artifact("own/x", "x", lambda runs, setting: Made(pairs(), figures=(KINDS["bars"][0],)))
    made = kinds.build([], Setting(parameters={}, data=None, capabilities=(), seed=0))
    assert made.figures[0].kind == "bars"


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_is_written_alike_twice(own, tmp_path, suffix):
    made = artifact(own("DATA"), [], data=tmp_path / "lines.txt")
    written = []
    for name in ("first", "second"):
        path = tmp_path / "new folder" / f"{name}{suffix}"
        write_artifact(made, path)
        written.append(path.read_bytes())
    assert written[0] == written[1]
    assert {entry.name for entry in path.parent.iterdir()} == {f"first{suffix}", f"second{suffix}"}


def test_the_formats_hold_what_they_say(own, tmp_path):
    made = artifact(own("DATA"), [], data=tmp_path / "lines.txt")
    for suffix in FORMATS:
        write_artifact(made, tmp_path / f"out{suffix}")
    assert pl.read_csv(tmp_path / "out.csv").equals(made.table)
    assert pl.read_parquet(tmp_path / "out.parquet").equals(made.table)
    spec = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert "Lines &lt;b&gt;" in (tmp_path / "out.svg").read_text(encoding="utf-8")
    assert Image.open(tmp_path / "out.png").format == "PNG"
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "Lines &lt;b&gt;" in page
    assert "3 lines, seed 0" in page
    assert "eleven" in page


def test_no_text_of_a_csv_is_a_formula(tmp_path):
    table = pl.DataFrame({"class": ["=1+1", "@x", "a=b", None], "n": [-1.0, 2.0, 3.0, 4.0]})
    write_artifact(artifact_of(table), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "class,n\n'=1+1,-1.0\n'@x,2.0\na=b,3.0\n,4.0\n"
    write_artifact(artifact_of(table), tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").equals(table)


def test_lists_become_text_in_csv(tmp_path):
    table = pl.DataFrame({"words": [["a", "b"], []]})
    made = artifact_of(table)
    write_artifact(made, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == 'words\na b\n""\n'


def artifact_of(table):
    from evenhand.workflows.outputs.artifact import MadeArtifact

    return MadeArtifact("own/x", "x", table, (), (Figure("table"),))


def test_an_unknown_format_is_refused_before_anything_is_made(own, tmp_path):
    with pytest.raises(InputError, match=r"unknown format; possible: \.csv, \.parquet, \.html"):
        make_artifact(own("DATA"), out=tmp_path / "out.pdf")


def test_the_table_is_printed_with_its_notes(own, tmp_path, capsys):
    make_artifact(own("DATA"), data=tmp_path / "lines.txt", parameters=["times=3"])
    printed = capsys.readouterr().out
    assert "Lines <b>" in printed
    assert "18" in printed
    assert "3 lines, seed 0" in printed


def test_artifacts_of_several_runs_say_what_was_not_adapted_alike(own):
    def run(model, **adaptation):
        findings = Findings(schema_version="1.0", manifest_id="m", findings=[])
        identity = {f"adaptation{key and ' ' + key}": value for key, value in adaptation.items()}
        identity |= {"adaptation": "probe"} if adaptation else {}
        return RunFolder(findings, {"benchmark": "visogender", "model": model, "model_identity": identity})

    one, same = run("adapted:a", images="1", classes="2"), run("adapted:b", images="1", classes="2")
    other, plain = run("adapted:c", images="3", classes="2"), run("hf:org/d")
    assert artifact(own("RUNS"), [one]).notes == artifact(own("RUNS"), [one, same]).notes == ()
    (said,) = artifact(own("RUNS"), [one, other]).notes
    assert (
        said
        == "'adapted:a' and 'adapted:c' were adapted on other training images: a difference may be theirs"
    )
    (said,) = artifact(own("RUNS"), [one, plain]).notes
    assert "'adapted:a' was adapted and 'hf:org/d' was not" in said


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    evidence = eh.Predictions.from_frame(make_frame(bias=0.5), truth="truth", prediction="prediction")
    return eh.audit(evidence, by="group", out=tmp_path_factory.mktemp("audit") / "run")


def test_an_audit_makes_the_papers_tables_when_it_is_asked_to(audited):
    assert not [name for name in audited.all_tables if name.startswith(("skewsize", "artifacts"))]
    assert 'id="artifact' not in audited.html()
    effects = {part.key: part.value for part in audited.finding("skewsize", by="group").parts}
    table = artifact("skewsize/table3", [audited]).table
    assert dict(table.select("class", "effect_size").iter_rows()) == effects


def test_a_run_of_counts_fills_the_papers_tables_and_hides_them_where_cells_are_hidden(audited):
    manifest = {**audited.manifest, "kind": "run", "benchmark": "classification"}
    run = Run(audited.findings, manifest, audited.counts, audited.tables)
    lines = run.all_tables["artifacts"]
    filled = lines.filter(pl.col("reason").is_null())
    assert filled["artifact"].to_list() == [
        *(f"skewsize/table{number}" for number in (3, 4, 7)),
        *(f"skewsize/figure{number}" for number in (1, 2, 3, 4, 5, 6)),
    ]
    assert filled["own"].all()
    shown, hidden = run.html(), run.html(suppress=10)
    assert 'id="artifact-skewsize-table3"' in shown
    assert 'id="artifact-' not in hidden
    assert "13 of the paper’s tables and figures are not filled" in hidden


def test_an_audit_with_its_page_needs_no_benchmark_and_no_paper(tmp_path):
    make_frame(bias=0.5).write_csv(tmp_path / "t.csv")
    code = (
        "import sys, evenhand as eh\n"
        "run = eh.audit('t.csv', truth='truth', prediction='prediction', by='group', out='run')\n"
        "run.html()\n"
        "print([name for name in sys.modules if name.startswith('evenhand.benchmarks')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_mistake_in_a_figure_does_not_lose_a_run(own, monkeypatch):
    run = RunFolder(Findings(manifest_id="m", findings=[]), {"kind": "run", "benchmark": "own"})

    def broken(*given, **more):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("evenhand.workflows.outputs.artifact.artifact", broken)
    tables = artifact_tables(run, declared=[own("RUNS")])
    assert tables["artifacts"]["reason"].to_list() == ["it could not be made (ZeroDivisionError: by zero)"]


def test_without_the_papers_a_run_has_none_of_their_tables(monkeypatch):
    """They may ship apart; what a benchmark declares of them is left out, what is its own stays."""
    registry = Registry("artifact", {}, "evenhand.nobody")
    monkeypatch.setattr("evenhand.benchmarks.catalogue.ARTIFACTS", registry)
    run = RunFolder(Findings(manifest_id="m", findings=[]), {"kind": "run", "benchmark": "sprites"})
    assert artifact_tables(run, declared=["skewsize/table1"]) == {}
    assert drawn_of({}) == ([], [])
