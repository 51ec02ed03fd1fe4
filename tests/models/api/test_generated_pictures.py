"""Images from a served model: a picture for each prompt, faults retried, refusals told from trouble."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from evenhand.core.capabilities import NotAnswered
from evenhand.core.errors import UserError
from evenhand.models.adapters.api.faults import CUT, FAILED, LIMITED, REFUSED
from evenhand.models.adapters.api.pictures import GARBLED
from evenhand.models.identity.source import ImageOptions, LoadOptions
from evenhand.models.resolve import resolve
from tests.models.api.conftest import Served
from tests.models.api.virtual_time import Clock
from tests.models.api_server import draw

PROMPTS = ["a doctor", "a nurse in the street", "an engineer"]
SEEDS = [1, 2, 3]


@pytest.fixture(scope="module")
def painter():
    pytest.importorskip("openai")
    server = Served()
    yield server
    server.end()


@pytest.fixture
def clock(painter, monkeypatch):
    with Clock(painter).installed(monkeypatch) as governing:
        yield governing


@pytest.fixture
def served(painter, clock):
    """Models that make images at the server: ``served(size=48)``."""
    painter.post("/admin/clear", {})
    loaded = []

    def load_model(query="retries=2", **options):
        uri = f"api:tiny@{painter.url}?{query}"
        loaded.append(resolve(uri, LoadOptions(images=ImageOptions(**options))).load())
        return loaded[-1]

    yield load_model
    for model in loaded:
        model.close()


def expected(prompt, seed, size=64):
    told = draw({"prompt": prompt, "seed": seed, "size": f"{size}x{size}"})
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(told["b64_json"]))))


def test_each_prompt_gets_its_picture_in_order(served, painter):
    made = served(size=48).generate(PROMPTS, SEEDS)
    for image, prompt, seed in zip(made, PROMPTS, SEEDS, strict=True):
        assert image.dtype == np.uint8
        assert np.array_equal(image, expected(prompt, seed, 48))
    bodies = {body["prompt"]: body for body in painter.log()["bodies"]}
    assert bodies["a doctor"]["seed"] == 1
    assert bodies["a doctor"]["response_format"] == "b64_json"
    assert bodies["a doctor"]["size"] == "48x48"
    assert bodies["a doctor"]["n"] == 1


def test_usage_counts_tokens_and_says_that_seeds_were_sent(served):
    model = served()
    model.generate(PROMPTS, SEEDS)
    usage = model.usage()
    assert (usage["requests"], usage["prompt_tokens"], usage["completion_tokens"]) == (3, 9, 15)
    assert usage["seeds"] == "sent"


@pytest.mark.parametrize("kind", ["429", "500", "garbled", "garbled base64", "cut"])
def test_a_passing_fault_is_retried(served, painter, kind):
    painter.break_with(kind, match="nurse")
    model = served()
    made = model.generate(PROMPTS, SEEDS)
    assert all(isinstance(image, np.ndarray) for image in made)
    assert np.array_equal(made[1], expected(PROMPTS[1], 2))
    assert model.usage()["retries"] == 1


@pytest.mark.parametrize(
    ("kind", "reason", "temporary"),
    [
        ("429", LIMITED, True),
        ("500", FAILED, True),
        ("garbled base64", CUT, True),
        ("no image", GARBLED, True),
        ("policy", REFUSED, False),
        ("400", REFUSED, True),  # whatever it was, it was not said to be against the rules
    ],
)
def test_a_lasting_fault_concerns_one_image(served, painter, kind, reason, temporary):
    painter.break_with(kind, times=-1, match="nurse")
    made = served("retries=0").generate(PROMPTS, SEEDS)
    assert isinstance(made[1], NotAnswered)
    assert (made[1].reason, made[1].temporary) == (reason, temporary)
    assert np.array_equal(made[0], expected(PROMPTS[0], 1))
    assert np.array_equal(made[2], expected(PROMPTS[2], 3))


@pytest.mark.parametrize(("kind", "field"), [("seed", "seed"), ("format", "response_format")])
def test_what_a_server_does_not_take_is_left_out(served, painter, kind, field):
    painter.break_with(kind)
    model = served()
    made = model.generate(PROMPTS, SEEDS)
    assert all(isinstance(image, np.ndarray) for image in made)
    assert [field in body for body in painter.log()["bodies"]] == [True, False, False, False]
    assert model.usage()["seeds"] == ("not taken" if field == "seed" else "sent")


def test_no_seed_is_sent_on_request(served, painter):
    served("seed=none").generate(PROMPTS[:1], SEEDS[:1])
    assert "seed" not in painter.log()["bodies"][0]


def test_an_impossible_size_stops_at_once(served, painter):
    painter.break_with("size", times=-1)
    with pytest.raises(UserError, match=r"does not make images of --size 48: choose 1024x1024"):
        served(size=48).generate(PROMPTS, SEEDS)
    assert len(painter.log()["bodies"]) == 1


def test_addresses_in_place_of_images_stop_at_once(served, painter):
    painter.break_with("address", times=-1)
    with pytest.raises(UserError, match="gives addresses of images and no images"):
        served().generate(PROMPTS, SEEDS)
    assert len(painter.log()["bodies"]) == 1


def test_steps_are_refused_before_anything_is_asked(served, painter):
    with pytest.raises(UserError, match="takes no --steps or --guidance"):
        served(steps=3)
    assert painter.log()["bodies"] == []


def test_identity_of_an_image_model_has_nothing_of_answers(painter):
    source = resolve(f"api:tiny@{painter.url}", LoadOptions(images=ImageOptions(size=48)))
    assert source.identity() == {
        "name": "tiny",
        "server": painter.url,
        "weights": "unknown (served)",
        "size": "48",
        "seed": "of each image",
    }
    assert "generates_images" in source.capabilities()
    assert "decoding" in resolve(f"api:tiny@{painter.url}").identity()
