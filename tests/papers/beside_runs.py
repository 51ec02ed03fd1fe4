"""Small runs of the papers' recipes, with models that answer at random but always the same."""

from __future__ import annotations

import dataclasses
import zlib
from pathlib import Path

import numpy as np
import pytest

from evenhand.benchmarks.sprites import presets
from evenhand.stats.association import permutation
from evenhand.workflows.reproduce.engine import ReproduceOptions, carried_out, planned
from tests.benchmarks import people_layouts
from tests.benchmarks import skewsize_layouts as layouts
from tests.benchmarks.indicator_models import number_of
from tests.cli import test_reproduce as recipes
from tests.conftest import draw_few, leave_pages_out
from tests.gallery import people

WIDTH = 12
STUDY = """
name: tiny
class_axis: {axis}
attribute: gender
classes: [{classes}]
groups: [{{name: female, text: female}}, {{name: male, text: male}}]
templates: ["A {{group}} {{class}}"]
images_per_cell: 10
people: true
question: "{question}"
"""
WORK, SPORT = "What is this person's occupation?", "Which sport is this?"
OCCUPATIONS = ("writer", "doctor", "nurse", "maid")
SPORTS = ("golf", "tennis", "judo", "rugby")
OBJECTS = ("axe", "bee", "cup", "dog", "eye")
PER_CELL, IMAGES = 60, 12  # of a study, and of a class in a domain
SPRITES = dataclasses.replace(presets.preset("quick"), n_train=90, n_test=180, steps=4, batch=16)


class Embeds:
    """Vectors of noise, one for each image and text."""

    version, logit_scale = "1", 10.0

    def _vector(self, key: bytes) -> np.ndarray:
        return np.random.default_rng(zlib.crc32(key)).normal(size=WIDTH).astype(np.float32)

    def embed_images(self, images):
        return np.stack([self._vector(image.tobytes()) for image in images])

    def embed_texts(self, texts):
        return np.stack([self._vector(text.encode()) for text in texts])


class Matches:
    """A probability of noise for each image and text."""

    version = "1"

    def match(self, images, texts):
        keys = [image.tobytes() + text.encode() for image, text in zip(images, texts, strict=True)]
        return np.array([zlib.crc32(key) / 2**32 for key in keys], dtype=np.float32)


class Words:
    """Names what it sees more often rightly in one group than in the other, in four spellings."""

    version = "1"

    def answer(self, images, prompts):
        return [self._answer(number_of(image), prompt) for image, prompt in zip(images, prompts, strict=True)]

    def _answer(self, number: int, prompt: str) -> str:
        lot = np.random.default_rng([number, zlib.crc32(prompt.encode())])
        study = OCCUPATIONS if "occupation" in prompt else SPORTS if "sport" in prompt else None
        names = study or OBJECTS
        n = len(names)  # images of a study go by group, then class; of a domain by class
        truth, group = (
            (number // 2 % n, number % 2) if study else (number // IMAGES % n, number // IMAGES // n)
        )
        wrong = 0.15 + 0.12 * truth * (group % 2)
        choice = names[(truth + (lot.random() < wrong) * (1 + lot.integers(2))) % len(names)]
        return [choice, f"A {choice}.", f"a {choice}", choice.upper()][int(4 * lot.random() ** 2)]


def reproduced(paper: str, folder: Path) -> Path:
    """The folder of a recipe that was carried out on small data."""
    with pytest.MonkeyPatch.context() as patch:
        draw_few(patch)
        leave_pages_out(patch)
        for test in (permutation.permutation_test, permutation.permutation_tests):
            for name, few in (("draws", 99), ("exact_up_to", 8)):
                patch.setitem(test.__kwdefaults__, name, few)
        patch.setitem(presets.PRESETS, "quick", SPRITES)
        data, models = DATA[paper](folder / "data", patch)
        limit = 40 if paper == "indicators" else None
        options = ReproduceOptions(preset="quick", limit=limit)
        plan = planned(paper, models=models, data=data, out=folder / "out", options=options)
        done = carried_out(plan, options)

    lacks = [ready.lacks for ready in done.steps if ready.lacks and "backgrounds" not in ready.lacks]
    assert lacks == [], lacks
    return folder / "out"


def _visogender(folder, patch):
    recipes.write_visogender(folder)
    return [str(folder)], [Embeds()]


def _mmbias(folder, patch):
    recipes.write_mmbias(folder, patch)
    return [str(folder)], [Embeds(), Matches()]


def _skewsize(folder, patch):
    for name, classes, question in (("occupations", OCCUPATIONS, WORK), ("sports", SPORTS, SPORT)):
        study = STUDY.format(axis=name.rstrip("s"), classes=", ".join(classes), question=question)
        layouts.generated(folder / name, PER_CELL, study)
    domains = dict.fromkeys(("clipart", "infograph", "painting", "quickdraw", "real", "sketch"), IMAGES)
    layouts.domainnet(folder / "domainnet", domains, OBJECTS)
    return [f"{name}={folder / name}" for name in ("occupations", "sports", "domainnet")], [Words()]


def _indicators(folder, patch):
    people.conversations(folder / "casual_conversations")
    people.homes(folder / "dollar_street")
    people_layouts.miap(folder / "miap")
    people_layouts.utkface(folder / "utkface")
    names = ("casual_conversations", "dollar_street", "miap", "utkface")
    return [f"{name}={folder / name}" for name in names], [Embeds()]


DATA = {"visogender": _visogender, "mmbias": _mmbias, "skewsize": _skewsize, "indicators": _indicators}
