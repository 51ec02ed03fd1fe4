"""What a difference of models in answers is of, in words: pronouns, labels, rankings, associations."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.findings import Finding
from evenhand.display.text.formatting import listing, plural, quoted
from evenhand.display.text.language import _, digits, plural_of
from evenhand.display.text.parameters import in_words
from evenhand.display.text.statement import Slot, Statement, bracketed

_TOLD = {
    "association": "{value}", "targets": "{value}", "setting": "{value}", "context": "{value}",
    "template": "{value}", "k": "k = {value}", "group": "{value}", "groups": "{value}",
    "match": "same {value}", "threshold": "from confidence {value}", "reading": "{value}",
}  # fmt: skip
_FACETS = ("setting", "context", "template", "reading")
_SHOWN = 3


def of_answers(finding: Finding) -> bool:
    """Whether a difference is of answers that are not predictions."""
    return "unit" in finding.details


def called(finding: Finding) -> str:
    """A difference's title, with what tells it from others of its metric where it is of answers."""
    title = (finding.card.of or finding.card).title
    if not of_answers(finding):
        return title
    conditions = []
    for key, text in _TOLD.items():
        value = finding.params.get(key)
        if value is not None:
            plain = value if isinstance(value, list) else [in_words(key, value) if key in _FACETS else value]
            names = [
                Slot(digits(str(name)), name) if isinstance(name, int | float) else str(name)
                for name in plain
            ]
            names = list(map(quoted, names)) if key == "targets" else names
            conditions.append(_(text, value=Statement.joined(names, f" {_('and')} ")))
    return title + bracketed(Statement.joined(conditions, ", "))


def untested(finding: Finding) -> str:
    """Why a difference has no p: it is tested under another grouping, or not at all."""
    again = of_answers(finding) and any("where it is tested" in note for note in finding.notes)
    return _("tested under another grouping, where it is the same" if again else "not tested")


def none_of(tested: Sequence[Finding]) -> str:
    """That nothing tested here is more than noise; empty for differences of predictions."""
    if not of_answers(tested[0]):
        return ""
    return _(
        "None of {differences} tested here is more than noise.",
        differences=plural(len(tested), "difference"),
    )


def surest(beyond: Sequence[Finding], tested: int) -> str:
    """How many differences are more than noise, and in what the surest ones are."""
    first = sorted(beyond, key=lambda difference: difference.p_adjusted or 0.0)[:_SHOWN]
    more = "" if len(beyond) <= _SHOWN else _(", and {n} more", n=len(beyond) - _SHOWN)
    titles = list(map(called, first))
    names = Statement.joined(titles, ", ") if more else listing(titles)
    return plural_of(
        "{n} of {differences} is more than noise: {names}{more}.",
        "{n} of {differences} are more than noise: {names}{more}.",
        len(beyond),
        n=len(beyond),
        differences=plural(tested, "difference"),
        names=names,
        more=more,
    )
