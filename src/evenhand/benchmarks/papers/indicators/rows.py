"""What the artifacts of the indicators share: tags as numbers, groupings, rows of rates, figures by size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenhand.benchmarks.attributes import plain_axis
from evenhand.benchmarks.papers.rows import OURS, Row
from evenhand.benchmarks.tidy import tags_of
from evenhand.core.errors import InputError, one_line
from evenhand.core.figure import Figure
from evenhand.core.findings import Key, Part
from evenhand.core.frames import ends
from evenhand.evidence.household_hits import BUCKETS
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.runs.run_folder import RunFolder

LABELS, GEOGRAPHY, RETRIEVAL = (
    "indicators/label_association", "indicators/geography", "indicators/retrieval",
)  # fmt: skip
TRAINING, DATA, IMAGES, PARAMETERS = "training", "data", "images", "parameters"
"""Tags by which the figures of the paper tell runs apart."""

NO_TAG = "not tagged"
PUBLISHED = "published"
"""Stands for training and data of models whose numbers are a paper's."""

RATES, CURVE = "rates", "curve"

COLUMNS = (
    "source", "part", "model", TRAINING, DATA, IMAGES, PARAMETERS, "by", "measure", "group", "threshold", "k",
    "value", "low", "high", "null_low", "null_high", "p", "n", "coverage", "reason",
)  # fmt: skip
"""Columns of every table of rates by group."""

_SUFFIXES = {"k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}


def number_of(text: str | None) -> float | None:
    """A tag as a number above 0: ``7e8``, ``700M`` and ``700,000,000`` are alike; None if it is none."""
    words = (text or "").strip().casefold().replace(",", "").replace("_", "")
    scale = _SUFFIXES.get(words[-1:], 1.0)
    try:
        number = float(words[:-1] if scale != 1 else words) * scale
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None


def lead(name: str, run: RunFolder, by: Sequence[str]) -> Row:
    """What all rows of a run have: its model, its tags and the grouping in words."""
    tags = tags_of(run)
    return {
        "source": OURS,
        "model": name,
        TRAINING: tags.get(TRAINING, NO_TAG),
        DATA: tags.get(DATA, NO_TAG),
        IMAGES: number_of(tags.get(IMAGES)),
        PARAMETERS: number_of(tags.get(PARAMETERS)),
        "tags": tags,
        "by": grouping(by),
    }


def axes_of(by: Iterable[str]) -> frozenset[str]:
    """What a grouping is about: ``perceived_gender`` and ``gender`` are about gender."""
    return frozenset(plain_axis(column) for column in by)


def grouping(by: Sequence[str]) -> str:
    """A grouping in words."""
    return " × ".join(column.replace("_", " ") for column in by) or "all"


def group_name(key: Key) -> str:
    """A group in words, such as ``female, darker``; also from ``female*darker``."""
    return ", ".join(key.split("*") if isinstance(key, str) else key)


def numbers(part: Part) -> Row:
    """Value, interval, what chance gives, p, n and coverage of a group, or why there is no value."""
    coverage = part.details.get("coverage")
    return {
        "group": group_name(part.key),
        "value": part.value,
        **ends(part),
        "p": part.p_adjusted if part.p_adjusted is not None else part.p_value,
        "n": part.n,
        "coverage": coverage if isinstance(coverage, float | int) else None,
        "reason": part.reason,
    }


def groupings_in(run: RunFolder, name: str) -> list[tuple[str, ...]]:
    """The groupings of the findings of a name, each once."""
    groupings = [
        tuple(finding.by) for finding in run.findings.findings if finding.name == name and finding.by
    ]
    return list(dict.fromkeys(groupings))


def chosen(run: RunFolder, name: str, groupings: Sequence[frozenset[str]]) -> tuple[str, ...] | None:
    """The first grouping that a run has, of those wanted; None if it has none of them."""
    have = {axes_of(by): by for by in reversed(groupings_in(run, name))}
    return next((have[axes] for axes in groupings if axes in have), None)


def asked_groupings(text: str) -> list[frozenset[str]]:
    """Groupings of a text such as ``gender+race,age``, in order of preference."""
    entries = [entry for entry in text.split(",") if entry.strip()]
    return [axes_of(name.strip() for name in entry.split("+")) for entry in entries]


def ordered_groups(rows: Iterable[Row]) -> tuple[str, ...]:
    """Groups in the order of figures: incomes from low to high, unknown ones last, others by name."""
    groups = dict.fromkeys(str(row["group"]) for row in rows)

    def sort_key(group: str) -> tuple[bool, list[tuple[int, str]]]:
        parts = group.split(", ")
        ranked_parts = [(BUCKETS.index(part) if part in BUCKETS else 0, part) for part in parts]
        return any(part in UNKNOWN for part in parts), ranked_parts

    return tuple(sorted(groups, key=sort_key))


def tagged(rows: Sequence[Row], tag: str) -> bool:
    """Whether the runs have different values of a tag, so that a figure by it says something."""
    return len({row.get(tag) for row in rows if row["source"] == OURS}) > 1


def against_size(rows: Sequence[Row], size: str, *, column: str, words: str) -> tuple[Figure, ...]:
    """Value against a size of the models, a figure a grouping; panels by training and data where tagged.

    ``size`` is ``IMAGES`` or ``PARAMETERS``; ``rows`` are those of ``with_recipe``; each value of ``column``
    has a column of panels; ``words`` say what the values are.
    """
    several = len({row["recipe"] for row in rows if row[size] is not None}) > 1
    return tuple(
        Figure(
            "lines", x=size, y="value", colour="group", row="recipe" if several else "",
            column=column, low="low", high="high", log=("x",), only={"by": by}, title=f"By {by}",
            domain={"y": (0.0, 1.0)},
            order={"group": ordered_groups(rows)},
            formats={size: "short", "value": "percent"}, interval="95% intervals",
            titles={"value": words, "group": "", size: f"{size} (tag)"},
        )
        for by in dict.fromkeys(row["by"] for row in rows)
    )  # fmt: skip


def with_recipe(rows: Iterable[Row], size: str) -> list[Row]:
    """Rows with training and data in words, and with a reason where the size is missing."""
    recipe_rows = []
    for row in rows:
        words = [row[tag] for tag in (TRAINING, DATA) if row[tag] != NO_TAG]
        reason = row.get("reason") or unsized(row, size)
        recipe_rows.append({**row, "recipe": " · ".join(words) or NO_TAG, "reason": reason})
    return recipe_rows


def unsized(row: Row, size: str) -> str | None:
    """Why a row has no such size; None where it has one."""
    if row[size] is not None:
        return None
    tag = row["tags"].get(size)
    if tag is None:
        return f"no tag {size}=NUMBER"
    return f"tag {size}={one_line(tag, 20)} is no number above 0"


def need_sizes(rows: Sequence[Row], size: str, artifact: str) -> None:
    """Refuse runs of which none says how large it is."""
    if not any(row[size] is not None for row in rows):
        tag = next((str(row["tags"][size]) for row in rows if size in row["tags"]), None)
        what = "has the tag" if tag is None else f"has a number above 0 there, not {one_line(tag, 20)!r}"
        raise InputError(
            f"{artifact} draws runs against {size}, and none of these {what}; type: evenhand run ... "
            f"--tag {size}=1e9, with the model's own number"
        )
