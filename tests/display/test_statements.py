"""Sentences keep the numbers and names that they are made of."""

from __future__ import annotations

import copy
import json

from evenhand.display.overview.phrasing import capital, scoped
from evenhand.display.text.formatting import count, of, p_phrase, plural, points
from evenhand.display.text.language import _, written_in
from evenhand.display.text.statement import Slot, Statement, said


def values(text):
    return [(name, slot.value, slot.is_share) for name, slot in said(text).slots() if isinstance(slot, Slot)]


def test_numbers_stand_in_their_places_in_the_order_of_the_english_pattern():
    text = _("{title}: {first} with {model}, {second} with {reference}",
             second=points(0.125), first=of(3, 7), title="Accuracy", model="a", reference="b")  # fmt: skip
    assert text == "Accuracy: 3 of 7 with a, 12 points with b"
    assert values(text) == [("hits", 3, False), ("rows", 7, False), ("n", 0.125, True)]
    assert [name for name, slot in text.slots()] == ["title", "hits", "rows", "model", "n", "reference"]


def test_a_statement_is_the_same_in_german_with_another_text():
    english = plural(1_234, "comparison")
    with written_in("de"):
        german = plural(1_234, "comparison")
    assert (english, german) == ("1,234 comparisons", "1.234 Vergleiche")
    assert values(english) == values(german)
    assert english.words == "1,234 comparisons"
    assert german.words == "1.234 comparisons"


def test_statements_that_are_joined_keep_what_is_in_them():
    p = p_phrase(0.0312)
    for text in (p + ".", "Here " + p, Statement.joined(("", p, "", "more")), scoped(capital(p), "k 10")):
        assert values(text) == [("p", 0.0312, False)]
    assert Statement.joined(("", p, "", "more"), "; ") == "p = 0.031; more"
    assert scoped(p + ".", "k 10") == "p = 0.031 (k 10)."


def test_statements_are_texts():
    text = Statement.of("{n} rows", n=count(5))
    assert json.loads(json.dumps([text])) == ["5 rows"]
    assert values(copy.deepcopy(text)) == [("n", 5, False)]
    assert values(Statement.of("{n} of {k}", n=1, k=2)) == [("n", 1, False), ("k", 2, False)]
    assert list(said("12 rows").slots()) == [("text", "12 rows")]


def test_braces_in_a_text_of_the_user_are_no_places():
    noun = _("{odd} rows")
    text = Statement.of("{n} {noun}", n=count(5), noun=noun)
    assert (text, text.words) == ("5 {odd} rows", "5 {odd} rows")
    assert values(text) == [("n", 5, False)]
