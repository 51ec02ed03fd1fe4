"""What simulation scripts share: options, and Markdown tables with Monte-Carlo errors."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Cell = str | int | float


def arguments(description: str, simulations: int) -> argparse.Namespace:
    """The two options that every script takes."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=simulations, help=f"default {simulations:,}")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


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


class Clock:
    """Prints, at its end, how long a script took."""

    def __enter__(self) -> None:
        """Start."""
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        """Stop and print."""
        print(f"\n{time.perf_counter() - self.start:.0f} s")
