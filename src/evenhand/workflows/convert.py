"""Checkpoints that exist only as pickles, made into safetensors."""

from __future__ import annotations

from pathlib import Path

from evenhand.core.errors import first_few
from evenhand.models.weights.pickle_conversion import convert_checkpoint


def convert(source: Path, target: Path, key: str | None = None) -> list[str]:
    """Convert a checkpoint to ``.safetensors`` and say what was written, in lines for the user.

    ``key`` is where in the checkpoint the weights are; None: found out.
    """
    checkpoint = convert_checkpoint(source, target, key)
    where = f" from {checkpoint.key!r}" if checkpoint.key else ""
    lines = [
        f"wrote {checkpoint.path}: {checkpoint.tensors:,} tensors, {checkpoint.numbers:,} numbers{where}",
        f"sha256 {checkpoint.sha256}",
    ]
    if checkpoint.left_out:
        lines.append(f"left out, as they hold no tensors: {first_few(checkpoint.left_out, 8)}")
    return lines
