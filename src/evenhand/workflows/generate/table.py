"""The table beside generated images, and what is counted of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.workflows.generate.folder import IMAGES, GeneratedFolder
from evenhand.workflows.generate.journal import Record
from evenhand.workflows.generate.requests import model_name
from evenhand.workflows.generate.review import BY_MODEL, FLAGS, LOW, NO_FACE, NOT_BEST, SEVERAL, flags_of

_LOOKED = {BY_MODEL: "flagged_by_model", NOT_BEST: "clip_score", LOW: "clip_score"}
_LOOKED |= {NO_FACE: "faces", SEVERAL: "faces"}


def annotation_table(
    folder: GeneratedFolder,
    rows: pl.DataFrame,  # of GenerationDefinition.prompts
    records_by_sample: Mapping[str, Record],
    reviews: Mapping[str, Mapping[str, Record]],  # of ``clip`` and ``faces``, by sample
    *,
    below: float | None,  # CLIP scores under this are flagged
    size: int | None,  # height and width that were asked for
) -> pl.DataFrame:
    """One row for each image that is there, with its path relative to the folder."""
    definition, model = folder.definition, model_name(folder.identity)
    table_rows = []
    for row in rows.iter_rows(named=True):
        record = records_by_sample.get(row["sample"], {})
        if "sha256" not in record:
            continue
        other = size is not None and (record["height"], record["width"]) != (size, size)
        clip, faces = (_of_this(reviews[what], row["sample"], record) for what in ("clip", "faces"))
        flags = flags_of({**record, "other_size": other}, clip, faces, below=below, people=definition.people)
        table_rows.append(
            (
                row["sample"], f"{IMAGES}/{row['sample']}.png", row["class"], row["group"], row["template"],
                row["prompt"], row["seed"], row["index"], model, record["flagged"], clip.get("score"),
                faces.get("faces"), flags,
            )
        )  # fmt: skip
    schema: dict[str, Any] = {
        "sample": pl.String, "image": pl.String, "truth": pl.String, definition.attribute: pl.String,
        "template": pl.String, "prompt": pl.String, "seed": pl.Int64, "index": pl.Int64, "model": pl.String,
        "flagged_by_model": pl.Boolean, "clip_score": pl.Float64, "faces": pl.Int64,
        "flags": pl.List(pl.String),
    }  # fmt: skip
    return pl.DataFrame(table_rows, schema=schema, orient="row")


def not_made(rows: pl.DataFrame, records_by_sample: Mapping[str, Record]) -> pl.DataFrame:
    """Images that the model will not make: ``reason``, ``group``, ``count``, and an example's ``detail``."""
    schema = {"reason": pl.String, "group": pl.String, "detail": pl.String}
    refused = [
        (records_by_sample[sample]["reason"], group, records_by_sample[sample].get("detail", ""))
        for sample, group in zip(rows["sample"], rows["group"], strict=True)
        if "reason" in records_by_sample.get(sample, {})
    ]
    table = pl.DataFrame(refused, schema=schema, orient="row")
    return table.group_by("reason", "group", maintain_order=True).agg(
        pl.len().alias("count"), pl.col("detail").first()
    )


def flag_counts(table: pl.DataFrame, definition: GenerationDefinition) -> pl.DataFrame:
    """How many images of each group have each flag: ``flag``, ``group``, ``count``, ``of`` (reviewed)."""
    counts: list[dict[str, Any]] = []
    for flag in FLAGS:
        reviewed = table.filter(pl.col(_LOOKED[flag]).is_not_null()) if flag in _LOOKED else table
        hit = reviewed.filter(pl.col("flags").list.contains(flag))
        if not len(hit):
            continue
        for group in definition.groups:
            of_group = pl.col(definition.attribute) == group.name
            counts.append(
                {
                    "flag": flag,
                    "group": group.name,
                    "count": len(hit.filter(of_group)),
                    "of": len(reviewed.filter(of_group)),
                }
            )
    schema = {"flag": pl.String, "group": pl.String, "count": pl.Int64, "of": pl.Int64}
    return pl.DataFrame(counts, schema=schema)


def _of_this(review_records: Mapping[str, Record], sample: str, image_record: Record) -> Record:
    """What was seen of this very image, not of one of the same name before it."""
    record = review_records.get(sample, {})
    return record if record.get("sha256") == image_record["sha256"] else {}
