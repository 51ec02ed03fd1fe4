"""Findings from similarities: two sets of targets compared by their association with two of attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import check_choice
from evenhand.core.findings import Finding, NewDetails, Part
from evenhand.core.random_streams import stream
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association.similarities import (
    BoundSets,
    attribute_columns,
    block_of,
    by_name,
    check_evidence,
    crossed_fields,
    pair_of,
    partition_null,
)
from evenhand.metrics.estimates import Alternative, Fields, Inference, Mode, get_or_make, number, part
from evenhand.stats.arrays import Ends, Floats, Integers, Rng
from evenhand.stats.association.effect_size import (
    associations,
    auc,
    cohens_d,
    effect_bound,
    effect_size,
    has_spread,
    leave_one_attribute_out,
    leave_one_out,
    point_biserial,
)
from evenhand.stats.association.permutation import Permutations, permutation_test
from evenhand.stats.association.two_way import Sizes, two_way

Reading: TypeAlias = Callable[[Floats, int], Floats]

_SAMPLED = 20_000  # items up to which partitions are drawn
_WIDE = 2.2  # bounds of |d| beyond it are not on the scale of equal sizes, where it is 2


MOST_CELLS = 20_000_000  # similarities up to which each attribute is left out in turn
MOST_PARTS = 2_000


@dataclass(frozen=True, eq=False)
class SetComparison(BoundSets):
    """Two sets of targets and two sets of attributes of one test, checked and bound."""

    cells: Floats  # what is averaged over A and over B: the similarities, or a reading of them
    phi: Floats  # association of each row, shape (n + m,)
    alternative: Alternative  # which side the p-value looks at

    @classmethod
    def make(
        cls,
        name: str,
        evidence: Similarities,
        targets: Sequence[str],
        attributes: Sequence[str],
        *,
        mode: Mode = "default",
        inference: Inference = "none",
        seed: int = 0,
        alternative: Alternative = "two_sided",
        reading: Reading | None = None,
    ) -> SetComparison:
        """Check what every association metric takes; in paper mode p is that of the right tail.

        ``reading``: from the block of one set and na to what is averaged over A and over B; None: the block.
        """
        check_evidence(name, evidence, mode, inference, seed)
        check_choice("alternative", alternative, get_args(Alternative))
        target_pair, pair = pair_of("targets", targets), pair_of("attributes", attributes)
        rows = [by_name(evidence.targets, evidence.target_rows(target)) for target in target_pair]
        columns = attribute_columns(evidence, pair, np.concatenate(rows))
        across = np.concatenate(columns)
        some = all(indices.size for indices in (*rows, *columns))
        over, cells, phis = _read_sets(evidence, rows, across, columns[0].size, reading if some else None)
        block, items, words = block_of(evidence, over, across)
        return cls(
            name, evidence, target_pair, pair, block, items, words,
            (rows[0].size, rows[1].size, columns[0].size, columns[1].size), mode, inference, seed,
            block if cells is None else cells, phis, "greater" if mode == "paper" else alternative,
        )  # fmt: skip

    @property
    def x(self) -> Floats:
        """Associations of the items of X."""
        return self.phi[: self.sizes[0]]

    @property
    def y(self) -> Floats:
        """Associations of the items of Y."""
        return self.phi[self.sizes[0] :]

    @property
    def nearer(self) -> Floats:
        """How much nearer X is to each attribute than Y."""
        return np.asarray(np.subtract(*(side.mean(axis=0) for side in np.split(self.block, self.sizes[:1]))))

    @property
    def places(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Rows of X and of Y, columns of A and of B."""
        n, m, na, nb = self.sizes
        (x, y), (a, b) = np.split(np.arange(n + m), [n]), np.split(np.arange(na + nb), [na])
        return x, y, a, b

    @property
    def spread(self) -> bool:
        """Whether the associations of X and Y together differ at all."""
        return bool(has_spread(self.phi))

    @property
    def difference(self) -> float:
        """Mean association of X minus that of Y."""
        return float(self.x.mean() - self.y.mean())

    @property
    def infers(self) -> bool:
        """Whether interval, null and p are wanted and possible."""
        return self.inference == "auto" and not self.empty and self.spread

    @property
    def params(self) -> Fields:
        """What tells this finding from others of its name."""
        if self.mode == "paper" or self.alternative == "two_sided":
            return super().params
        return {**super().params, "alternative": self.alternative}

    def stream(self, *purpose: object) -> Rng:
        """The random stream for one purpose; metrics of one test share it."""
        return stream(self.seed, "association", self.evidence.form, *self.targets, *self.attributes, *purpose)

    @cached_property
    def permutations(self) -> Permutations:
        """What exchanging items between X and Y gives; metrics of one test share it.

        Beyond 20,000 items, where sampling is slow and says no more, all p are normal tails.
        """
        units, (n, _) = self.exchanged_items(self.phi)
        key = ("permutations", self.targets, self.attributes, self.seed, n, hash(units.tobytes()))

        def make() -> Permutations:
            many, rng = units.size > _SAMPLED, self.stream("partitions")
            options = {"draws": 9, "exact_up_to": 0} if many else {}
            test = permutation_test(units[:n], units[n:], rng=rng, **options)
            if not many:
                return test
            right, left, either = test.normal_right, test.normal_left, test.normal_two_sided
            return replace(test, right=right, left=left, two_sided=either, method="normal", partitions=0)

        return get_or_make(self.evidence.memo, key, make)

    @property
    def p_items(self) -> float | None:
        """The p of the alternative over targets alone, attributes as they are: exact, or from draws."""
        test = self.permutations
        p_values = {"two_sided": test.two_sided, "greater": test.right, "less": test.left}
        return number(p_values[self.alternative])

    def inferred(self, statistic: str, ddof: int) -> Fields:
        """Null band, p and interval of ``d`` or ``difference`` over targets and attributes.

        In paper mode p is over targets alone.
        """
        n, m, na, nb = self.sizes
        fixed = min(self.units[2:]) < 2
        estimate = two_way(self.cells, Sizes(n, m, na, nb, fixed), statistic, ddof, self.families)
        over, beside = self.sampled("targets", "attributes")
        if estimate is None:
            least = "three items" if self.families[0] is None else "three families"
            few = min(self.units[:2]) < 3
            why = f"X and Y need {least} each" if few else "neither X nor Y varies within itself"
            fields: Fields = {"notes": [f"no interval, and no p over {over} and {beside}: {why}"]}
        else:
            single = "attribute" if self.families[1] is None else "family"
            what = f"{over}; a set of one {single} is no sample" if fixed else f"{over} and {beside}"
            fields = crossed_fields(estimate, f"t over {what}", "no difference", self.alternative)
        if self.mode == "paper":
            scale = 1 / float(self.phi.std(ddof=ddof)) if statistic == "d" else 1.0
            bound = effect_bound(n, m, ddof) if statistic == "d" else np.inf
            null = partition_null(self.phi, n, scale, bound, self.stream("band"), self.seed, "targets")
            fields |= {"p_value": self.p_items, "null": null}
        return fields

    def p_details(self) -> NewDetails:
        """All p-values of the permutation test and how they came about; nothing where none is wanted."""
        if not self.infers:
            return {}
        test = self.permutations
        return {
            "p_items": self.p_items,
            "p_right": test.right,
            "p_left": test.left,
            "p_two_sided": test.two_sided,
            "p_right_normal": test.normal_right,
            "p_left_normal": test.normal_left,
            "p_two_sided_normal": test.normal_two_sided,
            "z": test.z,
            "partitions": test.partitions,
            "method": test.method,
        }

    def scale_details(self, ddof: int) -> NewDetails:
        """The same difference on other scales; what has no spread to be measured in is None."""
        n, m, na, nb = self.sizes
        details: NewDetails = {"n_x": n, "n_y": m, "n_a": na, "n_b": nb}
        if self.empty:
            return details
        return details | {
            "difference": self.difference,
            "bound": effect_bound(n, m, ddof),
            "effect_size": effect_size(self.x, self.y, ddof),
            "cohens_d": cohens_d(self.x, self.y),
            "auc": auc(self.x, self.y),
            "point_biserial": point_biserial(self.x, self.y),
        }

    def finding(self, params: Fields, value: float | None, reason: str | None, **fields: Any) -> Finding:
        """A Finding with what the comparison and the definition say filled in."""
        notes = [*self._notes(), *fields.pop("notes", [])]
        return super().finding(params, value, reason, parts=self._parts(), notes=notes, **fields)

    def _parts(self) -> list[Part]:
        parts = []
        for name, phi in zip(self.targets, (self.x, self.y), strict=True):
            sd = phi.std(ddof=1) if phi.size > 1 and not self.empty else None
            value, reason = (None, "empty_set") if self.empty else (phi.mean(), None)
            parts.append(part("set", name, value, reason=reason, details={"sd": sd}, n=phi.size))
        return parts

    def _notes(self) -> list[str]:
        n, m, na, _ = self.sizes
        notes = []
        pairs = (("targets", self.items, n, self.targets), ("attributes", self.words, na, self.attributes))
        for what, ids, cut, (x, y) in pairs:
            n_shared = len(set(ids[:cut]) & set(ids[cut:]))
            if n_shared:
                notes.append(f"{x!r} and {y!r} share {n_shared} of their {what}; they count in both")
        twice = set(self.items) & set(self.words) if self.evidence.kind == "cosine" else set()
        if twice:
            notes.append(f"targets that are attributes too, and so look tied to these: {len(twice)}")
        if self.infers and self.mode == "paper":
            notes.append("p is that of the right tail: X tied more to the first set of attributes than Y is")
        bound = effect_bound(n, m, 0)
        if bound > _WIDE:
            notes.append(
                f"with {n} and {m} items |d| can reach {bound:.2f} where equal sizes reach 2; "
                "do not compare it with effect sizes of equal sets"
            )
        return notes


def _read_sets(
    evidence: Similarities, rows: Sequence[Integers], across: Integers, na: int, reading: Reading | None
) -> tuple[Integers, Floats | None, Floats]:
    """Rows of both sets, each in the order of its associations; what is averaged (None: the block); these."""
    blocks = [evidence.values[np.ix_(indices, across)] for indices in rows]
    cells = blocks if reading is None else [reading(block, na) for block in blocks]
    a, b = np.arange(na), np.arange(na, across.size)
    some = bool(a.size and b.size)  # else there is nothing to take for an association
    phis = [associations(cell, a, b) if some else np.zeros(len(cell)) for cell in cells]
    orders = [np.argsort(phi, kind="stable") for phi in phis]

    def ordered(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate([part[order] for part, order in zip(parts, orders, strict=True)])

    return ordered(rows), None if reading is None else ordered(cells), ordered(phis)


def effects_without(comparison: SetComparison, ddof: int) -> Ends:
    """The effect size without each target, and without each attribute; NaN where it is undefined.

    Of more than 20 million similarities, attributes are not left out in turn, and theirs are NaN.
    """
    targets = leave_one_out(comparison.x, comparison.y, ddof)
    if comparison.block.size > MOST_CELLS:
        return targets, np.full(len(comparison.words), np.nan)
    return targets, leave_one_attribute_out(comparison.block, *comparison.places, ddof)


def differences_without(comparison: SetComparison) -> Ends:
    """The mean difference without each target, and without each attribute."""
    nearer = np.split(comparison.nearer, [comparison.sizes[2]])
    return _means_without(comparison.x, comparison.y), _means_without(*nearer)


def _means_without(first: Floats, second: Floats) -> Floats:
    """The difference of two means without each number; NaN where it is the only one of its set."""
    near, far = (
        (numbers.sum() - numbers) / (numbers.size - 1) if numbers.size > 1 else np.full(1, np.nan)
        for numbers in (first, second)
    )
    return np.concatenate([near - second.mean(), first.mean() - far])


def left_out(comparison: SetComparison, targets: Floats, words: Floats) -> NewDetails:
    """The range of a value without one target or attribute, and which one gives each end."""
    values, ids = np.concatenate([targets, words]), (*comparison.items, *comparison.words)
    if np.isnan(values).all():
        return {}
    low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
    return {
        "without_low": values[low], "without_low_item": ids[low],
        "without_high": values[high], "without_high_item": ids[high],
    }  # fmt: skip
