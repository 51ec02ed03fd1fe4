"""Checkpoints that exist only as pickles, made into safetensors."""

from __future__ import annotations

from pathlib import Path

from evenhand.models.weights.pickle_conversion import convert_checkpoint


def convert(source: Path, target: Path, key: str | None = None) -> list[str]:
    """Convert a checkpoint and say what was written.

    Args:
        source: A ``.pth``, ``.pt``, ``.bin`` or ``.ckpt`` file.
        target: The ``.safetensors`` file to write.
        key: Where in the checkpoint the weights are; found out where not given.

    Returns:
        Lines for the user.

    Raises:
        UserError: As ``convert_checkpoint``.
    """
    made = convert_checkpoint(source, target, key)
    where = f" from {made.key!r}" if made.key else ""
    lines = [
        f"wrote {made.path}: {made.tensors:,} tensors, {made.numbers:,} numbers{where}",
        f"sha256 {made.sha256}",
    ]
    if made.left_out:
        shown = ", ".join(made.left_out[:8]) + (", ..." if len(made.left_out) > 8 else "")
        lines.append(f"left out, as they hold no tensors: {shown}")
    return lines
