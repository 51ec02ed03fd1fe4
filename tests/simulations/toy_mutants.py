"""Tries every mutant of a toy package on its tests; run by test_mutants.py in a process without threads."""

import json
import sys
from pathlib import Path

from simulations.mutants.places import places_of
from simulations.mutants.seen import seen_by
from simulations.mutants.trial import Mutant, chosen, tried, written

FILE = "toy/sums.py"


def main(root: Path) -> None:
    source = root / "src"
    seen = seen_by(root, source, ["test_sums.py"], root)
    text = (source / FILE).read_text()
    with written(source / FILE, text):  # the copy, here: what is written comes and goes
        mutants = [Mutant(FILE, place, text) for place in places_of(text)]
        results = [tried(chosen(mutant, seen, 10), root, source) for mutant in mutants]
    print(json.dumps([[one.changed, one.outcome, one.test] for one in results]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
