"""A mitigation acts after asking and before measuring: no model is asked again, raw answers are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.core.errors import InputError, UserError
from evenhand.evidence.derivation.from_vectors import normalised
from evenhand.mitigate.mitigation import Map, Mitigation
from evenhand.workflows.mitigated_model import Applied
from tests.benchmarks.mmbias_planted import SETS, paint, planted
from tests.benchmarks.visogender_release import release
from tests.cli.test_audit import type_in
from tests.models.tiny import build

pytestmark = pytest.mark.usefixtures("without_pages")

OWN_MODEL = """
import numpy as np

COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1)}


class Colours:
    version = "1"
    logit_scale = 10.0

    def embed_images(self, images):
        return np.stack([image.reshape(-1, 3).mean(axis=0) / 255 for image in images]).astype("f4")

    def embed_texts(self, texts):
        return np.array([COLOURS[text.split()[-1]] for text in texts], dtype="f4")


class Classifier:
    labels = ("red", "green", "blue")

    def classify(self, images):
        return np.stack([image.reshape(-1, 3).mean(axis=0) for image in images]).astype("f4")
"""
COLOURS = {"red": (200, 60, 20), "green": (90, 180, 30), "blue": (110, 20, 180)}
WITHOUT_RED = np.array([False, True, True])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = []
    for index in range(30):
        name, colour = list(COLOURS.items())[index % 3]
        Image.new("RGB", (8, 8), colour).save(tmp_path / f"{index}.png")
        rows.append({"file": f"{index}.png", "what": name, "g": "xy"[index % 2]})
    pl.DataFrame(rows).write_csv(tmp_path / "images.csv")
    (tmp_path / "own.py").write_text(OWN_MODEL)
    both = {name: Map(keep=WITHOUT_RED) for name in ("image", "text")}
    Mitigation("pruning", {"remove": 1}, both, {"removed": 1}).save(tmp_path / "m.safetensors")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(model: str = "Colours") -> list[str]:
    asked = ["run", "classification", "--data", "images.csv", "--image", "file", "--truth", "what"]
    return [*asked, "--by", "g", "--model", f"own.py:{model}"]


def test_the_same_answers_are_measured_again_and_stay_as_they_were(folder, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, *words(), "-o", "before") == 0
    assert type_in(monkeypatch, *words(), "--mitigation", "m.safetensors", "-o", "after") == 0
    assert "Measured after pruning-" in capsys.readouterr().out
    before, after = eh.Run.read("before"), eh.Run.read("after")
    assert [one["asked"] for one in before.manifest["asking"]["questions"]] == [30, 3]
    assert [one["asked"] for one in after.manifest["asking"]["questions"]] == [0, 0]
    for question in ("images", "texts"):
        kept = [pl.read_parquet(f"{run}/evidence/{question}/*.parquet") for run in ("before", "after")]
        assert kept[0].equals(kept[1])
    assert before.finding("accuracy", "g").value == 1.0
    assert after.finding("accuracy", "g").value == pytest.approx(2 / 3)  # red has no text of its own


def test_the_manifest_and_the_findings_name_it(folder, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, *words(), "--mitigation", "m.safetensors", "-q") == 0
    mitigation = Mitigation.load("m.safetensors")
    name = f"runs/classification--own.py-Colours--pruning-{mitigation.fingerprint()[:8]}"
    run = eh.Run.read(name)
    assert {one.model for one in run.findings.findings} == {"own.py:Colours + pruning"}
    assert run.manifest["model"] == "own.py:Colours + pruning"
    assert run.manifest["mitigation"] == {
        "name": "pruning",
        "fingerprint": mitigation.fingerprint(),
        "params": {"remove": 1},
        "vectors": {"image": "changed", "text": "changed"},
    }
    plain = eh.run(
        "classification",
        model="own.py:Colours",
        data="images.csv",
        parameters={"image": "file", "truth": "what", "by": "g"},
    )
    assert "mitigation" not in plain.manifest
    assert plain.manifest["manifest_id"] != run.manifest["manifest_id"]


def test_what_is_measured_is_the_transformed_vectors(folder) -> None:
    matrix = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0] @ np.diag([1.0, 0.2, 3.0])
    mitigation = Mitigation("own", {}, {"image": Map(matrix=matrix)}, {})
    made = eh.run(
        "classification",
        model="own.py:Colours",
        data="images.csv",
        parameters={"image": "file", "truth": "what"},
        mitigation=mitigation,
    )
    images = made.evidence["images"].sort("sample").collect()
    texts = made.evidence["texts"].collect()
    names = [text.split()[-1] for text in texts["sample"]]
    cosines = (
        normalised(np.stack(images["vector"].to_list()).astype(float) @ matrix)
        @ normalised(np.stack(texts["vector"].to_list())).T
    )
    truth = made.annotations.sort("sample")["truth"].to_list()
    right = [names[place] == true for place, true in zip(cosines.argmax(axis=1), truth, strict=True)]
    assert made.finding("accuracy").value == pytest.approx(np.mean(right))
    assert made.manifest["mitigation"]["vectors"] == {"image": "changed", "text": "as it was"}


def test_a_mitigation_that_changes_nothing_changes_no_number(folder) -> None:
    given = {"data": "images.csv", "parameters": {"image": "file", "truth": "what", "by": "g"}}
    plain = eh.run("classification", model="own.py:Colours", **given)
    same = eh.run("classification", model="own.py:Colours", mitigation=Mitigation("none", {}, {}), **given)
    assert [one.value for one in same.findings.findings] == [one.value for one in plain.findings.findings]


def test_a_model_without_embeddings_is_refused_before_it_is_asked(folder, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, *words("Classifier"), "--mitigation", "m.safetensors", "-o", "run") == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "classification asks this model for classifies_images" in told
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no"),
        (b"hello", "safetensors"),
    ],
)
def test_a_file_that_is_no_mitigation_is_one_line(folder, monkeypatch, capsys, content, message) -> None:
    if content is not None:
        Path("other.safetensors").write_bytes(content)
    assert type_in(monkeypatch, *words(), "--mitigation", "other.safetensors", "-o", "run") == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert message in told
    assert not Path("run").exists()


def test_other_dimensions_are_one_line_and_leave_nothing_behind(folder) -> None:
    five = Mitigation("pruning", {}, {"image": Map(keep=np.ones(5, dtype=bool) & (np.arange(5) > 0))}, {})
    with pytest.raises(InputError, match=r"3 dimensions, and the mitigation was fitted on 5"):
        eh.run(
            "classification",
            model="own.py:Colours",
            data="images.csv",
            parameters={"image": "file", "truth": "what"},
            mitigation=five,
            out="run",
        )
    assert not Path("run").exists()


def test_a_mitigation_of_another_modality_than_is_asked_for_is_refused(folder) -> None:
    from evenhand.benchmarks.benchmark import Plan
    from evenhand.core.requests import Question

    plan = Plan(pl.DataFrame(), [Question("texts", "embeds_texts", ["a"], texts=["a"])])
    with pytest.raises(UserError, match="changes vectors of image only, and mine asks for vectors of text"):
        Applied(Mitigation("own", {}, {"image": Map(keep=WITHOUT_RED)}, {})).check(plan, "mine")


@pytest.mark.parametrize("asked", ["visogender/resolution", "visogender/retrieval"])
def test_cosines_of_visogender_are_of_changed_vectors(tmp_path, asked) -> None:
    release(tmp_path / "data")
    model = build("clip", tmp_path / "model")
    given = {"model": f"hf:{model}", "data": tmp_path / "data"}
    plain = eh.run(asked, **given)
    width = len(plain.evidence["captions"].head(1).collect()["vector"][0])
    keep = np.arange(width) % 2 == 0
    half = Mitigation("half", {}, {name: Map(keep=keep) for name in ("image", "text")}, {})
    after = eh.run(asked, **given, mitigation=half)
    assert {one["asked"] for one in after.manifest["asking"]["questions"]} == {0}
    if asked == "visogender/resolution":
        by_text = {}
        for name in ("images", "captions"):
            table = after.evidence[name].collect()
            unit = normalised(np.stack(table["vector"].to_list()).astype(float)[:, keep])
            by_text[name] = dict(zip(table["sample"], unit, strict=True))
        scores = after.tables["scores"]
        told = [
            score
            for vector in by_text["images"].values()
            for score in (np.stack(list(by_text["captions"].values())) @ vector).tolist()
        ]
        found = scores["score"].drop_nulls().to_list()
        assert np.abs(np.subtract.outer(found[:20], told)).min(axis=1).max() < 1e-6
    assert plain.findings.dump() != after.findings.dump()


def test_mmbias_from_a_run_to_a_mitigation_and_back(tmp_path) -> None:
    tests = planted(tmp_path / "own")
    for code, name in enumerate(SETS):
        paint(tmp_path / "own" / "pictures" / name, code, items=8)
    given = {"model": f"{tmp_path}/own/own.py:Both", "data": tests}
    before = eh.run("mmbias/association", **given, out=tmp_path / "before")
    made = eh.debias(tmp_path / "before", method="mean_difference", out=tmp_path / "out")
    mitigation = tmp_path / "out" / "mitigation.safetensors"
    after = eh.run("mmbias/association", **given, mitigation=mitigation)
    assert {one["asked"] for one in after.manifest["asking"]["questions"]} == {0}
    row = made.tables["before_after"].row(0, named=True)
    for run, stage, rounding in ((before, "before", 1e-12), (after, "after", 1e-6)):  # tables are float32
        finding = run.finding("association_effect_size", form="cross-modal")
        assert finding.value == pytest.approx(row[stage], abs=rounding)
    assert after.finding("association_effect_size").model.endswith("own.py:Both + mean_difference")
    assert eh.debias(before, method="mean_difference").findings == made.findings  # a run still in memory
    with pytest.raises(InputError, match="was measured with a mitigation"):
        eh.debias(after, method="mean_difference")
