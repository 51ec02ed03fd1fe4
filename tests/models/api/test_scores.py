"""Scores of continuations are the model's own log-probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.core.errors import UserError
from evenhand.models.adapters.api.faults import FAILED
from evenhand.models.adapters.api.model import CONTINUE
from evenhand.models.adapters.api.scoring import MERGED, NOT_LISTED, first_token_scores


def test_scores_of_the_word_that_opens_the_reply(load, server, direct, pictures):
    prefix = "the doctor and"
    text = f"<|user|><image> {CONTINUE.format(prefix=prefix)}<|assistant|>"
    told = [direct.logprobs(picture, text)[0][-1] for picture in pictures]
    tokens = direct.processor.tokenizer
    model = load(top_logprobs=1000)
    images = [model.prepare(picture) for picture in pictures]
    words = [" his", " her", "dog"]
    scores = model.score_continuations(images, [prefix] * 5, [words] * 5)
    assert scores.dtype == np.float32
    for row, logprobs in zip(scores, told, strict=True):
        for score, word in zip(row, words, strict=True):
            same = [v for i, v in enumerate(logprobs) if tokens.decode([i]).lstrip() == word.lstrip()]
            assert score == pytest.approx(np.logaddexp.reduce(same), abs=1e-4)
    assert np.ptp(scores[:, 0]) > 1e-3, "the images must reach the model"
    logits = model.next_token_logits(images, [prefix] * 5, [words] * 5)
    assert (logits == scores).all()
    assert server.log()["bodies"][0]["max_tokens"] == 1


def test_scores_of_the_next_token_of_an_opened_reply(load, direct, pictures):
    prefix = "the doctor and"
    logprobs, _ = direct.logprobs(pictures[0], f"<|user|><image><|assistant|> {prefix}")
    listed = direct.words(logprobs[-1])
    known = [word for word in listed[:20] if "\N{REPLACEMENT CHARACTER}" not in word]
    # likely, unlikely, of several tokens
    texts = [known[0], known[1], listed[-1], " his her"]
    model = load(prefix="assistant")
    (row,) = model.score_continuations([model.prepare(pictures[0])], [prefix], [texts])
    assert row[:2] == pytest.approx(
        np.sort(logprobs[-1])[::-1][[listed.index(known[0]), listed.index(known[1])]], abs=1e-4
    )
    assert np.isnan(row[2:]).all()
    (missing,) = model.score_continuations([model.prepare(pictures[0])], [prefix], [[listed[-1]]])
    assert (missing.reason, missing.temporary) == (NOT_LISTED, False)


def test_scores_of_whole_continuations_from_the_prompt(load, server, direct, pictures):
    prefixes = ["the doctor and", "", "a photo of the", "who", "his dog"]
    texts = [" his patient", " her", " zebra crossing , yes"]
    model = load(logprobs="prompt")
    images = [model.prepare(picture) for picture in pictures]
    scores = model.score_continuations(images, prefixes, [texts] * 5)
    firsts = model.next_token_logits(images, prefixes, [texts] * 5)
    assert scores.shape == firsts.shape == (5, 3)
    for image, prefix, row, first_row in zip(pictures, prefixes, scores, firsts, strict=True):
        opened = f"<|user|><image><|assistant|>{' ' * bool(prefix)}{prefix}"
        _, before = direct.logprobs(image, opened)
        for text, score, first in zip(texts, row, first_row, strict=True):
            logprobs, ids = direct.logprobs(image, opened + text if prefix else f"{opened} {text}")
            each = [logprobs[place - 1, ids[place]] for place in range(len(before), len(ids))]
            assert score == pytest.approx(sum(each), abs=1e-3)
            assert first == pytest.approx(each[0], abs=1e-4)
    assert server.log()["bodies"][1]["continue_final_message"] is True


def test_a_continuation_that_changes_its_prefix_is_not_scored(load, pictures):
    model = load(logprobs="prompt")
    (row,) = model.score_continuations([model.prepare(pictures[0])], ["the doctor and h"], [["is"]])
    assert (row.reason, row.temporary) == (MERGED, False)


@pytest.mark.parametrize("way", ["top", "prompt"])
def test_one_samples_fault_leaves_the_other_scores(load, server, pictures, way):
    server.break_with("500", times=-1, match="nurse")
    model = load(retries=0, logprobs=way, top_logprobs=1000)
    images = [model.prepare(picture) for picture in pictures[:3]]
    first, failed, last = model.score_continuations(
        images, ["the doctor and", "the nurse and", "the dog"], [[" his"]] * 3
    )
    assert (failed.reason, failed.temporary) == (FAILED, True)
    assert all(row.dtype == np.float32 and math.isfinite(row[0]) for row in (first, last))


@pytest.mark.parametrize("way", ["top", "prompt"])
def test_a_server_without_log_probabilities_is_told_once(load, server, pictures, way):
    server.break_with("empty", times=-1)
    model = load(logprobs=way)
    with pytest.raises(UserError, match="gives no log-probabilities, which scores_continuations needs"):
        model.score_continuations([model.prepare(pictures[0])] * 3, ["the"] * 3, [[" dog"]] * 3)


def test_what_a_server_calls_unlikely_is_not_a_number():
    row = {"token": " his", "logprob": -9999.0}
    told = {"token": " her", "logprob": -0.5, "top_logprobs": [row]}
    answer = {"choices": [{"logprobs": {"content": [told]}}]}
    scores = first_token_scores(answer, [" his", " her"], ignore_space=False)
    assert math.isnan(scores[0])
    assert scores[1] == -0.5, "the token that was chosen counts where the list leaves it out"
    assert first_token_scores(answer, [" his"], ignore_space=False).reason == NOT_LISTED
