"""Tiny captioners and chat models: model first, then what else is saved."""
# ruff: noqa: S106 - tokens of tokenizers, no passwords

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.models.tiny_tokenizers import bert_words, byte_pairs
from tests.models.tiny_vision import LAYERS, SHORTEST, SIZE, VISION, blip_config, blip_processor

BUILDERS: dict[str, Callable[[Path], tuple[Any, ...]]] = {}
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>"
    "{% if message['content'] is string %} {{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}IMAGE{% else %} {{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
DECODER = {**LAYERS, "num_key_value_heads": 2}


def builder(function: Callable[[Path], tuple[Any, ...]]) -> Callable[[Path], tuple[Any, ...]]:
    """Enter a builder under its name."""
    BUILDERS[function.__name__] = function
    return function


@builder
def blip_caption(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    processor = blip_processor()
    return hf.BlipForConditionalGeneration(blip_config(processor.tokenizer)), processor


@builder
def blip_vqa(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    processor = blip_processor()
    return hf.BlipForQuestionAnswering(blip_config(processor.tokenizer)), processor


@builder
def git(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = bert_words(64)
    config = hf.GitConfig(
        vision_config=VISION,
        **LAYERS,
        vocab_size=len(tokenizer),
        max_position_embeddings=64,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    images = hf.CLIPImageProcessorPil(size=SHORTEST, crop_size=SIZE)
    return hf.GitForCausalLM(config), hf.GitProcessor(images, tokenizer)


def _blip2(tokenizer: Any, text: dict[str, Any]) -> tuple[Any, ...]:
    import transformers as hf

    questioner = {
        **LAYERS, "vocab_size": len(tokenizer), "encoder_hidden_size": 32, "cross_attention_frequency": 1
    }  # fmt: skip
    config = hf.Blip2Config(
        vision_config=VISION,
        qformer_config=questioner,
        text_config={"vocab_size": len(tokenizer), **text},
        num_query_tokens=4,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    processor = hf.Blip2Processor(hf.BlipImageProcessorPil(size=SIZE), tokenizer, num_query_tokens=4)
    return hf.Blip2ForConditionalGeneration(config), processor


@builder
def blip2(folder: Path) -> tuple[Any, ...]:
    """With OPT, a decoder, whose tokenizer sets ``</s>`` before each text."""
    tokenizer = byte_pairs(
        ["<pad>", "</s>", "<image>"], first="</s>", pad_token="<pad>", eos_token="</s>", bos_token="</s>"
    )
    text = {
        "model_type": "opt", "hidden_size": 32, "ffn_dim": 64, "num_hidden_layers": 2,
        "num_attention_heads": 2, "max_position_embeddings": 64, "word_embed_proj_dim": 32, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 1,
    }  # fmt: skip
    return _blip2(tokenizer, text)


@builder
def blip2_t5(folder: Path) -> tuple[Any, ...]:
    """With T5, an encoder and a decoder, whose tokenizer sets ``</s>`` after each text."""
    tokenizer = byte_pairs(["<pad>", "</s>", "<image>"], last="</s>", pad_token="<pad>", eos_token="</s>")
    text = {
        "model_type": "t5", "d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2,
        "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "pad_token_id": 0, "eos_token_id": 1,
        "decoder_start_token_id": 0,
    }  # fmt: skip
    return _blip2(tokenizer, text)


@builder
def llava(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = byte_pairs(
        ["<pad>", "<s>", "</s>", "<image>", "<|user|>", "<|assistant|>"],
        first="<s>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        extra_special_tokens={"image_token": "<image>"},
    )
    config = hf.LlavaConfig(
        vision_config={"model_type": "clip_vision_model", **VISION},
        text_config=_llama(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
    )
    processor = hf.LlavaProcessor(
        hf.CLIPImageProcessorPil(size=SHORTEST, crop_size=SIZE),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE.replace("IMAGE", "<image>"),
    )
    return hf.LlavaForConditionalGeneration(config), processor


def _llama(tokenizer: Any) -> dict[str, Any]:
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    size = {"vocab_size": len(tokenizer), "max_position_embeddings": 256}
    return {"model_type": "llama", **DECODER, **size, **special}


_QWEN = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|video_pad|>", "<|user|>", "<|assistant|>",
]  # fmt: skip


def _qwen_parts() -> tuple[Any, dict[str, Any], dict[str, int]]:
    import transformers as hf

    tokenizer = byte_pairs(
        _QWEN,
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        extra_special_tokens={"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"},
    )
    patches = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2}
    template = TEMPLATE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>")
    images = hf.Qwen2VLImageProcessorPil(**patches, min_pixels=16 * 16, max_pixels=48 * 48)
    processor = (images, tokenizer, hf.Qwen2VLVideoProcessor(**patches), template)
    text = {
        **DECODER, "vocab_size": len(tokenizer), "max_position_embeddings": 256, "pad_token_id": 0,
        "bos_token_id": 0, "eos_token_id": 2,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]},
    }  # fmt: skip
    names = {"image": "<|image_pad|>", "video": "<|video_pad|>", "vision_start": "<|vision_start|>"}
    names["vision_end"] = "<|vision_end|>"
    ids = {f"{name}_token_id": tokenizer.convert_tokens_to_ids(token) for name, token in names.items()}
    return processor, text, ids


@builder
def qwen2_vl(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    (images, tokenizer, videos, template), text, ids = _qwen_parts()
    vision = {
        "depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "patch_size": 8,
        "spatial_merge_size": 2, "temporal_patch_size": 2, "mlp_ratio": 2,
    }  # fmt: skip
    config = hf.Qwen2VLConfig(text_config=text, vision_config=vision, **ids)
    processor = hf.Qwen2VLProcessor(images, tokenizer, videos, chat_template=template)
    return hf.Qwen2VLForConditionalGeneration(config), processor


@builder
def qwen2_5_vl(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    (images, tokenizer, videos, template), text, ids = _qwen_parts()
    vision = {
        "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "patch_size": 8,
        "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 32, "out_hidden_size": 32,
        "fullatt_block_indexes": [1],
    }  # fmt: skip
    config = hf.Qwen2_5_VLConfig(text_config=text, vision_config=vision, **ids)
    processor = hf.Qwen2_5_VLProcessor(images, tokenizer, videos, chat_template=template)
    return hf.Qwen2_5_VLForConditionalGeneration(config), processor


@builder
def paligemma(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer = byte_pairs(
        ["<pad>", "<eos>", "<bos>", "<image>"],
        pad_token="<pad>",
        eos_token="<eos>",
        bos_token="<bos>",
        extra_special_tokens={"image_token": "<image>"},
    )
    text = {
        "model_type": "gemma", **LAYERS, "vocab_size": len(tokenizer) + 1200, "num_key_value_heads": 1,
        "head_dim": 16, "max_position_embeddings": 128, "pad_token_id": 0, "eos_token_id": 1,
        "bos_token_id": 2,
    }  # fmt: skip
    config = hf.PaliGemmaConfig(
        vision_config={"model_type": "siglip_vision_model", **VISION, "projection_dim": 32},
        text_config=text,
        projection_dim=32,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    images = hf.SiglipImageProcessorPil(size=SIZE)
    images.image_seq_length = 16
    return hf.PaliGemmaForConditionalGeneration(config), hf.PaliGemmaProcessor(images, tokenizer)


_IDEFICS = [
    "<pad>", "<s>", "</s>", "<image>", "<fake_token_around_image>", "<end_of_utterance>", "<global-img>",
    "<|user|>", "<|assistant|>",
]  # fmt: skip


def _idefics_parts() -> tuple[Any, dict[str, Any]]:
    tokenizer = byte_pairs(_IDEFICS, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    image = tokenizer.convert_tokens_to_ids("<image>")
    numbers = {"scale_factor": 2, "image_token_id": image, "pad_token_id": 0}
    return tokenizer, {"text_config": _llama(tokenizer), **numbers}


@builder
def idefics3(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer, settings = _idefics_parts()
    edge = {"longest_edge": 32}
    images = hf.Idefics3ImageProcessorPil(size=edge, max_image_size=edge, do_image_splitting=False)
    processor = hf.Idefics3Processor(
        images, tokenizer, image_seq_len=4, chat_template=TEMPLATE.replace("IMAGE", "<image>")
    )
    config = hf.Idefics3Config(vision_config=VISION, **settings)
    return hf.Idefics3ForConditionalGeneration(config), processor


@builder
def smolvlm(folder: Path) -> tuple[Any, ...]:
    import transformers as hf

    tokenizer, settings = _idefics_parts()
    edge = {"longest_edge": 32}
    images = hf.SmolVLMImageProcessorPil(size=edge, max_image_size=edge, do_image_splitting=False)
    videos = hf.SmolVLMVideoProcessor(size=edge, max_image_size=edge)
    processor = hf.SmolVLMProcessor(
        images, tokenizer, videos, image_seq_len=4, chat_template=TEMPLATE.replace("IMAGE", "<image>")
    )
    config = hf.SmolVLMConfig(vision_config=VISION, **settings)
    return hf.SmolVLMForConditionalGeneration(config), processor
