"""Populations with a known effect, samples of them, and Markdown tables with Monte-Carlo errors."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.seeds import stream
from evenhand.evidence.grouping import Grouped
from evenhand.metrics.prepared import Prepared

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Cell = str | int | float


def arguments(description: str, simulations: int) -> argparse.Namespace:
    """The two options that every script takes."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=simulations, help=f"default {simulations:,}")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def streams(seed: int, *purpose: object) -> Callable[[int], np.random.Generator]:
    """One random stream per table, as a metric would hand them to its kernels."""
    return lambda table: stream(seed, *purpose, table)


def share(hits: npt.ArrayLike) -> str:
    """A share in percent with its Monte-Carlo standard error."""
    array = np.asarray(hits, dtype=np.float64)
    p, n = float(array.mean()), array.size
    return f"{100 * p:.1f} ± {100 * np.sqrt(p * (1 - p) / n):.1f}"


def aimed(hits: npt.ArrayLike, least: float) -> str:
    """A share in percent, bold where it misses, as printed, the least that is aimed at."""
    missed = round(100 * float(np.mean(hits)), 1) < 100 * least
    return f"**{share(hits)}**" if missed else share(hits)


def mean(values: npt.ArrayLike, digits: int = 3) -> str:
    """A mean with its Monte-Carlo standard error."""
    array = np.asarray(values, dtype=np.float64)
    return f"{array.mean():.{digits}f} ± {array.std(ddof=1) / np.sqrt(array.size):.{digits}f}"


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Print a Markdown table under its title."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")


REPLICATES = 199  # resamples of a simulated model, where not the product's 999


def ends(replicates: Floats, axis: int = -1) -> Floats:
    """The 5th and the 195th of 199 replicates, shape (2, ...): one more of the kind lies between in 95 %."""
    return np.asarray(np.quantile(replicates, [0.025, 0.975], axis=axis, method="weibull"))


def class_streams(seed: int) -> Callable[[int], np.random.Generator]:
    """The streams that effect-size metrics hand to the null of each class of ``prepared(tables, seed)``."""
    return lambda table: stream(seed, "group", "null", "separation", f"{table:04d}")


class Clock:
    """Prints, at its end, how long a script took."""

    def __enter__(self) -> None:
        """Start."""
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        """Stop and print."""
        print(f"\n{time.perf_counter() - self.start:.0f} s")


def answers(labels: int, accuracy: float = 0.6, *, uneven: bool = False) -> Floats:
    """How one class is answered: the first label is right, mistakes are even or fall off as 1, 1/2, 1/3."""
    wrong = 1 / np.arange(1, labels) if uneven else np.ones(labels - 1)
    return np.r_[accuracy, (1 - accuracy) * wrong / wrong.sum()]


def cramers_v(population: Floats, shares: Floats) -> float:
    """V of a population: rows are groups with the given shares, each row sums to 1."""
    pooled = shares @ population
    phi_squared = (shares[:, None] * population**2 / pooled).sum() - 1
    return float(np.sqrt(max(phi_squared, 0) / (min(population.shape) - 1)))


def biased(groups: int, labels: int, v: float, pattern: str) -> Floats:
    """A population of equal groups with the given V, shape (groups, labels).

    A share of each group's answers moves to labels of its own: ``one`` label, or ``spread`` evenly over
    every label whose number leaves the group's as remainder. The share is found by bisection.
    """
    own = np.zeros((groups, labels))
    for group in range(groups):
        first = group % labels
        own[group, first if pattern == "one" else slice(first, labels, groups)] = 1
    own /= own.sum(axis=1, keepdims=True)
    base, shares = answers(labels), np.full(groups, 1 / groups)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        below = cramers_v((1 - middle) * base + middle * own, shares) < v
        low, high = (middle, high) if below else (low, middle)
    return np.asarray((1 - low) * base + low * own) if v else np.tile(base, (groups, 1))


def group_sizes(n: int, groups: int, shares: Sequence[float] = ()) -> Ints:
    """Rows of each group; they add up to n."""
    exact = n * (np.asarray(shares) if shares else np.full(groups, 1 / groups))
    edges = np.rint(np.r_[0, np.cumsum(exact)]).astype(np.int64)
    return np.diff(edges)


def sample(rng: np.random.Generator, population: Floats, sizes: Ints, simulations: int) -> Ints:
    """Tables with fixed rows, shape (simulations, groups, labels)."""
    population = population / population.sum(axis=-1, keepdims=True)
    return rng.multinomial(sizes, population, size=(simulations, sizes.size)).astype(np.int64)


def prepared(tables: Ints, seed: int) -> Prepared:
    """Tables of shape (classes, groups, labels), class k meaning label k, as evidence of one grouping."""
    truth, group, prediction = (axis.astype(np.int32) for axis in np.nonzero(tables))
    classes, groups, labels = tables.shape
    grouped = Grouped(
        by=("group",),
        labels=tuple(f"{label:04d}" for label in range(max(classes, labels))),
        n_used=max(classes, labels),
        classes=np.arange(classes, dtype=np.int32),
        groups=tuple((f"{code:04d}",) for code in range(groups)),
        truth=truth,
        group=group,
        prediction=prediction,
        n=tables[truth, group, prediction],
        dropped=(),
    )
    return Prepared(grouped, seed)


def in_chunks(total: int, size: int) -> list[int]:
    """Sizes of chunks that add up to total."""
    return [min(size, total - start) for start in range(0, total, size)]


def unwrap(value: Any) -> float:
    """A number of a finding, NaN where it is missing."""
    return float("nan") if value is None else float(value)
