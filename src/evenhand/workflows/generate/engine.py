"""Images of a definition: asked for, written, looked over, and put in one table; the same call goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.core.errors import ParameterError, failures_are_errors
from evenhand.models.identity.source import ImageOptions, LoadOptions, ModelSource
from evenhand.models.resolve import require, resolve
from evenhand.workflows.generate.folder import GeneratedFolder
from evenhand.workflows.generate.journal import USAGE, Record, Shard, journal, records, spent
from evenhand.workflows.generate.requests import Generating
from evenhand.workflows.generate.review import (
    FaceReview,
    PromptReview,
    Review,
    check_dual_encoder,
    review_images,
    rivals_of,
)
from evenhand.workflows.generate.table import annotation_table, flag_counts, not_made

Progress = Callable[[str, int, int], None]
_TAKE_OPTIONS = ("diffusers:", "api:")


@dataclass(frozen=True, eq=False)
class ReviewRule:
    """How images are looked over."""

    clip: str | None = None  # URI of a dual encoder; None: images are not compared with prompts
    below: float | None = None  # scores under this are flagged; None: none
    faces: bool = False


@dataclass(frozen=True, eq=False)
class Generated:
    """What is in the folder now."""

    folder: Path
    definition: GenerationDefinition
    wanted: int  # images that were to be made by now: all, or as many as ``limit``
    made: int  # of those, how many are there
    missing: int  # of those, how many are neither there nor refused
    table: pl.DataFrame  # annotations of all that is there
    written: bool  # whether they are in the folder; not while shards are missing
    refused: pl.DataFrame  # images that the model will not make, a row for each reason and group
    flags: pl.DataFrame  # how many images of each group have each flag
    failed: Mapping[str, int]  # images that failed for now, by reason


def generate(
    definition: str | Path | GenerationDefinition,
    model: Any,
    folder: str | Path,
    *,
    images_per_cell: int | None = None,
    seed: int | None = None,
    shard: Shard = (1, 1),
    limit: int | None = None,
    batch_size: int | None = None,
    options: LoadOptions | None = None,
    gate: ReviewRule | None = None,
    progress: Progress | None = None,
) -> Generated:
    """Make the images of a definition that are not there yet.

    Args:
        definition: A file, the name of one that is shipped, or a definition.
        model: URI of a model that generates images, or such an object.
        folder: Where to; new, or one of an earlier call.
        images_per_cell: Instead of the definition's.
        seed: Instead of the definition's.
        shard: (I, N): every Nth image from the Ith on; N calls, also on several machines, make all.
        limit: The first so many only.
        batch_size: Images asked for at once; None: what the model says of itself, else 1.
        options: How the model is loaded, and how it makes images.
        gate: How images are looked over; None: not.
        progress: Called with what is done, how many are done, and of how many.

    Raises:
        UserError: A definition, model or folder that cannot be used.
    """
    made_of = (
        definition if isinstance(definition, GenerationDefinition) else GenerationDefinition.read(definition)
    )
    requested = made_of.changed(images_per_cell=images_per_cell, seed=seed)
    check_shard(shard)
    load_options = options or LoadOptions(images=ImageOptions())
    source = _source(model, load_options)
    generated_folder = GeneratedFolder(Path(folder), requested, source.identity(), source.uri)
    looks = _looks(gate or ReviewRule(), requested, load_options)
    generated_folder.open()
    say = progress or (lambda _what, _done, _of: None)
    rows = requested.prompts()
    mine = rows.head(limit or len(rows)).to_dicts()[shard[0] - 1 :: shard[1]]
    failed, model_facts = _make(generated_folder, source, mine, shard, batch_size, say)
    for look in looks:
        _look(generated_folder, look, mine, shard, say)
    facts = _manifest_facts(generated_folder, looks, model_facts)
    table, known_records = _table(generated_folder, rows, facts, load_options.images)
    samples = rows.head(limit or len(rows))["sample"]
    n_made = sum("sha256" in known_records.get(sample, {}) for sample in samples)
    missing = sum(sample not in known_records for sample in samples)
    result = Generated(
        generated_folder.path, requested, len(samples), n_made, missing, table,
        missing == 0 or shard == (1, 1), not_made(rows, known_records), flag_counts(table, requested), failed,
    )  # fmt: skip
    if result.written:
        _write(generated_folder, result, len(rows), _manifest_facts(generated_folder, looks, model_facts))
    return result


def check_shard(shard: Shard) -> None:
    """Refuse a shard that is none."""
    if not 1 <= shard[0] <= shard[1]:
        raise ParameterError(f"shard {shard[0]}/{shard[1]} is not possible; give I/N such as 1/4 to 4/4")


def _source(model: Any, options: LoadOptions) -> ModelSource:
    source = resolve(model, options)
    require(source, "generates_images")
    image_options = options.images or ImageOptions()
    if image_options != ImageOptions() and not source.uri.startswith(_TAKE_OPTIONS):
        raise ParameterError(
            f"{source.uri!r} takes no --steps, --guidance or --size; your own class decides them itself"
        )
    return source


def _looks(gate: ReviewRule, definition: GenerationDefinition, options: LoadOptions) -> list[Review]:
    """The ways of looking that were asked for, refused before any image is made."""
    looks: list[Review] = []
    if gate.clip is None and gate.below is not None:
        raise ParameterError("--clip-below needs a model to compare with; add --clip URI")
    if gate.clip is not None:
        source = resolve(gate.clip, LoadOptions(options.device, options.dtype, options.trust_remote_code))
        check_dual_encoder(source)
        looks.append(PromptReview(source, rivals_of(definition), gate.below))
    if gate.faces:
        looks.append(FaceReview())
        looks[-1].manifest_facts()  # the detector is missing before, not after, hours of work
    return looks


def _make(
    folder: GeneratedFolder,
    source: ModelSource,
    mine: Sequence[Mapping[str, Any]],
    shard: Shard,
    batch_size: int | None,
    say: Progress,
) -> tuple[dict[str, int], dict[str, Any]]:
    """Ask for what is missing of this shard; why some failed for now, and what the model says of itself."""
    records_by_sample = folder.known()
    missing = [row for row in mine if row["sample"] not in records_by_sample]
    n_done = len(mine) - len(missing)
    say("images", n_done, len(mine))
    if not missing:
        return {}, {}
    asking = Generating(folder, source, batch_size)
    try:
        with (
            failures_are_errors(f"the model {source.uri!r}"),
            journal(folder.path, "images", shard) as writer,
        ):
            folder.sweep(row["sample"] for row in missing)
            for count, record in enumerate(asking.make(missing), n_done + 1):
                if record is not None:
                    writer.add(record)
                say("images", count, len(mine))
        return asking.failed, asking.manifest_facts()
    finally:
        used = asking.manifest_facts().get(USAGE)
        if used:
            with journal(folder.path, USAGE, shard) as writer:
                writer.add({"sample": "", "key": folder.key, USAGE: used})
        asking.close()


def _look(
    folder: GeneratedFolder, look: Review, mine: Sequence[Mapping[str, Any]], shard: Shard, say: Progress
) -> None:
    """Review the images of this shard that were not reviewed before."""
    records_by_sample = {sample: record for sample, record in folder.known().items() if "sha256" in record}
    hashes_by_sample = {record["sample"]: record.get("sha256") for record in records(folder.path, look.kind)}
    here = [row for row in mine if row["sample"] in records_by_sample]
    new = [
        row
        for row in here
        if hashes_by_sample.get(row["sample"]) != records_by_sample[row["sample"]]["sha256"]
    ]
    what = look.kind.partition("-")[0]
    say(what, len(here) - len(new), len(here))
    if not new:
        return
    with journal(folder.path, look.kind, shard) as writer:
        for count, record in enumerate(
            review_images(folder, look, new, records_by_sample), len(here) - len(new) + 1
        ):
            writer.add(record)
            say(what, count, len(here))


def _manifest_facts(
    folder: GeneratedFolder, looks: Sequence[Review], model_facts: Mapping[str, Any]
) -> dict[str, Any]:
    """For the manifest; what an earlier call looked with holds on, and what it spent adds."""
    used = spent(folder.path, folder.key)
    gate = dict(folder.manifest().get("gate", {}))
    gate |= {look.kind.partition("-")[0]: look.manifest_facts() for look in looks}
    return {**model_facts, **({USAGE: used} if used else {}), **({"gate": gate} if gate else {})}


def _table(
    folder: GeneratedFolder, rows: pl.DataFrame, facts: Mapping[str, Any], image_options: ImageOptions | None
) -> tuple[pl.DataFrame, dict[str, Record]]:
    """The annotations of what is there, and what is known of it."""
    records_by_sample, gate = folder.known(), facts.get("gate", {})
    reviews = {
        what: {record["sample"]: record for record in records(folder.path, gate[what]["kind"])}
        if what in gate
        else {}
        for what in ("clip", "faces")
    }
    size = image_options.size if image_options is not None else None
    below = gate.get("clip", {}).get("below")
    return annotation_table(
        folder, rows, records_by_sample, reviews, below=below, size=size
    ), records_by_sample


def _write(folder: GeneratedFolder, result: Generated, all_images: int, facts: Mapping[str, Any]) -> None:
    """The table and the manifest."""
    refused, n_made = int(result.refused["count"].sum()), len(result.table)
    images = {
        "wanted": all_images,
        "made": n_made,
        "refused": refused,
        "missing": all_images - n_made - refused,
    }
    lists = {"refused": result.refused.to_dicts(), "flags": result.flags.to_dicts()}
    folder.write_table(result.table)
    folder.write_manifest({**facts, "images": images, **lists})
