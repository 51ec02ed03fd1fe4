"""Answers of a model that repeats itself: read in time linear in their length, without recursion."""

import time

import pytest

from evenhand.evidence.open_answers.chosen_option import chosen_option
from evenhand.evidence.open_answers.pipeline import Pipeline, PipelineRun
from evenhand.evidence.open_answers.vocabulary import Vocabulary

RUN = PipelineRun(Vocabulary(("cat", "dog", "doctor", "nurse")), Pipeline())
LOOPS = (
    "1. ", "a ", "the ", "red ", "red and ", "female ", "man ", "A. ", "(a) ", "a - ", "<a ", "x, ", "not ",
    "A\n", "- A: his\n", "the image shows a ", "doctor or ", "I am not sure. ", "the answer is ", "maybe ",
)  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS)
def test_open_answers_that_repeat_themselves_are_walked_in_linear_time(loop):
    start = time.process_time()
    assert RUN.walk(loop * (100_000 // len(loop))).prediction not in ("cat", "dog")
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "loop",
    [
        *LOOPS, "the answer is A. ", "A is best. ", "if A, ", "<answer>", "<|begin_of_box|>", "\\boxed{", "{",
        "{a:", "- [x] A\n", "☐ A ", "A: 10%, ", "since the ", "or maybe ", "-> A ", "the first one ", "so, ",
    ],
)  # fmt: skip
def test_options_are_read_from_answers_that_repeat_themselves_in_linear_time(loop):
    start = time.process_time()
    chosen_option(loop * (50_000 // len(loop)), ["cats", "dogs"])
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "value", ["[" * 5_000 + "]" * 5_000, "-" * 9_000 + "1", "(" * 150 + "1" + ")" * 150, "[1]: 2"]
)
def test_fields_that_nest_too_deeply_or_are_no_object_choose_nothing(value):
    for field in (f'{{"answer": {value}}}', f"{{'answer': {value}}}", f"{{{value}}}"):
        assert chosen_option(field, ["cats", "dogs"]).index is None


def test_a_label_behind_many_adjectives_is_found():
    assert RUN.walk("red " * 90 + "doctor").prediction == "doctor"
    assert RUN.walk("female " * 90 + "nurses").prediction == "nurse"
    assert RUN.walk("1. " * 1_500).matched == RUN.walk("female " * 5_000 + "nurse").matched == "none"
