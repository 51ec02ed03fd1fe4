"""How each kind of model is asked which pronoun belongs to an image, and the scores that come of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import polars as pl

from evenhand.benchmarks.visogender.data.captions import Row, Template, unique_captions
from evenhand.core.capabilities import CAPABILITIES
from evenhand.core.errors import UserError
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
_LETTERS = "ABCDEFGH"
_LETTER = re.compile(r"^\W*(?:answer\W+|option\W+)*([A-H])(?![A-Za-z])", re.IGNORECASE)
Evidence = Mapping[str, pl.LazyFrame]


@dataclass(frozen=True, eq=False)
class Elicitation:
    """What is asked, and how answers become scores.

    Attributes:
        way: One of ``WAYS``.
        rows: The samples, as named tuples by column.
        images: One for each sample.
        templates: Which sentences.
        candidates: Pronouns, in the order that decides ties in paper mode.
    """

    way: str
    rows: Sequence[Row]
    images: ImageSource
    templates: Sequence[Template]
    candidates: Sequence[str]

    def questions(self) -> list[Question]:
        """Each image and each different caption is asked about once, whatever they are used for."""
        return {
            "captions": self._captions,
            "match": self._match,
            "continuations": self._continuations,
            "first_token": self._continuations,
            "choice": self._choice,
        }[self.way]()

    def scores(self, evidence: Evidence) -> pl.DataFrame:
        """sample, template, candidate, score; samples without an answer are not there.

        Scores are cosines (captions), probabilities of a match (match), log-probabilities (continuations),
        logits (first_token), or the share of orders in which the candidate was chosen (choice).
        """
        return {
            "captions": self._from_captions,
            "match": self._from_pairs,
            "continuations": self._from_continuations,
            "first_token": self._from_continuations,
            "choice": self._from_choices,
        }[self.way](evidence)

    def _ids(self) -> list[str]:
        return [str(row["sample"]) for row in self.rows]

    def _captions(self) -> list[Question]:
        texts = unique_captions(self.rows, self.templates, self.candidates)
        return [
            Question("images", "embeds_images", self._ids(), self.images),
            Question("captions", "embeds_texts", texts, texts=texts),
        ]

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

    def _of(self, template: Template) -> tuple[list[Row], ImageSource]:
        """Samples that a template fits, with their images."""
        indices = [index for index, row in enumerate(self.rows) if template.fits(row)]
        return [self.rows[index] for index in indices], ChosenImages(self.images, indices)

    def _continuations(self) -> list[Question]:
        """Whole pronouns after the prefix; or, as in the paper, the first token after a trailing space."""
        first = self.way == "first_token"
        continuations = [candidate if first else f" {candidate}" for candidate in self.candidates]
        requests = []
        for template in self.templates:
            rows, images = self._of(template)
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

    def _orders(self) -> list[tuple[str, ...]]:
        return list(permutations(self.candidates))

    def _choice(self) -> list[Question]:
        """Which caption is right? Asked in every order of the candidates, so that no place is favoured."""
        requests = []
        for template in self.templates:
            rows, images = self._of(template)
            for number, order in enumerate(self._orders()):
                prompts = [_prompt([template.caption(row, candidate) for candidate in order]) for row in rows]
                requests.append(
                    Question(
                        f"choice_{template.name}_{number}",
                        "answers_questions",
                        [str(row["sample"]) for row in rows],
                        images,
                        prompts,
                    )
                )
        return requests

    def _chosen(self, evidence: Evidence) -> pl.DataFrame:
        """sample, template, order, place (None: the answer names no letter), candidate."""
        parts = []
        for template in self.templates:
            for number, order in enumerate(self._orders()):
                answers = evidence[f"choice_{template.name}_{number}"].select("sample", "text").collect()
                places = [_place(text, len(order)) for text in answers["text"]]
                parts.append(
                    answers.select("sample").with_columns(
                        template=pl.lit(template.name),
                        order=pl.lit(number),
                        place=pl.Series(places, dtype=pl.Int64),
                        candidate=pl.Series(
                            [None if index is None else order[index] for index in places], dtype=pl.String
                        ),
                    )
                )
        return pl.concat(parts)

    def _from_choices(self, evidence: Evidence) -> pl.DataFrame:
        choices = self._chosen(evidence).drop_nulls("candidate")
        counts = choices.group_by("sample", "template", "candidate").len("times")
        answered = choices.group_by("sample", "template", maintain_order=True).len("answers")
        every = answered.join(pl.DataFrame({"candidate": list(self.candidates)}), how="cross")
        candidate_counts = every.join(
            counts, on=["sample", "template", "candidate"], how="left", maintain_order="left"
        )
        share = pl.col("times").fill_null(0) / pl.col("answers")
        return candidate_counts.with_columns(score=share).select(list(SCORES)).cast(pl.Schema(SCORES))

    def places(self, evidence: Evidence) -> pl.DataFrame | None:
        """How often each place was chosen: template, place (from 1), chosen, share.

        A model without position bias gives every place the same share; a null place is an answer without a
        letter. None for other ways than multiple choice.
        """
        if self.way != "choice":
            return None
        choices = self._chosen(evidence)
        place_counts = choices.group_by("template", "place").len("chosen").sort("template", "place")
        share = pl.col("chosen") / pl.col("chosen").sum().over("template")
        return place_counts.with_columns(place=pl.col("place") + 1, share=share)


def choose_way(choice: str, capabilities: Sequence[str], mode: str = "default") -> str:
    """The way that was asked for, or the first that the model can go; in paper mode the paper's first.

    Raises:
        UserError: It can go none.
    """
    if choice != "auto":
        return choice
    ways = {way: WAYS[way] for way in (*_OF_PAPER, *WAYS)} if mode == "paper" else WAYS
    for way, needed in ways.items():
        if set(needed) <= set(capabilities):
            return way
    needed_names = " or ".join(" with ".join(needed) for needed in dict.fromkeys(WAYS.values()))
    have = ", ".join(name for name in CAPABILITIES if name in capabilities) or "no capability"
    raise UserError(f"this model has {have}; VisoGender asks for {needed_names}; type: evenhand ls models")


def _prompt(captions: Sequence[str]) -> str:
    options = "\n".join(f"{letter}. {caption}" for letter, caption in zip(_LETTERS, captions, strict=False))
    return f"Which caption fits this image?\n{options}\nAnswer with the letter of one caption only."


def _place(text: str, options: int) -> int | None:
    """The place of the letter that an answer begins with."""
    match = _LETTER.match(text.strip())
    if match is None:
        return None
    index = _LETTERS.index(match[1].upper())
    return index if index < options else None
