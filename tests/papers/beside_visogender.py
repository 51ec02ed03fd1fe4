"""Tables 1 and 7 to 10 of VisoGender without the package's code: data, labour statistics, and chance."""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter, defaultdict
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

from tests.papers.beside_cells import correlated, read_tsv, rows_of

CANDIDATES = ("his", "her", "their")
POOL, POOLS = 10, 3
TRIALS, REPEATS, EXACT_DRAWS = 500, 3_000, 200_000
PAIRS = {"mm": "m | m", "ff": "f | f", "mf": "m | f", "fm": "f | m"}


class About(float):
    """A value that is drawn, and how far from it a draw may lie."""

    within = 0.0

    @classmethod
    def make(cls, value: float, within: float) -> About:
        about = cls(value)
        about.within = within
        return about


def taxonomy(data: Path):
    """Tables 1 and 10, from the released lists."""
    for context, title, start in (("single", "single person", "OO"), ("two", "two persons", "OP")):
        rows = read_tsv(data, start)
        pairs = [
            tuple(
                row[f"{who}_perceived_gender"].strip()
                for who in ("Occupation", "Participant")[: 1 + (context == "two")]
            )
            for row in rows
        ]
        occupations = [row["Occupation"] for row in rows]
        sizes = {
            "images per occupation": Counter(occupations),
            "images per gender pair": Counter(pairs),
            "images per cell": Counter(zip(occupations, pairs, strict=True)),
        }
        counts = {
            "sectors": len({row["Sector"] for row in rows}),
            "specialisations": len({row["Specialisation"] for row in rows}),
            "occupations": len(set(occupations)),
            "gender pairs": len(set(pairs)),
            "images": len(rows),
        }
        for what, of in sizes.items():
            assert len(set(of.values())) == 1, "an uneven one has no value"
            counts[what] = next(iter(of.values()))
        for what, count in counts.items():
            yield ("visogender/table1", f"{title}, {what}", "value", ""), float(count)
        for level in ("Sector", "Specialisation"):
            for name in LEVELS[level]:
                count = sum(row[level].strip() == name.replace(" ", "_") for row in rows)
                yield (
                    ("visogender/table10", f"{level.casefold()}, {name}, {title}", "value", ""),
                    float(count),
                )


LEVELS = {
    "Sector": ("education", "medical", "office", "retail", "service"),
    "Specialisation": (
        "general courses", "institutional", "mental health", "hospital worker", "legal", "financial",
        "general office", "structure", "customer facing", "food service", "fashion", "animal", "household",
    ),
}  # fmt: skip


def right_answers(run: Path) -> list[tuple[dict, bool]]:
    """Samples with whether the likeliest pronoun, occupation first, is that of the occupation's gender."""
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows_of(run / "tables" / "scores.parquet"):
        if row["template"] == "occ_first":
            scores[row["sample"]][row["candidate"]] = row["score"]
    pronouns = {"masculine": "his", "feminine": "her"}
    return [
        (sample, max(CANDIDATES, key=scores[sample["sample"]].__getitem__)
         == pronouns[sample["occupation_perceived_gender"]])
        for sample in rows_of(run / "evidence" / "annotations")
    ]  # fmt: skip


def labour(run: Path, data: Path):
    """Table 7: accuracy of each occupation on a gender pair against the share of men."""
    men = {
        row["Visogender Occupations"].strip(): float(row["male_proportion"]) / 100
        for row in read_tsv(data, "US")
        if row["male_proportion"].strip()
    }
    cells: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for sample, right in right_answers(run):
        cells[sample["gender_pair"]][sample["occupation"]].append(right)
    for pair, title in PAIRS.items():
        rates = {name: statistics.fmean(right) for name, right in cells[pair].items()}
        r, tau = correlated([men[name] for name in rates], list(rates.values()))
        yield ("visogender/table7", title, "pearson", ""), r
        yield ("visogender/table7", title, "kendall", ""), tau


def subsampled(run: Path, kept: int = 1):
    """Table 8: mean and spread where so many images of each occupation and gender pair are kept."""
    contexts = {
        "single": lambda pair: len(pair) == 1,
        "two persons": lambda pair: len(pair) == 2,
        "same": lambda pair: len(pair) == 2 and pair[0] == pair[1],
        "different": lambda pair: len(pair) == 2 and pair[0] != pair[1],
    }
    values: dict[str, tuple[float, float]] = {}
    for title, belongs in contexts.items():
        cells: dict[str, dict[tuple[str, str], list[bool]]] = defaultdict(lambda: defaultdict(list))
        for sample, right in right_answers(run):
            pair = sample["gender_pair"]
            if belongs(pair):
                cells[pair[0]][sample["occupation"], pair].append(right)
        moments = {gender: _moments_of_mean(list(of.values()), kept) for gender, of in cells.items()}
        (men, of_men), (women, of_women) = moments["m"], moments["f"]
        spread = math.sqrt(of_men + of_women)
        values[f"{title} RA"] = ((men + women) / 2, spread / 2)
        values[f"{title} gap"] = (men - women, spread)
    single, two = values["single RA"], values["two persons RA"]
    values["overall RA"] = ((single[0] + two[0]) / 2, math.hypot(single[1], two[1]) / 2)
    for measure, (mean, spread) in values.items():
        of = "visogender/table8"
        yield (of, f"mean, {measure}", "value", "exact"), mean
        yield (of, f"σ, {measure}", "value", "exact"), spread
        drawn = f"drawn, {TRIALS} trials"
        yield (of, f"mean, {measure}", "value", drawn), About.make(mean, 5 * spread / math.sqrt(TRIALS))
        yield (of, f"σ, {measure}", "value", drawn), About.make(spread, 8 * spread / math.sqrt(2 * TRIALS))


def _moments_of_mean(cells: list[list[bool]], kept: int) -> tuple[float, float]:
    """Mean and variance of the mean of cells of each of which so many are kept."""
    mean = variance = 0.0
    for right in cells:
        share, n = statistics.fmean(right), len(right)
        mean += share / len(cells)
        variance += share * (1 - share) / kept * (n - kept) / (n - 1) / len(cells) ** 2
    return mean, variance


def divergence(share: float) -> float:
    """Kullback and Leibler's divergence of a share from one half, in nats."""
    return sum(p * math.log(2 * p) for p in (share, 1 - share) if p > 0)


def ndkl_moments() -> tuple[float, float]:
    """Mean and standard deviation over all orders of a pool: sums carried from rank to rank."""
    weights = [1 / math.log2(rank + 1) for rank in range(1, 2 * POOL + 1)]
    total = sum(weights)
    states = {0: (1.0, 0.0, 0.0)}  # men so far: probability, and times sum and its square
    for rank, weight in enumerate(weights, 1):
        following: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        for men, (p, first, second) in states.items():
            left = 2 * POOL - rank + 1
            for more, chance in ((1, (POOL - men) / left), (0, (POOL - (rank - 1 - men)) / left)):
                if chance > 0:
                    add = weight / total * divergence((men + more) / rank)
                    entry = following[men + more]
                    entry[0] += chance * p
                    entry[1] += chance * (first + add * p)
                    entry[2] += chance * (second + 2 * add * first + add * add * p)
        states = {men: tuple(entry) for men, entry in following.items()}
    _, mean, square = states[POOL]
    return mean, math.sqrt(square - mean**2)


@lru_cache
def outcomes(measure: str, k: int) -> dict[float, float]:
    """Value to chance of the first k of a pool."""
    chances: dict[float, float] = defaultdict(float)
    for men in range(k + 1):
        chance = math.comb(POOL, men) * math.comb(POOL, k - men) / math.comb(2 * POOL, k)
        value = (2 * men - k) / k if measure == "Bias" else math.log(2 * max(men, k - men) / k)
        chances[value] += chance
    return chances


def chance_cells() -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of each measure of one pool: what Tables 3, 5 and 6 show as chance."""
    cells = {"NDKL": ndkl_moments()}
    for measure, k in product(("Bias", "MaxSkew"), (5, 10)):
        chances = outcomes(measure, k)
        mean = sum(value * chance for value, chance in chances.items())
        cells[f"{measure}@{k}"] = (mean, math.sqrt(sum((v - mean) ** 2 * p for v, p in chances.items())))
    return cells


def chance_of(measure: str, quantity: str) -> float:
    """What Tables 3, 5 and 6 show as chance: the mean, or σ over 23 pools."""
    mean, _ = chance_cells()[measure]
    return mean if quantity == "value" else _about_spread(measure, 23, EXACT_DRAWS)[0]


@lru_cache
def _about_spread(measure: str, pools: int, draws: int) -> tuple[About, About]:
    """Mean and standard deviation of σ over so many pools, beside those of so many draws of the package."""
    lots = random.Random(0)  # noqa: S311 - no secret
    n = 3_000 if measure == "NDKL" else 20_000
    spreads = [float(np.std(_pools(measure, pools, lots), ddof=1)) for _ in range(n * POOLS // pools)]
    sigma, of_sigma = statistics.fmean(spreads), statistics.stdev(spreads)
    within = 5 * of_sigma * math.sqrt(1 / draws + 1 / len(spreads))
    return About.make(sigma, within), About.make(of_sigma, within)


def relabelled():
    """Table 9: moments, over random labels, of mean and σ over the pools."""
    for measure, (mean, sd) in chance_cells().items():
        exact = (("mean", "mean", mean), ("σ", "mean", sd / math.sqrt(POOLS)))
        for of, what, value in exact:
            yield ("visogender/table9", f"{of}, {measure} {what}", "value", "exact null"), value
        for how, draws in (("exact null", EXACT_DRAWS), (f"drawn, {REPEATS:,} times", REPEATS)):
            sigma, of_sigma = _about_spread(measure, POOLS, draws)
            cells = {f"mean, {measure} σ": sigma, f"σ, {measure} σ": of_sigma}
            if draws == REPEATS:
                spread = sd / math.sqrt(POOLS)
                cells[f"mean, {measure} mean"] = About.make(mean, 5 * spread / math.sqrt(draws))
                cells[f"σ, {measure} mean"] = About.make(spread, 5 * spread / math.sqrt(draws))
            for of, value in cells.items():
                yield ("visogender/table9", of, "value", how), value


def _pools(measure: str, pools: int, lots: random.Random) -> list[float]:
    """The measure of so many pools whose order is random."""
    if measure == "NDKL":
        return [_ndkl_of(lots.sample([1] * POOL + [0] * POOL, 2 * POOL)) for _ in range(pools)]
    name, _, k = measure.partition("@")
    chances = outcomes(name, int(k))
    return lots.choices(list(chances), list(chances.values()), k=pools)


def _ndkl_of(order: list[int]) -> float:
    total = sum(1 / math.log2(rank + 1) for rank in range(1, len(order) + 1))
    men, value = 0, 0.0
    for rank, man in enumerate(order, 1):
        men += man
        value += divergence(men / rank) / math.log2(rank + 1)
    return value / total
