"""Labelled images with an attribute, as every benchmark here reads them from its own layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.benchmarks.labelling.elicitation import Labels
from evenhand.core.errors import InputError, check_known
from evenhand.core.requests import ImageSource
from evenhand.files.images.cropped import ChosenImages
from evenhand.files.images.sources import ImageFiles

REPEATED = "sample on an earlier row"
OUTSIDE_FOLDER = "image path that leaves the folder"
INCOMPLETE = "row without image, class or group"
OUTSIDE_CLASSES = "class that the definition does not have"
OUTSIDE_GROUPS = "group that the definition does not have"
_GIVEN = ("sample", "truth")


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Labelled images with an attribute.

    ``annotations`` has a row for each sample: ``sample`` (unique), ``truth``, the attributes, and maybe where
    an image came from; null where not annotated.
    """

    annotations: pl.DataFrame
    images: ImageSource  # in the order of the rows
    attribute: str  # column that findings are made for by default
    labels: Labels  # what can be predicted, with the words that a prompt says
    question: str  # of models that answer in words
    wordnet_ids: Mapping[str, str] = field(default_factory=dict)  # WordNet id or classifier label -> class
    cluster: str | None = None  # column of what was sampled as a whole, such as a photo
    synonyms: Mapping[str, str] = field(default_factory=dict)  # other words of an answer -> class
    two_way: bool = False  # the question has two answers: denying one class says the other
    shares: Mapping[str, Sequence[str]] = field(default_factory=dict)  # attribute -> columns of annotators
    frames: Sequence[tuple[str, str]] = ()  # what prompts say before and behind a class
    dropped: Mapping[str, int] = field(default_factory=dict)  # what became no sample, by reason
    notes: Mapping[str, int] = field(default_factory=dict)  # what else is worth knowing, with how many
    about: Mapping[str, Any] = field(default_factory=dict)  # for the manifest: layout, annotated_by, ...

    def __len__(self) -> int:
        return len(self.annotations)

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse attributes that nobody annotated."""
        possible = [name for name in self.annotations.columns if name not in _GIVEN]
        check_known("attribute", names, possible)

    def without(self, left_out: pl.Series, reason: str) -> LabelledSamples:
        """The rows that are not left out; the others are counted under the reason."""
        if not left_out.any():
            return self
        remaining = (~left_out).arg_true().to_list()
        dropped = Counter(self.dropped) + Counter({reason: len(left_out) - len(remaining)})
        images = ChosenImages(self.images, remaining)
        return replace(self, annotations=self.annotations[remaining], images=images, dropped=dropped)


def from_definition(
    definition: GenerationDefinition,
    annotations: pl.DataFrame,
    images: ImageSource,
    dropped: Mapping[str, int],
    notes: Mapping[str, int] | None = None,
    about: Mapping[str, Any] | None = None,
) -> LabelledSamples:
    """Images of a definition: its classes are the labels, with those of the images that it does not have."""
    texts_by_name = {klass.name: klass.text for klass in definition.classes}
    there = set(annotations["truth"].drop_nulls().unique().to_list())
    extra_names = dict.fromkeys(sorted(there - set(texts_by_name)))
    all_notes = dict(notes or {})
    missing = len(set(texts_by_name) - there)
    if missing:
        all_notes["classes of the definition without an image"] = missing
    return LabelledSamples(
        annotations=annotations,
        images=images,
        attribute=definition.attribute,
        labels=Labels((*texts_by_name, *extra_names), (*texts_by_name.values(), *extra_names)),
        question=definition.question,
        wordnet_ids={klass.wordnet_id: klass.name for klass in definition.classes if klass.wordnet_id},
        synonyms={text: name for name, text in texts_by_name.items()},
        frames=definition.around(),
        dropped=dropped,
        notes=all_notes,
        about={"definition": definition.name, **(about or {})},
    )


def files_below(folder: Path, places: Sequence[str]) -> ImageFiles:
    """Images by their paths below a folder."""
    return ImageFiles([folder / path for path in places])


def in_turn(table: pl.DataFrame, attributes: Sequence[str]) -> pl.DataFrame:
    """The rows in turn from every truth and group, so that the first so many are of all of them."""
    turn = pl.int_range(pl.len()).over("truth", *attributes).alias("\0turn")
    return table.with_columns(turn).sort("\0turn", "truth", *attributes, "sample").drop("\0turn")


def stays(column: str) -> pl.Expr:
    """Whether a path of a table lies below its folder: it is not absolute and does not climb out."""
    return ~pl.col(column).str.contains(r"^[/\\]|(?:^|[/\\])\.\.(?:[/\\]|$)|\x00")


def require_folder(data: Path | None, what: str) -> Path:
    """The folder of the data; ``what`` should lie there is for the message."""
    if data is None:
        raise InputError(f"there is no data; give --data FOLDER with {what}")
    if not data.is_dir():
        raise InputError(f"there is no folder {str(data)!r}; give --data FOLDER with {what}")
    return data
