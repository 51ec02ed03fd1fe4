"""Comparing two models on the same samples: false alarms, power, and coverage of differences.

Models err independently, given class and group, from distributions that are equal (false alarms) or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from _common import (
    REPLICATES,
    Clock,
    answers,
    arguments,
    biased,
    cramers_v,
    share,
    show,
)
from scipy import special

from evenhand.core.seeds import stream
from evenhand.evidence.counts import PREDICTIONS, Counts
from evenhand.metrics.compared_models import POWER, model_differences
from evenhand.stats.exchanged import (
    SUMMARIES,
    ComparedClass,
    JointClass,
    exchange_p,
    observed,
    replicated,
)
from evenhand.stats.skewness import p_with_spread, skewness

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NAMES = {
    "skewsize": "SkewSize", "cramers_v_mean": "mean V", "cramers_v_median": "median V",
    "cramers_v_max": "largest V", "accuracy": "accuracy", "worst_group_accuracy": "WG", "accuracy_gap": "gap",
}  # fmt: skip
LABELS = 10


@dataclass(frozen=True)
class Design:
    """How many samples each class has in each group, shape (classes, groups)."""

    name: str
    sizes: Ints

    @classmethod
    def balanced(cls, groups: int, each: int, classes: int = 10) -> Design:
        """Equally many samples everywhere."""
        return cls(f"{groups} groups x {classes} classes, {each} each", np.full((classes, groups), each))


UNBALANCED = Design(
    "2 groups, 9:1, 10 classes of 60 to 600",
    np.stack([np.linspace(54, 540, 10), np.linspace(6, 60, 10)], axis=1).astype(np.int64),
)
DESIGNS = (Design.balanced(2, 100), Design.balanced(23, 30), UNBALANCED)


def populations(design: Design, v: float, *, spread: float = 1.0) -> Floats:
    """Answers of each class and group, (classes, groups, labels); V rises from class to class."""
    classes, groups = design.sizes.shape
    made = []
    for label in range(classes):
        own = v * (1 + spread * (label - (classes - 1) / 2) / classes)
        made.append(np.roll(biased(groups, LABELS, own, "spread"), label, axis=1))
    return np.stack(made)


def drawn(rng: np.random.Generator, design: Design, first: Floats, second: Floats) -> list[ComparedClass]:
    """Two models' answers to the same samples, independent given class and group."""
    made: list[ComparedClass] = []
    for label, sizes in enumerate(design.sizes):
        cells: list[list[Ints]] = [[], [], []]
        for place, size in enumerate(sizes):
            joint = np.outer(first[label, place], second[label, place]).ravel()
            n = rng.multinomial(size, joint / joint.sum())
            some = np.flatnonzero(n)
            for kept, more in zip(cells, (np.full(some.size, place), some, n[some]), strict=True):
                kept.append(more)
        group, pair, n = (np.concatenate(kept) for kept in cells)
        made.append(JointClass(label, group, np.stack([pair // LABELS, pair % LABELS]), n.astype(np.float64)))
    return made


def group_rows(design: Design) -> Floats:
    """Rows of each group for both models."""
    return np.tile(design.sizes.sum(axis=0).astype(np.float64), (2, 1))


def tested(
    seed: int, design: Design, first: Floats, second: Floats, run: int, *, drawn_again: bool
) -> dict[str, tuple[float, float, float]]:
    """p, difference and standard deviation under exchange of every measure, once.

    SkewSize's p is that of exchange alone, unless samples are drawn again as well.
    """
    classes = drawn(stream(seed, "compare", design.name, run), design, first, second)
    rows = group_rows(design)
    found = observed(classes, rows)
    null = replicated(
        classes, rows, "exchanged", REPLICATES,
        lambda place, start: stream(seed, "exchange", design.name, run, place, start),
    )  # fmt: skip
    told: dict[str, tuple[float, float, float]] = {}
    for name in SUMMARIES:
        value = float(found[name][0, 0] - found[name][1, 0])
        draws = null[name][0] - null[name][1]
        p = exchange_p(draws, value, symmetric=True)
        told[name] = (np.nan if p is None else p, value, float(np.nanstd(draws)))
    p, value, spread = told["skewsize"]
    if drawn_again and not np.isnan(p):
        again = replicated(
            classes, rows, "resampled", REPLICATES,
            lambda place, start: stream(seed, "again", design.name, run, place, start),
        )["skewsize"]  # fmt: skip
        moved = float(np.nanstd(again[0] - again[1]))
        told["skewsize"] = (
            p_with_spread(p, value, moved) if moved > spread else p,
            value,
            max(moved, spread),
        )
    return told


def false_alarms(simulations: int, seed: int) -> None:
    """How often two models with one distribution are called different at .05."""
    rows = []
    for design in DESIGNS:
        for v in (0.0, 0.2):
            same = populations(design, v)
            hits: dict[str, list[bool]] = {name: [] for name in SUMMARIES}
            for run in range(simulations):
                for name, (p, *_) in tested(seed, design, same, same, run, drawn_again=True).items():
                    if not np.isnan(p):
                        hits[name].append(p <= 0.05)
            rows.append([design.name, f"{v:g}", *(share(hits[name]) for name in SUMMARIES)])
    show(
        f"False alarms at .05, percent, {simulations:,} simulations",
        ["design", "V of both", *NAMES.values()],
        rows,
    )


def pinned(simulations: int, seed: int) -> None:
    """How often SkewSize is called different where one class stands out in both models, far in one only.

    Both populations have the largest SkewSize that there is; only the sizes of effects differ.
    """
    rows = []
    for classes in (3, 10):
        design = Design(f"3 groups x {classes} classes, 300 each", np.full((classes, 3), 300))
        for v in (0.1, 0.2, 0.3):
            first, second = (_one_apart(design, top) for top in (0.6, v))
            hits: list[list[bool]] = [[], []]
            for run in range(simulations):
                for kept, again in zip(hits, (False, True), strict=True):
                    p = tested(seed, design, first, second, run, drawn_again=again)["skewsize"][0]
                    kept.append(p <= 0.05)
            rows.append([design.name, f"0.6 and {v:g}", *(share(kept) for kept in hits)])
    show(
        f"SkewSize alike, effects of other size, called different at .05, {simulations:,} simulations",
        ["design", "V of the class", "exchange alone", "no less than its spread"],
        rows,
    )


def _one_apart(design: Design, v: float) -> Floats:
    """Answers of classes without an effect to speak of, but for the last."""
    classes, groups = design.sizes.shape
    own = [0.02] * (classes - 1) + [v]
    return np.stack([np.roll(biased(groups, LABELS, one, "spread"), c, axis=1) for c, one in enumerate(own)])


def power(simulations: int, seed: int) -> None:
    """How often a planted difference is found, and how often it should be by the standard deviation told."""
    rows: list[Sequence[str]] = []
    cases = [("accuracy", gain) for gain in (0.02, 0.04, 0.06)] + [
        ("cramers_v_mean", v) for v in (0.1, 0.15, 0.2)
    ]
    for design in (DESIGNS[0], DESIGNS[1], UNBALANCED):
        for measure, planted in cases:
            plain = populations(design, 0.0)
            better = np.stack([np.roll(answers(LABELS, 0.6 + planted), c) for c in range(len(design.sizes))])
            first = (
                np.repeat(better[:, None], design.sizes.shape[1], axis=1)
                if measure == "accuracy"
                else populations(design, planted)
            )
            told = [
                tested(seed, design, first, plain, run, drawn_again=False)[measure]
                for run in range(simulations)
            ]
            p, value, spread = (np.array(column) for column in zip(*told, strict=True))
            z = value.mean() / spread.mean()
            stated = special.ndtr(z - special.ndtri(0.975))
            mde = (special.ndtri(0.975) + special.ndtri(POWER)) * spread.mean()
            rows.append(
                [
                    design.name, NAMES[measure], f"{planted:g}", f"{value.mean():.3f}", f"{mde:.3f}",
                    f"{100 * stated:.0f}", share(p <= 0.05),
                ]
            )  # fmt: skip
    show(
        f"Power at .05, percent, {simulations:,} simulations",
        ["design", "measure", "planted", "mean difference", "mde at .8", "stated power", "found"],
        rows,
    )


def truths(design: Design, population: Floats) -> dict[str, float]:
    """The population's value of every measure."""
    shares = design.sizes / design.sizes.sum(axis=1, keepdims=True)
    v = np.array([cramers_v(one, weights) for one, weights in zip(population, shares, strict=True)])
    right = np.stack([one[:, label] for label, one in enumerate(population)])
    by_group = (right * design.sizes).sum(axis=0) / design.sizes.sum(axis=0)
    accuracy = float((right * design.sizes).sum() / design.sizes.sum())
    worst = by_group.min()
    values = (float(skewness(v)), v.mean(), np.median(v), v.max(), accuracy, worst, accuracy - worst)
    return dict(zip(SUMMARIES, map(float, values), strict=True))


def as_counts(classes: Sequence[ComparedClass]) -> Counts:
    """Joined answers as the product holds them."""
    parts = [
        pl.DataFrame(
            {
                "truth": [f"{one.label:02d}"] * one.n.size,
                "group": [f"{code:02d}" for code in one.group],
                "prediction": [f"{code:02d}" for code in one.predictions[0]],
                "prediction_b": [f"{code:02d}" for code in one.predictions[1]],
                "n": one.n.astype(np.int64),
            }
        )
        for one in classes
        if isinstance(one, JointClass)
    ]
    return Counts.from_table(pl.concat(parts), {n: n for n in ("truth", "group", *PREDICTIONS)})


def coverage(simulations: int, seed: int) -> None:
    """How often the 95 % interval holds the difference of the populations."""
    rows = []
    for design in (Design.balanced(2, 100), Design.balanced(2, 500), Design.balanced(5, 100), UNBALANCED):
        for v, other in ((0.3, 0.1), (0.2, 0.2)):
            first, second = populations(design, v), populations(design, other, spread=-0.5)
            here, there = truths(design, first), truths(design, second)
            held: dict[str, list[bool]] = {name: [] for name in SUMMARIES}
            for run in range(simulations):
                rng = stream(seed, "coverage", design.name, v, run)
                counts = as_counts(drawn(rng, design, first, second))
                for found in model_differences(counts, by="group", seed=run):
                    name = found.name.removesuffix("_difference")
                    if found.interval is not None:
                        truth = here[name] - there[name]
                        held[name].append(found.interval.low <= truth <= found.interval.high)
            rows.append([design.name, f"{v:g} and {other:g}", *(share(held[name]) for name in SUMMARIES)])
    show(
        f"Coverage of 95 % intervals of differences, percent, {simulations:,} simulations",
        ["design", "V", *NAMES.values()],
        rows,
    )


_MIXES = (  # classes 1 to 5 then 6 to 10, in two groups: opposite shares of both
    Design("first", np.repeat([[120, 40], [30, 10]], 5, axis=0)),
    Design("second", np.repeat([[10, 30], [40, 120]], 5, axis=0)),
)


def easier_half(population: Floats) -> Floats:
    """Answers of which those of the second half of the classes are right more often."""
    made = population.copy()
    for label in range(len(made) // 2, len(made)):
        made[label] *= 0.5
        made[label, :, label] += 0.5
    return made


def counts_drawn(rng: np.random.Generator, design: Design, population: Floats) -> Counts:
    """One model's answers to samples of its own."""
    n = rng.multinomial(design.sizes, population)
    label, group, said = np.nonzero(n)
    table = pl.DataFrame({"truth": label, "group": group, "prediction": said, "n": n[n > 0]})
    return Counts.from_table(table, {name: name for name in ("truth", "group", PREDICTIONS[0])})


def apart(simulations: int, seed: int) -> None:
    """Runs on other samples with other mixes of classes and groups: false alarms and coverage."""
    common = Design("common", 2 / (1 / _MIXES[0].sizes + 1 / _MIXES[1].sizes))
    rows = []
    for v, other in ((0.0, 0.0), (0.2, 0.2), (0.3, 0.1)):
        pairs = zip(_MIXES, (v, other), strict=True)
        populations_of = [easier_half(populations(design, own)) for design, own in pairs]
        here, there = (truths(common, one) for one in populations_of)
        called: dict[str, list[bool]] = {name: [] for name in SUMMARIES}
        held: dict[str, list[bool]] = {name: [] for name in SUMMARIES}
        for run in range(simulations):
            rng = stream(seed, "apart", v, other, run)
            both = [counts_drawn(rng, *one) for one in zip(_MIXES, populations_of, strict=True)]
            for found in model_differences((both[0], both[1]), by="group", seed=run):
                name = found.name.removesuffix("_difference")
                if found.p_value is not None and found.interval is not None:
                    called[name].append(found.p_value <= 0.05)
                    held[name].append(found.interval.low <= here[name] - there[name] <= found.interval.high)
        told = f"{v:g} and {other:g}"
        rows.append([told, "called different", *(share(called[name]) for name in SUMMARIES)])
        rows.append([told, "interval holds", *(share(held[name]) for name in SUMMARIES)])
    show(
        f"Not paired, opposite mixes of classes and groups, percent, {simulations:,} simulations",
        ["V", "", *NAMES.values()],
        rows,
    )


def main() -> None:
    """Print all tables."""
    given = arguments(str(__doc__), 5000)
    with Clock():
        false_alarms(given.simulations, given.seed)
        pinned(max(given.simulations // 10, 20), given.seed)
        power(max(given.simulations // 10, 20), given.seed)
        coverage(max(given.simulations // 10, 20), given.seed)
        apart(max(given.simulations // 10, 20), given.seed)


if __name__ == "__main__":
    main()
