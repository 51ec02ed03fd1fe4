"""Model URIs that still name their model when the command is typed in another folder."""

from __future__ import annotations

from pathlib import Path


def lasting_uri(uri: str) -> str:
    """The URI with every path in it made absolute.

    ``hf:models/vit`` and ``onnx:net.onnx`` name files from the folder that the user is in, and so does
    ``own.py:Model``; ``hf:org/name`` and ``timm:resnet50`` name none and stay as they are.
    """
    where, colon, name = uri.rpartition(":")
    if colon and where.endswith(".py"):
        return f"{_absolute(where)}:{name}"
    scheme, colon, rest = uri.partition(":")
    if not colon or scheme in ("api", "py"):
        return uri
    before, at, after = rest.partition("@")
    if Path(rest).expanduser().exists():
        return f"{scheme}:{_absolute(rest)}"
    if at and Path(after).expanduser().is_file():
        return f"{scheme}:{before}@{_absolute(after)}"
    architecture, slash, weights = rest.partition("/")
    if scheme == "openclip" and slash and Path(weights).expanduser().is_file():
        return f"{scheme}:{architecture}/{_absolute(weights)}"
    return uri


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().resolve())
