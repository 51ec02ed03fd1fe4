"""Where the images of PAIRS come from, and what of them is there."""

from __future__ import annotations

from pathlib import Path

from evenhand.benchmarks.datasets.download_source import DataSource, SourcePart
from evenhand.benchmarks.datasets.samples import files, table
from evenhand.benchmarks.further.pairs.pairs import COLUMNS, IMAGES, QUESTIONS
from evenhand.files.download.downloads import Link

_COMMIT = "507075a"  # of which only the short name is known here
_FILES = "https://raw.githubusercontent.com/katiefraser/PAIRS"
_HOME = "https://github.com/katiefraser/PAIRS"
STATUS = (
    "basketball", "brick_wall", "bus", "casual", "city", "cooking", "guitar", "hoodie", "microphone", "phone",
    "professional", "shopping", "smiling", "stroller", "tattoo", "tent", "train", "university",
    "white_shirt", "wine",
)  # fmt: skip
PEOPLE = ("black_man", "black_woman", "white_man", "white_woman")
FOLDER = "images"
SIZES = {"occupations": 80, "potential_crime": 40, "status": 80}


def links(folder: Path) -> list[Link]:
    """Every image of the repository, called by section, scenario and person."""
    asked_of = table(QUESTIONS, COLUMNS, "").select("section", "scenario").rows()
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
    sections = files(folder, *IMAGES)[0]["section"].to_list()
    return [SourcePart(section, sections.count(section), size) for section, size in SIZES.items()]


SOURCE = DataSource(
    name="pairs",
    title="PAIRS: generated images of four people in each of 50 scenarios",
    licence="CC BY 4.0",
    home=_HOME,
    size="200 images, 18 MB",
    images=FOLDER,
    image_folders=(FOLDER,),
    links=links,
    parts=parts,
)
"""What ``evenhand data fetch pairs`` fetches."""
