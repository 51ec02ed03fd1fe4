"""What each adapter can answer, for ``evenhand ls models`` and for messages."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.core.capabilities import CAPABILITIES
from evenhand.core.errors import first_few, require_extra
from evenhand.core.registry import Registry
from evenhand.models.adapters.huggingface.families import ARCHITECTURES, CLASSIFIER, MODEL_TYPES


@dataclass(frozen=True)
class Adapter:
    """One kind of model."""

    uri: str  # its form, such as ``timm:NAME``
    models: str
    capabilities: tuple[str, ...]  # what such a model can answer, at most


SCHEMES = Registry(
    "kind of model",
    {
        "adapted": "evenhand.models.adapted.source:open_adapted",
        "api": "evenhand.models.adapters.api.source:open_api",
        "diffusers": "evenhand.models.adapters.diffusers.source:open_diffusers",
        "hf": "evenhand.models.adapters.huggingface.source:open_hf",
        "onnx": "evenhand.models.adapters.onnx.source:open_onnx",
        "openclip": "evenhand.models.adapters.openclip:open_openclip",
        "py": "evenhand.models.adapters.own_code:open_own_code",
        "timm": "evenhand.models.adapters.timm.source:open_timm",
    },
    "evenhand.models",
)
_LIBRARIES = {
    "api": ("openai", "openai", "api"),
    "hf": ("transformers", "transformers", "hf"),
    "onnx": ("onnxruntime", "onnxruntime", "onnx"),
    "openclip": ("open_clip", "open-clip-torch", "openclip"),
    "timm": ("timm", "timm", "timm"),
}
GRAMMAR = (
    "hf:org/name[@revision] or hf:FOLDER, timm:name, openclip:arch/weights, onnx:FILE, api:model@base_url, "
    "py:module:object, FILE.py:object, adapted:FOLDER, diffusers:org/name[@revision] or diffusers:FOLDER, "
    "table:FILE"
)
_OTHERS = (
    Adapter("timm:NAME", "classifiers of timm", ("classifies_images", "embeds_images")),
    Adapter("openclip:ARCH/WEIGHTS", "dual encoders of open_clip", ("embeds_images", "embeds_texts")),
    Adapter("onnx:FILE", "ONNX networks with a sidecar", ("classifies_images", "embeds_images")),
    Adapter(
        "api:MODEL@URL",
        "OpenAI-compatible servers",
        ("scores_continuations", "answers_questions", "generates_images"),
    ),
    Adapter("diffusers:ORG/NAME", "pipelines of diffusers that take a prompt", ("generates_images",)),
    Adapter("adapted:FOLDER", "what evenhand adapt made", ("classifies_images", "embeds_images")),
    Adapter("FILE.py:OBJECT", "your own class", tuple(CAPABILITIES)),
)


def adapters() -> list[Adapter]:
    """Every adapter; Hugging Face families by what they can answer."""
    by_family: dict[tuple[str, ...], list[str]] = {}
    for name, family in {**MODEL_TYPES, "any ...ForImageClassification": CLASSIFIER}.items():
        by_family.setdefault(family.capabilities, []).append(name)
    for name, family in ARCHITECTURES.items():
        by_family.setdefault(family.capabilities, []).append(name)
    hf = [
        Adapter("hf:ORG/NAME", ", ".join(sorted(names, key=str.lower)), capabilities)
        for capabilities, names in by_family.items()
    ]
    added = set(SCHEMES.names()) - set(SCHEMES.builtin)
    added_adapters = [Adapter(f"{name}:...", "added by a package", ()) for name in sorted(added)]
    return [*hf, *_OTHERS, *added_adapters]


def require_library(uri: str) -> None:
    """Refuse a model whose library is not there, before anything is asked."""
    library = _LIBRARIES.get(uri.partition(":")[0])
    if library is not None:
        require_extra(*library)


def who_can(capability: str) -> str:
    """Examples of models with a capability, in one phrase."""
    able = [adapter for adapter in adapters() if capability in adapter.capabilities]
    return "; ".join(f"{adapter.uri} ({first_few(adapter.models.split(', '), 4)})" for adapter in able)
