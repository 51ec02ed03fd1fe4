"""Tables 3, 4, 6 and 7 of the SkewSize paper, the paper's rows beside those of our runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.rows import OURS, PAPER, Row, frame
from evenhand.benchmarks.papers.skewsize import published
from evenhand.benchmarks.papers.skewsize.views import (
    ANSWERS,
    BY,
    IN_WORDS,
    INFERENCE,
    LEAD,
    MEV,
    NORMALISED,
    ORDER,
    RULE,
    RunSlice,
    chosen_names,
    chosen_options,
    ends_and_p,
    expected_value,
    has_raw,
    in_words,
    panel,
    views,
)
from evenhand.benchmarks.skewsize.studies import PAPER_MEV
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.figure import Figure
from evenhand.core.findings import Finding
from evenhand.core.frames import ends
from evenhand.core.significance import p_shown
from evenhand.display.text.reasons import explain
from evenhand.runs.run_folder import RunFolder

_SIZES = ("cramers_v_mean", "cramers_v_median", "cramers_v_max")
_MEASURED = (
    "setting", "answers", "mev", "mev_rule", "skewsize", "low", "high", "null_low", "null_high", "p",
    *_SIZES, "classes", "classes_used", "classes_lost", "n", "reason",
)  # fmt: skip
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
_UNSTATED = "Which setting the paper's sports column has is not said."


def _measured(view: RunSlice, options: Mapping[str, Any], *, words: bool = False) -> Row:
    """SkewSize with what must stand beside it, at one setting."""
    effect = view.effect("skewsize", **options)
    answers = view.answers if words else ""
    reasons = [part.reason for part in effect.parts]
    return {
        **view.lead, **ends_and_p(effect), "setting": in_words(options, answers), "answers": answers or None,
        "mev": options["mev"], "mev_rule": options["mev_rule"] if options["mev"] else None,
        "skewsize": effect.value, "n": effect.n, "classes": len(reasons),
        "classes_used": reasons.count(None), "classes_lost": reasons.count("below_minimum_expected"),
        **{name: view.effect(name, **{**options, "inference": "none"}).value for name in _SIZES},
    }  # fmt: skip


def _paper(benchmark: str, values: Sequence[float], setting: str, **more: object) -> Iterator[Row]:
    """A row for each of the paper's models."""
    for model, value in zip(published.MODELS, values, strict=True):
        yield {
            "source": PAPER, "model": model, "benchmark": benchmark, "by": published.GROUPING,
            "panel": panel(benchmark, published.GROUPING), "setting": setting, "skewsize": value, **more,
        }  # fmt: skip


def _reasons(rows: Sequence[Row]) -> Iterator[str]:
    """Why rows have no SkewSize, one line a reason."""
    without = Counter(row["reason"] for row in rows if row["source"] == OURS and row["reason"])
    for reason, n in without.most_common():
        yield f"{n} of our values {'is' if n == 1 else 'are'} missing: {explain(reason)}."


def _table3(runs: Sequence[RunFolder], setting: Setting) -> Made:
    rows: list[Row] = []
    settings = []
    for view in views(runs, setting, "skewsize/table3"):
        options = chosen_options(view, setting)
        settings.append(view.options_in_words(options))
        rows += sorted(_classes(view, view.effect("skewsize", **options)), key=_by_effect)
    rows = _only(rows, setting.text("classes"))
    present = {str(row["class"]).casefold() for row in rows}
    printed = [
        {"source": PAPER, "model": published.TABLE3_MODEL, "benchmark": "occupations",
         "by": published.GROUPING, "panel": panel("occupations", published.GROUPING), "class": name,
         "accuracy": accuracy, "accuracy_gap": gap, "effect_size": effect}
        for name, (accuracy, gap, effect) in published.TABLE3.items()
        if name in present
    ]  # fmt: skip
    columns = (*LEAD, "class", "n", "accuracy", "accuracy_gap", "effect_size", "low", "high", "null_low",
               "null_high", "p", "band", "reason")  # fmt: skip
    notes = [
        "Gap: accuracy of the class minus that of its worst group. p: adjusted over the classes of a run.",
        f"Effect sizes over {', '.join(dict.fromkeys(settings))}.",
        *([_PRINTED] if printed else []),
    ]
    return Made(frame([*printed, *rows], columns), tuple(notes))


def _classes(view: RunSlice, effect: Finding) -> Iterator[Row]:
    for part in effect.parts:
        yield {
            **view.lead, "class": str(part.key), "n": part.n, "accuracy": part.details.get("accuracy"),
            "accuracy_gap": part.details.get("accuracy_gap"), "effect_size": part.value,
            **ends(part),
            "p": p_shown(part),
            "band": part.band, "reason": part.reason,
        }  # fmt: skip


def _by_effect(row: Row) -> tuple[bool, float, str]:
    value = row["effect_size"]
    return value is None, -(value or 0.0), row["class"]


def _only(rows: list[Row], text: str) -> list[Row]:
    """The classes that were asked for, in that order; all of them if none was."""
    classes = dict.fromkeys(row["class"] for row in rows)
    order = chosen_names(text, {name: name for name in classes}, "class of these runs")
    if not order:
        return rows
    models = list(dict.fromkeys(row["model"] for row in rows))
    selected = [row for row in rows if row["class"] in order]
    return sorted(selected, key=lambda row: (models.index(row["model"]), order.index(row["class"])))


def _table4(runs: Sequence[RunFolder], setting: Setting) -> Made:
    mev, inference = expected_value(setting.text("mev")), setting.text("inference")
    rule = setting.text("mev_rule")
    rows: list[Row] = []
    for benchmark, values in published.TABLE4.items():
        options = {"mev": PAPER_MEV, "answers": NORMALISED} if benchmark == "occupations" else {}
        rows += _paper(benchmark, values, "as published", **options)
    for view in _each_answers(runs, setting, "skewsize/table4"):
        words = has_raw(view.run)
        levels = dict.fromkeys((0.0, mev))
        rows += [_measured(view, view.options(level, rule, inference), words=words) for level in levels]
    notes = (_HIGHER, _PRINTED, f"Its occupations: MEV 5, normalised answers. {_UNSTATED}", *_reasons(rows))
    return Made(frame(rows, (*LEAD, *_MEASURED)), notes)


def _each_answers(runs: Sequence[RunFolder], setting: Setting, artifact: str) -> Iterator[RunSlice]:
    """Each run with its normalised answers, and, where it keeps them, its raw ones after them."""
    for view in views(runs, setting, artifact):
        yield view
        if has_raw(view.run):
            yield view.raw()


def _table6(runs: Sequence[RunFolder], setting: Setting) -> Made:
    if not any(has_raw(run) for run in runs):
        raise InputError(
            "skewsize/table6 sets raw beside normalised answers, and none of these runs has answers in "
            f"words; type: {IN_WORDS}"
        )
    mev, inference = expected_value(setting.text("mev")), setting.text("inference")
    rule = setting.text("mev_rule")
    rows: list[Row] = []
    for answers, values in published.TABLE6.items():
        rows += _paper("occupations", values, "as published", answers=answers, mev=PAPER_MEV)
    for view in _each_answers(runs, setting, "skewsize/table6"):
        levels = list(dict.fromkeys((mev, 0.0)))
        if has_raw(view.run):
            for level in levels:
                options = view.options(level, rule, inference)
                rows.append({**_measured(view, options, words=True), "setting": in_words(options)})
        else:
            reason = f"no answers in words; type: {IN_WORDS}"
            rows.append({**view.lead, "setting": "–", "answers": NORMALISED, "reason": reason})
    notes = (_HIGHER, _PRINTED, "The normalising steps stand in each run's table “answers”.", *_reasons(rows))
    return Made(frame(rows, (*LEAD, *_MEASURED)), notes)


def _table7(runs: Sequence[RunFolder], setting: Setting) -> Made:
    params = setting.parameters
    levels = [expected_value(text.strip()) for text in str(params["mev"]).split(",") if text.strip()]
    if not levels:
        raise ParameterError("-p mev is empty; give one or more numbers, such as 2,3,4,5,6")
    rows: list[Row] = []
    for mev, values in published.TABLE7.items():
        rows += _paper("occupations", values, "as published", mev=mev)
    rule, inference = str(params["mev_rule"]), str(params["inference"])
    for view in views(runs, setting, "skewsize/table7"):
        rows += [_measured(view, view.options(level, rule, inference)) for level in levels]
    for row in rows:
        row["heading"] = f"MEV {row['mev']:g}"
    rules = {row["mev_rule"] for row in rows if row["source"] == OURS} - {None}
    rule_names = ", ".join(f"{rule} ({_RULES[rule]})" for rule in sorted(rules)) or "none needed"
    notes = (
        f"Rule: {rule_names}. The paper does not say which expected value of a label counts.",
        _HIGHER,
        "A larger MEV also erases classes: see how many are left.",
        _PRINTED,
        *_reasons(rows),
    )
    order = {"heading": tuple(f"MEV {level:g}" for level in sorted(levels, reverse=True))}
    return Made(frame(rows, (*LEAD, *_MEASURED, "heading")), notes, _sweep(rows, order))


_RULES = {
    "min": "every group must expect that many",
    "mean": "the groups' mean must be that much",
    "max": "one group must expect that many",
}


def _sweep(rows: Sequence[Row], order: Mapping[str, str | tuple[str, ...]]) -> tuple[Figure, ...]:
    """A table, the classes left, and a drawing."""
    lead: tuple[str, ...] = ("model", "panel") if len({row["panel"] for row in rows}) > 1 else ("model",)
    interval = "95 % intervals, descriptive: rows resampled within class and group"
    return (
        Figure("table", levels=lead, x="heading", value="skewsize", low="low", high="high", titles=_WORDS,
               title="SkewSize", order=order, interval=interval),
        Figure("table", levels=lead, x="heading", value="classes_used", titles=_WORDS, order=order,
               only={"source": OURS}, title="Classes with an effect size", formats={"classes_used": "count"}),
        Figure("lines", x="mev", y="skewsize", colour="model", facet="panel", low="low", high="high",
               columns=2, interval=interval,
               titles={"mev": "minimum expected value", "skewsize": "SkewSize", "model": ""}),
    )  # fmt: skip


_SKEWED = (
    "model", "panel", "setting", "skewsize", "low", "high", "null_low", "null_high", "p", *_SIZES, "classes",
    "classes_used", "classes_lost",
)  # fmt: skip
_COUNTED: Mapping[str, Any] = dict.fromkeys(("classes", "classes_used", "classes_lost", "n"), "count")
_MANY = {"by": BY, "order": ORDER}
TABLE3 = Artifact(
    "skewsize/table3",
    "Accuracy, gap and effect size of each class",
    _table3,
    (
        Figure(
            "table",
            levels=("model", "panel", "class", "n", "accuracy", "accuracy_gap", "effect_size", "low", "high",
                    "null_low", "null_high", "p", "band"),
            titles=_WORDS, formats=_COUNTED,
        ),
    ),
    parameters={
        **_MANY, "answers": ANSWERS, "mev": MEV, "mev_rule": RULE, "inference": INFERENCE,
        "classes": Parameter("", help="classes shown, separated by commas; else all"),
    },
)  # fmt: skip
TABLE4 = Artifact(
    "skewsize/table4",
    "SkewSize of each model and benchmark",
    _table4,
    (
        Figure("table", levels=("model", "setting"), x="panel", value="skewsize", low="low", high="high",
               titles=_WORDS, interval="95 % intervals, descriptive"),
        Figure("table", levels=_SKEWED, only={"source": OURS}, titles=_WORDS, formats=_COUNTED,
               title="With what must stand beside it"),
    ),
    parameters={
        **_MANY, "mev": Parameter("5", help="minimum expected value beside 0"), "mev_rule": RULE,
        "inference": INFERENCE,
    },
)  # fmt: skip
TABLE6 = Artifact(
    "skewsize/table6",
    "SkewSize of raw and of normalised answers",
    _table6,
    (
        Figure("table", levels=("model", "panel", "setting"), x="answers", value="skewsize", low="low",
               high="high", titles=_WORDS, interval="95 % intervals, descriptive"),
        Figure("table", levels=("answers", *_SKEWED), only={"source": OURS}, titles=_WORDS, formats=_COUNTED,
               title="With what must stand beside it"),
    ),
    parameters={
        **_MANY, "mev": Parameter("5", help="minimum expected value beside 0"), "mev_rule": RULE,
        "inference": INFERENCE,
    },
)  # fmt: skip
TABLE7 = Artifact(
    "skewsize/table7",
    "SkewSize against the minimum expected value of a predicted label (MEV)",
    _table7,
    parameters={
        **_MANY, "answers": ANSWERS, "mev": Parameter("6,5,4,3,2", help="minimum expected values"),
        "mev_rule": RULE, "inference": INFERENCE,
    },
)  # fmt: skip
