"""PAIRS: its layout, three ways to ask, blind and planted models, and the real 200 images."""

import csv
import shutil
import zlib
from collections import Counter
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import evenhand as eh
from evenhand.benchmarks.datasets.samples import files
from evenhand.benchmarks.further.pairs.pairs import COLUMNS, IMAGES, QUESTIONS
from evenhand.benchmarks.further.pairs.sources import SOURCE
from evenhand.core.significance import is_beyond
from evenhand.workflows.execution.options import AskOptions
from tests.benchmarks.pairs_release import person_in, release
from tests.models.tiny import build

SHIPPED = list(csv.DictReader(QUESTIONS.open(encoding="utf-8")))
REAL = Path(__file__).resolve().parents[3] / "shared" / "assets" / "pairs"
OPTIONS = AskOptions(keep_answers=False, workers=1)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return release(tmp_path_factory.mktemp("pairs"), without=("status/wine/black_man",))


class Letter:
    """Always the first letter."""

    version = "1"

    def answer(self, images, prompts):
        return ["A."] * len(prompts)


class Coin:
    """A letter at random, another one of each image and order."""

    version = "1"

    def answer(self, images, prompts):
        return [
            "ABC"[zlib.crc32(image.tobytes() + prompt.encode()) % 3]
            for image, prompt in zip(images, prompts, strict=True)
        ]


class Planted:
    """Says of men what is preferred, of women the opposite, and refuses about one scenario."""

    version = "1"
    preferred = {row["first"] if row["preferred"] == "first" else row["second"] for row in SHIPPED}
    opposite = {row["second"] if row["preferred"] == "first" else row["first"] for row in SHIPPED}

    def wording(self, image, options):
        wanted = self.preferred if person_in(image).endswith("_man") else self.opposite
        return next(text for text in options if text in wanted)

    def answer(self, images, prompts):
        replies = []
        for image, prompt in zip(images, prompts, strict=True):
            options = [line[3:] for line in prompt.splitlines() if line[1:3] == ". "]
            is_money = "a drug dealer" in options
            replies.append("I'm sorry, I can't help with that." if is_money else self.wording(image, options))
        return replies


class Scorer(Planted):
    """The same by continuations."""

    answer = None

    def score_continuations(self, images, prefixes, continuations):
        assert all(prefix.startswith("Question: ") for prefix in prefixes)
        return [
            [
                0.0 if text.strip() == self.wording(image, [t.strip() for t in texts]) else -5.0
                for text in texts
            ]
            for image, texts in zip(images, continuations, strict=True)
        ]

    next_token_logits = score_continuations


class DualEncoder(Planted):
    """The same by captions."""

    answer, logit_scale = None, 20.0

    def embed_images(self, images):
        return [[1.0, 0.1] if person_in(image).endswith("_man") else [0.1, 1.0] for image in images]

    def embed_texts(self, texts):
        return [
            [1.0, 0.0] if text.removeprefix("a photo of ") in self.preferred else [0.0, 1.0] for text in texts
        ]


def run(model, data, **parameters):
    return eh.run("pairs", model=model, data=data, parameters=parameters, options=OPTIONS)


def of(result, name, **params):
    """The finding with these parameters."""
    return next(
        finding
        for finding in result.findings
        if finding.name == name and params.items() <= finding.params.items()
    )


@pytest.mark.parametrize("model", [Planted, Scorer, DualEncoder])
def test_what_is_planted_is_found_however_a_model_is_asked(model, data):
    result = run(model(), data)
    jobs = {"section": "occupations", "attribute": "gender", "outcome": "target"}
    assert of(result, "set_difference", **jobs).value == 1
    assert of(result, "set_difference", **{**jobs, "attribute": "race"}).value == 0
    assert of(result, "flip_rate", section="occupations").details["consistency"] == 0
    status = of(result, "set_difference", **{**jobs, "section": "status"})
    assert status.value == 1
    assert (
        status.details["pairs"] == 15
    )  # five questions: two pairs of one scenario, one of the incomplete one
    assert result.tables["incomplete_sets"].height == 5
    assert [d.reason for d in status.dropped] == ["files that are no image of a scenario"]
    if model is Planted:  # a refusal abstains
        crime = {"section": "potential_crime"}
        assert of(result, "flip_rate", **crime).details["consistency"] == 1
        assert set(result.tables["answers"].filter(reason="declined")["role"]) == {"unknown"}


def test_a_letter_is_no_bias(data):
    result = run(Letter(), data)
    values = {finding.name: finding.value for finding in result.findings}
    assert values == {"set_difference": 0, "set_distance": 0, "flip_rate": 0}
    assert not any(map(is_beyond, result.findings))
    answers = result.tables["answers"]
    assert answers["order"].n_unique() == 3  # each option once in each place
    assert dict(answers["role"].value_counts().iter_rows()) == dict.fromkeys(
        ("target", "other", "unknown"), answers.height // 3
    )
    assert "it cannot be told" not in str(run(Letter(), data, unclear="no").tables["unread_answers"])


class Grain:
    """Answers by a digit of a pixel that nobody sees."""

    version = "1"

    def answer(self, images, prompts):
        return ["AB"[int(image[0, 0].sum()) % 2] + "." for image in images]


class Light(DualEncoder):
    """The same by captions."""

    def embed_images(self, images):
        return [[1.0, 0.1] if int(image[0, 0].sum()) % 2 else [0.1, 1.0] for image in images]


def reencoded(file):
    """The first pixel of an image before and after JPEG, by Pillow alone."""
    with Image.open(file) as image, BytesIO() as buffer:
        image.save(buffer, "JPEG", quality=20)
        return [int(np.asarray(picture)[0, 0].astype(int).sum()) for picture in (image, Image.open(buffer))]


def test_flips_stand_beside_those_of_pictures_that_are_encoded_anew(data):
    files = sorted((data / "data" / "occupations").rglob("*.png"))
    expected = np.mean([before % 2 != after % 2 for before, after in map(reencoded, files)])
    assert expected > 0.2
    for model in (Grain(), Light()):
        flips = of(run(model, data, noise="20", orders="first"), "flip_rate", section="occupations")
        assert flips.details["noise_reencoded"] == pytest.approx(expected)
        assert any("encoded anew" in note for note in flips.notes) == (
            flips.details["pair_flips"] <= expected
        )
    still = of(run(Letter(), data, noise="20", orders="first"), "flip_rate", section="occupations")
    assert (still.details["noise_reencoded"], still.notes) == (0, [])
    plain = of(run(Grain(), data, orders="first"), "flip_rate", section="occupations")
    assert "noise_reencoded" not in plain.details
    assert plain.details["pair_flips"] == flips.details["pair_flips"]


def test_a_coin_is_no_bias(data):
    result = run(Coin(), data)
    assert not any(map(is_beyond, result.findings))
    flips = of(result, "flip_rate", section="status")
    assert flips.value > 0.5
    assert flips.null.low <= flips.value <= flips.null.high


def test_the_questions_are_complete_and_yours_can_take_their_place(data, tmp_path):
    assert tuple(SHIPPED[0]) == COLUMNS
    assert Counter(row["section"] for row in SHIPPED) == {
        "occupations": 20,
        "potential_crime": 10,
        "status": 5,
    }
    assert {row["preferred"] for row in SHIPPED} == {"first", "second"}
    for row in SHIPPED:
        assert row["first"] != row["second"]
    file = tmp_path / "mine.csv"
    file.write_text("section,scenario,question,first,second,preferred\nstatus,*,Who?,a boss,a clerk,second\n")
    answers = run(Letter(), data, questions=str(file), orders="first", unclear="no").tables["answers"]
    assert set(answers["role"]) == {"other"}  # the first letter, a boss, is not preferred
    assert answers.height == 7


def test_what_is_fetched_is_what_a_clone_has(data, tmp_path):
    urls = {link.id: link.url for link in SOURCE.links(tmp_path)}
    assert len(urls) == len(set(urls.values())) == 200
    assert urls["status.phone.white_man"].endswith("/507075a/data/status/phone/white_man1.png")
    skipped = [link.id for link in SOURCE.links(data) if link.skip]
    assert len(skipped) == 19  # all that were drawn
    images = tmp_path / "images"
    images.mkdir()
    rows, pictures, _ = files(data, *IMAGES)
    for section, scenario, race, gender, number in rows.rows():
        shutil.copy(pictures.paths[number], images / f"{section}.{scenario}.{race}_{gender}.png")
    assert files(tmp_path, *IMAGES)[0].equals(rows)
    assert [(part.present, part.expected) for part in SOURCE.parts(tmp_path)] == [(8, 80), (4, 40), (7, 80)]


@pytest.mark.skipif(not REAL.is_dir(), reason="the 200 images of PAIRS are in shared/assets")
def test_the_real_images_are_asked_about_completely():
    assert all(part.whole for part in SOURCE.parts(REAL))
    assert all(link.skip for link in SOURCE.links(REAL))
    result = run(f"hf:{build('clip')}", REAL)
    assert result.manifest["rows"] == 520
    assert result.tables["incomplete_sets"].is_empty()
    sizes = {finding.params["section"]: finding.n for finding in result.findings}
    assert sizes == {"occupations": 80, "potential_crime": 40, "status": 400}
    for finding in result.findings:
        assert finding.value is not None
        assert np.isfinite(finding.interval.low)
        assert finding.mde is not None or finding.name != "set_difference"
