"""ALBEF's example: its parts against timm's ViT and transformers' BERT, and the way from .pth to answers."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from evenhand.core.capabilities import capabilities_of
from evenhand.core.errors import UserError
from evenhand.core.registry import load_object
from evenhand.models.resolve import resolve
from evenhand.models.weights.pickle_conversion import convert_checkpoint
from tests.conftest import ROOT
from tests.helpers import Later
from tests.models.conftest import TEXTS, make_pictures
from tests.models.tiny_tokenizers import bert_words

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
timm = Later("timm")

EXAMPLE = ROOT / "examples" / "albef.py"
WIDTH, LAYERS, FUSION, EMBED = 128, 4, 2, 24


def vision():
    made = timm.models.vision_transformer.VisionTransformer(
        img_size=48, patch_size=16, embed_dim=WIDTH, depth=2, num_heads=WIDTH // 64, num_classes=0
    )
    return made.eval()


def bert_config(vocabulary, **more):
    return transformers.BertConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=WIDTH // 64,
        intermediate_size=2 * WIDTH,
        max_position_embeddings=40,
        layer_norm_eps=1e-12,
        attn_implementation="eager",
        **more,
    )


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A tiny ALBEF with official names, as the authors save it, and the modules it is compared to."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("albef")
    tokenizer = bert_words()
    tokenizer.save_pretrained(folder / "tokenizer")
    image_tower = vision()
    reader = transformers.BertModel(bert_config(len(tokenizer)), add_pooling_layer=False).eval()
    crossing = bert_config(len(tokenizer), is_decoder=True, add_cross_attention=True)
    fuser = transformers.BertModel(crossing, add_pooling_layer=False).eval()
    for module in (image_tower, reader, fuser):
        for parameter in module.parameters():
            torch.nn.init.normal_(parameter, std=0.15 if parameter.ndim > 1 else 0.5)
    weights = {f"visual_encoder.{name}": tensor for name, tensor in image_tower.state_dict().items()}
    for name, tensor in reader.state_dict().items():
        if not name.startswith(tuple(f"encoder.layer.{number}." for number in range(FUSION, LAYERS))):
            weights[f"text_encoder.bert.{name}"] = tensor
    for name, tensor in fuser.state_dict().items():
        if name.startswith(tuple(f"encoder.layer.{number}." for number in range(FUSION, LAYERS))):
            weights[f"text_encoder.bert.{name}"] = tensor
    for name, size in (("vision_proj", EMBED), ("text_proj", EMBED), ("itm_head", 2)):
        weights |= {f"{name}.weight": torch.randn(size, WIDTH) / 8, f"{name}.bias": torch.randn(size) / 8}
    weights["temp"] = torch.tensor(0.05)
    training = {"image_queue": torch.randn(EMBED, 8), "visual_encoder_m.cls_token": torch.zeros(1, 1, WIDTH)}
    torch.save({"model": weights | training, "epoch": 29, "config": {"image_res": 48}}, folder / "ALBEF.pth")
    convert_checkpoint(folder / "ALBEF.pth", folder / "albef.safetensors")
    return folder, image_tower, reader, fuser, weights


@pytest.fixture
def source(checkpoint, monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ALBEF_WEIGHTS", str(checkpoint[0] / "albef.safetensors"))
    monkeypatch.setenv("ALBEF_TOKENIZER", str(checkpoint[0] / "tokenizer"))
    return resolve(f"{EXAMPLE}:ALBEF")


def reference(checkpoint, pixels, texts):
    """Vectors and match probabilities, through timm's ViT and transformers' BERT."""
    folder, image_tower, reader, fuser, weights = checkpoint
    clean = load_object(f"{EXAMPLE}:clean")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "tokenizer")
    tokens = tokenizer([clean(text) for text in texts], padding=True, return_tensors="pt")
    hidden = (1.0 - tokens["attention_mask"].float())[:, None, None, :] * torch.finfo(torch.float32).min

    def linear(name, values):
        return torch.nn.functional.linear(values, weights[f"{name}.weight"], weights[f"{name}.bias"])

    with torch.inference_mode():
        seen = image_tower.forward_features(torch.from_numpy(np.stack(pixels)))
        inputs = {"input_ids": tokens["input_ids"], "attention_mask": tokens["attention_mask"]}
        read = reader(**inputs, output_hidden_states=True).hidden_states[FUSION]
        state = read
        for number in range(FUSION, LAYERS):
            state = fuser.encoder.layer[number](state, hidden, encoder_hidden_states=seen)
            state = state[0] if isinstance(state, tuple) else state
        match = linear("itm_head", state[:, 0]).softmax(-1)[:, 1]
        return linear("vision_proj", seen[:, 0]), linear("text_proj", read[:, 0]), match


def test_vectors_and_matches_are_those_of_other_implementations(checkpoint, source):
    model = source.load()
    texts = [*TEXTS, "the doctor, the nurse and the dog!"]
    prepared = [model.prepare(picture) for picture in make_pictures(4)]
    assert all(array.shape == (3, 48, 48) and array.dtype == np.float32 for array in prepared)
    images, words, match = reference(checkpoint, prepared, texts)
    assert model.embed_images(prepared) == pytest.approx(images.numpy(), abs=1e-4)
    assert model.embed_texts(texts) == pytest.approx(words.numpy(), abs=1e-4)
    answers = model.match(prepared, texts)
    assert answers == pytest.approx(match.numpy(), abs=1e-4)
    assert answers.std() > 0.003
    assert not np.allclose(model.match(prepared[::-1], texts), answers, atol=1e-3)  # the image matters


def test_it_says_what_it_can_and_what_its_scale_is(source):
    model = source.load()
    assert capabilities_of(model) == ("embeds_images", "embeds_texts", "matches_pairs")
    assert model.logit_scale == pytest.approx(20)
    assert model.size == 48


def test_a_batch_does_not_change_an_answer(source):
    model = source.load()
    prepared = [model.prepare(picture) for picture in make_pictures(3)]
    alone = [float(model.match([image], [text])[0]) for image, text in zip(prepared, TEXTS, strict=True)]
    assert model.match(prepared, TEXTS) == pytest.approx(alone, abs=1e-5)


def test_fine_tuned_checkpoints_name_the_text_encoder_without_bert(checkpoint, source, tmp_path):
    folder, *_, weights = checkpoint
    renamed = {
        name.replace("text_encoder.bert.", "text_encoder."): tensor for name, tensor in weights.items()
    }
    torch.save(renamed, tmp_path / "retrieval.pth")
    convert_checkpoint(tmp_path / "retrieval.pth", tmp_path / "retrieval.safetensors")
    kind = load_object(f"{EXAMPLE}:ALBEF")
    other = kind(weights=str(tmp_path / "retrieval.safetensors"), tokenizer=str(folder / "tokenizer"))
    prepared = [other.prepare(picture) for picture in make_pictures(3)]
    assert np.array_equal(other.match(prepared, TEXTS), source.load().match(prepared, TEXTS))


def test_texts_are_cleaned_as_the_authors_do():
    clean = load_object(f"{EXAMPLE}:clean")
    assert clean("A  well-known (old) man/woman.\n") == "a well known old man woman"
    assert len(clean("word " * 50).split()) == 30


def test_identity_needs_no_torch_and_follows_the_weights(checkpoint, source):
    code = (
        "import json, sys; from evenhand.models.resolve import resolve;"
        f"s = resolve({f'{EXAMPLE}:ALBEF'!r}); found = [s.identity(), list(s.capabilities())];"
        "print(json.dumps([found, bool({'torch', 'transformers'} & set(sys.modules))]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    (identity, capabilities), heavy = json.loads(done.stdout.splitlines()[-1])
    assert not heavy
    assert identity == source.identity()
    assert "sha256 of albef.safetensors" in identity
    assert identity["tokenizer"] == str(checkpoint[0] / "tokenizer")
    assert capabilities == ["embeds_images", "embeds_texts", "matches_pairs"]


def test_missing_or_foreign_weights_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("ALBEF_WEIGHTS", str(tmp_path / "none.safetensors"))
    with pytest.raises(UserError, match=r"evenhand convert ALBEF\.pth"):
        resolve(f"{EXAMPLE}:ALBEF")
    torch.save({"fc.weight": torch.zeros(2, 2)}, tmp_path / "other.pth")
    convert_checkpoint(tmp_path / "other.pth", tmp_path / "other.safetensors")
    monkeypatch.setenv("ALBEF_WEIGHTS", str(tmp_path / "other.safetensors"))
    with pytest.raises(UserError, match="lacks 'temp'"):
        resolve(f"{EXAMPLE}:ALBEF")
