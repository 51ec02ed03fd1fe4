"""A tiny Stable Diffusion of random weights from a fixed seed, as a folder that ``diffusers:`` opens."""

# ruff: noqa: S106 - tokens of tokenizers, no passwords

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.models.tiny import enliven
from tests.models.tiny_tokenizers import byte_pairs, clip_words

STEPS = 2
SIDE = 32


def build_pipeline(folder: Path, *, checker: str = "none", seed: int = 0) -> Path:
    """Save a pipeline that makes images of 32 x 32 pixels in a fraction of a second.

    Args:
        folder: Where it goes; what is there already is kept.
        checker: ``none``, ``easy`` (nothing is flagged) or ``strict`` (everything is).
        seed: Of its weights.

    Returns:
        The folder.
    """
    if not (folder / "model_index.json").is_file():
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            _pipeline(checker).save_pretrained(folder, safe_serialization=True)
    return folder


def _pipeline(checker: str) -> Any:
    import diffusers
    import transformers as hf

    tokenizer = clip_words()
    special = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    text = hf.CLIPTextConfig(
        hidden_size=32, intermediate_size=37, num_attention_heads=4, num_hidden_layers=2,
        max_position_embeddings=16, vocab_size=len(tokenizer), **special,
    )  # fmt: skip
    unet = diffusers.UNet2DConditionModel(
        block_out_channels=(32, 64), layers_per_block=1, sample_size=16, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), cross_attention_dim=32,
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), norm_num_groups=8, attention_head_dim=8,
    )  # fmt: skip
    vae = diffusers.AutoencoderKL(
        block_out_channels=[16, 16], in_channels=3, out_channels=3, latent_channels=4, norm_num_groups=8,
        down_block_types=["DownEncoderBlock2D"] * 2, up_block_types=["UpDecoderBlock2D"] * 2, sample_size=32,
    )  # fmt: skip
    encoder = hf.CLIPTextModel(text)
    for part in (unet, vae, encoder):
        enliven(part)
    return diffusers.StableDiffusionPipeline(
        vae=vae,
        text_encoder=encoder,
        tokenizer=tokenizer,
        unet=unet,
        scheduler=diffusers.EulerAncestralDiscreteScheduler(beta_schedule="scaled_linear", steps_offset=1),
        safety_checker=None if checker == "none" else _checker(strict=checker == "strict"),
        feature_extractor=None if checker == "none" else hf.CLIPImageProcessorPil(size=SIDE, crop_size=SIDE),
        requires_safety_checker=checker != "none",
    )


def _checker(*, strict: bool) -> Any:
    import transformers as hf
    from diffusers.pipelines.stable_diffusion import StableDiffusionSafetyChecker

    vision = {
        "hidden_size": 32, "intermediate_size": 37, "num_attention_heads": 4, "num_hidden_layers": 1,
        "image_size": SIDE, "patch_size": 8,
    }  # fmt: skip
    text = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1}
    made = StableDiffusionSafetyChecker(
        hf.CLIPConfig(vision_config=vision, text_config=text, projection_dim=16)
    )
    limit = -1.0 if strict else 1.0  # of a cosine
    made.concept_embeds_weights.data.fill_(limit)
    made.special_care_embeds_weights.data.fill_(1.0)
    return made


def build_flow(folder: Path) -> Path:
    """Save a tiny Flux: a transformer instead of a U-Net, two text encoders, one with tied weights."""
    import diffusers
    import torch
    import transformers as hf

    words, pieces = (
        clip_words(),
        byte_pairs(["<pad>", "</s>"], last="</s>", pad_token="<pad>", eos_token="</s>"),
    )
    pieces.model_max_length = 16
    special = {name: getattr(words, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        clip = hf.CLIPTextConfig(
            hidden_size=32, intermediate_size=37, num_attention_heads=4, num_hidden_layers=2,
            projection_dim=32, max_position_embeddings=16, vocab_size=len(words), **special,
        )  # fmt: skip
        t5 = hf.T5Config(
            vocab_size=len(pieces), d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4,
            pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
        )  # fmt: skip
        made = diffusers.FluxPipeline(
            scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
            vae=diffusers.AutoencoderKL(
                sample_size=32, in_channels=3, out_channels=3, block_out_channels=(4,), layers_per_block=1,
                latent_channels=1, norm_num_groups=1, use_quant_conv=False, use_post_quant_conv=False,
                shift_factor=0.0609, scaling_factor=1.5035,
            ),
            text_encoder=hf.CLIPTextModel(clip),
            tokenizer=words,
            text_encoder_2=hf.T5EncoderModel(t5),
            tokenizer_2=pieces,
            transformer=diffusers.FluxTransformer2DModel(
                patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16,
                num_attention_heads=2, joint_attention_dim=32, pooled_projection_dim=32,
                axes_dims_rope=[4, 4, 8],
            ),
        )  # fmt: skip
        made.save_pretrained(folder, safe_serialization=True)
    return folder
