"""Many panels: valid, in line with each other, drawn in seconds, and in colours that follow the page."""

from __future__ import annotations

import json
import re
import time

import altair as alt
import polars as pl
import pytest
import vl_convert

from evenhand.core.figure import Figure
from evenhand.report.figures import style
from evenhand.report.figures.draw import compose, svg
from evenhand.report.figures.page import figures_html, on_page
from tests.report import figure_samples as samples
from tests.report.browsing import browser, needs_chromium, playwright

__all__ = ["browser"]

SCHEMES = re.compile(r"--series-(\d+): (#[0-9a-f]{6})")
PLACES = re.compile(
    r'role-scope [\w]*concat_0_concat_(\d+)_group"[^>]*><g transform="translate\(([-\d.]+),([-\d.]+)\)'
)


def panels(rows, columns, hole=()):
    """Points of some models in a grid of panels."""
    return pl.DataFrame(
        [
            {
                "group": f"group {g}",
                "value": 0.1 * g + 0.01 * row,
                "kind": f"kind {row}",
                "set": f"a set {column}",
            }
            for row in range(rows)
            for column in range(columns)
            for g in range(4)
            if (row, column) not in hole
        ]
    )


GRID = Figure(
    "dots", x="value", y="group", row="kind", column="set", domain={"x": (0.0, 1.0)}, title="A grid"
)


@pytest.mark.parametrize("name", samples.KINDS)
def test_every_kind_is_valid_vega_lite(name):
    figure, table, _ = samples.KINDS[name]
    spec = compose([figure], table, "A title", ["a note"])
    assert spec["$schema"] == alt.SCHEMA_URL
    alt.VConcatChart.validate(spec)


@pytest.mark.parametrize("hole", [(), ((0, 2),), ((2, 2),), ((1, 0),)])
def test_panels_stand_in_rows_and_columns_where_some_are_missing(hole):
    spec = compose([GRID], panels(3, 3, hole), "A title")
    drawn = re.sub(r">\s+<", "><", svg(spec))
    found = {int(place): (float(x), float(y)) for place, x, y in PLACES.findall(drawn)}
    assert len(found) == (8 if hole == ((2, 2),) else 9)
    for place, (x, y) in found.items():
        assert x == found[place % 3][0]
        assert y == found[place - place % 3][1]
    assert len({x for x, _ in found.values()}) == len({y for _, y in found.values()}) == 3


def test_titles_of_panels_stand_at_one_height_whatever_sticks_out_beside_them():
    table = panels(1, 3).with_columns(
        value=pl.when(pl.col("set") == "a set 1").then(1.0).otherwise(pl.col("value"))
    )
    lines = Figure("lines", x="value", y="value", colour="group", facet="set", domain={"y": (0.0, 1.0)})
    spec = compose([lines], table)
    heights = {
        layer["mark"]["y"]
        for layer in walk(spec)
        if layer.get("encoding", {}).get("text", {}).get("field") == "heading"
    }
    assert heights == {-10}


@pytest.mark.parametrize(
    ("kind", "x", "y"),
    [("lines", "value", "value"), ("bars", "group", "value"), ("dots", "value", "group"),
     ("scatter", "value", "value"), ("stacked", "value", "group")],
)  # fmt: skip
def test_the_legend_of_a_single_panel_stands_above_its_title(kind, x, y):
    figure = Figure(kind, x=x, y=y, colour="kind", facet="set")
    spec = compose([figure], panels(2, 1))
    marks = list(placed(vl_convert.vegalite_to_scenegraph(spec)["scenegraph"], 0.0))
    heading = next(y for mark, y in marks if mark.get("text") == "a set 0")
    legend, top = next((mark, y) for mark, y in marks if "legend" in mark)
    assert top + legend["legend"] <= heading - 11, (top, legend, heading)


def placed(node, top):
    """Every mark with its height on the page; a legend's group with how high it is."""
    for item in node.get("items", []):
        y = top + item.get("y", 0.0)
        if node.get("role") == "legend":
            yield {"legend": item["height"]}, y
        yield item, y
        for child in item.get("items", []):
            yield from placed(child, y)


def walk(node):
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from walk(value)


def test_fifty_panels_take_seconds_of_work():
    table = panels(10, 5)
    start = time.process_time()
    compose([GRID], table)
    assert time.process_time() - start < 3


def test_rows_keep_no_empty_fields():
    spec = compose([GRID], panels(1, 2))
    assert not [row for rows in spec["datasets"].values() for row in rows if None in row.values()]


def test_the_colours_of_a_page_are_those_of_its_style():
    figure, table, _ = samples.KINDS["lines"]
    spec = compose([figure], table)
    kept = json.dumps(spec)
    page = json.dumps(on_page(spec))
    assert style.INK in kept
    assert "var(--" not in kept
    for colour in (style.INK, style.MUTED, style.LINE, style.PAPER, style.ACCENT):
        assert colour not in page
    assert "var(--series-1)" in page
    assert on_page(spec)["config"]["background"] is None


def test_shades_of_values_and_the_texts_on_them_stay():
    figure, table, _ = samples.KINDS["heatmap"]
    page = json.dumps(on_page(compose([figure], table)))
    assert all(
        colour in page for colour in (*style.ramp(figure.centre is not None), style.ON_DARK, style.ON_LIGHT)
    )


def test_the_style_has_the_drawings_own_colours_in_light_and_others_in_dark():
    text = figures_html([samples.KINDS["bars"][0]], samples.pairs(), "A title")
    found = SCHEMES.findall(text)
    assert [colour for _, colour in found[:16]] == style.colours(16)
    assert [place for place, _ in found[16:32]] == [str(place) for place in range(1, 17)]
    dark = "#15191c"
    assert min(contrast(colour, dark) for _, colour in found[16:32]) >= 3


def contrast(one, other):
    def light(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@needs_chromium
def test_figures_follow_the_scheme_while_the_page_is_open_and_tell_their_values(browser, tmp_path):
    path = tmp_path / "page.html"
    kinds = ("bars", "stacked", "scatter", "histogram", "density", "heatmap")
    said: dict[str, str] = {}
    page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
    for kind in kinds:
        figure, table, _ = samples.KINDS[kind]
        path.write_text(figures_html([figure], table, "A title"), encoding="utf-8")
        page.emulate_media(color_scheme="light")
        page.goto(path.as_uri())
        playwright.expect(page.locator("[data-figure]:not([data-drawn])")).to_have_count(0)
        label = page.locator("[data-figure] .role-axis-label text").first
        inks = []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            inks.append(label.evaluate("(one) => getComputedStyle(one).fill"))
        assert inks == ["rgb(30, 35, 38)", "rgb(228, 227, 222)"], kind
        marks = page.locator(".mark-rect.role-mark path, .mark-symbol.role-mark path")
        told = page.locator("#vg-tooltip-element.visible")
        for place in range(marks.count()):  # bands of chance have nothing to tell
            marks.nth(place).hover(force=True)
            page.wait_for_timeout(30)
            if told.count():
                break
        said[kind] = told.inner_text() if told.count() else ""
    page.close()
    assert [kind for kind, told in said.items() if not told] == []
