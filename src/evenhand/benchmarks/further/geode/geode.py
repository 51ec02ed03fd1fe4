"""The benchmark ``geode``: are everyday objects recognised as well in every region of the world?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from evenhand.benchmarks.attributes import RECORDED
from evenhand.benchmarks.benchmark import Parameter, Setting
from evenhand.benchmarks.datasets.listing import Listing, list_files
from evenhand.benchmarks.datasets.readers.rows import ColumnSpec, unique_ids
from evenhand.benchmarks.datasets.readers.webdataset import coded, read_shards, shards_in
from evenhand.benchmarks.datasets.samples import Samples
from evenhand.benchmarks.indicators.households.concept_maps import read_concept_map
from evenhand.benchmarks.labelling.elicitation import Labels, choose_way
from evenhand.benchmarks.labelling.objectives import CLASSES
from evenhand.benchmarks.labelling.task import Task
from evenhand.benchmarks.skewsize.classify import Classify
from evenhand.benchmarks.skewsize.data.samples import LabelledSamples, in_turn, require_folder
from evenhand.benchmarks.tidy import occurring
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.nouns import Nouns
from evenhand.files.images.cropped import ChosenImages
from evenhand.files.images.sources import ImageFiles
from evenhand.files.tables import scan as sources
from evenhand.metrics.suites.families import AUDIT

LAYOUT = (
    "a table with file_name, script_name, ip_country (or file_path, object, region, ip_country) and images, "
    f"or DataComp's shards test/*.tar with .npy vectors of region and country, and {CLASSES}"
)
PATHS, OBJECTS = ("file_path", "file_name"), ("object", "script_name")
NO_CLASS, NO_IMAGE = "object that the map has no class for", "no such image"
UNUSED = "row without image, object or country, or of an image on an earlier row"
BY_COUNTRY = "images whose country was sampled as a whole"
ONE_COUNTRY = "images counted one by one: a region has a single country"


def read_geode(setting: Setting) -> LabelledSamples:
    """The images of either layout."""
    folder = require_folder(setting.data, LAYOUT)
    in_shards = bool(shards_in(folder))
    regions = setting.text("regions")
    samples = _of_shards(folder, regions) if in_shards else _of_table(list_files(folder))
    table = samples.table
    objects = tuple(_objects(folder) if in_shards else table["truth"].unique().sort())
    most = table.group_by("region").agg(pl.col("country").n_unique())["country"].min()
    cluster = "country" if isinstance(most, int) and most > 1 else None
    material = LabelledSamples(
        table, samples.images, "region", Labels(objects, objects),
        "What does this image show? Answer with one of: {labels}.", cluster=cluster, dropped=samples.dropped,
        notes={BY_COUNTRY if cluster else ONE_COUNTRY: len(table)},
        about={"layout": "shards" if in_shards else "table", "annotated_by": {"region": RECORDED}},
    )  # fmt: skip
    if choose_way(setting.text("ask"), setting.capabilities, "geode") == "classify":
        material = _mapped(material, setting.text("map"))
    order = in_turn(material.annotations.with_row_index("\0row"), ["region"])
    images = ChosenImages(material.images, order["\0row"].to_list())
    return replace(material, annotations=order.drop("\0row"), images=images)


def _of_table(listing: Listing) -> Samples:
    """Rows of the table that has the columns; region and country are folders where it has none."""
    for name in listing.tables:
        if name.endswith((".json", ".lst")):
            continue
        with sources.reading(name):
            rows = sources.scan(listing.folder / name)[0].collect()
        path, thing = (next((c for c in names if c in rows.columns), "") for names in (PATHS, OBJECTS))
        if path and thing and "ip_country" in rows.columns:
            break
    else:
        raise InputError(f"{str(listing.folder)!r} has no such table; give {LAYOUT}")
    complete = rows.drop_nulls([path, thing, "ip_country"]).unique(path, keep="first", maintain_order=True)
    places, _ = listing.ending_so(set(complete[path].to_list()))
    there = complete.filter(pl.col(path).is_in(list(places)))
    files = pl.Series([places[file] for file in there[path].to_list()], dtype=pl.String)
    columns = {"sample": files, "truth": spaced(there[thing]), "country": spaced(there["ip_country"])}
    above = files.str.extract(r"([^/]+)/[^/]+/[^/]+$")  # the folder of the country's
    table = pl.DataFrame({**columns, "region": there["region"] if "region" in there.columns else above})
    dropped = {UNUSED: rows.height - complete.height, NO_IMAGE: complete.height - there.height}
    images = ImageFiles([listing.folder / file for file in files.to_list()])
    return Samples(table, images, occurring(dropped))


def _of_shards(folder: Path, regions: str) -> Samples:
    """Samples of the shards; their regions are numbers unless somebody names them."""
    rows = read_shards(shards_in(folder), ColumnSpec(truth="cls", by=("npy.0", "npy.1")))
    region = rows.table["npy.0"].cast(pl.String)
    if regions:
        names = [name.strip() for name in regions.split(",")]
        region = coded(region, names, "region", "give -p regions= with a name for each, separated by commas")
    table = {
        "sample": pl.Series(unique_ids(None, None, rows.places)[0], dtype=pl.String),
        "truth": coded(rows.table["cls"], _objects(folder), "object", f"mend {CLASSES}"),
        "region": region,
        "country": rows.table["npy.1"].cast(pl.String),
    }
    return Samples(pl.DataFrame(table), rows.images, rows.dropped)


def _objects(folder: Path) -> list[str]:
    """What the shards' classes are called, in the order of their numbers."""
    return spaced(
        pl.Series(Labels.read(str(folder / CLASSES), pl.Series([], dtype=pl.String)).names)
    ).to_list()


def _mapped(material: LabelledSamples, file: str) -> LabelledSamples:
    """Objects that a classifier has classes for, by a map ``{class: [object]}``; all of them without one."""
    if not file:
        return material
    objects: dict[str, str] = {}
    for label, things in read_concept_map(file).items():
        if len(things) != 1:
            raise ParameterError(f"-p map={file!r} has {len(things)} objects for {label!r}; name one")
        objects[label] = things[0].replace("_", " ").strip()
    there = set(objects.values())
    material = replace(material, wordnet_ids=objects, about={**material.about, "map": Path(file).stem})
    return material.without(~material.annotations["truth"].is_in(list(there)), NO_CLASS)


def spaced(names: pl.Series) -> pl.Series:
    """Names with spaces, as prompts say them: releases write both spaces and underscores."""
    return names.str.replace_all("_", " ").str.strip_chars()


GEODE = Task(
    name="geode",
    asks="are everyday objects recognised as well in every region of the world?",
    samples=read_geode,
    ask=Classify(synonyms="objects"),
    own={
        "map": Parameter("", help="classify: JSON file {class: [object]}, classes by WordNet id or name"),
        "regions": Parameter("", help="names of the shards' region numbers, in order, separated by commas"),
    },
    primaries=AUDIT,
    nouns=Nouns(sample=("photo", "photos")),
    limits=("Who took the photos is not released, so that intervals by photo are too narrow.",),
)
