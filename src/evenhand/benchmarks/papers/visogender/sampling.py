"""Tables 8 and 9, Figure 12 of the VisoGender paper: what chance does to the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.measured import beside
from evenhand.benchmarks.papers.printed import printed, printed_cells
from evenhand.benchmarks.papers.rows import NO_IMAGES, OURS, PAPER, Row, Runs, frame, named_by_tags
from evenhand.benchmarks.papers.visogender.analyses import answers_of, pools_of, subsample
from evenhand.benchmarks.papers.visogender.random_rankings import (
    FigureMoments,
    chances,
    drawn_moments,
    exact_moments,
)
from evenhand.benchmarks.papers.visogender.rows import CELL, FIGURES, RESOLUTION_RUNS, finish, with_titles
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.figure import Figure
from evenhand.stats.arrays import Floats

_Moments = Mapping[str, FigureMoments]
_CELL = 5
_NOT_ONE = (
    "The paper's σ cannot be of one image kept: with its own counts the least possible at k = 1 is 0.0137 "
    "(single), 0.0087 (same), 0.0151 (different); they fit k = 4."
)


def _at_least_one(setting: Setting, *names: str) -> Iterator[int]:
    """These parameters, which are refused below 1."""
    for name in names:
        value = setting.parameters[name]
        if value < 1:
            raise ParameterError(f"-p {name}={value} is not possible; give 1 or more")
        yield value


def _with_ours(paper: pl.DataFrame, rows: Sequence[tuple[object, ...]], missing: pl.Expr) -> pl.DataFrame:
    """The paper's numbers, then ours in its columns, with four decimals as it prints them, or why not."""
    ours = pl.DataFrame(rows, paper.schema, orient="row").with_columns(source=pl.lit(OURS))
    value = pl.col("value")
    return beside(paper, ours.fill_nan(None)).with_columns(
        shown=value.map_elements(_four, return_dtype=pl.String),
        reason=pl.when(value.is_null()).then(missing),
    )


def _four(value: float) -> str:
    """Four decimals, as the paper prints them."""
    return f"{value + 0.0:.4f}".replace("-", "−")


def _table8(runs: Runs, setting: Setting) -> Made:
    """Mean and standard deviation when k images of each cell are kept: exact, and drawn."""
    k, trials = _at_least_one(setting, "k", "trials")
    paper = printed_cells(__file__, "table8", CELL, keys=("of",), model="CLIP", how="paper, 500 trials")
    by_draws = f"drawn, {trials} trials"
    rows = [
        (of, *cell, value, model, how)
        for model, run in named_by_tags(runs)
        for cell, (mean, sd, draws) in subsample(answers_of(run, setting), k, trials, setting.seed).items()
        for how, of, value in (
            ("exact", "mean", mean),
            ("exact", "σ", sd),
            (by_draws, "mean", draws.mean()),
            (by_draws, "σ", _sd(draws)),
        )
    ]
    table = with_titles(_with_ours(paper, rows, pl.lit(NO_IMAGES)))
    columns = ("source", "model", "how", "of", "measure", "shown", "value", "reason")
    note = f"Ours: {k} of {_CELL} images kept of each occupation and gender pair."
    return finish(runs, table, columns, note, _NOT_ONE)


def _sd(draws: Floats) -> float:
    """Standard deviation; NaN of one draw."""
    return float(draws.std(ddof=1)) if draws.size > 1 else np.nan


def _figure12(runs: Runs, setting: Setting) -> Made:
    """Overall accuracy against the images kept, with what 95% of the trials give."""
    (trials,) = _at_least_one(setting, "trials")
    (mean, *_), (sd, *_) = printed(__file__, "table8").values()
    rows: list[Row] = [{"source": PAPER, "model": "CLIP", "kept": 1, "value": mean, "sd": sd}]
    for model, run in named_by_tags(runs):
        answers = answers_of(run, setting)
        for k in range(1, _CELL + 1):
            mean, sd, draws = subsample(answers, k, trials, setting.seed)["overall", "accuracy"]
            low, high = np.quantile(draws, [0.025, 0.975])
            reason = "needs images of single persons and of two" if np.isnan(mean) else None
            rows.append(
                {"source": OURS, "model": model, "kept": k, "value": draws.mean(), "low": low, "high": high,
                 "exact": mean, "sd": sd, "sd_drawn": _sd(draws), "reason": reason}
            )  # fmt: skip
    columns = ("source", "model", "kept", "value", "low", "high", "exact", "sd", "sd_drawn", "reason")
    return finish(runs, frame(rows, columns).fill_nan(None), columns, _NOT_ONE)


@lru_cache(maxsize=8)  # each run with these pools has the same table
def _figures_by_chance(
    pools: tuple[tuple[int, ...], ...], seed: int, repeats: int
) -> tuple[_Moments, _Moments]:
    """Moments of each figure: exact, and of ``repeats`` drawn benchmarks."""
    rng = np.random.default_rng(seed)
    nulls = {pool: chances(pool, (5, 10), rng) for pool in dict.fromkeys(pools)}
    exact = {key: exact_moments([nulls[pool][key] for pool in pools], rng) for key in FIGURES.values()}
    return exact, drawn_moments(pools, (5, 10), repeats, rng)


def _table9(runs: Runs, setting: Setting) -> Made:
    """Mean and sigma of each measure under random labels: exact, and drawn."""
    (repeats,) = _at_least_one(setting, "repeats")
    pools = pools_of(setting)
    if not pools:
        raise InputError(
            "visogender/table9 draws labels in pools of both genders, and these data have none; give "
            "--data DIR with images of both for some occupation"
        )
    exact, by_draws = _figures_by_chance(tuple(pools), setting.seed, repeats)
    suffixes = {"mean": "", "sigma": "_sd"}  # of the mean of a number over benchmarks, or its spread
    paper = printed_cells(__file__, "table9", ("what", "quantity"), keys=("of",), how="paper, 3,000 times")
    rows = [
        (of, what, quantity, getattr(moments[FIGURES[what]], quantity + suffixes[of]), how)
        for how, moments in (("exact null", exact), (f"drawn, {repeats:,} times", by_draws))
        for of, what, quantity in paper.select("of", "what", "quantity").rows()
    ]
    alone = pl.when(pl.lit(len(pools) == 1), quantity="sigma").then(pl.lit("one pool has no σ"))
    table = _with_ours(paper, rows, alone.otherwise(pl.lit("a pool is smaller than k")))
    table = table.with_columns(pl.col("of", "quantity").replace("sigma", "σ"))
    measure = pl.concat_str("what", "quantity", separator=" ").alias("measure")
    columns = ("source", "how", "of", "what", "quantity", measure, "shown", "value", "reason")
    return finish(
        runs, table, columns,
        f"{len(pools)} pools of images, genders relabelled at random; σ over occupations has ddof = 1.",
        "Exact: means and σ of the mean over all rankings; the numbers about σ from 200,000 exact draws.",
    )  # fmt: skip


_TRIALS = Parameter(500, help="how often images are drawn")
_PLAIN = {"shown": "", "measure": "", "how": "", "of": "of the trials"}

TABLE8 = Artifact(
    "visogender/table8",
    "Resolution on random sub-samples: mean and standard deviation when k of 5 images are kept",
    _table8,
    (Figure("table", x="measure", value="shown", levels=("model", "how", "of"), titles=_PLAIN),),
    (RESOLUTION_RUNS,),
    parameters={"k": Parameter(1, help="images kept of each cell"), "trials": _TRIALS},
)
TABLE9 = Artifact(
    "visogender/table9",
    "Retrieval with genders relabelled at random: mean and standard deviation of mean and sigma",
    _table9,
    (Figure("table", x="measure", value="shown", levels=("how", "of"), titles=_PLAIN),),
    runs=0,
    parameters={"repeats": Parameter(3000, help="how often labels are drawn")},
)
FIGURE12 = Artifact(
    "visogender/figure12",
    "Overall resolution accuracy against the images kept of each cell",
    _figure12,
    (
        Figure(
            "lines", x="kept", y="value", colour="model", low="low", high="high", domain={"x": (0.8, 5.2)},
            titles={"kept": "images kept of 5", "value": "overall RA", "model": ""},
            interval="95% of the trials",
        ),
    ),
    (RESOLUTION_RUNS,),
    parameters={"trials": _TRIALS},
)  # fmt: skip
