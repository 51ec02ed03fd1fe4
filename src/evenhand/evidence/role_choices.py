"""Role choices: which option a model chooses in each order, by the role that the option plays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, UnknownName, check_choice, check_known
from evenhand.evidence.predictions.columns.annotated import Annotated
from evenhand.evidence.predictions.columns.arrays import Floats, Integers
from evenhand.evidence.ranked_labels import annotated_samples

TARGET, OTHER, UNKNOWN, UNUSABLE = "target", "other", "unknown", "unusable"
ROLES = (TARGET, OTHER, UNKNOWN)
OUTCOMES = (*ROLES, UNUSABLE)
_ABSENT = -1


@dataclass(frozen=True, eq=False)
class RoleChoices(Annotated):
    """Answers to questions whose options play roles, with what the samples are.

    An option is the ``target`` (the answer that a stereotype or a preference expects), the ``other``, or
    ``unknown`` (it cannot be said). An answer that chooses no option is ``unusable`` and stays in every
    denominator. Samples that differ only in who is shown form a set.

    Attributes:
        annotated: One row a sample with an answer, sorted by sample: ``sample`` and the attributes.
        codes: What each sample chose in each order, positions in ``OUTCOMES``, -1 where it was not asked or
            did not answer; shape (N, orders).
        scores: How far each sample leans to the target, in [0, 1]: the probability of the target against the
            other where options have one, else the share of orders in which it was chosen; shape (N,).
        wordings: The wording of each order, shape (orders,).
        cluster: Column of what is drawn as a whole, such as the scenario or template.
        truth: Column of the right role, if there is one.
        set_: Column of the set, if samples form sets.
        treatments: Attributes that differ within a set.
        unannotated: Samples with answers but without a row of annotations.
        unanswered: Samples without any answer.
        again: The share of each sample's answers that are others about the same image encoded anew, shape
            (N,), NaN where none is; None where this was not asked.
    """

    noun = "choices"
    annotated: pl.DataFrame
    codes: Integers
    scores: Floats
    wordings: Integers
    cluster: str | None = None
    truth: str | None = None
    set_: str | None = None
    treatments: tuple[str, ...] = ()
    unannotated: int = 0
    unanswered: int = 0
    again: Floats | None = None

    @classmethod
    def join(
        cls,
        answers: pl.DataFrame | pl.LazyFrame,
        annotations: pl.DataFrame,
        *,
        cluster: str | None = None,
        truth: str | None = None,
        sets: str | None = None,
        treatments: Sequence[str] = (),
        again: pl.DataFrame | None = None,
    ) -> RoleChoices:
        """Bring answers and annotations together by ``sample``.

        Args:
            answers: ``sample``, ``role`` (of ``ROLES``, null: unusable), perhaps ``order`` and ``wording``
                (which of several times it was asked) and ``score`` (probability of the target, in [0, 1]).
            annotations: One row a sample: ``sample`` and attributes.
            cluster: Column of what intervals and tests draw as a whole.
            truth: Column of the right role.
            sets: Column of the set.
            treatments: Attributes that differ within a set.
            again: As ``answers``, about the same images encoded anew.

        Raises:
            UnknownName: A column or role that does not exist.
            InputError: A sample annotated twice, or answered twice in one order.
        """
        table = annotated_samples(annotations, cluster, truth, sets, *treatments)
        rows = _rows(answers)
        inside = rows.filter(pl.col("sample").is_in(table["sample"].implode()))
        outside = rows["sample"].n_unique() - inside["sample"].n_unique()
        there = table.filter(pl.col("sample").is_in(inside["sample"].unique().implode()))
        codes, scores, wordings = _matrix(inside, there["sample"])
        return cls(
            there, codes, scores, wordings, cluster, truth, sets, tuple(treatments), outside,
            table.height - there.height, None if again is None else _unlike(inside, again, there["sample"]),
        )  # fmt: skip

    @cached_property
    def times(self) -> Integers:
        """In how many orders each sample was answered, shape (N,)."""
        return np.asarray((self.codes != _ABSENT).sum(axis=1))

    def share(self, outcome: str) -> Floats:
        """The share of each sample's orders with an outcome, shape (N,).

        Raises:
            ParameterError: Not an outcome.
        """
        check_choice("outcome", outcome, OUTCOMES)
        hits = (self.codes == OUTCOMES.index(outcome)).sum(axis=1)
        return np.asarray(hits / np.maximum(self.times, 1))

    def moved(self) -> Floats:
        """1 for each sample whose answers differ between orders of one wording, 0 for one whose do not.

        NaN where no wording was answered in two orders; shape (N,).
        """
        again, unlike = np.zeros((2, len(self.codes)), dtype=bool)
        for number in np.unique(self.wordings):
            codes = self.codes[:, self.wordings == number]
            answered = codes != _ABSENT
            several = answered.sum(axis=1) > 1
            least = np.where(answered, codes, len(OUTCOMES)).min(axis=1, initial=len(OUTCOMES))
            again |= several
            unlike |= several & (codes.max(axis=1, initial=_ABSENT) != least)
        return np.where(again, unlike.astype(np.float64), np.nan)

    def incomplete(self) -> pl.DataFrame:
        """Sets that lack a combination of treatments which another set has: set, and how many there are."""
        names = list(self.treatments)
        if self.set_ is None or not names:
            return pl.DataFrame(schema={"set": pl.String, "combinations": pl.Int64, "of": pl.Int64})
        total = self.annotated.select(names).n_unique()
        sizes = self.annotated.group_by(pl.col(self.set_).cast(pl.String).alias("set")).agg(
            combinations=pl.struct(names).n_unique().cast(pl.Int64)
        )
        return sizes.filter(pl.col("combinations") < total).with_columns(of=pl.lit(total)).sort("set")


def _rows(answers: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Answers with all columns, of the types that are worked with."""
    lazy = answers.lazy()
    columns = lazy.collect_schema().names()
    check_known("column of answers", ("sample", "role"), columns)
    extra = {"order": pl.lit("0"), "wording": pl.lit(1), "score": pl.lit(None)}
    rows = lazy.with_columns(**{name: value for name, value in extra.items() if name not in columns})
    return rows.select(
        pl.col("sample", "role", "order").cast(pl.String), pl.col("wording").cast(pl.Int64),
        pl.col("score").cast(pl.Float64),
    ).collect()  # fmt: skip


def _unlike(rows: pl.DataFrame, again: pl.DataFrame, samples: pl.Series) -> Floats:
    """The share of each sample's answers that differ from those of the same wording and order given again."""
    pairs = rows.join(_rows(again), on=["sample", "wording", "order"], suffix="_again")
    unlike = ~pl.col("role").eq_missing(pl.col("role_again"))
    shares = pairs.group_by("sample").agg(unlike.mean().alias("share"))
    by_sample = samples.to_frame("sample").join(shares, on="sample", how="left", maintain_order="left")
    return by_sample["share"].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _matrix(rows: pl.DataFrame, samples: pl.Series) -> tuple[Integers, Floats, Integers]:
    """Codes by sample and order, a score of each sample, and the wording of each order."""
    for role in rows["role"].drop_nulls().unique().sort():
        if role not in OUTCOMES:
            raise UnknownName("role", role, ROLES)
    orders = rows.select("wording", "order").unique().sort("wording", "order").with_row_index("column")
    table = rows.join(orders, on=["wording", "order"], how="left", maintain_order="left")
    if table.select("sample", "column").is_duplicated().any():
        twice = table.filter(table.select("sample", "column").is_duplicated())["sample"][0]
        raise InputError(f"sample {twice!r} has several answers in one order; give each order one answer")
    at = table["sample"].replace_strict(samples, np.arange(len(samples)), return_dtype=pl.Int64).to_numpy()
    code = table["role"].fill_null(UNUSABLE).replace_strict(
        list(OUTCOMES), list(range(len(OUTCOMES))), return_dtype=pl.Int64
    )  # fmt: skip
    codes = np.full((len(samples), orders.height), _ABSENT, dtype=np.int64)
    codes[at, table["column"].to_numpy()] = code.to_numpy()
    lean = np.where(table["score"].is_null(), (code == 0).to_numpy(), table["score"].fill_null(0).to_numpy())
    number = np.bincount(at, minlength=len(samples))
    scores = np.bincount(at, lean, minlength=len(samples)) / np.maximum(number, 1)
    return codes, scores, orders["wording"].to_numpy().astype(np.int64)
