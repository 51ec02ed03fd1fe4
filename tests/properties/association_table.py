"""One table of all metrics of Similarities, and evidence that any of them can take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from evenhand import Similarities, metrics
from evenhand.core.findings import Finding

TARGETS, ATTRIBUTES = ("X", "Y"), ("A", "B")


@dataclass(frozen=True)
class Case:
    """One metric under one choice of options.

    Attributes:
        name: Which metric.
        options: Its options.
        kind: What its similarities are.
        both: Whether it compares two sets of targets.
        signed: Whether exchanging the sets of attributes (or of targets) changes the sign.
        scale_free: Whether the value stays when every item occurs twice.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    kind: str = "cosine"
    both: bool = True
    signed: bool = True
    scale_free: bool = True

    def __call__(self, evidence: Similarities, seed: int = 0, **more: Any) -> Finding:
        """The finding on X and Y (or X alone) with A and B."""
        sets: dict[str, Any] = {"targets": TARGETS} if self.both else {"target": "X"}
        metric: Callable[..., Finding] = getattr(metrics, self.name)
        return metric(evidence, **{**sets, "attributes": ATTRIBUTES, "seed": seed, **self.options, **more})

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{key}={value}" for key, value in self.options.items())])


PROBABILITY = "probability"
CASES = [
    Case("association_effect_size", scale_free=False),
    Case("association_effect_size", {"ddof": 0}),
    Case("association_difference"),
    Case("match_association", {"k": 5}, PROBABILITY),
    Case("match_association", {"k": 5, "standardised": True}, PROBABILITY, scale_free=False),
    Case("match_association", {"k": 5, "reading": "per_image_joint_share"}, PROBABILITY),
    Case("match_association", {"k": 5, "reading": "per_image_per_set"}, PROBABILITY),
    Case("match_association", {"k": 5, "reading": "per_group"}, PROBABILITY),
    Case("single_category_association", both=False),
    Case("pleasant_at_k", {"k": 5, "scale": 10.0}, both=False, signed=False),
    Case("pleasant_at_k", {"k": 5, "reading": "argmax"}, both=False, signed=False),
    Case("pleasant_at_k", {"k": 5, "reading": "cosine"}, both=False, signed=False),
]


@dataclass(frozen=True)
class Material:
    """Values with the items of each set, as tables hold them.

    Attributes:
        values: Shape (n + m, na + nb).
        targets: X and Y to their items.
        attributes: A and B to theirs.
        kind: What the values are.
    """

    values: np.ndarray
    targets: dict[str, list[str]]
    attributes: dict[str, list[str]]
    kind: str

    def table(self) -> pl.DataFrame:
        """The values as scores of samples and candidates."""
        rows = [item for items in self.targets.values() for item in items]
        columns = [item for items in self.attributes.values() for item in items]
        return pl.DataFrame(
            {
                "sample": np.repeat(rows, len(columns)),
                "candidate": np.tile(columns, len(rows)),
                "score": self.values.ravel(),
            }
        )

    def similarities(self, seed: int | None = None) -> Similarities:
        """From a table of scores, in a random order of rows and of items where a seed is given."""
        table, targets, attributes = self.table(), self.targets, self.attributes
        if seed is not None:
            rng = np.random.default_rng(seed)
            table = table.sample(fraction=1, shuffle=True, seed=seed)
            targets, attributes = (
                {name: rng.permutation(items).tolist() for name, items in reversed(sets.items())}
                for sets in (targets, attributes)
            )
        return Similarities.from_scores(table.lazy(), targets, attributes, form="test", kind=self.kind)

    def renamed(self) -> Material:
        """Other ids in another alphabetical order."""
        count = [0]

        def named(items: list[str]) -> list[str]:
            count[0] -= len(items)
            return [f"i{1000 + count[0] + place}" for place in reversed(range(len(items)))]

        targets = {name: named(items) for name, items in self.targets.items()}
        return Material(
            self.values, targets, {name: named(items) for name, items in self.attributes.items()}, self.kind
        )

    def repeated(self) -> Material:
        """Every target twice."""
        targets = {name: [*items, *(f"{i}'" for i in items)] for name, items in self.targets.items()}
        n = len(self.targets["X"])
        x, y = self.values[:n], self.values[n:]
        return Material(np.concatenate([x, x, y, y]), targets, self.attributes, self.kind)

    def exchanged(self, side: str) -> Material:
        """The sets of a side under each other's name."""
        targets, attributes = dict(self.targets), dict(self.attributes)
        n, na = len(targets["X"]), len(attributes["A"])
        if side == "targets":
            targets = {"X": targets["Y"], "Y": targets["X"]}
            return Material(np.roll(self.values, -n, axis=0), targets, attributes, self.kind)
        attributes = {"A": attributes["B"], "B": attributes["A"]}
        return Material(np.roll(self.values, -na, axis=1), targets, attributes, self.kind)


def material(
    seed: int,
    kind: str = "cosine",
    *,
    sizes: tuple[int, int, int, int] = (9, 8, 7, 8),
    shift: float = 0.0,
) -> Material:
    """Random vectors; ``shift`` ties X to A and Y to B."""
    rng = np.random.default_rng(seed)
    n, m, na, nb = sizes
    rows, columns = rng.normal(size=(n + m, 12)), rng.normal(size=(na + nb, 12))
    rows[:, 0] += shift * np.repeat([1, -1], [n, m])
    columns[:, 0] += shift * np.repeat([1, -1], [na, nb])
    rows, columns = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (rows, columns))
    values = rows @ columns.T
    if kind == PROBABILITY:
        values = 1 / (1 + np.exp(-6 * values))
    targets = {"X": [f"x{i}" for i in range(n)], "Y": [f"y{i}" for i in range(m)]}
    attributes = {"A": [f"a{i}" for i in range(na)], "B": [f"b{i}" for i in range(nb)]}
    return Material(values, targets, attributes, kind)
