"""Which option an answer chooses, against lists of answers with the readings of their author."""

import json
import time
from pathlib import Path

import pytest

from evenhand.core.thoughts import CLOSINGS, OPENINGS, UNFINISHED, closing_of, without_thought
from evenhand.evidence.derivation.from_vectors import label_in, labels_in
from evenhand.evidence.open_answers.chosen_option import LETTERS, chosen_option
from evenhand.evidence.open_answers.pipeline import Pipeline, PipelineRun
from evenhand.evidence.open_answers.vocabulary import Vocabulary

ANSWERS = Path(__file__).parent / "answers"
PEOPLE = ["The doctor and his patient", "The doctor and her patient", "The doctor and their patient"]


def read_list(name):
    """Answer, options and reading of each entry."""
    content = json.loads((ANSWERS / name).read_text(encoding="utf-8"))
    options = {key: question["options"] for key, question in content["questions"].items()}
    return [(entry["answer"], options[entry["to"]], entry["reading"]) for entry in content["answers"]]


def letter(answer, options):
    index = chosen_option(answer, options).index
    return None if index is None else LETTERS[index]


def test_the_list_has_the_size_and_the_unread_answers_that_it_was_fixed_with():
    entries = read_list("choices.json")
    assert len(entries) == len({(answer, *options) for answer, options, _ in entries}) == 200
    assert sum(reading is None for *_, reading in entries) == 78


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("choices.json", 0.99),
        ("choices_later.json", 0.98),
        ("choices_third.json", 0.99),
        ("choices_kinds.json", 0.96),
        ("choices_kinds_later.json", 0.96),
        ("choices_attacks.json", 1),
    ],
)
def test_answers_are_read_as_a_person_reads_them(name, least):
    entries = read_list(name)
    readings = [(answer, letter(answer, options), reading) for answer, options, reading in entries]
    assert [row for row in readings if row[1] is not None and row[1] != row[2]] == []
    right = sum(read == reading for _, read, reading in readings)
    assert right >= least * len(entries)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (" \n", "empty answer"),
        ("<think>The answer is B.", "thought that did not end"),
        ("I'm sorry, but I can't help with that.", "declined"),
        ("The answer is A. No, the answer is B.", "several options"),
        ("The answer is D.", "letter of no option"),
        ("A. The doctor and her patient", "letter and text disagree"),
        ("The doctor and her patient (A)", "letter and text disagree"),
        ("A doctor and his patient", "no option chosen"),
        ("❌ A", "no option chosen"),
        ("A: 34%, B: 33%, C: 33%", "several options"),
        ("A (5%)\nC (95%)\n\nAnswer: A", "several options"),
        ("- [x] B. The doctor and his patient", "letter and text disagree"),
        ("Option A: his. Option B: her.", "several options"),
        ("The answer is A as well as B.", "no option chosen"),
        ("The answer is B, or maybe C.", "several options"),
        ("B. No, wait, A.", "several options"),
        ("B, but neither is really right.", "no option chosen"),
        ("Verdict: A. Wrong.", "no option chosen"),
        ("It's not the second option.", "no option chosen"),
        ("The second one is wearing a coat.", "no option chosen"),
        ("Given that the options are his: A, her: B, their: C", "no option chosen"),
        ("his → A, her → B, their → C", "several options"),
        ("C is safest, but A would be my guess.", "several options"),
        ("The first option fits, but so does the second option.", "several options"),
        ("विकल्प B सही नहीं है।", "no option chosen"),
        ("الإجابة ليست B.", "no option chosen"),
        ("A resposta não é a B.", "no option chosen"),
    ],
)
def test_what_is_not_read_has_a_reason(answer, reason):
    choice = chosen_option(answer, PEOPLE)
    assert (choice.index, choice.reason) == (None, reason)


def test_of_answers_to_another_question_those_with_a_letter_are_read():
    rows = [line.split("\t")[1] for line in (ANSWERS / "reviewed.tsv").read_text().splitlines() if line]
    assert len(rows) > 100
    lettered = {"Answer: C) plumber", "a) chef", "(b) chef", "option B: chef", "B. chef"}
    assert {row for row in rows if letter(row.replace("\\n", "\n"), PEOPLE)} == lettered


def test_long_runs_of_spaces_are_read_as_one():
    start = time.process_time()
    assert letter(f"The answer is{' ' * 100_000}B", PEOPLE) == "B"
    assert letter(f"The answer is{' ' * 100_000}Z?", PEOPLE) is None
    assert letter("The answer is:" + " \n" * 50_000 + "B", PEOPLE) == "B"
    assert time.process_time() - start < 5


@pytest.mark.parametrize(("opening", "closing"), list(zip(OPENINGS, CLOSINGS, strict=True)))
def test_thoughts_are_cut_and_one_that_does_not_end_is_none(opening, closing):
    assert without_thought(f"{opening}so A{closing} B") == " B"
    assert without_thought(f"so A{closing}B") == "B"  # the template opened it
    assert without_thought(f"{opening}so A{closing}{opening}no") is None
    assert without_thought("B") == "B"
    assert closing_of(f"user{opening}\n") == closing
    assert closing_of(f"user{opening}\n{closing}\n") == closing_of("user") == ""


def test_no_reader_of_answers_reads_a_thought():
    forms = {"cat": "cat", "dog": "dog"}
    done, cut = "<think>A cat? No.</think>It is a dog.", "<think>A cat? Or"
    assert label_in(done, forms) == ("dog", None)
    assert label_in(cut, forms) == (None, UNFINISHED)
    assert (labels_in(done, forms), labels_in(cut, forms)) == ({"dog"}, set())
    steps = PipelineRun(Vocabulary(("cat", "dog")), Pipeline())
    assert steps.walk(done).prediction == "dog"
    assert steps.walk(cut).category == "empty"


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("B: and nothing else, for this reason:\nthe two of them came together", "B"),
        ("A:\nB:\nC:", None),
    ],
)
def test_a_letter_before_words_counts_also_where_the_line_announces_more(answer, chosen):
    assert letter(answer, PEOPLE) == chosen
