"""One page over a suite: models x questions, each cell a finding with its interval and what chance gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from evenhand.core.significance import alpha_of, lead_of, significance_of
from evenhand.display.overview.content import Overview
from evenhand.display.overview.overview import overview_of
from evenhand.display.overview.phrasing import why_missing
from evenhand.display.overview.subject import Subject
from evenhand.display.text import formatting as formats
from evenhand.display.text.rounding import Rounding
from evenhand.report import inline

if TYPE_CHECKING:
    import jinja2

    from evenhand.core.findings import Finding, Findings

    Corrected = Callable[[Sequence[Finding]], Sequence[Finding]]


@dataclass(frozen=True, eq=False)
class SuiteCell:
    """What a model answered to a question."""

    model: str
    findings: Findings | None = None  # of its run; None where there is none
    manifest: Mapping[str, Any] = field(default_factory=dict)
    report: str = ""  # the address of its report beside the page
    problem: str = ""  # why there is no run, or what is missing of it


@dataclass(frozen=True, eq=False)
class SuiteQuestion:
    """A benchmark and what the models answered to it."""

    name: str  # of the benchmark
    cells: tuple[SuiteCell, ...]  # one for each model, in their order
    compared: str = ""  # the address of the paired comparison of the models; empty where there is none
    problem: str = ""  # why there is no comparison
    notes: tuple[str, ...] = ()  # on the order of the models


@dataclass(frozen=True, eq=False)
class _ShownCell:
    """A cell in words; ``sort`` orders a column, cells without a value last."""

    model: str
    finding: Finding | None
    report: str
    text: str
    sort: str
    check: str = ""
    value: str = ""
    interval: str = ""
    chance: str = ""
    verdict: str = ""
    beyond: bool = False


@dataclass(frozen=True, eq=False)
class _ShownQuestion:
    question: SuiteQuestion
    asks: str
    metric: str
    better: str
    cells: Sequence[_ShownCell]

    @property
    def ranked(self) -> list[_ShownCell]:
        """Its cells, those beyond chance first, and then by value."""
        return sorted(self.cells, key=lambda cell: (cell.finding is None, not cell.beyond, cell.sort))


def render_suite(
    questions: Sequence[SuiteQuestion],  # each with one cell for each model
    models: Sequence[str],  # in the order of the cells
    *,
    title: str,
    results: str,  # the address of the table of all findings
    corrected: Corrected,  # from the findings of all cells to the same with p corrected over them
) -> str:
    """The page; it makes no network request, and adds no number to those of the findings.

    Its cells are one family of tests: a mark is filled where a finding is beyond chance after the correction
    over all of them. A cell's own report says what is beyond chance by itself.
    """
    leads = [_Lead.of(question) for question in questions]
    cell_findings = [finding for lead in leads for finding in lead.findings]
    by_cell = dict(zip(map(id, cell_findings), corrected(cell_findings), strict=True))
    tested = sum(finding.p_value is not None for finding in cell_findings)
    columns = [_shown(lead, by_cell, tested) for lead in leads]
    rows = [(model, [column.cells[index] for column in columns]) for index, model in enumerate(models)]
    script = inline.own_script("index.js")
    return _template().render(
        title=title,
        questions=columns,
        rows=rows,
        results=results,
        tested=tested,
        missing=[(q.question.name, cell) for q in columns for cell in q.question.cells if cell.problem],
        style=inline.template_text("index.css", "suite.css"),
        script=script,
        hash=inline.script_hash(script),
    )


@dataclass(frozen=True, eq=False)
class _Lead:
    """A question with the first lines of its runs, and the finding that leads most of them, run by run."""

    question: SuiteQuestion
    overviews: Sequence[Overview | None]
    cells: Sequence[Finding | None]

    @classmethod
    def of(cls, question: SuiteQuestion) -> _Lead:
        overviews = [
            None if cell.findings is None else overview_of(cell.findings, cell.manifest)
            for cell in question.cells
        ]
        metric = _lead(question, [overview for overview in overviews if overview is not None])
        cells = [
            next((finding for finding in cell.findings or () if finding.metric == metric), None)
            for cell in question.cells
        ]
        return cls(question, overviews, cells)

    @property
    def findings(self) -> list[Finding]:
        """Those that have a value."""
        return [finding for finding in self.cells if finding is not None and finding.value is not None]


def _shown(lead: _Lead, corrected: Mapping[int, Finding], tested: int) -> _ShownQuestion:
    """A question in words."""
    question = lead.question
    cells = [
        _shown_cell(cell, overview, finding and corrected.get(id(finding), finding), tested)
        for cell, overview, finding in zip(question.cells, lead.overviews, lead.cells, strict=True)
    ]
    filled = next((cell for cell in question.cells if cell.findings is not None), None)
    finding = next((cell.finding for cell in cells if cell.finding is not None), None)
    if filled is None or finding is None:
        return _ShownQuestion(question, "", "", "", cells)
    subject = Subject.of(filled.manifest, filled.findings or ())
    by = f"by {formats.shorten(formats.listing(map(formats.attribute, finding.by)))}" if finding.by else ""
    scope = f"({scoped})" if (scoped := subject.scope(finding, with_sets=True)) else ""
    metric = " ".join(filter(None, (finding.card.title, by, scope)))
    asks = "" if subject.question == filled.manifest.get("benchmark") else subject.question
    return _ShownQuestion(question, asks, metric, finding.direction, cells)


def _lead(question: SuiteQuestion, overviews: Sequence[Overview]) -> str:
    """The finding that is the first headline of most runs, if possible among those that all have."""
    sets = [
        {finding.metric for finding in cell.findings} for cell in question.cells if cell.findings is not None
    ]
    shared = set.intersection(*sets) if sets else set()
    first = [line.metric for overview in overviews for line in overview.headlines[:1]]
    common = [metric for metric in first if metric in shared]
    primary = [
        finding.metric
        for cell in question.cells
        for finding in cell.findings or ()
        if finding.role == "primary" and finding.metric in shared
    ]
    ranked = Counter(common or primary or first or sorted(shared)).most_common(1)
    return ranked[0][0] if ranked else ""


def _shown_cell(
    cell: SuiteCell, overview: Overview | None, finding: Finding | None, tested: int
) -> _ShownCell:
    """A cell; its finding has p corrected over all cells."""
    if cell.findings is None or overview is None:
        return _ShownCell(cell.model, None, "", cell.problem, "~")
    if finding is None or finding.value is None:
        reason = why_missing(finding.reason) if finding is not None else overview.title
        return _ShownCell(cell.model, finding, cell.report, reason, "~")
    standing = significance_of(finding, alpha_of(cell.manifest))
    lead = lead_of(finding)
    rounding = Rounding.of(finding, finding.card.unit)
    alone = (
        f"Within chance over the {formats.plural(tested, 'test')} of this page. By itself: {overview.title}"
    )
    return _ShownCell(
        model=cell.model,
        finding=finding,
        report=cell.report,
        text=alone if overview.beyond and not standing.beyond else overview.title,
        check="".join(overview.checks[:1]),
        sort=f"{lead:+.9f}" if lead < 0 else f"{lead:.9f}",
        value=rounding.amount(lead),
        interval=rounding.span(finding.interval) if finding.interval else "",
        chance=rounding.span(finding.null) if finding.null and finding.corrected is None else "",
        verdict="beyond chance" if standing.beyond else "within chance" if standing.side else "not tested",
        beyond=standing.beyond,
    )


@cache
def _template() -> jinja2.Template:
    return inline.page_environment().get_template("suite.html.j2")
