"""Table 7, Figures 3, 9, 10 and 11 of the VisoGender paper: models beside US labour statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.printed import printed
from evenhand.benchmarks.papers.rows import (
    EVEN,
    NO_IMAGES,
    OURS,
    PAPER,
    Row,
    Runs,
    benchmark_of,
    frame,
    named_by_tags,
)
from evenhand.benchmarks.papers.visogender.analyses import (
    ByOccupation,
    answers_of,
    correlations,
    male_shares,
    occupation_accuracies,
    occupation_gaps,
)
from evenhand.benchmarks.papers.visogender.rows import PAIRS, RESOLUTION_RUNS, RETRIEVAL_RUNS, finish
from evenhand.benchmarks.tidy import find
from evenhand.core.figure import Figure
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.correlation import pearson_p
from evenhand.stats.multiplicity import adjust

_OCCUPATIONS = 23
_COEFFICIENTS = ("pearson", "p_pearson", "kendall", "p_kendall")
_POINTS = ("occupation", "male_proportion", "value", *_COEFFICIENTS, "n", "reason")
_SOURCE = "Share of men: US labour statistics; some categories are distant (painters are artists)."
_PAIRS: dict[str, Row] = {
    pair: {"pairing": pairing, "gender_pair": " | ".join(pair), "measure": " | ".join(pair)}
    for pair, pairing in PAIRS.items()
}

Numbers = Sequence[tuple[Row, ByOccupation]]
"""Numbers of occupations, and of what they are."""


def _table(runs: Runs, rows: Sequence[Row], columns: Sequence[str], *notes: str) -> Made:
    """A table of rows in which NaN is what is undefined."""
    return finish(runs, frame(rows, columns).fill_nan(None), columns, *notes, _SOURCE)


def _bias_at_10(run: RunFolder) -> Numbers:
    """Bias@10 of each occupation, images of two persons."""
    finding = find(
        run, "bias_at_k", "occupation_perceived_gender", k=10, context="two_person", template="occ_first",
        subject="occupation",
    )  # fmt: skip
    parts = finding.parts if finding is not None else []
    values = {str(part.key): np.nan if part.value is None else part.value for part in parts}
    return [({"measure": "Bias@10"}, values)]


def _pairs(answers: pl.DataFrame) -> Numbers:
    """Accuracy of each occupation on images of each gender pair."""
    return [(lead, occupation_accuracies(answers, pair)) for pair, lead in _PAIRS.items()]


def _paper_rows() -> list[Row]:
    """Table 7's row of each model and gender pair."""
    return [
        {
            "source": PAPER, "part": "coefficients", "model": model, **_PAIRS[pair], "pearson": r,
            "kendall": tau, "p_pearson": pearson_p(r, _OCCUPATIONS), "n": _OCCUPATIONS,
        }
        for (model, pair), (r, tau) in printed(__file__, "table7", keys=2).items()
    ]  # fmt: skip


def _table7(runs: Runs, setting: Setting) -> Made:
    """The coefficients of everything measured by occupation, with Holm's p of each run."""
    shares, rows = male_shares(setting), _paper_rows()
    for model, run in named_by_tags(runs):
        if benchmark_of(run) == RETRIEVAL_RUNS:
            numbers = _bias_at_10(run)
        else:
            answers = answers_of(run, setting)
            numbers = [*_pairs(answers), ({"measure": "gap"}, occupation_gaps(answers, "all"))]
        run_rows = [{**lead, **correlations(shares, values)} for lead, values in numbers]
        p_values = np.array([(row["p_pearson"], row["p_kendall"]) for row in run_rows])
        holm = adjust(p_values.ravel(), "holm").reshape(p_values.shape)
        rows += [
            {"source": OURS, "model": model, **row, "p_pearson_holm": p_pearson, "p_kendall_holm": p_kendall}
            for row, (p_pearson, p_kendall) in zip(run_rows, holm, strict=True)
        ]
    columns = ("source", "model", "measure", "gender_pair", "pearson", "p_pearson", "p_pearson_holm",
               "kendall", "p_kendall", "p_kendall_holm", "n", "reason")  # fmt: skip
    return _table(
        runs, rows, columns, "Pairs are occupation | participant. Holm: over all coefficients of a run.",
        "p of the paper's r is ours, from r and 23 occupations.",
    )  # fmt: skip


def _points(
    runs: Runs, setting: Setting, numbers_of: Callable[[RunFolder], Numbers], missing: str = NO_IMAGES
) -> Iterator[list[Row]]:
    """A row for each occupation, with the coefficients over all of them; without any, one that says why."""
    shares = male_shares(setting)
    for model, run in named_by_tags(runs):
        for name, values in numbers_of(run):
            lead = {"source": OURS, "part": "points", "model": model, **name}
            coefficients = correlations(shares, values)
            yield [
                {**lead, **coefficients, "occupation": occupation, "male_proportion": shares.get(occupation),
                 "value": value, "reason": NO_IMAGES if np.isnan(value) else None}
                for occupation, value in values.items()
            ] or [{**lead, "reason": missing}]  # fmt: skip


def _figure3(runs: Runs, setting: Setting) -> Made:
    """Gaps by occupation."""
    which = setting.text("setting")
    points = _points(
        runs,
        setting,
        lambda run: [({"setting": which}, occupation_gaps(answers_of(run, setting), which))],
    )
    images = f"Images: {which.replace('_', ' ')}; which the paper used is not said (-p setting=...)."
    return _table(runs, [*chain(*points)], ("source", "model", "setting", *_POINTS), images)


def _figure9(model_of_paper: str, runs: Runs, setting: Setting) -> Made:
    """Accuracies by occupation for each gender pair, after its points the coefficients."""
    rows = [row for row in _paper_rows() if row["model"] == model_of_paper]
    for points in _points(runs, setting, lambda run: _pairs(answers_of(run, setting))):
        rows += [*points, {**points[0], "part": "coefficients", "occupation": None, "value": None}]
    columns = ("source", "part", "model", "pairing", "gender_pair", *_POINTS)
    note = "Pairs are occupation | participant. Accuracies of five images are multiples of 0.2: points meet."
    return _table(runs, rows, columns, note)


def _figure11(runs: Runs, setting: Setting) -> Made:
    """Bias@10 by occupation."""
    missing = "no Bias@10 of images of two persons (-p k=5,10)"
    points = _points(runs, setting, _bias_at_10, missing)
    return _table(runs, [*chain(*points)], ("source", "model", *_POINTS))


_WORDS = {
    "male_proportion": "men in the occupation, US labour force",
    "pearson": "r",
    "p_pearson": "p",
    "kendall": "τ",
    "p_kendall": "p",
    "model": "",
    "gender_pair": "occupation | participant",
}
_GAPS = Figure(
    "scatter", x="male_proportion", y="value", label="occupation", facet="model", columns=2, fit=True,
    annotate=_COEFFICIENTS, references=(EVEN,), formats={"male_proportion": "percent"},
    titles={**_WORDS, "value": "gap: RA masculine − RA feminine"},
)  # fmt: skip

TABLE7 = Artifact(
    "visogender/table7",
    "Correlation with US labour statistics (male proportion): Pearson's r and Kendall's tau-b",
    _table7,
    (
        Figure(
            "table",
            levels=("model", "measure", "pearson", "p_pearson", "p_pearson_holm", "kendall", "p_kendall",
                    "p_kendall_holm", "n"),
            titles={"measure": "of", "pearson": "Pearson r", "p_pearson": "p",
                    "p_pearson_holm": "p, Holm", "kendall": "Kendall τ", "p_kendall": "p",
                    "p_kendall_holm": "p, Holm"},
            formats={"n": "count"},
        ),
    ),
    (RESOLUTION_RUNS, RETRIEVAL_RUNS),
)  # fmt: skip
_artifact = partial(Artifact, benchmarks=(RESOLUTION_RUNS,))
FIGURE3 = _artifact(
    "visogender/figure3",
    "Resolution gap of each occupation against its share of men",
    _figure3,
    (_GAPS,),
    parameters={"setting": Parameter("all", ("all", "single", "two_person"), "which images the gap is of")},
)
FIGURE9, FIGURE10 = (
    _artifact(
        f"visogender/figure{number}",
        "Resolution accuracy of each occupation against its share of men, same and different genders "
        f"(beside {model})",
        partial(_figure9, model),
        (
            replace(
                _GAPS, label="", facet="", colour="gender_pair", row="model", column="pairing", references=(),
                domain={"y": (-0.04, 1.04)}, only={"part": "points"}, titles={**_WORDS, "value": "RA"},
            ),
            Figure(
                "table", levels=("model", "pairing", "gender_pair", *_COEFFICIENTS), titles=_WORDS,
                only={"part": "coefficients"},
            ),
        ),
    )
    for number, model in ((9, "CLIP"), (10, "BLIP-2"))
)  # fmt: skip
FIGURE11 = Artifact(
    "visogender/figure11",
    "Bias@10 of each occupation against its share of men",
    _figure11,
    (replace(_GAPS, titles={**_WORDS, "value": "Bias@10"}),),
    (RETRIEVAL_RUNS,),
)
