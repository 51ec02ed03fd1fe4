"""Impact ratios as Local Law 144 of New York City asks for them, from counts of predictions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import ParameterError, UnknownName
from evenhand.display.text.formatting import plural
from evenhand.report.exports.exported import RunView, chosen
from evenhand.stats.rates.rates import Rates, normal_quantile

if TYPE_CHECKING:
    import polars

    from evenhand.evidence.predictions.counts import Counts

PARAMETERS = {
    "selected": "", "scores": "no", "sex": "", "race": "", "crossed": "no",
    "reference_from": "0.02", "leave_out_below": "0",
}  # fmt: skip
NOTE = (
    "Evidence, not a conformity decision. The audit that the law asks for is made by an independent auditor, "
    "on the data and categories that its rules name."
)
SMALL = 0.02  # the rules let an auditor leave out a category below this share
UNKNOWN, UNPREDICTED = "unknown category", "no prediction"
FEW = 30  # rows of a category below which its ratio is said to rest on few
COLUMNS = ("run", "by", "form", "category", "sex", "race", "n", "share", "selected", "selection_rate",
           "rate_low", "rate_high", "impact_ratio", "reason", "reference", "below_two_percent", "left_out",
           "few_rows", "median")  # fmt: skip


@dataclass(frozen=True)
class _Category:
    """Rows of one category and how many of them were selected."""

    key: tuple[str, ...]
    n: int
    selected: int

    @property
    def rate(self) -> float:
        """The share that was selected."""
        return self.selected / self.n


@dataclass(frozen=True)
class _Form:
    """What is counted as selected: a label, or a score above the median of all scores."""

    name: str  # selection rate or scoring rate
    chosen: frozenset[str]  # the predictions that count, as texts
    note: str  # what has to be said of it
    median: float | None = None  # of all scores; None where a label is what counts


@dataclass(frozen=True)
class _Shares:
    """The shares of rows from which a category may be the reference, and below which it is left out."""

    reference_from: float
    leave_out_below: float


def impact_ratios(
    runs: Sequence[tuple[RunView, Counts]], parameters: Mapping[str, str]
) -> tuple[polars.DataFrame, list[str]]:
    """Selection or scoring rates and impact ratios by sex, by race, and by both where asked.

    The selection rate of a category is the share of its rows with the prediction ``selected``; the scoring
    rate is the share with a score above the median of all rows that have one. The impact ratio is that rate
    divided by the highest rate of a category of the same kind that is large enough to be the reference. A
    category that is not has a ratio too, and it may be above 1. Intervals of rates are Wilson's, 95 %; a
    ratio has none, since the data choose the category that it is taken to. A ratio is undefined, with its
    reason, where no one was selected, no category is large enough to be the reference, or the category is
    left out. Two rows without a category close each kind: how many rows are of unknown category, and without
    a prediction.

    Source: Rules of the City of New York, title 6, section 5-300 (rates, ratios), 5-301(b) to (d).
    """
    import polars as pl

    settings = chosen(parameters, PARAMETERS, "ll144")
    shares = _Shares(*(_share(settings, name) for name in ("reference_from", "leave_out_below")))
    kinds = _kinds(settings)
    rows, notes = [], [NOTE]
    for run, counts in runs:
        form = _form(counts, settings)
        notes += [f"{run.name}: {form.note}"] if form.note else []
        for kind in kinds:
            kind_rows, sentences = _rows(counts, kind, settings, form, shares)
            rows += [{"run": run.name, "form": form.name, "median": form.median, **row} for row in kind_rows]
            notes += [f"{run.name}: {sentence}" for sentence in sentences]
    texts = ("run", "by", "form", "category", "sex", "race", "reason")
    flags = ("reference", "below_two_percent", "left_out", "few_rows")
    schema: dict[str, Any] = {name: pl.String if name in texts else pl.Float64 for name in COLUMNS}
    schema |= dict.fromkeys(flags, pl.Boolean) | {"n": pl.Int64, "selected": pl.Int64}
    columns = {name: [row.get(name) for row in rows] for name in COLUMNS}
    return pl.DataFrame(columns, schema=schema), notes


def _share(settings: Mapping[str, str], name: str) -> float:
    """A share of rows: at most the rules' limit for leaving out, at most 1 for being the reference."""
    most, limit = (SMALL, ", the rules' limit") if name == "leave_out_below" else (1, "")
    try:
        share = float(settings[name])
    except ValueError:
        share = math.nan
    if not 0 <= share <= most:
        raise ParameterError(f"{name}={settings[name]!r} is not possible; give 0 to {most}{limit}")
    return share


def _kinds(settings: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Which of sex, race and both are asked for."""
    attributes = [name for name in ("sex", "race") if settings[name]]
    for name in ("crossed", "scores"):
        if settings[name] not in ("yes", "no"):
            raise ParameterError(f"{name}={settings[name]!r} is not possible; choose yes or no")
    if bool(settings["selected"]) == (settings["scores"] == "yes") or not attributes:
        raise ParameterError(
            "--as ll144 needs the label that means selected, or scores, and the columns of sex and race; "
            "type: -p selected=LABEL (or -p scores=yes) -p sex=COL -p race=COL"
        )
    if settings["sex"] == settings["race"]:
        raise ParameterError(f"sex and race both name {settings['sex']!r}; give each a column of its own")
    if settings["crossed"] == "yes" and len(attributes) < 2:
        raise ParameterError("crossed=yes needs both; type: -p sex=COL -p race=COL")
    return [(name,) for name in attributes] + ([("sex", "race")] if settings["crossed"] == "yes" else [])


def _form(counts: Counts, settings: Mapping[str, str]) -> _Form:
    """Which predictions count as selected."""
    for name in ("sex", "race"):
        if settings[name] and settings[name] not in counts.attributes:
            raise UnknownName("attribute in this run", settings[name], counts.attributes)
    labels = [str(label) for label in counts.axis("prediction").levels]
    if settings["scores"] == "yes":
        return _scored(counts, labels)
    selected_label = settings["selected"]
    if selected_label in labels:
        return _Form("selection rate", frozenset([selected_label]), "")
    if selected_label not in map(str, counts.axis("truth").levels):
        hint = "where no one was selected, the truth column has to hold the label"
        raise UnknownName("predicted label", selected_label, labels, hint)
    return _Form(
        "selection rate", frozenset(), f"no row has the prediction {selected_label!r}: no one selected"
    )


def _scored(counts: Counts, labels: Sequence[str]) -> _Form:
    """Scores above the median of all rows that have one, those of unknown category among them."""
    try:
        values = {label: float(label) for label in labels}
    except ValueError:
        values = {"": math.nan}
    if not np.isfinite(list(values.values())).all():
        examples = ", ".join(map(repr, labels[:3]))
        raise ParameterError(
            f"scores=yes needs predictions that are numbers, not {examples}; type: -p selected=LABEL"
        )
    weights = dict.fromkeys(labels, 0)
    for prediction, n in counts.table().select("prediction", "n").iter_rows():
        if prediction is not None:
            weights[str(prediction)] += n
    ordered = np.array(sorted(labels, key=values.__getitem__))
    ends = np.cumsum([weights[label] for label in ordered])
    total = int(ends[-1]) if ends.size else 0
    if not total:
        raise ParameterError("scores=yes needs rows with a score, and this run has none; give another run")
    middle = np.searchsorted(ends, [(total + 1) // 2, total // 2 + 1])
    median = sum(values[label] for label in ordered[middle]) / 2
    above = frozenset(label for label in labels if values[label] > median)
    note = f"the median of {total} scores is {median:g}; rates are of scores above it"
    return _Form("scoring rate", above, note, median)


def _rows(
    counts: Counts, kind: tuple[str, ...], settings: Mapping[str, str], form: _Form, shares: _Shares
) -> tuple[list[dict[str, Any]], list[str]]:
    columns = [settings[name] for name in kind]
    categories, unknown, unpredicted = _categories(counts, columns, form.chosen)
    total = sum(category.n for category in categories)
    out = [category for category in categories if category.n / total < shares.leave_out_below]
    large = [
        category
        for category in categories
        if category not in out and category.n / total >= shares.reference_from
    ]
    highest = max((category.rate for category in large), default=None)
    everyone = sum(category.selected for category in categories)
    missing = _missing(highest, everyone, shares)
    rows = []
    for category in categories:
        reason = "left out: below the share given" if category in out else missing
        low, high = Rates.of_rows([category.selected], [category.n]).limits(normal_quantile(0.95))
        rows.append(
            {
                "by": " x ".join(kind),
                "category": " x ".join(category.key),
                **dict(zip(kind, category.key, strict=True)),
                "n": category.n,
                "share": category.n / total,
                "selected": category.selected,
                "selection_rate": category.rate,
                "rate_low": float(low[0]),
                "rate_high": float(high[0]),
                "impact_ratio": None if reason or not highest else category.rate / highest,
                "reason": reason,
                "reference": category in large and missing is None and category.rate == highest,
                "below_two_percent": category.n / total < SMALL,
                "left_out": category in out,
                "few_rows": category.n < FEW,
            }
        )
    sentences = list(_basis_sentences(" x ".join(kind), rows, unknown, unpredicted, shares))
    nothing = dict.fromkeys(("reference", "below_two_percent", "left_out", "few_rows"), False)
    for reason, n in ((UNKNOWN, unknown), (UNPREDICTED, unpredicted)):
        rows.append({"by": " x ".join(kind), "n": n, "reason": f"{reason}: in no rate", **nothing})
    return rows, sentences


def _missing(highest: float | None, selected: int, shares: _Shares) -> str | None:
    """Why no ratio can be made of a kind of category; None where one can."""
    if not selected:
        return "no one selected"
    if highest is None:
        return f"no category holds {100 * shares.reference_from:g}% of the rows"
    return None if highest else "no one selected in a category that may be the reference"


def _basis_sentences(
    kind: str, rows: Sequence[Mapping[str, Any]], unknown: int, unpredicted: int, shares: _Shares
) -> Iterator[str]:
    """What the ratios rest on and what was left out, counted also where it is nothing."""
    for row in rows:
        if row["reference"]:
            yield f"by {kind}, ratios are to {row['category']!r}: {row['selected']} of {row['n']} rows"
    yield f"by {kind}, {plural(unknown, 'row')} of unknown category {_are(unknown)} in no rate"
    yield f"by {kind}, {plural(unpredicted, 'row')} without a prediction {_are(unpredicted)} in no rate"
    out = [row for row in rows if row["left_out"]]
    out_of_all = plural(len(out), "category", "categories")
    rows_of_them = plural(sum(row["n"] for row in out), "row")
    yield f"by {kind}, {out_of_all} with {rows_of_them} {_are(len(out))} left out of the ratios"
    for share, so in ((SMALL, ""), (shares.reference_from, " and cannot be the reference")):
        if so or share != shares.reference_from:
            small = sum(row["share"] < share for row in rows)
            hold = plural(small, "category holds", "categories hold")
            yield f"by {kind}, {hold} less than {100 * share:g}% of the rows{so}"
    few = sum(bool(row["few_rows"]) for row in rows)
    have = plural(few, "category has", "categories have")
    ratios = "its ratio rests" if few == 1 else "their ratios rest"
    yield f"by {kind}, {have} fewer than {FEW} rows: {ratios} on few"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _categories(
    counts: Counts, columns: Sequence[str], selected: frozenset[str]
) -> tuple[list[_Category], int, int]:
    """Each category, the rows without one, and the rows of a category without a prediction."""
    sums_by_key: dict[tuple[str, ...], list[int]] = {}
    unknown = unpredicted = 0
    for row in counts.table().select([*columns, "prediction", "n"]).iter_rows():
        *levels, prediction, n = row
        if None in levels:
            unknown += n
        elif prediction is None:
            unpredicted += n
        else:
            sums = sums_by_key.setdefault(tuple(map(str, levels)), [0, 0])
            sums[0] += n
            sums[1] += n if str(prediction) in selected else 0
    categories = [_Category(key, n, chosen_) for key, (n, chosen_) in sorted(sums_by_key.items()) if n]
    return categories, unknown, unpredicted
