"""Headlines of a search over subgroups: who has more mistakes than the classes of their rows give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.core.findings import Finding, Part
from evenhand.core.significance import p_among_all
from evenhand.display.overview.content import Chart, Headline, Mark
from evenhand.display.overview.phrasing import AGAIN, capital, corrected_difference, shared_with
from evenhand.display.overview.subject import Subject
from evenhand.display.text.disparities import ELSEWHERE
from evenhand.display.text.formatting import count, of, p_phrase, plural, points, short_label
from evenhand.display.text.language import _
from evenhand.display.text.statement import Statement
from evenhand.display.text.subgroups import search_sentence, subgroup_headline, subgroup_sentence

_NUMBERS = ("mistakes", "rate", "rest_mistakes", "rest_n", "rest_rate", "expected")
_SEVERAL = 2
_TIER = 0.45  # after mistakes and rates of groups


def headlines(finding: Finding, subject: Subject) -> list[Headline]:
    """One for each listed subgroup that is beyond chance among all questions of the run, too."""
    return [_headline(finding, part, p, subject) for part, p in _beyond(finding, subject)]


def _beyond(finding: Finding, subject: Subject) -> list[tuple[Part, float]]:
    """Subgroups with their p among all questions of the run, where it is small."""
    tested = [(part, p_among_all(finding, part)) for part in finding.parts]
    return [(part, p) for part, p in tested if p is not None and p <= subject.alpha]


def silence(findings: Sequence[Finding], subject: Subject) -> list[str]:
    """Why no subgroup is listed; nothing where that is hidden."""
    texts = []
    for finding in findings:
        if "status" in finding.details:
            texts.append(search_sentence(finding.details, finding.by, noun=subject.noun))
        if any(part.p_adjusted is not None for part in finding.parts) and not _beyond(finding, subject):
            texts.append(
                _(
                    "No subgroup stands out beyond chance, corrected for all questions of this run ({p}).",
                    p=p_phrase(finding.p_adjusted),
                )
            )
    return [text for text in texts if text]


def nothing(findings: Sequence[Finding], subject: Subject) -> str:
    """That no subgroup is beyond chance."""
    return _(
        "No subgroup of {noun} has more mistakes than its classes give, beyond chance.", noun=subject.noun
    )


def _headline(finding: Finding, part: Part, p: float, subject: Subject) -> Headline:
    line = {"n": part.n, **part.details}
    truth = "" if line["truth"] is None else Statement.joined((short_label(line["truth"]), subject.noun))
    hits, rate, rest, rest_n, rest_rate, expected = (float(str(line[name])) for name in _NUMBERS)
    marks = (
        Mark(str(line["group"]), rate, of(hits, part.n), named=True, beyond=True),
        Mark(_(ELSEWHERE), rest_rate, of(rest, rest_n)),
    )
    rows = _rows(finding, part, subject)
    return Headline(
        text=subgroup_headline(line, noun=subject.noun),
        sentence=subgroup_sentence(line, noun=subject.noun),
        size=_size(part),
        chance=_(
            "Its classes would give {n} of the {rows}.",
            n=count(round(expected)),
            rows=count(part.n),
        ),
        certainty=_("{p}, corrected for {compared}.", p=p_phrase(p), compared=_tested(finding, subject)),
        by=finding.grouping,
        beyond=True,
        metric=finding.metric,
        weight=_weight(part),
        chart=Chart(_("{rows} that are wrong", rows=truth or capital(subject.noun)), marks),
        steps=(
            _("Read the {n} {noun}: what sets them apart?", n=count(hits), noun=subject.noun),
            _(AGAIN),
        ),
        rows=rows,
        cases=hits if rows else 0.0,
        name=f"{finding.metric} {finding.parts.index(part) + 1}",
        shared=shared_with(part.details),
    )


def _weight(part: Part) -> tuple[float, ...]:
    """Of crossed values: among mistakes of groups, by certain rows; else after what groupings say."""
    low, is_crossed = part.details.get("low"), " · " in str(part.details["attributes"])
    certain = part.n * max(low, 0.0) if isinstance(low, float) else 0.0
    return (1.0 if is_crossed else _TIER), certain, (part.value or 0.0) * part.n


def _tested(finding: Finding, subject: Subject) -> str:
    tested = finding.details.get("tested")
    subgroups = plural(tested, "subgroup") if isinstance(tested, float) else _("all subgroups")
    if finding.role != "primary" or subject.questions < _SEVERAL:
        return subgroups
    return _("{subgroups} and {n} questions of this run", subgroups=subgroups, n=count(subject.questions))


def _size(part: Part) -> str:
    """How much more than elsewhere, with its interval; without one, how much more than its classes give."""
    details = [part.details.get(name) for name in ("difference", "low", "high")]
    numbers = [number for number in details if isinstance(number, float)]
    if len(numbers) < len(details):
        return _("{points} more than its classes give.", points=points(part.value or 0.0))
    difference, *ends = numbers
    than = _("more than elsewhere" if difference > 0 else "fewer than elsewhere")
    return corrected_difference(difference, (ends[0], ends[1]), than)


def _rows(finding: Finding, part: Part, subject: Subject) -> Mapping[str, str]:
    """Conditions on the columns of the user's table; none where wrong rows of all classes are meant."""
    truth = part.details["truth"]
    keys = [part.key] if isinstance(part.key, str) else part.key[0 if truth is None else 1 :]
    pairs = [(name, key) for key in keys for name in finding.by if key.startswith(f"{name} = ")]
    if truth is None or len(pairs) != len(keys):  # or a name could be read in two ways
        return {}
    conditions = {name: f"={key.removeprefix(f'{name} = ')}" for name, key in pairs}
    return {subject.truth: f"={truth}", **conditions, subject.prediction: f"!{truth}"}
