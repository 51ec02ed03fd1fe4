"""Three ways to ask for a label: a classifier's logits, nearest text, a free answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.classification.reader import Samples
from evenhand.core.errors import InputError, ParameterError, UserError
from evenhand.core.questions import Question
from evenhand.evidence.derive import PREDICTED, label_in, plain, prototypes, zero_shot

WAYS = {
    "classify": ("classifies_images",),
    "zero_shot": ("embeds_images", "embeds_texts"),
    "answer": ("answers_questions",),
}
_WORDNET = re.compile(r"n\d{8}")
Evidence = Mapping[str, pl.LazyFrame]


@dataclass(frozen=True)
class Labels:
    """What can be predicted.

    Attributes:
        names: As truth spells them.
        texts: How a prompt says them.
    """

    names: tuple[str, ...]
    texts: tuple[str, ...]

    @classmethod
    def read(cls, file: str, truth: pl.Series) -> Labels:
        """From a file with ``label`` or ``label<TAB>text`` on each line, else the values of truth, sorted.

        Raises:
            InputError: No such file, or no label in it.
        """
        if not file:
            names = tuple(truth.drop_nulls().unique().sort().to_list())
            return cls(names, names)
        path = Path(file).expanduser()
        if not path.is_file():
            raise InputError(f"there is no file {file!r}; give -p labels=FILE with one label on each line")
        lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        if not lines:
            raise InputError(f"{file!r} holds no label; write one on each line, or label<TAB>text")
        return cls(tuple(line[0].strip() for line in lines), tuple(line[-1].strip() for line in lines))


def choose_way(asked: str, capabilities: Sequence[str]) -> str:
    """The way that the user asked for, or the first that the model can go.

    Raises:
        UserError: The model can go none.
    """
    if asked != "auto":
        return asked
    for way, needed in WAYS.items():
        if set(needed) <= set(capabilities):
            return way
    raise UserError(
        f"this model has {', '.join(capabilities)}; classification needs classifies_images, or embeds_images "
        "with embeds_texts, or answers_questions; type: evenhand ls models"
    )


def questions(way: str, samples: Samples, labels: Labels, parameters: Mapping[str, Any]) -> list[Question]:
    """What is asked of the model."""
    ids = samples.annotations["sample"].to_list()
    truth = samples.annotations["truth"]
    if way == "classify":
        named = truth.drop_nulls()
        wordnet = bool(len(named)) and all(_WORDNET.fullmatch(name) for name in named.unique())
        names = "wordnet_ids" if wordnet else "labels"
        return [
            Question(
                "predictions", "classifies_images", ids, samples.images, truth=truth.to_list(), names=names
            )
        ]
    if way == "zero_shot":
        texts = _texts(labels, parameters)
        different = list(dict.fromkeys(texts))
        return [
            Question("images", "embeds_images", ids, samples.images),
            Question("texts", "embeds_texts", different, texts=different),
        ]
    prompt = str(parameters["prompt"]).replace("{labels}", ", ".join(labels.texts))
    return [Question("answers", "answers_questions", ids, samples.images, texts=[prompt] * len(ids))]


def predictions(
    way: str, evidence: Evidence, labels: Labels, parameters: Mapping[str, Any], facts: Mapping[str, Any]
) -> tuple[pl.LazyFrame, dict[str, int]]:
    """sample, prediction, rank, confidence; and how many answers could not be used, by reason."""
    if way == "classify":
        return evidence["predictions"].select(list(PREDICTED)), {}
    if way == "zero_shot":
        by_text = dict(evidence["texts"].select("sample", "vector").collect().iter_rows())
        vectors = [by_text[text] for text in _texts(labels, parameters)]
        found = zero_shot(
            evidence["images"],
            prototypes(vectors, len(_templates(parameters))),
            labels.names,
            scale=float(facts.get("logit_scale", 1.0)),
            offset=float(facts.get("logit_bias", 0.0)),
            link=str(facts.get("link", "softmax")),
        )
        return found, {}
    return _from_answers(evidence["answers"], labels)


def _from_answers(answers: pl.LazyFrame, labels: Labels) -> tuple[pl.LazyFrame, dict[str, int]]:
    """Predictions from free text; each different text is looked at once."""
    forms = {plain(text): name for name, text in zip(labels.names, labels.texts, strict=True)}
    forms |= {plain(name): name for name in labels.names}
    texts = answers.select(pl.col("text").unique()).collect()["text"].to_list()
    found = pl.DataFrame(
        [(text, *label_in(text, forms)) for text in texts],
        schema={"text": pl.String, "prediction": pl.String, "reason": pl.String},
        orient="row",
    )
    joined = answers.join(found.lazy(), on="text")
    unusable = joined.filter(pl.col("reason").is_not_null()).group_by("reason").len().sort("reason").collect()
    usable = joined.filter(pl.col("reason").is_null())
    kept = usable.select(
        "sample", "prediction", rank=pl.lit(1, pl.Int32), confidence=pl.lit(None, pl.Float64)
    )
    return kept, dict(unusable.iter_rows())


def _templates(parameters: Mapping[str, Any]) -> list[str]:
    """The prompt templates, at least one, each with a place for the label.

    Raises:
        ParameterError: A template without ``{label}``.
    """
    templates = [part.strip() for part in str(parameters["templates"]).split("|")]
    for template in templates:
        if "{label}" not in template:
            raise ParameterError(
                f"-p templates={template!r} has no {{label}}; write for instance 'a photo of a {{label}}'"
            )
    return templates


def _texts(labels: Labels, parameters: Mapping[str, Any]) -> list[str]:
    """Every label in every template; all templates of the first label first."""
    templates = _templates(parameters)
    return [template.replace("{label}", text) for text in labels.texts for template in templates]
