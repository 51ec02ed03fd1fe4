"""A VisoGender run's page and summary: grouped, in plain words, chance beside every figure."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.benchmarks.benchmark import words_to_keep
from evenhand.benchmarks.visogender.original_code import json_files as upstream
from evenhand.benchmarks.visogender.resolution import RESOLUTION
from evenhand.benchmarks.visogender.retrieval import RETRIEVAL
from evenhand.core.findings import Interval, Null, Part
from evenhand.core.nouns import Attribute, BenchmarkWords, Nouns, words_of
from evenhand.core.significance import significance_of
from evenhand.metrics.suites.families import adjust_run
from evenhand.report import facets, glossary
from evenhand.report.chapters import in_chapters
from evenhand.report.views import rows
from evenhand.report.wording import pronouns, rankings
from evenhand.report.wording.sentences import against_chance
from tests.benchmarks import original_files
from tests.report.report_samples import plain

GAPS = ("resolution_gap", "misgendering_gap", "neutral_gap")
VECTORS = Path(__file__).parent.parent / "papers" / "vectors" / "visogender"


@pytest.fixture(scope="module")
def resolution(few_draws, tmp_path_factory):
    cases = json.loads(gzip.decompress((VECTORS / "resolution_cases.json.gz").read_bytes()))["cases"]
    folder = tmp_path_factory.mktemp("given")
    for context, key in (("two_person", "op"), ("single", "oo")):
        name = original_files.resolution_name(cases[0]["experiment"], cases[0]["model"], context)
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
    (folder / original_files.retrieval_name("clip", "occ_first", "two_person")).write_bytes(
        upstream.dump(records)
    )
    return eh.score("visogender/retrieval", evidence=folder, parameters={"k": "5,30"})


def test_one_chapter_for_each_sentence_and_grouping(resolution):
    titles = [chapter.title for chapter in in_chapters(resolution.findings.findings)]
    assert titles == [
        "Occupation first",
        "sector: occupation first",
        "specialisation: occupation first",
        "occupation: occupation first",
        "gender pair: occupation first",
        "Participant first",
    ]


def test_lines_say_only_what_differs(resolution):
    chapter = in_chapters(resolution.findings.findings)[0]
    names = facets.varying(chapter.findings)
    assert names == ("setting",)
    lines = [rows.row(finding, 0.05, with_level=False, param_names=names) for finding in chapter.findings]
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
            without = finding.value is None or finding.name == "neutral_rate"  # nobody's gender enters it
            assert (finding.null is None) == without


def test_summaries_name_value_interval_and_chance(resolution):
    chapter = in_chapters(resolution.findings.findings)[0]
    told = pronouns.finding_sentences(chapter)
    assert len(told) == 6
    for sentence in told:
        chance = "" if "neutral pronoun is chosen" in sentence else r"; chance alone gives .* \(.* to .*\)"
        assert re.search(rf"\([0-9.]+% interval .* to .*\).*{chance}\.$", sentence), sentence
    assert "–" not in "".join(told)
    pairs = in_chapters(resolution.findings.findings)[4]
    assert "mm" in pronouns.finding_sentences(pairs)[0] or "mf" in "".join(pronouns.finding_sentences(pairs))


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
    assert "the pool holds fewer images than the number of first places" in ranked


def gap(name, value, p, setting, n=100, interval=(0.01, 0.3)):
    low, high = interval
    null = Null(mean=0, low=-0.1, high=0.1, method="genders exchanged")
    between = Interval(low=low, high=high, method="MOVER")
    params = {"setting": setting, "template": "par_first"}
    return plain(name, (), value, "descriptive", null=null, p_value=p, interval=between, n=n, params=params,
                 fair_at=0.0)  # fmt: skip


def verdict_of(*findings):
    rate = plain("resolution_accuracy", (), 0.5, "higher is better", params={"template": "par_first"})
    chapter = in_chapters([rate, *findings])[0]
    return pronouns.verdict(chapter, 0.05), pronouns.finding_sentences(chapter, 0.05)


def test_a_headline_heeds_every_setting_and_names_it():
    even = [gap(name, 0.01, 0.9, "two_person", 200) for name in GAPS]
    told, found = verdict_of(*even, gap("neutral_gap", 0.148, 0.011, "different"))
    assert told == (
        "Neither accuracy, misgendering nor the neutral pronoun differs between genders beyond chance, over "
        "two persons. In part of the images: Masculine subjects get the neutral pronoun "
        "more often than chance explains (two persons, different genders, masculine minus feminine 0.148, "
        "p 0.011)."
    )
    assert (
        "Neutral pronouns for masculine minus feminine subjects (two persons, different genders) is 0.148"
        in found[-1]
    )
    told, _ = verdict_of(*even, gap("neutral_gap", 0.02, 0.8, "different"))
    assert "over two persons or in any other setting. That does not prove fairness." in told
    told, _ = verdict_of(*even[1:], gap("resolution_gap", -0.2, 0.001, "two_person", 200, (-0.3, -0.1)))
    assert told.startswith(
        "Feminine subjects get the right pronoun more often than chance explains (two persons"
    )


def test_a_headline_has_the_number_of_its_line_and_heeds_its_interval():
    told, found = verdict_of(gap("neutral_gap", -0.093, 0.01, "all", interval=(-0.208, -0.024)))
    assert "masculine minus feminine −0.093, p 0.010" in told
    assert "subjects is −0.093 (95% interval −0.208 to −0.024)" in found[-1]
    told, _ = verdict_of(gap("neutral_gap", -0.093, 0.01, "all", interval=(-0.208, 0.024)))
    assert told.startswith("Neither accuracy, misgendering nor the neutral pronoun differs")


def test_exploratory_settings_are_not_counted_as_tested():
    even = [gap(name, 0.01, 0.9, "two_person", 200) for name in GAPS]
    other = gap("neutral_gap", 0.148, 0.001, "different").model_copy(update={"role": "exploratory"})
    told, _ = verdict_of(*even, other)
    assert told.endswith("over two persons. That does not prove fairness.") or told.endswith(
        "beyond chance. That does not prove fairness."
    )
    assert "In part of the images" not in told
    assert "in any other setting" not in told


def ranked(name, value, p, mean, k=None, by="occupation_perceived_gender"):
    null = Null(mean=mean, low=mean - 0.05, high=mean + 0.05, method="all rankings")
    params = {"k": k, "groups": ["masculine", "feminine"]} if k else {}
    return plain(name, (by,), value, "lower is fairer", null=null, p_value=p, params=params, chance_at=mean)


def said_of(*findings):
    words = words_of(words_to_keep(RETRIEVAL))
    return rankings.verdict(in_chapters(findings, words)[0], 0.05)


def test_a_headline_of_retrieval_heeds_what_happens_within_occupations():
    even = ranked("bias_at_k", -0.009, 0.99, 0, 5)
    hits = [ranked("ndkl", 0.289, 0.0007, 0.234), ranked("min_skew_at_k", -0.5, 0.03, -0.37, 5)]
    told = said_of(even, *hits, ranked("max_skew_at_k", 0.2, 0.9, 0.2, 5))
    assert told == (
        "On average over occupations, neither masculine people nor feminine people come first more often "
        "than chance explains. Within occupations, one group or another comes first more than chance "
        "gives: NDKL "
        "0.289 (p <0.001) and MinSkew@5 −0.500 (p 0.030)."
    )
    none = said_of(even, ranked("ndkl", 0.24, 0.7, 0.234))
    assert none.endswith("explains. Nor does any group within them. That does not prove fairness.")
    fairer = said_of(even, ranked("ndkl", 0.1, 0.001, 0.234))
    assert "one group or another comes first more" not in fairer
    both = [ranked("bias_at_k", 0.3, 0.01, 0, 5), ranked("bias_at_k", -0.2, 0.01, 0, 10)]
    told = said_of(*both)
    assert "images of masculine people come first more often than chance explains (first 5 places)" in told
    assert "images of feminine people come first more often than chance explains (first 10 places)" in told


def test_a_headline_speaks_of_the_groups_that_a_benchmark_names():
    finding = ranked("bias_at_k", 0.3, 0.01, 0, 5, by="race").model_copy(
        update={"params": {"k": 5, "groups": ["white", "black"]}}
    )
    nouns = Nouns(
        sample=("photo", "photos"),
        query=("caption", "captions"),
        attributes={"race": Attribute(groups={"white": "White people", "black": "Black people"})},
    )
    told = rankings.verdict(in_chapters([finding], BenchmarkWords(nouns=nouns))[0], 0.05)
    assert told == (
        "On average over captions, photos of White people come first more often than chance explains "
        "(first 5 places)."
    )
    plainly = rankings.verdict(in_chapters([finding])[0], 0.05)
    assert "over queries, images of the group “white” come first" in plainly


def test_one_number_has_one_reading_in_every_table(resolution):
    read = {}
    for finding in resolution.findings.findings:
        if finding.params["setting"] == "all" and finding.params["template"] == "occ_first":
            key = (finding.name, finding.value, finding.n)
            read.setdefault(key, set()).add(significance_of(finding, 0.05).side)
    assert len(read) == 6
    assert all(len(sides - {""}) <= 1 for sides in read.values()), read
    grouped = [one for one in resolution.findings.findings if one.by]
    assert grouped
    assert all(one.role == "exploratory" for one in grouped)


def by_sector(name, p):
    part = Part(kind="sector", key="office", value=0.2, p_value=p, p_adjusted=p, n=50,
                null=Null(mean=0, low=-0.1, high=0.1, method="genders"))  # fmt: skip
    return plain(name, ("sector",), 0.1, "descriptive", parts=[part])


def test_a_headline_of_groups_speaks_of_every_gap():
    names = ("resolution_accuracy", "resolution_gap", "misgendering_gap", "neutral_gap")
    findings = [by_sector(name, 0.001 if name == "neutral_gap" else 0.5) for name in names]
    [chapter] = in_chapters(findings)
    told = pronouns.verdict(chapter, 0.05)
    assert told == "The share of neutral pronouns differs between genders beyond chance in office."
    [chapter] = in_chapters([by_sector(name, 0.5) for name in names])
    told = pronouns.verdict(chapter, 0.05)
    assert told == (
        "In none of 1 group does accuracy, misgendering or the neutral pronoun differ between genders beyond "
        "chance."
    )


def test_the_primaries_of_a_run_are_findings_of_it(resolution, retrieval):
    for run, benchmark in ((resolution, RESOLUTION), (retrieval, RETRIEVAL)):
        findings = [
            one if one.by and benchmark is RESOLUTION else one.model_copy(update={"role": None})
            for one in run.findings.findings
        ]
        templates = {str(one.params.get("template")) for one in findings}
        for primary in benchmark.primaries:
            chosen = [one for one in adjust_run(findings, [primary]) if one.role == "primary"]
            anywhere = benchmark is RETRIEVAL or any(name in primary for name in templates)
            assert bool(chosen) == anywhere, primary
            assert benchmark is RETRIEVAL or all(not one.by for one in chosen)


def test_reasons_have_words():
    for code in ("k_exceeds_pool", "group_not_in_pool", "no_usable_query"):
        assert glossary.reason(code) != code.replace("_", " ")
        assert glossary.reason(f"query: {code}") == f"ranking not estimable: {glossary.reason(code)}"


def test_a_reference_on_the_edge_of_an_interval_is_within_chance():
    edge = Interval(low=-1e-15, high=1 / 3, method="MOVER")
    part = Part(kind="pair", key="a", value=0.2, chance_at=0.0, p_value=0.01, interval=edge, n=6)
    assert against_chance(part, 0.05) == "within what chance alone gives by its interval (p 0.010)"


def test_the_terminal_shows_the_main_table_only(resolution, capsys):
    from evenhand.cli.summaries.findings import print_summary

    print_summary(resolution, Path("run"), verbose=True)
    told = capsys.readouterr().out
    assert len(told.splitlines()) < 55 + 25  # the main table, and the first lines above it
    assert "occupation first  n = 690" in told
    assert "by chance alone" in told
    assert "more findings" in told
