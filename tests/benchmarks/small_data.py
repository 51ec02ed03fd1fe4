"""Small data for every benchmark, and models whose answers have nothing to do with what they are shown."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.benchmarks.visogender.data.taxonomy import OCCUPATIONS
from tests.benchmarks import further_layouts, mmbias_release, pairs_release, visogender_release
from tests.benchmarks import skewsize_layouts as layouts
from tests.gallery import people, words

CLASSES = ("goldfish", "bullfrog", "goose")
PLACES = ("in the grass", "in the water", "in the snow")


class Unknowing:
    """Normal numbers that belong to an image or text, and to a seed; with None it always says the same."""

    labels, wordnet_ids = (), ()

    def __init__(self, seed=0):
        self.seed = seed

    @property
    def version(self):
        return str(self.seed)

    def numbers(self, width, *given):
        if self.seed is None:
            return np.ones(width, dtype=np.float32)
        content = b"".join(np.asarray(one).tobytes() for one in given)
        rng = np.random.default_rng([self.seed, zlib.crc32(content)])
        return rng.normal(size=width).astype(np.float32)


class Rooms(Unknowing):
    labels = people.NAMES

    def classify(self, images):
        return [self.numbers(len(self.labels), image) for image in images]


class Classifier(Rooms):
    labels = people.LABELS
    wordnet_ids = people.IDS


class Sprites(Rooms):
    labels = ("square", "ellipse", "heart")


class DualEncoder(Unknowing):
    logit_scale = 10.0

    def embed_images(self, images):
        return [self.numbers(32, image) for image in images]

    def embed_texts(self, texts):
        return [self.numbers(32, text) for text in texts]


class Matcher(Unknowing):
    def match(self, images, texts):
        pairs = zip(images, texts, strict=True)
        return [float(1 / (1 + np.exp(self.numbers(1, image, text)[0]))) for image, text in pairs]


class Scorer(Unknowing):
    def score_continuations(self, images, prefixes, continuations):
        given = zip(images, prefixes, continuations, strict=True)
        return [self.numbers(len(texts), image, prefix) for image, prefix, texts in given]

    next_token_logits = score_continuations


class Everything(Sprites, DualEncoder, Matcher, Scorer):
    """Answers whatever a benchmark asks; its labels are those of one that is added without data."""

    def answer(self, images, prompts):
        return ["one"] * len(prompts)


class Speaker(Unknowing):
    def answer(self, images, prompts):
        words = ("A.", "B.", "C.", "nurse", *CLASSES)
        return [
            words[int(self.numbers(len(words), image, prompt).argmax())]
            for image, prompt in zip(images, prompts, strict=True)
        ]


STUDIES = ("sports", "backgrounds", "domainnet", "waterbirds", "celeba")
IMAGES = {"image": "path", "truth": "label", "by": "light"}
ASKED = [
    ("classification", Classifier, "own/images.csv", IMAGES),
    ("classification", DualEncoder, "own/images.csv", IMAGES),
    ("clip/fairface_words", DualEncoder, "fairface", {}),
    ("facet", DualEncoder, "facet", {}),
    ("geode", DualEncoder, "geode", {}),
    ("indicators/geography", Rooms, "homes", {"concept_map": people.CONCEPTS}),
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
"""Benchmarks, models that answer them, where their data lie and what they are told."""
KNOWN = {name for name, *_ in ASKED}
ASKED += [(name, Everything, "", {}) for name in BENCHMARKS.names() if name not in KNOWN]
"""One that is added is asked without data and parameters, until it has a line above."""


def write(folder: Path, times: int = 1) -> None:
    """Data for every benchmark; ``times``: how many times as much of it. Groups are of unequal size."""
    people.conversations(folder / "people")
    people.homes(folder / "homes")
    further_layouts.fairface(folder / "fairface", 8 * times)
    further_layouts.geode(folder / "geode", 36 * times)
    further_layouts.facet(folder / "facet", 30 * times)
    further_layouts.counterfactuals(folder / "counterfactuals", 1)
    pairs_release.release(folder / "pairs")
    visogender_release.release(folder / "visogender", ["doctor"] if times == 1 else list(OCCUPATIONS))
    (mmbias_release.release if times == 1 else words.write_associations)(folder / "mmbias")
    layouts.generated(folder / "occupations", 2 * times)
    sizes = {"female": 2 * times, "male": 3 * times}
    sports = ("archery", "boxing", "curling", "diving")
    layouts.cells(folder / "sports", {f"{name}/{group}": sizes[group] for name in sports for group in sizes})
    cells = {f"{name}/{place}": 2 * times for name in CLASSES for place in PLACES}
    layouts.cells(folder / "backgrounds", cells)
    (folder / "domainnet").mkdir()
    domains = {"clipart": 2 * times, "real": 3 * times, "sketch": times}
    layouts.domainnet(folder / "domainnet", domains, ("axe", "zebra", "banana"))
    birds = [(n, f"{n:03}.Bird/{n}.png", int(n % 3 == 0), 2, int(n % 4 == 1)) for n in range(20 * times)]
    layouts.waterbirds(folder / "waterbirds", birds)
    faces = [(f"{n:06}.png", *(1 if n % step == 0 else -1 for step in (2, 3, 5))) for n in range(24 * times)]
    layouts.celeba(folder / "celeba", faces, [(name, 2) for name, *_ in faces])
    _questions(folder)
    for number in range(3 * times):
        drawn(folder / "portraits" / f"a_person_{number % 2}" / f"{number}.png", 9, number)
    lines = ["path,label,light"]
    for number in range(20 * times):
        drawn(folder / "own" / f"{number}.png", number, number // 7)
        light = ("day", "day", "dusk", "night", "day")[number % 5]
        lines.append(f"{number}.png,{('lamp', 'tie', 'suit')[number // 5 % 3]},{light}")
    (folder / "own" / "images.csv").write_text("\n".join(lines))


def drawn(path: Path, red: int, green: int) -> None:
    """An image of one colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (red, green, 0)).save(path)


def _questions(folder: Path) -> None:
    """BBQ-V and GRAS."""
    drawn(folder / "bbq_v" / "0.png", 0, 0)
    options = {"ans0": "Unknown", "ans1": "an old man", "ans2": "a young man", "label": 0, "target_loc": 1}
    question = {"context": "Two met.", "question": "Who forgot it?", "image_path": "0.png", **options}
    (folder / "bbq_v" / "questions.json").write_text(json.dumps([question] * 2))
    for number in range(4):
        drawn(folder / "gras" / f"{number}.png", number, 9)
    faces = [f"{number}.png,20-29,{('Male', 'Female')[number % 2]},White" for number in range(4)]
    (folder / "gras" / "selected_images_fairface.csv").write_text("\n".join(["file,age,gender,race", *faces]))
    (folder / "gras" / "selected_trait_words.csv").write_text("WORD_ENGLISH,pos/neg\nkind,pos\nrude,neg\n")
