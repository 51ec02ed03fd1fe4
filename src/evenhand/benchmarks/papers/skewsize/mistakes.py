"""Figures 1 and 3 of the SkewSize paper: what chosen classes are taken for, group by group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from evenhand.benchmarks.benchmark import Made, Parameter
from evenhand.benchmarks.papers.rows import PAPER, Row, frame
from evenhand.benchmarks.papers.skewsize import published
from evenhand.benchmarks.papers.skewsize.pictures import pictures
from evenhand.benchmarks.papers.skewsize.views import (
    ACCURACIES,
    LEAD,
    RunSlice,
    Slices,
    artifact,
    chosen_names,
    lead,
    settings,
)
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.figure import Figure

_OTHERS = "(others)"
_ALL, _MORE = "all", "M2 − M1"
_MEASURES = ("accuracy", "worst group", "gap", "V", "SkewSize", "- SkewSize")
_MOST_GROUPS = 6  # of more groups, each class shows the two that are mistaken most differently
_SHOWN = 3
_ABSENT = "no row of this class"
_SIGNS = (
    "SkewSize has the sign of Table 4: higher means that strong effects are rarer. The paper's figure prints "
    "its negative, and -V for single classes: row “- SkewSize”."
)


def _figure1(slices: Slices) -> Made:
    parameters = slices[0].setting.parameters
    short = {f"M{number}": view for number, view in enumerate(slices, 1)}
    keys = _chosen_classes(slices, parameters["classes"])
    rows = [row for key in keys for row in _bars(short, key, max(1, parameters["top"]))]
    rows += _metric_rows(short, keys)
    rows += _of_paper(keys) if len(slices) == 2 else []
    names = "; ".join(f"{name}: {view.model}" for name, view in short.items())
    notes = [
        f"{names}. Effect sizes over {', '.join(settings(slices))}.",
        f"V of “{_ALL}”: the mean over the classes shown. {_SIGNS}",
    ]
    if len(slices) == 2:
        notes.append(f"{_MORE} has no interval here; for one type: evenhand compare RUN RUN")
    columns = (*LEAD, "part", "column", "class", "group", "prediction", "rank", "n", "share", "measure",
               "heading", "value", "reason")  # fmt: skip
    return Made(frame(rows, columns), tuple(notes))


def _chosen_classes(slices: Slices, text: str) -> list[str]:
    """The classes asked for; else where V differs most between the first and the last run, or one run's."""
    possible = [key for view in slices for key in view.predictions]
    names = chosen_names(text, possible, "class of these runs")
    if names:
        return names
    if len(slices) > 1:
        distance = (pl.col("effect_size") - pl.col("effect_size_right")).abs()
        shared = slices[0].classes.join(slices[-1].classes, on="class").filter(distance.is_not_null())
        if len(shared):
            return shared.sort(-distance, "class")["class"].head(_SHOWN).to_list()
    for view in slices:
        differences = view.differences(_SHOWN)
        if len(differences):
            return differences["truth"].unique(maintain_order=True).to_list()
    raise InputError("no class of these runs has an effect size: name some with -p classes=A,B,C")


def _bars(short: Mapping[str, RunSlice], key: str, top: int) -> Iterator[Row]:
    """How often a class is taken for what, in each run and group; alike labels for all runs."""
    of_runs = {name: view.predictions.get(key, {}) for name, view in short.items()}
    total: dict[str, float] = defaultdict(float)
    groups: Sequence[str] = list(dict.fromkeys(group for of_run in of_runs.values() for group in of_run))
    for of_run in of_runs.values():
        for counts in of_run.values():
            for label, n in counts.items():
                total[label] += n
    labels = sorted(total, key=lambda label: (label != key, -total[label], label))
    labels[top + 1 :] = [_OTHERS] if len(labels) > top + 1 else []
    if len(groups) > _MOST_GROUPS:
        groups = _pair([short[name] for name, of_run in of_runs.items() if of_run][-1], key)[:2]
    for name, of_run in of_runs.items():
        lead_of_run = {**short[name].lead, "part": "counts", "column": name, "class": key}
        if not of_run:
            yield {**lead_of_run, "reason": _ABSENT}
        for group in groups if of_run else ():
            counts, bars = of_run.get(group, {}), dict.fromkeys(labels, 0.0)
            for label, n in counts.items():
                bars[label if label in bars else _OTHERS] += n
            size = sum(counts.values())
            for rank, (label, n) in enumerate(bars.items()):
                yield {**lead_of_run, "group": group, "prediction": label, "rank": rank, "n": n,
                       "share": n / size if size else None}  # fmt: skip


def _metric_rows(short: Mapping[str, RunSlice], keys: Sequence[str]) -> Iterator[Row]:
    """Each measure of each class and of all, for every run, and what the second has more than the first."""
    leads = {name: view.lead for name, view in short.items()}
    if len(short) == 2:
        leads[_MORE] = {**leads["M1"], "model": None}
    for name, classes in (*((key, [key]) for key in keys), (_ALL, keys)):
        of_runs = [_measures(view, classes) for view in short.values()]
        for measure, *values in zip(_MEASURES, *of_runs, strict=True):
            if len(values) == 2:
                values.append(None if None in values else values[1] - values[0])
            is_single = (measure, len(classes)) == ("SkewSize", 1)
            why = "one class has no skewness" if is_single else "not estimable"
            for column, value in zip(leads, values, strict=True):
                yield {
                    **leads[column], "part": "metrics", "class": name, "measure": measure, "column": column,
                    "heading": f"{name}: {column}", "value": value, "reason": why if value is None else None,
                }  # fmt: skip


def _measures(view: RunSlice, classes: Sequence[str]) -> list[float | None]:
    """``_MEASURES`` of some classes together."""
    if view.predictions.keys().isdisjoint(classes):
        return [None] * len(_MEASURES)
    some, options = view.of_classes(classes), view.options()
    values = [some.measure(name, mode=options["mode"], inference="none").value for name in ACCURACIES]
    v, skew = (some.measure(name, **options).value for name in ("cramers_v_mean", "skewsize"))
    negative_of = v if len(classes) == 1 else skew
    return [*values, v, skew, None if negative_of is None else -negative_of]


def _of_paper(keys: Sequence[str]) -> Iterator[Row]:
    """The paper's entries for classes that are shown; those of all only beside its three classes."""
    names = {key.casefold(): key for key in keys}
    if {*names, _ALL} == {name for _, name in published.FIGURE1}:
        names = {_ALL: _ALL, **names}
    for (measure, name), values in published.FIGURE1.items():
        for model, value in zip(("M1", "M2", _MORE), values, strict=True) if name in names else ():
            yield {
                **lead(PAPER, f"{model} of the paper", "its example", published.GROUPING), "panel": None,
                "part": "metrics", "class": names[name], "measure": measure, "column": model,
                "heading": f"{names[name]}: {model}", "value": value,
            }  # fmt: skip


def _figure3(slices: Slices) -> Made:
    setting = slices[0].setting
    parameters = setting.parameters
    key, pair = _class_and_pair(slices[0], parameters["class"], parameters["groups"])
    rows, notes, copies = [], [], []
    for view in slices:
        text = "no effect size"
        of_class = view.classes.filter(pl.col("class") == key).select("accuracy", "effect_size").drop_nulls()
        for accuracy, effect in of_class.iter_rows():
            text = f"accuracy {accuracy:.1%}, V {effect:.3f}"
        notes.append(f"{view.model}: “{key}” has {text} over {len(view.predictions.get(key, ()))} groups.")
        of_run = [row for group in pair for row in _most(view, key, group, max(1, parameters["top"]))]
        rows += of_run
        if parameters["images"] == "yes":
            copies += pictures(view, frame(of_run, _COLUMNS), parameters["of_each"], setting.data)
    notes.append(
        "Chosen by -p class= and -p groups=; else the class whose mistakes differ most between a group and "
        "the others, that group, and the one farthest from it. Groups picked for their difference say "
        "nothing of chance."
    )
    several = len({view.model for view in slices}) > 1
    figure = replace(_LIKELY, row="model" if several else "class")
    if not copies:
        return Made(frame(rows, _COLUMNS), tuple(notes), (figure,))
    notes.append("The file holds small copies of images: pass it on only where the images may be passed on.")
    columns = (*_COLUMNS, "heading", "sample", "picture")
    return Made(frame([*rows, *copies], columns), tuple(notes), (figure, _PICTURES))


_LIKELY = Figure(
    "bars", x="share", y="prediction", colour="right", only={"part": "predictions"},
    column="group", independent=("y",), annotate=("group_accuracy", "group_n"),
    order={"prediction": "rank", "right": ("right", "wrong")}, domain={"x": (0.0, 1.0)},
    formats={"share": "percent", "group_accuracy": "percent", "group_n": "count"},
    titles={"share": "share of the group's images", "prediction": "", "right": "",
            "group_accuracy": "accuracy", "group_n": "images"},
)  # fmt: skip
_PICTURES = Figure("pictures", y="prediction", value="picture", facet="heading", only={"part": "pictures"})
_COLUMNS = (
    *LEAD, "part", "class", "group", "prediction", "right", "rank", "n", "share", "group_n", "group_accuracy",
    "reason",
)  # fmt: skip


def _class_and_pair(view: RunSlice, name: str, groups: str) -> tuple[str, Sequence[str]]:
    """The class and the groups, chosen in the run where they are not given."""
    names = chosen_names(name, view.predictions, "class of this run")
    if len(names) > 1:
        raise ParameterError(f"-p class={name!r} names {len(names)} classes; this figure shows one")
    key = names[0] if names else ""
    if not names or not groups.strip():
        *pair, key = _pair(view, key)
        if not groups.strip():
            return key, pair
    possible = {group.replace(" · ", "+"): group for group in view.predictions.get(key, {})}
    pair = chosen_names(groups.replace(" · ", "+"), possible, f"group with rows of {key!r}")
    return key, [possible[name] for name in pair]


def _pair(view: RunSlice, key: str) -> tuple[str, str, str]:
    """The two groups whose mistakes differ most, of one class or of the class where they do; the class."""
    table = (view.of_classes([key]) if key else view).differences(1)
    groups = table["group"].unique(maintain_order=True)
    if len(groups) < 2:
        which = f"{key!r} is taken for one thing in all groups" if key else "no class has an effect size"
        raise InputError(f"{which}: there are no two groups to show; name them with -p class= and -p groups=")
    return groups[0], groups[1], table["truth"][0]


def _most(view: RunSlice, key: str, group: str, top: int) -> list[Row]:
    """The most frequent predictions of a class in one group."""
    counts = view.predictions.get(key, {}).get(group, {})
    size, hits = sum(counts.values()), counts.get(key, 0.0)
    of_group = {**view.lead, "part": "predictions", "class": key, "group": group, "group_n": size}
    most = sorted(counts, key=lambda label: (-counts[label], label))[:top]
    return [
        {
            **of_group, "prediction": label, "right": "right" if label == key else "wrong", "rank": rank,
            "n": counts[label], "share": counts[label] / size, "group_accuracy": hits / size,
        }
        for rank, label in enumerate(most, 1)
    ] or [{**of_group, "reason": _ABSENT}]  # fmt: skip


FIGURE1 = artifact(
    "skewsize/figure1",
    "What chosen classes are taken for, by group, and what the metrics say of it",
    _figure1,
    Figure(
        "bars", x="prediction", y="n", colour="group", row="class", column="column",
        only={"part": "counts"}, independent=("x",), order={"prediction": "rank"},
        titles={"prediction": "", "n": "images", "group": ""}, formats={"n": "count"},
    ),
    Figure(
        "table", levels=("measure",), x="heading", value="value", only={"part": "metrics"},
        titles={"measure": ""},
    ),
    classes=Parameter("", help="classes, separated by commas; else three where V differs most"),
    top=Parameter(5, help="predicted labels of a class beside the right one"),
)  # fmt: skip
_CLASS = {"class": Parameter("", help="the class; else one whose mistakes differ most")}
FIGURE3 = artifact(
    "skewsize/figure3",
    "The most frequent predictions of one class in two groups",
    _figure3,
    without=("order",),
    **_CLASS,
    groups=Parameter("", help="two groups, separated by commas; A+B where crossed"),
    top=Parameter(3, help="predictions of each group"),
    images=Parameter("no", ("no", "yes"), "yes: put small copies of images into the file"),
    of_each=Parameter(4, help="images of each prediction"),
)
