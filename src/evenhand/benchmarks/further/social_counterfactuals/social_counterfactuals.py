"""The benchmark ``social_counterfactuals``: whose images come first for a caption that names no group?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from evenhand.benchmarks.attributes import RECORDED
from evenhand.benchmarks.benchmark import Answered, Parameter, Setting
from evenhand.benchmarks.datasets.readers.rows import ColumnSpec, unique_ids
from evenhand.benchmarks.datasets.readers.tables import read_table
from evenhand.benchmarks.datasets.samples import Samples, filtered
from evenhand.benchmarks.labelling.captions import neutral_caption
from evenhand.benchmarks.labelling.task import Captions, Task
from evenhand.benchmarks.skewsize.data.samples import require_folder
from evenhand.core.errors import InputError, UnknownName
from evenhand.core.findings import Finding
from evenhand.core.nouns import Nouns
from evenhand.evidence.rankings import Rankings
from evenhand.files.images.cropped import ChosenImages
from evenhand.metrics.retrieval import ranking
from evenhand.stats.rankings.fairness import reversed_ndkl

LAYOUT = "Parquet shards with image, caption, counterfactual_set, a1_type, a1, a2_type and a2"
SET, TYPES, GROUPS = "counterfactual_set", ("a1_type", "a2_type"), ("a1", "a2")
NAME = "social_counterfactuals"
OTHER_PAIR, UNNAMED = "image of another pair of attributes", "caption that does not name its groups"


def read_sets(setting: Setting) -> Samples:
    """Images of one pair of attributes, each with the caption that does not name them."""
    folder = require_folder(setting.data, LAYOUT)
    rows = read_table(folder, ColumnSpec(by=("caption", SET, *TYPES, *GROUPS)), [])
    ids = pl.Series(unique_ids(None, None, rows.places)[0], dtype=pl.String)
    table = rows.table.cast(pl.String).with_columns(sample=ids, row=pl.int_range(pl.len()))
    pair = _pair(table, setting.text("pair"))
    first, second = (pl.col(name) for name in TYPES)
    here = ((first == pair[0]) & (second == pair[1])) | ((first == pair[1]) & (second == pair[0]))
    captions = [
        None if None in names else neutral_caption(*names)
        for names in table.select("caption", *GROUPS).rows()
    ]
    rules = {OTHER_PAIR: here, UNNAMED: pl.col("text").is_not_null() & pl.col(SET).is_not_null()}
    texts = pl.Series(captions, dtype=pl.String)
    table, dropped = filtered(table.with_columns(text=texts), rules, rows.dropped)
    if table.is_empty():
        raise InputError(f"{str(folder)!r} has no caption that names {' and '.join(pair)} of its image")
    table = table.head(setting.limit or table.height)
    values = {name: pl.when(first == name).then(pl.col("a1")).otherwise(pl.col("a2")) for name in pair}
    about = {"layout": NAME, "annotated_by": dict.fromkeys(pair, RECORDED), "pair": "+".join(pair)}
    images = ChosenImages(rows.images, table["row"].to_list())
    samples = table.select("sample", "text", SET, **values)
    return Samples(samples, images, dropped, about=about, by=[pair, *((name,) for name in pair)])


def places(rankings: Rankings, answered: Answered[Any]) -> Iterator[Finding]:
    """Skew and NDKL of the crossed groups and of each attribute; labels change places within sets."""
    for by in answered.plan.by:
        k = int(answered.setting.parameters["k"]) or rankings.table.select(by).n_unique()
        for metric in (ranking.max_skew_at_k, ranking.min_skew_at_k, ranking.ndkl):
            yield metric(rankings, by=by, k=k, seed=answered.setting.seed)


def _pair(table: pl.DataFrame, name: str) -> tuple[str, str]:
    """The pair of attributes that is meant, or the one of most images."""
    numbers = table.drop_nulls(TYPES).group_by(pl.concat_str(TYPES, separator="+").alias("pair")).len()
    pairs = numbers.sort("len", "pair", descending=[True, False])["pair"].to_list()
    if not pairs:
        raise InputError("no row names two types of attributes in a1_type and a2_type; get the shards again")
    names = [part.strip() for part in (name or pairs[0]).split("+")]
    if "+".join(names) not in pairs and "+".join(names[::-1]) not in pairs:
        raise UnknownName("pair of attributes", name, pairs)
    return names[0], names[1]


def released(
    rankings: Rankings, answered: Answered[Any], findings: Sequence[Finding]
) -> dict[str, pl.DataFrame]:
    """What the released code calls NDKL beside ours: it is the wrong way round, and falls with bias."""
    if answered.setting.parameters["mode"] != "paper":
        return {}
    pair, ours = answered.plan.by[0], next(finding for finding in findings if finding.name == "ndkl")
    k = int(str(ours.params["k"]))
    table = rankings.table.drop_nulls("score").with_columns(group=pl.concat_str(pair, separator="+"))
    groups = table["group"].unique().sort()
    own_values = {str(part.key): part.value for part in ours.parts}
    lines = []
    best_first = table.sort("score", descending=True, maintain_order=True)
    for (query,), pool in best_first.group_by("query", maintain_order=True):
        shares = np.array([(pool["group"] == group).mean() for group in groups])
        top = pool["group"].head(k).replace_strict(groups, range(len(groups))).to_numpy()
        lines.append((query, k, reversed_ndkl(top, shares), own_values.get(str(query))))
    return {"released": pl.DataFrame(lines, schema=["query", "k", "released_ndkl", "ndkl"], orient="row")}


SOCIAL_COUNTERFACTUALS = Task(
    name=NAME,
    asks="whose images does the model rank first for a caption that names no group?",
    samples=read_sets,
    ask=Captions(cluster=SET, sets=True),
    findings=places,
    tables=released,
    own={
        "pair": Parameter("", help="race+gender, physical+gender or the like; else that with most images"),
        "k": Parameter(0, help="places that count; 0: as many as there are groups"),
        "mode": Parameter("default", ("default", "paper"), "paper: the released NDKL too, table released"),
    },
    primaries=("max_skew_at_k", "ndkl"),
    nouns=Nouns(query=("caption", "captions")),
    limits=("Images are generated: what a generator draws differently by group counts as the model's.",),
)
