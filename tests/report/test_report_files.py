"""Names of the files that a report offers, and what of it is printed."""

from __future__ import annotations

import re
from importlib.resources import files

from evenhand.report.page.artifacts import artifact_views
from evenhand.report.views import frames
from tests.report import report_samples as samples
from tests.report.browsing import addresses, browser, draw, needs_chromium, visit

__all__ = ["addresses", "browser", "visit"]
pytestmark = needs_chromium


NAMES = """(buttons) => {
    const names = [], click = HTMLAnchorElement.prototype.click;
    HTMLAnchorElement.prototype.click = function () { names.push(this.download); };
    try { buttons.forEach((button) => button.click()); }
    finally { HTMLAnchorElement.prototype.click = click; }
    return names;
}"""
"""What each button would call its file: Chromium drops the eleventh file of a page in a short while."""


def test_every_file_of_the_benchmarks_section_has_a_name_of_its_own(visit):
    page = visit("drawn")
    draw(page)
    buttons = page.locator("#artifacts button", has_text=re.compile("^(CSV|SVG)$"))
    found = buttons.evaluate_all(NAMES)
    assert len(found) == buttons.count()
    assert all(re.fullmatch(r"[^\W_]+(-[^\W_]+)*\.(csv|svg)", name) for name in found), "saved as it is"
    with page.expect_download() as waiting:
        buttons.first.click()
    assert waiting.value.suggested_filename == found[0]
    kept = [view for view in artifact_views(samples.drawn(), frames.PageData()) if view.sheet]
    assert sum(name.endswith(".csv") for name in found) == len(kept)
    assert "paper-bars.csv" in found
    assert len(set(found)) == len(found)


def test_names_of_files_end_after_a_word_and_keep_every_script(browser):
    page = browser.new_page()
    shared = "SkewSize of every class against the minimum expected value of a predicted label in run"
    titles = [f"{shared} one", f"{shared} two", "By group, 性别", "By group, 年龄", "x" * 300, "x" * 301, "?"]
    source = (files("evenhand.report") / "templates" / "scripts" / "downloads.js").read_text(encoding="utf-8")
    named = "return titles.map((title) => fileName(title, 'csv'));"
    one, two, sex, age, *long, bare = page.evaluate(f"(titles) => {{ {source} {named} }}", titles)
    page.close()
    assert one != two
    for name in (one, two):
        *words, number = name.removesuffix(".csv").split("-")
        assert shared.lower().split()[: len(words)] == words
        assert number
    assert (sex, age) == ("by-group-性别.csv", "by-group-年龄.csv")
    assert max(map(len, long)) < 100
    assert len(set(long)) == 2
    assert bare == "table.csv"


def test_what_is_folded_is_printed_and_folded_again(visit):
    page = visit("hostile")
    pieces = page.locator("details.piece:not(.behind)")
    assert pieces.count() > 1
    assert page.locator("details.piece[open]").count() == 0
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    for piece in pieces.all():
        assert piece.bounding_box()["height"] > 30
        assert piece.locator("tbody tr, pre, li, .mark-row").count()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.piece[open]").count() == 0


def test_no_heading_is_printed_over_nothing_and_no_figure_beyond_the_paper(visit):
    page = visit("drawn", width=688)
    draw(page)
    widest = """() => Math.max(...[...document.querySelectorAll(".plate svg")]
      .map((svg) => svg.getBoundingClientRect().width))"""
    assert page.evaluate(widest) > 688
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    bare = page.evaluate(
        """() => [...document.querySelectorAll("section > h3")].filter((head) => {
             const shown = [...head.parentElement.children].filter((one) => one.offsetHeight > 0);
             return shown.length < 2;
           }).map((head) => head.textContent)"""
    )
    assert bare == []
    assert page.evaluate(widest) <= 688
