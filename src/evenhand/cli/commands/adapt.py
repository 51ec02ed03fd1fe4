"""``evenhand adapt``: an extractor and labelled images in, a new model out."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from rich.console import Console
from rich.progress import Progress, TaskID

from evenhand.cli.arguments.pairs import parse_pairs
from evenhand.cli.summaries.text import clean
from evenhand.core.errors import ParameterError
from evenhand.execution.options import AskOptions
from evenhand.workflows.adapt.engine import Adapted, adapt

_SHOWN = 6


def adapt_model(
    model: str,
    *,
    train: Path | None,
    method: str,
    classes: str | None,
    columns: Mapping[str, str | None],
    parameters: Sequence[str],
    evaluation: Sequence[Path],
    seeds: int,
    seed: int,
    options: Mapping[str, Any],
    quiet: bool,
    out: Path | None,
) -> None:
    """Adapt, write, and print what came of it."""
    if out is None:
        raise ParameterError(
            "adapt writes a model, and needs to know where; add -o DIR, for instance -o models/adapted"
        )
    with _bar(quiet) as progress:
        adaptations = adapt(
            model,
            train=train,
            out=out,
            method=method,
            classes=classes,
            image=columns["image"],
            truth=columns["truth"],
            parameters=parse_pairs("-p", parameters),
            evaluation=evaluation,
            seeds=seeds,
            seed=seed,
            options=AskOptions(**options),
            progress=progress,
        )
    for line in adaptations[0].notes:
        print(line, file=sys.stderr)
    if not quiet:
        print_adapted(adaptations)


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
        some = ", ".join(clean(name, 30) for name in missing[:_SHOWN]) + (
            ", ..." if len(missing) > _SHOWN else ""
        )
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


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr; silent when quiet or not a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _name, _done, _total: None
        return
    with Progress(console=console) as bar:
        bars: dict[str, TaskID] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in bars:
                bars[name] = bar.add_task(name, total=total)
            bar.update(bars[name], completed=done, total=total)

        yield show
