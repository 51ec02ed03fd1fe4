"""The user's own model: a class or object in ``file.py`` or in an installed module."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.core.capabilities import CAPABILITIES, HasIdentity, capabilities_of
from evenhand.core.errors import EvenhandError, UserError, one_line
from evenhand.core.registry import load_object
from evenhand.files.hashing import sha256_files
from evenhand.models.source import LoadOptions, ModelSource


class ObjectSource:
    """An object that meets a capability, made already.

    Its identity is what its own ``identity()`` says, and what tells two of the user's models apart even so:
    the name of its class and the sha256 of the files that define it, or instead its ``version``, where it has
    one. Weights are hashed where ``files`` lists them.

    Args:
        model: The object.
        uri: How the user named it.
    """

    def __init__(self, model: Any, uri: str) -> None:
        self._model, self.uri = model, uri

    def identity(self) -> dict[str, str]:
        """As declared by the object, with its class, source and files."""
        parts = {"class": type(self._model).__qualname__}
        if hasattr(self._model, "version"):
            parts["version"] = str(self._model.version)
        else:
            sources = self._sources()
            files = sources + [Path(file) for file in getattr(self._model, "files", ())]
            parts |= {f"sha256 of {file.name}": digest for file, digest in sha256_files(files).items()}
        return parts | (self._model.identity() if isinstance(self._model, HasIdentity) else {})

    def _sources(self) -> list[Path]:
        """Files that define its class and those it is derived from."""
        found: dict[Path, None] = {}
        for kind in type(self._model).__mro__[:-1]:
            try:
                found[Path(inspect.getfile(kind))] = None
            except (TypeError, OSError):  # built in, or typed into a shell
                continue
        if not found and not isinstance(self._model, HasIdentity):
            raise UserError(
                f"{self.uri!r} does not say which model it is: give its class version = '1' or identity()"
            )
        return list(found)

    def capabilities(self) -> Sequence[str]:
        """What its methods and attributes meet."""
        return capabilities_of(self._model)

    def load(self) -> Any:
        """The object."""
        return self._model


def open_own_code(uri: str, options: LoadOptions) -> ModelSource:
    """``file.py:object`` or ``py:module:object``; a class is called without arguments.

    Raises:
        UserError: Nothing by that name, a constructor that fails, or an object without any capability.
    """
    del options  # the user's code decides on its own device and precision
    found = load_object(uri.removeprefix("py:"))
    if isinstance(found, type):
        try:
            found = found()
        except EvenhandError:
            raise
        except Exception as problem:
            cause = one_line(f"{type(problem).__name__}: {problem}")
            message = f"{uri!r} could not be made: {cause}; it is called without arguments"
            raise UserError(message) from problem
    source = ObjectSource(found, uri)
    if not source.capabilities():
        names = ", ".join(protocol.__name__ for protocol in CAPABILITIES.values())
        raise UserError(
            f"{uri!r} meets no capability; give its class the methods of one of {names} "
            "(evenhand.core.capabilities)"
        )
    return source
