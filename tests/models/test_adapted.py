"""``adapted:``: head, card and hashes on disk; what is refused; nothing heavy before it is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.capabilities import PreparesImages, capabilities_of
from evenhand.core.errors import InputError
from evenhand.models.adapted.folder import (
    CARD,
    HEAD,
    TRAINED_ON,
    Head,
    hash_of_hashes,
    read_card,
    read_hashes,
    write_card,
    write_hashes,
)
from evenhand.models.adapted.source import AdaptedModel
from evenhand.models.resolve import resolve

CODE = """
import numpy as np

class Extractor:
    version = "{version}"

    def embed_images(self, images):
        return np.stack([image.reshape(-1, 3).mean(0) for image in images]).astype("f4")
"""
CLASSES = [{"label": "a", "wordnet_id": "n00000001"}, {"label": "b", "wordnet_id": ""}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(CODE.format(version="1"))
    uri = f"{tmp_path / 'own.py'}:Extractor"
    made = tmp_path / "made"
    made.mkdir()
    write_card(
        made,
        {
            "method": "probe", "seed": 0, "recipe": {"l2": "auto"}, "classes": CLASSES,
            "extractor": {"uri": uri, "identity": resolve(uri).identity()},
            "training": {"images": 2, "sha256": hash_of_hashes(["x", "y"])},
        },
    )  # fmt: skip
    head().save(made / HEAD)
    write_hashes(made, ["y", "x", "x"])
    return made


def head(unit: bool = False) -> Head:
    weight = np.array([[1, 0, 0], [0, 2, 0]], dtype="f4")
    return Head(weight, np.array([0, 1], dtype="f4"), np.array([1, 1, 1], dtype="f4"), unit)


def change(folder: Path, **entries: object) -> None:
    card = json.loads((folder / CARD).read_text())
    (folder / CARD).write_text(json.dumps(card | entries))


@pytest.mark.parametrize("unit", [False, True])
def test_heads_come_back_to_the_bit(tmp_path, unit):
    head(unit).save(tmp_path / "h.safetensors")
    back = Head.load(tmp_path / "h.safetensors")
    vectors = np.random.default_rng(0).normal(size=(5, 3)).astype("f4")
    assert back.unit is unit
    assert np.array_equal(back.logits(vectors), head(unit).logits(vectors))
    assert back.logits(vectors).dtype == np.float32


def test_logits_are_those_of_the_formula():
    vectors = np.array([[3, 4, 0], [0, 0, 0]], dtype="f4")
    np.testing.assert_allclose(head().logits(vectors), [[2, 7], [-1, -1]])
    np.testing.assert_allclose(head(unit=True).logits(vectors), [[-0.4, 0.6], [-1, -1]], atol=1e-6)
    with pytest.raises(InputError, match="fitted for 3 dimensions"):
        head().logits(np.zeros((2, 4), "f4"))
    with pytest.raises(InputError, match="does not fit together"):
        Head(np.zeros((2, 3), "f4"), np.zeros(3, "f4"), np.zeros(3, "f4"))


def test_it_classifies_and_embeds_as_its_extractor(folder):
    source = resolve(f"adapted:{folder}")
    model = source.load()
    image = np.full((2, 2, 3), (5, 6, 7), np.uint8)
    assert tuple(source.capabilities()) == ("classifies_images", "embeds_images") == capabilities_of(model)
    assert model.labels == ["a", "b"]
    assert model.wordnet_ids == ["n00000001", ""]
    assert model.embed_images([image]).tolist() == [[5, 6, 7]]
    assert model.classify([image]).tolist() == [[4, 11]]
    assert not isinstance(model, PreparesImages)
    assert source.training_hashes() == {"x", "y"}


def test_preparing_is_the_extractors(tiny, pictures):
    extractor = resolve(f"hf:{tiny('vit_features')}").load()
    weight = np.ones((2, 32), "f4")
    model = AdaptedModel(extractor, Head(weight, weight[:, 0], weight[0]), ["a", "b"], ["", ""])
    assert isinstance(model, PreparesImages)
    assert not hasattr(model, "wordnet_ids")
    assert model.classify([model.prepare(image) for image in pictures]).shape == (5, 2)


def test_identity_tells_heads_apart_and_loads_nothing_heavy(folder):
    before = resolve(f"adapted:{folder}").identity()
    assert before["adaptation"] == "probe"
    assert before["extractor class"] == "Extractor"
    Head(head().weight * 2, head().offset, head().centre).save(folder / HEAD)
    after = resolve(f"adapted:{folder}").identity()
    assert {name for name in after if after[name] != before[name]} == {"sha256 of head"}
    change(folder, classes=CLASSES[::-1])
    assert resolve(f"adapted:{folder}").identity()["adaptation classes"] != after["adaptation classes"]
    code = (
        f"import sys\nfrom evenhand.models.resolve import resolve\n"
        f"source = resolve('adapted:{folder}')\nsource.identity(), source.capabilities()\n"
        "assert not {'torch', 'sklearn', 'transformers', 'polars'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_loads_without_scikit_learn(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert resolve(f"adapted:{folder}").load().labels == ["a", "b"]


def test_a_head_is_not_put_on_another_extractor(folder):
    source = folder.parent / "own.py"
    source.write_text(CODE.format(version="2"))
    later = source.stat().st_mtime + 10  # Python takes files of one size and second for unchanged
    os.utime(source, (later, later))
    for name in [name for name in sys.modules if name.startswith("evenhand_user_")]:
        del sys.modules[name]
    with pytest.raises(InputError, match="no longer the model that the head"):
        resolve(f"adapted:{folder}").load()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: (d / CARD).unlink(), "there is no adapted.json"),
        (lambda d: (d / CARD).write_text("{"), "is no JSON"),
        (lambda d: (d / CARD).write_text("[]"), "is no card of an adapted model"),
        (lambda d: change(d, kind="x"), "is no card of an adapted model"),
        (lambda d: change(d, schema_version="2.0"), "reads 1.0; type: pip install -U"),
        (lambda d: change(d, classes=[]), "label and wordnet_id of every class"),
        (lambda d: change(d, classes=[{"label": 3}]), "label and wordnet_id of every class"),
        (lambda d: change(d, classes=CLASSES * 2), "2 outputs and its card 4"),
        (lambda d: (d / HEAD).unlink(), "holds no head"),
        (lambda d: (d / HEAD).write_bytes(b"x" * 99), "holds no head"),
    ],
)
def test_damage_is_told_in_one_line(folder, damage, message):
    damage(folder)
    with pytest.raises(InputError, match=message) as told:
        resolve(f"adapted:{folder}").load()
    assert "\n" not in str(told.value)


def test_a_model_that_forgot_what_it_saw_is_not_asked(folder):
    assert read_hashes(folder) == {"x", "y"}
    (folder / TRAINED_ON).unlink()
    with pytest.raises(InputError, match="nobody knows which images"):
        resolve(f"adapted:{folder}").training_hashes()


def test_cards_are_equal_where_their_content_is(tmp_path, folder):
    again = tmp_path / "again"
    again.mkdir()
    card = read_card(folder)
    write_card(again, dict(reversed(card.items())))
    assert (again / CARD).read_bytes() == (folder / CARD).read_bytes()
