"""What changed between two models class by class and group by group: the parts of their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.results import Interval, Key, Null, Part, key_of
from evenhand.evidence.counts import Counts
from evenhand.evidence.paired_predictions import Aligned
from evenhand.metrics.building import number
from evenhand.metrics.class_effects import ClassEffects, class_effects
from evenhand.metrics.compared_inference import BY_CHANCE
from evenhand.metrics.effect_options import EffectOptions
from evenhand.metrics.prepared import LEVEL, Prepared
from evenhand.stats.changes import Flips, Shares
from evenhand.stats.model_summaries import ComparedClass
from evenhand.stats.multiplicity import adjust
from evenhand.stats.summary_intervals import Squares, class_ends
from evenhand.stats.two_figures import Ends, chance_band, inverted_p, mover

Floats = npt.NDArray[np.float64]
Details = dict[str, float | str | None]

PAIRED = "adjusted Wald, paired (Bonett and Price)"
APART = "Newcombe, in one mix"
OF_EFFECTS = "of the corrected difference, from the limits of both models (MOVER, Zou and Donner)"


@dataclass(frozen=True, eq=False)
class PairOfModels:
    """Two models over one grouping, as ``model_differences`` compares them.

    Attributes:
        aligned: Their usable rows.
        classes: The true classes, in the common mix.
        singles: Counts of each model over these rows.
        seed: The user's one seed.
    """

    aligned: Aligned
    classes: Sequence[ComparedClass]
    singles: Sequence[Counts]
    seed: int

    @property
    def labels(self) -> list[str]:
        """The true classes that have rows."""
        return [str(self.aligned.labels[one.cells.label]) for one in self.classes]

    def effects(self, place: int) -> tuple[Prepared, ClassEffects, Squares]:
        """A model's effect sizes by class, and what is known about their squares."""
        prepared = Prepared.of(self.singles[place], self.aligned.by, self.seed)
        options = EffectOptions.make("separation", {"inference": "none"})
        effects = class_effects(prepared, options)
        return prepared, effects, effects.squares


def accuracy_changes(pair: PairOfModels) -> list[Part]:
    """Accuracy of the first model minus that of the second, in [-1, 1], for each class and each group.

    Test: where both answered the same samples, McNemar's exact test over the samples on which one is right
    and the other wrong; details hold how many went either way (``n_gained``: only the first is right;
    ``n_lost``: only the second). Elsewhere the right answers of each class and group are dealt to the models
    again. ``p_adjusted``: Holm over the classes, and over the groups, of this pair; ``q_value`` in details is
    Benjamini and Hochberg's.

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


def shares_of(aligned: Aligned, unit: npt.NDArray[np.integer], units: int) -> Shares:
    """Right answers of two models in each class and group, as strata of the units."""
    cell, first, place = np.unique(
        aligned.truth * len(aligned.groups) + aligned.group, return_index=True, return_inverse=True
    )
    right = aligned.answers == aligned.truth
    rows = np.tile(aligned.n, (2, 1)) if aligned.joined else aligned.n

    def summed(weights: Floats) -> Floats:
        return np.stack([np.bincount(place, one, cell.size) for one in weights])

    return Shares(unit[first], summed(rows * right), summed(rows), units)


@dataclass(frozen=True, eq=False)
class Accuracies:
    """Accuracies of two models in k classes or groups, with test and limits of their differences.

    Attributes:
        aligned: The rows.
        unit: Class or group of each cell of ``aligned``.
        units: How many there are.
    """

    aligned: Aligned
    unit: npt.NDArray[np.integer]
    units: int

    @property
    def _of(self) -> Flips | Shares:
        of = flips_of if self.aligned.joined else shares_of
        return of(self.aligned, self.unit, self.units)

    @property
    def p(self) -> Floats:
        """McNemar's exact p, or that of right answers dealt again."""
        found = self._of
        return found.p if isinstance(found, Flips) else found.dealt()

    def limits(self, level: float, p: Floats) -> Ends:
        """Limits of the differences, which hold 0 where the test of the same level does not reject it."""
        low, high = self._of.interval(level)
        kept = p > 1 - level
        return np.where(kept, np.minimum(low, 0), low), np.where(kept, np.maximum(high, 0), high)

    def details(self) -> list[Details]:
        """Samples that one model alone got right, where both answered the same."""
        found = self._of
        if not isinstance(found, Flips):
            return [{} for _ in range(self.units)]
        both = zip(found.gained.tolist(), found.lost.tolist(), strict=True)
        return [{"n_gained": gained, "n_lost": lost} for gained, lost in both]


def effect_size_changes(pair: PairOfModels, correlation: Floats) -> list[Part]:
    """Cramér's V of the first model minus that of the second, in [-1, 1], for each class.

    ``corrected``: of the bias-corrected values. Its interval is made of the limits of both models (MOVER),
    with the correlation of the two where they answered the same samples; p is that of the level at which it
    leaves 0 out. ``p_adjusted``: Holm over the classes of this pair; ``q_value`` in details is Benjamini and
    Hochberg's.

    Args:
        pair: Two models.
        correlation: Of both models' V in each class, shape (classes,).

    Returns:
        Parts of kind ``class`` in the order of labels; None, with a reason, where V is undefined for a model.

    Source: Albuquerque et al. 2024, eq. 2; Bergsma 2013; Zou and Donner 2008.
    """
    values, own, reasons = _classes_of(pair)
    factors = [_factor(values[model], effects) for model, (effects, _) in enumerate(own)]

    def limits(level: Floats | float) -> Ends:
        ends = []
        for factor, (effects, found) in zip(factors, own, strict=True):
            low, high = class_ends(found, np.full(effects.size, np.nan), level)
            ends.append((factor * low, factor * found.corrected, factor * high))
        low, high = mover(ends[0], ends[1], correlation)
        return np.maximum(low, -1.0), np.minimum(high, 1.0)

    value = values[0] - values[1]
    corrected = factors[0] * own[0][1].corrected - factors[1] * own[1][1].corrected
    p = np.where(np.isnan(value), np.nan, inverted_p(limits, value.size))
    made = _Changes(value, corrected, limits(LEVEL), p, OF_EFFECTS)
    rows = _rows(pair, [one.cells.label for one in pair.classes])
    details: list[Details] = [{"first": number(a), "second": number(b)} for a, b in values.T]
    return made.parts("class", pair.labels, rows, details, reasons)


def _classes_of(
    pair: PairOfModels,
) -> tuple[Floats, list[tuple[Floats, Squares]], list[str | None]]:
    """V of both models by class, shape (2, k), in the common mix; that in their own, its squares; reasons."""
    shown = [one.observed() for one in pair.classes]
    reasons: list[str | None] = [None] * len(pair.labels)
    values, own = [], []
    for model in (0, 1):
        each = zip(pair.classes, shown, strict=True)
        values.append(np.array([one.cells.effect(tables[model], model)[0] for one, tables in each]))
        prepared, effects, found = pair.effects(model)
        codes = {prepared.grouped.label_key(int(code)): place for place, code in enumerate(effects.labels)}
        chosen = np.array([codes[label] for label in pair.labels])
        own.append((effects.values[chosen], found.each(partial(_taken, chosen))))
        reasons = [said or effects.reasons[place] for said, place in zip(reasons, chosen, strict=True)]
    return np.stack(values), own, reasons


def _taken(chosen: npt.NDArray[np.integer], array: Floats) -> Floats:
    return np.asarray(array[chosen])


def _factor(values: Floats, own: Floats) -> Floats:
    """By how much effect sizes are larger in the common mix than in the model's own."""
    return np.divide(values, own, out=np.ones(own.size), where=own > 0)


def _rows(pair: PairOfModels, labels: Sequence[int]) -> list[float]:
    """Rows of each class, the first model's where samples differ."""
    a = pair.aligned
    rows = np.bincount(a.truth, a.n if a.joined else a.n[0], len(a.labels))
    return [float(rows[label]) for label in labels]


def _accuracies(
    pair: PairOfModels, kind: str, keys: Sequence[Key], unit: npt.NDArray[np.integer]
) -> list[Part]:
    a, found = pair.aligned, Accuracies(pair.aligned, unit, len(keys))
    first, second = (rates.value for rates in shares_of(a, unit, len(keys)).rates())
    rows = np.bincount(unit, a.n if a.joined else a.n[0], len(keys)).astype(np.float64)
    p, value = found.p, first - second
    made = _Changes(value, value, found.limits(LEVEL, p), p, PAIRED if a.joined else APART)
    details: list[Details] = [
        {"first": number(first[i]), "second": number(second[i]), **more}
        for i, more in enumerate(found.details())
    ]
    return made.parts(kind, keys, rows.tolist(), details)


@dataclass(frozen=True, eq=False)
class _Changes:
    """Differences of k classes or groups; arrays of shape (k,), NaN where undefined."""

    value: Floats
    corrected: Floats
    ends: Ends
    p: Floats
    method: str

    def parts(
        self,
        kind: str,
        keys: Sequence[Key],
        rows: Sequence[float],
        details: Sequence[Details],
        reasons: Sequence[str | None] | None = None,
    ) -> list[Part]:
        """One part for each, with p corrected over them."""
        adjusted, rates = adjust(self.p, "holm"), adjust(self.p, "bh")
        made = []
        for i, key in enumerate(keys):
            fields: dict[str, Any] = {"details": dict(details[i])}
            if np.isnan(self.value[i]):
                fields["reason"] = None if reasons is None else reasons[i]
            else:
                fields |= self._inferred(i)
                fields |= {"p_value": float(self.p[i]), "p_adjusted": number(adjusted[i])}
                fields["details"]["q_value"] = number(rates[i])
            value = number(self.value[i])
            made.append(Part(kind=kind, key=key, value=value, n=rows[i], chance_at=0.0, **fields))
        return made

    def _inferred(self, i: int) -> dict[str, Any]:
        low, high = float(self.ends[0][i]), float(self.ends[1][i])
        at = chance_band(self.value[i], self.corrected[i], (self.ends[0][i], self.ends[1][i]))
        below, mean, above = (float(one) for one in at)
        same = self.method != OF_EFFECTS
        return {
            "corrected": None if same else float(self.corrected[i]),
            "interval": Interval(low=low, high=high, level=LEVEL, method=self.method),
            "null": Null(mean=mean, low=below, high=above, level=LEVEL, method=BY_CHANCE),
        }
