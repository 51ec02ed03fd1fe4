"""SkewSize over more than the first prediction: the k best labels, or softmax confidences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import narwhals as nw
import numpy as np
import polars as pl

from evenhand.core.cards import Source
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.findings import Dropped, Finding
from evenhand.core.metric import metric
from evenhand.evidence.predictions.columns.arrays import Codes
from evenhand.evidence.predictions.columns.to_polars import to_polars
from evenhand.evidence.predictions.levels import Encoder, Label
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.metrics.catalogue import SKEWNESS, SKEWSIZE
from evenhand.metrics.classification.class_effects import plain_effects
from evenhand.metrics.classification.effect_options import EffectOptions
from evenhand.metrics.classification.null_effects import NullEffects
from evenhand.metrics.classification.summaries import skewness_finding
from evenhand.metrics.estimates import LEVEL, By, Inference, check_common
from evenhand.metrics.prepared import BoundCounts
from evenhand.stats.arrays import Floats, Integers, keys_and_codes
from evenhand.stats.contingency.tables import TableBatch, association
from evenhand.stats.exchange.compared_rates import each_exceeded

_BUDGET = 300_000_000  # rows x replicates
_FEWEST = 99


@metric(
    title="SkewSize of the top k", summary="the same skewness, counting each of the k first predictions",
    formula="m3 / m2^(3/2) of V_y over classes y, of the k best labels", **SKEWNESS,
    source=Source(paper=SKEWSIZE, equation="section 2.3"),
    order=130,
    gate_beside="cramers_v_mean", family="mistakes", headline=False, parts_direction="lower is fairer",
    made_of="effects of ranks",
)  # fmt: skip
def skewsize_topk(
    evidence: Predictions,
    *,
    by: By,
    k: int = 5,
    alpha: float = 0.05,
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """SkewSize of the k best labels: each class's table group x label counts each of an image's k labels.

    The paper names this variant without a formula; this is our reading of it. The k labels of an image
    depend on each other, so that p and null band come from permuting the groups of whole images within a
    class, and the interval from resampling whole images.

    Args:
        evidence: Ranked Predictions: several rows a sample, with ``id`` and ``rank`` (1 = best).
        by: Attribute, or list of attributes to cross.
        k: Ranks that count, >= 1; ``k=1`` equals ``skewsize``.
        alpha: Level of the tests.
        inference: ``none`` skips interval, null band and p.
        seed: Of the resampling.

    Returns:
        As ``skewsize``; n counts images, the n of a part counts labels (k a image).

    Raises:
        UserError: Predictions without id or rank, or unknown columns.

    Source: Albuquerque et al. 2024, section 2.3 (named there; extension).
    """
    if not isinstance(k, int) or k < 1:
        raise ParameterError(f"k={k} is not possible; choose a whole number, 1 or more")
    return _ranked(evidence, by, "skewsize_topk", {"k": k}, alpha, inference, seed)


@metric(
    title="SkewSize of confidences",
    summary="the same skewness, of tables that sum the images’ confidences in each label",
    formula="m3 / m2^(3/2) of V_y over classes y, of summed confidences", **SKEWNESS,
    source=Source(paper=SKEWSIZE, equation="section 2.3"),
    order=135,
    gate_beside="cramers_v_mean", family="mistakes", headline=False, parts_direction="lower is fairer",
    made_of="effects of ranks",
)  # fmt: skip
def skewsize_softmax(
    evidence: Predictions, *, by: By, alpha: float = 0.05, inference: Inference = "auto", seed: int = 0
) -> Finding:
    """SkewSize of confidences: each class's table group x label sums the images' softmax confidences.

    The paper names this variant without a formula; this is our reading of it. No continuity correction
    applies to a table of sums. Logits have no such table and are refused: turn them into a softmax first.

    Args:
        evidence: Predictions with one row per sample and label, ``id``, ``rank`` and ``confidence`` >= 0.
        by: Attribute, or list of attributes to cross.
        alpha: Level of the tests.
        inference: ``none`` skips interval, null band and p.
        seed: Of the resampling.

    Returns:
        As ``skewsize``; n counts images, the n of a part sums confidences.

    Raises:
        UserError: No id, rank or confidence; negative confidences (logits).

    Source: Albuquerque et al. 2024, section 2.3 (named there; extension).
    """
    if not isinstance(evidence, Predictions) or evidence.confidence is None:
        raise InputError("softmax SkewSize needs confidences; read the table with confidence=COLUMN")
    return _ranked(evidence, by, "skewsize_softmax", {}, alpha, inference, seed)


@dataclass(frozen=True, eq=False)
class ImageLabels:
    """The labels of images as rows."""

    image: Integers  # image, ``label`` and ``weight`` (1, or the confidence) of each row, shape (K,)
    label: Integers
    weight: Floats
    truth: Integers  # class and ``group`` of each image, shape (N,)
    group: Integers
    n_labels: int  # size of the label space
    n_groups: int  # number of groups

    @cached_property
    def column(self) -> tuple[Integers, Integers]:
        """Distinct (truth, label) pairs and the pair of each row."""
        pair = self.truth[self.image] * self.n_labels + self.label
        keys, where = keys_and_codes(pair)
        return keys, np.asarray(where)

    def tables(self, group: Integers, weight: Floats | None = None) -> TableBatch:
        """The classes' tables under one assignment of groups and one weight per image."""
        keys, where = self.column
        rows = self.weight if weight is None else self.weight * weight[self.image]
        dense = np.bincount(where * self.n_groups + group[self.image], rows, keys.size * self.n_groups)
        column, row = np.nonzero(dense.reshape(keys.size, self.n_groups))
        table, label = keys[column] // self.n_labels, keys[column] % self.n_labels
        values = dense[column * self.n_groups + row]
        return TableBatch.from_cells(table, row, label, values, self.n_labels)


def _ranked(
    evidence: Predictions,
    by: By,
    name: str,
    params: dict[str, int],
    alpha: float,
    inference: Inference,
    seed: int,
) -> Finding:
    check_common("default", inference)
    if not isinstance(evidence, Predictions) or evidence.id is None or evidence.rank is None:
        raise InputError(f"{name} needs ranked predictions; read the table with id=COLUMN and rank=COLUMN")
    prepared = BoundCounts.of(evidence, by, seed)
    labels, dropped = _image_labels(evidence, prepared, params.get("k"))
    options = EffectOptions.make("separation", {"alpha": alpha, "inference": inference})
    codes = np.sort(prepared.classes).astype(np.int64)
    batch = labels.tables(labels.group).select(codes)
    effects = plain_effects(prepared, options, codes, association(batch), batch)
    if inference != "none":
        effects = replace(effects, null=_null(labels, codes, effects.values, prepared))

    def bootstrap(_: object) -> tuple[Floats, str]:
        rng = prepared.stream(name, "bootstrap")
        draws: list[Floats] = []
        while len(draws) < _replicates(labels):
            weights = rng.poisson(1.0, labels.truth.size).astype(np.float64)
            draws.append(_values(labels, codes, labels.group, weights))
        return np.stack(draws), "bootstrap of whole images"

    return skewness_finding(effects, name, bootstrap, params=params, dropped=dropped)


def _replicates(labels: ImageLabels) -> int:
    return int(np.clip(_BUDGET // max(labels.image.size, 1), _FEWEST, 999))


def _values(labels: ImageLabels, codes: Integers, group: Integers, weight: Floats | None = None) -> Floats:
    tables = association(labels.tables(group, weight))
    return np.where(tables.dof > 0, tables.statistic("cramers_v"), np.nan)[codes]


def _null(labels: ImageLabels, codes: Integers, values: Floats, prepared: BoundCounts) -> NullEffects:
    """Permute the groups of whole images within each class."""
    rng = prepared.stream("ranked", "null")
    order = np.argsort(labels.truth, kind="stable")
    draws = []
    for _ in range(_replicates(labels)):
        shuffled = np.lexsort((rng.random(order.size), labels.truth))
        group = np.empty_like(labels.group)
        group[order] = labels.group[shuffled]
        draws.append(_values(labels, codes, group))
    null = np.stack(draws)
    usable = ~np.isnan(values)
    p = np.where(usable, each_exceeded(values, null), np.nan)
    low, high, mean = np.full((3, values.size), np.nan)
    if usable.any():
        low[usable], high[usable] = np.nanquantile(null[:, usable], [0.0, LEVEL], axis=0)
        mean[usable] = np.nanmean(null[:, usable], axis=0)
    return NullEffects(null, mean, low, high, p, ["permutation of whole images"] * values.size)


def _image_labels(
    evidence: Predictions, prepared: BoundCounts, k: int | None
) -> tuple[ImageLabels, list[Dropped]]:
    """Rows of images whose truth, attributes and label are all present, and what else was left out."""
    columns = {"image": evidence.id, "truth": evidence.truth, "label": evidence.prediction}
    columns |= {f"by{index}": name for index, name in enumerate(prepared.by)}
    columns["rank"] = evidence.rank
    if k is None:
        columns["weight"] = evidence.confidence
    frame = evidence.frame.select(*(nw.col(str(column)).alias(name) for name, column in columns.items()))
    read = to_polars(frame).with_columns(pl.col("rank").cast(pl.Int64))
    read = read.with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None))
    dropped = _left_out(read)
    rows = read.drop_nulls()
    first = rows.filter(pl.col("rank") == 1).select("image").unique()
    rows = rows.join(first, on="image", how="semi").sort("image", "rank", "label")  # whatever the row order
    if k is None:
        rows = rows.with_columns(pl.col("weight").cast(pl.Float64))
        _check_confidences(rows)
    else:
        rows = rows.filter(pl.col("rank") <= k).with_columns(weight=pl.lit(1.0))
    return _encode(rows, prepared), dropped


def _check_confidences(rows: pl.DataFrame) -> None:
    """Refuse what cannot be a softmax: logits have no count table."""
    most = rows.group_by("image").agg(pl.col("weight").sum())["weight"].max()
    bad = (rows["weight"] < 0) | ~rows["weight"].is_finite()
    if bad.any() or (isinstance(most, float) and most > 1 + 1e-3):
        raise InputError(
            "confidences are negative, infinite, or add up to more than 1 for an image: they look like "
            "logits, which have no count table; turn them into a softmax first"
        )


def _left_out(read: pl.DataFrame) -> list[Dropped]:
    """What the grouping, which sees first ranks only, cannot count."""
    first = set(read.filter(pl.col("rank") == 1)["image"].drop_nulls().to_list())
    images = set(read["image"].drop_nulls().to_list())
    later = read.filter(pl.col("rank").is_null() | (pl.col("rank") != 1))
    weighted = "weight" in read.columns
    unweighted = read.filter((pl.col("rank") == 1) & pl.col("weight").is_null()).height if weighted else 0
    reasons = {
        "image without a first rank": len(images - first),
        "first rank with a missing confidence": unweighted,
        "later rank with something missing": later.filter(pl.any_horizontal(pl.all().is_null())).height,
    }
    return [Dropped(reason=reason, count=count) for reason, count in reasons.items() if count]


def _encode(rows: pl.DataFrame, prepared: BoundCounts) -> ImageLabels:
    """Codes of images and labels in the grouping's own numbering; labels beyond it follow."""
    images = rows.unique("image", keep="first", maintain_order=True).with_row_index("position")
    image = rows.join(images.select("image", "position"), on="image", how="left", maintain_order="left")
    position = {value: index for index, value in enumerate(prepared.labels)}

    def coded(values: pl.Series, name: str) -> Integers:
        codes, levels = _values_of(values, name)
        return np.array([position.setdefault(value, len(position)) for value in levels])[codes]

    label, truth = coded(rows["label"], "label"), coded(images["truth"], "truth")
    attributes = [_values_of(images[f"by{index}"], "attribute") for index in range(len(prepared.by))]
    group_of = {key: index for index, key in enumerate(prepared.groups)}
    keys = zip(*([levels[code] for code in codes] for codes, levels in attributes), strict=True)
    return ImageLabels(
        image["position"].cast(pl.Int64).to_numpy(),
        label,
        rows["weight"].to_numpy(),
        truth,
        np.array([group_of[key] for key in keys]),
        len(position),
        len(group_of),
    )


def _values_of(values: pl.Series, name: str) -> tuple[Codes, tuple[Label, ...]]:
    """Codes and levels of a column, read as Counts reads it."""
    encoder = Encoder.fit(values, name, name, labels=False)
    return encoder.codes(values), encoder.axis.levels
