"""Further models that a benchmark asks about what the audited model said; their answers are kept like all."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Plan
from evenhand.core.requests import Question
from evenhand.models.resolve import resolve
from evenhand.workflows.execution.collect import Progress, ask_all
from evenhand.workflows.execution.options import AskOptions


@dataclass(frozen=True, eq=False)
class HelperModels:
    """Asks a model that is named by a URI."""

    options: AskOptions
    progress: Progress  # name of the question, rows done, rows in all
    accounts: list[dict[str, Any]] = field(default_factory=list, init=False)  # for the manifest

    def __call__(self, model: str, question: Question) -> pl.DataFrame:
        """The evidence of a question about texts alone; samples without an answer are left out."""
        source = resolve(model, self.options.load_options())
        plan = Plan[None](pl.DataFrame({"sample": list(question.samples)}), [question])
        with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
            evidence = ask_all(plan, source, Path(folder), self.options, self.progress)
            self.accounts.append(evidence.account)
            return evidence.tables(plan)[question.name].collect()
