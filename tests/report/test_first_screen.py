"""The first screen of a report: the headline, its picture, and no number that findings do not hold."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import polars as pl
import pytest

import evenhand as eh
from evenhand.display.overview.content import Chart, Mark
from evenhand.report.content import ReportInput
from evenhand.report.insight.drawing import MOST_ROWS, draw
from evenhand.report.page.html import render_html
from evenhand.report.suppression.suppress import suppressed
from evenhand.workflows.outputs.evidence_rows import evidence_of
from tests.report.first_screens import audited, tickets
from tests.report.printed_media import checked

NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


@pytest.fixture(scope="module")
def run():
    return audited(tickets())


@pytest.fixture(scope="module")
def content(run):
    return ReportInput(run.findings, run.manifest, evidence=evidence_of(run))


def words_of(html):
    """A piece of a page as text, without the axis."""
    plain = re.sub(r'</?em>|<div class="mark-row ticks".*?</div>', "", html, flags=re.S)
    labels = " ".join(re.findall(r'aria-label="([^"]*)"', plain))
    return " ".join(f"{re.sub('<[^>]+>', ' ', plain)} {labels}".split())


def opening_of(page):
    return page[page.index('id="finding"') - 40 : page.index('<section id="groups"')]


def numbers_of(findings):
    """Every number that the first lines may write, from findings as they are in the file."""
    finding = next(one for one in findings["findings"] if one["name"] == "disparities")
    numbers = {95, 0.05, len(finding["groups"]), finding["n"], finding["details"]["tested"], finding["value"]}
    for part in finding["parts"]:
        interval, null, details = part["interval"], part["null"], part["details"]
        numbers |= {part["n"], *(details[key] for key in ("a", "n", "b", "m") if key in details)}
        rates = [details.get("rate"), details.get("others"), part["value"]]
        rates += [interval["low"], interval["high"]] if interval else []
        rates += [null["low"], null["high"]] if null else []
        numbers |= {abs(rate) for rate in rates if rate is not None}
        numbers |= {round(100 * abs(rate)) for rate in rates if rate is not None}
        numbers |= {round(end * part["n"]) for end in (null["low"], null["high"])} if null else set()
        numbers |= (
            {round(details["excess"]), int(details["certain"] + 1e-9)} if "excess" in details else set()
        )
        numbers |= {round(part["p_adjusted"], 3), 0.001} if part["p_adjusted"] is not None else set()
        numbers |= {round(100 * abs(rate), 1) for rate in rates if rate is not None and 0 < abs(rate) < 0.01}
    return {float(number) for number in numbers}


def test_every_number_of_the_first_screen_is_in_the_findings(run, content):
    findings = json.loads(run.findings.dump())
    text = words_of(opening_of(render_html(content)))
    assert "Lagos: 33 of 100 account_locked tickets are called fraud_report; elsewhere" in text
    written = [float(number.replace(",", "")) for number in NUMBER.findall(text)]
    assert len(written) > 30
    assert [number for number in written if number not in numbers_of(findings)] == []


def test_the_headline_is_one_and_its_group_is_in_its_colour(content):
    page = render_html(content)
    assert page.count("<h1") == 1
    assert '<h1 id="headline"><em>Lagos</em>: 33 of 100' in page
    assert page.count('<div class="mark-row named">') == 1 + page.count("is right in")
    assert 'aria-label="Lagos: 33\u00a0%, 33 of 100; 95\u00a0% interval ' in page
    assert "which of them harm" in page
    assert "whether they harm is a question of context" in opening_of(page)


def test_classes_by_groups_are_those_of_the_table(run, content):
    page = render_html(content)
    rows = tickets().filter(pl.col("true_intent") != pl.col("model_intent"))
    for truth, office, n in rows.group_by("true_intent", "office").len().iter_rows():
        size = tickets().filter((pl.col("true_intent") == truth) & (pl.col("office") == office)).height
        assert f"<small>{n} of {size}</small>" in page
    framed = re.findall(r'<td class="wrong-share framed">(.*?)</td>', page)
    listed = [part for part in run.finding("disparities").parts if part.kind == "mistake"]
    assert len(framed) == len({tuple(part.key[:2]) for part in listed}) > 0
    assert "Lagos: 33 of 100 called “fraud_report”; elsewhere" in page
    assert page.count('<tr class="quiet">') == 2


def test_why_a_group_is_right_less_often_is_said(content):
    page = render_html(content)
    reasons = re.findall(r'<p class="reason">(.*?)</p>', page)
    assert any(text.startswith("Lagos is right in ") and "called fraud_report" in text for text in reasons)


@pytest.mark.parametrize(
    ("language", "about", "advice"),
    [
        ("en", "often mean a missing value", "To leave them out, type:"),
        ("de", "oft einen fehlenden Wert bedeuten", "Um sie wegzulassen, geben Sie ein:"),
    ],
)
def test_what_a_check_tells_to_type_is_seen_unfolded(language, about, advice):
    early = pl.int_range(pl.len()) < 40
    run = audited(tickets().with_columns(office=pl.when(early).then(pl.lit("NA")).otherwise("office")))
    page = render_html(ReportInput(run.findings, run.manifest), language=language)
    check = re.search(rf"<li>(?:(?!</li>).)*{about}.*?</li>", page, flags=re.S)[0]
    assert check.endswith(f">{advice} <code>--missing NA</code></span></li>")
    assert check.count(advice.split(",")[0]) == 1


def test_mistakes_of_weighted_rows_are_not_called_none():
    weighted = tickets().with_columns(weight=pl.lit(2.0))
    shown = words_of(audited(weighted, weight="weight", metrics=["disparities"]).html())
    assert "mistakes of classes are not tested: rows have weights" in shown
    assert "no class has a mistake" not in shown


@pytest.mark.parametrize("fewest", [10, 40])
def test_hidden_cells_hide_the_headline_its_picture_and_its_rows(run, content, fewest):
    lines = [part for part in run.finding("disparities").parts if part.kind in ("mistake", "miss")]
    case_rows = {"1": tickets().head(3)}
    page = render_html(replace(content, cases=case_rows), suppress=fewest)
    shown = words_of(page)
    assert "The headline is hidden, because cells of few rows are." in shown
    assert shown.count(f"Counts of fewer than {fewest} rows are hidden") == 2
    assert shown.count("A rate that is shown says how many rows are right or wrong, however few.") == 2
    assert "no class has a mistake" not in shown, "hidden is not the same as none"
    assert 'id="picture"' not in page
    assert 'id="cases"' not in page
    assert "t00000" not in page
    for part in lines:
        a, n, b, m = (int(part.details[key]) for key in ("a", "n", "b", "m"))
        for secret in (f"{a} of {n}", f"{b} of {m}", f"{part.value:.5f}"):
            assert secret not in opening_of(page)
        if min(a, b) < fewest:
            assert f"{a} of {n}" not in shown or a >= fewest
            assert f"{b} of {m}" not in shown or b >= fewest
            assert f"{part.value:.5f}" not in page
    small = {
        (truth, office)
        for truth, office, answer, n in tickets()
        .group_by("true_intent", "office", "model_intent")
        .len()
        .iter_rows()
        if answer != truth and n < fewest
    }
    assert small
    cells = suppressed(content, fewest).evidence.get("office|predictions")
    assert (cells is None) is ('class="class-table"' not in page)
    if cells is not None:
        hidden = {(row["truth"], row["office"]) for row in cells.to_dicts() if row["n"] < 0}
        assert small <= hidden
        table = page[page.index('class="class-table"') :].partition("</table>")[0]
        assert table.count("<small>hidden</small>") == len(hidden)


def test_rows_behind_the_headline_are_shown_and_their_file_has_all(content):
    rows = (
        tickets().filter((pl.col("office") == "Lagos") & (pl.col("model_intent") == "fraud_report")).head(33)
    )
    page = render_html(replace(content, cases={"1": rows}))
    assert "The 33 tickets behind the headline" in page
    assert "6 of 33 shown" in page
    cases = page[page.index('<section id="cases"') : page.index('<section id="numbers"')]
    assert cases.count("<tr>") == 1 + 6
    assert rows["ticket_id"][5] in cases
    assert rows["ticket_id"][6] not in cases
    data = json.loads(page[page.index('id="run-data">') + 14 :].partition("</script>")[0])
    frame = data["frames"]["cases-0"]["columns"]["ticket_id"]
    assert [data["labels"][place] for place in frame] == rows["ticket_id"].to_list()
    assert '<a href="#cases">Read the 33 tickets</a>' in page


def test_of_many_classes_the_listed_and_ten_more_are_shown():
    run = audited(tickets(tuple(f"class {place:02d}" for place in range(30)), {"a": 40, "b": 40}, planted=30))
    page = render_html(ReportInput(run.findings, run.manifest, evidence=evidence_of(run)))
    table = page[
        page.index('class="class-table"') : page.index("</table>", page.index('class="class-table"'))
    ]
    assert table.count('<tr class="quiet">') == 10
    assert "All 30 classes, by group" in page


def test_a_run_without_headlines_says_what_its_findings_say():
    run = audited(tickets())
    others = [finding.model_copy(update={"role": "exploratory"}) for finding in run.findings]
    page = render_html(ReportInput(run.findings.model_copy(update={"findings": others}), run.manifest))
    assert '<h1 id="headline">Mistakes differ between groups beyond chance' in page
    assert "evenhand examined a table of predictions" in opening_of(page + '<section id="groups"')


def marks(values, **more):
    return tuple(Mark(f"g{place}", value, f"{place} of 99", **more) for place, value in enumerate(values))


def test_axes_of_shares_begin_at_zero_and_hold_every_end():
    drawing = draw(Chart("t", marks([0.2, 0.4], interval=(0.1, 0.52), null=(0.25, 0.3)), "chance"))
    assert drawing.ticks[0] == (3.0, "0 %")
    assert drawing.ticks[-1] == (97.0, "60 %")
    assert [row.is_beyond for row in drawing.rows] == [False, False]
    assert drawing.rows[1].at == pytest.approx(3 + 94 * 0.4 / 0.6, abs=0.01)
    cut = draw(Chart("t", marks([0.9, 0.92], null=(0.89, 0.93)), "chance"), cut=True, decimals=1)
    assert cut.ticks[0] == (3.0, "89 %")
    assert [row.is_beyond for row in cut.rows] == [False, False]
    assert cut.rows[0].value == "90.0 %"


def test_negative_and_equal_values_have_an_axis_too():
    drawing = draw(Chart("t", marks([-1.2, 0.4]), unit="number", fair=0.0))
    assert 0 < drawing.fair < 100
    assert drawing.ticks[0][1].startswith("−")
    assert draw(Chart("t", marks([0.0, 0.0]))).rows[0].at == 3


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("ends", [(0.1, 0.5), (0.0, 1.0), (0.25, 0.3)])
def test_nothing_stands_at_an_end_of_an_axis(ends, cut):
    drawing = draw(Chart("t", marks(ends, interval=ends)), cut=cut)
    places = [place for row in drawing.rows for place in (row.at, *row.interval)]
    assert 2 < min(places) < max(places) < 98


def test_more_rows_than_ten_are_folded_but_not_the_named_one():
    many = [*marks([0.1] * 14), Mark("named", 0.3, "3 of 9", named=True)]
    drawing = draw(Chart("t", tuple(many)))
    assert len(drawing.rows) == MOST_ROWS
    assert [row.label for row in drawing.rows][-1] == "named"
    assert len(drawing.folded) == 5
    assert drawing.rows[-1].value == "", "a share of nine rows would say more than they do"


def test_empty_groups_and_classes_are_said_on_the_page_and_stay_empty_in_findings():
    frame = tickets().with_columns(
        pl.col("office", "true_intent", "model_intent").replace({"Lagos": "", "refund": ""})
    )
    run = audited(frame)
    assert run.overview.title.startswith("(empty): ")
    page = run.html()
    assert '<th scope="col"><bdi>(empty)</bdi></th>' in page
    assert re.search(r'<th scope="row">\s*<bdi>\(empty\)</bdi>', page)
    assert not re.search(r"<bdi[^>]*>\s*</bdi>", page)
    assert "(leer): 33 von 100" in run.html(language="de")
    assert [group.key for group in run.finding("accuracy").groups] == ["", "Munich", "Osaka"]


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.01])
def test_a_p_is_near_the_limit_of_the_level_that_was_asked_for(alpha):
    """Not near .05 where the run tests at .2; beside a mistake that nobody doubts."""
    seen = set()
    for wrong in range(18, 34):
        rows = [("a", "cup", "dog", wrong), ("b", "cup", "dog", 10), ("b", "dog", "kite", 100)]
        rows += [("a", "cup", "cup", 200 - wrong), ("b", "cup", "cup", 190), ("a", "dog", "dog", 200)]
        frame = pl.DataFrame(rows, schema=["group", "truth", "answer", "n"], orient="row")
        frame = frame.select(pl.exclude("n").repeat_by("n")).explode(pl.all())
        run = eh.audit(frame, truth="truth", prediction="answer", by="group", alpha=alpha)
        for line in run.overview.beyond:
            p = float(re.search(r"p (?:= |<)(\d\.\d+)", line.certainty)[1])
            is_near = 0.6 * alpha < p <= alpha
            assert (f"near the limit of {alpha:g}" in line.certainty) is is_near, line.certainty
            assert ("near the limit" in line.certainty) is is_near
            seen.add(is_near)
        assert checked(run) == []  # nor is p said of a class whose interval holds what chance gives
    assert seen == {True, False}
