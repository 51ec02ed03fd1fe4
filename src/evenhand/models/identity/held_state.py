"""What a model holds in memory, as one hash: what tells it from what it was before it was trained again."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import sysconfig
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePath
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

from evenhand.files.hashing import sha256_files

_NUMBERS = "biufcmM"  # kinds of dtypes
_BLOB = 256  # bytes from which on they may be weights
_LIST = 8  # plain numbers from which on a list may be weights
_ITERATORS: tuple[type, ...] = (type(iter([])), type(iter({}.items())))
_LONGEST = 1_024  # characters of a text that may name a file


@dataclass(frozen=True)
class HeldState:
    """What a model holds."""

    sha256: str  # of all that can be reached from the model, with the content of files that it names
    arrays: str  # of the arrays among it, without single plain numbers; empty where there are none
    sources: tuple[Path, ...]  # Python files of the user's modules that were met
    left_out: str  # why not all of it could be read; empty where it was


def read_state(model: Any, module: ModuleType | None = None) -> HeldState:
    """Hash what a model holds, by what each object would give to be pickled; nothing is pickled.

    Global names of ``module``, where the model's name was looked up, count too, with those of the user's own
    modules that it imports; None: only what the object holds.
    """
    writer, left_out = _Writer(enters_modules=module is not None), ""
    waiting = [module, model]
    while waiting and not left_out:
        value = waiting.pop()
        try:
            waiting += reversed(writer.write(value))
        except Exception as problem:  # whatever the code of a library or of the user raises
            left_out = f"a {type(value).__name__} of it cannot be read ({type(problem).__name__})"
    arrays = writer.arrays.hexdigest() if writer.has_numbers else ""
    return HeldState(writer.all.hexdigest(), arrays, tuple(sorted(writer.sources)), left_out)


def attributes_of(value: Any) -> dict[str, Any]:
    """Slots and attributes of an instance, by name."""
    slots = [slot for kind in type(value).__mro__ for slot in _slots(kind)]
    attributes = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return attributes | dict(getattr(value, "__dict__", {}))


def _slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def is_constant(value: Any) -> bool:
    """Whether a value is a number, text, path, array or tuple of these."""
    if type(value) is tuple:
        return all(map(is_constant, value))
    if isinstance(value, np.ndarray | np.generic):
        return not value.dtype.hasobject
    return value is None or isinstance(value, bool | int | float | complex | str | bytes | PurePath)


def array_text(value: Any) -> str:
    """Dtype, shape and sha256 of an array without objects in it."""
    flat = np.ascontiguousarray(value).reshape(-1)
    content: Any = flat.view(np.uint8) if flat.dtype.itemsize else b""
    return f"{value.dtype.str}{value.shape}{hashlib.sha256(content).hexdigest()}"


# Of the standard library what else is there holds no weights
_CONTAINERS: Mapping[tuple[type, ...], Callable[[Any], Sequence[Any]]] = {
    (list, tuple, deque): list,
    (dict, OrderedDict, defaultdict, Counter, MappingProxyType): lambda value: [*chain(*value.items())],
    (set, frozenset): lambda value: sorted(value, key=lambda part: (type(part).__name__, str(part))),
    (np.ndarray,): lambda value: value.tolist(),  # of objects
    (MethodType,): lambda value: [value.__func__, value.__self__],
    (functools.partial,): lambda value: [value.func, value.args, value.keywords],
    (staticmethod, classmethod): lambda value: [value.__func__],
    (property,): lambda value: [value.fget],
    _ITERATORS: list,  # items of the user's own lists and dicts, as pickle has them
}


class _Writer:
    """Writes objects down, each once, the same in every process.

    With ``enters_modules`` classes and functions lead to the global names of the user's modules.
    """

    def __init__(self, *, enters_modules: bool) -> None:
        self.all, self.arrays = hashlib.sha256(), hashlib.sha256()
        self.has_numbers = False
        self.sources: set[Path] = set()
        self._enters_modules = enters_modules
        self._met: dict[int, tuple[int, Any]] = {}  # objects are kept, so that no other one gets their number

    def write(self, value: Any) -> Sequence[Any]:
        """Write one object down and return what it holds, to be written next."""
        if value is None or isinstance(value, bool | int | float | complex):
            return self._note(type(value).__name__, repr(value))
        if isinstance(value, str | PurePath):
            return self._note(str(value), _content(value))
        if id(value) in self._met:
            return self._note("again", str(self._met[id(value)][0]))
        self._met[id(value)] = (len(self._met), value)
        if (numbers := _as_array(value)) is not None:
            text, may_be_weights = numbers
            self.arrays.update(text.encode())
            self.has_numbers |= may_be_weights
            return self._note("array", text)
        parts = self._parts(value)
        self._note(_name_of(value), str(len(parts)))
        return parts

    def _note(self, *texts: str) -> tuple[()]:
        for text in texts:
            self.all.update(f"{len(text)}:{text}".encode("utf-8", "backslashreplace"))
        return ()

    def _parts(self, value: Any) -> Sequence[Any]:
        """What an object holds; none of libraries' code, and of what the standard library has, as locks."""
        if isinstance(value, ModuleType | type | FunctionType):
            return self._of_code(value)
        kind = type(value)
        for kinds, parts_of in _CONTAINERS.items():
            if kind in kinds:
                return parts_of(value)
        is_standard = (
            kind.__module__ != "types" and kind.__module__.partition(".")[0] in sys.stdlib_module_names
        )
        if is_standard or _draws_at_random(kind):
            return []
        if _is_compiled(value):
            return [value.state_dict()]
        reduced = value.__reduce_ex__(4)  # what pickle would write: how to make it, and its state
        return [reduced] if isinstance(reduced, str) else [part for part in reduced if part is not None]

    def _of_code(self, value: ModuleType | type | FunctionType) -> list[Any]:
        """What the user's own module, class or function keeps: globals, attributes, closure."""
        module = value if isinstance(value, ModuleType) else sys.modules.get(str(value.__module__))
        file = str(getattr(module, "__file__", None) or "")
        if not file.endswith(".py") or is_library(file):
            return []
        if self._enters_modules:
            self.sources.add(Path(file).resolve())
        if isinstance(value, FunctionType):
            parts = [
                *map(_cell, value.__closure__ or ()),
                value.__defaults__,
                value.__kwdefaults__,
                value.__dict__,
            ]
        else:
            parts = [part for name, part in vars(value).items() if not name.startswith("__")]
        bases = value.__bases__ if isinstance(value, type) else ()
        if isinstance(value, ModuleType):
            return parts if self._enters_modules else []
        return [*([module] if self._enters_modules else []), *parts, *bases]


def _content(text: str | PurePath) -> str:
    """The sha256 of the file that a text names; empty where it names none, as a label."""
    if len(str(text)) > _LONGEST or not (os.sep in str(text) or "." in str(text)) or "\0" in str(text):
        return ""
    return sha256_files([Path(text)])[Path(text)] if os.path.isfile(text) else ""


def _name_of(value: Any) -> str:
    """Of code its own name and body (many are called ``<lambda>``), of all else that of its class."""
    code = value if isinstance(value, type | FunctionType) else type(value)
    body = _in_text(value.__code__) if isinstance(value, FunctionType) else ""
    return f"{code.__module__}.{code.__qualname__}{body}"


def _in_text(constant: Any) -> str:
    """A function's code, or a constant in it, the same in every process."""
    if isinstance(constant, CodeType):
        return f"{constant.co_code.hex()}({','.join(map(_in_text, constant.co_consts))})"
    return str(sorted(map(repr, constant))) if isinstance(constant, frozenset) else repr(constant)


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _as_array(value: Any) -> tuple[str, bool] | None:
    """Dtype, shape and sha256 of an array, and whether it may hold weights; None where it is no array."""
    if isinstance(value, bytes | bytearray | memoryview | array):
        return hashlib.sha256(value).hexdigest(), len(value) >= _BLOB
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _tensor_text(value, torch), value.numel() > 0
    if isinstance(value, np.memmap) and value.filename is not None:  # hashed once, not in each run
        return f"{value.dtype.str}{value.shape} at {value.offset} of {_content(Path(value.filename))}", True
    if (
        isinstance(value, list | tuple)
        and len(value) >= _LIST
        and all(type(number) in (int, float) for number in value)
    ):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray | np.generic):
        if not (hasattr(type(value), "__array__") and hasattr(value, "dtype") and hasattr(value, "shape")):
            return None
        value = np.asarray(value)  # of JAX, TensorFlow and their like
    if value.dtype.hasobject:
        return None
    return array_text(value), value.dtype.kind in _NUMBERS and value.size > 0


def _tensor_text(tensor: Any, torch: Any) -> str:
    """As ``array_text``; numpy lacks some dtypes, such as bfloat16."""
    shape = f"{tensor.dtype}{tuple(tensor.shape)}"
    if tensor.device.type == "meta":  # has no numbers
        return shape
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    elif tensor.is_quantized:
        tensor = tensor.int_repr()
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    return shape + hashlib.sha256(plain.reshape(-1).view(torch.uint8).numpy()).hexdigest()


def _is_compiled(value: Any) -> bool:
    """Whether it is a compiled network of torch, which is pickled in a way of its own."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.jit.ScriptModule)


def _draws_at_random(kind: type) -> bool:
    """Whether it draws random numbers: its state changes with each, and is nothing that was learnt."""
    return kind.__module__.startswith("numpy.random") or kind.__name__ == "Generator"


@functools.cache
def is_library(path: str) -> bool:
    """Whether a file lies where Python's and other packages' libraries do, or is one of evenhand's own."""
    folders = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders.append(str(Path(__file__).parents[2]))
    file = Path(os.path.realpath(path))
    return bool({"site-packages", "dist-packages"} & {*file.parts}) or any(
        file.is_relative_to(os.path.realpath(folder)) for folder in folders
    )
