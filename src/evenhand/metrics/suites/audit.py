"""The bound metrics of an audit: what is computed for every grouping, in the order it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from evenhand.core.errors import InputError, one_line
from evenhand.core.findings import Finding
from evenhand.core.metric import Metric
from evenhand.core.significance import ALPHA
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.classification import accuracy, effect_sizes, parity
from evenhand.metrics.classification.disparities.accuracy_contrast import accuracy_contrast
from evenhand.metrics.classification.disparities.decomposition import accuracy_decomposition
from evenhand.metrics.classification.disparities.finding import disparities
from evenhand.metrics.classification.effect_options import EffectKeywords
from evenhand.metrics.estimates import Fields, Mode
from evenhand.metrics.prepared import BoundCounts
from evenhand.metrics.tables.grouping import Grouped

MOST_GROUPS, MOST_CLASSES, MOST_PREDICTIONS = 3_000, 30_000, 100_000
_VALUES_ALONE = "in Python, inference='none' gives values without tests"


def check_size(grouped: Grouped) -> None:
    """Refuse more groups, classes or predictions than tests and intervals can be computed for."""
    name = "+".join(grouped.by)
    if len(grouped.groups) > MOST_GROUPS:
        fewer = "cross fewer columns" if len(grouped.by) > 1 else (
            f"make fewer of them: --bins {name}=quantiles:4 where they are numbers, else --map FILE"
        )  # fmt: skip
        raise InputError(
            f"{name!r} has {len(grouped.groups):,} groups, and an audit tests at most {MOST_GROUPS:,}; "
            f"{fewer}; {_VALUES_ALONE}"
        )
    numbers = {
        "true": (len(grouped.classes), MOST_CLASSES),
        "predicted": (int(np.count_nonzero(np.bincount(grouped.prediction))), MOST_PREDICTIONS),
    }
    for which, (n, most) in numbers.items():
        if n > most:
            raise InputError(
                f"the table has {n:,} different {which} labels, and an audit tests at most {most:,}; join "
                f"labels with --map FILE or --normalize, or audit a part of them; {_VALUES_ALONE}"
            )


Call: TypeAlias = tuple[Metric[...], Fields]

_MANY_GROUPS = 50  # beyond these, a column whose values hardly repeat is one of ids
_SHARED = 100_000  # cells up to which counts keep what an audit computed


def audit_grouping(
    counts: Counts,
    by: Sequence[str],
    *,
    metrics: Sequence[Metric[...]] | None = None,
    seed: int = 0,
    mode: Mode = "default",
    **options: object,
) -> tuple[list[Finding], BoundCounts]:
    """The metrics of an audit under one grouping.

    Options are ``mev``, ``mev_rule``, ``rare``, ``alpha``, ``adjustment``, ``inference`` and the like.
    ``metrics`` are those to compute, None all of the audit; others than these, or with arguments of their
    own, get what they take of ``by`` and the options. The bound evidence comes along for tables beyond the
    findings.
    """
    few = counts.n.size <= _SHARED  # what is bound stays in memory with its counts, for the papers' tables
    bound = BoundCounts.of(counts, by, seed) if few else BoundCounts.bind(counts, by, seed=seed)
    common: Fields = {"by": by, "mode": mode, "seed": seed}
    common["inference"] = str(options.get("inference", "auto"))
    effects: EffectKeywords = {"mode": mode, **options}  # type: ignore[typeddict-item]  # checked by make
    calls = _calls(common, {"by": by, "seed": seed, **effects})
    if metrics is None:
        return [metric(bound, **values) for metric, values in calls], bound
    plain = {metric.card.name for metric in metrics if not metric.arguments}
    of_audit = [(metric, values) for metric, values in calls if metric.card.name in plain]
    names = {metric.card.name for metric, _ in of_audit}
    others = [metric for metric in metrics if metric.arguments or metric.card.name not in names]
    findings = [metric(bound, **values) for metric, values in of_audit]
    return findings + [metric.taking({**common, **effects})(bound) for metric in others], bound


def _calls(common: Fields, effects: Fields) -> list[Call]:
    """Every metric of an audit with what it is called with, in the order in which they are read."""
    rates: list[Metric[...]] = [
        accuracy.accuracy, accuracy.mean_group_accuracy, accuracy.worst_group_accuracy,
        accuracy.worst_class_group_accuracy, accuracy.accuracy_gap, accuracy.accuracy_range,
    ]  # fmt: skip
    calls: list[Call] = [(disparities, {**common, "alpha": effects.get("alpha", ALPHA)})]
    calls += [(metric, common) for metric in (accuracy_contrast, *rates, accuracy_decomposition)]
    for aggregate in ("max", "mean"):
        calls.append((parity.demographic_parity, {"aggregate": aggregate, **common}))
        calls += [
            (parity.equalized_odds, {"eo": eo, "aggregate": aggregate, **common}) for eo in ("max", "avg")
        ]
    sizes: list[Metric[...]] = [
        effect_sizes.cramers_v_pooled, effect_sizes.skewsize, effect_sizes.cramers_v_mean,
        effect_sizes.cramers_v_median, effect_sizes.cramers_v_max, effect_sizes.cramers_v_corrected,
        effect_sizes.phi, effect_sizes.skewsize_sufficiency, effect_sizes.cramers_v,
    ]  # fmt: skip
    return calls + [(metric, effects) for metric in sizes]


def check_groups(counts: Counts, groupings: Sequence[tuple[str, ...]], *, tested: bool = False) -> None:
    """Refuse fewer than two groups among usable rows, hardly a row for each, or, ``tested``, too many."""
    for grouping in groupings:
        grouped, name = Grouped.bind(counts, grouping), "+".join(grouping)
        groups = grouped.groups
        if len(groups) < 2:
            only = one_line("+".join(map(str, groups[0])), 60)
            raise InputError(
                f"{name!r} has one group among usable rows ({only!r}); an audit compares two "
                "or more: name another column with --by, in Python by="
            )
        if len(groups) > _MANY_GROUPS and grouped.n_rows < 2 * len(groups):
            raise InputError(
                f"{name!r} has {len(groups):,} groups among {grouped.n_rows:,} usable rows, most of them a "
                "single row, as ids and file names have; name them with --id, and with --by a column whose "
                "values many rows share"
            )
        if tested:
            check_size(grouped)
