"""A mitigation acts on a run's embeddings: after asking, before measuring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Measured, Plan
from evenhand.benchmarks.tidy import noted
from evenhand.core.errors import UserError, one_line
from evenhand.mitigate.mitigation import Mitigation

MODALITIES: Mapping[str, str] = {"embeds_images": "image", "embeds_texts": "text"}


@dataclass(frozen=True, eq=False)
class Applied:
    """A mitigation that a run is measured with; the model is asked as ever, and its raw answers are kept."""

    mitigation: Mitigation

    @classmethod
    def read(cls, source: str | Path | Mitigation) -> Self:
        """From a mitigation, or from the file that ``Mitigation.save`` wrote."""
        return cls(source if isinstance(source, Mitigation) else Mitigation.load(Path(source).expanduser()))

    def short_name(self) -> str:
        """Name and the beginning of the fingerprint: two of one method stay apart in names of folders."""
        return f"{self.mitigation.name}-{self.mitigation.fingerprint()[:8]}"

    def check(self, plan: Plan[Any], benchmark: str) -> None:
        """Refuse, before anything is asked, a plan without embeddings that this mitigation changes."""
        modalities = {
            MODALITIES[question.capability]
            for question in plan.questions
            if question.capability in MODALITIES
        }
        if not modalities:
            capabilities = (
                ", ".join(sorted({question.capability for question in plan.questions})) or "nothing"
            )
            raise UserError(
                f"a mitigation changes embeddings, and {benchmark} asks this model for {capabilities}; leave "
                "--mitigation out, or give a model that has embeds_images or embeds_texts"
            )
        changed = set(self.mitigation.maps)
        if changed and not changed & modalities:
            raise UserError(
                f"this mitigation ({self.mitigation.name}) changes vectors of {_and(changed)} only, and "
                f"{benchmark} asks for vectors of {_and(modalities)}; leave --mitigation out, or fit another "
                "with evenhand debias"
            )

    def tables(self, tables: Mapping[str, pl.LazyFrame], plan: Plan[Any]) -> dict[str, pl.LazyFrame]:
        """The evidence with its embeddings changed, still lazy; the files are not touched."""
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

    def note(self, model: str, identity: Mapping[str, str]) -> str | None:
        """One line where it was fitted on vectors of another model than is asked; None where it was not."""
        other = another_model(self.mitigation.facts, {"model": model, "model_identity": dict(identity)})
        if other is None:
            return None
        return (
            f"the mitigation ({self.short_name()}) was fitted on vectors of {other}: of another model it "
            "promises nothing"
        )

    def noted(self, measured: Measured, note: str | None) -> Measured:
        """Findings that say so where it is of another model."""
        if note is None:
            return measured
        return replace(measured, findings=[noted(finding, note) for finding in measured.findings])

    def settings(self, plan: Plan[Any], model: str, note: str | None = None) -> dict[str, Any]:
        """For the manifest: which mitigation acted, on what; and what the model is called with it."""
        modalities = {
            MODALITIES[question.capability]
            for question in plan.questions
            if question.capability in MODALITIES
        }
        acted = {
            name: "changed" if name in self.mitigation.maps else "as it was" for name in sorted(modalities)
        }
        card = self.mitigation.card()
        mitigation_facts = {**{key: card[key] for key in ("name", "fingerprint", "params")}, "vectors": acted}
        fitted_on = self.mitigation.facts.get("model")
        if fitted_on is not None:
            mitigation_facts |= {"fitted_on": fitted_on, "asked": model, "note": note}
        return {"model": f"{model} + {self.mitigation.name}", "mitigation": mitigation_facts}


def model_facts(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Of which model a run is: ``model`` and ``model_identity``, as far as its manifest knows."""
    return {key: manifest[key] for key in ("model", "model_identity") if manifest.get(key)}


def another_model(first: Mapping[str, Any], second: Mapping[str, Any]) -> str | None:
    """Whether two runs are of different models: by what identifies them, by name where that is not known.

    Returns in words which model ``first`` is, and how ``second`` differs; None for one model, or where
    nothing is known.
    """
    names = [clean_name(facts.get("model")) for facts in (first, second)]
    parts = [facts.get("model_identity") or {} for facts in (first, second)]
    if not all(names) or (all(parts) and parts[0] == parts[1]):
        return None
    if names[0] != names[1]:
        return f"{names[0]}, not of {names[1]}"
    if not all(parts):
        return None
    differing = sorted(key for key in {*parts[0], *parts[1]} if parts[0].get(key) != parts[1].get(key))
    return f"{names[0]} as it was: {', '.join(differing)} differ by now"


def clean_name(name: object) -> str:
    """A model's name in one line; empty for none."""
    return one_line(str(name)) if name else ""


def utility_note(other: str | None) -> str | None:
    """One line where utility was measured on vectors of another model than the mitigation was fitted on."""
    if other is None:
        return None
    reason = f"the mitigation was fitted on vectors of {other}; give runs of one model"
    return f"--utility is of another model: {reason}"


def _and(names: set[str]) -> str:
    return " and ".join(sorted(names))
