"""The analyses of VisoGender's appendices on runs: labour statistics, sub-sampling, random relabelling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Setting
from evenhand.benchmarks.datasets.download_source import default_folder
from evenhand.benchmarks.papers.rows import is_paper_mode
from evenhand.benchmarks.papers.visogender.subsampling import CellCount, kept_draws, kept_spread
from evenhand.benchmarks.visogender.data.captions import OCC_FIRST, parse_candidates
from evenhand.benchmarks.visogender.data.labour import read_labour
from evenhand.benchmarks.visogender.data.samples import read_samples
from evenhand.benchmarks.visogender.data.settings import SETTINGS, choices_of, with_pairing
from evenhand.benchmarks.visogender.data.taxonomy import FEMININE, MASCULINE, TWO
from evenhand.core.errors import InputError
from evenhand.evidence.choices import OUTCOMES
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.arrays import Floats
from evenhand.stats.correlation import Correlation, kendall, pearson
from evenhand.stats.multiplicity import adjust

COEFFICIENTS = {"pearson": pearson, "kendall": kendall}
MEASURES = ("overall", "single", "two_person", "same", "different")
"""Settings of Table 8; ``overall`` is the mean of ``single`` and ``two_person``."""


def answers_of(run: RunFolder, setting: Setting) -> pl.DataFrame:
    """How much each sample counts as right, under the template with the occupation first.

    Of answered samples: ``second`` (feminine), ``pairing`` and ``correct`` in [0, 1], a share where scores
    tie (not in paper mode). The data of ``setting`` stand in where the run kept no samples.
    """
    if "scores" not in run.tables:
        raise InputError("this run has no table of scores; make it again with evenhand run or evenhand score")
    params = run.manifest.get("parameters") or {}
    candidates = parse_candidates(str(params.get("candidates", "his,her,their")))
    samples = _samples(run, setting)
    choices = choices_of(
        run.tables["scores"], samples.drop("truth", strict=False), template=OCC_FIRST, candidates=candidates
    )
    shares, unit = choices.outcomes("first" if is_paper_mode(run) else "share")
    right = shares[:, OUTCOMES.index("correct")] / unit
    second = pl.col("truth") == FEMININE
    return with_pairing(choices.table).with_columns(pl.Series("correct", right), second=second)


def _samples(run: RunFolder, setting: Setting) -> pl.DataFrame:
    saved_samples = run.annotations
    if saved_samples is not None:
        return saved_samples
    path = setting.data or default_folder("visogender")
    if not path.exists():
        raise InputError("this run kept no samples; give the data it was made from with --data DIR")
    return read_samples(path).frame


def pools_of(setting: Setting) -> list[tuple[int, int]]:
    """Images of two persons by occupation, masculine and feminine; without data, 23 pools of 10 and 10."""
    if setting.data is None:
        return [(10, 10)] * 23
    frame = read_samples(setting.data).frame.filter(pl.col("context") == TWO)
    gender = pl.col("occupation_perceived_gender")
    pools = frame.group_by("occupation", maintain_order=True).agg(
        (gender == MASCULINE).sum().alias("first"), (gender == FEMININE).sum().alias("second")
    )
    return [(int(first), int(other)) for first, other in pools.select("first", "second").rows()]


def male_shares(setting: Setting) -> Mapping[str, float]:
    """Occupation to the share of men in the US labour force, in [0, 1]."""
    path = setting.data or default_folder("visogender")
    if not path.exists():
        raise InputError(
            "this needs the table of labour statistics; type: evenhand data fetch visogender "
            "--metadata-only, or give --data FOLDER"
        )
    table = read_labour(path)
    return dict(table.select("occupation", "male_proportion").iter_rows())


def occupation_gaps(answers: pl.DataFrame, setting: str) -> dict[str, float]:
    """Accuracy for masculine minus feminine subjects of each occupation; NaN where one has no answer."""
    for name, value in SETTINGS[setting].items():
        answers = answers.filter(pl.col(name) == value)
    rates = answers.group_by("occupation", maintain_order=True).agg(
        first=pl.col("correct").filter(~pl.col("second")).mean(),
        other=pl.col("correct").filter(pl.col("second")).mean(),
    )
    gaps = rates.select("occupation", (pl.col("first") - pl.col("other")).fill_null(float("nan")))
    return dict(gaps.iter_rows())


def occupation_accuracies(answers: pl.DataFrame, pair: str) -> dict[str, float]:
    """Accuracy of each occupation on images of one gender pair, such as ``mf``, the occupation first."""
    pair_answers = answers.filter(pl.col("gender_pair") == pair)
    return dict(
        pair_answers.group_by("occupation", maintain_order=True).agg(pl.col("correct").mean()).iter_rows()
    )


def correlations(shares: Mapping[str, float], values: Mapping[str, float]) -> dict[str, Correlation]:
    """Pearson's r and Kendall's tau-b of shares of men and ``values`` over occupations; NaN is left out."""
    names = [name for name in values if name in shares]
    x = np.array([shares[name] for name in names], dtype=np.float64)
    y = np.array([values[name] for name in names], dtype=np.float64)
    return {name: coefficient(x, y) for name, coefficient in COEFFICIENTS.items()}


def holm(coefficients: Sequence[Correlation]) -> list[float | None]:
    """P-values corrected by Holm over the coefficients of one model; None where undefined."""
    adjusted = adjust(
        np.array([coefficient.p_value for coefficient in coefficients], dtype=np.float64), "holm"
    )
    return [None if np.isnan(p) else float(p) for p in adjusted]


@dataclass(frozen=True, eq=False)
class Kept:
    """What keeping k images of each cell does to one setting."""

    mean: tuple[float, float]  # RA_avg and gap, exact
    sd: tuple[float, float]  # their standard deviations, exact
    draws: Floats  # RA_avg and gap of each trial, shape (2, trials)


def subsample(answers: pl.DataFrame, k: int, trials: int, seed: int) -> dict[str, Kept]:
    """Keep k images of every cell (occupation and gender pair).

    One for each of ``MEASURES``; ``overall`` has no gap. NaN where a gender has no image.
    """
    subsamples: dict[str, Kept] = {}
    for name in MEASURES[1:]:
        setting_answers = answers
        for column, value in SETTINGS[name].items():
            setting_answers = setting_answers.filter(pl.col(column) == value)
        cells = _cells(setting_answers)
        spread = kept_spread(cells, k)
        rng = np.random.default_rng([seed, k, MEASURES.index(name)])
        draws = np.stack(kept_draws(cells, k, trials, rng))
        subsamples[name] = Kept((spread.average, spread.gap), (spread.average_sd, spread.gap_sd), draws)
    single, two = subsamples["single"], subsamples["two_person"]
    mean, sd = (single.mean[0] + two.mean[0]) / 2, float(np.hypot(single.sd[0], two.sd[0])) / 2
    draws = np.stack([(single.draws[0] + two.draws[0]) / 2, np.full(trials, np.nan)])
    return {"overall": Kept((mean, np.nan), (sd, np.nan), draws), **subsamples}


def _cells(answers: pl.DataFrame) -> list[CellCount]:
    parts: Any = answers.partition_by("occupation", "gender_pair", maintain_order=True)
    return [CellCount(part["correct"].to_numpy(), bool(part["second"][0])) for part in parts]
