"""Tables 3, 4, 6 and 7 of the SkewSize paper, the paper's rows beside those of our runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Made, Parameter
from evenhand.benchmarks.papers.rows import OURS, PAPER, Row, frame, numbers
from evenhand.benchmarks.papers.skewsize import published
from evenhand.benchmarks.papers.skewsize.views import (
    IN_WORDS,
    INFERENCE,
    LEAD,
    NORMALISED,
    OF_CLASS,
    RAW,
    RunSlice,
    Slices,
    artifact,
    chosen_names,
    expected_value,
    has_raw,
    in_words,
    lead,
    settings,
)
from evenhand.benchmarks.skewsize.studies import PAPER_MEV
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.figure import Figure
from evenhand.display.text.reasons import explain

_SIZES = ("cramers_v_mean", "cramers_v_median", "cramers_v_max")
_CLASSES = ("classes", "classes_used", "classes_lost")
_VALUES = ("skewsize", "low", "high", "null_low", "null_high", "p", *_SIZES, *_CLASSES)
_MEASURED = (*LEAD, "setting", "answers", "mev", "mev_rule", *_VALUES, "n", "reason")
_WORDS = {
    "model": "", "panel": "", "skewsize": "SkewSize", "cramers_v_mean": "V, mean", "cramers_v_median":
    "V, median", "cramers_v_max": "V, largest", "classes_used": "with a V", "classes_lost": "lost to MEV",
    "null_low": "by chance, from", "null_high": "to", "class": "", "accuracy_gap": "gap",
    "effect_size": "effect size V", "low": "95 % from", "high": "to", "p": "p", "setting": "",
}  # fmt: skip
_HIGHER = (
    "Higher SkewSize: strong effects are rarer. It sees neither how large effects are nor how many classes "
    "have none: read V and the classes beside it."
)
_PRINTED = "The paper's rows: BLIP-2 on its own generated images, which are not yours."
_RULES = {
    "min": "every group must expect that many",
    "mean": "the groups' mean must be that much",
    "max": "one group must expect that many",
}


def _table3(slices: Slices) -> Made:
    tables = [
        view.classes.sort("effect_size", "class", descending=[True, False], nulls_last=True)
        for view in slices
    ]
    table = pl.concat(tables).drop("skewsize")
    order = chosen_names(slices[0].setting.text("classes"), table["class"], "class of these runs")
    if order:
        models = table.select(pl.col("model").unique(maintain_order=True))
        grid = models.join(pl.DataFrame({"class": order}), how="cross")
        in_order = grid.join(table, on=["model", "class"], maintain_order="left_right")
        table = in_order.select(table.columns)
    classes = set(map(str.casefold, table["class"]))
    of_paper = lead(PAPER, published.MODELS[-1], published.OCCUPATIONS, published.GROUPING)
    paper = [
        {**of_paper, "class": name, "accuracy": accuracy, "accuracy_gap": gap, "effect_size": effect}
        for name, (accuracy, gap, effect) in published.TABLE3.items()
        if name in classes
    ]
    notes = (
        "Gap: accuracy of the class minus that of its worst group. p: adjusted over the classes of a run.",
        f"Effect sizes over {', '.join(settings(slices))}.",
        *([_PRINTED] if paper else []),
    )
    return Made(pl.concat([frame(paper, table.columns), table]), notes)


def _measured(view: RunSlice, mev: float, answers: str = "") -> Row:
    """SkewSize with what must stand beside it, at one minimum expected value."""
    options, effect = view.options(mev), view.effect(mev=mev)
    reasons = [part.reason for part in effect.parts]
    classes = (len(reasons), reasons.count(None), reasons.count("below_minimum_expected"))
    return {
        **view.lead, **numbers(effect), "setting": in_words(options, answers), "answers": answers or None,
        "mev": mev, "mev_rule": options["mev_rule"] if mev else None, "skewsize": effect.value,
        **{name: view.effect(name, mev, inference="none").value for name in _SIZES},
        **dict(zip(_CLASSES, classes, strict=True)),
    }  # fmt: skip


def _paper(cells: Mapping[Any, Sequence[float]], of: str, **more: object) -> Iterator[Row]:
    """A row for each of the paper's models and what a printed table has them for, such as ``mev``."""
    for key, values in cells.items():
        row = {"benchmark": published.OCCUPATIONS, "setting": "as published", **more, of: key}
        for model, value in zip(published.MODELS, values, strict=True):
            of_model = lead(PAPER, model, row["benchmark"], published.GROUPING)
            yield {**of_model, **row, "skewsize": value}


def _reasons(table: pl.DataFrame) -> Iterator[str]:
    """Why rows have no SkewSize, one line a reason."""
    for reason, n in Counter(table["reason"].drop_nulls()).most_common():
        yield f"{n} of our values {'is' if n == 1 else 'are'} missing: {explain(reason)}."


def _each_answers(slices: Slices) -> Iterator[tuple[RunSlice, str]]:
    """Runs that keep answers in words with their normalised and with their raw ones; others with none."""
    for view in slices:
        yield view, NORMALISED if has_raw(view.run) else ""
        if has_raw(view.run):
            yield view.raw(), RAW


def _table4(slices: Slices) -> Made:
    levels = dict.fromkeys((0.0, expected_value(slices[0].setting.text("mev"))))
    rows = list(_paper(published.TABLE4, "benchmark"))
    for row in rows:
        if row["benchmark"] == published.OCCUPATIONS:
            row |= {"mev": PAPER_MEV, "answers": NORMALISED}
    rows += [_measured(view, level, answers) for view, answers in _each_answers(slices) for level in levels]
    unstated = (
        "Its occupations: MEV 5, normalised answers. Which setting the paper's sports column has is not said."
    )
    table = frame(rows, _MEASURED)
    return Made(table, (_HIGHER, _PRINTED, unstated, *_reasons(table)))


def _table6(slices: Slices) -> Made:
    if not any(has_raw(view.run) for view in slices):
        raise InputError(
            "skewsize/table6 sets raw beside normalised answers, and none of these runs has answers in "
            f"words; type: {IN_WORDS}"
        )
    levels = dict.fromkeys((expected_value(slices[0].setting.text("mev")), 0.0))
    rows = list(_paper(published.TABLE6, "answers", mev=PAPER_MEV))
    reason = f"no answers in words; type: {IN_WORDS}"
    for view, answers in _each_answers(slices):
        if answers:
            rows += [{**_measured(view, level), "answers": answers} for level in levels]
        else:
            rows.append({**view.lead, "setting": "–", "answers": NORMALISED, "reason": reason})
    table, steps = frame(rows, _MEASURED), "The normalising steps stand in each run's table “answers”."
    return Made(table, (_HIGHER, _PRINTED, steps, *_reasons(table)))


def _table7(slices: Slices) -> Made:
    texts = map(str.strip, slices[0].setting.text("mev").split(","))
    levels = [expected_value(text) for text in texts if text]
    if not levels:
        raise ParameterError("-p mev is empty; give one or more numbers, such as 2,3,4,5,6")
    rows = list(_paper(published.TABLE7, "mev"))
    rows += [_measured(view, level) for view in slices for level in levels]
    table = frame([{**row, "heading": f"MEV {row['mev']:g}"} for row in rows], (*_MEASURED, "heading"))
    rules = table["mev_rule"].drop_nulls().unique().sort()
    rule_names = ", ".join(f"{rule} ({_RULES[rule]})" for rule in rules) or "none needed"
    notes = (
        f"Rule: {rule_names}. The paper does not say which expected value of a label counts.",
        _HIGHER,
        "A larger MEV also erases classes: see how many are left.",
        _PRINTED,
        *_reasons(table),
    )
    levels.sort(reverse=True)
    of_models = replace(
        _SPREAD, levels=("model", "panel") if table["panel"].n_unique() > 1 else ("model",), x="heading",
        order={"heading": tuple(f"MEV {level:g}" for level in levels)}, title="SkewSize",
        interval=_INTERVAL + ": rows resampled within class and group",
    )  # fmt: skip
    figures = (
        of_models,
        replace(of_models, value="classes_used", low="", high="", interval=Figure.interval,
                only={"source": OURS}, title="Classes with an effect size",
                formats={"classes_used": "count"}),
        Figure("lines", x="mev", y="skewsize", colour="model", facet="panel", low="low", high="high",
               columns=2, interval=of_models.interval,
               titles={"mev": "minimum expected value", "skewsize": "SkewSize", "model": ""}),
    )  # fmt: skip
    return Made(table, notes, figures)


_COUNTED: Mapping[str, Any] = dict.fromkeys((*_CLASSES, "n"), "count")
_INTERVAL = "95 % intervals, descriptive"
_SPREAD = Figure(
    "table", levels=("model", "setting"), x="panel", value="skewsize", low="low", high="high", titles=_WORDS,
    interval=_INTERVAL,
)  # fmt: skip
_BESIDE = Figure(
    "table", levels=("model", "panel", "setting", *_VALUES), only={"source": OURS}, titles=_WORDS,
    formats=_COUNTED, title="With what must stand beside it",
)  # fmt: skip
_table = partial(artifact, inference=INFERENCE)
_BESIDE_0 = Parameter("5", help="minimum expected value beside 0")
TABLE3 = _table(
    "skewsize/table3",
    "Accuracy, gap and effect size of each class",
    _table3,
    Figure("table", levels=("model", "panel", *OF_CLASS), titles=_WORDS, formats=_COUNTED),
    classes=Parameter("", help="classes shown, separated by commas; else all"),
)
TABLE4 = _table(
    "skewsize/table4",
    "SkewSize of each model and benchmark",
    _table4,
    _SPREAD,
    _BESIDE,
    without=("answers",),
    mev=_BESIDE_0,
)
TABLE6 = _table(
    "skewsize/table6",
    "SkewSize of raw and of normalised answers",
    _table6,
    replace(_SPREAD, levels=("model", "panel", "setting"), x="answers"),
    replace(_BESIDE, levels=("answers", *_BESIDE.levels)),
    without=("answers",),
    mev=_BESIDE_0,
)
TABLE7 = _table(
    "skewsize/table7",
    "SkewSize against the minimum expected value of a predicted label (MEV)",
    _table7,
    mev=Parameter("6,5,4,3,2", help="minimum expected values"),
)
