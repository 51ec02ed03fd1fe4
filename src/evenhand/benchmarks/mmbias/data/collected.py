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
    """What files hold, phrases and images by set."""

    target_phrases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    attribute_phrases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    target_images: dict[str, Sequence[ImageFile]] = field(default_factory=dict)
    attribute_images: dict[str, Sequence[ImageFile]] = field(default_factory=dict)
    tests: list[Test] | None = None  # of a user's own file, in its order; None: of MMBias
    traps: list[DataIrregularity] = field(default_factory=list)  # what is unusual in single sets
    dropped: Counter[str] = field(default_factory=Counter)  # what became no item, by reason
    notes: Counter[str] = field(default_factory=Counter)  # what else was passed over, by reason
    photos: Photos = NO_PHOTOS
    files: list[Path] = field(default_factory=list)  # phrase file and URL list that were read
    layout: FolderLayout | None = None  # where images were looked for
    families: dict[str, str] | None = None  # phrase -> family; None: no column of families

    @property
    def targets(self) -> tuple[str, ...]:
        """All sets of targets."""
        return tuple(dict.fromkeys((*self.target_phrases, *self.target_images)))

    @property
    def attributes(self) -> tuple[str, ...]:
        """All sets of attributes."""
        return tuple(dict.fromkeys((*self.attribute_phrases, *self.attribute_images)))
