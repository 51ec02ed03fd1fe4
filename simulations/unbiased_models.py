"""What a model without any group difference shows: SkewSize, mean V, and whether the null bands hold it.

A model has 148 classes, accuracy .6 and even mistakes, two groups of equal size; nothing depends on the
group. ``unequal`` models have half as many classes, of 30 to 2,000 images.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
from _common import (
    REPLICATES,
    Clock,
    Floats,
    Ints,
    answers,
    arguments,
    class_streams,
    ends,
    group_sizes,
    in_chunks,
    mean,
    prepared,
    sample,
    share,
    show,
    unwrap,
)

from evenhand import metrics
from evenhand.metrics.null_effects import Streams, null_chi2
from evenhand.stats.contingency import TableBatch, association
from evenhand.stats.skewness import skewness

CLASSES, GROUPS, ALPHA = 148, 2, 0.05
PUBLISHED = {10: ".209 ± .204", 50: "-.026 ± .168", 200: "-.043 ± .201"}
FLOORS = (2, 10, 50, 100, 273, 1000)
SUMMARIES: dict[str, Callable[[Floats], Floats]] = {
    "SkewSize": skewness,
    "mean V": lambda v: np.asarray(v.mean(axis=-1)),
    "median V": lambda v: np.asarray(np.median(v, axis=-1)),
    "largest V": lambda v: np.asarray(v.max(axis=-1)),
}
PUBLIC = {
    "SkewSize": "skewsize",
    "mean V": "cramers_v_mean",
    "median V": "cramers_v_median",
    "largest V": "cramers_v_max",
}


def class_sizes(n: int) -> Ints:
    """Images of each class: all n, or 30 to 2,000 in equal ratios where n is 0."""
    return np.full(CLASSES, n) if n else np.geomspace(30, 2000, CLASSES // 2).astype(np.int64)


def cell_sizes(n: int) -> Ints:
    """Images of each class and group, shape (classes, groups)."""
    return np.stack([group_sizes(int(size), GROUPS) for size in class_sizes(n)])


def model(rng: np.random.Generator, labels: int, sizes: Ints) -> Ints:
    """The tables of one unbiased model, shape (classes, groups, labels)."""
    return np.asarray(rng.multinomial(sizes, answers(labels)), dtype=np.int64)


def values_and_nulls(tables: Ints, streams: Streams) -> tuple[Floats, Floats]:
    """V of every class, shape (classes,), and its null replicates, shape (replicates, classes)."""
    batch = TableBatch.from_dense(tables)
    found = association(batch)
    null = null_chi2(batch, found, ALPHA, streams).of(found, "cramers_v")
    return found.statistic("cramers_v"), null.draws


def simulate(labels: int, n: int, models: int, seed: int) -> tuple[list[str | int], list[str | int]]:
    """One line on SkewSize and one on the null bands of one kind of model."""
    rng = np.random.default_rng([seed, labels, n])
    inside: dict[str, list[bool]] = {name: [] for name in SUMMARIES}
    values, centres, spreads, sizes = [], [], [], cell_sizes(n)
    with patch.multiple("evenhand.metrics.null_effects", REPLICATES=REPLICATES, _SECOND_STAGE=0):
        for _ in range(models):
            v, null = values_and_nulls(model(rng, labels, sizes), lambda table: rng)
            for name, summarise in SUMMARIES.items():
                draws = summarise(null)
                low, high = ends(draws)
                inside[name].append(bool(low <= summarise(v) <= high))
                if name == "SkewSize":
                    centres.append(draws.mean())
                    spreads.append(draws.std())
            values.append(v)
    name = str(n) if n else "unequal"
    band = f"{np.mean(centres):.3f} ± {np.mean(spreads):.3f}"
    shares = [share(hits) for hits in inside.values()]
    return skewsizes(labels, n, np.stack(values)), [labels, name, band, *shares]


def skewsizes(labels: int, n: int, v: Floats) -> list[str | int]:
    """Mean and spread of SkewSize, and how V, shape (models, classes), follows the class sizes."""
    found = skewness(v)
    with_size = "" if n else f"{np.corrcoef(v.mean(axis=0), 1 / np.sqrt(class_sizes(n)))[0, 1]:.2f}"
    name = str(n) if n else "unequal"
    return [labels, name, mean(found), f"{found.std(ddof=1):.3f}", PUBLISHED[labels] if n else "", with_size]


def floor(labels: int, models: int, seed: int) -> list[str | int]:
    """Mean V of unbiased classes beside sqrt((max(r, c) - 1) / (n - 1)) with the labels that occur."""
    cells: list[str | int] = [labels]
    population = np.tile(answers(labels), (GROUPS, 1))
    for n in (50, 200, 400, 2000, 20000):
        rng = np.random.default_rng([seed, labels, n])
        v, expected = [], []
        for size in in_chunks(models, 500):
            found = association(TableBatch.from_dense(sample(rng, population, group_sizes(n, GROUPS), size)))
            v.append(found.statistic("cramers_v"))
            expected.append(np.sqrt((np.maximum(found.n_rows, found.n_columns) - 1) / (n - 1)))
        cells.append(f"{np.concatenate(v).mean():.3f} / {np.concatenate(expected).mean():.3f}")
    return cells


def check_public(seed: int) -> None:
    """The kernels used here give the values and null bands that the public metrics report."""
    tables = model(np.random.default_rng(seed), 10, cell_sizes(0)[::6])
    evidence = prepared(tables, seed)
    v, null = values_and_nulls(tables, class_streams(seed))
    for name, summarise in SUMMARIES.items():
        finding = getattr(metrics, PUBLIC[name])(evidence, by="group", seed=seed)
        if finding.null is None:
            raise SystemExit(f"{name} has no null band")
        reported = [unwrap(finding.value), finding.null.low, finding.null.high]
        ours = [summarise(v), *np.quantile(summarise(null), [0.025, 0.975])]
        np.testing.assert_allclose(reported, ours, rtol=0, atol=1e-12)
    print(
        f"The public metrics and the kernels agree to 1e-12 on {len(tables)} classes of 30 to 2,000 images."
    )


def main() -> None:
    """Check, then print the three tables."""
    options = arguments(__doc__ or "", 5_000)
    models, seed = options.simulations, options.seed
    designs = [(labels, n) for n in (200, 400, 0) for labels in (10, 50, 200)]
    with Clock():
        check_public(seed)
        header = ["labels", *(f"n = {n}" for n in ("50", "200", "400", "2,000", "20,000"))]
        rows = [floor(labels, models, seed) for labels in FLOORS]
        show(f"Mean V of {models:,} unbiased classes / the noise floor", header, rows)
        lines = [simulate(*design, models, seed) for design in designs]
        header = ["labels", "images a class", "mean SkewSize", "its sd", "earlier figure"]
        header += ["corr(V, 1/sqrt n)"]
        show(f"SkewSize of {models:,} unbiased models", header, [line for line, _ in lines])
        header = [
            "labels",
            "images a class",
            "null SkewSize: mean ± sd",
            *(f"{s} inside, %" for s in SUMMARIES),
        ]
        title = f"Unbiased models inside the 95 % null band of {REPLICATES} replicates, {models:,} models"
        show(title, header, [line for _, line in lines])


if __name__ == "__main__":
    main()
