"""The benchmark ``sprites``: does the audit find the bias that was planted, and only that?"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np
import polars as pl

from evenhand.benchmarks.declaration import Measured, Parameter, Samples
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
from evenhand.evidence.predictions import Predictions
from evenhand.metrics.group_accuracy import accuracy
from evenhand.metrics.mistakes import prediction_differences
from evenhand.metrics.suite import audit_grouping

LIKE_TRAINING = "like_training"


class Sprites:
    """Test sprites of every shape in every colour; truth is the shape, the attribute is the colour."""

    name = "sprites"
    parameters: Mapping[str, Parameter] = {
        "preset": Parameter("quick", tuple(PRESETS), "size of the test set, as in training"),
        "removed": Parameter("none", (*SHAPES, "none"), "shape whose green sprites training lacked"),
        "strength": Parameter("strong", tuple(LEFT_IN_PAPER), "how many of them it lacked"),
    }
    attributes = ("colour",)
    artifacts = ("skewsize/table1", "skewsize/table2", "skewsize/table5")

    def samples(self, parameters: Mapping[str, Any], seed: int) -> Samples:
        """Unmanipulated test sprites; those that a set biased like the training set would keep are marked."""
        _, test = train_test_split(seed, 0, preset(str(parameters["preset"])).n_test)
        annotations = pl.DataFrame(
            {
                "sample": [f"sprite-{index:07d}" for index in test.index().tolist()],
                "truth": [SHAPES[code] for code in test.shape.tolist()],
                "colour": [COLOURS[code] for code in test.colour.tolist()],
                LIKE_TRAINING: _kept(test, str(parameters["removed"]), str(parameters["strength"])),
            }
        )
        return Samples(annotations, lambda start, stop: render(test.take(np.arange(start, stop))))

    def measure(self, predictions: pl.DataFrame, *, seed: int) -> Measured:
        """The audit by colour, and the accuracy on a test set biased like the training set."""
        evidence = Predictions.from_frame(predictions, truth="truth", prediction="prediction")
        counts = evidence.count(["colour", LIKE_TRAINING])
        findings, prepared = audit_grouping(counts.project(["colour"]), ["colour"], seed=seed)
        alike = accuracy(counts.where(LIKE_TRAINING, True))
        params = {"samples": "like training"}
        findings.append(
            alike.model_copy(update={"params": params, "metric": "accuracy(samples=like training)"})
        )
        return Measured(
            findings,
            {"predictions": counts},
            {"mistakes": prediction_differences(prepared, by=["colour"], seed=seed)},
        )

    def card(self) -> str:
        """Source, licence and limits."""
        return files(__package__).joinpath("card.md").read_text(encoding="utf-8")


def _kept(test: Factors, removed: str, strength: str) -> list[bool]:
    if removed == "none":
        return [True] * len(test)
    kept = plant(test, removed=removed, left=left_fraction(strength))
    marks: list[bool] = np.isin(test.index(), kept.index()).tolist()
    return marks


SPRITES = Sprites()
