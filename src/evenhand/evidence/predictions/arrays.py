"""Labels and groups as plain lists, arrays or Series, one value a sample, made a table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import InputError
from evenhand.evidence.predictions.columns.to_polars import present
from evenhand.evidence.predictions.levels import refuse_mixed_types

TRUTH, PREDICTION, GROUP, CLUSTER, WEIGHT = "y_true", "y_pred", "group", "cluster", "sample_weight"


def frame_of(
    y_true: Any, y_pred: Any, groups: Any, cluster: Any, sample_weight: Any
) -> tuple[pl.DataFrame, dict[str, str]]:
    """A frame of what ``Predictions.from_arrays`` takes, and the columns of its roles."""
    columns = {TRUTH: y_true, PREDICTION: y_pred, **named_groups(groups)}
    extra = {"cluster": (CLUSTER, cluster), "weight": (WEIGHT, sample_weight)}
    roles = {role: name for role, (name, values) in extra.items() if values is not None}
    columns |= {name: values for name, values in extra.values() if values is not None}
    return table_of(columns), {"truth": TRUTH, "prediction": PREDICTION, **roles}


def table_of(columns: Mapping[str, Any]) -> pl.DataFrame:
    """A frame of lists, arrays or Series by name, as many values in each as in the first."""
    for name, values in columns.items():
        _check_list(name, values, *next(iter(columns.items())))
    _check_indexes(columns)
    return pl.DataFrame([_column(name, values) for name, values in columns.items()])


def _check_indexes(columns: Mapping[str, Any]) -> None:
    """Refuse Series with one index in other orders, and warn of other indexes: values go by position."""
    (first, index), *others = [
        (name, index)
        for name, values in columns.items()
        if (index := getattr(values, "index", None)) is not None and hasattr(index, "equals")
    ] or [("", None)]
    for name, other in others:
        if index is None or index.equals(other):
            continue
        rule = f"{first} and {name} are Series with different indexes, and are matched by position"
        if len(index) == len(other) and index.is_unique and index.isin(other).all():
            raise InputError(
                f"{rule}, though both hold the same index in another order; give "
                f"{name}.loc[{first}.index], or {name}.to_numpy() if its order is right"
            )
        warnings.warn(f"{rule}, not by index, as in scikit-learn; give arrays to say so", stacklevel=5)


def named_groups(groups: Any) -> dict[str, Any]:
    """The attributes by name: of a mapping or a frame its columns, of a Series its name, else ``group``."""
    if groups is None:
        return {}
    if isinstance(groups, Mapping):
        return {str(name): values for name, values in groups.items()}
    names = getattr(groups, "columns", None)
    if names is not None:
        return {str(name): groups[name] for name in names}
    name = getattr(groups, "name", None)
    return {str(name) if name else GROUP: groups}


def _column(name: str, values: Any) -> pl.Series:
    """One column; what Polars has no type for becomes text, and whole floats integers."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    categories = list(getattr(dtype := getattr(values, "dtype", None), "categories", ()))
    is_ordered = getattr(dtype, "ordered", isinstance(dtype, pl.Enum))
    if is_ordered and categories and all(isinstance(category, str) for category in categories):
        return pl.Series(name, present(listed), dtype=pl.Enum(categories))
    listed = _of_one_kind(name, present(listed))
    try:
        column = pl.Series(name, listed, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        return pl.Series(name, [None if value is None else str(value) for value in listed])
    if name != WEIGHT and column.dtype.is_float() and (column.drop_nulls() % 1 == 0).all():
        return column.cast(pl.Int64)
    return column


def _of_one_kind(name: str, values: list[Any]) -> list[Any]:
    """Integers among floats as floats, as NumPy has them, and its scalars as values of Python."""
    kinds = {type(value) for value in values if value is not None}
    make: Callable[[Any], Any] = float
    if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        make = bool
    elif len(kinds) < 2 or all(issubclass(kind, str) for kind in kinds):
        return values
    elif bool in kinds or not all(issubclass(kind, Real) for kind in kinds):
        refuse_mixed_types(name)
    elif all(issubclass(kind, Integral) for kind in kinds):
        make = int
    return [None if value is None else make(value) for value in values]


def _check_list(name: str, values: Any, first: str, others: Any) -> None:
    """Refuse what is no list of one value a sample, and lists of unlike lengths."""
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise InputError(
            f"{name} is {type(values).__name__}; give a list, array or Series with one value for each sample"
        )
    if getattr(values, "ndim", 1) != 1:
        raise InputError(
            f"{name} has shape {tuple(values.shape)}; give one value for each sample, such as argmax(axis=1) "
            "of scores"
        )
    if len(values) != len(others):
        raise InputError(f"{name} has {len(values):,} values and {first} {len(others):,}; give as many")
