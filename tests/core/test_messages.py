"""Exceptions: exit codes, one line, and the closest possible names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core import errors
from evenhand.core.errors import UnknownName, check_choice, check_known, one_line
from evenhand.display.text.reasons import REASONS, explain
from tests.helpers import CHARACTERS


@pytest.mark.parametrize(
    ("name", "code"),
    [("EvenhandError", 1), ("UserError", 2), ("InputError", 2), ("UnknownName", 2), ("ParameterError", 2),
     ("MissingExtra", 2), ("Incomplete", 3), ("GateBroken", 4)],
)  # fmt: skip
def test_exit_codes(name, code):
    kind = getattr(errors, name)
    assert kind.exit_code == code
    assert issubclass(kind, errors.EvenhandError)
    assert issubclass(kind, errors.UserError) == (code == 2)
    assert name in errors.__doc__


def test_a_near_miss_names_the_closest():
    message = str(UnknownName("column", "gendr", ["race", "gender", "age"]))
    assert message.startswith("there is no column 'gendr'; did you mean 'gender'")
    assert "race" not in message


def test_a_wild_guess_lists_what_there_is():
    message = str(UnknownName("column", "qqq", [f"c{i}" for i in range(30)], "type: evenhand ls"))
    assert "possible: 'c0', 'c1'" in message
    assert "'c11' and 18 more" in message
    assert "'c12'" not in message
    assert message.endswith("type: evenhand ls")


def test_the_first_of_some_names_that_is_not_known_is_refused():
    check_known("column", "age", ["age", "race"])
    check_known("column", ("age", "race"), {"age": 1, "race": 2})
    with pytest.raises(UnknownName, match=r"there is no column 'raze'; did you mean 'race'"):
        check_known("column", ("age", "raze", "xyz"), ["age", "race"])
    with pytest.raises(UnknownName, match=r"there is no column 'ag'.*type: evenhand ls"):
        check_known("column", "ag", ["age", "race"], "type: evenhand ls")  # one name, not its letters


def test_nothing_possible_is_said():
    assert "possible: none" in str(UnknownName("attribute", "x", []))


@given(st.text(CHARACTERS), st.lists(st.text(CHARACTERS), max_size=4))
def test_messages_are_one_line_whatever_was_typed(given_name, possible):
    assert len(str(UnknownName("column", given_name, possible)).splitlines()) <= 1


@given(st.text(CHARACTERS))
def test_one_line_is_printable_and_stable(text):
    line = one_line(text)
    assert line.isprintable()
    assert one_line(line) == line
    assert len(line.splitlines()) <= 1


def test_one_line_keeps_words():
    assert one_line("a\nb\t c\x1b[31m\u202ed") == "a b c [31m d"


def test_a_missing_extra_answers_with_the_line_to_type():
    assert "pip install 'evenhand[torch]'" in str(errors.MissingExtra("torch", "torch"))


def test_choices_are_checked():
    check_choice("mode", "paper", ("default", "paper"))
    with pytest.raises(
        errors.ParameterError, match="mode='x' is not possible; choose one of 'default', 'paper'"
    ):
        check_choice("mode", "x", ("default", "paper"))


def test_reasons_are_codes_with_a_meaning():
    for code, meaning in REASONS.items():
        assert code.replace("_", "").isalpha()
        assert explain(code) == f"{code}: {meaning}"
        assert len(meaning.splitlines()) == 1
    assert explain("something else") == "something else"
