"""Which adapter answers for a model: decided from its config.json, without its libraries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Family:
    """Models that one adapter answers for."""

    capabilities: tuple[str, ...]  # names of ``core.capabilities.CAPABILITIES``, in that order
    adapter: str  # ``module:Class``, made as ``Class(folder, options)``


_ROOM = "evenhand.models.adapters.huggingface"
_TALKS = ("scores_continuations", "answers_questions")
DUAL_ENCODER = Family(("embeds_images", "embeds_texts"), f"{_ROOM}.dual_encoders:DualEncoder")
CLASSIFIER = Family(("classifies_images", "embeds_images"), f"{_ROOM}.classifiers:Classifier")
FEATURES = Family(("embeds_images",), f"{_ROOM}.classifiers:FeatureExtractor")
VILT = Family(("matches_pairs",), f"{_ROOM}.matching:ViltMatcher")
BLIP_RETRIEVAL = Family(("embeds_images", "embeds_texts", "matches_pairs"), f"{_ROOM}.matching:BlipMatcher")
BLIP = Family(_TALKS, f"{_ROOM}.language.captioners:BlipCaptioner")
GIT = Family(_TALKS, f"{_ROOM}.language.captioners:GitCaptioner")
BLIP_QUESTIONS = Family(_TALKS, f"{_ROOM}.language.captioners:BlipAnswerer")
BLIP2 = Family(_TALKS, f"{_ROOM}.language.captioners:Blip2")
CHAT = Family(_TALKS, f"{_ROOM}.language.chat:ChatModel")
SENTENCE_ENCODER = Family(("embeds_texts",), f"{_ROOM}.sentence_encoder:SentenceEncoder")
# Its image attention runs along the tokens of the text, which scoring shares between continuations.
MLLAMA = Family(("answers_questions",), f"{_ROOM}.language.chat:ChatModel")

# Where the architecture decides, because one model type has heads for different questions.
ARCHITECTURES: Mapping[str, Family] = MappingProxyType(
    {
        "Blip2ForConditionalGeneration": BLIP2,
        "BlipForConditionalGeneration": BLIP,
        "BlipForImageTextRetrieval": BLIP_RETRIEVAL,
        "BlipForQuestionAnswering": BLIP_QUESTIONS,
        "GitForCausalLM": GIT,
        "ViltForImageAndTextRetrieval": VILT,
    }
)
_DUAL_ENCODERS = (
    "align altclip chinese_clip clip flava groupvit metaclip_2 siglip siglip2 vision-text-dual-encoder"
)
_VISION = (
    "beit bit convnext convnextv2 cvt data2vec-vision deit dinat dinov2 dinov2_with_registers "
    "dinov3_convnext dinov3_vit efficientnet focalnet hiera ijepa levit mobilenet_v1 mobilenet_v2 mobilevit "
    "mobilevitv2 poolformer pvt pvt_v2 regnet resnet segformer siglip_vision_model swiftformer swin swinv2 "
    "vit vit_msn"
)
_CHAT = (
    "aya_vision cohere2_vision deepseek_vl gemma3 gemma3n gemma4 glm4v idefics2 idefics3 "
    "internvl janus lfm2_vl llama4 llava llava_next llava_onevision mistral3 "
    "molmo2 ovis2 paligemma qwen2_5_vl qwen2_vl qwen3_5 qwen3_vl qwen3_vl_moe smolvlm vipllava"
)
# Encoders of texts without a head, which are read as sentence encoders: the mean over their tokens.
_TEXTS = (
    "albert bert big_bird camembert convbert deberta deberta-v2 distilbert electra ernie eurobert funnel "
    "ibert mobilebert modernbert mpnet mra nomic_bert nystromformer rembert roberta roformer "
    "roberta-prelayernorm squeezebert xlm-roberta xlm-roberta-xl xmod yoso"
)
MODEL_TYPES: Mapping[str, Family] = MappingProxyType(
    dict.fromkeys(_DUAL_ENCODERS.split(), DUAL_ENCODER)
    | dict.fromkeys(_VISION.split(), FEATURES)
    | dict.fromkeys(_CHAT.split(), CHAT)
    | dict.fromkeys(_TEXTS.split(), SENTENCE_ENCODER)
    | {"blip-2": BLIP2, "git": GIT, "mllama": MLLAMA}
)
POSSIBLE = ", ".join(sorted({*MODEL_TYPES, *ARCHITECTURES}))
# What a repository's own code says it is, in the order in which it is believed.
_OWN_CODE = (
    ("AutoModelForImageClassification", CLASSIFIER),
    ("AutoModelForImageTextToText", CHAT),
    ("AutoModelForVision2Seq", CHAT),
    ("AutoModelForCausalLM", CHAT),
)
# Heads that answer none of the questions asked here, of model types that have others.
_OTHER_HEADS = ("QuestionAnswering", "Segmentation", "Detection", "DepthEstimation", "MaskedLM", "TextModel")


def family_of(config: Mapping[str, Any]) -> Family | None:
    """The family of a model that transformers knows, from its config.json; None where no adapter fits."""
    architectures = config.get("architectures") or [""]
    architecture, kind = str(architectures[0]), str(config.get("model_type", ""))
    if architecture in ARCHITECTURES:
        return ARCHITECTURES[architecture]
    if "ForImageClassification" in architecture:
        return CLASSIFIER
    if any(word in architecture for word in _OTHER_HEADS):
        return None
    if kind in _TEXTS.split() and not architecture.endswith("Model"):
        return None  # it has a head, or does not say what it is
    if kind in MODEL_TYPES:
        return MODEL_TYPES[kind]
    sees = any(name in config for name in ("vision_config", "visual", "vision_model_config"))
    return CHAT if sees and architecture.endswith("ForConditionalGeneration") else None


def family_of_own_code(config: Mapping[str, Any]) -> Family | None:
    """The family of a model that brings its own code, from the automatic classes it registers."""
    registered = config.get("auto_map") or {}
    for name, family in _OWN_CODE:
        if name in registered:
            return family
    if "AutoModel" not in registered:
        return None
    return DUAL_ENCODER if "text_config" in config and "vision_config" in config else FEATURES
