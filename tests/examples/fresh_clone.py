"""Types the two commands of README on a bare Python in a fresh clone, and opens the pages that they name.

    python -m tests.examples.fresh_clone FOLDER [demo] [test]

FOLDER is made: it holds the clone, what was printed, and a picture of each page. Nothing of this
environment is seen by the commands but Python itself, make and git. ``demo`` takes a minute or two, ``test``
as long as all tests; without either, both are typed. Not collected by pytest: it needs a package index. Ends
with 1 where a command fails, no page opens, or the pages are not there a minute after the installation.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.documents.reading import blocks_of

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
INSTALLED = re.compile(r"^\S*/evenhand demo\b|^\S*/(?:ruff|mypy)\b")
PAGE = re.compile(r"^Report +(\S+\.html)\b")
SECONDS = 60
"""A page is there so many seconds after the installation."""


@dataclass
class Typed:
    """What became of one command: seconds from its beginning, and the pages that it named."""

    command: str
    code: int
    installed: float
    ended: float
    pages: dict[Path, float]


def commands() -> list[str]:
    """The lines of the first block of README, without comments."""
    return [line.partition("#")[0].strip() for line in blocks_of(ROOT / "README.md")[0].text.splitlines()]


def bare(folder: Path) -> dict[str, str]:
    """Surroundings without this environment: Python as it was installed, and a home of its own."""
    python = Path(sys.base_prefix) / "bin"
    paths = [str(python), *os.defpath.split(os.pathsep), "/usr/local/bin"]
    ours = ("PYTHON", "VIRTUAL_ENV", "EVENHAND", "MAKE", "MFLAGS")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(ours)},
        "PATH": os.pathsep.join(paths),
        "EVENHAND_HOME": str(folder / "home"),
    }


def _found(program: str, path: str | None = None) -> str:
    """Where a program is, in the surroundings or on a path."""
    place = shutil.which(program, path=path)
    if place is None:
        raise SystemExit(f"there is no {program} on {path or 'the path'}")
    return place


def typed(command: str, clone: Path, surroundings: dict[str, str], log: Path) -> Typed:
    """Type a command; each line that it prints has the second at which it came."""
    began, installed, pages = time.monotonic(), 0.0, {}
    with log.open("w", encoding="utf-8") as file:
        shell = subprocess.Popen(
            [_found("bash"), "-c", command], cwd=clone, env=surroundings, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        for line in shell.stdout or ():
            now = time.monotonic() - began
            print(f"{now:7.1f}  {line}", end="", file=file, flush=True)
            if not installed and INSTALLED.search(line):
                installed = now
            if page := PAGE.search(line):
                pages[clone / page[1]] = now
        code = shell.wait()
    return Typed(command, code, installed, time.monotonic() - began, pages)


def opened(page: Path, picture: Path) -> str:
    """The heading that a browser shows of a page, of which it takes a picture."""
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"no browser to open {page} with; name one in CHROMIUM")
    shown = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    subprocess.run([*shown, f"--screenshot={picture}", "--window-size=1400,900", page.as_uri()], check=True,
                   capture_output=True)  # fmt: skip
    done = subprocess.run([*shown, "--dump-dom", page.as_uri()], check=True, capture_output=True, text=True)
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", done.stdout, re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", heading[1]).split()) if heading else ""


def wrongs(done: Typed, folder: Path) -> Iterator[str]:
    """Prints what came of a command; yields what should not be so."""
    print(f"{done.command}: exit code {done.code}, installed after {done.installed:.0f} s, "
          f"ended after {done.ended:.0f} s")  # fmt: skip
    if done.code:
        yield f"{done.command} ended with {done.code}"
    for page, came in done.pages.items():
        heading = opened(page, folder / f"{page.parent.name}.png")
        later = came - done.installed
        print(f"  {page.relative_to(folder)} {later:.0f} s after the installation, opened: {heading!r}")
        if not heading:
            yield f"{page} shows no heading"
    first = min(done.pages.values(), default=None)
    if done.command == "make demo" and (first is None or first - done.installed > SECONDS):
        yield f"no page {SECONDS} s after the installation"


def main(arguments: Sequence[str]) -> int:
    """Clone, type, open, report."""
    folder, *names = arguments
    home = Path(folder).resolve()
    home.mkdir(parents=True)
    surroundings = bare(home)
    subprocess.run([_found("git"), "clone", "--quiet", str(ROOT), str(home / "clone")], check=True)
    version = subprocess.run(
        [_found("python3", surroundings["PATH"]), "--version"], capture_output=True, text=True, check=True
    )
    print(f"{version.stdout.strip()} at {_found('python3', surroundings['PATH'])}")
    failed: list[str] = []
    for command in commands():
        name = command.split()[-1]
        if not names or name in names:
            done = typed(command, home / "clone", surroundings, home / f"{name}.log")
            failed += wrongs(done, home)
    print(*failed, sep="\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
