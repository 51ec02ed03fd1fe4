"""Models that know nothing, through every benchmark: how often does a run say "beyond chance"?

``python -m simulations.random_encoders [--seeds 20] [--benchmark NAME]``. A random model gives every image
and text numbers of their own that mean nothing; a constant one the same to all. Data are small and made up.
Aim: at most 8 % of the runs of random models say anything beyond chance, none of a benchmark more than 4 of
20, and none of a constant model, but for portraits, in which it sees the same in every image of a prompt.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

import tests.conftest  # noqa: F401 - nothing from the hub, nothing into the user's caches
from tests.benchmarks.small_data import ASKED, KNOWN, write
from tests.gallery.people import CONCEPTS

import evenhand as eh
from evenhand.core.findings import Finding
from evenhand.core.significance import significance_of
from evenhand.workflows.execution.options import AskOptions

TIMES = 10
"""How many times as much data as the tests have."""


def verdicts(asked: tuple[str, Any, str, dict[str, str]], seed: int | None, data: Path) -> list[Finding]:
    """Findings of one run with a verdict "beyond chance", of their own or of a part."""
    name, model, place, given = asked
    words = {key: str(data / value) if value == CONCEPTS else value for key, value in given.items()}
    run = eh.run(
        name, model=model(seed), data=data / place if place else None, parameters=words,
        seed=0 if seed is None else seed, options=AskOptions(keep_answers=False, workers=1),
    )  # fmt: skip
    return [one for one in run.findings.findings if any(significance_of(h).beyond for h in (one, *one.parts))]


def main() -> None:
    """One line a benchmark and kind of model, and the share of all runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--benchmark", choices=sorted(KNOWN), action="append")
    given = parser.parse_args()
    print("| benchmark | random: runs with a verdict | of these, findings | constant |\n|---|---|---|---|")
    total = count = 0
    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary)
        os.environ["EVENHAND_HOME"] = str(data / "home")
        write(data, TIMES)
        for asked in (asked for asked in ASKED if asked[0] in (given.benchmark or KNOWN)):
            runs = [verdicts(asked, seed, data) for seed in range(given.seeds)]
            hits = [run for run in runs if run]
            total, count = total + len(hits), count + len(runs)
            metrics = ", ".join(sorted({one.name for run in hits for one in run}))
            constant = ", ".join(sorted({one.name for one in verdicts(asked, None, data)})) or "none"
            name = f"{asked[0]}, {asked[1].__name__}"
            print(f"| {name} | {len(hits)} of {len(runs)} | {metrics} | {constant} |", flush=True)
    print(f"\nall: {total} of {count} runs ({100 * total / count:.1f} %)")


if __name__ == "__main__":
    main()
