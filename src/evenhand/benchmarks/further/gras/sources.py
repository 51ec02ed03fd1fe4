"""What of GRAS is there; nothing is fetched."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from evenhand.benchmarks.datasets.download_source import SourcePart
from evenhand.benchmarks.datasets.local_source import counted_source, readable, shown
from evenhand.benchmarks.further.gras.gras import ATTRIBUTES, FACES, TONES, TRAITS, read_images, read_traits
from evenhand.files.images.sources import ImageFiles

SIZES = {"gender": 3_570, "race": 3_570, "age": 3_570, "skin_tone": 1_440}
"""Faces with each attribute in the lists of the release."""


def parts(name: str, folder: Path) -> list[SourcePart]:
    """How many faces and traits the lists have, and how many of their images can be read."""
    del name
    images, paths = read_images(folder, None)
    signs = Counter(read_traits(folder).values())
    counts = {name: int(images[name].count()) for name in ATTRIBUTES.values()}
    return [
        *(shown(f"faces with {name}", count, SIZES[name]) for name, count in counts.items()),
        shown("good traits", signs[1], 50),
        shown("bad traits", signs[-1], 50),
        readable(ImageFiles(paths)),
    ]


SOURCE = counted_source(
    "gras",
    "GRAS: faces by gender, race, age and skin tone, and words for traits",
    "lists without a licence; FairFace CC BY 4.0; AI-Face on request",
    "https://github.com/shaivimalik/gras_bias_bench",
    "3,570 faces of FairFace, 144 of AI-Face for each skin tone, 100 words",
    f"put {FACES}, {TONES} and {TRAITS} of that repository and the images that they name into one folder",
    parts,
)
"""What ``evenhand data check gras`` counts."""
