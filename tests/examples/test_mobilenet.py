"""The example with real quantised MobileNets, on the 200 pictures of pairs; and the shortest example."""

from __future__ import annotations

import importlib.util
import inspect

import numpy as np
import pytest
from PIL import Image

from evenhand.core.capabilities import ClassifiesImages, EmbedsImages, capabilities_of
from evenhand.models.resolve import resolve
from tests.conftest import ROOT, SHARED

EXAMPLE = ROOT / "examples" / "mobilenet_litert.py"
MODELS, PAIRS = SHARED / "assets" / "models", SHARED / "assets" / "pairs" / "data"


def code_lines(kind):
    return [line for line in inspect.getsource(kind).splitlines() if line.strip()]


@pytest.fixture
def source(monkeypatch):
    if importlib.util.find_spec("ai_edge_litert") is None:
        pytest.skip("needs ai-edge-litert")
    if not MODELS.is_dir():
        pytest.skip(f"needs {MODELS}")
    monkeypatch.setenv("MOBILENETS", str(MODELS))
    return resolve(f"{EXAMPLE}:MobileNet")


def test_the_class_has_at_most_15_lines(source):
    assert len(code_lines(type(source.load()))) <= 15


def test_its_identity_is_its_files(source):
    identity = source.identity()
    assert "MobileNet" in identity.values()
    assert len([name for name in identity if name.startswith("sha256 of ")]) == 4  # three files and the code


def test_real_pictures_end_to_end(source):
    if not PAIRS.is_dir():
        pytest.skip(f"needs {PAIRS}")
    model = source.load()
    assert isinstance(model, ClassifiesImages)
    assert isinstance(model, EmbedsImages)
    assert len(set(model.labels)) == 1001
    paths = sorted(PAIRS.rglob("*.png"))
    assert len(paths) == 200
    pictures = [np.asarray(Image.open(path).convert("RGB")) for path in paths[::4]]
    prepared = [model.prepare(picture) for picture in pictures]
    logits, vectors = model.classify(prepared), model.embed_images(prepared)
    assert (logits.shape, logits.dtype) == ((50, 1001), np.float32)
    assert (vectors.shape, vectors.dtype) == ((50, 1024), np.float32)
    assert np.isfinite(logits).all()
    assert np.isfinite(vectors).all()
    assert vectors.min() >= 0
    assert len({model.labels[index] for index in logits.argmax(axis=1)}) > 10
    sure = np.exp(logits[:, :]).max(axis=1)
    assert np.median(sure) > 0.1  # far above 1/1001: the preprocessing is the network's
    assert np.array_equal(model.classify(prepared[:3]), logits[:3])


def test_a_picture_whose_content_is_known(source):
    """The taxi scenes are called by a vehicle's name."""
    model = source.load()
    pictures = [np.asarray(Image.open(path).convert("RGB")) for path in sorted(PAIRS.rglob("taxi/*.png"))]
    if not pictures:
        pytest.skip(f"needs {PAIRS}")
    logits = model.classify([model.prepare(picture) for picture in pictures])
    best = [{model.labels[index] for index in row.argsort()[-10:]} for row in logits]
    assert any("cab, hack, taxi" in label for labels in best for label in labels)


def test_the_shortest_example_meets_a_capability():
    source = resolve(f"{ROOT / 'examples' / 'own_model.py'}:Brightness")
    model = source.load()
    assert capabilities_of(model) == ("classifies_images",)
    assert len(code_lines(type(model))) < 15
    assert set(source.identity()) == {"class", "object", "sha256 of own_model.py"}
    image = np.zeros((4, 6, 3), np.uint8)
    image[:, 3:] = 200
    logits = model.classify([image, image[:, ::-1]])
    assert logits.dtype == np.float32
    assert [model.labels[index] for index in logits.argmax(axis=1)] == ["right", "left"]
