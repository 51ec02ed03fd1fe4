"""False alarms over many classes: families of unbiased classes, raw, with Holm and with Benjamini-Hochberg.

Where every class is unbiased, any rejection is false, so the false discovery rate of Benjamini-Hochberg is
its share of families with a rejection.
"""

from __future__ import annotations

import numpy as np
from _common import (
    Clock,
    Floats,
    Ints,
    answers,
    arguments,
    biased,
    class_streams,
    group_sizes,
    mean,
    prepared,
    sample,
    share,
    show,
)

from evenhand import metrics
from evenhand.metrics.null_effects import null_chi2
from evenhand.stats.contingency import TableBatch, association
from evenhand.stats.multiplicity import adjust

CLASSES, GROUPS, LABELS, N, ALPHA = 148, 2, 10, 200, 0.05
BIASED, V = 30, 0.35
METHODS = ("none", "holm", "bh")
FAIR = np.tile(answers(LABELS), (GROUPS, 1))
UNFAIR = biased(GROUPS, LABELS, V, "spread")


def family(rng: np.random.Generator, biased_classes: int) -> Ints:
    """The tables of one family, shape (classes, groups, labels), the biased ones last."""
    sizes = group_sizes(N, GROUPS)
    fair = sample(rng, FAIR, sizes, CLASSES - biased_classes)
    return np.concatenate([fair, sample(rng, UNFAIR, sizes, biased_classes)])


def p_values(tables: Ints, seed: int) -> Floats:
    """The product's p of every class."""
    batch = TableBatch.from_dense(tables)
    return null_chi2(batch, association(batch), ALPHA, class_streams(seed)).p


def rejections(families: int, biased_classes: int, seed: int) -> dict[str, np.ndarray]:
    """Which classes each method rejects, shape (families, classes)."""
    rng = np.random.default_rng([seed, biased_classes])
    p = [p_values(family(rng, biased_classes), seed + number) for number in range(families)]
    return {method: np.stack([adjust(one, method) <= ALPHA for one in p]) for method in METHODS}


def unbiased(families: int, seed: int) -> list[list[str]]:
    """Hits per family and the share of families with any."""
    lines = []
    for method, rejected in rejections(families, 0, seed).items():
        hits = rejected.sum(axis=1)
        lines.append([method, mean(hits, 2), share(hits > 0), str(hits.max())])
    return lines


def mixed(families: int, seed: int) -> list[list[str]]:
    """Some classes biased: shares of false discoveries and of biased classes found."""
    lines = []
    for method, rejected in rejections(families, BIASED, seed).items():
        false = rejected[:, :-BIASED].sum(axis=1)
        false_share = false / np.maximum(1, rejected.sum(axis=1))
        found = rejected[:, -BIASED:].mean(axis=1)
        lines.append([method, mean(false_share), share(false > 0), mean(found)])
    return lines


def check_public(seed: int, families: int = 3) -> None:
    """The kernels used here give the p, raw and adjusted, that ``skewsize`` reports."""
    rng = np.random.default_rng(seed)
    for number in range(families):
        tables = family(rng, BIASED)
        p = p_values(tables, seed + number)
        for method in METHODS:
            evidence = prepared(tables, seed + number)
            finding = metrics.skewsize(evidence, by="group", seed=seed + number, adjustment=method)
            reported = np.array([(part.p_value, part.p_adjusted) for part in finding.parts])
            ours = np.stack([p, adjust(p, method)], axis=1)
            np.testing.assert_allclose(reported.astype(float), ours, rtol=0, atol=1e-12)
    print(f"`skewsize(...)` and the kernels agree to 1e-12 on {families} families of {CLASSES} classes.")


def main() -> None:
    """Check, then print both tables."""
    options = arguments(__doc__ or "", 5_000)
    families, seed = options.simulations, options.seed
    with Clock():
        check_public(seed)
        header = ["correction", "hits per family", "families with a hit, %", "most hits"]
        title = f"{families:,} families of {CLASSES} unbiased classes ({GROUPS} x {LABELS}, n = {N})"
        show(title, header, unbiased(families, seed))
        header = [
            "correction",
            "false among rejected",
            "families with a false hit, %",
            "biased classes found",
        ]
        title = f"{families:,} families with {BIASED} biased classes (V = {V})"
        show(title, header, mixed(families, seed))


if __name__ == "__main__":
    main()
