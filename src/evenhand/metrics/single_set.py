"""One set of targets beside two sets of attributes: what single-category metrics share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import ParameterError
from evenhand.core.results import Finding, GroupSize
from evenhand.core.seeds import stream
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.similarity_findings import by_name, by_value, check_evidence, finding_of, pair_of

Floats: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SingleSet:
    """A set of targets and two sets of attributes, checked and bound, in an order that their values give.

    Attributes:
        name: The metric's name.
        evidence: The similarities.
        target: Name of the set of targets.
        attributes: Names of A and B.
        block: Similarities of its items with those of A, then B; shape (n, na + nb).
        items: Ids of the rows.
        words: Ids of the columns.
        na: Size of A.
        mode: ``default`` or ``paper``.
        inference: ``auto`` or ``none``.
        seed: Of every random stream.
    """

    name: str
    evidence: Similarities
    target: str
    attributes: tuple[str, str]
    block: Floats
    items: tuple[str, ...]
    words: tuple[str, ...]
    na: int
    mode: str
    inference: str
    seed: int

    @classmethod
    def make(
        cls,
        name: str,
        evidence: Similarities,
        target: str,
        attributes: Sequence[str],
        *,
        mode: str,
        inference: str,
        seed: int,
    ) -> SingleSet:
        """Check what every metric of one set takes.

        Raises:
            UserError: No Similarities, an unknown set or option, or one set twice.
        """
        check_evidence(name, evidence, mode, inference, seed)
        if not isinstance(target, str):
            raise ParameterError(f"target={target!r} is not possible; name one set of targets")
        pair = pair_of("attributes", attributes)
        rows = by_name(evidence.targets, evidence.target_rows(target))
        columns = [by_name(evidence.attributes, evidence.attribute_columns(each)) for each in pair]
        if rows.size:
            columns = [by_value(evidence.values[np.ix_(rows, c)].mean(axis=0), c) for c in columns]
        across = np.concatenate(columns)
        rows = by_value(evidence.values[np.ix_(rows, across)].sum(axis=1), rows)
        return cls(
            name,
            evidence,
            target,
            pair,
            evidence.values[np.ix_(rows, across)],
            tuple(evidence.targets[i] for i in rows.tolist()),
            tuple(evidence.attributes[i] for i in across.tolist()),
            columns[0].size,
            mode,
            inference,
            seed,
        )

    @property
    def n(self) -> int:
        """Items of the set."""
        return len(self.items)

    @property
    def nb(self) -> int:
        """Size of B."""
        return len(self.words) - self.na

    @property
    def empty(self) -> bool:
        """Whether a set has no usable item."""
        return min(self.n, self.na, self.nb) == 0

    @property
    def in_both(self) -> Mask:
        """Columns whose attribute stands in A and in B."""
        both = set(self.words[: self.na]) & set(self.words[self.na :])
        return np.array([word in both for word in self.words], dtype=bool)

    def stream(self, *purpose: object) -> np.random.Generator:
        """The random stream for one purpose."""
        return stream(self.seed, self.name, self.evidence.form, self.target, *self.attributes, *purpose)

    def finding(
        self, params: dict[str, Any], value: float | None, reason: str | None, **fields: Any
    ) -> Finding:
        """A Finding with what the set and the definition say filled in."""
        given: dict[str, Any] = {"form": self.evidence.form or None, "target": self.target}
        given |= {"attributes": list(self.attributes), **params}
        if self.mode == "paper":
            given["mode"] = "paper"
        sizes = zip((self.target, *self.attributes), (self.n, self.na, self.nb), strict=True)
        notes = [f"the set {name!r} has no usable item" for name, size in sizes if not size]
        return finding_of(
            self.name,
            self.evidence,
            given,
            ((self.target,), self.attributes),
            value=value,
            reason=reason if value is None else None,
            n=self.n,
            groups=[GroupSize(key=self.target, n=self.n)],
            notes=notes + fields.pop("notes", []),
            **fields,
        )
