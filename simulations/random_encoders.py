"""Models that know nothing, through every benchmark: how often does a run say "beyond chance"?

``python -m simulations.random_encoders [--seeds 20] [--benchmark NAME]``. A random model gives every image
and text numbers of their own that mean nothing; a constant one the same to all. Data are small and made up.
Aim: at most 8 % of the runs of random models say anything beyond chance, none of a benchmark more than 4 of
20, and none of a constant model.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from tests.benchmarks import skewsize_layouts as layouts
from tests.benchmarks import visogender_release
from tests.gallery import people, words

import evenhand as eh
from evenhand.benchmarks.visogender.data.taxonomy import OCCUPATIONS
from evenhand.core.findings import Finding
from evenhand.core.significance import significance_of
from evenhand.workflows.execution.options import AskOptions

Floats = npt.NDArray[np.float32]
_PLACES = ("in the grass", "in the water", "in the snow")
_ANIMALS = ("goldfish", "bullfrog", "goose")


@dataclass
class Unknowing:
    """A model whose answers have nothing to do with what it is shown.

    Attributes:
        seed: Of its numbers; None: it always says the same.
        labels: What it may call an image.
        wordnet_ids: Of the labels.
    """

    seed: int | None
    labels: Sequence[str] = ()
    wordnet_ids: Sequence[str] = ()
    logit_scale = 10.0

    @property
    def version(self) -> str:
        """What tells it from others."""
        return f"{self.seed} {zlib.crc32(repr(self.labels).encode())}"

    def numbers(self, width: int, *shown: object) -> Floats:
        """Normal numbers that belong to an image or text, and to the seed."""
        if self.seed is None:
            return np.ones(width, dtype=np.float32)
        content = b"".join(np.asarray(one).tobytes() for one in shown)
        return np.random.default_rng([self.seed, zlib.crc32(content)]).normal(size=width).astype(np.float32)


class Classifier(Unknowing):
    """One logit for each label."""

    def classify(self, images: Sequence[Any]) -> list[Floats]:
        """Logits of every image."""
        return [self.numbers(len(self.labels), image) for image in images]


class Encoder(Unknowing):
    """Vectors of images and texts in one space."""

    def embed_images(self, images: Sequence[Any]) -> list[Floats]:
        """A vector for each image."""
        return [self.numbers(32, image) for image in images]

    def embed_texts(self, texts: Sequence[str]) -> list[Floats]:
        """A vector for each text."""
        return [self.numbers(32, text) for text in texts]


class Matcher(Unknowing):
    """Probabilities that a text describes an image."""

    def match(self, images: Sequence[Any], texts: Sequence[str]) -> list[float]:
        """One for each pair."""
        pairs = zip(images, texts, strict=True)
        return [float(1 / (1 + np.exp(self.numbers(1, image, text)[0]))) for image, text in pairs]


def write_data(folder: Path) -> None:
    """Small data for every benchmark: groups of unequal size where the layout allows."""
    people.conversations(folder / "people")
    people.homes(folder / "homes")
    visogender_release.release(folder / "visogender", list(OCCUPATIONS))
    words.write_associations(folder / "mmbias")
    layouts.generated(folder / "occupations", 40)
    sizes = {"female": 20, "male": 30}
    sports = ("archery", "boxing", "curling", "diving")
    layouts.cells(folder / "sports", {f"{a}/{b}": sizes[b] for a in sports for b in sizes})
    layouts.cells(folder / "backgrounds", {f"{a}/{b}": 25 for a in _ANIMALS for b in _PLACES})
    (folder / "domainnet").mkdir()
    layouts.domainnet(
        folder / "domainnet", {"clipart": 20, "real": 25, "sketch": 15}, ("axe", "zebra", "banana")
    )
    birds = [(n, f"{n:03}.Bird/{n}.png", int(n % 3 == 0), 2, int(n % 4 == 1)) for n in range(200)]
    layouts.waterbirds(folder / "waterbirds", birds)
    faces = [(f"{n:06}.png", *(1 if n % step == 0 else -1 for step in (2, 3, 5))) for n in range(240)]
    layouts.celeba(folder / "celeba", faces, [(name, 2) for name, *_ in faces])
    _own_images(folder / "own")


def _own_images(folder: Path) -> None:
    folder.mkdir()
    lines = ["path,label,light"]
    for number in range(200):
        Image.new("RGB", (8, 8), (number, number // 7, 0)).save(folder / f"{number}.png")
        light = ("day", "day", "dusk", "night", "day")[number % 5]
        lines.append(f"{number}.png,{('lamp', 'tie', 'suit')[number // 5 % 3]},{light}")
    (folder / "images.csv").write_text("\n".join(lines), encoding="utf-8")


Make = Callable[[int | None], Unknowing]
_STUDIES = ("sports", "backgrounds", "domainnet", "waterbirds", "celeba", "occupations")
BENCHMARKS: dict[str, tuple[Make, str, dict[str, str]]] = {
    "classification": (Encoder, "own/images.csv", {"image": "path", "truth": "label", "by": "light"}),
    "indicators/geography": (
        lambda seed: Classifier(seed, people.NAMES), "homes", {"concept_map": people.CONCEPTS}
    ),
    "indicators/label_association": (
        lambda seed: Classifier(seed, people.LABELS, people.IDS), "people", {"top": "2"}
    ),
    "indicators/retrieval": (Encoder, "people", {"k": "10,50"}),
    "mmbias/association": (Encoder, "mmbias", {}),
    "mmbias/matching": (Matcher, "mmbias", {"pairs": "muslim:christian,arab:american,lgbt:heterosexual"}),
    **{f"skewsize/{study}": (Encoder, study, {"spelling": "any"}) for study in _STUDIES},
    "sprites": (lambda seed: Classifier(seed, ("square", "ellipse", "heart")), "", {}),
    "visogender/resolution": (Encoder, "visogender", {}),
    "visogender/retrieval": (Encoder, "visogender", {}),
}  # fmt: skip


def verdicts(name: str, seed: int | None, data: Path) -> list[Finding]:
    """Findings of one run with a verdict "beyond chance", of their own or of a part."""
    make, place, given = BENCHMARKS[name]
    parameters = {
        key: str(data / value) if value == people.CONCEPTS else value for key, value in given.items()
    }
    run = eh.run(
        name, model=make(seed), data=data / place if place else None, parameters=parameters,
        seed=0 if seed is None else seed, options=AskOptions(keep_answers=False, workers=1),
    )  # fmt: skip
    return [one for one in run.findings.findings if any(significance_of(h).beyond for h in (one, *one.parts))]


def main() -> None:
    """One line a benchmark, and the share of all runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--benchmark", choices=tuple(BENCHMARKS), action="append")
    given = parser.parse_args()
    names = given.benchmark or list(BENCHMARKS)
    print("| benchmark | random: runs with a verdict | of these, findings | constant |\n|---|---|---|---|")
    total = 0
    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary)
        os.environ["EVENHAND_HOME"] = str(data / "home")
        write_data(data)
        for name in names:
            runs = [verdicts(name, seed, data) for seed in range(given.seeds)]
            hits = [run for run in runs if run]
            total += len(hits)
            metrics = ", ".join(sorted({one.name for run in hits for one in run}))
            constant = ", ".join(sorted({one.name for one in verdicts(name, None, data)})) or "none"
            print(f"| {name} | {len(hits)} of {len(runs)} | {metrics} | {constant} |", flush=True)
    print(
        f"\nall: {total} of {given.seeds * len(names)} runs ({100 * total / given.seeds / len(names):.1f} %)"
    )


if __name__ == "__main__":
    main()
