"""What kinds of evidence share: attributes to group by, and what metrics computed of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import polars as pl

from evenhand.core.errors import check_known

Texts: TypeAlias = tuple[str, ...]
"""Some texts, such as names of attributes, or a value of each."""


@dataclass(frozen=True, eq=False)
class Remembering:
    """Evidence that remembers what metrics computed of it and may share; that is not part of its value."""

    memo: dict[Any, Any] = field(default_factory=dict, repr=False, kw_only=True)


class Annotated:
    """Samples with annotations, whose columns other than those that are hidden are the attributes."""

    noun: ClassVar[str] = "samples"
    hidden: ClassVar[Texts] = ("sample",)
    annotated: pl.DataFrame

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes."""
        return [name for name in self.annotated.columns if name not in self.hidden]

    def check_attribute(self, *names: str) -> None:
        """Raise UnknownName, with the closest names, unless there are such attributes."""
        check_known(f"attribute of these {self.noun}", names, self.attributes)
