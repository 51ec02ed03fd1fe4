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
from tests.benchmarks import mmbias_release, visogender_release
from tests.benchmarks import skewsize_layouts as layouts
from tests.gallery import people
from tests.models.tiny import NAMES, build

from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.cli.main import main
from evenhand.workflows.outputs import result

LIMITS = (1, 3, 60)
PAPERS = ("indicators", "mmbias", "skewsize", "visogender")
CLASSES = ("goldfish", "bullfrog", "goose")
PLACES = ("in the grass", "in the water")


def data(folder: Path) -> dict[str, list[str]]:
    """Small data of every benchmark, as words of the command line."""
    people.conversations(folder / "people")
    people.homes(folder / "homes")
    mmbias_release.release(folder / "mmbias", words=16)
    visogender_release.release(folder / "visogender", ["doctor"])
    layouts.generated(folder / "occupations", 8)
    layouts.cells(
        folder / "sports", {f"{n}/{g}": 8 for n in ("archery", "boxing") for g in ("female", "male")}
    )
    layouts.cells(folder / "backgrounds", {f"{name}/{place}": 8 for name in CLASSES for place in PLACES})
    (folder / "domainnet").mkdir()
    layouts.domainnet(folder / "domainnet", {"clipart": 8, "real": 8}, ("axe", "zebra"))
    birds = [
        (number, f"{number:03}.Bird/{number}.png", number % 2, 2, number // 2 % 2) for number in range(40)
    ]
    layouts.waterbirds(folder / "waterbirds", birds)
    faces = [(f"{n:06}.png", *(1 if n >> bit & 1 else -1 for bit in range(3))) for n in range(40)]
    layouts.celeba(folder / "celeba", faces, [(name, 2) for name, *_ in faces])
    places = {"geography": "homes", "label_association": "people", "retrieval": "people"}
    words = {}
    for name in BENCHMARKS.names():
        paper, _, rest = name.partition("/")
        if paper in PAPERS:
            place = places.get(rest, rest) if paper in ("indicators", "skewsize") else paper
            words[name] = ["--data", str(folder / place)]
    words["indicators/geography"] += ["-p", f"concept_map={folder / people.CONCEPTS}"]
    words["visogender/retrieval"] = ["--data", str(folder / "visogender")]
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
        benchmarks = data(folder)
        for family in families:
            model = f"hf:{build(family)}"
            for name, words in benchmarks.items():
                for limit in LIMITS:
                    command = ["run", name, "--model", model, *words, "--limit", str(limit), "--workers", "1"]
                    code, errors = typed([*command, "-q", "-o", str(folder / "run")])
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
