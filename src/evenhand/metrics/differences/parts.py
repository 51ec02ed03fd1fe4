"""What a difference of two models is made of: accuracies of classes and groups, effect sizes of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from evenhand.core.findings import Interval, Key, Part, key_of
from evenhand.metrics.classification.class_effects import ClassEffects, class_effects
from evenhand.metrics.classification.effect_options import EffectOptions
from evenhand.metrics.differences.counts import ComparedCounts, changed, flips_of, shares_of
from evenhand.metrics.differences.inference import both_values, null_around
from evenhand.metrics.differences.units import UnitChanges
from evenhand.metrics.estimates import LEVEL, Fields, number, part
from evenhand.metrics.prepared import BoundCounts
from evenhand.stats.arrays import Codes, Ends, Floats, ratio
from evenhand.stats.contingency.model_changes import Flips, Shares
from evenhand.stats.contingency.summary_intervals import Squares, class_ends
from evenhand.stats.multiplicity import adjust, holm_levels
from evenhand.stats.rates.differences import inverted_p
from evenhand.stats.rates.rates import mover

PAIRED = "adjusted Wald, paired (Bonett and Price)"
APART = "Newcombe, in one mix"
OF_EFFECTS = "of the corrected difference, from the limits of both models (MOVER, Zou and Donner)"


def effects_of(pair: ComparedCounts, model: int) -> tuple[BoundCounts, ClassEffects, Squares]:
    """A model's effect sizes by class, and what is known about their squares."""
    prepared = BoundCounts.of(pair.singles[model], pair.aligned.by, pair.seed)
    options = EffectOptions.make("separation", {"inference": "none"})
    effects = class_effects(prepared, options)
    return prepared, effects, effects.squares


def accuracy_changes(
    pair: ComparedCounts,
    by_units: Mapping[str, UnitChanges] | None = None,
    method: str = "",
    *,
    alpha: float = 1 - LEVEL,
) -> list[Part]:
    """Accuracy of the first model minus that of the second, in [-1, 1], for each class and each group.

    Test: where both answered the same samples, McNemar's exact test over the samples on which one is right
    and the other wrong; details hold how many went either way (``n_gained``: only the first is right;
    ``n_lost``: only the second). Elsewhere the right answers of each class and group are dealt to the models
    again. ``p_adjusted``: Holm over the classes, and over the groups, of this pair, at ``alpha``, and the
    level of each interval is that of its test there; ``q_value`` in details is Benjamini and Hochberg's.
    Parts of kind ``class`` in the order of labels, then of kind ``group``.

    Source: McNemar 1947; Mantel and Haenszel 1959; Bonett and Price 2012 and Newcombe 1998 for intervals.
    """
    a = pair.aligned
    labels = [compared.cells.label for compared in pair.classes]
    class_index = np.full(len(a.labels), -1)
    class_index[labels] = np.arange(len(labels))
    kinds = {
        "class": (list[Key](pair.labels), class_index[a.truth]),
        "group": ([key_of(key) for key in a.groups], a.group),
    }
    parts = []
    for kind, (keys, unit) in kinds.items():
        changes = changed(a, unit, len(keys)) if by_units is None else by_units[kind]
        parts += _accuracies(pair, kind, keys, unit, changes, method, alpha)
    return parts


def effect_size_changes(pair: ComparedCounts, correlation: Floats, *, alpha: float = 1 - LEVEL) -> list[Part]:
    """Cramér's V of the first model minus that of the second, in [-1, 1], for each class.

    ``corrected``: of the bias-corrected values. Its interval is made of the limits of both models (MOVER),
    with the correlation of the two where they answered the same samples; p is that of the level at which it
    leaves 0 out. ``p_adjusted``: Holm over the classes of this pair, at ``alpha``, and the level of each
    interval is that of its test there; ``q_value`` in details is Benjamini and Hochberg's. Parts are in the
    order of labels; None, with a reason, where V is undefined for a model.

    Source: Albuquerque et al. 2024, eq. 2; Bergsma 2013; Zou and Donner 2008.
    """
    values, own_effects, reasons = _classes_of(pair)
    # by how much effect sizes are larger in the common mix than in the model's own
    factors = [ratio(common, effects, 1.0) for common, (effects, _) in zip(values, own_effects, strict=True)]

    def limits(level: Floats | float) -> Ends:
        ends = []
        for factor, (effects, squared) in zip(factors, own_effects, strict=True):
            low, high = class_ends(squared, np.full(effects.size, np.nan), level)
            ends.append((factor * low, factor * squared.corrected, factor * high))
        low, high = mover(ends[0], ends[1], correlation)
        return np.maximum(low, -1.0), np.minimum(high, 1.0)

    value = values[0] - values[1]
    middle = factors[0] * own_effects[0][1].corrected - factors[1] * own_effects[1][1].corrected
    p = np.where(np.isnan(value), np.nan, inverted_p(limits, value.size))
    a = pair.aligned
    rows = np.bincount(a.truth, a.n if a.joined else a.n[0], len(a.labels))
    rows = rows[[compared.cells.label for compared in pair.classes]]
    more = [
        {"details": both_values(column)} | ({"reason": reason} if reason else {"corrected": float(centre)})
        for column, reason, centre in zip(values.T, reasons, middle, strict=True)
    ]
    levels = 1 - holm_levels(p, alpha)
    return _parts(
        "class", pair.labels, rows, value, middle, limits(levels), p, levels, method=OF_EFFECTS, more=more
    )


def _classes_of(
    pair: ComparedCounts,
) -> tuple[Floats, list[tuple[Floats, Squares]], list[str | None]]:
    """V of both models by class, shape (2, k), in the common mix; that in their own, its squares; reasons."""
    observed_tables = [compared.observed() for compared in pair.classes]
    reasons: list[str | None] = [None] * len(pair.labels)
    values, own_effects = [], []
    for model in (0, 1):
        class_tables = zip(pair.classes, observed_tables, strict=True)
        values.append(
            np.array([compared.cells.effect(tables[model], model)[0] for compared, tables in class_tables])
        )
        prepared, effects, squared = effects_of(pair, model)
        codes = {prepared.label_key(int(code)): index for index, code in enumerate(effects.labels)}
        positions = np.array([codes[label] for label in pair.labels])
        own_effects.append((effects.values[positions], squared.each(partial(np.take, indices=positions))))
        reasons = [reason or effects.reasons[index] for reason, index in zip(reasons, positions, strict=True)]
    return np.stack(values), own_effects, reasons


def _accuracies(
    pair: ComparedCounts,
    kind: str,
    keys: Sequence[Key],
    unit: Codes,
    changes: Flips | Shares | UnitChanges,
    method: str,
    alpha: float,
) -> list[Part]:
    a = pair.aligned
    values = np.array([rates.value for rates in shares_of(a, unit, len(keys)).rates()])
    rows = np.bincount(unit, a.n if a.joined else a.n[0], len(keys)).astype(np.float64)
    p, value = changes.p, values[0] - values[1]
    levels = 1 - holm_levels(p, alpha)
    low, high = changes.interval(levels)
    holds_zero = p > 1 - levels  # limits hold 0 where the test of the same level does not reject it
    ends = np.where(holds_zero, np.minimum(low, 0), low), np.where(holds_zero, np.maximum(high, 0), high)
    details = [both_values(column) for column in values.T]
    if a.joined:
        flips = flips_of(a, unit, len(keys))
        for detail, gained, lost in zip(details, flips.gained.tolist(), flips.lost.tolist(), strict=True):
            detail |= {"n_gained": gained, "n_lost": lost}
    more = [{"details": detail} for detail in details]
    method = method or (PAIRED if a.joined else APART)
    return _parts(kind, keys, rows, value, value, ends, p, levels, method=method, more=more)


def _parts(
    kind: str, keys: Sequence[Key], rows: Floats | Codes, value: Floats, middle: Floats, ends: Ends,
    p: Floats, levels: Floats, *, method: str, more: Sequence[Fields],
) -> list[Part]:  # fmt: skip
    """A part for each of k classes or groups, with p corrected over them; ``more`` are further fields."""
    adjusted, rates, parts = adjust(p, "holm"), adjust(p, "bh"), list[Part]()
    for i, key in enumerate(keys):
        fields: Fields = {}
        if not np.isnan([value[i], ends[0][i], ends[1][i], p[i]]).any():
            low, high = float(ends[0][i]), float(ends[1][i])
            interval = Interval(low=low, high=high, level=float(levels[i]), method=method)
            more[i]["details"]["q_value"] = number(rates[i])
            fields = {
                "interval": interval, "null": null_around(float(value[i]), float(middle[i]), interval),
                "p_value": float(p[i]), "p_adjusted": number(adjusted[i]),
            }  # fmt: skip
        parts.append(part(kind, key, value[i], n=rows[i], chance_at=0.0, **fields, **more[i]))
    return parts
