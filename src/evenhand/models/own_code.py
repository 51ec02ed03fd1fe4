"""The user's own model: a class or object in ``file.py`` or in an installed module."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import sys
import uuid
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from evenhand.core.capabilities import CAPABILITIES, HasIdentity, capabilities_of, half_met
from evenhand.core.errors import EvenhandError, UserError, one_line
from evenhand.core.registry import load_object
from evenhand.files.hashing import sha256_files, sha256_text
from evenhand.models.source import LoadOptions, ModelSource


class ObjectSource:
    """An object that meets a capability, made already.

    Its identity is what its own ``identity()`` says, and what tells two of the user's models apart even so:
    its class, its name in the URI, and the sha256 of the files that define it, or instead its ``version`` and
    the place of its code, where it has a version. Weights are hashed where ``files`` lists them. The
    attributes of an instance count too, unless it has ``identity()``. Where they cannot be compared (a
    network, say), an object given in Python shares its answers with no other object and no other process.

    Args:
        model: The object.
        uri: How the user named it.
        made: Whether it was made here from its class, so that its code says all about it.
    """

    def __init__(self, model: Any, uri: str, *, made: bool = False) -> None:
        self._model, self.uri = model, uri
        where, colon, name = uri.removeprefix("py:").rpartition(":")
        self._name = name if colon else ""
        self._sources = _sources(model, where)  # now: a file of the same name would take the module's place
        self._place = where if where and not where.endswith(".py") else _place(self._sources, model)
        self._state = {} if made or isinstance(model, HasIdentity) else self._compared(model)

    def identity(self) -> dict[str, str]:
        """As declared by the object, with its class, name, source, files and attributes."""
        parts = {"class": type(self._model).__qualname__}
        if self._name:
            parts["object"] = self._name
        if hasattr(self._model, "version"):
            parts[f"version in {self._place}"] = str(self._model.version)
        else:
            if not self._sources and not isinstance(self._model, HasIdentity):
                raise UserError(
                    f"{self.uri!r} does not say which model it is: give its class version = '1' or identity()"
                )
            parts |= _hashes([*self._sources, *_files(self._model)], self.uri)
        parts |= self._state
        return parts | (self._model.identity() if isinstance(self._model, HasIdentity) else {})

    def capabilities(self) -> Sequence[str]:
        """What its methods and attributes meet."""
        return capabilities_of(self._model)

    def half_met(self) -> Mapping[str, str]:
        """Capabilities that it lacks for want of one method or attribute, and what to add."""
        return half_met(self._model)

    def load(self) -> Any:
        """The object.

        Raises:
            UserError: A classifier whose labels are not distinct texts.
        """
        if "classifies_images" in self.capabilities():
            check_labels(self._model.labels, self.uri, distinct=True)
        return self._model

    def _compared(self, model: Any) -> dict[str, str]:
        """The attributes, as a part of the identity; nothing where there are none."""
        declared = hasattr(model, "version")
        state = plain_state(model, only_constants=declared)
        if state is None and not self._name:
            return {"shared with": f"nothing: {_token(model)}"}
        return {"sha256 of attributes": sha256_text(state)} if state else {}


def check_labels(labels: Any, uri: str, *, distinct: bool) -> None:
    """Refuse labels that no answer could be read with.

    Args:
        labels: Of a classifier.
        uri: Its name, for the message.
        distinct: Whether a label may occur only once.

    Raises:
        UserError: They are no sequence of texts, or one is empty, or there is none.
    """
    wrong = ""
    if isinstance(labels, str | bytes | Mapping | Set) or not hasattr(labels, "__len__"):
        wrong = f"are {type(labels).__name__}"
    elif len(labels) == 0:
        wrong = "are empty"
    else:
        named = list(labels)
        odd = [one for one in named if not isinstance(one, str) or not one.strip()]
        twice = next((one for one, count in Counter(map(str, named)).items() if count > 1), None)
        if odd:
            wrong = f"hold {one_line(repr(odd[0]))[:80]}"
        elif distinct and twice is not None:
            wrong = f"hold {one_line(repr(twice))[:80]} twice"
    if wrong:
        raise UserError(f"the labels of {uri!r} {wrong}; give a list of distinct texts, one for each logit")


def plain_state(model: Any, *, only_constants: bool) -> str | None:
    """The attributes of an instance as text, the same in every process; empty where there are none.

    Args:
        model: The instance.
        only_constants: Leave out what is no number, text, path, array or tuple of these.

    Returns:
        None where an attribute cannot be written so.
    """
    names = [slot for kind in type(model).__mro__ for slot in _slots(kind)]
    values = {name: getattr(model, name) for name in names if hasattr(model, name)}
    values |= getattr(model, "__dict__", {})
    written = []
    for name in sorted(values):
        if only_constants and isinstance(values[name], list | dict | set | frozenset):
            continue
        text = _written(values[name])
        if text is None and not only_constants:
            return None
        if text is not None:
            written.append(f"{name}={text}")
    return "\n".join(written)


def _written(value: Any) -> str | None:
    """A plain value as text, None for any other."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return f"{type(value).__name__}:{value!a}"
    if isinstance(value, PurePath):
        return f"path:{str(value)!a}"
    if isinstance(value, np.ndarray | np.generic):
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return None if value.dtype.hasobject else f"array:{value.dtype.str}{value.shape}{content}"
    if type(value) in (dict, list, tuple):
        parts = [_written(one) for one in (value.items() if isinstance(value, dict) else value)]
        return None if None in parts else f"{type(value).__name__}:[{','.join(map(str, parts))}]"
    return None


def _slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


_TOKENS: dict[int, tuple[weakref.ref[Any], str]] = {}


def _token(model: Any) -> str:
    """A name of an object in this process, that no other object and no other process has."""
    known = _TOKENS.get(id(model))
    if known is not None and known[0]() is model:
        return known[1]
    token = uuid.uuid4().hex
    with contextlib.suppress(TypeError):  # an object of slots that cannot be referred to: new each time
        _TOKENS[id(model)] = (weakref.ref(model), token)
    return token


def _sources(model: Any, where: str) -> list[Path]:
    """The URI's file and those that define the object's class and the classes it is derived from."""
    found: dict[Path, None] = {}
    with contextlib.suppress(TypeError, OSError):
        if where.endswith(".py"):
            found[Path(where).resolve()] = None
        elif where:
            found[Path(inspect.getfile(sys.modules[where])).resolve()] = None
    for kind in type(model).__mro__[:-1]:
        with contextlib.suppress(TypeError, OSError):  # built in, or typed into a shell
            found[Path(inspect.getfile(kind)).resolve()] = None
    return [file for file in found if file.is_file()]


def _place(sources: Sequence[Path], model: Any) -> str:
    return str(sources[0]) if sources else str(type(model).__module__)


def _files(model: Any) -> list[Path]:
    files = getattr(model, "files", ())
    return [Path(file).resolve() for file in ([files] if isinstance(files, str | PurePath) else files)]


def _hashes(files: Sequence[Path], uri: str) -> dict[str, str]:
    """The sha256 of each file by its name, numbered where several have the same."""
    parts: dict[str, str] = {}
    seen: Counter[str] = Counter()
    try:
        hashes = sha256_files(dict.fromkeys(files))
    except OSError as problem:
        raise UserError(f"a file of {uri!r} cannot be read: {one_line(problem)}; mend its files") from problem
    for file, digest in hashes.items():
        seen[file.name] += 1
        number = f" ({seen[file.name]})" if seen[file.name] > 1 else ""
        parts[f"sha256 of {file.name}{number}"] = digest
    return parts


def open_own_code(uri: str, options: LoadOptions) -> ModelSource:
    """``file.py:object`` or ``py:module:object``; a class is called without arguments.

    Raises:
        UserError: Nothing by that name, a constructor that fails, or an object without any capability.
    """
    del options  # the user's code decides on its own device and precision
    found = load_object(uri.removeprefix("py:"))
    made = isinstance(found, type)
    if made:
        try:
            found = found()
        except EvenhandError:
            raise
        except Exception as problem:
            cause = one_line(f"{type(problem).__name__}: {problem}")
            message = f"{uri!r} could not be made: {cause}; it is called without arguments"
            raise UserError(message) from problem
    source = ObjectSource(found, uri, made=made)
    if not source.capabilities():
        halves = list(source.half_met().values())
        if halves:
            raise UserError(f"{uri!r} meets no capability: {'; '.join(halves)}")
        names = ", ".join(protocol.__name__ for protocol in CAPABILITIES.values())
        raise UserError(
            f"{uri!r} meets no capability; give its class the methods of one of {names} "
            "(evenhand.core.capabilities)"
        )
    return source
