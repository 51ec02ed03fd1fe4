"""More tiny chat models, for what differs between them: tiles, numbers of image tokens, how images enter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.models.tiny_language import DECODER, TEMPLATE, _idefics_parts, _llama, _qwen_parts
from tests.models.tiny_tokenizers import byte_pairs
from tests.models.tiny_vision import SHORTEST, SIZE, VISION

BUILDERS: dict[str, Callable[[Path], tuple[Any, ...]]] = {}
GRID = [[32, 64], [64, 32], [64, 64]]
ENDS = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}


def builder(function: Callable[[Path], tuple[Any, ...]]) -> Callable[[Path], tuple[Any, ...]]:
    """Enter a builder under its name."""
    BUILDERS[function.__name__] = function
    return function


@builder
def llava_next(folder: Path) -> tuple[Any, ...]:
    """As many tiles as a picture's shape asks for."""
    import transformers as hf

    tokenizer = byte_pairs(
        ["<pad>", "<s>", "</s>", "<image>", "<|user|>", "<|assistant|>"],
        first="<s>",
        **ENDS,
        extra_special_tokens={"image_token": "<image>"},
    )
    config = hf.LlavaNextConfig(
        vision_config={"model_type": "clip_vision_model", **VISION},
        text_config=_llama(tokenizer),
        image_token_index=3,
        vision_feature_select_strategy="default",
        vision_feature_layer=-1,
        image_grid_pinpoints=GRID,
    )
    processor = hf.LlavaNextProcessor(
        hf.LlavaNextImageProcessorPil(size=SHORTEST, crop_size=SIZE, image_grid_pinpoints=GRID),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE.replace("IMAGE", "<image>"),
    )
    return hf.LlavaNextForConditionalGeneration(config), processor


@builder
def llava_onevision(folder: Path) -> tuple[Any, ...]:
    """Tiles, a learned line break, and Qwen2 as its language model."""
    import transformers as hf

    tokenizer = byte_pairs(
        ["<pad>", "<s>", "</s>", "<image>", "<video>", "<|user|>", "<|assistant|>"],
        **ENDS,
        extra_special_tokens={"image_token": "<image>", "video_token": "<video>"},
    )
    config = hf.LlavaOnevisionConfig(
        vision_config={"model_type": "siglip_vision_model", **VISION},
        text_config={**_llama(tokenizer), "model_type": "qwen2"},
        image_token_index=3,
        video_token_index=4,
        image_grid_pinpoints=GRID,
    )
    processor = hf.LlavaOnevisionProcessor(
        hf.LlavaOnevisionImageProcessorPil(size=SIZE, image_grid_pinpoints=GRID),
        tokenizer,
        hf.LlavaOnevisionVideoProcessor(size=SIZE),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=TEMPLATE.replace("IMAGE", "<image>"),
    )
    return hf.LlavaOnevisionForConditionalGeneration(config), processor


@builder
def idefics3_tiles(folder: Path) -> tuple[Any, ...]:
    """Pictures cut into tiles with words between them."""
    import transformers as hf

    tokenizer, settings = _idefics_parts()
    images = hf.Idefics3ImageProcessorPil(
        size={"longest_edge": 64}, max_image_size={"longest_edge": 32}, do_image_splitting=True
    )
    processor = hf.Idefics3Processor(
        images, tokenizer, image_seq_len=4, chat_template=TEMPLATE.replace("IMAGE", "<image>")
    )
    config = hf.Idefics3Config(vision_config=VISION, **settings)
    return hf.Idefics3ForConditionalGeneration(config), processor


@builder
def idefics2(folder: Path) -> tuple[Any, ...]:
    """Pictures of different shapes, padded, and a resampler."""
    import transformers as hf

    tokenizer, _ = _idefics_parts()
    resampler = {
        "hidden_size": 32, "resampler_n_latents": 4, "resampler_depth": 1, "resampler_n_heads": 2,
        "resampler_head_dim": 16, "num_key_value_heads": 1,
    }  # fmt: skip
    config = hf.Idefics2Config(
        vision_config=VISION,
        perceiver_config=resampler,
        text_config={**_llama(tokenizer), "model_type": "mistral"},
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    images = hf.Idefics2ImageProcessorPil(
        size={"longest_edge": 48, "shortest_edge": 24}, do_image_splitting=False
    )
    processor = hf.Idefics2Processor(
        images, tokenizer, image_seq_len=4, chat_template=TEMPLATE.replace("IMAGE", "<image>")
    )
    return hf.Idefics2ForConditionalGeneration(config), processor


@builder
def qwen3_vl(folder: Path) -> tuple[Any, ...]:
    """Images enter at several layers."""
    import transformers as hf

    (images, tokenizer, _, template), text, ids = _qwen_parts()
    vision = {
        "depth": 3, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "patch_size": 8,
        "spatial_merge_size": 2, "temporal_patch_size": 2, "out_hidden_size": 32,
        "deepstack_visual_indexes": [0, 1], "num_position_embeddings": 64,
    }  # fmt: skip
    config = hf.Qwen3VLConfig(text_config={**text, "head_dim": 16}, vision_config=vision, **ids)
    patches = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2}
    film = hf.Qwen3VLVideoProcessor(**patches)
    processor = hf.Qwen3VLProcessor(images, tokenizer, film, chat_template=template)
    return hf.Qwen3VLForConditionalGeneration(config), processor


@builder
def gemma3(folder: Path) -> tuple[Any, ...]:
    """The tokens of an image see each other in both directions."""
    import transformers as hf

    tokenizer = byte_pairs(
        ["<pad>", "</s>", "<s>", "<boi>", "<eoi>", "<img>", "<|user|>", "<|assistant|>"],
        first="<s>",
        **ENDS,
        extra_special_tokens={"image_token": "<img>", "boi_token": "<boi>", "eoi_token": "<eoi>"},
    )
    text = {
        **DECODER, "vocab_size": len(tokenizer) + 5, "head_dim": 16, "max_position_embeddings": 256,
        "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2,
    }  # fmt: skip
    config = hf.Gemma3Config(
        text_config=text,
        vision_config={"model_type": "siglip_vision_model", **VISION},
        mm_tokens_per_image=4,
        boi_token_index=3,
        eoi_token_index=4,
        image_token_index=5,
    )
    processor = hf.Gemma3Processor(
        hf.Gemma3ImageProcessorPil(size=SIZE),
        tokenizer,
        image_seq_length=4,
        chat_template=TEMPLATE.replace("IMAGE", "<boi>"),
    )
    return hf.Gemma3ForConditionalGeneration(config), processor


@builder
def internvl(folder: Path) -> tuple[Any, ...]:
    """Tiles of one size, pixels shuffled into fewer tokens."""
    import transformers as hf

    tokenizer = byte_pairs(
        ["<pad>", "<s>", "</s>", "<IMG_CONTEXT>", "<img>", "</img>", "<video>", "<|user|>", "<|assistant|>"],
        **ENDS,
        extra_special_tokens={
            "context_image_token": "<IMG_CONTEXT>",
            "start_image_token": "<img>",
            "end_image_token": "</img>",
            "video_token": "<video>",
        },
    )
    config = hf.InternVLConfig(
        vision_config={**VISION, "image_size": [32, 32], "patch_size": [8, 8]},
        text_config={**_llama(tokenizer), "model_type": "qwen2"},
        image_token_id=3,
        image_seq_length=4,
    )
    processor = hf.InternVLProcessor(
        hf.GotOcr2ImageProcessorPil(size=SIZE, crop_to_patches=True, max_patches=4),
        tokenizer,
        hf.InternVLVideoProcessor(size=SIZE),
        image_seq_length=4,
        chat_template=TEMPLATE.replace("IMAGE", "<IMG_CONTEXT>"),
    )
    return hf.InternVLForConditionalGeneration(config), processor


@builder
def mllama(folder: Path) -> tuple[Any, ...]:
    """Images beside the text, with a mask that says which token sees which tile."""
    import transformers as hf

    tokenizer = byte_pairs(
        ["<pad>", "<s>", "</s>", "<|image|>", "<|user|>", "<|assistant|>"],
        first="<s>",
        **ENDS,
        extra_special_tokens={"image_token": "<|image|>"},
    )
    vision = {
        **VISION, "num_global_layers": 1, "attention_heads": 2, "vision_output_dim": 64, "max_num_tiles": 2,
        "intermediate_layers_indices": [1], "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1]],
    }  # fmt: skip
    text = {
        **DECODER, "vocab_size": len(tokenizer), "num_hidden_layers": 2, "cross_attention_layers": [1],
        "max_position_embeddings": 256, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
    }  # fmt: skip
    config = hf.MllamaConfig(vision_config=vision, text_config=text, image_token_index=3)
    images = hf.MllamaImageProcessorPil(size=SIZE, max_image_tiles=2)
    processor = hf.MllamaProcessor(images, tokenizer, chat_template=TEMPLATE.replace("IMAGE", "<|image|>"))
    return hf.MllamaForConditionalGeneration(config), processor
