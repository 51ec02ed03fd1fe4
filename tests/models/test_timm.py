"""``timm:``: tiny networks saved and reloaded, from a file, a folder and the hub's cache, offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from evenhand.core.capabilities import ClassifiesImages, EmbedsImages
from evenhand.core.errors import InputError, UnknownName, UserError
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from tests.helpers import Later

torch = pytest.importorskip("torch")
timm = Later("timm")
save_file = pytest.importorskip("safetensors.torch").save_file

SMALL = "test_vit"  # timm's own network for tests
WITH_HEAD = f"{SMALL}.r160_in1k"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


def network(classes=1000, seed=0, name=SMALL):
    torch.manual_seed(seed)
    return timm.create_model(name, num_classes=classes).eval()


def saved(tmp_path, made, name="weights.safetensors"):
    save_file(made.state_dict(), tmp_path / name)
    return tmp_path / name


def expected(made, pictures):
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(made), is_training=False)
    pixels = torch.stack([transform(Image.fromarray(picture)) for picture in pictures])
    with torch.inference_mode():
        features = made.forward_head(made.forward_features(pixels), pre_logits=True)
        return made(pixels).numpy(), features.numpy()


def test_a_file_gives_the_networks_own_answers(tmp_path, pictures):
    made = network()
    source = resolve(f"timm:{SMALL}@{saved(tmp_path, made)}")
    assert source.capabilities() == ("classifies_images", "embeds_images")
    model = source.load()
    assert isinstance(model, ClassifiesImages)
    assert isinstance(model, EmbedsImages)
    prepared = [model.prepare(picture) for picture in pictures]
    logits, features = expected(made, pictures)
    answers, vectors = model.classify(prepared), model.embed_images(prepared)
    assert answers.dtype == vectors.dtype == np.float32
    assert answers == pytest.approx(logits, abs=1e-5)
    assert vectors == pytest.approx(features, abs=1e-5)


def test_labels_are_those_of_imagenet_each_once(tmp_path):
    model = resolve(f"timm:{SMALL}@{saved(tmp_path, network())}").load()
    assert model.labels[0] == "tench, Tinca tinca"
    assert model.wordnet_ids[0] == "n01440764"
    assert len(set(model.labels)) == len(set(model.wordnet_ids)) == 1000


def test_a_file_with_a_head_of_its_own(tmp_path, pictures):
    made = network(classes=3)
    model = resolve(f"timm:{SMALL}@{saved(tmp_path, made)}").load()
    assert (model.labels, model.wordnet_ids) == (("class_0", "class_1", "class_2"), ("", "", ""))
    prepared = [model.prepare(picture) for picture in pictures]
    assert model.classify(prepared) == pytest.approx(expected(made, pictures)[0], abs=1e-5)


def test_a_file_without_a_head_only_embeds(tmp_path, pictures):
    made = network(classes=0)
    source = resolve(f"timm:{SMALL}@{saved(tmp_path, made)}")
    assert source.capabilities() == ("embeds_images",)
    model = source.load()
    assert not isinstance(model, ClassifiesImages)
    vectors = model.embed_images([model.prepare(picture) for picture in pictures])
    assert vectors == pytest.approx(expected(made, pictures)[1], abs=1e-5)


@pytest.mark.parametrize("names", [["kept", "left"], {"0": "kept", "1": "left"}], ids=["list", "by index"])
def test_a_folder_in_the_format_of_the_hub(tmp_path, pictures, names):
    made = network(classes=2)
    made.pretrained_cfg.update(mean=(0.1, 0.2, 0.3))
    said = {"label_names": names}
    timm.models.save_for_hf(made, tmp_path / "folder", model_config=said, safe_serialization=True)
    source = resolve(f"timm:{tmp_path / 'folder'}")
    model = source.load()
    assert model.labels == ("kept", "left")
    prepared = [model.prepare(picture) for picture in pictures]
    assert model.classify(prepared) == pytest.approx(expected(made, pictures)[0], abs=1e-5)
    before = source.identity()
    (tmp_path / "folder").rename(tmp_path / "moved")
    assert resolve(f"timm:{tmp_path / 'moved'}").identity() == before


def test_half_precision_answers_in_float32(tmp_path, pictures):
    made = network()
    source = resolve(f"timm:{SMALL}@{saved(tmp_path, made)}", LoadOptions(device="cpu", dtype="bfloat16"))
    assert source.identity()["dtype"] == "bfloat16"
    model = source.load()
    answers = model.classify([model.prepare(picture) for picture in pictures])
    assert answers.dtype == np.float32
    assert answers == pytest.approx(expected(made, pictures)[0], abs=0.1)


def test_identity_follows_weights_and_configuration(tmp_path):
    first = resolve(f"timm:{SMALL}@{saved(tmp_path, network())}").identity()
    assert resolve(f"timm:{SMALL}@{saved(tmp_path, network(), 'copy.safetensors')}").identity() == first
    other = resolve(f"timm:{SMALL}@{saved(tmp_path, network(seed=1), 'other.safetensors')}").identity()
    assert {name for name in first if first[name] != other[name]} == {"sha256 of weights"}


def in_hub_cache(tmp_path, made, repository="timm/test_vit.r160_in1k"):
    """Weights where huggingface_hub keeps what it has downloaded."""
    folder = tmp_path / "hub" / f"models--{repository.replace('/', '--')}"
    snapshot = folder / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("a" * 40)
    return saved(snapshot, made, "model.safetensors")


def test_a_model_of_the_hub_and_then_no_torch_is_needed_to_name_it(tmp_path, monkeypatch):
    made = network()
    in_hub_cache(tmp_path, made)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    here = LoadOptions(device="cpu")
    sources = [resolve(f"timm:{SMALL}", here), resolve(f"timm:{WITH_HEAD}@main", here)]
    first = [source.identity() for source in sources]
    assert sources[0].capabilities() == ("classifies_images", "embeds_images")
    code = (
        "import json, sys; from evenhand.models.resolve import resolve;"
        "from evenhand.models.identity.source import LoadOptions; here = LoadOptions(device='cpu');"
        f"s = resolve('timm:{SMALL}', here); t = resolve('timm:{WITH_HEAD}@main', here);"
        "found = [s.identity(), t.identity(), list(s.capabilities())];"
        "print(json.dumps([found, bool({'torch', 'timm'} & set(sys.modules))]))"
    )
    environment = os.environ | {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    found, is_heavy = json.loads(done.stdout.splitlines()[-1])
    assert not is_heavy
    assert found == [*first, list(sources[0].capabilities())]
    model, image = sources[0].load(), np.arange(5400, dtype=np.uint8).reshape(30, 60, 3)
    answers = model.classify([model.prepare(image)])
    assert answers[0, :5] == pytest.approx(expected(made, [image])[0][0, :5], abs=1e-5)


@pytest.mark.parametrize(
    ("rest", "kind", "says"),
    [
        ("resnet5", UnknownName, "did you mean 'resnet50'"),
        ("resnet50.x", UnknownName, "did you mean 'resnet50."),
        (f"{SMALL}@weights.pth", InputError, "evenhand convert weights.pth weights.safetensors"),
        (f"{SMALL}@./none.safetensors", InputError, "there is no file"),
        ("./none", InputError, "config.json"),
        ("resnetv2_101x1_bit.goog_in21k_ft_in1k", InputError, "hf download timm/resnetv2_101x1_bit"),
        ("resnetv2_50x1_bit.goog_in21k@no/such", InputError, ".safetensors only"),
    ],
)
def test_refusals_teach(rest, kind, says):
    with pytest.raises(kind) as refused:
        resolve(f"timm:{rest}")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_pickled_weights_are_never_an_answer(tmp_path):
    made = network()
    timm.models.save_for_hf(made, tmp_path / "folder", safe_serialization=False)
    assert (tmp_path / "folder" / "pytorch_model.bin").is_file()
    with pytest.raises(InputError, match=r"model\.safetensors"):
        resolve(f"timm:{tmp_path / 'folder'}")


def test_names_without_safetensors_on_the_hub_say_what_to_type():
    names = [
        name for name in timm.list_models(pretrained=True) if not timm.get_pretrained_cfg(name).hf_hub_id
    ]
    if not names:
        pytest.skip("this timm has all weights on the hub")
    with pytest.raises(UserError, match="evenhand convert"):
        resolve(f"timm:{names[0]}")


def test_weights_of_another_network_are_refused(tmp_path):
    file = saved(tmp_path, network())
    with pytest.raises(InputError, match="does not fit"):
        resolve(f"timm:resnet10t@{file}").load()
    broken = Path(tmp_path / "broken.safetensors")
    broken.write_bytes(b"nothing")
    with pytest.raises(InputError, match="no safetensors file"):
        resolve(f"timm:{SMALL}@{broken}")
