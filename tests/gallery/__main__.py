"""``make gallery``: builds the demo and writes the page.

python -m tests.gallery -o gallery              the page, gallery/index.html
python -m tests.gallery --references            the references anew, after a change that is meant
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import tests.conftest  # noqa: F401 - nothing from the hub, nothing into the user's caches
from tests.gallery import demo, page, reference


def main() -> None:
    """Build, draw, and write."""
    parser = argparse.ArgumentParser(prog="python -m tests.gallery", description=__doc__)
    parser.add_argument("-o", "--out", type=Path, default=Path("gallery"), help="folder of the page")
    parser.add_argument("--references", action="store_true", help="write the references instead of the page")
    given = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="evenhand-gallery-") as folder:
        demo.build(Path(folder), told=_tell)
        made = [demo.make(name, Path(folder)) for name in demo.needs()]
        runs = len(list((Path(folder) / "runs").iterdir()))
    _tell(f"{len(made)} tables made from {runs} runs: {time.monotonic() - start:.0f} s in all")
    if given.references:
        for one in made:
            reference.write(one.name, one.table)
        print(f"{len(made)} references in {reference.FOLDER}")
        return
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "index.html"
    page.write_page(map(page.show, made), path, runs)
    _tell(f"drawn: {time.monotonic() - start:.0f} s in all")
    print(f"Open {path} in a browser.")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
