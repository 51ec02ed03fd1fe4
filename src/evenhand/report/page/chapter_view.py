"""A chapter as the template and the scripts need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.core.frames import band_ends
from evenhand.core.unseen import visible
from evenhand.display.overview.rates import groups_beyond
from evenhand.display.overview.subject import Subject
from evenhand.report import facets
from evenhand.report.chapters import Chapter
from evenhand.report.page import chapter_words, downloads
from evenhand.report.views import charts, evidence_rows, frames, rows
from evenhand.report.views import text_alternatives as alternatives
from evenhand.report.wording import open_answers as answer_words

if TYPE_CHECKING:
    from evenhand.core.findings import Finding, Key, Part
    from evenhand.report.content import ReportInput


@dataclass(frozen=True)
class ChapterView:
    """What the template needs of one chapter: words, rows, counts, and the names of what scripts draw."""

    chapter: Chapter
    verdict: str
    sentences: Sequence[str]
    interval_title: str
    shared: str
    lines: Sequence[rows.Row]
    bands: Sequence[Mapping[str, Any]]
    classes: int
    usable: int
    labelled: int
    drawn: int
    groups: int
    alts: Mapping[str, str]
    pieces: Sequence[tuple[str, str, str, int]]

    @property
    def has_chapter(self) -> bool:
        """Whether there are groups or classes to draw."""
        return bool(self.groups or self.classes)


def view(chapter: Chapter, alpha: float, data: frames.PageData, content: ReportInput) -> ChapterView:
    """What the template needs of a chapter; its frames, tables and charts go into ``data``."""
    _add_evidence(chapter, data, content)
    title = rows.interval_title(chapter.findings)
    usable = chapter.ranked
    groups = _add_groups(chapter, data, content)
    if chapter.classes:
        _add_classes(chapter, data)
    varying_names = facets.varying(chapter.findings) if chapter.faceted else None
    pieces = _add_pieces(chapter, data)
    bands = rows.bands(chapter)
    downloads.add_bands(data, f"{chapter.id}-bands", bands)
    return ChapterView(
        chapter=chapter,
        verdict=chapter_words.verdict(chapter, alpha),
        sentences=chapter_words.finding_sentences(chapter, alpha),
        interval_title=title,
        shared=_shared(chapter) if chapter.faceted else "",
        lines=[
            rows.row(
                finding,
                alpha,
                with_level=title == "Interval",
                param_names=varying_names,
                parts_at=_parts_at(chapter, finding, pieces),
            )
            for finding in chapter.findings
        ],
        bands=bands,
        classes=len(chapter.classes),
        usable=len(usable),
        labelled=charts.LABELLED,
        drawn=min(len(usable), charts.DRAWN),
        groups=groups,
        alts={
            "classes": alternatives.classes(chapter, alpha),
            "histogram": alternatives.histogram(chapter),
            "scatter": alternatives.scatter(chapter, alpha),
            "groups": alternatives.groups(chapter, alpha),
        },
        pieces=pieces,
    )


def _shared(chapter: Chapter) -> str:
    """What all lines have in common, and what their null bands are."""
    null = chapter_words.null_in_words(chapter)
    return f"{facets.shared(chapter.findings)} {null}".strip()


def _parts_at(chapter: Chapter, finding: Finding, pieces: Sequence[tuple[str, str, str, int]]) -> str:
    """Where on the page the parts of a finding are."""
    if finding is chapter.effect and chapter.classes:
        return f"{chapter.id}-classes-table"
    if finding is chapter.accuracy and chapter.groups:
        return f"{chapter.id}-groups-table"
    named_as = finding.name if chapter.faceted else finding.metric
    return next((name for name, _, metric, _ in pieces if metric == named_as), "")


def _add_evidence(chapter: Chapter, data: frames.PageData, content: ReportInput) -> None:
    """Keep what the chapter's parts rest on, and which attributes its groups have."""
    data.chapters[chapter.id] = [visible(column) for column in chapter.by]
    spent = sum(table["rows"] for tables in data.evidence.values() for table in tables)
    about = replace(content, evidence=answer_words.rested_on(chapter, content.evidence))
    tables = evidence_rows.add_evidence(data, chapter, about, evidence_rows.MOST_ROWS - spent)
    if tables:
        data.evidence[chapter.id] = tables


def _add_classes(chapter: Chapter, data: frames.PageData) -> None:
    """Keep the classes' effect sizes and the charts over them."""
    frame = f"{chapter.id}-classes"
    frames.add_parts(data, frame, chapter.classes, value="effect size", sort="value")
    usable = [part for part in chapter.classes if part.value is not None]
    end = charts.axis_end([mark for part in usable for mark in (part.value, *band_ends(part))])
    limits = {"overview": charts.DRAWN, "scatter": charts.DRAWN}
    for name, spec in (
        ("classes", charts.classes(end)),
        ("overview", charts.overview(end)),
        ("histogram", charts.histogram(end)),
        ("scatter", charts.scatter(end)),
    ):
        options = _lines(len(usable), charts.LABELLED) if name == "classes" else {"limit": limits.get(name)}
        _add_chart(data, f"{chapter.id}-{name}", f"{name}-{end:g}", spec, frame, **options)


def _lines(n: int, limit: int) -> dict[str, int]:
    """How many named lines a chart shows, and the height that they need."""
    return {"limit": limit, "height": charts.LINE_HEIGHT * max(1, min(n, limit))}


def _add_groups(chapter: Chapter, data: frames.PageData, content: ReportInput) -> int:
    """Keep accuracy by group; tell how many groups there are."""
    groups, accuracy = chapter.groups, chapter.accuracy
    if not groups or accuracy is None:
        return 0
    frame = f"{chapter.id}-groups"
    beyond = groups_beyond(chapter.findings, Subject.of(content.manifest, content.findings))
    frames.add_parts(data, frame, groups, value="accuracy", sort="value", beyond=beyond)
    _add_chart(
        data,
        f"{chapter.id}-groups",
        "groups",
        charts.groups(),
        frame,
        overall=accuracy.value,
        **_lines(len(groups), len(groups)),
    )
    return len(groups)


def _add_chart(
    data: frames.PageData, name: str, spec_name: str, spec: dict[str, Any], frame: str, **options: Any
) -> None:
    data.specs[spec_name] = spec
    data.charts[name] = {"spec": spec_name, "frame": frame, **options}


def _add_pieces(chapter: Chapter, data: frames.PageData) -> list[tuple[str, str, str, int]]:
    """Keep the parts that no other section shows: (table, title, metric, how many)."""
    shown_ids = {id(part) for part in [*chapter.classes, *chapter.groups]}
    parts_by_metric: dict[tuple[str, str], list[Part]] = {}
    varying = facets.varying(chapter.findings) if chapter.faceted else ()
    for finding in chapter.findings:
        rest = [part for part in finding.parts if id(part) not in shown_ids]
        if rest and varying:  # one table for a metric, whose lines say which finding they belong to
            prefix = facets.row_params(finding, varying)
            prefixed = [_under(part, prefix) for part in rest]
            parts_by_metric.setdefault((finding.card.title, finding.name), []).extend(prefixed)
        elif rest:
            named_as = finding.name if chapter.faceted else finding.metric
            parts_by_metric.setdefault((finding.card.title, named_as), []).extend(rest)
    pieces = []
    for index, ((title, metric), parts) in enumerate(parts_by_metric.items()):
        name = f"{chapter.id}-parts-{index}"
        frames.add_parts(data, name, parts, rests=_rests(chapter, parts))
        data.tables[name]["about"] = metric
        pieces.append((name, title, metric, len(parts)))
    return pieces


def _rests(chapter: Chapter, parts: Sequence[Part]) -> list[tuple[str, Key]]:
    """Which rows each part counts, where a metric's parts are not called by their axes; else nothing."""
    holders = {id(part): finding for finding in chapter.findings for part in finding.parts}
    if not all(id(part) in holders and holders[id(part)].card.rests_on for part in parts):
        return []
    return [evidence_rows.rests_on(holders[id(part)], part) for part in parts]


def _under(part: Part, prefix: str) -> Part:
    """A part whose key begins with what tells its finding from its like."""
    key = [part.key] if isinstance(part.key, str) else part.key
    return part.model_copy(update={"key": [prefix, *key]}) if prefix else part
