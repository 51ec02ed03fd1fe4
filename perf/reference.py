"""What evenhand is measured against: the published listing, and made-up tables of stated shape."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
from scipy.stats import chi2_contingency, skew


def listing(table: pd.DataFrame) -> tuple[npt.NDArray[np.float64], float]:
    """Appendix G.2 of the paper, line by line, with the ``~`` that its typesetting lost."""
    v_values = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one predicted label: 0/0, which the listing drops below
        for label in table["label"].unique():
            rows = table[table["label"] == label]
            crosstab = pd.crosstab(rows["group"], rows["pred"])
            chi2 = chi2_contingency(crosstab)[0]
            dof = min(crosstab.shape) - 1
            n = crosstab.to_numpy().sum()
            v_values.append(np.sqrt(np.float64(chi2) / (n * dof)))
    v = np.array(v_values)
    v = v[~np.isnan(v)]
    return v, float(skew(v))


def predictions(rows: int, classes: int, groups: int, seed: int = 0) -> pd.DataFrame:
    """A classifier that is right six times of ten and otherwise names any label, whatever the group."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, rows, dtype=np.int32)
    wrong = rng.integers(0, classes, rows, dtype=np.int32)
    pred = np.where(rng.random(rows) < 0.6, label, wrong)
    names = np.array([f"background {index:02d}" for index in range(groups)])
    return pd.DataFrame({"label": label, "pred": pred, "group": names[rng.integers(0, groups, rows)]})


def write_large(path: Path, rows: int = 20_000_000, *, text: bool = False) -> Path:
    """Twenty million rows of 1,000 labels and 23 groups as Parquet, made once and kept."""
    if path.exists():
        return path
    rng = np.random.default_rng(0)
    label = rng.integers(0, 1000, rows, dtype=np.int32)
    group = rng.integers(0, 23, rows)
    wrong = rng.integers(0, 1000, rows, dtype=np.int32)
    pred = np.where(rng.random(rows) < 0.6, label, wrong)
    names = pl.Series([f"background {index:02d}" for index in range(23)])
    table = pl.DataFrame({"label": label, "pred": pred}).with_columns(group=names.gather(group))
    if text:
        words = pl.Series([f"synset {index:04d}" for index in range(1000)])
        table = table.with_columns(label=words.gather(label), pred=words.gather(pred))
    temporary = path.with_suffix(".tmp")
    table.write_parquet(temporary)
    temporary.rename(path)
    return path
