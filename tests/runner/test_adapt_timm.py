"""Full fine-tuning of ``timm:`` models: a folder that opens without a hub, and answers as it was trained."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.core.errors import InputError
from evenhand.models.resolve import resolve
from evenhand.workflows.execution.options import AskOptions
from tests.helpers import Later
from tests.runner.adapting import write_folders

torch = pytest.importorskip("torch")
timm = Later("timm")
safetensors = pytest.importorskip("safetensors.torch")

RECIPE = {"epochs": "5", "learning_rate": "1e-3", "head_learning_rate": "1e-2", "batch": "8"}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def refuse(*address):
        raise OSError("no network")

    monkeypatch.setattr("socket.socket.connect", refuse)


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_folders(tmp_path / "train", {"red": 16, "green": 12, "blue": 12})


def saved(folder: Path, name: str, classes: int) -> str:
    """A tiny network of timm with random weights in a file; its URI."""
    torch.manual_seed(0)
    network = timm.create_model(name, num_classes=classes)
    safetensors.save_file(network.state_dict(), folder / "weights.safetensors")
    return f"timm:{name}@{folder / 'weights.safetensors'}"


@pytest.mark.parametrize(("name", "classes"), [("test_resnet", 1000), ("test_vit", 0), ("test_convnext", 3)])
def test_a_network_of_timm_learns_and_its_folder_opens_offline(tmp_path, train, name, classes):
    uri = saved(tmp_path, name, classes)
    (made,) = eh.adapt(uri, train=train, method="fine_tuning", out=tmp_path / "m", parameters=RECIPE)
    history = pl.read_parquet(tmp_path / "m" / "history.parquet")
    assert history["fit_loss"][-1] < history["fit_loss"][0]
    assert made.card["fit"]["fit_accuracy"] > 0.7
    new = made.card["fit"]["new_weights"]
    assert new
    assert all(weight.startswith(("head.", "fc.")) for weight in new)
    assert {path.name for path in (tmp_path / "m" / "network").iterdir()} == {
        "config.json", "model.safetensors",
    }  # fmt: skip
    (tmp_path / "weights.safetensors").unlink()  # nothing but the folder is needed
    moved = shutil.move(tmp_path / "m", tmp_path / "moved")
    adapted = resolve(f"adapted:{moved}").load()
    plain = resolve(f"timm:{moved / 'network'}").load()
    assert list(adapted.labels) == list(plain.labels) == ["blue", "green", "red"]
    pictures = [np.asarray(Image.open(path)) for path in sorted(train.rglob("*.png"))[::5]]
    prepared = [adapted.prepare(picture) for picture in pictures]
    logits = adapted.classify(prepared)
    assert np.array_equal(logits, plain.classify(prepared))
    # what torch says of the saved weights, with the preprocessing of the network that was trained
    network = timm.create_model(name, num_classes=3).eval()
    network.load_state_dict(safetensors.load_file(moved / "network" / "model.safetensors"))
    settings = timm.data.resolve_model_data_config(network)
    transform = timm.data.create_transform(**settings, is_training=False)
    with torch.inference_mode():
        expected = network(torch.stack([transform(Image.fromarray(one)) for one in pictures])).numpy()
    assert logits == pytest.approx(expected, abs=1e-5)
    test = write_folders(tmp_path / "test", {"red": 5, "green": 5, "blue": 5}, seed=2)
    run = eh.run("classification", model=f"adapted:{moved}", data=test)
    assert run.finding("accuracy").n == 15
    assert run.manifest["model_identity"]["extractor name"] == name
    with pytest.raises(InputError, match="was fitted on"):
        eh.run("classification", model=f"adapted:{moved}", data=train)


def test_a_seed_repeats_to_the_byte_and_another_does_not(tmp_path):
    uri, train = saved(tmp_path, "test_resnet", 10), write_folders(tmp_path / "train", {"red": 6, "blue": 6})
    how = {"train": train, "method": "fine_tuning", "parameters": {"epochs": "1"}}
    how["options"] = AskOptions(device="cpu")  # sums of a GPU have no fixed order
    for out, seed in (("a", 0), ("b", 0), ("c", 1)):
        eh.adapt(uri, out=tmp_path / out, seed=seed, **how)
    weights = [(tmp_path / out / "network" / "model.safetensors").read_bytes() for out in "abc"]
    cards = [json.loads((tmp_path / out / "adapted.json").read_text()) for out in "ab"]
    assert weights[0] == weights[1] != weights[2]
    assert cards[0] == cards[1]


def test_a_network_without_its_weights_is_refused(tmp_path, train):
    uri = saved(tmp_path, "test_resnet", 10)
    weights = safetensors.load_file(tmp_path / "weights.safetensors")
    kept = {name: weights[name] for name in list(weights) if not name.startswith("layer1.")}
    safetensors.save_file(kept, tmp_path / "weights.safetensors")
    with pytest.raises(InputError, match="does not fit"):
        eh.adapt(uri, train=train, method="fine_tuning", out=tmp_path / "m")
    assert not (tmp_path / "m").exists()
