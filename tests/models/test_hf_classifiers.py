"""Classifiers and feature extractors of the hub against the same models asked directly."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from evenhand.core.capabilities import capabilities_of
from evenhand.core.errors import UserError
from evenhand.models.adapters.huggingface.towers import by_size
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from tests.models.tiny import build
from tests.models.tiny_vision import CLASSES, WORDNET

CLASSIFIERS = ("vit", "regnet", "resnet", "convnext", "swin", "dinov2")
EXTRACTORS = ("vit_features", "regnet_features", "dinov2_features")


def open_both(name, kind):
    import transformers

    folder = build(name)
    source = resolve(f"hf:{folder}", LoadOptions(device="cpu"))
    processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
    return source, getattr(transformers, kind).from_pretrained(folder).eval(), processor


def inputs_of(processor, pictures):
    return processor(images=[Image.fromarray(picture) for picture in pictures], return_tensors="pt")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_logits_and_features_are_the_models_own(name, pictures):
    import torch

    source, direct, processor = open_both(name, "AutoModelForImageClassification")
    model = source.load()
    assert tuple(source.capabilities()) == capabilities_of(model) == ("classifies_images", "embeds_images")
    with ThreadPoolExecutor(4) as threads:
        prepared = list(threads.map(model.prepare, pictures))
    logits, features = model.classify(prepared), model.embed_images(prepared)
    with torch.no_grad():
        expected = direct(**inputs_of(processor, pictures)).logits.numpy()
        head = [layer for layer in direct.modules() if isinstance(layer, torch.nn.Linear)][-1]
        again = head(torch.from_numpy(features)).numpy()
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(again, expected, rtol=1e-5, atol=1e-5)
    single = np.concatenate([model.classify([one]) for one in prepared])
    np.testing.assert_allclose(single, logits, rtol=1e-4, atol=1e-5)
    assert logits.shape == (len(pictures), 10)
    assert logits.dtype == features.dtype == np.float32
    assert np.ptp(logits, axis=0).max() > 1e-3
    assert list(model.labels) == (WORDNET if name == "regnet" else CLASSES)


@pytest.mark.parametrize("name", EXTRACTORS)
def test_features_are_the_pooled_output(name, pictures):
    import torch

    source, direct, processor = open_both(name, "AutoModel")
    model = source.load()
    assert tuple(source.capabilities()) == capabilities_of(model) == ("embeds_images",)
    prepared = [model.prepare(picture) for picture in pictures]
    with torch.no_grad():
        expected = direct(**inputs_of(processor, pictures)).pooler_output.flatten(1).numpy()
    vectors = model.embed_images(prepared)
    np.testing.assert_allclose(vectors, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(model.embed_images(prepared[2:3])[0], vectors[2], rtol=1e-4, atol=1e-5)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(pictures), 32)


def test_wordnet_ids_are_given_where_labels_have_them():
    assert resolve(f"hf:{build('regnet')}").load().wordnet_ids == WORDNET
    assert not hasattr(resolve(f"hf:{build('vit')}").load(), "wordnet_ids")


def test_a_pooler_that_the_checkpoint_lacks_is_not_made_up(tmp_path, pictures):
    """As facebook/dino-vits16: transformers would make random weights, and other ones each time."""
    import torch
    import transformers

    from tests.models.tiny_vision import VISION

    bare = transformers.ViTModel(transformers.ViTConfig(**VISION), add_pooling_layer=False)
    model, bare = save_and_open(bare, tmp_path)
    prepared = [model.prepare(picture) for picture in pictures]
    with torch.no_grad():
        expected = bare(torch.from_numpy(np.stack(prepared))).last_hidden_state[:, 0].numpy()
    np.testing.assert_allclose(model.embed_images(prepared), expected, rtol=1e-5, atol=1e-5)


def test_a_head_that_the_checkpoint_lacks_is_refused(tmp_path):
    import transformers

    from tests.models.tiny_vision import SIZE, VISION

    config = transformers.ViTConfig(**VISION)
    transformers.ViTModel(config).save_pretrained(tmp_path)
    transformers.ViTImageProcessorPil(size=SIZE).save_pretrained(tmp_path)
    text = (tmp_path / "config.json").read_text().replace('"ViTModel"', '"ViTForImageClassification"')
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(UserError, match=r"lacks 2 weights of ViTForImageClassification.*classifier"):
        resolve(f"hf:{tmp_path}").load()


def test_images_left_different_sizes_are_asked_size_by_size():
    def answer(images):
        assert len({image.shape for image in images}) == 1
        return np.array([[image.sum()] for image in images], dtype=np.float32)

    images = [np.full((3, 2 + number % 3, 4), number, np.float32) for number in range(7)]
    assert by_size(images, answer)[:, 0].tolist() == [image.sum() for image in images]


def test_a_network_of_any_size_takes_pictures_of_different_sizes(tmp_path, pictures):
    import transformers

    from tests.models.tiny_vision import _REGNET

    transformers.RegNetModel(transformers.RegNetConfig(**_REGNET)).save_pretrained(tmp_path)
    transformers.BitImageProcessorPil(size={"shortest_edge": 32}, do_center_crop=False).save_pretrained(
        tmp_path
    )
    model = resolve(f"hf:{tmp_path}", LoadOptions(device="cpu")).load()
    prepared = [model.prepare(picture) for picture in pictures]
    assert len({one.shape for one in prepared}) > 1
    single = np.concatenate([model.embed_images([one]) for one in prepared])
    np.testing.assert_allclose(model.embed_images(prepared), single, rtol=1e-5, atol=1e-6)


def test_a_map_without_pooling_is_averaged_over_places(tmp_path, pictures):
    import torch
    import transformers

    sizes = {"hidden_sizes": [8, 8, 16, 32], "depths": [1, 1, 1, 1], "num_encoder_blocks": 4}
    model, direct = save_and_open(
        transformers.PoolFormerModel(transformers.PoolFormerConfig(**sizes)), tmp_path
    )
    prepared = [model.prepare(picture) for picture in pictures]
    with torch.no_grad():
        states = direct(torch.from_numpy(np.stack(prepared))).last_hidden_state.numpy()
    assert states.shape[:2] == (len(pictures), 32)
    np.testing.assert_allclose(model.embed_images(prepared), states.mean((2, 3)), rtol=1e-4, atol=1e-6)


def test_tokens_without_a_class_token_are_averaged(tmp_path, pictures):
    import torch
    import transformers

    from tests.models.tiny_vision import VISION

    model, direct = save_and_open(transformers.IJepaModel(transformers.IJepaConfig(**VISION)), tmp_path)
    prepared = [model.prepare(picture) for picture in pictures]
    with torch.no_grad():
        states = direct(torch.from_numpy(np.stack(prepared))).last_hidden_state.numpy()
    np.testing.assert_allclose(model.embed_images(prepared), states.mean(1), rtol=1e-4, atol=1e-6)


def save_and_open(direct, folder):
    import transformers

    from tests.models.tiny_vision import SIZE

    direct.eval().save_pretrained(folder)
    transformers.ViTImageProcessorPil(size=SIZE).save_pretrained(folder)
    return resolve(f"hf:{folder}", LoadOptions(device="cpu")).load(), direct
