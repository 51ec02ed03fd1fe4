"""Fixtures shared by all rooms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture
def faces() -> Path:
    """Real predictions on real faces; skipped where they are not beside the project."""
    path = SHARED / "assets" / "faces" / "labels.csv"
    if not path.is_file():
        pytest.skip(f"needs {path}")
    return path


def make_frame(
    seed: int = 0, n: int = 600, classes: int = 5, groups: int = 2, bias: float = 0.0
) -> pl.DataFrame:
    """Predictions that are right 60 % of the time; ``bias`` sends g0's mistakes to one label."""
    rng = np.random.default_rng(seed)
    truth, group = rng.integers(0, classes, n), rng.integers(0, groups, n)
    wrong = rng.integers(0, classes, n)
    wrong = np.where((group == 0) & (rng.random(n) < bias), (truth + 1) % classes, wrong)
    prediction = np.where(rng.random(n) < 0.6, truth, wrong)
    return pl.DataFrame(
        {
            "truth": [f"c{code}" for code in truth],
            "prediction": [f"c{code}" for code in prediction],
            "group": [f"g{code}" for code in group],
            "other": [f"h{code}" for code in rng.integers(0, 3, n)],
        }
    )
