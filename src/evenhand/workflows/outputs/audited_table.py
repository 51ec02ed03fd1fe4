"""What an audit measures: counts under the user's rules for labels, and warnings about their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from evenhand.core.errors import ParameterError
from evenhand.core.findings import TableWarning
from evenhand.evidence.predictions.checks.columns import check_one_label, numbers_as_groups, picture_files
from evenhand.evidence.predictions.checks.labels import check_labels
from evenhand.evidence.predictions.checks.rows import check_rows
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.label_rules import NO_RULES, Changes, LabelRules, NormalizedCounts
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.runs.saved_counts import SavedCounts

Evidence: TypeAlias = Predictions | Counts | SavedCounts


@dataclass(frozen=True, eq=False)
class Audited:
    """Counts of an audit, and where they come from."""

    evidence: Evidence  # what the user gave
    counts: Counts  # over every attribute that a grouping names, under the rules
    rules: LabelRules = NO_RULES
    changes: Changes = field(default_factory=dict)  # what the rules changed, for each axis
    normalized: NormalizedCounts | None = None  # with the axes as the table has them

    @classmethod
    def of(cls, evidence: Evidence, groupings: Sequence[tuple[str, ...]], rules: LabelRules) -> Audited:
        """Count what a grouping names."""
        names = list(dict.fromkeys(name for grouping in groupings for name in grouping))
        if isinstance(evidence, Predictions):
            if rules and evidence.rules:
                raise ParameterError(
                    "map, normalize and missing are given twice: to the predictions and here"
                )
            rules = rules or evidence.rules
            relabelled = replace(evidence, rules=rules).relabelled(names)
        else:
            counts = evidence.counts if isinstance(evidence, SavedCounts) else evidence
            relabelled = rules.apply(counts.project(names), _columns(evidence))
        check_one_label(relabelled.counts, _columns(evidence))
        return cls(evidence, relabelled.counts, rules, relabelled.changes, relabelled)

    def warnings(self) -> tuple[list[TableWarning], int | None]:
        """Warnings about labels, columns and rows, and how many rows repeat an id where ids are known."""
        normalized = self.normalized or NormalizedCounts(self.counts)
        label_warnings = check_labels(
            self.counts,
            _columns(self.evidence),
            unused=normalized.unused,
            unused_missing=normalized.unused_missing,
        )
        label_warnings += numbers_as_groups(self.counts)
        if not isinstance(self.evidence, Predictions):
            return label_warnings, None
        checked, repeated = check_rows(self.evidence, self.counts)
        if self.evidence.cluster is None:
            checked += _repeated_pictures(self.evidence, self.counts)
        notes = [
            TableWarning(code="rows", message=note) for note in (*self.evidence.notes, *normalized.notes)
        ]
        return [*notes, *label_warnings, *checked], repeated


def _repeated_pictures(evidence: Predictions, counts: Counts) -> list[TableWarning]:
    column, paths = picture_files(evidence, counts)
    if not paths:
        return []
    from evenhand.workflows.execution.repeated_images import repeated_files

    return repeated_files(column, paths)


def _columns(evidence: Evidence) -> dict[str, str]:
    """Axis name to the user's column name."""
    if isinstance(evidence, Counts):
        return {}
    return {"truth": evidence.truth, "prediction": evidence.prediction}
