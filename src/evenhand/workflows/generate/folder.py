"""A folder of generated images: what it was made with, what is there, and the table beside the images."""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.core.errors import InputError, ParameterError, one_line
from evenhand.core.unseen import json_escaped
from evenhand.files.atomic import atomic_path, write_bytes
from evenhand.files.hashing import sha256_text
from evenhand.files.json_file import read_json
from evenhand.files.tables.write import telling_where, write_table
from evenhand.workflows.generate.journal import PARTS, Record, records

DEFINITION, MANIFEST, TABLE, IMAGES = "definition.yaml", "manifest.json", "annotations.parquet", "images"
FORMAT = 1
_DECISIVE = ("class_axis", "attribute", "classes", "groups", "templates", "seed")
_ENTRIES = {DEFINITION, MANIFEST, TABLE, IMAGES, PARTS}


@dataclass(frozen=True, eq=False)
class GeneratedFolder:
    """Where images of one definition by one model lie."""

    path: Path
    definition: GenerationDefinition
    identity: Mapping[str, str]  # which model makes it, and how
    uri: str  # how the user named the model

    @cached_property
    def key(self) -> str:
        """What all of its images share; the number of images a cell is left out, and what only describes."""
        fields = asdict(self.definition)
        decisive = [FORMAT, {name: fields[name] for name in _DECISIVE}, dict(self.identity)]
        return sha256_text(json.dumps(decisive, sort_keys=True))

    def open(self) -> None:
        """Begin the folder, or go on with it."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{str(self.path)!r} is a file; give a folder with -o")
        here = {entry.name for entry in self.path.iterdir()} if self.path.is_dir() else set()
        foreign = sorted(
            name for name in here - _ENTRIES if not name.startswith(tuple(f".{e}." for e in here))
        )
        if MANIFEST in here:
            self._compare()
        elif foreign or here - {DEFINITION}:
            first = (foreign or sorted(here - {DEFINITION}))[0]
            raise InputError(
                f"{str(self.path)!r} holds other files such as {first!r}; give an empty or new folder with -o"
            )
        with telling_where(self.path):
            (self.path / IMAGES).mkdir(parents=True, exist_ok=True)
            if not (self.path / DEFINITION).is_file() or self._read_definition() != self.definition:
                write_bytes(self.path / DEFINITION, self.definition.dump())
        if MANIFEST not in here:
            self.write_manifest({})

    def _read_definition(self) -> GenerationDefinition:
        return GenerationDefinition.parse((self.path / DEFINITION).read_bytes(), str(self.path / DEFINITION))

    def _compare(self) -> None:
        """Refuse what differs from how the folder was begun."""
        manifest = self.manifest()
        if manifest.get("kind") != "generated" or not (self.path / DEFINITION).is_file():
            raise InputError(f"{str(self.path)!r} is another kind of folder; give a new folder with -o")
        stored, before = self._read_definition(), manifest.get("model_identity", {})
        differing = []
        for name in _DECISIVE:
            old, new = getattr(stored, name), getattr(self.definition, name)
            if old != new:
                change = "" if isinstance(old, tuple) else f" ({old}, now {new})"
                differing.append(f"{name} of the definition{change}")
        for name in dict.fromkeys((*before, *self.identity)):
            old, new = before.get(name, "nothing"), self.identity.get(name, "nothing")
            if old != new:
                differing.append(f"{name} of the model ({_short(old)}, now {_short(new)})")
        if differing:
            raise InputError(
                f"{str(self.path)!r} was made otherwise: {'; '.join(differing[:6])}; "
                "give a new folder with -o, or the settings of before"
            )
        if stored.images_per_cell > self.definition.images_per_cell:
            raise ParameterError(
                f"{str(self.path)!r} has {stored.images_per_cell} images a cell, more than "
                f"{self.definition.images_per_cell}; type --images-per-cell {stored.images_per_cell} or "
                "more, or give a new folder with -o"
            )

    def manifest(self) -> dict[str, Any]:
        """The manifest as it is on disk; empty where there is none."""
        path = self.path / MANIFEST
        if not path.is_file():
            return {}
        content: dict[str, Any] = read_json(path, "give a new folder with -o", dict)
        return content

    def write_manifest(self, facts: Mapping[str, Any]) -> None:
        """Write the manifest: what the folder is, and what is known of it now."""
        before = self.manifest()
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        definition = self.definition
        content = {
            **before,
            "kind": "generated",
            "format": FORMAT,
            "generated_id": self.key,
            "created": before.get("created", now),
            "definition": {
                "name": definition.name,
                "attribute": definition.attribute,
                "classes": len(definition.classes),
                "groups": [group.name for group in definition.groups],
                "images_per_cell": definition.images_per_cell,
                "seed": definition.seed,
            },
            "model": self.uri,
            "model_identity": dict(self.identity),
            "versions": {"evenhand": version("evenhand"), "python": platform.python_version()},
            **facts,
        }
        text = json_escaped(json.dumps(content, indent=1, ensure_ascii=False)) + "\n"
        with telling_where(self.path):
            write_bytes(self.path / MANIFEST, text.encode())

    def image(self, sample: str) -> Path:
        """Where an image is."""
        return self.path / IMAGES / f"{sample}.png"

    def write_image(self, sample: str, pixels: Any, texts: Mapping[str, str]) -> None:
        """Write an image, uint8 RGB of shape (H, W, 3), whole or not at all, with texts in its header."""
        from PIL import Image
        from PIL.PngImagePlugin import PngInfo

        header = PngInfo()
        for name, text in texts.items():
            header.add_text(name, text)
        target = self.image(sample)
        with telling_where(target), atomic_path(target) as temporary:
            Image.fromarray(pixels).save(temporary, format="PNG", pnginfo=header)

    def sweep(self, samples: Iterable[str]) -> None:
        """Delete what a killed process left half-written of images; none of them may be being written."""
        names: dict[Path, set[str]] = {}
        for sample in samples:
            path = self.image(sample)
            names.setdefault(path.parent, set()).add(path.name)
        for parent, here in names.items():
            for left in parent.glob(".*.png.*"):
                if left.name[1:].rpartition(".")[0] in here:
                    left.unlink(missing_ok=True)

    def known(self) -> dict[str, Record]:
        """What is known of each sample; an image that is gone, or half of one, counts as not made."""
        records_by_sample: dict[str, Record] = {}
        for record in records(self.path, "images"):
            if record.get("key") != self.key:
                raise InputError(
                    f"{str(self.path / PARTS)!r} holds parts that were made otherwise; take them and their "
                    "images out, or give a new folder with -o"
                )
            records_by_sample[record["sample"]] = record
        return {
            sample: record
            for sample, record in records_by_sample.items()
            if "reason" in record or self._is_there(sample, record)
        }

    def _is_there(self, sample: str, record: Record) -> bool:
        try:
            return bool(self.image(sample).stat().st_size == record["bytes"])
        except OSError:
            return False

    def write_table(self, table: pl.DataFrame) -> None:
        """Write the annotations, whole or not at all."""
        write_table(table, self.path / TABLE)


def _short(value: object) -> str:
    text = one_line(value)
    return text if len(text) <= 24 else f"{text[:12]}…"
