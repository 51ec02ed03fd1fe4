"""What changed between two models class by class and group by group: the parts of their differences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from evenhand.core.results import Interval, Key, Part, key_of
from evenhand.evidence.paired_predictions import Aligned
from evenhand.metrics.building import number
from evenhand.metrics.class_effects import ClassEffects, class_effects, effect_squares
from evenhand.metrics.compared_counts import Compared
from evenhand.metrics.compared_inference import both_values, null_around
from evenhand.metrics.effect_options import EffectOptions
from evenhand.metrics.prepared import LEVEL, Prepared
from evenhand.stats.arrays import Codes, Ends, Floats, Mask
from evenhand.stats.changes import Flips, Shares
from evenhand.stats.differences import inverted_p, mover
from evenhand.stats.multiplicity import adjust
from evenhand.stats.summary_intervals import Squares, class_ends

PAIRED = "adjusted Wald, paired (Bonett and Price)"
APART = "Newcombe, in one mix"
OF_EFFECTS = "of the corrected difference, from the limits of both models (MOVER, Zou and Donner)"


def effects_of(pair: Compared, place: int) -> tuple[Prepared, ClassEffects, Squares]:
    """A model's effect sizes by class, and what is known about their squares."""
    prepared = Prepared.of(pair.singles[place], pair.aligned.by, pair.seed)
    options = EffectOptions.make("separation", {"inference": "none"})
    effects = class_effects(prepared, options)
    return prepared, effects, effect_squares(prepared, options, effects)


def accuracy_changes(pair: Compared) -> list[Part]:
    """Accuracy of the first model minus that of the second, in [-1, 1], for each class and each group.

    Test: where both answered the same samples, McNemar's exact test over the samples on which one is right
    and the other wrong; details hold how many went either way (``n_gained``: only the first is right;
    ``n_lost``: only the second). Elsewhere the right answers of each class and group are dealt to the models
    again. ``p_adjusted``: Holm over the classes, and over the groups, of this pair; ``q_value`` in details is
    Benjamini and Hochberg's. Parts of kind ``class`` in the order of labels, then of kind ``group``.

    Source: McNemar 1947; Mantel and Haenszel 1959; Bonett and Price 2012 and Newcombe 1998 for intervals.
    """
    a = pair.aligned
    labels = [one.cells.label for one in pair.classes]
    place = np.full(len(a.labels), -1)
    place[labels] = np.arange(len(labels))
    by_class = _accuracies(pair, "class", pair.labels, place[a.truth])
    return by_class + _accuracies(pair, "group", [key_of(key) for key in a.groups], a.group)


def flips_of(aligned: Aligned, unit: Codes, units: int) -> Flips:
    """Samples that one of two joined models alone got right, by the unit of each cell, shape (units,)."""
    right = aligned.answers == aligned.truth

    def summed(some: Mask) -> Floats:
        return np.bincount(unit, aligned.n * some, units).astype(np.float64)

    return Flips(
        summed(np.ones(aligned.n.shape, bool)), summed(right[0] & ~right[1]), summed(right[1] & ~right[0])
    )


def shares_of(aligned: Aligned, unit: Codes, units: int) -> Shares:
    """Right answers of two models in each class and group, as strata of the units."""
    cell, first, place = np.unique(
        aligned.truth * len(aligned.groups) + aligned.group, return_index=True, return_inverse=True
    )
    right = aligned.answers == aligned.truth
    rows = np.tile(aligned.n, (2, 1)) if aligned.joined else aligned.n

    def summed(weights: Floats) -> Floats:
        return np.stack([np.bincount(place, one, cell.size) for one in weights])

    return Shares(unit[first], summed(rows * right), summed(rows), units)


def changed(aligned: Aligned, unit: Codes, units: int) -> Flips | Shares:
    """Right answers of both models: paired where they answered the same samples, in one mix elsewhere."""
    return flips_of(aligned, unit, units) if aligned.joined else shares_of(aligned, unit, units)


def effect_size_changes(pair: Compared, correlation: Floats) -> list[Part]:
    """Cramér's V of the first model minus that of the second, in [-1, 1], for each class.

    ``corrected``: of the bias-corrected values. Its interval is made of the limits of both models (MOVER),
    with the correlation of the two where they answered the same samples; p is that of the level at which it
    leaves 0 out. ``p_adjusted``: Holm over the classes of this pair; ``q_value`` in details is Benjamini and
    Hochberg's. Parts are in the order of labels; None, with a reason, where V is undefined for a model.

    Source: Albuquerque et al. 2024, eq. 2; Bergsma 2013; Zou and Donner 2008.
    """
    values, own, reasons = _classes_of(pair)
    # by how much effect sizes are larger in the common mix than in the model's own
    factors = [
        np.divide(shown, effects, out=np.ones(effects.size), where=effects > 0)
        for shown, (effects, _) in zip(values, own, strict=True)
    ]

    def limits(level: Floats | float) -> Ends:
        ends = []
        for factor, (effects, found) in zip(factors, own, strict=True):
            low, high = class_ends(found, np.full(effects.size, np.nan), level)
            ends.append((factor * low, factor * found.corrected, factor * high))
        low, high = mover(ends[0], ends[1], correlation)
        return np.maximum(low, -1.0), np.minimum(high, 1.0)

    value = values[0] - values[1]
    middle = factors[0] * own[0][1].corrected - factors[1] * own[1][1].corrected
    p = np.where(np.isnan(value), np.nan, inverted_p(limits, value.size))
    a = pair.aligned
    rows = np.bincount(a.truth, a.n if a.joined else a.n[0], len(a.labels))
    rows = rows[[one.cells.label for one in pair.classes]]
    more = [
        {"details": both_values(both)} | ({"reason": reason} if reason else {"corrected": float(shown)})
        for both, reason, shown in zip(values.T, reasons, middle, strict=True)
    ]
    return _parts("class", pair.labels, rows, value, middle, limits(LEVEL), p, method=OF_EFFECTS, more=more)


def _classes_of(
    pair: Compared,
) -> tuple[Floats, list[tuple[Floats, Squares]], list[str | None]]:
    """V of both models by class, shape (2, k), in the common mix; that in their own, its squares; reasons."""
    shown = [one.observed() for one in pair.classes]
    reasons: list[str | None] = [None] * len(pair.labels)
    values, own = [], []
    for model in (0, 1):
        each = zip(pair.classes, shown, strict=True)
        values.append(np.array([one.cells.effect(tables[model], model)[0] for one, tables in each]))
        prepared, effects, found = effects_of(pair, model)
        codes = {prepared.grouped.label_key(int(code)): place for place, code in enumerate(effects.labels)}
        chosen = np.array([codes[label] for label in pair.labels])
        own.append((effects.values[chosen], found.each(partial(np.take, indices=chosen))))
        reasons = [said or effects.reasons[place] for said, place in zip(reasons, chosen, strict=True)]
    return np.stack(values), own, reasons


def _accuracies(pair: Compared, kind: str, keys: Sequence[Key], unit: Codes) -> list[Part]:
    a, found = pair.aligned, changed(pair.aligned, unit, len(keys))
    values = np.array([rates.value for rates in shares_of(a, unit, len(keys)).rates()])
    rows = np.bincount(unit, a.n if a.joined else a.n[0], len(keys)).astype(np.float64)
    p, value = found.p, values[0] - values[1]
    low, high = found.interval(LEVEL)
    kept = p > 1 - LEVEL  # limits hold 0 where the test of the same level does not reject it
    ends = np.where(kept, np.minimum(low, 0), low), np.where(kept, np.maximum(high, 0), high)
    details = [both_values(one) for one in values.T]
    if isinstance(found, Flips):
        for one, gained, lost in zip(details, found.gained.tolist(), found.lost.tolist(), strict=True):
            one |= {"n_gained": gained, "n_lost": lost}
    more = [{"details": one} for one in details]
    return _parts(kind, keys, rows, value, value, ends, p, method=PAIRED if a.joined else APART, more=more)


def _parts(
    kind: str, keys: Sequence[Key], rows: Floats | Codes, value: Floats, middle: Floats, ends: Ends,
    p: Floats, *, method: str, more: Sequence[dict[str, Any]],
) -> list[Part]:  # fmt: skip
    """A part for each of k classes or groups, with p corrected over them; ``more`` are further fields."""
    adjusted, rates = adjust(p, "holm"), adjust(p, "bh")
    made = []
    for i, key in enumerate(keys):
        fields: dict[str, Any] = {}
        if not np.isnan(value[i]):
            low, high = float(ends[0][i]), float(ends[1][i])
            interval = Interval(low=low, high=high, level=LEVEL, method=method)
            more[i]["details"]["q_value"] = number(rates[i])
            fields = {
                "interval": interval, "null": null_around(float(value[i]), float(middle[i]), interval),
                "p_value": float(p[i]), "p_adjusted": number(adjusted[i]),
            }  # fmt: skip
        shown = number(value[i])
        made.append(
            Part(kind=kind, key=key, value=shown, n=float(rows[i]), chance_at=0.0, **fields, **more[i])
        )
    return made
