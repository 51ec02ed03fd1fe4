"""What both benchmarks of VisoGender read: samples, images and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Parameter, Setting
from evenhand.benchmarks.datasets.download_source import default_folder
from evenhand.benchmarks.visogender.data.captions import Row
from evenhand.benchmarks.visogender.data.samples import (
    AccountedSamples,
    count_cells,
    find_images,
    read_samples,
)
from evenhand.core.errors import InputError
from evenhand.core.requests import ImageSource

DATA_PARAMETERS: Mapping[str, Parameter] = {
    "images": Parameter("", help="folder of images called by their ids; else --data"),
    "single": Parameter("", help="which table of single persons, where --data holds several"),
    "two": Parameter("", help="which table of two persons, where --data holds several"),
    "exclude": Parameter("", help="file of ids to leave out, one a line"),
    "amend": Parameter("", help="file of corrections: id, column, value"),
}


@dataclass(frozen=True, eq=False)
class StudyData:
    """Samples with their images, in one order."""

    samples: AccountedSamples
    images: ImageSource

    @property
    def rows(self) -> Sequence[Row]:
        """The samples as mappings."""
        return self.samples.frame.to_dicts()


def read_material(setting: Setting) -> StudyData:
    """Read the tables and find the images."""
    params = setting.parameters
    source = setting.data or default_folder("visogender")
    if not source.exists():
        raise InputError(
            "VisoGender needs its tables and images; type: evenhand data fetch visogender, or give "
            "--data FOLDER"
        )
    samples = read_samples(
        source,
        exclude=_path(params["exclude"]),
        amend=_path(params["amend"]),
        single=str(params["single"]) or None,
        two=str(params["two"]) or None,
    )
    if setting.limit is not None:
        samples = AccountedSamples(samples.frame.head(setting.limit), samples.rows, samples.dropped)
    folder = _path(params["images"]) or (source if source.is_dir() else source.parent)
    return StudyData(samples, find_images(folder, samples.frame["sample"].to_list()).images)


def _path(text: Any) -> Path | None:
    return Path(str(text)).expanduser() if text else None


def coverage(samples: pl.DataFrame, answered: Sequence[str]) -> pl.DataFrame:
    """How many samples of each cell the findings rest on."""
    return count_cells(samples, answered)
