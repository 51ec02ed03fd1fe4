"""Pickled weights of timm on the recorded hub, and of layers of sentence encoders: read, without code."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import UserError
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from tests.helpers import Later
from tests.models.hub.layouts import pickled
from tests.models.test_sentence_encoders import Modules, make, vectors

torch = pytest.importorskip("torch")
timm = Later("timm")
SMALL = "test_vit.r160_in1k"


def test_weights_of_timm_are_fetched_in_one_format(hub, tmp_path, pictures, monkeypatch):
    torch.manual_seed(0)
    network = timm.create_model(SMALL.partition(".")[0], num_classes=1000).eval()
    repository = timm.get_pretrained_cfg(SMALL).hf_hub_id
    monkeypatch.setitem(hub.folders, repository, tmp_path / "served")
    (tmp_path / "served").mkdir()
    weights = tmp_path / "served" / "pytorch_model.bin"
    torch.save(network.state_dict(), weights)
    source = resolve(f"timm:{SMALL}", LoadOptions(device="cpu"))
    model = source.load()
    prepared = [model.prepare(picture) for picture in pictures]
    with torch.inference_mode():
        expected = network(torch.stack(prepared)).numpy()
    np.testing.assert_allclose(model.classify(prepared), expected, rtol=1e-6, atol=1e-6)
    assert [path.rpartition("/")[2] for path in hub.fetched] == ["pytorch_model.bin"]
    assert hub.bytes_of(repository) == weights.stat().st_size

    shutil.rmtree(tmp_path / "cache")
    torch.save({**network.state_dict(), "trainer": Path("x")}, weights)
    with pytest.raises(UserError, match="which could run code, so it is not loaded") as refused:
        resolve(f"timm:{SMALL}", LoadOptions(device="cpu")).load()
    assert "\n" not in str(refused.value)


def test_a_pickled_layer_of_a_sentence_encoder_changes_nothing(tmp_path):
    modules = Modules({"pooling_mode": "mean"}, dense="torch.nn.modules.activation.Tanh")
    plain = make(tmp_path / "plain", modules)
    copy = shutil.copytree(plain, tmp_path / "copy")
    pickled(copy)
    pickled(copy / "2_Dense")
    np.testing.assert_array_equal(
        vectors(copy, ["a nurse", "the dog"]), vectors(plain, ["a nurse", "the dog"])
    )
    digests = {resolve(f"hf:{folder}").identity()["sha256"] for folder in (plain, copy)}
    assert len(digests) == 2
