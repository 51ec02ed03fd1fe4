"""Of which model a run is, whatever the revision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def lineage_of(manifest: Mapping[str, Any]) -> str:
    """The tag ``lineage`` of a run, else its model's address, on the Hub without the revision.

    Args:
        manifest: Of the run.

    Returns:
        Equal for runs of one model; empty where nothing says of which model the run is.
    """
    tags: Mapping[str, Any] = manifest.get("tags") or {}
    address = str(manifest.get("model") or "")
    return str(tags.get("lineage") or (address.partition("@")[0] if address.startswith("hf:") else address))
