"""Reading a report in a browser: filters, from findings to evidence, downloads, hidden cells, axe-core."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

import pytest
from PIL import Image

from evenhand.core.findings import GroupSize, Part
from evenhand.report.page.html import render_html
from tests.report import report_samples as samples
from tests.report.browsing import (
    addresses,
    browser,
    draw,
    needs_chromium,
    playwright,
    rendered,
    scroll_through,
    unfold,
    visit,
)

__all__ = ["addresses", "browser", "visit"]
pytestmark = needs_chromium
GENDER = "by-perceived-gender"
BOTH = "by-perceived-gender-age"


def names(page, table):
    heads = f"[data-table='{table}'] > .scroll > table > tbody > tr > th:first-child bdi"
    return page.eval_on_selector_all(heads, "cells => cells.map((cell) => cell.textContent)")


def downloaded(page, button):
    with page.expect_download() as waiting:
        button.click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def lines(content):
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))


def test_filtering_by_attribute_hides_other_groupings(visit):
    page = visit("rested")
    draw(page)
    page.select_option("#filters [name=attribute]", "age")
    assert page.locator(f"#{GENDER}").is_hidden()
    assert page.locator(f"#{BOTH}").is_visible()
    assert page.locator(f"nav [data-chapter='{GENDER}']").is_hidden()
    assert page.locator(f"#{GENDER}-findings").is_hidden()
    assert "1 of 2 groupings shown" in page.inner_text("#filters output")
    page.click("#filters button")
    assert page.locator(f"#{GENDER}").is_visible()
    assert page.inner_text("#filters output") == ""


def test_filtering_by_group_and_class_reaches_tables_and_charts(visit):
    page = visit("rested")
    draw(page)
    page.select_option("#filters [name=group]", "male")
    assert names(page, f"{GENDER}-groups") == ["male"]
    page.fill("#filters [name=part]", "nurse")
    assert names(page, f"{GENDER}-classes") == ["nurse"]
    points = page.locator(f"[data-chart='{GENDER}-classes'] .mark-symbol.role-mark path")
    playwright.expect(points).to_have_count(1)
    page.fill("#filters [name=part]", "nobody")
    playwright.expect(points).to_have_count(0)
    assert page.inner_text(f"[data-table='{GENDER}-classes'] .status").startswith("0 found")
    page.click("#filters button")
    playwright.expect(points).to_have_count(11)
    assert len(names(page, f"{GENDER}-classes")) == 12


def test_parts_named_after_their_attribute_are_filtered_as_groups(browser, tmp_path):
    by = ("occupation",)
    parts = [Part(kind="occupation", key=name, value=0.5, n=40) for name in ("doctor", "baker")]
    sizes = [GroupSize(key=part.key, n=part.n) for part in parts]
    found = samples.plain("resolution_accuracy", by, 0.5, "higher is better", parts=parts, groups=sizes)
    path = tmp_path / "named.html"
    path.write_text(render_html(samples.content([found])), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    unfold(page)
    page.locator("details.piece > summary").first.click()
    playwright.expect(page.locator("details.piece tbody tr")).to_have_count(2)
    page.select_option("#filters [name=group]", "baker")
    assert names(page, "by-occupation-parts-0") == ["baker"]
    page.close()


def test_from_a_finding_to_its_parts_to_its_evidence(visit):
    page = visit("rested")
    unfold(page)
    page.click(f"table.findings a[href='#{GENDER}-classes-table']")
    row = page.locator(f"#{GENDER}-classes-table tbody tr", has_text="nurse").first
    row.locator("button.rows-of").click()
    found = page.locator(f"#{GENDER}-classes-table tr.drill table")
    assert found.locator("tbody tr").count() == 4
    text = found.inner_text()
    assert "female" in text
    assert "109" in text, "cells of both ages are added: 9 and 100"
    row.locator("button.rows-of").press("Enter")
    assert page.locator("tr.drill").count() == 0
    folded = page.locator("table.findings a[href^='#by-perceived-gender-parts']")
    assert folded.count() == 0, "no other finding of this run has parts of its own"


def test_tables_come_as_csv_with_every_row_and_value(visit):
    page = visit("thousand")
    scroll_through(page, "[data-table='by-gender-classes']")
    host = page.locator("#by-gender-classes-table")
    name, content = downloaded(page, host.locator(".after > button", has_text="CSV"))
    table = lines(content)
    assert name == "effect-size-by-class-gender.csv"
    assert len(table) == 1001
    assert table[0][:5] == ["class", "corrected", "95% interval low", "95% interval high", "effect size"]
    values = {part.key: part.value for part in samples.thousand().findings.findings[0].parts}
    assert float(table[1][4]) == pytest.approx(values[table[1][0]], rel=1e-5)
    assert table[-1][4] == "", "what has no value is empty, not 0"
    name, content = downloaded(page, page.locator("#findings .after button").first)
    assert name == "is-it-right-equally-often-gender.csv"
    assert lines(content)[0][:4] == ["finding", "name", "parameters", "value"]


def test_hostile_labels_are_no_formulas_in_csv(visit):
    page = visit("hostile")
    draw(page)
    button = page.locator("[data-table$='-classes'] .after > button", has_text="CSV")
    table = lines(downloaded(page, button)[1])
    assert "<script>alert(1)</script>" in [line[0] for line in table]
    assert ("long " * 2000) in [line[0] for line in table]
    assert not any(cell.startswith(("=", "@")) for line in table for cell in line)


def test_figures_come_as_svg_and_png(visit):
    page = visit("rested")
    draw(page)
    buttons = page.locator(f"figure:has([data-chart='{GENDER}-classes']) .downloads button")
    name, content = downloaded(page, buttons.nth(0))
    assert name == "by-perceived-gender-classes-figure.svg"
    text = content.decode()
    assert text.startswith("<svg")
    assert "nurse" in text
    assert "var(--" not in text, "colours of the stylesheet are written out"
    name, content = downloaded(page, buttons.nth(1))
    assert name == "by-perceived-gender-classes-figure.png"
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20], "big") > 800
    brightness = Image.open(io.BytesIO(content)).convert("L").histogram()
    assert sum(n > 0 for n in brightness) > 20, "the picture is drawn, not blank"


def test_figures_of_the_benchmark_are_drawn_and_come_as_files(visit):
    page = visit("drawn")
    draw(page)
    assert page.locator("#artifacts [data-figure] svg").count() >= len(samples.KINDS) - 2
    assert page.locator("#artifacts").inner_text().count("<script>alert(1)</script>") >= 1
    assert page.locator("#artifacts img, #artifacts image").count() == 0, "no picture that was not asked for"
    name, content = downloaded(page, page.locator("#artifact-paper-bars .downloads button").first)
    assert name == "paper-bars.svg"
    assert b"<svg" in content
    name, content = downloaded(page, page.locator("#artifact-paper-bars .file button"))
    assert name == "paper-bars.csv"
    assert len(lines(content)) == 1 + samples.KINDS["bars"][1].height


def test_small_cells_are_hidden_on_the_page_and_in_downloads(visit):
    text = rendered("hidden")
    assert "Counts of fewer than 15 rows are hidden" in text
    page = visit("hidden")
    draw(page)
    groups = page.locator(f"#{GENDER}-groups-table")
    assert "rests on fewer rows than this report shows" in groups.inner_text()
    table = lines(downloaded(page, groups.locator(".after > button", has_text="CSV"))[1])
    hidden = next(line for line in table if "hidden" in line)
    assert hidden[1:4] == ["", "", ""]
    assert page.locator(f"#{BOTH}-classes-table button.rows-of").count() == 0, (
        "cells of crossed groups are small"
    )
    row = page.locator(f"#{GENDER}-classes-table tbody tr", has_text="nurse").first
    row.locator("button.rows-of").click()
    assert "109" in page.locator("tr.drill").inner_text(), "cells of 9 and 100 are one here"
    assert not any(line[-1] == "9" for line in table)


def processed(work):
    """Seconds of work of a page's process."""
    return {each["name"]: each["value"] for each in work.send("Performance.getMetrics")["metrics"]}[
        "ProcessTime"
    ]


def test_ten_models_thousand_classes_and_23_groups_stay_usable(browser, tmp_path):
    content = samples.ten_models()
    start = time.process_time()
    text = render_html(content)
    assert time.process_time() - start < 10
    assert len(text.encode()) < 10_000_000
    path = tmp_path / "ten.html"
    path.write_text(text, encoding="utf-8")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    work = page.context.new_cdp_session(page)
    work.send("Performance.enable")
    before = processed(work)
    page.goto(path.as_uri())
    unfold(page)
    page.locator("#by-model-3-origin-classes-table").scroll_into_view_if_needed()
    playwright.expect(page.locator("#by-model-3-origin-classes-table tbody tr")).to_have_count(25)
    page.fill("#filters [name=part]", "class 77")
    playwright.expect(page.locator("#by-model-3-origin-classes-table tbody tr")).to_have_count(11)
    assert 0 < processed(work) - before < 10
    assert page.locator("[data-chart][data-drawn]").count() < 10, "charts far away are not drawn"
    assert heard == []
    page.close()
