"""HouseholdHits: whether a model recognised what each image of a household shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, ParameterError, UnknownName, check_known, one_line
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE
from evenhand.evidence.predictions.columns.annotated import Annotated, Remembering, check_threshold
from evenhand.evidence.ranked_labels import check_probabilities, first_ranks

Concepts: TypeAlias = Mapping[str, Sequence[str]]

BUCKETS = ("low", "medium", "high")
"""Income buckets, the poorest first; the edges are exp(4.5) = 90.02 and exp(7.5) = 1808.04 a month."""

OUTSIDE = "income outside the buckets"
"""Why an income has no bucket: below exp(1.5) = 4.48 or above exp(10.5) = 36,315.5."""

UNNAMEABLE = "concept " + NOT_EXPRESSIBLE
"""Why an image is left out: no label of the model names what it shows, so that it could only miss."""

_ROUNDING = 1e-6  # confidences in float32 may leave [0, 1] by so much
_OWN = ("hit", "covered", "confidence", "best")


def income_buckets(income: pl.Series) -> pl.Series:
    """The bucket of each income: ``round(ln(income) / 3)``, half to even, 1 low, 2 medium, 3 high.

    Incomes are of a household a month, in dollars; one that is missing or outside the buckets has none.
    Source: the released code of Goyal et al. 2022, which fails outside the buckets.
    """
    numbers = income.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        code = np.round(np.log(numbers) / 3)
    code = np.where(np.isfinite(code) & (code >= 1) & (code <= len(BUCKETS)), code, 0).astype(np.int64)
    return pl.Series("income_bucket", [None, *BUCKETS], dtype=pl.String).gather(code)


@dataclass(frozen=True, eq=False)
class HouseholdHits(Annotated, Remembering):
    """What each image of a household shows, and whether a model's first predictions name it.

    Make one with ``from_predictions``, or with ``from_hits`` from a table of hits made elsewhere. The rows
    are pairs of an image and one concept it shows: the released code averages them. ``images`` has one row an
    image, as the paper says: hit where any of its concepts is.

    Attributes:
        table: One row a pair: ``sample``, ``image``, ``concept``, ``household``, ``income_bucket``, the other
            attributes (``country``, ``region``, ``income``), ``confidence`` of the first prediction that
            names the concept (null for none), ``best`` (of the first prediction), ``hit`` and ``covered``.
        top: How many predictions count.
        threshold: A hit is surer than this, a covered image at least as sure.
        inexpressible: Concepts that no label of the model names; their pairs are left out.
        facts: What else tells this evidence from others; stands in the parameters of findings.
        dropped: Images left out, by reason.
        notes: What to know about the evidence.
    """

    table: pl.DataFrame
    top: int = 5
    threshold: float = 0.0
    inexpressible: tuple[str, ...] = ()
    facts: Mapping[str, str | float | int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def from_predictions(
        cls,
        predictions: pl.LazyFrame,
        annotations: pl.DataFrame,
        concept_map: Concepts | None = None,
        *,
        labels: Sequence[str] | None = None,
        top: int = 5,
        threshold: float = 0.0,
        digits: int | None = None,
        facts: Mapping[str, str | float | int] | None = None,
    ) -> HouseholdHits:
        """Bring ranked predictions and annotations together.

        A pair is hit where a concept of any of the first ``top`` predictions is the pair's, and the
        confidence of the first such prediction is above ``threshold``. Pairs whose concept no label names
        are left out; so are, counted, images without any other, images without a prediction, and
        predictions without annotations.

        Args:
            predictions: ``sample``, ``prediction``, and where there are several to a sample ``rank`` (1 =
                first), ``confidence`` in [0, 1], or both.
            annotations: One row a sample: ``sample``, ``household``, ``concepts`` (list of texts; or
                ``concept``), and attributes. ``income_bucket`` is made from ``income`` where it is absent;
                samples of one household with the same ``image`` (by default the sample) are one image.
            concept_map: Label of the model to the concepts it names; None: each label names itself.
            labels: All labels of the model, where it lacks some of the map.
            top: How many predictions count.
            threshold: In [0, 1].
            digits: Round confidences first; the released code has 5.
            facts: What else tells this evidence from others.

        Raises:
            UnknownName: A column that does not exist.
            InputError: A sample twice, confidences outside [0, 1], or no prediction that is in the map.
            ParameterError: ``top`` below 1 or a threshold outside [0, 1].
        """
        if top < 1:
            raise ParameterError(f"top={top} is not possible; choose 1 or more, such as 5")
        check_threshold(threshold)
        pairs = _pairs(annotations)
        long, has_confidence = first_ranks(predictions, top)
        check_probabilities(long["confidence"].drop_nulls().to_numpy())
        concepts = _named(long, concept_map, labels)
        nameable = _nameable(concepts, concept_map, labels)
        scored = _scored(pairs, long, concepts, digits)
        unannotated = long.join(pairs, on="sample", how="anti")["sample"].n_unique()
        usable, counts, missing = _usable(scored, nameable)
        notes = _remarks(has_confidence, missing)
        if usable.height:
            notes += _shallow(long, concept_map, top)
        all_facts = {**({"digits": digits} if digits is not None else {}), **(facts or {})}
        counts = {**counts, "not annotated": unannotated}
        dropped = {reason: count for reason, count in sorted(counts.items()) if count}
        hits = cls(usable, top, 0.0, missing, all_facts, dropped, tuple(notes))
        return hits.at(threshold)

    @classmethod
    def from_hits(
        cls, hits: pl.DataFrame, *, facts: Mapping[str, str | float | int] | None = None
    ) -> HouseholdHits:
        """From a table of hits made elsewhere.

        Args:
            hits: One row an image, or a pair of an image and a concept: ``sample``, ``household``, ``hit`` (0
                or 1, or a share in [0, 1]) and attributes; possibly ``image``, ``concept``, ``covered``.
            facts: What else tells this evidence from others.

        Raises:
            UnknownName: A column that does not exist.
            InputError: Hits outside [0, 1].
        """
        check_known("column of hits", ("sample", "household", "hit"), hits.columns)
        table = _completed(hits).with_columns(pl.col("hit").cast(pl.Float64))
        for name, value in (("concept", None), ("covered", 1.0), ("confidence", None), ("best", None)):
            if name not in table.columns:
                kind = pl.String if name == "concept" else pl.Float64
                table = table.with_columns(pl.lit(value, dtype=kind).alias(name))
        table = table.with_columns(pl.col("covered").cast(pl.Float64))
        empty = table["hit"].is_null() | table["hit"].is_nan()
        rest = table.filter(~empty)
        wrong = rest.filter(~pl.col("hit").is_between(0, 1))
        if wrong.height:
            raise InputError(f"hits reach {wrong['hit'][0]:.4g}; give 0 or 1, or shares in [0, 1]")
        dropped = {"missing hit": int(empty.sum())} if empty.any() else {}
        return cls(rest.sort("sample", "concept"), facts=dict(facts or {}), dropped=dropped)

    def at(self, threshold: float) -> HouseholdHits:
        """The same predictions at another threshold: hits surer than it, coverage at least as sure.

        Raises:
            ParameterError: It is no number in [0, 1].
            InputError: The hits were made elsewhere, without confidences.
        """
        check_threshold(threshold)
        if self.table.height and self.table["best"].null_count() == self.table.height:
            raise InputError("these hits have no confidences; make them with HouseholdHits.from_predictions")
        table = self.table.with_columns(
            hit=(pl.col("confidence") > threshold).fill_null(False).cast(pl.Float64),
            covered=(pl.col("best") >= threshold).fill_null(False).cast(pl.Float64),
        )
        return replace(self, table=table, threshold=float(threshold), memo={})

    @cached_property
    def images(self) -> pl.DataFrame:
        """One row an image of a household, hit where any of its pairs is.

        ``concept`` is left out; ``_topic`` has all concepts of the image.
        """
        rest = [name for name in self.table.columns if name not in {"household", "image", *_OWN, "concept"}]
        return (
            self.table.group_by("household", "image")
            .agg(
                pl.col(*_OWN).max(),
                pl.col(rest).first(),
                pl.col("concept").drop_nulls().unique().sort().str.join("\x1f").alias("_topic"),
            )
            .sort("household", "image")
        )

    @property
    def attributes(self) -> list[str]:
        """What images can be grouped by."""
        hidden = {"sample", "image", "household", *_OWN}
        kinds = self.table.schema.items()
        return [name for name, kind in kinds if name not in hidden and not kind.is_nested()]


def _completed(annotations: pl.DataFrame) -> pl.DataFrame:
    """Ids as text, ``image`` and ``income_bucket`` where they are absent."""
    table = annotations.with_columns(pl.col("sample", "household").cast(pl.String))
    image = pl.col("image").cast(pl.String) if "image" in table.columns else pl.lit(None, dtype=pl.String)
    table = table.with_columns(image=pl.coalesce(image, pl.col("sample")))
    if "income_bucket" not in table.columns and "income" in table.columns:
        table = table.with_columns(income_buckets(table["income"]))
    return table


def _pairs(annotations: pl.DataFrame) -> pl.DataFrame:
    """One row for each sample and concept."""
    check_known("column of annotations", ("sample", "household"), annotations.columns)
    if "concepts" not in annotations.columns and "concept" not in annotations.columns:
        raise UnknownName("column of annotations", "concepts", annotations.columns)
    table = _completed(annotations)
    twice = table["sample"].filter(table["sample"].is_duplicated())
    if len(twice):
        raise InputError(f"sample {twice[0]!r} has several rows of annotations; list its concepts in one row")
    clash = [name for name in _OWN if name in table.columns]
    if clash:
        raise InputError(f"annotations have a column {clash[0]!r}, which is the name of an answer; rename it")
    if "concepts" in table.columns:
        table = table.drop("concept", strict=False).rename({"concepts": "concept"})
    if isinstance(table["concept"].dtype, pl.List):
        table = table.with_columns(
            pl.when(pl.col("concept").list.len() > 0).then(pl.col("concept").list.unique(maintain_order=True))
        ).explode("concept")
    return table.with_columns(pl.col("concept").cast(pl.String)).sort("sample", "concept")


def _named(long: pl.DataFrame, concept_map: Concepts | None, labels: Sequence[str] | None) -> pl.DataFrame:
    """The concepts of each label: ``prediction``, ``concept``."""
    if concept_map is None:
        names = pl.Series("prediction", labels, dtype=pl.String) if labels is not None else long["prediction"]
        return names.unique().to_frame().with_columns(concept=pl.col("prediction"))
    rows = [(label, concept) for label, concepts in concept_map.items() for concept in concepts]
    table = pl.DataFrame(rows, schema={"prediction": pl.String, "concept": pl.String}, orient="row").unique()
    classes = pl.Series(list(concept_map), dtype=pl.String)
    if long.height and not long["prediction"].is_in(classes.implode()).any():
        example = one_line(long["prediction"][0], 60)
        raise InputError(
            f"no prediction is a class of the concept map: predictions are such as {example!r}, classes such "
            f"as {one_line(next(iter(concept_map), ''), 60)!r}; give the map of this model's labels"
        )
    return table


def _nameable(
    concepts: pl.DataFrame, concept_map: Concepts | None, labels: Sequence[str] | None
) -> pl.Series | None:
    """Concepts that some label names; None where any text may be answered."""
    if concept_map is None and labels is None:
        return None
    if labels is not None:
        concepts = concepts.filter(pl.col("prediction").is_in(list(labels)))
    return concepts["concept"].unique().sort()


def _scored(
    pairs: pl.DataFrame, long: pl.DataFrame, concepts: pl.DataFrame, digits: int | None
) -> pl.DataFrame:
    """Pairs with the confidence of the first prediction that names their concept, and of the first at all."""
    confidence = pl.col("confidence") if digits is None else pl.col("confidence").round(digits)
    ranked = long.with_columns(confidence).sort("sample", "place")
    first = (
        ranked.join(concepts, on="prediction", how="inner")
        .sort("sample", "concept", "place")
        .unique(["sample", "concept"], keep="first", maintain_order=True)
        .select("sample", "concept", "confidence")
    )
    best = ranked.group_by("sample").agg(
        best=pl.col("confidence").max(), unsure=pl.col("confidence").is_null().any()
    )
    return pairs.join(first, on=["sample", "concept"], how="left", maintain_order="left").join(
        best, on="sample", how="left", maintain_order="left"
    )


def _remarks(has_confidence: bool, missing: Sequence[str]) -> list[str]:
    """What to know about predictions without confidences, and about concepts that cannot be said."""
    notes = [] if has_confidence else ["predictions carry no confidence, so each passes every threshold"]
    if missing:
        notes.append(
            f"concepts that no label names: {len(missing)}, such as {one_line(missing[0], 40)!r}; their "
            "pairs are left out"
        )
    return notes


def _shallow(long: pl.DataFrame, concept_map: Concepts | None, top: int) -> list[str]:
    """Whether samples have fewer predictions than count, although the model has more labels."""
    depth = int(long["place"].max() or 0) if long.height else 0  # type: ignore[arg-type]  # a whole number
    if depth >= top or (concept_map is not None and len(concept_map) <= depth):
        return []
    return [f"samples have at most {depth} predictions, fewer than the {top} that count"]


def _usable(
    scored: pl.DataFrame, nameable: pl.Series | None
) -> tuple[pl.DataFrame, dict[str, int], tuple[str, ...]]:
    """Pairs that can be judged, images that have none by reason, and concepts that no label names."""
    reason = (
        pl.when(pl.col("concept").is_null()).then(pl.lit("missing concept"))
        .when(pl.col("unsure").is_null()).then(pl.lit("no answer"))
        .when(pl.col("unsure")).then(pl.lit("missing confidence"))
    )  # fmt: skip
    if nameable is not None:
        reason = reason.when(~pl.col("concept").is_in(nameable.implode())).then(pl.lit(UNNAMEABLE))
    judged = scored.with_columns(_why=reason.otherwise(None))
    usable = judged.filter(pl.col("_why").is_null())
    lost = judged.join(usable.select("sample").unique(), on="sample", how="anti")
    counts = lost.unique("sample", keep="first", maintain_order=True)["_why"].value_counts()
    missing = judged.filter(pl.col("_why") == UNNAMEABLE)["concept"].unique().sort()
    return usable.drop("_why", "unsure"), dict(counts.iter_rows()), tuple(missing)
