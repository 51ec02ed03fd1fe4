"""From a model URI to a model: ``file.py:object`` or ``py:module:object``."""

from __future__ import annotations

from typing import Any

from evenhand.core.errors import UserError
from evenhand.core.registry import load_object

_SCHEMES = "file.py:object, py:module:object"


def resolve(uri: str) -> Any:
    """The object a URI names; a class is called without arguments.

    Raises:
        UserError: A URI that names nothing.
    """
    where, colon, attribute = uri.rpartition(":")
    if not (colon and attribute and (where.endswith(".py") or where.startswith("py:"))):
        raise UserError(f"--model {uri!r} is no model URI; possible: {_SCHEMES}")
    found = load_object(f"{where.removeprefix('py:')}:{attribute}")
    return found() if isinstance(found, type) else found


def require(model: Any, capability: type, uri: str) -> None:
    """Refuse a model without a capability.

    Raises:
        UserError: Names the capability and what is missing.
    """
    if not isinstance(model, capability):
        wanted = [name for name in dir(capability) if not name.startswith("_")]
        wanted += [n for n in getattr(capability, "__annotations__", {}) if n not in wanted]
        lacking = ", ".join(sorted(name for name in wanted if not hasattr(model, name)))
        raise UserError(
            f"{uri!r} lacks {lacking}; this benchmark asks for {capability.__name__}: "
            "see evenhand.core.capabilities"
        )
