"""Tables 8 and 9, Figure 12 of the VisoGender paper: what chance does to the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.papers.rows import (
    NO_IMAGES,
    OURS,
    PAPER,
    Row,
    frame,
    named_by_tags,
)
from evenhand.benchmarks.papers.visogender import published
from evenhand.benchmarks.papers.visogender.analyses import Kept, answers_of, pools_of, subsample
from evenhand.benchmarks.papers.visogender.random_rankings import (
    FigureMoments,
    chances,
    drawn_moments,
    exact_moments,
)
from evenhand.benchmarks.papers.visogender.resolution import measure_title
from evenhand.benchmarks.papers.visogender.rows import RESOLUTION_RUNS, mode_notes
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.figure import Figure
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.rankings.null import NullDistribution

_Moments = Mapping[str, FigureMoments]
_CELL = 5
_FIGURES = {"Bias@5": "bias_at_5", "Bias@10": "bias_at_10", "MaxSkew@5": "max_skew_at_5",
            "MaxSkew@10": "max_skew_at_10", "NDKL": "ndkl"}  # fmt: skip
_NOT_ONE = (
    "The paper's σ cannot be of one image kept: with its own counts the least possible at k = 1 is 0.0137 "
    "(single), 0.0087 (same), 0.0151 (different); they fit k = 4."
)


def _at_least_one(setting: Setting, *names: str) -> list[int]:
    for name in names:
        if setting.parameters[name] < 1:
            raise ParameterError(f"-p {name}={setting.parameters[name]} is not possible; give 1 or more")
    return [int(setting.parameters[name]) for name in names]


def _table8(runs: Sequence[RunFolder], setting: Setting) -> Made:
    k, trials = _at_least_one(setting, "k", "trials")
    rows: list[Row] = []
    for of, values in published.TABLE8.items():
        for (name, quantity), value in zip(published.RESOLUTION_MEASURES, values, strict=True):
            rows.append(
                {"source": PAPER, "model": "CLIP", "how": "paper, 500 trials", "of": of, "value": value,
                 "shown": _four(value), "measure": measure_title(name, quantity)}
            )  # fmt: skip
    for model, run in named_by_tags(runs):
        rows += _kept_rows(model, subsample(answers_of(run, setting), k, trials, setting.seed), trials)
    notes = (
        f"Ours: {k} of {_CELL} images kept of each occupation and gender pair.",
        _NOT_ONE,
        *mode_notes(runs),
    )
    return Made(frame(rows, ("source", "model", "how", "of", "measure", "shown", "value", "reason")), notes)


def _kept_rows(model: str, subsamples: Mapping[str, Kept], trials: int) -> Iterator[Row]:
    for name, quantity in published.RESOLUTION_MEASURES:
        moments, column = subsamples[name], int(quantity == "gap")
        draws = moments.draws[column]
        values = {
            ("exact", "mean"): moments.mean[column],
            ("exact", "σ"): moments.sd[column],
            (f"drawn, {trials} trials", "mean"): float(draws.mean()),
            (f"drawn, {trials} trials", "σ"): float(draws.std(ddof=1)) if trials > 1 else np.nan,
        }
        for (how, of), value in values.items():
            finite_value = None if np.isnan(value) else value
            yield {
                "source": OURS, "model": model, "how": how, "of": of,
                "measure": measure_title(name, quantity), "value": finite_value, "shown": _four(finite_value),
                "reason": NO_IMAGES if finite_value is None else None,
            }  # fmt: skip


def _four(value: float | None) -> str | None:
    """Four decimals, as the paper prints these tables."""
    return None if value is None else f"{value + 0.0:.4f}".replace("-", "−")


def _figure12(runs: Sequence[RunFolder], setting: Setting) -> Made:
    (trials,) = _at_least_one(setting, "trials")
    rows: list[Row] = [
        {"source": PAPER, "model": "CLIP", "kept": 1.0, "value": published.TABLE8["mean"][0],
         "sd": published.TABLE8["σ"][0]}
    ]  # fmt: skip
    for model, run in named_by_tags(runs):
        answers = answers_of(run, setting)
        for k in range(1, _CELL + 1):
            moments = subsample(answers, k, trials, setting.seed)["overall"]
            draws = moments.draws[0]
            lead = {"source": OURS, "model": model, "kept": float(k)}
            if np.isnan(draws).any():
                rows.append({**lead, "reason": "needs images of single persons and of two"})
                continue
            low, high = np.quantile(draws, [0.025, 0.975]).tolist()
            rows.append(
                {**lead, "value": float(draws.mean()), "low": low, "high": high, "exact": moments.mean[0],
                 "sd": moments.sd[0], "sd_drawn": float(draws.std(ddof=1)) if trials > 1 else None}
            )  # fmt: skip
    columns = ("source", "model", "kept", "value", "low", "high", "exact", "sd", "sd_drawn", "reason")
    return Made(frame(rows, columns), (_NOT_ONE, *mode_notes(runs)))


@lru_cache(maxsize=8)  # each run with these pools has the same table
def _figures_by_chance(
    pools: tuple[tuple[int, int], ...], seed: int, repeats: int
) -> tuple[_Moments, _Moments]:
    """Moments of each figure: exact, and of ``repeats`` drawn benchmarks."""
    rng = np.random.default_rng(seed)
    nulls_by_pool: dict[tuple[int, int], dict[str, NullDistribution]] = {}
    for pool in pools:
        if pool not in nulls_by_pool:
            nulls_by_pool[pool] = chances(pool, (5, 10), rng)
    exact = {
        key: exact_moments([nulls_by_pool[pool][key] for pool in pools], rng) for key in _FIGURES.values()
    }
    return exact, drawn_moments(pools, (5, 10), repeats, rng)


def _table9(runs: Sequence[RunFolder], setting: Setting) -> Made:
    (repeats,) = _at_least_one(setting, "repeats")
    pools = pools_of(setting)
    if not pools:
        raise InputError(
            "visogender/table9 draws labels in pools of both genders, and these data have none; give "
            "--data DIR with images of both for some occupation"
        )
    exact, sampled = _figures_by_chance(tuple(pools), setting.seed, repeats)
    rows: list[Row] = []
    for of, values in published.TABLE9.items():
        for index, value in enumerate(values):
            measure, part = published.RETRIEVAL_MEASURES[index // 2], ("mean", "σ")[index % 2]
            rows.append(
                {"source": PAPER, "how": "paper, 3,000 times", "of": "σ" if of == "sigma" else of,
                 "what": measure, "quantity": part, "measure": f"{measure} {part}", "value": value,
                 "shown": _four(value)}
            )  # fmt: skip
    rows += _moment_rows("exact null", exact, len(pools))
    rows += _moment_rows(f"drawn, {repeats:,} times", sampled, len(pools))
    notes = (
        f"{len(pools)} pools of images, genders relabelled at random; σ over occupations has ddof = 1.",
        "Exact: means and σ of the mean over all rankings; the numbers about σ from 200,000 exact draws.",
    )
    columns = ("source", "how", "of", "what", "quantity", "measure", "shown", "value", "reason")
    return Made(frame(rows, columns), notes)


def _moment_rows(how: str, figures: Mapping[str, FigureMoments], n_pools: int) -> Iterator[Row]:
    for of in ("mean", "σ"):
        for measure, key in _FIGURES.items():
            figure = figures[key]
            pair = (figure.mean, figure.sigma) if of == "mean" else (figure.mean_sd, figure.sigma_sd)
            for part, value in zip(("mean", "σ"), pair, strict=True):
                finite_value = None if np.isnan(value) else value
                reason = "one pool has no σ" if part == "σ" and n_pools == 1 else "a pool is smaller than k"
                yield {
                    "source": OURS, "how": how, "of": of, "what": measure, "quantity": part,
                    "measure": f"{measure} {part}", "value": finite_value, "shown": _four(finite_value),
                    "reason": reason if finite_value is None else None,
                }  # fmt: skip


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
