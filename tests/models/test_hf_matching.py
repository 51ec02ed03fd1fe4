"""ViLT and BLIP retrieval against the same models asked directly."""

import numpy as np
import pytest
from PIL import Image

from evenhand.core.capabilities import capabilities_of
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from tests.models.conftest import TEXTS
from tests.models.tiny import build

PAIRED = [*TEXTS, "a dog", "the happy man and the car"]
EXPECTED = {"vilt": ("matches_pairs",), "blip_itm": ("embeds_images", "embeds_texts", "matches_pairs")}


def open_both(name, kind):
    import transformers

    folder = build(name)
    source = resolve(f"hf:{folder}", LoadOptions(device="cpu"))
    processor = transformers.AutoProcessor.from_pretrained(folder, backend="pil")
    return source, source.load(), getattr(transformers, kind).from_pretrained(folder).eval(), processor


def one_by_one(processor, pictures, texts):
    for picture, text in zip(pictures, texts, strict=True):
        yield processor(images=Image.fromarray(picture), text=text, return_tensors="pt")


def test_vilt_gives_the_sigmoid_of_its_ranking_logit(pictures):
    import torch

    _, model, direct, processor = open_both("vilt", "ViltForImageAndTextRetrieval")
    with torch.no_grad():
        logits = [direct(**inputs).logits for inputs in one_by_one(processor, pictures, PAIRED)]
    assert all(logit.shape == (1, 1) for logit in logits), "the head has one logit"
    expected = torch.cat(logits).sigmoid()[:, 0].numpy()
    prepared = [model.prepare(picture) for picture in pictures]
    assert len({one["pixel_values"].shape for one in prepared}) > 1, "images differ in size, and are padded"
    np.testing.assert_allclose(model.match(prepared, PAIRED), expected, rtol=1e-5, atol=1e-5)


def test_blip_gives_the_second_of_two_probabilities(pictures):
    import torch

    _, model, direct, processor = open_both("blip_itm", "BlipForImageTextRetrieval")
    with torch.no_grad():
        inputs = list(one_by_one(processor, pictures, PAIRED))
        expected = torch.cat([direct(**one).itm_score for one in inputs]).softmax(-1)[:, 1].numpy()
    prepared = [model.prepare(picture) for picture in pictures]
    np.testing.assert_allclose(model.match(prepared, PAIRED), expected, rtol=1e-5, atol=1e-5)


def test_blip_embeds_into_the_space_of_its_own_cosines(pictures):
    import torch

    _, model, direct, processor = open_both("blip_itm", "BlipForImageTextRetrieval")
    images = [Image.fromarray(picture) for picture in pictures]
    inputs = processor(images=images, text=PAIRED, return_tensors="pt", padding=True)
    with torch.no_grad():
        expected = direct(**inputs, use_itm_head=False).itm_score.numpy()
    seen = model.embed_images([model.prepare(picture) for picture in pictures])
    read = model.embed_texts(PAIRED)
    seen, read = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (seen, read))
    np.testing.assert_allclose(seen @ read.T * model.logit_scale, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", EXPECTED)
def test_matches_are_probabilities_pair_by_pair(name, pictures):
    source = resolve(f"hf:{build(name)}", LoadOptions(device="cpu"))
    model = source.load()
    assert tuple(source.capabilities()) == capabilities_of(model) == EXPECTED[name]
    prepared = [model.prepare(picture) for picture in pictures]
    matched = model.match(prepared, PAIRED)
    assert matched.dtype == np.float32
    assert matched.shape == (len(pictures),)
    assert ((matched > 0) & (matched < 1)).all()
    np.testing.assert_allclose(model.match(prepared[::-1], PAIRED[::-1]), matched[::-1], rtol=1e-4)
    assert np.abs(model.match(prepared, PAIRED[::-1]) - matched).max() > 1e-3, "the text matters"
    assert np.abs(model.match(prepared[::-1], PAIRED) - matched).max() > 1e-3, "the image matters"
