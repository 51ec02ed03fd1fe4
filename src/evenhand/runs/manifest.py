"""What was done: enough to do it again, and an identity that equal inputs share."""

from __future__ import annotations

import datetime
import hashlib
import json
import platform
import sys
from functools import cache
from importlib import metadata
from typing import Any

from evenhand.core.numbers.addresses import without_secrets
from evenhand.evidence.predictions.counts import Counts
from evenhand.runs.gates import gates_of

_LIBRARIES = ("numpy", "scipy", "polars", "narwhals", "pydantic")


@cache
def version(library: str) -> str:
    """The installed version of a library, read once: it does not change while a process runs."""
    return metadata.version(library)


def counts_hash(counts: Counts) -> str:
    """The sha256 of Counts: levels, codes and numbers."""
    digest = hashlib.sha256()
    for axis in counts.axes:
        digest.update(json.dumps([axis.name, axis.kind, *map(str, axis.levels)]).encode())
    digest.update(counts.codes.astype("<i4").tobytes())
    for numbers in (counts.n,) if counts.moments is None else (counts.n, counts.moments):
        digest.update(numbers.astype("<i8" if counts.moments is None else "<f8").tobytes())
    return digest.hexdigest()


def make_manifest(counts: dict[str, Counts], settings: dict[str, Any]) -> dict[str, Any]:
    """The manifest of a run.

    ``manifest_id`` hashes the evidence, the settings and the version of evenhand, nothing that differs
    between two machines or days.

    Args:
        counts: The evidence's counts by name.
        settings: Everything that determines the findings, and ``source``, which does not.

    Returns:
        The settings with what else there is to know, such as ``gates``: the conditions that this command was
        given. Typing it again for a finished run writes them anew, so they do not show when they were chosen.
    """
    decisive = {key: value for key, value in settings.items() if key not in ("source", "command")}
    identity = {
        "evenhand": version("evenhand"),
        "counts": {name: counts_hash(table) for name, table in counts.items()},
        "settings": decisive,
    }
    text = json.dumps(identity, sort_keys=True, default=str)
    return {
        "manifest_id": hashlib.sha256(text.encode()).hexdigest(),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "evenhand": version("evenhand"),
        "command": list(map(without_secrets, sys.argv)),
        "gates": gates_of(sys.argv),
        "versions": {
            "python": platform.python_version(),
            **{library: version(library) for library in _LIBRARIES},
        },
        **settings,
    }
