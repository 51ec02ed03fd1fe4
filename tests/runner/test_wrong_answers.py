"""Answers of the wrong kind are refused before they are kept."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.core.capabilities import NotAnswered
from evenhand.core.errors import UserError
from evenhand.core.requests import Question
from evenhand.models.adapters.api.client import ApiClient
from evenhand.models.adapters.onnx.source import _check_probabilities
from evenhand.workflows.execution.answering.answer_cache import AnswerStore
from evenhand.workflows.execution.answering.batches import _METHODS, Batch, BatchCaller
from evenhand.workflows.execution.engines.lazy_model import LazyModel


def ask(capability: str, given: object) -> list:
    """What the runner makes of an answer to two samples."""
    candidates = [["x", "y"]] * 2 if capability == "scores_continuations" else None
    question = Question("q", capability, ["s0", "s1"], texts=["t", "u"], candidates=candidates)
    model = SimpleNamespace(labels=("a", "b"), **{_METHODS[capability]: lambda *asked: given})
    return BatchCaller(model, question).ask(Batch([0, 1], [None, None]))


NUMBERS = [name for name in _METHODS if name != "answers_questions"]


@pytest.mark.parametrize("capability", NUMBERS)
@pytest.mark.parametrize(
    "given",
    [
        ["1", "2"],
        "12",
        np.array([["1", "2"]] * 2),
        [[1j, 2], [1, 2]],
        np.zeros((2, 2), complex),
        np.array([[1, None]] * 2, object),
        [[1, [2, 3]]] * 2,
        {"a": 1, "b": 2},
        None,
        3.0,
    ],
)
def test_what_is_no_number_is_one_line_that_names_the_method(capability, given) -> None:
    with pytest.raises(UserError, match=rf"^{_METHODS[capability]}\(\) of the model gave ") as problem:
        ask(capability, given)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("given", [np.zeros((2, 3)), [0.5, 1.0], ["a", b"b"], ["a", None], "ab", None])
def test_what_is_no_text_is_one_line(given) -> None:
    with pytest.raises(UserError, match=r"^answer\(\) of the model gave "):
        ask("answers_questions", given)


def test_ragged_vectors_and_two_numbers_for_a_pair_are_refused() -> None:
    with pytest.raises(UserError, match="2 and 3 numbers"):
        ask("embeds_images", [np.zeros(2), np.zeros(3)])
    with pytest.raises(UserError, match="2 numbers for a pair"):
        ask("matches_pairs", np.zeros((2, 2)))


@pytest.mark.parametrize("given", [np.eye(2) > 0, [[1, 0], [0, 1]], np.eye(2, dtype=np.float16), np.eye(2)])
def test_real_numbers_of_any_kind_are_taken(given) -> None:
    for capability in ("classifies_images", "embeds_images", "embeds_texts", "scores_continuations"):
        np.testing.assert_array_equal(np.stack(ask(capability, given)), np.eye(2, dtype=np.float32))


def test_a_missing_answer_and_an_odd_text_are_kept(tmp_path) -> None:
    missing = NotAnswered("no\ud800", "why\udfff")
    answers = ask("answers_questions", ["a\ud800b", missing])
    assert answers == ["a?b", NotAnswered("no?", "why?")]
    store = AnswerStore(tmp_path / "answers.sqlite")
    store.put({b"1": answers[0], b"2": answers[1]})
    assert store.get([b"1", b"2"]) == {b"1": answers[0], b"2": answers[1]}
    assert ask("answers_questions", np.array(["a", "b"])) == ["a", "b"]
    store.close()


def test_labels_of_an_adapter_may_repeat_but_must_be_texts(tmp_path) -> None:
    model = SimpleNamespace(labels=["crane", "crane"], classify=lambda images: images)
    source = SimpleNamespace(uri="x:y", load=lambda: model, capabilities=lambda: ("classifies_images",))
    store = AnswerStore(tmp_path / "answers.sqlite")
    assert LazyModel(source, store).load() is model
    model.labels = "crane"
    with pytest.raises(UserError, match="labels of 'x:y' are str"):
        LazyModel(source, store).load()
    store.close()


def test_probabilities_that_are_none_are_refused() -> None:
    for wrong in ([[-1.0, 2.0]], [[0.2, 0.2]], [[0.5, 0.5], [3.0, 4.0]]):
        with pytest.raises(UserError, match=r"classify\.gives"):
            _check_probabilities(np.array(wrong, np.float32), "out", "onnx:n.onnx")
    _check_probabilities(np.array([[0.5, 0.5], [np.nan, 7.0]], np.float32), "out", "onnx:n.onnx")


@pytest.mark.parametrize("used", [None, "many", [3], {"prompt_tokens": "3"}, {"prompt_tokens": 1.5}])
def test_usage_that_is_no_count_is_left_out(used) -> None:
    client = ApiClient.__new__(ApiClient)
    client._counts, client._served = {"prompt_tokens": 2, "completion_tokens": 0}, set()
    client._count({"usage": used})
    assert client._counts == {"prompt_tokens": 2, "completion_tokens": 0}
    client._count({"usage": {"prompt_tokens": 4, "completion_tokens": True}})
    assert client._counts == {"prompt_tokens": 6, "completion_tokens": 0}
