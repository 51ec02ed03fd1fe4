"""Pages of figures in a browser: they draw, and ask for nothing."""

from __future__ import annotations

from evenhand.report.figures.page import figures_html
from tests.report import figure_samples as samples
from tests.report.browsing import browser, needs_chromium, playwright

__all__ = ["browser"]
pytestmark = needs_chromium


def pages():
    """Every kind on one page, and everything hostile on another."""
    for name, (figure, table, _) in samples.KINDS.items():
        yield name, figures_html([figure], table, "A title", ["a note"], "paper/figure1")
    figures, table = samples.hostile()
    yield "hostile", figures_html(figures, table, samples.HOSTILE, [samples.HOSTILE], samples.HOSTILE)


def test_every_page_draws_offline_without_a_complaint(browser, tmp_path):
    heard: list[str] = []
    asked_for: list[str] = []
    for name, html in pages():
        path = tmp_path / f"{name}.html"
        path.write_text(html, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1200, "height": 900}, offline=True)
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: heard.append(f"dialog {dialog.message}"))
        page.on("request", lambda asked: asked_for.append(asked.url))
        asked_for.clear()
        page.goto(path.as_uri())
        playwright.expect(page.locator("[data-figure]:not([data-drawn])")).to_have_count(0)
        drawings = page.query_selector_all("[data-figure] svg")
        assert len(drawings) == len(page.query_selector_all("[data-figure]"))
        assert drawings or page.query_selector("table tbody tr")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1200, name
        for mark in page.query_selector_all(".mark-rect.role-mark path, .mark-symbol.role-mark path")[:3]:
            mark.hover(force=True)
        assert heard == [], name
        assert asked_for == [path.as_uri()], name
        page.close()
