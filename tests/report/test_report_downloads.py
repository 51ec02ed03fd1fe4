"""Every table of the page as CSV: what a reader downloads is what findings.json holds, number for number."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from PIL import Image

from evenhand.core.findings import Part
from evenhand.display.text import formatting as formats
from evenhand.report.chapters import in_chapters
from evenhand.report.facets import row_params
from evenhand.report.page import downloads
from evenhand.report.page.html import render_html
from evenhand.report.views import frames, rows
from tests.report import report_samples as samples
from tests.report.browsing import (
    addresses,
    browser,
    draw,
    needs_chromium,
    scroll_through,
    unfold,
    visit,
)
from tests.report.compared_samples import two_models

__all__ = ["addresses", "browser", "visit"]
GENDER = "by-perceived-gender"
ENDS = ("low", "high", "null low", "null high")


def downloaded(page, button):
    with page.expect_download() as waiting:
        button.click()
    return waiting.value


def contents(page, button):
    return Path(downloaded(page, button).path()).read_bytes()


def brightness(png):
    """Of the pixel at the edge: the ground that everything is drawn on."""
    return Image.open(io.BytesIO(png)).convert("L").getpixel((0, 0))


def saved(page, button):
    found = downloaded(page, button)
    content = Path(found.path()).read_bytes().decode("utf-8-sig")
    return found.suggested_filename, list(csv.DictReader(io.StringIO(content)))


def same(cell, value):
    return cell == "" if value is None else float(cell) == value


@pytest.fixture(scope="module")
def chapter():
    return in_chapters(samples.rested().findings.findings)[0]


def beside(holder):
    interval, null = holder.interval, holder.null
    return [
        *((interval.low, interval.high) if interval else (None, None)),
        *((null.low, null.high) if null else (None, None)),
    ]


@needs_chromium
def test_headline_findings_are_those_of_the_run(visit, chapter):
    page = visit("rested")
    unfold(page)
    tables = {}
    for region in page.locator(f"#findings [data-chapter='{GENDER}']").all():
        name, table = saved(page, region.locator(".after button"))
        assert name not in tables
        tables[name] = table
    assert "is-it-right-equally-often-perceived-gender.csv" in tables
    written = {(line["name"], line["parameters"]): line for table in tables.values() for line in table}
    assert len(written) == len(chapter.findings) == sum(map(len, tables.values()))
    for finding in chapter.findings:
        line = written[finding.name, row_params(finding, None)]
        assert line["name"] == finding.name
        assert same(line["value"], finding.value)
        assert all(same(line[end], value) for end, value in zip(ENDS, beside(finding), strict=True))
        assert same(line["p"], finding.p_value)
        assert same(line["adjusted p"], finding.p_adjusted)
        assert same(line["n"], finding.n)
        assert bool(line["why not"]) is (finding.value is None)


@needs_chromium
def test_parts_are_those_of_the_run(visit, chapter):
    page = visit("rested")
    draw(page)
    for kind, told, parts in (
        ("classes", "effect size", chapter.ranked),
        ("groups", "accuracy", chapter.groups),
    ):
        button = page.locator(f"#{GENDER}-{kind}-table .after > button", has_text="CSV")
        table = {line[kind.removesuffix("es") if kind == "classes" else "group"]: line
                 for line in saved(page, button)[1]}  # fmt: skip
        for part in parts:
            line = table[part.key]
            assert same(line[told], part.value), "not one digit is lost"
            assert same(line["n"], part.n)
            titles = ("95% interval low", "95% interval high", "null band low", "null band high")
            ends = zip(titles, beside(part), strict=True)
            assert all(same(line.get(title, ""), value) for title, value in ends)


@needs_chromium
def test_the_tables_at_the_end_and_of_bands_hold_plain_cells(visit, chapter):
    page = visit("rested")
    draw(page)
    for section, heads in (
        ("contrasts", ["finding", "grouping", "value", "computed as", "other value", "because"]),
        ("dropped", ["reason", "count", "grouping", "left out of"]),
        ("definitions", ["finding", "name", "what it measures", "direction", "fair at", "defined in"]),
        (f"{GENDER}-distribution", ["band", "effect size", "classes"]),
    ):
        _, table = saved(page, page.locator(f"#{section} .after button", has_text="CSV").first)
        assert list(table[0]) == heads
        assert table
    _, contrasts = saved(page, page.locator("#contrasts .after button").first)
    first = next(one for finding in chapter.findings for one in finding.contrasts)
    assert same(contrasts[0]["other value"], first.value)
    _, dropped = saved(page, page.locator("#dropped .after button").first)
    counts = [one.count for finding in chapter.findings for one in finding.dropped]
    assert float(dropped[0]["count"]) in counts


@needs_chromium
def test_labels_are_exact_in_files_and_no_formula(visit):
    page = visit("hostile")
    draw(page)
    button = page.locator("[data-table$='-classes'] .after > button", has_text="CSV").first
    labels = {next(iter(line.values())) for line in saved(page, button)[1]}
    keys = {
        part.key for chapter in in_chapters(samples.hostile().findings.findings) for part in chapter.classes
    }
    safe = {f"'{key}" if key[:1] in "=+-@\t\r" else key for key in keys}
    # a lone surrogate cannot be written
    plain = {key for key in safe if not any("\ud800" <= letter <= "\udfff" for letter in key)}
    assert plain <= labels, plain - labels


@needs_chromium
@pytest.mark.parametrize(
    ("name", "figure"),
    [("rested", f"figure:has([data-chart='{GENDER}-classes'])"), ("drawn", "#artifact-paper-bars")],
)
def test_figures_are_taken_in_light_colours_whatever_the_scheme(visit, name, figure):
    taken = {}
    for scheme in ("light", "dark"):
        page = visit(name, color_scheme=scheme)
        scroll_through(page, f"{figure} :is([data-chart], [data-figure])")
        ink = page.evaluate("getComputedStyle(document.body).color")
        svg, png = page.locator(f"{figure} .downloads button").all()[:2]
        taken[scheme] = [contents(page, svg).decode(), brightness(contents(page, png))]
        assert page.evaluate("getComputedStyle(document.body).color") == ink, "the page stays as it was"
    assert taken["dark"] == taken["light"]
    assert taken["light"][1] > 200
    assert "rgb(27, 30, 36)" in taken["light"][0] or "rgb(84, 91, 102)" in taken["light"][0], "ink on paper"


def test_tables_of_one_metric_have_names_of_their_own():
    part = Part(kind="class", key="a", value=0.1, n=9)
    plain = samples.plain("equalized_odds", ("g",), 0.1, "lower is fairer", parts=[part])
    variants = [{"eo": eo, "aggregate": how} for eo in ("max", "avg") for how in ("max", "mean")]
    findings = [
        plain.model_copy(
            update={"params": each, "metric": f"equalized_odds({each['eo']}, {each['aggregate']})"}
        )
        for each in variants
    ]
    page = render_html(samples.content(findings))
    captions = {line.split('"')[0] for line in page.split('data-caption="Parts of ')[1:]}
    assert len(captions) == 4


def test_two_labels_that_look_alike_stay_two():
    data = frames.PageData()
    places = [data.label_index(text) for text in ("nurse", "nur\u200bse", "nur[U+200B]se")]
    assert len(set(places)) == 3
    assert [data.labels[place] for place in places] == ["nurse", "nur[U+200B]se", "nur[U+200B]se"]
    assert data.exact == {places[1]: "nur\u200bse"}


@pytest.mark.parametrize(
    "letter",
    "\u200b\u200c\u200e\u200f\u2060\ufeff\u00ad\u061c\u115f\u3164\u180e\u034f\u2062\ufe01\ufff9\ue000"
    "\U000e0041\U000e0100\u2066\u202e",
)
def test_what_is_invisible_is_shown(letter):
    assert formats.visible(f"a{letter}b") == f"a[U+{ord(letter):04X}]b"


@pytest.mark.parametrize(
    "text", ["👩🏽\u200d⚕\ufe0f nurse", "❤\ufe0f", "1\ufe0f\u20e3", "नमस्ते", "é", "日本 語", "a b"]
)
def test_what_can_be_seen_stays(text):
    assert formats.visible(text) == text


def test_blanks_that_nobody_sees_are_signs():
    assert formats.visible("  ") == "␣␣"
    assert formats.visible(" F ") == "␣F␣"
    assert formats.visible("") == ""


def test_a_label_without_a_letter_says_so():
    texts = ["", " × ", "u × ", " · u", "u ×  × v", "site =  · arm = u", "a = b", " ", "(empty)"]
    assert list(map(formats.visible_label, texts)) == [
        "(empty)", "(empty) × (empty)", "u × (empty)", "(empty) · u", "u × (empty) × v",
        "site = (empty) · arm = u", "a = b", "␣", "(empty)",
    ]  # fmt: skip
    assert formats.short_label("", 3) == "(e…"
    assert formats.quoted("") == "“(empty)”"


def test_joiners_outside_of_pictures_are_shown():
    assert formats.visible("a\u200db\ufe0f1\ufe0f") == "a[U+200D]b[U+FE0F]1[U+FE0F]"


def test_sheets_keep_numbers_and_texts_apart():
    data = frames.PageData()
    frames.add_sheet(data, "s", {"name": ["a", None], "value": [1 / 3, None], "n": [-10.0, 12.0]})
    assert data.frames["s"]["columns"] == {"name": [0, None], "value": [1 / 3, None], "n": [-10, 12]}
    assert [column["kind"] for column in data.tables["s"]["columns"]] == ["text", "number", "count"]


def test_an_end_without_anything_has_its_tables():
    data = frames.PageData()
    downloads.add_closing(data, [], [], rows.definitions([]))
    assert data.frames["dropped"]["columns"]["count"] == []


@needs_chromium
def test_tables_of_a_comparison_are_those_of_the_run(browser, tmp_path):
    run = two_models(tmp_path)
    path = tmp_path / "compared.html"
    path.write_text(run.html(), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(path.as_uri())
    unfold(page)
    asked = page.locator("#comparison table[data-sheet]")
    names = asked.evaluate_all("all => all.map((one) => one.dataset.sheet)")
    assert "ranking-0-0" in names
    assert page.locator("#comparison .scroll > table").count() == len(names), "no table is read off the page"
    button = page.locator("#comparison .scroll:has([data-sheet='ranking-0-0']) + .after button").first
    _, table = saved(page, button)
    ranking = run.tables["ranking"].to_dicts()
    mine = [row for row in ranking if (row["by"], row["metric"]) == (ranking[0]["by"], ranking[0]["metric"])]
    assert [line["model"] for line in table] == [row["model"] for row in mine]
    for line, row in zip(table, mine, strict=True):
        assert all(same(line[key], row[key]) for key in ("rank", "value", "low", "high"))
    page.close()
