"""A few scenarios in the layout of PAIRS, drawn; a pixel says who is shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

SCENARIOS = {"occupations": ("airplane", "taxi"), "potential_crime": ("money",), "status": ("phone", "wine")}
PEOPLE = ("black_man", "black_woman", "white_man", "white_woman")


def release(folder: Path, without: tuple[str, ...] = ()) -> Path:
    """The folder of the repository, ``white_man1.png`` included; red: who, green and blue: the scenario."""
    number = 0
    for section, names in SCENARIOS.items():
        for name in names:
            number += 1
            place = folder / "data" / section / name
            place.mkdir(parents=True)
            for person, word in enumerate(PEOPLE):
                if f"{section}/{name}/{word}" in without:
                    continue
                file = "white_man1" if (name, word) == ("phone", "white_man") else word
                Image.new("RGB", (8, 8), (60 * person, number, 7)).save(place / f"{file}.png")
    (folder / "examples").mkdir()
    Image.new("RGB", (8, 8)).save(folder / "examples" / "examples.png")
    return folder


def person_in(image: np.ndarray) -> str:
    """Who an image of ``release`` shows."""
    return PEOPLE[int(np.asarray(image)[0, 0, 0]) // 60]
