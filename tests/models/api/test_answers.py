"""Answers of the ``api:`` adapter are those of the model behind the server."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest

from evenhand.core.capabilities import AnswersQuestions, PreparesImages, ScoresContinuations
from tests.models.api.conftest import PROMPTS, ask


def test_answers_are_those_of_the_model_asked_directly(load, direct, pictures):
    answers = ask(load(), pictures)
    assert answers == [direct.answer(picture, text) for picture, text in zip(pictures, PROMPTS, strict=True)]
    assert len(set(answers)) == len(answers)
    assert len(set(ask(load(), pictures, ["who is this ?"] * 5))) > 1, "the images must reach the model"


def test_the_model_meets_its_capabilities(load):
    model = load()
    assert isinstance(model, AnswersQuestions)
    assert isinstance(model, ScoresContinuations)
    assert isinstance(model, PreparesImages)


def test_png_is_lossless_and_jpeg_is_possible(load, pictures):
    from PIL import Image

    sent = {kind: load(image=kind).prepare(pictures[0]) for kind in ("png", "jpeg")}
    decoded = {
        kind: np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1]))))
        for kind, url in sent.items()
    }
    assert sent["png"].startswith("data:image/png;base64,")
    assert sent["jpeg"].startswith("data:image/jpeg;base64,")
    assert (decoded["png"] == pictures[0]).all()
    assert decoded["jpeg"].shape == pictures[0].shape
    assert (decoded["jpeg"] != pictures[0]).any()


def test_a_question_without_an_image(load, direct):
    (answer,) = load().answer([None], ["is the doctor happy ?"])
    assert answer == direct.answer(None, "is the doctor happy ?")


def test_what_is_sent(load, server, pictures):
    ask(load(), pictures[:1], PROMPTS[:1])
    ask(load(temperature="none", seed="none"), pictures[:1], PROMPTS[:1])
    plain, bare = server.log()["bodies"]
    assert plain == {"model": "tiny", "temperature": 0.0, "seed": 0, "max_tokens": 8}
    assert bare == {"model": "tiny", "max_tokens": 8}


def test_newer_models_name_the_length_otherwise(load, server, pictures):
    expected = ask(load(), pictures)
    server.break_with("length field")
    assert ask(load(), pictures) == expected
    fields = [next(name for name in body if name.startswith("max_")) for body in server.log()["bodies"][5:]]
    assert fields == ["max_tokens"] + ["max_completion_tokens"] * 5


@pytest.mark.parametrize("concurrency", [1, 2, 8])
def test_order_is_kept_and_concurrency_is_limited(load, server, direct, pictures, concurrency):
    prompts = ["cat", "SLOW dog", "SLOW car", "street", "house", "SLOW man", "woman", "person"]
    images = [pictures[number % 5] for number in range(8)]
    together = min(concurrency, 3)  # slow ones are answered when so many have arrived
    server.post("/admin/together", together)
    answers = ask(load(concurrency=concurrency), images, prompts)
    assert answers == [direct.answer(image, text) for image, text in zip(images, prompts, strict=True)]
    assert together <= server.log()["most"] <= concurrency


def test_requests_a_minute_are_limited(load, clock, pictures):
    ask(load(rpm=300), pictures)
    assert np.diff(clock.sent) == pytest.approx([0.2] * 4)


def test_usage_counts_tokens_attempts_and_cost(load, server, direct, pictures):
    model = load(price_in=2, price_out=10)
    assert model.usage()["requests"] == 0
    server.break_with("500")
    ask(model, pictures)
    texts = [f"<|user|><image> {prompt}<|assistant|>" for prompt in PROMPTS]
    prompt_tokens = sum(direct.inputs(pictures[0], text)["input_ids"].shape[1] for text in texts)
    used = model.usage()
    assert used["requests"] == 6
    assert used["retries"] == 1
    assert used["prompt_tokens"] == prompt_tokens
    assert 5 <= used["completion_tokens"] <= 40
    assert used["cost"] == pytest.approx((2 * prompt_tokens + 10 * used["completion_tokens"]) / 1e6)
    assert used["served_as"] == ["tiny-1.0 fp_tiny"]
    assert "cost" not in load().usage()
