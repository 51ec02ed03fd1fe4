"""Runs as users hold them: read, saved and rendered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.errors import InputError
from evenhand.core.unseen import json_escaped
from evenhand.files.atomic import atomic_folder, check_replaceable, write_bytes
from evenhand.files.sealed import HASHES, hashes_of, refuse_recorded
from evenhand.files.tables.spreadsheets import rows_csv
from evenhand.files.tables.write import telling_where, write_table
from evenhand.runs import run_folder

if TYPE_CHECKING:
    import polars as pl


class Run(run_folder.RunFolder):
    """A run that can save and render itself."""

    @cached_property
    def all_tables(self) -> dict[str, pl.DataFrame]:
        """Its tables with those of the papers that it fills, which are made when they are first needed."""
        from evenhand.workflows.outputs.run_artifacts import artifact_tables

        return in_order({**self.tables, **artifact_tables(self)})

    def html(
        self,
        *,
        suppress: int = 0,
        images: bool = False,
        data: str | Path | None = None,
        language: str | None = None,
    ) -> str:
        """The report as one self-contained HTML text.

        Args:
            suppress: Cells of fewer rows are hidden, with what would give them away; 0 shows all.
            images: Show thumbnails of samples. They may show people: such a file is personal data.
            data: Where the benchmark's data lies, for thumbnails of benchmarks that need it.
            language: Of its texts: ``en`` or ``de``; None: what ``EVENHAND_LANGUAGE`` names, else English.

        Raises:
            InputError: There is no such language, ``suppress`` is below 0, thumbnails together with it, or of
                a run without pictures.
        """
        from evenhand.report.content import ReportInput
        from evenhand.report.page.html import render_html
        from evenhand.workflows.outputs.evidence_rows import evidence_of, weighted_rows_of
        from evenhand.workflows.outputs.run_artifacts import drawn_of
        from evenhand.workflows.outputs.sample_pictures import SamplePictures

        if images and suppress:
            raise InputError("--images shows single samples, which --suppress hides; give one of the two")
        pictures = SamplePictures(self, data) if images else None
        artifacts, missing = drawn_of(self.all_tables)
        content = ReportInput(
            self.findings,
            self.manifest,
            self.all_tables,
            evidence_of(self),
            drawn=artifacts,
            missing=missing,
            pictures=pictures,
            cases={} if suppress else self.case_tables,
            weighted_rows=weighted_rows_of(self) if suppress else {},
        )
        return render_html(content, suppress=suppress, language=language)

    def to_frame(self) -> pl.DataFrame:
        """A row for each finding and each part, as ``evenhand export --as csv`` writes them."""
        from evenhand.workflows.outputs.export import frame

        return frame([self])

    def report(
        self,
        path: str | Path,
        *,
        suppress: int = 0,
        images: bool = False,
        data: str | Path | None = None,
        language: str | None = None,
    ) -> Path:
        """Write the report as one HTML file, whole or not at all; the options are those of ``html``.

        Raises:
            InputError: The path is a folder.
        """
        target = Path(path)
        if target.is_dir():
            inside = str(target / "report.html")
            raise InputError(f"{str(path)!r} is a folder; give the file to write, such as {inside!r}")
        refuse_recorded(target)
        page = self.html(suppress=suppress, images=images, data=data, language=language)
        write_bytes(target, page.encode())
        return target

    def save(self, folder: str | Path) -> Path:
        """Write the run folder, replacing a run of before; nothing is left half-written.

        Raises:
            InputError: The folder holds files that are not a run's.
        """
        target = Path(folder)
        with atomic_folder(target, entries=run_folder.ENTRIES, markers=run_folder.MARKERS) as building:
            self.write_into(building)
        object.__setattr__(self, "saved_in", target)
        return target

    def write_into(self, building: Path) -> None:
        """Write everything into a folder that is being built."""
        with telling_where(building):
            self._write_all(building)

    def _write_all(self, building: Path) -> None:
        write_bytes(building / run_folder.FINDINGS, self.findings.dump())
        write_bytes(building / run_folder.METRICS, run_folder.dump_cards(self.findings))
        manifest = json_escaped(json.dumps(self.manifest, indent=1, ensure_ascii=False))
        write_bytes(building / run_folder.MANIFEST, manifest.encode("utf-8", "backslashreplace") + b"\n")
        for name, counts in self.counts.items():
            counts.save(building / "counts" / f"{name}.parquet")
        for name, table in self.all_tables.items():
            write_table(table, building / "tables" / f"{name}.parquet")
        for name, content in self.exports.items():
            write_bytes(building / "exports" / name, content)
        for name, table in self.case_tables.items():
            write_bytes(building / run_folder.CASES / f"{name}.csv", rows_csv(table))
        self.write_extras(building)
        hashes = hashes_of(building, leave_out=[run_folder.REPORT])
        write_bytes(building / HASHES, hashes)
        self.report(building / run_folder.REPORT)

    def write_extras(self, folder: Path) -> None:
        """What kinds of run write beyond findings, manifest, counts, tables, exports and report; nothing."""


def in_order(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Tables in the order in which they are read again, so that the report is the same."""
    return {name: tables[name] for name in sorted(tables, key=lambda name: f"{name}.parquet")}


def check_out(folder: str | Path | None) -> None:
    """Refuse an output folder that could not be written, before the work rather than after it."""
    if folder is not None:
        check_replaceable(Path(folder), entries=run_folder.ENTRIES, markers=run_folder.MARKERS)
