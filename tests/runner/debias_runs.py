"""Run folders with planted vectors, for the tests of mitigations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from evenhand.core.findings import Findings
from evenhand.files.tables.write import write_table
from evenhand.runs.manifest import make_manifest
from evenhand.workflows.outputs.result import Run

TESTS = {"form": pl.String, **dict.fromkeys(("x", "y", "a", "b"), pl.String)}


def planted(
    seed: int = 0,
    *,
    dimensions: int = 32,
    items: int = 36,
    words: int = 20,
    strength: float = 1.0,
    carriers: tuple[int, ...] = (3, 11),
    groups: tuple[str, ...] = ("north", "south"),
) -> dict[str, dict[str, np.ndarray]]:
    """Vectors of noise in which some dimensions set the first group and the unpleasant words apart."""
    rng = np.random.default_rng(seed)
    images, phrases = {}, {}
    for place, name in enumerate(groups):
        sign = 1.0 if place % 2 == 0 else -1.0
        images[name] = rng.normal(size=(items, dimensions))
        images[name][:, carriers] += sign * strength * 2
        phrases[name] = rng.normal(size=(8, dimensions))
        phrases[name][:, carriers] += sign * strength * 2
    attributes = {}
    for name, sign in (("unpleasant", 1.0), ("pleasant", -1.0)):
        attributes[name] = rng.normal(size=(words, dimensions))
        attributes[name][:, carriers] += sign * strength * 2
    return {"images": images, "phrases": phrases, "attributes": attributes}


def write_run(
    folder: Path,
    sets: dict[str, dict[str, np.ndarray]],
    *,
    pairs: tuple[tuple[str, str], ...] = (),
    numbers: type[np.floating] = np.float32,
) -> Path:
    """A run folder as mmbias/association leaves it: evidence, members and tests, no findings."""
    names = list(sets["images"])
    chosen = pairs or tuple(zip(names[::2], names[1::2], strict=True))
    members, images, texts = [], [], []
    for role, modality, part, kept in (
        ("target", "image", "images", images),
        ("target", "text", "phrases", texts),
        ("attribute", "text", "attributes", texts),
    ):
        for name, vectors in sets[part].items():
            for number, vector in enumerate(vectors):
                item = f"{name}/{number}" if modality == "image" else f"{name} {role} {number}"
                sample = item if role != "target" or modality == "image" else f"This is {item}."
                template = None if modality == "image" else "This is {}." if role == "target" else "{}"
                members.append((role, name, item, sample, modality, template))
                kept.append((sample, modality, vector.astype(numbers).tolist()))
    tests = [(form, x, y, "unpleasant", "pleasant") for form in ("cross-modal", "textual") for x, y in chosen]
    columns = ("role", "set", "item", "sample", "modality", "template")
    manifest = make_manifest({}, {"kind": "run", "benchmark": "mmbias/association", "model": "planted"})
    run = Run(
        Findings(manifest_id=manifest["manifest_id"], findings=[]),
        manifest,
        tables={
            "members": pl.DataFrame(members, schema=dict.fromkeys(columns, pl.String), orient="row"),
            "tests": pl.DataFrame(tests, schema=TESTS, orient="row"),
        },
    )
    run.save(folder)
    schema = {
        "sample": pl.String,
        "modality": pl.String,
        "vector": pl.List(pl.Float32 if numbers is np.float32 else pl.Float64),
    }
    for name, rows in (("images", images), ("texts", texts)):
        table = pl.DataFrame(rows, schema=schema, orient="row")
        write_table(table, folder / "evidence" / name / "part-00000.parquet")
    return folder
