"""From a model URI to a model that is not loaded yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenhand.core.errors import (
    MissingCapability,
    ParameterError,
    UserError,
    check_known,
    failures_are_errors,
)
from evenhand.models.adapters.own_code import ObjectSource, open_own_code
from evenhand.models.catalogue import GRAMMAR, SCHEMES, who_can
from evenhand.models.identity.source import LoadOptions, ModelSource

_SIZED = ("hf", "adapted")  # kinds of model that can be spread over devices, or quantized


def resolve(model: Any, options: LoadOptions | None = None) -> ModelSource:
    """What a model URI, or an object that meets a capability, stands for."""
    load_options = options or LoadOptions()
    with failures_are_errors(f"the model {(model if isinstance(model, str) else type(model).__name__)!r}"):
        if isinstance(model, str):
            return _named(model, load_options)
        return model if _is_source(model) else ObjectSource(model, type(model).__name__)


def _named(model: str, load_options: LoadOptions) -> ModelSource:
    """What a model URI stands for."""
    scheme, colon, rest = model.partition(":")
    if model.rpartition(":")[0].endswith(".py"):
        return open_own_code(model, load_options)
    if not colon or not rest or len(scheme) == 1 or "/" in scheme or "\\" in scheme:  # one letter: a drive
        hint = f"; a folder is given as hf:{model}" if Path(model).is_dir() else ""
        raise UserError(f"--model {model!r} is no model URI{hint}; possible: {GRAMMAR}")
    check_known("kind of model", scheme, SCHEMES.names(), f"possible: {GRAMMAR}")
    if (load_options.device_map or load_options.quantize) and scheme not in _SIZED:
        raise ParameterError(f"{model!r}: --device-map and --quantize are for models of hf:; leave them out")
    source: ModelSource = SCHEMES.get(scheme)(rest, load_options)
    return source


def require(source: ModelSource, capability: str) -> None:
    """Refuse a model that cannot answer a kind of question."""
    can = list(source.capabilities())
    if capability not in can:
        with telling_what_to_add(source):
            raise MissingCapability(
                f"{source.uri!r} has {', '.join(can) or 'no capability'}; this asks for {capability}: "
                f"{who_can(capability)}; type: evenhand ls models --can {capability}"
            )


@contextmanager
def telling_what_to_add(source: ModelSource) -> Iterator[None]:
    """Where a refusal names a capability that the user's own model all but has, say what it lacks."""
    try:
        yield
    except UserError as refusal:
        halves = source.half_met() if isinstance(source, ObjectSource) else {}
        hints = [what for name, what in halves.items() if name in str(refusal)]
        if hints:
            refusal.args = (f"{'; '.join(hints)}; as it is, {refusal}",)
        raise


def _is_source(model: Any) -> bool:
    return all(hasattr(model, name) for name in ("uri", "identity", "capabilities", "load"))
