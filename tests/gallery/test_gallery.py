"""All 60 tables and figures of the papers, from demo runs of all benchmarks, beside stored references."""

from __future__ import annotations

import re

import polars as pl
import pytest

from evenhand.benchmarks.catalogue import ARTIFACTS, BENCHMARKS
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


@pytest.fixture(scope="module")
def shown():
    """What has been drawn, by name."""
    return {}


def test_the_60_of_the_specification_are_there_and_no_others_of_the_papers():
    assert len(ALL) == len(set(ALL)) == 60
    assert set(ALL) == {name for name in ARTIFACTS.names() if name.split("/")[0] in PAPERS}
    assert set(ALL) == set(demo.needs())
    titles = [ARTIFACTS.get(name).title for name in ARTIFACTS.names()]
    assert len(titles) == len(set(titles)), "each has a title of its own"
    assert {reference.reference_path(name) for name in ALL} == set(reference.FOLDER.iterdir())


def test_the_demo_has_every_benchmark_of_the_papers_and_every_run_is_used(demo_folder):
    runs = {path.name: RunFolder.read(path) for path in (demo_folder / "runs").iterdir()}
    assert {run.manifest["benchmark"] for run in runs.values()} == demo.benchmarks(BENCHMARKS.names())
    assert {name for need in demo.needs().values() for name in need.runs} <= set(runs)


@pytest.mark.parametrize("name", ALL)
def test_each_is_as_in_its_reference_and_is_drawn(name, demo_folder, shown):
    made = demo.make(name, demo_folder)
    assert reference.differences(name, made.table) == []
    one = page.show(made)
    assert one.parts
    for part in one.parts:
        assert part.drawn.rstrip().endswith("</svg>") if part.sheet is None else part.sheet.cells
        assert not any(note.startswith("Nothing to draw") for note in part.notes)
        cells = [cell for row in part.sheet.cells for cell in row] if part.sheet else []
        assert not [cell for cell in cells if re.match(r"<\d", cell) and cell != "<0.001"]  # a lost minus
    shown[name] = one


def test_the_page_shows_them_all_and_asks_no_network_for_anything(demo_folder, shown, tmp_path):
    for name in ALL:
        if name not in shown:
            shown[name] = page.show(demo.make(name, demo_folder))
    page.write_page(shown.values(), tmp_path / "index.html", 1)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'<section id="([^"]+)">', text) == [name.replace("/", "-") for name in shown]
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
