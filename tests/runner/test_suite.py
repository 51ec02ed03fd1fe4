"""Several benchmarks and models in one command: each image once per model, whole pairs, one page."""

from __future__ import annotations

import json
import re
import shutil
import signal
import time
from collections import Counter
from operator import attrgetter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from safetensors.numpy import load_file

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError, UnknownName, UserError
from evenhand.report.checking.several_runs import check_suite
from evenhand.workflows.execution.engines.shared_models import SharedModels
from evenhand.workflows.execution.options import AskOptions
from evenhand.workflows.suite.engine import _check_gates, suite_of
from evenhand.workflows.suite.entries import Suite, SuiteBenchmark, with_values
from evenhand.workflows.suite.overview import questions_of
from evenhand.workflows.suite.suite_files import parse_suite, read_suite, shipped_suites
from tests.cli.test_audit import type_in
from tests.conftest import ROOT
from tests.models import tiny
from tests.report.export_samples import problems_of_every_eval_ever
from tests.runner.crash.commands import EVENHAND, PATTERNS_FILE, evidence_bytes, start, uri

pytestmark = pytest.mark.usefixtures("without_pages")

NAMES = ("patterns-PATTERNS", "patterns-OTHER", "patterns-THIRD")
BENCHMARKS = [uri("PATTERNS"), uri("OTHER"), uri("THIRD")]
PARAMETERS = {
    NAMES[0]: {"ask": "auto", "n": "40"},
    NAMES[1]: {"ask": "auto", "n": "40", "first": "20"},  # half of them are those of the first
    NAMES[2]: {"ask": "auto", "n": "70", "first": "5"},
}
IMAGES = 75  # 0 to 74


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every finding and all evidence of a suite, and the table of its findings."""
    runs = [file.parent for file in folder.rglob("findings.json")]
    files = {str(run / name): content for run in runs for name, content in evidence_bytes(run).items()}
    files |= {"results": (folder / "results.parquet").read_bytes()}
    return {name.replace(str(folder), ""): content for name, content in files.items()}


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """Three benchmarks and two tiny models in one command, with what was loaded meanwhile."""
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("suite")
    loaded: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVENHAND_HOME", str(folder / "home"))
        patch.setenv("PATTERNS_LOADS", str(folder / "loads"))
        load = SharedModels.load

        def counted(self, source):
            before = len(self._models)
            model = load(self, source)
            loaded.extend([source.uri] * (len(self._models) - before))
            return model

        patch.setattr(SharedModels, "load", counted)
        lines: list[str] = []
        result = eh.run_suite(
            [*BENCHMARKS, uri("BROKEN")], out=folder / "out", parameters=PARAMETERS, say=lines.append,
            models=[f"hf:{tiny.build('clip')}", f"chat=hf:{tiny.build('llava')}"],
        )  # fmt: skip
    return result, lines, loaded, folder


def test_each_image_is_asked_of_a_model_once_and_each_model_is_loaded_once(suite) -> None:
    result, _, loaded, folder = suite
    loads = Counter((folder / "loads").read_text().split())
    assert len(loads) == IMAGES
    assert set(loads.values()) == {2}  # by two models
    for model in ("clip", "chat"):
        runs = [run for (_, name), run in result.runs.items() if name == model]
        asked = [question["asked"] for run in runs for question in run.manifest["asking"]["questions"]]
        assert sum(asked) == IMAGES
        assert sum(run.manifest["rows"] for run in runs) == 150
    assert len(loaded) == len(set(loaded)) == 2


def test_what_a_model_cannot_be_asked_is_one_line_and_not_missing(suite) -> None:
    result, lines, _, _ = suite
    assert result.missing == []
    assert lines == result.not_askable
    assert [line.partition(":")[0] for line in lines] == ["patterns-BROKEN x clip", "patterns-BROKEN x chat"]
    assert all("classifies_images" in line for line in lines)


def test_every_pair_is_an_ordinary_run_and_the_table_has_all_findings(suite) -> None:
    result, _, _, folder = suite
    states = [(pair.name, pair.state) for pair in result.pairs if pair.state != "cannot be asked"]
    assert states == [(f"{name}/{model}", "done") for model in ("clip", "chat") for name in NAMES]
    alone = eh.run(
        BENCHMARKS[1], model=f"hf:{tiny.build('clip')}", parameters=PARAMETERS[NAMES[1]], out=folder / "alone"
    )
    assert alone.findings == eh.Run.read(folder / "out" / NAMES[1] / "clip").findings
    table = pl.read_parquet(result.results)
    assert table.filter(row="finding").height == 6
    assert set(table["model"]) == {f"hf:{tiny.build('clip')}", f"hf:{tiny.build('llava')}"}


def test_the_page_says_what_its_runs_say(suite) -> None:
    result, *_ = suite
    benchmarks, models = ({id(of): of for of in map(attrgetter(name), result.pairs)}.values()
                          for name in ("benchmark", "model"))  # fmt: skip
    questions = questions_of(Suite([*benchmarks], [*models]), result.pairs, result.folder, {})
    assert check_suite(result.page.read_text(), questions) == []


def test_the_same_command_asks_and_runs_nothing_again(suite, monkeypatch) -> None:
    result, _, _, folder = suite
    before = bytes_of(folder / "out")
    times = {pair.folder: (pair.folder / "manifest.json").stat().st_mtime_ns for pair in result.pairs[:3]}
    monkeypatch.setenv("PATTERNS_LOADS", str(folder / "again"))
    monkeypatch.setenv("EVENHAND_HOME", str(folder / "home"))
    models = [f"hf:{tiny.build('clip')}", f"chat=hf:{tiny.build('llava')}"]
    again = eh.run_suite(
        [*BENCHMARKS, uri("BROKEN")], out=folder / "out", parameters=PARAMETERS, models=models
    )
    assert [pair.state for pair in again.pairs] == [pair.state for pair in result.pairs]
    assert bytes_of(folder / "out") == before
    assert times == {path: (path / "manifest.json").stat().st_mtime_ns for path in times}
    assert not (folder / "again").exists()


def test_a_changed_parameter_runs_its_pairs_anew(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    for n in ("20", "30"):
        result = eh.run_suite(
            BENCHMARKS[:2],
            out=tmp_path / "out",
            models=[uri("Model")],
            parameters={NAMES[0]: {"n": n}},
            limit=9,
        )
        assert {name: run.manifest["rows"] for (name, _), run in result.runs.items()} == {
            NAMES[0]: int(n),
            NAMES[1]: 200,
        }


class Unnamed:
    """Has no version and holds no arrays: nothing shows whether it was trained again."""

    def embed_images(self, images):
        return np.stack([image.reshape(-1)[:12] for image in images]).astype(np.float32)


@pytest.mark.parametrize("options", [None, AskOptions(keep_answers=False)])
def test_answers_that_are_not_kept_are_shared_within_a_suite(tmp_path, monkeypatch, options) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATTERNS_LOADS", str(tmp_path / "loads"))
    parameters = {name: PARAMETERS[name] for name in NAMES[:2]}
    result = eh.run_suite(
        BENCHMARKS[:2], out=tmp_path / "out", models=[Unnamed()], parameters=parameters, options=options
    )
    assert result.missing == []
    assert Counter((tmp_path / "loads").read_text().split()).most_common()[0][1] == 1
    assert len((tmp_path / "loads").read_text().split()) == 60


def command(out: Path, *words: str) -> list[str]:
    given = [f"-p{name}:{key}={value}" for name in NAMES for key, value in {"n": 150, "first": 0}.items()]
    return [*EVENHAND, "run", *BENCHMARKS, *given, "--model", f"a={uri('Model')}", *words, "-o", str(out)]


@pytest.mark.pages
def test_a_broken_benchmark_and_a_model_that_cannot_load_leave_the_rest_whole(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    words = [uri("BROKEN"), "--model", "b=hf:/nowhere/at/all", "--model", f"c={uri('Failing')}"]
    assert type_in(monkeypatch, *command(tmp_path / "out", *words)[len(EVENHAND) :]) == 3
    out, err = capsys.readouterr()
    missing = [line for line in err.splitlines() if line.startswith("missing: ")]
    assert missing[0] == "missing: patterns-BROKEN x a: failed: ZeroDivisionError: no rows"
    assert len(missing) == 3
    assert missing[1].startswith("missing: b: failed: hf:/nowhere/at/all: there is no folder")
    assert missing[2].startswith("missing: c: failed: the model failed on samples")
    assert "9 of 12 pairs are missing" in err.splitlines()[-1]
    assert "Traceback" not in err
    for name in NAMES:
        assert (tmp_path / "out" / name / "a" / "report.html").is_file()
        assert f"{name}  a: " in out
    page = (tmp_path / "out" / "index.html").read_text()
    assert "ZeroDivisionError" in page


def test_what_fails_for_a_while_is_asked_again_by_the_same_call(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATTERNS_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("PATTERNS_BUSY", "1")
    parameters = {name: {"n": "40", "ask": "answers_questions"} for name in NAMES[:2]}
    missing = []
    for busy in (True, False):
        if not busy:
            monkeypatch.delenv("PATTERNS_BUSY")
            (tmp_path / "calls").unlink()
        result = eh.run_suite(
            BENCHMARKS[:2], out=tmp_path / "out", models=[uri("Busy")], parameters=parameters
        )
        missing.append(result.missing)
    reason = "incomplete: 2 samples could not be asked about: too many requests (2)"
    assert missing[0] == [f"patterns-Busy: {reason}"]  # one line, because both pairs have that reason
    assert missing[1] == []
    assert {"30", "31"} <= set((tmp_path / "calls").read_text().split())
    assert "0" not in (tmp_path / "calls").read_text().split()


def test_killed_and_resumed_it_equals_an_uninterrupted_one(tmp_path, monkeypatch) -> None:
    """Killed while the second benchmark is asked: the first is whole, the third is not begun."""
    calls, out = tmp_path / "calls", tmp_path / "out"
    parameters = [f"-p{NAMES[1]}:first=100", f"-p{NAMES[2]}:first=40"]
    process = start(
        command(out, *parameters), tmp_path / "home", PATTERNS_CALLS=calls, PATTERNS_SECONDS=0.004
    )
    while process.poll() is None and not (calls.exists() and calls.read_bytes().count(b"\n") > 200):
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    for target, home in ((out, "home"), (tmp_path / "whole", "home of its own")):
        monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / home))
        assert type_in(monkeypatch, *command(target, *parameters)[len(EVENHAND) :]) == 0
    assert bytes_of(out) == bytes_of(tmp_path / "whole")


SUITE = """
benchmarks:
  - benchmark: patterns.py:PATTERNS
    name: few
    parameters: {n: 20, prompt: [a, b], ask: classifies_images}
    gates: ["accuracy > 0.9"]
  - sprites
models:
  - model: patterns.py:Model
    name: own
    batch-size: 8
    tags: {lineage: mine}
gates: ["accuracy < 0.1"]
limit: 300
"""


def test_a_file_says_all_and_its_gates_are_checked(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    shutil.copy(PATTERNS_FILE, tmp_path / "patterns.py")
    (tmp_path / "suite.yaml").write_text(SUITE)
    result = eh.run_suite(str(tmp_path / "suite.yaml"), out=tmp_path / "out")
    assert result.missing == []
    run = result.runs["few", "own"]
    assert run.manifest["parameters"]["n"] == 20
    assert run.manifest["parameters"]["prompt"] == "a,b"
    assert run.manifest["tags"] == {"lineage": "mine"}
    assert run.manifest["asking"]["questions"][0]["batch"] == 8
    assert result.runs["sprites", "own"].manifest["rows"] == 300
    assert [line.partition(" = ")[0] for line in result.broken] == [
        f"sprites/own: accuracy({params})" for params in ("by=colour", "samples=like training")
    ]


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        ({}, InputError, "has no benchmarks; write for instance benchmarks: [sprites]"),
        ([], InputError, "give keys with values (benchmarks, models"),
        ({"benchmark": ["sprites"]}, UnknownName, "did you mean 'benchmarks'"),
        (
            {"benchmarks": [{"benchmark": "sprites", "dat": "x"}]},
            UnknownName,
            "benchmarks[1] of 'suite.yaml'",
        ),
        ({"benchmarks": [{"name": "x"}]}, InputError, "benchmarks[1] of 'suite.yaml' has no benchmark"),
        ({"benchmarks": [{"benchmark": "sprites", "limit": "9"}]}, InputError, "give a whole number"),
        (
            {"benchmarks": ["sprites"], "models": [{"model": "x", "dtyp": 1}]},
            UnknownName,
            "did you mean 'dtype'",
        ),
        ({"benchmarks": ["sprites"], "seed": -1}, InputError, "seed of 'suite.yaml' is -1; give 0 or more"),
    ],
)
def test_a_file_that_is_wrong_says_where_and_what_to_write(content, kind, words, tmp_path) -> None:
    with pytest.raises(kind) as problem:
        parse_suite(content, "suite.yaml", tmp_path)
    assert words in str(problem.value)


def test_the_file_of_the_documentation_can_be_read(tmp_path) -> None:
    block = (ROOT / "docs" / "suite.md").read_text().partition("```yaml\n")[2].partition("```")[0]
    suite = parse_suite(yaml.safe_load(block), "suite.yaml", tmp_path)
    assert [entry.name for entry in suite.with_names().benchmarks] == [
        "sprites", "visogender/resolution", "religions"
    ]  # fmt: skip
    assert suite.benchmarks[1].data == tmp_path / "data" / "visogender"
    assert suite.models[1].options == {"dtype": "bfloat16"}


def test_names_and_parameters_that_are_wrong_say_what_is_possible(tmp_path) -> None:
    with pytest.raises(UnknownName, match="parameter of these benchmarks 'remove'; did you mean 'removed'"):
        with_values([SuiteBenchmark("sprites")], ["remove=heart"], [])
    with pytest.raises(UnknownName, match="parameter of sprites 'remove'; did you mean 'removed'"):
        suite_of("sprites", ["hf:a/b"], parameters={"sprites": {"remove": "heart"}})
    with pytest.raises(UnknownName, match="there is no benchmark 'sprite'; did you mean 'sprites'"):
        suite_of(["sprite", "visogender/retrieval"], ["hf:a/b"])
    with pytest.raises(UnknownName, match="benchmark for --data 'visogende'; did you mean"):
        suite_of(["visogender/retrieval", "sprites"], ["hf:a/b"], data={"visogende": "x"})
    with pytest.raises(ParameterError, match="two benchmarks are called 'sprites'"):
        suite_of(["sprites", "sprites"], ["hf:a/b"])
    with pytest.raises(ParameterError, match="give --model URI"):
        suite_of("quick")
    with pytest.raises(InputError, match="cannot be read"):
        read_suite(str(tmp_path / "none.yaml"))
    with pytest.raises(
        UserError, match=r"nothing of this suite can be run; patterns-PATTERNS/clip: .*classifies_images"
    ):
        eh.run_suite(BENCHMARKS[0], models=[f"hf:{tiny.build('clip')}"], out=tmp_path / "out")


def test_data_of_a_folder_of_benchmarks_is_that_of_those_inside(tmp_path) -> None:
    suite = suite_of("dual-encoder", ["hf:a/b"], data={"visogender": "here", "mmbias/association": "there"})
    data = {entry.name: str(entry.data) for entry in suite.benchmarks if entry.data}
    assert data == {
        "visogender/resolution": "here", "visogender/retrieval": "here", "mmbias/association": "there"
    }  # fmt: skip


def test_shipped_suites_name_benchmarks_and_parameters_that_exist() -> None:
    from evenhand.benchmarks.benchmark import parse_parameters
    from evenhand.benchmarks.catalogue import BENCHMARKS as REGISTERED

    assert set(shipped_suites()) == {"chat", "classifier", "dual-encoder", "quick"}
    for name in shipped_suites():
        for entry in read_suite(name).benchmarks:
            assert parse_parameters(REGISTERED.get(entry.benchmark), entry.parameters)
            assert entry.data is None or entry.data.exists()


def test_models_that_end_alike_have_folders_of_their_own() -> None:
    names = [model.name for model in suite_of("sprites", ["hf:/a/clip", "hf:/b/clip", "x=hf:org/y"]).models]
    assert names[0] == "clip"
    assert names[1].startswith("clip-")
    assert names[2] == "x"


def test_a_dry_run_counts_and_asks_nothing(suite, tmp_path, monkeypatch, capsys) -> None:
    *_, folder = suite
    words = ["run", *BENCHMARKS[:2], "-pn=40", "--model", f"hf:{tiny.build('clip')}", "--dry-run"]
    monkeypatch.setenv("EVENHAND_HOME", str(folder / "home"))
    monkeypatch.setenv("PATTERNS_LOADS", str(tmp_path / "loads"))
    assert type_in(monkeypatch, *words, "-pask=auto") == 0
    weights = load_file(Path(tiny.build("clip")) / "model.safetensors")
    numbers = sum(array.size for array in weights.values())
    assert capsys.readouterr().out.splitlines() == [
        f"patterns-{name} x clip: 40 samples; 40 embeds_images; 40 answered before; "
        f"weights of {numbers * 4 / 1000:,.1f} kB in memory, and more while it answers"
        for name in ("PATTERNS", "OTHER")
    ] + [
        "2 of 2 pairs to run; 80 requests, 80 answered before",
    ]
    more = [
        "run",
        BENCHMARKS[0],
        "quick",
        f"-p{NAMES[0]}:n=400",
        "--model",
        words[-2],
        "-pask=auto",
        "--dry-run",
    ]
    assert type_in(monkeypatch, *more, "-o", folder / "out") == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        r".*; 75 answered before; weights .*; about [\d.]+ minutes at the speed of earlier runs here",
        lines[0],
    )
    assert not (tmp_path / "loads").exists()
    assert json.loads((folder / "out" / "suite.json").read_text())["schema_version"] == "1.0"


def test_a_suite_is_exported_as_its_runs(suite, tmp_path, monkeypatch, capsys) -> None:
    result, *_, folder = suite
    runs = [run.folder for run in result.runs.values()]
    words = ["export", folder / "out", "--to", "every-eval-ever", "-p", "developer=A Lab", "-o"]
    assert type_in(monkeypatch, *words, tmp_path / "board") == 0
    assert f"wrote {len(runs)} records" in capsys.readouterr().err
    files = sorted((tmp_path / "board").rglob("*.json"))
    records = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    assert len(records) == len(runs) == 6
    places = {file.relative_to(tmp_path / "board").parts[:4] for file in files}
    assert places == {
        ("data", name, "A-Lab", model)
        for name in ("patterns", "other-patterns", "third-patterns")
        for model in ("clip", "llava")
    }
    for record in records:
        assert problems_of_every_eval_ever(record) == []
    results = sum(len(record["evaluation_results"]) for record in records)
    assert results == sum(f.value is not None for run in result.runs.values() for f in run.findings)
    assert type_in(monkeypatch, "export", folder / "out", "-q", "-o", tmp_path / "all.parquet") == 0
    assert pl.read_parquet(tmp_path / "all.parquet").equals(
        pl.read_parquet(folder / "out" / "results.parquet")
    )
    assert type_in(monkeypatch, *words, tmp_path / "board.json") == 2
    assert "-o DIR" in capsys.readouterr().err
    (tmp_path / "suite.json").write_text("{}", encoding="utf-8")
    assert type_in(monkeypatch, "export", tmp_path, "--as", "csv") == 2
    assert "no record of a suite" in capsys.readouterr().err


def test_gates_of_a_benchmark_that_cannot_be_read_stop_no_other(tmp_path) -> None:
    (tmp_path / "broken.py").write_text("raise OSError('a broken file')\n", encoding="utf-8")
    broken = {"benchmark": f"{tmp_path / 'broken.py'}:BENCH", "gates": ["accuracy < 0.5"]}
    content = {"benchmarks": ["sprites", broken], "models": ["hf:a/b"], "gates": ["my_rate > 1"]}
    suite = parse_suite(content, "suite.yaml", tmp_path)
    _check_gates(suite)
    content = {"benchmarks": ["sprites"], "models": ["hf:a/b"], "gates": ["my_rate > 1"]}
    with pytest.raises(UserError, match="my_rate"):
        _check_gates(parse_suite(content, "suite.yaml", tmp_path))
