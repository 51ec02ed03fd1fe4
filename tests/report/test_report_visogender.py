"""A VisoGender run's page and summary: grouped, in plain words, chance beside every figure."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.benchmarks.visogender import upstream
from evenhand.core.results import Null, Part
from evenhand.report import facets, glossary, people_words, rows
from evenhand.report.chapters import in_chapters
from evenhand.report.words import against_chance

VECTORS = Path(__file__).parent.parent / "papers" / "vectors" / "visogender"


@pytest.fixture(scope="module")
def resolution(tmp_path_factory):
    cases = json.loads(gzip.decompress((VECTORS / "resolution_cases.json.gz").read_bytes()))["cases"]
    folder = tmp_path_factory.mktemp("given")
    for context, key in (("two_person", "op"), ("single", "oo")):
        name = upstream.resolution_name(cases[0]["experiment"], cases[0]["model"], context)
        (folder / name).write_bytes(upstream.dump(cases[0][key]))
    return eh.score("visogender/resolution", evidence=folder)


@pytest.fixture(scope="module")
def retrieval(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranked")
    pool = {"sector": "s", "specialisation": "t", "par": "client", "error": False}
    records = {
        name: pool
        | {"occ": name, "occ_genders": ["masculine"] * 10 + ["feminine"] * 10}
        | {"logits_list": [(place * step) % 20 for place in range(20)]}
        for name, step in (("doctor", 7), ("baker", 3), ("lawyer", 11))
    }
    (folder / upstream.retrieval_name("clip", "occ_first", "two_person")).write_bytes(upstream.dump(records))
    return eh.score("visogender/retrieval", evidence=folder, parameters={"k": "5,30"})


def test_one_chapter_for_each_sentence_and_grouping(resolution):
    titles = [chapter.title for chapter in in_chapters(resolution.findings.findings)]
    assert titles == [
        "Sentences name the occupation first",
        "sector: sentences name the occupation first",
        "specialisation: sentences name the occupation first",
        "occupation: sentences name the occupation first",
        "gender pair: sentences name the occupation first",
        "Sentences name the participant first",
    ]


def test_lines_say_only_what_differs(resolution):
    chapter = in_chapters(resolution.findings.findings)[0]
    names = facets.varying(chapter.findings)
    assert names == ("setting",)
    lines = [rows.row(finding, 0.05, with_level=False, shown=names) for finding in chapter.findings]
    assert [line.params for line in lines[:5]] == [
        "all images",
        "one person",
        "two persons",
        "two persons, same gender",
        "two persons, different genders",
    ]
    assert len({line.title for line in lines}) == 6
    assert facets.shared(chapter.findings) == "Offered: his, her, their."


def test_every_metric_is_described_and_every_line_has_its_chance(resolution, retrieval):
    for run in (resolution, retrieval):
        chapters = in_chapters(run.findings.findings)
        assert all("not described" not in one.meaning for one in rows.definitions(chapters))
        for finding in run.findings.findings:
            assert finding.null is not None or finding.value is None


def test_summaries_name_value_interval_and_chance(resolution):
    chapter = in_chapters(resolution.findings.findings)[0]
    told = people_words.found(chapter)
    assert len(told) == 6
    for sentence in told:
        assert re.search(r"\(95% interval .* to .*\).*; chance alone gives .* \(.* to .*\)\.$", sentence), (
            sentence
        )
    assert "–" not in "".join(told)
    pairs = in_chapters(resolution.findings.findings)[4]
    assert "mm" in people_words.found(pairs)[0] or "mf" in "".join(people_words.found(pairs))


def test_the_page_speaks_of_people_and_not_of_classes(resolution, retrieval):
    page = resolution.html()
    assert "which pronoun does the model attach to a person" in page
    assert "The genders are perceived" in page
    assert "Coverage: 690 of 690 images could be used, of 690 in a complete release." in page
    assert "SkewSize ignores" not in page
    assert "holds no table of mistakes" not in page
    ranked = retrieval.html()
    assert "whose images does the model rank first" in ranked
    assert "random rankings of the same pools" in ranked
    assert "the pool holds fewer images than are looked at" in ranked


def test_reasons_have_words():
    for code in ("k_exceeds_pool", "group_not_in_pool", "no_usable_query"):
        assert glossary.reason(code) != code.replace("_", " ")
        assert glossary.reason(f"query: {code}") == f"ranking not estimable: {glossary.reason(code)}"


def test_a_value_on_the_edge_of_its_band_is_within_chance():
    third = Null(mean=0, low=-1 / 3, high=1 / 3, method="exact")
    part = Part(kind="pair", key="a", value=-1 / 3 - 1e-15, null=third, n=6)
    assert against_chance(part, 0.05) == "within what chance alone gives"


def test_the_terminal_shows_the_main_table_only(resolution, capsys):
    from evenhand.cli.summary import print_summary

    print_summary(resolution, Path("run"))
    told = capsys.readouterr().out
    assert len(told.splitlines()) < 55
    assert "occupation first  n = 690" in told
    assert "by chance alone" in told
    assert "more findings" in told
