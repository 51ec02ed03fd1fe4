"""What a model without any group difference shows: SkewSize, mean V, and whether the null bands hold it.

A model has 148 classes, accuracy .6 and even mistakes, two groups of equal size; nothing depends on the
group. ``unequal`` gives the classes 30 to 2,000 images.
"""

from __future__ import annotations

import numpy as np
from _common import (
    Clock,
    Floats,
    Ints,
    answers,
    arguments,
    group_sizes,
    mean,
    prepared,
    sample,
    share,
    show,
    streams,
    unwrap,
)

from evenhand import metrics
from evenhand.metrics.null_effects import null_chi2
from evenhand.stats.contingency import TableBatch, association
from evenhand.stats.skewness import skewness

CLASSES, GROUPS, ALPHA = 148, 2, 0.05
PUBLISHED = {10: ".209 ± .204", 50: "-.026 ± .168", 200: "-.043 ± .201"}
FLOORS = (2, 10, 50, 100, 273, 1000)
SUMMARIES = {
    "SkewSize": skewness,
    "mean V": lambda v: np.nanmean(v, axis=-1),
    "median V": lambda v: np.nanmedian(v, axis=-1),
    "largest V": lambda v: np.nanmax(v, axis=-1),
}


def class_sizes(n: int) -> list[int]:
    """Images of each class: all n, or 30 to 2,000 in equal ratios where n is 0."""
    return [n] * CLASSES if n else [int(size) for size in np.geomspace(30, 2000, CLASSES)]


def model(rng: np.random.Generator, labels: int, n: int) -> Ints:
    """The tables of one unbiased model, shape (classes, groups, labels)."""
    population = np.tile(answers(labels), (GROUPS, 1))
    tables = [sample(rng, population, group_sizes(size, GROUPS), 1) for size in class_sizes(n)]
    return np.concatenate(tables)


def values(rng: np.random.Generator, labels: int, n: int, models: int) -> Floats:
    """V of every class of every model, shape (models, classes)."""
    tables = (association(TableBatch.from_dense(model(rng, labels, n))) for _ in range(models))
    return np.stack([found.statistic("cramers_v") for found in tables])


def skewsizes(labels: int, n: int, models: int, seed: int) -> list[str | int]:
    """Mean and spread of SkewSize, and how V follows the class sizes."""
    rng = np.random.default_rng([seed, labels, n])
    v = values(rng, labels, n, models)
    found = skewness(v)
    size = np.array(class_sizes(n))
    with_size = "" if n else f"{np.corrcoef(v.mean(axis=0), 1 / np.sqrt(size))[0, 1]:.2f}"
    name = str(n) if n else "unequal"
    return [labels, name, mean(found), f"{found.std(ddof=1):.3f}", PUBLISHED[labels] if n else "", with_size]


def in_bands(labels: int, n: int, models: int, seed: int) -> list[str | int]:
    """How often the null band of each summary holds an unbiased model."""
    rng = np.random.default_rng([seed, labels, n, 1])
    inside: dict[str, list[bool]] = {name: [] for name in SUMMARIES}
    nulls = []
    for index in range(models):
        batch = TableBatch.from_dense(model(rng, labels, n))
        found = association(batch)
        null = null_chi2(batch, found, ALPHA, streams(seed, labels, n, index)).of(found, "cramers_v")
        v = found.statistic("cramers_v")
        for name, summarise in SUMMARIES.items():
            draws = summarise(null.draws)
            low, high = np.nanquantile(draws, [0.025, 0.975])
            inside[name].append(bool(low <= summarise(v) <= high))
        nulls.append((skewness(null.draws).mean(), skewness(null.draws).std()))
    centre, spread = np.mean(nulls, axis=0)
    shares = [share(hits) for hits in inside.values()]
    return [labels, str(n) if n else "unequal", f"{centre:.3f} ± {spread:.3f}", *shares]


def floor(labels: int, models: int, seed: int) -> list[str | int]:
    """Mean V of unbiased classes beside sqrt((max(r, c) - 1) / (n - 1)) with the labels that occur."""
    cells: list[str | int] = [labels]
    for n in (50, 200, 400, 2000, 20000):
        rng = np.random.default_rng([seed, labels, n])
        population = np.tile(answers(labels), (GROUPS, 1))
        found = association(TableBatch.from_dense(sample(rng, population, group_sizes(n, GROUPS), models)))
        longer = np.maximum(found.n_rows, found.n_columns)
        expected = np.sqrt((longer - 1) / (n - 1)).mean()
        cells.append(f"{found.statistic('cramers_v').mean():.3f} / {expected:.3f}")
    return cells


def check_public(seed: int) -> None:
    """The kernels used here give the value and the null band that ``skewsize`` reports."""
    tables = model(np.random.default_rng(seed), 10, 200)[:12]
    finding = metrics.skewsize(prepared(tables, seed), by="group", seed=seed)
    found = association(TableBatch.from_dense(tables))
    v = found.statistic("cramers_v")
    np.testing.assert_allclose([unwrap(part.value) for part in finding.parts], v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(unwrap(finding.value), skewness(v), rtol=0, atol=1e-12)
    print(f"`skewsize(...)` and the kernels agree to 1e-12 on {len(tables)} classes.")


def main() -> None:
    """Print the three tables."""
    options = arguments(__doc__ or "", 500)
    models, seed = options.simulations, options.seed
    designs = [(labels, n) for n in (200, 400, 0) for labels in (10, 50, 200)]
    with Clock():
        check_public(seed)
        header = [
            "labels",
            "images a class",
            "mean SkewSize",
            "its sd",
            "earlier figure",
            "corr(V, 1/sqrt n)",
        ]
        show(
            f"SkewSize of {models:,} unbiased models", header, [skewsizes(*d, models, seed) for d in designs]
        )
        header = [
            "labels",
            "images a class",
            "null SkewSize: mean ± sd",
            *(f"{s} inside, %" for s in SUMMARIES),
        ]
        fewer = max(2, models * 3 // 5)
        rows = [in_bands(*d, fewer, seed) for d in designs]
        show(f"Unbiased models inside the 95 % null band, {fewer:,} models", header, rows)
        header = ["labels", *(f"n = {n}" for n in ("50", "200", "400", "2,000", "20,000"))]
        rows = [floor(labels, min(400, models), seed) for labels in FLOORS]
        show("Mean V of unbiased classes / the noise floor", header, rows)


if __name__ == "__main__":
    main()
