"""How the run was made, in lines that people read; every key of a manifest may be missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.text import formatting as formats
from evenhand.report.chapters import Chapter, grouping_title


def facts(manifest: Mapping[str, Any], parts: Sequence[Chapter]) -> list[tuple[str, str]]:
    """The line of facts under the title."""
    created, version, mode, n = (manifest.get(key) for key in ("created", "evenhand", "mode", "rows"))
    by = [grouping_title(str(name).split("+")) for name in manifest.get("by") or []]
    lines = [
        ("Made", formats.moment(created) if created else ""),
        ("Rows", formats.count(n) if isinstance(n, int | float) else ""),
        ("Groupings", formats.listing(by or [chapter.title for chapter in parts])),
        ("Mode", str(mode or "")),
        ("evenhand", str(version or "")),
    ]
    return [(name, text) for name, text in lines if text]


def entries(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The manifest as lines; what is nested appears in words where it has any."""
    source = manifest.get("source")
    source = source if isinstance(source, Mapping) else {}
    command = manifest.get("command")
    versions = manifest.get("versions")
    versions = versions if isinstance(versions, Mapping) else {}
    n_rows = manifest.get("rows")
    formatted = {
        "created": formats.moment(manifest["created"]) if manifest.get("created") else "",
        "rows": formats.count(n_rows) if isinstance(n_rows, int | float) else "",
    }
    nested = [
        ("command", " ".join(map(str, command)) if isinstance(command, list | tuple) else ""),
        ("groupings", ", ".join(map(str, manifest.get("by") or []))),
        ("source", str(source.get("path") or "")),
        ("source size", formats.size(source["size"]) if isinstance(source.get("size"), int | float) else ""),
        ("source sha256", str(source.get("sha256") or "")),
        ("versions", ", ".join(f"{key} {value}" for key, value in versions.items())),
    ]
    return _plain(manifest, formatted) + [(key, text) for key, text in nested if text]


def _plain(manifest: Mapping[str, Any], formatted: Mapping[str, str]) -> list[tuple[str, str]]:
    """The manifest's plain entries, in their order; nested ones are left to the full listing."""
    plain = [
        (key.replace("_", " "), formatted.get(key, str(value)))
        for key, value in manifest.items()
        if value is not None and not isinstance(value, list | dict | tuple) and key != "card"
    ]
    return [(key, text) for key, text in plain if text]
