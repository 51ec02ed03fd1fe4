"""The index of the runs in a folder: collected, and written as one page."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from evenhand.core.errors import InputError
from evenhand.files.atomic import write_bytes
from evenhand.report.page.index import IndexedRun, render_index
from evenhand.runs.run_folder import FINDINGS, RunFolder

_PAGE = "index.html"
_REPORT = "report.html"


def write_index(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write one page over all runs in a folder and the folders inside it; no server is needed to read it.

    Hidden folders are passed over; runs that cannot be read are listed with the reason. Headlines are those
    of findings.json, which hides no small cells.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{str(folder)!r} is no folder; give the one that holds what -o wrote")
    target = Path(out) if out is not None else root / _PAGE
    if target.is_dir():
        raise InputError(f"{str(out)!r} is a folder; give the file to write, such as {str(target / _PAGE)!r}")
    runs = [_listed(path, root, target.parent) for path in run_folders(root)]
    if not runs:
        raise InputError(f"{str(folder)!r} holds no run ({FINDINGS}); give the parent of what -o wrote")
    name = root.resolve().name or str(folder)
    write_bytes(target, render_index(runs, title=name).encode("utf-8", "replace"))
    return target


def run_folders(root: Path) -> list[Path]:
    """Run folders at any depth, sorted; nothing inside of one is another run."""
    result = []
    for folder, names, files in os.walk(root):
        if FINDINGS in files:
            result.append(Path(folder))
            names.clear()
        names[:] = sorted(name for name in names if not name.startswith("."))
    return result


def _listed(path: Path, root: Path, beside: Path) -> IndexedRun:
    name = path.relative_to(root).as_posix()
    has_report = (path / _REPORT).is_file()
    address = quote(Path(os.path.relpath(path / _REPORT, beside)).as_posix()) if has_report else ""
    try:
        run = RunFolder.read_findings(path)
    except InputError as problem:
        return IndexedRun(name, address, None, {}, str(problem))
    return IndexedRun(name, address, run.findings, run.manifest)
