"""The analyses of VisoGender's appendices on runs: labour statistics, sub-sampling, random relabelling."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Setting
from evenhand.benchmarks.datasets.download_source import default_folder
from evenhand.benchmarks.papers.rows import Row, is_paper_mode
from evenhand.benchmarks.papers.visogender.subsampling import CellCount, kept_draws, kept_spread
from evenhand.benchmarks.tidy import parameters_of
from evenhand.benchmarks.visogender.data.captions import parse_candidates
from evenhand.benchmarks.visogender.data.labour import read_labour
from evenhand.benchmarks.visogender.data.samples import read_samples
from evenhand.benchmarks.visogender.data.settings import SETTINGS, choices_of, with_pairing
from evenhand.benchmarks.visogender.data.taxonomy import FEMININE, MASCULINE, TWO
from evenhand.core.errors import InputError
from evenhand.evidence.choices import OUTCOMES
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.arrays import Floats
from evenhand.stats.correlation import kendall, pearson

ByOccupation = Mapping[str, float]
Kept = tuple[float, float, Floats]
"""What keeping k images of each cell does to a number: exact mean and standard deviation, and each trial."""


def answers_of(run: RunFolder, setting: Setting) -> pl.DataFrame:
    """How much each sample counts as right, under the template with the occupation first.

    Of answered samples: ``second`` (feminine), ``pairing`` and ``correct`` in [0, 1], a share where scores
    tie (not in paper mode). The data of ``setting`` stand in where the run kept no samples.
    """
    if "scores" not in run.tables:
        raise InputError("this run has no table of scores; make it again with evenhand run or evenhand score")
    samples = run.annotations
    if samples is None:
        problem = "this run kept no samples; give the data it was made from with --data DIR"
        samples = read_samples(_folder(setting, problem)).frame
    candidates = parse_candidates(str(parameters_of(run).get("candidates", "his,her,their")))
    samples = samples.drop("truth", strict=False)
    choices = choices_of(run.tables["scores"], samples, candidates=candidates)
    shares, unit = choices.outcomes("first" if is_paper_mode(run) else "share")
    correct = pl.Series("correct", shares[:, OUTCOMES.index("correct")] / unit)
    return with_pairing(choices.table).with_columns(correct, second=pl.col("truth") == FEMININE)


def _folder(setting: Setting, problem: str) -> Path:
    """The data given, else those that were fetched."""
    path = setting.data or default_folder("visogender")
    if not path.exists():
        raise InputError(problem)
    return path


def pools_of(setting: Setting) -> list[tuple[int, ...]]:
    """Images of two persons by occupation, masculine and feminine; without data, 23 pools of 10 and 10."""
    if setting.data is None:
        return [(10, 10)] * 23
    pairs = read_samples(setting.data).frame.filter(context=TWO)
    gender = pl.col("occupation_perceived_gender")
    pools = pairs.group_by("occupation", maintain_order=True).agg(
        first=(gender == MASCULINE).sum(), second=(gender == FEMININE).sum()
    )
    return pools.drop("occupation").rows()


def male_shares(setting: Setting) -> ByOccupation:
    """Occupation to the share of men in the US labour force, in [0, 1]."""
    problem = (
        "this needs the table of labour statistics; type: evenhand data fetch visogender "
        "--metadata-only, or give --data FOLDER"
    )
    table = read_labour(_folder(setting, problem))
    return dict(table.select("occupation", "male_proportion").iter_rows())


def occupation_gaps(answers: pl.DataFrame, setting: str) -> ByOccupation:
    """Accuracy for masculine minus feminine subjects of each occupation; NaN where one has no answer."""
    first, second = (pl.col("correct").filter(second=second).mean() for second in (False, True))
    return _by_occupation(_in_setting(answers, setting), (first - second).fill_null(np.nan))


def occupation_accuracies(answers: pl.DataFrame, pair: str) -> ByOccupation:
    """Accuracy of each occupation on images of one gender pair, such as ``mf``, the occupation first."""
    return _by_occupation(answers.filter(gender_pair=pair), pl.mean("correct"))


def _by_occupation(answers: pl.DataFrame, value: pl.Expr) -> ByOccupation:
    """One value for each occupation, in the order of the answers."""
    return dict(answers.group_by("occupation", maintain_order=True).agg(value=value).iter_rows())


def _in_setting(answers: pl.DataFrame, setting: str) -> pl.DataFrame:
    """Answers of one of ``SETTINGS``."""
    return answers.filter(pl.lit(True), **SETTINGS[setting])


def correlations(shares: ByOccupation, values: ByOccupation) -> Row:
    """Pearson's r and Kendall's tau-b of shares of men and ``values``, p and n; NaN where undefined.

    Over occupations with both; NaN is left out.
    """
    x, y = (np.array([numbers.get(name, np.nan) for name in values]) for numbers in (shares, values))
    r, tau = pearson(x, y), kendall(x, y)
    return {
        "pearson": r.value, "p_pearson": r.p_value, "kendall": tau.value, "p_kendall": tau.p_value,
        "n": r.n, "reason": r.reason or None,
    }  # fmt: skip


def subsample(answers: pl.DataFrame, k: int, trials: int, seed: int) -> dict[tuple[str, ...], Kept]:
    """Keep k images of every cell (occupation and gender pair): by setting and quantity, in Table 8's order.

    ``overall`` is the mean of both contexts, and has no gap. NaN where a gender has no image.
    """
    numbers: dict[tuple[str, ...], Kept] = {}
    for index, name in enumerate(("single", "two_person", "same", "different"), 1):
        parts = _in_setting(answers, name).partition_by("occupation", "gender_pair", maintain_order=True)
        cells = [CellCount(part["correct"].to_numpy(), part["second"][0]) for part in parts]
        spread = kept_spread(cells, k)
        average, gap = kept_draws(cells, k, trials, np.random.default_rng([seed, k, index]))
        numbers[name, "accuracy"] = spread.average, spread.average_sd, average
        numbers[name, "gap"] = spread.gap, spread.gap_sd, gap
    mean, sd, draws = numbers["single", "accuracy"]
    pair_mean, pair_sd, pair_draws = numbers["two_person", "accuracy"]
    overall = (mean + pair_mean) / 2, float(np.hypot(sd, pair_sd)) / 2, (draws + pair_draws) / 2
    return {("overall", "accuracy"): overall, **numbers}
