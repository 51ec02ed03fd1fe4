"""The first screen of rows in clusters, and of tables of many groups."""

from __future__ import annotations

import re

import pytest

import evenhand as eh
from evenhand.display.overview.brief import run_lines
from evenhand.display.text.formatting import unbroken
from evenhand.report.content import ReportInput
from evenhand.report.page.html import render_html
from evenhand.report.suppression.details import shown_details, without_few_units
from evenhand.workflows.outputs.evidence_rows import evidence_of
from tests.display.test_overview_clusters import audited as audited_photos
from tests.display.test_overview_rates import worse_everywhere
from tests.report.first_screens import audited, tickets
from tests.report.test_first_screen import opening_of


def page_of(run, **more):
    return render_html(ReportInput(run.findings, run.manifest, evidence=evidence_of(run)), **more)


@pytest.fixture(scope="module")
def run():
    return audited_photos()


@pytest.fixture(scope="module")
def opening(run):
    return opening_of(page_of(run))


def test_the_picture_has_intervals_bands_and_a_key(opening):
    picture = opening[opening.index('id="picture"') :].partition("</figure>")[0]
    rows = picture.split('class="mark-row')[1:-1]
    assert len(rows) == 3
    for row in rows:
        assert '<rect class="chance"' in row
        assert '<line class="span"' in row
    assert "chance alone: groups shuffled by patient within the class" in picture
    assert "beyond chance</span>" in picture
    assert "95\u00a0% interval</span>" in picture


def test_the_status_line_says_how_many_patients_and_how_sure_what_is_counted(opening):
    assert "880 of 880 photos of 110 patients</span>" in opening
    assert ", counted by patient." in opening


@pytest.mark.parametrize("fewest", [10, 60, 120])
def test_hidden_cells_hide_shares_and_few_units(run, fewest):
    """Sites are of 160 or 120 photos; in a cell of mistakes are 15 to 72."""
    page = page_of(run, suppress=fewest)
    shares = [part for part in run.finding("disparities").parts if part.kind == "share"]
    is_hidden = "The headline is hidden" in page
    assert is_hidden is (fewest > 10)
    for part in shares:
        numbers = [part.interval.low, part.interval.high, part.null.low, part.null.high]
        for number in numbers:
            assert (f"{100 * number:.0f}\u00a0%" in opening_of(page)) is not is_hidden
            assert not is_hidden or f"{number:.6f}"[:8] not in page
    assert ("110 patients" in page) is (fewest == 10)


def test_a_small_number_of_units_is_hidden_where_its_finding_is_shown():
    details = {"units": 8.0, "tested": 3.0, "status": "found"}
    assert without_few_units(details, 10) == {"tested": 3.0, "status": "found"}
    assert without_few_units(details, 8) == details
    assert shown_details({"units": 8.0}, 10) == {"units": "hidden"}


def test_no_line_breaks_before_a_per_cent_sign_or_a_limit(run, opening):
    sentence = "p = 0.041, corrected: near the limit of .05. It is 46 % or 0.4 %, of 50."
    assert unbroken(sentence) == (
        "p = 0.041, corrected: near the limit of\u00a0.05. It is 46\u00a0% or 0.4\u00a0%, of 50."
    )
    assert not re.search(r"\d %", opening)
    page = page_of(run)
    assert not re.search(r"\d %", page[page.index('id="groups"') :].partition('id="numbers"')[0])
    assert re.search(r"\d %", " ".join(run_lines(run.overview, "r"))), "texts stay as they are"
    assert "\u00a0" not in run.findings.dump().decode()
    assert not re.search(
        r"\d %", re.sub(r"<style>.*?</style>", "", run._repr_html_(), flags=re.S).partition("<details")[0]
    )


def test_mistakes_beyond_chance_stand_beside_the_class():
    page = page_of(audited(tickets(offices={f"office {place:02d}": 100 for place in range(13)})))
    table = page[page.index('class="class-table"') :].partition("</table>")[0]
    heads = re.findall(r'<th scope="col">(.*?)</th>', table)
    assert heads[:2] == ["True class", "Mistakes beyond chance"]
    assert len(heads) == 15
    for row in table.split("<tr")[2:]:
        cells = re.findall(r'<t[hd][^>]* ?(?:class="([^"]*)")?[^>]*>', row)
        assert len(cells) == 15
    assert table.index("office 00: 33 of 100 called") < table.index('<td class="wrong-share')


def test_a_worse_group_is_said_on_the_first_screen_beside_another_ones_mistake():
    page = opening_of(page_of(eh.audit(worse_everywhere(40), truth="t", prediction="p", by="g")))
    also = page[page.index('class="others also"') :].partition("</ul>")[0]
    assert "x: 320 of 480 rows are right (67\u00a0%); elsewhere 840 of 960 (88\u00a0%)." in also
    assert "come from its mix of classes." in also
