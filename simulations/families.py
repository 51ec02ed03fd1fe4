"""False alarms over many classes: families of unbiased classes, raw, with Holm and with Benjamini-Hochberg.

Where every class is unbiased, any rejection is false, so the false discovery rate of Benjamini-Hochberg is
its share of families with a rejection.
"""

from __future__ import annotations

import numpy as np
from _common import Clock, answers, arguments, biased, group_sizes, mean, sample, share, show, streams

from evenhand.metrics.null_effects import null_chi2
from evenhand.stats.contingency import TableBatch, association
from evenhand.stats.multiplicity import adjust

CLASSES, GROUPS, LABELS, N, ALPHA = 148, 2, 10, 200, 0.05


def p_values(tables: np.ndarray, seed: int, family: int) -> np.ndarray:
    """The product's p of every class."""
    batch = TableBatch.from_dense(tables)
    return null_chi2(batch, association(batch), ALPHA, streams(seed, "family", family)).p


def unbiased(families: int, seed: int) -> list[list[str]]:
    """Hits per family and the share of families with any."""
    rng = np.random.default_rng(seed)
    population = np.tile(answers(LABELS), (GROUPS, 1))
    hits: dict[str, list[int]] = {"none": [], "holm": [], "bh": []}
    for family in range(families):
        p = p_values(sample(rng, population, group_sizes(N, GROUPS), CLASSES), seed, family)
        for method, counts in hits.items():
            counts.append(int((adjust(p, method) <= ALPHA).sum()))
    return [
        [method, mean(counts, 2), share(np.array(counts) > 0), str(max(counts))]
        for method, counts in hits.items()
    ]


def mixed(families: int, seed: int, biased_classes: int = 30, v: float = 0.35) -> list[list[str]]:
    """Some classes biased: shares of false discoveries and of biased classes found."""
    rng = np.random.default_rng(seed + 1)
    sizes = group_sizes(N, GROUPS)
    lines = []
    false_shares: dict[str, list[float]] = {"none": [], "holm": [], "bh": []}
    any_false: dict[str, list[bool]] = {method: [] for method in false_shares}
    found: dict[str, list[float]] = {method: [] for method in false_shares}
    for family in range(families):
        fair = sample(rng, np.tile(answers(LABELS), (GROUPS, 1)), sizes, CLASSES - biased_classes)
        unfair = sample(rng, biased(GROUPS, LABELS, v, "spread"), sizes, biased_classes)
        p = p_values(np.concatenate([fair, unfair]), seed, families + family)
        for method, shares in false_shares.items():
            rejected = adjust(p, method) <= ALPHA
            false = rejected[: len(fair)].sum()
            shares.append(float(false / max(1, rejected.sum())))
            any_false[method].append(bool(false))
            found[method].append(float(rejected[len(fair) :].mean()))
    for method, shares in false_shares.items():
        lines.append([method, mean(shares), share(any_false[method]), mean(found[method])])
    return lines


def main() -> None:
    """Print both tables."""
    options = arguments(__doc__ or "", 2_000)
    with Clock():
        header = ["correction", "hits per family", "families with a hit, %", "most hits"]
        title = (
            f"{options.simulations:,} families of {CLASSES} unbiased classes ({GROUPS} x {LABELS}, n = {N})"
        )
        show(title, header, unbiased(options.simulations, options.seed))
        header = [
            "correction",
            "false among rejected",
            "families with a false hit, %",
            "biased classes found",
        ]
        fewer = max(2, options.simulations // 4)
        show(f"{fewer:,} families with 30 biased classes (V = .35)", header, mixed(fewer, options.seed))


if __name__ == "__main__":
    main()
