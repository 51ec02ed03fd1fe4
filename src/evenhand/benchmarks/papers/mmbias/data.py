"""Table 1, Figures 2 and 3 of the MMBias paper: what the data hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.mmbias.data.sets import AssociationData, read_association_data
from evenhand.benchmarks.papers.mmbias import published
from evenhand.benchmarks.papers.mmbias.rows import listed
from evenhand.benchmarks.papers.rows import OURS, PAPER, Row, frame
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.thumbnails import thumbnail
from evenhand.runs.run_folder import RunFolder

_THUMBNAIL = 96
_COUNTED = (
    "Paper: 250 images and 20 phrases a group, as it says, but 15 of LGBTQ and of heterosexual: its 350 "
    "phrases in all are those of the released file."
)
_VALENCE, _OTHERS = "Valence", "Other groups"
_PICTURES = (
    "source",
    "class",
    "group",
    "rank",
    "sample",
    "width",
    "height",
    "url",
    "owner",
    "picture",
    "reason",
)
_AREAS = ("source", "class", "group", "sample", "width", "height", "area", "mean", "sd", "reason")


def _read(setting: Setting) -> AssociationData:
    return read_association_data(setting.data, pairs="all")


def _table1(runs: Sequence[RunFolder], setting: Setting) -> Made:
    data = _read(setting)
    groups = list(dict.fromkeys([*data.target_phrases, *data.target_images]))
    rows: list[Row] = []
    for name in _in_classes(groups):
        lead = _lead(name, data)
        rows += _paper_row(name, lead)
        counts = {
            "phrases": len(data.target_phrases.get(name, ())),
            "images": len(data.target_images.get(name, ())),
        }
        rows.append({"source": OURS, **lead, **counts})
    for name in dict.fromkeys([*data.attribute_phrases, *data.attribute_images]):
        counts = {
            "phrases": len(data.attribute_phrases.get(name, ())),
            "images": len(data.attribute_images.get(name, ())),
        }
        rows.append({"source": OURS, **_lead(name, data), **counts})
    notes = (*_about(data), *([_COUNTED] if any(row["source"] == PAPER for row in rows) else []))
    return Made(frame(rows, ("source", "class", "group", "phrases", "images")), notes)


def _lead(name: str, data: AssociationData) -> Row:
    """Class and name of a set as they are shown."""
    attribute = name in data.attribute_images or name in data.attribute_phrases
    title = published.class_of(name) or (_VALENCE if attribute else _OTHERS)
    return {"class": title, "group": data.names.get(name, name)}


def _paper_row(name: str, lead: Row) -> Iterator[Row]:
    """What the paper says that it has of each group."""
    if not published.class_of(name):
        return
    textual = name in ("french", "italian", "visual", "hearing")
    phrases = published.PHRASES_OF_A_GROUP.get(name, published.USUAL_PHRASES)
    yield {
        "source": PAPER, **lead, "phrases": float(phrases),
        "images": None if textual else float(published.IMAGES_OF_A_GROUP),
    }  # fmt: skip


def _in_classes(groups: Sequence[str]) -> list[str]:
    """Groups in the order of the paper's classes, others after them."""
    order = [name for names in published.CLASSES.values() for name in names]
    return sorted(groups, key=lambda name: order.index(name) if name in order else len(order))


def _about(data: AssociationData) -> tuple[str, ...]:
    """What was unusual, counted; phrases and images."""
    phrases = sum(map(len, data.target_phrases.values()))
    images = sum(map(len, data.target_images.values()))
    notes = [f"{len(data.target_phrases)} groups, {phrases} phrases, {images} images of groups."]
    kinds = data.traps["kind"].value_counts(sort=True)
    if len(kinds):
        notes.append(f"Unusual: {listed(dict(kinds.iter_rows()))}. A run's table “traps” lists them.")
    if data.dropped:
        notes.append(f"Left out: {listed(data.dropped)}.")
    return tuple(notes)


def _figure3(runs: Sequence[RunFolder], setting: Setting) -> Made:
    data = _read(setting)
    rows, unreadable = [], 0
    for name, index in _places(data):
        try:
            height, width = data.images.load(index).shape[:2]
        except UnreadableImage:
            unreadable += 1
            continue
        lead = _lead(name, data)
        size = {"width": float(width), "height": float(height), "area": width * height / 1000}
        rows.append({"source": OURS, **lead, "sample": data.image_ids[index], **size})
    if not rows:
        raise InputError("mmbias/figure3 is made from images, and --data has none; put the image zips there")
    spread = _spreads(rows)
    notes = [f"{title}: mean {mean:.1f}, sd {sd:.1f}, {n} images." for title, (mean, sd, n) in spread.items()]
    if unreadable:
        notes.append(f"{unreadable} images could not be read.")
    notes.append(
        "The paper reports a mean area of about 110 (thousand pixels), a little more for nationality."
    )
    for row in rows:
        row["mean"], row["sd"], _ = spread[str(row["class"])]
    return Made(frame(rows, _AREAS), tuple(notes))


def _spreads(rows: Sequence[Row]) -> dict[str, tuple[float, float, int]]:
    """Mean, standard deviation and number of the areas of each class."""
    areas_by_class: dict[str, list[float]] = {}
    for row in rows:
        areas_by_class.setdefault(str(row["class"]), []).append(float(row["area"]))
    return {
        title: (float(np.mean(areas)), float(np.std(areas, ddof=1)) if len(areas) > 1 else 0.0, len(areas))
        for title, areas in areas_by_class.items()
    }


def _places(data: AssociationData) -> Iterator[tuple[str, int]]:
    """Set and place of each image, in the order of the paper's classes."""
    indices = {id_: number for number, id_ in enumerate(data.image_ids)}
    images = {**data.target_images, **data.attribute_images}
    for name in _in_classes(list(images)):
        yield from ((name, indices[id_]) for id_ in images[name])


def _figure2(runs: Sequence[RunFolder], setting: Setting) -> Made:
    data, params = _read(setting), setting.parameters
    if not data.image_ids:
        raise InputError("mmbias/figure2 shows images, and --data has none; put the image zips there")
    with_pictures, most = params["images"] == "yes", int(params["of_each"])
    sets: dict[str, list[int]] = {}
    for name, index in _places(data):
        sets.setdefault(name, []).append(index)
    photos = {row["sample"]: row for row in data.photos.to_dicts()}
    rng = np.random.default_rng(setting.seed)
    rows: list[Row] = []
    for name, indices in sets.items():
        selected_indices = sorted(rng.choice(indices, size=min(most, len(indices)), replace=False).tolist())
        lead = {"source": OURS, **_lead(name, data)}
        rows += [
            {
                **lead,
                "rank": float(rank),
                **_picture(data, index, with_pictures),
                **_credit(photos, data.image_ids[index]),
            }
            for rank, index in enumerate(selected_indices, 1)
        ]
    table = frame(rows, _PICTURES)
    if not with_pictures:
        note = (
            "The pictures show people and stay where they are. To see them, add -p images=yes; the file then "
            "holds small copies of them, so keep it to yourself."
        )
        return Made(table.drop("picture"), (note,), (_LISTING,))
    notes = (
        "Small copies of photos of people: do not pass this file on. Owner and licence of each photo are "
        "stated on its page (columns url and owner of the table).",
    )
    return Made(table, notes, (_PICTURE_FIGURE,))


def _credit(photos: dict[str, Row], sample: str) -> Row:
    photo = photos.get(sample, {})
    return {"url": photo.get("url"), "owner": photo.get("owner")}


def _picture(data: AssociationData, index: int, with_picture: bool) -> Row:
    """Id and size of an image, and a small copy where that was asked for."""
    sample = {"sample": data.image_ids[index]}
    try:
        pixels = data.images.load(index)
    except UnreadableImage as problem:
        return {**sample, "reason": problem.reason}
    size = {"width": float(pixels.shape[1]), "height": float(pixels.shape[0])}
    return {**sample, **size, "picture": thumbnail(pixels, _THUMBNAIL) if with_picture else None}


_LISTING = Figure(
    "table", levels=("class", "group", "sample", "width", "height", "url"), titles={"class": "", "group": ""},
    formats={"width": "count", "height": "count"},
)  # fmt: skip
_PICTURE_FIGURE = Figure("pictures", x="rank", y="group", value="picture", facet="class")
TABLE1 = Artifact(
    "mmbias/table1",
    "Target classes and groups, with phrases and images",
    _table1,
    (
        Figure(
            "table", levels=("class", "group", "phrases", "images"), titles={"class": "", "group": ""},
            formats={"phrases": "count", "images": "count"},
        ),
    ),
    runs=0,
    data=True,
)  # fmt: skip
FIGURE2 = Artifact(
    "mmbias/figure2",
    "Sample images of each group",
    _figure2,
    runs=0,
    data=True,
    parameters={
        "images": Parameter("no", ("no", "yes"), "yes: put small copies of the photos into the file"),
        "of_each": Parameter(6, help="images of each group"),
    },
)
FIGURE3 = Artifact(
    "mmbias/figure3",
    "Area of the images in thousands of pixels, with the fitted normal distribution",
    _figure3,
    (
        Figure(
            "histogram", x="area", facet="class", fit=True, columns=2,
            titles={"area": "width × height / 1,000"},
        ),
    ),
    runs=0,
    data=True,
)  # fmt: skip
