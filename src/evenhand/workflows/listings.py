"""The names of what there is."""

from __future__ import annotations

import re

from evenhand.benchmarks.catalogue import ARTIFACTS, BENCHMARKS
from evenhand.core.capabilities import CAPABILITIES
from evenhand.core.cards import MetricCard
from evenhand.core.errors import UnknownName
from evenhand.metrics.catalogue import known_cards
from evenhand.mitigate.mitigation import MITIGATIONS
from evenhand.models.catalogue import Adapter, adapters


def names_of_kind(kind: str) -> list[str]:
    """Names of all ``benchmarks``, ``metrics``, ``mitigations`` or ``artifacts``, sorted; not of models."""
    listings = {
        "artifacts": ARTIFACTS.names(),
        "benchmarks": BENCHMARKS.names(),
        "metrics": sorted(known_cards()),
        "mitigations": MITIGATIONS.names(),
    }
    if kind not in listings:
        raise UnknownName("listing", kind, [*listings, "models", "suites"])
    return listings[kind]


def own_cards(benchmark: str) -> list[MetricCard]:
    """The cards of the metrics that a benchmark alone declares."""
    return [metric.card for metric in getattr(BENCHMARKS.get(benchmark), "metrics", ())]


def mitigations_with_meaning() -> list[tuple[str, str]]:
    """Every mitigation that can be fitted with the first line of what it says about itself."""
    meanings = []
    for name in MITIGATIONS.names():
        docstring = (MITIGATIONS.get(name).__doc__ or "").strip()
        meanings.append((name, docstring.partition("\n")[0].strip()))
    return meanings


def artifacts_with_titles() -> list[tuple[str, str]]:
    """Every table and figure of the papers with what it shows; figure2 before figure10."""

    def numbered(name: str) -> list[str | int]:
        return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]

    return [(name, ARTIFACTS.get(name).title) for name in sorted(ARTIFACTS.names(), key=numbered)]


def models_that_can(capability: str | None = None) -> list[Adapter]:
    """Adapters, or those of them whose models may have a capability."""
    if capability is not None and capability not in CAPABILITIES:
        raise UnknownName("capability", capability, CAPABILITIES)
    return [adapter for adapter in adapters() if capability is None or capability in adapter.capabilities]
