"""A first table of one's own: does the first line of ``disparities`` name the mistake that was planted?

``python -m simulations.newcomer [--simulations 200] [--seed 0]``. Tickets of five intents, 100 of each in
every office; one of ten is called another intent, whatever the office. In one office, tickets of one intent
are called one wrong intent besides, at a rate of .15, .3 or .5. Counted is in how many tables the first line
names office, intent and wrong intent; and, with nothing planted and five times as many tables, in how many
there is no line. "In a run" counts lines only where the metric is beyond chance among the three questions
of an audit. Exit status 1 if a share is below its bound.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from simulations._common import Clock, aimed, arguments, show

import evenhand as eh
from evenhand.core.random_streams import stream
from evenhand.core.significance import is_beyond
from evenhand.metrics.suites.families import AUDIT, adjust_run

INTENTS = ("account_locked", "fraud_report", "refund", "general_question", "delivery_delay")
OFFICE = "Lagos"
PLANTED = ["account_locked", OFFICE, "fraud_report"]
ROWS, ERROR = 100, 0.1
LEAST = {
    2: {0.15: 0.60, 0.3: 0.90, 0.5: 0.90},
    3: {0.15: 0.75, 0.3: 0.90, 0.5: 0.90},
    5: {0.15: 0.825, 0.3: 0.90, 0.5: 0.90},
    23: {0.15: 0.90, 0.3: 0.90, 0.5: 0.90},
}
"""Smallest share of tables whose first line is right, by offices and planted rate."""
LEAST_QUIET = 0.92
"""Smallest share of tables without a line, where nothing is planted."""


@dataclass(frozen=True)
class Outcome:
    """What is said of one table.

    Attributes:
        first: Key of the first line; None without any.
        in_run: The same where lines show only if the metric is beyond chance in its run.
    """

    first: list[str] | None
    in_run: list[str] | None


def tickets(rng: np.random.Generator, offices: int, rate: float) -> pl.DataFrame:
    """One table; ``rate``: how often the planted mistake is made in the office, 0 for none."""
    shape = (offices, len(INTENTS), ROWS)
    office, truth = (codes.ravel() for codes in np.indices(shape)[:2])
    wrong = (truth + rng.integers(1, len(INTENTS), truth.size)) % len(INTENTS)
    said = np.where(rng.random(truth.size) < ERROR, wrong, truth)
    is_hurt = (office == 0) & (truth == 0) & (rng.random(truth.size) < rate)
    intents = pl.Series(INTENTS)
    names = pl.Series([OFFICE, *(f"office {number:02d}" for number in range(2, offices + 1))])
    return pl.DataFrame(
        {
            "intent": intents.gather(truth),
            "predicted": intents.gather(np.where(is_hurt, 1, said)),
            "office": names.gather(office),
        }
    )


def outcome_of(table: pl.DataFrame, seed: int) -> Outcome:
    """What the metric, and a run, say of a table."""
    evidence = eh.Predictions.from_frame(table, truth="intent", prediction="predicted").count(["office"])
    lines = eh.metrics.disparities(evidence, by="office", seed=seed)
    others = [getattr(eh.metrics, name)(evidence, by="office", seed=seed) for name in AUDIT[1:]]
    in_run = adjust_run([lines, *others], AUDIT)[0]
    keys = [list(part.key) for part in lines.parts if part.kind in ("mistake", "miss")]
    first = keys[0] if keys else None
    return Outcome(first, first if is_beyond(in_run) else None)


def outcomes(offices: int, rate: float, simulations: int, seed: int) -> Iterator[Outcome]:
    """Of so many tables."""
    for number in range(simulations):
        rng = stream(seed, "newcomer", offices, rate, number)
        yield outcome_of(tickets(rng, offices, rate), seed + number)


def main() -> int:
    """Print both tables; 1 if a share is below its bound."""
    given = arguments(__doc__, 200)
    rows, missed = [], 0
    for offices, bounds in LEAST.items():
        for rate, least in bounds.items():
            drawn = list(outcomes(offices, rate, given.simulations, given.seed))
            hits = [[first == PLANTED for first in firsts] for firsts in _firsts(drawn)]
            rows.append((offices, rate, *(aimed(hit, least) for hit in hits), f"{100 * least:.1f}"))
            missed += sum(np.mean(hit) < least for hit in hits)
    show("First line right", ("offices", "planted rate", "alone %", "in a run %", "bound"), rows)
    rows = []
    for offices in LEAST:
        drawn = list(outcomes(offices, 0, 5 * given.simulations, given.seed))
        quiet = [[first is None for first in firsts] for firsts in _firsts(drawn)]
        rows.append((offices, *(aimed(none, LEAST_QUIET) for none in quiet), f"{100 * LEAST_QUIET:.1f}"))
        missed += sum(np.mean(none) < LEAST_QUIET for none in quiet)
    show("Nothing planted: no line", ("offices", "alone %", "in a run %", "bound"), rows)
    print(f"\n{missed} shares below their bound")
    return int(missed > 0)


def _firsts(drawn: list[Outcome]) -> tuple[list[list[str] | None], list[list[str] | None]]:
    return [outcome.first for outcome in drawn], [outcome.in_run for outcome in drawn]


if __name__ == "__main__":
    with Clock():
        status = main()
    sys.exit(status)
