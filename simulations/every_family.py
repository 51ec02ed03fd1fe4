"""Every benchmark of the papers with ``--limit 1``, 3 and 60 on every family of models: exit 0, or one line.

    python -m simulations.every_family                 (about twenty minutes)
    python -m simulations.every_family clip vilt       (these families only; --verbose: refusals too)

Models are tiny with random weights. A benchmark that a model cannot answer must say so in one line with exit
code 2; whatever else ends in another way is listed, and the exit code is 1.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections import Counter
from pathlib import Path
from unittest import mock

import tests.conftest  # noqa: F401 - nothing from the hub, nothing into the user's caches
from tests.benchmarks.small_data import ASKED, write
from tests.models.tiny import NAMES, build

from evenhand.cli.main import main
from evenhand.workflows.outputs import result

LIMITS = (1, 3, 60)
PAPERS = ("indicators", "mmbias", "skewsize", "visogender")


def benchmarks(data: Path) -> dict[str, list[str]]:
    """The papers' benchmarks, with words of the command line for data and concepts."""
    words = {}
    for name, _, place, given in ASKED:
        if name.startswith(PAPERS):
            concepts = [f"-pconcept_map={data / given['concept_map']}"] if "concept_map" in given else []
            words[name] = ["--data", str(data / place), *concepts]
    return words


def typed(words: list[str]) -> tuple[int, str]:
    """Exit code and stderr of a command; a traceback is the last line of stderr and code 99."""
    errors = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["evenhand", *words]), contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(errors),
    ):  # fmt: skip
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0), errors.getvalue()
        except BaseException as problem:
            return 99, f"{type(problem).__name__}: {problem}"
    return 0, errors.getvalue()


def everything(families: list[str]) -> int:
    """Ask all families everything; the exit code."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place, mock.patch.object(result.Run, "html", return_value=""):
        folder = Path(place)
        write(folder, 4)
        for family in families:
            model = f"hf:{build(family)}"
            for name, words in benchmarks(folder).items():
                for limit in LIMITS:
                    command = ["run", name, "--model", model, *words, "--limit", str(limit)]
                    code, errors = typed([*command, "--workers", "1", "-q", "-o", str(folder / "run")])
                    fine = code == 0 or (code in (2, 3) and len(errors.strip().splitlines()) == 1)
                    outcomes["fine" if fine else "broken"] += 1
                    outcomes["answered"] += code == 0
                    if not fine or (code and limit == 1 and "--verbose" in sys.argv):
                        print(f"{family:22} {name:30} {limit:3}  {code}  {errors.strip()[-400:]}", flush=True)
                    if code == 2 and " has " in errors and "asks for" in errors:
                        break  # what it cannot answer, it cannot answer for more samples either
            print(f"{family}: {dict(outcomes)}", flush=True)
    return 1 if outcomes["broken"] else 0


if __name__ == "__main__":
    sys.exit(everything([word for word in sys.argv[1:] if not word.startswith("-")] or list(NAMES)))
