"""What annotated attributes mean: on which axis, by whom, with which groups, and which can be compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from evenhand.core.errors import InputError, UnknownName
from evenhand.evidence.label_matches import UNKNOWN

PERSON = "the person"
"""Annotated by the people in the images themselves."""

ANNOTATORS = "annotators"
"""Annotated by others, who looked at the images: perceived."""

RECORDED = "the recording"
"""Known from how the images were made."""

USER = "the user's table"
"""Not known here."""


@dataclass(frozen=True)
class AnnotatedAttribute:
    """An annotated attribute.

    Attributes:
        name: The column.
        axis: What it is about, the same for all readers: ``gender``, ``age``, ``race``, ``skin_tone`` ...
        annotated_by: ``PERSON``, ``ANNOTATORS``, ``RECORDED`` or ``USER``.
        levels: All groups that its definition has, those in ``UNKNOWN`` aside; empty if it has no such list.
    """

    name: str
    axis: str
    annotated_by: str
    levels: tuple[str, ...] = ()


def plain_axis(column: str) -> str:
    """The axis of a column by its name alone: ``true_gender`` and ``perceived_gender`` are about gender.

    Args:
        column: Of a user's table.
    """
    name = column.strip().lower().replace("-", "_").replace(" ", "_")
    for prefix in ("perceived_", "apparent_", "true_", "annotated_", "self_identified_", "self_", "label_"):
        name = name.removeprefix(prefix)
    return {"sex": "gender", "ethnicity": "race", "skintone": "skin_tone", "skin_type": "fitzpatrick"}.get(
        name, name
    )


def shared_attribute(
    queries: Mapping[str, AnnotatedAttribute],
    database: Mapping[str, AnnotatedAttribute],
    match: str,
    *,
    query_levels: Collection[str] = (),
    database_levels: Collection[str] = (),
) -> tuple[str, str]:
    """The columns of two tables that are about the same, such as ``gender`` and ``perceived_gender``.

    Args:
        queries: Attributes of the queries.
        database: Attributes of the database.
        match: The axis, or the column of one of both.
        query_levels: Groups that the queries have, for attributes whose definition lists none.
        database_levels: The same of the database.

    Returns:
        The column of the queries and that of the database.

    Raises:
        UnknownName: An axis that not both have; the message lists those that both have.
        InputError: Both have it and mean different groups, such as ages with other edges.
    """
    axes = {each.axis for each in queries.values()} & {each.axis for each in database.values()}
    match_axes = {each.axis for each in (queries.get(match), database.get(match)) if each is not None} or {
        match
    }
    axis = next(iter(sorted(match_axes & axes)), None)
    if axis is None or len(match_axes) > 1:
        both = ", ".join(sorted(axes)) or "none"
        raise UnknownName("attribute of both queries and database", match, sorted(axes), f"both have: {both}")
    ours, theirs = _column(queries, axis, match), _column(database, axis, match)
    _require_same(ours, theirs, query_levels, database_levels)
    return ours.name, theirs.name


def _column(attributes: Mapping[str, AnnotatedAttribute], axis: str, match: str) -> AnnotatedAttribute:
    if match in attributes:
        return attributes[match]
    return next(each for each in attributes.values() if each.axis == axis)


def _require_same(
    ours: AnnotatedAttribute,
    theirs: AnnotatedAttribute,
    query_levels: Collection[str],
    database_levels: Collection[str],
) -> None:
    """A group that one side alone has is fine (nobody asked, or nobody to find), other edges are not."""
    left = set(ours.levels or query_levels) - UNKNOWN
    right = set(theirs.levels or database_levels) - UNKNOWN
    closed = bool(ours.levels and theirs.levels)
    fits = left <= right or right <= left if closed else not left or not right or bool(left & right)
    if not fits:
        raise InputError(
            f"{ours.name!r} of the queries and {theirs.name!r} of the database mean different groups "
            f"({_listed(left)} against {_listed(right)}), so equal names would not be equal people; bring "
            "both to the same groups in tables of your own, or give another -p match="
        )


def _listed(levels: set[str]) -> str:
    shown = sorted(levels)
    return ", ".join(shown[:9]) + (f" and {len(shown) - 9} more" if len(shown) > 9 else "")
