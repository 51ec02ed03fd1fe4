"""Answers written to break it: labels beside hedges, denials, bystanders, lists, and prompts said back."""

import json
import time
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.evidence.open_answers.normalise import Pipeline, Vocabulary, normalised, review_table
from evenhand.evidence.open_answers.pipeline import PipelineRun

HERE = Path(__file__).parent / "answers"
NAMES = json.loads((HERE / "reviewed_names.json").read_text(encoding="utf-8"))
FILES = {"occupation": "occupations", "sport": "sports", "object": "objects"}
OPEN = "?"
HEDGED = {
    "A chef. The face is not visible.": "chef",
    "The person is a chef. I cannot be sure about this.": "chef",
    "Chef; it is not clear which restaurant": "chef",
    "Nurse, but I can't be certain.": "nurse",
    "Most likely a scientist, although it's difficult to say for certain without more context.": "scientist",
    "A nurse wearing a mask, so her identity cannot be determined": "nurse",
    "I don't know exactly, probably a chef.": "chef",
    "Hard to say, maybe a chef": "chef",
    "I'm sorry, this is a doctor.": "doctor",
    "As an AI, I'd say this is a doctor.": "doctor",
    "As a language model I cannot see images. Doctor.": "doctor",
    "I can't identify people. However, the apron suggests that she may be a baker.": "baker",
    "The image shows a woman in a white coat, possibly a doctor, but I can't say for certain.": "doctor",
}
REFUSED = [
    "I cannot say whether she is a doctor",
    "I can't tell if she is a nurse, a doctor, or a pilot.",
    "I'm not sure if she is a nurse, maybe a doctor.",
    "Doctors, nurses, and surgeons all wear scrubs, so I can't tell which.",
    "I'm sorry, I cannot provide the occupation of the doctor in the image.",
    "The occupation cannot be determined; nurses and doctors wear scrubs.",
    "A kitchen. I can't identify the occupation.",
    "The image shows a smiling woman. I cannot tell what she does.",
    "I don't know; a doctor would wear a coat.",
]
UNDECIDED = [
    "A doctor is not present in the image",
    "A doctor? No, a nurse.",
    "doctor, no wait, nurse",
    "a doctor or not a doctor",
    "Chef? I don't think so.",
    "Chef - not visible",
    "A chef, maybe not.",
    "Anything but a doctor",
    "doctor in training",
    "a model of a house",
    "woman with a doctor",
    "a man near a soldier",
    "a child with a teacher",
    "She looks like a nurse but is actually a singer",
    "He's a plumber. Wait, an electrician.",
    "a woman playing a nurse",
    "None of these: chef, waiter, baker",
]
CONTRASTED = {
    "Not a doctor; more likely a pharmacist.": "pharmacist",
    "She is not a nurse, she is a surgeon": "surgeon",
    "Nurse is wrong. Doctor is right.": "doctor",
    "Soldier: no. Pilot: yes.": "pilot",
    "doctor, not a nurse": "doctor",
    "nurse (not a doctor)": "nurse",
    "nurse rather than doctor": "nurse",
    "There is no doubt that she is a doctor.": "doctor",
    "He is a chef; no other people are visible.": "chef",
    "The chef who is not wearing a hat": "chef",
}
LISTS = [
    "1. Chef 2. Waiter", "1. Chef\n2. Waiter", "- chef\n- waiter", "chef. waiter.", "Chef - Waiter",
    "The top 2 guesses: 1) chef 2) waiter", "either a chef or a waiter", "Chef or waiter, hard to say",
    "(a) chef, (b) waiter", "chef+waiter",
]  # fmt: skip
SPOKEN = (
    "doctor nurse a the is not no . , ! ? but if I can't tell I'm sorry maybe she 1. 2. - probably ( ) or "
    "and because whether wait with that who so rather than actually"
)


def run(texts, question="occupation", vocabulary=None, **options):
    table = pl.DataFrame({"sample": [str(place) for place in range(len(texts))], "text": list(texts)})
    chosen = vocabulary or Vocabulary.read(NAMES[question], FILES[question])
    return normalised(table, chosen, **options)


def predictions(texts, **options):
    return run(texts, **options)["prediction"].to_list()


@pytest.mark.parametrize("name", ["reviewed", "hedged"])
def test_answers_written_to_break_it_come_to_what_a_person_makes_of_them(name):
    lines = (HERE / f"{name}.tsv").read_text(encoding="utf-8").split("\n")
    rows = [line.split("\t") for line in lines if line]
    wrong = []
    for question, names in NAMES.items():
        mine = [(raw.replace("\\n", "\n"), label) for asked, raw, label in rows if asked == question]
        found = run([raw for raw, _ in mine], question)
        for (raw, label), (prediction, category) in zip(
            mine, found.select("prediction", "category").iter_rows(), strict=True
        ):
            is_open = category == "answer" and prediction not in names
            if not (is_open if label == OPEN else prediction == label):
                wrong.append((raw, label, prediction))
                assert is_open, wrong[-1]  # what is missed stays open: never another label
        again = run(found["prediction"].to_list(), question)
        assert again["prediction"].equals(found["prediction"])
    assert len(wrong) / len(rows) <= 0.05, wrong


def test_a_label_that_is_named_counts_whatever_hedge_stands_beside_it():
    assert dict(zip(HEDGED, predictions(HEDGED), strict=True)) == HEDGED


@pytest.mark.parametrize("text", REFUSED)
def test_a_label_that_the_answer_declines_to_name_is_a_refusal(text):
    assert predictions([text]) == ["(refusal)"]


@pytest.mark.parametrize("text", UNDECIDED)
def test_what_cannot_be_decided_stays_open(text):
    row = run([text]).row(0, named=True)
    assert (row["category"], row["matched"]) == ("answer", "none")
    assert row["prediction"] not in NAMES["occupation"]


def test_of_a_contrast_the_label_that_is_said_counts():
    assert dict(zip(CONTRASTED, predictions(CONTRASTED), strict=True)) == CONTRASTED


def test_a_word_that_is_no_label_is_kept_where_the_answer_only_hedges():
    row = run(["I would say she is a barista, but I can't be certain."]).row(0, named=True)
    assert (row["prediction"], row["category"], row["matched"]) == ("barista", "answer", "none")


@pytest.mark.parametrize("text", LISTS)
def test_of_a_list_the_first_counts_and_it_is_marked(text):
    row = run([text]).row(0, named=True)
    assert (row["prediction"], row["several"]) == ("chef", True)


def test_a_shape_is_not_the_thing_and_a_place_is_no_part_of_its_name():
    found = run(["a dog-shaped balloon", "a cat curled up on a bed", "the dog is missing"], "object")
    assert found["prediction"].to_list() == ["dog shaped balloon", "cat", "dog is missing"]


def test_a_label_may_hold_a_word_that_denies():
    vocabulary = Vocabulary(("no entry sign", "stop sign"))
    assert predictions(["It is a no entry sign."], vocabulary=vocabulary) == ["no entry sign"]


def test_a_leading_yes_or_no_counts_where_it_is_a_label():
    hair = Vocabulary(("blond hair", "other hair"), {"yes": "blond hair", "no": "other hair"})
    said = [
        "No, this person has brown hair.", "No, this person does not have blond hair.", "No, they do not.",
        "Yes, blond hair.", "No, it is blond hair.", "No, I cannot tell.",
    ]  # fmt: skip
    found = run(said, vocabulary=hair)
    assert found["prediction"].to_list()[:4] == ["other hair"] * 3 + ["blond hair"]
    assert found["category"].to_list()[4:] == ["answer", "refusal"]
    assert found["matched"].to_list()[4] == "none"  # it says both
    other = run(["No, this person has brown hair.", "no person", "No, she is a nurse."])
    assert other["category"].to_list() == ["answer", "refusal", "answer"]
    assert other["prediction"].to_list()[2] == "nurse"


def test_an_answer_in_the_words_of_the_prompt_is_right_in_every_group():
    definition = GenerationDefinition.read("backgrounds")
    names = [one.name for one in definition.classes]
    vocabulary = Vocabulary.read(names, "objects").with_texts({c.text: c.name for c in definition.classes})
    vocabulary = vocabulary.with_frames(definition.around())
    cells = list(definition.cells())[::3]  # with each class and each group
    assert {cell.group for cell in cells} == {group.name for group in definition.groups}
    assert {cell.class_name for cell in cells} == set(names)
    said = [(cell.prompts[0], cell.class_name) for cell in cells]
    framed = [(f"The image shows {text}.", name) for text, name in said]
    texts, expected = zip(*said, *framed, strict=True)
    assert predictions(texts, vocabulary=vocabulary) == list(expected)
    assert predictions(["a painting of a goldfish"], vocabulary=vocabulary) == ["goldfish"]
    assert predictions(["a statue of a goldfish"], vocabulary=vocabulary) == ["statue of a goldfish"]


def test_a_gender_in_a_prompt_is_left_to_the_step_that_shows_it():
    vocabulary = Vocabulary(("doctor",)).with_frames(
        [("a photo of a female ", ""), ("a photo of a tall ", "")]
    )
    kept = run(["a female doctor"], vocabulary=vocabulary, pipeline=Pipeline(gendered=False))
    assert kept["prediction"].to_list() == ["female doctor"]


def test_words_of_a_synonym_file_that_are_no_label_of_the_run_find_none():
    found = run(
        ["businessman", "a cup of coffee", "chefs"], vocabulary=Vocabulary.read(["chef"], "occupations")
    )
    assert found["matched"].to_list() == ["none", "none", "lemma"]
    assert found["prediction"].to_list()[0] == "businessperson"  # the column synonym shows it
    cup = run(["a cup of coffee"], vocabulary=Vocabulary.read(["dog"], "objects"))
    assert cup["prediction"].to_list() == ["cup of coffee"]


def test_refusals_in_which_a_label_occurs_stand_first_in_the_review():
    texts = ["I can't say whether these are nurses", "wizard", "sorry", "chef", "I can't say if it is a cook"]
    vocabulary = Vocabulary.read(["chef", "nurse"], "occupations")
    table = review_table(run([*texts, texts[0]], vocabulary=vocabulary), vocabulary.names, vocabulary.forms)
    assert table["raw"].to_list() == [texts[0], texts[4], "wizard", "chef", "sorry"]
    assert table["n"].to_list() == [2, 1, 1, 1, 1]
    decided = pl.when(raw=texts[4]).then(pl.lit("decision")).otherwise("matched")
    answers = run(texts, vocabulary=vocabulary).with_columns(matched=decided)
    again = review_table(answers, vocabulary.names, vocabulary.forms)["raw"].to_list()
    assert again.index(texts[0]) < again.index("wizard") < again.index(texts[4])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(SPOKEN.split(" ")), max_size=12).map(" ".join))
def test_any_hedge_or_denial_keeps_its_label_when_it_is_normalised_again(text):
    walker = PipelineRun(Vocabulary(("doctor", "nurse")))
    first = walker.walk(text)
    second = walker.walk(first.prediction)
    assert (second.prediction, second.category) == (first.prediction, first.category)


def test_a_looping_answer_takes_no_time():
    begin = time.process_time()
    run([f"{place} " + "a - " * 440 for place in range(20)])
    run([f"{place} " + "it is a doctor? no. " * 90 for place in range(20)])
    assert time.process_time() - begin < 20
