"""Pronoun resolution on VisoGender's design: null bands, intervals, a planted difference, paired tests.

The design has 23 occupations with 5 + 5 single persons and 5 pairs each of mm, mf, fm and ff: 690 images.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
from _common import Clock, Floats, Ints, arguments, share, show
from scipy import stats

from evenhand import metrics
from evenhand.core.seeds import stream
from evenhand.evidence.choices import OUTCOMES, PRONOUNS, Choices
from evenhand.metrics.resolution_findings import GAP, MEAN
from evenhand.stats.choices import Chance, combined, exchanged_gap, random_rates, rate
from evenhand.stats.effect_intervals import wilson_interval
from evenhand.stats.paired import flip_p_value, paired_difference

Mask = npt.NDArray[np.bool_]

OCCUPATIONS, EACH = 23, 5
PAIRS = ("m", "f", "mm", "mf", "fm", "ff")
SETTINGS = {
    "all": PAIRS,
    "single": ("m", "f"),
    "two_person": ("mm", "mf", "fm", "ff"),
    "same": ("mm", "ff"),
    "different": ("mf", "fm"),
}
LOW, HIGH = 0.93, 0.97


def design() -> tuple[Ints, npt.NDArray[np.str_], Mask]:
    """Occupation, pair, and whether the subject is feminine, of each image."""
    occupation = np.repeat(np.arange(OCCUPATIONS), len(PAIRS) * EACH)
    pair = np.tile(np.repeat(np.array(PAIRS), EACH), OCCUPATIONS)
    return occupation, pair, np.array([one[0] == "f" for one in pair])


OCCUPATION, PAIR, FEMININE = design()
PAIRING = np.array([{"m": 0, "f": 0, "mm": 1, "ff": 1, "mf": 2, "fm": 2}[one] for one in PAIR])
STRATUM = OCCUPATION * 3 + PAIRING
INSIDE = {name: np.isin(PAIR, pairs) for name, pairs in SETTINGS.items()}


def outcomes(rng: np.random.Generator, masculine: Sequence[float], feminine: Sequence[float]) -> Ints:
    """0 correct, 1 misgendered, 2 neutral, for each image, from each gender's probabilities."""
    edges = np.cumsum(np.where(FEMININE[:, None], feminine, masculine), axis=1)[:, :-1]
    return np.asarray((rng.random((FEMININE.size, 1)) >= edges).sum(axis=1))


def inside(chance: Chance, value: float) -> bool:
    """Whether a value is in the null band."""
    low, high = chance.band()
    return low - 1e-9 <= value <= high + 1e-9


def tested(hits: Mask, rows: Mask) -> tuple[float, Chance]:
    """The gap of an outcome in a setting, and its null."""
    values, second = hits[rows].astype(np.int64), FEMININE[rows]
    gap = float(values[~second].mean() - values[second].mean())
    return gap, exchanged_gap(values, second, STRATUM[rows], 1)


def random_models(simulations: int, seed: int) -> None:
    """Choices at random: is every figure inside its null band?"""
    rows = []
    for setting, chosen in INSIDE.items():
        n = int((~FEMININE[chosen]).sum())
        chance = random_rates((n, n), (1 / 3, 1 / 3), MEAN)
        low, high = chance.band()
        held: dict[str, list[list[bool]]] = {name: [[], [], []] for name in OUTCOMES[:3]}
        for index in range(simulations):
            found = outcomes(stream(seed, "random", index), [1 / 3] * 3, [1 / 3] * 3)
            for code, name in enumerate(OUTCOMES[:3]):
                hits = found == code
                gap, null = tested(hits, chosen)
                held[name][0].append(low - 1e-9 <= float(hits[chosen].mean()) <= high + 1e-9)
                held[name][1].append(inside(null, gap))
                held[name][2].append(null.p_value(gap) <= 0.05)
        rows += [
            [setting, name, *(_aimed(hits) for hits in held[name][:2]), share(held[name][2])] for name in held
        ]
    header = ["setting", "outcome", "rate inside, %", "gap inside, %", "gap p <= .05, %"]
    show(f"{simulations:,} models that choose among three at random (aim 93-97 %)", header, rows)


def _aimed(hits: Sequence[bool]) -> str:
    return share(hits) if LOW <= round(float(np.mean(hits)), 3) <= HIGH else f"**{share(hits)}**"


def occupational(rng: np.random.Generator, rates: tuple[float, float], icc: float, shared: bool) -> Mask:
    """Right answers where each occupation has its own rate (beta), for both genders alike or apart."""
    u = rng.random((OCCUPATIONS, 2))
    if shared:
        u[:, 1] = u[:, 0]
    own = np.stack([_beta(u[:, g], rates[g], icc) for g in (0, 1)], axis=1)
    return np.asarray(rng.random(FEMININE.size) < own[OCCUPATION, FEMININE.astype(int)])


def _beta(u: Floats, p: float, icc: float) -> Floats:
    if icc == 0:
        return np.full(u.shape, p)
    scale = (1 - icc) / icc
    return np.asarray(stats.beta.ppf(u, p * scale, (1 - p) * scale))


def intervals(simulations: int, seed: int) -> None:
    """Do intervals hold the rates of occupations like these?"""
    rows = []
    cases = [(p, icc) for p in ((0.5, 0.5), (0.8, 0.8), (0.95, 0.95), (0.99, 0.99), (0.95, 0.8)) for icc in
             (0.0, 0.1, 0.3)]  # fmt: skip
    for setting in ("all", "single"):
        chosen = INSIDE[setting]
        second, cluster = FEMININE[chosen], OCCUPATION[chosen].astype(np.int64)
        for rates, icc in cases:
            held: list[list[bool]] = [[], [], [], []]
            for index in range(simulations):
                rng = stream(seed, "interval", setting, rates, icc, index)
                values = occupational(rng, rates, icc, shared=index % 2 == 0)[chosen].astype(np.float64)
                one, two = (rate(values[rows_], cluster[rows_], OCCUPATIONS) for rows_ in (~second, second))
                held[0].append(one.low <= rates[0] <= one.high)
                for place, weight in ((1, MEAN), (2, GAP)):
                    low, high = combined(one, two, weight)
                    truth = weight[0] * rates[0] + weight[1] * rates[1]
                    held[place].append(low - 1e-12 <= truth <= high + 1e-12)
                n = np.array([float((~second).sum())])
                plain = wilson_interval(np.array([values[~second].sum()]), n)
                held[3].append(bool(plain[0][0] <= rates[0] <= plain[1][0]))
            rows.append(
                [setting, f"{rates[0]} / {rates[1]}", icc, *(_aimed(h) for h in held[:3]), share(held[3])]
            )
    header = ["setting", "true rates m / f", "ICC", "RA of a gender", "RA_avg", "gap", "plain Wilson"]
    show(f"{simulations:,} models a line: interval holds the truth, % (aim 93-97 %)", header, rows)


def uneven(simulations: int, seed: int) -> None:
    """Fair on average, but each occupation favours a gender of its own: what p and the interval say."""
    rows = []
    for setting in ("all", "single"):
        chosen = INSIDE[setting]
        second, cluster = FEMININE[chosen], OCCUPATION[chosen].astype(np.int64)
        for icc in (0.0, 0.05, 0.1, 0.3):
            held: list[list[bool]] = [[], []]
            for index in range(simulations):
                drawn = occupational(
                    stream(seed, "uneven", setting, icc, index), (0.8, 0.8), icc, shared=False
                )
                gap, null = tested(drawn, chosen)
                values = drawn[chosen].astype(np.float64)
                one, two = (rate(values[part], cluster[part], OCCUPATIONS) for part in (~second, second))
                low, high = combined(one, two, GAP)
                held[0].append(null.p_value(gap) <= 0.05)
                held[1].append(low <= 0 <= high)
            rows.append([setting, icc, share(held[0]), _aimed(held[1])])
    header = ["setting", "ICC by occupation and gender", "gap p <= .05, %", "interval holds 0, %"]
    show(f"{simulations:,} models of accuracy .8 that favour genders by occupation", header, rows)


def planted(simulations: int, seed: int) -> None:
    """Feminine subjects get the neutral pronoun 10 % of the time; nobody is misgendered more than others."""
    rows = []
    for words, masculine, feminine in (
        ("none is misgendered", (1.0, 0.0, 0.0), (0.9, 0.0, 0.1)),
        ("5 % of all are misgendered", (0.95, 0.05, 0.0), (0.85, 0.05, 0.1)),
        ("5 % and 5 % of all are either", (0.9, 0.05, 0.05), (0.8, 0.05, 0.15)),
    ):
        for setting in ("all", "single", "same"):
            found: list[list[bool]] = [[], [], []]
            for index in range(simulations):
                drawn = outcomes(stream(seed, "planted", words, index), masculine, feminine)
                for code, hits in enumerate(found):
                    gap, null = tested(drawn == code, INSIDE[setting])
                    hits.append(null.p_value(gap) <= 0.05)
            rows.append([words, setting, *map(share, (found[2], found[1], found[0]))])
    header = ["otherwise", "setting", "neutral gap", "misgendering gap", "resolution gap"]
    show(
        f"{simulations:,} models with 10 % `their` for feminine subjects: found at p <= .05, %", header, rows
    )


def paired(simulations: int, seed: int) -> None:
    """Two models of equal quality that agree on many images; and one that is better by .05."""
    rows = []
    second, cluster = FEMININE, OCCUPATION.astype(np.int64)
    for p, step, icc in (
        (0.8, 0.0, 0.0),
        (0.8, 0.0, 0.2),
        (0.95, 0.0, 0.1),
        (0.8, 0.05, 0.1),
        (0.99, 0.0, 0.0),
    ):
        held: list[list[bool]] = [[], [], [], []]
        for index in range(simulations):
            rng = stream(seed, "paired", p, step, icc, index)
            common = occupational(rng, (p, p), 0.0, shared=True)
            models = []
            for rates in ((p, p), (p - step, p - step)):
                own = occupational(rng, rates, icc, shared=True)
                models.append(np.where(rng.random(own.size) < 0.5, common, own).astype(np.float64))
            for place, weight in ((0, MEAN), (2, GAP)):
                found = paired_difference(models[0] - models[1], second, weight, cluster, rng)
                truth = step / 2 if weight == MEAN else 0.0
                held[place].append(found.low <= truth <= found.high)
                held[place + 1].append(flip_p_value(found) <= 0.05)
        rows.append([p, step / 2, icc, _aimed(held[0]), share(held[1]), _aimed(held[2]), share(held[3])])
    header = [
        "accuracy",
        "difference",
        "ICC",
        "RA: interval",
        "RA: p <= .05",
        "gap: interval",
        "gap: p <= .05",
    ]
    show(
        f"{simulations:,} pairs of models on all images: interval holds the truth, and found, %", header, rows
    )


def as_reported(seed: int) -> None:
    """One random model through the public metrics, so that kernels and product cannot drift apart."""
    samples = [f"{index:03d}" for index in range(FEMININE.size)]
    rng = stream(seed, "public")
    scores = pl.DataFrame(
        {
            "sample": np.repeat(samples, 3),
            "candidate": list(PRONOUNS) * len(samples),
            "score": rng.random(3 * len(samples)),
        }
    )
    annotations = pl.DataFrame(
        {
            "sample": samples,
            "truth": np.where(FEMININE, "feminine", "masculine"),
            "occupation": [f"{code:02d}" for code in OCCUPATION],
            "pairing": [str(code) for code in PAIRING],
        }
    )
    choices = Choices.join(scores, annotations, cluster="occupation", strata=("occupation", "pairing"))
    rows = []
    for name in ("resolution_accuracy", "resolution_gap", "misgendering_rate", "misgendering_gap",
                 "neutral_rate", "neutral_gap"):  # fmt: skip
        found = getattr(metrics, name)(choices)
        ends = [found.interval.low, found.interval.high, found.null.low, found.null.high]
        rows.append([name, f"{found.value:.3f}", *(f"{end:.3f}" for end in ends), f"{found.p_value:.3f}"])
    show(
        "one random model as reported", ["metric", "value", "low", "high", "null low", "null high", "p"], rows
    )


if __name__ == "__main__":
    options = arguments(__doc__ or "", 5000)
    with Clock():
        as_reported(options.seed)
        random_models(options.simulations, options.seed)
        planted(options.simulations, options.seed)
        intervals(options.simulations, options.seed)
        uneven(options.simulations, options.seed)
        paired(max(options.simulations // 5, 1), options.seed)
