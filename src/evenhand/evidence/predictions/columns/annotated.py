"""What kinds of evidence share: attributes to group by, and what metrics computed of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
import polars as pl

from evenhand.core.errors import ParameterError, check_known
from evenhand.evidence.predictions.columns.arrays import Mask

Facts: TypeAlias = Mapping[str, str]
"""What tells evidence from others of the same samples."""
Where: TypeAlias = Mapping[str, str | Sequence[str]]
"""Values of attributes that samples must have, any of several."""
Lost: TypeAlias = tuple[tuple[str, int], ...]
"""How many rows were left out, by reason."""


@dataclass(frozen=True, eq=False)
class Remembering:
    """Evidence that remembers what metrics computed of it and may share; that is not part of its value."""

    memo: dict[Any, Any] = field(default_factory=dict, repr=False, kw_only=True)


class Annotated:
    """Samples with annotations, whose columns other than those that are hidden are the attributes."""

    noun: ClassVar[str] = "samples"
    hidden: ClassVar[tuple[str, ...]] = ("sample",)
    annotated: pl.DataFrame

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes."""
        return [name for name in self.annotated.columns if name not in self.hidden]

    def check_attribute(self, *names: str) -> None:
        """Raise UnknownName, with the closest names, unless there are such attributes."""
        check_known(f"attribute of these {self.noun}", names, self.attributes)

    def selected(self, where: Where) -> Mask:
        """Rows of ``annotated`` with one of the given values on each of the given attributes.

        Raises:
            UnknownName: An attribute, or a value of it, that does not exist.
        """
        mask = np.ones(self.annotated.height, dtype=bool)
        for name, required in where.items():
            self.check_attribute(name)
            column = self.annotated[name].cast(pl.String)
            values = [required] if isinstance(required, str) else list(required)
            check_known(f"value of {name!r}", values, sorted(column.drop_nulls().unique().to_list()))
            mask &= column.is_in(values).fill_null(False).to_numpy()
        return mask


def check_k(k: int) -> None:
    """Refuse a k that is no whole number from 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"k={k!r} is not possible; choose a whole number from 1")


def check_threshold(value: float) -> float:
    """A threshold of confidences as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ParameterError(
            f"threshold={value!r} is not possible; choose a confidence in [0, 1], such as 0.1"
        )
    return float(value)
