"""What a model holds in memory: the arrays that can be reached from it, and the files that its texts name."""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import sys
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from evenhand.files.hashing import sha256_text
from evenhand.models.identity.opened_files import data_files, is_library

_DEPTH = 128  # steps from the model: a network of many layers in layers has some 40
_OBJECTS = 1_000_000
_FILES = 1_000  # that texts name: weights are fewer, data are more
_LONGEST = 1_024  # characters of a text that may name a file
# Objects of these modules lead to all of the process, or change without the model
_NOT_ENTERED = (
    "abc", "asyncio", "concurrent", "ctypes", "evenhand", "importlib", "inspect", "io", "logging",
    "multiprocessing", "random", "re", "subprocess", "tempfile", "threading", "typing",
    "weakref", "_io", "_thread", "_weakref", "_weakrefset",
)  # fmt: skip
_NUMBERS = "biufcmM"  # kinds of dtypes
_BLOB = 256  # bytes from which on they may be weights


@dataclass(frozen=True)
class LoadedState:
    """What tells a model from what it was before it was trained again.

    Attributes:
        sha256: Of all arrays and where they stand; empty where there are none.
        files: Files that attributes, arrays on disk and texts in the source name.
        sources: Python files of the modules that were entered.
        left_out: Why not all of it was read; empty where it was.
    """

    sha256: str
    files: tuple[Path, ...]
    sources: tuple[Path, ...]
    left_out: str


def read_state(model: Any, sources: Iterable[Path] = (), module: ModuleType | None = None) -> LoadedState:
    """Read a model's arrays and the names of its files.

    Args:
        model: The model.
        sources: Python files of its code, as far as they are known.
        module: Where its name was looked up. Its global names count too, with those of the user's own modules
            that it imports; None: only what the object holds.
    """
    walk = _Walk(module)
    walk.run(model)
    modules = sorted({*walk.sources, *(source for source in sources if not is_library(str(source)))})
    files = data_files([*walk.files, *_named_in(modules)])
    left_out = walk.left_out
    if len(files) > _FILES:
        left_out = left_out or f"its texts name {len(files):,} files"
    lines = [f"{where} {content}" for where, content in sorted(walk.arrays)]
    digest = sha256_text("\n".join(lines)) if walk.numbers else ""
    return LoadedState(digest, tuple(files[:_FILES]), tuple(modules), left_out)


def array_text(value: Any) -> str:
    """Dtype, shape and sha256 of an array without objects in it."""
    flat = np.ascontiguousarray(value).reshape(-1)
    content: Any = flat.view(np.uint8) if flat.dtype.itemsize else b""
    return f"{value.dtype.str}{value.shape}{hashlib.sha256(content).hexdigest()}"


class _Walk:
    """Goes from object to object, each once."""

    def __init__(self, module: ModuleType | None) -> None:
        self.arrays: list[tuple[str, str]] = []
        self.numbers = False  # whether there is an array of numbers
        self.files: set[str] = set()
        self.sources: set[Path] = set()
        self.left_out = ""
        self._root = module
        self._met: dict[int, Any] = {}  # the objects are kept, so that no other one gets their number
        self._waiting: deque[tuple[str, Any, int]] = deque()

    def run(self, model: Any) -> None:
        """From a model to the end, nearest first, so that an array has its shortest name."""
        self._add("", model, -1)
        if self._root is not None:
            self._add("globals", self._root, -1)
        while self._waiting and not self.left_out:
            where, value, depth = self._waiting.popleft()
            if depth > _DEPTH:
                self.left_out = f"its objects lie more than {_DEPTH} deep in each other"
            elif len(self._met) > _OBJECTS:
                self.left_out = f"it holds more than {_OBJECTS:,} objects"
            else:
                self._visit(where, value, depth)

    def _add(self, where: str, value: Any, depth: int) -> None:
        if value is None or isinstance(value, bool | int | float | complex):
            return
        if isinstance(value, str | PurePath):
            if _may_name_a_file(str(value)):
                self.files.add(os.path.abspath(value))
        elif id(value) not in self._met:
            self._met[id(value)] = value
            self._waiting.append((where, value, depth + 1))

    def _visit(self, where: str, value: Any, depth: int) -> None:
        try:
            if not self._array(where, value):
                for name, part in self._parts(value):
                    self._add(f"{where}.{name}", part, depth)
        except Exception as problem:  # whatever the code of a library or of the user raises
            self.left_out = f"a {type(value).__name__} of it cannot be read ({type(problem).__name__})"

    def _array(self, where: str, value: Any) -> bool:
        """Take down an array; False where it is none, or one of objects."""
        if isinstance(value, np.memmap) and value.filename is not None:
            self.files.add(os.path.abspath(value.filename))  # its content is hashed once, not in each run
            self.arrays.append((where, f"{value.dtype.str}{value.shape} at {value.offset}"))
            self.numbers = True
            return True
        description = _described(value)
        if description is None:
            return False
        self.arrays.append((where, description[0]))
        self.numbers = self.numbers or description[1]
        return True

    def _parts(self, value: Any) -> Iterator[tuple[str, Any]]:
        """What an object holds, with a name for each."""
        if isinstance(value, ModuleType):
            yield from self._of_module(value)
        elif isinstance(value, Mapping):
            yield from ((_name(key), part) for key, part in value.items())
        elif isinstance(value, list | tuple | deque | np.ndarray):
            parts = value.flat if isinstance(value, np.ndarray) else value
            yield from ((str(index), part) for index, part in enumerate(parts))
        elif isinstance(value, set | frozenset):
            yield from (("", part) for part in value)
        else:
            yield from self._of_object(value)

    def _of_module(self, module: ModuleType) -> Iterator[tuple[str, Any]]:
        if self._root is None or not (module is self._root or _is_own(module)):
            return
        if file := getattr(module, "__file__", None):
            self.sources.add(Path(file).resolve())
        yield from ((name, part) for name, part in vars(module).items() if not name.startswith("__"))

    def _module(self, name: str) -> ModuleType | None:
        """A module by its name: of two files of one name the one that the model is of."""
        if self._root is not None and name == self._root.__name__:
            return self._root
        return sys.modules.get(name)

    def _of_object(self, value: Any) -> Iterator[tuple[str, Any]]:
        kind = value if isinstance(value, type) else type(value)
        module = self._module(str(getattr(value, "__module__", None) or kind.__module__))
        is_own_module = module is not None and (module is self._root or _is_own(module))
        if is_own_module and self._root is not None:
            yield "globals", module
        if isinstance(value, type | FunctionType | staticmethod | classmethod | property):
            if is_own_module:
                yield from _of_code(value)
            return
        if isinstance(value, MethodType | functools.partial):
            yield from (("", part) for part in _bound(value))
            return
        if not is_own_module and (
            kind.__module__.partition(".")[0] in _NOT_ENTERED or kind.__module__.startswith("numpy.random")
        ):
            return
        if is_own_module:
            yield "class", kind
        if not is_own_module and _is_compiled(value):  # its own attributes lead to native objects
            yield "", value.state_dict()
            return
        yield from attributes_of(value).items()
        if not is_own_module:
            yield "", _native_state(value)


def attributes_of(value: Any) -> dict[str, Any]:
    """Slots and attributes of an instance, by name."""
    slots = [slot for kind in type(value).__mro__ for slot in _slots(kind)]
    attributes = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return attributes | dict(getattr(value, "__dict__", {}))


def _slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _of_code(value: Any) -> Iterator[tuple[str, Any]]:
    """What a class or function of the user's keeps."""
    if isinstance(value, type):
        yield from ((name, part) for name, part in vars(value).items() if not name.startswith("__"))
        yield from (("base", base) for base in value.__bases__)
    elif isinstance(value, FunctionType):
        cells = value.__closure__ or ()
        yield from (("closure", _cell(cell)) for cell in cells)
        yield "defaults", (value.__defaults__, value.__kwdefaults__, value.__dict__)
    elif isinstance(value, property):
        yield "property", value.fget
    else:
        yield "function", value.__func__


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _bound(value: Any) -> tuple[Any, ...]:
    if isinstance(value, MethodType):
        return value.__self__, value.__func__
    return value.func, value.args, value.keywords


def _is_own(module: ModuleType) -> bool:
    """Whether a module is the user's: a Python file that lies in no folder of libraries."""
    file = str(getattr(module, "__file__", None) or "")
    return file.endswith(".py") and not is_library(file)


def _name(key: Any) -> str:
    """A key, where it is written the same in every process."""
    plain = isinstance(key, str | int | float | tuple | PurePath)
    return str(key)[:_LONGEST] if plain else type(key).__name__


def _described(value: Any) -> tuple[str, bool] | None:
    """Dtype, shape and sha256 of an array, and whether it may hold weights; None where it is no array."""
    if isinstance(value, bytes | bytearray | memoryview | array):
        return hashlib.sha256(value).hexdigest(), len(value) >= _BLOB
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _tensor_text(value, torch), value.numel() > 0
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
    """Whether it is a compiled network of torch, which has ``state_dict``."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.jit.ScriptModule)


def _native_state(value: Any) -> Any:
    """What an object of a library gives to be stored, where its weights lie outside Python.

    Trees and tokenizers have a ``__getstate__`` of their own. One that refuses may hold weights that nobody
    sees: its error says that the model cannot be read whole.
    """
    if getattr(type(value), "__getstate__", None) is not getattr(object, "__getstate__", None):
        return value.__getstate__()
    return None


def _may_name_a_file(text: str) -> bool:
    """Whether a text looks like a file's path; a word such as a label does not."""
    return len(text) <= _LONGEST and (os.sep in text or "." in text) and not {"\0", "\n"} & set(text)


def _named_in(sources: Iterable[Path]) -> Iterator[str]:
    """Files that texts in Python files may name, from the current folder or from the file's own."""
    for source in sources:
        for text in _texts_in(source.read_bytes()):
            yield os.path.abspath(text)
            yield str(source.parent / text)


@functools.lru_cache(maxsize=1_024)  # fewer than a process has of its own modules would never hit
def _texts_in(source: bytes) -> tuple[str, ...]:
    """Texts that may name a file; a source is read for each model and parsed once."""
    constants = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return tuple(text for text in constants if isinstance(text, str) and _may_name_a_file(text))
