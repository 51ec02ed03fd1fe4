"""Images of a definition, generated or the user's own: what occupations, sports and backgrounds share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import polars as pl

from evenhand.benchmarks.attributes import USER
from evenhand.benchmarks.benchmark import Parameter, Setting
from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.benchmarks.datasets.labelled_images import read_samples
from evenhand.benchmarks.labelling.measures import attributes_in, groupings_in
from evenhand.benchmarks.labelling.task import Task
from evenhand.benchmarks.skewsize.classify import Classify
from evenhand.benchmarks.skewsize.data.class_group_folders import (
    LAYOUT,
    classes_by_folder,
    plain_name,
    read_cells,
)
from evenhand.benchmarks.skewsize.data.generated import is_generated, read_generated
from evenhand.benchmarks.skewsize.data.samples import OUTSIDE_CLASSES, LabelledSamples, from_definition
from evenhand.core.errors import InputError, UnknownName, UserError
from evenhand.metrics.suites.families import AUDIT

_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq", ".feather", ".ipc")


def study(
    name: str,
    *,
    synonyms: str,  # shipped file, for answers in words
    outside: str = "keep",  # what becomes of classes and groups that the definition does not have
    templates: str = "a photo of a {label}",  # prompts for zero-shot
    paper: Mapping[str, str] | None = None,  # parameters that ``mode=paper`` sets
) -> Task:
    """The benchmark ``skewsize/NAME`` on images of a definition."""
    own_parameters = {
        "definition": Parameter("", help=f"of your own images: {name} or another name, or FILE.yaml"),
        "outside": Parameter(outside, ("keep", "exclude"), "own images of classes it does not have"),
        "flagged": Parameter("keep", ("keep", "exclude"), "images that the generator or its gate flagged"),
        "image": Parameter("", help="of a table of yours: column of image paths"),
        "truth": Parameter("class", help="of a table of yours: column of classes"),
        "id": Parameter("", help="of a table of yours: column of sample ids; else the path, else the row"),
    }
    return Task(
        name=f"skewsize/{name}",
        samples=partial(read_study, name=name),
        ask=Classify(templates, synonyms),
        own=own_parameters,
        paper=paper or {},
        primaries=AUDIT,
    )


def read_study(setting: Setting, *, name: str) -> LabelledSamples:
    """The images that a setting names: a generated folder, a folder of one's own, or a table."""
    data = setting.data
    if data is None or (not data.exists() and not _is_glob(data)):
        there = f"there is nothing at {str(data)!r}" if data is not None else "there is no data"
        raise InputError(
            f"{there}; make images with: evenhand generate {name} --model URI -o FOLDER, "
            f"or give your own: --data {LAYOUT}, or a table"
        )
    params = {key: str(value) for key, value in setting.parameters.items()}
    if data.is_dir() and is_generated(data):
        if params["definition"]:
            raise UserError(f"{str(data)!r} has a definition of its own; leave -p definition= out")
        material = read_generated(data, flagged=params["flagged"])
        _check_study(data, name)
        return material
    definition = GenerationDefinition.read(params["definition"] or name)
    if data.is_dir() and not _one_table(data):
        return read_cells(data, definition, outside=params["outside"])
    return _from_table(data, definition, params)


def _check_study(folder: Path, name: str) -> None:
    """Refuse a folder that was made for another study."""
    class_axis = GenerationDefinition.read(folder / "definition.yaml").class_axis
    axes = {
        GenerationDefinition.read(definition_name).class_axis: definition_name
        for definition_name in ("backgrounds", "occupations", "sports")
    }
    if axes.get(class_axis, name) != name:
        raise UserError(
            f"{str(folder)!r} shows each {class_axis}; type: evenhand run skewsize/{axes[class_axis]} ..."
        )


def _from_table(data: Path, definition: GenerationDefinition, params: Mapping[str, str]) -> LabelledSamples:
    by = groupings_in(params["by"]) or [(definition.attribute,)]
    attributes = attributes_in(by)
    image, id_ = params["image"] or None, params["id"] or None
    try:
        samples = read_samples(data, image=image, truth=params["truth"], by=attributes, id=id_)
    except UnknownName as problem:
        raise UserError(f"{problem}; name the columns of {str(data)!r}: --image, --truth, --by") from None
    classes = classes_by_folder(definition)
    groups = {plain_name(group.name): group.name for group in definition.groups}
    table = samples.annotations.with_columns(_spelled("truth", samples.annotations, classes))
    if definition.attribute in attributes:
        table = table.with_columns(_spelled(definition.attribute, table, groups))
    notes = {"rows whose id stands on an earlier row": samples.repeated} if samples.repeated else {}
    about = {"layout": "table", "annotated_by": dict.fromkeys(attributes, USER)}
    material = from_definition(definition, table, samples.images, samples.dropped, notes, about)
    if params["outside"] == "exclude":
        unknown = ~table["truth"].is_in(sorted(set(classes.values()))).fill_null(True)
        material = material.without(unknown, OUTSIDE_CLASSES)
    return material


def _spelled(column: str, table: pl.DataFrame, names: Mapping[str, str]) -> pl.Series:
    """Values as the definition spells them; what it does not have stays as it is."""
    values = table[column].to_list()
    spelled = [value if value is None else names.get(plain_name(value), value) for value in values]
    return pl.Series(column, spelled, dtype=pl.String)


def _one_table(folder: Path) -> bool:
    """Whether a folder holds a table beside its images, rather than classes and groups."""
    return sum(path.suffix.lower() in _TABLES for path in folder.iterdir() if path.is_file()) == 1


def _is_glob(data: Path) -> bool:
    return any(sign in str(data) for sign in "*?[")


BACKGROUNDS = study("backgrounds", synonyms="objects", outside="exclude")
PAPER_MEV = 5.0
"""The minimum expected value of Table 4's occupations; of its sports it is not said."""

_OF_PAPER = {"mev": f"{PAPER_MEV:g}"}
OCCUPATIONS = study("occupations", synonyms="occupations", paper=_OF_PAPER)
SPORTS = study(
    "sports", synonyms="sports", templates="a photo of a person practising {label}", paper=_OF_PAPER
)
