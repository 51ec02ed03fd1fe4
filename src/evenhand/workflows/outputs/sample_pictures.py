"""Thumbnails of a run's samples, for readers who asked for them: photos of people are personal data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import InputError
from evenhand.core.requests import ImageSource, UnreadableImage
from evenhand.files.images.perturbed import perturbed
from evenhand.files.images.thumbnails import thumbnail

if TYPE_CHECKING:
    from evenhand.runs.run_folder import RunFolder

_LONGEST = 96


class SamplePictures:
    """Finds the pictures that a run asked about, and makes thumbnails of them when they are asked for.

    The samples are read again with the parameters that the run had.
    """

    def __init__(self, run: RunFolder, data: str | Path | None) -> None:
        self._places: dict[str, tuple[ImageSource, int]] = {}
        for question in _questions(run, data):
            if question.images is not None:
                places = {sample: (question.images, at) for at, sample in enumerate(question.samples)}
                self._places = places | self._places
        if not self._places:
            raise InputError("--images: this run asked about no pictures; leave --images out")

    def __call__(self, samples: Sequence[str]) -> dict[str, str]:
        """Thumbnails by sample, as ``data:`` addresses; what cannot be read has none."""
        thumbnails = {}
        for sample in samples:
            if sample in self._places:
                source, at = self._places[sample]
                try:
                    thumbnails[sample] = thumbnail(source.load(at), _LONGEST)
                except UnreadableImage:
                    continue
        return thumbnails


def _questions(run: RunFolder, data: str | Path | None) -> Sequence[Any]:
    """What the run asked, planned again."""
    from evenhand.benchmarks.benchmark import Setting
    from evenhand.benchmarks.catalogue import BENCHMARKS

    manifest = run.manifest
    if manifest.get("kind") != "run" or not manifest.get("benchmark"):
        raise InputError("--images needs a run of a benchmark (evenhand run); a table has no pictures")
    benchmark = BENCHMARKS.get(str(manifest["benchmark"]))
    declared = {name: parameter.default for name, parameter in benchmark.parameters.items()}
    requests = (manifest.get("asking") or {}).get("questions") or []
    setting = Setting(
        parameters={**declared, **(manifest.get("parameters") or {})},
        data=None if data is None else Path(data).expanduser(),
        capabilities=[str(request["capability"]) for request in requests],
        seed=int(manifest.get("seed") or 0),
        limit=manifest.get("limit"),
        model=str(manifest.get("model") or ""),
    )
    return perturbed(benchmark.plan(setting).questions, setting.parameters, setting.seed)
