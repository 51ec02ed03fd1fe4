"""A suite over three benchmarks and two tiny models, killed at random moments: is it as if it never was?

    python -m simulations.killed_suite [--kills 10] [--seed 0]

Needs torch and transformers. Prints the moments of the kills, how often each image was read for each model,
and whether findings, evidence and the table of results are equal to the byte.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import tests.conftest  # noqa: F401 - nothing from the hub, nothing into the user's caches
from tests.models import tiny
from tests.runner.crash.commands import EVENHAND, evidence_bytes, finish, start, uri

PARAMETERS = {"PATTERNS": (800, 0), "OTHER": (800, 400), "THIRD": (1400, 100)}
IMAGES, MOST_STARTS = 1500, 60


def main() -> None:
    """Kill, resume and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(options.seed)
    clip, chat = tiny.build("clip"), tiny.build("llava")
    began = time.monotonic()
    code, _, err = finish(command(folder / "whole", clip, chat), folder / "home 1")
    seconds = time.monotonic() - began
    if code:
        raise SystemExit(err)
    print(f"uninterrupted: {seconds:.0f} s")
    kills = starts = 0
    while kills < options.kills and starts < MOST_STARTS:
        process = start(
            command(folder / "out", clip, chat), folder / "home 2", PATTERNS_LOADS=folder / "loads"
        )
        starts += 1
        moment = rng.uniform(2, seconds)
        time.sleep(moment)
        alive = process.poll() is None
        process.kill()
        process.communicate()
        if not alive:
            verdict = "equal" if bytes_of(folder / "out") == bytes_of(folder / "whole") else "NOT EQUAL"
            print(f"it came to its end: {verdict}; begun anew")
            for name in ("home 2", "out", "loads"):
                (folder / name).rename(folder / f"{name} {starts}")
            continue
        kills += 1
        n_done = len(list((folder / "out").rglob("findings.json")))
        print(f"kill {kills} after {moment:.1f} s: {n_done} runs on disk")
    code, _, err = finish(
        command(folder / "out", clip, chat), folder / "home 2", PATTERNS_LOADS=folder / "loads"
    )
    if code:
        raise SystemExit(err)
    loads = Counter((folder / "loads").read_text().split())
    print(f"{len(loads)} of {IMAGES} images read, {Counter(loads.values())} times over all starts")
    print("equal" if bytes_of(folder / "out") == bytes_of(folder / "whole") else "NOT EQUAL")


def command(out: Path, clip: Path, chat: Path) -> list[str]:
    """The suite as it is typed."""
    words = [f"-ppatterns-{name}:{key}={value}" for name, values in PARAMETERS.items()
             for key, value in zip(("n", "first"), values, strict=True)]  # fmt: skip
    models = ["--model", f"clip=hf:{clip}", "--model", f"chat=hf:{chat}"]
    return [*EVENHAND, "run", *map(uri, PARAMETERS), "-pask=auto", *words, *models, "-o", str(out)]


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Findings and evidence of all runs, and the table of results."""
    runs = sorted(file.parent for file in folder.rglob("findings.json"))
    files = {
        str(run.relative_to(folder) / name): content
        for run in runs
        for name, content in evidence_bytes(run).items()
    }
    return files | {"results": (folder / "results.parquet").read_bytes()}


if __name__ == "__main__":
    main()
