"""What all forms of headlines share: how much, what chance gives, how sure, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from evenhand.core.cards import SHARES, MetricCard
from evenhand.core.findings import SHARED, Details, Ends, Finding, Part
from evenhand.core.significance import ALPHA, excludes, is_beyond, p_shown, reference_of, significance_of
from evenhand.display.overview.content import NOT_TESTED, Chart, Headline
from evenhand.display.overview.subject import Subject
from evenhand.display.text.disparities import share
from evenhand.display.text.formatting import (
    count,
    level_number,
    listing,
    model_name,
    p_phrase,
    p_value,
    shorten,
)
from evenhand.display.text.language import _
from evenhand.display.text.reasons import explain, verdict_text
from evenhand.display.text.rounding import Rounding
from evenhand.display.text.statement import Statement, reworded

Holder = Finding | Part
_ROUNDING = 1e-6
_FEW = 2
_LARGE = 0.25  # a difference of rates; where only larger ones would have shown, silence says nothing
_FEWEST_UNITS = 10
NEAR = 0.006
"""How far a rate may be from its counts: paper mode rounds to per cent."""

LARGEST = "Of {n} questions that are within chance the largest: {largest}"
NO_VALUE = "{title} has no value: {reason}."
NOTHING_BY = "Nothing differs by {groups} beyond chance."
AGAIN = "After a change, run again and type: evenhand compare OLD NEW"


def title_of(finding: Finding) -> str:
    """What a metric is called; one that compares models by the metric that is compared."""
    return shorten((finding.card.of or finding.card).title)


def defined(finding: Finding) -> str:
    """The title of a metric; of a difference of shares with what is subtracted from what."""
    definition = _definition(finding)
    return f"{title_of(finding)}, {definition}" if definition else title_of(finding)


def _definition(finding: Finding) -> str:
    """What is subtracted from what, of models or of shares; empty where the title says it, or elsewhere."""
    card = finding.card
    if card.of is not None:
        first, second = models_of(finding)
        return _("{first} minus {second}", first=first, second=second)
    is_plain = card.unit == "share difference" and ", " not in title_of(finding)
    return card.summary.partition("; ")[0] if is_plain else ""


def models_of(finding: Finding) -> tuple[str, str]:
    """The models that a finding compares, as people call them."""
    model = finding.params.get("model") or finding.model or "the first model"
    reference = finding.params.get("reference") or finding.reference or "the second"
    return model_name(model), model_name(reference)


def amount(value: float, card: MetricCard) -> str:
    """A value that stands alone: in points where it is a share, else as a number."""
    return Rounding.of_numbers(value, card.unit).amount(value)


def size(holder: Holder, title: str, card: MetricCard, *, is_level: bool = False) -> str:
    """How much, with an interval, of the corrected value if there is one; ``is_level``: share in per cent."""
    if holder.value is None:
        return Statement.of("{title}: {reason}.", title=title, reason=why_missing(holder.reason))
    rounding = Rounding.of(holder, card.unit)
    write = rounding.level if is_level else rounding.amount
    plain = _("; {value} with it", value=write(holder.value)) if holder.corrected is not None else ""
    measured = with_interval(holder, rounding, write)
    return Statement.of("{title}: {measured}{plain}.", title=title, measured=measured, plain=plain)


def with_interval(holder: Holder, rounding: Rounding, write: Callable[[float], str]) -> str:
    """The value that leads, the corrected one where there is one, and the interval that is of it."""
    text = leading(holder, rounding, write)
    if holder.interval is None:
        return text
    level = level_number(holder.interval.level)
    return text + _(" ({level} % interval {ends})", level=level, ends=rounding.span(holder.interval))


def leading(holder: Holder, rounding: Rounding, write: Callable[[float], str]) -> str:
    """The value that leads: without what noise adds where that is known."""
    if holder.corrected is None:
        return write(holder.value or 0.0)
    return _("{amount} without what noise adds", amount=rounding.amount(holder.corrected))


def shared_with(details: Details) -> dict[str, float]:
    """How many rows of a line others have, too, by their names."""
    return {
        key.removeprefix(SHARED): value
        for key, value in details.items()
        if key.startswith(SHARED) and isinstance(value, float)
    }


def chance(holder: Holder, card: MetricCard, alpha: float = ALPHA) -> str:
    """What chance alone would give; empty where nothing says.

    A value outside its band that many comparisons explain has the band of one comparison: this is said.
    """
    if holder.null is None:
        return ""
    ends = Rounding.of(holder, card.unit).span(holder.null)
    alone = _(", in a single comparison") if _is_one_of_many(holder, alpha) else ""
    if card.unit in SHARES:
        return _("Chance alone would give {ends} points{alone}.", ends=ends, alone=alone)
    return _("Chance alone would give {ends}{alone}.", ends=ends, alone=alone)


def _is_one_of_many(holder: Holder, alpha: float) -> bool:
    """Whether a value lies outside its band, and is within chance after the correction for others."""
    if holder.null is None or holder.value is None or holder.p_adjusted in (None, holder.p_value):
        return False
    inside = holder.null.low <= holder.value <= holder.null.high
    return not inside and not is_beyond(holder, alpha)


def certainty(holder: Holder, subject: Subject) -> str:
    """p, corrected where it is, and for how many."""
    p = p_shown(holder)
    if p is None:
        return _(NOT_TESTED)
    texts = {"p": p_phrase(p), "counted": subject.counted}
    plain = Statement.of("{p}{counted}.", **texts)
    if isinstance(holder, Finding) and holder.role == "primary" and holder.p_adjusted is not None:
        if subject.hides_questions:
            return _("{p}, corrected for all questions of this run{counted}.", **texts)
        if n := subject.questions:
            many = _("{p}, corrected for {n} questions of this run{counted}.", **texts, n=count(n))
            return many if n > 1 else plain
    if holder.p_adjusted in (None, holder.p_value):
        return plain
    return _("{p}, corrected{counted}.", **texts)


def weight(holder: Holder, tier: float) -> tuple[float, ...]:
    """What orders headlines: their tier, how far the interval is from its reference, the value."""
    reference = reference_of(holder) or 0.0
    value = abs((holder.value or 0.0) - reference)
    if holder.interval is None or not excludes(holder.interval, reference):
        return tier, 0.0, value
    low, high = abs(holder.interval.low - reference), abs(holder.interval.high - reference)
    return tier, min(low, high), value


def whole_number(value: float | str | None) -> float | None:
    """A count that is a whole number, without what rounding leaves; None of anything else."""
    if not isinstance(value, int | float) or abs(value - round(value)) > _ROUNDING * max(1.0, abs(value)):
        return None
    return float(round(value))


def plain_counts(rates: Iterable[Ends]) -> list[str]:
    """A note where shares of counts, first of each pair, are not the values beside which they stand."""
    if all(abs(share - value) <= NEAR for share, value in rates):
        return []
    return [_("A dot is the mean that is tested, the counts beside it are plain.")]


def scoped(sentence: str, scope: str, end: str = ".") -> str:
    """A sentence, or the start of one, that says what tells its finding from others."""
    if not scope:
        return sentence
    start = reworded(sentence, sentence.removesuffix(end))
    return Statement.of("{sentence} ({scope}){end}", sentence=start, scope=scope, end=end)


def corrected_difference(difference: float, interval: Ends | None, than: str) -> str:
    """A difference of shares as a positive number of points, with its interval."""
    ends = None
    if interval is not None:
        low, high = interval
        ends = (low, high) if difference > 0 else (-high, -low)
    rounding = Rounding.of_numbers(abs(difference), "share difference", ends)
    within = ""
    if ends is not None:
        low_text, high_text = rounding.ends(ends)
        within = _(" (corrected 95 % interval {low} to {high})", low=low_text, high=high_text)
    size = rounding.amount(abs(difference))
    return Statement.of("{size} {than}{within}.", size=size, than=than, within=within)


def capital(text: str) -> str:
    """The start of a sentence; names of groups keep their first letter."""
    return reworded(text, text[:1].upper() + text[1:])


def quiet(findings: Sequence[Finding], subject: Subject) -> list[str]:
    """Sentences on findings of a metric without a headline; of many, one on the largest."""
    if len(findings) <= _FEW:
        return [_within_chance_sentence(finding, subject) for finding in findings]
    largest = max(findings, key=lambda finding: weight(finding, 0.0))
    return [
        _(
            LARGEST,
            n=len(findings),
            largest=_within_chance_sentence(largest, subject),
        )
    ]


def _within_chance_sentence(finding: Finding, subject: Subject) -> str:
    """Its value within chance, and what would have been noticed."""
    by = subject.about(finding)
    title = title_of(finding)
    title += _(" by {by}", by=by) if finding.by and by else ""
    scope, definition = subject.scope(finding), _definition(finding)
    title = scoped(title, scope, "")
    title += Statement.of(", {definition}", definition=definition) if definition else ""
    if finding.value is None:
        return _(NO_VALUE, title=title, reason=why_missing(finding.reason))
    text = Statement.of("{title}: {value}", title=title, value=leading_amount(finding))
    verdict = significance_of(finding, subject.alpha)
    if not verdict.side:
        return _("{text}, without a test.", text=text)
    p = Statement.of(" (p {p})", p=p_value(p_shown(finding))) if verdict.despite is None else ""
    side, power = verdict_text(verdict, "what chance alone gives"), _power(finding, subject)
    text = Statement.of("{text}, {verdict}{p}.", text=text, verdict=side, p=p)
    return Statement.joined((text, power))


def leading_amount(finding: Finding) -> str:
    """The value that leads, in a unit of the user's if there is one."""
    rounding = Rounding.of(finding, finding.card.unit)
    return leading(finding, rounding, in_unit(finding, rounding.amount))


def in_unit(finding: Finding, write: Callable[[float], str]) -> Callable[[float], str]:
    """How numbers are written that have a unit of the user's, such as years."""
    unit = finding.details.get("measured_in" if finding.card.of else "unit") or ""
    return lambda value: Statement.joined((write(value), str(unit)))


def why_missing(reason: str | None) -> str:
    """Why there is no value, in words alone."""
    code = reason or "undefined"
    return explain(code).removeprefix(f"{code}: ")


def _detectable(finding: Finding) -> tuple[float | None, float | None]:
    """The rate in one group, and that elsewhere, which would usually have shown; None: nothing says."""
    details = [finding.details.get(f"detectable_{name}") for name in ("rate", "others")]
    rate, others = (number if isinstance(number, float) else None for number in details)
    return rate, others


def _power(finding: Finding, subject: Subject) -> str:
    """What would usually have shown of a rate in one group; empty where nothing says."""
    (rate, others), n = _detectable(finding), finding.details.get("detectable_n")
    if finding.card.first_line != "rates" or others is None or not isinstance(n, float):
        return ""
    texts = {"n": count(n), "noun": subject.noun}
    if rate is None:
        return _("With {n} {noun} in a group hardly any rate would usually have shown.", **texts)
    return _(
        "In a group of {n} {noun} {rate} beside {others} elsewhere would usually have shown (4 times in 5).",
        **texts,
        rate=share(rate),
        others=share(others),
    )


def has_few_units(finding: Finding) -> bool:
    """Whether its rows are of so few clusters that no exchange of these says much."""
    units = finding.details.get("units")
    return bool(finding.by) and isinstance(units, float) and units < _FEWEST_UNITS


def _is_weak(finding: Finding) -> bool:
    """Whether only a very large difference between groups would usually have shown, or none could."""
    if has_few_units(finding):
        return True
    rate, others = _detectable(finding)
    if finding.card.first_line != "rates" or others is None:
        return False
    return rate is None or abs(others - rate) > _LARGE


def _too_few(finding: Finding, subject: Subject) -> str:
    """That rows are too few to say that nothing differs."""
    texts = {"n": count(finding.n), "noun": subject.noun, "by": subject.about(finding)}
    if finding.details.get("units") == 1:
        text = "All {n} {noun} are of one cluster, so that nothing says whether they differ by {by}."
        return _(text, **texts)
    rate, others = _detectable(finding)
    if has_few_units(finding) or rate is None or others is None:
        texts["noun"] += subject.units_of(finding)
        return _("{n} {noun} are too few to tell whether anything differs by {by}.", **texts)
    text = "{n} {noun} are too few to tell by {by}: only {rate} beside {others} would usually have shown."
    return _(text, **texts, rate=share(rate), others=share(others))


def nothing_by(findings: Sequence[Finding], subject: Subject) -> str:
    """That nothing is beyond chance, by whatever was asked about; or that rows are too few to say so."""
    weak = {finding.grouping: finding for finding in findings if _is_weak(finding)}
    strong = [finding for finding in findings if finding.grouping not in weak]
    names = list(dict.fromkeys(filter(None, map(subject.about, strong))))
    texts = [_too_few(finding, subject) for finding in weak.values()]
    if names:
        texts.insert(0, _(NOTHING_BY, groups=listing(names, "or")))
    return Statement.joined(texts) or _("Nothing measured is beyond chance.")


def of_finding(
    finding: Finding, subject: Subject, *, text: str, sentence: str, weight: tuple[float, ...],
    chart: Chart | None, scope: str = "", card: MetricCard | None = None, title: str = "", random: str = "",
) -> Headline:  # fmt: skip
    """A headline of a finding as a whole: how much, what chance gives and how sure are the finding's own.

    ``title`` is what is measured where its card says less, ``random`` what stands in the place of chance.
    """
    return Headline(
        text=text,
        sentence=sentence,
        size=size(finding, title or title_of(finding), card or finding.card, is_level=True),
        chance=random or chance(finding, card or finding.card, subject.alpha),
        certainty=certainty(finding, subject),
        by=finding.grouping,
        beyond=is_beyond(finding, subject.alpha),
        metric=finding.metric,
        weight=weight,
        chart=chart,
        scope=scope,
    )
