"""What the artifacts of SkewSize see of a run: its counts under one grouping, its name and its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from evenhand.benchmarks.benchmark import Parameter, Setting
from evenhand.benchmarks.papers.indicators.rows import number_of
from evenhand.benchmarks.papers.rows import OURS, Row, named
from evenhand.benchmarks.tidy import parameters_of, tags_of
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.findings import Finding
from evenhand.core.frames import ends
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.classification import effect_sizes as effect_size
from evenhand.metrics.classification.effect_options import EffectOptions
from evenhand.metrics.prepared import BoundCounts
from evenhand.runs.run_folder import RunFolder

NORMALISED, RAW = "normalised", "raw"
COUNTS = {NORMALISED: "predictions", RAW: "predictions_raw"}
"""Answers to the name of the counts that a run keeps of them."""

AUDIT = "evenhand audit TABLE --truth COL --prediction COL --by COL -o DIR"
IN_WORDS = "evenhand run skewsize/occupations --model URI --data FOLDER -p ask=answer -o DIR"

BY = Parameter("", help="grouping, A+B crosses; several with commas: the first that a run has")
ORDER = Parameter("", help="tag by which runs are put in order; else as given")
ANSWERS = Parameter(NORMALISED, (NORMALISED, RAW), "answers in words: normalised labels or raw texts")
MEV = Parameter("", help="minimum expected value of a predicted label; else as the run was made")
RULE = Parameter("", ("", "min", "mean", "max"), "which of a label's expected values must reach it")
INFERENCE = Parameter("auto", ("auto", "none"), "none: values without intervals, faster")

LEAD = ("source", "model", "benchmark", "by", "panel", "tags")
"""The first columns of every table."""


@dataclass(frozen=True, eq=False)
class RunSlice:
    """One run's counts under one grouping."""

    model: str  # what it is called, apart from the other runs
    run: RunFolder
    by: tuple[str, ...]
    counts: Counts  # predictions by truth and the attributes of by
    answers: str = NORMALISED  # or raw: texts as the model gave them
    seed: int = 0  # of what is computed anew
    memo: dict[Any, Finding] = field(default_factory=dict)

    @property
    def benchmark(self) -> str:
        """The benchmark without its folder; ``audit`` for tables of the user."""
        name = str(self.run.manifest.get("benchmark") or "audit")
        return name.removeprefix("skewsize/")

    @property
    def grouping(self) -> str:
        """The grouping in words."""
        return " × ".join(name.replace("_", " ") for name in self.by)

    @cached_property
    def lead(self) -> Row:
        """What all rows of the run have."""
        tags = ", ".join(f"{key}={value}" for key, value in sorted(tags_of(self.run).items()))
        return {
            "source": OURS,
            "model": self.model,
            "benchmark": self.benchmark,
            "by": "+".join(self.by),
            "panel": panel(self.benchmark, self.grouping),
            "tags": tags or None,
        }

    @property
    def mode(self) -> str:
        """``paper`` or ``default``, as the run was made."""
        return "paper" if self.run.manifest.get("mode") == "paper" else "default"

    @cached_property
    def prepared(self) -> BoundCounts:
        """The counts, bound to the grouping."""
        return BoundCounts.of(self.counts, self.by, self.seed)

    def raw(self) -> RunSlice:
        """The same run and grouping, with answers in words as the model gave them."""
        return RunSlice(self.model, self.run, self.by, self.run.counts[COUNTS[RAW]], RAW, self.seed)

    def own(self, name: str) -> Any:
        """A setting of the run: of an audit, or a parameter of its benchmark."""
        return self.run.manifest.get(name, parameters_of(self.run).get(name))

    def options(self, mev: str | float = "", rule: str = "", inference: str = "auto") -> dict[str, Any]:
        """How effect sizes are measured: as the run was, but for what is given."""
        minimum = expected_value(mev) if mev != "" else float(self.own("mev") or 0.0)
        how = rule or str(self.own("mev_rule") or "min")
        rare = str(self.own("rare") or "drop")
        values = {"mode": self.mode, "mev": minimum, "mev_rule": how, "rare": rare, "inference": inference}
        EffectOptions.make("separation", values)
        return values

    def options_in_words(self, options: Mapping[str, Any]) -> str:
        """How effect sizes were measured, and whether of raw answers."""
        return in_words(options, "raw answers" if self.answers == RAW else "")

    def effect(self, name: str, **options: Any) -> Finding:
        """A finding on effect sizes: the run's own if it has one of these options, else computed anew."""
        return self.finding(name, EffectOptions.make("separation", options).changed, _METRICS[name], options)

    def finding(
        self, name: str, params: Mapping[str, Any], metric: Callable[..., Finding], options: Mapping[str, Any]
    ) -> Finding:
        """The run's own finding of exactly these parameters, else what the metric says of the counts."""
        key = (name, *sorted((option, str(value)) for option, value in options.items()))
        if key not in self.memo:
            expected_params = {**params, **({"answers": RAW} if self.answers == RAW else {})}
            matches = (
                finding
                for finding in self.run.findings.findings
                if finding.name == name and tuple(finding.by) == self.by and finding.params == expected_params
            )
            saved = next(matches, None)
            self.memo[key] = saved or metric(self.counts, by=self.by, seed=self.seed, **options)
        return self.memo[key]


_METRICS: Mapping[str, Callable[..., Finding]] = {
    "skewsize": effect_size.skewsize,
    "cramers_v_mean": effect_size.cramers_v_mean,
    "cramers_v_median": effect_size.cramers_v_median,
    "cramers_v_max": effect_size.cramers_v_max,
}


def views(runs: Sequence[RunFolder], setting: Setting, artifact: str) -> list[RunSlice]:
    """The runs under their groupings, in order, as the parameters ``by``, ``order`` and ``answers`` say."""
    params = setting.parameters
    which = str(params.get("answers", NORMALISED))
    slices = []
    for model, run in _ordered(named([_with_model(run) for run in runs]), str(params.get("order", ""))):
        counts = _counts(run, which, artifact)
        by = _grouping(run, counts, str(params.get("by", "")), artifact)
        slices.append(RunSlice(model, run, by, counts, which, setting.seed))
    return slices


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


def _ordered(pairs: list[tuple[str, RunFolder]], tag: str) -> list[tuple[str, RunFolder]]:
    if not tag:
        return pairs
    tags = [tags_of(run) for _, run in pairs]
    if not any(tag in run_tags for run_tags in tags):
        raise UnknownName("tag of these runs", tag, {name for run_tags in tags for name in run_tags})

    def sort_key(pair: tuple[str, RunFolder]) -> tuple[bool, float, str]:
        text = tags_of(pair[1]).get(tag)
        value = number_of(text)
        return text is None, float("inf") if value is None else value, text or ""

    return sorted(pairs, key=sort_key)


def _counts(run: RunFolder, answers: str, artifact: str) -> Counts:
    counts = run.counts.get(COUNTS[answers])
    if counts is None:
        where = repr(str(run.folder)) if run.folder is not None else "the run given"
        what = "raw answers in words" if answers == RAW else "predictions"
        command = IN_WORDS if answers == RAW else AUDIT
        raise InputError(f"{artifact} is made from counts of {what}, which {where} has not; type: {command}")
    return counts


def _grouping(run: RunFolder, counts: Counts, by_option: str, artifact: str) -> tuple[str, ...]:
    have = counts.attributes
    if not have:
        raise InputError(f"{artifact} compares groups, and a run given was made without any; type: {AUDIT}")
    for entry in filter(None, map(str.strip, by_option.split(","))):
        names = (entry,) if entry in have else tuple(map(str.strip, entry.split("+")))
        if set(names) <= set(have):
            return names
    if by_option:
        raise UnknownName("attribute of these counts", by_option, have)
    groupings = (
        tuple(finding.by) for finding in run.findings.findings if finding.by and set(finding.by) <= set(have)
    )
    return next(groupings, have[:1])


def panel(benchmark: str, grouping: str) -> str:
    """A benchmark and what is compared in it, such as ``occupations by gender``."""
    return f"{benchmark} by {grouping}"


def expected_value(text: str | float) -> float:
    """A minimum expected value, a number of 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ParameterError(f"-p mev={text!r} is not possible; give a number of 0 (keep all labels) or more")
    return value


def chosen_names(text: str, possible: Mapping[str, str], what: str) -> list[str]:
    """What a user names, separated by commas; a name may hold commas itself.

    Spelled exactly, or in another case where that fits one name alone; of several ways to read the commas,
    the longest name counts. ``possible`` maps what can be named to what is meant, which is returned.
    """
    folds: dict[str, list[str]] = {}
    for name in possible:
        folds.setdefault(name.casefold(), []).append(name)
    names: list[str] = []
    pieces = text.split(",")
    while pieces:
        reads = [",".join(pieces[:size]).strip() for size in range(len(pieces), 0, -1)]
        fits = [[read] if read in possible else folds.get(read.casefold(), []) for read in reads]
        index = next((index for index, fit in enumerate(fits) if len(fit) == 1), len(reads) - 1)
        if len(fits[index]) == 1:
            names.append(possible[fits[index][0]])
        elif reads[index]:
            raise UnknownName(what, reads[index], possible)
        del pieces[: len(reads) - index]
    return list(dict.fromkeys(names))


def chosen_options(view: RunSlice, setting: Setting) -> dict[str, Any]:
    """``RunSlice.options`` with what the user gave as ``mev``, ``mev_rule`` and ``inference``."""
    params = setting.parameters
    return view.options(
        str(params.get("mev", "")), str(params.get("mev_rule", "")), str(params.get("inference", "auto"))
    )


def in_words(options: Mapping[str, Any], answers: str = "") -> str:
    """How effect sizes were measured, in a few words."""
    mev = f"MEV {options['mev']:g} ({options['mev_rule']})" if options["mev"] else "all labels"
    pooled = ", rare pooled" if options["mev"] and options["rare"] == "pool" else ""
    mode = ", paper mode" if options["mode"] == "paper" else ""
    return f"{mev}{pooled}{mode}{f', {answers}' if answers else ''}"


def ends_and_p(finding: Finding) -> Row:
    """Interval, null band and p of a finding, or why it has no value."""
    return {**ends(finding), "p": finding.p_value, "reason": finding.reason}
