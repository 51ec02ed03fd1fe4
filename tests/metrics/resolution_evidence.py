"""Choices on a design like VisoGender's, and the metrics of choices as naive loops."""

from __future__ import annotations

import numpy as np
import polars as pl

from evenhand.evidence.choices import PRONOUNS, Choices

PAIRS = ("m", "f", "mm", "mf", "fm", "ff")
GENDER = {"m": "masculine", "f": "feminine"}
STRATA = ("occupation", "pairing")


def people(occupations: int = 6, each: int = 3) -> pl.DataFrame:
    """Annotations: every occupation with every pair, so many times."""
    rows = [
        {
            "sample": f"{occupation:02d}-{pair}-{index}",
            "truth": GENDER[pair[0]],
            "occupation": f"o{occupation:02d}",
            "sector": f"s{occupation % 2}",
            "gender_pair": pair,
            "context": "single" if len(pair) == 1 else "two_person",
            "pairing": "single" if len(pair) == 1 else "same" if pair[0] == pair[1] else "different",
        }
        for occupation in range(occupations)
        for pair in PAIRS
        for index in range(each)
    ]
    return pl.DataFrame(rows)


def random_scores(annotations: pl.DataFrame, seed: int, levels: int = 4) -> pl.DataFrame:
    """Whole numbers below ``levels``, so that many candidates tie."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        [
            (sample, candidate, float(rng.integers(levels)))
            for sample in annotations["sample"]
            for candidate in PRONOUNS
        ],
        schema=["sample", "candidate", "score"],
        orient="row",
    )


def drawn_scores(annotations: pl.DataFrame, seed: int, probabilities: dict[str, tuple]) -> pl.DataFrame:
    """Scores whose choice is correct, misgendered or neutral with each gender's probabilities."""
    rng = np.random.default_rng(seed)
    other = {"masculine": ("his", "her", "their"), "feminine": ("her", "his", "their")}
    rows = []
    for sample, truth in annotations.select("sample", "truth").iter_rows():
        chosen = other[truth][rng.choice(3, p=probabilities[truth])]
        rows += [(sample, candidate, float(candidate == chosen)) for candidate in PRONOUNS]
    return pl.DataFrame(rows, schema=["sample", "candidate", "score"], orient="row")


def choices(annotations: pl.DataFrame, scores: pl.DataFrame, **more) -> Choices:
    return Choices.join(scores, annotations, **{"cluster": "occupation", "strata": STRATA, **more})


def naive_rates(
    annotations: pl.DataFrame, scores: pl.DataFrame, outcome: str, candidates=PRONOUNS, keep=lambda row: True
) -> dict[str, float]:
    """Each gender's rate of an outcome, image by image."""
    by_sample: dict = {}
    for sample, candidate, score in scores.iter_rows():
        by_sample.setdefault(sample, {})[candidate] = score
    weights: dict = {"masculine": [], "feminine": []}
    for row in annotations.iter_rows(named=True):
        given = by_sample.get(row["sample"], {})
        values = [given.get(candidate) for candidate in candidates]
        if not keep(row) or any(value is None for value in values):
            continue
        winners = [c for c, value in zip(candidates, values, strict=True) if value == max(values)]
        share = 0.0
        for winner in winners:
            meant = candidates[winner]
            what = "correct" if meant == row["truth"] else "neutral" if meant == "neutral" else "misgendered"
            share += (what == outcome) / len(winners)
        weights[row["truth"]].append(share)
    return {gender: sum(given) / len(given) for gender, given in weights.items() if given}
