"""Fixtures for benchmarks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evenhand.workflows.outputs.run_artifacts import artifact_tables

WITH_PAPERS = ("tests.benchmarks.test_small_limits",)
"""Modules that run benchmarks of every kind and draw what the papers have of them."""


@pytest.fixture(scope="module", autouse=True)
def no_papers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs do not fill the papers' tables, which takes longer than to measure."""
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__ not in WITH_PAPERS:
            for module in ("run", "outputs.run_artifacts"):
                patch.setattr(f"evenhand.workflows.{module}.artifact_tables", lambda *_, **__: {})
        yield


@pytest.fixture
def papers(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this test runs fill the papers' tables, as they do for users."""
    monkeypatch.setattr("evenhand.workflows.run.artifact_tables", artifact_tables)


@pytest.fixture(scope="module")
def no_pages() -> Iterator[None]:
    """Run folders without a report: for modules that do not read it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evenhand.workflows.outputs.result.Run.report", lambda *_, **__: None)
        yield
