"""What another run of geography is compared by: the same threshold, mode, labels that count, and map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.benchmarks.indicators.settings import numbers
from evenhand.benchmarks.tidy import parameters_of
from evenhand.core.errors import InputError
from evenhand.evidence.household_hits import HouseholdHits
from evenhand.metrics.estimates import Mode
from evenhand.runs.run_folder import RunFolder

BENCHMARK = "indicators/geography"
HITS = "hits"

_RATE = "household_hit_rate"
_OF = {"mode": "default", "top": "5", "threshold": "0"}


@dataclass(frozen=True)
class ReferenceHits:
    """By what a run calls an image recognised."""

    mode: Mode
    top: int  # labels that count
    thresholds: tuple[float, ...]  # confidences that a hit must exceed
    concept_map: str | None = None  # None: not known yet

    @classmethod
    def by(cls, parameters: Mapping[str, object], concept_map: str | None = None) -> ReferenceHits:
        """As parameters of the benchmark say, with the defaults for absent ones."""
        mode, top, threshold = (str(parameters.get(name) or usual) for name, usual in _OF.items())
        thresholds = tuple(numbers("threshold", threshold, low=0, high=1))
        return cls("paper" if mode == "paper" else "default", int(top), thresholds, concept_map)

    @classmethod
    def of(cls, run: RunFolder) -> ReferenceHits:
        """As a finished run was judged."""
        rates = [finding for finding in run.findings if finding.name == _RATE]
        used = next((finding.params.get("concept_map") for finding in rates), None)
        return cls.by(parameters_of(run), str(used) if used is not None else None)

    def unlike(self, reference: ReferenceHits) -> list[str]:
        """What a reference differs in, in words; it may have more thresholds."""
        absent = [threshold for threshold in self.thresholds if threshold not in reference.thresholds]
        settings = (
            ("mode", self.mode, reference.mode),
            ("top", self.top, reference.top),
            ("concept_map", self.concept_map, reference.concept_map),
        )
        differences = [
            f"{name} {reference_value} (here {local_value})"
            for name, local_value, reference_value in settings
            if local_value != reference_value and None not in (local_value, reference_value)
        ]
        return [
            *differences,
            *([f"threshold {_listed(reference.thresholds)} (here {_listed(absent)})"] * bool(absent)),
        ]


def _listed(thresholds: Sequence[float]) -> str:
    return ",".join(f"{threshold:g}" for threshold in thresholds)


@dataclass(frozen=True, eq=False)
class ReferenceModel:
    """A run of another model that one is compared with."""

    name: str  # its model and folder
    judged: ReferenceHits
    table: pl.DataFrame  # its hits

    @classmethod
    def read(cls, folder: str) -> ReferenceModel:
        """Read a run folder."""
        path = Path(folder).expanduser()
        if not (path / "tables" / f"{HITS}.parquet").is_file():
            raise InputError(f"-p reference={folder!r} is no run of {BENCHMARK}; give the folder of one")
        run = RunFolder.read(path)
        name = f"{run.manifest.get('model') or 'model'} ({folder})"
        return cls(name, ReferenceHits.of(run), run.tables[HITS])

    def require(self, judged: ReferenceHits) -> None:
        """Refuse a comparison of unlike things."""
        unlike = judged.unlike(self.judged)
        if unlike:
            raise InputError(
                f"the reference {self.name} was judged by another {', '.join(unlike)}; run it again with the "
                "same -p, or give this run those of the reference"
            )

    def hits(self, threshold: float) -> HouseholdHits:
        """What it recognised, at one of its thresholds."""
        return HouseholdHits.from_hits(self.table).at(threshold)
