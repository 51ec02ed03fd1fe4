"""Demo runs of labels and mistakes: sprites, the studies of SkewSize, and images of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image

import evenhand as eh
from tests.benchmarks import skewsize_layouts as layouts
from tests.benchmarks.indicator_models import Answers, Classifies
from tests.gallery.planted import Needed, Shapes, called, logits_of, mistaken

SKEWS = {"even": 0.05, "uneven": 0.85}
"""Names of the demo's two models, with how much of their mistakes follows the group."""

TAGS = {
    "even": {"training": "ssl", "parameters": "3e8", "imagenet_zero_shot": "63.2"},
    "uneven": {"training": "supervised", "parameters": "1.2e9", "imagenet_zero_shot": "70.4"},
}

SPRITES = {
    "none": ("none", "strong"),
    "square": ("square", "strong"),
    "ellipse": ("ellipse", "strong"),
    "heart": ("heart", "strong"),
    "ellipse-mild": ("ellipse", "mild"),
    "ellipse-medium": ("ellipse", "medium"),
}
"""Shape removed in green, and how much of it."""

JOBS = ["writer", "doctor", "biologist", "maid", "pilot", "judge", "cook", "nurse", "carpenter"]
SPORTS = ["archery", "badminton", "boxing", "climbing", "cricket", "curling", "diving", "fencing"]
ANIMALS = ["goldfish", "bullfrog", "scorpion", "tarantula", "goose", "centipede"]
THINGS = ("airplane", "axe", "banana", "clock", "guitar", "spider", "zebra")
DOMAINS = {"clipart": 20, "painting": 20, "quickdraw": 20, "real": 20, "sketch": 20}
GENDERS = ("female", "male")
_SPRITES = 1_800
_PER_CELL = 24
_PER_JOB = 45
_STUDY = f"""
name: occupations
class_axis: occupation
attribute: gender
classes: [{", ".join(JOBS)}]
groups: [{{name: female, text: female}}, {{name: male, text: male}}]
templates: ["A {{group}} {{class}}"]
images_per_cell: {_PER_JOB}
people: true
question: "What is this person's occupation?"
"""


def sprites(runs: Path) -> None:
    """A run for each planted shape and strength."""
    for name, (removed, strength) in SPRITES.items():
        model = called(Shapes(removed, strength, _SPRITES), f"sprites-{name}")
        given = {"removed": removed, "strength": strength}
        eh.run("sprites", model=model, parameters=given, limit=_SPRITES, out=runs / f"sprites-{name}")


def studies(data: Path, runs: Path) -> None:
    """Both models on all six studies of SkewSize and on images of one's own."""
    made = {
        "occupations": _occupations, "sports": _sports, "backgrounds": _backgrounds, "domainnet": _domainnet,
        "waterbirds": _waterbirds, "celeba": _celeba,
    }  # fmt: skip
    for study, write in made.items():
        (data / study).mkdir(parents=True)
        samples, labels = write(data / study)
        for name, skew in SKEWS.items():
            said = mistaken(len(study), skew, samples, labels, 0.7 if len(labels) == 2 else 0.35)
            model = _speaks(said) if study == "occupations" else Classifies(logits_of(said, labels), labels)
            _run_benchmark(
                f"skewsize/{study}", called(model, name), data / study, runs / f"{study}-{name}", name
            )
    _own_images(data / "own", runs)


def _run_benchmark(benchmark: str, model: Any, data: Path, out: Path, name: str, **given: str) -> None:
    eh.run(benchmark, model=model, data=data, parameters=given, tags=TAGS[name], out=out)


def _speaks(said: Sequence[str]) -> Answers:
    """The same labels as sentences of several forms, so that raw answers are split."""
    forms = ("{}", "A {}.", "The person is a {}.", "**{}**")
    return Answers(
        [forms[number % 7 % 4 * (number % 3 == 0)].format(name) for number, name in enumerate(said)]
    )


def _occupations(folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    table = layouts.generated(folder, _PER_JOB, _STUDY)
    return list(table.select("truth", "gender").iter_rows()), JOBS


def _cells(
    folder: Path, names: Sequence[str], groups: Sequence[str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Images in folders of classes and groups."""
    places = layouts.cells(folder, {f"{name}/{group}": _PER_CELL for name in names for group in groups})
    samples = [place.split("/") for place in places]
    return [(name, group) for name, group, _ in samples], list(names)


def _sports(folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    return _cells(folder, SPORTS, GENDERS)


def _backgrounds(folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    return _cells(folder, ANIMALS, ("in the grass", "in the water", "in the snow"))


def _domainnet(folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    places = layouts.domainnet(folder, DOMAINS, THINGS)
    return [(place.split("/")[1], place.split("/")[0]) for place in places], list(THINGS)


def _waterbirds(folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    birds, grounds = ("landbird", "waterbird"), ("land", "water")
    rows = [
        (number, f"{number:03}.Bird/{number}.png", number % 2, 2, number // 2 % 2) for number in range(200)
    ]
    layouts.waterbirds(folder, rows)
    return [(birds[bird], grounds[place]) for _, _, bird, _, place in rows], list(birds)


def _celeba(folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    signs = (-1, 1)
    rows = [(f"{n:06}.png", signs[n % 2], signs[n // 2 % 2], signs[n // 4 % 2]) for n in range(240)]
    layouts.celeba(folder, rows, [(name, 2) for name, *_ in rows])
    hair = {1: "blond hair", -1: "not blond hair"}
    return [(hair[blond], GENDERS[male > 0]) for _, blond, male, _ in rows], list(hair.values())


def _own_images(folder: Path, runs: Path) -> None:
    """Coloured images with a table; the light they were taken in is the attribute."""
    labels, rows = ["cat", "dog", "fox", "hare"], []
    folder.mkdir(parents=True)
    for number in range(160):
        label, light = labels[number % 4], ("day", "dusk", "night")[number // 4 % 3]
        shade = {"day": 220, "dusk": 150, "night": 70}[light]
        colour = (number, shade, 60 * (number % 4))
        Image.new("RGB", (64, 48), colour).save(folder / f"{number}.png")
        rows.append({"path": f"{number}.png", "label": label, "light": light})
    pl.DataFrame(rows).write_csv(folder / "images.csv")
    samples = [(row["label"], row["light"]) for row in rows]
    for name, skew in SKEWS.items():
        model = called(_Red(mistaken(1, skew, samples, labels), labels), name)
        given = {"image": "path", "truth": "label", "by": "light"}
        _run_benchmark("classification", model, folder / "images.csv", runs / f"own-{name}", name, **given)


class _Red(Classifies):
    """Knows an image by how red it is."""

    def __init__(self, said: Sequence[str], labels: Sequence[str]) -> None:
        super().__init__(logits_of(said, labels), labels)

    def classify(self, images: Sequence[Any]) -> Any:
        return self.logits[[int(image[0, 0, 0]) for image in images]]


def needs() -> dict[str, Needed]:
    """How each table and figure of SkewSize is made from these runs."""
    two = list(SKEWS)
    every = ("occupations", "sports", "domainnet")
    pairs = {study: [f"{study}-{name}" for name in two] for study in (*every, "own")}
    many = [run for study in every for run in pairs[study]]
    planted = [f"sprites-{name}" for name in ("none", "square", "ellipse", "heart")]
    return {
        "skewsize/table1": {"runs": planted},
        "skewsize/table2": {"runs": ["sprites-none", *(f"sprites-{name}" for name in
                                     ("ellipse-mild", "ellipse-medium", "ellipse"))]},
        "skewsize/table3": {"runs": pairs["occupations"]},
        "skewsize/table4": {"runs": many},
        "skewsize/table5": {"runs": planted},
        "skewsize/table6": {"runs": pairs["occupations"]},
        "skewsize/table7": {"runs": pairs["occupations"]},
        "skewsize/figure1": {"runs": pairs["occupations"]},
        "skewsize/figure2": {"runs": many},
        "skewsize/figure3": {"runs": ["own-uneven"], "data": "own", "parameters": {"images": "yes"}},
        "skewsize/figure4": {"runs": many},
        "skewsize/figure5": {"runs": pairs["domainnet"]},
        "skewsize/figure6": {"runs": many},
    }  # fmt: skip
