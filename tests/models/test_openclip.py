"""``openclip:``: tiny dual encoders from a file, a folder and the hub's cache, against their own logits."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from evenhand.core.capabilities import EmbedsImages, EmbedsTexts
from evenhand.core.errors import InputError, UnknownName, UserError
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from tests.helpers import Later
from tests.models.conftest import TEXTS

torch = pytest.importorskip("torch")
open_clip = Later("open_clip")
save_file = pytest.importorskip("safetensors.torch").save_file

TINY = {
    "embed_dim": 24,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "head_width": 32, "patch_size": 8},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
SIGMOID = TINY | {"init_logit_scale": 2.3, "init_logit_bias": -10.0, "custom_text": True}
PREPROCESSING = {
    "mean": [0.5, 0.4, 0.3],
    "std": [0.2, 0.3, 0.4],
    "interpolation": "bilinear",
    "resize_mode": "squash",
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module", autouse=True)
def _architectures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("architectures")
    for name, config in (("tiny-test", TINY), ("tiny-sigmoid", SIGMOID)):
        (folder / f"{name}.json").write_text(json.dumps(config))
        open_clip.add_model_config(folder / f"{name}.json")


def network(name="tiny-test", seed=0):
    torch.manual_seed(seed)
    made = open_clip.create_model(name).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim:  # other than scale and shift of the logits
                parameter.mul_(1.5)
        made.logit_scale.add_(0.3)
    return made


def saved(made, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.contiguous() for name, tensor in made.state_dict().items()}, path)
    return path


def own_logits(made, pictures, preprocessing):
    how = open_clip.transform.PreprocessCfg(size=(32, 32), **preprocessing)
    transform = open_clip.transform.image_transform_v2(how, is_train=False)
    pixels = torch.stack([transform(Image.fromarray(picture)) for picture in pictures])
    with torch.inference_mode():
        return made.get_logits(pixels, open_clip.get_tokenizer("tiny-test")(TEXTS))[0].numpy()


def derived_logits(model, pictures):
    images = model.embed_images([model.prepare(picture) for picture in pictures])
    texts = model.embed_texts(TEXTS)
    assert images.dtype == texts.dtype == np.float32
    images, texts = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (images, texts))
    return images @ texts.T * model.logit_scale + model.logit_bias


@pytest.mark.parametrize(("name", "link"), [("tiny-test", "softmax"), ("tiny-sigmoid", "sigmoid")])
def test_embeddings_scale_and_bias_make_the_networks_own_logits(tmp_path, pictures, name, link):
    made = network(name)
    source = resolve(f"openclip:{name}/{saved(made, tmp_path / 'w.safetensors')}")
    assert source.capabilities() == ("embeds_images", "embeds_texts")
    model = source.load()
    assert isinstance(model, EmbedsImages)
    assert isinstance(model, EmbedsTexts)
    assert model.link == link
    defaults = {
        "mean": open_clip.OPENAI_DATASET_MEAN,
        "std": open_clip.OPENAI_DATASET_STD,
        "interpolation": "bicubic",
        "resize_mode": "shortest",
    }
    expected = own_logits(made, pictures, defaults)
    assert expected.std() > 0.01
    assert derived_logits(model, pictures) == pytest.approx(expected, abs=1e-5)


def test_vectors_are_as_the_network_makes_them(tmp_path, pictures):
    model = resolve(f"openclip:tiny-test/{saved(network(), tmp_path / 'w.safetensors')}").load()
    vectors = model.embed_images([model.prepare(picture) for picture in pictures])
    assert vectors.shape == (len(pictures), 24)
    assert not np.allclose(np.linalg.norm(vectors, axis=1), 1)


def folder_of(tmp_path, made):
    folder = tmp_path / "folder"
    saved(made, folder / "open_clip_model.safetensors")
    config = {"model_cfg": TINY, "preprocess_cfg": PREPROCESSING}
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    return folder


def test_a_folder_with_its_own_preprocessing(tmp_path, pictures):
    made = network()
    folder = folder_of(tmp_path, made)
    source = resolve(f"openclip:{folder}")
    expected = own_logits(made, pictures, PREPROCESSING)
    assert derived_logits(source.load(), pictures) == pytest.approx(expected, abs=1e-5)
    before = source.identity()
    folder.rename(tmp_path / "moved")
    assert resolve(f"openclip:{tmp_path / 'moved'}").identity() == before


def test_a_folder_with_pickled_weights_only_is_refused(tmp_path):
    folder = folder_of(tmp_path, network())
    (folder / "open_clip_model.safetensors").rename(folder / "open_clip_pytorch_model.bin")
    with pytest.raises(InputError, match="evenhand convert"):
        resolve(f"openclip:{folder}")


def test_identity_follows_weights_and_dtype(tmp_path):
    first = resolve(f"openclip:tiny-test/{saved(network(), tmp_path / 'a.safetensors')}").identity()
    other = resolve(f"openclip:tiny-test/{saved(network(seed=1), tmp_path / 'b.safetensors')}").identity()
    half = LoadOptions(dtype="bfloat16")
    third = resolve(f"openclip:tiny-test/{tmp_path / 'a.safetensors'}", half).identity()
    assert {name for name in first if first[name] != other[name]} == {"sha256 of weights"}
    assert {name for name in first if first[name] != third[name]} == {"dtype"}


def test_half_precision_answers_in_float32(tmp_path, pictures):
    made = network()
    file = saved(made, tmp_path / "w.safetensors")
    model = resolve(f"openclip:tiny-test/{file}", LoadOptions(device="cpu", dtype="bfloat16")).load()
    whole = resolve(f"openclip:tiny-test/{file}").load()
    assert model.logit_scale == whole.logit_scale
    assert derived_logits(model, pictures) == pytest.approx(derived_logits(whole, pictures), abs=0.3)


def in_hub_cache(tmp_path, repository, made):
    """Weights where huggingface_hub keeps what it has downloaded."""
    place = tmp_path / "hub" / f"models--{repository.replace('/', '--')}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("b" * 40)
    saved(made, place / "snapshots" / ("b" * 40) / "open_clip_model.safetensors")


def test_a_tag_brings_its_preprocessing_and_its_activation(tmp_path, pictures, monkeypatch):
    torch.manual_seed(0)
    made = open_clip.create_model("tiny-test", force_quick_gelu=True).eval()
    in_hub_cache(tmp_path, "tests/tiny", made)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    tags = {"mine": {"hf_hub": "tests/tiny/", "quick_gelu": True, **PREPROCESSING}}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny-test", tags)
    model = resolve("openclip:tiny-test/mine").load()
    expected = own_logits(made, pictures, PREPROCESSING)
    assert derived_logits(model, pictures) == pytest.approx(expected, abs=1e-5)


def test_a_tag_is_named_without_torch_the_second_time(tmp_path, monkeypatch):
    name, tag, repository = "RN50", "yfcc15m", "timm/resnet50_clip.yfcc15m"
    assert open_clip.get_pretrained_cfg(name, tag)["hf_hub"] == f"{repository}/"
    in_hub_cache(tmp_path, repository, torch.nn.Linear(2, 2))  # only its hash is asked for
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    uri = f"openclip:{name}/{tag}"
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "open_clip", None)
        with pytest.raises(UserError):
            resolve(uri, LoadOptions(device="cpu"))
    source = resolve(uri, LoadOptions(device="cpu"))
    code = (
        "import json, sys; from evenhand.models.resolve import resolve;"
        "from evenhand.models.identity.source import LoadOptions;"
        f"s = resolve({uri!r}, LoadOptions(device='cpu'));"
        "found = [s.identity(), list(s.capabilities())];"
        "print(json.dumps([found, bool({'torch', 'open_clip'} & set(sys.modules))]))"
    )
    environment = os.environ | {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    found, is_heavy = json.loads(done.stdout.splitlines()[-1])
    assert found == [source.identity(), list(source.capabilities())]
    assert not is_heavy
    assert found[0]["name"] == name


@pytest.mark.parametrize(
    ("rest", "kind", "says"),
    [
        ("ViT-B-32", UserError, "names no weights"),
        ("ViT-B-33/openai", UnknownName, "did you mean 'ViT-B-32'"),
        ("ViT-B-32/laion2b", UnknownName, "'laion2b_e16'"),
        ("ViT-B-32/./w.pt", InputError, "evenhand convert w.pt w.safetensors"),
        ("ViT-B-32/none.safetensors", InputError, "there is no file"),
        ("./none", InputError, "open_clip_config.json"),
    ],
)
def test_refusals_teach(rest, kind, says):
    with pytest.raises(kind) as refused:
        resolve(f"openclip:{rest}")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_weights_of_another_network_are_refused(tmp_path):
    file = saved(torch.nn.Linear(2, 2), tmp_path / "w.safetensors")
    with pytest.raises(InputError, match="does not fit"):
        resolve(f"openclip:tiny-test/{file}").load()
