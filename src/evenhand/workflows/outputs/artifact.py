"""Artifacts of the papers, from run folders or data to a table, a drawing or a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Setting, parse_parameters
from evenhand.benchmarks.catalogue import ARTIFACTS
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure
from evenhand.files.atomic import atomic_path, write_bytes
from evenhand.files.sealed import refuse_recorded
from evenhand.files.tables.spreadsheets import csv_bytes
from evenhand.files.tables.write import telling_where
from evenhand.runs.manifest import adaptation_warnings
from evenhand.runs.run_folder import RunFolder

if TYPE_CHECKING:
    import altair

    from evenhand.report.figures.table import TableFigure

FORMATS = (".csv", ".parquet", ".html", ".svg", ".png", ".json")
"""What an artifact can be written as, by the end of the file's name."""


@dataclass(frozen=True, eq=False)
class MadeArtifact:
    """An artifact, made."""

    name: str  # such as skewsize/table1
    title: str
    table: pl.DataFrame  # tidy; rows of the paper have source = paper
    notes: tuple[str, ...]  # lines under it
    figures: tuple[Figure, ...]

    def spec(self) -> dict[str, object]:
        """The Vega-Lite specification with its data."""
        from evenhand.report.figures.draw import compose

        return compose(self.figures, self.table, self.title, self.notes)

    def chart(self) -> altair.TopLevelMixin:
        """The figure as an Altair chart."""
        import altair

        from evenhand.display.html import harmless

        return altair.Chart.from_dict(harmless(self.spec()))

    def _repr_html_(self) -> str:
        from evenhand.display.html import number, table

        rows = [[number(cell) for cell in row] for row in self.table.iter_rows()]
        return table(f"{self.name}: {self.title}", self.table.columns, rows, self.notes)

    def sheets(self) -> list[tuple[str, TableFigure]]:
        """Its tables as text, each with its title: those that it declares, else one of all its columns."""
        from evenhand.report.figures.table import sheet

        tables = [figure for figure in self.figures if figure.kind == "table"]
        if tables:
            return [(figure.title, sheet(figure, self.table)) for figure in tables]
        empty = [name for name in self.table.columns if self.table[name].null_count() == self.table.height]
        return [("", sheet(Figure("table"), self.table.drop(empty)))]

    def html(self) -> str:
        """One page that works offline."""
        from evenhand.report.figures.page import figures_html

        return figures_html(self.figures, self.table, self.title, self.notes, self.name)


def artifact(
    name: str,  # such as skewsize/table1, or the user's own as file.py:OBJECT
    runs: Sequence[str | Path | RunFolder],  # none for artifacts that describe data
    *,
    data: str | Path | None = None,  # the user's copy of the benchmark's data, if needed
    parameters: Mapping[str, str] | None = None,  # the artifact's own, as text
    seed: int = 0,  # of resampling
) -> MadeArtifact:
    """A paper's table or figure made from runs or data."""
    declared: Artifact = ARTIFACTS.get(name)
    folder = None if data is None else Path(data).expanduser()
    _check_given(declared, len(runs), folder)
    parsed = parse_parameters(declared, parameters or {})
    read = [run if isinstance(run, RunFolder) else RunFolder.read(run) for run in runs]
    for run, source in zip(read, runs, strict=True):
        _check_run(declared, run, "" if isinstance(source, RunFolder) else str(source))
    setting = Setting(parameters=parsed, data=folder, capabilities=(), seed=seed)
    artifact_table = declared.build(read, setting)
    figures = artifact_table.figures or declared.figures or (Figure("table"),)
    unlike = adaptation_warnings([run.manifest for run in read]) if len(read) > 1 else []
    return MadeArtifact(
        declared.name, declared.title, artifact_table.table, (*artifact_table.notes, *unlike), figures
    )


def _check_given(declared: Artifact, runs: int, data: Path | None) -> None:
    """The number of runs and the data that the artifact needs."""
    if declared.runs == 0 and runs:
        needed = " --data DIR" if declared.data else ""
        raise InputError(
            f"{declared.name} is made from no run, {runs} given; "
            f"type: evenhand artifact {declared.name}{needed}"
        )
    if runs < declared.runs:
        what = "a run" if declared.runs == 1 else f"{declared.runs} runs"
        what += f" of {' or '.join(declared.benchmarks)}" if declared.benchmarks else ""
        raise InputError(
            f"{declared.name} needs {what}, "
            f"{runs} given; type: {_command(declared)}, then: evenhand artifact {declared.name} RUN"
        )
    if declared.data and data is None:
        raise InputError(f"{declared.name} is made from the benchmark's data; add --data DIR")
    if data is not None and not data.exists():
        raise InputError(f"--data {str(data)!r} does not exist; give a folder or file")


def _check_run(declared: Artifact, run: RunFolder, folder: str) -> None:
    """A run of a benchmark that the artifact is made from."""
    benchmark = str(run.manifest.get("benchmark") or "")
    fits = any(benchmark == name or benchmark.startswith(f"{name}/") for name in declared.benchmarks)
    if declared.benchmarks and not fits:
        subject = f"{folder!r} is" if folder else "the run given is"
        what = f"a run of {benchmark!r}" if benchmark else "of no benchmark"
        raise InputError(
            f"{declared.name} is made from runs of {' or '.join(declared.benchmarks)}, {subject} {what}; "
            f"type: {_command(declared)}"
        )


def _command(declared: Artifact) -> str:
    benchmark = declared.benchmarks[0] if declared.benchmarks else "BENCHMARK"
    return f"evenhand run {benchmark} --model URI -o DIR"


def check_format(path: Path) -> None:
    """Refuse what cannot be written, before anything is computed."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"-o {str(path)!r} has an unknown format; possible: {', '.join(FORMATS)}")
    if path.suffix.lower() in (".svg", ".png"):
        from evenhand.report.figures.draw import drawing_engine

        drawing_engine()


def write_artifact(drawn_artifact: MadeArtifact, path: Path) -> None:
    """Write an artifact in the format that the file's name ends with, whole or not at all.

    Equal tables give equal bytes. ``.json`` is the Vega-Lite specification with its data. In CSV, a text that
    a spreadsheet would take for a formula (it begins with ``=``, ``+``, ``-`` or ``@``) has an apostrophe in
    front.
    """
    check_format(path)
    refuse_recorded(path)
    suffix = path.suffix.lower()
    with telling_where(path.parent):
        if suffix in (".csv", ".parquet"):
            with atomic_path(path) as temporary:
                _write_table(drawn_artifact.table, temporary, suffix)
        else:
            write_bytes(path, _drawn(drawn_artifact, suffix))


def _write_table(table: pl.DataFrame, path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        table.write_parquet(path)
    else:
        # A cell of CSV holds no list: its items are joined.
        nested = [name for name, dtype in table.schema.items() if isinstance(dtype, pl.List | pl.Array)]
        plain = table.with_columns(pl.col(nested).cast(pl.List(pl.String)).list.join(" "))
        write_bytes(path, csv_bytes(plain))


def _drawn(drawn_artifact: MadeArtifact, suffix: str) -> bytes:
    from evenhand.report.figures import draw as figures

    if suffix == ".png":
        return figures.png(drawn_artifact.spec())
    if suffix == ".html":
        return drawn_artifact.html().encode("utf-8")
    text = (
        figures.svg(drawn_artifact.spec()) if suffix == ".svg" else figures.spec_json(drawn_artifact.spec())
    )
    return text.encode("utf-8", "replace")
