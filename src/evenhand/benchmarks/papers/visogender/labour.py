"""Table 7, Figures 3, 9, 10 and 11 of the VisoGender paper: models beside US labour statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.rows import (
    EVEN,
    NO_IMAGES,
    OURS,
    PAPER,
    Row,
    benchmark_of,
    frame,
    named_by_tags,
)
from evenhand.benchmarks.papers.visogender import published
from evenhand.benchmarks.papers.visogender.analyses import (
    answers_of,
    correlations,
    holm,
    male_shares,
    occupation_accuracies,
    occupation_gaps,
)
from evenhand.benchmarks.papers.visogender.rows import (
    PAIR_TITLES,
    RESOLUTION_RUNS,
    RETRIEVAL_RUNS,
    mode_notes,
)
from evenhand.benchmarks.tidy import find
from evenhand.core.figure import Figure
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.correlation import Correlation, pearson_p

PAIRS = {"same": ("mm", "ff"), "different": ("mf", "fm")}
_OCCUPATIONS = 23
_COEFFICIENTS = ("pearson", "p_pearson", "kendall", "p_kendall")
_SOURCE = "Share of men: US labour statistics; some categories are distant (painters are artists)."


def _of(coefficients: Mapping[str, Correlation]) -> Row:
    """Both coefficients with p, as columns."""
    row: Row = {}
    for name, correlation in coefficients.items():
        row |= {name: _known(correlation.value), f"p_{name}": _known(correlation.p_value)}
    return row | {"n": float(coefficients["pearson"].n), "reason": coefficients["pearson"].reason or None}


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _bias_at_10(run: RunFolder) -> dict[str, float]:
    """Bias@10 of each occupation, images of two persons."""
    finding = find(
        run, "bias_at_k", "occupation_perceived_gender", k=10, context="two_person", template="occ_first",
        subject="occupation",
    )  # fmt: skip
    parts = finding.parts if finding is not None else []
    return {str(part.key): float("nan") if part.value is None else part.value for part in parts}


def _table7(runs: Sequence[RunFolder], setting: Setting) -> Made:
    shares = male_shares(setting)
    rows: list[Row] = []
    for model in ("CLIP", "BLIP-2"):
        rows += [{**row, "measure": row["gender_pair"]} for row in _paper_coefficients(model)]
    for model, run in named_by_tags(runs):
        coefficients = {
            name: correlations(shares, values) for name, values in _measured(run, setting).items()
        }
        flat = [correlation for pair in coefficients.values() for correlation in pair.values()]
        adjusted = holm(flat)
        for index, (name, pair_coefficients) in enumerate(coefficients.items()):
            row = {
                "source": OURS,
                "model": model,
                "measure": PAIR_TITLES.get(name, name),
                **_of(pair_coefficients),
            }
            row |= {"gender_pair": PAIR_TITLES.get(name)}
            row |= {"p_pearson_holm": adjusted[2 * index], "p_kendall_holm": adjusted[2 * index + 1]}
            rows.append(row)
    columns = ("source", "model", "measure", "gender_pair", "pearson", "p_pearson", "p_pearson_holm",
               "kendall", "p_kendall", "p_kendall_holm", "n", "reason")  # fmt: skip
    notes = (
        "Pairs are occupation | participant. Holm: over all coefficients of a run.",
        "p of the paper's r is ours, from r and 23 occupations.",
        _SOURCE,
        *mode_notes(runs),
    )
    return Made(frame(rows, columns), notes)


def _paper_coefficients(model: str) -> Iterator[Row]:
    """Table 7's row of each gender pair."""
    for pairing, pairs in PAIRS.items():
        for pair in pairs:
            r, tau = published.TABLE7[model, pair]
            yield {
                "source": PAPER, "part": "coefficients", "model": model, "pairing": pairing,
                "gender_pair": PAIR_TITLES[pair], "pearson": r, "kendall": tau,
                "p_pearson": pearson_p(r, _OCCUPATIONS), "n": float(_OCCUPATIONS),
            }  # fmt: skip


def _measured(run: RunFolder, setting: Setting) -> dict[str, dict[str, float]]:
    """What is correlated: accuracy by pair and gap, or Bias@10."""
    if benchmark_of(run) == RETRIEVAL_RUNS:
        return {"Bias@10": _bias_at_10(run)}
    answers = answers_of(run, setting)
    pairs = {
        pair: occupation_accuracies(answers, pair)
        for context_pairs in PAIRS.values()
        for pair in context_pairs
    }
    return {**pairs, "gap": occupation_gaps(answers, "all")}


def _points(
    model: str, shares: Mapping[str, float], values: Mapping[str, float], lead: Row, missing: str
) -> list[Row]:
    """One row an occupation, with the coefficients over all of them; without any, one row that says why."""
    coefficients = _of(correlations(shares, values))
    rows = [
        {"source": OURS, "model": model, "occupation": name, "male_proportion": shares.get(name),
         **coefficients, **lead, "value": _known(value), "reason": NO_IMAGES if np.isnan(value) else None}
        for name, value in values.items()
    ]  # fmt: skip
    return rows or [{"source": OURS, "model": model, **lead, "reason": missing}]


def _figure3(runs: Sequence[RunFolder], setting: Setting) -> Made:
    shares, which = male_shares(setting), setting.text("setting")
    rows: list[Row] = []
    for model, run in named_by_tags(runs):
        gaps = occupation_gaps(answers_of(run, setting), which)
        rows += _points(model, shares, gaps, {"setting": which}, NO_IMAGES)
    columns = (
        "source",
        "model",
        "setting",
        "occupation",
        "male_proportion",
        "value",
        *_COEFFICIENTS,
        "n",
        "reason",
    )
    images = f"Images: {which.replace('_', ' ')}; which the paper used is not said (-p setting=...)."
    return Made(frame(rows, columns), (images, _SOURCE, *mode_notes(runs)))


def _figure9(model_of_paper: str, runs: Sequence[RunFolder], setting: Setting) -> Made:
    shares = male_shares(setting)
    rows = list(_paper_coefficients(model_of_paper))
    for model, run in named_by_tags(runs):
        answers = answers_of(run, setting)
        for pairing, pairs in PAIRS.items():
            for pair in pairs:
                lead = {"pairing": pairing, "gender_pair": PAIR_TITLES[pair]}
                points = _points(model, shares, occupation_accuracies(answers, pair), lead, NO_IMAGES)
                rows += [{**row, "part": "points"} for row in points]
                rows.append({**points[0], "part": "coefficients", "occupation": None, "value": None})
    columns = ("source", "part", "model", "pairing", "gender_pair", "occupation", "male_proportion", "value",
               *_COEFFICIENTS, "n", "reason")  # fmt: skip
    notes = (
        "Pairs are occupation | participant. Accuracies of five images are multiples of 0.2: points meet.",
        _SOURCE,
        *mode_notes(runs),
    )
    return Made(frame(rows, columns), notes)


def _figure11(runs: Sequence[RunFolder], setting: Setting) -> Made:
    shares = male_shares(setting)
    rows: list[Row] = []
    for model, run in named_by_tags(runs):
        rows += _points(
            model, shares, _bias_at_10(run), {}, "no Bias@10 of images of two persons (-p k=5,10)"
        )
    columns = ("source", "model", "occupation", "male_proportion", "value", *_COEFFICIENTS, "n", "reason")
    return Made(frame(rows, columns), (_SOURCE, *mode_notes(runs)))


_WORDS = {
    "male_proportion": "men in the occupation, US labour force",
    "pearson": "r",
    "p_pearson": "p",
    "kendall": "τ",
    "p_kendall": "p",
    "model": "",
    "gender_pair": "occupation | participant",
}


def _scatter(value: str, label: str = "occupation", **more: object) -> Figure:
    options = {"facet": "model", "columns": 2, "annotate": _COEFFICIENTS, **more}
    return Figure(
        "scatter", x="male_proportion", y="value", label=label, fit=True,
        formats={"male_proportion": "percent"}, titles={**_WORDS, "value": value}, **options,  # type: ignore[arg-type]
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
FIGURE3 = Artifact(
    "visogender/figure3",
    "Resolution gap of each occupation against its share of men",
    _figure3,
    (_scatter("gap: RA masculine − RA feminine", references=(EVEN,)),),
    (RESOLUTION_RUNS,),
    parameters={"setting": Parameter("all", ("all", "single", "two_person"), "which images the gap is of")},
)
FIGURE9, FIGURE10 = (
    Artifact(
        f"visogender/figure{number}",
        "Resolution accuracy of each occupation against its share of men, same and different genders "
        f"(beside {model})",
        partial(_figure9, model),
        (
            _scatter(
                "RA", "", facet="", colour="gender_pair", row="model", column="pairing",
                domain={"y": (-0.04, 1.04)}, only={"part": "points"},
            ),
            Figure(
                "table", levels=("model", "pairing", "gender_pair", *_COEFFICIENTS), titles=_WORDS,
                only={"part": "coefficients"},
            ),
        ),
        (RESOLUTION_RUNS,),
    )
    for number, model in ((9, "CLIP"), (10, "BLIP-2"))
)  # fmt: skip
FIGURE11 = Artifact(
    "visogender/figure11",
    "Bias@10 of each occupation against its share of men",
    _figure11,
    (_scatter("Bias@10", references=(EVEN,)),),
    (RETRIEVAL_RUNS,),
)
