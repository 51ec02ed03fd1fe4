"""Predictions in the result format of COCO, beside annotations: detections, and labels of whole images.

Layout: the result format of cocodataset.org (format-results), as pycocotools 2.0.11 reads it
(``COCO.loadRes``, ``COCO.createIndex``): a JSON list of ``{image_id, category_id, score}``, with ``bbox``
(``[x, y, width, height]``) for detections; annotations hold ``images`` (``id``), ``annotations`` (``id``,
``image_id``, ``category_id``, ``bbox``, ``iscrowd``) and ``categories`` (``id``, ``name``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError
from evenhand.files.other_tools.samples import SampleTable, flat, frame_of, json_file, times

Record = Mapping[str, Any]

OVERLAP: float = 0.5
"""Intersection over union from which a detection is of an annotated object."""

MISSED = "(not detected)"
"""The prediction of an object that no detection overlaps."""

_OF_IMAGES = ("id", "license", "coco_url", "flickr_url", "date_captured")
_OF_ANNOTATIONS = ("id", "image_id", "category_id", "bbox", "segmentation", "area", "iscrowd", "keypoints")


def read_results(path: Path, annotations: str | None) -> SampleTable:
    """A row for each image, or, where results have boxes, for each annotated object.

    Columns: ``image_id``, ``target``, ``answer``, ``score``; ``annotation_id`` for objects; fields of images
    and annotations beyond COCO's own, such as ``image.setting`` and ``annotation.gender``.

    *Images*: ``answer`` is the category of the highest score, the first of equal ones; images whose
    annotations name several categories have no truth. *Objects*: detections of an image are taken in falling
    order of their score; each is matched to the free object that it overlaps most, from an intersection over
    union of 0.5 on, whatever its category; ``answer`` is the detection's category, or ``(not detected)``.
    Crowds are left out. Objects of an image are seen together: the image is the ``cluster``.
    """
    if annotations is None:
        raise InputError(
            f"the results {str(path)!r} hold no truths; name the annotations beside them: "
            "--from coco:ANNOTATIONS.json"
        )
    beside = Path(annotations).expanduser()
    results, truth = _results(path), _annotations(beside)
    images = {image["id"]: image for image in truth["images"]}
    unknown = next((row["image_id"] for row in results if row["image_id"] not in images), None)
    if unknown is not None:
        raise InputError(
            f"{str(path)!r} has results for image {unknown!r}, which is not in {str(beside)!r}; give the "
            "annotations that the results belong to"
        )
    names = {entry["id"]: str(entry["name"]) for entry in truth["categories"]}
    for record in (*results, *truth["annotations"]):
        if record["category_id"] not in names:
            raise InputError(
                f"category {record['category_id']!r} is not among the categories of {str(beside)!r}; "
                "give the annotations that the results belong to"
            )
    of_image = _by_image(results)
    annotated = _by_image(truth["annotations"])
    if any("bbox" in row for row in results):
        rows, notes = _objects(images, annotated, of_image, names)
        roles = {"id": "annotation_id", "cluster": "image_id"}
    else:
        rows, notes = _images(images, annotated, of_image, names)
        roles = {"id": "image_id"}
    roles |= {"truth": "target", "prediction": "answer"}
    return SampleTable(frame_of(rows, path), roles, notes, [beside])


def _results(path: Path) -> list[Record]:
    results = json_file(path)
    if not isinstance(results, list) or not all(
        isinstance(row, Mapping) and {"image_id", "category_id"} <= set(row) and _is_number(row.get("score"))
        for row in results
    ):
        raise InputError(
            f"{str(path)!r} is no result file of COCO: a JSON list of "
            '{"image_id": 1, "category_id": 3, "score": 0.9}; annotations come after --from coco:'
        )
    if any({"segmentation", "keypoints"} & set(row) and "bbox" not in row for row in results):
        raise InputError(f"results of {str(path)!r} have masks or keypoints but no bbox; add their boxes")
    return results


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and isfinite(value)


def _annotations(path: Path) -> Mapping[str, list[Record]]:
    content = json_file(path)
    keys = {"images": {"id"}, "annotations": {"id", "image_id", "category_id"}, "categories": {"id", "name"}}
    if not isinstance(content, Mapping) or not all(
        isinstance(content.get(key), list)
        and all(isinstance(entry, Mapping) and fields <= set(entry) for entry in content[key])
        for key, fields in keys.items()
    ):
        raise InputError(
            f"{str(path)!r} holds no annotations of COCO: images with id, annotations with id, image_id and "
            "category_id, categories with id and name"
        )
    return content


def _by_image(records: Sequence[Record]) -> dict[Any, list[Record]]:
    by_image: dict[Any, list[Record]] = defaultdict(list)
    for record in records:
        by_image[record["image_id"]].append(record)
    return by_image


def _images(
    images: Mapping[Any, Record],
    annotated: Mapping[Any, list[Record]],
    results: Mapping[Any, list[Record]],
    names: Mapping[Any, str],
) -> tuple[list[dict[str, Any]], list[str]]:
    rows, several = [], 0
    for key, image in images.items():
        categories = {record["category_id"] for record in annotated.get(key, ())}
        best = max(results.get(key, ()), key=lambda row: row["score"], default=None)
        several += len(categories) > 1
        row = {"image_id": key, **_fields("image", image, _OF_IMAGES)}
        if len(annotated.get(key, ())) == 1:
            row |= _fields("annotation", annotated[key][0], _OF_ANNOTATIONS)
        row["target"] = names[next(iter(categories))] if len(categories) == 1 else None
        rows.append(row | _answer(best, names, None))
    notes = [f"{times(several, 'image')} with several categories: without a truth"] if several else []
    return rows, notes


def _objects(
    images: Mapping[Any, Record],
    annotated: Mapping[Any, list[Record]],
    results: Mapping[Any, list[Record]],
    names: Mapping[Any, str],
) -> tuple[list[dict[str, Any]], list[str]]:
    rows, crowds, free = [], 0, 0
    for key, image in images.items():
        objects = [record for record in annotated.get(key, ()) if not record.get("iscrowd")]
        crowds += len(annotated.get(key, ())) - len(objects)
        detections = sorted(results.get(key, ()), key=lambda row: -row["score"])
        matched = _matched(detections, objects)
        free += len(detections) - len(matched)
        for position, record in enumerate(objects):
            row = {"annotation_id": record["id"], "image_id": key, **_fields("image", image, _OF_IMAGES)}
            row |= _fields("annotation", record, _OF_ANNOTATIONS)
            row["target"] = names[record["category_id"]]
            rows.append(row | _answer(matched.get(position), names, MISSED))
    notes = [f"{times(free, 'detection')} of no annotated object: in no row"] if free else []
    return rows, notes + ([f"{times(crowds, 'crowd')} left out"] if crowds else [])


def _matched(detections: Sequence[Record], objects: Sequence[Record]) -> dict[int, Record]:
    """The detection of each object that has one, by the object's position."""
    matched: dict[int, Record] = {}
    for detection in detections:
        overlaps = {
            position: _overlap(_box(detection), _box(record))
            for position, record in enumerate(objects)
            if position not in matched
        }
        best = max(overlaps, key=overlaps.__getitem__, default=None)
        if best is not None and overlaps[best] >= OVERLAP:
            matched[best] = detection
    return matched


def _box(record: Record) -> list[float]:
    box = record.get("bbox")
    if isinstance(box, list) and len(box) == 4 and all(map(_is_number, box)):
        return box
    raise InputError(
        f"a record of image {record['image_id']!r} has no bbox [x, y, width, height]; results and "
        "annotations need boxes in all records, or results in none"
    )


def _overlap(first: Sequence[float], second: Sequence[float]) -> float:
    """Intersection over union of two boxes ``[x, y, width, height]``; 0 where both are empty."""
    width = min(first[0] + first[2], second[0] + second[2]) - max(first[0], second[0])
    height = min(first[1] + first[3], second[1] + second[3]) - max(first[1], second[1])
    shared = max(0.0, width) * max(0.0, height)
    union = first[2] * first[3] + second[2] * second[3] - shared
    return shared / union if union > 0 else 0.0


def _fields(prefix: str, record: Record, usual: Sequence[str]) -> dict[str, Any]:
    """Fields beyond those of COCO."""
    return {name: value for field in record if field not in usual
            for name, value in flat(f"{prefix}.{field}", record[field]).items()}  # fmt: skip


def _answer(result: Record | None, names: Mapping[Any, str], missed: str | None) -> dict[str, Any]:
    if result is None:
        return {"answer": missed, "score": None}
    return {"answer": names[result["category_id"]], "score": float(result["score"])}
