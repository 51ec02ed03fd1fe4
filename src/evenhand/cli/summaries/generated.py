"""What the terminal says of generated images."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from evenhand.cli.summaries.text import clean
from evenhand.workflows.generate.engine import Generated

_COLUMN = 14


def print_generated(generated: Generated) -> None:
    """Images, what was refused, flags by group, and what to type next."""
    definition, names = generated.definition, [group.name for group in generated.definition.groups]
    cells = f"{len(definition.classes)} classes, {len(names)} groups, {definition.images_per_cell} a cell"
    print(f"{clean(definition.name, 60)}: {generated.made:,} of {generated.wanted:,} images ({cells})")
    for row in generated.refused.iter_rows(named=True):
        example = f" ({clean(row['detail'], 80)})" if row["detail"] else ""
        print(f"not made, {row['group']}: {row['count']:,} {clean(row['reason'], 60)}{example}")
    for flag in generated.flags["flag"].unique(maintain_order=True):
        rows = generated.flags.filter(flag=flag).iter_rows(named=True)
        shares = ", ".join(_share(row) for row in rows if row["of"])
        print(f"{flag}: {shares}")
    if len(generated.flags):
        print("Flagged images are kept. One group flagged more than another is a finding about the images.")
    if generated.written:
        print(f"Images and annotations.parquet are in {shlex.quote(str(generated.folder))}")


def _share(row: Mapping[str, Any]) -> str:
    return f"{clean(row['group'], _COLUMN)} {row['count']:,}/{row['of']:,} ({row['count'] / row['of']:.0%})"
