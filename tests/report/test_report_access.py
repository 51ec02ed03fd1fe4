"""The page for those who do not see it, or do not use a mouse: axe-core, keyboard, words for pictures."""

from __future__ import annotations

import pytest

from tests.report.browsing import (
    addresses,
    browser,
    draw,
    faint,
    needs_chromium,
    playwright,
    see,
    violations,
    visit,
)

__all__ = ["addresses", "browser", "visit"]
pytestmark = needs_chromium
GENDER = "by-perceived-gender"

OUTLINES = """() => {
  const focused = document.activeElement;
  if (!focused || focused === document.body) return null;
  const style = getComputedStyle(focused);
  const box = focused.getBoundingClientRect();
  return {
    name: focused.tagName + (focused.id ? "#" + focused.id : ""),
    seen: parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== "none" && box.width * box.height > 0,
  };
}"""
CONTROLS = "a[href], button, select, input, summary, [tabindex='0']"


def opened(page):
    """Everything that can be unfolded, unfolded, and drawn."""
    draw(page)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for host in page.query_selector_all("details.piece [data-table]"):
        see(page, host)
    playwright.expect(page.locator("details.piece [data-table]:empty")).to_have_count(0)


@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("rested", 1400),
        *(
            pytest.param(*page, marks=pytest.mark.nightly)
            for page in (("hostile", 400), ("drawn", 1400), ("undefined", 400))
        ),
    ],
)
def test_axe_finds_nothing_serious_with_everything_open_and_filtered(visit, name, width):
    page = visit(name, width)
    opened(page)
    if page.locator("button.rows-of").count():
        page.locator("button.rows-of").first.click()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert faint(page) == []
    assert violations(page) == []
    if name == "drawn":  # but for what no filter reaches, "rested" is the same
        return
    page.fill("#filters [name=part]", "n")
    page.locator("#filters select[name=attribute]").select_option(index=1)
    page.wait_for_timeout(200)
    assert violations(page) == []


def test_words_for_a_picture_follow_the_filter(visit):
    page = visit("rested")
    draw(page)
    chart = page.locator(f"[data-chart='{GENDER}-classes']")
    whole = chart.get_attribute("aria-label")
    assert "from 0.580 for “nurse” down to" in whole
    assert "Beyond chance: 3 of 11 classes." in whole
    page.fill("#filters [name=part]", "nurse")
    playwright.expect(chart).to_have_attribute("aria-label", f"Filtered: 1 of 11 shown. All of them: {whole}")
    page.click("#filters button")
    playwright.expect(chart).to_have_attribute("aria-label", whole)


def test_buttons_of_figures_say_what_a_reader_sees(visit):
    page = visit("rested")
    draw(page)
    labels = page.eval_on_selector_all(
        ".downloads button", "all => all.map((one) => one.getAttribute('aria-label'))"
    )
    assert "SVG: Effect size of each class, perceived gender" in labels
    assert not any("by-perceived" in label for label in labels)
    assert len(labels) == len(set(labels))


def test_every_control_is_reached_by_tab_and_seen(visit):
    page = visit("realistic")
    draw(page)
    page.evaluate("scrollTo(0, 0)")
    visible = page.eval_on_selector_all(
        CONTROLS, "all => all.filter((one) => one.checkVisibility() && !one.closest('.skip')).length"
    )
    reached, unseen = 0, []
    for _ in range(visible + 5):
        page.keyboard.press("Tab")
        focus = page.evaluate(OUTLINES)
        if focus is None:
            break
        reached += 1
        if not focus["seen"]:
            unseen.append(focus["name"])
    assert unseen == []
    assert reached >= visible, (reached, visible)


def test_columns_are_sorted_by_keyboard(visit):
    page = visit("realistic")
    draw(page)
    head = page.locator(f"#{GENDER}-classes-table thead th").first
    button = head.locator("button")
    button.focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "descending"
    heads = page.locator("[data-table] thead th")
    assert heads.count() == page.locator("[data-table] thead th[aria-sort] > button").count() > 10


def test_null_bands_are_on_every_chart(visit):
    page = visit("rested")
    draw(page)
    scatter = page.locator(f"[data-chart='{GENDER}-scatter']")
    assert scatter.locator(".mark-rule.role-mark line").count() == 22, "a band and an interval of each class"
    histogram = page.locator(f"[data-chart='{GENDER}-histogram']")
    band = histogram.locator(".mark-rect.role-mark path[fill='var(--chance)']")
    assert band.count() == 1, "a typical band behind the bars"
    groups = page.locator(f"[data-chart='{GENDER}-groups']")
    assert groups.locator(".mark-rect.role-mark path").count() == 2
    assert "What chance alone gives a class in the middle of them:" in histogram.get_attribute("aria-label")
