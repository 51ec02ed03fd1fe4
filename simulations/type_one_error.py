"""How often p <= .05 when there is no difference, and how often a difference of the stated size is found.

``p`` is the product's: enumeration for 2x2 tables, resampling for small tables and for sparse ones near the
threshold, else a gamma distribution with the exact permutation moments. Beside it: Pearson's chi-squared
distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from _common import (
    Clock,
    Floats,
    answers,
    arguments,
    biased,
    group_sizes,
    in_chunks,
    sample,
    share,
    show,
    streams,
)
from scipy import stats

from evenhand.metrics.null_effects import null_chi2
from evenhand.stats.contingency import TableBatch, association
from evenhand.stats.null_tables import chi2_of, draw_tables
from evenhand.stats.power import minimum_detectable_v

ALPHA = 0.05
CHUNK = 500


@dataclass(frozen=True)
class Design:
    """Groups x labels with n rows, where nothing depends on the group."""

    groups: int
    labels: int
    n: int
    accuracy: float = 0.6
    shares: tuple[float, ...] = ()
    uneven: bool = False

    @property
    def words(self) -> str:
        """As the tables print it."""
        margins = f", groups {'/'.join(f'{s:g}' for s in self.shares)}" if self.shares else ""
        labels = f", accuracy {self.accuracy:g}" + (", mistakes 1/rank" if self.uneven else "")
        return f"{self.groups} x {self.labels}{margins}{labels if margins or self.uneven else ''}"


DESIGNS = (
    Design(2, 2, 20),
    Design(2, 2, 100),
    Design(2, 2, 1000),
    Design(2, 2, 200, 0.95, (0.9, 0.1)),
    Design(2, 5, 50),
    Design(2, 5, 200),
    Design(2, 5, 400, 0.9, (0.9, 0.1), True),
    Design(2, 12, 50),
    Design(2, 50, 400),
    Design(2, 50, 400, 0.6, (0.9, 0.1), True),
    Design(3, 3, 60),
    Design(3, 3, 300),
    Design(3, 3, 300, 0.9, (0.8, 0.15, 0.05)),
    Design(3, 10, 300),
    Design(3, 10, 300, 0.8, (0.8, 0.15, 0.05), True),
    Design(6, 20, 300),
    Design(6, 20, 300, 0.8, (0.5, 0.3, 0.1, 0.05, 0.03, 0.02), True),
    Design(23, 44, 200),
    Design(23, 100, 4600),
)


def p_values(tables: np.ndarray, seed: int, purpose: str) -> tuple[Floats, Floats, list[str]]:
    """The product's p, Pearson's p, and how the product made its own; tables are (T, groups, labels)."""
    batch = TableBatch.from_dense(tables)
    found = association(batch)
    null = null_chi2(batch, found, ALPHA, streams(seed, purpose))
    degrees = (found.n_rows - 1) * (found.n_columns - 1)
    asymptotic = stats.chi2.sf(found.chi2, np.maximum(degrees, 1))
    return null.p, np.where(degrees > 0, asymptotic, np.nan), null.method


def attainable(tables: np.ndarray, seed: int) -> str:
    """How many values chi-squared takes given the first table's margins, from 5,000 of them."""
    first = tables[0][:, tables[0].sum(axis=0) > 0]
    rows, columns = (first.sum(axis=axis).astype(np.float64) for axis in (1, 0))
    drawn = draw_tables(np.random.default_rng(seed), rows, columns, 5_000)
    count = np.unique(np.round(chi2_of(drawn, rows, columns), 8)).size
    return f"{count:,}" if count < 1_000 else "> 1,000"


def type_one(design: Design, simulations: int, seed: int) -> list[str | int]:
    """One line of the table."""
    rng = np.random.default_rng([seed, design.groups, design.labels, design.n])
    base = answers(design.labels, design.accuracy, uneven=design.uneven)
    population = np.tile(base, (design.groups, 1))
    sizes = group_sizes(design.n, design.groups, design.shares)
    ours, theirs, methods, values = [], [], [], ""
    for chunk, size in enumerate(in_chunks(simulations, CHUNK)):
        tables = sample(rng, population, sizes, size)
        values = values or attainable(tables, seed)
        p, asymptotic, method = p_values(tables, seed, f"{design.words}/{chunk}")
        ours.append(p <= ALPHA)  # a table with one label gives NaN, which rejects nothing
        theirs.append(asymptotic <= ALPHA)
        methods += [name.split()[0] for name in method]
    how = ", ".join(
        f"{name} {100 * methods.count(name) / len(methods):.0f} %"
        for name in sorted(set(methods), key=methods.count, reverse=True)
    )
    rejected, pearson = np.concatenate(ours), np.concatenate(theirs)
    return [design.words, design.n, share(rejected), share(pearson), values, how]


def power(groups: int, labels: int, n: int, pattern: str, simulations: int, seed: int) -> list[str | int]:
    """How often p <= .05 where the true V is the minimum detectable one."""
    rng = np.random.default_rng([seed, groups, labels, n, len(pattern)])
    sizes = group_sizes(n, groups)
    empty = association(TableBatch.from_dense(sample(rng, biased(groups, labels, 0, pattern), sizes, 200)))
    mde = float(np.nanmedian(minimum_detectable_v(empty)))
    population = biased(groups, labels, mde, pattern)
    p = [
        p_values(sample(rng, population, sizes, size), seed, f"power/{chunk}")[0]
        for chunk, size in enumerate(in_chunks(simulations, CHUNK))
    ]
    return [f"{groups} x {labels}", n, pattern, f"{mde:.3f}", share(np.concatenate(p) <= ALPHA)]


def main() -> None:
    """Print both tables."""
    options = arguments(__doc__ or "", 5_000)
    with Clock():
        header = ["table", "n", "product, %", "chi-squared, %", "values of the statistic", "how p was made"]
        rows = [type_one(design, options.simulations, options.seed) for design in DESIGNS]
        show(f"Type I error at .05, {options.simulations:,} simulations", header, rows)
        designs = ((2, 2, 200), (2, 5, 200), (2, 50, 400), (3, 10, 300), (6, 20, 300))
        fewer = max(1, options.simulations // 2)
        lines = [power(*d, pattern, fewer, options.seed) for d in designs for pattern in ("one", "spread")]
        header = ["table", "n", "where the difference is", "mde", "found, % (aim 80)"]
        show(f"Power at the minimum detectable V, {fewer:,} simulations", header, lines)


if __name__ == "__main__":
    main()
