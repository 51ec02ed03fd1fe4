"""What the first lines of a run call things: its rows, columns and attributes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.core.findings import Finding, Key
from evenhand.core.nouns import Nouns, words_of
from evenhand.core.significance import ALPHA, alpha_of
from evenhand.display.text.formatting import (
    attribute,
    count,
    group_name,
    model_name,
    plural,
    short_label,
    shorten,
)
from evenhand.display.text.language import _, plural_of
from evenhand.display.text.parameters import in_words

_PLAIN = Nouns()


@dataclass(frozen=True)
class Subject:
    """What a run is about."""

    noun: str = "rows"  # what its rows are, in the plural
    nouns: Nouns = _PLAIN
    truth: str = "truth"
    prediction: str = "prediction"
    rows: float | None = None  # that were read; None: not known, or hidden
    cluster: str = ""  # the column of what was sampled as a whole; empty: rows are their own units
    is_weighted: bool = False  # by a column, or by their clusters
    alpha: float = ALPHA  # level of the tests
    is_audit: bool = False  # rows are those of a user's table, with their own columns
    question: str = ""  # what was asked of a model; empty: nothing says
    models: tuple[str, ...] = ()  # what was asked, as people call it
    order: tuple[str, ...] = ()  # models compared, the older first: the reference, then as typed, or by date
    matched: str = ""  # how rows of compared models were matched; empty: nothing says
    findings: tuple[Finding, ...] = ()  # all of the run: parts of one may hold what another compares
    hides_questions: bool = False  # answers to some questions are hidden, so that nobody can count them

    @classmethod
    def of(cls, manifest: Mapping[str, Any], findings: Iterable[Finding] = ()) -> Subject:
        """From the manifest of a run, and its findings."""
        words, is_audit = words_of(manifest), manifest.get("kind") == "audit"
        models = manifest.get("models") or [manifest.get("model")]
        order = sorted(map(str, models), key=lambda name: name != manifest.get("reference"))
        asks = _(words.asks) if words.asks else ""
        question = (asks[:1].upper() + asks[1:]) or str(manifest.get("benchmark") or "")
        rows = manifest.get("rows")  # a text where it is hidden
        return cls(
            noun=_(str(manifest.get("noun") or ("rows" if is_audit else words.nouns.sample[1]))),
            nouns=words.nouns,
            truth=str(manifest.get("truth") or "truth"),
            prediction=str(manifest.get("prediction") or "prediction"),
            rows=rows if isinstance(rows, int | float) else None,
            cluster=str(manifest.get("cluster") or ""),
            is_weighted=bool(manifest.get("weight") or manifest.get("cluster_weights") == "equal"),
            alpha=alpha_of(manifest),
            is_audit=is_audit,
            question=shorten(question, _QUESTION),
            models=tuple(model_name(model) for model in models if model),
            order=tuple(order),
            matched=matched_text(str(manifest.get("matched") or "")),
            findings=tuple(findings),
        )

    def is_turned(self, finding: Finding) -> bool:
        """Whether a difference is older minus newer model: of two, the one typed first is older."""
        places = {name: number for number, name in enumerate(self.order)}
        return places.get(str(finding.model), 0) <= places.get(str(finding.reference), 0)

    @property
    def questions(self) -> int:
        """How many a p of the run may be corrected for."""
        return sum(finding.role == "primary" and finding.p_value is not None for finding in self.findings)

    @property
    def counted(self) -> str:
        """What a p counts, where that is not the row."""
        return _(", counted by {unit}", unit=shorten(self.cluster)) if self.cluster else ""

    def units_of(self, finding: Finding) -> str:
        """How many units the rows of a finding come from; empty where rows are their own units."""
        n = finding.details.get("units")
        if not self.cluster or not isinstance(n, int | float):
            return ""
        name = attribute(_ID.sub("", self.cluster))
        if not name.replace(" ", "").isalpha():
            single, several = " of {n} value of {column}", " of {n} values of {column}"
            return plural_of(single, several, n, n=count(n), column=shorten(self.cluster))
        return _(" of {units}", units=plural(n, name, _many(name)))

    def attribute(self, grouping: str) -> str:
        """A grouping in words; columns of a user's table keep their names."""
        if self.is_audit:
            return grouping
        return " × ".join(map(self.nouns.attribute, grouping.split("+")))

    def about(self, finding: Finding) -> str:
        """What the groups of a finding are of; empty where it compares none."""
        if finding.by:
            return shorten(self.attribute(finding.grouping))
        parts = self.source(finding).parts
        return shorten(self.nouns.attribute(parts[0].kind)) if parts else ""

    def member(self, attribute: str, key: Key) -> str:
        """How a sentence calls a group: by the benchmark's noun for its members, else by its name."""
        groups = self.nouns.attributes[attribute].groups if attribute in self.nouns.attributes else {}
        if not isinstance(key, str):
            return short_label(group_name(key))
        return short_label(_(groups[key]) if key in groups else key)

    def source(self, finding: Finding) -> Finding:
        """The finding whose parts are shown beside another one, as its card says; else that one itself."""
        name = finding.card.parts_of
        for other in self.findings:
            same = other.by == finding.by and other.params.items() <= finding.params.items()
            if name and other.name == name and same:
                return other
        return finding

    def scope(self, finding: Finding, *, with_sets: bool = False) -> str:
        """Parameters that tell a finding from others of its metric and grouping that lead a run.

        ``with_sets``: the two sets of targets are named, too, which sentences on them name anyway.
        """
        others = [
            other.params
            for other in self.findings
            if (other.name, other.by) == (finding.name, finding.by) and other.role == finding.role
        ]
        differing = {
            name: value
            for name, value in finding.params.items()
            if (isinstance(value, str | int | float) or (with_sets and name == _SETS))
            and name not in _MODELS  # titles of differences name them
            and "=" not in str(value)  # another parameter says it in words
            and any(other.get(name) != value for other in others)
        }
        return " · ".join(filter(None, (_in_words(name, value) for name, value in differing.items())))


def matched_text(how: str) -> str:
    """How rows were matched: columns keep their names."""
    if how.startswith("matched by '"):
        return _("matched by {columns}", columns=how.removeprefix("matched by "))
    return how and _(how)


def _in_words(name: str, value: object) -> str:
    """A parameter in words; by its name where it has none of its own."""
    text = in_words(name, value)
    return f"{name} {value}".replace("_", " ") if text.startswith(f"{name}=") else text


def _many(noun: str) -> str:
    """The plural of a name of a column."""
    if noun.endswith("s"):
        return noun
    if noun.endswith(("x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun[-1:] == "y" and noun[-2:-1] not in _VOWELS else f"{noun}s"


_QUESTION = 160
_SETS, _MODELS = "targets", ("model", "reference")
_ID = re.compile(r"(?:[ _-]id|(?<=[a-z])I[dD])$")  # that a column holds names of something
_VOWELS = tuple("aeiou")
