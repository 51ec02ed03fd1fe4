"""The benchmark ``sprites``: does the audit find the bias that was planted, and only that?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.datasets.labelled_images import LabelledImages
from evenhand.benchmarks.labelling.elicitation import WAYS, Labels, choose_way, predictions, questions
from evenhand.benchmarks.labelling.measures import label_warnings
from evenhand.benchmarks.sprites.factors import (
    COLOURS,
    LEFT_IN_PAPER,
    SHAPES,
    Factors,
    left_fraction,
    plant,
    train_test_split,
)
from evenhand.benchmarks.sprites.presets import PRESETS, preset
from evenhand.benchmarks.sprites.render import render
from evenhand.core.capabilities import Pixels
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.files.images.sources import FirstImages
from evenhand.metrics.classification.accuracy import accuracy
from evenhand.metrics.classification.disparities.mistakes import prediction_differences
from evenhand.metrics.suites.audit import audit_grouping
from evenhand.metrics.suites.families import AUDIT

_LABELS = Labels(tuple(SHAPES), tuple(SHAPES))
LIKE_TRAINING = "like_training"
RENDERING = "sprites/1"  # changes when the same factors would give other pixels


@dataclass(frozen=True, eq=False)
class RenderedSprites:
    """Sprites as images, drawn when they are asked for."""

    sprites: Factors

    def __len__(self) -> int:
        return len(self.sprites)

    def digest(self, index: int) -> str:
        """The factors that the sprite is drawn from."""
        return self.digests(index, index + 1)[0]

    def digests(self, start: int, stop: int) -> list[str]:
        """Those of several sprites."""
        return [f"{RENDERING}/{index}" for index in self.sprites.take(slice(start, stop)).index().tolist()]

    def load(self, index: int) -> Pixels:
        """One sprite, uint8 RGB, shape (64, 64, 3)."""
        return np.asarray(render(self.sprites.take(slice(index, index + 1)))[0])


class Sprites(Benchmark[None]):
    """Test sprites of every shape in every colour; truth is the shape, the attribute is the colour."""

    name = "sprites"
    primaries = AUDIT
    parameters: Mapping[str, Parameter] = {
        "preset": Parameter("quick", tuple(PRESETS), "size of the test set, as in training"),
        "removed": Parameter("none", (*SHAPES, "none"), "shape whose green sprites training lacked"),
        "strength": Parameter("strong", tuple(LEFT_IN_PAPER), "how many of them it lacked"),
        "ask": Parameter("auto", ("auto", *WAYS), "how a shape is asked for"),
        "templates": Parameter("a {label} on a black background", help="zero_shot: texts, separated by |"),
        "prompt": Parameter(
            "Which shape does this image show? Answer with one of: {labels}.", help="answer: what is asked"
        ),
        "mode": Parameter("default", ("default", "paper"), "paper: Yates' correction, as the listing has it"),
    }
    paper = MappingProxyType({"preset": "paper"})
    artifacts = ("skewsize/table1", "skewsize/table2", "skewsize/table5")

    def plan(self, setting: Setting) -> Plan[None]:
        """Unmanipulated test sprites; those that a set biased like the training set would keep are marked."""
        size = preset(setting.text("preset")).n_test
        _, test = train_test_split(setting.seed, 0, size)
        is_like_training = _mark_like_training(test, setting.text("removed"), setting.text("strength"))
        annotations = pl.DataFrame(
            {
                "sample": [f"sprite-{index:07d}" for index in test.index().tolist()],
                "truth": [SHAPES[code] for code in test.shape.tolist()],
                "colour": [COLOURS[code] for code in test.colour.tolist()],
                LIKE_TRAINING: is_like_training,
            }
        ).head(len(test) if setting.limit is None else setting.limit)
        samples = LabelledImages(annotations, FirstImages(RenderedSprites(test), len(annotations)))
        way = choose_way(setting.text("ask"), setting.capabilities, self.name)
        return Plan(annotations, questions(way, samples, _LABELS, setting.parameters), by=[("colour",)])

    def measure(self, answered: Answered[None]) -> Measured:
        """The audit by colour, and the accuracy on a test set biased like the training set."""
        seed, mode = answered.setting.seed, answered.setting.parameters["mode"]
        parameters = answered.setting.parameters
        way = choose_way(str(parameters["ask"]), answered.setting.capabilities, self.name)
        predicted, unusable = predictions(way, answered.evidence, _LABELS, parameters, answered.facts)
        shapes = predicted.join(answered.plan.annotations.lazy(), on="sample")
        evidence = Predictions.from_frame(shapes, truth="truth", prediction="prediction")
        counts = evidence.count(["colour", LIKE_TRAINING])
        findings, prepared = audit_grouping(counts.project(["colour"]), ["colour"], seed=seed, mode=mode)
        alike = accuracy(counts.where(LIKE_TRAINING, True))
        params = {"samples": "like training"}
        findings.append(
            alike.model_copy(update={"params": params, "metric": "accuracy(samples=like training)"})
        )
        return Measured(
            findings,
            {"predictions": counts},
            {"mistakes": prediction_differences(prepared, by=["colour"], seed=seed)},
            unusable,
            warnings=label_warnings(counts, "truth", shared=way != "classify"),
        )


def _mark_like_training(test: Factors, removed: str, strength: str) -> list[bool]:
    if removed == "none":
        return [True] * len(test)
    remaining = plant(test, removed=removed, left=left_fraction(strength))
    marks: list[bool] = np.isin(test.index(), remaining.index()).tolist()
    return marks


SPRITES = Sprites()
