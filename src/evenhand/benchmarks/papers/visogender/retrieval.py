"""Tables 3, 5 and 6, Figure 7 of the VisoGender paper: whose images come first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, partial

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.measured import beside, filled, measured
from evenhand.benchmarks.papers.printed import printed_cells
from evenhand.benchmarks.papers.rows import EVEN, NUMBERS, OURS, ZERO_SHOT, Runs, benchmark_of, named_by_tags
from evenhand.benchmarks.papers.visogender.random_rankings import chances, exact_moments
from evenhand.benchmarks.papers.visogender.resolution import SPREAD, accuracy_table
from evenhand.benchmarks.papers.visogender.rows import (
    CELL,
    FIGURES,
    RESOLUTION_RUNS,
    RETRIEVAL_RUNS,
    finish,
    interval_figure,
)
from evenhand.core.figure import Figure
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.rankings.null import null_of_mean

_POOLS, _POOL = 23, (10, 10)
_LEVEL = 0.95
_METRICS = {"bias_at_k": "Bias@", "max_skew_at_k": "MaxSkew@", "ndkl": "NDKL"}
_LEADS = ("source", "part", "model", "counted", "name", "measure")
_CELLS = ("shown", "sigma", "null_sd", "z", *NUMBERS, "reason")
_OVER = ("measure", "quantity")
_Z = (
    "σ: over occupations. z: distance from what random rankings give, in their standard deviations; in the "
    "paper's rows it is ours, for 23 pools of 10 and 10."
)


@cache
def _nulls() -> pl.DataFrame:
    """What random rankings of complete data give: mean, sigma, band and sd of the mean of each measure."""
    rng = np.random.default_rng(0)
    single, rows = chances(_POOL, (5, 10), rng), []
    for measure, name in FIGURES.items():
        nulls = [single[name]] * _POOLS
        moments, (low, high) = exact_moments(nulls, rng, 20_000), null_of_mean(nulls).band(_LEVEL)
        rows.append((measure, moments.mean, moments.mean_sd, low, high, moments.sigma))
    schema = ["measure", "null_mean", "null_sd", "null_low", "null_high", "sigma"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _rankings(runs: Iterable[tuple[str, RunFolder]], template: str, *metrics: str) -> pl.DataFrame:
    """What was measured on images of two persons, each once: ``-p k=5,5`` gives it twice."""
    results = measured(
        runs, *metrics, details=("sigma", "null_sd", "z"), k=(5, 10, None), context="two_person",
        template=template, subject=("occupation", "participant"),
    )  # fmt: skip
    measure = pl.concat_str(pl.col("metric").replace(_METRICS), "k", ignore_nulls=True)
    return results.unique(maintain_order=True).with_columns(measure=measure, counted="subject")


def retrieval_table(runs: Runs, printed: pl.DataFrame, template: str, *subjects: str) -> pl.DataFrame:
    """Rows of Table 3: the paper's, what chance gives, and ours for each of those whose gender is counted."""
    named_runs, nulls = named_by_tags(runs), _nulls()
    paper = (
        printed.pivot("quantity", index=["model", "counted", "measure"], values="value")
        .rename({"mean": "value"})
        .join(nulls.drop("sigma"), on="measure", maintain_order="left")
        .with_columns(z=(pl.col("value") - pl.col("null_mean")) / pl.col("null_sd"))
    )
    chance = nulls.with_columns(
        source=pl.lit(OURS), part=pl.lit("null"), model=pl.lit("chance (exact null)"), value="null_mean"
    )
    cells = pl.DataFrame({"counted": subjects}).join(nulls.select("measure"), how="cross")
    results = _rankings(named_runs, template, *_METRICS).filter(kind="")
    missing = f"the run ranks no images of two persons so ({template})"
    table = beside(paper, chance, filled(results, dict(named_runs), cells, missing))
    texts = [_text(*numbers) for numbers in table.select("value", "sigma", "z").rows()]
    suffix = pl.col("counted").replace_strict({"participant": " (participant)"}, default="")
    return table.with_columns(
        pl.Series("shown", texts, pl.String),
        part=pl.col("part").fill_null("models"),
        name=pl.col("model") + suffix,
    )


def _text(*numbers: float | None) -> str | None:
    """Value, sigma and z, as far as there are."""
    if numbers[0] is None:
        return None
    formats = zip(("{:.3f}", ", σ {:.3f}", ", z {:.1f}"), numbers, strict=True)
    return "".join(text.format(number) for text, number in formats if number is not None).replace("-", "−")


def _table3(runs: Runs) -> Made:
    """The occupation stands first."""
    paper = printed_cells(__file__, "table3", _OVER, counted="occupation")
    table = retrieval_table(runs, paper, "occ_first", "occupation")
    return finish(runs, table, (*_LEADS, *_CELLS), _Z)


def _table5(runs: Runs) -> Made:
    """The participant stands first."""
    paper = printed_cells(__file__, "table5", _OVER, counted="occupation")
    table = retrieval_table(runs, paper, "par_first", "occupation", "participant")
    note = (
        "The participant stands first, and the pronoun is theirs; the paper's code counts the genders of the "
        "occupation all the same. Both are shown."
    )
    return finish(runs, table, (*_LEADS, *_CELLS), note, _Z)


def _table6(runs: Runs) -> Made:
    """Tables 2 and 3 of further models."""
    resolution_runs, retrieval_runs = (
        [run for run in runs if benchmark_of(run) == benchmark]
        for benchmark in (RESOLUTION_RUNS, RETRIEVAL_RUNS)
    )
    resolution = accuracy_table(resolution_runs, printed_cells(__file__, "table6a", CELL))
    paper = printed_cells(__file__, "table6b", _OVER, counted="occupation")
    retrieval = retrieval_table(retrieval_runs, paper, "occ_first", "occupation")
    parts = (
        resolution.with_columns(part=pl.lit("resolution")),
        retrieval.with_columns(part=pl.lit("retrieval")),
    )
    columns = (*_LEADS, ZERO_SHOT, "quantity", "setting", *_CELLS)
    return finish(runs, pl.concat(parts, how="diagonal"), columns, _Z)


def _figure7(runs: Runs, setting: Setting) -> Made:
    """Bias of each occupation, with how many are above 0."""
    named_runs = named_by_tags(runs)
    results = _rankings(named_runs, setting.text("template"), "bias_at_k")
    results = results.filter(kind="occupation", counted="occupation")
    value, measure = pl.col("value"), ["model", "measure"]
    results = results.with_columns(ranked_by=value.filter(measure="Bias@5").first().over("model", "key"))
    results = results.sort(-pl.col("ranked_by").fill_null(0.0), maintain_order=True)
    missing = pl.format("no {} of images of two persons (-p k=5,10)", "measure")
    table = filled(results, dict(named_runs), pl.DataFrame({"measure": ["Bias@5", "Bias@10"]}), missing)
    above, total = (value > 0).sum().over(measure), value.count().over(measure)
    count = pl.format("{} above 0: {} of {}", "measure", above, total)
    table = table.with_columns(
        occupation=pl.col("key").fill_null("any"),
        above_zero=count.unique(maintain_order=True).str.join("; ").over("model"),
    )
    columns = ("source", "model", "occupation", "measure", *NUMBERS, "ranked_by", "above_zero", "reason")
    return finish(runs, table, columns)


_SHOWN = Figure(
    "table", x="measure", value="shown", levels=("model",),
    titles={"shown": "", "measure": "", "model": "model", "counted": "gender counted"},
)  # fmt: skip
_MEANS = interval_figure(
    "dots", x="value", y="name", facet="measure", independent=("x",), null="95% of random rankings, exact",
    titles={"value": "mean over occupations", "name": ""}, only={"part": "models"},
)  # fmt: skip
_artifact = partial(Artifact, benchmarks=(RETRIEVAL_RUNS,))

TABLE3 = _artifact(
    "visogender/table3",
    "Retrieval: Bias@K, MaxSkew@K and NDKL over occupations, beside what chance gives",
    _table3,
    (_SHOWN, _MEANS),
)
TABLE5 = _artifact(
    "visogender/table5",
    "Retrieval with the template flipped: the participant stands first",
    _table5,
    (replace(_SHOWN, levels=("model", "counted")), _MEANS),
)
TABLE6 = Artifact(
    "visogender/table6",
    "Resolution and retrieval of further models",
    _table6,
    (
        replace(SPREAD, title="Resolution", only={"part": "resolution"}),
        replace(_SHOWN, title="Retrieval", only={"part": "retrieval"}),
    ),
    (RESOLUTION_RUNS, RETRIEVAL_RUNS),
)
FIGURE7 = _artifact(
    "visogender/figure7",
    "Retrieval bias by occupation, ranked by Bias@5",
    _figure7,
    (
        Figure(
            "bars", x="value", y="occupation", colour="measure", facet="model", columns=2,
            null_low="null_low", null_high="null_high",
            null="95% of random rankings of one occupation", references=(EVEN,), independent=("y",),
            annotate=("above_zero",), order={"occupation": "-ranked_by"}, domain={"x": (-1.0, 1.0)},
            titles={"value": "more masculine images at the top: above 0", "occupation": "", "measure": "",
                    "above_zero": ""},
        ),
    ),
    parameters={"template": Parameter("occ_first", ("occ_first", "par_first"), "who stands first")},
)  # fmt: skip
