"""Results of any library of frames, as Polars frames."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import polars as pl


def to_polars(frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> pl.DataFrame:
    """A small result as a Polars frame; frames of pandas need no pyarrow for it."""
    eager = frame.collect("polars") if isinstance(frame, nw.LazyFrame) else frame
    try:
        return eager.to_polars()
    except ImportError:  # of pyarrow, through which texts and nullable columns of pandas go
        return pl.DataFrame({name: present(eager[name].to_list()) for name in eager.columns})


def present(values: list[Any]) -> list[Any]:
    """The values, with None for NaN and for what pandas writes where nothing is there."""
    return [None if is_missing(value) else value for value in values]


def is_missing(value: object) -> bool:
    """None, NaN, NA and NaT of pandas, and the masked value of NumPy."""
    if value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    return isinstance(value, float) and math.isnan(value)
