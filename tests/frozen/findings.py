"""Findings of every metric on the first draws of the battery, by which two versions can be compared.

    python -m tests.frozen.findings -o before.jsonl     (today's code)
    python -m tests.frozen.findings -o after.jsonl      (the changed code)
    diff before.jsonl after.jsonl

One line a finding, with its interval at three levels. With ``--family`` only designs of that name.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from simulations.battery.catalogue import DESIGNS, FAMILIES
from simulations.battery.design import Design

from evenhand.core.findings import Finding
from evenhand.core.random_streams import stream

_LEVELS = (0.8, 0.99)


def main() -> None:
    """Write the findings of all designs."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen.findings", description=__doc__)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=2, help="of each design")
    parser.add_argument("--family", choices=FAMILIES, action="append")
    given = parser.parse_args()
    with given.out.open("w") as file:
        for design in DESIGNS:
            if not given.family or design.family in given.family:
                file.writelines(f"{line}\n" for line in _lines(design, given.draws))


def _lines(design: Design, draws: int) -> Iterator[str]:
    for number in range(draws):
        data = design.draw(stream(0, "battery", design.name, number))
        for case in design.cases:
            finding = case.call(data, number)
            if isinstance(finding, Finding):
                head = {"design": design.name, "draw": number, "case": case.metric}
                yield json.dumps(head | finding.model_dump(mode="json") | _intervals(finding), sort_keys=True)


def _intervals(finding: Finding) -> dict[str, object]:
    if finding.interval is None:
        return {}
    intervals = {f"at {level}": finding.interval_at(level) for level in _LEVELS}
    return {name: None if one is None else one.model_dump(mode="json") for name, one in intervals.items()}


if __name__ == "__main__":
    main()
