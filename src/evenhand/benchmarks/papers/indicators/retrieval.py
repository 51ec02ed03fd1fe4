"""Figures 2, 6, 7 and 13 of the indicators' paper: the runs compared, and how alike near images are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.indicators.settings import numbers as numbers_in
from evenhand.benchmarks.papers.indicators.rows import (
    COLUMNS,
    IMAGES,
    PARAMETERS,
    RATES,
    RETRIEVAL,
    against_size,
    axes_of,
    groupings_in,
    lead,
    need_sizes,
    numbers,
    ordered_groups,
    unsized,
    with_recipe,
)
from evenhand.benchmarks.papers.rows import Row, frame, named, names_of
from evenhand.benchmarks.tidy import find
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure
from evenhand.runs.run_folder import RunFolder

_PRECISION = "precision_at_k"
_AUTO = "auto"
_USUAL = (frozenset({"gender"}), frozenset({"skin_tone"}), frozenset({"gender", "skin_tone"}))
_NOTES = (
    "Same: the attribute that the run matches, gender if nothing else. Chance is what exchanged "
    "labels of the database give; where a group is common there, its precision is high by chance.",
)
_GROUPED = "groupings, such as gender,race; auto: gender, skin tone and both, else all that a run has"


def _rows(runs: Sequence[RunFolder], setting: Setting, artifact: str) -> list[Row]:
    """A row for each run, grouping, group and K."""
    ks = [int(k) for k in numbers_in("k", setting.text("k"), low=1, high=1e9, integers=True)]
    rows: list[Row] = []
    cutoffs: dict[object, None] = {}
    for name, run in named(runs):
        for by in _groupings(run, setting.text("by")):
            for k in ks:
                finding = find(run, _PRECISION, "+".join(by), k=k)
                if finding is not None:
                    shared = {**lead(name, run, by), "part": RATES, "measure": f"precision@{k}", "k": str(k)}
                    rows += [
                        {**shared, **numbers(part), "chance": part.details.get("chance")}
                        for part in finding.parts
                    ]
        findings = run.findings.findings
        cutoffs.update(
            dict.fromkeys(precision.params.get("k") for precision in findings if precision.name == _PRECISION)
        )
    if not rows:
        have = ", ".join(str(k) for k in cutoffs) or "none"
        raise InputError(
            f"{artifact} needs precision at K of {', '.join(map(str, ks))} by such groups, and these runs "
            f"have K of {have}; give another -p k= or -p by=, or type: evenhand run {RETRIEVAL} --model URI "
            f"--data DIR -p k={','.join(map(str, ks))} -o DIR"
        )
    return rows


def _groupings(run: RunFolder, by_option: str) -> list[tuple[str, ...]]:
    have = groupings_in(run, _PRECISION)
    required_axes = (
        _USUAL if by_option == _AUTO else [axes_of(entry.split("+")) for entry in by_option.split(",")]
    )
    groupings = [by for by in have if axes_of(by) in required_axes]
    return groupings or (have if by_option == _AUTO else [])


def _figure6(runs: Sequence[RunFolder], setting: Setting) -> Made:
    rows = _rows(runs, setting, "indicators/figure6")
    figures = tuple(
        Figure(
            "dots", x="value", y="group", colour="model", facet="measure", low="low", high="high",
            null_low="null_low", null_high="null_high", only={"by": by}, title=f"By {by}", columns=2,
            order={"group": ordered_groups(row for row in rows if row["by"] == by)},
            formats={"value": "percent"}, titles={"value": "", "group": "", "model": "", "measure": ""},
            domain={"x": (0.0, 1.0)}, interval="95% intervals over queries or people",
            null="labels of the database exchanged",
        )
        for by in dict.fromkeys(row["by"] for row in rows)
    )  # fmt: skip
    return Made(frame(rows, (*COLUMNS, "chance")), _NOTES, figures)


def _sized(runs: Sequence[RunFolder], setting: Setting, size: str, artifact: str) -> Made:
    rows = _rows(runs, setting, artifact)
    need_sizes(rows, size, artifact)
    all_rows = with_recipe(rows, size)
    figures = against_size(all_rows, size, column="measure", words="precision")
    return Made(frame(all_rows, (*COLUMNS, "recipe", "chance")), _NOTES, figures)


def _figure2(runs: Sequence[RunFolder]) -> Made:
    """One row a model, however many of the indicators it was asked."""
    rows: dict[tuple[object, ...], Row] = {}
    for name, run in zip(names_of(runs), runs, strict=True):
        row = with_recipe([lead(name, run, ())], PARAMETERS)[0]
        row["reason"] = "; ".join(filter(None, (unsized(row, size) for size in (IMAGES, PARAMETERS)))) or None
        key = (run.manifest.get("model"), *(row[column] for column in ("recipe", IMAGES, PARAMETERS)))
        rows.setdefault(key, row)
    columns = ("source", "model", "training", "data", IMAGES, PARAMETERS, "reason")
    return Made(frame(list(rows.values()), columns))


_BY, _KS = Parameter(_AUTO, help=_GROUPED), "values of K, separated by commas"

FIGURE2 = Artifact(
    "indicators/figure2",
    "The models compared: images that they were trained on, by size",
    _figure2,
    (
        Figure(
            "scatter", x=IMAGES, y=PARAMETERS, colour="training", label="model", log=("x", "y"),
            formats={IMAGES: "short", PARAMETERS: "short"},
            titles={IMAGES: "images trained on (tag)", PARAMETERS: "parameters (tag)", "training": ""},
        ),
        Figure(
            "table", levels=("model", "training", "data", IMAGES, PARAMETERS, "reason"),
            formats={IMAGES: "short", PARAMETERS: "short"}, titles={"reason": "missing"},
        ),
    ),
    benchmarks=("indicators",),
)  # fmt: skip
FIGURE6 = Artifact(
    "indicators/figure6",
    "Precision at K by gender, by skin tone and by both",
    _figure6,
    benchmarks=(RETRIEVAL,),
    parameters={"k": Parameter("10,50", help=_KS), "by": _BY},
)


def _sized_figure(number: int, title: str, size: str, k: str) -> Artifact:
    name, parameters = f"indicators/figure{number}", {"k": Parameter(k, help=_KS), "by": _BY}
    make = partial(_sized, size=size, artifact=name)
    return Artifact(name, title, make, benchmarks=(RETRIEVAL,), parameters=parameters)


FIGURE7 = _sized_figure(7, "Precision at K against the images that models were trained on", IMAGES, "10")
FIGURE13 = _sized_figure(13, "Precision at K against the size of the model", PARAMETERS, "10,50")
