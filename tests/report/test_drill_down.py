"""From findings to parts to rows in reports of every kind: the rows under a part are those that it counts."""

from __future__ import annotations

import re

import polars as pl
import pytest

import evenhand as eh
from evenhand.workflows.outputs.result import Run
from tests.gallery.demo import linked
from tests.report.browsing import browser, needs_chromium

__all__ = ["browser"]
pytestmark = [needs_chromium, pytest.mark.nightly]

WHOLE = [
    "sprites-heart",
    "own-uneven",
    "occupations-uneven",
    "resolution-clip-a",
    "retrieval-clip-a",
    "association",
    "matching",
    "debias",
    "label_association-labels-large",
    "geography-labels-large",
    "retrieval-labels-large",
]
"""Runs whose reports hold every row that a part rests on."""

LOOKED_AT = {
    "one person × masculine",
    "k=5 × accountant",
    "heart",
    "muslim × muslim/5",
    "muslim × sad",
    "muslim – christian, before minus after × muslim",
    "female",
    "low × Africa",
}
"""Labels of parts whose rows are compared with the data, cell by cell."""

OPENED = """(wanted) => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  window.dispatchEvent(new Event("beforeprint"));
  const all = (host) => [...host.querySelectorAll("button.more")]
    .filter((one) => one.textContent.startsWith("Show all")).forEach((one) => one.click());
  const found = [];
  for (const host of document.querySelectorAll(":is(section.chapter, section.pieces) [data-table]")) {
    all(host);
    let opened = 0;
    for (const line of host.querySelectorAll("tbody > tr")) {
      const label = line.querySelector("th bdi").textContent;
      const evidence = [];
      const offered = line.querySelector("button.rows-of");
      const looked = wanted.some((each) => label.endsWith(each));
      const button = looked || opened++ < 10 ? offered : null;
      button?.click();
      for (const one of button ? line.nextElementSibling.querySelectorAll(".evidence") : []) {
        const titles = [...one.querySelectorAll("thead th")].map((head) => head.textContent.trim());
        if (titles.includes("n") || looked) all(one);
        evidence.push({
          titles,
          note: one.querySelector(".note").textContent,
          rows: [...one.querySelectorAll("table > tbody > tr")]
            .map((row) => [...row.children].map((cell) => cell.textContent)),
          status: one.querySelector(".status")?.textContent ?? "0 of 0 rows shown",
        });
      }
      button?.click();
      found.push({ table: host.dataset.table, label, evidence, offered: offered !== null });
    }
  }
  return found;
}"""


@pytest.fixture(scope="module")
def runs(demo_folder, tmp_path_factory):
    """Links to the demo's runs: those of every kind, with real questions, answers and findings."""
    return linked(demo_folder, tmp_path_factory.mktemp("drilled"))


@pytest.fixture(scope="module")
def opened(runs, browser, tmp_path_factory):
    """What a reader sees who opens every part of a report, by run; no error, no request."""
    pages = tmp_path_factory.mktemp("pages")
    read = {}

    def go(name):
        if name not in read:
            path = pages / f"{name}.html"
            path.write_text(Run.read(runs / name).html(), encoding="utf-8")
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            heard = []
            page.on("console", lambda message: heard.append(message.text))
            page.on("pageerror", lambda error: heard.append(str(error)))
            page.on("request", lambda asked: heard.append(asked.url))
            page.goto(path.as_uri())
            read[name] = page.evaluate(OPENED, sorted(LOOKED_AT))
            page.close()
            assert heard == [path.as_uri()]
        return read[name]

    return go


def held(evidence):
    """How many rows a piece of evidence stands for."""
    if "n" not in evidence["titles"]:
        return float(re.match(r".* of ([\d,]+) rows", evidence["status"])[1].replace(",", ""))
    place = evidence["titles"].index("n")
    return sum(float(row[place].replace(",", "")) for row in evidence["rows"])


@pytest.mark.parametrize("name", WHOLE)
def test_every_part_opens_to_as_many_rows_as_it_counts(opened, runs, name):
    parts = opened(name)
    counted = sum(len(finding.parts) for finding in Run.read(runs / name).findings.findings)
    assert len(parts) == counted
    for part in parts:
        assert part["offered"], part["label"]
        for evidence in part["evidence"]:
            told = re.match(r"The ([\d,]+) rows that it rests on", evidence["note"])
            assert told, (part["table"], part["label"], evidence["note"])
            assert held(evidence) == float(told[1].replace(",", ""))


def samples(opened, name, label, *titles):
    """First column of the evidence of the first part of this label; further columns with it."""
    part = next(one for one in opened(name) if one["label"] == label)
    evidence = part["evidence"][0]
    places = [0, *(evidence["titles"].index(title) for title in titles)]
    return sorted(tuple(row[place] for place in places) for row in evidence["rows"])


def test_persons_of_one_setting_are_those_of_that_setting(opened, runs):
    annotations = Run.read(runs / "resolution-clip-a").annotations
    alone = annotations.filter(context="single", occupation_perceived_gender="masculine")
    shown = samples(opened, "resolution-clip-a", "one person × masculine")
    assert shown == sorted((sample,) for sample in alone["sample"])


def test_rankings_hold_the_pool_of_their_occupation(opened, runs):
    rankings = Run.read(runs / "retrieval-clip-a").tables["rankings"]
    pool = rankings.filter(query="accountant", context="single", template="occ_first")
    part = next(one for one in opened("retrieval-clip-a") if one["label"] == "k=5 × accountant")
    evidence = part["evidence"][0]
    shown = [row[evidence["titles"].index("sample")] for row in evidence["rows"]]
    assert shown == pool.sort("rank")["sample"].to_list()


def test_classes_that_were_answered_open_to_what_was_answered(opened, runs):
    counts = Run.read(runs / "sprites-heart").counts["predictions"].table()
    parts = [one for one in opened("sprites-heart") if one["label"] == "heart"]
    answered = [one for one in parts if one["evidence"][0]["rows"][0][2] == "heart"]
    by_answer = [one for one in answered if {row[2] for row in one["evidence"][0]["rows"]} == {"heart"}]
    assert len(by_answer) == 1
    assert held(by_answer[0]["evidence"][0]) == counts.filter(prediction="heart")["n"].sum()


def test_words_and_items_open_to_the_pairs_of_them(opened):
    of_item = samples(opened, "association", "muslim × muslim/5", "word", "side")
    assert len(of_item) == 22
    assert {item for item, _, _ in of_item} == {"muslim/5"}
    assert {side for _, _, side in of_item} == {"pleasant", "unpleasant"}
    word = samples(opened, "association", "muslim × sad", "word")
    assert word == [(f"muslim/{number}", "sad") for number in range(1, 9)]


def test_halves_of_a_mitigation_hold_their_own_items(opened, runs):
    halves = Run.read(runs / "debias").tables["halves"]
    held_out = halves.filter(pl.col("sets").list.contains("muslim"), half="held_out")
    part = next(
        one
        for one in opened("debias")
        if "held-out" in one["table"] and one["label"] == "muslim – christian, before minus after × muslim"
    )
    assert sorted(row[0] for row in part["evidence"][0]["rows"]) == sorted(held_out["sample"])


def test_neighbours_are_counted_within_the_k_of_their_finding(opened, runs):
    run = Run.read(runs / "retrieval-labels-large")
    finding = next(one for one in run.findings.findings if one.params.get("k") == 10 and one.by == ["gender"])
    alike = samples(opened, "retrieval-labels-large", "female", "alike")
    mean = sum(float(count) for _, count in alike) / len(alike) / 10
    assert mean == pytest.approx(finding.part("female").value, abs=1e-9)


def test_homes_of_two_crossed_groups_are_those_homes(opened, runs):
    hits = Run.read(runs / "geography-labels-large").tables["hits"]
    mine = hits.filter(income_bucket="low", region="Africa")
    assert samples(opened, "geography-labels-large", "low × Africa") == sorted(
        (sample,) for sample in mine["sample"]
    )


def test_differences_open_to_the_answers_that_changed(opened, runs):
    both = [runs / "own-even", runs / "own-uneven"]
    eh.compare(both, out=runs / "compared")
    changed = (
        Run.read(runs / "compared")
        .counts["predictions-2-1"]
        .table()
        .filter(pl.col("prediction") != pl.col("prediction_b"))
    )
    parts = [one for one in opened("compared") if one["evidence"]]
    for truth in ("cat", "dog"):
        mine = [one for one in parts if one["label"].endswith(truth)]
        assert mine
        for part in mine:
            assert held(part["evidence"][0]) == changed.filter(truth=truth)["n"].sum()
            assert "answer differently" in part["evidence"][0]["note"]


def test_a_table_without_some_predictions_and_groups_opens_to_what_was_counted(opened, runs):
    frame = pl.DataFrame(
        {
            "truth": ["cat", "dog", "cat", "dog"] * 30,
            "said": ["cat", "cat", None, "dog", "dog"] * 24,
            "group": ["a", "b", "b", None, "a", "b"] * 20,
        }
    )
    preds = eh.Predictions.from_frame(frame, truth="truth", prediction="said")
    eh.audit(preds, by="group", out=runs / "gaps", mev=2)
    for part in opened("gaps"):
        assert part["evidence"][0]["note"].startswith("The "), part
