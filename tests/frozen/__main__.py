"""Everything that a user sees, written to files that two versions of the package can be compared by.

    python -m tests.frozen -o before        (today's code)
    python -m tests.frozen -o after         (the changed code)
    diff -r before after

Runs of every benchmark, an audit, a mitigation and comparisons: their files, exports in every format, words
of the report, what the terminal prints, artifacts; ``--help`` of every command; public names with their
signatures. Times, versions and folders are replaced.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import tests.conftest  # noqa: F401 - nothing from the hub, nothing into the user's caches
from tests.frozen import public, seen
from tests.gallery.demo import build, home


def main() -> None:
    """Build the demo and write what is seen of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder to write; must not exist")
    out = parser.parse_args().out
    out.mkdir(parents=True)
    sys.argv = ["evenhand-frozen"]  # manifests say how they were made
    os.environ.update(COLUMNS="120", NO_COLOR="1", TERM="dumb")
    folder = Path(tempfile.gettempdir()) / "evenhand-frozen"  # the same each time: paths have the same length
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    build(folder, told=lambda line: print(line, file=sys.stderr, flush=True))
    with home(folder / "home"):
        seen.add_runs(folder / "runs")
        for run in sorted((folder / "runs").iterdir()):
            seen.write_run(run, out / "runs" / run.name, folder)
    seen.write_artifacts(folder, out / "artifacts")
    public.write_help(out / "help")
    public.write_names(out / "names.txt")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
