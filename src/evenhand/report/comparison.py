"""A comparison of models as the template needs it: the order by every measure, and what was paired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.report import glossary
from evenhand.report.chapters import Chapter, grouping_title
from evenhand.report.formats import DASH, count, listing, number, percent, plural, quoted, span
from evenhand.report.rows import STRIP_WIDTH, Strip

if TYPE_CHECKING:
    import polars

_SUFFIX = "_difference"
_PAD = 0.04


@dataclass(frozen=True)
class Place:
    """One model under one measure."""

    rank: str
    model: str
    value: str
    interval: str
    first: str
    strip: Strip | None


@dataclass(frozen=True)
class Order:
    """All models under one measure, the best first."""

    title: str
    places: Sequence[Place]


@dataclass(frozen=True)
class Ranked:
    """Everything about the order of models under one grouping.

    Attributes:
        title: The grouping in words.
        orders: One for each measure.
        levels: Minimum expected values, as headings.
        by_level: For each model its name, then SkewSize and rank at each level.
        outside: Whether a value lies outside its interval.
    """

    title: str
    orders: Sequence[Order]
    levels: Sequence[str]
    by_level: Sequence[Sequence[str]]
    outside: bool


@dataclass(frozen=True)
class Comparison:
    """What the report shows of a comparison beside its findings.

    Attributes:
        warnings: What may lie behind differences besides the models.
        pairing: First, second, how compared, samples, reason.
        rankings: One for each grouping.
        values: Findings side by side: headings, then rows.
    """

    warnings: Sequence[str]
    pairing: Sequence[Sequence[str]]
    rankings: Sequence[Ranked]
    values: Sequence[Sequence[str]]


def comparison_of(manifest: Mapping[str, Any], tables: Mapping[str, polars.DataFrame]) -> Comparison | None:
    """The comparison that a run is; None for other runs."""
    if manifest.get("kind") != "compare":
        return None
    pairing = [
        (row["model"], row["reference"], row["compared"], count(row["samples"]), row["reason"] or "")
        for row in _rows(tables, "pairing")
    ]
    groupings = dict.fromkeys(row["by"] for row in _rows(tables, "ranking"))
    return Comparison(
        [str(warning) for warning in manifest.get("warnings") or []],
        pairing,
        [_ranked(str(by), tables) for by in groupings],
        _side_by_side(_rows(tables, "values")),
    )


def asked(manifest: Mapping[str, Any]) -> str:
    """What was compared; empty for other runs."""
    if manifest.get("kind") != "compare":
        return ""
    models = [quoted(model) for model in manifest.get("models") or []]
    benchmark = f" on the benchmark {quoted(manifest['benchmark'])}" if manifest.get("benchmark") else ""
    return (
        f"evenhand compared {listing(models)}{benchmark} and asked: do the models differ by more than "
        "chance, and would their order stay the same?"
    )


def verdict(chapter: Chapter, alpha: float) -> str:
    """How many differences are beyond chance; empty for chapters without differences of models."""
    tested = [one for one in chapter.findings if one.name.endswith(_SUFFIX) and one.p_adjusted is not None]
    if not tested or not all("reference" in one.params for one in tested):
        return ""
    beyond = [one for one in tested if one.p_adjusted is not None and one.p_adjusted <= alpha]
    if not beyond:
        return (
            f"None of {plural(len(tested), 'difference')} between models is beyond chance. That does not "
            "prove that the models are alike."
        )
    verb = "is" if len(beyond) == 1 else "are"
    return f"{len(beyond)} of {plural(len(tested), 'difference')} between models {verb} beyond chance."


def found(chapter: Chapter, alpha: float) -> list[str]:
    """The measures in which models differ; empty for chapters without differences of models."""
    if not verdict(chapter, alpha):
        return []
    names: dict[str, list[bool]] = {}
    for one in chapter.findings:
        if one.p_adjusted is not None:
            names.setdefault(one.name, []).append(one.p_adjusted <= alpha)
    told = [
        f"{glossary.title(name)}: {sum(beyond)} of {plural(len(beyond), 'pair')} beyond chance."
        for name, beyond in names.items()
    ]
    cautious = [one for one in chapter.findings if one.details.get("compared") == "not paired"]
    if cautious:
        told.append("Some pairs could not be joined sample by sample; their tests are cautious.")
    return told


def _rows(tables: Mapping[str, polars.DataFrame], name: str) -> list[dict[str, Any]]:
    table = tables.get(name)
    return [] if table is None else table.to_dicts()


def _ranked(by: str, tables: Mapping[str, polars.DataFrame]) -> Ranked:
    own = [row for row in _rows(tables, "ranking") if row["by"] == by]
    shares = {
        (row["metric"], row["model"]): row["share"]
        for row in _rows(tables, "rank_shares")
        if row["by"] == by and row["rank"] == 1
    }
    orders = [
        Order(glossary.title(metric), _places([row for row in own if row["metric"] == metric], shares))
        for metric in dict.fromkeys(row["metric"] for row in own)
    ]
    mev = [row for row in _rows(tables, "mev_ranks") if row["by"] == by]
    models = dict.fromkeys(row["model"] for row in mev)
    levels = dict.fromkeys(row["mev"] for row in mev)
    ranked = {level: sum(row["mev"] == level and row["rank"] is not None for row in mev) for level in levels}
    lines = [
        [str(model), *(_with_rank(row, ranked, len(models)) for row in mev if row["model"] == model)]
        for model in models
    ]
    outside = any(row["low"] is not None and not row["low"] <= row["value"] <= row["high"] for row in own)
    return Ranked(grouping_title(by.split("+")), orders, [f"{one:g}" for one in levels], lines, outside)


def _places(rows: Sequence[Mapping[str, Any]], shares: Mapping[tuple[str, str], float]) -> list[Place]:
    marks = [row[key] for row in rows for key in ("value", "low", "high") if row[key] is not None]
    low, high = (min(marks), max(marks)) if marks else (0.0, 1.0)
    pad = _PAD * (high - low) or 0.5
    ordered = sorted(rows, key=lambda row: row["rank"] if row["rank"] is not None else len(rows) + 1)
    return [_place(row, shares.get((row["metric"], row["model"])), low - pad, high + pad) for row in ordered]


def _place(row: Mapping[str, Any], share: float | None, start: float, end: float) -> Place:
    def at(mark: float) -> float:
        return round((mark - start) / (end - start) * STRIP_WIDTH, 1)

    ends = (row["low"], row["high"]) if row["low"] is not None else None
    strip = None
    if row["value"] is not None:
        interval = (at(ends[0]), at(ends[1])) if ends else None
        strip = Strip(number(start), number(end), at(row["value"]), interval, None, None)
    return Place(
        rank=DASH if row["rank"] is None else str(row["rank"]),
        model=row["model"],
        value=number(row["value"]),
        interval=span(*ends) if ends else DASH,
        first=DASH if share is None else percent(round(share, 2)),
        strip=strip,
    )


def _with_rank(row: Mapping[str, Any], ranked: Mapping[float, int], models: int) -> str:
    """SkewSize and rank at a level, and of how many models where some have no value there."""
    if row["rank"] is None:
        return DASH
    among = f" of {ranked[row['mev']]}" if ranked[row["mev"]] < models else ""
    return f"{number(row['value'])} ({row['rank']}{among})"


def _side_by_side(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Headings, then one line for each finding, with each run's value and interval."""
    if not rows:
        return []
    models = list(dict.fromkeys(row["model"] for row in rows))
    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        value = number(row["value"])
        ends = f" [{span(row['low'], row['high'])}]" if row["low"] is not None else ""
        lines.setdefault((row["metric"], row["by"], row["params"]), {})[row["model"]] = value + ends
    told = [[_called(*key), *(values.get(model, DASH) for model in models)] for key, values in lines.items()]
    return [["Finding", *models], *told]


def _called(metric: str, by: str, params: str) -> str:
    """A finding in words: its title, grouping and parameters."""
    words = (glossary.title(metric), f"by {by}" if by else "", params if params != "{}" else "")
    return " ".join(filter(None, words))
