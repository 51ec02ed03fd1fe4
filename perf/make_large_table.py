"""A table of a hundred million predictions, written block by block: ``make_large_table.py FILE [ROWS]``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

CLASSES, GROUPS, ACCURACY = 1_000, 23, 0.7
BLOCK = 5_000_000
NEAR = 20  # mistakes fall mostly on this many labels after the true one, as look-alikes do
UNEVEN = 50  # so many classes are mistaken more often in the last group


def block(number: int, rows: int, seed: int = 0) -> pl.DataFrame:
    """Rows of integer ids; the block's number is part of the seed, so that blocks can be made anywhere."""
    rng = np.random.default_rng([seed, number])
    label = rng.integers(0, CLASSES, rows, dtype=np.int32)
    group = rng.integers(0, GROUPS, rows, dtype=np.int32)
    near = (label + 1 + rng.geometric(0.2, rows).clip(max=NEAR)) % CLASSES
    wrong = np.where(rng.random(rows) < 0.8, near, rng.integers(0, CLASSES, rows))
    right = rng.random(rows) < ACCURACY - 0.2 * ((label < UNEVEN) & (group == GROUPS - 1))
    pred = np.where(right, label, wrong).astype(np.int32)
    return pl.DataFrame({"label": label, "group": group, "pred": pred})


def write(path: Path, rows: int = 100_000_000) -> Path:
    """Write the table unless it is there; never more than a block in memory."""
    import pyarrow.parquet

    if path.exists():
        return path
    temporary = path.with_suffix(".tmp")
    sizes = [min(BLOCK, rows - start) for start in range(0, rows, BLOCK)]
    schema = block(0, 1).to_arrow().schema
    with pyarrow.parquet.ParquetWriter(temporary, schema, compression="zstd") as writer:
        for number, size in enumerate(sizes):
            writer.write_table(block(number, size).to_arrow(), row_group_size=1_000_000)
    temporary.rename(path)
    return path


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000_000)
