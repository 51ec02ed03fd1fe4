"""LabelMatches: how sure a model is of each kind of label, such as a non-human one, for every sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, ParameterError, check_known
from evenhand.evidence.predictions.columns.annotated import Annotated, Facts, Remembering
from evenhand.evidence.predictions.columns.arrays import Codes, Floats, Mask, unmasked
from evenhand.evidence.ranked_labels import (
    WORDNET,
    annotated_samples,
    belonging,
    check_confidences,
    first_ranks,
    highest,
    label_codes,
    leading_ids,
)

Terms: TypeAlias = Mapping[str, Sequence[str]]

UNKNOWN = frozenset({"unknown", "n/a", "-1", "prefer not to say", "gender_unknown", "age_unknown"})
"""Values of an attribute that say that an annotator could not tell."""
NOT_EXPRESSIBLE = "not in the label space"
"""Why there is no rate where the model has no label of this kind."""

_NO_ANSWER, _NOT_ANNOTATED, _NO_CONFIDENCE = "no answer", "not annotated", "missing confidence"


@dataclass(frozen=True, eq=False)
class LabelMatches(Annotated, Remembering):
    """The first predictions of every sample, and the highest confidence of each association among them.

    Every threshold t is ``scores >= t``: of the predictions whose confidence is at least t the first ``top``
    hold a label of the association exactly where the highest confidence among the first ``top`` is at least
    t, because confidences fall with the rank. Make one with ``from_predictions`` or ``from_confidences``.

    Attributes:
        table: The usable samples: ``sample`` and the attributes, sorted by sample.
        associations: Kinds of labels, such as ``human``, ``possibly_human``, ``non_human``, ``crime``.
        scores: Highest confidence among the first ``top`` predictions that belong to the association, shape
            (N, T), -inf where none does.
        best: Confidence of the first prediction, shape (N,); the share that reaches t is the coverage.
        expressible: Association to the model's labels that belong to it. Without any, the model cannot say
            it, and there is no rate. Where any text may be answered, the words that are looked for.
        unions: Name to the associations of which any counts, such as ``harmful``.
        vocabulary: Every label; ``predicted`` points here.
        predicted: Labels by rank, shape (N, K), -1 where there is none.
        confidence: Their confidences, -inf where there is none.
        top: How many predictions count.
        cluster: Attribute whose values belong together, such as the subject; intervals heed it.
        facts: What else tells this evidence from others; stands in the parameters of findings.
        dropped: Samples left out, by reason.
        notes: What to know about the evidence.
    """

    table: pl.DataFrame
    associations: tuple[str, ...]
    scores: Floats
    best: Floats
    expressible: Mapping[str, tuple[str, ...]]
    unions: Mapping[str, tuple[str, ...]]
    vocabulary: tuple[str, ...]
    predicted: Codes
    confidence: Floats
    top: int = 5
    cluster: str | None = None
    facts: Facts = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def from_predictions(
        cls,
        predictions: pl.LazyFrame,
        annotations: pl.DataFrame,
        taxonomy: Terms,
        labels: Sequence[str] | None = None,
        wordnet_ids: Sequence[str] | None = None,
        *,
        top: int = 5,
        kept: int = 10,
        unions: Terms | None = None,
        cluster: str | None = None,
        facts: Facts | None = None,
    ) -> LabelMatches:
        """Bring ranked predictions and annotations together.

        Samples without a prediction, and predictions without annotations, are dropped and counted. Without
        any confidence, as in free answers, each prediction counts at every threshold.

        Args:
            predictions: ``sample``, ``prediction``, and where there are several to a sample ``rank`` (1 =
                first), ``confidence`` in [0, 1], or both.
            annotations: One row a sample: ``sample`` and attributes.
            taxonomy: Association to its terms: WordNet ids (``n02395003``) or words. An id matches the label
                with this id, a word a label that is this word, or names it between commas.
            labels: All labels of the model. None: any text may be answered, and words are looked for in it.
            wordnet_ids: Id of each label, or an empty text; by default read off labels that begin with one.
            top: How many predictions count.
            kept: How many predictions of a sample are kept.
            unions: Name to associations of which any counts.
            cluster: Attribute whose values belong together.
            facts: What else tells this evidence from others.

        Raises:
            UnknownName: A column that does not exist.
            InputError: A sample twice, a label that the model does not have, confidences outside [0, 1] or
                that rise with the rank.
            ParameterError: ``top`` or ``kept`` below 1, or a union of unknown associations.
        """
        _check_depth(top, kept)
        samples = annotated_samples(annotations, cluster)
        long, has_confidence = first_ranks(predictions, kept)
        rows = samples.select("sample").with_row_index("row")
        ranked = long.join(rows, on="sample", how="left")
        unannotated = ranked.filter(pl.col("row").is_null())["sample"].n_unique()
        ranked = ranked.drop_nulls("row")
        vocabulary = tuple(labels) if labels is not None else tuple(ranked["prediction"].unique().sort())
        codes = label_codes(ranked["prediction"], vocabulary, closed=labels is not None)
        depth = int(ranked["place"].max() or 0) if ranked.height else 0  # type: ignore[arg-type]  # a whole number
        predicted, confidence = _without_labels(samples.height, depth)
        cells = ranked["row"].to_numpy(), ranked["place"].to_numpy() - 1
        predicted[cells] = codes
        confidence[cells] = ranked["confidence"].fill_null(float("nan")).to_numpy()
        notes = [] if has_confidence else ["predictions carry no confidence, so each passes every threshold"]
        return cls._matched(
            samples, predicted, confidence, {_NOT_ANNOTATED: unannotated}, notes, taxonomy, vocabulary,
            wordnet_ids, is_open=labels is None, top=top, unions=unions or {}, cluster=cluster,
            facts=facts or {},
        )  # fmt: skip

    @classmethod
    def from_confidences(
        cls,
        confidences: npt.ArrayLike,
        samples: Sequence[str],
        annotations: pl.DataFrame,
        taxonomy: Terms,
        labels: Sequence[str],
        wordnet_ids: Sequence[str] | None = None,
        *,
        top: int = 5,
        kept: int = 10,
        unions: Terms | None = None,
        cluster: str | None = None,
        facts: Facts | None = None,
    ) -> LabelMatches:
        """The same from the confidences of all labels; of equal ones the first label comes first.

        Args:
            confidences: Shape (N, labels), in [0, 1]; read in blocks, so a memory map will do.
            samples: N ids.
            annotations: As in ``from_predictions``, and so are all further arguments and errors.
            taxonomy: Association to its terms.
            labels: Name of each column.
            wordnet_ids: Id of each column, or an empty text.
            top: How many predictions count.
            kept: How many predictions of a sample are kept.
            unions: Name to associations of which any counts.
            cluster: Attribute whose values belong together.
            facts: What else tells this evidence from others.

        Raises:
            InputError: A table of another shape.
        """
        _check_depth(top, kept)
        matrix = np.asarray(unmasked(confidences, "confidences"))
        if matrix.shape != (len(samples), len(labels)):
            raise InputError(
                f"confidences have shape {matrix.shape}; give one row for each of {len(samples)} samples and "
                f"one column for each of {len(labels)} labels"
            )
        annotated = annotated_samples(annotations, cluster)
        names = pl.Series("sample", list(map(str, samples)), dtype=pl.String)
        if names.is_duplicated().any():
            raise InputError(f"sample {names.filter(names.is_duplicated())[0]!r} has several rows; give one")
        rows = annotated.select("sample").join(
            names.to_frame().with_row_index("row"), on="sample", how="left", maintain_order="left"
        )["row"]
        is_answered = rows.is_not_null().to_numpy()
        positions = rows.drop_nulls().to_numpy().astype(np.int64)
        depth = min(kept, len(labels))
        predicted, confidence = _without_labels(annotated.height, depth)
        predicted[is_answered], confidence[is_answered] = highest(matrix, positions, depth)
        return cls._matched(
            annotated, predicted, confidence, {_NOT_ANNOTATED: len(samples) - positions.size}, [], taxonomy,
            tuple(labels), wordnet_ids, is_open=False, top=top, unions=unions or {}, cluster=cluster,
            facts=facts or {},
        )  # fmt: skip

    @classmethod
    def _matched(
        cls, samples: pl.DataFrame, predicted: Codes, confidence: Floats, dropped: dict[str, int],
        notes: list[str], taxonomy: Terms, vocabulary: tuple[str, ...], wordnet_ids: Sequence[str] | None, *,
        is_open: bool, top: int, unions: Terms, cluster: str | None, facts: Facts,
    ) -> LabelMatches:  # fmt: skip
        """Leave out samples that cannot be used, and match labels with associations.

        ``predicted`` and ``confidence`` are labels by rank, NaN where a confidence is missing; where answers
        are open, any text may be one.
        """
        for name, parts in unions.items():
            if name in taxonomy:
                raise ParameterError(f"{name!r} is an association and a union; give one of them another name")
            check_known(f"association in the union {name!r}", parts, taxonomy)
        unanswered = ~(predicted >= 0).any(axis=1)
        unsure = ~unanswered & np.isnan(confidence).any(axis=1)
        usable = ~(unanswered | unsure)
        counts = {**dropped, _NO_ANSWER: int(unanswered.sum()), _NO_CONFIDENCE: int(unsure.sum())}
        predicted, confidence = predicted[usable], confidence[usable]
        table = samples.filter(pl.Series(usable, dtype=pl.Boolean))
        check_confidences(confidence, table["sample"])
        ids = wordnet_ids if wordnet_ids is not None else leading_ids(vocabulary)
        expressible, memo, scores = {}, {}, []
        for name, terms in taxonomy.items():
            members = memo["members", name] = belonging(terms, vocabulary, ids, free=is_open)
            # -1, no label, finds the last entry
            is_member = np.append(members, False)[predicted[:, :top]]
            scores.append(np.where(is_member, confidence[:, :top], -np.inf).max(axis=1, initial=-np.inf))
            labels = (label for label, inside in zip(vocabulary, members, strict=True) if inside)
            words = (term for term in terms if not WORDNET.fullmatch(term))
            expressible[name] = tuple(words if is_open else labels)
        most = 1 if is_open else min(top, len(vocabulary))
        if predicted.shape[1] < most and len(table):
            notes.append(
                f"samples have at most {predicted.shape[1]} predictions, fewer than the {most} that count; "
                "rates are lower than they would be"
            )
        return cls(
            table, tuple(taxonomy), np.stack(scores, axis=1) if scores else np.zeros((len(table), 0)),
            confidence[:, 0] if confidence.shape[1] else np.full(len(table), -np.inf), expressible,
            {name: tuple(parts) for name, parts in unions.items()}, vocabulary, predicted, confidence, top,
            cluster, dict(facts), {reason: count for reason, count in sorted(counts.items()) if count},
            tuple(notes), memo=memo,
        )  # fmt: skip

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes."""
        return [name for name in self.table.columns if name != "sample"]

    @property
    def names(self) -> tuple[str, ...]:
        """The associations, then the unions of them."""
        return (*self.associations, *self.unions)

    def labels_of(self, name: str) -> tuple[str, ...]:
        """The model's labels that belong to an association or union; empty where it cannot say it.

        Raises:
            UnknownName: There is no such association.
        """
        return tuple(label for part in self._parts(name) for label in self.expressible[part])

    def scores_of(self, name: str) -> Floats:
        """Highest confidence of an association or union, shape (N,), -inf where none is among the first.

        Raises:
            UnknownName: There is no such association.
        """
        columns = [self.associations.index(part) for part in self._parts(name)]
        return np.asarray(self.scores[:, columns].max(axis=1, initial=-np.inf))

    def _parts(self, name: str) -> tuple[str, ...]:
        check_known("association", name, self.names)
        return (name,) if name in self.associations else self.unions[name]

    def members(self, name: str) -> Mask:
        """Which labels of the vocabulary belong to an association or union, shape (labels,)."""
        return np.asarray(np.any([self.memo["members", part] for part in self._parts(name)], axis=0))


def _without_labels(samples: int, depth: int) -> tuple[Codes, Floats]:
    """Labels and confidences of samples without any."""
    return np.full((samples, depth), -1, dtype=np.int32), np.full((samples, depth), -np.inf)


def _check_depth(top: int, depth: int) -> None:
    if top < 1 or depth < top:
        raise ParameterError(f"top={top} and kept={depth} are not possible; choose 1 <= top <= kept")
