"""Choices: which candidate, such as a pronoun, a model scores highest for each sample, beside the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import lcm

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, ParameterError, UnknownName, check_choice, check_known
from evenhand.evidence.predictions.columns.annotated import Annotated, Facts, Remembering
from evenhand.evidence.predictions.columns.arrays import Floats, Integers, Mask
from evenhand.evidence.ranked_labels import annotated_samples

GENDERS = ("masculine", "feminine")
NEUTRAL = "neutral"
PRONOUNS = {"his": "masculine", "her": "feminine", "their": NEUTRAL}
BINARY_PRONOUNS = {"his": "masculine", "her": "feminine"}
OUTCOMES = ("correct", "misgendered", "neutral", "other")
TIES = ("share", "first")

_NOT_SCORED, _NO_TRUTH, _OTHER_TRUTH, _GAP = "no scores", "missing truth", "other truth", "missing score"


@dataclass(frozen=True, eq=False)
class Choices(Annotated, Remembering):
    """Scores of every candidate for every sample, with what the candidates and the samples mean.

    A choice has one of four outcomes: ``correct`` (the candidate's gender is the truth), ``misgendered``
    (it is the other of the two genders compared), ``neutral``, or ``other`` (a candidate of any other label,
    such as a neopronoun).

    Attributes:
        annotated: One row a sample, sorted by sample: ``sample``, ``truth`` and the attributes.
        reason: Why a row cannot be used, null where it can.
        scores: Scores of the usable rows, shape (N, C), in the order of ``annotated``.
        candidates: Candidate to gender, ``neutral`` or another label, in the order that decides ties of
            ``ties="first"``.
        genders: The two truths that are compared; gaps are the first minus the second.
        cluster: Attribute whose values share circumstances, such as the occupation; intervals heed it.
        strata: Attributes within which samples are alike but for the gender.
        facts: What else tells these choices from others of the same samples, such as the template; stands in
            the parameters of findings.
        unannotated: Samples with scores but without a row of annotations.
        wordings: The same samples asked in several wordings, whose outcomes these are the means of; mostly
            none.
    """

    noun, hidden = "choices", ("sample", "truth")
    annotated: pl.DataFrame
    reason: pl.Series
    scores: Floats
    candidates: Mapping[str, str]
    genders: tuple[str, str] = GENDERS
    cluster: str | None = None
    strata: tuple[str, ...] = ()
    facts: Facts = field(default_factory=dict)
    unannotated: int = 0
    wordings: tuple[Choices, ...] = ()

    @classmethod
    def join(
        cls,
        scores: pl.DataFrame | pl.LazyFrame,
        annotations: pl.DataFrame,
        *,
        candidates: Mapping[str, str] = PRONOUNS,
        truth: str = "truth",
        genders: tuple[str, str] = GENDERS,
        cluster: str | None = None,
        strata: Sequence[str] = (),
        facts: Facts | None = None,
    ) -> Choices:
        """Bring scores and annotations together by ``sample``.

        Candidates that are not in ``candidates`` are ignored, so that the same scores give choices among two
        pronouns and among three. A sample without a number for each candidate is dropped and counted.

        Args:
            scores: Scores(sample, candidate, score), higher is more likely; any scale, -inf included.
            annotations: One row a sample: ``sample``, the truth, and attributes.
            candidates: Candidate to what it stands for; the order decides ties in paper mode.
            truth: Column of the true gender.
            genders: The two truths that are compared.
            cluster: Attribute whose values are the clusters of intervals.
            strata: Attributes within which genders are exchanged for the null of a gap.
            facts: What else tells these choices from others, such as ``{"template": "par_first"}``.

        Raises:
            UnknownName: A column or candidate that does not exist.
            InputError: A sample twice, or two scores of one candidate for one sample.
            ParameterError: The candidates do not name both genders.
        """
        check_candidates(candidates, genders)
        table = annotated_samples(annotations, truth, cluster, *strata)
        table = table.with_columns(truth=pl.col(truth).cast(pl.String))
        matrix, is_scored, unannotated = _matrix(scores, table["sample"], candidates)
        reason = _reasons(table["truth"], matrix, is_scored, genders)
        usable_scores = matrix[reason.is_null().to_numpy()]
        stands_for, further = dict(candidates), dict(facts or {})
        return cls(
            table, reason, usable_scores, stands_for, genders, cluster, tuple(strata), further, unannotated
        )

    @classmethod
    def averaged(cls, wordings: Sequence[Choices]) -> Choices:
        """The same samples asked in several wordings: a sample counts as the mean of its outcomes over them.

        A sample that some wordings cannot use counts by the others; one that none can use is left out. Its
        wordings stay together: they are one unit of every interval and test.

        Args:
            wordings: Choices of the same samples among the same candidates; at least one.
        """
        first, usable = wordings[0], _usable(wordings)
        total = np.zeros((usable.shape[1], len(first.candidates)))
        for choices, rows in zip(wordings, usable, strict=True):
            total[rows] += choices.scores
        read = usable.any(axis=0)
        scores = total[read] / usable.sum(axis=0)[read][:, None]
        reason = pl.select(pl.when(pl.Series(~read)).then(first.reason).alias("reason")).to_series()
        return replace(first, reason=reason, scores=scores, wordings=tuple(wordings), memo={})

    def only(self, candidates: Sequence[str]) -> Choices:
        """The same samples with fewer candidates; what was dropped stays dropped.

        Raises:
            UnknownName: A candidate that these choices do not have.
            ParameterError: The candidates do not name both genders.
        """
        names = list(self.candidates)
        check_known("candidate", candidates, names)
        selected = {name: self.candidates[name] for name in candidates}
        check_candidates(selected, self.genders)
        return replace(
            self,
            scores=self.scores[:, [names.index(name) for name in selected]],
            candidates=selected,
            wordings=tuple(choices.only(candidates) for choices in self.wordings),
            memo={},
        )

    @cached_property
    def table(self) -> pl.DataFrame:
        """The usable rows: ``sample``, ``truth`` and the attributes."""
        return self.annotated.filter(self.reason.is_null())

    @cached_property
    def best(self) -> Mask:
        """Which candidates have the highest score, shape (N, C); several where they tie."""
        if not self.scores.size:
            return np.zeros(self.scores.shape, dtype=bool)
        return np.asarray(self.scores == self.scores.max(axis=1, keepdims=True))

    @cached_property
    def tied(self) -> Mask:
        """Samples whose highest score belongs to several candidates, shape (N,)."""
        if not self.wordings:
            return np.asarray(self.best.sum(axis=1) > 1)
        usable = _usable(self.wordings)
        tied = np.zeros(usable.shape[1], dtype=bool)
        for choices, rows in zip(self.wordings, usable, strict=True):
            tied[rows] |= choices.tied
        return tied[usable.any(axis=0)]

    def outcomes(self, ties: str = "share") -> tuple[Integers, int]:
        """How much each sample counts as each of ``OUTCOMES``.

        Args:
            ties: ``share`` (equally among the tied candidates) or ``first`` (the first candidate).

        Returns:
            Whole numbers, shape (N, 4), whose rows add up to the second return value.
        """
        check_choice("ties", ties, TIES)
        if self.wordings:
            return self._mean_outcomes(ties)
        best = self.best
        if ties == "first":
            best = best & (np.cumsum(best, axis=1) == 1)
        number = best.sum(axis=1)
        unit = lcm(*np.unique(number).tolist()) if number.size else 1
        share = best * (unit // np.maximum(number, 1))[:, None]
        second = (self.table["truth"] == self.genders[1]).to_numpy()
        labels = list(self.candidates.values())
        result = np.zeros((second.size, len(OUTCOMES)), dtype=np.int64)
        for column, label in enumerate(labels):
            result[np.arange(second.size), outcome_of(label, second, self.genders)] += share[:, column]
        return result, unit

    def _mean_outcomes(self, ties: str) -> tuple[Integers, int]:
        """The mean over the wordings that can use a sample."""
        usable = _usable(self.wordings)
        outcomes = [choices.outcomes(ties) for choices in self.wordings]
        read = usable.any(axis=0)
        number = usable.sum(axis=0)[read]
        unit = lcm(*(part_unit for _, part_unit in outcomes)) * lcm(*np.unique(number).tolist())
        total = np.zeros((read.size, len(OUTCOMES)), dtype=np.int64)
        for (weights, part_unit), rows in zip(outcomes, usable, strict=True):
            total[rows] += weights * (unit // part_unit)
        return total[read] // number[:, None], unit

    def chance(self, outcome: str) -> tuple[float, float]:
        """How often a choice at random has this outcome, for samples of the first and the second gender."""
        labels, second = list(self.candidates.values()), np.array([False, True])
        hits = np.array(
            [outcome_of(label, second, self.genders) == OUTCOMES.index(outcome) for label in labels]
        )
        first, other = hits.mean(axis=0).tolist()
        return first, other


def _usable(wordings: Sequence[Choices]) -> Mask:
    """Which rows each wording can use, shape (W, rows)."""
    return np.array([choices.reason.is_null().to_numpy() for choices in wordings])


def check_candidates(candidates: Mapping[str, str], genders: tuple[str, str]) -> None:
    """Refuse candidates among which one of the two genders cannot be chosen."""
    missing = [gender for gender in genders if gender not in candidates.values()]
    if missing:
        raise ParameterError(
            f"candidates={dict(candidates)!r} has none for {missing[0]!r}; give one at least for each of "
            f"{genders[0]!r} and {genders[1]!r}, such as {{'his': 'masculine', 'her': 'feminine'}}"
        )


def outcome_of(label: str, second: Mask, genders: tuple[str, str]) -> Integers:
    """What choosing a candidate of this label means, as a position in ``OUTCOMES``.

    ``second`` says whether the truth is the second gender, shape (N,).
    """
    if label in genders:
        return np.where(second == (label == genders[1]), 0, 1)
    return np.full(second.shape, 2 if label == NEUTRAL else 3)


def _reasons(truth: pl.Series, matrix: Floats, is_scored: Mask, genders: tuple[str, str]) -> pl.Series:
    """Why a sample is left out, null for one that is not."""
    is_complete = ~np.isnan(matrix).any(axis=1)
    reason = (
        pl.when(pl.Series(~is_scored))
        .then(pl.lit(_NOT_SCORED))
        .when(truth.is_null())
        .then(pl.lit(_NO_TRUTH))
        .when(~truth.is_in(list(genders)))
        .then(pl.lit(_OTHER_TRUTH))
        .when(pl.Series(~is_complete))
        .then(pl.lit(_GAP))
    )
    return pl.select(reason.alias("reason")).to_series().cast(pl.String)


def _matrix(
    scores: pl.DataFrame | pl.LazyFrame, samples: pl.Series, candidates: Mapping[str, str]
) -> tuple[Floats, Mask, int]:
    """Scores by sample and candidate (NaN where there is none), which samples occur, how many others do."""
    lazy = scores.lazy()
    columns = lazy.collect_schema().names()
    check_known("column of scores", ("sample", "candidate", "score"), columns)
    long = lazy.select(
        pl.col("sample", "candidate").cast(pl.String), pl.col("score").cast(pl.Float64)
    ).collect()
    scored_candidates = long["candidate"].unique().to_list()
    for name in candidates:
        if long.height and name not in scored_candidates:
            raise UnknownName("candidate in these scores", name, sorted(filter(None, scored_candidates)))
    selected = long.filter(pl.col("candidate").is_in(list(candidates)))
    row = selected["sample"].replace_strict(
        samples, np.arange(len(samples)), default=-1, return_dtype=pl.Int64
    )
    column = selected["candidate"].replace_strict(
        list(candidates), np.arange(len(candidates)), return_dtype=pl.Int64
    )
    at, to = row.to_numpy(), column.to_numpy()
    inside = at >= 0
    cell = at[inside] * len(candidates) + to[inside]
    if np.unique(cell).size < cell.size:
        first = selected.filter(pl.struct("sample", "candidate").is_duplicated()).row(0)
        raise InputError(f"{first[1]!r} has several scores for sample {first[0]!r}; give each candidate one")
    matrix = np.full((len(samples), len(candidates)), np.nan)
    matrix.reshape(-1)[cell] = selected["score"].fill_null(float("nan")).to_numpy()[inside]
    is_scored = samples.is_in(long["sample"].unique().to_list()).to_numpy()
    outside = long.filter(~pl.col("sample").is_in(samples.to_list()))["sample"].n_unique()
    return matrix, is_scored, outside
