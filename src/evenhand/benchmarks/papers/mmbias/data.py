"""Table 1, Figures 2 and 3 of the MMBias paper: what the data hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.mmbias.data.sets import AssociationData, Sets, read_association_data
from evenhand.benchmarks.papers.mmbias.published import CLASS_OF, IMAGES, PHRASES
from evenhand.benchmarks.papers.rows import OURS, PAPER, Row, frame
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.thumbnails import thumbnail
from evenhand.runs.run_folder import RunFolder

_THUMBNAIL = 96
_PICTURES = (
    "source", "class", "group", "rank", "sample", "width", "height", "url", "owner", "picture", "reason",
)  # fmt: skip
_AREAS = ("source", "class", "group", "sample", "width", "height", "area", "mean", "sd", "reason")
_COUNTS = Figure(
    "table", levels=("class", "group", "phrases", "images"), titles={"class": "", "group": ""},
    formats={"phrases": "count", "images": "count"},
)  # fmt: skip
_LISTING = replace(
    _COUNTS, levels=("class", "group", "sample", "width", "height", "url"),
    formats={"width": "count", "height": "count"},
)  # fmt: skip
_WITHOUT = (
    "The pictures show people and stay where they are. To see them, add -p images=yes; the file then holds "
    "small copies of them, so keep it to yourself."
)
_WITH = (
    "Small copies of photos of people: do not pass this file on. Owner and licence of each photo are stated "
    "on its page (columns url and owner of the table)."
)


def _table1(runs: Sequence[RunFolder], setting: Setting) -> Made:
    """Of each group of the paper what it says, then what is there; then other groups, and the attributes."""
    data = _read(setting)
    rows = []
    for name in _in_classes({**data.target_phrases, **data.target_images}):
        if name in CLASS_OF:
            rows.append({"source": PAPER, "group": name, "phrases": PHRASES[name], "images": IMAGES[name]})
        rows.append(_counted(name, data.target_phrases, data.target_images))
    attributes = {**data.attribute_phrases, **data.attribute_images}
    rows += [_counted(name, data.attribute_phrases, data.attribute_images) for name in attributes]
    table = _titled(frame(rows, ("source", *_COUNTS.levels)), data)
    return Made(table, tuple(_notes(data, table)))


def _read(setting: Setting) -> AssociationData:
    """All sets of the data, of whichever pairs."""
    return read_association_data(setting.data, pairs="all")


def _in_classes(sets: Mapping[str, object]) -> list[str]:
    """Groups in the order of the paper's classes, others after them."""
    return [name for name in CLASS_OF if name in sets] + [name for name in sets if name not in CLASS_OF]


def _counted(name: str, phrases: Sets, images: Sets) -> Row:
    """How many phrases and images a set has."""
    counts = {"phrases": len(phrases.get(name, ())), "images": len(images.get(name, ()))}
    return {"source": OURS, "group": name, **counts}


def _titled(table: pl.DataFrame, data: AssociationData) -> pl.DataFrame:
    """Class and name of each set as they are shown."""
    attributes = dict.fromkeys([*data.attribute_images, *data.attribute_phrases], "Valence")
    title = pl.col("group").replace_strict({**attributes, **CLASS_OF}, default="Other groups")
    return table.with_columns(title.alias("class"), pl.col("group").replace(data.names))


def _notes(data: AssociationData, table: pl.DataFrame) -> Iterator[str]:
    """How much there is, what was unusual, and where the paper's numbers come from."""
    phrases, images = (sum(map(len, sets.values())) for sets in (data.target_phrases, data.target_images))
    yield f"{len(data.target_phrases)} groups, {phrases} phrases, {images} images of groups."
    kinds = data.traps["kind"].value_counts(sort=True).rows()
    if kinds:
        yield f"Unusual: {_listed(kinds)}. A run's table “traps” lists them."
    if data.dropped:
        yield f"Left out: {_listed(data.dropped.items())}."
    if PAPER in table["source"]:
        yield (
            "Paper: 250 images and 20 phrases a group, as it says, but 15 of LGBTQ and of heterosexual: its "
            "350 phrases in all are those of the released file."
        )


def _listed(counts: Iterable[tuple[str, int]]) -> str:
    """``a: 1, b: 2``."""
    return ", ".join(f"{name}: {count}" for name, count in counts)


def _figure3(runs: Sequence[RunFolder], setting: Setting) -> Made:
    """The area of each image, with the spread of its class."""
    data = _read(setting)
    images = _titled(frame(list(_seen(data, _numbers(data))), _AREAS), data)
    areas = images.drop_nulls("area").drop("mean", "sd")
    if areas.is_empty():
        raise InputError("mmbias/figure3 is made from images, and --data has none; put the image zips there")
    spreads, notes = [], []
    for (title,), of_class in areas.group_by("class", maintain_order=True):
        sizes = of_class["area"].to_numpy()
        mean, sd = sizes.mean(), sizes.std(ddof=1) if len(sizes) > 1 else 0.0
        spreads.append((title, mean, sd))
        notes.append(f"{title}: mean {mean:.1f}, sd {sd:.1f}, {len(sizes)} images.")
    if len(areas) < len(images):
        notes.append(f"{len(images) - len(areas)} images could not be read.")
    notes.append(
        "The paper reports a mean area of about 110 (thousand pixels), a little more for nationality."
    )
    spread = pl.DataFrame(spreads, schema=["class", "mean", "sd"], orient="row")
    return Made(areas.join(spread, on="class", maintain_order="left").select(_AREAS), tuple(notes))


def _numbers(data: AssociationData) -> dict[str, list[int]]:
    """The place of each image of a set in the data; sets in the order of the paper's classes."""
    places = {id_: number for number, id_ in enumerate(data.image_ids)}
    images = {**data.target_images, **data.attribute_images}
    return {name: [places[id_] for id_ in images[name]] for name in _in_classes(images)}


def _seen(data: AssociationData, numbers: Mapping[str, Sequence[int]], copies: bool = False) -> Iterator[Row]:
    """Id and size of images of each set, with small copies where they are wanted; why one cannot be read."""
    photos = {photo["sample"]: photo for photo in data.photos.to_dicts()}
    for name, places in numbers.items():
        for rank, number in enumerate(places, 1):
            sample = data.image_ids[number]
            row = {**photos.get(sample, {}), "source": OURS, "group": name, "rank": rank, "sample": sample}
            try:
                pixels = data.images.load(number)
            except UnreadableImage as problem:
                yield {**row, "reason": problem.reason}
                continue
            height, width = pixels.shape[:2]
            picture = thumbnail(pixels, _THUMBNAIL) if copies else None
            yield {**row, "width": width, "height": height, "area": width * height / 1000, "picture": picture}


def _figure2(runs: Sequence[RunFolder], setting: Setting) -> Made:
    """Some images of each set, drawn at random; they are shown only if that is asked for."""
    data, of_each, copies = _read(setting), setting.parameters["of_each"], setting.text("images") == "yes"
    if not data.image_ids:
        raise InputError("mmbias/figure2 shows images, and --data has none; put the image zips there")
    rng = np.random.default_rng(setting.seed)
    draws = {
        name: sorted(rng.choice(places, size=min(of_each, len(places)), replace=False).tolist())
        for name, places in _numbers(data).items()
    }
    table = _titled(frame(list(_seen(data, draws, copies)), _PICTURES), data)
    if copies:
        return Made(
            table, (_WITH,), (Figure("pictures", x="rank", y="group", value="picture", facet="class"),)
        )
    return Made(table.drop("picture"), (_WITHOUT,), (_LISTING,))


_artifact = partial(Artifact, runs=0, data=True)
TABLE1 = _artifact("mmbias/table1", "Target classes and groups, with phrases and images", _table1, (_COUNTS,))
FIGURE2 = _artifact(
    "mmbias/figure2",
    "Sample images of each group",
    _figure2,
    parameters={
        "images": Parameter("no", ("no", "yes"), "yes: put small copies of the photos into the file"),
        "of_each": Parameter(6, help="images of each group"),
    },
)
FIGURE3 = _artifact(
    "mmbias/figure3",
    "Area of the images in thousands of pixels, with the fitted normal distribution",
    _figure3,
    (
        Figure(
            "histogram", x="area", facet="class", fit=True, columns=2,
            titles={"area": "width × height / 1,000"},
        ),
    ),
)  # fmt: skip
