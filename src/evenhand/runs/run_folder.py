"""Reading a run folder: findings, manifest, counts and tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl
from pydantic import ValidationError

from evenhand.core.cards import MetricCard
from evenhand.core.errors import InputError, UnknownName
from evenhand.core.findings import SCHEMA_VERSION, Finding, Findings
from evenhand.core.unseen import harmless_line, json_escaped
from evenhand.display import results
from evenhand.display.overview.brief import run_lines
from evenhand.display.overview.cell import cell_html
from evenhand.display.overview.content import Overview
from evenhand.display.overview.overview import overview_of
from evenhand.evidence.predictions.counts import Counts
from evenhand.files.sealed import HASHES, edited, written_files
from evenhand.files.tables.spreadsheets import read_rows
from evenhand.metrics.catalogue import with_cards

if TYPE_CHECKING:
    import altair

FINDINGS = "findings.json"
MANIFEST = "manifest.json"
METRICS = "metrics.json"  # what the metrics of the findings mean
PER_SAMPLE = "per_sample"
"""Table with what each sample adds to a metric: metric, by, sample, unit, part, weight, value in [0, 1].

The metric is the sum over parts of weight times mean value; without weights, the largest mean less the least.
"""
OUTCOMES = "outcomes"
"""Table with the number of each sample: sample, outcome, value, ``attribute:NAME``, unit, weight."""
ANNOTATIONS = "annotations"
CASES = "cases"
"""Holds a CSV file of the rows behind each of the first headlines: 1.csv, 2.csv, 3.csv."""
MARKERS = (FINDINGS, MANIFEST)
SUITE = "suite.json"  # what became of each pair of a suite, beside their run folders
MITIGATIONS = ("mitigation.safetensors", "mitigation.json", "mitigations")
MOST_CASE_ROWS = 10_000  # behind a headline that are read and written
_LINES = 6  # of findings where a run is printed
REPORT = "report.html"
ENTRIES = (
    *MARKERS, METRICS, HASHES, REPORT, "counts", "evidence", "exports", "tables", CASES, *MITIGATIONS,
)  # fmt: skip
_ALLOWED: ContextVar[bool] = ContextVar("edited runs are allowed", default=False)


@contextmanager
def edited_allowed() -> Iterator[None]:
    """Read runs of which a file is not as it was written; their manifests say which, as ``edited``."""
    before = _ALLOWED.set(True)
    try:
        yield
    finally:
        _ALLOWED.reset(before)


def runs_in(folder: Path) -> list[Path]:
    """The run folders of a suite's folder, sorted; of another folder itself."""
    record = folder / SUITE
    if not record.is_file():
        return [folder]
    try:
        pairs = json.loads(record.read_text(encoding="utf-8"))["pairs"]
        names = sorted(name for name, pair in pairs.items() if pair["state"] in ("done", "incomplete"))
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise InputError(f"{str(record)!r} is no record of a suite; give its run folders") from None
    if not names:
        raise InputError(f"the suite in {str(folder)!r} has no run; type its command again")
    return [folder / name for name in names]


@dataclass(frozen=True, eq=False)
class RunFolder:
    """One model's (or table's) findings with what they rest on.

    Attributes:
        findings: The findings.
        manifest: What was done, when and with which versions.
        counts: Counts by name.
        tables: Tidy tables by name, such as ``mistakes``.
        exports: Files in a format of others, by name.
        folder: Where it was read from, if it was.
        saved_in: Where it was written last, if it was.
    """

    findings: Findings
    manifest: dict[str, Any]
    counts: dict[str, Counts] = field(default_factory=dict)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    exports: dict[str, bytes] = field(default_factory=dict)
    folder: Path | None = field(default=None, kw_only=True)
    saved_in: Path | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Read a run folder.

        Raises:
            InputError: Not a run folder, one written by a newer major version, or one that was edited; see
                ``edited_allowed``.
        """
        path = Path(folder)
        run = cls.read_counts(folder).unedited("tables", "exports", "evidence", CASES, *MITIGATIONS)
        return replace(
            run,
            tables={file.stem: _table(file) for file in written_files(path, "tables", ".parquet")},
            exports={file.name: file.read_bytes() for file in written_files(path, "exports")},
        )

    @classmethod
    def read_counts(cls, folder: str | Path) -> Self:
        """Read findings, manifest and counts.

        Raises:
            InputError: As ``read``.
        """
        run = cls.read_findings(folder).unedited("counts")
        files = written_files(Path(folder), "counts", ".parquet")
        return replace(run, counts={file.stem: Counts.load(file) for file in files})

    @classmethod
    def read_findings(cls, folder: str | Path) -> Self:
        """Read findings and manifest alone, which is quick.

        Raises:
            InputError: As ``read``.
        """
        path = Path(folder)
        if not (path / FINDINGS).is_file():
            raise InputError(f"{str(folder)!r} is no run folder (it has no {FINDINGS}); give what -o wrote")
        changed = _edited(path, (FINDINGS, METRICS, MANIFEST))
        run = cls(_findings(path / FINDINGS), _manifest(path / MANIFEST), folder=path)
        return run._noting(changed)

    def unedited(self, *parts: str) -> Self:
        """The run, if these files of it are as they were written."""
        return self if self.folder is None else self._noting(_edited(self.folder, parts))

    def _noting(self, changed: Sequence[str]) -> Self:
        if not changed:
            return self
        return replace(
            self, manifest=self.manifest | {"edited": [*self.manifest.get("edited", ()), *changed]}
        )

    @property
    def _title(self) -> str:
        """Benchmark, model and folder; of a run without these, its columns and rows."""
        manifest = self.manifest
        texts = [text for text in (manifest.get("benchmark"), manifest.get("model"), self.folder) if text]
        if not texts and manifest.get("prediction"):
            texts = [f"{manifest['prediction']} against {manifest.get('truth')}"]
            texts += [f"by {', '.join(map(str, manifest['by']))}"] if manifest.get("by") else []
            texts += [f"{manifest['rows']:,} rows"] if manifest.get("rows") else []
        return f"Run: {', '.join(map(str, texts))}" if texts else "Run"

    def _repr_html_(self) -> str:
        table = results.html(self.findings, self._title)
        return cell_html(self.overview, table) if self.overview.title else table

    def __str__(self) -> str:
        """At most eight lines: what the run is, what differs and what to call; else its first findings."""
        if self.overview.title:
            lines = run_lines(self.overview, self._title)
            return "\n".join(map(harmless_line, lines))
        lines = [self._title, *map(str, self.findings.findings[:_LINES])]
        more = len(self.findings) - _LINES
        return "\n".join(
            [*map(harmless_line, lines), f"and {more} more; run.findings holds all" if more > 0 else ""]
        ).rstrip()

    def __repr__(self) -> str:
        return str(self)

    def __getitem__(self, key: str | tuple[str, str | list[str] | tuple[str, ...]]) -> Finding:
        """The finding of a metric, or of a metric and its grouping: ``run["accuracy_gap", "gender"]``.

        Raises:
            UnknownName: There is none.
        """
        return self.finding(key) if isinstance(key, str) else self.finding(*key)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        """Always true, as of its findings."""
        return True

    @property
    def annotations(self) -> pl.DataFrame | None:
        """The samples with their attributes, one row each; None where they were not kept.

        Raises:
            InputError: They cannot be read.
        """
        return None if self.folder is None else _annotations(self.folder / "evidence")

    @cached_property
    def overview(self) -> Overview:
        """The first lines of the run: what differs, for whom, how much, how sure, and what to do next."""
        return overview_of(self.findings, self.manifest)

    @cached_property
    def case_tables(self) -> dict[str, pl.DataFrame]:
        """The rows behind the first headlines, by their numbers; empty where the run keeps none.

        Raises:
            InputError: They cannot be read.
        """
        files = [] if self.folder is None else written_files(self.folder, CASES, ".csv")
        return {file.stem: read_rows(file) for file in files}

    def cases(self, number: int = 1) -> pl.DataFrame:
        """The rows behind a headline, all columns as the user's table has them.

        Of an audit of a table, at most 10,000; a run that was read from its folder has those that were
        written there, as texts: of the first three headlines beyond chance.

        Args:
            number: Of the headline, 1 = first.

        Raises:
            UnknownName: There is no such headline.
            InputError: No rows are at hand; says why, and what to type.
        """
        headlines = self.overview.headlines
        if not 1 <= number <= len(headlines):
            raise UnknownName("headline", str(number), map(str, range(1, len(headlines) + 1)))
        table = self.case_tables.get(str(number))
        if table is None:
            raise InputError(f"there are no rows behind headline {number}: {self._why_no_cases()}")
        return table

    def _why_no_cases(self) -> str:
        if self.manifest.get("kind") == "numbers":
            return "only the first three beyond chance have rows; run.tables['outcomes'] has every number"
        if self.manifest.get("kind") != "audit":
            return (
                "runs of models keep them of mistakes beyond chance; run.annotations has the samples, if kept"
            )
        return (
            "the run was made of counts, or kept none; audit the table of rows with a folder to write to: "
            "evenhand audit TABLE --truth COL --prediction COL --by COL -o DIR"
        )

    def finding(self, name: str, by: str | list[str] | tuple[str, ...] = (), **params: object) -> Finding:
        """The one finding of this name and grouping whose parameters include ``params``.

        Args:
            name: The metric.
            by: ``"gender"``, ``"gender+race"``, or a list; nothing matches the first of that name.
            params: Parameters that must be equal.

        Raises:
            UnknownName: There is none.
        """
        grouping = by if isinstance(by, str) else "+".join(by)
        for candidate in self.findings:
            fits = candidate.name == name and (not grouping or candidate.grouping == grouping)
            if fits and all(candidate.params.get(key) == value for key, value in params.items()):
                return candidate
        raise UnknownName("finding", f"{name}@{grouping}", [f.metric for f in self.findings])

    def chart(
        self, name: str | None = None, by: str | list[str] | tuple[str, ...] = (), **params: object
    ) -> altair.VConcatChart:
        """A finding with its parts as an Altair chart, or all findings.

        Args:
            name: The metric: ``accuracy`` draws accuracy by group, ``skewsize`` the effect size of each
                class. Nothing: a panel for each metric.
            by: As for ``finding``.
            params: As for ``finding``.

        Raises:
            UnknownName: There is no such finding.
        """
        return self.findings.chart() if name is None else self.finding(name, by, **params).chart()


def _edited(folder: Path, parts: Sequence[str]) -> list[str]:
    """Files that were edited, where that is allowed."""
    changed = edited(folder, parts)
    if changed and not _ALLOWED.get():
        more = f" and {len(changed) - 1} more of its files are" if len(changed) > 1 else " is"
        raise InputError(
            f"{changed[0]!r} in {str(folder)!r}{more} not as the run wrote them; make the run again, or go "
            "on with --allow-edited"
        )
    return changed


def _annotations(evidence: Path) -> pl.DataFrame | None:
    parts = sorted((evidence / ANNOTATIONS).glob("part-*.parquet"))
    return pl.concat([_table(part) for part in parts]) if parts else None


def _findings(path: Path) -> Findings:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        major = int(str(content["schema_version"]).partition(".")[0])
        if major > int(SCHEMA_VERSION.partition(".")[0]):
            raise InputError(
                f"{str(path)!r} has schema {content['schema_version']}, newer than {SCHEMA_VERSION}; "
                "type: pip install -U evenhand"
            )
        return _with_cards(Findings.model_validate(content), path.with_name(METRICS))
    except (ValueError, RecursionError, KeyError, TypeError, ValidationError) as problem:
        raise InputError(f"{str(path)!r} is no findings.json: {type(problem).__name__}") from None


def _with_cards(findings: Findings, path: Path) -> Findings:
    """Findings that know what their metrics mean: from the run itself, else from what is installed."""
    saved = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    cards = {card.name: card for card in map(MetricCard.model_validate, saved)}
    return findings.model_copy(update={"findings": with_cards(findings, cards)}).with_cards(cards)


def dump_cards(findings: Findings) -> bytes:
    """What the metrics of findings mean, as bytes of JSON."""
    dumped = [card.model_dump() for _, card in sorted(findings.cards.items())]
    return json_escaped(json.dumps(dumped, indent=1, ensure_ascii=False)).encode() + b"\n"


def _manifest(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise InputError(f"{str(path)!r} cannot be read: {type(problem).__name__}") from None
    if not isinstance(content, dict):
        raise InputError(f"{str(path)!r} is no manifest; give a folder that -o wrote")
    return content


def _table(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as problem:
        raise InputError(f"{str(path)!r} cannot be read: {type(problem).__name__}") from None
