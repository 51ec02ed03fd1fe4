"""Draws of a design, every case on each draw; results are kept line by line, so that a run can go on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from simulations.battery.design import Case, Design
from simulations.battery.scores import ANYTHING, Outcome, Row, score

from evenhand.core.chance import standing_of
from evenhand.core.seeds import stream


def run_design(design: Design, runs: int, seed: int = 0) -> list[Row]:
    """All cases of a design on the same draws."""
    outcomes: dict[str, list[Outcome]] = {case.metric: [] for case in design.cases}
    alarms = []
    for number in range(runs):
        data = design.draw(stream(seed, "battery", design.name, number))
        for case in design.cases:
            standard = None if case.standard is None else float(case.standard(data))
            outcomes[case.metric].append(Outcome.of(case.call(data, seed + number), standard))
        if design.findings is not None:
            alarms.append(any(standing_of(one).beyond for one in design.findings(data, seed + number)))
    rows = [score(design.name, design.family, case, outcomes[case.metric]) for case in design.cases]
    return rows + ([_anything(design, alarms)] if alarms else [])


def _anything(design: Design, alarms: list[bool]) -> Row:
    share = float(np.mean(alarms))
    return Row(
        design.name, design.family, ANYTHING, len(alarms), None, share, None, 0, 0, 0, 0, None, None, None
    )


def resumed(
    designs: Iterable[Design], runs: int, seed: int, kept: Path | None
) -> Iterator[tuple[Design, list[Row]]]:
    """Rows of every design: read where ``kept`` has them for these runs and seed, else made and added."""
    known: dict[str, list[Row]] = {}
    if kept is not None and kept.exists():
        for line in kept.read_text().splitlines():
            saved = json.loads(line)
            if (saved["runs"], saved["seed"]) == (runs, seed):
                known[saved["design"]] = [Row(**row) for row in saved["rows"]]
    for design in designs:
        rows = known.get(design.name)
        if rows is None:
            rows = run_design(design, runs, seed)
            if kept is not None:
                entry = {"design": design.name, "runs": runs, "seed": seed}
                with kept.open("a") as file:
                    file.write(json.dumps({**entry, "rows": [row.as_dict() for row in rows]}) + "\n")
        yield design, rows


def repeated(design: Design, case: Case, runs: int, seed: int) -> Row:
    """One case again with new seeds, for shares near their bound."""
    alone = Design(design.name, design.family, design.draw, [case])
    return run_design(alone, runs, seed)[0]
