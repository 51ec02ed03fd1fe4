"""Table 2 and Figure 5 of the MMBias paper: effect sizes by pair, and the words nearest to each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.mmbias.data.groups import NAMES
from evenhand.benchmarks.papers.mmbias.published import CLASS_OF
from evenhand.benchmarks.papers.mmbias.rows import (
    MATCHING_RUNS,
    PAIR,
    RUNS,
    class_of,
    is_debias,
    name_of,
    needed_table,
    with_paper,
)
from evenhand.benchmarks.papers.printed import printed_cells
from evenhand.benchmarks.papers.rows import EVEN, OURS, Row, frame, named_by_tags, numbers
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure
from evenhand.runs.run_folder import RunFolder

MATCHING = "matching"
_FORMS = ("cross-modal", "textual", "visual", MATCHING)
_COLUMNS = (
    "source", "model", "form", "class", "x", "y", "pair", "attributes", "value", "low", "high", "null_low",
    "null_high", "p", "p_adjusted", "bound", "cohens_d", "auc", "n", "reason",
)  # fmt: skip
_ATTRIBUTION = ("source", "model", "class", "group", "rank", "word", "sentiment", "value", "reason")
_PLACES = {NAMES[group]: order for order, group in enumerate(CLASS_OF)}
_TABLE = Figure(
    "table", x="form", value="value", levels=("class", "pair", "model"), order={"form": _FORMS},
    low="low", high="high", interval="95% intervals over targets and attributes",
    titles={"class": "", "pair": "X – Y", "model": "", "value": ""},
)  # fmt: skip
_FOREST = Figure(
    "dots", x="value", y="pair", colour="model", low="low", high="high", null_low="null_low",
    null_high="null_high", references=(EVEN,), interval=_TABLE.interval, null="95% band of no difference",
    titles={"value": "d", "pair": "", "model": ""},
)  # fmt: skip
_MATCHES = replace(_FOREST, titles={**_FOREST.titles, "value": "difference of match probability"})
_BESIDE = Figure(
    "table", only={"source": OURS}, title="Ours: tests, and other scales",
    levels=("pair", "model", "form", "value", "bound", "cohens_d", "auc", "p", "p_adjusted"),
    titles={"pair": "X – Y", "model": "", "form": "", "value": "d", "cohens_d": "Cohen’s d", "auc": "AUC",
            "p_adjusted": "p, adjusted"},
)  # fmt: skip
_WORDS = Figure(
    "bars", x="value", y="word", colour="sentiment", facet="group", independent=("y",), printed=True,
    titles={"value": "", "word": "", "sentiment": ""},
)  # fmt: skip


def _table2(runs: Sequence[RunFolder]) -> Made:
    """The paper's numbers and ours, of forms that we have; ours alone where the paper has no such pair."""
    ours = frame([row for name, run in named_by_tags(runs) for row in _effects(name, run)], _COLUMNS)
    if ours.is_empty():
        raise InputError(
            "mmbias/table2 needs effect sizes of pairs, and these runs have none; type: "
            "evenhand run mmbias/association --model URI -o DIR"
        )
    forms = [form for form in _FORMS if form in ours["form"]]
    cells = printed_cells(__file__, "table2", over=("model", "form"), keys=2).drop_nulls("value")
    of_paper = cells.fill_null(MATCHING).with_columns(pl.format("{} (paper)", "model"))
    table = with_paper(ours, of_paper).filter(pl.col("form").is_in(forms))
    notes: dict[str, object] = {  # to whether it applies
        "Positive: the first group is tied more to the unpleasant words or pictures.": True,
        "d is bounded (about ±2 for sets of equal size) and flattens near its bound: read Cohen’s d and "
        "AUC beside it. d of two models do not compare.": {*forms} - {MATCHING},
        "Matching: differences of match probabilities, not divided by their spread.": MATCHING in forms,
        "Runs of evenhand debias are shown by mmbias/table3, not here.": any(map(is_debias, runs)),
    }
    forests = [
        replace(_MATCHES if form == MATCHING else _FOREST, only={"form": form}, title=form.capitalize())
        for form in forms
    ]
    return Made(
        table.with_columns(class_of("x"), PAIR).select(_COLUMNS),
        tuple(note for note, applies in notes.items() if applies),
        (_TABLE, *forests, _BESIDE),
    )


def _effects(name: str, run: RunFolder) -> Iterator[Row]:
    """One row a pair: d of each form, and the raw difference of match probabilities."""
    for finding in run.findings:
        params: dict[str, Any] = finding.params
        forms = {"association_effect_size": str(params.get("form")), "match_association": MATCHING}
        if finding.name in forms and "stage" not in params and not params.get("standardised"):
            reading, (x, y) = params.get("reading"), params["targets"]
            yield {
                **finding.details,
                **numbers(finding),
                "source": OURS,
                "model": name if reading in (None, "per_image_joint") else f"{name} · {reading}",
                "form": forms[finding.name],
                "x": x,
                "y": y,
                "attributes": " – ".join(params["attributes"]),
                "p_adjusted": finding.p_adjusted,
            }


def _figure5(runs: Sequence[RunFolder], setting: Setting) -> Made:
    """The likeliest words of each group, in the reading asked for; ``auto``: in the first that a run has."""
    parts = []
    for name, run in named_by_tags(runs):
        command = "evenhand run mmbias/association --model URI --data DIR -p form=cross-modal -o DIR"
        words = needed_table(run, "attribution", "mmbias/figure5", command)
        choice, readings = setting.text("reading"), dict.fromkeys(words["reading"])
        reading = next(iter(readings), "") if choice == "auto" else choice
        if reading not in readings:
            raise InputError(
                f"mmbias/figure5 has no reading {choice!r} of {name!r}; possible: auto, {', '.join(readings)}"
            )
        likeliest = words.filter(pl.col("rank") <= setting.parameters["k"], reading=reading)
        parts.append(likeliest.with_columns(model=pl.lit(name), source=pl.lit(OURS)))
    words = pl.concat(parts, how="diagonal_relaxed").with_columns(class_of("group"), name_of("group"))
    order = pl.col("group").replace_strict(_PLACES, default=len(_PLACES))
    rows = words.sort("model", order, "rank", "group", maintain_order=True)
    models = list(dict.fromkeys(rows["model"]))
    several = len(models) > 1
    counts = [
        f"{f'{model}, ' if several else ''}{group} {(of_group['sentiment'] == 'pleasant').sum()} of "
        f"{len(of_group)}"
        for (model, group), of_group in rows.group_by("model", "group", maintain_order=True)
    ]
    sentiments = tuple(dict.fromkeys(["pleasant", "unpleasant", *rows["sentiment"]]))
    bars = replace(_WORDS, order={"word": "-value", "sentiment": sentiments})
    note = "Of each group's images, the words that a zero-shot classifier finds most likely."
    return Made(
        frame(rows.to_dicts(), _ATTRIBUTION),
        (note, *([f"Pleasant words: {', '.join(counts)}."] if counts else [])),
        tuple(replace(bars, only={"model": model}, title=model if several else "") for model in models),
    )


TABLE2 = Artifact(
    "mmbias/table2",
    "Effect size by pair of groups: cross-modal, textual, visual, and image-text matching",
    _table2,
    benchmarks=(RUNS, MATCHING_RUNS),
)
FIGURE5 = Artifact(
    "mmbias/figure5",
    "The words that the images of each group are nearest to, by sentiment",
    _figure5,
    benchmarks=(RUNS,),
    parameters={
        "reading": Parameter("auto", help="auto (softmax where known), softmax, argmax or cosine"),
        "k": Parameter(15, help="words of each group"),
    },
)
