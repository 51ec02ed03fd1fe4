"""What changed between two models class by class and group by group: the parts of their differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.core.results import Interval, Key, Null, Part
from evenhand.core.seeds import stream
from evenhand.evidence.counts import Counts
from evenhand.evidence.paired_predictions import Aligned
from evenhand.metrics.building import number
from evenhand.metrics.class_effects import class_effects
from evenhand.metrics.effect_options import EffectOptions
from evenhand.metrics.prepared import LEVEL, Prepared
from evenhand.stats.changes import EffectChanges, Flips, Shares, effect_changes
from evenhand.stats.effect_intervals import phi_squared, score_interval
from evenhand.stats.exchanged import ComparedClass
from evenhand.stats.multiplicity import adjust

Floats = npt.NDArray[np.float64]

MOST_KEPT = 20_000_000  # draws of single classes that are held at a time
_BUDGET = 100_000_000  # numbers that further draws may make, for all pairs together
_LEAST_BUDGET = 10_000_000
_PAIRED = "adjusted Wald, paired (Bonett and Price)"
_APART = "Newcombe, in one mix"
_OF_EFFECTS = "from the score intervals of both models (Zou and Donner), conservative"
_EXCHANGED = "answers of each sample exchanged"
_DEALT = "rows dealt again within class, group"


@dataclass(frozen=True, eq=False)
class PairOfModels:
    """Two models over one grouping, as ``model_differences`` compares them.

    Attributes:
        aligned: Their usable rows.
        classes: The true classes, in the common mix.
        singles: Counts of each model over these rows.
        alpha: Level of the tests.
        family: Pairs and groupings that are compared.
        seed: The user's one seed.
    """

    aligned: Aligned
    classes: Sequence[ComparedClass]
    singles: Sequence[Counts]
    alpha: float
    family: int
    seed: int

    @property
    def labels(self) -> list[str]:
        """The true classes that have rows."""
        return [str(self.aligned.labels[one.cells.label]) for one in self.classes]


def accuracy_changes(pair: PairOfModels) -> list[Part]:
    """Accuracy of the first model minus that of the second, in [-1, 1], for each class and each group.

    Test: exchange of the two models' answers, in closed form. Where both answered the same samples that is
    McNemar's exact test over the samples on which one is right and the other wrong, and details hold how many
    went either way (``n_gained``: only the first is right; ``n_lost``: only the second). Elsewhere the number
    of right answers of each class and group is dealt to the models again. ``p_adjusted``: Holm over the
    classes, and over the groups, of this pair; ``q_value`` in details is Benjamini and Hochberg's.

    Args:
        pair: Two models.

    Returns:
        Parts of kind ``class`` in the order of labels, then of kind ``group``.

    Source: McNemar 1947; Mantel and Haenszel 1959; Bonett and Price 2012 and Newcombe 1998 for intervals.
    """
    a = pair.aligned
    labels = [one.cells.label for one in pair.classes]
    place = np.full(len(a.labels), -1)
    place[labels] = np.arange(len(labels))
    by_class = _accuracies(pair, "class", pair.labels, place[a.truth])
    return by_class + _accuracies(pair, "group", [key_of(key) for key in a.groups], a.group)


def flips_of(aligned: Aligned, unit: npt.NDArray[np.integer], units: int) -> Flips:
    """Samples that one of two joined models alone got right, by the unit of each cell, shape (units,)."""
    right = aligned.answers == aligned.truth

    def summed(some: npt.NDArray[np.bool_]) -> Floats:
        return np.bincount(unit, aligned.n * some, units).astype(np.float64)

    return Flips(
        summed(np.ones(aligned.n.shape, bool)), summed(right[0] & ~right[1]), summed(right[1] & ~right[0])
    )


def effect_size_changes(pair: PairOfModels, kept: Floats) -> list[Part]:
    """Cramér's V of the first model minus that of the second, in [-1, 1], for each class.

    Test and null band: the draws of the exchange that the difference of means is tested with; classes far out
    get more draws (``draws`` in details), so that p can pass its correction. Interval: from both models'
    score intervals, as if they were independent, which is conservative where they answered the same samples;
    it leaves out the noise that V contains, so the value may lie outside. ``p_adjusted``: Holm over the
    classes of this pair; ``q_value`` in details is Benjamini and Hochberg's.

    Args:
        pair: Two models.
        kept: Differences of each class's effect size under exchange, shape (classes, replicates).

    Returns:
        Parts of kind ``class`` in the order of labels; None, with a reason, where V is undefined for a model.

    Source: Albuquerque et al. 2024, eq. 2; Zou and Donner 2008; Besag and Clifford 1991 for further draws.
    """
    by, labels = "+".join(pair.aligned.by), pair.labels

    def further(place: int, start: int) -> np.random.Generator:
        return stream(pair.seed, "models", "exchanged further", by, labels[place], start)

    budget = max(_BUDGET / pair.family, _LEAST_BUDGET)
    wanted = math.ceil(2 * len(labels) / pair.alpha)
    found = effect_changes(pair.classes, kept, further, wanted=wanted, budget=budget, level=LEVEL)
    ends, reasons = _effect_ends(pair, found)
    adjusted, rates = adjust(found.p, "holm"), adjust(found.p, "bh")
    how = _EXCHANGED if pair.aligned.joined else _DEALT
    rows = _rows(pair, [one.cells.label for one in pair.classes])
    parts = []
    for place, label in enumerate(labels):
        first, second = map(number, found.values[:, place])
        value = None if first is None or second is None else first - second
        p = number(found.p[place])
        interval = _interval(ends[0][place], ends[1][place], _OF_EFFECTS)
        null = _null(found.mean[place], found.low[place], found.high[place], how)
        details: dict[str, float | str | None] = {"first": first, "second": second}
        if p is not None:
            details |= {"q_value": number(rates[place]), "draws": float(found.draws[place])}
        parts.append(
            Part(
                kind="class",
                key=label,
                value=value,
                interval=None if value is None else interval,
                null=None if value is None else null,
                p_value=p,
                p_adjusted=number(adjusted[place]),
                n=rows[place],
                reason=reasons[place] if value is None else None,
                details=details,
            )
        )
    return parts


def key_of(group: Sequence[object]) -> Key:
    """A group as findings write it."""
    texts = [str(value) for value in group]
    return texts[0] if len(texts) == 1 else texts


def _rows(pair: PairOfModels, labels: Sequence[int]) -> list[float]:
    """Rows of each class, the first model's where samples differ."""
    a = pair.aligned
    rows = np.bincount(a.truth, a.n if a.joined else a.n[0], len(a.labels))
    return [float(rows[label]) for label in labels]


def _accuracies(
    pair: PairOfModels, kind: str, keys: Sequence[Key], unit: npt.NDArray[np.integer]
) -> list[Part]:
    a = pair.aligned
    found = _paired(a, unit, len(keys)) if a.joined else _apart(a, unit, len(keys))
    n, right, p, null, ends, details = found
    value = right[0] - right[1]
    adjusted, rates = adjust(p, "holm"), adjust(p, "bh")
    how, method = (_EXCHANGED, _PAIRED) if a.joined else (_DEALT, _APART)
    return [
        Part(
            kind=kind,
            key=key,
            value=number(value[i]),
            interval=_interval(ends[0][i], ends[1][i], method),
            null=_null(0.0, null[0][i], null[1][i], how),
            p_value=number(p[i]),
            p_adjusted=number(adjusted[i]),
            n=float(n[i]),
            details={
                "first": number(right[0][i]),
                "second": number(right[1][i]),
                **details[i],
                "q_value": number(rates[i]),
            },
        )
        for i, key in enumerate(keys)
    ]


_Accuracies = tuple[
    Floats, Floats, Floats, tuple[Floats, Floats], tuple[Floats, Floats], list[dict[str, float | str | None]]
]


def _paired(aligned: Aligned, unit: npt.NDArray[np.integer], units: int) -> _Accuracies:
    """Rows, both accuracies, p, null band, interval and details, on the same samples."""
    flips = flips_of(aligned, unit, units)
    hits = np.stack([np.bincount(unit, aligned.n * (one == aligned.truth), units) for one in aligned.answers])
    details: list[dict[str, float | str | None]] = [
        {"n_gained": gained, "n_lost": lost}
        for gained, lost in zip(flips.gained.tolist(), flips.lost.tolist(), strict=True)
    ]
    return flips.n, hits / flips.n, flips.p, flips.null(LEVEL), flips.interval(LEVEL), details


def _apart(aligned: Aligned, unit: npt.NDArray[np.integer], units: int) -> _Accuracies:
    """The same on samples of each model's own."""
    shares = _shares(aligned, unit, units)
    p, low, high = shares.dealt(LEVEL)
    n = np.bincount(unit, aligned.n[0], units).astype(np.float64)
    return n, shares.shares, p, (low, high), shares.interval(LEVEL), [{} for _ in range(units)]


def _shares(aligned: Aligned, unit: npt.NDArray[np.integer], units: int) -> Shares:
    """Right answers of two models in each class and group, as strata of the units."""
    cell, first, place = np.unique(
        aligned.truth * len(aligned.groups) + aligned.group, return_index=True, return_inverse=True
    )
    right = aligned.answers[0] == aligned.truth

    def summed(weights: Floats) -> Floats:
        return np.stack([np.bincount(place, one, cell.size) for one in weights])

    return Shares(unit[first], summed(aligned.n * right), summed(aligned.n), units)


def _effect_ends(pair: PairOfModels, found: EffectChanges) -> tuple[tuple[Floats, Floats], list[str | None]]:
    """Zou and Donner's ends of each class's change, and why a class has no value."""
    reasons: list[str | None] = [None] * len(pair.labels)
    ends = []
    for counts, values in zip(pair.singles, found.values, strict=True):
        prepared = Prepared.of(counts, pair.aligned.by, pair.seed)
        plain = class_effects(prepared, EffectOptions.make("separation", {"inference": "none"}))
        limits = score_interval(plain.tables, phi_squared(plain.batch, plain.tables), LEVEL)
        without_noise = EffectOptions.make("separation", {"inference": "none", "statistic": "bergsma"})
        middle = class_effects(prepared, without_noise).values
        codes = {prepared.grouped.label_key(int(code)): place for place, code in enumerate(plain.labels)}
        own = np.array([codes[label] for label in pair.labels])
        low, high = (one[own] for one in limits)
        # in the common mix an effect size is larger or smaller than in the model's own
        factor = np.divide(values, plain.values[own], out=np.ones(own.size), where=plain.values[own] > 0)
        ends.append((factor * low, factor * np.clip(middle[own], low, high), factor * high))
        reasons = [said or plain.reasons[place] for said, place in zip(reasons, own, strict=True)]
    (a_low, a, a_high), (b_low, b, b_high) = ends
    low, high = a - b - np.hypot(a - a_low, b_high - b), a - b + np.hypot(a_high - a, b - b_low)
    return (np.maximum(low, -1.0), np.minimum(high, 1.0)), reasons


def _interval(low: float, high: float, method: str) -> Interval | None:
    ends = number(low), number(high)
    if ends[0] is None or ends[1] is None:
        return None
    return Interval(low=ends[0], high=ends[1], level=LEVEL, method=method)


def _null(mean: float, low: float, high: float, method: str) -> Null | None:
    if number(low) is None or number(high) is None:
        return None
    return Null(mean=float(mean), low=float(low), high=float(high), level=LEVEL, method=method)
