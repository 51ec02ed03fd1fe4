"""From a model URI to a model that is not loaded yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.core.capabilities import CAPABILITIES
from evenhand.core.errors import UnknownName, UserError
from evenhand.core.registry import Registry
from evenhand.models.own_code import ObjectSource, open_own_code
from evenhand.models.source import LoadOptions, ModelSource

SCHEMES = Registry(
    "kind of model",
    {
        "api": "evenhand.models.api.source:open_api",
        "hf": "evenhand.models.hf.source:open_hf",
        "onnx": "evenhand.models.onnx_file:open_onnx",
        "openclip": "evenhand.models.openclip:open_openclip",
        "py": "evenhand.models.own_code:open_own_code",
        "timm": "evenhand.models.timm_hub:open_timm",
    },
    "evenhand.models",
)
GRAMMAR = (
    "hf:org/name[@revision] or hf:FOLDER, timm:name, openclip:arch/weights, onnx:FILE, api:model@base_url, "
    "py:module:object, FILE.py:object"
)


def resolve(model: Any, options: LoadOptions | None = None) -> ModelSource:
    """What a model URI, or an object that meets a capability, stands for.

    Args:
        model: A URI, a ``ModelSource``, or a model of the user's own.
        options: How it will be loaded.

    Raises:
        UserError: A URI that names nothing.
    """
    chosen = options or LoadOptions()
    if not isinstance(model, str):
        return model if _is_source(model) else ObjectSource(model, type(model).__name__)
    scheme, colon, rest = model.partition(":")
    if model.rpartition(":")[0].endswith(".py"):
        return open_own_code(model, chosen)
    if not colon or not rest or "/" in scheme or "\\" in scheme:
        hint = f"; a folder is given as hf:{model}" if Path(model).is_dir() else ""
        raise UserError(f"--model {model!r} is no model URI{hint}; possible: {GRAMMAR}")
    if scheme not in SCHEMES.names():
        raise UnknownName("kind of model", scheme, SCHEMES.names(), f"possible: {GRAMMAR}")
    source: ModelSource = SCHEMES.get(scheme)(rest, chosen)
    return source


def require(source: ModelSource, capability: str) -> None:
    """Refuse a model that cannot answer a kind of question.

    Raises:
        UserError: Names the capability, what the model can do, and who has the capability.
    """
    can = list(source.capabilities())
    if capability not in can:
        needed = CAPABILITIES[capability]
        raise UserError(
            f"{source.uri!r} cannot answer this: it is asked for {capability} ({needed.__name__} in "
            f"evenhand.core.capabilities), and has {', '.join(can) or 'no capability'}; "
            f"type: evenhand ls models --can {capability}"
        )


def _is_source(model: Any) -> bool:
    return all(hasattr(model, name) for name in ("uri", "identity", "capabilities", "load"))
