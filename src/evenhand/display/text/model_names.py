"""What people call the models of runs, and of which model a run is, whatever the revision."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

_CODE = re.compile(r"(?:.*[/\\])?[^/\\]+\.py(?::.*)?", re.DOTALL)
_LOCAL = re.compile(r"((?:[a-z]+:)?)((?:/|~|\.{1,2}/|[A-Za-z]:[\\/]).*)", re.DOTALL)
# from here, not from a hub
_FOLDER = re.compile(r"((?!hf:|timm:|openclip:|api:)[a-z]+:)([^:]*[/\\].*)", re.DOTALL)
_SEPARATOR = re.compile(r"[\\/]")


def model_names(models: Iterable[object]) -> list[str]:
    """A name for each model: of one on this machine no more of its path than tells it from others."""
    addresses = list(map(str, models))
    pieces = {address: _pieces(address) for address in addresses}
    names = {address: parts[-1] for address, parts in pieces.items()}
    for depth in range(2, max(map(len, pieces.values()), default=0) + 1):
        times = Counter(names.values())
        names = {
            address: "/".join(pieces[address][-depth:]) if times[name] > 1 else name
            for address, name in names.items()
        }
    return [names[address] for address in addresses]


def _pieces(address: str) -> list[str]:
    """The names on the way to a file or folder; an address elsewhere is one piece."""
    local = _LOCAL.fullmatch(address) or _FOLDER.fullmatch(address)
    if not local and not _CODE.fullmatch(address):
        return [address]
    scheme, path = (local[1], local[2]) if local else ("", address)
    parts = [part for part in _SEPARATOR.split(path) if part]
    return [*([scheme] if scheme else []), *parts] if parts else [address]


def lineage_of(manifest: Mapping[str, Any]) -> str:
    """The tag ``lineage`` of a run, else its model's address, on the Hub without the revision; or empty."""
    tags: Mapping[str, Any] = manifest.get("tags") or {}
    address = str(manifest.get("model") or "")
    return str(tags.get("lineage") or (address.partition("@")[0] if address.startswith("hf:") else address))
