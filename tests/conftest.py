"""Fixtures shared by all rooms."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tests.shim.sitecustomize  # noqa: F401 - mends torchvision for this process

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def _seclude() -> None:
    """Nothing from the hub, nothing into the user's caches, here and in every subprocess."""
    folder = tempfile.mkdtemp(prefix="evenhand-home-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    paths = [str(ROOT / "tests" / "shim"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ |= {
        "EVENHAND_HOME": folder,
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "PYTHONPATH": os.pathsep.join(path for path in dict.fromkeys(paths) if path),
    }


_seclude()


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
