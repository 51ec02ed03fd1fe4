"""The report of a comparison: plain words first, what changed most, and what must stay hidden."""

import json
import re

import polars as pl
import pytest

from evenhand.core.findings import Finding, Interval
from evenhand.metrics.catalogue import card_of
from evenhand.report.chapters import in_chapters
from evenhand.report.comparison import sentences as change_words
from evenhand.report.comparison.changes import changed
from evenhand.report.content import ReportInput
from evenhand.report.page.html import render_html
from evenhand.report.views.frames import PageData
from tests.report.compared_samples import three_hostile_models, two_models
from tests.report.report_samples import HOSTILE


def data_of(html):
    return json.loads(re.search(r'id="run-data">(.*?)</script>', html, re.S).group(1))


def plain(html):
    body = html[html.index("<main>") : html.index("</main>")]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return two_models(tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="module")
def page(two):
    return two.html()


def test_the_first_screen_begins_with_the_headline(page, two):
    start = plain(page)
    start = start[: start.index("Every finding of this run")]
    assert two.overview.title in start
    assert all(headline.text in start for headline in two.overview.beyond[:3])


def test_sentences_say_who_is_better_on_how_many_samples(page):
    words = plain(page)
    start = words[words.index("What was asked, what each grouping says") :]
    assert "“before of t.parquet” and “after of t.parquet”, on 1,200 samples that both answered" in start
    assert "“after of t.parquet” is right more often" in start
    assert re.search(
        r"is right more often than “before of t.parquet”, by \d+\.\d points \(.*?\), more than noise", start
    )
    assert "no more than noise; “after of t.parquet” minus “before of t.parquet” is" in start
    assert "pair beyond chance" not in words


def test_sections_come_in_reading_order(page):
    places = [
        page.index(f'id="{name}"') for name in ("headline", "changes", "comparison", "findings", "summary")
    ]
    assert places == sorted(places)
    assert '<a href="#changes">' in page


def test_what_changed_most_is_told_and_drawn(page):
    words, data = plain(page), data_of(page)
    assert re.search(
        r"Accuracy by class: 1 of 6 classes changed more than noise; surest “c1”: “after of t.parquet”", words
    )
    frame = data["frames"]["changes-by-group"]
    first = data["labels"][frame["columns"]["label"][0]]
    assert first == "c1"
    assert frame["columns"]["beyond"][0] == 1
    for chart in ("change", "both"):
        assert data["charts"][f"changes-by-group-{chart}"]["frame"] == "changes-by-group"
    titles = [column["title"] for column in data["tables"]["changes-by-group"]["columns"]]
    assert titles[:6] == [
        "part", "first minus second", "without noise", "interval", "its level", "null band",
    ]  # fmt: skip
    assert "first model" not in titles, "one pair needs no column for it"


def test_every_change_is_on_the_page_as_in_the_run(two, page):
    frame = data_of(page)["frames"]["changes-by-group"]["columns"]
    table = two.tables["changes"]
    assert len(frame["value"]) == table.height == 2 * 6 + 2
    assert sorted(frame["value"]) == sorted(table["value"])
    assert sorted(frame["n_gained"], key=str) == sorted(table["n_gained"].to_list(), key=str)


def test_parts_of_a_difference_rest_on_other_answers_of_their_pair(page):
    evidence = data_of(page)["evidence"]["by-group"]
    assert [one["frame"] for one in evidence] == ["answers-by-group"]
    accuracy = next(key for key in evidence[0]["when"] if key.startswith("accuracy_difference"))
    rows = evidence[0]["when"][accuracy][0]["rows"]
    assert rows == {"model": ["after of t.parquet"], "reference": ["before of t.parquet"]}


def test_few_flips_are_not_told_by_anything(two):
    table = two.tables["changes"].filter(measure="accuracy")
    few = int(table["n_lost"].min()) + 1
    assert few > 1
    data = PageData()
    changed(in_chapters(two.findings.findings), {"changes": table}, data, alpha=0.05, fewest=few)
    columns = data.frames["changes-by-group"]["columns"]
    lost = dict(table.select("key", "n_lost").iter_rows())
    names = [data.labels[place] for place in columns["label"]]
    hidden = [place for place, name in enumerate(names) if lost[name] < few]
    assert hidden
    for place in hidden:
        assert {columns[key][place] for key in ("low", "null_high", "p", "p_adjusted", "n_gained")} == {None}
        assert columns["value"][place] is not None
    assert all(columns["p"][place] is not None for place in range(len(names)) if place not in hidden)
    for page in (two.html(suppress=few), two.html(suppress=1000)):
        assert "flips-by-group" not in data_of(page)["frames"]
        assert "answers-by-group" not in data_of(page)["frames"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return three_hostile_models(tmp_path_factory.mktemp("hostile")).html()


def test_hostile_names_stay_text(hostile):
    assert "<script>alert" not in hostile
    assert "</script><img" not in hostile
    assert "{{7*7}}" in plain(hostile)
    data = data_of(hostile)
    assert set(HOSTILE[:3]) <= set(data["labels"])


def test_pairs_can_be_chosen_and_are_told_apart(hostile):
    options = re.findall(r'<option value="(\d*)">([^<]*)', hostile[hostile.index('name="pair"') :])[:4]
    assert [value for value, _ in options] == ["", "0", "1", "2"]
    assert len({text for _, text in options}) == 4
    frame = data_of(hostile)["frames"]["changes-by-group"]["columns"]
    assert set(frame["pair"]) == {0, 1, 2}


def test_other_runs_have_no_section_of_changes(two):
    html = render_html(ReportInput(two.findings, {**two.manifest, "kind": "audit"}, {}))
    assert 'id="changes"' not in html


def difference(name, value, p, low=None, high=None, **changed):
    given = {
        "metric": name, "name": f"{name}_difference", "params": {"model": "A", "reference": "B"},
        "model": "A", "reference": "B", "by": ["group"], "value": value, "p_adjusted": p, "n": 100,
        "direction": "descriptive", "fair_at": 0.0, "source": {"paper": "x"},
        "interval": None if low is None else Interval(low=low, high=high, method="x"),
    }  # fmt: skip
    return Finding(**{**given, **changed}).with_card(card_of(f"{name}_difference"))


def test_one_pair_in_one_line():
    better = difference("accuracy", -0.031, 0.001, -0.042, -0.02)
    gap = difference("accuracy_gap", 0.02, 0.01)
    assert change_words.of_one_pair([better, difference("accuracy_gap", 0.01, 0.6)], 0.05) == (
        "“B” is right more often: more than noise. No measure of fairness differs by more than noise."
    )
    assert change_words.of_one_pair([better, gap], 0.05) == (
        "“B” is right more often and is fairer by accuracy gap: more than noise."
    )
    assert change_words.of_one_pair([better, difference("accuracy_gap", -0.02, 0.01)], 0.05) == (
        "“B” is right more often; “A” is fairer by accuracy gap: more than noise."
    )
    assert change_words.of_one_pair([difference("accuracy", 0.0, 1.0)], 0.05).startswith(
        "No difference between “A” and “B” is more than noise."
    )


def test_a_better_worst_group_is_no_fairness():
    better, gap = difference("accuracy", 0.03, 0.001), difference("accuracy_gap", -0.001, 0.95)
    worst = difference("worst_group_accuracy", 0.03, 0.01)
    assert change_words.of_one_pair([better, worst, gap], 0.05) == (
        "“A” is right more often, also in its worst group: more than noise. No measure of "
        "fairness differs by more than noise."
    )
    assert change_words.of_one_pair([worst, gap], 0.05).startswith(
        "“A” is right more often in its worst group: more than noise."
    )
    fairer = difference("cramers_v_mean", -0.1, 0.01)
    assert change_words.of_one_pair([better, worst, fairer], 0.05) == (
        "“A” is right more often, also in its worst group, and is fairer by mean effect size: more than "
        "noise."
    )


def test_models_that_win_alike_are_all_named():
    def of(model, reference, value, p):
        params = {"model": model, "reference": reference}
        return difference("accuracy", value, p, model=model, reference=reference, params=params)

    tied = [of("A", "B", 0.1, 0.01), of("C", "B", 0.1, 0.01), of("A", "C", 0.0, 0.9)]
    assert change_words.of_many(tied, 0.05) == [
        "Accuracy: “A” and “C” each do better than 1 other, no model than more; 2 of 3 pairs differ by more "
        "than noise."
    ]
    against = [of("K1", "K0", 0.1, 0.01), of("K2", "K0", 0.2, 0.01), of("K3", "K0", -0.2, 0.01)]
    assert change_words.of_many(against, 0.05) == [
        "Accuracy: 2 of 3 do better than “K0”, 1 worse; 3 of 3 pairs differ by more than noise."
    ]
    one = [of("K1", "K0", -0.1, 0.01), of("K2", "K0", 0.0, 0.9)]
    assert change_words.of_many(one, 0.05)[0].startswith("Accuracy: none of 2 does better than “K0”, 1 worse")


def test_sentences_tell_the_model_that_has_more():
    told = change_words.sentences(
        [
            difference("accuracy", -0.031, 0.001, -0.042, -0.02),
            difference("accuracy_gap", 0.004, 0.9, -0.01, 0.02),
            difference("cramers_v_mean", None, None, reason="no value for A"),
            difference("future", 0.2, 0.01, 0.1, 0.5),
            difference("cramers_v_mean", 0.2, 0.01, 0.05, 0.25, corrected=0.15),
            difference("accuracy", 0.2, 0.01, -0.1, 0.5),
        ],
        0.05,
    )
    assert told == [
        "Accuracy: “B” is right more often than “A”, by 3.1 points (2.0 to 4.2), more than noise.",
        "Accuracy gap: no more than noise; “A” minus “B” is 0.4 points (−1.0 to 2.0).",
        "Mean effect size: no difference could be estimated (no value for A).",
        "Future: higher for “A” than for “B”, by 0.200 (0.100 to 0.500), more than noise.",
        "Mean effect size: “A” errs more differently by group, on average over classes, than “B”, by 0.150 "
        "without noise (0.050 to 0.250), more than noise.",
        "Accuracy: no more than noise; “A” minus “B” is 20.0 points (−10.0 to 50.0).",
    ]


def test_many_pairs_in_few_lines():
    pairs = [
        difference("accuracy", 0.1, 0.01, reference="C", params={"model": "A", "reference": "C"}),
        difference("accuracy", 0.1, 0.01),
        difference("accuracy", 0.0, 0.9, model="B", reference="C", params={"model": "B", "reference": "C"}),
        difference("accuracy_gap", 0.0, 0.9),
    ]
    assert change_words.of_many(pairs, 0.05) == [
        "Accuracy: “A” does better than 2 of 2 others it was compared with; 2 of 3 pairs differ by more than "
        "noise.",
        "Accuracy gap: no two models differ by more than noise.",
    ]


def test_changes_beyond_the_pages_room_are_counted(two, monkeypatch):
    monkeypatch.setattr("evenhand.report.comparison.changes.MOST_ROWS", 5)
    html = two.html()
    assert "The page holds the 5 surest changes; 9 more are in the run’s table" in plain(html)
    kinds = data_of(html)["frames"]["changes-by-group"]["columns"]["kind"]
    assert len(kinds) == 5


def test_the_tables_of_a_comparison_have_the_columns_that_small_cells_are_hidden_by(two):
    for name in ("changes", "flips", "answer_changes"):
        counts = [column for column in two.tables[name].columns if column == "n" or column.startswith("n_")]
        assert "n" in counts
        assert two.tables[name].select(pl.col(counts).min() >= 0).row(0) == (True,) * len(counts)
