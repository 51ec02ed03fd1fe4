"""What metrics by group share: the fields of their findings, and what chance does to a gap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.results import Finding
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.metrics.building import described, hull_interval, null_band, resampled_p
from evenhand.metrics.label_groups import LabelGroups
from evenhand.metrics.prepared import LEVEL
from evenhand.metrics.query_groups import QueryGroups

Floats = npt.NDArray[np.float64]
Details = dict[str, float | str | None]


@dataclass(frozen=True, eq=False)
class GroupQuestion(ABC):
    """What one metric asks of evidence that is bound to a grouping.

    Attributes:
        bound: The samples or queries by group.
        name: Name of the metric.
        unknown: ``keep`` or ``exclude`` those whose annotators could not tell.
        mode: ``default`` or ``paper``.
        infers: Whether intervals, null bands and p are wanted.
        seed: Of the resampling.
    """

    bound: LabelGroups | QueryGroups
    name: str
    unknown: str
    mode: str
    infers: bool
    seed: int

    @property
    @abstractmethod
    def units(self) -> str:
        """What is exchanged and resampled."""

    @cached_property
    def fixed(self) -> bool:
        """Whether each compared group is a single cluster, so that nothing can change places."""
        cluster = self.bound.cluster
        if cluster is None:
            return False
        inside = self.bound.known[self.bound.group]
        pairs = np.unique(np.stack([self.bound.group[inside], cluster[inside]]), axis=1)
        return bool(pairs.shape[1] == np.unique(pairs[1]).size == self.bound.known.sum())

    def described(
        self,
        value: float | None,
        params: Mapping[str, Any],
        facts: Mapping[str, Any],
        remarks: list[str],
        **fields: Any,
    ) -> Finding:
        """A Finding with what the grouping and the definition say filled in.

        Args:
            value: The value, None when not estimable.
            params: The metric's own parameters.
            facts: What else tells the evidence from others.
            remarks: What to know about the evidence; ``notes`` of the fields follow.
            fields: Further fields of Finding.
        """
        told: dict[str, Any] = {
            **params,
            **({"unknown": self.unknown} if self.unknown != "keep" else {}),
            **facts,
            **({"mode": self.mode} if self.mode == "paper" else {}),
        }
        notes = remarks + fields.pop("notes", [])
        return described(self.bound, self.name, told, value, notes=notes, **fields)

    def extremes(self, numbers: Floats, what: str) -> Details:
        """The known groups with the highest and the lowest number, for the details of a gap.

        Args:
            numbers: One for each known group.
            what: What they are, such as ``rate``.
        """
        known = np.flatnonzero(self.bound.known)
        highest, lowest = int(known[numbers.argmax()]), int(known[numbers.argmin()])
        return {
            "highest": "*".join(self.bound.groups[highest]),
            f"highest_{what}": float(numbers.max()),
            "lowest": "*".join(self.bound.groups[lowest]),
            f"lowest_{what}": float(numbers.min()),
        }

    def not_compared(self) -> list[str]:
        """Notes that name the groups that are not compared, by why; nothing where there are none."""
        notes: dict[str, list[str]] = {}
        for code in np.flatnonzero(~self.bound.known).tolist():
            group = self.bound.groups[code]
            unknown = any(value.lower() in UNKNOWN for value in group)
            why = "their group is not known" if unknown else "the database has nobody like them"
            notes.setdefault(why, []).append("*".join(group))
        return [f"not compared, because {why}: {', '.join(groups)}" for why, groups in notes.items()]

    def untested(self) -> dict[str, Any]:
        """Fields of a gap without interval, null and p: why, where tests are wanted."""
        return {"reason": "one_cluster"} if self.infers else {}

    def gap_inference(
        self, value: float, null: Floats, draws: Floats, mover: tuple[float, float]
    ) -> dict[str, Any]:
        """Interval, null and p of a largest minus a smallest number.

        The largest of many differences is far from 0 in fair data too. The test knows how far, so the
        interval begins at 0 where p is above .05.

        Args:
            value: The gap.
            null: Gaps of groups exchanged at random.
            draws: Gaps of bootstrap replicates.
            mover: Ends of the MOVER interval.
        """
        p_value = resampled_p(null, value, "high")
        method = (
            f"bootstrap of {self.units}, percentile and basic, and MOVER of the extreme groups together; "
            "from 0 where p > .05"
        )
        interval = hull_interval(draws, value, level=LEVEL, method=method, seed=self.seed)
        if interval is not None:
            fair = p_value is None or p_value > 1 - LEVEL
            low = 0.0 if fair else max(min(interval.low, mover[0]), 0.0)
            high = min(max(interval.high, mover[1]), 1.0)
            interval = interval.model_copy(update={"low": low, "high": high})
        exchanged = f"groups exchanged by {self.units}"
        band = null_band(null, level=LEVEL, method=exchanged, seed=self.seed)
        return {"interval": interval, "null": band, "p_value": p_value}
