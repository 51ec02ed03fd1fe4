"""Lets the CUDA build of torchvision be imported beside a CPU build of torch, in tests only.

The package index has no CPU build of torchvision. Its compiled part cannot be loaded beside CPU torch, and
its Python part then fails, because it describes two operators that the compiled part would have defined. This
hook defines their names just before torchvision's first import; torch stays unloaded until then.

Python runs this file on its own where the folder is on PYTHONPATH; ``tests/conftest.py`` imports it for the
process that is already running.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

_KEPT = []  # an operator's definition lives as long as its library object


class _MendingLoader(Loader):
    """Loads torchvision after the operators' names are defined."""

    def __init__(self, loader: Loader, folder: Path) -> None:
        self._loader, self._folder = loader, folder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        _mend(self._folder)
        self._loader.exec_module(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)


class _TorchvisionFinder(MetaPathFinder):
    """Finds torchvision where it is and puts the mending loader before it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "torchvision":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None and spec.origin is not None:
            spec.loader = _MendingLoader(spec.loader, Path(spec.origin).parent)
        return spec


def _mend(folder: Path) -> None:
    import torch

    version = folder / "version.py"
    built_for_cuda = version.is_file() and "+cu" in version.read_text(encoding="utf-8")
    if torch.version.cuda is not None or not built_for_cuda or _KEPT:
        return  # they fit each other
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _KEPT.append(library)


def install() -> None:
    """Put the hook first; once, however often it is called."""
    if not any(type(finder).__name__ == _TorchvisionFinder.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _TorchvisionFinder())


install()
