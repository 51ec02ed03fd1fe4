"""The occupations of VisoGender with what stands beside them, and the words its files use for labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

MASCULINE, FEMININE, NEUTRAL = "masculine", "feminine", "neutral"

PERCEIVED = (
    "The genders are perceived: annotators judged from an image, only masculine and feminine were annotated, "
    "and the people shown may describe themselves differently."
)

SINGLE, TWO = "single", "two_person"
"""Contexts: one person with an object (files called OO), or with a participant (OP)."""

PREFIXES: Mapping[str, str] = {SINGLE: "OO", TWO: "OP"}
"""How files and ids of a context begin."""

CELL = 5
"""Images of each occupation and gender, or gender pair, in every complete release."""

LABELS: Mapping[str, str] = {
    "masculine": MASCULINE,
    "maculine": MASCULINE,  # so in the release of 14 August 2023
    "man": MASCULINE,
    "male": MASCULINE,
    "m": MASCULINE,
    "feminine": FEMININE,
    "woman": FEMININE,
    "female": FEMININE,
    "f": FEMININE,
    "neutral": NEUTRAL,
    "n": NEUTRAL,
}
"""Labels as files write them, in lower case, and what they stand for."""

SPELLINGS: Mapping[str, str] = {"stethascope": "stethoscope"}  # so in the releases of 2023
"""Nouns as older files write them, and as they are read."""


class Occupation(NamedTuple):
    """What belongs to an occupation."""

    sector: str
    specialisation: str
    object: str
    participant: str


OCCUPATIONS: Mapping[str, Occupation] = {
    "teacher": Occupation("education", "institutional", "board", "student"),
    "instructor": Occupation("education", "general_courses", "equipment", "student"),
    "counsellor": Occupation("medical", "mental_health", "notepad", "patient"),
    "physician": Occupation("medical", "hospital_worker", "stethoscope", "patient"),
    "specialist": Occupation("medical", "hospital_worker", "stethoscope", "patient"),
    "doctor": Occupation("medical", "hospital_worker", "clipboard", "patient"),
    "lawyer": Occupation("office", "legal", "desk", "client"),
    "paralegal": Occupation("office", "legal", "desk", "client"),
    "accountant": Occupation("office", "financial", "desk", "client"),
    "auditor": Occupation("office", "financial", "desk", "client"),
    "broker": Occupation("office", "financial", "stock chart", "client"),
    "advisor": Occupation("office", "financial", "presentation", "advisee"),
    "architect": Occupation("office", "structure", "floor plan", "client"),
    "engineer": Occupation("office", "structure", "computer", "client"),
    "supervisor": Occupation("office", "general_office", "computer", "employee"),
    "clerk": Occupation("retail", "customer_facing", "computer", "customer"),
    "manager": Occupation("retail", "customer_facing", "clipboard", "customer"),
    "baker": Occupation("service", "food_service", "mixing spoon", "customer"),
    "waiter": Occupation("service", "food_service", "tray", "patron"),
    "bartender": Occupation("service", "food_service", "mixing bottle", "customer"),
    "hairdresser": Occupation("service", "fashion", "scissors", "client"),
    "veterinarian": Occupation("service", "animal", "animal", "client"),
    "painter": Occupation("service", "household", "paint", "customer"),
}
"""All occupations, in the order of the files."""


def gender_of(label: str) -> str | None:
    """What a label stands for; None where that is not known."""
    return LABELS.get(label.strip().casefold())


def noun_of(word: str) -> str:
    """An object or participant as it is read: spaces for underscores, the common spelling."""
    plain = " ".join(word.replace("_", " ").split())
    return SPELLINGS.get(plain.casefold(), plain)
