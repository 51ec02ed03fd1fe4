"""What changed, in a browser: pairs are chosen, drawn and saved; rows behind a change are its pair's."""

import csv

import pytest

from tests.report.browsing import (
    browser,
    draw,
    faint,
    needs_chromium,
    playwright,
    scroll_through,
    violations,
    visiting,
)
from tests.report.compared_samples import three_hostile_models, two_models

__all__ = ["browser"]
pytestmark = needs_chromium
CHANGES = "#changes :is([data-chart], [data-table])"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Comparisons of two and of three models, as files."""
    folder = tmp_path_factory.mktemp("compared")
    for name, make in (("two", two_models), ("hostile", three_hostile_models)):
        (folder / f"{name}.html").write_text(make(folder / name).html(), encoding="utf-8")
    return folder


@pytest.fixture
def visit(browser, pages):
    """Open a comparison."""
    with visiting(browser, lambda name: (pages / f"{name}.html").as_uri()) as go:
        yield go


@pytest.mark.parametrize(("name", "width", "scheme"), [("two", 400, "dark"), ("hostile", 1400, "light")])
def test_it_fits_is_drawn_and_has_no_serious_fault(visit, name, width, scheme):
    page = visit(name, width, color_scheme=scheme)
    draw(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#changes [data-chart] svg").count() == 2
    assert name == "hostile" or faint(page) == []  # the colours are the same
    assert violations(page) == []


def first_cells(page, table):
    return page.eval_on_selector_all(
        f"[data-table='{table}'] tbody tr",
        "rows => rows.map((row) => row.children[0].innerText.split('\\n')[0].trim())",
    )


def test_charts_wait_until_they_are_near(visit):
    page = visit("two", height=200)
    page.wait_for_timeout(200)
    assert page.locator("#changes [data-chart] svg").count() == 0


def test_what_is_looked_at_changes_table_and_charts(visit):
    page = visit("two")
    scroll_through(page, CHANGES)
    assert first_cells(page, "changes-by-group")[0].startswith("c1")
    assert len(first_cells(page, "changes-by-group")) == 6
    page.select_option("[data-changes] [name=what]", label="Accuracy by group")
    page.wait_for_timeout(300)
    assert sorted(one[:2] for one in first_cells(page, "changes-by-group")) == ["g0", "g1"]
    drawn = page.locator("[data-chart='changes-by-group-change'] svg").text_content()
    assert "g0" in drawn
    assert "c1" not in drawn


def test_a_pair_is_chosen(visit):
    page = visit("hostile")
    scroll_through(page, CHANGES)
    table = page.locator("[data-table='changes-by-group'] .status")
    assert "of 42 rows" in table.inner_text()
    page.select_option("[data-changes] [name=pair]", index=2)
    page.wait_for_timeout(300)
    assert "of 14 rows" in table.inner_text()
    flips = page.locator("[data-table='flips-by-group'] tbody tr")
    models = {row.locator("td").nth(1).inner_text() for row in flips.all()}
    assert len(models) == 1


def test_hovering_tells_the_change(visit):
    page = visit("two")
    scroll_through(page, CHANGES)
    page.locator("[data-chart='changes-by-group-change'] .mark-symbol path").first.hover(force=True)
    tooltip = page.locator("#vg-tooltip-element")
    playwright.expect(tooltip).to_be_visible()
    told = tooltip.inner_text()
    for words in ("first minus second", "more than noise", "interval", "null band", "adjusted p"):
        assert words in told


def test_the_rows_behind_a_change_are_those_of_its_pair(visit):
    page = visit("hostile")
    scroll_through(page, CHANGES)
    row = page.locator("[data-table='changes-by-group'] tbody tr").first
    row.locator("button.rows-of").click()
    behind = page.locator("tr.drill").first
    heads = [head.split("\n")[0].strip() for head in behind.locator("thead th").all_inner_texts()]
    at = heads.index("first model")
    models = {line.locator("td, th").nth(at).inner_text() for line in behind.locator("tbody tr").all()}
    assert models == {row.locator("td").nth(0).inner_text()}


def test_each_table_is_saved_in_full(visit, tmp_path):
    page = visit("two")
    scroll_through(page, CHANGES)
    for table in ("changes-by-group", "flips-by-group", "answers-by-group"):
        with page.expect_download() as waiting:
            page.locator(f"[data-table='{table}'] button", has_text="CSV").click()
        path = tmp_path / f"{table}.csv"
        waiting.value.save_as(path)
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.reader(file))
        shown = page.locator(f"[data-table='{table}'] .status").inner_text()
        assert f"of {len(lines) - 1:,} rows" in shown
        assert all(len(line) == len(lines[0]) for line in lines)
        if table == "changes-by-group":
            assert {"interval low", "null band high", "only first right"} <= set(lines[0])


def test_the_pages_filter_narrows_what_changed(visit):
    page = visit("two")
    scroll_through(page, CHANGES)
    page.fill("#filters [name=part]", "c3")
    page.wait_for_timeout(300)
    assert [one[:2] for one in first_cells(page, "changes-by-group")] == ["c3"]
