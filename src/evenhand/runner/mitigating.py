"""A mitigation acts on a run's embeddings: after asking, before measuring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from evenhand.benchmarks.declaration import Plan
from evenhand.core.errors import UserError
from evenhand.mitigate.mitigation import Mitigation

MODALITIES: Mapping[str, str] = {"embeds_images": "image", "embeds_texts": "text"}


@dataclass(frozen=True, eq=False)
class Applied:
    """A mitigation that a run is measured with; the model is asked as ever, and its raw answers are kept."""

    mitigation: Mitigation

    @classmethod
    def read(cls, given: str | Path | Mitigation) -> Self:
        """From a mitigation, or from the file that ``Mitigation.save`` wrote.

        Raises:
            InputError: No such file, or not a mitigation's.
        """
        return cls(given if isinstance(given, Mitigation) else Mitigation.load(Path(given).expanduser()))

    def short_name(self) -> str:
        """Name and the beginning of the fingerprint: two of one method stay apart in names of folders."""
        return f"{self.mitigation.name}-{self.mitigation.fingerprint()[:8]}"

    def check(self, plan: Plan, benchmark: str) -> None:
        """Refuse, before anything is asked, a plan without embeddings that this mitigation changes.

        Raises:
            UserError: There are none.
        """
        asked = {MODALITIES[one.capability] for one in plan.questions if one.capability in MODALITIES}
        if not asked:
            capabilities = ", ".join(sorted({one.capability for one in plan.questions})) or "nothing"
            raise UserError(
                f"a mitigation changes embeddings, and {benchmark} asks this model for {capabilities}; leave "
                "--mitigation out, or give a model that has embeds_images or embeds_texts"
            )
        changed = set(self.mitigation.maps)
        if changed and not changed & asked:
            raise UserError(
                f"this mitigation ({self.mitigation.name}) changes vectors of {_and(changed)} only, and "
                f"{benchmark} asks for vectors of {_and(asked)}; leave --mitigation out, or fit another with "
                "evenhand debias"
            )

    def tables(self, tables: Mapping[str, pl.LazyFrame], plan: Plan) -> dict[str, pl.LazyFrame]:
        """The evidence with its embeddings changed, still lazy; the files are not touched.

        Args:
            tables: A lazy table for each question.
            plan: Which of them are embeddings.

        Raises:
            InputError: Vectors of another number of dimensions than the mitigation's.
        """
        changed = dict(tables)
        for question in plan.questions:
            if question.capability in MODALITIES:
                self._check_dimensions(tables[question.name], MODALITIES[question.capability])
                changed[question.name] = self.mitigation.transform_table(tables[question.name])
        return changed

    def _check_dimensions(self, table: pl.LazyFrame, modality: str) -> None:
        """Change one vector at once: a mistake comes as one line now, not from within a query."""
        first = table.select("vector").head(1).collect()
        if len(first):
            self.mitigation.transform(np.asarray(first["vector"].to_list(), dtype=np.float64), modality)

    def settings(self, plan: Plan, model: str) -> dict[str, Any]:
        """For the manifest: which mitigation acted, on what; and what the model is called with it."""
        asked = {MODALITIES[one.capability] for one in plan.questions if one.capability in MODALITIES}
        acted = {name: "changed" if name in self.mitigation.maps else "as it was" for name in sorted(asked)}
        card = self.mitigation.card()
        said = {**{key: card[key] for key in ("name", "fingerprint", "params")}, "vectors": acted}
        return {"model": f"{model} + {self.mitigation.name}", "mitigation": said}


def _and(names: set[str]) -> str:
    return " and ".join(sorted(names))
