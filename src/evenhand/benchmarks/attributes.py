"""What annotated attributes mean: on which axis, by whom, with which groups, and which can be compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from evenhand.core.errors import InputError, UnknownName, first_few
from evenhand.evidence.label_matches import UNKNOWN

PERSON = "the person"
"""Annotated by the people in the images themselves."""

ANNOTATORS = "annotators"
"""Annotated by others, from the images: perceived."""

RECORDED = "the recording"
"""Known from how the images were made."""

USER = "the user's table"
"""Not known here."""

OF_PEOPLE = (
    "age", "gender", "race", "skin_tone", "perceived_age", "perceived_age_utk", "perceived_gender",
    "perceived_race", "perceived_skin_tone", "perceived_fitzpatrick", "perceived_monk", "native_language",
    "secondary_languages", "country",
)  # fmt: skip
"""Attributes that the data sets of faces annotate of the people shown, not of the pictures."""


@dataclass(frozen=True)
class AnnotatedAttribute:
    """An annotated attribute."""

    name: str  # the column
    axis: str  # what it is about, the same for all readers: gender, age, race, skin_tone ...
    annotated_by: str  # PERSON, ANNOTATORS, RECORDED or USER
    levels: tuple[str, ...] = ()  # all groups of its definition but those in UNKNOWN; empty: no such list


def plain_axis(column: str) -> str:
    """The axis of a column by its name alone: ``true_gender`` and ``perceived_gender`` are about gender."""
    name = column.strip().lower().replace("-", "_").replace(" ", "_")
    for prefix in ("perceived_", "apparent_", "true_", "annotated_", "self_identified_", "self_", "label_"):
        name = name.removeprefix(prefix)
    return {"sex": "gender", "ethnicity": "race", "skintone": "skin_tone", "skin_type": "fitzpatrick"}.get(
        name, name
    )


def shared_attribute(
    queries: Mapping[str, AnnotatedAttribute],
    database: Mapping[str, AnnotatedAttribute],
    match: str,  # the axis, or the column of one of both
    *,
    query_levels: Collection[str] = (),  # groups, for attributes whose definition lists none
    database_levels: Collection[str] = (),
) -> tuple[str, str]:
    """Columns of queries and database about the same axis, such as ``gender`` and ``perceived_gender``."""
    axes = {attribute.axis for attribute in queries.values()} & {
        attribute.axis for attribute in database.values()
    }
    match_axes = {
        attribute.axis for attribute in (queries.get(match), database.get(match)) if attribute is not None
    } or {match}
    axis = next(iter(sorted(match_axes & axes)), None)
    if axis is None or len(match_axes) > 1:
        shared_axes = ", ".join(sorted(axes)) or "none"
        raise UnknownName(
            "attribute of both queries and database", match, sorted(axes), f"both have: {shared_axes}"
        )
    query_attribute, database_attribute = _column(queries, axis, match), _column(database, axis, match)
    _require_same(query_attribute, database_attribute, query_levels, database_levels)
    return query_attribute.name, database_attribute.name


def _column(attributes: Mapping[str, AnnotatedAttribute], axis: str, match: str) -> AnnotatedAttribute:
    if match in attributes:
        return attributes[match]
    return next(attribute for attribute in attributes.values() if attribute.axis == axis)


def _require_same(
    query_attribute: AnnotatedAttribute,
    database_attribute: AnnotatedAttribute,
    query_levels: Collection[str],
    database_levels: Collection[str],
) -> None:
    """A group that one side alone has is fine (nobody asked, or nobody to find), other edges are not."""
    left = set(query_attribute.levels or query_levels) - UNKNOWN
    right = set(database_attribute.levels or database_levels) - UNKNOWN
    closed = bool(query_attribute.levels and database_attribute.levels)
    fits = left <= right or right <= left if closed else not left or not right or bool(left & right)
    if not fits:
        raise InputError(
            f"{query_attribute.name!r} of the queries and {database_attribute.name!r} of the database "
            f"mean different groups ({_listed(left)} against {_listed(right)}), so equal names would not be "
            "equal people; bring both to the same groups in tables of your own, or give another -p match="
        )


def _listed(levels: set[str]) -> str:
    return first_few(sorted(levels), 9, " and {} more")
