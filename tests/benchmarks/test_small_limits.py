"""Every benchmark measures, prints and reports whatever ``--limit`` leaves, down to one sample."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import evenhand as eh
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.cli.summaries.findings import print_summary
from evenhand.workflows.execution.options import AskOptions
from tests.benchmarks import further_layouts, mmbias_release, pairs_release, visogender_release
from tests.benchmarks import skewsize_layouts as layouts
from tests.gallery import people

pytestmark = pytest.mark.usefixtures("few_draws")
LIMITS = (1, 2, 3)
CLASSES = ("goldfish", "bullfrog", "goose")


def numbers(width: int, *given: object) -> np.ndarray:
    """Normal numbers that belong to an image or text."""
    content = b"".join(np.asarray(one).tobytes() for one in given)
    return np.random.default_rng(zlib.crc32(content)).normal(size=width).astype(np.float32)


class Rooms:
    version = "1"
    labels = people.NAMES

    def classify(self, images):
        return [numbers(len(self.labels), image) for image in images]


class Classifier(Rooms):
    labels = people.LABELS
    wordnet_ids = people.IDS


class Sprites(Rooms):
    labels = ("square", "ellipse", "heart")


class DualEncoder:
    version = "1"
    logit_scale = 10.0

    def embed_images(self, images):
        return [numbers(8, image) for image in images]

    def embed_texts(self, texts):
        return [numbers(8, text) for text in texts]


class Matcher:
    version = "1"

    def match(self, images, texts):
        return [1 / (1 + np.exp(numbers(1, image, text))) for image, text in zip(images, texts, strict=True)]


class Scorer:
    version = "1"

    def score_continuations(self, images, prefixes, continuations):
        given = zip(images, prefixes, continuations, strict=True)
        return [numbers(len(texts), image, prefix) for image, prefix, texts in given]

    next_token_logits = score_continuations


class Everything(Rooms, DualEncoder, Matcher, Scorer):
    """Answers whatever a benchmark asks."""

    labels = ("one", "other")

    def answer(self, images, prompts):
        return ["one"] * len(prompts)


class Speaker:
    version = "1"

    def answer(self, images, prompts):
        words = ("A.", "B.", "C.", "nurse", *CLASSES)
        return [
            words[int(numbers(len(words), image, prompt).argmax())]
            for image, prompt in zip(images, prompts, strict=True)
        ]


STUDIES = ("sports", "backgrounds", "domainnet", "waterbirds", "celeba")
ASKED = [
    ("classification", Classifier, "own/images.csv", {"image": "path", "truth": "label", "by": "light"}),
    ("classification", DualEncoder, "own/images.csv", {"image": "path", "truth": "label", "by": "light"}),
    ("clip/fairface_words", DualEncoder, "fairface", {}),
    ("facet", DualEncoder, "facet", {}),
    ("geode", DualEncoder, "geode", {}),
    ("indicators/geography", Rooms, "homes", {"concept_map": "concepts.json"}),
    ("indicators/label_association", Classifier, "people", {"top": "2"}),
    ("indicators/retrieval", DualEncoder, "people", {"k": "1,50"}),
    ("mmbias/association", DualEncoder, "mmbias", {}),
    ("mmbias/matching", Matcher, "mmbias", {"pairs": "muslim:christian,arab:american"}),
    ("pairs", DualEncoder, "pairs", {}),
    ("pairs", Speaker, "pairs", {}),
    ("bbq_v", Scorer, "bbq_v", {}),
    ("gras", Scorer, "gras", {}),
    ("portraits", DualEncoder, "portraits", {}),
    *((f"skewsize/{study}", DualEncoder, study, {}) for study in STUDIES),
    ("skewsize/backgrounds", Speaker, "backgrounds", {}),
    ("skewsize/occupations", Speaker, "occupations", {}),
    ("social_counterfactuals", DualEncoder, "counterfactuals", {}),
    ("sprites", Sprites, "", {}),
    ("visogender/resolution", DualEncoder, "visogender", {}),
    ("visogender/resolution", Matcher, "visogender", {}),
    ("visogender/resolution", Scorer, "visogender", {"ask": "continuations"}),
    ("visogender/resolution", Scorer, "visogender", {"ask": "first_token"}),
    ("visogender/resolution", Speaker, "visogender", {}),
    ("visogender/retrieval", DualEncoder, "visogender", {}),
]
KNOWN = {name for name, *_ in ASKED}
ASKED += [(name, Everything, "", {}) for name in BENCHMARKS.names() if name not in KNOWN]
"""One that is added is asked without data and parameters, until it has a line above."""


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Small data for every benchmark."""
    folder = tmp_path_factory.mktemp("data")
    people.conversations(folder / "people")
    further_layouts.fairface(folder / "fairface", 8)
    further_layouts.geode(folder / "geode", 36)
    further_layouts.facet(folder / "facet", 30)
    further_layouts.counterfactuals(folder / "counterfactuals", 1)
    people.homes(folder / "homes")
    mmbias_release.release(folder / "mmbias")
    pairs_release.release(folder / "pairs")
    (folder / "bbq_v").mkdir()
    Image.new("RGB", (8, 8)).save(folder / "bbq_v" / "0.png")
    options = {"ans0": "Unknown", "ans1": "an old man", "ans2": "a young man", "label": 0, "target_loc": 1}
    (folder / "gras").mkdir()
    for number in range(4):
        Image.new("RGB", (8, 8), (number, 9, 0)).save(folder / "gras" / f"{number}.png")
    for number in range(3):
        picture = folder / "portraits" / f"a_person_{number % 2}" / f"{number}.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (9, number, 0)).save(picture)
    faces = [f"{number}.png,20-29,{('Male', 'Female')[number % 2]},White" for number in range(4)]
    (folder / "gras" / "selected_images_fairface.csv").write_text("\n".join(["file,age,gender,race", *faces]))
    (folder / "gras" / "selected_trait_words.csv").write_text("WORD_ENGLISH,pos/neg\nkind,pos\nrude,neg\n")
    question = {"context": "Two met.", "question": "Who forgot it?", "image_path": "0.png", **options}
    (folder / "bbq_v" / "questions.json").write_text(json.dumps([question] * 2))
    visogender_release.release(folder / "visogender", ["doctor"])
    layouts.generated(folder / "occupations", 2)
    cells = {f"{name}/{group}": 2 for name in ("archery", "boxing") for group in ("female", "male")}
    layouts.cells(folder / "sports", cells)
    places = ("in the grass", "in the water")
    layouts.cells(folder / "backgrounds", {f"{name}/{place}": 2 for name in CLASSES for place in places})
    (folder / "domainnet").mkdir()
    layouts.domainnet(folder / "domainnet", {"clipart": 2, "real": 2}, ("axe", "zebra"))
    rows = [(number, f"{number:03}.Bird/{number}.png", number % 2, 2, number // 2 % 2) for number in range(8)]
    layouts.waterbirds(folder / "waterbirds", rows)
    faces = [(f"{n:06}.png", *(1 if n >> bit & 1 else -1 for bit in range(3))) for n in range(8)]
    layouts.celeba(folder / "celeba", faces, [(name, 2) for name, *_ in faces])
    (folder / "own").mkdir()
    lines = ["path,label,light"]
    for number in range(8):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / "own" / f"{number}.png")
        lines.append(f"{number}.png,{('lamp', 'tie')[number % 2]},{('day', 'night')[number // 2 % 2]}")
    (folder / "own" / "images.csv").write_text("\n".join(lines))
    return folder


def test_no_benchmark_is_lost() -> None:
    assert set(BENCHMARKS.names()) >= KNOWN


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: f"{asked[0]}-{asked[1].__name__}-{len(asked[3])}")
def test_any_limit_gives_findings_with_a_reason_for_each_that_has_no_value(
    data, monkeypatch, capsys, asked, limit
) -> None:
    benchmark, model, place, given = asked
    monkeypatch.chdir(data)
    options = AskOptions(keep_answers=False, workers=1)
    where = data / place if place else None
    run = eh.run(benchmark, model=model(), data=where, parameters=given, limit=limit, options=options)
    assert run.findings.findings
    for finding in run.findings.findings:
        assert finding.value is not None or finding.reason, finding.name
    print_summary(run, data, verbose=True)
    assert capsys.readouterr().out
    assert "<html" in run.html()
