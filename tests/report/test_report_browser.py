"""The page in a browser: it draws, sorts, fits, and asks for nothing."""

from __future__ import annotations

import pytest

from tests.report.browsing import (
    SEEN,
    addresses,
    browser,
    draw,
    needs_chromium,
    scroll_through,
    visit,
)

__all__ = ["addresses", "browser", "visit"]
pytestmark = needs_chromium


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", ["realistic", "thousand", "undefined", "hostile", "drawn", "hidden"])
def test_everything_is_drawn_and_fits(visit, name, width):
    page = visit(name, width)
    (scroll_through if name == "realistic" else draw)(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert len(page.query_selector_all("[data-chart] svg")) == len(page.query_selector_all("[data-chart]"))


def test_charts_wait_until_they_are_near(visit):
    page = visit("thousand")
    page.wait_for_timeout(200)
    assert page.query_selector_all("[data-chart] svg") == []


def column(page, table, place):
    return page.eval_on_selector_all(
        f"[data-table='{table}'] tbody tr", f"rows => rows.map((row) => row.children[{place}].innerText)"
    )


def test_the_table_of_classes_sorts_searches_and_grows(visit):
    page = visit("thousand")
    scroll_through(page, "[data-table='by-gender-classes']")
    table = "by-gender-classes"
    host = page.query_selector(f"[data-table='{table}']")
    values = [float(text) for text in column(page, table, 1)]
    assert len(values) == 25
    assert values == sorted(values, reverse=True)

    host.query_selector("thead button").click()
    names = column(page, table, 0)
    assert names == sorted(names)
    assert names[0] == "n00000000 class 0"
    assert host.query_selector("thead th").get_attribute("aria-sort") == "ascending"
    host.query_selector("thead button").click()
    assert column(page, table, 0)[0] == "n00000999 class 999"

    host.query_selector("thead th:nth-child(2) button").click()
    host.query_selector("thead th:nth-child(2) button").click()
    host.query_selector("button.more").click()
    assert len(column(page, table, 0)) == 1000
    assert column(page, table, 1)[-50:] == ["–"] * 50, "what has no value is last in both directions"
    last = host.query_selector_all("tbody tr")[-1]
    assert "not estimable: every group received" in last.inner_text()

    host.query_selector("input").fill("class 77")
    assert all("class 77" in name for name in column(page, table, 0))
    assert "11 found" in host.query_selector(".status").inner_text()


def test_hovering_a_chart_tells_its_values(visit):
    page = visit("realistic")
    draw(page)
    page.query_selector("[data-chart='by-perceived-gender-classes'] .mark-symbol path").hover()
    tooltip = page.wait_for_selector("#vg-tooltip-element.visible").inner_text()
    assert "nurse" in tooltip
    assert "0.580" in tooltip
    assert "above chance" in tooltip


def test_intervals_and_null_bands_are_drawn(visit):
    page = visit("realistic")
    draw(page)
    chart = page.query_selector("[data-chart='by-perceived-gender-classes']")
    bands, ticks = 11, 11
    assert len(chart.query_selector_all(".mark-rect.role-mark path")) == bands + ticks
    assert len(chart.query_selector_all(".mark-rule.role-mark line")) == 11
    assert len(chart.query_selector_all(".mark-symbol.role-mark path")) == 11


def test_long_labels_open_to_their_full_text(visit):
    page = visit("hostile")
    draw(page)
    label = page.query_selector("[data-table$='-classes'] details.long")
    label.query_selector("summary").click()
    assert len(label.wait_for_selector(".full").inner_text()) > 9000


def test_dark_follows_the_reader_and_keeps_contrast(visit):
    for scheme in ("light", "dark"):
        page = visit("realistic", color_scheme=scheme)
        ratios = page.evaluate(CONTRAST)
        assert min(ratios[name] for name in ("ink", "muted", "accent")) >= 4.5, (scheme, ratios)
        assert min(ratios[name] for name in ("negligible", "small", "medium", "large")) >= 3, (scheme, ratios)


def test_printing_draws_what_was_never_scrolled_to(visit, tmp_path):
    page = visit("realistic")
    page.pdf(path=str(tmp_path / "report.pdf"))
    drawn = len(page.query_selector_all("[data-chart][data-drawn] svg"))
    assert drawn == len(page.query_selector_all("[data-chart]")) == 8


CONTRAST = """() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const light = (name) => {
    probe.style.color = `var(--${name})`;
    const parts = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const grounds = ["paper", "sheet", "note"].map(light);
  const names = ["ink", "muted", "accent", "negligible", "small", "medium", "large"];
  return Object.fromEntries(names.map((name) => [name, Math.min(...grounds.map((ground) => {
    const pair = [light(name), ground].sort((a, b) => b - a);
    return (pair[0] + 0.05) / (pair[1] + 0.05);
  }))]));
}"""


SHIFTING = """<body style="overflow-anchor: none">
<div id="above" style="height: 3000px"></div><p id="node">x</p>
<div style="height: 3000px"></div><script>
let times = 3, height = 3000;
addEventListener("scroll", () => {
  if (times-- > 0) document.getElementById("above").style.height = `${height += 2500}px`;
});</script>"""


def test_what_a_page_pushes_away_while_it_draws_is_scrolled_to_again(browser):
    page = browser.new_page()
    page.set_content(SHIFTING)
    page.query_selector("#node").evaluate(SEEN)
    assert page.evaluate("times") <= 0
    page.close()
