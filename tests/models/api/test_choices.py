"""Answers to multiple-choice questions through a server are read as they are read anywhere."""

from __future__ import annotations

import pytest

from evenhand.core.capabilities import NotAnswered
from evenhand.evidence.open_answers.chosen_option import LETTERS, chosen_option
from evenhand.models.resolve import resolve
from tests.evidence.test_chosen_option import read_list
from tests.models.api.conftest import Served


@pytest.fixture(scope="module")
def scripted():
    """A server without a model, whose answers are given to it."""
    pytest.importorskip("openai")
    server = Served()
    yield server
    server.end()


@pytest.fixture
def ask_scripted(scripted):
    """What the adapter makes of messages, one for each question."""

    def ask(messages, query=""):
        scripted.post("/admin/clear", {})
        prompts = [f"question {number}" for number in range(len(messages))]
        scripted.post("/admin/replies", dict(zip(prompts, messages, strict=True)))
        model = resolve(f"api:tiny@{scripted.url}{query}").load()
        try:
            return model.answer([None] * len(prompts), prompts)
        finally:
            model.close()

    return ask


def test_the_200_answers_are_read_the_same_through_a_server(ask_scripted):
    entries = read_list("choices.json")
    answers = ask_scripted([{"role": "assistant", "content": answer} for answer, *_ in entries])
    readings = [
        chosen_option(answer, options) for answer, (_, options, _) in zip(answers, entries, strict=True)
    ]
    letters = [None if reading.index is None else LETTERS[reading.index] for reading in readings]
    wrong = [
        letter
        for letter, (*_, reading) in zip(letters, entries, strict=True)
        if letter not in (None, reading)
    ]
    assert wrong == []
    right = sum(letter == reading for letter, (*_, reading) in zip(letters, entries, strict=True))
    assert right >= 0.98 * len(entries)


def test_a_thought_that_the_server_keeps_apart_and_cuts_short_is_named(ask_scripted):
    thought = {"role": "assistant", "reasoning_content": "The doctor has"}
    cut, done, plain = ask_scripted(
        [
            thought | {"content": None, "finish_reason": "length"},
            thought | {"content": "B"},
            {"role": "assistant", "content": None, "finish_reason": "length"},
        ]
    )
    assert isinstance(cut, NotAnswered)
    assert cut.reason == "thought that did not end"
    assert "max_tokens=64; give it room with --max-tokens" in cut.detail
    assert done == "B"
    assert plain.reason == "no text in the server's answer"


def test_thinking_is_switched_off_on_request(ask_scripted, scripted):
    ask_scripted([{"role": "assistant", "content": "B"}], "?thinking=off")
    assert scripted.log()["bodies"][0]["chat_template_kwargs"] == {"enable_thinking": False}
    assert resolve("api:m@http://127.0.0.1:1/v1?thinking=off").identity()["thinking"] == "off"
    assert "thinking" not in resolve("api:m@http://127.0.0.1:1/v1").identity()
