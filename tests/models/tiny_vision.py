"""Tiny dual encoders, classifiers, feature extractors and matchers: model first, then what else is saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.models.tiny_tokenizers import bert_words, clip_words, roberta_pairs, siglip2_pairs, siglip_pieces

LAYERS = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
VISION = {**LAYERS, "image_size": 32, "patch_size": 8}
SIZE = {"height": 32, "width": 32}
SHORTEST = {"shortest_edge": 32}
BUILDERS: dict[str, Callable[[Path], tuple[Any, ...]]] = {}


def builder(function: Callable[[Path], tuple[Any, ...]]) -> Callable[[Path], tuple[Any, ...]]:
    """Enter a builder under its name."""
    BUILDERS[function.__name__] = function
    return function


def _clip_text(tokenizer: Any) -> dict[str, Any]:
    names = ("bos_token_id", "eos_token_id", "pad_token_id")
    special = {name: getattr(tokenizer, name) for name in names}
    return {**LAYERS, "vocab_size": len(tokenizer), "max_position_embeddings": 16, **special}


def _set(parameter: Any, value: float) -> None:
    parameter.data.fill_(value)


@builder
def clip(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = clip_words()
    config = hf.CLIPConfig(text_config=_clip_text(tokenizer), vision_config=VISION, projection_dim=24)
    images = hf.CLIPImageProcessorPil(size=SHORTEST, crop_size=SIZE)
    return hf.CLIPModel(config), hf.CLIPProcessor(images, tokenizer)


@builder
def siglip(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = siglip_pieces(folder)
    text = {**LAYERS, "vocab_size": len(tokenizer), "max_position_embeddings": 16, "projection_size": 32}
    special = {"pad_token_id": 1, "eos_token_id": 1, "bos_token_id": 0}
    model = hf.SiglipModel(hf.SiglipConfig(text_config={**text, **special}, vision_config=VISION))
    _set(model.logit_scale, 2.4)
    _set(model.logit_bias, -3.5)
    return model, hf.SiglipProcessor(hf.SiglipImageProcessorPil(size=SIZE), tokenizer)


@builder
def siglip2(folder: Path) -> tuple[Any, ...]:
    """The variant with native aspect ratios: patches, their mask and the grid's shape go in."""
    import transformers as hf

    tokenizer = siglip2_pairs()
    text = {**LAYERS, "vocab_size": len(tokenizer), "max_position_embeddings": 64, "projection_size": 32}
    special = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
    vision = {**LAYERS, "patch_size": 8, "num_patches": 16}
    model = hf.Siglip2Model(hf.Siglip2Config(text_config={**text, **special}, vision_config=vision))
    _set(model.logit_scale, 2.2)
    _set(model.logit_bias, -2.5)
    images = hf.Siglip2ImageProcessorPil(patch_size=8, max_num_patches=16)
    return model, hf.Siglip2Processor(images, tokenizer)


@builder
def align(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = bert_words()
    vision = {
        "image_size": 64, "hidden_dim": 32, "num_hidden_layers": 2, "width_coefficient": 1.0,
        "depth_coefficient": 1.0, "kernel_sizes": [3, 3], "in_channels": [32, 16], "out_channels": [16, 32],
        "strides": [1, 2], "num_block_repeats": [1, 1], "expand_ratios": [1, 2], "depthwise_padding": [],
    }  # fmt: skip
    text = {**LAYERS, "vocab_size": len(tokenizer), "max_position_embeddings": 32}
    model = hf.AlignModel(hf.AlignConfig(text_config=text, vision_config=vision, projection_dim=32))
    _set(model.temperature, 0.08)
    square = {"height": 64, "width": 64}
    images = hf.EfficientNetImageProcessorPil(size=square, crop_size=square)
    return model, hf.AlignProcessor(images, tokenizer)


@builder
def flava(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = bert_words()
    config = hf.FlavaConfig(
        image_config=VISION,
        text_config={**LAYERS, "vocab_size": len(tokenizer), "max_position_embeddings": 32},
        multimodal_config=LAYERS,
        image_codebook_config={"num_groups": 2, "hidden_size": 8, "vocab_size": 32},
        hidden_size=32,
        projection_dim=32,
    )
    images = hf.FlavaImageProcessorPil(size=SIZE, crop_size=SIZE)
    return hf.FlavaModel(config), hf.FlavaProcessor(images, tokenizer)


@builder
def groupvit(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = clip_words()
    vision = {
        "image_size": 32, "patch_size": 8, "hidden_size": 32, "depths": [1, 1, 1], "num_hidden_layers": 3,
        "num_group_tokens": [8, 4, 0], "num_output_groups": [8, 4, 0], "num_attention_heads": 2,
        "intermediate_size": 64,
    }  # fmt: skip
    config = hf.GroupViTConfig(
        text_config=_clip_text(tokenizer),
        vision_config=vision,
        projection_dim=24,
        projection_intermediate_dim=32,
    )
    images = hf.CLIPImageProcessorPil(size=SHORTEST, crop_size=SIZE)
    return hf.GroupViTModel(config), hf.CLIPProcessor(images, tokenizer)


@builder
def vision_text_dual(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = bert_words()
    text = hf.BertConfig(**LAYERS, vocab_size=len(tokenizer), max_position_embeddings=32)
    config = hf.VisionTextDualEncoderConfig.from_vision_text_configs(
        hf.ViTConfig(**VISION), text, projection_dim=16
    )
    processor = hf.VisionTextDualEncoderProcessor(hf.ViTImageProcessorPil(size=SIZE), tokenizer)
    return hf.VisionTextDualEncoderModel(config), processor


@builder
def chinese_clip(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = bert_words()
    text = {**LAYERS, "vocab_size": len(tokenizer), "max_position_embeddings": 32}
    config = hf.ChineseCLIPConfig(text_config=text, vision_config=VISION, projection_dim=24)
    images = hf.ChineseCLIPImageProcessorPil(size=SIZE, crop_size=SIZE)
    return hf.ChineseCLIPModel(config), hf.ChineseCLIPProcessor(images, tokenizer)


@builder
def altclip(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = roberta_pairs()
    text = {**LAYERS, "vocab_size": len(tokenizer), "max_position_embeddings": 40, "project_dim": 28}
    config = hf.AltCLIPConfig(text_config=text, vision_config=VISION, projection_dim=24)
    images = hf.CLIPImageProcessorPil(size=SHORTEST, crop_size=SIZE)
    tokenizer.save_pretrained(folder)
    return hf.AltCLIPModel(config), images, tokenizer


def _labels(names: list[str]) -> dict[str, Any]:
    numbered = dict(enumerate(names))
    return {"id2label": numbered, "label2id": {name: number for number, name in numbered.items()}}


CLASSES = [f"class_{number}" for number in range(10)]
WORDNET = [f"n0144{number:04d}" for number in range(10)]


@builder
def vit(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    config = hf.ViTConfig(**VISION, **_labels(CLASSES))
    return hf.ViTForImageClassification(config), hf.ViTImageProcessorPil(size=SIZE)


@builder
def vit_features(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    return hf.ViTModel(hf.ViTConfig(**VISION)), hf.ViTImageProcessorPil(size=SIZE)


@builder
def regnet(folder: Path) -> tuple[Any, ...]:
    """Labels that are WordNet ids."""
    import transformers as hf

    config = hf.RegNetConfig(**_REGNET, **_labels(WORDNET))
    return hf.RegNetForImageClassification(config), hf.ConvNextImageProcessorPil(size=SHORTEST)


_REGNET: dict[str, Any] = {
    "embedding_size": 8, "hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1], "groups_width": 8
}  # fmt: skip


@builder
def regnet_features(folder: Path) -> tuple[Any, ...]:
    """As SEER is published."""
    import transformers as hf

    return hf.RegNetModel(hf.RegNetConfig(**_REGNET)), hf.ConvNextImageProcessorPil(size=SHORTEST)


@builder
def resnet(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    config = hf.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 16, 32],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        **_labels(CLASSES),
    )
    return hf.ResNetForImageClassification(config), hf.ConvNextImageProcessorPil(size=SHORTEST)


@builder
def convnext(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    config = hf.ConvNextConfig(hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], **_labels(CLASSES))
    return hf.ConvNextForImageClassification(config), hf.ConvNextImageProcessorPil(size=SHORTEST)


@builder
def swin(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    config = hf.SwinConfig(
        image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4,
        **_labels(CLASSES),
    )  # fmt: skip
    return hf.SwinForImageClassification(config), hf.ViTImageProcessorPil(size=SIZE)


@builder
def dinov2(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    vision = {key: value for key, value in VISION.items() if key != "intermediate_size"}
    config = hf.Dinov2Config(**vision, **_labels(CLASSES))
    images = hf.BitImageProcessorPil(size=SHORTEST, crop_size=SIZE)
    return hf.Dinov2ForImageClassification(config), images


@builder
def dinov2_features(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    vision = {key: value for key, value in VISION.items() if key != "intermediate_size"}
    images = hf.BitImageProcessorPil(size=SHORTEST, crop_size=SIZE)
    return hf.Dinov2Model(hf.Dinov2Config(**vision)), images


@builder
def vilt(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = bert_words()
    config = hf.ViltConfig(
        **VISION, vocab_size=len(tokenizer), max_position_embeddings=32, max_image_length=-1
    )
    images = hf.ViltImageProcessorPil(size=SHORTEST, size_divisor=8)
    return hf.ViltForImageAndTextRetrieval(config), hf.ViltProcessor(images, tokenizer)


@builder
def blip_itm(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    processor = blip_processor()
    return hf.BlipForImageTextRetrieval(blip_config(processor.tokenizer)), processor


def blip_processor() -> Any:
    """As BLIP's: a BERT tokenizer with two tokens more."""
    import transformers as hf

    return hf.BlipProcessor(hf.BlipImageProcessorPil(size=SIZE), bert_words(64, ("[DEC]", "[ENC]")))


def blip_config(tokenizer: Any) -> Any:
    """A BLIP configuration with that tokenizer's special tokens."""
    import transformers as hf

    text = {
        **LAYERS, "encoder_hidden_size": 32, "vocab_size": len(tokenizer), "max_position_embeddings": 64,
        "bos_token_id": tokenizer.convert_tokens_to_ids("[DEC]"), "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.sep_token_id, "sep_token_id": tokenizer.sep_token_id, "projection_dim": 32,
    }  # fmt: skip
    return hf.BlipConfig(text_config=text, vision_config=VISION, projection_dim=32, image_text_hidden_size=16)
