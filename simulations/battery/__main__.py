"""The battery: ``python -m simulations.battery [--runs 1000] [--family NAME] [--keep FILE]``.

Prints a table of every line: metric, design, population value, false alarms (FA), coverage (cov),
contradictions, power beside that of a standard test, width, and of listed lines the share whose interval
ends too far from 0 and the share that is false; and one of the worst line of each metric. Cells
of false alarms between 6 and 8 % are run again with 10,000 new seeds. With ``--keep FILE`` a run that was
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from simulations.battery.catalogue import DESIGNS, FAMILIES
from simulations.battery.design import Design
from simulations.battery.running import Plan, resumed
from simulations.battery.scores import ANYTHING, Row

_HEADER = (
    "metric", "design", "population", "FA", "cov", "contra", "printed", "disagree", "zero", "outside",
    "power", "standard", "width", "too far", "false", "missed",
)  # fmt: skip

_WORST = ("metric", "lines", "FA", "cov", "disagree", "power beside standard", "width", "missed")


def main() -> None:
    """Run what was named, print the table and a line for what misses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--design", action="append", help="only designs with this text in their name")
    parser.add_argument("--keep", type=Path, help="file of results, to go on with")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--once", action="store_true", help="do not run near cells again")
    given = parser.parse_args()
    designs = [design for design in DESIGNS if _wanted(design, given.family, given.design)]
    plan = Plan(given.runs, given.seed, not given.once, given.keep)
    start, made = time.perf_counter(), list[Row]()
    print(_head(_HEADER))
    for rows in resumed(plan, designs, given.jobs):
        print("\n".join(_line(row) for row in rows), flush=True)
        made += rows
    print(f"\n{_head(_WORST)}")
    for cells in _worst_lines(made):
        print(_cells(cells))
    missed = sum(bool(row.missed()) for row in made)
    print(f"\n{missed} of {len(made)} lines miss a bound; {time.perf_counter() - start:.0f} s")


def _wanted(design: Design, families: Sequence[str] | None, names: Sequence[str] | None) -> bool:
    named = not names or any(name in design.name for name in names)
    return named and (not families or design.family in families)


def _line(row: Row) -> str:
    cells = (
        row.metric, row.design, _number(row.truth), _percent(row.false_alarms), _percent(row.coverage),
        _percent(row.contradictions), _percent(row.printed), _percent(row.disagreements),
        _percent(row.zero_widths), _percent(row.outside),
        _percent(row.power), _percent(row.standard_power), _number(row.width, 2),
        _percent(row.too_far), _percent(row.false_share),
        ", ".join(row.missed()),
    )  # fmt: skip
    return _cells(cells)


def _head(titles: Sequence[str]) -> str:
    return _cells(titles) + "\n|" + "---|" * len(titles)


def _cells(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _worst_lines(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """One line a metric, whatever its parameters: the worst of its lines, each with the design it is of."""
    metrics: dict[str, list[Row]] = {}
    for row in rows:
        name = row.metric if row.metric == ANYTHING else re.split(r"[\[,/ ]", row.metric)[0]
        metrics.setdefault(name, []).append(row)
    for name, own in metrics.items():
        missed = sum(bool(row.missed()) for row in own)
        yield (
            name, str(len(own)),
            _worst(own, lambda row: row.false_alarms, max),
            _worst(own, lambda row: row.coverage, min),
            f"{100 * max(row.disagreements for row in own):.1f}",
            _power(own),
            _width(own),
            str(missed) if missed else "",
        )  # fmt: skip


def _worst(
    rows: Sequence[Row], value: Callable[[Row], float | None], choose: Callable[..., tuple[float, str]]
) -> str:
    known = [(one, row.design) for row in rows if (one := value(row)) is not None]
    if not known:
        return ""
    share, design = choose(known)
    return f"{100 * share:.1f} ({design})"


def _power(rows: Sequence[Row]) -> str:
    known = [(row.power, row.standard_power) for row in rows if row.power is not None and row.standard_power]
    if not known:
        return ""
    ours, standard = min(known, key=lambda pair: pair[0] / pair[1])
    return f"{100 * ours:.0f} beside {100 * standard:.0f}"


def _width(rows: Sequence[Row]) -> str:
    known = [(row.width, row.design) for row in rows if row.width is not None]
    return f"{max(known)[0]:.1f} ({max(known)[1]})" if known else ""


if __name__ == "__main__":
    main()
