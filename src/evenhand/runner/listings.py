"""The names of what there is."""

from __future__ import annotations

from evenhand.benchmarks.catalogue import ARTIFACTS, BENCHMARKS
from evenhand.core.capabilities import CAPABILITIES
from evenhand.core.errors import UnknownName
from evenhand.metrics.definitions import DEFINITIONS
from evenhand.models.adapters import Adapter, adapters


def names_of_kind(kind: str) -> list[str]:
    """Names of all ``benchmarks``, ``metrics`` or ``artifacts``, sorted; models are no names.

    Raises:
        UnknownName: Another kind.
    """
    listings = {
        "artifacts": ARTIFACTS.names(),
        "benchmarks": BENCHMARKS.names(),
        "metrics": sorted(DEFINITIONS),
    }
    if kind not in listings:
        raise UnknownName("listing", kind, [*listings, "models"])
    return listings[kind]


def models_that_can(capability: str | None = None) -> list[Adapter]:
    """Adapters, or those of them whose models may have a capability.

    Raises:
        UnknownName: There is no such capability.
    """
    if capability is not None and capability not in CAPABILITIES:
        raise UnknownName("capability", capability, CAPABILITIES)
    return [one for one in adapters() if capability is None or capability in one.capabilities]
