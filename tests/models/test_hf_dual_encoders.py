"""Dual encoders of the hub against the same models asked directly."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from evenhand.core.capabilities import capabilities_of
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from tests.models.conftest import TEXTS
from tests.models.tiny import build

FAMILIES = (
    "clip", "siglip", "siglip2", "align", "flava", "groupvit", "vision_text_dual", "chinese_clip", "altclip"
)  # fmt: skip
each_family = pytest.mark.parametrize("name", FAMILIES)
SIGMOID = ("siglip", "siglip2")


@pytest.fixture(scope="module")
def loaded():
    """From a family's name to its source and its model, loaded once."""
    made = {}

    def load(name):
        if name not in made:
            source = resolve(f"hf:{build(name)}", LoadOptions(device="cpu"))
            made[name] = source, source.load()
        return made[name]

    return load


def torchvision_crop(image, size, **_):
    import torch
    from torchvision.transforms import functional

    return functional.center_crop(torch.from_numpy(image), [size.height, size.width]).numpy()


def direct(name, pictures, texts):
    """The family's own model and processor, as its documentation uses them."""
    import torch
    import transformers

    folder = build(name)
    images = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    if name == "clip":  # transformers rounds the margins of a crop down; CLIP was trained with torchvision's
        images.center_crop = torchvision_crop
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    padding = {"padding": True}
    if (
        name in SIGMOID
    ):  # as in google-research/big_vision and the published tokenizers: ids alone, padded after
        padding = {"padding": "max_length", "padding_side": "right", "return_attention_mask": False}
        padding["max_length"] = 64 if name == "siglip2" else 16
    inputs = dict(tokenizer(texts, return_tensors="pt", truncation=True, **padding))
    inputs |= images(images=[Image.fromarray(picture) for picture in pictures], return_tensors="pt")
    return torch, model, inputs


def direct_logits(name, pictures, texts):
    torch, model, inputs = direct(name, pictures, texts)
    with torch.no_grad():
        if name != "flava":
            return model(**inputs).logits_per_image.numpy()
        made = model(**inputs, skip_multimodal_encoder=True)
        images = model.image_projection(made.image_embeddings[:, 0])
        words = model.text_projection(made.text_embeddings[:, 0])
        normal = torch.nn.functional.normalize
        return (normal(images, dim=-1) @ normal(words, dim=-1).T * model.logit_scale.exp()).numpy()


def cosines(images, texts):
    def unit(vectors):
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    return unit(images) @ unit(texts).T


@each_family
def test_cosine_scale_and_offset_make_the_models_own_logits(name, loaded, pictures):
    _, model = loaded(name)
    images = model.embed_images([model.prepare(picture) for picture in pictures])
    texts = model.embed_texts(TEXTS)
    logits = cosines(images, texts) * model.logit_scale + model.logit_bias
    np.testing.assert_allclose(logits, direct_logits(name, pictures, TEXTS), rtol=1e-5, atol=1e-5)
    assert np.ptp(logits, axis=0).min() > 1e-3, "different images get different logits"
    assert np.ptp(logits, axis=1).min() > 1e-3, "different texts get different logits"


def test_flava_agrees_with_its_pretraining_head(loaded, pictures):
    import torch
    import transformers

    _, model = loaded("flava")
    texts = [*TEXTS, "a dog", "the car"]
    full = transformers.FlavaForPreTraining.from_pretrained(build("flava")).eval()
    _, _, inputs = direct("flava", pictures, texts)
    with torch.no_grad():
        made = full(**inputs, skip_unmasked_multimodal_encoder=True, return_loss=False)
    images = model.embed_images([model.prepare(picture) for picture in pictures])
    logits = cosines(images, model.embed_texts(texts)) * model.logit_scale
    np.testing.assert_allclose(logits, made.contrastive_logits_per_image.numpy(), rtol=1e-5, atol=1e-5)


def test_flava_is_found_inside_its_pretraining_checkpoint(loaded, pictures, tmp_path):
    """As facebook/flava-full is published."""
    import shutil

    import transformers

    folder = shutil.copytree(build("flava"), tmp_path / "full")
    transformers.FlavaForPreTraining.from_pretrained(build("flava")).save_pretrained(folder)
    source = resolve(f"hf:{folder}", LoadOptions(device="cpu"))
    inner, (_, model) = source.load(), loaded("flava")
    prepared = [model.prepare(picture) for picture in pictures]
    assert np.array_equal(inner.embed_images(prepared), model.embed_images(prepared))
    assert np.array_equal(inner.embed_texts(TEXTS), model.embed_texts(TEXTS))


@each_family
def test_vectors_are_projected_and_not_normalised(name, loaded, pictures):
    torch, direct_model, inputs = direct(name, pictures, TEXTS)
    _, model = loaded(name)
    seen = {key: inputs[key] for key in inputs if key.startswith(("pixel", "spatial"))}
    read = {key: inputs[key] for key in inputs if key not in seen}
    with torch.no_grad():
        images = direct_model.get_image_features(**seen).pooler_output
        texts = direct_model.get_text_features(**read).pooler_output
    if name == "flava":
        images, texts = images[:, 0], texts[:, 0]
    vectors = model.embed_images([model.prepare(picture) for picture in pictures])
    words = model.embed_texts(TEXTS)
    np.testing.assert_allclose(vectors, images.numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(words, texts.numpy(), rtol=1e-5, atol=1e-5)
    assert vectors.dtype == words.dtype == np.float32
    assert vectors.shape == (len(pictures), words.shape[1])
    assert abs(np.linalg.norm(vectors, axis=1) - 1).max() > 0.01


@each_family
def test_one_by_one_is_as_in_a_batch_and_in_order(name, loaded, pictures):
    _, model = loaded(name)
    prepared = [model.prepare(picture) for picture in pictures]
    batch, words = model.embed_images(prepared), model.embed_texts(TEXTS)
    single = np.concatenate([model.embed_images([one]) for one in prepared])
    np.testing.assert_allclose(batch, single, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.embed_images(prepared[::-1]), batch[::-1], rtol=1e-4, atol=1e-5)
    alone = np.concatenate([model.embed_texts([text]) for text in TEXTS])
    np.testing.assert_allclose(words, alone, rtol=1e-4, atol=1e-5)


@each_family
def test_preparing_in_threads_changes_nothing(name, loaded, pictures):
    _, model = loaded(name)
    with ThreadPoolExecutor(8) as threads:
        threaded = list(threads.map(model.prepare, pictures * 20))
    for number, made in enumerate(threaded):
        expected = model.prepare(pictures[number % len(pictures)])
        arrays = expected if isinstance(expected, dict) else {"pixel_values": expected}
        for key, array in arrays.items():
            assert np.array_equal((made if isinstance(made, dict) else {"pixel_values": made})[key], array)


@each_family
def test_declared_capabilities_are_those_of_the_model(name, loaded):
    source, model = loaded(name)
    assert tuple(source.capabilities()) == capabilities_of(model) == ("embeds_images", "embeds_texts")
    assert model.link == ("sigmoid" if name in SIGMOID else "softmax")
    assert (model.logit_bias != 0) == (name in SIGMOID)


@each_family
def test_long_texts_are_cut_at_what_the_model_takes(name, loaded):
    _, model = loaded(name)
    assert np.isfinite(model.embed_texts(["a photo of the dog and the cat " * 40, "a dog"])).all()


def test_an_image_three_pixels_high_is_not_taken_for_channels(loaded):
    _, model = loaded("clip")
    image = np.random.default_rng(0).integers(0, 255, (3, 40, 3), dtype=np.uint8)
    tall = model.prepare(np.repeat(np.repeat(image, 2, 0), 2, 1))
    assert model.prepare(image).shape == tall.shape == (3, 32, 32)


def test_half_precision_answers_in_float32(pictures):
    source = resolve(f"hf:{build('clip')}", LoadOptions(device="cpu", dtype="bfloat16"))
    model = source.load()
    vectors = model.embed_images([model.prepare(picture) for picture in pictures])
    full = resolve(f"hf:{build('clip')}", LoadOptions(device="cpu")).load()
    exact = full.embed_images([full.prepare(picture) for picture in pictures])
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors.view(np.uint32) & 0xFFFF, np.zeros(vectors.shape, np.uint32)), (
        "was bfloat16"
    )
    assert (np.diag(cosines(vectors, exact)) > 0.99).all()


@pytest.mark.parametrize("name", SIGMOID)
def test_siglip_reads_small_letters_and_padding(name, loaded):
    _, model = loaded(name)
    assert np.array_equal(model.embed_texts(["A Dog"]), model.embed_texts(["a dog"]))
    inputs = model._texts.batch(["a dog", "the doctor and his patient"])
    assert list(inputs) == ["input_ids"]
    assert inputs["input_ids"].shape == (2, 64 if name == "siglip2" else 16)
    assert (inputs["input_ids"][:, -1] == model._texts._tokenizer.pad_token_id).all()
