"""What is written over all runs of a suite: paired comparisons, one table of findings, one page."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from evenhand.core.errors import UserError
from evenhand.core.findings import Finding
from evenhand.core.significance import p_shown
from evenhand.files.atomic import write_bytes
from evenhand.files.tables.write import write_table
from evenhand.report.page.suite import SuiteCell, SuiteQuestion, render_suite
from evenhand.runs.run_folder import FINDINGS, RunFolder
from evenhand.stats.multiplicity import adjust
from evenhand.workflows.compare.engine import compare
from evenhand.workflows.outputs.export import frame
from evenhand.workflows.suite.entries import Suite
from evenhand.workflows.suite.pairs import Pair, reason_of
from evenhand.workflows.suite.wordings import orders_by_wording

PAGE, RESULTS, COMPARED = "index.html", "results.parquet", "compared"
_REPORT = "report.html"


def write_overview(
    suite: Suite, pairs: Sequence[Pair], folder: Path, compared: dict[str, str]
) -> Path | None:
    """Write ``index.html``, ``results.parquet`` and a comparison of the models for each benchmark.

    ``compared`` has for each benchmark a hash of the findings that its comparison was made of; it is brought
    up to date. Without a run to show there is no page.
    """
    read = _read(pairs)
    if not read:
        return None
    questions = questions_of(suite, pairs, folder, compared)
    write_table(frame([run for _, run in sorted(read.items())]), folder / RESULTS)
    title = suite.name or folder.resolve().name
    names = [model.name for model in suite.models]
    page = render_suite(questions, names, title=title, results=RESULTS, corrected=corrected_over_page)
    write_bytes(folder / PAGE, page.encode("utf-8", "replace"))
    return folder / PAGE


def questions_of(
    suite: Suite, pairs: Sequence[Pair], folder: Path, compared: dict[str, str]
) -> list[SuiteQuestion]:
    """What the page shows of each benchmark; its models are compared, as ``write_overview`` says."""
    read, questions = _read(pairs), []
    for benchmark in suite.benchmarks:
        mine = [pair for pair in pairs if pair.benchmark is benchmark]
        answered = [pair for pair in mine if pair.name in read]
        address, problem = _compared(answered, folder, benchmark.name, compared)
        cells = tuple(_cell(pair, read.get(pair.name), folder) for pair in mine)
        notes = orders_by_wording({pair.model.name: read[pair.name].findings.findings for pair in answered})
        questions.append(SuiteQuestion(benchmark.name, cells, address, problem, tuple(notes)))
    return questions


def _read(pairs: Sequence[Pair]) -> dict[str, RunFolder]:
    return {
        pair.name: RunFolder.read_findings(pair.folder)
        for pair in pairs
        if pair.state in ("done", "incomplete")
    }


def corrected_over_page(findings: Sequence[Finding]) -> list[Finding]:
    """Findings of the cells of a page, with p corrected over all of them.

    By the method of Benjamini and Hochberg (1995): of those that stay beyond chance at a level, that share is
    expected to be false. p that a run has corrected for its own tests are corrected once more.
    """
    p_values = [p_shown(finding) for finding in findings]
    corrected = adjust(np.array([np.nan if p is None else p for p in p_values], dtype=np.float64), "bh")
    return [
        finding if p is None else finding.model_copy(update={"p_adjusted": float(q), "adjustment": "bh"})
        for finding, p, q in zip(findings, p_values, corrected, strict=True)
    ]


def _cell(pair: Pair, run: RunFolder | None, folder: Path) -> SuiteCell:
    """What a model answered to a question, or why it did not."""
    reason = "" if pair.state == "done" else f"{pair.state}: {pair.reason}"
    if run is None:
        return SuiteCell(pair.model.name, problem=reason)
    return SuiteCell(
        pair.model.name, run.findings, run.manifest, _address(pair.folder / _REPORT, folder), reason
    )


def _compared(pairs: Sequence[Pair], folder: Path, name: str, compared: dict[str, str]) -> tuple[str, str]:
    """The address of the comparison of the models on one benchmark; or why there is none."""
    target = folder / COMPARED / name
    if len(pairs) < 2:
        return "", ""
    contents = [(pair.folder / FINDINGS).read_bytes() for pair in pairs]
    digest = hashlib.sha256(b"\n".join(contents)).hexdigest()
    if compared.get(name) != digest or not (target / _REPORT).is_file():
        try:
            compare([pair.folder for pair in pairs], over_time=False, out=target)
        except UserError as problem:
            return "", reason_of(problem)
        compared[name] = digest
    return _address(target / _REPORT, folder), ""


def _address(path: Path, folder: Path) -> str:
    return quote(Path(os.path.relpath(path, folder)).as_posix())
