"""From similarities to Findings: the pieces that all metrics of associations share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from evenhand.core.errors import ParameterError, first_few
from evenhand.core.findings import Finding, Null
from evenhand.core.random_streams import stream
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.estimates import (
    LEVEL,
    Alternative,
    Fields,
    Inference,
    Mode,
    as_finding,
    at_levels,
    check_common,
    losses,
    sizes_of,
)
from evenhand.stats.arrays import Floats, Integers, Mask, Rng, central
from evenhand.stats.association.families import by_family
from evenhand.stats.association.permutation import Permutations, permutation_test
from evenhand.stats.association.two_way import Families, TwoWayEstimate

BAND_DRAWS = 9_999
_LISTED = 10_000  # partitions up to which a null band looks at all of them
_NAMED = 8  # families whose members a note lists
_FEW = 40  # items beyond which the null of a mean difference is taken as normal


@dataclass(frozen=True, eq=False)
class BoundSets:
    """Sets of targets (one, or X and Y) beside two sets of attributes (A and B), checked and bound.

    Items stand in an order that depends on their values only, so that neither the order of a table nor the
    names of items change what is drawn.
    """

    name: str  # the metric's name
    evidence: Similarities  # the similarities
    targets: tuple[str, ...]  # names of the sets of targets
    attributes: tuple[str, str]  # names of A and B
    block: Floats  # similarities of the items of the sets of targets in turn, with those of A, then B
    items: tuple[str, ...]  # ids of the rows
    words: tuple[str, ...]  # ids of the columns
    sizes: tuple[int, ...]  # of the sets, targets first
    mode: Mode  # as of the metric; so are ``inference`` and ``seed``
    inference: Inference
    seed: int

    @property
    def empty(self) -> bool:
        """Whether a set has no usable item."""
        return min(self.sizes) == 0

    @property
    def params(self) -> Fields:
        """What tells this finding from others of its name."""
        sets = {"targets": list(self.targets)} if len(self.targets) > 1 else {"target": self.targets[0]}
        options = {"form": self.evidence.form or None, **sets, "attributes": list(self.attributes)}
        return {**options, "mode": "paper"} if self.mode == "paper" else options

    @cached_property
    def families(self) -> Families:
        """Family of each row and of each column; None for a side on which none was declared."""
        return self._families(self.items), self._families(self.words)

    def _families(self, ids: Sequence[str]) -> Integers | None:
        families = self.evidence.families
        if not any(item in families for item in ids):
            return None
        units = [(item in families, families.get(item, item)) for item in ids]
        codes = {unit: code for code, unit in enumerate(dict.fromkeys(units))}
        return np.array([codes[unit] for unit in units], dtype=np.int64)

    @cached_property
    def units(self) -> tuple[int, ...]:
        """Units of each set, targets first: families, and items without one."""
        cut = len(self.targets)
        targets, attributes = (
            by_family(np.zeros(sum(sizes)), sizes, codes)[1]
            for sizes, codes in zip((self.sizes[:cut], self.sizes[cut:]), self.families, strict=True)
        )
        return targets + attributes

    def sampled(self, *sides: str) -> tuple[str, str]:
        """What counts as a sample of targets and of attributes, which ``sides`` name: these, or families."""
        words = zip(sides, self.families, strict=True)
        over, beside = (side if codes is None else f"families of {side}" for side, codes in words)
        return over, beside

    def exchanged_items(self, numbers: Floats) -> tuple[Floats, tuple[int, ...]]:
        """Of a number for each target what is exchanged: one for each family, in paper mode for each item."""
        n_sets = len(self.targets)
        return by_family(numbers, self.sizes[:n_sets], None if self.mode == "paper" else self.families[0])

    def exchanged_words(self, numbers: Floats) -> tuple[Floats, tuple[int, ...]]:
        """As ``exchanged_items``, of a number for each attribute (along the last axis)."""
        return by_family(numbers, self.sizes[-2:], None if self.mode == "paper" else self.families[1])

    def family_notes(self) -> list[str]:
        """Which words of the test are of one family, and so one unit."""
        notes = []
        for what, ids in (("targets", self.items), ("attributes", self.words)):
            members: dict[str, list[str]] = {}
            for item in sorted(set(ids)):
                if item in self.evidence.families:
                    members.setdefault(self.evidence.families[item], []).append(item)
            if members:
                listed = [f"{name} ({', '.join(items)})" for name, items in sorted(members.items())]
                families = "1 family" if len(members) == 1 else f"{len(members)} families"
                many = f"{sum(map(len, members.values()))} {what} of {families}"
                notes.append(
                    f"{many}, each of which counts as one unit: {first_few(listed, _NAMED, ', {} more')}"
                )
        if notes and self.mode == "paper":
            notes.append("in the interval only: p and band of mode='paper' exchange single items")
        return notes

    def finding(self, params: Fields, value: float | None, reason: str | None, **fields: Any) -> Finding:
        """A Finding with what the sets and the definition say filled in; ``dropped`` and ``notes`` add."""
        lost = self.evidence.dropped_from(self.targets, self.attributes).items()
        groups = sizes_of(self.targets, self.sizes[: len(self.targets)])
        sets = zip((*self.targets, *self.attributes), self.sizes, strict=True)
        notes = [f"the set {name!r} has no usable item" for name, size in sets if not size]
        notes += self.family_notes()
        return as_finding(
            self.name,
            (),
            {**self.params, **params},
            lists="|",
            dropped=losses(lost) + fields.pop("dropped", []),
            value=value,
            reason=reason if value is None else None,
            n=len(self.items),
            groups=groups,
            notes=notes + fields.pop("notes", []),
            **fields,
        )


@dataclass(frozen=True, eq=False)
class SingleSet(BoundSets):
    """One set of targets beside two sets of attributes."""

    @classmethod
    def make(
        cls, name: str, evidence: Similarities, target: str, attributes: Sequence[str], *,
        mode: Mode = "default", inference: Inference = "none", seed: int = 0,
    ) -> SingleSet:  # fmt: skip
        """Check what every metric of one set takes."""
        check_evidence(name, evidence, mode, inference, seed)
        if not isinstance(target, str):
            raise ParameterError(f"target={target!r} is not possible; name one set of targets")
        pair = pair_of("attributes", attributes)
        rows = by_name(evidence.targets, evidence.target_rows(target))
        columns = attribute_columns(evidence, pair, rows)
        across = np.concatenate(columns)
        rows = by_value(evidence.values[np.ix_(rows, across)].sum(axis=1), rows)
        return cls(
            name, evidence, (target,), pair, *block_of(evidence, rows, across),
            (rows.size, *(indices.size for indices in columns)), mode, inference, seed,
        )  # fmt: skip

    @property
    def na(self) -> int:
        """Size of A."""
        return self.sizes[1]

    @property
    def in_both(self) -> Mask:
        """Columns whose attribute stands in A and in B."""
        shared_words = set(self.words[: self.na]) & set(self.words[self.na :])
        return np.array([word in shared_words for word in self.words], dtype=bool)

    def word_test(self, numbers: Floats) -> Permutations:
        """A number of each attribute, exchanged between A and B."""
        units, (na, _) = self.exchanged_words(numbers)
        return permutation_test(units[:na], units[na:], rng=self.stream("words"))

    def stream(self, *purpose: object) -> Rng:
        """The random stream for one purpose."""
        return stream(self.seed, self.name, self.evidence.form, *self.targets, *self.attributes, *purpose)


def check_evidence(name: str, evidence: Any, mode: Mode, inference: Inference, seed: int) -> None:
    """Refuse what is no Similarities, and unknown options."""
    check_common(mode, inference, seed)
    if not isinstance(evidence, Similarities):
        raise ParameterError(
            f"{name} takes Similarities, not {type(evidence).__name__}; see Similarities.from_embeddings"
        )


def pair_of(what: str, names: Any) -> tuple[str, str]:
    """Two different names; anything else is refused."""
    pair = () if isinstance(names, str) else tuple(names)
    if len(pair) != 2 or pair[0] == pair[1] or not all(isinstance(name, str) for name in pair):
        raise ParameterError(
            f"{what}={names!r} is not possible; name two different sets: {what}=(ONE, OTHER)"
        )
    return pair[0], pair[1]


def by_name(ids: Sequence[str], places: Integers) -> Integers:
    """Places in the order of their ids."""
    return np.array(sorted(places.tolist(), key=ids.__getitem__), dtype=np.int64)


def by_value(values: Floats, places: Integers) -> Integers:
    """Places in the order of a value; equal ones stay as they are."""
    return places[np.argsort(values, kind="stable")]


def attribute_columns(evidence: Similarities, pair: tuple[str, str], rows: Integers) -> list[Integers]:
    """Columns of two sets of attributes in the order of their mean over some rows."""
    columns = [by_name(evidence.attributes, evidence.attribute_columns(name)) for name in pair]
    if not rows.size:
        return columns
    return [by_value(evidence.values[np.ix_(rows, indices)].mean(axis=0), indices) for indices in columns]


def block_of(
    evidence: Similarities, rows: Integers, across: Integers
) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
    """Similarities of some rows and columns, with the ids of both."""
    items = tuple(evidence.targets[row] for row in rows.tolist())
    words = tuple(evidence.attributes[column] for column in across.tolist())
    return evidence.values[np.ix_(rows, across)], items, words


def partition_null(
    numbers: Floats, n: int, scale: float, bound: float, rng: Rng, seed: int, what: str
) -> Null:
    """What exchanging numbers between two sets gives for the difference of their means: its mean is 0.

    The band holds all partitions where they are few, random ones up to 40 numbers, and beyond is normal
    with the exact spread ``s * sqrt(N / (n m))``. The first ``n`` numbers are one set; a difference is
    multiplied by ``scale`` and at most ``bound``; ``what`` is exchanged, in words.
    """
    total = numbers.size
    if total > _FEW:
        sd = float(numbers.std(ddof=1) * np.sqrt(total / (n * (total - n))))
        half = min(1.959963984540054 * sd * scale, bound)
        method = f"partitions of the {what}, normal with their exact spread"
        return Null(mean=0, low=-half, high=half, level=LEVEL, method=method)
    draws, listed = partitioned(numbers, n, rng)
    low, high = np.quantile(draws, central(LEVEL)) * scale
    method = f"{'all' if listed else 'random'} partitions of the {what}"
    sampling = {} if listed else {"replicates": draws.size, "seed": seed}
    return Null(mean=0, low=float(low), high=float(high), level=LEVEL, method=method, **sampling)


def partitioned(numbers: Floats, n: int, rng: Rng) -> tuple[Floats, bool]:
    """Mean of n numbers less that of the others, over partitions; whether these are all there are."""
    total = numbers.size
    listed = comb(total, n) <= _LISTED
    if listed:
        members = np.array(list(combinations(range(total), n)), dtype=np.int64)
    else:
        members = drawn_members(rng, BAND_DRAWS, total, n)
    sums = numbers[members].sum(axis=1)
    return sums / n - (numbers.sum() - sums) / (total - n), listed


def drawn_members(rng: Rng, draws: int, total: int, n: int) -> Integers:
    """Which n of all each draw has, shape (draws, n)."""
    return np.argpartition(rng.random((draws, total)), n - 1, axis=1)[:, :n]


def crossed_fields(
    estimate: TwoWayEstimate, how: str, nothing: str, alternative: Alternative = "two_sided"
) -> Fields:
    """Null band, p and interval of a test over targets and attributes; ``nothing``: its null in words."""
    low, high = estimate.band(LEVEL)
    null = Null(mean=0, low=low, high=high, level=LEVEL, method=f"{nothing}: {how}")
    return {
        "p_value": estimate.p_value(alternative), "null": null, "limits": at_levels(estimate.limits, how),
    }  # fmt: skip
