"""The run of an audit, which reads the rows behind its headlines where its table is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import narwhals as nw
import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.display.overview.content import Headline
from evenhand.display.text.notes import note
from evenhand.evidence.numbers import MOST_SAMPLES
from evenhand.evidence.predictions.chosen_rows import chosen_rows
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.evidence.predictions.sample_rows import fitted, right_answers, sample_rows, with_text_labels
from evenhand.runs.run_folder import MOST_CASE_ROWS, OUTCOMES
from evenhand.workflows.outputs.audited_table import Audited
from evenhand.workflows.outputs.result import Run, in_order

_MOST_CASES = 3  # headlines whose rows are written


@dataclass(frozen=True, eq=False, repr=False)
class AuditRun(Run):
    """The run of an audit."""

    audited: Audited | None = field(default=None, kw_only=True, repr=False)

    @cached_property
    def all_tables(self) -> dict[str, pl.DataFrame]:
        """Its tables with the outcome of each row; where rows are not kept, it is said why."""
        outcomes = self._outcomes()
        if isinstance(outcomes, pl.DataFrame):
            return in_order({**super().all_tables, OUTCOMES: outcomes})
        if outcomes is not None:
            note(f"rows are not kept one by one, so compare will know their counts only: {outcomes}")
        return super().all_tables

    def _outcomes(self) -> pl.DataFrame | str | None:
        """Whether each prediction is right, or why that is not kept; None: the run has no predictions."""
        audited = self.audited
        if audited is None or not isinstance(audited.evidence, Predictions):
            return None
        frame = audited.evidence.frame
        if not (isinstance(frame, nw.DataFrame) or isinstance(frame.to_native(), pl.LazyFrame)):
            return "they are not on this machine"
        if audited.counts.n_total > MOST_SAMPLES:
            return f"they are more than {MOST_SAMPLES:,}"
        counts = audited.counts.unclustered()
        if counts.moments is not None:  # rows in place of their weights
            counts = replace(counts, n=counts.moments[0] + counts.moments[2], moments=None, memo={})
        try:
            rows = sample_rows(audited.evidence, counts.attributes, audited.changes)
            labelled = fitted(rows, with_text_labels(counts))
        except InputError as problem:
            return one_line(problem)
        if isinstance(labelled, str):
            return f"{labelled}; did the table change?"
        return right_answers(labelled, counts.attributes, audited.counts.cluster)

    @cached_property
    def case_tables(self) -> dict[str, pl.DataFrame]:
        """The rows behind the first headlines beyond chance, by their numbers: at most 10,000 of each.

        The table is read for them once, and only where there is such a headline. A table that cannot be read
        again, or that changed since, gives none; ``cases`` says why.
        """
        headlines = [headline for headline in self.overview.beyond[:_MOST_CASES] if headline.cases]
        try:
            pairs = list(zip(headlines, self._rows(headlines), strict=False))
        except InputError:
            return {}
        number_of = self.overview.headlines.index
        return {str(number_of(line) + 1): table for line, table in pairs if _is_of(line, table)}

    def cases(self, number: int = 1) -> pl.DataFrame:
        """The rows behind a headline (1 = first), in all columns of the user's table, at most 10,000."""
        headlines = self.overview.headlines
        if not 1 <= number <= len(headlines) or str(number) in self.case_tables:
            return super().cases(number)
        headline = headlines[number - 1]
        tables = self._rows([headline] if headline.rows else [])
        if not tables:
            return super().cases(number)
        if not _is_of(headline, tables[0]):
            raise InputError(
                f"{tables[0].height:,} rows are behind headline {number} now, and {headline.cases:,g} were "
                "when it was measured: the table changed; audit it anew"
            )
        return tables[0]

    def _rows(self, headlines: Sequence[Headline]) -> list[pl.DataFrame]:
        if self.audited is None or self.audited.normalized is None or not headlines:
            return []
        evidence = self.audited.evidence
        if not isinstance(evidence, Predictions):
            return []
        choices = [headline.rows for headline in headlines]
        return chosen_rows(evidence, choices, self.audited.normalized, most=MOST_CASE_ROWS)


def _is_of(headline: Headline, table: pl.DataFrame) -> bool:
    """Whether these are the rows that were counted."""
    return table.height == min(headline.cases, MOST_CASE_ROWS)
