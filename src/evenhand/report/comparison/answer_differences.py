"""What a difference of models in answers is of, in words: pronouns, labels, rankings, associations."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.findings import Finding
from evenhand.display.text.formatting import listing, plural, quoted
from evenhand.display.text.parameters import in_words

_TOLD = {
    "association": "", "targets": "", "setting": "", "context": "", "template": "", "k": "k = ", "group": "",
    "groups": "", "match": "same ", "threshold": "from confidence ", "reading": "",
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
    for key, before in _TOLD.items():
        value = finding.params.get(key)
        if value is not None:
            plain = value if isinstance(value, list) else [in_words(key, value) if key in _FACETS else value]
            names = [str(name) for name in plain]
            conditions.append(
                before + " and ".join(quoted(name) if key == "targets" else name for name in names)
            )
    return f"{title} ({', '.join(conditions)})" if conditions else title


def untested(finding: Finding) -> str:
    """Why a difference has no p: it is tested under another grouping, or not at all."""
    again = of_answers(finding) and any("where it is tested" in note for note in finding.notes)
    return "tested under another grouping, where it is the same" if again else "not tested"


def none_of(tested: Sequence[Finding]) -> str:
    """That nothing tested here is more than noise; empty for differences of predictions."""
    if not of_answers(tested[0]):
        return ""
    return f"None of {plural(len(tested), 'difference')} tested here is more than noise."


def surest(beyond: Sequence[Finding], tested: int) -> str:
    """How many differences are more than noise, and in what the surest ones are."""
    first = sorted(beyond, key=lambda difference: difference.p_adjusted or 0.0)[:_SHOWN]
    verb = "is" if len(beyond) == 1 else "are"
    more = "" if len(beyond) <= _SHOWN else f", and {len(beyond) - _SHOWN} more"
    names = (
        listing([called(difference) for difference in first])
        if not more
        else ", ".join(called(difference) for difference in first)
    )
    return f"{len(beyond)} of {plural(tested, 'difference')} {verb} more than noise: {names}{more}."
