"""Takes the pictures of README and docs anew: of the example tickets, the demo, the gallery and run folders.

    python docs/make_pictures.py                (the example tickets alone)
    make sprites gallery
    python docs/make_pictures.py runs gallery/index.html [NAME=RUN ...]

``NAME=RUN`` takes the first screen of a run folder as ``report_NAME.png``. Needs the group ``test`` of
pyproject and a Chromium: the one that ``CHROMIUM`` names, or that is on the path.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import evenhand as eh
from evenhand.files.atomic import write_bytes

WIDTH, HEIGHT = 1400, 900
PLANTED, FAIR = "sprites-planted", "sprites-fair"
FIGURES = (
    "visogender-figure4",
    "indicators-figure5",
    "skewsize-figure5",
    "skewsize-figure1",
    "visogender-figure10",
    "mmbias-tradeoff",
)
"""Sections of the gallery whose first figures are shown together; none of them shows people."""

_TOGETHER = """(places) => {
  const figures = places.map((place) => document.getElementById(place).querySelector(".drawing img"));
  figures.forEach((one) => { one.style = "width: 100%; height: auto"; });
  document.body.style = "padding: 24px; display: grid; grid-template-columns: repeat(3, 1fr); gap: 26px; align-items: center";
  document.body.replaceChildren(...figures);
}"""  # noqa: E501


@contextmanager
def light_page() -> Iterator[Any]:
    """A page of a browser, light, 1400 pixels wide."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        browser.close()


def first_screen(page: Any, html: str) -> bytes:
    """What a reader sees first of a report."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "report.html"
        place.write_text(html, encoding="utf-8")
        page.goto(place.as_uri())
        page.wait_for_timeout(1500)  # charts near the first screen draw themselves
        return bytes(page.screenshot())


def figures(page: Any, gallery: Path) -> bytes:
    """Some figures of the gallery beside each other."""
    page.goto(gallery.resolve().as_uri())
    page.evaluate(_TOGETHER, list(FIGURES))
    return bytes(page.locator("body").screenshot())


def small(taken: bytes) -> bytes:
    """A screenshot with 256 colours, which text and charts do not need more of."""
    held = io.BytesIO()
    few = Image.open(io.BytesIO(taken)).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(held, "PNG", optimize=True)
    return held.getvalue()


def of_tickets(by: str) -> str:
    """The report on the example tickets, by one of their columns."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "tickets.csv"
        eh.datasets.load_tickets().write_csv(table)
        return eh.audit(str(table), **{**eh.datasets.TICKETS, "by": by}).html()


def main(built: tuple[Path, Path] | None, others: dict[str, Path]) -> None:
    """Write every picture.

    Args:
        built: The folder of the runs of ``make sprites``, and the page of ``make gallery``; None leaves their
            pictures as they are.
        others: Run folders whose first screens are taken, by name.
    """
    folder = Path(__file__).resolve().parent / "images"
    with light_page() as page:
        taken = {
            "report_tickets.png": first_screen(page, of_tickets("office")),
            "report_quiet.png": first_screen(page, of_tickets("channel")),
        }
        if built:
            runs, gallery = built
            taken["compare.png"] = first_screen(page, eh.compare([runs / PLANTED, runs / FAIR]).html())
            taken["gallery.png"] = figures(page, gallery)
        for name, run in others.items():
            taken[f"report_{name}.png"] = first_screen(page, eh.Run.read(run).html())
    for name, picture in taken.items():
        content = small(picture)
        write_bytes(folder / name, content)
        print(f"{folder / name}: {len(content) / 1000:.0f} kB")


if __name__ == "__main__":
    pairs = [argument.partition("=") for argument in sys.argv[3:]]
    main(
        (Path(sys.argv[1]), Path(sys.argv[2])) if sys.argv[1:] else None,
        {name: Path(run) for name, _, run in pairs},
    )
