"""Example tables for trying an audit: invented, the same on every machine, no real people.

    import evenhand as eh
    run = eh.audit(eh.datasets.load_tickets(), **eh.datasets.TICKETS)
    run.report("report.html")

Each table is drawn anew when it is loaded: some kilobytes of rules instead of files of data. The rules draw
with ``random.Random.random``, whose sequence Python keeps the same in all of its versions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import polars as pl

__all__ = ["FACES", "SIGHTINGS", "TICKETS", "load_faces", "load_sightings", "load_tickets"]

TICKETS: Mapping[str, Any] = MappingProxyType(
    {"truth": "true_intent", "prediction": "model_intent", "by": ["office"], "noun": "tickets"}
)
"""Options of ``eh.audit`` for ``load_tickets()``."""

FACES: Mapping[str, Any] = MappingProxyType(
    {
        "truth": "expression",
        "prediction": "predicted",
        "by": ["gender", "age", ("gender", "age")],
        "noun": "faces",
    }
)
"""Options of ``eh.audit`` for ``load_faces()``."""

SIGHTINGS: Mapping[str, Any] = MappingProxyType(
    {"truth": "species", "prediction": "predicted", "by": ["habitat"], "noun": "sightings"}
)
"""Options of ``eh.audit`` for ``load_sightings()``."""

_INTENTS = ("account_locked", "fraud_report", "refund", "general_question", "delivery_delay")
_OFFICES = {
    "Lagos": (99, 95, 96, 92, 94),
    "Munich": (182, 170, 176, 168, 174),
    "Osaka": (138, 131, 135, 130, 120),
}
_CALLED_FRAUD = {"Lagos": 33, "Munich": 7, "Osaka": 2}

_EXPRESSIONS = ("smiling", "neutral", "frowning")
_CALLED_FROWNING = {
    ("woman", "under 30"): 6, ("woman", "30 to 59"): 5, ("woman", "60 and over"): 36,
    ("man", "under 30"): 4, ("man", "30 to 59"): 7, ("man", "60 and over"): 6,
}  # fmt: skip
_FACES_OF_A_CELL = 100

_SPECIES = ("fox", "deer", "boar", "badger", "hare")
_HABITATS = {
    "forest": (80, 160, 140, 90, 50),
    "field": (110, 120, 60, 70, 140),
    "wetland": (90, 100, 110, 60, 70),
}


def load_tickets() -> pl.DataFrame:
    """2,000 invented support tickets of three offices; one mistake is planted.

    Each ticket has a true intent and the intent that a model gave it. Planted: in Lagos 33 of 99
    ``account_locked`` tickets are called ``fraud_report``, elsewhere 9 of 320 (7 of 182 in Munich, 2 of 138
    in Osaka). All other tickets are wrong at one rate, 10 %, in every office. ``channel`` is drawn without
    regard to anything.

    An audit by ``office`` says: Lagos, ``account_locked`` called ``fraud_report``, beyond chance; and
    nothing by ``channel``.

    Returns:
        Columns ``ticket``, ``office``, ``channel``, ``true_intent`` and ``model_intent``.

    Source: invented; drawn by this function.
    """
    draw = random.Random(20).random  # noqa: S311 - a table, no secret
    rows = []
    for office, sizes in _OFFICES.items():
        for intent, n in zip(_INTENTS, sizes, strict=True):
            planted = _CALLED_FRAUD[office] if intent == "account_locked" else 0
            fixed = ["fraud_report"] if intent == "account_locked" else []
            answers = [*fixed * planted, *_answers(intent, _INTENTS, n - planted, 0.1, draw, never=fixed)]
            rows += [(office, "web" if draw() < 0.6 else "app", intent, answer) for answer in answers]
    return _shuffled(rows, ("office", "channel", "true_intent", "model_intent"), draw, "ticket")


def load_faces() -> pl.DataFrame:
    """1,800 invented faces by gender and age; one mistake of a crossed group is planted.

    Labels of expressions, no pictures. Planted: 36 of 100 ``neutral`` faces of women of 60 and over are
    called ``frowning``; in the five other groups 28 of 500. Other mistakes have one rate in all groups: 2 %
    of neutral faces, 8 % of the rest.

    An audit by ``gender`` says: women; by ``age``: 60 and over. Only the crossing,
    ``by=[("gender", "age")]``, says which women: audit the crossing where you expect one.

    Returns:
        Columns ``face``, ``gender``, ``age``, ``expression`` and ``predicted``.

    Source: invented; drawn by this function.
    """
    draw = random.Random(20).random  # noqa: S311 - a table, no secret
    rows = []
    for (gender, age), planted in _CALLED_FROWNING.items():
        for expression in _EXPRESSIONS:
            fixed = ["frowning"] if expression == "neutral" else []
            n = _FACES_OF_A_CELL - len(fixed) * planted
            rate = 0.02 if fixed else 0.08
            answers = [*fixed * planted, *_answers(expression, _EXPRESSIONS, n, rate, draw, never=fixed)]
            rows += [(gender, age, expression, answer) for answer in answers]
    return _shuffled(rows, ("gender", "age", "expression", "predicted"), draw, "face")


def load_sightings() -> pl.DataFrame:
    """1,450 invented sightings of wildlife cameras in three habitats; nothing is planted.

    Every animal is called another species at one rate, 15 %, whatever its habitat. Habitats hold the species
    in different shares, so the model's answers differ by habitat although its mistakes do not.

    An audit by ``habitat`` says that nothing differs beyond chance, and which difference a table of this
    size could have missed.

    Returns:
        Columns ``sighting``, ``habitat``, ``species`` and ``predicted``.

    Source: invented; drawn by this function.
    """
    draw = random.Random(20).random  # noqa: S311 - a table, no secret
    rows = [
        (habitat, species, answer)
        for habitat, sizes in _HABITATS.items()
        for species, n in zip(_SPECIES, sizes, strict=True)
        for answer in _answers(species, _SPECIES, n, 0.15, draw)
    ]
    return _shuffled(rows, ("habitat", "species", "predicted"), draw, "sighting")


EXAMPLES: Mapping[str, tuple[Callable[[], pl.DataFrame], Mapping[str, Any]]] = MappingProxyType(
    {
        "tickets": (load_tickets, TICKETS),
        "faces": (load_faces, FACES),
        "sightings": (load_sightings, SIGHTINGS),
    }
)
"""The tables of ``evenhand demo`` by name: what loads each, and the options of its audit."""


def _answers(
    truth: str, labels: Sequence[str], n: int, rate: float, draw: Any, never: Sequence[str] = ()
) -> Iterator[str]:
    """``n`` answers; at ``rate`` a wrong one, any but ``never``."""
    wrong = [label for label in labels if label != truth and label not in never]
    for _ in range(n):
        yield wrong[int(draw() * len(wrong))] if draw() < rate else truth


def _shuffled(rows: Sequence[tuple[str, ...]], columns: Sequence[str], draw: Any, kind: str) -> pl.DataFrame:
    """The rows in a drawn order, with an id in front: ``ticket-0001``."""
    order = sorted(range(len(rows)), key=[draw() for _ in rows].__getitem__)
    frame = pl.DataFrame([rows[index] for index in order], schema=list(columns), orient="row")
    ids = pl.Series(kind, [f"{kind}-{number:04d}" for number in range(1, len(rows) + 1)])
    return frame.insert_column(0, ids)
