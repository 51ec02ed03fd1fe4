"""The benchmark ``social_counterfactuals``: whose images come first for a caption that names no group?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from evenhand.benchmarks.attributes import RECORDED
from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.datasets.readers.rows import ColumnSpec, unique_ids
from evenhand.benchmarks.datasets.readers.tables import read_table
from evenhand.benchmarks.datasets.samples import filtered
from evenhand.benchmarks.labelling.captions import caption_questions, caption_scores, neutral_caption
from evenhand.benchmarks.skewsize.data.samples import require_folder
from evenhand.core.errors import InputError, UnknownName
from evenhand.core.findings import Finding
from evenhand.core.nouns import Nouns
from evenhand.core.requests import ImageSource
from evenhand.evidence.rankings import Rankings
from evenhand.files.images.cropped import ChosenImages
from evenhand.metrics.retrieval import ranking
from evenhand.stats.rankings.fairness import reversed_ndkl

LAYOUT = "Parquet shards with image, caption, counterfactual_set, a1_type, a1, a2_type and a2"
SET, TYPES, GROUPS = "counterfactual_set", ("a1_type", "a2_type"), ("a1", "a2")
OTHER_PAIR, UNNAMED = "image of another pair of attributes", "caption that does not name its groups"
Pair = tuple[str, str]


class SocialCounterfactuals(Benchmark[Pair]):
    """One ranking for each neutral caption: the images of its sets, by cosine or by how well they match."""

    name = "social_counterfactuals"
    asks = "whose images does the model rank first for a caption that names no group?"
    nouns = Nouns(query=("caption", "captions"))
    limits = ("Images are generated: what a generator draws differently by group counts as the model's.",)
    primaries: Sequence[str] = ("max_skew_at_k", "ndkl")
    parameters: Mapping[str, Parameter] = {
        "pair": Parameter("", help="race+gender, physical+gender or the like; else that with most images"),
        "k": Parameter(0, help="places that count; 0: as many as there are groups"),
        "mode": Parameter("default", ("default", "paper"), "paper: the released NDKL too, table released"),
    }

    def plan(self, setting: Setting) -> Plan[Pair]:
        """Each image and each neutral caption, once."""
        sets, images, pair, dropped = read_sets(setting)
        samples, texts = sets["sample"].to_list(), sets["text"].to_list()
        questions = caption_questions(setting.capabilities, samples, images, texts, self.name)
        about = {"layout": self.name, "annotated_by": dict.fromkeys(pair, RECORDED), "pair": "+".join(pair)}
        by = [pair, *((name,) for name in pair)]
        table = sets.with_columns(truth=pl.lit(None, pl.String))
        return Plan(table, questions, by, dropped, state=pair, about=about)

    def measure(self, answered: Answered[Pair]) -> Measured:
        """Skew and NDKL of the crossed groups and of each attribute; labels change places within sets."""
        plan, params = answered.plan, answered.setting.parameters
        scored = caption_scores(answered.evidence, plan.annotations.drop("truth")).rename({"text": "query"})
        rankings = Rankings.from_frame(scored, kind="caption", cluster=SET, sets=True)
        findings: list[Finding] = []
        tables = {"rankings": rankings.to_frame()}
        for by in plan.by:
            k = int(params["k"]) or scored.select(by).n_unique()
            metrics = (ranking.max_skew_at_k, ranking.min_skew_at_k, ranking.ndkl)
            findings += [metric(rankings, by=by, k=k, seed=answered.setting.seed) for metric in metrics]
            if by == plan.state and params["mode"] == "paper":
                tables["released"] = _released(rankings, by, k, findings[-1])
        return Measured(findings, tables=tables)


def read_sets(setting: Setting) -> tuple[pl.DataFrame, ImageSource, Pair, dict[str, int]]:
    """Images of one pair of attributes with their neutral captions, the pair, and what was left out."""
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
    return (
        table.select("sample", "text", SET, **values),
        ChosenImages(rows.images, table["row"].to_list()),
        pair,
        dropped,
    )


def _pair(table: pl.DataFrame, name: str) -> Pair:
    """The pair of attributes that is meant, or the one of most images."""
    numbers = table.drop_nulls(TYPES).group_by(pl.concat_str(TYPES, separator="+").alias("pair")).len()
    pairs = numbers.sort("len", "pair", descending=[True, False])["pair"].to_list()
    if not pairs:
        raise InputError("no row names two types of attributes in a1_type and a2_type; get the shards again")
    names = [part.strip() for part in (name or pairs[0]).split("+")]
    if "+".join(names) not in pairs and "+".join(names[::-1]) not in pairs:
        raise UnknownName("pair of attributes", name, pairs)
    return names[0], names[1]


def _released(rankings: Rankings, pair: Pair, k: int, ours: Finding) -> pl.DataFrame:
    """What the released code calls NDKL beside ours: it is the wrong way round, and falls with bias."""
    table = rankings.table.drop_nulls("score").with_columns(group=pl.concat_str(pair, separator="+"))
    groups = table["group"].unique().sort()
    own_values = {str(part.key): part.value for part in ours.parts}
    lines = []
    best_first = table.sort("score", descending=True, maintain_order=True)
    for (query,), pool in best_first.group_by("query", maintain_order=True):
        shares = np.array([(pool["group"] == group).mean() for group in groups])
        top = pool["group"].head(k).replace_strict(groups, range(len(groups))).to_numpy()
        lines.append((query, k, reversed_ndkl(top, shares), own_values.get(str(query))))
    return pl.DataFrame(lines, schema=["query", "k", "released_ndkl", "ndkl"], orient="row")


SOCIAL_COUNTERFACTUALS = SocialCounterfactuals()
