"""Every benchmark measures, prints and reports whatever ``--limit`` leaves, down to one sample."""

from __future__ import annotations

from pathlib import Path

import pytest

import evenhand as eh
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.cli.summaries.findings import print_summary
from evenhand.workflows.execution.options import AskOptions
from tests.benchmarks.small_data import ASKED, KNOWN, write

pytestmark = pytest.mark.usefixtures("few_draws")
TRIED = [
    pytest.param(
        asked, limit, id=f"{asked[0]}-{asked[1].__name__}-{len(asked[3])}-{limit}",
        marks=() if limit in (1, 2 + place % 2) else pytest.mark.nightly,
    )
    for place, asked in enumerate(ASKED)
    for limit in (1, 2, 3)
]  # fmt: skip
"""Every benchmark with one sample and, in turn, with two or three; at night with each."""


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Small data for every benchmark."""
    folder = tmp_path_factory.mktemp("data")
    write(folder)
    return folder


def test_no_benchmark_is_lost() -> None:
    assert set(BENCHMARKS.names()) >= KNOWN


@pytest.mark.parametrize(("asked", "limit"), TRIED)
def test_any_limit_gives_findings_with_a_reason_for_each_that_has_no_value(
    data, monkeypatch, capsys, asked, limit
) -> None:
    benchmark, model, place, given = asked
    monkeypatch.chdir(data)
    options = AskOptions(keep_answers=False, workers=1)
    where = data / place if place else None
    run = eh.run(benchmark, model=model(), data=where, parameters=given, limit=limit, options=options)
    assert run.findings.findings
    for finding in run.findings.findings:
        assert finding.value is not None or finding.reason, finding.name
    print_summary(run, data, verbose=True)
    assert capsys.readouterr().out
    assert "<html" in run.html()
