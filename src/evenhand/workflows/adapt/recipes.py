"""How a model can be adapted: the methods and their parameters, which together are the recipe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from evenhand.benchmarks.benchmark import Parameter, parse_parameters
from evenhand.core.errors import ParameterError, check_choice

PROBE, FINE_TUNING, ZERO_SHOT = "probe", "fine_tuning", "zero_shot"

_IMAGES = {
    "validation": Parameter(0.1, help="share of each class that is held out, and stops the fit"),
    "per_class": Parameter(0, help="at most so many images of each class; 0: all"),
    "class_weights": Parameter("balanced", ("balanced", "none"), "balanced: each class weighs the same"),
    "hyponyms": Parameter("none", help="none, imagenet-1k or a file of 'parent child' ids; with a taxonomy"),
}


@dataclass(frozen=True)
class Method:
    """One way to adapt a model."""

    name: str
    parameters: Mapping[str, Parameter]  # what -p key=value can set
    needs: tuple[str, ...]  # capabilities of the extractor


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        PROBE: Method(
            PROBE,
            {
                **_IMAGES,
                "vectors": Parameter("raw", ("raw", "unit"), "unit: bring vectors to length 1 first"),
                "l2": Parameter("auto", help="penalty, or auto: chosen by the validation loss"),
                "iterations": Parameter(300, help="of L-BFGS, for each penalty"),
                "patience": Parameter(10, help="iterations without a smaller validation loss; then it stops"),
            },
            ("embeds_images",),
        ),
        FINE_TUNING: Method(
            FINE_TUNING,
            {
                **_IMAGES,
                "epochs": Parameter(30, help="at most; fewer where validation stops it"),
                "patience": Parameter(5, help="epochs without a smaller validation loss; then it stops"),
                "batch": Parameter(32, help="images of a step"),
                "learning_rate": Parameter(5e-5, help="of the network's own weights"),
                "head_learning_rate": Parameter(1e-3, help="of the new last layer"),
                "weight_decay": Parameter(0.05, help="of AdamW; not of offsets and norms"),
                "warm_up": Parameter(0.05, help="share of the steps with a rising learning rate"),
                "label_smoothing": Parameter(0.0, help="in [0, 1)"),
                "crop": Parameter(0.35, help="smallest share of the image in a random crop; 1: no crop"),
                "flip": Parameter("yes", ("yes", "no"), "mirror half of the images"),
                "precision": Parameter("no", ("no", "bf16", "fp16"), "mixed precision of accelerate"),
            },
            (),
        ),
        ZERO_SHOT: Method(
            ZERO_SHOT,
            {
                "templates": Parameter("a photo of a {label}", help="texts, separated by |"),
                "hyponyms": _IMAGES["hyponyms"],
            },
            ("embeds_images", "embeds_texts"),
        ),
    }
)

_SHARES = ("validation", "warm_up", "label_smoothing")
_POSITIVE = ("epochs", "patience", "batch", "iterations", "learning_rate", "head_learning_rate", "crop")
_NOT_NEGATIVE = ("per_class", "weight_decay")


def read_recipe(method: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """All parameters of a method, those given checked and the others at their default."""
    check_choice("--method", method, METHODS)
    values: dict[str, Any] = parse_parameters(METHODS[method], parameters)  # type: ignore[arg-type]
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError(f"-p {name}={value} is not possible; give a finite number")
        if name in _SHARES and not 0 <= value < 1:
            raise ParameterError(f"-p {name}={value} is not possible; give a number in [0, 1)")
        if name in _POSITIVE and not value > 0:
            raise ParameterError(f"-p {name}={value} is not possible; give more than 0")
        if name in _NOT_NEGATIVE and not value >= 0:
            raise ParameterError(f"-p {name}={value} is not possible; give 0 or more")
    if values.get("crop", 1) > 1:
        raise ParameterError(f"-p crop={values['crop']} is not possible; give a share, at most 1")
    if "l2" in values:
        check_penalty(values["l2"], values["validation"])
    return values


def check_penalty(penalty: str, validation: float) -> None:
    """Refuse a penalty that is no number, or that nothing could choose."""
    if penalty == "auto":
        if not validation:
            raise ParameterError(
                "-p l2=auto needs a validation share; give -p l2=0.001, or -p validation=0.1"
            )
        return
    try:
        fine = 0 <= float(penalty) < math.inf
    except ValueError:
        fine = False
    if not fine:
        raise ParameterError(f"-p l2={penalty!r} is not possible; give auto, or a number of 0 or more")
