"""A headless browser that opens reports and hears every complaint and every request."""

from __future__ import annotations

import os
import re
import shutil
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from functools import cache

import pytest

from evenhand.report.page.html import render_html
from tests.report import report_samples as samples

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
PATIENCE = 300_000  # milliseconds: what is expected comes, however busy the machine is
playwright.expect.set_options(timeout=PATIENCE)
# the first, made for tests, needs two thirds of the others' time
_BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the path")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


DRAWERS = "details.drawer"
HOSTS = "[data-chart], [data-figure], [data-table]:not(details.piece *)"
UNFINISHED = (
    "[data-chart]:not([data-drawn]), [data-figure]:not([data-drawn]), [data-table]:not(details.piece *):empty"
)


@cache
def rendered(name):
    """The page of a run of the samples; ``hidden`` is ``rested`` without its small cells."""
    if name == "hidden":
        return render_html(samples.rested(), suppress=15)
    return render_html(getattr(samples, name)())


_open: dict[str, ExitStack | object] = {}


@pytest.fixture(scope="module")
def browser():
    """One for all modules of a group; the hook of tests/conftest.py closes it after the last of them."""
    if not _open:
        stack = ExitStack()
        driver = stack.enter_context(playwright.sync_playwright())
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        stack.callback(launched.close)
        launched.new_page = reused(launched.new_page)
        _open.update(stack=stack, browser=launched)
    return _open["browser"]


def reused(new_page):
    """Pages that wait as long as expectations do, and that serve again after ``close``.

    A new one costs Chromium a second of work; an old one is emptied, and nothing listens to it any more.
    The mouse leaves it first: where the mouse is outlives the page.
    """
    free = defaultdict(list)

    def open_page(viewport=None, color_scheme="light", **options):
        ready = free[repr(sorted(options.items()))]
        page = ready.pop() if ready else new_page(**options)
        page.set_default_timeout(PATIENCE)
        page.set_viewport_size(viewport or {"width": 1280, "height": 720})
        page.emulate_media(color_scheme=color_scheme, media="null")
        listeners = []

        def on(event, listener):
            listeners.append((event, listener))
            type(page).on(page, event, listener)

        def close():
            for event, listener in listeners:
                page.remove_listener(event, listener)
            page.mouse.move(-1, -1)
            page.goto("about:blank")
            ready.append(page)

        page.on, page.close = on, close
        return page

    return open_page


def close_browser():
    """While it is open, the loop of playwright runs, and no other may."""
    if _open:
        _open["stack"].close()
        _open.clear()


class Pages(dict):
    """Addresses of the samples' pages; each is made when it is first asked for."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def __missing__(self, name):
        path = self.folder / f"{name}.html"
        path.write_text(rendered(name), encoding="utf-8")
        self[name] = path.as_uri()
        return self[name]


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    return Pages(tmp_path_factory.mktemp("reports"))


@contextmanager
def visiting(browser, address_of):
    """Opens pages by name; at the end they must have complained about nothing and asked for nothing."""
    opened = []

    def go(name, width=1400, height=900, **options):
        page = browser.new_page(viewport={"width": width, "height": height}, **options)
        heard: list[str] = []
        address = address_of(name)
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: heard.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: heard.append(request.url) if request.url != address else None)
        page.goto(address)
        opened.append((page, heard))
        return page

    yield go
    for page, heard in opened:
        page.close()
        assert heard == []


@pytest.fixture
def visit(browser, addresses):
    """Open a report of the samples."""
    with visiting(browser, lambda name: addresses[name]) as go:
        yield go


SEEN = """(node) => new Promise((resolve, reject) => {
    const show = () => node.scrollIntoView({ block: "nearest", behavior: "instant" });
    const observer = new IntersectionObserver((entries) => {
        if (entries.some((entry) => entry.isIntersecting)) { stop(); resolve(); }
    });
    const shifted = setInterval(show, 100);
    const give_up = () => { stop(); reject(new Error("never in view: " + node.outerHTML)); };
    const never = setTimeout(give_up, 30000);
    const stop = () => { observer.disconnect(); clearInterval(shifted); clearTimeout(never); };
    observer.observe(node);
    show();
})"""
"""Scrolls until the page itself sees a node, which is when it draws it; a busy page need not stand still.

What is drawn above may push it out of view before it is seen: it is scrolled to again.
"""


def assert_seen_at_once(page):
    """Headline, picture, how sure and caveat are on the first screen, wide and narrow, light and dark."""
    sure = page.locator(".facts div", has_text="How sure")
    parts = (page.locator("h1"), page.locator("#picture"), sure, page.locator("#caveat"))
    for width, height in ((1400, 900), (400, 860)):
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.evaluate("scrollTo(0, 0)")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for part in parts:
                box = part.bounding_box()
                assert box["y"] >= 0
                assert box["y"] + box["height"] <= height, (part, width)
    assert re.search(r"\bp\s[=<]|Not\stested", sure.inner_text())


def unfold(page):
    """Open every drawer."""
    page.eval_on_selector_all(DRAWERS, "all => all.forEach((drawer) => { drawer.open = true; })")


def see(page, node):
    """Let the page see a node. A browser that has stopped making frames makes one for a picture."""
    try:
        node.evaluate(SEEN)
    except playwright.Error:
        page.bring_to_front()
        page.screenshot()
        node.evaluate(SEEN)


def draw(page):
    """Open every drawer and have everything drawn, as before printing: without waiting for frames."""
    unfold(page)
    page.evaluate("['beforeprint', 'afterprint'].forEach((name) => dispatchEvent(new Event(name)))")
    playwright.expect(page.locator(UNFINISHED)).to_have_count(0)


def scroll_through(page, hosts=HOSTS):
    """Open every drawer and see what scripts draw as it comes near.

    Dearer than ``draw`` for everything, cheaper for the few ``hosts`` of a long page that a test looks at.
    """
    unfold(page)
    for host in page.query_selector_all(hosts):
        see(page, host)
    playwright.expect(page.locator(f":is({hosts}):is({UNFINISHED})")).to_have_count(0)


COLOURS = ("color-contrast", "link-in-text-block")  # dear: axe-core looks up what is behind each text

ONE_OF_EACH_LOOK = """() => {
  const some = (node, ...keys) => keys.map((key) => getComputedStyle(node)[key]).join();
  const grounds = new Map();
  const groundOf = (node) => {
    if (!node) return "";
    if (!grounds.has(node)) {
      const above = groundOf(node.parentElement);
      const own = some(node, "backgroundColor", "backgroundImage", "opacity", "position");
      grounds.set(node, above.endsWith(own) ? above : above + own);
    }
    return grounds.get(node);
  };
  const isText = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim();
  const seen = new Set();
  for (const node of document.querySelectorAll("body *")) {
    delete node.dataset.look;
    if (![...node.childNodes].some(isText) || !node.checkVisibility()) continue;
    const own = some(node, "color", "fill", "fontSize", "fontWeight", "textShadow", "textDecorationLine");
    const look = [node.localName, own, some(node.parentElement, "color"), groundOf(node)].join();
    if (!seen.has(look)) node.dataset.look = "";
    seen.add(look);
  }
}"""
"""Marks one text of each kind, colour, size and ground."""


ONE_ROW_OF_EACH_SHAPE = """() => document.querySelectorAll("tbody").forEach((body) => {
  const seen = new Set();
  for (const row of [...body.rows]) {
    const shape = row.outerHTML.replace(/>[^<]+/g, ">x");
    if (seen.has(shape)) row.remove();
    seen.add(shape);
  }
})"""
"""Leaves out rows that differ from an earlier one of their table in no more than texts; marked looks stay."""


def violations(page, *, inside=None):
    """What axe-core calls serious or critical on a page, and landmarks without names of their own.

    Args:
        page: Of whose colours ``faint`` tells; it loses rows that are as others.
        inside: Selector of the part to look at; default: the page.
    """
    return _faults(page, inside, {"rules": {rule: {"enabled": False} for rule in COLOURS}})


def faint(page):
    """What axe-core says of the colours of one text of each look; the page loses rows that are as others."""
    page.evaluate(ONE_OF_EACH_LOOK)
    return _faults(page, "[data-look]", {"runOnly": {"type": "rule", "values": list(COLOURS)}})


def _faults(page, inside, options):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    page.evaluate(ONE_ROW_OF_EACH_SHAPE)
    found = axe.Axe().run(page, inside, {"resultTypes": ["violations"], **options}).response["violations"]
    return [
        (fault["id"], fault["nodes"][0]["html"][:200], fault["nodes"][0].get("failureSummary"))
        for fault in found
        if fault["impact"] in ("serious", "critical") or fault["id"] in ("landmark-unique", "region")
    ]
