"""Figures 1 and 3 of the SkewSize paper: what chosen classes are taken for, group by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.rows import PAPER, Row, frame
from evenhand.benchmarks.papers.skewsize import published
from evenhand.benchmarks.papers.skewsize.pictures import picture_rows
from evenhand.benchmarks.papers.skewsize.views import (
    ANSWERS,
    BY,
    LEAD,
    MEV,
    ORDER,
    RULE,
    RunSlice,
    chosen_names,
    chosen_options,
    views,
)
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.figure import Figure
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.classification import accuracy as group_accuracy
from evenhand.metrics.classification import effect_sizes as effect_size
from evenhand.metrics.classification.disparities.mistakes import prediction_differences
from evenhand.runs.run_folder import RunFolder

_OTHERS = "(others)"
_ALL = "all"
_MOST_GROUPS = 6  # of more groups, each class shows the two that are mistaken most differently
_SHOWN = 3
_ABSENT = "no row of this class"
_SIGNS = (
    "SkewSize has the sign of Table 4: higher means that strong effects are rarer. The paper's figure prints "
    "its negative, and -V for single classes: row “- SkewSize”."
)


def _figure1(runs: Sequence[RunFolder], setting: Setting) -> Made:
    slices = views(runs, setting, "skewsize/figure1")
    options = [{**chosen_options(view, setting), "inference": "none"} for view in slices]
    keys = _chosen_classes(slices, options, setting.text("classes"))
    top = max(1, int(setting.parameters["top"]))
    short = [f"M{number}" for number in range(1, len(slices) + 1)]
    rows = [row for key in keys for row in _bars(slices, short, key, top)]
    rows += _metric_rows(slices, options, short, keys)
    rows += _printed(keys) if len(slices) == len(published.FIGURE1_MODELS) else []
    settings = [
        view.options_in_words(view_options) for view, view_options in zip(slices, options, strict=True)
    ]
    names = "; ".join(f"{name}: {view.model}" for name, view in zip(short, slices, strict=True))
    notes = (
        f"{names}. Effect sizes over {', '.join(dict.fromkeys(settings))}.",
        f"V of “{_ALL}”: the mean over the classes shown. {_SIGNS}",
        *(
            ["M2 − M1 has no interval here; for one type: evenhand compare RUN RUN"]
            if len(slices) == 2
            else []
        ),
    )
    columns = (*LEAD, "part", "column", "class", "group", "prediction", "rank", "n", "share", "measure",
               "heading", "value", "reason")  # fmt: skip
    return Made(frame(rows, columns), notes)


def _chosen_classes(slices: Sequence[RunSlice], options: Sequence[dict[str, Any]], text: str) -> list[str]:
    """The classes asked for; else where V differs most between the first and the last run, or one run's."""
    selected = chosen_names(text, {key: key for view in slices for key in _keys(view)}, "class of these runs")
    if selected:
        return selected
    if len(slices) > 1:
        first, last = (_effects(slices[index], options[index]) for index in (0, -1))
        shared_keys = [key for key in first if key in last]
        shared_keys.sort(key=lambda key: (-abs(first[key] - last[key]), key))
        if shared_keys:
            return shared_keys[:_SHOWN]
    for view in slices:
        table = prediction_differences(view.counts, by=view.by, classes=_SHOWN, seed=view.seed)
        if len(table):
            return list(dict.fromkeys(table["truth"].to_list()))
    raise InputError("no class of these runs has an effect size: name some with -p classes=A,B,C")


def _keys(view: RunSlice) -> list[str]:
    """The classes of a run with usable rows."""
    prepared = view.prepared
    return [prepared.label_key(cells.label) for cells in prepared.class_cells]


def _effects(view: RunSlice, options: Mapping[str, Any]) -> dict[str, float]:
    parts = view.effect("skewsize", **options).parts
    return {str(part.key): part.value for part in parts if part.value is not None}


def _bars(slices: Sequence[RunSlice], short: Sequence[str], key: str, top: int) -> Iterator[Row]:
    """How often a class is taken for what, in each run and group; alike labels for all runs."""
    tables = [_table(view, key) for view in slices]
    totals: dict[str, float] = {}
    for table in tables:
        for group_counts in table.values():
            for name, n in group_counts.items():
                totals[name] = totals.get(name, 0.0) + n
    most = sorted(totals, key=lambda name: (name != key, -totals[name], name))[: top + 1]
    names = [*most, _OTHERS] if len(totals) > len(most) else most
    groups = list(dict.fromkeys(group for table in tables for group in table))
    if len(groups) > _MOST_GROUPS:
        groups = list(_pair(next(v for v, t in zip(slices[::-1], tables[::-1], strict=True) if t), key)[:2])
    for view, name_of_run, table in zip(slices, short, tables, strict=True):
        lead = {**view.lead, "part": "counts", "column": name_of_run, "class": key}
        if not table:
            yield {**lead, "reason": _ABSENT}
        for group in groups if table else ():
            group_counts = table.get(group, {})
            size = sum(group_counts.values())
            group_counts = {
                **group_counts,
                _OTHERS: sum(n for name, n in group_counts.items() if name not in most),
            }
            for rank, name in enumerate(names):
                n = group_counts.get(name, 0.0)
                yield {**lead, "group": group, "prediction": name, "rank": rank, "n": n,
                       "share": n / size if size else None}  # fmt: skip


def _table(view: RunSlice, key: str) -> dict[str, dict[str, float]]:
    """Group to predicted label to rows, of one class."""
    prepared = view.prepared
    cells = next(
        (
            class_counts
            for class_counts in prepared.class_cells
            if prepared.label_key(class_counts.label) == key
        ),
        None,
    )
    table: dict[str, dict[str, float]] = {}
    if cells is not None:
        for group, label, n in zip(cells.group.tolist(), cells.prediction.tolist(), cells.n, strict=True):
            table.setdefault(prepared.group_text(group), {})[prepared.label_key(label)] = float(n)
    return table


def _only(counts: Counts, keys: Sequence[str]) -> Counts:
    """The rows of some classes."""
    levels = [index for index, level in enumerate(counts.axis("truth").levels) if str(level) in keys]
    keep = np.isin(counts.codes_of("truth"), levels)
    return counts.only(keep)


def _metric_rows(
    slices: Sequence[RunSlice], options: Sequence[dict[str, Any]], short: Sequence[str], keys: Sequence[str]
) -> Iterator[Row]:
    """Each measure of each class and of all, for every run, and what the second has more than the first."""
    for name, classes in [*((key, [key]) for key in keys), (_ALL, list(keys))]:
        measured = [
            _measures(view, classes, view_options) for view, view_options in zip(slices, options, strict=True)
        ]
        for measure in measured[0]:
            values = [run_measures[measure] for run_measures in measured]
            lead = {"part": "metrics", "class": name, "measure": measure}
            for view, run, value in zip(slices, short, values, strict=True):
                yield {**view.lead, **lead, "heading": f"{name}: {run}", "column": run, "value": value,
                       "reason": _why(value, len(classes), measure)}  # fmt: skip
            if len(slices) == 2:
                first, second = values
                more = None if first is None or second is None else second - first
                yield {**slices[0].lead, **lead, "model": None, "heading": f"{name}: M2 − M1",
                       "column": "M2 − M1", "value": more,
                       "reason": _why(more, len(classes), measure)}  # fmt: skip


def _why(value: float | None, classes: int, measure: str) -> str | None:
    if value is not None:
        return None
    return "one class has no skewness" if classes == 1 and measure == "SkewSize" else "not estimable"


def _measures(view: RunSlice, classes: Sequence[str], options: Mapping[str, Any]) -> dict[str, float | None]:
    """The rows of the metric table for some classes together."""
    counts = _only(view.counts, classes)
    names = ("accuracy", "worst group", "gap", "V", "SkewSize", "- SkewSize")
    if not any(key in classes for key in _keys(view)):
        return dict.fromkeys(names)
    common: dict[str, Any] = {"by": view.by, "mode": view.mode, "inference": "none"}
    accuracies = (
        group_accuracy.accuracy(counts, **common).value,
        group_accuracy.worst_group_accuracy(counts, **common).value,
        group_accuracy.accuracy_gap(counts, **common).value,
    )
    v = effect_size.cramers_v_mean(counts, by=view.by, **options).value
    skew = effect_size.skewsize(counts, by=view.by, **options).value if len(classes) > 1 else None
    printed = v if len(classes) == 1 else skew
    return dict(zip(names, (*accuracies, v, skew, None if printed is None else -printed), strict=True))


def _printed(keys: Sequence[str]) -> Iterator[Row]:
    """The paper's entries for classes that are shown; those of all only beside its three classes."""
    keys_by_name = {key.casefold(): key for key in keys}
    names = (*published.FIGURE1_MODELS, "M2 − M1")
    has_all_classes = {*keys_by_name, _ALL} == set(published.FIGURE1["accuracy"])
    for measure, classes in published.FIGURE1.items():
        for name, values in classes.items():
            if name in keys_by_name or (name == _ALL and has_all_classes):
                key = keys_by_name.get(name, name)
                for model, value in zip(names, values, strict=True):
                    yield {
                        "source": PAPER, "model": f"{model} of the paper", "benchmark": "its example",
                        "by": published.GROUPING, "part": "metrics", "class": key, "measure": measure,
                        "heading": f"{key}: {model}", "column": model, "value": value,
                    }  # fmt: skip


def _figure3(runs: Sequence[RunFolder], setting: Setting) -> Made:
    params = setting.parameters
    slices = views(runs, setting, "skewsize/figure3")
    key, pair = _class_and_pair(slices, str(params["class"]), str(params["groups"]))
    rows: list[Row] = []
    notes: list[str] = []
    for view in slices:
        effect = _effects(view, {**chosen_options(view, setting), "inference": "none"}).get(key)
        table = _table(view, key)
        right = sum(group.get(key, 0.0) for group in table.values())
        n = sum(sum(group.values()) for group in table.values())
        text = f"accuracy {right / n:.1%}, V {effect:.3f}" if effect is not None and n else "no effect size"
        notes.append(f"{view.model}: “{key}” has {text} over {len(table)} groups.")
        for group in pair:
            rows += _most(view, key, group, table.get(group, {}), int(params["top"]))
    notes.append(_HOW_CHOSEN)
    if params["images"] == "no":
        return Made(frame(rows, _COLUMNS), tuple(notes), (_likely(rows),))
    copies = [
        row for view in slices for row in picture_rows(view, rows, int(params["of_each"]), setting.data)
    ]
    notes.append("The file holds small copies of images: pass it on only where the images may be passed on.")
    columns = (*_COLUMNS, "heading", "sample", "picture")
    return Made(frame([*rows, *copies], columns), tuple(notes), (_likely(rows), _PICTURES))


_HOW_CHOSEN = (
    "Chosen by -p class= and -p groups=; else the class whose mistakes differ most between a group and the "
    "others, that group, and the one farthest from it. Groups picked for their difference say nothing of "
    "chance."
)
_PICTURES = Figure("pictures", y="prediction", value="picture", facet="heading", only={"part": "pictures"})
_COLUMNS = (*LEAD, "part", "class", "group", "prediction", "right", "rank", "n", "share", "group_n",
            "group_accuracy", "reason")  # fmt: skip


def _class_and_pair(slices: Sequence[RunSlice], name: str, groups: str) -> tuple[str, tuple[str, ...]]:
    """The class and the two groups, chosen in the first run where they are not given."""
    view = slices[0]
    class_keys = chosen_names(name, {key: key for key in _keys(view)}, "class of this run")
    if len(class_keys) > 1:
        raise ParameterError(f"-p class={name!r} names {len(class_keys)} classes; this figure shows one")
    if not class_keys or not groups.strip():
        first, second, key = _pair(view, class_keys[0] if class_keys else "")
        if not groups.strip():
            return key, (first, second)
    else:
        key = class_keys[0]
    groups_by_name = {group.replace(" · ", "+"): group for group in _table(view, key)}
    return key, tuple(chosen_names(groups.replace(" · ", "+"), groups_by_name, f"group with rows of {key!r}"))


def _pair(view: RunSlice, key: str) -> tuple[str, str, str]:
    """The two groups whose mistakes differ most, of one class or of the class where they do."""
    counts = _only(view.counts, [key]) if key else view.counts
    table = prediction_differences(counts, by=view.by, classes=1, seed=view.seed)
    groups = list(dict.fromkeys(table["group"].to_list()))
    if len(groups) < 2:
        which = f"{key!r} is taken for one thing in all groups" if key else "no class has an effect size"
        raise InputError(f"{which}: there are no two groups to show; name them with -p class= and -p groups=")
    return groups[0], groups[1], str(table["truth"][0])


def _most(view: RunSlice, key: str, group: str, counts: Mapping[str, float], top: int) -> Iterator[Row]:
    """The most frequent predictions of a class in one group."""
    size = sum(counts.values())
    lead = {**view.lead, "part": "predictions", "class": key, "group": group, "group_n": size}
    if not size:
        yield {**lead, "reason": _ABSENT}
    for rank, name in enumerate(sorted(counts, key=lambda label: (-counts[label], label))[: max(1, top)], 1):
        yield {
            **lead, "prediction": name, "right": "right" if name == key else "wrong", "rank": rank,
            "n": counts[name], "share": counts[name] / size, "group_accuracy": counts.get(key, 0.0) / size,
        }  # fmt: skip


def _likely(rows: Sequence[Row]) -> Figure:
    """The drawing of Figure 3: a column of panels a group, a row a run."""
    several = len({row["model"] for row in rows}) > 1
    return Figure(
        "bars", x="share", y="prediction", colour="right", only={"part": "predictions"},
        row="model" if several else "class", column="group", independent=("y",),
        annotate=("group_accuracy", "group_n"),
        order={"prediction": "rank", "right": ("right", "wrong")}, domain={"x": (0.0, 1.0)},
        formats={"share": "percent", "group_accuracy": "percent", "group_n": "count"},
        titles={"share": "share of the group's images", "prediction": "", "right": "",
                "group_accuracy": "accuracy", "group_n": "images"},
    )  # fmt: skip


FIGURE1 = Artifact(
    "skewsize/figure1",
    "What chosen classes are taken for, by group, and what the metrics say of it",
    _figure1,
    (
        Figure(
            "bars", x="prediction", y="n", colour="group", row="class", column="column",
            only={"part": "counts"}, independent=("x",), order={"prediction": "rank"},
            titles={"prediction": "", "n": "images", "group": ""}, formats={"n": "count"},
        ),
        Figure(
            "table", levels=("measure",), x="heading", value="value", only={"part": "metrics"},
            titles={"measure": ""},
        ),
    ),
    parameters={
        "by": BY, "order": ORDER, "answers": ANSWERS, "mev": MEV, "mev_rule": RULE,
        "classes": Parameter("", help="classes, separated by commas; else three where V differs most"),
        "top": Parameter(5, help="predicted labels of a class beside the right one"),
    },
)  # fmt: skip
FIGURE3 = Artifact(
    "skewsize/figure3",
    "The most frequent predictions of one class in two groups",
    _figure3,
    parameters={
        "by": BY, "answers": ANSWERS, "mev": MEV, "mev_rule": RULE,
        "class": Parameter("", help="the class; else one whose mistakes differ most"),
        "groups": Parameter("", help="two groups, separated by commas; A+B where crossed"),
        "top": Parameter(3, help="predictions of each group"),
        "images": Parameter("no", ("no", "yes"), "yes: put small copies of images into the file"),
        "of_each": Parameter(4, help="images of each prediction"),
    },
)  # fmt: skip
