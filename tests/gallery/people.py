"""Demo runs of the indicators: people of Casual Conversations' layout, households of Dollar Street's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import evenhand as eh
from tests.benchmarks.indicator_models import Classifies, Embeds, numbered_image
from tests.benchmarks.test_indicators_places import entry
from tests.gallery.planted import Needed, called, noise, noise_between

MODELS = {
    "ssl-small": {"training": "ssl", "data": "instagram", "images": "1e7", "parameters": "9e7"},
    "ssl-large": {"training": "ssl", "data": "instagram", "images": "1e9", "parameters": "1e9"},
    "labels-small": {"training": "supervised", "data": "imagenet", "images": "1.3e5", "parameters": "2.5e7"},
    "labels-large": {"training": "supervised", "data": "imagenet", "images": "1.3e6", "parameters": "3e8"},
}
"""Names of the demo's four models, with tags."""

PEOPLE = 180
LABELS = ["face", "makeup", "beard", "hog, pig", "gorilla, Gorilla gorilla", "prison", "lamp", "suit", "tie"]
IDS = [
    "n09618957", "n03714235", "n09834699", "n02395003", "n02480855", "n04005630", "n03636248", "n04350905",
    "n03814906",
]  # fmt: skip
COUNTRIES = {"India": "Asia", "France": "Europe", "Kenya": "Africa", "Peru": "The Americas"}
INCOMES = (45.5, 620.0, 4_000.0)
ROOMS = ("cups", "plates", "beds", "stoves/hobs")
NAMES = [
    "cup",
    "plate",
    "quilt, comforter, comfort, puff",
    "stove",
    "rug",
    "tub, vat",
    "bucket, pail",
    "mask",
]
CONCEPTS = "concepts.json"


def conversations(folder: Path) -> list[tuple[str, int, bool]]:
    """People in the layout of Casual Conversations; tell the gender, skin type and darkness of each image."""
    content, told = {}, []
    for number in range(PEOPLE):
        gender = "Other" if number % 10 == 9 else ("Female", "Male")[number % 2]
        skin = number // 2 % 6 + 1
        age = "N/A" if number % 15 == 14 else str(18 + number * 7 % 66)
        video, dark = f"{number:04}_00", number % 5 == 0
        file = f"CasualConversationsA/{video[:4]}/{video}.MP4"
        content[str(number + 1)] = {
            "files": [file], "dark_files": [file] if dark else [],
            "label": {"age": age, "gender": gender, "skin-type": str(skin)},
        }  # fmt: skip
        numbered_image(folder / "frames" / file.replace(".MP4", "_123.jpg"), number)
        told.append((gender, skin, dark))
    (folder / "CasualConversations.json").write_text(json.dumps(content), encoding="utf-8")
    return told


def homes(folder: Path) -> list[tuple[str, float]]:
    """Homes in the layout of Dollar Street; tell what each image shows, and the income behind it."""
    entries, told = [], []
    folder.mkdir(parents=True, exist_ok=True)
    for home in range(72):
        country = list(COUNTRIES)[home % 4]
        income = INCOMES[home // 4 % 3]
        for room in ROOMS[: 3 + home % 2]:
            number = len(entries)
            entries.append(entry(f"h{home}", room, f"c{number}", income, country, COUNTRIES[country]))
            numbered_image(folder / "images" / room / f"h{home}.jpg", number)
            told.append((room, income))
    (folder / "metadata_full_dollar_street.json").write_text(json.dumps(entries), encoding="utf-8")
    known = {label: [room] for label, room in zip(NAMES, ROOMS, strict=False)}
    folder.with_name(CONCEPTS).write_text(json.dumps(known), encoding="utf-8")
    return told


def indicators(data: Path, runs: Path) -> None:
    """The four models on the three indicators."""
    people, rooms = conversations(data / "people"), homes(data / "homes")
    for place, (name, tags) in enumerate(MODELS.items()):
        models: dict[str, tuple[Any, Path, dict[str, str]]] = {
            "label_association": (
                Classifies(_labels(place, people), LABELS, IDS), data / "people", {"top": "2"}
            ),
            "retrieval": (Embeds(_faces(place, people)), data / "people", {"k": "10,50"}),
            "geography": (Classifies(_rooms(place, rooms), NAMES), data / "homes",
                          {"concept_map": str(data / CONCEPTS)}),
        }  # fmt: skip
        for indicator, (model, where, given) in models.items():
            eh.run(
                f"indicators/{indicator}", model=called(model, name), data=where, parameters=given, tags=tags,
                out=runs / f"{indicator}-{name}",
            )  # fmt: skip


def _labels(place: int, people: Sequence[tuple[str, int, bool]]) -> np.ndarray:
    """Larger models name people more often; in the dark all are taken for something else more often."""
    logits = np.random.default_rng(place).normal(size=(len(people), len(LABELS)))
    for number, (_, skin, dark) in enumerate(people):
        logits[number, :3] += 0.8 + 0.5 * (place % 2) - 0.9 * dark
        logits[number, 3:6] += 0.1 * skin - 0.4 * (place % 2) + 0.5 * dark
    return logits


def _faces(place: int, people: Sequence[tuple[str, int, bool]]) -> np.ndarray:
    """Faces of one gender and of like skin lie together, the more so the larger the model."""
    rng, near = np.random.default_rng(10 + place), 0.7 + 0.5 * (place % 2)
    told = [near * noise("gender", gender) + near * noise("skin", skin // 4) for gender, skin, _ in people]
    return np.stack(told) + 1.6 * rng.normal(size=(len(people), 24))


def _rooms(place: int, rooms: Sequence[tuple[str, float]]) -> np.ndarray:
    """What stands in richer homes is recognised more often, the more so by small models."""
    logits = np.random.default_rng(20 + place).normal(size=(len(rooms), len(NAMES)))
    for number, (room, income) in enumerate(rooms):
        hit = 0.3 + 0.12 * (place % 2) + 0.2 * INCOMES.index(income) + 0.05 * (place // 2)
        logits[number, ROOMS.index(room)] += 5 if noise_between(place, number) < hit else -5
    return logits


def needs() -> dict[str, Needed]:
    """How each table and figure of the indicators is made from these runs."""
    labels, faces, found = (
        [f"{indicator}-{name}" for name in MODELS]
        for indicator in ("label_association", "retrieval", "geography")
    )  # fmt: skip
    large = [run for run in labels if run.endswith("large")]
    return {
        **{f"indicators/table{number}": {} for number in (1, 2, 3)},
        "indicators/table4": {"data": "people"},
        "indicators/table5": {"data": "homes"},
        "indicators/figure2": {"runs": [*labels, *faces, *found]},
        **{f"indicators/figure{number}": {"runs": large} for number in (3, 8, 9, 10)},
        "indicators/figure11": {"runs": labels},
        **{f"indicators/figure{number}": {"runs": found} for number in (4, 5, 12)},
        **{f"indicators/figure{number}": {"runs": faces} for number in (6, 7, 13)},
    }
