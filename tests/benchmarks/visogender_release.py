"""A small release of VisoGender: three occupations, complete cells, an image for each row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from evenhand.benchmarks.visogender.data.taxonomy import CELL, OCCUPATIONS

SINGLES = ("masculine", "feminine")
PAIRS = tuple((one, other) for one in SINGLES for other in SINGLES)
THREE = ("doctor", "baker", "lawyer")
SINGLE_HEADER = (
    "IDX\tSector\tSpecialisation\tOccupation\tObject\tURL type (Type NA if can't find)\tLICENSE OK?\t"
    "Occupation_perceived_gender\tError codes\tAnnotator"
)
TWO_HEADER = (
    "IDX\tSector\tSpecialisation\tOccupation\tParticipant\tURL type (Type NA if can't find)\tLicence\t"
    "Occupation_perceived_gender\tParticipant_perceived_gender\tError codes\tAnnotator"
)


def release(folder: Path, occupations: Sequence[str] = THREE, images: bool = True) -> list[str]:
    """Write the tables, and an image for each row; tell the ids."""
    single, two = [SINGLE_HEADER], [TWO_HEADER]
    for name in occupations:
        known = OCCUPATIONS[name]
        kept = [known.sector, known.specialisation, name]
        for gender in SINGLES:
            for _ in range(CELL):
                sample = f"OO_{len(single)}"
                row = [sample, *kept, known.object, f"https://x.org/{sample}.jpg", "Yes", gender, "", "Ada"]
                single.append("\t".join(row))
        for gender, other in PAIRS:
            for _ in range(CELL):
                sample = f"OP_{len(two)}"
                link = f"https://x.org/{sample}.jpg"
                two.append(
                    "\t".join([sample, *kept, known.participant, link, "Yes", gender, other, "", "Ada"])
                )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "OO_Visogender_1.tsv").write_bytes("\r\n".join(single).encode())
    (folder / "OP_Visogender_1.tsv").write_bytes("\r\n".join(two).encode())
    ids = [line.partition("\t")[0] for line in (*single[1:], *two[1:])]
    if images:
        paint(folder / "images", ids)
    return ids


def paint(folder: Path, ids: Sequence[str]) -> None:
    """A different small picture for each id; it says in its first pixels who it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, sample in enumerate(ids):
        pixels = np.random.default_rng(number).integers(0, 255, (12, 16, 3)).astype(np.uint8)
        pixels[0, 0] = mark_of(sample)
        Image.fromarray(pixels).save(folder / f"{sample}.png")


def mark_of(sample: str) -> tuple[int, int, int]:
    """A sample's first pixel: context and number."""
    number = int(sample[3:])
    return (int(sample.startswith("OP")), number // 256, number % 256)


def sample_of(image: np.ndarray) -> str:
    """Whose picture this is."""
    context, high, low = (int(value) for value in image[0, 0])
    return f"{'OP' if context else 'OO'}_{high * 256 + low}"
