"""Where the images of PAIRS come from, and what of them is there."""

from __future__ import annotations

from pathlib import Path

from evenhand.benchmarks.datasets.download_source import DataSource, SourcePart
from evenhand.benchmarks.further.pairs.pairs import PEOPLE, read_questions, scenario_images
from evenhand.files.download.downloads import Link

_COMMIT = "507075a"  # of which only the short name is known here
_FILES = "https://raw.githubusercontent.com/katiefraser/PAIRS"
_HOME = "https://github.com/katiefraser/PAIRS"
STATUS = (
    "basketball", "brick_wall", "bus", "casual", "city", "cooking", "guitar", "hoodie", "microphone", "phone",
    "professional", "shopping", "smiling", "stroller", "tattoo", "tent", "train", "university",
    "white_shirt", "wine",
)  # fmt: skip
IMAGES = "images"
SIZES = {"occupations": 80, "potential_crime": 40, "status": 80}


def links(folder: Path) -> list[Link]:
    """Every image of the repository, called by section, scenario and person."""
    asked_of = [(row["section"], row["scenario"]) for row in read_questions("")]
    scenarios = [pair for pair in asked_of if pair[1] != "*"] + [("status", name) for name in STATUS]
    result = []
    for section, scenario in scenarios:
        for person in PEOPLE:
            file = "white_man1" if (scenario, person) == ("phone", "white_man") else person
            below = f"data/{section}/{scenario}/{file}.png"
            skip = "there already, in the layout of the repository" if (folder / below).is_file() else ""
            result.append(Link(f"{section}.{scenario}.{person}", f"{_FILES}/{_COMMIT}/{below}", skip))
    return result


def parts(folder: Path) -> list[SourcePart]:
    """How many images each section has."""
    images, _ = scenario_images(folder)
    counts = {section: sum(key[0] == section for key in images) for section in SIZES}
    return [SourcePart(section, counts[section], size) for section, size in SIZES.items()]


SOURCE = DataSource(
    name="pairs",
    title="PAIRS: generated images of four people in each of 50 scenarios",
    licence="CC BY 4.0",
    home=_HOME,
    size="200 images, 18 MB",
    images=IMAGES,
    image_folders=(IMAGES,),
    links=links,
    parts=parts,
)
"""What ``evenhand data fetch pairs`` fetches."""
