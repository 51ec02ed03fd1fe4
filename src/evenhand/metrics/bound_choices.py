"""Choices bound to one grouping and one selection of samples, with the rates of both genders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.bound import BoundMetric
from evenhand.core.errors import InputError
from evenhand.core.results import Dropped, Finding, GroupSize, Key
from evenhand.evidence.choices import OUTCOMES, Choices, Where
from evenhand.metrics.definitions import DEFINITIONS
from evenhand.metrics.prepared import LEVEL, By, names_of
from evenhand.stats.choices import FEWEST_CLUSTERS, Rate, rate

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rows:
    """The samples of one piece of a finding.

    Attributes:
        values: How much each counts as the outcome, whole numbers of ``1/unit``, shape (N,).
        unit: What counts as one.
        second: Whether the truth is the second gender, shape (N,).
        stratum: Codes within which genders are exchanged, shape (N,).
        cluster: Codes below ``width``, or None.
        width: How many clusters there are in all.
    """

    values: Integers
    unit: int
    second: Mask
    stratum: Integers
    cluster: Integers | None
    width: int

    def take(self, chosen: Mask) -> Rows:
        """Fewer samples."""
        cluster = None if self.cluster is None else self.cluster[chosen]
        return Rows(
            self.values[chosen], self.unit, self.second[chosen], self.stratum[chosen], cluster, self.width
        )

    @property
    def sizes(self) -> tuple[int, int]:
        """Samples of the two genders."""
        other = int(self.second.sum())
        return self.second.size - other, other

    @cached_property
    def shares(self) -> tuple[float | None, float | None]:
        """The outcome's share among each gender; None where there is no sample."""
        first, second = (
            float(self.values[mask].sum() / self.unit / n) if n else None
            for mask, n in zip((~self.second, self.second), self.sizes, strict=True)
        )
        return first, second

    def value(self, weight: tuple[float, float]) -> float | None:
        """The mean or the gap of the shares; None without both genders."""
        first, second = self.shares
        return None if first is None or second is None else weight[0] * first + weight[1] * second

    @property
    def reason(self) -> str | None:
        """Why there is no value."""
        if not self.second.size:
            return "empty"
        return None if all(self.sizes) else "single_group"

    @cached_property
    def clustered(self) -> int:
        """How many clusters intervals heed; 0 if they treat samples as independent."""
        found = 0 if self.cluster is None else int(np.unique(self.cluster).size)
        return found if found >= FEWEST_CLUSTERS else 0

    def rate(self, which: int) -> Rate:
        """One gender's share with its interval; there must be samples."""
        mask = self.second == bool(which)
        cluster = self.cluster[mask] if self.clustered and self.cluster is not None else None
        return rate(self.values[mask] / self.unit, cluster, self.width, LEVEL)


@dataclass(frozen=True, eq=False)
class Bound:
    """Choices under one grouping and selection.

    Attributes:
        choices: The evidence.
        by: Attributes crossed for parts.
        where: Selection of samples.
        mode: ``default`` or ``paper``.
        chosen: Usable rows that are in it, shape (usable,).
        groups: The groups that occur, sorted: one value per attribute of ``by``.
        group: Group of each row in it.
        dropped: Samples left out, by reason.
    """

    choices: Choices
    by: tuple[str, ...]
    where: Where
    mode: str
    chosen: Mask
    groups: list[tuple[str, ...]]
    group: Integers
    dropped: list[Dropped]
    memo: dict[str, Rows] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, evidence: Any, by: By, where: Where | None, mode: str = "default") -> Bound:
        """Bind choices to a grouping and a selection.

        Raises:
            InputError: The evidence is not Choices.
            UnknownName: An attribute or value that does not exist.
        """
        if not isinstance(evidence, Choices):
            given = type(evidence).__name__
            raise InputError(f"this metric takes Choices, not {given}; make them with Choices.join")
        names = names_of(by)
        for name in names:
            evidence.check_attribute(name)
        inside = evidence.selected(where or {})
        usable = evidence.reason.is_null().to_numpy()
        counts: dict[str, int] = {}
        for reason in evidence.reason.to_numpy()[inside & ~usable].tolist():
            counts[reason] = counts.get(reason, 0) + 1
        if evidence.unannotated:
            counts["not annotated"] = evidence.unannotated
        chosen = inside[usable].copy()
        columns = [evidence.table[name].cast(pl.String) for name in names]
        for name, column in zip(names, columns, strict=True):
            missing = chosen & column.is_null().to_numpy()
            if missing.any():
                counts[f"missing {name}"] = int(missing.sum())
                chosen &= ~missing
        keys = list(zip(*(column.to_numpy()[chosen].tolist() for column in columns), strict=True))
        groups = sorted(set(keys))
        position = {key: index for index, key in enumerate(groups)}
        group = np.array(
            [position[key] for key in keys] if names else [0] * int(chosen.sum()), dtype=np.int64
        )
        dropped = [Dropped(reason=reason, count=count) for reason, count in sorted(counts.items())]
        return cls(evidence, names, where or {}, mode, chosen, groups, group, dropped)

    def rows(self, outcome: str) -> Rows:
        """All rows in it."""
        if outcome not in self.memo:
            choices = self.choices
            values, unit = choices.outcomes("first" if self.mode == "paper" else "share")
            cluster = _codes(choices, [choices.cluster])[self.chosen] if choices.cluster else None
            self.memo[outcome] = Rows(
                values[self.chosen, OUTCOMES.index(outcome)],
                unit,
                (choices.table["truth"] == choices.genders[1]).to_numpy()[self.chosen],
                _codes(choices, choices.strata)[self.chosen],
                cluster,
                0 if cluster is None or not cluster.size else int(cluster.max()) + 1,
            )
        return self.memo[outcome]

    @property
    def params(self) -> dict[str, Any]:
        """What tells a finding from others of its name and grouping."""
        chosen = [
            f"{name}={value if isinstance(value, str) else '|'.join(value)}"
            for name, value in sorted(self.where.items())
        ]
        return {
            "candidates": "/".join(self.choices.candidates),
            **({"where": ",".join(chosen)} if chosen else {}),
            **self.choices.facts,
            **({"mode": self.mode} if self.mode == "paper" else {}),
        }

    def key(self, code: int) -> Key:
        """A group as findings write it."""
        values = list(self.groups[code])
        return values[0] if len(values) == 1 else values

    def group_sizes(self) -> list[GroupSize]:
        """Samples of each group, or of each gender where there is no grouping."""
        if self.by:
            sizes = np.bincount(self.group, minlength=len(self.groups)).tolist()
            return [GroupSize(key=self.key(code), n=n) for code, n in enumerate(sizes)]
        sizes = list(self.rows("correct").sizes)
        return [GroupSize(key=g, n=n) for g, n in zip(self.choices.genders, sizes, strict=True) if n]

    def finding(self, name: str, value: float | None, params: dict[str, Any], **fields: Any) -> Finding:
        """A Finding with what the binding and the definition say filled in."""
        definition = DEFINITIONS[name]
        tied = int(self.choices.tied[self.chosen].sum())
        notes = list(fields.pop("notes", []))
        if tied:
            how = "the first counts" if self.mode == "paper" else "they share the weight"
            notes.append(f"{tied} samples have several candidates with the highest score; {how}")
        return Finding(
            metric=str(BoundMetric.make(name, self.by, params)),
            name=name,
            params=params,
            by=list(self.by),
            value=value,
            n=int(self.chosen.sum()),
            groups=self.group_sizes(),
            dropped=self.dropped + list(fields.pop("dropped", [])),
            direction=definition.direction,
            fair_at=definition.fair_at,
            source=definition.source,
            notes=notes,
            **fields,
        )


def _codes(choices: Choices, names: Sequence[str]) -> Integers:
    """One code per usable row for the crossed attributes; a missing value is a value of its own."""
    if not names:
        return np.zeros(choices.table.height, dtype=np.int64)
    key = ("codes", tuple(names))
    if key not in choices.memo:
        texts = [pl.col(name).cast(pl.String).fill_null("") for name in names]
        ranked = choices.table.select(code=pl.concat_str(texts, separator="\x1f").rank("dense"))
        choices.memo[key] = ranked["code"].to_numpy().astype(np.int64) - 1
    codes: Integers = choices.memo[key]
    return codes
