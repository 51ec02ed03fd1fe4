"""The first screen in a browser: seen at once; drawers open and draw; hostile labels stay text."""

from __future__ import annotations

import pytest

from evenhand.report.content import ReportInput
from evenhand.report.page.html import render_html
from evenhand.workflows.outputs.evidence_rows import evidence_of
from tests.report.browsing import (
    assert_seen_at_once,
    browser,
    faint,
    needs_chromium,
    playwright,
    unfold,
    violations,
    visiting,
)
from tests.report.first_screens import audited, tickets

__all__ = ["browser"]
pytestmark = needs_chromium

EVIL = ("<script>alert(1)</script>", "\u202egnirts desrever", "long " * 100)
FEW = {"metrics": ["disparities", "accuracy_gap"]}
RUNS = {
    "planted": lambda: audited(tickets()),
    "quiet": lambda: audited(tickets(planted=0), by=["channel"]),
    "many": lambda: audited(tickets(offices={f"office {place:02d}": 100 for place in range(13)}), **FEW),
    "hostile": lambda: audited(tickets(EVIL, {EVIL[0]: 100, EVIL[1]: 200, EVIL[2]: 150})),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first")
    addresses = {}
    for name, make in RUNS.items():
        run = make()
        path = folder / f"{name}.html"
        rows = {"1": tickets().head(9)} if name == "planted" else {}
        content = ReportInput(run.findings, run.manifest, evidence=evidence_of(run), cases=rows)
        path.write_text(render_html(content), encoding="utf-8")
        addresses[name] = path.as_uri()
    return addresses


@pytest.fixture
def visit(browser, pages):
    """Open a page; it must complain of nothing and ask for nothing."""
    with visiting(browser, pages.__getitem__) as go:
        yield go


@pytest.mark.parametrize("name", ["planted", "quiet"])
def test_headline_picture_sureness_and_caveat_are_seen_at_once(visit, name):
    assert_seen_at_once(visit(name))


def test_a_narrow_screen_shows_the_named_group_and_three_others_first(visit):
    page = visit("many", 400, 860)
    assert_seen_at_once(page)
    rows = page.locator("#picture .mark-row:visible:not(.ticks)")
    assert rows.count() == 4
    assert "office 00" in rows.first.inner_text()
    page.get_by_label("Show 9 more").check()
    playwright.expect(rows).to_have_count(10)
    page.set_viewport_size({"width": 1400, "height": 900})
    assert rows.count() == 10
    assert page.locator(".show-later").is_hidden()


@pytest.mark.parametrize("width", [400, 1400])
def test_a_wide_table_keeps_its_classes_in_view_and_shows_that_it_scrolls(visit, width):
    page = visit("many", width)
    first, mistakes = page.locator(".class-table tbody th").first, page.locator(".class-table td.words").first
    for cell in (first, mistakes):
        assert cell.bounding_box()["x"] + cell.bounding_box()["width"] <= width
    before, table = first.bounding_box()["x"], page.locator("#groups .scroll").first
    assert table.evaluate("(box) => { box.scrollLeft = 250; return box.scrollLeft; }") == 250
    assert first.bounding_box()["x"] == pytest.approx(before, abs=1)
    assert "gradient" in table.evaluate("(box) => getComputedStyle(box).backgroundImage")


def test_the_folded_page_is_short(visit):
    assert visit("planted").evaluate("document.documentElement.scrollHeight") <= 4500


def test_charts_in_a_drawer_are_drawn_when_it_opens(visit):
    page = visit("planted")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(200)
    assert page.locator("[data-chart] svg").count() == 0
    page.locator("#classes > summary").click()
    chart = page.locator("#classes [data-chart]").first
    chart.scroll_into_view_if_needed()
    playwright.expect(chart.locator("svg")).to_have_count(1)


def test_a_link_opens_the_drawer_that_it_leads_into(visit):
    page = visit("planted")
    page.evaluate("location.hash = '#by-office-classes'")
    target = page.locator("#by-office-classes")
    playwright.expect(target).to_be_visible()
    playwright.expect(target).to_be_in_viewport()
    assert page.locator("details.drawer[open]").count() == 1
    page.locator("#classes > summary").click()
    page.locator(".masthead a[href='#method']").click()
    assert page.locator("details.drawer[open]").count() == 0


def test_print_opens_every_drawer_and_closes_it_again(visit):
    page = visit("planted")
    drawers = page.locator("details.drawer").count()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.drawer[open]").count() == drawers > 8
    playwright.expect(page.locator("[data-chart]:not([data-drawn])")).to_have_count(0)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.drawer[open]").count() == 0


def test_without_scripts_the_first_screen_is_the_same(browser, pages):
    texts = []
    for java in (True, False):
        page = browser.new_page(java_script_enabled=java)
        page.goto(pages["planted"])
        texts.append(page.locator("#finding").inner_text())
        page.close()
    assert texts[0] == texts[1]
    assert "33 of 100" in texts[0]


@pytest.mark.parametrize("width", [400, 1400])
def test_hostile_labels_stay_text_and_inside_the_page(visit, width):
    page = visit("hostile", width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    title = page.locator("h1").inner_text()
    assert "<script>alert(1)</script>: 33 of 100" in title
    assert "\u202e" not in page.locator("main").inner_html()
    assert "[U+202E]gnirts" in page.locator("#picture").inner_text()
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["planted", "hostile"])
@pytest.mark.parametrize(("width", "scheme"), [(1400, "dark"), (400, "light")])
def test_axe_finds_nothing_serious_on_the_first_screen(visit, name, width, scheme):
    page = visit(name, width, color_scheme=scheme)
    assert faint(page) == []
    assert violations(page) == []
