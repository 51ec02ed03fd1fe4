"""The demo: runs of all benchmarks over made-up data, and every artifact made from them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evenhand.workflows.outputs.artifact import MadeArtifact, artifact
from tests.gallery import mistakes, people, words

WITH_PAGES = {
    "sprites-heart", "occupations-even", "sports-uneven", "backgrounds-uneven", "domainnet-uneven",
    "waterbirds-uneven", "celeba-uneven", "own-uneven", "label_association-ssl-small", "retrieval-ssl-small",
    "geography-ssl-small", "resolution-clip-a", "retrieval-clip-a", "association", "matching",
}  # fmt: skip
"""A run of each kind, whose report tests open; reports of the others would take as long and be alike."""

AT_NIGHT = {
    "sprites-none", "sprites-ellipse", "sprites-ellipse-mild", "sprites-ellipse-medium", "occupations-uneven",
    *(f"{study}-even" for study in ("sports", "backgrounds", "domainnet", "waterbirds", "celeba", "own")),
    *(f"{kind}-labels-large" for kind in ("label_association", "retrieval", "geography")),
    *(f"{kind}-labels-small" for kind in ("label_association", "retrieval")),
}  # fmt: skip
"""Runs that tests do without by day: of each there is one of its kind, and one to compare with it."""


@dataclass(frozen=True)
class Need:
    """What an artifact is made from: names of runs, name of data, parameters."""

    runs: tuple[str, ...] = ()
    data: str = ""
    parameters: tuple[tuple[str, str], ...] = ()


def needs() -> dict[str, Need]:
    """All artifacts of the demo, with what each is made from."""
    found = {}
    for each in (mistakes.needs(), people.needs(), words.needs()):
        for name, given in each.items():
            runs, data, parameters = (given.get(key) for key in ("runs", "data", "parameters"))
            found[name] = Need(tuple(runs or ()), data or "", tuple((parameters or {}).items()))
    return found


def benchmarks(names: Iterable[str]) -> set[str]:
    """Those of which the demo has runs: all of the papers, and two that stand beside them."""
    papers = {name.split("/")[0] for name in needs()}
    return {name for name in names if name.split("/")[0] in papers} | {"classification", "sprites"}


def build(folder: Path, told: Callable[[str], object] = lambda line: None) -> None:
    """Write the data and the runs.

    Args:
        folder: A new or empty one; holds ``data/`` and ``runs/`` afterwards.
        told: Called with a line after each part.
    """
    data, runs = folder / "data", folder / "runs"
    data.mkdir(parents=True)
    runs.mkdir()
    parts: dict[str, Callable[[], None]] = {
        "sprites": lambda: mistakes.sprites(runs),
        "studies of SkewSize": lambda: mistakes.studies(data, runs),
        "indicators": lambda: people.indicators(data, runs),
        "VisoGender": lambda: words.pronouns(data / "visogender", runs),
        "MMBias": lambda: words.associations(data / "mmbias", runs),
    }
    with home(folder / "home"):
        for name, make in parts.items():
            start = time.monotonic()
            make()
            told(f"{name}: {time.monotonic() - start:.0f} s")


def linked(folder: Path, into: Path) -> Path:
    """Links to the runs of a demo, in a folder where more may be written beside them."""
    for run in (folder / "runs").iterdir():
        (into / run.name).symlink_to(run)
    return into


def make(name: str, folder: Path) -> MadeArtifact:
    """One artifact, from a demo that is built."""
    need = needs()[name]
    return artifact(
        name,
        [folder / "runs" / run for run in need.runs],
        data=folder / "data" / need.data if need.data else None,
        parameters=dict(need.parameters),
    )


@contextmanager
def home(folder: Path) -> Iterator[None]:
    """Answers are kept in a place of their own, and not asked of another one."""
    before = os.environ.get("EVENHAND_HOME")
    os.environ["EVENHAND_HOME"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["EVENHAND_HOME"]
        else:
            os.environ["EVENHAND_HOME"] = before
