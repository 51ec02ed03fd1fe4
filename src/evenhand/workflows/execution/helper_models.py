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
    """Asks a model that is named by a URI.

    Attributes:
        options: How it is loaded and asked.
        progress: Called with the question's name, rows done, and rows in all.
        accounts: Who was asked, and how, for the manifest.
    """

    options: AskOptions
    progress: Progress
    accounts: list[dict[str, Any]] = field(default_factory=list, init=False)

    def __call__(self, model: str, question: Question) -> pl.DataFrame:
        """The evidence of a question; samples without an answer are left out.

        Args:
            model: A model URI.
            question: What is asked, of texts only.

        Raises:
            UserError: There is no such model, it cannot answer such questions, or it answers not one.
        """
        source = resolve(model, self.options.load_options())
        plan = Plan[None](pl.DataFrame({"sample": list(question.samples)}), [question])
        with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
            evidence = ask_all(plan, source, Path(folder), self.options, self.progress)
            self.accounts.append(evidence.account)
            return evidence.tables(plan)[question.name].collect()
