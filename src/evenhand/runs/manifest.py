"""What was done: enough to do it again, and an identity that equal inputs share."""

from __future__ import annotations

import datetime
import hashlib
import json
import platform
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import Any

from evenhand.core.errors import first_few, one_line
from evenhand.core.unseen import without_secrets
from evenhand.evidence.predictions.counts import Counts
from evenhand.runs.gates import gates_of

_LIBRARIES = ("numpy", "scipy", "polars", "narwhals", "pydantic")


_SHOWN = 4


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
    """The manifest of a run, from ``settings`` that determine its findings, ``source`` and ``command`` aside.

    ``manifest_id`` hashes the evidence, the settings and the version of evenhand, nothing that differs
    between two machines or days. Typing the command of a finished run again writes ``gates`` anew, so they do
    not show when they were chosen.
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


def adaptation_warnings(manifests: Sequence[Mapping[str, Any]]) -> list[str]:
    """What makes a comparison of runs one of adaptations rather than of models.

    Seeds may differ. Models that were not adapted here may be compared with each other, whatever they are.
    """
    adapted = [
        (_name(manifest), manifest["model_identity"]) for manifest in manifests if _is_adapted(manifest)
    ]
    plain = [_name(manifest) for manifest in manifests if not _is_adapted(manifest)]
    if not adapted:
        return []
    sentences = []
    if plain:
        adapted_names = _listed([name for name, _ in adapted])
        sentences.append(
            f"{adapted_names} {_were(adapted)} adapted and {_listed(plain)} {_were(plain)} not: "
            "a difference may be that of the heads"
        )
    sentences += _recipes(adapted)
    for part, what in (("classes", "to other classes"), ("images", "on other training images")):
        groups = _grouped(adapted, f"adaptation {part}")
        if len(groups) > 1:
            versus = " and ".join(map(_listed, groups.values()))
            sentences.append(f"{versus} were adapted {what}: a difference may be theirs")
    return sentences


def _recipes(adapted: Sequence[tuple[str, Mapping[str, str]]]) -> list[str]:
    methods = _grouped(adapted, "adaptation")
    if len(methods) > 1:
        text = "; ".join(f"{_listed(names)} by {method}" for method, names in methods.items())
        return [f"adapted by different methods: {text}; a difference may be that of the methods"]
    recipes = [(name, _recipe(identity)) for name, identity in adapted]
    keys = sorted({key for _, recipe in recipes for key in recipe})
    differing = [key for key in keys if len({str(recipe.get(key)) for _, recipe in recipes}) > 1]
    if not differing:
        return []
    text = ", ".join(
        f"{key} {' and '.join(dict.fromkeys(str(recipe.get(key)) for _, recipe in recipes))}"
        for key in differing
    )
    return [f"adapted by different recipes: {text}; a difference may be that of the recipes"]


def _were(several: Sequence[object]) -> str:
    return "was" if len(several) == 1 else "were"


def _recipe(identity: Mapping[str, str]) -> dict[str, Any]:
    try:
        recipe = json.loads(identity.get("adaptation recipe", "{}"))
    except ValueError:
        return {}
    return recipe if isinstance(recipe, dict) else {}


def _is_adapted(manifest: Mapping[str, Any]) -> bool:
    return "adaptation" in (manifest.get("model_identity") or {})


def _name(manifest: Mapping[str, Any]) -> str:
    return repr(one_line(manifest.get("model") or "a model"))


def _grouped(adapted: Sequence[tuple[str, Mapping[str, str]]], key: str) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name, identity in adapted:
        groups.setdefault(str(identity.get(key, "")), []).append(name)
    return groups


def _listed(names: Sequence[str]) -> str:
    return first_few(list(dict.fromkeys(names)), _SHOWN)
