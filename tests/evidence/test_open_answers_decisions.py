"""Decisions of people: what they are shown, what they decide, and that it is used again."""

import csv
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.errors import InputError, UnknownName
from evenhand.evidence.open_answers.decisions import from_cell, to_cell
from evenhand.evidence.open_answers.normalise import (
    Decisions,
    Vocabulary,
    normalised,
    review_file,
    review_table,
)
from evenhand.evidence.open_answers.pipeline import PipelineRun
from tests.helpers import CHARACTERS

VOCABULARY = Vocabulary(("doctor", "nurse", "chef"), {"cook": "chef"})


def answers(*texts):
    return pl.DataFrame({"sample": [f"s{place}" for place in range(len(texts))], "text": list(texts)})


def written(folder, *lines):
    path = folder / "decisions.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def labels(found):
    return found["prediction"].to_list()


def test_what_has_no_label_stands_first_then_what_is_frequent():
    found = normalised(
        answers("doctor", "doctor", "medic", "wizard", "wizard", "Cooks", "sorry", "a nurse"), VOCABULARY
    )
    table = review_table(found, VOCABULARY.names)
    assert table.columns == ["raw", "prediction", "matched", "n", "samples", "decision"]
    assert table["raw"].to_list() == ["wizard", "medic", "Cooks", "doctor", "a nurse", "sorry"]
    assert table.row(0) == ("wizard", "wizard", "none", 2, "s3; s4", "")
    assert table["n"].sum() == 8


def test_a_review_filled_in_is_used_in_the_next_run(tmp_path):
    first = normalised(answers("medic", "Medic!", "wizard", "=cmd|'x'", "doctor"), VOCABULARY)
    rows = list(csv.DictReader(io.StringIO(review_file(review_table(first, VOCABULARY.names)).decode())))
    for row in rows:
        row["decision"] = {"medic": "doctor", "wizard": "(other)"}.get(row["prediction"], "")
        if "cmd" in row["raw"]:
            row["decision"] = "(refusal)"
    with (tmp_path / "review.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    decisions = Decisions.read(tmp_path / "review.csv")
    second = normalised(
        answers("the medic", "medic", "wizard", "=cmd|'x'", "nurse"), VOCABULARY, decisions=decisions
    )
    assert labels(second) == ["doctor", "doctor", "(other)", "(refusal)", "nurse"]
    assert second["matched"].to_list() == ["decision"] * 4 + ["exact"]
    assert second["category"].to_list() == ["answer", "answer", "answer", "refusal", "answer"]
    assert second["synonym"].to_list()[0] == "medic"
    assert second["decision"].to_list() == labels(second)
    assert decisions.content == (tmp_path / "review.csv").read_bytes()
    again = normalised(second.select("sample", text="prediction"), VOCABULARY, decisions=decisions)
    assert labels(again) == labels(second)
    assert review_table(second, VOCABULARY.names).filter(raw="medic")["decision"][0] == "doctor"


def test_a_decision_changes_what_a_step_found(tmp_path):
    path = written(tmp_path, "prediction,decision", "chef,nurse")
    found = normalised(answers("a cook", "chef", "doctor"), VOCABULARY, decisions=Decisions.read(path))
    assert labels(found) == ["nurse", "nurse", "doctor"]


def test_a_decision_on_the_answer_itself_goes_first(tmp_path):
    path = written(tmp_path, "raw,prediction,decision", "Cook,chef,nurse", "cook,chef,chef")
    found = normalised(answers("Cook", "cook", "cooks"), VOCABULARY, decisions=Decisions.read(path))
    assert labels(found) == ["nurse", "chef", "chef"]  # of the third, two decisions say different things


def test_labels_of_decisions_are_spelled_as_the_vocabulary_does(tmp_path):
    path = written(tmp_path, "raw,decision", "medic,The Doctors", "imp, a Cook! ")
    found = normalised(answers("medic", "imp"), VOCABULARY, decisions=Decisions.read(path))
    assert labels(found) == ["doctor", "chef"]


def reviewed(folder, found, **decided):
    """The review of a run, filled in for some answers as a person would, and read again."""
    rows = list(csv.DictReader(io.StringIO(review_file(review_table(found, VOCABULARY.names)).decode())))
    for row in rows:
        row["decision"] = decided.get(row["raw"].replace(" ", "_"), "")
    with (folder / "review.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return Decisions.read(folder / "review.csv")


def test_a_decision_on_one_answer_leaves_all_others_with_its_label_alone(tmp_path):
    said = answers("I can't say", "I cannot tell", "doctor in charge", "doctor", "a doctor", "", "...")
    before = normalised(said, VOCABULARY)
    assert labels(before) == ["(refusal)"] * 2 + ["doctor"] * 3 + ["(empty)"] * 2
    decisions = reviewed(
        tmp_path, before, **{"I_can't_say": "chef", "doctor_in_charge": "nurse", "": "(other)"}
    )
    after = normalised(said, VOCABULARY, decisions=decisions)
    assert labels(after) == ["chef", "(refusal)", "nurse", "doctor", "doctor", "(other)", "(empty)"]
    assert [row for row in decisions.used(after).rows() if row[1] != "raw"] == []


def test_a_decision_on_an_open_answer_counts_for_its_other_spellings_alone(tmp_path):
    before = normalised(answers("medic", "Medic!", "witch"), VOCABULARY)
    decisions = reviewed(tmp_path, before, medic="doctor")
    after = normalised(answers("medic", "Medic!", "A medic", "witch"), VOCABULARY, decisions=decisions)
    assert labels(after) == ["doctor"] * 3 + ["witch"]
    assert ("medic", "same text", "doctor", 2) in decisions.used(after).rows()
    wider = Vocabulary((*VOCABULARY.names, "medic"))
    again = normalised(answers("medic", "Medic!"), wider, decisions=decisions)
    assert labels(again) == ["doctor", "medic"]  # a label by now: only the answer itself was decided on


def test_a_line_on_a_prediction_alone_decides_on_all_of_it(tmp_path):
    path = written(tmp_path, "raw,prediction,decision", ",doctor,nurse", ",(refusal),(other)")
    found = normalised(answers("a doctor", "sorry", "chef"), VOCABULARY, decisions=Decisions.read(path))
    assert labels(found) == ["nurse", "(other)", "chef"]


@pytest.mark.parametrize("label", ["(drop)", "docter", "Evil Spirit"])
def test_a_decision_on_what_is_no_label_is_refused(tmp_path, label):
    decisions = Decisions.read(written(tmp_path, "raw,decision", f"medic,{label}"))
    with pytest.raises(UnknownName, match="label that was decided") as caught:
        normalised(answers("medic"), VOCABULARY, decisions=decisions)
    assert "(other)" in str(caught.value)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_files_of_spreadsheets_with_other_marks_between_cells_are_read(tmp_path, mark):
    path = written(tmp_path, f'"raw"{mark}"n"{mark}"decision"', f'"a, b"{mark}3{mark}doctor')
    assert Decisions.read(path).by_raw == {"a, b": "doctor"}


def test_decisions_that_met_no_answer_are_told(tmp_path):
    path = written(tmp_path, "raw,decision", "medic,doctor", "witch,nurse", ",(refusal)")
    decisions = Decisions.read(path)
    found = normalised(answers("medic", "medic", ""), VOCABULARY, decisions=decisions)
    assert decisions.used(found).rows() == [
        ("witch", "raw", "nurse", 0),
        ("", "raw", "(refusal)", 1),
        ("medic", "raw", "doctor", 2),
    ]
    assert labels(found)[2] == "(refusal)"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["raw,decision", "medic,doctor", "medic,nurse"], "lines 2 and 3 decide differently on 'medic'"),
        (["prediction,decision", "medic,doctor", "medic,nurse"], "lines 2 and 3 decide differently"),
        (["raw,decision", '"a\nb",doctor', "medic,doctor", "medic,nurse"], "lines 4 and 5"),
        (["raw,decision", "medic,healer", "healer,doctor"], "line 2 decides on 'healer', which line 3"),
        (["raw,label", "medic,doctor"], "decisions need 'raw' or 'prediction', and 'decision'"),
        (["prediction,decision", ",doctor"], "line 2 decides on no answer"),
        (["raw;samples;decision", "medic;s1; s2;"], "line 2 has 4 cells, the first line 3"),
    ],
)
def test_decisions_that_contradict_each_other_are_refused(tmp_path, lines, message):
    with pytest.raises(InputError, match=message) as caught:
        Decisions.read(written(tmp_path, *lines))
    assert "\n" not in str(caught.value)


def test_lines_without_a_decision_decide_nothing(tmp_path):
    decisions = Decisions.read(written(tmp_path, "raw,decision", "medic,", "medic,doctor", "wizard, "))
    assert decisions.by_raw == {"medic": "doctor"}


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        Decisions.read(tmp_path / "none.csv")


@given(st.text(CHARACTERS, max_size=20))
def test_no_cell_is_a_formula_and_every_cell_comes_back(text):
    cell = to_cell(text)
    assert cell[:1] not in ("=", "+", "-", "@", "\t", "\r") or cell == ""
    assert from_cell(cell) == text


@given(st.lists(st.text(CHARACTERS, max_size=15), max_size=8, unique=True))
def test_any_review_comes_back_whole(texts):
    found = normalised(answers(*texts), VOCABULARY)
    content = review_file(review_table(found, VOCABULARY.names)).decode()
    rows = list(csv.reader(io.StringIO(content, newline="")))[1:]
    assert sorted(from_cell(row[0]) for row in rows) == sorted(texts)


def test_a_label_of_a_decision_stays_when_it_is_normalised_again(tmp_path):
    path = written(tmp_path, "raw,decision", "medic,doctor", "imp,two Chefs", "x,(empty)", "doctor,doctor")
    walker = PipelineRun(VOCABULARY, decisions=Decisions.read(path))
    for raw in ("medic", "imp", "x", "doctor", "nurse"):
        first = walker.walk(raw).prediction
        assert walker.walk(first).prediction == first
