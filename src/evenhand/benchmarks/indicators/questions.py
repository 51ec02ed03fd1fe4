"""Which labels a model gives to an image, best first: by its own head, by nearest text, or in free words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Parameter, Setting
from evenhand.benchmarks.labelling.elicitation import (
    WAYS,
    Labels,
    choose_way,
    embedded,
    prompted,
    templates_of,
    text_vectors,
)
from evenhand.core.errors import InputError, UserError
from evenhand.core.requests import ImageSource, Question
from evenhand.core.thoughts import UNFINISHED, without_thought
from evenhand.evidence.derivation.from_vectors import prototypes, zero_shot
from evenhand.evidence.ranked_labels import leading_ids

_FEW = 4  # times as many labels as count

KEPT = 10
"""How many labels of each image are kept, as in the released code."""

ASKING: Mapping[str, Parameter] = {
    "ask": Parameter("auto", ("auto", *WAYS), "how labels are asked for"),
    "labels": Parameter(
        "", help="file, one label a line: names of the model's labels, or further ones to choose from"
    ),
    "templates": Parameter("a photo of a {label}", help="zero_shot: texts, separated by |"),
    "prompt": Parameter("What does this image show? Answer in a few words.", help="answer: what is asked"),
}
"""Parameters of benchmarks that ask for labels."""


@dataclass(frozen=True, eq=False)
class RankedAnswers:
    """Labels of every image, best first."""

    way: str  # one of ``WAYS``
    predictions: pl.LazyFrame  # sample, prediction, rank, confidence
    outputs: tuple[str, ...] | None  # in the order of the model's outputs, some maybe twice; None: any text
    output_ids: tuple[str, ...] | None = None  # WordNet id of each, or an empty text; None: no label has one
    notes: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...] | None:
        """All labels of the model, each once."""
        return None if self.outputs is None else tuple(dict.fromkeys(self.outputs))

    @property
    def wordnet_ids(self) -> tuple[str, ...] | None:
        """The id of each of ``labels``; of a label that is there twice the first that is one."""
        if self.outputs is None or self.output_ids is None:
            return None
        id_by_label: dict[str, str] = {}
        for label, id_ in zip(self.outputs, self.output_ids, strict=True):
            id_by_label[label] = id_by_label.get(label) or id_
        return tuple(id_by_label.values())


def label_questions(
    setting: Setting,
    samples: Sequence[str],
    images: ImageSource,
    words: Sequence[str],  # where labels are texts, beside those of ``-p labels=FILE``
    *,
    n_labels: int,  # of each image, kept at least
    who: str,  # name of the benchmark, for messages
) -> list[Question]:
    """What is asked of the model."""
    way = choose_way(setting.text("ask"), setting.capabilities, who)
    ids = list(samples)
    if way == "classify":
        file = setting.text("labels")
        outputs = read_label_names(Path(file)) if file else None
        top = max(n_labels, KEPT)
        return [Question("predictions", "classifies_images", ids, images, top=top, outputs=outputs)]
    if way == "zero_shot":
        return embedded(ids, images, prompted(choices(setting, words), setting.parameters))
    prompt = setting.text("prompt")
    return [Question("answers", "answers_questions", ids, images, texts=[prompt] * len(ids))]


def ranked_answers(
    answered: Answered[Any], words: Sequence[str], *, n_labels: int, who: str
) -> RankedAnswers:
    """What the model answered; arguments as in ``label_questions``."""
    setting, evidence = answered.setting, answered.evidence
    way = choose_way(setting.text("ask"), setting.capabilities, who)
    if way == "classify":
        return _few(_classified(evidence["predictions"], setting, answered.facts), n_labels)
    if way == "zero_shot":
        return _few(_nearest(evidence, setting, answered.facts, words, max(n_labels, KEPT)), n_labels)
    answers = evidence["answers"].select("sample", prediction="text").collect()
    spoken = [without_thought(text or "") for text in answers["prediction"]]
    predictions = answers.with_columns(prediction=pl.Series(spoken, dtype=pl.String)).lazy()
    # who says nothing answers nothing
    predictions = predictions.filter(pl.col("prediction").str.strip_chars() != "")
    notes = ["free answers have no confidence: each that names a word, if only to deny it, counts"]
    if spoken.count(None):
        notes.append(f"{spoken.count(None)} answers say nothing ({UNFINISHED}); --max-tokens gives them room")
    return RankedAnswers(way, predictions, None, None, tuple(notes))


def _few(ranked: RankedAnswers, n_labels: int) -> RankedAnswers:
    """With a note where the first labels that count are most of all labels."""
    count = len(ranked.labels or ())
    if count > _FEW * n_labels:
        return ranked
    most = ranked.predictions.group_by("sample").len().select(pl.col("len").max()).collect().item() or 0
    if count > _FEW * min(n_labels, most):
        return ranked
    few = min(n_labels, count, most)
    note = f"of only {count} labels {few} count for each image, so that rates are high by design"
    return replace(ranked, notes=(*ranked.notes, note))


def answered_rows(annotations: pl.DataFrame, answered: Answered[Any]) -> pl.DataFrame:
    """Annotations of samples with an answer; the others are counted by why they have none."""
    return annotations.join(
        answered.unanswered.select("sample"), on="sample", how="anti", maintain_order="left"
    )


def choices(setting: Setting, words: Sequence[str]) -> Labels:
    """The words, then the labels of ``-p labels=FILE`` that are not among them."""
    file = setting.text("labels")
    more = Labels.read(file, pl.Series([], dtype=pl.String)) if file else Labels((), ())
    folded_words = {word.casefold() for word in words}
    new = [
        (name, text)
        for name, text in zip(more.names, more.texts, strict=True)
        if name.casefold() not in folded_words
    ]
    labels = Labels((*words, *(name for name, _ in new)), (*words, *(text for _, text in new)))
    labels.check("zero_shot")
    return labels


def _classified(predictions: pl.LazyFrame, setting: Setting, facts: Mapping[str, Any]) -> RankedAnswers:
    file = setting.text("labels")
    file_labels = read_label_names(Path(file)) if file else ()
    model_labels = tuple(str(label) for label in facts.get("labels", ()))
    ids = tuple(str(id_) for id_ in facts.get("wordnet_ids", ()))
    if not model_labels and not file_labels:
        raise UserError(
            "predictions of a table do not say which labels the model has, and so not what it cannot say; "
            "give all of them, one a line, with -p labels=FILE"
        )
    top_labels = predictions.select("sample", "prediction", "rank", "confidence")
    file_ids = tuple(leading_ids(file_labels)) if file_labels else ()
    ids = file_ids if any(file_ids) else ids
    outputs = file_labels or model_labels
    again = len(outputs) - len(set(outputs))
    notes = (f"labels that are called as another one is: {again}",) if again else ()
    return RankedAnswers("classify", top_labels, outputs, ids if any(ids) else None, notes)


def read_label_names(file: Path) -> tuple[str, ...]:
    """Names of a model's labels, one a line in the order of its outputs; two may be the same.

    A line may begin with a WordNet id: ``n02395003 hog, pig``.
    """
    try:
        lines = file.expanduser().read_text(encoding="utf-8-sig").rstrip().splitlines()
    except (OSError, ValueError):
        raise InputError(
            f"-p labels={str(file)!r} cannot be read; give a text file with one label on each line"
        ) from None
    names = tuple(" ".join(line.split()) for line in lines)
    if not names or "" in names:
        number = names.index("") + 1 if "" in names else 1
        raise InputError(f"{str(file)!r} has no label on line {number}; write one on each line")
    return names


def _nearest(
    evidence: Mapping[str, pl.LazyFrame],
    setting: Setting,
    facts: Mapping[str, Any],
    words: Sequence[str],
    n_labels: int,
) -> RankedAnswers:
    labels = choices(setting, words)
    vectors = text_vectors(evidence["texts"], prompted(labels, setting.parameters))
    top_labels = zero_shot(
        evidence["images"],
        prototypes(vectors, len(templates_of(setting.parameters))),
        labels.names,
        scale=float(facts.get("logit_scale", 1.0)),
        offset=float(facts.get("logit_bias", 0.0)),
        link=str(facts.get("link", "softmax")),
        top=n_labels,
    )
    if "logit_scale" not in facts:
        raise InputError(
            "vectors of a table do not say the model's logit scale, and without it there are no confidences; "
            "run the model itself, or give predictions with confidences"
        )
    note = f"the nearest of {len(labels.names)} texts; other texts to choose from give other rates"
    return RankedAnswers("zero_shot", top_labels, labels.names, None, (note,))
