"""Figures 2, 4, 5 and 6 of the SkewSize paper: effect sizes beside accuracy, in bands, and their spread."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Made, Parameter
from evenhand.benchmarks.papers.rows import Row, frame, numbers
from evenhand.benchmarks.papers.skewsize import published
from evenhand.benchmarks.papers.skewsize.views import (
    ACCURACIES,
    INFERENCE,
    LEAD,
    RunSlice,
    Slices,
    artifact,
    check_tag,
    setting_lines,
)
from evenhand.benchmarks.tidy import tags_of
from evenhand.core.figure import Figure, Reference
from evenhand.metrics.classification.class_effects import class_effects
from evenhand.metrics.classification.effect_options import EffectOptions
from evenhand.stats.arrays import Floats
from evenhand.stats.correlation import fisher_interval, pearson
from evenhand.stats.multiplicity import adjust

_UNDEFINED = "undefined"
_BANDS = ("negligible", "small", "medium", "large", _UNDEFINED)
_CHANCE = "by chance"
_DRAWS = 20  # values taken from each class's null distribution


def _figure2(slices: Slices) -> Made:
    tag = slices[0].setting.text("colour")
    check_tag(tag, [view.run for view in slices])
    untagged = "panel" if len({view.lead["panel"] for view in slices}) > 1 else "model"
    rows: list[Row] = []
    notes = [
        "Higher SkewSize: strong effects are rarer; read it with the mean V of table 4.",
        "Intervals of SkewSize are descriptive: resampling adds noise to V, so that a value may lie outside.",
        *setting_lines(slices),
    ]
    if any(view.lead["benchmark"] == published.RESNET["benchmark"] for view in slices):
        notes.append("The paper's worst group of DomainNet is its accuracy less its gap.")
        lead = {**published.RESNET, "colour": published.RESNET["panel"], "skewsize": published.SKEWSIZE}
        rows += [{**lead, "measure": name, "value": value} for name, value in published.DOMAINNET.items()]
    for view in slices:
        options, y = view.options(), numbers(view.effect())
        how = {"mode": options["mode"], "inference": options["inference"]}
        colour = tags_of(view.run).get(tag, "not tagged") if tag else view.lead[untagged]
        for name, measure in zip(ACCURACIES, published.DOMAINNET, strict=True):
            x = numbers(view.finding(name, **how))
            rows.append({
                **view.lead, "colour": colour, "measure": measure, "value": x["value"], "left": x["low"],
                "right_end": x["high"], "skewsize": y["value"], "low": y["low"], "high": y["high"],
                "n": x["n"], "reason": x["reason"] or y["reason"],
            })  # fmt: skip
    figure = Figure(
        "scatter", x="value", y="skewsize", facet="measure", label="model",
        colour="colour" if len({row["colour"] for row in rows}) > 1 else "",
        low="low", high="high", left="left", right="right_end", independent=("x",), columns=3,
        formats={"value": "percent"}, interval="95 % intervals",
        titles={"value": "", "skewsize": "SkewSize", "colour": tag},
    )  # fmt: skip
    return Made(frame(rows, tuple(rows[-1])), tuple(notes), (figure,))


def _figure4(slices: Slices) -> Made:
    rows = []
    for view in slices:
        classes = view.classes.height
        bands = Counter(view.classes["band"].fill_null(_UNDEFINED))
        defined = classes - bands[_UNDEFINED]
        why = Counter(view.classes["reason"].drop_nulls()).most_common()
        reasons = {_UNDEFINED: ", ".join(f"{reason} ({n})" for reason, n in why) or None}
        for band in _BANDS:
            n = bands[band]
            rows.append({
                **view.lead, "band": band, "n": n, "share": n / classes,
                "share_of_defined": n / defined if defined and band != _UNDEFINED else None,
                "classes": classes, "reason": reasons.get(band),
            })  # fmt: skip
    notes = (
        "Bands of V: negligible [0, 0.1), small [0.1, 0.3), medium [0.3, 0.5), large [0.5, 1]. Undefined: "
        "classes without an effect size; none of them is taken for fair.",
        "A band says nothing of chance: see the null bands of table 3 and figure 6.",
        *setting_lines(slices),
    )
    return Made(frame(rows, tuple(rows[0])), notes)


def _figure5(slices: Slices) -> Made:
    eo = slices[0].setting.text("eo")
    tables = []
    for view in slices:
        classes = _beside_v(view, eo)
        correlations = _correlations(classes)
        of_accuracy = correlations.select(r_accuracy="r", p_accuracy="p").head(1)
        classes = classes.with_columns(part=pl.lit("classes"), facet="model").join(of_accuracy, how="cross")
        tables += [classes, classes.select(LEAD).head(1).join(correlations, how="cross")]
    paper = [
        {**published.RESNET, "part": "correlations", "measure": measure, "r": r, "p": p}
        for measure, (r, p) in published.FIGURE5.items()
    ]
    table = pl.concat([*tables, frame(paper, tuple(paper[0]))], how="diagonal")
    how = {"avg": "average of", "max": "larger of", "full": "largest over all truths of"}[eo]
    notes = (
        "Up and to the right: right most of the time, and yet mistaken differently by group.",
        f"EO: {how} the ranges over groups of true and false positive rates (-p eo=avg|max|full).",
        "p of r: Student's t; Holm over the four. V and accuracy share their rows: r is a description.",
        *setting_lines(slices),
    )
    columns = (*LEAD, "part", "facet", "class", "n", "accuracy", "gap", "V", "EO", "DP", "measure", "r",
               "low", "high", "p", "p_holm", "pairs", "r_accuracy", "p_accuracy", "reason")  # fmt: skip
    return Made(table.select(columns), notes)


def _beside_v(view: RunSlice, eo: str) -> pl.DataFrame:
    """Each class with its V, accuracy, gap, EO and DP; one group alone has no gap and no EO."""
    table, mode = view.classes.drop("low", "high", "p"), view.options()["mode"]
    for column, name, more in (("EO", "equalized_odds", {"eo": eo}), ("DP", "demographic_parity", {})):
        parts = view.measure(name, mode=mode, inference="none", **more).parts
        values = {str(part.key): part.value for part in parts}
        of_classes = [values.get(key) for key in table["class"]]
        table = table.with_columns(pl.Series(column, of_classes, pl.Float64))
    table = table.rename({"accuracy_gap": "gap", "effect_size": "V"})
    return table.with_columns(EO=pl.when(pl.col("gap").is_not_null()).then("EO"))


def _correlations(classes: pl.DataFrame) -> pl.DataFrame:
    """Pearson's r of V with each measure, over the classes that have both."""
    rows = []
    for measure in published.FIGURE5:
        pairs = pearson(classes["V"].to_numpy(), classes[measure].to_numpy())
        low, high = fisher_interval(pairs.value, pairs.n) or (None, None)
        rows.append({
            "part": "correlations", "measure": measure, "r": pairs.value, "p": pairs.p_value, "low": low,
            "high": high, "pairs": pairs.n, "reason": pairs.reason or None,
        })  # fmt: skip
    table = frame(rows, tuple(rows[0]))
    return table.with_columns(p_holm=adjust(table["p"].to_numpy(), "holm")).fill_nan(None)


def _figure6(slices: Slices) -> Made:
    tables = []
    for view in slices:
        classes = view.classes.rename({"effect_size": "V"})
        tables.append(classes.with_columns(series=pl.lit("observed")))
        if view.setting.text("chance") == "yes" and view.own("inference") != "none":
            options = EffectOptions.make("separation", view.options(inference="auto"))
            null = class_effects(view.prepared, options).null
            tables += [] if null is None else [_by_chance(classes, null.draws)]
    table = pl.concat(tables).select(*LEAD, "series", "class", "n", "V", "skewsize", "reason")
    chance = _CHANCE in table["series"]
    by_chance = (
        f"By chance: {_DRAWS} values of each class's own null distribution, in which groups are exchanged "
        "within the class."
    )
    notes = (
        "Each class counts once. Curves are smoothed: read few classes with care.",
        *([by_chance] if chance else []),
        *setting_lines(slices),
    )
    several = table["panel"].n_unique() > 1
    panels = {"row": "model", "column": "panel"} if several else {"facet": "model", "columns": 2}
    figure = Figure(
        "density", x="V", colour="series" if chance else "", **panels,
        annotate=("skewsize",),
        references=tuple(Reference(edge, axis="x") for edge in (0.1, 0.3, 0.5)),
        titles={"V": "effect size V", "series": "", "skewsize": "SkewSize"},
        notes=("Dashed: edges of the bands, 0.1, 0.3 and 0.5.",),
    )  # fmt: skip
    return Made(table, notes, (figure,))


def _by_chance(classes: pl.DataFrame, draws: Floats) -> pl.DataFrame:
    """Evenly spaced quantiles of each class's null distribution, of which ``draws`` has a column each."""
    usable = classes["V"].is_not_null().to_numpy() & np.isfinite(draws).all(axis=0)
    at = (np.arange(_DRAWS) + 0.5) / _DRAWS
    values = pl.Series(np.quantile(draws[:, usable], at, axis=0).T.tolist(), dtype=pl.List(pl.Float64))
    return classes.filter(usable).with_columns(V=values, series=pl.lit(_CHANCE)).explode("V")


FIGURE2 = artifact(
    "skewsize/figure2",
    "SkewSize against accuracy, worst-group accuracy and gap",
    _figure2,
    inference=INFERENCE,
    colour=Parameter("", help="tag that colours tell apart; else the benchmark"),
)
FIGURE4 = artifact(
    "skewsize/figure4",
    "Share of classes in each band of effect sizes",
    _figure4,
    Figure(
        "stacked", x="share", y="model", colour="band", facet="panel", columns=2,
        order={"band": _BANDS}, formats={"share": "percent"}, domain={"x": (0.0, 1.0)},
        independent=("y",),
        titles={"share": "share of classes", "model": "", "band": ""},
    ),
    Figure(
        "table", levels=("model", "panel", "classes"), x="band", value="n", order={"band": _BANDS},
        titles={"model": "", "panel": ""}, formats={"n": "count", "classes": "count"}, title="Classes",
    ),
)  # fmt: skip
FIGURE5 = artifact(
    "skewsize/figure5",
    "Accuracy of each class against its effect size",
    _figure5,
    Figure(
        "scatter", x="accuracy", y="V", value="EO", facet="facet", columns=2,
        only={"part": "classes"}, annotate=("r_accuracy", "p_accuracy"),
        formats={"accuracy": "percent"}, label="class",
        titles={"accuracy": "accuracy of the class", "V": "effect size V", "r_accuracy": "r",
                "p_accuracy": "p"},
    ),
    Figure(
        "table", levels=("model", "panel", "measure", "r", "low", "high", "p", "p_holm", "pairs"),
        only={"part": "correlations"}, title="Pearson's r of V, class by class, with",
        titles={"model": "", "panel": "", "measure": "", "low": "95 % from", "high": "to",
                "p_holm": "p, Holm", "pairs": "classes"}, formats={"pairs": "count"},
    ),
    eo=Parameter("avg", ("avg", "max", "full"), "which equalised odds; avg is Table 1's"),
)  # fmt: skip
FIGURE6 = artifact(
    "skewsize/figure6",
    "Distribution of effect sizes over classes",
    _figure6,
    chance=Parameter("yes", ("yes", "no"), "no: without what chance gives, faster"),
)
