"""Open answers to labels: as a person would, the same when done again, and nothing merged in silence."""

import json
import time
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.open_answers.normalise import STEPS, Pipeline, Vocabulary, normalised, step_shares
from evenhand.evidence.open_answers.pipeline import PipelineRun
from tests.helpers import CHARACTERS

HERE = Path(__file__).parent / "answers"
NAMES = json.loads((HERE / "names.json").read_text(encoding="utf-8"))
FILES = {"occupation": "occupations", "sport": "sports", "object": "objects"}
VOCABULARIES = {question: Vocabulary.read(NAMES[question], file) for question, file in FILES.items()}
OPEN = "?"  # a person would give it none of the labels: it must stay open
PIPELINES = [Pipeline(), Pipeline(gendered=False), Pipeline(("case", "punctuation"))]
NO_PLURALS = ["boss", "chess", "gymnastics", "sales", "news", "tennis", "series", "bus", "gas"]
SINGULARS = {
    "policemen": "policeman", "ladies": "lady", "boxes": "box", "dresses": "dress", "wolves": "wolf",
    "zookeepers": "zookeeper", "churches": "church", "women": "woman", "taxi drivers": "taxi driver",
}  # fmt: skip
SPOKEN = (
    "the a doctor nurses or and is Waitress policemen ( ) . , ! ** ' - / I can't tell but two male chefs "
    "it's looks like The person in image of playing sorry unknown Answer: \n # boss hot dog women's"
)
LIMITS = {"hand_made": 0.95, "held_out": 0.95, "fresh": 0.95, "later": 0.95}


def listed(name):
    """Question, answer and what a person makes of it, one row each."""
    rows = []
    for line in (HERE / f"{name}.tsv").read_text(encoding="utf-8").split("\n"):
        if line:
            question, raw, label = line.split("\t")
            rows.append((question, raw.replace("\\n", "\n"), label))
    return rows


def table(texts, **more):
    ids = [str(place) for place in range(len(texts))]
    return pl.DataFrame({"sample": ids, "text": pl.Series(texts, dtype=pl.String), **more})


def run(texts, question="occupation", **options):
    return normalised(table(texts), VOCABULARIES[question], **options)


def answer_row(text, question="occupation", **options):
    return run([text], question, **options).row(0, named=True)


def is_as_meant(row, label, question):
    if label == OPEN:
        return row["category"] == "answer" and row["prediction"] not in NAMES[question]
    return row["prediction"] == label


@pytest.mark.parametrize("name", LIMITS)
def test_answers_come_to_what_a_person_makes_of_them(name):
    rows = listed(name)
    wrong, falsely = [], []
    for question in NAMES:
        mine = [(raw, label) for asked, raw, label in rows if asked == question]
        found = run([raw for raw, _ in mine], question)
        for (raw, label), row in zip(mine, found.iter_rows(named=True), strict=True):
            if not is_as_meant(row, label, question):
                wrong.append((question, raw, label, row["prediction"]))
                if row["prediction"] in NAMES[question]:
                    falsely.append(wrong[-1])
    share = 1 - len(wrong) / len(rows)
    assert share >= LIMITS[name], f"{share:.3f}: {wrong}"
    assert not falsely  # what goes wrong stays open for review; it never gets another label


def test_the_hand_made_list_is_long_enough():
    assert len(listed("hand_made")) >= 300
    assert len({(question, raw) for question, raw, _ in listed("hand_made")}) == len(listed("hand_made"))
    assert len(listed("held_out")) >= 60


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("name", LIMITS)
def test_labels_of_labels_are_the_same(name, pipeline):
    for question in NAMES:
        found = run([raw for asked, raw, _ in listed(name) if asked == question], question, pipeline=pipeline)
        again = run(found["prediction"].to_list(), question, pipeline=pipeline)
        assert again["prediction"].to_list() == found["prediction"].to_list()
        assert again["category"].to_list() == found["category"].to_list()


WORDS = st.sampled_from(SPOKEN.split(" "))
SENTENCES = st.lists(WORDS, max_size=9).map(" ".join)


@settings(max_examples=400, deadline=None)
@given(st.one_of(SENTENCES, st.text(CHARACTERS, max_size=40)))
@example("ẞ̇ ﬀ İ")
@example("(refusal)")
@example("(Empty)")
@example("a a the")
@example("1. 2. doctor")
@example("''doctor''s")
@example("not sure. sorry but the unknown")
def test_any_text_keeps_its_label_when_it_is_normalised_again(text):
    walker = PipelineRun(VOCABULARIES["occupation"])
    first = walker.walk(text)
    second = walker.walk(first.prediction)
    assert second.prediction == first.prediction
    assert second.category == first.category


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(SENTENCES, st.text(CHARACTERS, max_size=12)), max_size=12))
def test_two_answers_have_one_label_only_by_a_step_that_shows_it(texts):
    found = run(texts)
    assert found["raw"].to_list() == texts
    assert found["prediction"].equals(found["synonym"].alias("prediction"))
    columns = ["raw", *STEPS]
    for left in found.iter_rows(named=True):
        for right in found.iter_rows(named=True):
            if left["prediction"] == right["prediction"] and left["raw"] != right["raw"]:
                meeting = next(step for step in columns if left[step] == right[step])
                assert meeting != "raw"
                before = columns[columns.index(meeting) - 1]
                changed = [row for row in (left, right) if row[meeting] != row[before]]
                assert changed  # the step in whose column they meet changed at least one of them


def test_typing_errors_are_never_corrected():
    found = run(["docter", "doctor", "cheff", "nusre"])
    assert found["prediction"].to_list() == ["docter", "doctor", "cheff", "nusre"]
    assert found["matched"].to_list() == ["none", "exact", "none", "none"]


def test_every_step_is_a_column():
    row = answer_row("The person in the image is a **Waitress**.")
    assert row["case"] == "the person in the image is a waitress."
    assert row["frame"] == "a waitress."
    assert row["article"] == "waitress."
    assert row["punctuation"] == row["lemma"] == "waitress"
    assert row["synonym"] == row["prediction"] == "waiter"
    assert (row["category"], row["matched"], row["several"]) == ("answer", "synonym", False)


def test_what_found_a_label_is_told():
    found = run(["Doctor", "nurses", "cop", "wizard", "a boss", "fire fighter"])
    assert found["matched"].to_list() == ["exact", "lemma", "synonym", "none", "exact", "synonym"]


@pytest.mark.parametrize("word", NO_PLURALS)
def test_words_that_are_no_plural_stay(word):
    walker = PipelineRun(Vocabulary(("x1",)))
    assert walker.walk(word).prediction == word


@pytest.mark.parametrize(("plural", "one_of_it"), SINGULARS.items())
def test_plurals_become_singulars_without_a_vocabulary(plural, one_of_it):
    assert PipelineRun(Vocabulary(("x1",))).walk(plural).prediction == one_of_it


def test_gender_is_folded_only_where_asked_and_seen_in_the_column():
    folded = run(["waitress", "female doctor", "policeman"])
    assert folded["prediction"].to_list() == ["waiter", "doctor", "police officer"]
    assert folded["lemma"].to_list() == ["waitress", "female doctor", "policeman"]
    kept = run(["waitress", "waitresses", "female doctor", "policeman"], pipeline=Pipeline(gendered=False))
    assert kept["prediction"].to_list() == ["waitress", "waitress", "female doctor", "policeman"]
    assert str(Pipeline(gendered=False)).endswith("(gender kept)")


def test_refusals_and_empty_answers_are_labels_of_their_own_and_stay_in_the_table():
    found = normalised(
        table(
            ["I'm sorry, I can't help.", None, " ", "cook"], status=["answered", None, "answered", "refused"]
        ),
        VOCABULARIES["occupation"],
    )
    assert found["prediction"].to_list() == ["(refusal)", "(empty)", "(empty)", "(refusal)"]
    assert found["category"].to_list() == ["refusal", "empty", "empty", "refusal"]


def test_of_several_labels_the_first_is_kept_and_the_answer_marked():
    found = run(["doctor or nurse", "a doctor, a nurse", "doctor/physician", "doctor in a hospital", "nurse"])
    assert found["prediction"].to_list() == ["doctor"] * 4 + ["nurse"]
    assert found["several"].to_list() == [True, True, False, False, False]


def test_steps_can_be_left_out():
    found = run(["The Doctors.", "COP"], pipeline=Pipeline(("case", "punctuation")))
    assert found.columns[2:4] == ["case", "punctuation"]
    assert found["prediction"].to_list() == ["the doctors", "cop"]
    assert run(["Doctor"], pipeline=Pipeline(()))["prediction"].to_list() == ["Doctor"]


def test_steps_that_cannot_be_are_refused():
    with pytest.raises(UnknownName, match="step of open answers"):
        Pipeline(("spelling",))
    with pytest.raises(ParameterError, match="out of order"):
        Pipeline(("lemma", "case"))
    with pytest.raises(InputError, match="no column 'text'"):
        normalised(pl.DataFrame({"sample": ["a"]}), VOCABULARIES["sport"])


def test_labels_keep_their_spelling():
    vocabulary = Vocabulary(("Police Officer", "T-shirt", "Gloves"), {"Cop": "Police Officer"})
    found = normalised(table(["a cop", "POLICE OFFICERS", "t shirts", "glove", "T-shirt"]), vocabulary)
    expected = ["Police Officer", "Police Officer", "T-shirt", "Gloves", "T-shirt"]
    assert found["prediction"].to_list() == expected
    assert found["matched"].to_list() == ["synonym", "lemma", "lemma", "lemma", "exact"]


def test_matches_of_further_models_have_columns_of_their_own():
    pipeline = Pipeline((*STEPS, "embedding", "llm"))
    matches = {"embedding": {"medic": "doctor"}, "llm": {"wizard": "actor", "medic": "nurse"}}
    found = run(["a medic", "wizard", "witch", "nurse"], pipeline=pipeline, matches=matches)
    assert found["synonym"].to_list() == ["medic", "wizard", "witch", "nurse"]
    assert found["embedding"].to_list() == ["doctor", "wizard", "witch", "nurse"]
    assert found["llm"].to_list() == found["prediction"].to_list() == ["doctor", "actor", "witch", "nurse"]
    assert found["matched"].to_list() == ["embedding", "llm", "none", "exact"]
    with pytest.raises(UnknownName, match="answer was matched with"):
        run(["a"], pipeline=pipeline, matches={"llm": {"a": "warlock"}})


def test_shares_of_steps():
    shares = step_shares(run(["Doctor", "doctor", "cops", "The nurse"]))
    assert shares["step"].to_list() == ["raw", *STEPS]
    by_step = dict(shares.select("step", "changed").iter_rows())
    assert (by_step["case"], by_step["article"], by_step["lemma"], by_step["synonym"]) == (2, 1, 1, 1)
    assert shares.row(1, named=True)["share"] == pytest.approx(0.5)
    assert shares["different"].to_list()[0] == 4
    assert step_shares(run([]))["share"].to_list() == [None] * 7


def test_hostile_answers_take_no_time():
    texts = [
        "the " * 5_000,
        "a" * 100_000,
        "(" * 500,
        "or " * 600,
        "the person in the image " * 80,
        "in of " * 300,
    ]
    begin = time.process_time()
    run(texts)
    assert time.process_time() - begin < 5


def test_a_million_answers_of_two_thousand_kinds_take_seconds():
    base = [raw for _, raw, _ in listed("hand_made")]
    kinds = [f"{text} {place}" if place else text for place in range(26) for text in base][:2_000]
    many = table(kinds * 500)
    begin = time.process_time()
    found = normalised(many, VOCABULARIES["occupation"])
    assert time.process_time() - begin < 12
    assert len(found) == len(many) == 1_000_000
    assert found["sample"].equals(many["sample"])
