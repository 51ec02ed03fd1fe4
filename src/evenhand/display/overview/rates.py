"""Headlines of rates: how many of a group's samples, and how many of another one's or elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evenhand.core.findings import N_WRONG, Ends, Finding, Part, ends_of
from evenhand.core.significance import is_beyond
from evenhand.display.overview import phrasing, values
from evenhand.display.overview.content import Chart, Headline, Mark
from evenhand.display.overview.phrasing import (
    AGAIN,
    NEAR,
    amount,
    capital,
    certainty,
    chance,
    defined,
    plain_counts,
    shared_with,
    size,
    title_of,
    weight,
    whole_number,
)
from evenhand.display.overview.subject import Subject
from evenhand.display.text.disparities import ELSEWHERE, mix_sentence, share, shares
from evenhand.display.text.formatting import count, first_of, group_name, key_text, of, short_label
from evenhand.display.text.language import _
from evenhand.display.text.rounding import Rounding
from evenhand.display.text.statement import Statement

_ENDS = (("first", "second"), ("best", "worst"), ("highest", "lowest"))
_PIECES = ("gap", "mix", "errors")  # of what splits a lower accuracy
_TIER = 0.5
_NAMED = 3  # groups of a set that are named


@dataclass(frozen=True)
class GroupRate:
    """The rate of a group, or of all others."""

    label: str
    name: str  # how a sentence calls it
    value: float
    hits: float | None  # None where the rate is no share of counted samples
    rows: float  # of how many
    by_chance: float | None = None  # the rate that chance alone gives this group; None: nothing says

    @property
    def share(self) -> float:
        """The share of its samples, which weights may set apart from the rate."""
        return self.value if self.hits is None else self.hits / self.rows

    @property
    def text(self) -> str:
        """Hits of rows; the share where nothing was counted."""
        return share(self.value) if self.hits is None else of(self.hits, self.rows)


def headlines(finding: Finding, subject: Subject) -> list[Headline]:
    """One: who has least of what is good, or most of what is not, beside the other end or all others."""
    pair = _pair(finding, subject)
    if pair is None:
        return values.headlines(finding, subject)
    worse, other = pair  # the group that is named, which a finding of sets may call better
    source, scope = subject.source(finding), subject.scope(finding)
    spoken = finding.card.sentences if finding.card.sentences.hits else source.card.sentences
    act = spoken.hits_of(subject.noun, finding.params)
    has_counts, beyond = None not in (worse.hits, other.hits), is_beyond(finding, subject.alpha)
    plain = _text(worse, other, act) if has_counts else _shares(worse, other, act)
    return [
        Headline(
            text=plain,
            sentence=phrasing.scoped(_sentence(worse, other, act) if has_counts else plain, scope),
            # within chance, what is said of the grouping says what is subtracted from what
            size=size(finding, defined(finding) if beyond else title_of(finding), finding.card),
            chance=_of_its_size(finding, source, worse)
            if beyond
            else chance(finding, finding.card, subject.alpha),
            certainty=certainty(finding, subject),
            by=finding.grouping,
            beyond=beyond,
            metric=finding.metric,
            weight=weight(finding, _TIER),
            chart=_chart(finding, source, pair, act, subject),
            steps=_steps(finding, worse, source, subject) if beyond else (),
            rows=_rows(finding, worse),
            scope=scope,
            group=worse.label,
            remark=_remark(finding, worse, subject) if beyond else "",
            mistakes=float(finding.details.get(N_WRONG) or 0.0),
            name=finding.metric,
            shared=shared_with(finding.details),
        )
    ]


def rates_of(source: Finding, subject: Subject) -> list[GroupRate]:
    """The groups' rates that a finding's parts hold."""
    attribute = source.by[0] if len(source.by) == 1 else ""
    return [
        GroupRate(
            group_name(part.key),
            subject.member(attribute or part.kind, part.key),
            part.value,
            *_counts(part),
            _by_chance(part),
        )
        for part in group_parts(source)
        if part.value is not None
    ]


def groups_beyond(findings: Iterable[Finding], subject: Subject) -> set[str]:
    """Names of the groups, as ``key_text`` writes them, whose accuracy a finding beyond chance is about."""
    names = set()
    for finding in findings:
        source = subject.source(finding)
        is_rates = finding.card.first_line == "rates" and source.card.made_of == "right rows"
        pair = _pair(finding, subject) if is_rates and is_beyond(finding, subject.alpha) else None
        labels = _labels(finding, pair, rates_of(source, subject)) if pair else set()
        names |= {
            key_text(part.key)
            for part in group_parts(source)
            if group_name(part.key) in labels and _stands_out(finding, part)
        }
    return names


def _stands_out(finding: Finding, part: Part) -> bool:
    """Whether what a finding says holds of one of its groups: of a set's, only outside its own band."""
    band = ends_of(part.null)
    is_of_set = "side" in finding.details and len(finding.parts) > 1
    return not (is_of_set and band is not None and _within(part.value, band))


def group_parts(source: Finding) -> list[Part]:
    """Parts that are groups; without a grouping those of the first kind."""
    kinds = {"group", "*".join(source.by)} if source.by else {part.kind for part in source.parts[:1]}
    return [part for part in source.parts if part.kind in kinds]


def _counts(part: Part) -> tuple[float | None, float]:
    rows = part.details.get("n_of", part.n)
    if not isinstance(rows, int | float) or part.value is None or rows <= 0:
        return None, part.n
    hits = whole_number(part.details.get("n_hits", part.value * rows))
    return hits, rows


def _by_chance(part: Part) -> float | None:
    """What chance gives a group, where groups differ in that: neighbours, by the mix of the database."""
    chance_of = part.details.get("chance")
    return chance_of if isinstance(chance_of, float) else None


def _pair(finding: Finding, subject: Subject) -> tuple[GroupRate, GroupRate] | None:
    """The two rates that a finding is about; None where its value is not theirs."""
    source = subject.source(finding)
    rates = rates_of(source, subject)
    if finding.value is None or len(rates) < 2 or any(rate.rows <= 0 for rate in rates):
        return None
    group_set = _set(finding, rates)
    if group_set and 2 < len(rates) > len(group_set):
        return _together(group_set), _rest(group_set, rates)
    ends = _named(finding, rates) or (rates if len(rates) == 2 else [])
    total, rows = sum(rate.value * rate.rows for rate in rates), sum(rate.rows for rate in rates)
    worse = _worst(ends or rates, source)
    other = next(rate for rate in ends if rate is not worse) if ends else _rest([worse], rates)
    distances = {abs(worse.value - other.value)} if ends else set()
    if not any(abs(abs(finding.value) - gap) < NEAR for gap in (*distances, abs(total / rows - worse.value))):
        return None
    if not ends and is_beyond(finding, subject.alpha) and source.card.p_is_about == "groups":
        worse = _surest(rates, source)
        other = _rest([worse], rates)
    return worse, other


def _is_good(source: Finding) -> bool:
    """Whether high rates are."""
    return (source.card.parts_direction or source.card.direction) == "higher is better"


def _worst(rates: Sequence[GroupRate], source: Finding) -> GroupRate:
    return (min if _is_good(source) else max)(rates, key=lambda rate: rate.value)


def _surest(rates: Sequence[GroupRate], source: Finding) -> GroupRate:
    """The worst group; where chance gives as much in one of its size, the worst of those it does not.

    The p of a gap is that of any group: a few rows with the lowest rate need not be what it is about.
    """
    bands = {group_name(part.key): ends_of(part.null) for part in group_parts(source)}
    outside = [
        rate
        for rate in rates
        if (band := bands.get(rate.label))
        and (rate.value < band[0] if _is_good(source) else rate.value > band[1])
    ]
    return _worst(outside or rates, source)


def _named(finding: Finding, rates: Sequence[GroupRate]) -> list[GroupRate]:
    """The two groups that a finding names; none where it names none."""
    labels = {rate.label.replace(" · ", "*"): rate for rate in rates}
    for ends in _ENDS:
        pair = [labels.get(str(finding.details.get(end))) for end in ends]
        if all(pair):
            return [rate for rate in pair if rate is not None]
    return []


def _set(finding: Finding, rates: Sequence[GroupRate]) -> list[GroupRate]:
    """The groups that a finding sets against all others; none where it names no set."""
    labels = {group_name(part.key) for part in finding.parts} if "side" in finding.details else set()
    return [rate for rate in rates if rate.label in labels]


def _labels(finding: Finding, pair: tuple[GroupRate, GroupRate], rates: Sequence[GroupRate]) -> set[str]:
    """The groups that a finding names, each by itself."""
    return {rate.label for rate in (*pair, *_set(finding, rates)) if rate.label}


def _together(rates: Sequence[GroupRate]) -> GroupRate:
    """Several groups as one."""
    if len(rates) == 1:
        return rates[0]
    names = [rate.name for rate in rates]
    name = first_of(names, _NAMED if len(names) > _NAMED + 1 else len(names))
    return _pooled(" + ".join(rate.label for rate in rates), name, rates)


def _rest(apart: Sequence[GroupRate], rates: Sequence[GroupRate]) -> GroupRate:
    left_out = set(apart)  # of thousands of groups half may be
    return _pooled("", _(ELSEWHERE), [rate for rate in rates if rate not in left_out])


def _pooled(label: str, name: str, rates: Sequence[GroupRate]) -> GroupRate:
    rows = sum(rate.rows for rate in rates)
    numbers = [rate.hits for rate in rates if rate.hits is not None]
    hits = sum(numbers) if len(numbers) == len(rates) else None
    return GroupRate(label, name, sum(rate.value * rate.rows for rate in rates) / rows, hits, rows)


def _of_its_size(finding: Finding, source: Finding, worse: GroupRate) -> str:
    """What chance gives; where smaller groups reach further by chance, what it gives in this group."""
    gap_band = ends_of(finding.null)
    parts = [
        part for part in group_parts(source) if group_name(part.key) == worse.label and part.null is not None
    ]
    group_band = ends_of(parts[0].null) if parts and source.card.unit == "share" else None
    if (
        gap_band is None
        or group_band is None
        or not _within(finding.value, gap_band)
        or _within(worse.value, group_band)
    ):
        return chance(finding, finding.card)
    ends = Rounding.of(parts[0], source.card.unit).span(group_band)
    return _("Chance alone would give {ends} % in a group of {rows}.", ends=ends, rows=count(worse.rows))


def _within(value: float | None, band: Ends) -> bool:
    return value is not None and band[0] <= value <= band[1]


def _remark(finding: Finding, worse: GroupRate, subject: Subject) -> str:
    """How much of a lower accuracy comes from the mix of classes; which group has a worse rate by chance."""
    if finding.details.get("side") == "better":
        return ""
    return Statement.joined((_mix(finding, worse, subject), _worse_by_chance(finding, worse, subject)))


def _worse_by_chance(finding: Finding, headed: GroupRate, subject: Subject) -> str:
    """That the worst group is not the one that is named; empty where it is."""
    source = subject.source(finding)
    rates = rates_of(source, subject)
    worst = _worst(rates, source)
    if worst.value == headed.value or finding.parts or _named(finding, rates):
        return ""
    text = "The worst group is {who}: {rate}, which chance alone can give in a group of {rows}."
    return _(text, who=worst.name, rate=worst.text, rows=count(worst.rows))


def _mix(finding: Finding, worse: GroupRate, subject: Subject) -> str:
    """How much of a lower accuracy comes from the mix of classes; empty where nothing says."""
    for other in subject.findings:
        values = {
            part.kind: part.value
            for part in other.parts
            if group_name(part.key) == worse.label and part.value is not None
        }
        of_same = (other.by, other.model, other.params) == (finding.by, finding.model, finding.params)
        if of_same and set(_PIECES) <= values.keys():
            return mix_sentence(*(values[kind] for kind in _PIECES))
    return ""


def _text(worse: GroupRate, other: GroupRate, act: str) -> str:
    return Statement.of(
        "{who}: {counts} {act}; {other} {other_counts}.",
        who=_who(worse), counts=worse.text, act=act, other=other.name, other_counts=other.text,
    )  # fmt: skip


def _sentence(worse: GroupRate, other: GroupRate, act: str) -> str:
    first, second = shares(worse.share, other.share)
    if worse.by_chance is not None and other.by_chance is not None:
        by_chance = shares(worse.by_chance, other.by_chance)
        first, second = (
            _("{share}; by chance {random}", share=text, random=random)
            for text, random in zip((first, second), by_chance, strict=True)
        )
    return Statement.of(
        "{who}: {counts} {act} ({share}); {other} {other_counts} ({other_share}).",
        who=_who(worse), counts=worse.text, act=act, share=first, other=other.name, other_counts=other.text,
        other_share=second,
    )  # fmt: skip


def _shares(worse: GroupRate, other: GroupRate, act: str) -> str:
    first, second = shares(worse.value, other.value)
    return _(
        "{who}: {share} of {act}; {other} {other_share}.",
        who=_who(worse),
        share=first,
        act=act,
        other=other.name,
        other_share=second,
    )


def _who(rate: GroupRate) -> str:
    """A noun of the benchmark starts a sentence; a name of the user's keeps its first letter."""
    is_users = rate.name == short_label(rate.label) or " + " in rate.label
    return rate.name if is_users else capital(rate.name)


def _chart(
    finding: Finding, source: Finding, pair: tuple[GroupRate, GroupRate], act: str, subject: Subject
) -> Chart:
    bands = source.card.p_is_about == "groups"
    rates = rates_of(source, subject)
    labels = _labels(finding, pair, rates)
    parts = [part for part in group_parts(source) if part.value is not None]
    marks = tuple(
        Mark(
            rate.label,
            rate.value,
            "" if rate.hits is None else rate.text,
            ends_of(part.interval),
            ends_of(part.null) if bands else None,
            rate.label in labels,
            rate.label in labels and is_beyond(finding, subject.alpha) and _stands_out(finding, part),
        )
        for part, rate in zip(parts, rates, strict=True)
    )
    band = _("chance alone: groups change places") if any(mark.null for mark in marks) else ""
    value = amount(finding.value or 0.0, finding.card)
    notes: list[str] = [Statement.of("{title}: {value}", title=title_of(finding), value=value)]
    notes += plain_counts((rate.share, rate.value) for rate in rates)
    return Chart(
        _("{title}, by {by}", title=capital(act), by=subject.about(finding)),
        marks,
        band,
        note=Statement.joined(notes, ". "),
    )


def _steps(finding: Finding, worse: GroupRate, source: Finding, subject: Subject) -> tuple[str, ...]:
    counts_neighbours = any("n_of" in part.details for part in group_parts(source))  # one sample, many times
    if worse.hits is None or finding.details.get("side") == "better" or counts_neighbours:
        return (_(AGAIN),)
    higher = source.card.direction == "higher is better"
    many = worse.rows - worse.hits if higher else worse.hits
    look = _(
        "Look through the {n} {noun} behind it: are their annotations right?",
        n=count(many),
        noun=subject.noun,
    )
    return (look, _(AGAIN)) if many else ()


def _rows(finding: Finding, worse: GroupRate) -> dict[str, str]:
    """The group's rows, where one column says which they are."""
    single = len(finding.by) == 1 and ("side" not in finding.details or len(finding.parts) == 1)
    return {finding.by[0]: f"={worse.label}"} if single else {}
