"""Findings put in reading order: one chapter per grouping, one list of everything left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.core.cards import MadeOf
from evenhand.core.findings import Finding, Part
from evenhand.core.frames import grouped
from evenhand.core.nouns import BenchmarkWords
from evenhand.display.text.formatting import attribute, quoted, shorten
from evenhand.display.text.language import _
from evenhand.report import glossary
from evenhand.report.facets import facet_title, facets_of

_PLAIN = BenchmarkWords()


@dataclass(frozen=True)
class Chapter:
    """All findings about one grouping, in reading order."""

    id: str  # a stable anchor for links
    title: str  # the grouping in words
    by: tuple[str, ...]
    findings: tuple[Finding, ...]  # known metrics first, in the order that their declarations give
    faceted: bool = False  # whether parameters, such as the template, distinguish chapters of one grouping
    words: BenchmarkWords = _PLAIN

    def first(self, name: str) -> Finding | None:
        """The first finding with this metric name."""
        return next((finding for finding in self.findings if finding.name == name), None)

    def made_of(self, what: MadeOf) -> Finding | None:
        """The first finding whose metric declares that it is made of this."""
        return next((finding for finding in self.findings if finding.card.made_of == what), None)

    @property
    def accuracy(self) -> Finding | None:
        """The finding whose parts are the groups' accuracies."""
        return self.made_of("right rows")

    @property
    def effect(self) -> Finding | None:
        """The finding whose parts are the classes' effect sizes."""
        return self.made_of("effects of classes")

    @property
    def classes(self) -> list[Part]:
        """The classes' effect sizes, estimable or not."""
        return _of_kind(self.effect, "class")

    @property
    def ranked(self) -> list[Part]:
        """The classes that have an effect size, highest first."""
        return _ranked(self.classes)

    @property
    def groups(self) -> list[Part]:
        """The groups' accuracies, estimable or not."""
        return _of_kind(self.accuracy, "group")

    @property
    def ranked_groups(self) -> list[Part]:
        """The groups that have an accuracy, highest first."""
        return _ranked(self.groups)


def in_chapters(findings: Iterable[Finding], words: BenchmarkWords = _PLAIN) -> list[Chapter]:
    """One chapter per benchmark, model, grouping and facets, in the order of their first finding."""
    all_findings = list(findings)
    apart = _models_apart(all_findings)
    members_by_key = grouped(
        all_findings,
        lambda of: (of.benchmark, (of.model or "") if apart else "", tuple(of.by), facets_of(of)),
    )
    several = len({benchmark for benchmark, *_ in members_by_key}) > 1
    anchors: set[str] = set()
    result = []
    for (benchmark, model, by, facets), members in members_by_key.items():
        before = [name for name in (benchmark if several else "", model) if name]
        title = ": ".join([*map(shorten, before), _title(by, facet_title(facets))])
        anchor = _anchor([*before, *by, *(value for _, value in facets)], anchors)
        result.append(
            Chapter(anchor, title, by, tuple(sorted(members, key=_finding_order)), bool(facets), words)
        )
    return result


def _models_apart(findings: Sequence[Finding]) -> bool:
    """Whether these are several models' own findings, and not their comparison."""
    models = {finding.model for finding in findings}
    return len(models) > 1 and not any(
        finding.reference or "reference" in finding.params for finding in findings
    )


def _title(by: Sequence[str], facets: str) -> str:
    """Grouping and facets; a chapter on all rows is called after its facets."""
    if not facets:
        return grouping_title(by)
    return f"{grouping_title(by)}: {facets}" if by else f"{facets[:1].upper()}{facets[1:]}"


def grouping_title(by: Sequence[str]) -> str:
    """A grouping in words: ``("perceived_gender", "race")`` is perceived gender × race."""
    return " × ".join(attribute(column) for column in by) or _("all rows")


@dataclass(frozen=True)
class Contrasted:
    """A finding's value and the same quantity computed another way."""

    chapter: str
    finding: Finding
    label: str
    value: float | None
    reason: str


def contrasts(parts: Iterable[Chapter]) -> list[Contrasted]:
    """Every contrast of every finding."""
    return [
        Contrasted(chapter.title, finding, contrast.label, contrast.value, contrast.reason)
        for chapter in parts
        for finding in chapter.findings
        for contrast in finding.contrasts
    ]


@dataclass(frozen=True)
class LeftOutRows:
    """Rows or classes left out of one or more findings of a chapter for one reason."""

    chapter: str
    reason: str
    count: float
    metrics: tuple[str, ...]
    titles: tuple[str, ...]
    everywhere: bool


def left_out(parts: Iterable[Chapter], manifest: Mapping[str, Any]) -> list[LeftOutRows]:
    """Everything dropped, once per chapter, reason and count, the reason in words."""
    result = []
    for chapter in parts:
        titles: dict[tuple[str, float], dict[str, str]] = {}
        for finding in chapter.findings:
            for dropped in finding.dropped:
                titles.setdefault((dropped.reason, dropped.count), {})[finding.name] = finding.card.title
        names = {finding.name for finding in chapter.findings}
        result += [
            LeftOutRows(
                chapter.title,
                _why(reason, chapter, manifest),
                count,
                tuple(metrics),
                tuple(metrics.values()),
                set(metrics) == names,
            )
            for (reason, count), metrics in titles.items()
        ]
    return result


def _why(reason: str, chapter: Chapter, manifest: Mapping[str, Any]) -> str:
    """Why rows were left out; what misses a value is called as the user's table calls it."""
    name = reason.removeprefix("missing ")
    if name == reason or name not in ("truth", "prediction", *chapter.by):
        return glossary.reason(reason)
    if manifest.get("kind") == "audit":
        return _(
            "no value in the column {column}",
            column=quoted(manifest.get(name, name) if name not in chapter.by else name),
        )
    if name in chapter.by:
        return _("{name} is not annotated", name=quoted(attribute(name)))
    return glossary.reason(f"missing_{name}" if not _of_pronouns(manifest) else reason)


def _of_pronouns(manifest: Mapping[str, Any]) -> bool:
    """Whether the truth is the perceived gender of a person."""
    return str(manifest.get("benchmark") or "").startswith("visogender")


def levels(parts: Iterable[Chapter]) -> list[str]:
    """Every value of an attribute that makes a group, in the order of the findings."""
    values: dict[str, None] = {}
    for chapter in parts:
        keys = [group.key for finding in chapter.findings for group in finding.groups]
        keys += [part.key for finding in chapter.findings for part in finding.parts if part.kind == "group"]
        for key in keys:
            values |= dict.fromkeys([key] if isinstance(key, str) else key)
    return list(values)


def _of_kind(finding: Finding | None, kind: str) -> list[Part]:
    return [part for part in finding.parts if part.kind == kind] if finding else []


def _ranked(parts: Iterable[Part]) -> list[Part]:
    usable = [(part.value, part) for part in parts if part.value is not None]
    return [part for _, part in sorted(usable, key=lambda pair: -pair[0])]


def _finding_order(finding: Finding) -> tuple[int, str]:
    return finding.card.order, "" if finding.is_declared else finding.name


def _anchor(words: Sequence[str], anchors: set[str]) -> str:
    slug = "-".join(re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-") for word in words)[:48].strip("-")
    base = f"by-{slug or 'all'}"
    anchor, copy = base, 2
    while anchor in anchors:
        anchor, copy = f"{base}-{copy}", copy + 1
    anchors.add(anchor)
    return anchor
