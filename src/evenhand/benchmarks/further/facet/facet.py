"""The benchmark ``facet``: are people at work recognised as well whatever they look like?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from evenhand.benchmarks.attributes import ANNOTATORS
from evenhand.benchmarks.benchmark import Answered, Parameter, Setting
from evenhand.benchmarks.datasets.listing import list_files
from evenhand.benchmarks.datasets.samples import filtered
from evenhand.benchmarks.labelling.annotator_counts import box_of, largest_group
from evenhand.benchmarks.labelling.elicitation import Labels, choose_way
from evenhand.benchmarks.labelling.task import Task
from evenhand.benchmarks.skewsize.classify import Classify, CountsBy
from evenhand.benchmarks.skewsize.data.samples import LabelledSamples, require_folder
from evenhand.core.errors import InputError, ParameterError, check_known
from evenhand.core.findings import Finding
from evenhand.core.nouns import Nouns
from evenhand.files.images.cropped import ChosenImages, CroppedImages
from evenhand.files.images.sources import ImageFiles
from evenhand.files.tables import scan as sources
from evenhand.metrics.classification.recall import recall_gap
from evenhand.metrics.suites.families import AUDIT

LAYOUT = "annotations/annotations.csv and the images of imgs_1, imgs_2 and imgs_3"
SKIN = "skin_tone"
USUAL = ("gender_presentation", SKIN, "age_presentation")
TONES = tuple(f"{SKIN}_{tone}" for tone in range(1, 11))
GROUPS = {
    "gender_presentation": ("masc", "fem", "non_binary"),
    "age_presentation": ("young", "middle", "older"),
    "hair_color": ("brown", "blonde", "grey", "black", "colored", "red"),
    "hairtype": ("coily", "dreadlocks", "bald", "straight", "curly", "wavy"),
    "lighting": ("underexposed", "dimly_lit", "well_lit", "overexposed"),
}
NO_CLASS, NO_IMAGE = "person without class or id, or listed before", "no such image"
NO_BOX, SEVERAL = "box that cannot be read", "person in an image of several classes"


def read_facet(setting: Setting) -> LabelledSamples:
    """The people that the table has and that can be shown, one row a person."""
    params, listing = setting.parameters, list_files(require_folder(setting.data, LAYOUT))
    lighter, soft, crop = int(params["lighter"]), params["skin"] == "weights", params["view"] == "crop"
    if not 1 <= lighter < len(TONES):
        raise ParameterError(f"-p lighter={lighter} is not possible; give 1 to {len(TONES) - 1}")
    if soft and choose_way(str(params["ask"]), setting.capabilities, "facet") == "answer":
        raise ParameterError("-p skin=weights needs a classifier or embeddings; give -p skin=cut")
    tables = listing.named("annotations", ending=".csv")
    if not tables:
        raise InputError(f"{str(listing.folder)!r} has no annotations.csv; it should hold {LAYOUT}")
    with sources.reading(tables[0]):
        rows = sources.scan(listing.folder / tables[0])[0].collect()
    check_known(
        f"column of {tables[0]}", ("person_id", "filename", "class1", "bounding_box", *TONES), rows.columns
    )
    classes = tuple(rows["class1"].drop_nulls().unique().sort())
    places, _ = listing.ending_so(set(rows["filename"].drop_nulls()))
    boxes = pl.Series("\0box", [box_of(text) for text in rows["bounding_box"]], dtype=pl.List(pl.Float64))
    showable = {NO_BOX: pl.col("\0box").is_not_null()}
    if not crop:
        showable = {SEVERAL: pl.col("class1").n_unique().over("filename") == 1}
    rules = {
        NO_CLASS: pl.col("class1").is_not_null() & pl.col("person_id").is_first_distinct(),
        NO_IMAGE: pl.col("filename").is_in(list(places)),
    }
    numbers = [name for name in rows.columns if name.startswith((f"{SKIN}_", *GROUPS))]
    counts = [pl.col(name).cast(pl.Float64, strict=False).fill_null(0) for name in numbers]
    rows, dropped = filtered(rows.with_columns(boxes, *counts), {**rules, **showable})
    rows = rows.with_columns(attributes_of(rows.columns, lighter, soft=soft))
    unknown = pl.any_horizontal(pl.col(name).is_null() for name in USUAL if name in rows.columns)
    rows = rows.sort(unknown, maintain_order=True)  # whoever has all of them comes first
    photos = ImageFiles([listing.folder / places[file] for file in rows["filename"]])
    everybody, spans = list(range(rows.height)), rows["\0box"].to_list()
    cut_out = CroppedImages(photos, everybody, spans, "none", pixels=True) if crop else None
    sample, attributes = (
        pl.col("person_id").cast(pl.String),
        [n for n in (SKIN, *GROUPS) if n in rows.columns],
    )
    table = rows.select("filename", *attributes, *TONES, sample=sample, truth=pl.col("class1"))
    by_annotators = dict.fromkeys((SKIN, *GROUPS), ANNOTATORS)
    return LabelledSamples(
        table, cut_out or ChosenImages(photos, everybody), "gender_presentation",
        Labels(classes, tuple(name.replace("_", " ") for name in classes)),
        "What is this person? Answer with one of: {labels}.", cluster="filename", dropped=dropped,
        shares={SKIN: TONES} if soft else {},
        about={"layout": "facet", "annotated_by": by_annotators, "view": str(params["view"])},
    )  # fmt: skip


def attributes_of(columns: Sequence[str], lighter: int, *, soft: bool) -> list[pl.Expr]:
    """Each attribute from its columns; null where annotators could not tell or disagree evenly."""
    light, dark = pl.sum_horizontal(TONES[:lighter]), pl.sum_horizontal(TONES[lighter:])
    tone = pl.lit("any") if soft else largest_group({"lighter": light, "darker": dark})
    result = [pl.when(light + dark > 0).then(tone).alias(SKIN)]
    for name, groups in GROUPS.items():
        there = {group: pl.col(f"{name}_{group}") for group in groups if f"{name}_{group}" in columns}
        result += [largest_group(there).alias(name)] if there else []
    return result


def recall_gaps(counts: CountsBy, answered: Answered[Any]) -> Iterator[Finding]:
    """Signed gaps of recall by class, under every grouping."""
    for by, evidence in counts.items():
        yield recall_gap(evidence, by=by, seed=answered.setting.seed)


FACET = Task(
    name="facet",
    asks="are people at work recognised as well whatever they look like?",
    samples=read_facet,
    ask=Classify(synonyms="occupations"),
    findings=recall_gaps,
    own={
        "by": Parameter(",".join(USUAL), help="attributes, A+B crosses, separated by commas"),
        "view": Parameter(
            "crop", ("crop", "image"), "a person's box; image: whole, where all have one class"
        ),
        "skin": Parameter("cut", ("cut", "weights"), "cut: lighter, darker; weights: tones by annotators"),
        "lighter": Parameter(5, help="skin=cut: the last tone of 1 to 10 that is lighter"),
    },
    primaries=AUDIT,
    nouns=Nouns(sample=("person", "people")),
    people=(*USUAL, *TONES),
    limits=("Attributes are how annotators perceived a person; a box shows more than the person.",),
)
