"""How a mitigation is fitted, as it is typed: a method and its parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from evenhand.core.errors import InputError, ParameterError, check_choice, check_known
from evenhand.mitigate.mitigation import MITIGATIONS, Fitter

_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def make_fitter(method: str, parameters: Mapping[str, Any], remove: int | None = None) -> Fitter:
    """The fitter of a name, ``module:object`` or ``file.py:object``, with parameters given as text or not."""
    kind = MITIGATIONS.get(method)
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind) and hasattr(kind, "fit")):
        raise InputError(
            f"{method!r} cannot be fitted; give a dataclass with fit, or see: evenhand ls mitigations"
        )
    options = dict(parameters)
    if remove is not None:
        if "remove" in options:
            raise ParameterError("--remove and -p remove say the same; give one of them")
        options["remove"] = remove
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    check_known(f"parameter of {method}", options, fields)
    hints = get_type_hints(kind)
    values = {name: _parsed(fields[name], hints[name], value) for name, value in options.items()}
    return cast("Fitter", kind(**values))


def parameters_of(fitter: Fitter) -> dict[str, Any]:
    """Every parameter of a fitter, those at their default too."""
    fields = dataclasses.fields(fitter)  # type: ignore[arg-type]  # a fitter is a dataclass
    return {field.name: getattr(fitter, field.name) for field in fields}


def _parsed(field: dataclasses.Field[Any], hint: Any, value: Any) -> Any:
    kinds = get_args(hint) if get_origin(hint) is not Literal else (str,)
    kinds = kinds or (hint,)
    choices = field.metadata.get("choices") or (get_args(hint) if get_origin(hint) is Literal else ())
    parsed = _of_kind(field.name, kinds, value) if isinstance(value, str) else value
    if choices and parsed is not None:
        check_choice(f"-p {field.name}", parsed, choices)
    if field.name == "remove" and parsed is not None and parsed < 0:
        raise ParameterError(f"-p remove={parsed} is not possible; give 0 (nothing) or more")
    return parsed


def _of_kind(name: str, kinds: tuple[Any, ...], text: str) -> Any:
    if type(None) in kinds and text.strip().lower() in ("", "none"):
        return None
    if bool in kinds and text.strip().lower() in _TRUTHS:
        return _TRUTHS[text.strip().lower()]
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                continue
    if str in kinds:
        return text
    what = " or ".join(
        "none" if kind is type(None) else str(getattr(kind, "__name__", kind)) for kind in kinds
    )
    raise ParameterError(f"-p {name}={text!r} is not possible; give {what}")
