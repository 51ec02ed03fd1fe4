"""How each kind of model is asked which pronoun belongs to an image, and the scores that come of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from evenhand.benchmarks.labelling import elicitation, lettered
from evenhand.benchmarks.visogender.data.captions import Row, Template
from evenhand.benchmarks.visogender.multiple_choice import (
    FIRST_WORDING,
    MultipleChoice,
    fitting_rows,
    places,
)
from evenhand.benchmarks.visogender.wordings import wording_answers
from evenhand.core.findings import TableWarning
from evenhand.core.requests import ImageSource, Question
from evenhand.evidence.derivation.from_vectors import cosines
from evenhand.files.images.cropped import ChosenImages

WAYS: Mapping[str, tuple[str, ...]] = {
    "captions": ("embeds_images", "embeds_texts"),
    "match": ("matches_pairs",),
    "continuations": ("scores_continuations",),
    "first_token": ("scores_continuations",),
    "choice": ("answers_questions",),
}
"""Ways of asking and the capabilities they need; ``auto`` takes the first that the model can go."""

_OF_PAPER = ("captions", "first_token")

SCORES = {"sample": pl.String, "template": pl.String, "candidate": pl.String, "score": pl.Float64}
Evidence = Mapping[str, pl.LazyFrame]


@dataclass(frozen=True, eq=False)
class ScoredAnswers:
    """Scores from answers."""

    scores: pl.DataFrame  # sample, template, candidate, score
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # of multiple choice
    warnings: Sequence[TableWarning] = ()  # on answers that could not be read


@dataclass(frozen=True, eq=False)
class Elicitation:
    """What is asked, and how answers become scores."""

    way: str  # one of WAYS
    rows: Sequence[Row]
    images: ImageSource
    templates: Sequence[Template]
    candidates: Sequence[str]  # in the order that decides ties in paper mode
    wordings: Sequence[str] = (FIRST_WORDING,)  # of multiple choice

    def questions(self) -> list[Question]:
        """Each image and each different caption is asked about once, whatever they are used for."""
        if self.way == "choice":
            return self._multiple_choice.questions(self.images)
        return {"captions": self._captions, "match": self._match}.get(self.way, self._continuations)()

    def scores(self, evidence: Evidence) -> ScoredAnswers:
        """sample, template, candidate, score; samples without an answer are not there.

        Scores are cosines (captions), probabilities of a match (match), log-probabilities (continuations),
        logits (first_token), or the share of orders in which the candidate was chosen (choice).
        """
        if self.way == "choice":
            answers = self._multiple_choice.answers(evidence)
            tables = {"places": places(answers), "unread_answers": lettered.unread_answers(answers)}
            if len(self.wordings) > 1:
                tables["wording_answers"] = wording_answers(answers, self.wordings)
            scores = self._multiple_choice.scores(answers)
            unread = lettered.unread_warnings(answers, "choose no caption and are left out")
            return ScoredAnswers(scores, tables, unread)
        readers = {"captions": self._from_captions, "match": self._from_pairs}
        return ScoredAnswers(readers.get(self.way, self._from_continuations)(evidence))

    @property
    def _multiple_choice(self) -> MultipleChoice:
        return MultipleChoice(self.rows, self.templates, self.candidates, self.wordings)

    def _ids(self) -> list[str]:
        return [str(row["sample"]) for row in self.rows]

    def _captions(self) -> list[Question]:
        return elicitation.embedded(self._ids(), self.images, self._pairs()["text"], name="captions")

    def _from_captions(self, evidence: Evidence) -> pl.DataFrame:
        pairs = self._pairs()
        return cosines(evidence["images"], evidence["captions"], pairs).select(list(SCORES))

    def _pairs(self) -> pl.DataFrame:
        """sample, template, candidate, text: every caption of every sample."""
        return pl.DataFrame(
            [
                (row["sample"], template.name, candidate, template.caption(row, candidate))
                for row in self.rows
                for template in self.templates
                if template.fits(row)
                for candidate in self.candidates
            ],
            schema=["sample", "template", "candidate", "text"],
            orient="row",
        )

    def _match(self) -> list[Question]:
        pairs = self._pairs()
        order = {sample: index for index, sample in enumerate(self._ids())}
        images = ChosenImages(self.images, [order[sample] for sample in pairs["sample"]])
        return [
            Question("matches", "matches_pairs", pairs["sample"].to_list(), images, pairs["text"].to_list())
        ]

    def _from_pairs(self, evidence: Evidence) -> pl.DataFrame:
        scores = evidence["matches"].rename({"candidate": "text"}).unique(["sample", "text"]).collect()
        pair_scores = self._pairs().join(scores, on=["sample", "text"], maintain_order="left")
        return pair_scores.select(list(SCORES)).cast(pl.Schema(SCORES))

    def _continuations(self) -> list[Question]:
        """Whole pronouns after the prefix; or, as in the paper, the first token after a trailing space."""
        first = self.way == "first_token"
        continuations = [candidate if first else f" {candidate}" for candidate in self.candidates]
        requests = []
        for template in self.templates:
            rows, images = fitting_rows(self.rows, self.images, template)
            requests.append(
                Question(
                    f"continuations_{template.name}",
                    "scores_continuations",
                    [str(row["sample"]) for row in rows],
                    images,
                    [template.prefix(row) + (" " if first else "") for row in rows],
                    [continuations] * len(rows),
                    method="next_token_logits" if first else "score_continuations",
                )
            )
        return requests

    def _from_continuations(self, evidence: Evidence) -> pl.DataFrame:
        parts = [
            evidence[f"continuations_{template.name}"]
            .with_columns(template=pl.lit(template.name), candidate=pl.col("candidate").str.strip_chars())
            .select(list(SCORES))
            for template in self.templates
        ]
        return pl.concat(parts).collect().cast(pl.Schema(SCORES))


def choose_way(choice: str, capabilities: Sequence[str], mode: str = "default") -> str:
    """The way that was asked for, or the first that the model can go; in paper mode the paper's first.

    It raises MissingCapability where the model can go none.
    """
    ways = {way: WAYS[way] for way in (*_OF_PAPER, *WAYS)} if mode == "paper" else WAYS
    return elicitation.choose_way(choice, capabilities, "VisoGender", ways)
