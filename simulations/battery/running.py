"""Draws of a design, every case on each draw; results are kept line by line, so that a run can go on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from simulations.battery.catalogue import DESIGNS
from simulations.battery.design import Design
from simulations.battery.printed import contradictions
from simulations.battery.scores import ANYTHING, Outcome, Row, score

from evenhand.core.findings import Finding
from evenhand.core.random_streams import stream
from evenhand.core.significance import significance_of

_AGAIN = 10_000
_NEW_SEEDS = 1_000_000
_NEAR = (0.06, 0.08)


@dataclass(frozen=True)
class Plan:
    """How often each design is drawn, and where what was made is kept.

    Attributes:
        runs: Draws of each design.
        seed: Of the first draw.
        again: Whether shares of false alarms near their bound are made again of 10,000 new seeds.
        file: One line of JSON a design; None to keep nothing.
    """

    runs: int
    seed: int = 0
    again: bool = True
    file: Path | None = None

    @property
    def _made_by(self) -> dict[str, int | bool]:
        return {"runs": self.runs, "seed": self.seed, "again": self.again}

    @property
    def once(self) -> Plan:
        """The same draws, none of them made again."""
        return replace(self, again=False)

    def known(self) -> dict[str, list[Row]]:
        """Rows by design, as far as the file has them for this plan."""
        if self.file is None or not self.file.exists():
            return {}
        saved = [json.loads(line) for line in self.file.read_text().splitlines()]
        ours = [one for one in saved if all(one.get(key) == is_ for key, is_ in self._made_by.items())]
        return {one["design"]: [Row(**row) for row in one["rows"]] for one in ours}

    def keep(self, design: str, rows: Sequence[Row]) -> None:
        """Add the rows of a design to the file, as one write."""
        if self.file is None:
            return
        entry = {"design": design, **self._made_by, "rows": [asdict(row) for row in rows]}
        file = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, (json.dumps(entry) + "\n").encode())
        finally:
            os.close(file)


def run_design(design: Design, runs: int, seed: int = 0) -> list[Row]:
    """All cases of a design on the same draws."""
    outcomes: dict[str, list[Outcome]] = {case.metric: [] for case in design.cases}
    alarms, wrong = list[bool](), list[bool]()
    for number in range(runs):
        data = design.draw(stream(seed, "battery", design.name, number))
        for case in design.cases:
            standard = None if case.standard is None else float(case.standard(data))
            finding = case.call(data, seed + number)
            lines = None if case.lines is None else case.lines(data, finding)
            outcomes[case.metric].append(Outcome.of(finding, standard, lines))
        if design.findings is not None:
            holders = design.findings(data, seed + number)
            alarms.append(any(significance_of(one).beyond for one in holders))
            wrong.append(bool(contradictions([one for one in holders if isinstance(one, Finding)])))
    rows = [score(design.name, design.family, case, outcomes[case.metric]) for case in design.cases]
    return rows + ([_anything(design, alarms, wrong)] if alarms else [])


def _anything(design: Design, alarms: list[bool], wrong: list[bool]) -> Row:
    share = float(np.mean(alarms))
    return Row(
        design.name, design.family, ANYTHING, len(alarms), None, share, None, 0, 0, 0, 0, None, None, None,
        printed=float(np.mean(wrong)),
    )  # fmt: skip


def resumed(plan: Plan, designs: Sequence[Design], jobs: int = 1) -> Iterator[list[Row]]:
    """Rows of every design: read where the plan's file has them, else made by so many processes and added."""
    known = plan.known()
    missing = [design.name for design in designs if design.name not in known]
    with ProcessPoolExecutor(jobs) as pool:
        made = {name: pool.submit(_by_name, name, plan) for name in missing}
        for design in designs:
            yield known[design.name] if design.name in known else made[design.name].result()


def _by_name(name: str, plan: Plan) -> list[Row]:
    """The work of one process: designs hold functions, which cannot be sent."""
    design = next(design for design in DESIGNS if design.name == name)
    rows = plan.once.known().get(name)
    if rows is None:
        rows = run_design(design, plan.runs, plan.seed)
        plan.once.keep(name, rows)
    if plan.again:
        rows = [_again(design, row, plan.seed) for row in rows]
        plan.keep(name, rows)
    return rows


def _again(design: Design, row: Row, seed: int) -> Row:
    """The row with false alarms of many new seeds, where they are near their bound."""
    if row.false_alarms is None or not _NEAR[0] < row.false_alarms <= _NEAR[1] or row.metric == ANYTHING:
        return row
    case = next(case for case in design.cases if case.metric == row.metric)
    alone = Design(design.name, design.family, design.draw, [case])
    return replace(row, false_alarms=run_design(alone, _AGAIN, seed + _NEW_SEEDS)[0].false_alarms)
