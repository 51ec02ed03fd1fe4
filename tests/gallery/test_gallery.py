"""All 60 tables and figures of the papers, from demo runs of all benchmarks, beside stored references.

Each is compared as a table, and what is drawn of it is compiled; of each kind of figure one is a picture,
and at night all are: pictures take longer than all else.
"""

from __future__ import annotations

import re

import polars as pl
import pytest

from evenhand.benchmarks.catalogue import ARTIFACTS, BENCHMARKS
from evenhand.report.figures.draw import draw, drawing_engine, specification
from evenhand.report.figures.table import sheet
from evenhand.runs.run_folder import RunFolder
from tests.gallery import demo, page, reference

pytestmark = pytest.mark.slow

ALL = [
    *(f"skewsize/table{number}" for number in range(1, 8)),
    *(f"skewsize/figure{number}" for number in range(1, 7)),
    *(f"indicators/table{number}" for number in range(1, 6)),
    *(f"indicators/figure{number}" for number in range(2, 14)),
    *(f"visogender/table{number}" for number in range(1, 11)),
    *(f"visogender/figure{number}" for number in range(2, 14)),
    *(f"mmbias/table{number}" for number in range(1, 4)),
    *(f"mmbias/figure{number}" for number in range(2, 6)),
    "mmbias/tradeoff",
]
PAPERS = {name.split("/")[0] for name in ALL}


DRAWN = (
    "mmbias/figure2", "mmbias/figure3", "visogender/figure4", "visogender/figure8", "visogender/figure9",
    "visogender/figure12", "visogender/figure13",
)  # fmt: skip
"""One or more of each kind of figure; those in bars upon each other are in ``test_skewsize_artifacts``."""
BY_NIGHT = [name for name, need in demo.needs().items() if demo.AT_NIGHT & set(need.runs)]
"""Made from runs that are not there by day; ``tests/benchmarks`` makes each of its own runs."""


def test_the_60_of_the_specification_are_there_and_no_others_of_the_papers():
    assert len(ALL) == len(set(ALL)) == 60
    assert set(ALL) == {name for name in ARTIFACTS.names() if name.split("/")[0] in PAPERS}
    assert set(ALL) == set(demo.needs())
    titles = [ARTIFACTS.get(name).title for name in ARTIFACTS.names()]
    assert len(titles) == len(set(titles)), "each has a title of its own"
    assert {reference.reference_path(name) for name in ALL} == set(reference.FOLDER.iterdir())
    assert _kinds(ALL) - _kinds(DRAWN) == {"stacked"}


def _kinds(names):
    return {figure.kind for name in names for figure in ARTIFACTS.get(name).figures}


def test_the_demo_has_every_benchmark_of_the_papers_and_every_run_is_used(demo_folder):
    runs = {path.name: RunFolder.read(path) for path in (demo_folder / "runs").iterdir()}
    assert {run.manifest["benchmark"] for run in runs.values()} == demo.benchmarks(BENCHMARKS.names())
    assert {name for need in demo.needs().values() for name in need.runs} <= set(runs) | demo.AT_NIGHT


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in BY_NIGHT else ()) for name in ALL]
)
def test_each_is_as_in_its_reference_and_has_what_is_drawn(name, demo_folder):
    made = demo.make(name, demo_folder)
    assert reference.differences(name, made.table) == []
    assert made.figures
    for figure in made.figures:
        if figure.kind == "table":
            cells = [cell for row in sheet(figure, made.table).cells for cell in row]
            assert cells
            assert not [cell for cell in cells if re.match(r"<\d", cell) and cell != "<0.001"]  # a lost minus
        else:
            drawing = draw(figure, made.table)
            assert drawing_engine().vegalite_to_vega(specification(drawing.chart))["marks"]
            assert not any(note.startswith("Nothing to draw") for note in drawing.notes)


@pytest.mark.parametrize(
    "names", [pytest.param(DRAWN, id="each kind"), pytest.param(ALL, id="all", marks=pytest.mark.nightly)]
)
def test_the_page_shows_them_and_asks_no_network_for_anything(names, demo_folder, tmp_path):
    shown = [page.show(demo.make(name, demo_folder)) for name in names]
    parts = [part for one in shown for part in one.parts]
    assert all(part.sheet.cells if part.sheet else part.drawn.rstrip().endswith("</svg>") for part in parts)
    page.write_page(shown, tmp_path / "index.html", 1)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<section id="([^"]+)">', text) == [name.replace("/", "-") for name in names]
    assert "<script" not in text
    assert all(one.startswith(("#", "data:")) for one in re.findall(r'(?:src|href)="([^"]*)"', text))


def test_a_reference_notices_what_changes():
    table = pl.DataFrame({"model": ["a", None], "value": [1 / 3, 2.0], "picture": ["data:x", None]})
    kept = reference.summary("own/x", table)
    assert kept["columns"]["value"] == {
        "type": "Float64", "values": 2, "sum": 2.33333, "least": 0.333333, "largest": 2.0,
    }  # fmt: skip
    assert kept["first"][0] == {"model": "a", "value": 0.333333}
    name = "indicators/table2"
    table = demo.make(name, reference.FOLDER).table
    assert reference.differences(name, table) == []
    assert reference.differences(name, table.with_columns(pl.lit("x").alias("metric"))) != []
    assert "3 kept, 2 found" in reference.differences(name, table.head(2))[0]
