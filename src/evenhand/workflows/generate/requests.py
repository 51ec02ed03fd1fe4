"""Prompts to a model that makes images, batch by batch; each image is written when it comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.core.capabilities import CheckedImage, NotAnswered, Pixels
from evenhand.core.errors import EvenhandError, UserError, described, one_line
from evenhand.files.hashing import sha256_file
from evenhand.models.identity.source import ModelSource
from evenhand.workflows.execution.answering.batches import is_out_of_memory
from evenhand.workflows.generate.folder import GeneratedFolder
from evenhand.workflows.generate.journal import Record

Row = Mapping[str, Any]


@dataclass(eq=False)
class Generating:
    """Asks one model for the images of one folder."""

    folder: GeneratedFolder
    source: ModelSource  # loaded when the first image is asked for
    batch_size: int | None = None  # images asked for at once; None: what the model says of itself, else 1
    failed: dict[str, int] = field(default_factory=dict, init=False)  # to ask for again, by reason
    _model: Any = field(default=None, init=False)

    def make(self, rows: Sequence[Row]) -> Iterator[Record | None]:
        """Make and write images; what is known of each as it is there, None for one that failed for now."""
        self._model = self.source.load()
        piece = self.batch_size or int(getattr(self._model, "at_once", 1))
        start = 0
        while start < len(rows):
            some = rows[start : start + piece]
            try:
                images = self._model.generate([row["prompt"] for row in some], [row["seed"] for row in some])
            except EvenhandError:
                raise
            except Exception as problem:
                piece = self._halved(problem, some)
                continue
            yield from self._written(some, images)
            start += len(some)

    def manifest_facts(self) -> dict[str, Any]:
        """What the loaded model says of its safety settings and of what asking cost."""
        facts = {}
        for name in ("safety", "usage"):
            if hasattr(self._model, name):
                facts[name] = dict(getattr(self._model, name)())
        return facts

    def close(self) -> None:
        """Let go of connections."""
        if hasattr(self._model, "close"):
            self._model.close()

    def _halved(self, problem: Exception, rows: Sequence[Row]) -> int:
        cause = described(problem)[:300]
        if not is_out_of_memory(problem):
            raise UserError(f"the model failed on {rows[0]['prompt']!r}: {cause}") from problem
        if len(rows) == 1:
            raise UserError(
                f"memory does not hold a single image: {cause}; try --dtype bfloat16, --size, or a smaller "
                "model; what was made is kept"
            ) from problem
        return len(rows) // 2

    def _written(self, rows: Sequence[Row], images: Any) -> Iterator[Record | None]:
        answers = list(images) if hasattr(images, "__iter__") else []
        if len(answers) != len(rows):
            raise UserError(f"generate() of the model gave {len(answers)} images for {len(rows)} prompts")
        for row, answer in zip(rows, answers, strict=True):
            if isinstance(answer, NotAnswered) and answer.temporary:
                self.failed[answer.reason] = self.failed.get(answer.reason, 0) + 1
                yield None
            else:
                yield self._record(row, answer)

    def _record(self, row: Row, answer: Any) -> Record:
        record: Record = {"sample": row["sample"], "seed": row["seed"], "key": self.folder.key}
        if isinstance(answer, NotAnswered):
            return {**record, "reason": one_line(answer.reason), "detail": one_line(answer.detail, 300)}
        checked = answer if isinstance(answer, CheckedImage) else None
        pixels = _pixels(answer if checked is None else checked.pixels)
        texts = {"prompt": row["prompt"], "seed": str(row["seed"]), "model": model_name(self.folder.identity)}
        self.folder.write_image(row["sample"], pixels, texts)
        path = self.folder.image(row["sample"])
        return {
            **record,
            "bytes": path.stat().st_size,
            "sha256": sha256_file(path),
            "height": pixels.shape[0],
            "width": pixels.shape[1],
            "flagged": None if checked is None else bool(checked.flagged),
            "one_colour": bool((pixels == pixels[0, 0]).all()),
        }


def model_name(identity: Mapping[str, str]) -> str:
    """A model's name and revision in one word."""
    name, revision = identity.get("name", identity.get("class", "a model")), identity.get("revision", "")
    return f"{name}@{revision}" if revision and revision != "local" else name


def _pixels(pixels: Any) -> Pixels:
    image = np.asarray(pixels)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise UserError(
            f"generate() of the model gave {image.dtype} of shape {one_line(image.shape)}; "
            "an image is uint8 RGB, shape (H, W, 3)"
        )
    return np.ascontiguousarray(image)
