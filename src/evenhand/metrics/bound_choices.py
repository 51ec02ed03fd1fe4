"""Choices bound to one grouping and one selection of samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.results import Dropped, Finding, GroupSize
from evenhand.evidence.choices import OUTCOMES, Choices, Where
from evenhand.metrics.building import as_finding
from evenhand.metrics.choice_rows import Rows
from evenhand.metrics.named_groups import NamedGroups, check_kind, coded, dropped_of, left_out, missing, texts
from evenhand.metrics.prepared import By, names_of

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Bound(NamedGroups):
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
        check_kind(evidence, Choices, "Choices.join")
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
        columns = texts(evidence.table, names)
        chosen = left_out(inside[usable], missing(columns), counts)
        groups, group = coded(columns, chosen)
        return cls(evidence, names, where or {}, mode, chosen, groups, group, dropped_of(counts))

    def units(self, rows: Rows) -> str:
        """What is drawn as a whole in these rows, in words."""
        return "rows" if rows.cluster is None else f"values of {self.choices.cluster}"

    def piece(self, rows: Rows, code: int) -> Rows:
        """The rows of one group.

        A group that is one value of the cluster's attribute is not drawn from others like it: its rows are.
        """
        rows = rows.take(self.group == code)
        return replace(rows, cluster=None) if self.choices.cluster in self.by else rows

    def rows(self, outcome: str) -> Rows:
        """All rows in it."""
        if outcome not in self.memo:
            choices = self.choices
            values, unit = choices.outcomes("first" if self.mode == "paper" else "share")
            turned = {"correct": "misgendered", "misgendered": "correct"}.get(outcome, outcome)
            self.memo[outcome] = Rows(
                values[self.chosen, OUTCOMES.index(outcome)],
                values[self.chosen, OUTCOMES.index(turned)],
                unit,
                (choices.table["truth"] == choices.genders[1]).to_numpy()[self.chosen],
                _codes(choices, choices.strata)[self.chosen],
                _codes(choices, [choices.cluster])[self.chosen] if choices.cluster else None,
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

    def group_sizes(self) -> list[GroupSize]:
        """Samples of each group, or of each gender where there is no grouping."""
        if self.by:
            return super().group_sizes()
        sizes = list(self.rows("correct").sizes)
        return [GroupSize(key=g, n=n) for g, n in zip(self.choices.genders, sizes, strict=True) if n]

    def finding(self, name: str, value: float | None, params: dict[str, Any], **fields: Any) -> Finding:
        """A Finding with what the binding and the definition say filled in."""
        tied = int(self.choices.tied[self.chosen].sum())
        notes = list(fields.pop("notes", []))
        if tied:
            how = "the first counts" if self.mode == "paper" else "they share the weight"
            notes.append(f"{tied} samples have several candidates with the highest score; {how}")
        fields |= {"notes": notes, "n": int(self.chosen.sum()), "groups": self.group_sizes()}
        fields["dropped"] = self.dropped + fields.get("dropped", [])
        return as_finding(name, self.by, params, value=value, **fields)


def _codes(choices: Choices, names: Sequence[str]) -> Integers:
    """One code per usable row for the crossed attributes; a missing value is a value of its own."""
    if not names:
        return np.zeros(choices.table.height, dtype=np.int64)
    key = ("codes", tuple(names))
    if key not in choices.memo:
        values = [pl.col(name).cast(pl.String).fill_null("") for name in names]
        ranked = choices.table.select(code=pl.concat_str(values, separator="\x1f").rank("dense"))
        choices.memo[key] = ranked["code"].to_numpy().astype(np.int64) - 1
    codes: Integers = choices.memo[key]
    return codes
