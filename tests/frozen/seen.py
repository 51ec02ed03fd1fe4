"""What a user sees of runs: their files, exports, the words of the report, the terminal."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import re
import shutil
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import polars as pl

import evenhand as eh
from evenhand.cli.summaries.findings import print_summary
from evenhand.core.errors import EvenhandError
from evenhand.workflows.outputs.export import export
from evenhand.workflows.outputs.result import Run
from tests.gallery import demo

# mlflow and wandb write logs of their own, which differ each time
EXPORTS = (
    "json", "csv", "parquet", "markdown", "model-card", "every-eval-ever", "junit", "sarif", "controls",
    "ll144",
)  # fmt: skip
SUPPRESSED = 6
_VERSION = importlib.metadata.version("evenhand")
_BEGUN = datetime.now(UTC).date()
_CHANGING = {
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d| UTC)?": "TIME",
    r"\d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC": "TIME",
    r'("evaluation_id": ".*/)[\d.]+"': r'\1TIME"',
    r'("retrieved_timestamp": )"?[\d.]+"?': r"\1TIME",
}


def add_runs(runs: Path) -> None:
    """An audit of a table, and comparisons of two kinds."""
    counts = Run.read(runs / "celeba-uneven").counts["predictions"]
    eh.audit(counts, by=list(counts.attributes), out=runs / "audit")
    pairs = {
        "compared-studies": ("sports-even", "sports-uneven"),
        "compared-indicators": ("geography-ssl-small", "geography-labels-small"),
    }
    for name, pair in pairs.items():
        eh.compare([runs / one for one in pair], out=runs / name)


def write_run(run: Path, out: Path, demo_folder: Path) -> None:
    """All of one run: its folder's files, what the terminal prints, the report's words, exports."""
    for path in sorted(run.rglob("*")):
        if path.is_file() and path.suffix != ".html":
            _write(out / "folder" / path.relative_to(run), _content(path), demo_folder)
    read = Run.read(run)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        print_summary(read, run, verbose=True)
    _write(out / "terminal.txt", printed.getvalue(), demo_folder)
    for suppress in (0, SUPPRESSED):
        page = run / "frozen.html"
        read.report(page, suppress=suppress)
        _write(out / f"report-{suppress}.txt", _words(page.read_text()), demo_folder)
        page.unlink()
    for format in EXPORTS:
        _write(out / f"export-{format}.txt", _exported(run, format), demo_folder)


def write_artifacts(folder: Path, out: Path) -> None:
    """Every artifact's table."""
    for name in demo.needs():
        made = demo.make(name, folder)
        _write(out / f"{name.replace('/', '-')}.txt", made.table.write_json(), folder)


def _content(path: Path) -> str:
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
        return f"{frame.schema}\n{frame.write_ndjson()}"
    data = path.read_bytes()
    if path.suffix == ".json":
        return json.dumps(json.loads(data), indent=1, ensure_ascii=False)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"{len(data)} bytes\n"


def _exported(run: Path, format: str) -> str:
    target = run.parent / f"frozen-{format}"
    try:
        made = export([run], format=format, out=str(target))
    except EvenhandError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        content = _all_of(target)
        shutil.rmtree(target, ignore_errors=True) if target.is_dir() else target.unlink(missing_ok=True)
    return "\n".join([*made.messages, content])


def _all_of(target: Path) -> str:
    files = sorted(target.rglob("*")) if target.is_dir() else [target]
    parts = [f"--- {path.name}\n{_content(path)}" for path in files if path.is_file()]
    return "\n".join(parts)


class _Words(HTMLParser):
    """The words of a page, and titles of what is drawn; scripts and styles are left out."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")
        self.words += [
            f"[{name}: {value}]" for name, value in attrs if name in ("title", "aria-label", "alt")
        ]

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._hidden:
            self.words.append(" ".join(data.split()))


def _words(page: str) -> str:
    parser = _Words()
    parser.feed(page)
    return "\n".join(parser.words) + "\n"


def _write(path: Path, text: str, demo_folder: Path) -> None:
    text = text.replace(str(demo_folder), "DEMO").replace(_VERSION, "VERSION")
    for day in {_BEGUN, datetime.now(UTC).date()}:  # on which answers were given
        text = text.replace(day.isoformat(), "DAY")
    for pattern, by in _CHANGING.items():
        text = re.sub(pattern, by, text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
