"""One HTML file from a run's content: it works offline, and holds no number that the run does not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from evenhand.core.nouns import words_of
from evenhand.core.significance import alpha_of
from evenhand.core.unseen import json_escaped
from evenhand.display.overview.subject import Subject
from evenhand.display.text import formatting as formats
from evenhand.display.text.language import _, current_catalogue, written_in
from evenhand.report import chapters, glossary, inline
from evenhand.report.comparison import changes
from evenhand.report.comparison import seeds as seed_words
from evenhand.report.comparison import view as comparison
from evenhand.report.insight import opening as opening_words
from evenhand.report.insight.cases import cases
from evenhand.report.insight.class_table import class_table
from evenhand.report.insight.group_accuracy import group_accuracy
from evenhand.report.insight.searches import searches
from evenhand.report.page import artifacts as artifact_views
from evenhand.report.page import chapter_view as views
from evenhand.report.page import downloads, provenance
from evenhand.report.page import markdown as card_text
from evenhand.report.page.questions import questions
from evenhand.report.suppression import suppress as suppression
from evenhand.report.views import frames, rows
from evenhand.report.wording import limits
from evenhand.report.wording import open_answers as answer_words
from evenhand.report.wording import pronouns as pronoun_words
from evenhand.report.wording import sentences as words

if TYPE_CHECKING:
    import jinja2

    from evenhand.report.content import ReportInput

_MOST_VERDICTS = 8


def render_html(content: ReportInput, *, suppress: int = 0, language: str | None = None) -> str:
    """Render a run as one self-contained HTML page.

    Cells of fewer than ``suppress`` rows are hidden, with what would give them away; 0 hides nothing.
    ``language`` is a code; None: what ``EVENHAND_LANGUAGE`` names, else English. The page makes no network
    request: scripts, styles and data are inside it, and its content security policy allows nothing else.
    """
    with written_in(language):
        return _rendered(content, suppress)


def _rendered(content: ReportInput, suppress: int) -> str:
    content = suppression.suppressed(content, suppress)
    content = replace(content, findings=glossary.in_language(content.findings))
    manifest = content.manifest
    parts = chapters.in_chapters(content.findings.findings, words_of(manifest))
    alpha = alpha_of(manifest)
    data = frames.PageData(alpha=alpha)
    scripts = [inline.chart_library(), inline.own_script()]
    all_views = [views.view(chapter, alpha, data, content) for chapter in parts]
    text = (
        _environment()
        .get_template("report.html.j2")
        .render(
            language=current_catalogue().code,
            subject=words.subject(manifest),
            comparison=comparison.comparison_of(manifest, content.tables, content.findings),
            **_first(content, all_views, data),
            **_sentences(content, parts, alpha),
            views=all_views,
            questions=questions(all_views, data),
            changes=changes.changed(parts, content.tables, data, alpha=alpha, fewest=content.fewest),
            alpha=alpha,
            seeds=seed_words.seed_views(content, data, alpha),
            artifacts=artifact_views.artifact_views(content, data),
            not_filled=artifact_views.not_filled(content),
            rows_elsewhere=artifact_views.rows_elsewhere,
            **_closing(content, parts, data),
            levels=chapters.levels(parts),
            attributes=list(dict.fromkeys(column for chapter in parts for column in chapter.by)),
            findings=content.findings,
            strip=provenance.strip(manifest, Subject.of(manifest).noun),
            version=str(manifest.get("evenhand") or ""),
            entries=provenance.entries(manifest),
            manifest_json=json_escaped(json.dumps(dict(manifest), indent=2, ensure_ascii=False, default=str)),
            card=card_text.card_html(manifest.get("card")),
            tables=[(name, table.height) for name, table in content.tables.items()],
            data=inline.script_json(data.as_json()),
            style=inline.style(),
            scripts=scripts,
            hashes=[inline.script_hash(script) for script in scripts],
        )
    )
    # A lone surrogate from a JSON manifest cannot be written as UTF-8.
    return text.encode("utf-8", "replace").decode("utf-8")


def _first(
    content: ReportInput, all_views: Sequence[views.ChapterView], data: frames.PageData
) -> dict[str, Any]:
    """What stands open: the headline, its classes, groups and rows; its grouping comes first."""
    tables = cases(content, data)
    verdicts = [opening_words.Verdict(view.chapter.title, view.verdict, view.sentences) for view in all_views]
    question = _question_text(content, [view.chapter for view in all_views])
    has_cases = any(table.name == "1" for table in tables)
    opening = opening_words.opening(content, verdicts, question=question, has_cases=has_cases)
    subject = Subject.of(content.manifest, content.findings)
    noun = subject.noun
    ordered = sorted(all_views, key=lambda view: "+".join(view.chapter.by) != opening.by)
    groups = [
        (
            view,
            class_table(view.chapter, data, content.evidence),
            group_accuracy(view.chapter, subject),
        )
        for view in ordered
    ]
    groups = [(view, table, accuracy) for view, table, accuracy in groups if table or accuracy]
    of_search = searches([view.chapter for view in all_views], data, noun)
    return {
        "opening": opening, "groups": groups, "searches": of_search, "cases": tables, "noun": noun,
        "has_cases": has_cases,
    }  # fmt: skip


def _sentences(
    content: ReportInput, parts: Sequence[chapters.Chapter], alpha: float
) -> dict[str, Sequence[str] | str]:
    """What is said of the run in words."""
    manifest = content.manifest
    return {
        "asked": _question_text(content, parts),
        "caution": _(limits.CAUTION),
        "effect_size": _(limits.EFFECT_SIZE),
        "perceived": list(map(_, words_of(manifest).limits))
        or limits.perceived((column for chapter in parts for column in chapter.by), manifest),
        "coverage": pronoun_words.coverage(content.tables.get("coverage")),
        "sureness": words.sureness(parts, alpha),
        "answers": answer_words.labelled(content.tables, content.fewest),
        "limits": [*limits.suppressed(content.fewest), *limits.cannot_show(parts, alpha, manifest)],
    }


def _question_text(content: ReportInput, parts: Sequence[chapters.Chapter]) -> str:
    """What was asked of which model or table."""
    return comparison.question_text(content.manifest, content.tables) or words.question_text(
        content.manifest, parts
    )


def _closing(
    content: ReportInput, parts: Sequence[chapters.Chapter], data: frames.PageData
) -> dict[str, Any]:
    """The tables at the end of the page; what all static tables hold goes into ``data``."""
    contrasts, left_out = chapters.contrasts(parts), chapters.left_out(parts, content.manifest)
    definitions = rows.definitions(parts)
    downloads.add_closing(data, contrasts, left_out, definitions)
    if content.manifest.get("kind") == "compare":
        downloads.add_comparison(data, content.tables)
    return {"contrasts": contrasts, "left_out": left_out, "definitions": definitions}


@cache
def _environment() -> jinja2.Environment:
    environment = inline.page_environment()
    environment.filters["reason"] = glossary.reason
    environment.globals |= {
        "strip_width": rows.STRIP_WIDTH,
        "label_limit": formats.LABEL_LIMIT,
        "most_verdicts": _MOST_VERDICTS,
        "prose_limit": formats.PROSE_LIMIT,
    }
    return environment
