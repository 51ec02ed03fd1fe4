"""What supports the first lines of each kind of finding.

Nothing is taken from sentences; where a run keeps its counts, mistakes and rates are counted again from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Any

from evenhand.core.findings import Finding, Part, ends_of
from evenhand.core.significance import p_among_all, significance_of
from evenhand.display.overview.phrasing import models_of
from evenhand.display.overview.subject import Subject
from evenhand.display.text.formatting import group_name, short_label
from evenhand.evidence.predictions.counts import Counts
from evenhand.report.checking.recounts import Pair, WrongRows, mistakes_and_rows, right_rows
from evenhand.report.checking.support import (
    Support,
    comparisons,
    names_of,
    numbers_of,
    plain_support,
    shown_p,
    texts_of,
)

_LINES = ("mistake", "miss")
_ENDS = (("first", "second"), ("best", "worst"), ("highest", "lowest"))
_NAMED = 3  # groups of a set that are named; the others are counted
_PIECES = ("gap", "mix", "errors")  # of what splits a lower accuracy
_FALSE_COVERAGE = 0.95  # of the intervals of listed lines as many hold, whatever level each has for that


def supports_of(finding: Finding, subject: Subject, counts: Counts | None) -> list[Support]:
    """All that a finding's first lines may be about."""
    make = _MAKERS.get(finding.card.first_line)
    names = frozenset(names_of(finding, subject))
    supports = list(make(finding, subject, counts)) if make else []
    return [
        replace(support, names=support.names | names)
        for support in supports or [plain_support(finding, subject)]
    ]


def _mistakes(finding: Finding, subject: Subject, counts: Counts | None) -> Iterator[Support]:
    """One for each mistake that is listed; of a finding without any the largest."""
    listed = [part for part in finding.parts if part.kind in _LINES]
    for part in listed:
        texts = [part.key] if isinstance(part.key, str) else list(part.key)
        label = texts[-1] if part.kind == "mistake" else None
        key = texts[0], texts[1 : 1 + len(finding.by)], label
        numbers = numbers_of(part.details, "a", "n", "b", "m")
        yield _mistake(finding, subject, counts, key, numbers, part)
    about = finding.details
    if not listed and isinstance(about.get("largest_group"), str):
        numbers = numbers_of(about, *(f"largest_{name}" for name in ("a", "n", "b", "m")))
        called = about.get("largest_prediction")
        group = str(about["largest_group"]).split(" · ")
        key = str(about["largest_truth"]), group, None if called is None else str(called)
        yield _mistake(finding, subject, counts, key, numbers, None)


def _mistake(
    finding: Finding, subject: Subject, counts: Counts | None,
    key: tuple[str, Sequence[str], str | None], numbers: Sequence[float], part: Part | None,
) -> Support:  # fmt: skip
    truth, groups, label = key
    recounted = None if counts is None else mistakes_and_rows(counts, finding.by, truth, groups, label)
    a, n, b, m = numbers
    first, rest = recounted or ((a, n), (b, m))
    is_spared = part is not None and part.details["direction"] == "less"
    difference = first[0] / first[1] - rest[0] / rest[1]
    excess = first[0] - first[1] * rest[0] / rest[1]
    certain = part.details.get("certain") if part else None
    bands = [
        end
        for share in finding.parts
        if share.kind == "share" and share.details.get("line") == (part.details["rank"] if part else 0.0)
        for end in ends_of(share.null) or ()
    ]
    in_rows = [side(end * first[1]) + step for end in bands for side in (floor, ceil) for step in (-1, 0, 1)]
    limits = numbers_of(finding.details, "largest_q")
    return Support(
        finding, part or finding, "share difference",
        who=short_label(" · ".join(groups)),
        mentions=(("truth", short_label(truth)), *([("label", short_label(label))] if label else [])),
        pairs=(first, rest),
        names=frozenset(filter(None, (truth, label, *groups, group_name(groups)))),
        shares=(difference, _FALSE_COVERAGE, *bands),
        numbers=(float(round(abs(excess))), float(floor(float(certain or 0.0) + 1e-9)), *in_rows),
        corrected_for=(*comparisons(finding), subject.questions),
        p=(*(shown_p(part) if part else limits), *shown_p(finding)),
        difference=difference,
        wrong_rows=WrongRows(tuple(finding.by), frozenset({tuple(groups)}), truth, label, is_spared),
    )  # fmt: skip


def _classes(finding: Finding, subject: Subject, counts: Counts | None) -> Iterator[Support]:
    """In how many rows of the group that stands apart the answers are others, and how many chance gives."""
    numbers = numbers_of(finding.details, "apart_moved", "apart_n", "apart_by_chance")
    group = finding.details.get("apart")
    if len(numbers) < 3 or not isinstance(group, str):
        return
    (moved, rows, by_chance), base = numbers, plain_support(finding, subject)
    yield replace(
        base,
        who=short_label(group),
        pairs=() if subject.is_weighted else ((float(round(moved)), float(round(rows))),),
        shares=(*base.shares, moved / rows, by_chance / rows),
        numbers=(*base.numbers, float(round(by_chance))),
    )


def _subgroups(finding: Finding, subject: Subject, counts: Counts | None) -> Iterator[Support]:
    """One for each: its mistakes beside those of all others, or beside what its classes would give."""
    for part in finding.parts:
        line, p = part.details, p_among_all(finding, part)
        names = ("mistakes", "rest_mistakes", "rest_n", "expected", "rate", "rest_rate")
        mistakes, rest_mistakes, rest_n, expected, rate, rest_rate = numbers_of(line, *names)
        first, rest = (mistakes, part.n), (rest_mistakes, rest_n)
        yield Support(
            finding, part, "share difference",
            who=short_label(line["group"]),
            pairs=(first, rest) if rate > rest_rate else (first,),
            names=frozenset({*texts_of(part.key), str(line["group"]), str(line["truth"])}),
            shares=(rate, rest_rate, _FALSE_COVERAGE, *numbers_of(line, "difference", "low", "high")),
            numbers=(float(round(expected)), *rest),
            corrected_for=(*comparisons(finding), subject.questions),
            p=() if p is None else (p,),
        )  # fmt: skip


def _rates(finding: Finding, subject: Subject, counts: Counts | None) -> Iterator[Support]:
    """One for each group, or each set of groups, that may be named, beside another one or all others."""
    source = subject.source(finding)
    kinds = {"group", "*".join(source.by)} if source.by else {part.kind for part in source.parts[:1]}
    parts = [part for part in source.parts if part.kind in kinds and part.value is not None]
    right = counts if source.card.made_of == "right rows" else None
    rates = {group_name(part.key): _rate_of(part, source, right) for part in parts}
    attribute = source.by[0] if len(source.by) == 1 else ""
    called = {group_name(part.key): subject.member(attribute or part.kind, part.key) for part in parts}
    if len(rates) < 2:
        return
    first, second = _compared_groups(
        finding, source, {name: rate.value for name, rate in rates.items()}, subject
    )
    base = plain_support(finding, subject)
    pooled = tuple(_pooled([rates[label] for label in labels]) for labels in (first, second))
    shares = tuple(_mean([rates[label] for label in labels]) for labels in (first, second))
    worse = first if shares[0] < shares[1] else second
    yield Support(
        finding, finding, (finding.card.of or finding.card).unit,
        who=called[first[0]] if len(first) == 1 else "",
        mentions=tuple(("", short_label(name)) for name in first[:_NAMED]) if len(first) > 1 else (),
        pairs=() if None in pooled else tuple(pair for pair in pooled if pair is not None),
        names=frozenset({*rates, *called.values()}),
        shares=(*shares, *base.shares, *_mix(finding, first, subject)),
        numbers=(*base.numbers, float(len(first) - _NAMED)),
        p=base.p,
        corrected_for=base.corrected_for,
        difference=shares[0] - shares[1],
        wrong_rows=None if right is None or len(first) + len(second) < len(rates) else WrongRows(
            tuple(source.by),
            frozenset(tuple(_as_list(part.key)) for part in parts if group_name(part.key) in worse),
        ),
    )  # fmt: skip


def _compared_groups(
    finding: Finding, source: Finding, values: Mapping[str, float], subject: Subject
) -> tuple[list[str], list[str]]:
    """The groups that have to be named, and those beside them.

    A set that stands apart; of two groups, or two ends that the finding names, the worse one; else the worst
    of all, or where the p is that of any group the worst of those that chance does not explain.
    """
    sets = [group_name(part.key) for part in finding.parts] if "side" in finding.details else []
    apart = [label for label in sets if label in values]
    if apart and 2 < len(values) > len(apart):
        return apart, [label for label in values if label not in apart]
    ends = [[str(finding.details.get(end)).replace("*", " · ") for end in names] for names in _ENDS]
    named_ends = (pair for pair in ends if set(pair) <= set(values) and len({*pair}) == 2)
    two = next(named_ends, list(values)[: 2 * (len(values) == 2)])
    among = two or list(values)
    is_any = finding.card.p_is_about == "groups" or source.card.p_is_about == "groups"
    if not two and is_any and significance_of(finding, subject.alpha).beyond:
        bands = {group_name(part.key): ends_of(part.null) for part in source.parts}
        outside = [
            label for label in among if (band := bands.get(label)) and not band[0] <= values[label] <= band[1]
        ]
        among = outside or among
    is_good = (source.card.parts_direction or source.card.direction) == "higher is better"
    first = (min if is_good else max)(among, key=values.__getitem__)
    return [first], [label for label in two or values if label != first]


def _mix(finding: Finding, group: Sequence[str], subject: Subject) -> list[float]:
    """What of a group's lower accuracy comes from its classes, and what from mistakes within them."""
    return [
        part.value
        for other in subject.findings
        if (other.by, other.model, other.params) == (finding.by, finding.model, finding.params)
        for part in other.parts
        if part.kind in _PIECES and [group_name(part.key)] == list(group) and part.value is not None
    ]


@dataclass(frozen=True)
class _Rate:
    """The rate of a group: its value, hits where they are whole, and rows."""

    value: float
    hits: float | None
    rows: float


def _as_list(key: Any) -> list[str]:
    return [key] if isinstance(key, str) else list(key)


def _rate_of(part: Part, source: Finding, right: Counts | None) -> _Rate:
    """From the counts where the rate is of right rows, else from what the part says."""
    value = float(part.value or 0.0)
    if right is not None and source.by and set(source.by) <= set(right.attributes) and not right.weighted:
        return _Rate(value, *right_rows(right, source.by, _as_list(part.key)))
    (rows,) = numbers_of(part.details, "n_of")[:1] or [part.n]
    (hits,) = numbers_of(part.details, "n_hits")[:1] or [value * rows]
    is_whole = abs(hits - round(hits)) <= 1e-6 * max(1.0, hits)
    return _Rate(value, float(round(hits)) if is_whole and rows > 0 else None, rows)


def _pooled(rates: Sequence[_Rate]) -> Pair | None:
    hits = [rate.hits for rate in rates if rate.hits is not None]
    return (sum(hits), sum(rate.rows for rate in rates)) if len(hits) == len(rates) else None


def _mean(rates: Sequence[_Rate]) -> float:
    return sum(rate.value * rate.rows for rate in rates) / sum(rate.rows for rate in rates)


def _changes(finding: Finding, subject: Subject, counts: Counts | None) -> Iterator[Support]:
    """The finding, and each of its parts: what two models have."""
    base = plain_support(finding, subject)
    holders: list[Finding | Part] = [finding, *finding.parts]
    for holder in holders:
        pair = numbers_of(holder.details, "first", "second")
        hits = numbers_of(holder.details, "first_hits", "second_hits")
        flips = numbers_of(holder.details, "n_gained", "n_lost")
        in_rows = [round(value * holder.n) for value in pair]
        who = "" if isinstance(holder, Finding) else subject.member(finding.grouping, holder.key)
        yield Support(
            finding, holder, base.unit, who=who,
            shares=tuple(pair),
            figures=_figures(finding, holder),
            better=_better(finding, holder),
            numbers=(holder.n, *pair, *hits, *flips, *in_rows),
            corrected_for=base.corrected_for,
            p=shown_p(holder),
        )  # fmt: skip


def _figures(finding: Finding, holder: Finding | Part) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """What each of two models has, in whatever way it is written."""
    figures = []
    for name, model in zip(("first", "second"), models_of(finding), strict=True):
        values = numbers_of(holder.details, name, f"{name}_hits")
        in_rows = [round(value * holder.n) for value in values[:1]]
        # of numbers, how many rows are better with the first
        gained = numbers_of(holder.details, "n_gained") if name == "first" else []
        figures.append((model, (*values, *in_rows, *gained)))
    return tuple(figures)


def _better(finding: Finding, holder: Finding | Part) -> float | None:
    """How much better the first of two models is, by its values and by which of them are good."""
    card = finding.card.of or finding.card
    direction = (card.parts_direction or card.direction) if isinstance(holder, Part) else card.direction
    good = {"lower is fairer": -1.0, "higher is fairer": 1.0, "higher is better": 1.0}.get(direction)
    if card.unit == "outcome" and card.direction == "descriptive":
        good = {"low": -1.0, "high": 1.0}.get(str(finding.params.get("better")))
    pair = numbers_of(holder.details, "first", "second")
    return good * (pair[0] - pair[1]) if good and len(pair) == 2 else None


def _nearer(details: Mapping[str, Any], share: str) -> list[float]:
    """Pairs of items in which the first, or the second, lies nearer, and all of them."""
    numbers = numbers_of(details, share, "n_x", "n_y")
    if len(numbers) < 3:
        return []
    auc, n_x, n_y = numbers
    return [auc * n_x * n_y, (1 - auc) * n_x * n_y, n_x * n_y]


def _pairs(finding: Finding, subject: Subject, counts: Counts | None) -> Iterator[Support]:
    """In how many pairs the set that its value favours lies nearer."""
    numbers, targets = _nearer(finding.details, "auc"), finding.params.get("targets")
    if not numbers or not isinstance(targets, list) or finding.value is None:
        return
    turned, attributes = finding.value < 0, finding.params.get("attributes")
    attributes = attributes if isinstance(attributes, list) else []
    hits = numbers[turned]
    yield Support(
        finding, finding, None,
        who=short_label(targets[turned]),
        mentions=(
            ("far", short_label(targets[not turned])),
            *(("to", short_label(name)) for name in attributes[:1]),
        ),
        pairs=((round(2 * hits) / 2, numbers[2]),),
        corrected_for=(subject.questions,),
        p=shown_p(finding),
    )  # fmt: skip


def _reductions(finding: Finding, subject: Subject, counts: Counts | None) -> Iterator[Support]:
    """The same before a mitigation, and after it."""
    before, after = (_nearer(finding.details, f"auc_{when}") for when in ("before", "after"))
    targets = finding.params.get("targets")
    if not before or not after or not isinstance(targets, list):
        return
    d = numbers_of(finding.details, "before", "after")
    turned = bool(d) and d[0] < 0
    hits, later = before[turned], after[turned]
    yield Support(
        finding, finding, None,
        who=short_label(targets[turned]),
        pairs=((round(2 * hits) / 2, before[2]),),
        numbers=(round(2 * later) / 2, *d, *(-value for value in d)),
        corrected_for=(subject.questions,),
        p=shown_p(finding),
    )  # fmt: skip


def _rankings(finding: Finding, subject: Subject, counts: Counts | None) -> Iterator[Support]:
    """Whose samples take how many of the first places; or in how many rankings each of two groups leads."""
    base = plain_support(finding, subject)
    for other in subject.findings:
        groups, k = other.params.get("groups"), other.params.get("k")
        is_alike = all(other.params.get(name, value) == value for name, value in finding.params.items())
        same = is_alike and (other.by, other.model) == (finding.by, finding.model)
        if not same or not isinstance(groups, list):
            continue
        tops = [numbers_of(part.details, *(f"top_{name}" for name in groups)) for part in other.parts]
        tops = [pair for pair in tops if len(pair) == 2]
        if not tops or len(groups) != 2 or not isinstance(k, int):
            continue
        leads = [float(sum(pair[side] > pair[1 - side] for pair in tops)) for side in (0, 1)]
        places = float(sum(min(k, part.n) for part in other.parts if part.value is not None))
        places_of = [sum(pair[side] for pair in tops) for side in (0, 1)]
        sizes = [group.n for group in other.groups]
        in_words = (*leads, len(tops) - sum(leads), float(k), places, *places_of, *sizes, sum(sizes))
        shares = [number / places for number in places_of] + [
            size / sum(sizes) for size in sizes if sum(sizes)
        ]
        members = [subject.member(finding.grouping, str(name)) for name in groups]
        of_groups = [(who, (lead, taken)) for who, lead, taken in zip(members, leads, places_of, strict=True)]
        yield replace(
            base,
            numbers=(*base.numbers, *in_words),
            shares=(*base.shares, *shares),
            figures=tuple(of_groups),
        )


_MAKERS = {
    "mistakes": _mistakes, "subgroups": _subgroups, "rates": _rates, "classes": _classes, "changes": _changes,
    "pairs": _pairs, "reductions": _reductions, "rankings": _rankings,
}  # fmt: skip
