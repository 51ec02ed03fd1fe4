"""The user's own model: a class or object in ``file.py`` or in an installed module."""

from __future__ import annotations

import contextlib
import inspect
import sys
import uuid
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any

from evenhand.core.capabilities import HasIdentity, capabilities_of, half_met
from evenhand.core.errors import EvenhandError, UserError, cause_of, failures_are_errors, one_line
from evenhand.core.registry import USER_MODULES, load_object, neighbours
from evenhand.files.hashing import sha256_files
from evenhand.models.identity.declared import check_labels, check_scale, encodable
from evenhand.models.identity.held_state import HeldState, attributes_of, is_constant, read_state
from evenhand.models.identity.source import LoadOptions, ModelSource


@contextmanager
def watched(source: ModelSource, note: Callable[[str], None]) -> Iterator[None]:
    """Watch whether the user's own model becomes another one by being asked; other models do not."""
    if not hasattr(source, "changed_by_asking"):
        yield
        return
    source.identity()  # what it is before it is asked
    yield
    if how := source.changed_by_asking():
        note(how)


class ObjectSource:
    """An object that meets a capability, made already.

    Its identity is what its own ``identity()`` says, and what tells two of the user's models apart even so:
    its class, its name in the URI, and the sha256 of the files that define it, or instead its ``version`` and
    the place of its code, where it has a version. A model that has neither is known by the sha256 of what it
    holds, and asked anew in each run where it holds no arrays or something that cannot be read. Files that
    ``files`` lists always count. Of an instance with a ``version`` plain attributes count too. Where what an
    object given in Python holds cannot be read, it shares its answers with no other object and no process.
    ``from_class``: the model was made here from its class, so that its code says all about it.
    """

    def __init__(self, model: Any, uri: str, *, from_class: bool = False) -> None:
        self._model, self.uri = model, uri
        where, colon, name = uri.removeprefix("py:").rpartition(":")
        self._name = name if colon else ""
        self._sources = _sources(model, where)  # now: a file of the same name would take the module's place
        self._module = _module(where) if colon else None
        self._source = where if where and not where.endswith(".py") else _module_or_file(self._sources, model)
        self._is_given = not from_class
        self._arrays = ""  # when it was last asked

    def identity(self) -> dict[str, str]:
        """As declared by the object, with its class, name, source, files, arrays and attributes."""
        with self._running():
            parts = {"class": type(self._model).__qualname__}
            if self._name:
                parts["object"] = self._name
            parts |= self._code
            declared = self._model.identity() if isinstance(self._model, HasIdentity) else {}
        return {
            encodable(name): encodable(value) for name, value in (parts | self._checked(declared)).items()
        }

    def _checked(self, declared: Any) -> dict[str, Any]:
        """What ``identity()`` gave, if later runs can compare it."""
        plain = isinstance(declared, Mapping) and all(
            isinstance(name, str) and isinstance(value, str | int | float | None)
            for name, value in declared.items()
        )
        if not plain:
            raise UserError(
                f"identity() of {self.uri!r} gave {one_line(repr(declared), 80)}; it must give a dict of "
                "texts, such as {'name': 'mine', 'sha256 of weights': '...'}"
            )
        return dict(declared)

    def _running(self) -> AbstractContextManager[None]:
        """Around all code of the object."""
        return failures_are_errors(f"the model {self.uri!r}")

    @cached_property
    def _code(self) -> dict[str, str]:
        """Its version, or else its source and what it was trained to, as they were before it was asked."""
        if hasattr(self._model, "version"):
            _ = self._state  # before it is asked: caches and lazy loading are no new training
            return {f"version in {self._source}": str(self._model.version)} | self._constants()
        declared = [*self._sources, *_files(self._model)]
        if isinstance(self._model, HasIdentity):
            return _hashes(declared, self.uri)
        if not self._sources:
            raise UserError(
                f"{self.uri!r} does not say which model it is: give its class version = '1' or identity()"
            )
        return _hashes([*declared, *self._state.sources], self.uri) | self._held()

    def _constants(self) -> dict[str, str]:
        """What tells an instance with a version from others: its attributes that no code changes in place."""
        if not self._is_given or isinstance(self._model, HasIdentity):
            return {}
        constants = {name: value for name, value in attributes_of(self._model).items() if is_constant(value)}
        return {"sha256 of attributes": read_state(constants).sha256} if constants else {}

    def _held(self) -> dict[str, str]:
        """What it holds, where that tells it from others: a class without arrays is known by its code."""
        if self._state.left_out:
            return {} if self._name else {"shared with": f"nothing: {_token(self._model)}"}
        is_needed = self._state.arrays or (self._is_given and attributes_of(self._model))
        return {"sha256 of what it holds": self._state.sha256} if is_needed else {}

    @cached_property
    def _state(self) -> HeldState:
        """What it holds; read once, before it is asked."""
        return read_state(self._model, self._module)

    def declared_code(self) -> dict[str, str]:
        """The sha256 of files and arrays that a ``version`` stands for; empty where they count themselves."""
        if not hasattr(self._model, "version"):
            return {}
        is_read = self._state.arrays and not self._state.left_out
        arrays = {"sha256 of its arrays": self._state.arrays} if is_read else {}
        return _hashes([*self._sources, *_files(self._model)], self.uri) | arrays

    def _declared(self) -> bool:
        """Whether the user says which model it is."""
        return hasattr(self._model, "version") or isinstance(self._model, HasIdentity)

    def not_kept(self) -> str:
        """Why its answers are of no use to later runs; empty where they are kept."""
        with self._running():
            if self._declared() or _files(self._model):
                return ""
            if self._state.left_out or self._state.arrays:
                return self._state.left_out
        return "it has no version, and it holds no arrays that would show a new training"

    def changed_by_asking(self) -> str:
        """How it became another model than its identity says, by being asked; empty where it did not.

        One that lists its files may load them then.
        """
        if self._declared() or _files(self._model):
            return ""
        before = self._arrays or self._state.arrays
        self._arrays = read_state(self._model, self._module).arrays
        return "its arrays change when it is asked" if self._arrays != before else ""

    def capabilities(self) -> Sequence[str]:
        """What its methods and attributes meet."""
        with self._running():
            return capabilities_of(self._model)

    def half_met(self) -> Mapping[str, str]:
        """Capabilities that it lacks for want of one method or attribute, and what to add."""
        with self._running():
            return half_met(self._model)

    def load(self) -> Any:
        """The object, once its labels and its logit scale are checked."""
        with self._running():
            if "classifies_images" in self.capabilities():
                check_labels(self._model.labels, self.uri, distinct=True)
            if "embeds_texts" in self.capabilities():
                check_scale(self._model.logit_scale, self.uri)
        return self._model


_TOKENS: dict[int, tuple[weakref.ref[Any], str]] = {}


def _token(model: Any) -> str:
    """A name of an object in this process, that no other object and no other process has."""
    entry = _TOKENS.get(id(model))
    if entry is not None and entry[0]() is model:
        return entry[1]
    token = uuid.uuid4().hex
    with contextlib.suppress(TypeError):  # an object of slots that cannot be referred to: new each time
        _TOKENS[id(model)] = (weakref.ref(model), token)
    return token


def _module(where: str) -> ModuleType | None:
    """Where a URI's object was looked up."""
    return sys.modules.get(f"{USER_MODULES}{Path(where).stem}" if where.endswith(".py") else where)


def _sources(model: Any, where: str) -> list[Path]:
    """The URI's file, what it imports beside it, and where the object's class and its bases are defined."""
    files: dict[Path, None] = {}
    with contextlib.suppress(TypeError, OSError):
        if where.endswith(".py"):
            files |= dict.fromkeys([Path(where).resolve(), *neighbours(Path(where))])
        elif where:
            files[Path(inspect.getfile(sys.modules[where])).resolve()] = None
    for kind in type(model).__mro__[:-1]:
        with contextlib.suppress(TypeError, OSError):  # built in, or typed into a shell
            files[Path(inspect.getfile(kind)).resolve()] = None
    return [file for file in files if file.is_file()]


def _module_or_file(sources: Sequence[Path], model: Any) -> str:
    return str(sources[0]) if sources else str(type(model).__module__)


def _files(model: Any) -> list[Path]:
    files = getattr(model, "files", None) or ()
    return [Path(file).resolve() for file in ([files] if isinstance(files, str | PurePath) else files)]


def _hashes(files: Sequence[Path], uri: str) -> dict[str, str]:
    """The sha256 of each file by its name, numbered where several have the same."""
    parts: dict[str, str] = {}
    name_counts: Counter[str] = Counter()
    try:
        hashes = sha256_files(dict.fromkeys(files))
    except OSError as problem:
        raise UserError(f"a file of {uri!r} cannot be read: {one_line(problem)}; mend its files") from problem
    for file, digest in hashes.items():
        name_counts[file.name] += 1
        number = f" ({name_counts[file.name]})" if name_counts[file.name] > 1 else ""
        parts[f"sha256 of {file.name}{number}"] = digest
    return parts


def open_own_code(uri: str, options: LoadOptions) -> ModelSource:
    """``file.py:object`` or ``py:module:object``; a class is called without arguments."""
    del options  # the user's code decides on its own device and precision
    model = load_object(uri.removeprefix("py:"))
    is_class = isinstance(model, type)
    if is_class:
        model = _instantiate(model, uri)
    source = ObjectSource(model, uri, from_class=is_class)
    if not source.capabilities():
        halves = list(source.half_met().values())
        if halves:
            raise UserError(f"{uri!r} meets no capability: {'; '.join(halves)}")
        raise UserError(
            f"{uri!r} meets no capability; a classifier needs labels = ('cat', 'dog') and "
            "classify(images), which gives an array of logits, float32, of shape (images, labels); other "
            "kinds of models: docs/models.md, A class of your own"
        )
    return source


def _instantiate(kind: type, uri: str) -> Any:
    """An instance of the user's class."""
    try:
        return kind()
    except EvenhandError:
        raise
    except Exception as problem:
        message = f"{uri!r} could not be made: {cause_of(problem)}; it is called without arguments"
        raise UserError(message) from problem
