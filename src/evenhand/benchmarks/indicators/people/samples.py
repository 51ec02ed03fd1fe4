"""Pictures of people with what is annotated about them, and an account of every row that is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from evenhand.benchmarks.attributes import AnnotatedAttribute
from evenhand.benchmarks.tidy import occurring
from evenhand.core.errors import InputError, check_choice
from evenhand.core.requests import ImageSource
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.files.images.cropped import ChosenImages

UNKNOWN_POLICIES: tuple[str, ...] = ("keep", "exclude")
"""What can become of people whose group nobody gave."""


@dataclass(frozen=True)
class Coverage:
    """How much of what the annotations speak of is there."""

    name: str  # of what
    present: int
    expected: int


@dataclass(frozen=True, eq=False)
class People:
    """Annotated pictures of people.

    ``annotations`` has a row for each sample: ``sample`` (unique), ``subject`` (whose picture it is, null
    where nobody says), maybe columns of origin, and the attributes as text (null: not annotated).
    """

    name: str
    annotations: pl.DataFrame
    images: ImageSource  # in the order of the rows
    definitions: Mapping[str, AnnotatedAttribute]  # by column
    clusters: str | None = None  # column of what belongs together (person, photo); intervals must heed it
    dropped: Mapping[str, int] = field(default_factory=dict)  # what became no sample, by reason
    notes: Mapping[str, int] = field(default_factory=dict)  # what else is worth knowing, with how many
    coverage: Sequence[Coverage] = ()
    paper_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # attribute -> group; "": all
    together: tuple[str, ...] = ()  # attributes that leave a sample out, see ``with_unknown``

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns of the attributes."""
        return tuple(self.definitions)

    @property
    def about(self) -> dict[str, object]:
        """Which data this is, and who gave each attribute, for those who read a run."""
        annotators = {name: definition.annotated_by for name, definition in self.definitions.items()}
        return {"layout": self.name, "annotated_by": annotators}

    @property
    def unknown(self) -> dict[str, int]:
        """How many samples have an unknown group, by attribute; those that have none are left out."""
        counts = {name: int(_is_unknown(self.annotations, name).sum()) for name in self.attributes}
        return occurring(counts)

    def counts(self, attribute: str) -> dict[str, int]:
        """How many samples each group has, those not annotated left out."""
        values = self.annotations[attribute].drop_nulls().value_counts(sort=False)
        return dict(sorted(values.rows()))

    def with_unknown(self, policy: str) -> People:
        """These people with those whose group nobody gave kept apart, or excluded.

        ``exclude`` leaves samples out that have an unknown value of an attribute in ``together``, as in the
        text of the paper, and of all other attributes only the value.
        """
        check_choice("unknown", policy, UNKNOWN_POLICIES)
        if policy == "keep" or not self.unknown:
            return self
        out = pl.Series([False] * self.annotations.height, dtype=pl.Boolean)
        dropped = dict(self.dropped)
        for name in self.together:
            more = _is_unknown(self.annotations, name) & ~out
            if more.any():
                dropped[f"unknown {name}"] = int(more.sum())
            out = out | more
        indices = (~out).arg_true().to_list()
        table = self.annotations[indices]
        others = [name for name in self.unknown if name not in self.together]
        notes = {f"{name} taken as not annotated": int(_is_unknown(table, name).sum()) for name in others}
        table = table.with_columns(
            pl.when(_is_unknown(table, name)).then(None).otherwise(pl.col(name)).alias(name)
            for name in others
        )
        images = self.images if len(indices) == len(self.images) else ChosenImages(self.images, indices)
        return replace(self, annotations=table, images=images, dropped=dropped, notes={**self.notes, **notes})

    def where(self, attribute: str, levels: Sequence[str]) -> People:
        """The people of some groups, such as those of one split."""
        indices = self.annotations[attribute].is_in(list(levels)).fill_null(False).arg_true().to_list()
        if not indices:
            raise InputError(
                f"nobody has {attribute} {' or '.join(levels)}; there are {', '.join(self.counts(attribute))}"
            )
        return replace(self, annotations=self.annotations[indices], images=ChosenImages(self.images, indices))


def _is_unknown(table: pl.DataFrame, attribute: str) -> pl.Series:
    return table[attribute].str.to_lowercase().is_in(sorted(UNKNOWN)).fill_null(False)
