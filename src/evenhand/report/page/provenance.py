"""How the run was made, in lines that people read; every key of a manifest may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.display.overview.subject import matched_text
from evenhand.display.text import formatting as formats
from evenhand.display.text.language import _, filled


def strip(manifest: Mapping[str, Any], noun: str) -> list[str]:
    """The line of facts at the top of the page; ``noun``: what rows are."""
    created, n = manifest.get("created"), manifest.get("rows")
    truth, prediction = manifest.get("truth"), manifest.get("prediction")
    is_audit = manifest.get("kind") == "audit" and truth and prediction
    texts = [
        f"{formats.count(n)} {noun}" if isinstance(n, int | float) else "",
        _("{truth} against {prediction}", truth=truth, prediction=prediction)
        if is_audit
        else str(manifest.get("benchmark") or ""),
        formats.moment(created).partition(",")[0] if created else "",
    ]
    return [text for text in texts if text]


def entries(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The manifest as lines; what is nested appears in words where it has any."""
    source = manifest.get("source")
    source = source if isinstance(source, Mapping) else {}
    command = manifest.get("command")
    versions = manifest.get("versions")
    versions = versions if isinstance(versions, Mapping) else {}
    n_rows = manifest.get("rows")
    models = manifest.get("models")
    formatted = {
        "created": formats.moment(manifest["created"]) if manifest.get("created") else "",
        "rows": formats.count(n_rows) if isinstance(n_rows, int | float) else "",
        "matched": matched_text(str(manifest.get("matched") or "")),
        "ranked_on": filled(str(manifest.get("ranked_on") or "")),
        **{
            key: _("True" if value else "False") for key, value in manifest.items() if isinstance(value, bool)
        },
    }
    if isinstance(models, list) and manifest.get("model") == " and ".join(map(str, models)):
        formatted["model"] = formats.listing(map(str, models))
    elif isinstance(models, list) and manifest.get("model") == f"{len(models)} models compared":
        formatted["model"] = _("{n} models compared", n=len(models))
    nested = [
        ("command", " ".join(map(str, command)) if isinstance(command, list | tuple) else ""),
        ("groupings", ", ".join(map(str, manifest.get("by") or []))),
        ("source", str(source.get("path") or "")),
        ("source size", formats.size(source["size"]) if isinstance(source.get("size"), int | float) else ""),
        ("source sha256", str(source.get("sha256") or "")),
        ("versions", ", ".join(f"{key} {value}" for key, value in versions.items())),
    ]
    return [(_(key), text) for key, text in (*_plain(manifest, formatted), *nested) if text]


def _plain(manifest: Mapping[str, Any], formatted: Mapping[str, str]) -> list[tuple[str, str]]:
    """The manifest's plain entries, in their order; nested ones are left to the full listing."""
    plain = [
        (key.replace("_", " "), formatted.get(key, str(value)))
        for key, value in manifest.items()
        if value is not None and not isinstance(value, list | dict | tuple) and key != "card"
    ]
    return [(key, text) for key, text in plain if text]
