"""The names of what there is."""

from __future__ import annotations

from evenhand.benchmarks.catalogue import ARTIFACTS, BENCHMARKS
from evenhand.core.errors import UnknownName
from evenhand.metrics.definitions import DEFINITIONS


def names_of_kind(kind: str) -> list[str]:
    """Names of all ``benchmarks``, ``metrics`` or ``artifacts``, sorted.

    Raises:
        UnknownName: Another kind.
    """
    listings = {
        "artifacts": ARTIFACTS.names(),
        "benchmarks": BENCHMARKS.names(),
        "metrics": sorted(DEFINITIONS),
    }
    if kind not in listings:
        raise UnknownName("listing", kind, listings)
    return listings[kind]
