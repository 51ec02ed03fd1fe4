"""Does the order of models depend on how a question is worded?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy import stats

from evenhand.core.findings import Finding
from evenhand.display.text.formatting import listing
from evenhand.stats.arrays import Floats

WORDING = "wording"
"""The kind of parts that are the same number in another wording of the question."""


def orders_by_wording(runs: Mapping[str, Sequence[Finding]]) -> list[str]:
    """A sentence on each primary finding that all models have in the same wordings, two or more of each.

    It has the rank correlation (Spearman) of the models between wordings, mean and range over pairs of
    wordings, and which model has the lowest value in which wordings.
    """
    if len(runs) < 2:
        return []
    tables = [{finding.metric: finding for finding in findings} for findings in runs.values()]
    lines = []
    for metric, first in tables[0].items():
        if first.role != "exploratory" and all(metric in table for table in tables[1:]):
            values = [_values(table[metric]) for table in tables]
            if all(value.keys() == values[0].keys() for value in values) and len(values[0]) > 1:
                lines.append(_sentence(first, list(runs), values))
    return lines


def _values(finding: Finding) -> dict[str, float]:
    """The value in each wording where there is one."""
    parts = [part for part in finding.parts if part.kind == WORDING]
    return {str(part.key): part.value for part in parts if part.value is not None}


def _sentence(finding: Finding, models: Sequence[str], values: Sequence[Mapping[str, float]]) -> str:
    wordings = list(values[0])
    matrix = np.array([[value[wording] for wording in wordings] for value in values])
    lowest: dict[str, list[str]] = {}
    for index, wording in enumerate(wordings):
        ties = [model for model, value in zip(models, matrix[:, index], strict=True)
                if value == matrix[:, index].min()]  # fmt: skip
        lowest.setdefault(listing(ties), []).append(wording)
    which = "; ".join(f"{model} in wording {listing(numbers)}" for model, numbers in lowest.items())
    by = f" by {listing(finding.by)}" if finding.by else ""
    return f"{finding.card.title}{by}, {len(wordings)} wordings: {_agreement(matrix)} Lowest: {which}."


def _agreement(matrix: Floats) -> str:
    """How far the order of models (rows) is the same between wordings (columns)."""
    varied = [index for index in range(matrix.shape[1]) if np.ptp(matrix[:, index]) > 0]
    pairs = list(combinations(varied, 2))
    if not pairs:
        return "models are alike in every wording but one at most, so there is no rank correlation."
    rho = [float(stats.spearmanr(matrix[:, a], matrix[:, b]).statistic) for a, b in pairs]
    return (
        f"rank correlation of the models between wordings {np.mean(rho):.2f} on average "
        f"({min(rho):.2f} to {max(rho):.2f})."
    )
