"""What of BBQ-V is there; nothing is fetched."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from evenhand.benchmarks.datasets.download_source import SourcePart
from evenhand.benchmarks.datasets.local_source import counted_source, shown
from evenhand.benchmarks.further.bbq_v.bbq_v import TARGETS, read_rows, with_targets

THIRD_VERSION = 14_144  # of the paper's abstract; the second had 14,578 and 6,526


def parts(name: str, folder: Path) -> list[SourcePart]:
    """How many questions there are, in each category, and of how many is known whom a stereotype names."""
    del name
    table = with_targets(read_rows(folder).table, folder, "")
    sizes = table.group_by(pl.col("category").cast(pl.String).fill_null("all")).len().sort("category")
    with_target = table["target_loc"].is_not_null().sum()
    return [
        shown("questions", table.height, THIRD_VERSION),
        shown("questions with target_loc", int(with_target)),
        *(shown(f"questions on {category}", count) for category, count in sizes.iter_rows()),
    ]


SOURCE = counted_source(
    "bbq_v",
    "BBQ-V (SB-Bench): questions about people in pictures that the pictures do not decide",
    "CC BY-NC 4.0; accept the terms on Hugging Face",
    "https://huggingface.co/datasets/ucf-crcv/BBQ-V",
    f"{THIRD_VERSION:,} questions with their pictures",
    "get the Parquet files from there after accepting its terms and "
    f"put them into one folder; whom a stereotype names goes into {TARGETS} there, with id and target_loc",
    parts,
)
"""What ``evenhand data check bbq_v`` counts."""
