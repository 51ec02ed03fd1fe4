"""What the first lines of a run call things: its rows, columns and attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.core.nouns import Nouns, words_of
from evenhand.core.significance import ALPHA, alpha_of

_PLAIN = Nouns()


@dataclass(frozen=True)
class Subject:
    """What a run is about.

    Attributes:
        noun: What its rows are, in the plural.
        nouns: Those of its benchmark.
        truth: The column of true labels.
        prediction: The column of predictions.
        rows: Rows that were read; None: not known.
        alpha: Level of the tests.
        is_audit: Whether rows are those of a user's table, with their own columns.
    """

    noun: str = "rows"
    nouns: Nouns = _PLAIN
    truth: str = "truth"
    prediction: str = "prediction"
    rows: float | None = None
    alpha: float = ALPHA
    is_audit: bool = False

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> Subject:
        """From the manifest of a run."""
        nouns, is_audit = words_of(manifest).nouns, manifest.get("kind") == "audit"
        return cls(
            noun=str(manifest.get("noun") or ("rows" if is_audit else nouns.sample[1])),
            nouns=nouns,
            truth=str(manifest.get("truth") or "truth"),
            prediction=str(manifest.get("prediction") or "prediction"),
            rows=manifest.get("rows"),
            alpha=alpha_of(manifest),
            is_audit=is_audit,
        )

    def attribute(self, grouping: str) -> str:
        """A grouping in words; columns of a user's table keep their names."""
        if self.is_audit:
            return grouping
        return " × ".join(map(self.nouns.attribute, grouping.split("+")))
