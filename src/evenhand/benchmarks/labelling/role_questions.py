"""A question of its own for each sample, whose options play roles: three ways to ask, one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Parameter
from evenhand.benchmarks.labelling import elicitation
from evenhand.benchmarks.labelling.lettered import (
    OPTIONS,
    LetteredQuestion,
    unread_answers,
    unread_warnings,
)
from evenhand.core.errors import UserError
from evenhand.core.findings import TableWarning
from evenhand.core.requests import ImageSource, Question
from evenhand.evidence.derivation.from_vectors import check_one_space, normalised
from evenhand.evidence.open_answers.chosen_option import REFUSED
from evenhand.evidence.role_choices import OTHER, TARGET, UNKNOWN
from evenhand.files.images.cropped import ChosenImages
from evenhand.files.images.perturbed import Perturbation, PerturbedImages

QUESTION = "{question}"
WAYS: Mapping[str, tuple[str, ...]] = {
    "choice": ("answers_questions",),
    "continuations": ("scores_continuations",),
    "captions": ("embeds_images", "embeds_texts"),
}
"""Ways of asking and the capabilities they need; ``auto`` takes the first that the model can go."""

WORDINGS = (f"{QUESTION}\n{OPTIONS}\nAnswer with the letter of one option only.",)
ASKING: Mapping[str, Parameter] = {
    "ask": Parameter("auto", ("auto", *WAYS), "how a model is asked"),
    "orders": Parameter(
        "all", ("all", "first"), "ask=choice: every option once in every place, or the first order only"
    ),
}
"""Parameters of every benchmark that asks so."""

NOISE: Mapping[str, Parameter] = {
    "noise": Parameter(0, help="JPEG quality (1 to 95): asks again of re-encoded images; 0: does not")
}
"""The parameter of those with sets, whose flips count above what an unchanged picture shows."""

_AGAIN = "_again"  # ends the names of requests about images that are encoded anew
_UNDECIDED = (
    "can't be", "cannot be", "can not be", "not enough info", "unknown", "undetermined", "not known",
    "not answerable", "cannot answer", "can't answer", "cannot determine", "can't determine",
    "unanswerable", "insufficient info",
)  # fmt: skip
"""What an option contains that says that the question cannot be answered."""

ROWS = {
    "sample": pl.String, "wording": pl.Int64, "order": pl.String, "role": pl.String, "score": pl.Float64,
    "reason": pl.String,
}  # fmt: skip
"""Of each answer: the role of the option it chooses, or why none."""


@dataclass(frozen=True, eq=False)
class RoleAnswers:
    """What answers choose."""

    answers: pl.DataFrame  # the columns of ROWS, as RoleChoices.join takes them
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # of multiple choice, unread_answers
    warnings: Sequence[TableWarning] = ()  # on answers that could not be read
    again: pl.DataFrame | None = None  # answers on the same images, encoded anew; None: not asked


@dataclass(frozen=True, eq=False)
class RoleQuestions:
    """What is asked of each sample, and how answers become roles.

    Attributes:
        way: One of ``WAYS``.
        samples: Ids; several may be about one image.
        images: The images, each asked about as often as samples need it.
        image_of: Position of each sample's image.
        questions: The question of each sample.
        options: Texts of each sample's options, by role.
        wordings: Texts around it, with ``{question}`` and ``{options}``.
        prefix: What stands before a continuation, with ``{question}``.
        caption: What is embedded, with ``{option}``.
        orders: ``all`` or ``first``.
        suffix: Of the names of its requests, where a benchmark has several of these.
        noise: Quality of JPEG in which the same images are asked about again; 0: they are not.
    """

    way: str
    samples: Sequence[str]
    images: ImageSource | None
    image_of: Sequence[int]
    questions: Sequence[str]
    options: Sequence[Mapping[str, str]]
    wordings: Sequence[str] = WORDINGS
    prefix: str = f"Question: {QUESTION} Answer:"
    caption: str = "a photo of {option}"
    orders: str = "all"
    suffix: str = ""
    noise: int = 0

    def requests(self) -> list[Question]:
        """What is asked of the model; an image is embedded once, whatever it is asked about."""
        if self.images is None:
            raise ValueError("questions need images")
        if self.noise:
            return [*replace(self, noise=0).requests(), *self._again.requests()]
        if self.way == "captions":
            used = sorted(set(self.image_of))
            of_used = ChosenImages(self.images, used)
            texts = (text for row in self._captions() for text in row.values())
            return elicitation.embedded(list(map(str, used)), of_used, texts, suffix=self.suffix)
        images = ChosenImages(self.images, self.image_of)
        if self.way == "choice":
            return [lettered.question(images) for _, lettered in self._lettered()]
        prefixes = [self.prefix.replace(QUESTION, question) for question in self.questions]
        texts_of = [[f" {text}" for text in row.values()] for row in self.options]
        asked_by = (
            f"continuations{self.suffix}",
            "scores_continuations",
            self.samples,
            images,
            prefixes,
            texts_of,
        )
        return [Question(*asked_by, method="score_continuations")]

    def answers(
        self, evidence: Mapping[str, pl.LazyFrame], facts: Mapping[str, object] | None = None
    ) -> RoleAnswers:
        """What each answer chooses.

        Args:
            evidence: A table for each request, by name.
            facts: What the model says of itself: ``logit_scale``.
        """
        if self.noise:
            again = self._again.answers(evidence, facts).answers.with_columns(
                pl.col("order").str.strip_suffix(_AGAIN)
            )
            return replace(replace(self, noise=0).answers(evidence, facts), again=again)
        if self.way == "choice":
            return self._chosen(evidence)
        if self.way == "continuations":
            return RoleAnswers(self._by_score(self._continued(evidence[f"continuations{self.suffix}"]), 1.0))
        scale = float(str((facts or {}).get("logit_scale", 1.0)))
        return RoleAnswers(self._by_score(self._cosines(evidence), scale))

    @property
    def _again(self) -> RoleQuestions:
        """The same of images that are encoded anew."""
        images = PerturbedImages(self.images, Perturbation.parse(f"jpeg:{self.noise}"))
        return replace(self, images=images, suffix=f"{self.suffix}{_AGAIN}", noise=0)

    def _lettered(self) -> Iterator[tuple[int, LetteredQuestion]]:
        """Every question with the number of its wording: options are turned by one place each time."""
        width = max((len(row) for row in self.options), default=0)
        for number, wording in enumerate(self.wordings, 1):
            prompts = [wording.replace(QUESTION, question) for question in self.questions]
            for turn in range(width if self.orders == "all" else 1):
                turned = [_turned(list(row.items()), turn) for row in self.options]
                texts = [[text for _, text in row] for row in turned]
                roles = [[role for role, _ in row] for row in turned]
                ending = f"_wording{number}" if len(self.wordings) > 1 else ""
                name = f"choice_{turn}{ending}{self.suffix}"
                yield number, LetteredQuestion(name, self.samples, prompts, texts, roles)

    def _chosen(self, evidence: Mapping[str, pl.LazyFrame]) -> RoleAnswers:
        """Roles of letters; who declines to answer abstains, as who chooses that it cannot be said."""
        tables = [
            lettered.answers(evidence).with_columns(
                wording=pl.lit(number, pl.Int64), turn=pl.lit(lettered.name)
            )
            for number, lettered in self._lettered()
        ]
        read = pl.concat(tables)
        declined = pl.col("reason") == REFUSED
        unread = read.filter(~declined.fill_null(False))
        role = pl.when(declined).then(pl.lit(UNKNOWN)).otherwise(pl.col("candidate"))
        answers = read.select(
            "sample", "wording", order="turn", role=role, score=pl.lit(None, pl.Float64), reason="reason"
        )
        if answers.height and answers["role"].is_null().all():
            first = str(read["answer"][0])[:80]
            raise UserError(
                f"no answer chooses an option; the first is {first!r}; give the model more room with "
                "--max-tokens, or choose another way with -p ask=..."
            )
        warnings = unread_warnings(unread, "choose no option and count as unusable")
        return RoleAnswers(answers, {"unread_answers": unread_answers(read)}, warnings)

    def _captions(self) -> list[dict[str, str]]:
        """The text that stands for each option of each sample; none stands for *it cannot be said*."""
        return [
            {role: self.caption.replace("{option}", text) for role, text in row.items() if role != UNKNOWN}
            for row in self.options
        ]

    def _cosines(self, evidence: Mapping[str, pl.LazyFrame]) -> dict[str, dict[str, float]]:
        """The cosine of each sample's image and options, by role."""
        captions = self._captions()
        texts = list(dict.fromkeys(text for row in captions for text in row.values()))
        unit = normalised(elicitation.text_vectors(evidence[f"texts{self.suffix}"], texts))
        vector = dict(zip(texts, unit, strict=True))
        table = evidence[f"images{self.suffix}"].select("sample", "vector").collect()
        check_one_space([len(vector) for vector in table["vector"].head(1).to_list()], unit.shape[1])
        images = dict(
            zip(table["sample"], normalised(np.stack(list(table["vector"].to_numpy()))), strict=True)
            if table.height
            else ()
        )
        rows = zip(self.samples, self.image_of, captions, strict=True)
        return {
            sample: {role: float(images[str(image)] @ vector[text]) for role, text in row.items()}
            for sample, image, row in rows
            if str(image) in images
        }

    def _continued(self, evidence: pl.LazyFrame) -> dict[str, dict[str, float]]:
        """Log-probability of each option of each sample, by role."""
        scores = evidence.select("sample", "candidate", "score").collect().rows()
        by_text = {(sample, text.strip()): float(score) for sample, text, score in scores}
        answered = {sample for sample, _ in by_text}
        return {
            sample: {role: by_text[sample, text.strip()] for role, text in row.items()}
            for sample, row in zip(self.samples, self.options, strict=True)
            if sample in answered
        }

    def _by_score(self, scores: Mapping[str, Mapping[str, float]], scale: float) -> pl.DataFrame:
        """The role with the highest score, and the probability of the target against the other.

        Of equal scores none is chosen.
        """
        rows: list[tuple[object, ...]] = []
        for sample, by_role in scores.items():
            best = [role for role, score in by_role.items() if score == max(by_role.values())]
            role, reason = (best[0], None) if len(best) == 1 else (None, "options score alike")
            apart = np.clip(scale * (by_role[OTHER] - by_role[TARGET]), -700, 700)
            rows.append((sample, 1, "0", role, float(1 / (1 + np.exp(apart))), reason))
        return pl.DataFrame(rows, schema=ROWS, orient="row")


def choose_way(
    choice: str, capabilities: Sequence[str], benchmark: str, ways: Sequence[str] = tuple(WAYS)
) -> str:
    """The way that was asked for, or the first of some that the model can go.

    Raises:
        MissingCapability: It can go none.
    """
    return elicitation.choose_way(choice, capabilities, benchmark, {way: WAYS[way] for way in ways})


def says_unknown(option: str) -> bool:
    """Whether an option says that the question cannot be answered: *Not enough information*."""
    text = option.lower().replace("’", "'")
    return any(words in text for words in _UNDECIDED)


def _turned(row: list[tuple[str, str]], turn: int) -> list[tuple[str, str]]:
    turn %= max(len(row), 1)
    return row[turn:] + row[:turn]
