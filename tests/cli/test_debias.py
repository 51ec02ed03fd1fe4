"""``evenhand debias``, ``run --mitigation`` and ``ls mitigations`` as they are typed, one after the other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.cli.summaries.mitigations import _number, _shares
from evenhand.mitigate import Mitigation
from tests.cli.test_audit import type_in
from tests.runner.crash.commands import nothing_but_reuse
from tests.runner.debias_runs import planted, write_run
from tests.runner.edits import unsealed

pytestmark = pytest.mark.usefixtures("without_pages")

DIMENSIONS = 32
OWN_MODEL = f"""
import numpy as np


class Encoder:
    version = "1"
    logit_scale = 10.0

    def embed_images(self, images):
        made = []
        for image in images:
            level = int(image[0, 0, 0])
            vector = np.random.default_rng(level).normal(size={DIMENSIONS}) / 2
            vector[level % 3] += 4
            made.append(vector)
        return np.stack(made).astype("f4")

    def embed_texts(self, texts):
        return np.stack([np.eye({DIMENSIONS})[int(text[-1])] for text in texts]).astype("f4")
"""
NOTHING_LEFT = """
from dataclasses import dataclass
import numpy as np
from evenhand.mitigate import Map, Mitigation

@dataclass(frozen=True)
class Nothing:
    \"\"\"Leaves rounding alone.\"\"\"
    name = "nothing"

    def fit(self, material, *, seed=0):
        matrix = 1e-16 * np.random.default_rng(0).normal(size=(material.dimensions,) * 2)
        maps = {name: Map(matrix=matrix) for name in ("image", "text")}
        return Mitigation(self.name, {}, maps, {"removed": 1})
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = []
    for index in range(60):
        Image.new("L", (4, 4), index).convert("RGB").save(tmp_path / f"{index}.png")
        rows.append({"file": f"{index}.png", "what": f"kind {index % 3}", "g": "xy"[index % 2]})
    pl.DataFrame(rows).write_csv(tmp_path / "images.csv")
    (tmp_path / "own.py").write_text(OWN_MODEL)
    write_run(tmp_path / "run", planted(seed=1, dimensions=DIMENSIONS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


CLASSIFY = [
    "run", "classification", "--data", "images.csv", "--image", "file", "--truth", "what", "--by", "g",
    "--model", "own.py:Encoder",
]  # fmt: skip


def test_from_a_run_to_a_mitigation_to_another_benchmark(folder, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, *CLASSIFY, "-o", "plain", "-q") == 0
    words = ["debias", "run", "--method", "pruning", "-p", "strategy=greedy", "--remove", "2"]
    assert type_in(monkeypatch, *words, "--utility", "plain", "-v", "--ascii", "-o", "debiased") == 0
    told = capsys.readouterr()
    assert told.out.isascii()
    lines = told.out.splitlines()
    assert told.err.count("\n") == 1
    assert "--utility is of another model: the mitigation was fitted on vectors of planted" in told.err
    table = next(at for at, line in enumerate(lines) if line.startswith("pruning, cross-modal"))
    assert lines[table].startswith("pruning, cross-modal  fitted on 36 targets, held out 36 targets")
    assert "held out: before" in lines[table + 1]
    assert lines[table + 2].split()[:3] == ["north", ":", "south"]
    assert any(line.split()[:3] == ["linear", "probe,", "accuracy"] and "plain" in line for line in lines)
    assert lines[-1].endswith("--mitigation debiased/mitigation.safetensors")
    run = eh.Run.read("debiased")
    utility = run.tables["utility"].filter(pl.col("on") == "plain")
    assert utility["measure"].to_list() == ["linear_probe_accuracy", "zero_shot_accuracy"]
    assert utility["n"].to_list() == [30, 30]
    assert utility["before"].to_list() == [1.0, 1.0]
    assert set(run.tables["tradeoff"]["on"]) == {"groups", "plain"}
    command = [*CLASSIFY, "--mitigation", "debiased/mitigation.safetensors", "-q"]
    assert type_in(monkeypatch, *command) == 0
    fingerprint = Mitigation.load("debiased/mitigation.safetensors").fingerprint()
    again = eh.Run.read(f"runs/classification--own.py-Encoder--pruning-{fingerprint[:8]}")
    assert [one["asked"] for one in again.manifest["asking"]["questions"]] == [0, 0]
    assert again.manifest["mitigation"]["fingerprint"] == fingerprint


def test_zero_shot_beside_is_that_of_the_benchmark(folder, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, *CLASSIFY, "-o", "plain", "-q") == 0
    words = ["debias", "run", "--method", "clip_clip", "--remove", "20", "--utility", "plain"]
    assert type_in(monkeypatch, *words, "-o", "out", "-q") == 0
    command = [*CLASSIFY, "--mitigation", "out/mitigation.safetensors", "-o", "after", "-q"]
    assert type_in(monkeypatch, *command) == 0
    after = eh.Run.read("after").finding("accuracy", "g").value
    told = (
        eh.Run.read("out")
        .tables["utility"]
        .filter((pl.col("on") == "plain") & (pl.col("measure") == "zero_shot_accuracy"))
    )
    assert told["after"][0] == pytest.approx(after, abs=0.3)  # half of the images, and all of them
    assert told["before"][0] == 1.0


def zero_shot_of(out: str, on: str) -> dict:
    utility = pl.read_parquet(Path(out) / "tables" / "utility.parquet")
    return utility.filter((pl.col("on") == on) & (pl.col("measure") == "zero_shot_accuracy")).row(
        0, named=True
    )


@pytest.mark.parametrize("spelled", [False, True])
def test_zero_shot_chooses_among_all_labels_of_the_run(folder, monkeypatch, capsys, spelled) -> None:
    # texts of later kinds hold those of earlier ones: images are named by labels without images too
    (folder / "own.py").write_text(
        OWN_MODEL.replace("np.eye(32)[int(text[-1])]", "1.0 * (np.arange(32) <= int(text[-1]))")
    )
    lines = [f"kind {number}" + (f"\tsort {number}" if spelled else "") for number in range(8)]
    (folder / "labels.txt").write_text("\n".join(lines))
    assert type_in(monkeypatch, *CLASSIFY, "-p", "labels=labels.txt", "-o", "plain", "-q") == 0
    words = ["debias", folder / "run", "--method", "mean_difference", "--utility", folder / "plain", "-q"]
    assert type_in(monkeypatch, *words, "-v", "-o", folder / "out") == 0
    told = zero_shot_of("out", "plain")
    predictions = eh.Run.read("plain").finding("accuracy", "g").value
    assert told["chance"] == pytest.approx(1 / 8)
    assert told["before"] == pytest.approx(predictions, abs=0.2)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")  # where labels.txt is not
    (folder / "labels.txt").write_text("another\nlist")  # which the run did not choose among
    assert type_in(monkeypatch, *words, "-v", "-o", folder / "again") == 0
    assert zero_shot_of(folder / "again", "plain") == told
    (unsealed(folder / "plain") / "tables" / "labels.parquet").unlink()  # as runs were before they kept it
    capsys.readouterr()
    assert type_in(monkeypatch, *[word for word in words if word != "-q"], "-v", "-o", folder / "older") == 0
    older = zero_shot_of(folder / "older", "plain")
    if spelled:
        assert older["before"] is None
        assert "the run does not say which text is which label's" in capsys.readouterr().out
    else:
        assert older == told


def test_vectors_of_another_model_are_told(folder, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, *CLASSIFY, "-o", "plain", "-q") == 0
    words = ["debias", "run", "--method", "mean_difference", "--utility", "plain", "-o", "out"]
    assert type_in(monkeypatch, *words) == 0
    told = capsys.readouterr().err
    assert "fitted on vectors of planted, not of own.py:Encoder; give runs of one model" in told
    assert "utility_note" in eh.Run.read("out").manifest
    assert Mitigation.load("out/mitigation.safetensors").facts["model"] == "planted"
    command = [*CLASSIFY, "--mitigation", "out/mitigation.safetensors", "-o", "after"]
    assert type_in(monkeypatch, *command) == 0
    told = capsys.readouterr().err
    note, reused = told.splitlines()
    assert "was fitted on vectors of planted, not of own.py:Encoder" in note
    assert "answers of own.py:Encoder are reused" in reused
    after = eh.Run.read("after")
    assert after.manifest["mitigation"]["note"] == note
    assert all(note in one.notes for one in after.findings.findings)


def test_the_same_model_is_known_by_its_identity_and_another_version_is_not(folder, monkeypatch, capsys):
    assert type_in(monkeypatch, *CLASSIFY, "-o", "plain", "-q") == 0
    manifest = json.loads((folder / "plain" / "manifest.json").read_text())
    target = unsealed(folder / "run") / "manifest.json"
    own = json.loads(target.read_text())
    target.write_text(json.dumps({**own, "model": "elsewhere.py:Encoder"} | {
        "model_identity": manifest["model_identity"]
    }))  # fmt: skip
    words = ["debias", "run", "--method", "mean_difference", "--utility", "plain", "-o", "out"]
    assert type_in(monkeypatch, *words) == 0
    assert capsys.readouterr().err == ""
    command = [*CLASSIFY, "--mitigation", "out/mitigation.safetensors", "-o", "after", "-q"]
    assert type_in(monkeypatch, *command) == 0
    nothing_but_reuse(capsys.readouterr().err)
    facts = Mitigation.load("out/mitigation.safetensors").facts
    assert facts["model_identity"] == manifest["model_identity"]
    (folder / "own.py").write_text(OWN_MODEL.replace('version = "1"', 'version = "2"'))
    target.write_text(json.dumps({**own, **{key: manifest[key] for key in ("model", "model_identity")}}))
    assert type_in(monkeypatch, *words) == 0
    assert capsys.readouterr().err == ""
    assert type_in(monkeypatch, *command) == 0
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "of own.py:Encoder as it was: " in told
    assert "version" in told


def test_a_gate_chooses_by_parameters(folder, monkeypatch, capsys) -> None:
    def code(*choices: str) -> int:
        words = ["debias", "run", "--method", "mean_difference", "-o", "out", "-q"]
        gates = [word for choice in choices for word in ("--fail-if", f"association_effect_size{choice}>1.5")]
        return type_in(monkeypatch, *words, *gates)

    assert code("") == 4  # before the mitigation it was
    assert code("[stage=before,half=held_out]") == 4
    capsys.readouterr()
    assert code("[stage=after,half=held_out]", "[stage=after, targets=north|south] ") == 0
    assert code("[stage=afterr]") == 2
    assert "did you mean 'after'" in capsys.readouterr().err


def test_what_is_left_as_it_is_and_what_is_paired_is_said(folder, monkeypatch, capsys) -> None:
    words = ["debias", "run", "--method", "calibrated_projection", "--form", "textual", "-v", "-o", "out"]
    assert type_in(monkeypatch, *words) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "vectors of image stay as they are" in told
    assert "such as 'This is north target 0.' and 'This is south target 0.'" in told
    assert "right only where both lists were made from one list" in told


def test_a_value_that_is_missing_afterwards_is_explained(folder, monkeypatch, capsys) -> None:
    (folder / "nothing.py").write_text(NOTHING_LEFT)
    words = ["debias", "run", "--method", "nothing.py:Nothing", "-v", "-o", "out"]
    assert type_in(monkeypatch, *words) == 0
    told = capsys.readouterr().out
    reduction = eh.Run.read("out").finding("association_reduction")
    assert reduction.value is None
    assert f"1 of 1 tests: –, {reduction.reason}" in told
    probe = eh.Run.read("out").tables["utility"].filter(measure="linear_probe_accuracy").row(0, named=True)
    assert probe["after"] == probe["chance"]


def test_numbers_that_round_to_nothing_have_no_minus() -> None:
    assert _number(-0.0004) == _number(-0.0) == "0.000"
    assert _number(-0.0006) == "-0.001"


def test_each_pair_and_gates(folder, monkeypatch, capsys) -> None:
    words = ["debias", "run", "--method", "mean_difference", "--pairs", "each", "--test", "north:south"]
    assert type_in(monkeypatch, *words, "-o", "out", "--fail-if", "association_reduction<0") == 0
    assert (folder / "out" / "mitigations" / "north--south.safetensors").is_file()
    assert (folder / "out" / "mitigations" / "north--south.json").is_file()
    assert type_in(monkeypatch, *words, "-o", "out", "-q", "--fail-if", "association_reduction>0") == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "prunning"], "did you mean 'pruning'"),
        (["--method", "pruning", "-p", "stratgy=greedy"], "did you mean 'strategy'"),
        (["--method", "pruning", "-p", "strategy=best"], "choose one of 'one_shot', 'greedy'"),
        (["--method", "pruning", "--pairs", "all"], "choose one of 'joint', 'each'"),
        (["--method", "pruning", "--test", "north:sout"], "did you mean 'north:south'"),
        (["--method", "pruning", "--form", "visual"], "there is no form"),
        (["--method", "pruning", "--remove", "40"], "40"),
        (["--method", "pruning", "--utility", "nowhere"], "no run folder"),
        (["--method", "calibrated_projection"], "use the textual form"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(folder, monkeypatch, capsys, words, message) -> None:
    assert type_in(monkeypatch, "debias", "run", *words, "-o", "out") == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert message in told
    assert not Path("out").exists()


def test_a_place_to_write_is_asked_for(folder, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, "debias", "run", "--method", "pruning") == 2
    assert "add -o DIR" in capsys.readouterr().err


def test_utility_of_other_dimensions_is_one_line(folder, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, *CLASSIFY, "-o", "plain", "-q") == 0
    write_run(folder / "other", planted(seed=1, dimensions=16))
    words = ["debias", "other", "--method", "mean_difference", "--utility", "plain", "-o", "out"]
    assert type_in(monkeypatch, *words) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "32 dimensions" in told
    assert not Path("out").exists()


def test_ls_mitigations_says_what_each_is(monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, "ls", "mitigations") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(eh.mitigate.mitigation.MITIGATIONS.builtin)
    assert all(len(line.split()) > 4 for line in lines)


def test_a_missing_library_is_named_with_its_extra(folder, monkeypatch, capsys) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.linear_model", None)
    assert type_in(monkeypatch, "debias", "run", "--method", "mean_difference", "-o", "out") == 2
    assert "pip install 'evenhand[debias]'" in capsys.readouterr().err
    assert not Path("out").exists()


def test_numbers_are_the_same_from_python(folder, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, "debias", "run", "--method", "leace", "-o", "out", "-q") == 0
    made = eh.debias("run", method="leace")
    assert eh.Run.read("out").findings == made.findings
    assert np.isfinite(made.finding("association_reduction").value)


def test_vectors_that_became_longer_are_not_called_gone() -> None:
    table = pl.DataFrame(
        {
            "mitigation": ["m"] * 4,
            "role": ["target", "attribute", "target", "attribute"],
            "modality": ["image", "text", "text", "image"],
            "share": [0.1234, -0.058, -0.0001, None],
        }
    )
    assert _shares(table) == [
        "Share of the vectors' squared length that is gone: 12.3 % of image targets, 0.0 % of text targets",
        "Share of the vectors' squared length that was added (they are longer than before): 5.8 % of text "
        "attributes",
    ]
