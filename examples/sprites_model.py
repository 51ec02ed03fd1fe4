"""Train and serve a classifier of sprites whose bias is known, because it was planted.

    python examples/sprites_model.py --removed heart --strength strong -o runs/models/planted.safetensors
    python examples/sprites_model.py --removed none -o runs/models/fair.safetensors
    evenhand run sprites --model examples/sprites_model.py:planted -p removed=heart

The first model never sees a green heart, so it learns that green things are no hearts.
``SpriteClassifier`` (``evenhand.workflows.reproduce.sprite_models``) is a pattern for a model of your own: a
class with ``labels``, ``classify`` and ``identity``.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from evenhand.benchmarks.sprites.factors import LEFT_IN_PAPER, SHAPES
from evenhand.benchmarks.sprites.presets import PRESETS, preset
from evenhand.core.errors import UserError
from evenhand.workflows.reproduce.sprite_models import (
    SpriteClassifier,
    build_network,
    fixed_threads,
    save,
    train,
)

__all__ = ["SpriteClassifier", "build_network", "fair", "load", "main", "planted", "save", "train"]


def load(path: str | Path) -> SpriteClassifier:
    """The classifier whose weights are in this file; nothing is read before it is used."""
    return SpriteClassifier(Path(path), _remedy(Path(path)))


def _remedy(path: Path) -> str:
    """The command that makes this file."""
    removed = "none" if path.stem == "fair" else "heart"
    command = ["python", os.path.relpath(__file__), "--removed", removed, "-o", str(path)]
    return f"type: {shlex.join(command)}"


planted: SpriteClassifier = load("runs/models/planted.safetensors")
fair: SpriteClassifier = load("runs/models/fair.safetensors")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train a model and write it; returns the exit code."""
    options = _options(arguments)
    began = time.monotonic()
    try:
        size = preset(options.preset)
        with fixed_threads(size):
            network, record = train(
                size, removed=options.removed, strength=options.strength, seed=options.seed
            )
        save(network, record, options.output)
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    accuracy, alike = record["accuracy"], record["accuracy_when_test_is_biased_alike"]
    seconds = time.monotonic() - began
    print(f"{options.output}: accuracy {accuracy}, {alike} when the test is biased alike, {seconds:.0f} s")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train a classifier of sprites with a planted bias.")
    parser.add_argument(
        "--removed", choices=[*SHAPES, "none"], default="heart", help="shape removed in green"
    )
    parser.add_argument("--strength", choices=list(LEFT_IN_PAPER), default="strong", help="how much of it")
    parser.add_argument("--preset", choices=list(PRESETS), default="quick", help="how much to train")
    parser.add_argument("--seed", type=int, default=0, help="a seed gives the same weights again")
    parser.add_argument("-o", "--output", type=Path, help="default: runs/models/planted.safetensors, or fair")
    options = parser.parse_args(arguments)
    if options.output is None:
        name = "fair" if options.removed == "none" else "planted"
        options.output = Path("runs/models") / f"{name}.safetensors"
    return options


if __name__ == "__main__":
    sys.exit(main())
