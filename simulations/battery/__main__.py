"""The battery: ``python -m simulations.battery [--runs 1000] [--family NAME] [--keep FILE]``.

Prints one table: metric, design, population value, false alarms (FA), coverage (cov), contradictions, power
beside that of a standard test, width. Cells of false alarms between 6 and 8 % are run again with 10,000 new
seeds. With ``--keep FILE`` a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from simulations.battery.catalogue import DESIGNS, FAMILIES
from simulations.battery.design import Design
from simulations.battery.running import repeated, resumed
from simulations.battery.scores import ANYTHING, Row

_HEADER = (
    "metric", "design", "population", "FA", "cov", "contra", "disagree", "zero", "outside", "power",
    "standard", "width", "missed",
)  # fmt: skip
_AGAIN = 10_000
_NEAR = (0.06, 0.08)


def main() -> None:
    """Run what was named, print the table and a line for what misses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--design", action="append", help="only designs with this text in their name")
    parser.add_argument("--keep", type=Path, help="file of results, to go on with")
    parser.add_argument("--once", action="store_true", help="do not run near cells again")
    given = parser.parse_args()
    designs = [design for design in DESIGNS if _wanted(design, given.family, given.design)]
    print("| " + " | ".join(_HEADER) + " |\n|" + "---|" * len(_HEADER))
    missed, start = 0, time.perf_counter()
    for design, rows in resumed(designs, given.runs, given.seed, given.keep):
        for row in rows:
            final = row if given.once else _again(design, row, given.seed)
            missed += bool(final.missed())
            print(_line(final), flush=True)
    print(f"\n{missed} lines miss a bound; {time.perf_counter() - start:.0f} s")


def _wanted(design: Design, families: Sequence[str] | None, names: Sequence[str] | None) -> bool:
    named = not names or any(name in design.name for name in names)
    return named and (not families or design.family in families)


def _again(design: Design, row: Row, seed: int) -> Row:
    if row.false_alarms is None or not _NEAR[0] < row.false_alarms <= _NEAR[1] or row.metric == ANYTHING:
        return row
    case = next(case for case in design.cases if case.metric == row.metric)
    more = repeated(design, case, _AGAIN, seed + 1_000_000)
    return replace(row, false_alarms=more.false_alarms)


def _line(row: Row) -> str:
    cells = (
        row.metric, row.design, _number(row.truth), _percent(row.false_alarms), _percent(row.coverage),
        _percent(row.contradictions), _percent(row.disagreements), _percent(row.zero_widths),
        _percent(row.outside), _percent(row.power), _percent(row.standard_power), _number(row.width, 2),
        ", ".join(row.missed()),
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    main()
