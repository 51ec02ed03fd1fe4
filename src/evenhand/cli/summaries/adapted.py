"""What the terminal says of a new model."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from evenhand.cli.summaries.text import clean
from evenhand.core.errors import first_few
from evenhand.workflows.adapt.engine import Adapted

_SHOWN = 6


def print_adapted(adaptations: Sequence[Adapted]) -> None:
    """Images, accuracy on validation, what was left out, and what to type next."""
    card = adaptations[0].card
    classes, training = card["classes"], card["training"]
    print(f"{card['method']} of {clean(card['extractor']['uri'], 300)}, {len(classes)} classes")
    if training["images"]:
        exposure = (
            f"{adaptations[0].asked:,} asked about"
            if card["method"] == "probe"
            else "each seen in every epoch"
        )
        print(f"{training['images']:,} images, each content once ({exposure})")
    for adapted in adaptations:
        line = _accuracy(adapted.card)
        if line:
            print(f"seed {adapted.card['seed']}: {line}")
    several = [adapted.card["fit"].get("validation_accuracy") for adapted in adaptations]
    if len(adaptations) > 1 and None not in several:
        print(
            f"validation accuracy over seeds: mean {mean(several):.3f}, "
            f"standard deviation {stdev(several):.3f}"
        )
    for entry in card["dropped"]:
        print(f"left out: {entry['count']:,} {clean(entry['reason'], 60)}")
    missing = card["not_found"]
    if missing:
        some = first_few([clean(name, 30) for name in missing], _SHOWN)
        print(f"{len(missing)} classes have no image, and the model can never name them: {some}")
    hyponyms = card["recipe"].get("hyponyms", "none")
    if hyponyms != "none":
        print(
            "classes below those of the taxonomy count in indicators/label_association only with "
            f"-p hyponyms={clean(hyponyms, 300)}"
        )
    print(f"Next:   evenhand run BENCHMARK --model {shlex.quote(adaptations[0].uri)}")


def _accuracy(card: Mapping[str, Any]) -> str:
    fit = card["fit"]
    if fit.get("fit_accuracy") is None:
        return ""
    text = f"right on {fit['fit_accuracy']:.3f} of {fit['fit_images']:,} images fitted on"
    if fit.get("validation_accuracy") is not None:
        text += (
            f", {fit['validation_accuracy']:.3f} of {fit['validation_images']:,} held out "
            f"(mean over classes {fit['validation_mean_class_accuracy']:.3f}, "
            f"by chance {1 / len(card['classes']):.3f})"
        )
    return f"{text}; stopped by {fit['stopped_because']}"
