"""What may truly be said of a finding: who is named, which counts stand behind it, which numbers it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.core.cards import SHARES
from evenhand.core.findings import Finding, Part, ends_of
from evenhand.core.significance import p_shown
from evenhand.display.overview.subject import Subject
from evenhand.display.text.formatting import group_name, key_text
from evenhand.report.checking.recounts import Pair, WrongRows


@dataclass(frozen=True)
class Support:
    """What a headline, and the lines under it, may say."""

    finding: Finding
    holder: Finding | Part  # the finding or the part that has value, interval and p
    unit: str | None  # of its value, as of a card; None: it is written as a number
    who: str = ""  # what a headline with counts begins with; empty: nothing says
    mentions: tuple[tuple[str, str], ...] = ()  # what else it names: the place, empty for any, and the name
    pairs: tuple[Pair, ...] = ()  # the counts that it gives, in this order
    names: frozenset[str] = frozenset()  # labels and titles that may hold digits
    shares: tuple[float, ...] = ()  # further numbers that are written in per cent or points
    numbers: tuple[float, ...] = ()  # further numbers that are written as such
    p: tuple[float, ...] = ()  # the p that may stand beside it
    corrected_for: tuple[float, ...] = ()  # how many comparisons, or questions, these may be corrected for
    difference: float | None = None  # the first pair's share less the second's, if words say which is more
    figures: tuple[tuple[str, tuple[float, ...]], ...] = ()  # two names, numbers that may stand behind each
    better: float | None = None  # above 0: the first of these is better off, below: worse; None: nothing says
    wrong_rows: WrongRows | None = None  # the mistakes that it is of; None: of none, or nothing says

    @property
    def judged(self) -> Finding | Part:
        """What a verdict is on: of mistakes and rates the finding as a whole."""
        return self.finding if self.finding.card.first_line in ("mistakes", "rates") else self.holder

    @property
    def all_shares(self) -> set[float]:
        """All that may be written in per cent or points, of either sign: words may say which."""
        level = {band.level for band in (self.holder.interval, self.holder.null) if band is not None}
        values = set(_values(self.holder)) if self.unit in SHARES else set()
        of_pairs = {hits / rows for hits, rows in self.pairs if rows}
        return {sign * value for value in values | of_pairs | {*self.shares} for sign in (1, -1)} | level

    @property
    def all_numbers(self) -> set[float]:
        """All that may be written as a number."""
        values = set(_values(self.holder)) if self.unit not in SHARES else set()
        in_pairs = {number for pair in self.pairs for number in pair}
        return (
            {sign * value for value in values for sign in (1, -1)}
            | in_pairs
            | {*self.numbers, *self.p, *self.corrected_for}
        )


def names_of(finding: Finding, subject: Subject) -> Iterator[str]:
    """Whatever a sentence may call by name."""
    for holder in (finding, subject.source(finding)):
        card = holder.card.of or holder.card
        yield from (holder.card.title, card.title, card.summary.partition("; ")[0])
        yield card.sentences.hits_of(subject.noun, holder.params)
        yield from (card.sentences.value, card.sentences.topic)
        yield from (key_text(group.key) for group in holder.groups)
        yield from (text for part in holder.parts for text in texts_of(part.key))
        yield from (str(value) for value in holder.details.values() if isinstance(value, str))
    yield subject.scope(finding)
    yield subject.about(finding)
    yield from finding.by
    yield from (subject.cluster, subject.noun, subject.truth, subject.prediction, *subject.models)
    for value in finding.params.values():
        yield from map(str, value if isinstance(value, list) else [value])


def texts_of(key: Any) -> Sequence[str]:
    """The texts of a key, and how they are joined where it has several."""
    return [key, key_text(key)] if isinstance(key, str) else [*key, key_text(key), group_name(key)]


def _values(holder: Finding | Part) -> Iterator[float]:
    """The numbers that a finding or part has of its own."""
    bands = [*(ends_of(holder.interval) or ()), *(ends_of(holder.null) or ())]
    for value in (holder.value, holder.corrected, holder.chance_at, *bands):
        if value is not None:
            yield value


def shown_p(holder: Finding | Part) -> tuple[float, ...]:
    """The p that a verdict rests on, if there is one."""
    p = p_shown(holder)
    return () if p is None else (p,)


def comparisons(finding: Finding) -> list[float]:
    """How many comparisons a p is corrected for."""
    return numbers_of(finding.details, "tested")


def numbers_of(details: Mapping[str, Any], *names: str) -> list[float]:
    """Details that are numbers."""
    values = [details.get(name) for name in names]
    return [float(value) for value in values if isinstance(value, int | float)]


def plain_support(finding: Finding, subject: Subject) -> Support:
    """By its value, and by what its details say."""
    details = [value for value in finding.details.values() if isinstance(value, float)]
    rows = [group.n for group in finding.groups] + [part.n for part in finding.parts]
    source = subject.source(finding)
    of_parts = [value for holder in (finding, source) for part in holder.parts for value in _values(part)]
    of_parts += [
        value for part in source.parts for value in part.details.values() if isinstance(value, float)
    ]
    row_numbers = [finding.n, sum(rows), sum(part.n for part in finding.parts), *rows, *details, *of_parts]
    others = [len(finding.parts), len(source.parts), subject.rows or 0.0]
    return Support(
        finding,
        finding,
        (finding.card.of or finding.card).unit,
        shares=(*of_parts, *details),
        numbers=(*row_numbers, *map(float, others)),
        p=shown_p(finding),
        corrected_for=(*comparisons(finding), subject.questions),
    )
