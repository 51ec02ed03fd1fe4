"""The metric of the mistakes that one group gets more often, and the table of all that were compared."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from evenhand.core.findings import Details, Finding, Interval, NewDetails, Part
from evenhand.display.text.disparities import line_sentence
from evenhand.metrics.classification.disparities.comparison import (
    UNDEFINED,
    Correction,
    GroupMistakes,
    Options,
    Order,
)
from evenhand.metrics.classification.disparities.shares import group_shares
from evenhand.metrics.estimates import By, Fields, Inference, Mode, build, check_common, number, part
from evenhand.metrics.prepared import BoundCounts, Evidence, classifier_metric
from evenhand.stats.arrays import Integers
from evenhand.stats.disparities.candidates import MISS
from evenhand.stats.disparities.lines import Lines

_NUMBERS = ("a", "n", "b", "m", "rate", "others", "ratio", "excess", "certain")
_METHOD = "Wilson limits of both rates, joined (Newcombe 1998, method 10)"
_OF_CLUSTERS = "Wilson limits of both rates, effective size over {unit}, joined (MOVER)"
_SELECTED = (
    "; at a level at which 5 % of the intervals of listed lines are expected to miss (false coverage rate, "
    "Benjamini and Yekutieli 2005)"
)
_NO_INFERENCE = dict.fromkeys(("interval", "null", "p_value", "p_adjusted"))
_COUNTS = ("a", "n", "b", "m")


@classifier_metric(
    title="Disparities",
    summary="mistakes that one group gets more often, or less often, than the others of the same class, each "
    "beyond chance",
    formula="number of (class, group, label) whose rate differs from that of the class's other groups, less "
    "those that another one explains",
    range=(0, None), direction="lower is fairer", fair_at=0.0,
    source="Fisher's exact test, doubled mid-p; Tarone 1990; Benjamini and Hochberg 1995; "
    "Katsevich, Sabatti and Bogomolov 2021; Newcombe 1998",
    unit="count", order=5, why_not_compared="which mistakes are listed depends on each model's own counts",
    tags=("where it differs",), made_of="mistakes", first_line="mistakes",
    rests_on=dict.fromkeys(("mistake", "miss", "share"), "class*group"),
)  # fmt: skip
def disparities(
    evidence: Evidence, *, by: By, alpha: float = 0.05, min_rows: int = 5, correction: Correction = "bh",
    order: Order = "rows", mode: Mode = "default", inference: Inference = "auto", seed: int = 0,
) -> Finding:  # fmt: skip
    """Number of mistakes that a group gets more, or less, often than the others of its class; from 0.

    Of a class y in a group z, ``a`` of ``n`` rows are taken for a wrong label k; elsewhere, in all other
    groups together, ``b`` of ``m``. Compared is every such (y, z, k) with ``a + b >= 2`` and at least
    ``min_rows`` rows on both sides, and beside the labels a miss: any wrong label, where a class has several.
    With two groups a mistake is compared once, for the group that makes it more often.

    p is the doubled mid-p of the 2 x 2 table with fixed margins. Those that the margins keep from being small
    enough are left out before the correction (Tarone 1990), which is over all others of the grouping. Parts
    are the lines that are listed: those with ``q <= alpha`` that are not the mirror image of another line of
    the same or an overlapping mistake (a miss and a label), and misses that no listed label explains; of
    several that are listed of K, each has p <= ``alpha`` times their share of K (Katsevich, Sabatti and
    Bogomolov 2021). A part's value is the difference ``a/n - b/m``. Its interval heeds that the data chose
    the line: where R of K tests have ``q <= alpha``, mirror images not counted, its level is ``1 - .05 R/K``,
    by which 5 % of the intervals of all R are expected to miss (Benjamini and Yekutieli 2005). Details:
    ``excess``, the rows above the better side's rate, and ``certain``, the same from the end of the interval
    nearer to 0. For the first three lines, and for the largest where none is listed, parts ``share`` hold
    every group's share of rows with the mistake: Wilson's interval, and as null what the group would have if
    groups changed places within the class.

    Where a cluster column was declared, clusters change groups within a class: q is that of the largest score
    (step-down, 999 exchanges), nothing is left out, and intervals take effective sizes. With weights there
    are rates and differences (``disparity_lines``), but no p. None with reason ``single_group``,
    ``too_few_rows``, ``too_few_mistakes``, ``weighted`` or ``one_cluster``; no mistake at all is 0.

    Args:
        evidence: Predictions or Counts.
        by: Attribute, or list of attributes to cross.
        alpha: Largest corrected p of a line.
        min_rows: Fewest rows of a class in a group, and elsewhere.
        correction: ``bh`` (Benjamini and Hochberg 1995), ``by`` (Benjamini and Yekutieli 2001), ``holm``;
            of independent rows.
        order: What is listed first: ``rows``, those with the most certain rows, or ``points``, the largest
            certain difference.
        mode: Same value in both.
        inference: ``none`` leaves p and intervals out; what is listed stays.
        seed: Of the exchange of clusters.

    Raises:
        UserError: Unknown columns or options, or no usable row.

    Source: Fisher 1935; Lancaster 1961 (mid-p); Tarone 1990; Gilbert 2005; Newcombe 1998; Katsevich, Sabatti
    and Bogomolov 2021; Westfall and Young 1993 (clusters).
    """
    check_common(mode, inference)
    options = Options(alpha, min_rows, correction, order)
    comparison = GroupMistakes.of(BoundCounts.of(evidence, by, seed), options)
    parts, p_value = [*_parts(comparison), *group_shares(comparison)], comparison.p_value
    if inference == "none":
        parts, p_value = [part.model_copy(update=_NO_INFERENCE) for part in parts], None
    reason = comparison.status if comparison.status in UNDEFINED else None
    value = None if reason else float(comparison.listed.size)
    return build(
        comparison.bound, "disparities", options.params, value, reason=reason, p_value=p_value,
        parts=parts, details=_details(comparison),
    ).with_power(partial(_noticed, comparison))  # fmt: skip


def disparity_lines(
    evidence: Evidence, *, by: By, alpha: float = 0.05, min_rows: int = 5, correction: Correction = "bh",
    order: Order = "rows", seed: int = 0,
) -> pl.DataFrame:  # fmt: skip
    """Every mistake that ``disparities`` tested, with its numbers; arguments and errors as there.

    Returns:
        One row per line, those that are listed first, then by p: ``by, truth, group, prediction`` (null: a
        miss), ``direction`` (``more`` or ``less``), ``a, n, b, m, rate, others, difference, low, high,
        ratio`` (null where it never occurs elsewhere), ``excess, certain, p, q, listed, rank, repeats,
        parent, listed_low, listed_high, listed_certain, sentence``. ``low``, ``high`` and ``certain`` are of
        the 95 % interval of each line alone. Listed lines also have those of ``disparities``, which heed that
        the data chose them; ``sentence`` has the line in words, and ``repeats`` says whether a wider group,
        ``parent``, of fewer of the crossed attributes says the same. With weights every mistake that could be
        compared, without p.
    """
    options = Options(alpha, min_rows, correction, order)
    comparison = GroupMistakes.of(BoundCounts.of(evidence, by, seed), options)
    every, first = comparison.lines, comparison.listed
    is_listed = np.zeros(len(every), dtype=bool)
    is_listed[first] = True
    by_p = every.by_p()
    lines = every.take(np.concatenate([first, by_p[~is_listed[by_p]]]))
    rest = len(every) - first.size
    kind = pl.Int64 if comparison.bound.moments is None else pl.Float64
    low, high = lines.limits
    numbers: Fields = {name: getattr(lines, name) for name in ("rate", "others", "difference")}
    numbers |= {"low": low, "high": high}
    numbers |= {name: getattr(lines, name) for name in ("ratio", "excess", "certain", "p", "q")}
    parents, nothing, listed = comparison.parents, [None] * rest, comparison.listed_lines
    of_listed = dict(zip(("low", "high"), listed.limits, strict=True)) | {"certain": listed.certain}
    frame = pl.DataFrame(
        {
            **_names(comparison, lines),
            **{name: pl.Series(getattr(lines, name), dtype=pl.Float64).cast(kind) for name in _COUNTS},
            **{name: pl.Series(values, dtype=pl.Float64).fill_nan(None) for name, values in numbers.items()},
            "listed": np.arange(len(lines)) < first.size,
            "rank": pl.Series([*range(1, first.size + 1), *nothing], dtype=pl.Int64),
            "repeats": pl.Series([*(name is not None for name in parents), *nothing], dtype=pl.Boolean),
            "parent": pl.Series([*parents, *nothing], dtype=pl.String),
            **{f"listed_{name}": pl.Series([*values.tolist(), *nothing], dtype=pl.Float64)
               for name, values in of_listed.items()},
        }
    )  # fmt: skip
    groups = [*map(comparison.bound.group_text, range(len(comparison.bound.groups)))]
    other = dict(zip(groups, reversed(groups), strict=True)) if len(groups) == 2 else {}
    rows = frame.head(first.size).with_columns(certain="listed_certain").iter_rows(named=True)
    texts = [line_sentence(line, elsewhere=other.get(line["group"], "")) for line in rows]
    return frame.with_columns(sentence=pl.Series([*texts, *nothing], dtype=pl.String))


def _names(comparison: GroupMistakes, lines: Lines) -> dict[str, pl.Series]:
    bound = comparison.bound
    labels = pl.Series([*map(bound.label_key, range(len(bound.labels))), None], dtype=pl.String)
    groups = pl.Series([*map(bound.group_text, range(len(bound.groups)))], dtype=pl.String)
    return {
        "by": pl.repeat("+".join(bound.by), len(lines), dtype=pl.String, eager=True),
        "truth": _gathered(labels, lines.truth),
        "group": _gathered(groups, lines.group),
        "prediction": _gathered(labels, np.where(lines.label == MISS, len(bound.labels), lines.label)),
        "direction": _gathered(pl.Series(["less", "more"]), lines.is_more.astype(np.int64)),
    }


def _gathered(names: pl.Series, codes: Integers) -> pl.Series:
    return names.gather(pl.Series(codes, dtype=pl.UInt32))


def _parts(comparison: GroupMistakes) -> list[Part]:
    """The listed lines; the key of each is class, group and, unless it is a miss, label."""
    bound, parts, lines = comparison.bound, [], comparison.listed_lines
    columns = {name: getattr(lines, name).tolist() for name in (*_NUMBERS, "difference", "p", "q", "is_more")}
    method = _METHOD if bound.units is None else _OF_CLUSTERS.format(unit=bound.units.name)
    method += _SELECTED
    low, high = (ends.tolist() for ends in lines.limits)
    codes = zip(lines.truth.tolist(), lines.group.tolist(), lines.label.tolist(), strict=True)
    for index, (truth, group, label) in enumerate(codes):
        row = {name: column[index] for name, column in columns.items()}
        key = bound.cell_key(truth, group)
        details: Fields = {name: row[name] for name in _NUMBERS}
        details |= {"direction": "more" if row["is_more"] else "less", "rank": index + 1}
        if comparison.parents[index] is not None:
            details["repeats"] = comparison.parents[index]
        interval = Interval(low=low[index], high=high[index], level=lines.level, method=method)
        line = part(
            "miss" if label == MISS else "mistake", key if label == MISS else [*key, bound.label_key(label)],
            row["difference"], chance_at=0.0, interval=interval, p_value=row["p"], p_adjusted=row["q"],
            n=row["n"], details=details,
        )  # fmt: skip
        parts.append(line)
    return parts


def _noticed(comparison: GroupMistakes, alpha: float) -> Details:
    """The rate of a mistake in one group of usual size that would have shown (4 times in 5) at a level."""
    detectable = comparison.detectable(alpha)
    if detectable is None:
        return {}
    return {
        "detectable_n": float(detectable.n), "detectable_others": detectable.others,
        "detectable_rate": number(detectable.rate),
    }  # fmt: skip


def _details(comparison: GroupMistakes) -> NewDetails:
    """What came of it, how much was compared, what would have been noticed, and the largest where none is."""
    details: NewDetails = {
        "status": comparison.status, "candidates": comparison.candidates,
        "tested": len(comparison.lines) if comparison.status != "weighted" else None,
        "classes": np.unique(comparison.mistakes.truth).size,
    }  # fmt: skip
    details |= _noticed(comparison, comparison.options.alpha)
    if comparison.status == "none_beyond_chance":
        largest = comparison.largest
        names = _names(comparison, largest)
        for name in ("truth", "group", "prediction"):
            details |= {f"largest_{name}": text for text in names[name].to_list()}
        for name in (*_COUNTS, "p", "q"):
            details |= {f"largest_{name}": value for value in getattr(largest, name)}
    return details
