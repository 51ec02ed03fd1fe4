"""Parameters that the indicators share: which people, under which groupings, at which numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evenhand.benchmarks.benchmark import Parameter, Setting
from evenhand.benchmarks.indicators.people.datasets.layouts import KINDS, read_people
from evenhand.benchmarks.indicators.people.datasets.miap import NAME as MIAP
from evenhand.benchmarks.indicators.people.samples import UNKNOWN_POLICIES, People
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.files.images.sources import FirstImages

AUTO = "auto"
"""What lies there, and what it is annotated with, decides."""

AXES: tuple[str, ...] = ("gender", "age", "skin_tone", "race")
"""What groupings are about where none are asked for."""

CROSSES: tuple[tuple[str, str], ...] = (("gender", "skin_tone"), ("gender", "race"))
"""Which of them are also crossed."""

PEOPLE: Mapping[str, Parameter] = {
    "kind": Parameter(AUTO, (AUTO, *KINDS), "layout of --data; auto: what lies there says it"),
    "by": Parameter(AUTO, help="attributes, A+B crosses, separated by commas; auto: gender, age, skin, race"),
    "unknown": Parameter("keep", UNKNOWN_POLICIES, "people whose group nobody gave: apart, or left out"),
    "crop": Parameter("code", ("code", "paper"), "miap: how a box far from square becomes one"),
    "split": Parameter("", help="only this split, of data that has splits"),
}
"""Parameters of every benchmark of people."""

_MOST_GROUPS = 20


def people_of(setting: Setting) -> People:
    """The people that a setting names; ``setting.limit`` takes the first so many."""
    if setting.data is None:
        raise InputError("the indicators need pictures of people; give --data FOLDER, or --data TABLE")
    params = {name: str(value) for name, value in setting.parameters.items()}
    people = read_people(
        setting.data, params["kind"], unknown=params["unknown"], crop=params["crop"], split=params["split"]
    )
    return first_people(people, setting.limit)


def first_people(people: People, limit: int | None) -> People:
    """The first so many people, or all."""
    if limit is None or limit >= len(people.images):
        return people
    return replace(
        people, annotations=people.annotations.head(limit), images=FirstImages(people.images, limit)
    )


def default_taxonomy(people: People) -> str:
    """The taxonomy of the paper that fits these people, by name."""
    return "openimages-miap" if people.name == MIAP else "casual-conversations"


def groupings_of(people: People, by: str) -> list[tuple[str, ...]]:
    """The groupings that a text asks for, as columns.

    ``by`` has columns or axes (``gender`` for ``perceived_gender``), A+B crosses, separated by commas.
    ``auto`` is gender, age, skin tone and race, as far as they are there, and gender crossed with the last
    two, or, without any of them, all attributes; only those with 2 to 20 known groups.
    """
    if by.strip() == AUTO:
        return _usual(people)
    entries = [entry.strip() for entry in by.split(",") if entry.strip()]
    groupings = [tuple(_column(people, name.strip()) for name in entry.split("+")) for entry in entries]
    for grouping in groupings:
        if len(set(grouping)) < len(grouping):
            raise ParameterError(
                f"-p by={by!r} crosses {grouping[0]!r} with itself; name each attribute once"
            )
    return list(dict.fromkeys(groupings))


def numbers(name: str, text: str, *, low: float, high: float, integers: bool = False) -> list[float]:
    """The numbers of a list such as ``0,0.1,0.3``, ascending, equal ones once."""
    try:
        values = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        values = []
    if not values or not all(
        low <= value <= high and (not integers or value == int(value)) for value in values
    ):
        kind = "whole numbers" if integers else "numbers"
        reach = f"from {low:g}" + ("" if high == float("inf") else f" to {high:g}")
        raise ParameterError(f"-p {name}={text!r} is not possible; give {kind} {reach}, separated by commas")
    return sorted(set(values))


def top_of(setting: Setting) -> int:
    """How many labels of an image count."""
    top = int(setting.parameters["top"])
    if top < 1:
        raise ParameterError(f"-p top={top} is not possible; give 1 or more")
    return top


def thresholds_of(setting: Setting) -> list[float]:
    """The confidences from which labels count, in [0, 1], ascending."""
    return numbers("threshold", setting.text("threshold"), low=0, high=1)


def _usual(people: People) -> list[tuple[str, ...]]:
    several = [name for name in people.attributes if _comparable(people, name)]
    axis = {people.definitions[name].axis: name for name in reversed(several)}
    single = [(axis[name],) for name in AXES if name in axis]
    if not single:
        return [(name,) for name in several]
    return single + [
        (axis[first], axis[second]) for first, second in CROSSES if first in axis and second in axis
    ]


def _comparable(people: People, name: str) -> bool:
    groups = [group for group in people.counts(name) if group.casefold() not in UNKNOWN]
    return 2 <= len(groups) <= _MOST_GROUPS


def _column(people: People, name: str) -> str:
    if name in people.definitions:
        return name
    same = [column for column, definition in people.definitions.items() if definition.axis == name]
    if not same:
        raise UnknownName("attribute of these people", name, people.attributes)
    return same[0]
