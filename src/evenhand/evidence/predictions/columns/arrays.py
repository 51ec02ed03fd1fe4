"""Names of the arrays that evidence holds, and arrays of users without a mask."""

from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]


def unmasked(values: Any, what: str) -> Any:
    """The values as they are, where none is masked: what lies under a mask is no number of the user's."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise InputError(f"{what} hold masked values; write NaN there: array.filled(numpy.nan)")
    return np.ma.getdata(values) if isinstance(values, np.ma.MaskedArray) else values
