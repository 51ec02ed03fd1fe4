"""Changes of single classes between two models: false alarms, families, power, and coverage of intervals.

Models err independently, given class and group. Each simulation is a class; families are 20 of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from _common import Clock, answers, arguments, biased, share, show

from evenhand.core.seeds import stream
from evenhand.stats.changes import Flips, Shares, effect_changes
from evenhand.stats.exchanged import ComparedClass, JointClass
from evenhand.stats.multiplicity import adjust

Floats = npt.NDArray[np.float64]

LABELS, FAMILY, FIRST = 5, 20, 199
SIZES = (10, 50, 200)  # samples of each of two groups


def joint(rng: np.random.Generator, each: int, first: Floats, second: Floats) -> JointClass:
    """A class in two groups, answered by two models; distributions have shape (groups, labels)."""
    said = np.stack(
        [np.concatenate([rng.choice(LABELS, each, p=one) for one in model]) for model in (first, second)]
    )
    return JointClass(0, np.repeat([0, 1], each), said, np.ones(2 * each))


def effect_p(seed: int, name: str, classes: Sequence[ComparedClass]) -> Floats:
    """The p of each change of V, with further draws where those far out are few."""
    kept = np.empty((len(classes), FIRST))
    for place, one in enumerate(classes):
        first, second = one.exchanged(stream(seed, name, "first", place), FIRST)
        kept[place] = one.cells.effect(first, 0) - one.cells.effect(second, 1)

    def further(place: int, start: int) -> np.random.Generator:
        return stream(seed, name, "further", place, start)

    return effect_changes(classes, kept, further, wanted=20 * FIRST, budget=1e9).p


def flips_of(classes: Sequence[JointClass]) -> Flips:
    """Samples that one model alone got right in each class."""
    right = [one.predictions == 0 for one in classes]
    gained = [float((one[0] & ~one[1]).sum()) for one in right]
    lost = [float((one[1] & ~one[0]).sum()) for one in right]
    return Flips(np.array([one.n.sum() for one in classes]), np.array(gained), np.array(lost))


def families(p: Floats) -> list[bool]:
    """Whether a family of classes has any change that passes Holm."""
    whole = p[: p.size // FAMILY * FAMILY].reshape(-1, FAMILY)
    return [bool(np.nanmin(np.r_[adjust(one, "holm"), 1.0]) <= 0.05) for one in whole]


def false_alarms(simulations: int, seed: int) -> None:
    """How often a class of two models with one distribution is called changed at .05, and a family."""
    rows = []
    for each in SIZES:
        for v in (0.0, 0.3):
            name = f"alike {each} {v}"
            rng = stream(seed, name)
            same = biased(2, LABELS, v, "spread")
            classes = [joint(rng, each, same, same) for _ in range(simulations)]
            found = {"V": effect_p(seed, name, classes), "accuracy": flips_of(classes).p}
            told = [share([p <= 0.05 for p in one[~np.isnan(one)]]) for one in found.values()]
            told += [share(families(one)) for one in found.values()]
            rows.append([f"2 x {each}", f"{v:g}", *told])
    show(
        f"False alarms at .05, percent, {simulations:,} classes",
        ["samples", "V of both", "V", "accuracy", f"any of {FAMILY}, V", f"any of {FAMILY}, accuracy"],
        rows,
    )


def power(simulations: int, seed: int) -> None:
    """How often a planted change is found at .05."""
    rows = []
    for each in SIZES:
        for planted in (0.3, 0.5):
            name = f"planted {each} {planted}"
            rng = stream(seed, name)
            fair, unfair = biased(2, LABELS, 0.0, "spread"), biased(2, LABELS, planted, "spread")
            classes = [joint(rng, each, unfair, fair) for _ in range(simulations)]
            better = np.tile(answers(LABELS, 0.6 + planted / 2), (2, 1))
            right = flips_of([joint(rng, each, better, fair) for _ in range(simulations)]).p
            p = effect_p(seed, name, classes)
            rows.append([f"2 x {each}", f"{planted:g}", share(p[~np.isnan(p)] <= 0.05), share(right <= 0.05)])
    show(
        f"Found at .05, percent, {simulations:,} classes",
        ["samples", "planted V, twice the planted accuracy", "V", "accuracy"],
        rows,
    )


def coverage(simulations: int, seed: int) -> None:
    """How often the 95 % interval of a change of accuracy holds the truth."""
    rows = []
    for each in SIZES:
        for first, second in ((0.6, 0.6), (0.9, 0.7), (0.99, 0.95)):
            rng = stream(seed, "coverage", each, first, second)
            n = 2 * each
            a, b = (rng.random((simulations, n)) < one for one in (first, second))
            pairs = Flips(np.full(simulations, float(n)), (a & ~b).sum(axis=1), (b & ~a).sum(axis=1))
            unit = np.repeat(np.arange(simulations), 2)
            sizes = np.tile([[each, each], [each // 2, 2 * each]], simulations).astype(np.float64)
            right = np.stack(
                [rng.binomial(sizes[0].astype(int), first), rng.binomial(sizes[1].astype(int), second)]
            )
            apart = Shares(unit, right.astype(np.float64), sizes, simulations)
            told = []
            for low, high in (pairs.interval(0.95), apart.interval(0.95)):
                told.append(share((low <= first - second) & (first - second <= high)))
            p = apart.dealt(0.95)[0]
            rows.append(
                [
                    f"2 x {each}",
                    f"{first:g} and {second:g}",
                    *told,
                    share(p <= 0.05) if first == second else "",
                ]
            )
    show(
        f"Intervals of changes of accuracy, percent, {simulations:,} classes",
        ["samples", "accuracies", "same samples", "not paired", "not paired: called changed at .05"],
        rows,
    )


def main() -> None:
    """Print all tables."""
    given = arguments(str(__doc__), 2000)
    with Clock():
        false_alarms(given.simulations, given.seed)
        power(max(given.simulations // 4, 20), given.seed)
        coverage(given.simulations, given.seed)


if __name__ == "__main__":
    main()
