"""Impact ratios as Local Law 144 of New York City asks for them, from counts of predictions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import ParameterError, UnknownName
from evenhand.report.exports.exported import ExportedRun, chosen
from evenhand.stats.effect_intervals import wilson_interval

if TYPE_CHECKING:
    import polars

    from evenhand.evidence.counts import Counts

PARAMETERS = {"selected": "", "sex": "", "race": "", "crossed": "no", "leave_out_below": "0"}
NOTE = (
    "Evidence, not a conformity decision. The audit that the law asks for is made by an independent auditor, "
    "on the data and categories that its rules name."
)
SMALL = 0.02  # the rules let an auditor leave out a category below this share
COLUMNS = ("run", "by", "category", "sex", "race", "n", "share", "selected", "selection_rate", "rate_low",
           "rate_high", "impact_ratio", "reason", "below_two_percent", "left_out")  # fmt: skip


@dataclass(frozen=True)
class _Category:
    """Rows of one category and how many of them were selected."""

    key: tuple[str, ...]
    n: int
    selected: int


def impact_ratios(
    runs: Sequence[tuple[ExportedRun, Counts]], given: Mapping[str, str]
) -> tuple[polars.DataFrame, list[str]]:
    """Selection rates and impact ratios by sex, by race, and by both where asked.

    The selection rate of a category is the share of its rows with the prediction ``selected``; its impact
    ratio is that rate divided by the highest rate of any category of the same kind that was not left out.
    Intervals of rates are Wilson's, 95 %; a ratio has none, since the data choose the category that it is
    taken to. A ratio is undefined, with its reason, where the highest rate is 0
    or the category is left out.

    Args:
        runs: Runs with their counts of predictions.
        given: ``selected``: the label that means selected; ``sex`` and ``race``: attributes of the run, one
            or both; ``crossed=yes``: also sex x race; ``leave_out_below``: the share of rows below which a
            category is left out of the ratios, 0 (none) or at most 0.02.

    Returns:
        One row for each category of each kind, in the order of ``COLUMNS``, and sentences that say what was
        left out.

    Raises:
        ParameterError: Something is missing or not possible.
        UnknownName: No such label or attribute.
    """
    import polars as pl

    settings = chosen(given, PARAMETERS, "ll144")
    below = _share(settings["leave_out_below"])
    kinds = _kinds(settings)
    rows, notes = [], [NOTE]
    for run, counts in runs:
        _check(counts, settings)
        for kind in kinds:
            made, told = _rows(counts, kind, settings, below)
            rows += [{"run": run.name, **row} for row in made]
            notes += [f"{run.name}: {sentence}" for sentence in told]
    texts, flags = ("run", "by", "category", "sex", "race", "reason"), ("below_two_percent", "left_out")
    schema: dict[str, Any] = {name: pl.String if name in texts else pl.Float64 for name in COLUMNS}
    schema |= dict.fromkeys(flags, pl.Boolean) | {"n": pl.Int64, "selected": pl.Int64}
    columns = {name: [row.get(name) for row in rows] for name in COLUMNS}
    return pl.DataFrame(columns, schema=schema), notes


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 <= share <= SMALL:
        raise ParameterError(f"leave_out_below={text!r} is not possible; give 0 to {SMALL}, the rules' limit")
    return share


def _kinds(settings: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Which of sex, race and both are asked for."""
    given = [name for name in ("sex", "race") if settings[name]]
    if not settings["selected"] or not given:
        raise ParameterError(
            "--as ll144 needs the label that means selected and the columns of sex and race; "
            "type: -p selected=LABEL -p sex=COL -p race=COL"
        )
    if settings["crossed"] not in ("yes", "no"):
        raise ParameterError(f"crossed={settings['crossed']!r} is not possible; choose yes or no")
    if settings["crossed"] == "yes" and len(given) < 2:
        raise ParameterError("crossed=yes needs both; type: -p sex=COL -p race=COL")
    return [(name,) for name in given] + ([("sex", "race")] if settings["crossed"] == "yes" else [])


def _check(counts: Counts, settings: Mapping[str, str]) -> None:
    for name in ("sex", "race"):
        if settings[name] and settings[name] not in counts.attributes:
            raise UnknownName("attribute in this run", settings[name], counts.attributes)
    labels = [str(label) for label in counts.axis("prediction").levels]
    if settings["selected"] not in labels:
        raise UnknownName("predicted label", settings["selected"], labels)


def _rows(
    counts: Counts, kind: tuple[str, ...], settings: Mapping[str, str], below: float
) -> tuple[list[dict[str, Any]], list[str]]:
    columns = [settings[name] for name in kind]
    categories, unknown, unpredicted = _categories(counts, columns, settings["selected"])
    total = sum(one.n for one in categories)
    kept = [one for one in categories if total and one.n / total >= below]
    highest = max((one.selected / one.n for one in kept), default=0.0)
    rows = []
    for one in categories:
        rate, share = one.selected / one.n, one.n / total
        left_out = one not in kept
        reason = "left out: below the share given" if left_out else None
        reason = reason or ("no category has a selection" if highest == 0 else None)
        low, high = wilson_interval(np.array([one.selected]), np.array([one.n]))
        rows.append(
            {
                "by": " x ".join(kind),
                "category": " x ".join(one.key),
                **dict(zip(kind, one.key, strict=True)),
                "n": one.n,
                "share": share,
                "selected": one.selected,
                "selection_rate": rate,
                "rate_low": float(low[0]),
                "rate_high": float(high[0]),
                "impact_ratio": None if reason else rate / highest,
                "reason": reason,
                "below_two_percent": share < SMALL,
                "left_out": left_out,
            }
        )
    return rows, list(_said(" x ".join(kind), rows, unknown, unpredicted))


def _said(kind: str, rows: Sequence[Mapping[str, Any]], unknown: int, unpredicted: int) -> Iterator[str]:
    """What was left out, counted also where it is nothing."""
    out = [row for row in rows if row["left_out"]]
    yield f"by {kind}, {unknown} rows of unknown category are in no rate"
    yield f"by {kind}, {unpredicted} rows without a prediction are in no rate"
    rows_out = sum(row["n"] for row in out)
    yield f"by {kind}, {len(out)} categories with {rows_out} rows are left out of the ratios"
    small = sum(bool(row["below_two_percent"]) for row in rows)
    yield f"by {kind}, {small} categories hold less than 2% of the rows"


def _categories(counts: Counts, columns: Sequence[str], selected: str) -> tuple[list[_Category], int, int]:
    """Each category, the rows without one, and the rows of a category without a prediction."""
    found: dict[tuple[str, ...], list[int]] = {}
    unknown = unpredicted = 0
    for row in counts.table().select([*columns, "prediction", "n"]).iter_rows():
        *levels, prediction, n = row
        if None in levels:
            unknown += n
        elif prediction is None:
            unpredicted += n
        else:
            sums = found.setdefault(tuple(map(str, levels)), [0, 0])
            sums[0] += n
            sums[1] += n if str(prediction) == selected else 0
    categories = [_Category(key, n, chosen_) for key, (n, chosen_) in sorted(found.items()) if n]
    return categories, unknown, unpredicted
