"""JSON files that people, other programs or another evenhand wrote: one place that says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, one_line

_KINDS: dict[type, str] = {dict: "object", list: "list"}


def read_json(path: Path, advice: str, kind: type = object) -> Any:
    """The content of a JSON file; ``advice`` is for one that cannot be read: ``save the model again``."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as problem:
        cause = one_line(problem, 200)
        raise InputError(f"{str(path)!r} is no JSON that can be read: {cause}; {advice}") from None
    if not isinstance(content, kind):
        raise InputError(f"{str(path)!r} is no JSON {_KINDS[kind]}; {advice}")
    return content


def check_version(card: Mapping[str, Any], path: Path, version: str) -> None:
    """Refuse what another major version of evenhand wrote."""
    saved = str(card.get("schema_version"))
    if saved.partition(".")[0] != version.partition(".")[0]:
        raise InputError(
            f"{str(path)!r} has schema version {one_line(saved, 20)}, and this evenhand reads {version}; "
            "type: pip install -U evenhand"
        )
