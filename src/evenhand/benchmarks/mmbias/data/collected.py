"""Sets and tests as they are gathered from files, before anything is checked across sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.benchmarks.mmbias.data.images import FolderLayout, ImageFile
from evenhand.benchmarks.mmbias.data.irregularities import DataIrregularity
from evenhand.benchmarks.mmbias.data.pairs import Test
from evenhand.benchmarks.mmbias.data.urls import NO_PHOTOS, Photos


@dataclass(eq=False)
class CollectedSets:
    """What files hold.

    Attributes:
        target_phrases: Set -> phrases.
        attribute_phrases: Set -> phrases.
        target_images: Set -> images.
        attribute_images: Set -> images.
        tests: Of a user's own file, in its order; of MMBias None.
        traps: What is unusual in single sets.
        dropped: What became no item, by reason.
        notes: What else was passed over, by reason.
        photos: Where photos come from.
        files: The phrase file and the URL list that were read.
        layout: Where images were looked for.
        families: Phrase -> family; None: the files have no column of families.
    """

    target_phrases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    attribute_phrases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    target_images: dict[str, Sequence[ImageFile]] = field(default_factory=dict)
    attribute_images: dict[str, Sequence[ImageFile]] = field(default_factory=dict)
    tests: list[Test] | None = None
    traps: list[DataIrregularity] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    photos: Photos = NO_PHOTOS
    files: list[Path] = field(default_factory=list)
    layout: FolderLayout | None = None
    families: dict[str, str] | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """All sets of targets."""
        return tuple(dict.fromkeys((*self.target_phrases, *self.target_images)))

    @property
    def attributes(self) -> tuple[str, ...]:
        """All sets of attributes."""
        return tuple(dict.fromkeys((*self.attribute_phrases, *self.attribute_images)))
