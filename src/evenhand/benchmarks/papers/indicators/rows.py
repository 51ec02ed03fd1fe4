"""What the artifacts of the indicators share: tags as numbers, groupings, tables and figures of rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from evenhand.benchmarks.attributes import plain_axis
from evenhand.benchmarks.benchmark import Made, Setting
from evenhand.benchmarks.papers.rows import NUMBERS, OURS, PAPER, Row, numbers
from evenhand.benchmarks.tidy import table_of, tags_of
from evenhand.core.errors import InputError, one_line
from evenhand.core.figure import Figure
from evenhand.core.findings import Finding, Key
from evenhand.core.significance import p_shown
from evenhand.evidence.household_hits import BUCKETS
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.runs.run_folder import RunFolder

LABELS, GEOGRAPHY, RETRIEVAL = (
    "indicators/label_association", "indicators/geography", "indicators/retrieval",
)  # fmt: skip
TRAINING, DATA, IMAGES, PARAMETERS = "training", "data", "images", "parameters"
"""Tags by which the figures of the paper tell runs apart; the last two are numbers."""

AUTO = "auto"
NO_TAG = "not tagged"
PUBLISHED = "published"
"""Stands for training and data of models whose numbers are a paper's."""

RATES, CURVE = "rates", "curve"

COLUMNS = (
    "source", "part", "model", TRAINING, DATA, IMAGES, PARAMETERS, "by", "measure", "group", "threshold", "k",
    "value", "low", "high", "null_low", "null_high", "p", "n", "coverage", "reason",
)  # fmt: skip
"""Columns of every table of rates by group."""

_SIZES = (IMAGES, PARAMETERS)
_EVERY = (*COLUMNS, "recipe", "chance", *(f"tag {size}" for size in _SIZES))
_FIGURES = {*NUMBERS, *_SIZES, "threshold", "coverage", "chance"}
_table = partial(table_of, columns=_EVERY, numbers=_FIGURES)
_SUFFIXES = {"k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}

DOTS = Figure(
    "dots", x="value", y="group", colour="model", low="low", high="high", null_low="null_low",
    null_high="null_high", formats={"value": "percent"}, titles={"value": "", "group": "", "model": ""},
)  # fmt: skip
"""Rates of groups, model by model."""
LINES = Figure(
    "lines", y="value", colour="group", column="measure", low="low", high="high", interval="95% intervals"
)
"""Rates of groups against a number."""


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
    """What all rows of a run have: its model, its tags, as they are read and typed, and the grouping."""
    tags = tags_of(run)
    recipe = {tag: tags.get(tag, NO_TAG) for tag in (TRAINING, DATA)}
    return {
        "source": OURS, "model": name, "by": grouping(by), **recipe,
        "recipe": " · ".join(tag for tag in recipe.values() if tag != NO_TAG) or NO_TAG,
        **{size: number_of(tags.get(size)) for size in _SIZES},
        **{f"tag {size}": one_line(tags[size], 20) for size in _SIZES if size in tags},
    }  # fmt: skip


def axes_of(by: Iterable[str]) -> frozenset[str]:
    """What a grouping is about: ``perceived_gender`` and ``gender`` are about gender."""
    return frozenset(map(plain_axis, by))


def grouping(by: Sequence[str]) -> str:
    """A grouping in words."""
    return " × ".join(by).replace("_", " ") or "all"


def group_name(key: Key) -> str:
    """A group in words, such as ``female, darker``; also from ``female*darker``."""
    return ", ".join(key.split("*") if isinstance(key, str) else key)


def findings_of(
    run: RunFolder, name: str, groupings: Sequence[frozenset[str]] | None = None
) -> list[Finding]:
    """The findings of a name, by any of the groupings if some are given."""
    findings = [finding for finding in run.findings if finding.name == name]
    return [finding for finding in findings if groupings is None or axes_of(finding.by) in groupings]


def groupings_for(setting: Setting, usual: Sequence[frozenset[str]]) -> Sequence[frozenset[str]]:
    """Those of ``-p by=gender+race,age``, in order of preference; the usual ones for auto."""
    by = setting.text("by")
    return usual if by == AUTO else [axes_of(text.split("+")) for text in by.split(",") if text.strip()]


def stacked(*tables: pl.DataFrame) -> pl.DataFrame:
    """Tables one under the other, with every column, also those that none of them has."""
    return pl.concat([_table([]), *tables], how="diagonal_relaxed")


def rates(
    name: str, run: RunFolder, finding: Finding, threshold: float | None = None, **more: object
) -> pl.DataFrame:
    """A row for each group of a finding; ``threshold`` where it has none, ``more`` in all of them."""
    shared = {
        **lead(name, run, finding.by), "part": RATES,
        "threshold": finding.params.get("threshold", threshold), **more,
    }  # fmt: skip
    rows = [
        {
            **shared, **numbers(part), "group": group_name(part.key), "p": p_shown(part),
            "coverage": part.details.get("coverage"), "chance": part.details.get("chance"),
        }
        for part in finding.parts
    ]  # fmt: skip
    return _table(rows)


def printed_rates(
    cells: Iterable[tuple[object, ...]],  # model, grouping in words, measure, group, value
    threshold: float,
    ours: pl.DataFrame,
) -> pl.DataFrame:
    """What a paper prints at a threshold, for the groups of ``ours``."""
    shared = {"source": PAPER, "part": RATES, TRAINING: PUBLISHED, DATA: PUBLISHED, "threshold": threshold}
    columns = ("model", "by", "measure", "group", "value")
    rows = [{**shared, **dict(zip(columns, cell, strict=True))} for cell in cells]
    return _table(rows).join(ours, on=["by", "group"], how="semi", maintain_order="left")


def by_grouping(base: Figure, table: pl.DataFrame) -> tuple[Figure, ...]:
    """A figure for each grouping of a table, with its groups in order, as ``base`` has the rest."""
    return tuple(
        replace(
            base, only={**base.only, "by": by}, title=f"By {by}{base.title}",
            order={"group": ordered_groups(table.filter(by=by)), **base.order},
        )
        for by in table["by"].unique(maintain_order=True)
    )  # fmt: skip


def ordered_groups(table: pl.DataFrame) -> tuple[str, ...]:
    """Groups in the order of figures: incomes from low to high, unknown ones last, others by name."""

    def place(group: str) -> tuple[bool, list[tuple[int, str]]]:
        """What a group is sorted by."""
        parts = group.split(", ")
        ranked_parts = [(BUCKETS.index(part) if part in BUCKETS else 0, part) for part in parts]
        return not UNKNOWN.isdisjoint(parts), ranked_parts

    return tuple(sorted(set(table["group"]), key=place))


def no_size(size: str) -> pl.Expr:
    """Why a row has no such size; null where it has one."""
    no_number = pl.format(f"tag {size}={{}} is no number above 0", f"tag {size}")
    return pl.when(pl.col(size).is_null()).then(pl.coalesce(no_number, pl.lit(f"no tag {size}=NUMBER")))


def against_size(
    table: pl.DataFrame, size: str, artifact: str, words: str, *more: str, notes: tuple[str, ...] = ()
) -> Made:
    """Value against a size of the models, a figure a grouping; panels by training and data where tagged.

    Args:
        table: Rates.
        size: ``IMAGES`` or ``PARAMETERS``.
        artifact: Its name.
        words: What the values are.
        *more: Further columns of the table.
        notes: Lines under it.

    Raises:
        InputError: No run says how large its model is.
    """
    with_size = table.drop_nulls(size)
    if with_size.is_empty():
        tag = next(iter(table[f"tag {size}"].drop_nulls()), None)
        what = "has the tag" if tag is None else f"has a number above 0 there, not {tag!r}"
        raise InputError(
            f"{artifact} draws runs against {size}, and none of these {what}; type: evenhand run ... "
            f"--tag {size}=1e9, with the model's own number"
        )
    lines = replace(
        LINES, x=size, row="recipe" if with_size["recipe"].n_unique() > 1 else "", log=("x",),
        domain={"y": (0.0, 1.0)}, order={"group": ordered_groups(table)},
        formats={size: "short", "value": "percent"},
        titles={"value": words, "group": "", size: f"{size} (tag)"},
    )  # fmt: skip
    table = table.with_columns(reason=pl.coalesce("reason", no_size(size)))
    return Made(table.select(*COLUMNS, "recipe", *more), notes, by_grouping(lines, table))
