"""A comparison of models as the template needs it: the order by every measure, and what was paired."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.core.significance import is_beyond
from evenhand.display.text.formatting import (
    DASH,
    count,
    listing,
    number,
    percent,
    plain,
    plural,
    quoted,
    span,
)
from evenhand.display.text.language import _, filled, plural_of
from evenhand.display.text.parameters import in_words
from evenhand.report.chapters import Chapter, grouping_title
from evenhand.report.comparison import sentences as change_words
from evenhand.report.views.rows import STRIP_WIDTH, Strip

if TYPE_CHECKING:
    import polars

    from evenhand.core.findings import Finding, Findings

_PAD = 0.04


@dataclass(frozen=True)
class RankingEntry:
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
    places: Sequence[RankingEntry]


@dataclass(frozen=True)
class Ranked:
    """Everything about the order of models under one grouping."""

    title: str  # the grouping in words
    orders: Sequence[Order]  # one for each measure
    levels: Sequence[str]  # minimum expected values, as headings
    by_level: Sequence[Sequence[str]]  # for each model its name, then SkewSize and rank at each level
    outside: bool  # whether a value lies outside its interval


@dataclass(frozen=True)
class ComparisonView:
    """What the report shows of a comparison beside its findings."""

    warnings: Sequence[str]  # what may lie behind differences besides the models
    pairing: Sequence[Sequence[str]]  # first, second, how compared, samples, reason
    rankings: Sequence[Ranked]  # one for each grouping
    values: Sequence[Sequence[str]]  # findings side by side: headings, then rows


def comparison_of(
    manifest: Mapping[str, Any], tables: Mapping[str, polars.DataFrame], findings: Findings
) -> ComparisonView | None:
    """The comparison that a run is; None for other runs."""
    if manifest.get("kind") != "compare":
        return None
    pairing = [
        (
            row["model"],
            row["reference"],
            filled(row["compared"]),
            count(row["samples"]),
            filled(row["reason"] or ""),
        )
        for row in _rows(tables, "pairing")
    ]
    groupings = dict.fromkeys(row["by"] for row in _rows(tables, "ranking"))
    return ComparisonView(
        [filled(str(warning)) for warning in manifest.get("warnings") or []],
        pairing,
        [_ranked(str(by), tables, findings) for by in groupings],
        _side_by_side(_rows(tables, "values"), findings),
    )


def question_text(manifest: Mapping[str, Any], tables: Mapping[str, polars.DataFrame]) -> str:
    """What was compared, on how many samples; empty for other runs."""
    if manifest.get("kind") != "compare":
        return ""
    models = listing(quoted(model) for model in manifest.get("models") or [])
    benchmark = ""
    if manifest.get("benchmark"):
        benchmark = _(" on the benchmark {name}", name=quoted(manifest["benchmark"]))
    return _(
        "evenhand compared {models}{benchmark}{samples}. The question: {question}",
        models=models,
        benchmark=benchmark,
        samples=_on(tables),
        question=_question(tables),
    )


def _question(tables: Mapping[str, polars.DataFrame]) -> str:
    if "values" in tables:  # answers of other kinds, of which right ones are only some
        return _("where do they differ, and is that more than noise?")
    return _("which is right more often, which treats groups more alike, and is that more than noise?")


def _on(tables: Mapping[str, polars.DataFrame]) -> str:
    """How many samples both models of a pair answered."""
    pairing = _rows(tables, "pairing")
    samples = sorted(row["samples"] for row in pairing if row["samples"] is not None)
    if not samples:
        return _(", on samples that could not be paired") if pairing else ""
    low, high = count(samples[0]), count(samples[-1])
    many = plural(samples[0], "sample")
    if low != high:
        many = _("{low} to {high} samples", low=low, high=high)
    some = ""
    if len(samples) < len(pairing):
        some = _(" in {n} of {pairs}", n=len(samples), pairs=plural(len(pairing), "pair"))
    return _(
        ", on {samples} that both answered{some}"
        if len(pairing) == 1
        else ", on {samples} that both of a pair answered{some}",
        samples=many,
        some=some,
    )


def verdict(chapter: Chapter, alpha: float) -> str:
    """Which model is better and fairer; empty for chapters without differences of models."""
    tested = _tested(chapter)
    pairs = dict.fromkeys((difference.model, difference.reference) for difference in tested)
    if not tested:
        return ""
    if len(pairs) == 1:
        return change_words.of_one_pair(tested, alpha)
    beyond = [difference for difference in tested if is_beyond(difference, alpha)]
    if not beyond:
        apart = change_words.groups_apart(tested, alpha)
        return _(
            "None of {differences} over all rows is more than noise; in {groups} there is one between two "
            "models."
            if apart
            else "None of {differences} between models is more than noise. That does not prove that the "
            "models are alike.",
            differences=plural(len(tested), "difference"),
            groups=apart,
        )
    return plural_of(
        "{n} of {differences} between models is more than noise.",
        "{n} of {differences} between models are more than noise.",
        len(beyond),
        n=len(beyond),
        differences=plural(len(tested), "difference"),
    )


def finding_sentences(chapter: Chapter, alpha: float) -> list[str]:
    """The measures in which models differ; empty for chapters without differences of models."""
    tested = _tested(chapter)
    if not tested:
        return []
    differences = [finding for finding in chapter.findings if finding.name.endswith(change_words.SUFFIX)]
    if len({(difference.model, difference.reference) for difference in differences}) == 1:
        sentences = change_words.sentences(differences, alpha)
    else:
        sentences = change_words.of_many(differences, alpha)
    cautious = [finding for finding in chapter.findings if finding.details.get("compared") == "not paired"]
    if cautious:
        sentences.append(_("Some pairs could not be joined sample by sample; their tests are cautious."))
    return sentences


def _tested(chapter: Chapter) -> list[Finding]:
    """Differences of models that were tested; none where the chapter holds tested ones of another kind."""
    tested = [
        finding
        for finding in chapter.findings
        if finding.name.endswith(change_words.SUFFIX) and finding.p_adjusted is not None
    ]
    return tested if all("reference" in difference.params for difference in tested) else []


def _rows(tables: Mapping[str, polars.DataFrame], name: str) -> list[dict[str, Any]]:
    table = tables.get(name)
    return [] if table is None else table.to_dicts()


def _ranked(by: str, tables: Mapping[str, polars.DataFrame], findings: Findings) -> Ranked:
    own = [row for row in _rows(tables, "ranking") if row["by"] == by]
    shares = {
        (row["metric"], row["model"]): row["share"]
        for row in _rows(tables, "rank_shares")
        if row["by"] == by and row["rank"] == 1
    }
    orders = [
        Order(findings.card(metric).title, _places([row for row in own if row["metric"] == metric], shares))
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
    return Ranked(grouping_title(by.split("+")), orders, list(map(plain, levels)), lines, outside)


def _places(rows: Sequence[Mapping[str, Any]], shares: Mapping[tuple[str, str], float]) -> list[RankingEntry]:
    marks = [row[key] for row in rows for key in ("value", "low", "high") if row[key] is not None]
    low, high = (min(marks), max(marks)) if marks else (0.0, 1.0)
    pad = _PAD * (high - low) or 0.5
    ordered = sorted(rows, key=lambda row: row["rank"] if row["rank"] is not None else len(rows) + 1)
    return [
        _ranking_entry(row, shares.get((row["metric"], row["model"])), low - pad, high + pad)
        for row in ordered
    ]


def _ranking_entry(row: Mapping[str, Any], share: float | None, start: float, end: float) -> RankingEntry:
    def at(mark: float) -> float:
        return round((mark - start) / (end - start) * STRIP_WIDTH, 1)

    ends = (row["low"], row["high"]) if row["low"] is not None else None
    strip = None
    if row["value"] is not None:
        interval = (at(ends[0]), at(ends[1])) if ends else None
        strip = Strip(number(start), number(end), at(row["value"]), interval, None, None)
    return RankingEntry(
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
    value, rank, among = number(row["value"]), row["rank"], ranked[row["mev"]]
    return (
        _("{value} ({rank} of {n})", value=value, rank=rank, n=among)
        if among < models
        else f"{value} ({rank})"
    )


def _side_by_side(rows: Sequence[Mapping[str, Any]], findings: Findings) -> list[list[str]]:
    """Headings, then one line for each finding, with each run's value and interval."""
    if not rows:
        return []
    models = list(dict.fromkeys(row["model"] for row in rows))
    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        value = number(row["value"])
        ends = f" [{span(row['low'], row['high'])}]" if row["low"] is not None else ""
        lines.setdefault((findings.card(row["metric"]).title, row["by"], row["params"]), {})[row["model"]] = (
            value + ends
        )
    table_rows = [
        [_called(*key), *(values.get(model, DASH) for model in models)] for key, values in lines.items()
    ]
    return [[_("Finding"), *models], *table_rows]


def _called(title: str, by: str, params: str) -> str:
    """A finding in words: its title, grouping and parameters."""
    conditions = ", ".join(in_words(name, value) for name, value in json.loads(params).items())
    where = _(" by {by}", by=by) if by else ""
    return " ".join(filter(None, (f"{title}{where}", f"({conditions})" if conditions else "")))
