"""What the artifacts of SkewSize see of a run: its counts under one grouping, its name and its settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from evenhand import metrics
from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.indicators.rows import number_of
from evenhand.benchmarks.papers.rows import OURS, Row, benchmark_of, frame, named, numbers
from evenhand.benchmarks.tidy import parameters_of, tags_of
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.figure import Figure
from evenhand.core.findings import Finding
from evenhand.core.significance import p_shown
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.classification.disparities.mistakes import prediction_differences
from evenhand.metrics.classification.effect_options import EffectOptions
from evenhand.metrics.prepared import BoundCounts
from evenhand.runs.run_folder import RunFolder

NORMALISED, RAW = "normalised", "raw"
COUNTS = {NORMALISED: "predictions", RAW: "predictions_raw"}
"""Answers to the name of the counts that a run keeps of them."""

AUDIT = "evenhand audit TABLE --truth COL --prediction COL --by COL -o DIR"
IN_WORDS = "evenhand run skewsize/occupations --model URI --data FOLDER -p ask=answer -o DIR"
ACCURACIES = ("accuracy", "worst_group_accuracy", "accuracy_gap")

_PARAMETERS = {
    "by": Parameter("", help="grouping, A+B crosses; several with commas: the first that a run has"),
    "order": Parameter("", help="tag by which runs are put in order; else as given"),
    "answers": Parameter(NORMALISED, (NORMALISED, RAW), "answers in words: normalised labels or raw texts"),
    "mev": Parameter("", help="minimum expected value of a predicted label; else as the run was made"),
    "mev_rule": Parameter("", ("", "min", "mean", "max"), "which of a label's expected values must reach it"),
}
INFERENCE = Parameter("auto", ("auto", "none"), "none: values without intervals, faster")

LEAD = ("source", "model", "benchmark", "by", "panel", "tags")
"""The first columns of every table."""

OF_CLASS = (
    "class", "n", "accuracy", "accuracy_gap", "effect_size", "low", "high", "null_low", "null_high", "p",
    "band",
)  # fmt: skip
"""What is known of a class."""


def lead(source: str, model: str, benchmark: str, *by: str) -> Row:
    """What all rows of a model on a benchmark begin with, such as the panel ``occupations by gender``."""
    panel = f"{benchmark} by {' × '.join(by).replace('_', ' ')}"
    return {"source": source, "model": model, "benchmark": benchmark, "by": "+".join(by), "panel": panel}


@dataclass(frozen=True, eq=False)
class RunSlice:
    """One run's counts under one grouping."""

    model: str  # what it is called, apart from the other runs
    run: RunFolder
    by: tuple[str, ...]
    counts: Counts  # predictions by truth and the attributes of by
    setting: Setting  # of the artifact; its seed is of what is computed anew
    answers: str = NORMALISED  # or raw: texts as the model gave them

    @cached_property
    def lead(self) -> Row:
        """What all rows of the run have; tables of the user are of the benchmark ``audit``."""
        benchmark = (benchmark_of(self.run) or "audit").removeprefix("skewsize/")
        tags = ", ".join(f"{key}={value}" for key, value in sorted(tags_of(self.run).items()))
        return {**lead(OURS, self.model, benchmark, *self.by), "tags": tags or None}

    @cached_property
    def prepared(self) -> BoundCounts:
        """The counts, bound to the grouping."""
        return BoundCounts.of(self.counts, self.by, self.setting.seed)

    @cached_property
    def predictions(self) -> dict[str, dict[str, dict[str, float]]]:
        """Class to group to prediction to usable rows."""
        bound = self.prepared
        rows: dict[str, dict[str, dict[str, float]]] = {}
        cells = zip(bound.truth, bound.group, bound.prediction, bound.weights, strict=True)
        for truth, group, label, n in cells:
            of_class = rows.setdefault(bound.label_key(truth), {})
            of_group = of_class.setdefault(bound.group_text(group), defaultdict(float))
            of_group[bound.label_key(label)] += float(n)  # groups of several attributes may have one text
        return rows

    @cached_property
    def classes(self) -> pl.DataFrame:
        """What is known of each class, and SkewSize of them all."""
        effect = self.effect()
        rows = [
            {
                **self.lead, **part.details, **numbers(part), "class": str(part.key), "p": p_shown(part),
                "effect_size": part.value, "band": part.band, "skewsize": effect.value,
            }
            for part in effect.parts
        ]  # fmt: skip
        return frame(rows, (*LEAD, *OF_CLASS, "reason", "skewsize"))

    def of_classes(self, keys: Sequence[str]) -> RunSlice:
        """The same run with the rows of some classes alone."""
        levels = [index for index, level in enumerate(self.counts.axis("truth").levels) if str(level) in keys]
        counts = self.counts.only(np.isin(self.counts.codes_of("truth"), levels))
        return replace(self, counts=counts)

    def differences(self, classes: int) -> pl.DataFrame:
        """The classes in which a group's mistakes differ most from the others'."""
        seed = self.setting.seed
        return prediction_differences(self.counts, by=self.by, classes=classes, seed=seed)

    def raw(self) -> RunSlice:
        """The same run and grouping, with answers in words as the model gave them."""
        return replace(self, counts=self.run.counts[COUNTS[RAW]], answers=RAW)

    def own(self, name: str) -> Any:
        """A setting of the run: of an audit, or a parameter of its benchmark."""
        return self.run.manifest.get(name, parameters_of(self.run).get(name))

    def options(self, mev: float | None = None, **changes: str) -> dict[str, Any]:
        """How effect sizes are measured: as the run was, but for what the user gave."""
        parameters = self.setting.parameters
        return {
            "mode": "paper" if self.run.manifest.get("mode") == "paper" else "default",
            "mev": expected_value(parameters["mev"] or self.own("mev") or 0.0) if mev is None else mev,
            "mev_rule": parameters["mev_rule"] or str(self.own("mev_rule") or "min"),
            "rare": str(self.own("rare") or "drop"),
            "inference": parameters.get("inference", "none"),
            **changes,
        }

    @property
    def words(self) -> str:
        """How effect sizes were measured, and whether of raw answers, in words."""
        return in_words(self.options(), "raw answers" if self.answers == RAW else "")

    def effect(self, name: str = "skewsize", mev: float | None = None, **changes: str) -> Finding:
        """A finding on effect sizes."""
        return self.finding(name, **self.options(mev, **changes))

    def finding(self, name: str, **options: Any) -> Finding:
        """The run's own finding of exactly these options, else what the metric says of the counts."""
        # accuracy is one number in both modes
        params = {} if name == "accuracy" else EffectOptions.make("separation", options).changed
        params |= {"answers": RAW} if self.answers == RAW else {}
        for finding in self.run.findings.findings:
            if (finding.name, tuple(finding.by), finding.params) == (name, self.by, params):
                return finding
        return self.measure(name, **options)

    def measure(self, name: str, **options: Any) -> Finding:
        """What a metric says of the counts."""
        finding: Finding = getattr(metrics, name)(self.counts, by=self.by, seed=self.setting.seed, **options)
        return finding


Slices: TypeAlias = Sequence[RunSlice]


def artifact(
    name: str,
    title: str,
    make: Callable[[Slices], Made],
    *figures: Figure,
    without: Sequence[str] = (),
    **more: Parameter,
) -> Artifact:
    """An artifact of runs under their groupings; of the parameters that all have ``without`` some."""

    def of_runs(runs: Sequence[RunFolder], setting: Setting) -> Made:
        return make(_views(runs, setting, name))

    shared = {key: parameter for key, parameter in _PARAMETERS.items() if key not in without}
    return Artifact(name, title, of_runs, figures, parameters=shared | more)


def _views(runs: Sequence[RunFolder], setting: Setting, name: str) -> list[RunSlice]:
    """The runs under their groupings, in order, as the parameters ``by``, ``order`` and ``answers`` say."""
    tag = setting.parameters.get("order", "")
    check_tag(tag, runs)

    def place(pair: tuple[str, RunFolder]) -> tuple[bool, float, str]:
        text = tags_of(pair[1]).get(tag)
        return text is None, number_of(text) or float("inf"), text or ""

    pairs = sorted(named(list(map(_with_model, runs))), key=place)
    return [_slice(model, run, setting, name) for model, run in pairs]


def _slice(model: str, run: RunFolder, setting: Setting, name: str) -> RunSlice:
    """A run by the first grouping of the option that it has; without one by that of its first finding."""
    option, answers = setting.text("by"), setting.parameters.get("answers", NORMALISED)
    counts = run.counts.get(COUNTS[answers])
    if counts is None:
        where = repr(str(run.folder)) if run.folder is not None else "the run given"
        what, command = ("raw answers in words", IN_WORDS) if answers == RAW else ("predictions", AUDIT)
        raise InputError(f"{name} is made from counts of {what}, which {where} has not; type: {command}")
    have = counts.attributes
    if not have:
        raise InputError(f"{name} compares groups, and a run given was made without any; type: {AUDIT}")
    if option:
        entries = filter(None, map(str.strip, option.split(",")))
        groupings = [
            (entry,) if entry in have else tuple(map(str.strip, entry.split("+"))) for entry in entries
        ]
    else:
        groupings = [tuple(finding.by) for finding in run.findings.findings if finding.by]
    fits = [by for by in groupings if set(by) <= set(have)]
    if option and not fits:
        raise UnknownName("attribute of these counts", option, have)
    return RunSlice(model, run, fits[0] if fits else have[:1], counts, setting, answers)


def check_tag(tag: str, runs: Iterable[RunFolder]) -> None:
    """Refuse a tag that none of the runs has."""
    tags = dict.fromkeys(name for run in runs for name in tags_of(run))
    if tag and tag not in tags:
        raise UnknownName("tag of these runs", tag, tags)


def has_raw(run: RunFolder) -> bool:
    """Whether a run keeps answers in words as they were given."""
    return COUNTS[RAW] in run.counts


def _with_model(run: RunFolder) -> RunFolder:
    """Audits know no model: what their folder is called stands for it."""
    if run.manifest.get("model"):
        return run
    source = run.manifest.get("source")
    table = str(source.get("path") or "") if isinstance(source, dict) else ""
    name = run.folder.name if run.folder is not None else table.replace("\\", "/").rpartition("/")[2]
    return replace(run, manifest={**run.manifest, "model": name or "audit"})


def expected_value(text: str | float) -> float:
    """A minimum expected value, a number of 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ParameterError(f"-p mev={text!r} is not possible; give a number of 0 (keep all labels) or more")
    return value


def chosen_names(text: str, possible: Iterable[str], what: str) -> list[str]:
    """What a user names, separated by commas; exactly, or in another case that fits one name alone."""
    # a name may hold commas itself: of several ways to read them, the longest name counts
    possible = list(dict.fromkeys(possible))
    names: list[str] = []
    pieces = text.split(",")
    while pieces:
        for size in range(len(pieces), 0, -1):
            read = ",".join(pieces[:size]).strip()
            folded = [name for name in possible if name.casefold() == read.casefold()]
            fits = [read] if read in possible else folded
            if len(fits) == 1:
                names += fits
                break
        else:
            if read:
                raise UnknownName(what, read, possible)
        del pieces[:size]
    return list(dict.fromkeys(names))


def in_words(options: Mapping[str, Any], answers: str = "") -> str:
    """How effect sizes were measured, in a few words."""
    mev = f"MEV {options['mev']:g} ({options['mev_rule']})" if options["mev"] else "all labels"
    pooled = "rare pooled" if options["mev"] and options["rare"] == "pool" else ""
    mode = "paper mode" if options["mode"] == "paper" else ""
    return ", ".join(filter(None, (mev, pooled, mode, answers)))


def settings(slices: Slices) -> list[str]:
    """How effect sizes of runs were measured, each way once."""
    return list(dict.fromkeys(view.words for view in slices))


def setting_lines(slices: Slices) -> list[str]:
    """A line for each of these."""
    return [f"Effect sizes over {text}." for text in settings(slices)]
