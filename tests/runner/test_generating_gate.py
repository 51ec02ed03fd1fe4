"""The quality gate of generated images: what looks wrong is flagged and counted, never hidden."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest
from PIL import Image

from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.core.errors import InputError, MissingExtra, ParameterError, UserError
from evenhand.models.resolve import resolve
from evenhand.workflows.generate.engine import ReviewRule, generate
from evenhand.workflows.generate.review import rivals_of
from tests.conftest import SHARED
from tests.models.tiny import build
from tests.runner.generation import arrange, painted_prompts, pixels

FACE = SHARED / "assets" / "faces" / "val" / "10059.jpg"
DUAL = '''
"""Looks at the colour of the upper left pixel: red is a woman, blue a man; notes what it saw."""
from pathlib import Path
import numpy as np

LOG = Path(__file__).with_name("seen.txt")

class Colours:
    version = "1"
    logit_scale = 1.0

    def embed_images(self, images):
        with LOG.open("a") as log:
            log.write("image\\n" * len(images))
        return np.array([np.append(image[0, 0], 1.0) / 255 for image in images], np.float32)

    def embed_texts(self, texts):
        red = [1.0, 0.0, 0.0, 0.1]
        blue = [0.0, 0.0, 1.0, 0.1]
        return np.array([red if "woman" in text else blue for text in texts], np.float32)
'''


@pytest.fixture
def painted(tmp_path):
    """Images of which every second one of nurses has the other group's colour; and the dual encoder's URI."""
    definition, painter = arrange(tmp_path)
    path = tmp_path / "painter.py"
    path.write_text(
        path.read_text().replace(
            "        return image\n",
            "        red = 'a woman' in prompt\n"
            "        red = not red if 'nurse' in prompt and seed % 2 else red\n"
            "        image = image.copy()\n"
            "        image[:8, :8] = [255, 0, 0] if red else [0, 0, 255]\n"
            "        return image\n",
        )
    )
    (tmp_path / "colours.py").write_text(DUAL)
    return definition, painter, f"{tmp_path / 'colours.py'}:Colours"


def seen(folder):
    path = folder / "seen.txt"
    return len(path.read_text().splitlines()) if path.is_file() else 0


def test_images_that_fit_another_groups_prompt_better_are_flagged(painted, tmp_path):
    definition, painter, dual = painted
    made = generate(definition, painter, tmp_path / "out", gate=ReviewRule(clip=dual))
    flagged = made.table.filter(made.table["flags"].list.contains("prompt not best"))
    wrong = made.table.filter((made.table["truth"] == "nurse") & (made.table["seed"] % 2 == 1))
    assert 0 < len(wrong) < 8
    assert flagged.equals(wrong)
    assert made.made == len(made.table) == 24  # flagged, not hidden
    counted = {row["group"]: (row["count"], row["of"]) for row in made.flags.to_dicts()}
    for group in ("woman", "man"):
        assert counted[group] == (len(wrong.filter(gender=group)), 12)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["flags"] == made.flags.to_dicts()


def test_the_score_is_hessels(tmp_path):
    definition, painter = arrange(tmp_path)
    uri = f"hf:{build('clip')}"
    made = generate(definition, painter, tmp_path / "out", limit=5, gate=ReviewRule(clip=uri, below=0.2))
    model = resolve(uri).load()
    for row in made.table.iter_rows(named=True):
        image = model.embed_images([model.prepare(pixels(tmp_path / "out" / row["image"]))])[0]
        text = model.embed_texts([row["prompt"]])[0]
        cosine = float(image @ text / np.linalg.norm(image) / np.linalg.norm(text))
        assert row["clip_score"] == pytest.approx(2.5 * max(cosine, 0.0), abs=1e-5)
        assert ("low clip score" in row["flags"]) == (row["clip_score"] < 0.2)


def test_images_are_looked_at_once_and_new_ones_alone(painted, tmp_path):
    definition, painter, dual = painted
    generate(definition, painter, tmp_path / "out", images_per_cell=2, gate=ReviewRule(clip=dual))
    assert (len(painted_prompts(tmp_path)), seen(tmp_path)) == (12, 12)
    generate(definition, painter, tmp_path / "out", images_per_cell=2, gate=ReviewRule(clip=dual, below=2.6))
    assert (len(painted_prompts(tmp_path)), seen(tmp_path)) == (12, 12)
    made = generate(definition, painter, tmp_path / "out", images_per_cell=3)
    assert made.table["clip_score"].null_count() == 6  # new images were not looked at, and that is told
    assert set(made.flags.filter(flag="prompt not best")["of"]) == {6}
    generate(definition, painter, tmp_path / "out", images_per_cell=3, gate=ReviewRule(clip=dual))
    assert (len(painted_prompts(tmp_path)), seen(tmp_path)) == (18, 18)


def test_a_gate_after_the_images_needs_no_generator(painted, tmp_path):
    definition, painter, dual = painted
    generate(definition, painter, tmp_path / "out")
    made = generate(definition, painter, tmp_path / "out", gate=ReviewRule(clip=dual))
    assert len(painted_prompts(tmp_path)) == 24
    assert made.table["clip_score"].null_count() == 0


def test_shards_are_looked_at_apart_and_joined(painted, tmp_path):
    definition, painter, dual = painted
    whole = generate(definition, painter, tmp_path / "whole", gate=ReviewRule(clip=dual))
    for number in (1, 2, 3):
        made = generate(definition, painter, tmp_path / "out", shard=(number, 3), gate=ReviewRule(clip=dual))
    assert made.table.equals(whole.table)
    assert made.flags.equals(whole.flags)


def test_an_image_made_anew_is_looked_at_anew(painted, tmp_path):
    definition, painter, dual = painted
    generate(definition, painter, tmp_path / "out", gate=ReviewRule(clip=dual))
    next((tmp_path / "out").rglob("*.png")).unlink()
    generate(definition, painter, tmp_path / "out", gate=ReviewRule(clip=dual))
    assert seen(tmp_path) == 24  # it is the same image again, known by its hash


def test_a_spoilt_image_is_told(painted, tmp_path):
    definition, painter, dual = painted
    generate(definition, painter, tmp_path / "out")
    path = next((tmp_path / "out").rglob("*.png"))
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(InputError, match="delete it, and the same command makes it anew"):
        generate(definition, painter, tmp_path / "out", gate=ReviewRule(clip=dual))


def test_what_cannot_look_is_refused_before_images_are_made(painted, tmp_path):
    definition, painter, _ = painted
    with pytest.raises(UserError, match="has no embeds_images; give a dual encoder"):
        generate(definition, painter, tmp_path / "out", gate=ReviewRule(clip=painter))
    with pytest.raises(ParameterError, match="add --clip URI"):
        generate(definition, painter, tmp_path / "out", gate=ReviewRule(below=0.2))
    assert painted_prompts(tmp_path) == []


def test_rivals_are_the_other_groups_at_the_same_turn():
    made = GenerationDefinition.parse(
        b"attribute: g\nclasses: [cat, dog]\ngroups: [red, blue, {name: sea, template: 'a {class} at sea'}]\n"
        b"templates: ['a {g} {class}', 'one {g} {class}']\nimages_per_cell: 9\n"
    )
    found = rivals_of(made)
    assert found["a red cat"] == ["a blue cat", "a cat at sea"]
    assert found["one blue dog"] == ["one red dog", "a dog at sea"]
    assert found["a cat at sea"] == ["a red cat", "a blue cat", "one red cat", "one blue cat"]


@pytest.mark.skipif(importlib.util.find_spec("dlib") is None, reason="needs dlib")
def test_faces_are_counted_where_one_person_is_meant_to_be_seen(tmp_path):
    if not FACE.is_file():
        pytest.skip(f"needs {FACE}")
    definition, painter = arrange(tmp_path)
    face = np.asarray(Image.open(FACE).convert("RGB"))
    np.save(tmp_path / "face.npy", face)
    path = tmp_path / "painter.py"
    path.write_text(
        path.read_text().replace(
            "        return image\n",
            "        face = np.load(Path(__file__).with_name('face.npy'))\n"
            "        number = ['doctor', 'nurse', 'engineer'].index(prompt.split()[-1])\n"
            "        return np.concatenate([face] * number, axis=1) if number else image\n",
        )
    )
    made = generate(definition, painter, tmp_path / "out", images_per_cell=1, gate=ReviewRule(faces=True))
    by_class = {row["truth"]: (row["faces"], row["flags"]) for row in made.table.iter_rows(named=True)}
    assert by_class == {
        "doctor": (0, ["no face"]),
        "nurse": (1, []),
        "engineer": (2, ["several faces"]),
    }
    without = definition.read_text().replace("people: true", "people: false")
    definition.write_text(without)
    calm = generate(definition, painter, tmp_path / "things", images_per_cell=1, gate=ReviewRule(faces=True))
    assert calm.table["faces"].to_list() == made.table["faces"].to_list()
    assert calm.flags.is_empty()


def test_a_missing_detector_is_told_before_images_are_made(tmp_path, monkeypatch):
    definition, painter = arrange(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "dlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'evenhand\[faces\]'"):
        generate(definition, painter, tmp_path / "out", gate=ReviewRule(faces=True))
    assert painted_prompts(tmp_path) == []
