"""Sentences from declarations: they say no more than was tested, of as many groups as there are."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from evenhand.benchmarks.benchmark import Benchmark, words_to_keep
from evenhand.core.cards import Sentences
from evenhand.core.errors import InputError
from evenhand.core.findings import Finding, Null
from evenhand.core.nouns import Attribute, BenchmarkWords, Nouns, words_of
from evenhand.metrics.catalogue import with_cards
from evenhand.report.chapters import in_chapters
from evenhand.report.page import chapter_words
from tests.report.report_samples import plain

NOUNS = Nouns(attributes={"race": Attribute(groups={name: f"{name} people" for name in ("a", "b", "c")})})


def lead(groups: list[str], value: float, p: float | None, k: int = 5) -> Finding:
    null = Null(mean=0, low=-0.1, high=0.1, method="all rankings") if p is not None else None
    params = {"k": k, "groups": groups}
    return plain(
        "bias_at_k", ("race",), value, "descriptive", null=null, p_value=p, params=params, chance_at=0.0
    )


def verdict_of(*findings: Finding) -> str:
    (chapter,) = in_chapters(findings, BenchmarkWords(nouns=NOUNS))
    return chapter_words.verdict(chapter, 0.05)


def test_rankings_without_a_test_are_said_to_be_untested() -> None:
    line = verdict_of(lead(["a", "b"], 0.9, None))
    assert line == "Who comes first was measured without a test."


def test_every_pair_of_groups_that_was_tested_is_named() -> None:
    line = verdict_of(lead(["a", "b"], 0.01, 0.9), lead(["a", "c"], 0.02, 0.8))
    assert "none of a people, b people and c people comes first more often" in line


def test_places_of_two_pairs_are_named_once() -> None:
    line = verdict_of(lead(["a", "b"], 0.5, 0.001), lead(["a", "c"], 0.4, 0.001))
    assert "images of a people come first more often than chance explains (first 5 places)" in line


def own(value: float | None, p: float | None) -> Finding:
    finding = plain(
        "dark_share", ("race",), value, "lower is fairer", p_value=p, reason=None if value else "empty"
    )
    card = finding.card.model_copy(update={"title": "Dark", "summary": "dark ones"})
    return with_cards([finding], {"dark_share": card})[0]


def test_a_metric_without_a_family_is_called_untested_or_not_estimable_as_it_is() -> None:
    assert verdict_of(own(0.5, None)) == "The findings are listed below, without tests."
    assert verdict_of(own(None, None)) == "Could not be estimated. Not estimable is not the same as fair."


@pytest.mark.parametrize("text", ["the share of {third}", "the share of {", "the share of {}"])
def test_a_sentence_that_cannot_be_filled_is_refused_where_it_is_declared(text: str) -> None:
    with pytest.raises(ValidationError, match=r"\{first\} and \{second\}"):
        Sentences(value=text)


def test_words_that_cannot_be_used_are_named() -> None:
    class Wrong(Benchmark):
        name = "wrong"
        nouns = {"sample": "picture"}

        def plan(self, setting): ...
        def measure(self, answered): ...

    with pytest.raises(InputError, match=r"'wrong' declares .*nouns\.sample"):
        words_to_keep(Wrong())
    with pytest.raises(InputError, match=r"manifest\.json .*nouns\.sample"):
        words_of({"words": {"nouns": {"sample": "picture"}}})
