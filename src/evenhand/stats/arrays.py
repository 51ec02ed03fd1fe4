"""Names of the arrays and limits that statistics take and give."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer]
"""Integers of any width."""
Mask = npt.NDArray[np.bool_]
Ends = tuple[Floats, Floats]
"""Two arrays, such as low and high limits."""
Pair = tuple[float, float]
"""Two numbers, such as a low and a high limit."""
Limits = Callable[[float], Pair]
"""From a level to the limits at it; NaN where nothing varies."""
