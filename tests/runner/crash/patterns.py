"""A benchmark and models for tests of the run engine: generated images, answers that can be foretold.

Named on the command line as ``patterns.py:PATTERNS`` and ``patterns.py:Model``. What happens is steered by
environment variables, which are no part of a model's identity, as memory and disks are not.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Answered, Measured, Parameter, Plan, Setting
from evenhand.core.capabilities import NotAnswered
from evenhand.core.cards import Source
from evenhand.core.findings import Finding
from evenhand.core.requests import Question, UnreadableImage

CLASSES = 7
FINDING = Finding(
    metric="accuracy",
    name="accuracy",
    value=0.5,
    n=0,
    direction="higher is better",
    source=Source(paper="none"),
)
UNREADABLE = 13  # this image of the pattern cannot be decoded


@dataclass(frozen=True, eq=False)
class PatternImages:
    """Images that carry their number in their first pixel and noise in the others."""

    first: int
    count: int
    side: int

    def __len__(self) -> int:
        return self.count

    def digest(self, index: int) -> str:
        return f"pattern/{self.side}/{self.first + index}"

    def load(self, index: int) -> np.ndarray:
        number = self.first + index
        if loads := os.environ.get("PATTERNS_LOADS"):
            with open(loads, "a") as stream:
                stream.write(f"{number}\n")
        if number == UNREADABLE and self.side == 8:
            raise UnreadableImage("not an image", f"pattern {number}")
        image = np.random.default_rng(number).integers(0, 256, (self.side, self.side, 3), dtype=np.uint8)
        image[0, 0] = (number >> 16, number >> 8 & 255, number & 255)
        return image


class Patterns:
    """Generated images; truth and group follow from their number."""

    parameters: Mapping[str, Parameter] = {
        "n": Parameter(200),
        "first": Parameter(0),
        "side": Parameter(8),
        "ask": Parameter("classifies_images"),
        "prompt": Parameter("What is it?"),
    }
    artifacts = ()

    def __init__(self, name: str = "patterns") -> None:
        self.name = name

    def plan(self, setting: Setting) -> Plan:
        given = setting.parameters
        images = PatternImages(given["first"], given["n"], given["side"])
        numbers = range(images.first, images.first + images.count)
        annotations = pl.DataFrame(
            {
                "sample": [f"pattern-{number:05d}" for number in numbers],
                "truth": [f"c{number % CLASSES}" for number in numbers],
                "group": [f"g{number % 2}" for number in numbers],
            }
        )
        capability = given["ask"]
        if capability == "auto":
            able = ("classifies_images", "embeds_images", "answers_questions")
            capability = next(name for name in able if name in setting.capabilities)
        question = Question(
            name="answers" if capability == "answers_questions" else "evidence",
            capability=capability,
            samples=annotations["sample"].to_list(),
            images=images,
            texts=[given["prompt"]] * images.count if capability == "answers_questions" else None,
            truth=annotations["truth"].to_list(),
        )
        return Plan(annotations, [question])

    def measure(self, answered: Answered) -> Measured:
        rows = sum(table.select(pl.len()).collect().item() for table in answered.evidence.values())
        return Measured([FINDING.model_copy(update={"n": rows})])

    def card(self) -> str:
        return "Made for tests."


PATTERNS = Patterns()
OTHER = Patterns("other patterns")
THIRD = Patterns("third patterns")


class Broken(Patterns):
    """Fails when it measures."""

    def measure(self, answered: Answered) -> Measured:
        raise ZeroDivisionError("no rows")


BROKEN = Broken("broken patterns")


def numbers_of(images: list[np.ndarray]) -> list[int]:
    return [int(image[0, 0] @ np.array([65536, 256, 1])) for image in images]


class Model:
    """Logits and vectors by a matrix product: a batch of another size rounds them differently."""

    version = "1"
    labels = tuple(f"c{code}" for code in range(CLASSES))

    def classify(self, images: list[np.ndarray]) -> np.ndarray:
        note(images)
        return product(images, CLASSES)

    def embed_images(self, images: list[np.ndarray]) -> np.ndarray:
        note(images)
        return product(images, 32)

    def answer(self, images: list[np.ndarray], prompts: list[str]) -> list[str]:
        note(images)
        return [f"{prompt} {number}" for prompt, number in zip(prompts, numbers_of(images), strict=True)]


def note(images: list[np.ndarray]) -> None:
    """Append the numbers asked about to the file of calls, and take some time over it."""
    if calls := os.environ.get("PATTERNS_CALLS"):
        with open(calls, "a") as stream:
            stream.write("".join(f"{number}\n" for number in numbers_of(images)))
    time.sleep(float(os.environ.get("PATTERNS_SECONDS", "0")) * len(images))


def product(images: list[np.ndarray], width: int) -> np.ndarray:
    pixels = np.stack(images).reshape(len(images), -1)[:, :192].astype(np.float32) / 255
    weights = np.random.default_rng(0).normal(size=(pixels.shape[1], width)).astype(np.float32)
    return pixels @ weights


class Cramped(Model):
    """Holds so many images at once, and says so in one of several ways."""

    def classify(self, images: list[np.ndarray]) -> np.ndarray:
        room = int(os.environ.get("PATTERNS_ROOM", "5"))
        too_many = UNREADABLE + 90 in numbers_of(images) if room == 0 else len(images) > room
        if too_many:
            raise memory_problem(os.environ.get("PATTERNS_PROBLEM", "MemoryError"))
        return super().classify(images)


def memory_problem(name: str) -> Exception:
    if name == "RuntimeError":
        return RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
    if name == "OutOfMemoryError":
        import torch

        return torch.OutOfMemoryError("Allocation on device")
    return MemoryError()


class NotFinite(Model):
    """Number 20 is NaN, number 40 is infinite."""

    def classify(self, images: list[np.ndarray]) -> np.ndarray:
        logits = super().classify(images)
        numbers = numbers_of(images)
        logits[[number == 20 for number in numbers], 0] = np.nan
        logits[[number == 40 for number in numbers]] = np.inf
        return logits


class Failing(Model):
    """Fails on number 70."""

    def classify(self, images: list[np.ndarray]) -> np.ndarray:
        if 70 in numbers_of(images):
            raise ValueError("shapes do\nnot fit")
        return super().classify(images)


class Exiting(Model):
    """Ends its process on number 70, as if all were done."""

    def classify(self, images: list[np.ndarray]) -> np.ndarray:
        if 70 in numbers_of(images):
            sys.exit(0)
        return super().classify(images)


class Busy(Model):
    """Has no time for number 30 and number 31 while PATTERNS_BUSY is set."""

    def answer(self, images: list[np.ndarray], prompts: list[str]) -> list[str | NotAnswered]:
        answers: list[str | NotAnswered] = list(super().answer(images, prompts))
        if os.environ.get("PATTERNS_BUSY"):
            for row, number in enumerate(numbers_of(images)):
                if number in (30, 31):
                    answers[row] = NotAnswered("too many requests", "429", temporary=True)
        return answers


class Dying(Model):
    """Takes its process with it."""

    def classify(self, images: list[np.ndarray]) -> np.ndarray:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().classify(images)


@dataclass
class LazySource:
    """A source whose model needs a heavy library, as those of ``hf:`` do."""

    uri: str = "lazy:patterns"

    def identity(self) -> dict[str, str]:
        return {"name": "lazy patterns"}

    def capabilities(self) -> list[str]:
        return ["classifies_images"]

    def load(self) -> Model:
        import torch  # noqa: F401

        return Model()


if __name__ == "__main__":  # a run of LazySource that prints what it imported
    import evenhand as eh

    eh.run(f"{__file__}:PATTERNS", model=LazySource(), out=sys.argv[1])
    print("torch" in sys.modules, "transformers" in sys.modules)
