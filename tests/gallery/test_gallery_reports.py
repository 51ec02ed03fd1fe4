"""Reports of the demo's runs show the tables and figures that each run fills, in a browser, offline."""

from __future__ import annotations

import json

import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.catalogue import ARTIFACTS, BENCHMARKS
from evenhand.workflows.outputs.result import Run
from tests.gallery import demo
from tests.gallery.demo import linked
from tests.report.browsing import (
    UNFINISHED,
    assert_seen_at_once,
    browser,
    draw,
    needs_chromium,
    unfold,
    violations,
    visiting,
)

__all__ = ["browser"]
pytestmark = [pytest.mark.nightly, needs_chromium]

MISTAKES = {*(f"skewsize/table{n}" for n in (3, 4, 7)), *(f"skewsize/figure{n}" for n in range(1, 7))}
PLANTED = {f"skewsize/table{n}" for n in (1, 2, 5)}
CARDS = {f"indicators/table{n}" for n in (1, 2, 3)}
RESOLUTION = {
    *(f"visogender/table{n}" for n in (1, 2, 4, 6, 7, 8, 9, 10)),
    *(f"visogender/figure{n}" for n in (2, 3, 4, 5, 6, 8, 9, 10, 12, 13)),
}
RETRIEVAL = {
    *(f"visogender/table{n}" for n in (1, 3, 5, 6, 7, 9, 10)),
    *(f"visogender/figure{n}" for n in (7, 11, 13)),
}
FILLED = {
    "sprites-heart": MISTAKES | PLANTED,
    "occupations-even": MISTAKES | {"skewsize/table6"},
    **{
        f"{study}-uneven": MISTAKES
        for study in ("sports", "backgrounds", "domainnet", "waterbirds", "celeba")
    },
    "own-uneven": MISTAKES,
    "label_association-ssl-small": CARDS
    | {"indicators/table4"}
    | {f"indicators/figure{n}" for n in (2, 3, 8, 9, 10, 11)},
    "retrieval-ssl-small": CARDS | {"indicators/table4"} | {f"indicators/figure{n}" for n in (2, 6, 7, 13)},
    "geography-ssl-small": CARDS | {"indicators/table5"} | {f"indicators/figure{n}" for n in (2, 4, 12)},
    "resolution-clip-a": RESOLUTION,
    "retrieval-clip-a": RETRIEVAL,
    "association": {
        f"mmbias/{name}" for name in ("table1", "table2", "figure2", "figure3", "figure4", "figure5")
    },
    "matching": {f"mmbias/{name}" for name in ("table1", "table2", "figure2", "figure3")},
    "debias": {"mmbias/table3", "mmbias/tradeoff"},
    "audit": MISTAKES,
    "compared-studies": MISTAKES,
    "compared-indicators": {f"indicators/figure{n}" for n in (2, 4, 5, 12)},
}
"""What each run fills; all else is listed with the reason."""


UNLIKE = sorted({frozenset(filled): name for name, filled in FILLED.items()}.values())
"""One run for each set of tables and figures: runs that fill the same look the same."""


@pytest.fixture(scope="module")
def runs(demo_folder, tmp_path_factory):
    """Links to the demo's runs, with an audit of a table and two comparisons."""
    made = linked(demo_folder, tmp_path_factory.mktemp("runs"))
    counts = Run.read(made / "celeba-uneven").counts["predictions"]
    eh.audit(counts, by=list(counts.attributes), out=made / "audit")
    eh.compare([made / "sports-even", made / "sports-uneven"], out=made / "compared-studies")
    places = [made / f"geography-{name}" for name in ("ssl-small", "labels-small")]
    eh.compare(places, out=made / "compared-indicators")
    return made


def test_every_benchmark_is_among_them(runs):
    benchmarks = {Run.read(runs / name).manifest["benchmark"] for name in FILLED}
    assert demo.benchmarks(BENCHMARKS.names()) <= benchmarks


@pytest.mark.parametrize("name", FILLED)
def test_what_a_run_cannot_fill_is_listed_with_the_reason(runs, name):
    lines = Run.read(runs / name).tables["artifacts"]
    filled = lines.filter(pl.col("reason").is_null())
    assert set(filled["artifact"]) == FILLED[name]
    family = {
        other for other in ARTIFACTS.names() if other.split("/")[0] in {n.split("/")[0] for n in FILLED[name]}
    }
    assert set(lines["artifact"]) == family
    assert all("\n" not in why and str(runs) not in why for why in lines["reason"].drop_nulls())


@pytest.fixture(scope="module", params=UNLIKE)
def opened(request, runs, browser):
    """The report of a run, opened once, and which run it is; it complains of nothing and asks for nothing."""
    with visiting(browser, lambda name: (runs / name / "report.html").as_uri()) as go:
        yield request.param, go(request.param)


def test_its_first_screen_holds_headline_picture_sureness_and_caveat(opened):
    assert_seen_at_once(opened[1])
    opened[1].set_viewport_size({"width": 1400, "height": 900})
    assert opened[1].evaluate("document.documentElement.scrollHeight") <= 4500


def test_its_report_shows_them_drawn(runs, opened):
    name, page = opened
    page.set_viewport_size({"width": 1400, "height": 900})
    for one in FILLED[name]:
        section = page.locator(f"#artifact-{one.replace('/', '-')}")
        assert section.locator("table, [data-figure]").count(), one
    draw(page)
    assert page.locator(UNFINISHED).count() == 0
    drawn = page.locator("[data-figure] svg")
    assert drawn.count() == page.locator("[data-figure]").count()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400
    listed = page.locator("#artifacts-missing li")
    assert listed.count() == len(Run.read(runs / name).tables["artifacts"]) - len(FILLED[name])
    page.evaluate("document.querySelectorAll('details').forEach((drawer) => { drawer.open = true; })")
    assert violations(page, inside="#artifacts") == []  # colours: test_report_access


def test_the_papers_rows_stand_apart_in_reports_of_ones_own_data(runs, browser):
    page = browser.new_page()
    page.goto((runs / "own-uneven" / "report.html").as_uri())
    unfold(page)
    section = page.locator("#artifact-skewsize-table4")
    assert (
        section.locator("h3")
        .inner_text()
        .startswith("SkewSize of each model and benchmark: this run’s own data")
    )
    assert "BLIP2" not in section.locator("> .wide").first.inner_text()
    section.locator("summary", has_text="What the paper prints of its own data").click()
    assert "BLIP2" in section.locator("details", has_text="What the paper prints").inner_text()
    page.close()


def test_the_file_of_a_table_holds_all_digits(runs, browser, tmp_path):
    page = browser.new_page()
    page.goto((runs / "own-uneven" / "report.html").as_uri())
    unfold(page)
    with page.expect_download() as waited:
        page.locator("#artifact-skewsize-table3 button", has_text="CSV").first.click()
    waited.value.save_as(tmp_path / "table3.csv")
    kept = Run.read(runs / "own-uneven").tables["skewsize-table3"]
    written = pl.read_csv(tmp_path / "table3.csv")
    assert written.columns == kept.columns
    assert written["effect_size"].to_list() == kept["effect_size"].to_list()
    assert written["class"].to_list() == kept["class"].to_list()
    page.close()


def test_a_comparison_without_its_runs_says_so(runs, tmp_path):
    made = eh.compare([runs / "sports-even", runs / "sports-uneven"])
    manifest = json.loads(json.dumps(made.manifest))
    for entry in manifest["runs"]:
        entry["folder"] = str(tmp_path / "gone")
    moved = Run(made.findings, manifest, made.counts, made.tables)
    lines = moved.all_tables["artifacts"]
    assert lines["table"].null_count() == len(lines) == 13
    assert all("the runs compared cannot be read" in why for why in lines["reason"])
