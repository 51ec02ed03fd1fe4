"""One model against another on the same samples: is the difference more than chance?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import InputError, ParameterError
from evenhand.core.results import Dropped, Finding, Interval, Null, Part
from evenhand.core.seeds import stream
from evenhand.evidence.choices import Choices, Where
from evenhand.metrics.bound_choices import Bound, Rows
from evenhand.metrics.prepared import LEVEL, By, check_common
from evenhand.metrics.resolution_findings import corrected, rule_of
from evenhand.stats.paired import Paired, flip_p_value, paired_difference

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def resolution_difference(
    evidence: Choices,
    *,
    reference: Choices,
    metric: str = "resolution_accuracy",
    by: By = (),
    where: Where | None = None,
    inference: str = "auto",
    seed: int = 0,
    mode: str = "default",
) -> Finding:
    """A metric of one model minus that of another, on the samples that both answered; fair at 0.

    Interval: t over clusters, never narrower than that of Agresti and Min (2005). Null and p: the two models
    exchanged at random in each cluster (with fewer than ten, in each sample: McNemar's test), exact up to 13
    contributions, else ``(1 + b) / (1 + B)`` with B = 9,999. Parts are groups, corrected by Holm. Samples
    that the reference did not answer are dropped and counted; the candidates of the two may differ.

    Args:
        evidence: Choices of the first model.
        reference: Choices of the second, with the same truths.
        metric: ``resolution_accuracy``, ``resolution_gap``, ``misgendering_rate``, ``misgendering_gap``,
            ``neutral_rate`` or ``neutral_gap``.
        by: Attribute, or list of attributes to cross, for parts.
        where: Only samples with these values.
        inference: ``none`` skips interval, null band and p.
        seed: Of the exchanges.
        mode: ``paper`` takes the first of tied candidates; nothing is rounded.

    Raises:
        UnknownName: An attribute or value that does not exist.
        InputError: The two disagree about the truth of a sample.
        ParameterError: Not a metric of choices.

    Source: McNemar 1947; Agresti and Min 2005.
    """
    check_common(mode, inference)
    if seed < 0:
        raise ParameterError(f"seed={seed} is not possible; choose 0 or more")
    outcome, weight = rule_of(metric)
    bound, other = Bound.of(evidence, by, where, mode), Bound.of(reference, (), None, mode)
    mine, theirs, lost = _matched(bound, other)
    rows = bound.rows(outcome).take(mine)
    there = other.rows(outcome)
    moved = rows.values / rows.unit - there.values[theirs] / there.unit
    group = bound.group[mine]
    kept = np.flatnonzero(bound.chosen)[mine]
    chosen = np.zeros_like(bound.chosen)
    chosen[kept] = True
    bound = Bound(
        bound.choices, bound.by, bound.where, mode, chosen, bound.groups, group, bound.dropped + lost
    )
    value, fields = _compared(bound, rows, moved, weight, inference, seed, metric, "all")
    parts = _group_parts(bound, rows, moved, weight, inference, seed, metric)
    params = {**bound.params, "metric": metric}
    against = other.params["candidates"]
    if against != params["candidates"]:
        params["reference_candidates"] = against
    return bound.finding("resolution_difference", value, params, parts=corrected(parts), **fields)


def _group_parts(
    bound: Bound,
    rows: Rows,
    moved: Floats,
    weight: tuple[float, float],
    inference: str,
    seed: int,
    metric: str,
) -> list[Part]:
    """The difference in each group."""
    parts: list[Part] = []
    for code in range(len(bound.groups)) if bound.by else ():
        inside = bound.group == code
        value, more = _compared(
            bound, rows.take(inside), moved[inside], weight, inference, seed, metric, str(bound.groups[code])
        )
        n = int(inside.sum())
        parts.append(Part(kind="*".join(bound.by), key=bound.key(code), value=value, n=n, **more))
    return parts


def _matched(bound: Bound, other: Bound) -> tuple[Mask, Integers, list[Dropped]]:
    """Rows of the first that the second has too, where they stand in the second, and what is lost."""
    mine = bound.choices.table.select("sample", "truth").filter(bound.chosen)
    theirs = other.choices.table.select("sample", "truth").with_row_index("row")
    joined = mine.join(theirs, on="sample", how="left", maintain_order="left")
    both = joined["row"].is_not_null().to_numpy()
    found = joined.filter(both)
    unlike = found.filter(found["truth"] != found["truth_right"])
    if unlike.height:
        sample, truth, _, second = unlike.row(0)
        raise InputError(
            f"the truth of sample {sample!r} is {truth!r} in one and {second!r} in the other; compare "
            "choices with the same annotations and template"
        )
    gone = int((~both).sum())
    lost = [Dropped(reason="not answered by the reference", count=gone)] if gone else []
    return both, found["row"].to_numpy().astype(np.int64), lost


def _compared(
    bound: Bound,
    rows: Rows,
    moved: Floats,
    weight: tuple[float, float],
    inference: str,
    seed: int,
    *purpose: str,
) -> tuple[float | None, dict[str, Any]]:
    if rows.reason is not None:
        return None, {"reason": rows.reason}
    means = [float(moved[mask].mean()) for mask in (~rows.second, rows.second)]
    if inference == "none":
        return weight[0] * means[0] + weight[1] * means[1], {}
    rng = stream(seed, "resolution_difference", str(bound.params), "+".join(bound.by), *purpose)
    found = paired_difference(moved, rows.second, weight, rows.cluster, rng, LEVEL)
    return found.value, _paired_fields(bound, found, seed)


def _paired_fields(bound: Bound, found: Paired, seed: int) -> dict[str, Any]:
    unit = str(bound.choices.cluster) if found.clustered else "sample"
    low, high = found.chance.band(LEVEL)
    drawn = {"replicates": found.replicates, "seed": seed} if found.replicates else {}
    return {
        "interval": Interval(
            low=max(found.low, -2.0), high=min(found.high, 2.0), level=LEVEL,
            method=f"paired, by {unit}, at least Agresti-Min",
        ),
        "null": Null(
            mean=found.chance.mean, low=low, high=high, level=LEVEL,
            method=f"models exchanged by {unit}", **drawn,
        ),
        "p_value": flip_p_value(found),
    }  # fmt: skip
