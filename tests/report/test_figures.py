"""Figures: each kind is valid, says what it shows, and never draws what has no value."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from functools import cache

import numpy as np
import polars as pl
import pytest
from PIL import Image

from evenhand.core.errors import InputError, UnknownName
from evenhand.core.figure import Figure, Reference
from evenhand.report.figures.draw import compose, draw, png, spec_json, svg
from evenhand.report.figures.frame import prepare
from evenhand.report.figures.page import figures_html
from evenhand.report.figures.style import written
from evenhand.report.figures.table import sheet
from tests.report import figure_samples as samples

each_kind = pytest.mark.parametrize("name", samples.KINDS)


def values_in(spec, *keys):
    """Rows of the specification's data that have all keys."""
    rows = [row for rows in spec["datasets"].values() for row in rows]
    return [row for row in rows if all(key in row for key in keys)]


def texts_of(drawn):
    return re.sub(r"\s+", " ", " ".join(re.findall(r">([^<>]+)<", drawn)))


def composed(name):
    figure, table, _ = samples.KINDS[name]
    return compose([figure], table, "A title & more", ["a note of ours"])


@cache
def drawing_of(name):
    """Two tests look at it, and drawing is dear."""
    return svg(composed(name))


@each_kind
def test_a_specification_is_valid_and_its_drawing_says_what_it_shows(name):
    drawn = drawing_of(name)
    for text in ["A title &amp; more", "a note of ours", *samples.KINDS[name][2]]:
        assert text in drawn or text in texts_of(drawn), text


@each_kind
def test_a_png_opens_and_is_not_blank(name):
    figure, table, _ = samples.KINDS[name]
    image = Image.open(io.BytesIO(png(compose([figure], table, "A title"))))
    assert image.format == "PNG"
    assert min(image.size) > 100
    assert max(image.size) < 4000
    dark = (np.asarray(image.convert("L")) < 200).mean()
    assert 0.002 < dark < 0.9


@each_kind
def test_equal_tables_give_equal_bytes(name):
    again = composed(name)
    assert spec_json(again) == spec_json(composed(name))
    assert svg(again) == drawing_of(name)


def test_another_process_gives_equal_bytes():
    code = (
        "import hashlib\nfrom evenhand.report.figures.draw import compose, spec_json\n"
        "from tests.report.figure_samples import KINDS\n"
        "made = ''.join(spec_json(compose([f], t)) for f, t, _ in KINDS.values())\n"
        "print(hashlib.sha256(made.encode()).hexdigest())"
    )
    digests = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        )
        digests.add(done.stdout)
    assert len(digests) == 1


@each_kind
def test_no_number_is_made_of_nothing(name):
    figure, table, _ = samples.KINDS[name]
    assert "NaN" not in spec_json(compose([figure], table))
    emptied = table.with_columns(pl.col(pl.Float64).fill_null(float("nan")) * float("nan"))
    assert svg(compose([figure], emptied))
    assert svg(compose([figure], table.clear()))


def test_what_has_no_value_is_listed_and_not_drawn():
    table = samples.pairs().with_columns(
        reason=pl.when(pl.col("accuracy").is_null()).then(pl.lit("no images"))
    )
    figure = samples.KINDS["bars"][0]
    drawing = draw(figure, table)
    assert "1 value not estimable: feminine–feminine · mine (no images (1))." in drawing.notes
    rows = values_in(compose([figure], table), "y_text")
    assert len({(row["x"], row["series"]) for row in rows}) == 11
    assert all(row["y"] > 0.4 for row in rows)


def test_long_lists_of_undefined_values_are_cut():
    table = pl.DataFrame({"x": [f"c{place}" for place in range(20)], "y": [None] * 19 + [1.0]})
    notes = draw(Figure("bars", x="x", y="y"), table).notes
    assert notes == ["19 values not estimable: c0, c1, c2, c3, c4, c5 and 13 more."]


def test_a_logarithmic_axis_says_what_it_has_no_place_for():
    table = pl.DataFrame({"x": [0.0, 1.0, 10.0, None], "y": [1.0, 2.0, 3.0, 4.0]})
    notes = draw(Figure("scatter", x="x", y="y", log=("x",)), table).notes
    assert [note.split(",")[0].split(":")[0] for note in notes] == [
        "1 value not estimable.", "1 value not drawn",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["bars", "dots", "stacked"])
def test_the_papers_rows_are_hollow(name):
    figure, table, _ = samples.KINDS[name]
    spec = compose([figure], table)
    marks = [layer["mark"] for layer in walk(spec) if isinstance(layer.get("mark"), dict)]
    hollow = [mark for mark in marks if mark.get("filled") is False or mark.get("fillOpacity", 1) < 0.5]
    assert hollow
    assert any("paper" in note for note in draw(figure, table).notes)
    ours = table.filter(pl.col("source") == "ours")
    assert not any("paper" in note for note in draw(figure, ours).notes)


def test_the_papers_lines_are_dashed():
    table = samples.rates().with_columns(source=pl.lit("paper"))
    spec = compose([samples.KINDS["lines"][0]], table)
    dashed = [
        layer
        for layer in walk(spec)
        if isinstance(layer.get("mark"), dict) and layer["mark"].get("strokeDash")
    ]
    assert any(layer["mark"]["type"] == "line" for layer in dashed)


def test_the_papers_cells_have_a_row_of_their_own():
    ours = samples.rates()
    both = pl.concat([ours.with_columns(source=pl.lit(source)) for source in ("ours", "paper")])
    prepared = prepare(samples.KINDS["heatmap"][0], both)
    assert prepared.orders["y"] == [
        "Africa", "Asia", "Europe", "Africa (paper)", "Asia (paper)", "Europe (paper)",
    ]  # fmt: skip


def walk(spec):
    if isinstance(spec, dict):
        yield spec
        for value in spec.values():
            yield from walk(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from walk(value)


def test_orders():
    table = samples.shares()
    by = {"": "nurse", "name": "chef", ("chef", "nowhere", "nurse"): "chef"}
    for order, first in by.items():
        prepared = prepare(Figure("bars", x="occupation", y="bias", order={"occupation": order}), table)
        assert prepared.orders["x"][0] == first
        assert sorted(prepared.orders["x"]) == sorted(samples.OCCUPATIONS)
    prepared = prepare(Figure("bars", x="occupation", y="bias", order={"occupation": "-bias"}), table)
    means = dict(table.group_by("occupation").agg(pl.col("bias").mean()).iter_rows())
    assert prepared.orders["x"] == sorted(means, key=means.get, reverse=True)
    with pytest.raises(UnknownName, match="column to order by"):
        prepare(Figure("bars", x="occupation", y="bias", order={"occupation": "nothing"}), table)


def test_panels_share_scales_unless_they_are_independent():
    table = pl.DataFrame({"f": ["a", "a", "b", "b"], "x": [0.0, 1.0, 0.0, 1.0], "y": [0.0, 1.0, 0.0, 100.0]})
    shared = compose([Figure("scatter", x="x", y="y", facet="f")], table)
    apart = compose([Figure("scatter", x="x", y="y", facet="f", independent=("y",))], table)
    assert [len(heights(spec)) for spec in (shared, apart)] == [1, 2]


def heights(spec):
    """The domains of the vertical axes."""
    return {
        tuple(node["y"]["scale"]["domain"])
        for node in walk(spec)
        if "x" in node and isinstance(node.get("y"), dict) and node["y"].get("axis")
    }


def test_annotations_are_told_by_colour_where_they_differ():
    table = samples.shares().with_columns(p=pl.lit(0.0001))
    figure = Figure("scatter", x="share", y="bias", colour="run", annotate=("r", "p"))
    assert prepare(figure, table).panels[0].above == [
        "CLIP: r −0.420  p <0.001", "SLIP: r 0.080  p <0.001", "mine: r –  p <0.001",
    ]  # fmt: skip


def test_a_fitted_line_is_the_least_squares_line():
    table = pl.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, 3.0, 5.0, 7.5]})
    spec = compose([Figure("scatter", x="x", y="y", fit=True)], table)
    slope, start = np.polyfit([0, 1, 2, 3], [1, 3, 5, 7.5], 1)
    ends = [row for row in values_in(spec, "x", "y", "colour") if "x_text" not in row]
    assert [(row["x"], row["y"]) for row in ends] == [
        (0.0, pytest.approx(start)),
        (3.0, pytest.approx(start + 3 * slope)),
    ]


def test_no_line_is_fitted_where_there_is_none():
    table = pl.DataFrame({"x": [1.0, 1.0, 1.0], "y": [1.0, 3.0, 5.0]})
    for few in (table, table.head(2)):
        spec = compose([Figure("scatter", x="x", y="y", fit=True)], few)
        assert not [
            node
            for node in walk(spec)
            if isinstance(node.get("mark"), dict) and node["mark"]["type"] == "line"
        ]


def test_the_bins_hold_every_value_once():
    figure, table, _ = samples.KINDS["histogram"]
    rows = values_in(compose([figure], table), "x2", "y")
    assert sum(row["y"] for row in rows) == table.height
    mean, peak = (
        table["area"].mean(),
        max(values_in(compose([figure], table), "x", "y"), key=lambda row: row["y"]),
    )
    assert abs(peak["x"] - mean) < 60


def test_a_density_has_area_one():
    found = values_in(compose([Figure("density", x="area")], samples.areas()), "x", "y")
    rows = [row for row in found if "told" not in row]  # those are what hovering tells
    assert len(found) > len(rows)
    assert np.trapezoid([row["y"] for row in rows], [row["x"] for row in rows]) == pytest.approx(1, abs=0.01)


def test_a_spread_table_keeps_every_value_beside_its_interval():
    made = sheet(*samples.KINDS["spread table"][:2])
    assert made.headings[:3] == ["source", "model", "masculine–masculine"]
    assert [row[:2] for row in made.cells] == [["paper", "CLIP"], ["ours", "CLIP"], ["ours", "mine"]]
    assert made.cells[2][-1] == "–"
    assert re.fullmatch(r"0\.\d{3} \[0\.\d{3}, \d\.\d{3}\]", made.cells[0][2])
    assert made.paper == [True, False, False]


def test_reference_lines_can_differ_by_panel():
    table = samples.shares().with_columns(limit=pl.when(pl.col("run") == "CLIP").then(0.1).otherwise(0.2))
    figure = Figure("scatter", x="share", y="bias", facet="run", references=(Reference("limit"),))
    assert [panel.references for panel in prepare(figure, table).panels] == [
        [("y", 0.1, "")], [("y", 0.2, "")], [("y", 0.2, "")],
    ]  # fmt: skip


def test_mistakes_in_a_declaration_are_told():
    with pytest.raises(UnknownName, match=r"column of the figure's table 'acuracy'.*'accuracy'"):
        draw(Figure("bars", x="pair", y="acuracy"), samples.pairs())
    with pytest.raises(InputError, match="both hold text"):
        draw(Figure("bars", x="pair", y="model"), samples.pairs())
    with pytest.raises(InputError, match="needs columns for x and y"):
        draw(Figure("dots", x="pair"), samples.pairs())


def test_hostile_labels_stay_text():
    figures, table = samples.hostile()
    spec = compose(figures, table, samples.HOSTILE, [samples.HOSTILE])
    drawn = svg(spec)
    assert "<script" not in drawn
    assert "<img" not in drawn
    assert "\u202e" not in drawn
    assert "&lt;script" in drawn
    assert png(spec)
    page = figures_html(figures, table, samples.HOSTILE, [samples.HOSTILE], samples.HOSTILE)
    assert samples.SCRIPT not in page
    assert "<img" not in page.replace(_library(page), "")
    assert json.loads(re.search(r'id="figure-data">(.*?)</script>', page, re.DOTALL)[1])


def _library(page):
    return max(re.findall(r"<script>(.*?)</script>", page, re.DOTALL), key=len)


def test_names_that_look_alike_when_shortened_stay_apart():
    long = "x" * 300
    table = pl.DataFrame({"name": [long + "a", long + "b"], "value": [1.0, 2.0]})
    assert len(prepare(Figure("bars", y="name", x="value"), table).orders["y"]) == 2


def test_a_page_of_a_table_sets_it_and_needs_no_script():
    page = figures_html([samples.KINDS["table"][0]], samples.pairs(), "A table", ["a note"], "a/table1")
    assert "<script>" not in page
    assert page.count("<tr") == 13
    assert page.count('class="paper"') == 4
    assert "a note" in page


def test_pictures_are_inside_the_table_and_never_fetched():
    figure, table, _ = samples.KINDS["pictures"]
    spec = compose([figure], table)
    urls = [row["url"] for row in values_in(spec, "url")]
    assert len(urls) == 3
    assert all(url.startswith("data:image/png") for url in urls)
    assert "photos.example" not in spec_json(spec)
    page = figures_html([figure], table, "A title")
    assert page.count("data:image/png") >= 2
    assert "<td>data:image" not in page


def test_every_column_of_a_table_has_words_at_its_head():
    shown = Figure("table", levels=("model", "share_of_men"), titles={"model": "", "share_of_men": ""})
    table = pl.DataFrame({"model": ["a"], "share_of_men": [0.5]})
    assert sheet(shown, table).headings == ["model", "share of men"]
    assert "<td></td>" not in figures_html([shown], table, "A title")


def test_a_share_that_rounds_to_nothing_has_no_minus():
    assert [written(value, "percent") for value in (-0.0001, 0.0, -0.01)] == ["0.0%", "0.0%", "−1.0%"]
