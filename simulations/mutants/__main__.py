"""Random mutants: ``python -m simulations.mutants [--n 200] [--seed 0] [--keep FILE.jsonl] [--jobs 1]``.

Changes one operator, comparison or constant of stats, metrics or evidence at a time, in a copy of the
source, and runs the tests of these rooms that run the changed line, cheapest first, until one fails. Prints
the share killed, and a line for each that survived; ``simulations/mutants.md`` says why they do. With
``--keep FILE`` a run that was stopped goes on where it was, and which tests run which lines is kept beside
the file; ``--again`` tries survivors, and what a test took too long for, once more, after new tests.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from simulations.mutants.places import places_of
from simulations.mutants.seen import Seen, seen_by
from simulations.mutants.session import prepare, run_tests
from simulations.mutants.trial import (
    KILLED,
    LATE,
    SURVIVED,
    Mutant,
    Result,
    Trial,
    chosen,
    copy_of,
    tried,
    written,
)

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
ROOMS = ("stats", "metrics", "evidence")
_TESTS = (*ROOMS, "properties")
_LEFT_OUT = "test_battery.py"  # minutes, and about whole findings


def main() -> None:
    """Draw mutants, try them, print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--n", type=int, default=200, help="how many; a larger number begins with the same")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="file of results, to go on with")
    parser.add_argument("--only", default="", help="files with this text in their name")
    parser.add_argument("--again", action="store_true", help="try what was not killed once more")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=120.0, help="tests of one mutant, together")
    given = parser.parse_args()
    start = time.perf_counter()
    prepare()
    with tempfile.TemporaryDirectory(prefix="mutants-") as spare:
        folder = given.keep.with_suffix(".seen") if given.keep else Path(spare)
        folder.mkdir(parents=True, exist_ok=True)
        seen = seen_by(ROOT, SOURCE, _tests(), folder)
        print(f"{len(seen.seconds)} tests of {sum(seen.seconds.values()):.0f} s", flush=True)
        _check(seen)
        mutants = drawn(given.n, given.seed, given.only)
        results = [*_results(mutants, seen, given)]
        wrong = _unreliable(results, seen)
    sure = [replace(one, outcome=SURVIVED, test=f"{one.test} fails always") if one.test in wrong else one
            for one in results]  # fmt: skip
    print(f"\n{summary(sure)}; {time.perf_counter() - start:.0f} s")


def _tests() -> list[str]:
    """Files of tests of the rooms."""
    files = (path for room in _TESTS for path in (ROOT / "tests" / room).rglob("test_*.py"))
    return sorted(str(path.relative_to(ROOT)) for path in files if path.name != _LEFT_OUT)


def drawn(n: int, seed: int, only: str = "") -> list[Mutant]:
    """Mutants of the rooms, drawn from all of their places."""
    paths = [path for room in ROOMS for path in sorted((SOURCE / "evenhand" / room).rglob("*.py"))]
    texts = [(str(path.relative_to(SOURCE)), path.read_text(encoding="utf-8")) for path in paths]
    texts = [(name, text) for name, text in texts if only in name]
    every = [Mutant(file, place, text) for file, text in texts for place in places_of(text)]
    print(f"{len(every)} places in {len(texts)} files")
    return [every[index] for index in np.random.default_rng(seed).permutation(len(every))[:n]]


def _results(mutants: Sequence[Mutant], seen: Seen, given: argparse.Namespace) -> Iterator[Result]:
    """Of each mutant, those that are kept first."""
    lines = given.keep.read_text().splitlines() if given.keep and given.keep.exists() else []
    kept = {result.key: result for result in (Result(**json.loads(line)) for line in lines)}
    if given.again:
        kept = {key: result for key, result in kept.items() if result.outcome == KILLED}
    yield from (kept[mutant.key] for mutant in mutants if mutant.key in kept)
    left = [mutant for mutant in mutants if mutant.key not in kept]
    trials = [chosen(mutant, seen, given.seconds) for mutant in left]
    with ProcessPoolExecutor(given.jobs, get_context("fork")) as pool:
        shares = [trials[start :: given.jobs] for start in range(given.jobs)]
        futures = [pool.submit(_work, share, given.keep) for share in shares if share]
        for future in futures:
            yield from future.result()


def _work(trials: Sequence[Trial], keep: Path | None) -> list[Result]:
    """Try mutants one after the other, in one copy of the source."""
    results = []
    with copy_of(SOURCE) as copy:
        for trial in trials:
            result = tried(trial, ROOT, copy)
            print(_line(result), flush=True)
            if keep is not None:
                result.add_to(keep)
            results.append(result)
    return results


def _check(seen: Seen) -> None:
    """Raise where the copy of the source as it is fails, or a copy that is broken does not."""
    file = "evenhand/stats/skewness.py"
    near = sorted(seen.running(file, [(1, 10_000)]), key=lambda name: seen.seconds[name])[:5]
    tests = {name: seen.seconds[name] for name in near}
    with copy_of(SOURCE) as copy:
        whole = run_tests(ROOT, copy, tests)
        text = (copy / file).read_text(encoding="utf-8")
        with written(copy / file, f"{text}\nraise ArithmeticError\n"):
            broken = run_tests(ROOT, copy, tests)
    if not tests or whole.failed or whole.late or not broken.failed:
        raise RuntimeError(f"tests do not see the copy of the source: {len(tests)} tests, {whole}, {broken}")


def _unreliable(results: Sequence[Result], seen: Seen) -> set[str]:
    """The tests that killed a mutant and fail without one, too, as they may where time counts."""
    tests = {one.test: seen.seconds[one.test] for one in results if one.test in seen.seconds}
    wrong: set[str] = set()
    with copy_of(SOURCE) as copy:
        while tests and (failed := run_tests(ROOT, copy, tests).first):
            wrong.add(failed)
            left = {name: taken for name, taken in tests.items() if name != failed}
            tests = left if len(left) < len(tests) else {}
    return wrong


def summary(results: Sequence[Result]) -> str:
    """A table of survivors, and the share killed."""
    survivors = [one for one in results if one.outcome == SURVIVED]
    rows = [f"| {one.file}:{one.number} | `{one.line}` | `{one.changed}` | {one.test} |" for one in survivors]
    late = sum(one.outcome == LATE for one in results)
    killed = len(results) - len(survivors)
    share = 100 * killed / max(len(results), 1)
    table = "\n".join(["| place | line | mutant | reason |", "|---|---|---|---|", *rows])
    return f"{table}\n\n{killed} of {len(results)} killed, {share:.1f} %, {late} of them by time"


def _line(result: Result) -> str:
    where = f"{result.file}:{result.number}"
    what = f"{result.line}  ->  {result.changed}"
    return (
        f"{result.outcome:8} {result.seconds:5.1f} s {result.tests:4} tests  {where}  {what}  {result.test}"
    )


if __name__ == "__main__":
    main()
