"""One page over many runs: what was asked of which model, when, and the headline of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from evenhand.core.findings import Ends
from evenhand.core.frames import grouped
from evenhand.display.overview.overview import overview_of
from evenhand.display.text import formatting as formats
from evenhand.display.text.model_names import lineage_of
from evenhand.report import inline
from evenhand.report.wording import sentences as words

if TYPE_CHECKING:
    import jinja2

    from evenhand.core.findings import Finding, Findings

_WIDTH, _HEIGHT, _MARGIN = 120.0, 28.0, 4.0


@dataclass(frozen=True)
class IndexedRun:
    """A run of the index."""

    folder: str  # where it lies, as the page calls it
    report: str  # the address of its report beside the page; empty where it has none
    findings: Findings | None  # None where it cannot be read
    manifest: Mapping[str, Any]  # empty where it cannot be read
    problem: str = ""  # why it cannot be read


@dataclass(frozen=True)
class Sparkline:
    """A value over time, drawn; positions are those of a picture of ``width`` x ``height``."""

    points: str
    at: Ends
    text: str
    width: float = _WIDTH
    height: float = _HEIGHT


@dataclass(frozen=True)
class _RunRow:
    run: IndexedRun
    question: str
    model: str
    kind: str
    created: str
    when: str
    headline: str
    kicker: str
    beyond: int
    spark: Sparkline | None


def render_index(runs: Sequence[IndexedRun], *, title: str) -> str:
    """The page over some runs, newest first; it makes no network request."""
    rows = sorted(_rows(runs), key=lambda row: (row.created, row.run.folder), reverse=True)
    script = inline.own_script("index.js")
    return _template().render(
        title=title,
        rows=rows,
        unreadable=[run for run in runs if run.findings is None],
        style=inline.template_text("index.css"),
        script=script,
        hash=inline.script_hash(script),
    )


def _rows(runs: Sequence[IndexedRun]) -> list[_RunRow]:
    series = grouped((run for run in runs if run.findings is not None), _question)
    rows = []
    for members in series.values():
        ordered = sorted(members, key=lambda run: str(run.manifest.get("created") or ""))
        values = _values(ordered)
        rows += [_row(run, _sparkline(values, index)) for index, run in enumerate(ordered)]
    return rows


def _row(run: IndexedRun, spark: Sparkline | None) -> _RunRow:
    if run.findings is None:
        raise ValueError("this run cannot be read")
    manifest, overview = run.manifest, overview_of(run.findings, run.manifest)
    created = str(manifest.get("created") or "")
    return _RunRow(
        run=run,
        question=_question_text(manifest),
        model=words.subject(manifest) if manifest.get("model") or manifest.get("models") else "",
        kind=str(manifest.get("kind") or "run"),
        created=created,
        when=formats.moment(created) if created else "",
        headline=overview.title or formats.plural(len(run.findings), "finding"),
        kicker=overview.kicker,
        beyond=len(overview.beyond),
        spark=spark,
    )


def _question_text(manifest: Mapping[str, Any]) -> str:
    """The benchmark, or the table, and the groupings."""
    by = formats.listing(map(str, manifest.get("by") or []))
    about = str(manifest.get("benchmark") or "") or words.subject({**manifest, "model": None, "models": None})
    if manifest.get("kind") == "compare" and not manifest.get("benchmark"):
        about = "comparison"
    return f"{formats.shorten(about)} by {formats.shorten(by)}" if by else formats.shorten(about)


def _question(run: IndexedRun) -> tuple[str, ...]:
    """What runs share that ask one model, or one table, one thing at several times."""
    manifest, source = run.manifest, run.manifest.get("source")
    path = str(source.get("path") or "") if isinstance(source, Mapping) else ""
    subject = lineage_of(manifest) or path
    if not subject:
        return (run.folder,)  # nothing says whose predictions these are
    keys = ("kind", "benchmark", "truth", "prediction", "by", "parameters", "mode")
    return (*(str(manifest.get(key)) for key in keys), subject)


def _values(runs: Sequence[IndexedRun]) -> list[tuple[str, float]] | None:
    """Title and value of the last run's first primary that moves, at each time; None: not in every run."""
    last = runs[-1].findings
    lead = next(filter(_is_drawn, last or ()), None)
    if lead is None or len(runs) < 2:
        return None
    values = [_value_of(run, lead) for run in runs]
    return None if None in values else [(lead.card.title, value) for value in values if value is not None]


def _is_drawn(finding: Finding) -> bool:
    """A primary value that moves: how many lines are listed says little over time."""
    return finding.role == "primary" and finding.value is not None and finding.card.unit != "count"


def _value_of(run: IndexedRun, lead: Finding) -> float | None:
    return next((f.value for f in run.findings or () if f.metric == lead.metric), None)


def _sparkline(values: list[tuple[str, float]] | None, index: int) -> Sparkline | None:
    if values is None:
        return None
    numbers = [value for _, value in values]
    low, span = min(numbers), (max(numbers) - min(numbers)) or 1.0
    step = (_WIDTH - 2 * _MARGIN) / (len(numbers) - 1)
    points = [
        (
            round(_MARGIN + step * at, 1),
            round(_HEIGHT - _MARGIN - (value - low) / span * (_HEIGHT - 2 * _MARGIN), 1),
        )
        for at, value in enumerate(numbers)
    ]
    text = f"{values[0][0]}: {formats.number(numbers[0])} at first, {formats.number(numbers[index])} here"
    return Sparkline(" ".join(f"{x},{y}" for x, y in points), points[index], text)


@cache
def _template() -> jinja2.Template:
    return inline.page_environment().get_template("index.html.j2")
