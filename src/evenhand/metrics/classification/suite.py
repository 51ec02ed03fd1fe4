"""The bound metrics of an audit: what is computed for every grouping, in the order it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.core.errors import InputError, one_line
from evenhand.core.findings import Finding
from evenhand.evidence.grouping import Grouped
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.classification import accuracy as group_accuracy
from evenhand.metrics.classification import effect_sizes as effect_size
from evenhand.metrics.classification import parity
from evenhand.metrics.classification.effect_options import EffectKeywords
from evenhand.metrics.prepared import BoundCounts


def audit_grouping(
    counts: Counts, by: Sequence[str], *, seed: int = 0, mode: str = "default", **options: object
) -> tuple[list[Finding], BoundCounts]:
    """Every classification metric under one grouping.

    Options are ``mev``, ``mev_rule``, ``rare``, ``alpha``, ``adjustment``, ``inference`` and the like. The
    prepared evidence comes along for tables beyond the findings.
    """
    prepared = BoundCounts(Grouped.bind(counts, by), seed)
    effects: EffectKeywords = {"mode": mode, **options}  # type: ignore[typeddict-item]  # checked by make
    common: dict[str, Any] = {"by": by, "mode": mode, "seed": seed}
    common["inference"] = str(options.get("inference", "auto"))
    findings = [
        metric(prepared, **common)
        for metric in (
            group_accuracy.accuracy, group_accuracy.mean_group_accuracy, group_accuracy.worst_group_accuracy,
            group_accuracy.worst_class_group_accuracy, group_accuracy.accuracy_gap,
            group_accuracy.accuracy_range,
        )
    ]  # fmt: skip
    for aggregate in ("max", "mean"):
        findings.append(parity.demographic_parity(prepared, aggregate=aggregate, **common))
        findings += [
            parity.equalized_odds(prepared, eo=eo, aggregate=aggregate, **common) for eo in ("max", "avg")
        ]
    findings += [
        metric(prepared, by=by, seed=seed, **effects)
        for metric in (
            effect_size.cramers_v_pooled, effect_size.skewsize, effect_size.cramers_v_mean,
            effect_size.cramers_v_median, effect_size.cramers_v_max, effect_size.cramers_v_corrected,
            effect_size.phi, effect_size.skewsize_sufficiency, effect_size.cramers_v,
        )
    ]  # fmt: skip
    return findings, prepared


def check_groups(counts: Counts, groupings: Sequence[tuple[str, ...]]) -> None:
    """Refuse a grouping that leaves fewer than two groups among usable rows."""
    for grouping in groupings:
        groups = Grouped.bind(counts, grouping).groups
        if len(groups) < 2:
            only = one_line("+".join(map(str, groups[0])))[:60]
            raise InputError(
                f"{'+'.join(grouping)!r} has one group among usable rows ({only!r}); an audit compares two "
                "or more: name another column with --by"
            )
