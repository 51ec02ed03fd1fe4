"""Seeds of one recipe, and one model at several times, as a comparison's report tells them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.core.figure import Figure
from evenhand.core.findings import Finding, Part, low_and_high
from evenhand.core.significance import is_line_beyond
from evenhand.core.unseen import visible
from evenhand.display.text.formatting import listing, number, quoted, span
from evenhand.display.text.language import _, lowered, plural_of
from evenhand.report import glossary
from evenhand.report.chapters import grouping_title
from evenhand.report.content import ReportInput
from evenhand.report.figures.page import FigurePart, figure_parts
from evenhand.report.views.frames import PageData, add_sheet

if TYPE_CHECKING:
    import polars

SPREAD = "_seed_spread"
_MOST_SENTENCES = 12
_MOST_LINES = 200
_MOST_DRAWN = 400  # points of a chart
_INTERVAL = "95% intervals of each run by its samples"


@dataclass(frozen=True)
class SeedView:
    """One section of a comparison's report."""

    id: str  # a stable anchor
    title: str
    lead: str  # what it shows
    sentences: Sequence[str]  # what was found
    parts: Sequence[FigurePart]  # a drawing, then a set table
    left: int  # lines of the table that are in its file only


def seed_views(content: ReportInput, data: PageData, alpha: float) -> list[SeedView]:
    """What a comparison says of seeds and of times, of other runs nothing; ``data`` gets what is drawn."""
    views = [_seeds(content, data), _times(content, data, alpha)]
    return [view for view in views if view is not None]


def _seeds(content: ReportInput, data: PageData) -> SeedView | None:
    spreads = [finding for finding in content.findings.findings if finding.name.endswith(SPREAD)]
    spreads.sort(key=lambda spread: spread.card.order)
    if not spreads:
        return None
    models = list(dict.fromkeys(str(spread.model) for spread in spreads))
    points = [row for spread in spreads for row in _points(spread, len(models) > 1)]
    lines = [_line(spread) for spread in spreads]
    columns = {"measure": "measure", "model": "model", "seeds": "seeds", "mean": "mean over seeds"}
    columns |= {"mean_interval": "interval of the mean", "spread": "spread of seeds"}
    columns |= {"spread_interval": "interval of the spread", "sampling": "sampling error of a run"}
    columns |= {"reason": "why not"} if any(row["reason"] for row in lines) else {}
    ends = {"mean_low": "mean low", "mean_high": "mean high", "low": "spread low", "high": "spread high"}
    figure = Figure(
        "dots", x="value", y="run", colour="model", facet="measure", low="low", high="high",
        independent=("x",), interval=_INTERVAL, columns=2,
        order={"run": tuple(dict.fromkeys(str(row["run"]) for row in points))},
    )  # fmt: skip
    return SeedView(
        "seeds",
        _("Seeds"),
        _lead(models, spreads),
        [_spread_sentence(spread) for spread in spreads if spread.value is not None][:_MOST_SENTENCES],
        _parts("seeds", figure, points, lines, columns, ends, data),
        max(len(lines) - _MOST_LINES, 0),
    )


def _lead(models: Sequence[str], spreads: Sequence[Finding]) -> str:
    sampled = any(spread.details.get("sampling_error") is not None for spread in spreads)
    coverage = _(
        "The sampling error is what other samples would do to one run. The interval of the mean counts both, "
        "and so do differences."
        if sampled
        else "The interval of the mean and of differences counts seeds, with the samples taken as given."
    )
    runs = plural_of(
        "{models} stands for several runs, which differ in the seed.",
        "{models} stand for several runs each, which differ in the seed.",
        len(models),
        models=listing(map(quoted, models)),
    )
    spread = _("The spread is the standard deviation between seeds: what training or drawing again gives.")
    return f"{runs} {spread} {coverage}"


def _measure(title: str, by: Sequence[str], params: Mapping[str, Any]) -> str:
    """A measure in words, with its grouping and what tells it from others."""
    more = ", ".join(
        f"{key} {value}" for key, value in params.items() if key not in ("model", "reference", "unit")
    )
    where = _(", by {grouping}", grouping=grouping_title(by)) if by else ""
    return visible(f"{title}{where}{f' ({more})' if more else ''}")


def _of(finding: Finding) -> str:
    return _measure((finding.card.of or finding.card).title, finding.by, finding.params)


def _points(finding: Finding, several: bool) -> list[dict[str, Any]]:
    return [_point(finding, part, several) for part in finding.parts if part.kind == "seed"]


def _point(finding: Finding, part: Part, several: bool) -> dict[str, Any]:
    ends = low_and_high(part.interval)
    seed = _("seed {name}", name=part.key)
    run = f"{finding.model}, {seed}" if several else seed
    names = {"measure": _of(finding), "model": str(finding.model), "run": run}
    return {**names, "value": part.value, "low": ends[0], "high": ends[1], "n": part.n, "reason": part.reason}


def _line(finding: Finding) -> dict[str, Any]:
    details = finding.details
    ends = {key: details.get(key) for key in ("mean_low", "mean_high")}
    low, high = ends.values()
    mean = span(low, high) if isinstance(low, float) and isinstance(high, float) else None
    bounds = low_and_high(finding.interval)
    return {
        **ends, "low": bounds[0], "high": bounds[1],
        "measure": _of(finding), "model": str(finding.model), "seeds": len(finding.parts) or None,
        "mean": details.get("mean"), "mean_interval": mean, "spread": finding.value,
        "spread_interval": span(finding.interval.low, finding.interval.high) if finding.interval else None,
        "sampling": details.get("sampling_error"),
        "reason": glossary.reason(finding.reason) if finding.reason else None,
    }  # fmt: skip


def _spread_sentence(finding: Finding) -> str:
    """How far seeds spread, beside what samples do."""
    sampling = finding.details.get("sampling_error")
    beside = ""
    if isinstance(sampling, int | float):
        beside = _("; other samples would move one run by {sampling}", sampling=number(float(sampling)))
    return _(
        "{measure}, {model}: another seed moves it by {spread} (standard deviation){beside}.",
        measure=_of(finding),
        model=quoted(finding.model),
        spread=number(finding.value),
        beside=beside,
    )


def _times(content: ReportInput, data: PageData, alpha: float) -> SeedView | None:
    table = content.tables.get("drift")
    if table is None or not content.manifest.get("over_time"):
        return None
    rows = [
        _dated(row, content.findings.card(str(row["metric"])).title) for row in table.iter_rows(named=True)
    ]
    moved = [row for row in rows if row["change"] is not None]
    moved.sort(key=lambda row: 2.0 if row["p_adjusted"] is None else row["p_adjusted"])
    columns = {"measure": "measure", "date": "date", "value": "value", "interval": "interval", "n": "rows"}
    columns |= {"since": "since", "change": "change", "change_interval": "interval of the change"}
    columns |= {"p_adjusted": "adjusted p"}
    ends = {"low": "low", "high": "high", "change_low": "change low", "change_high": "change high"}
    figure = Figure(
        "lines", x="date", y="value", facet="measure", low="low", high="high", independent=("y",), columns=2,
        order={"date": tuple(dict.fromkeys(str(row["date"]) for row in rows))},
        interval="95% intervals",
    )  # fmt: skip
    dates = [str(entry.get("date")) for entry in content.manifest.get("dates") or []]
    return SeedView(
        "over-time",
        _("Over time"),
        _(
            "Runs of {n} times ({dates}). Each is compared with the one before it; changes are later minus "
            "earlier.",
            n=len(dates),
            dates=listing(map(visible, dates)),
        ),
        _moved(moved, alpha),
        _parts("over-time", figure, rows, rows, columns, ends, data),
        max(len(rows) - _MOST_LINES, 0),
    )


def _dated(row: Mapping[str, Any], title: str) -> dict[str, Any]:
    by = [name for name in str(row["by"]).split("+") if name]
    bands = (row["low"], row["high"]), (row["change_low"], row["change_high"])
    intervals = [span(*ends) if None not in ends else None for ends in bands]
    measure = _measure(title, by, json.loads(row["params"]))
    return {**row, "measure": measure, "interval": intervals[0], "change_interval": intervals[1]}


def _moved(rows: Sequence[Mapping[str, Any]], alpha: float) -> list[str]:
    """Changes beyond noise, the surest first, and how many are no more than noise."""
    tested = [row for row in rows if row["p_adjusted"] is not None]
    sure = [
        row
        for row in tested
        if is_line_beyond(row["p_adjusted"], row["change_low"], row["change_high"], alpha)
    ]
    sentences = [_moved_by(row) for row in sure[:_MOST_SENTENCES]]
    within = len(tested) - len(sure)
    if within:
        sentences.append(
            plural_of(
                "{n} of {all} changes is no more than noise.",
                "{n} of {all} changes are no more than noise.",
                within,
                n=within,
                all=len(tested),
            )
        )
    if not tested:
        sentences.append(_("No change could be tested."))
    return sentences


def _moved_by(row: Mapping[str, Any]) -> str:
    change = row["change"] if row["change_corrected"] is None else row["change_corrected"]
    low, high = row["change_low"], row["change_high"]
    ends = ""
    if low is not None and low * high >= 0:
        ends = f" ({span(*sorted((abs(low), abs(high))))})"
    return _(
        "Since {since} (on {date}): {measure} rose by {size}{ends}, more than noise."
        if change > 0
        else "Since {since} (on {date}): {measure} fell by {size}{ends}, more than noise.",
        since=row["since"],
        date=row["date"],
        measure=f"{lowered(row['measure'], 1)}{',' if row['by'] else ''}",
        size=number(abs(change)),
        ends=ends,
    )


def _parts(
    name: str,
    figure: Figure,
    points: Sequence[Mapping[str, Any]],
    lines: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    ends: Mapping[str, str],
    data: PageData,
) -> list[FigurePart]:
    """A drawing of points, and a table of lines whose file holds all of them, with intervals as numbers."""
    parts: list[FigurePart] = []
    points_with_value = [row for row in points if row["value"] is not None]
    if 0 < len(points_with_value) <= _MOST_DRAWN:
        parts += figure_parts([figure], _frame(points_with_value), data.figures)
    table = _frame([{key: row[key] for key in columns} for row in lines])
    file_columns = {key: title for key, title in {**columns, **ends}.items() if not key.endswith("interval")}
    add_sheet(data, name, {title: [row[key] for row in lines] for key, title in file_columns.items()})
    setting = Figure(
        "table", levels=tuple(columns), titles=dict(columns), formats={"n": "count", "seeds": "count"}
    )
    return [*parts, *figure_parts([setting], table.head(_MOST_LINES), data.figures)]


def _frame(rows: Sequence[Mapping[str, Any]]) -> polars.DataFrame:
    import polars as pl

    return pl.DataFrame(list(rows), infer_schema_length=None)
