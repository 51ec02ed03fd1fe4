"""Figures 2, 4, 5 and 6 of the SkewSize paper: effect sizes beside accuracy, in bands, and their spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.rows import PAPER, Row, frame
from evenhand.benchmarks.papers.skewsize import published
from evenhand.benchmarks.papers.skewsize.views import (
    ANSWERS,
    BY,
    INFERENCE,
    LEAD,
    MEV,
    ORDER,
    RULE,
    RunSlice,
    chosen_options,
    ends_and_p,
    panel,
    views,
)
from evenhand.benchmarks.tidy import tags_of
from evenhand.core.errors import UnknownName
from evenhand.core.figure import Figure, Reference
from evenhand.core.findings import Finding, Part
from evenhand.core.frames import ends
from evenhand.metrics.classification import accuracy as group_accuracy
from evenhand.metrics.classification import parity
from evenhand.metrics.classification.class_effects import class_effects
from evenhand.metrics.classification.effect_options import EffectOptions
from evenhand.metrics.estimates import EqualizedOdds
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.arrays import Floats
from evenhand.stats.correlation import fisher_interval, pearson
from evenhand.stats.multiplicity import adjust

_UNDEFINED = "undefined"
_BANDS = ("negligible", "small", "medium", "large", _UNDEFINED)
_EDGES: Mapping[str, str] = {
    "negligible": "[0, 0.1)", "small": "[0.1, 0.3)", "medium": "[0.3, 0.5)", "large": "[0.5, 1]",
}  # fmt: skip
_ACCURACIES: Mapping[str, tuple[str, Callable[..., Finding]]] = {
    "accuracy": ("accuracy", group_accuracy.accuracy),
    "worst-group accuracy": ("worst_group_accuracy", group_accuracy.worst_group_accuracy),
    "gap": ("accuracy_gap", group_accuracy.accuracy_gap),
}
_OBSERVED, _CHANCE = "observed", "by chance"
_DRAWS = 20  # values taken from each class's null distribution
_DOMAINNET = "domainnet"


def _shown(view: RunSlice, options: Mapping[str, Any]) -> str:
    return f"Effect sizes over {view.options_in_words(options)}."


def _figure2(runs: Sequence[RunFolder], setting: Setting) -> Made:
    rows: list[Row] = []
    texts: list[str] = []
    tag = setting.text("colour")
    tags = {name for run in runs for name in tags_of(run)}
    if tag and tag not in tags:
        raise UnknownName("tag of these runs", tag, tags)
    for view in views(runs, setting, "skewsize/figure2"):
        options = chosen_options(view, setting)
        texts.append(_shown(view, options))
        colour = tags_of(view.run).get(tag, "not tagged") if tag else view.lead["panel"]
        rows += [{**row, "colour": colour} for row in _points(view, options)]
    if not tag and len({row["panel"] for row in rows}) == 1:
        rows = [{**row, "colour": row["model"]} for row in rows]
    shows_domainnet = any(row["benchmark"] == _DOMAINNET for row in rows)
    if shows_domainnet:
        rows = [*_domainnet(), *rows]
    notes = (
        "Higher SkewSize: strong effects are rarer; read it with the mean V of table 4.",
        "Intervals of SkewSize are descriptive: resampling adds noise to V, so that a value may lie outside.",
        *dict.fromkeys(texts),
        *(["The paper's worst group of DomainNet is its accuracy less its gap."] if shows_domainnet else []),
    )
    columns = (*LEAD, "colour", "measure", "value", "left", "right_end", "skewsize", "low", "high", "n",
               "reason")  # fmt: skip
    several = len({row["colour"] for row in rows}) > 1
    figure = Figure(
        "scatter", x="value", y="skewsize", facet="measure", label="model",
        colour="colour" if several else "", low="low", high="high", left="left", right="right_end",
        independent=("x",), columns=3,
        formats={"value": "percent"}, interval="95 % intervals",
        titles={"value": "", "skewsize": "SkewSize", "colour": tag},
    )  # fmt: skip
    return Made(frame(rows, columns), notes, (figure,))


def _points(view: RunSlice, options: Mapping[str, Any]) -> Iterator[Row]:
    """SkewSize of a run beside each measure of accuracy."""
    skewsize = view.effect("skewsize", **options)
    y = {"skewsize": skewsize.value, **ends_and_p(skewsize)}
    extra = {"mode": "paper"} if view.mode == "paper" else {}
    how = {"mode": view.mode, "inference": options["inference"]}
    for words, (name, metric) in _ACCURACIES.items():
        finding = view.finding(name, {} if name == "accuracy" else extra, metric, how)
        limits = ends(finding)
        yield {
            **view.lead, **y, "measure": words, "value": finding.value, "n": finding.n,
            "left": limits["low"], "right_end": limits["high"],
            "reason": finding.reason or skewsize.reason,
        }  # fmt: skip


def _domainnet() -> Iterator[Row]:
    """The paper's ResNet-50 on DomainNet; its worst group follows from accuracy and gap."""
    figures = published.DOMAINNET
    worst = figures["accuracy"] - figures["accuracy_gap"]
    where = panel(_DOMAINNET, "domain")
    for words, value in zip(_ACCURACIES, (figures["accuracy"], worst, figures["accuracy_gap"]), strict=True):
        yield {
            "source": PAPER, "model": "ResNet-50", "benchmark": _DOMAINNET, "by": "domain", "panel": where,
            "colour": where, "measure": words, "value": value, "skewsize": figures["skewsize"],
        }  # fmt: skip


def _figure4(runs: Sequence[RunFolder], setting: Setting) -> Made:
    rows: list[Row] = []
    texts: list[str] = []
    for view in views(runs, setting, "skewsize/figure4"):
        options = chosen_options(view, setting)
        texts.append(_shown(view, options))
        parts = view.effect("skewsize", **options).parts
        bands = Counter(part.band or _UNDEFINED for part in parts)
        defined = len(parts) - bands[_UNDEFINED]
        why = Counter(part.reason for part in parts if part.reason)
        for band in _BANDS:
            share = bands[band] / defined if defined and band != _UNDEFINED else None
            rows.append({
                **view.lead, "band": band, "n": bands[band], "share": bands[band] / len(parts),
                "share_of_defined": share, "classes": len(parts),
                "reason": ", ".join(f"{name} ({n})" for name, n in why.most_common()) or None
                if band == _UNDEFINED else None,
            })  # fmt: skip
    edges = ", ".join(f"{band} {edge}" for band, edge in _EDGES.items())
    notes = (
        f"Bands of V: {edges}. Undefined: classes without an effect size; none of them is taken for fair.",
        "A band says nothing of chance: see the null bands of table 3 and figure 6.",
        *dict.fromkeys(texts),
    )
    return Made(frame(rows, (*LEAD, "band", "n", "share", "share_of_defined", "classes", "reason")), notes)


def _figure5(runs: Sequence[RunFolder], setting: Setting) -> Made:
    rows: list[Row] = []
    texts: list[str] = []
    eo = setting.parameters["eo"]
    for view in views(runs, setting, "skewsize/figure5"):
        options = chosen_options(view, setting)
        texts.append(_shown(view, options))
        classes = _class_rows(view, options, eo)
        correlations = _correlations(classes)
        v = {f"r_{row['measure']}": row["r"] for row in correlations} | {
            f"p_{row['measure']}": row["p"] for row in correlations
        }
        rows += [{**view.lead, "part": "classes", "facet": view.model, **row, **v} for row in classes]
        rows += [{**view.lead, "part": "correlations", **row} for row in correlations]
    printed = [
        {"source": PAPER, "model": "ResNet-50", "benchmark": _DOMAINNET, "by": "domain",
         "panel": panel(_DOMAINNET, "domain"), "part": "correlations", "measure": measure, "r": r, "p": p}
        for measure, (r, p) in published.FIGURE5.items()
    ]  # fmt: skip
    how = {"avg": "average of", "max": "larger of", "full": "largest over all truths of"}[eo]
    notes = (
        "Up and to the right: right most of the time, and yet mistaken differently by group.",
        f"EO: {how} the ranges over groups of true and false positive rates (-p eo=avg|max|full).",
        "p of r: Student's t; Holm over the four. V and accuracy share their rows: r is a description.",
        *dict.fromkeys(texts),
    )
    columns = (*LEAD, "part", "facet", "class", "n", "accuracy", "gap", "V", "EO", "DP", "measure", "r",
               "low", "high", "p", "p_holm", "pairs", "r_accuracy", "p_accuracy", "reason")  # fmt: skip
    return Made(frame([*rows, *printed], columns), notes)


def _class_rows(view: RunSlice, options: Mapping[str, Any], eo: EqualizedOdds) -> list[Row]:
    """Each class with its V, accuracy, gap, EO and DP; one group alone has no gap and no EO."""
    mode: dict[str, Any] = {"mode": view.mode, "inference": "none"}
    odds = _by_key(parity.equalized_odds(view.counts, by=view.by, eo=eo, seed=view.seed, **mode).parts)
    rates = _by_key(parity.demographic_parity(view.counts, by=view.by, seed=view.seed, **mode).parts)
    effect = view.effect("skewsize", **{**options, "inference": "none"})
    return [
        {
            "class": str(part.key), "n": part.n, "V": part.value, "accuracy": part.details.get("accuracy"),
            "gap": part.details.get("accuracy_gap"),
            "EO": None if part.details.get("accuracy_gap") is None else odds.get(str(part.key)),
            "DP": rates.get(str(part.key)), "reason": part.reason,
        }
        for part in effect.parts
    ]  # fmt: skip


def _by_key(parts: Sequence[Part]) -> dict[str, float | None]:
    return {str(part.key): part.value for part in parts}


def _correlations(classes: Sequence[Row]) -> list[Row]:
    """Pearson's r of V with each measure, over the classes that have both."""
    v = _column(classes, "V")
    rows: list[Row] = []
    for measure in published.FIGURE5:
        correlation = pearson(v, _column(classes, measure))
        ends_of_r = fisher_interval(correlation.value, correlation.n) if not correlation.reason else None
        rows.append({
            "measure": measure, "r": _known(correlation.value), "p": _known(correlation.p_value),
            "pairs": correlation.n,
            "low": ends_of_r[0] if ends_of_r else None, "high": ends_of_r[1] if ends_of_r else None,
            "reason": correlation.reason or None,
        })  # fmt: skip
    p = np.array([np.nan if row["p"] is None else row["p"] for row in rows])
    return [{**row, "p_holm": _known(p_holm)} for row, p_holm in zip(rows, adjust(p, "holm"), strict=True)]


def _column(rows: Sequence[Row], name: str) -> Floats:
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=np.float64)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _figure6(runs: Sequence[RunFolder], setting: Setting) -> Made:
    rows: list[Row] = []
    texts: list[str] = []
    for view in views(runs, setting, "skewsize/figure6"):
        options = chosen_options(view, setting)
        texts.append(_shown(view, options))
        effect = view.effect("skewsize", **{**options, "inference": "none"})
        rows += [
            {**view.lead, "series": _OBSERVED, "class": str(part.key), "n": part.n, "V": part.value,
             "skewsize": effect.value, "reason": part.reason}
            for part in effect.parts
        ]  # fmt: skip
        if setting.parameters["chance"] == "yes" and view.own("inference") != "none":
            rows += _by_chance(view, options, effect)
    notes = (
        "Each class counts once. Curves are smoothed: read few classes with care.",
        f"By chance: {_DRAWS} values of each class's own null distribution, in which groups are exchanged "
        "within the class.",
        *dict.fromkeys(texts),
    )
    chance = any(row["series"] == _CHANCE for row in rows)
    figure_notes = notes if chance else (notes[0], *notes[2:])
    several = len({row["panel"] for row in rows}) > 1
    panels = {"row": "model", "column": "panel"} if several else {"facet": "model", "columns": 2}
    figure = Figure(
        "density", x="V", colour="series" if chance else "", **panels,
        annotate=("skewsize",),
        references=tuple(Reference(edge, axis="x") for edge in (0.1, 0.3, 0.5)),
        titles={"V": "effect size V", "series": "", "skewsize": "SkewSize"},
        notes=("Dashed: edges of the bands, 0.1, 0.3 and 0.5.",),
    )  # fmt: skip
    columns = (*LEAD, "series", "class", "n", "V", "skewsize", "reason")
    return Made(frame(rows, columns), figure_notes, (figure,))


def _by_chance(view: RunSlice, options: Mapping[str, Any], effect: Finding) -> Iterator[Row]:
    """Evenly spaced quantiles of each class's null distribution."""
    bound = EffectOptions.make("separation", {**options, "inference": "auto"})
    null = class_effects(view.prepared, bound).null
    if null is None:
        return
    at = (np.arange(_DRAWS) + 0.5) / _DRAWS
    for index, part in enumerate(effect.parts):
        draws = null.draws[:, index]
        if part.value is not None and np.isfinite(draws).all():
            for value in np.quantile(draws, at).tolist():
                yield {
                    **view.lead, "series": _CHANCE, "class": str(part.key), "n": part.n, "V": value,
                    "skewsize": effect.value,
                }  # fmt: skip


_MANY = {"by": BY, "order": ORDER, "answers": ANSWERS, "mev": MEV, "mev_rule": RULE}
FIGURE2 = Artifact(
    "skewsize/figure2",
    "SkewSize against accuracy, worst-group accuracy and gap",
    _figure2,
    parameters={
        **_MANY, "inference": INFERENCE,
        "colour": Parameter("", help="tag that colours tell apart; else the benchmark"),
    },
)  # fmt: skip
FIGURE4 = Artifact(
    "skewsize/figure4",
    "Share of classes in each band of effect sizes",
    _figure4,
    (
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
    ),
    parameters=_MANY,
)  # fmt: skip
FIGURE5 = Artifact(
    "skewsize/figure5",
    "Accuracy of each class against its effect size",
    _figure5,
    (
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
    ),
    parameters={
        **_MANY, "eo": Parameter("avg", ("avg", "max", "full"), "which equalised odds; avg is Table 1's"),
    },
)  # fmt: skip
FIGURE6 = Artifact(
    "skewsize/figure6",
    "Distribution of effect sizes over classes",
    _figure6,
    parameters={
        **_MANY, "chance": Parameter("yes", ("yes", "no"), "no: without what chance gives, faster"),
    },
)  # fmt: skip
