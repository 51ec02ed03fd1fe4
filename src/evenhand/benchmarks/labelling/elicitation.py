"""Three ways to ask for a label: a classifier's logits, nearest text, a free answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

import polars as pl

from evenhand.benchmarks.datasets.labelled_images import LabelledImages
from evenhand.core.capabilities import CAPABILITIES
from evenhand.core.errors import InputError, MissingCapability, ParameterError, UserError, one_line
from evenhand.core.requests import ImageSource, Question
from evenhand.evidence.derivation.from_vectors import (
    NO_LABEL,
    PREDICTED,
    label_in,
    plain,
    prototypes,
    zero_shot,
)

WAYS = {
    "classify": ("classifies_images",),
    "zero_shot": ("embeds_images", "embeds_texts"),
    "answer": ("answers_questions",),
}
_WORDNET = re.compile(r"n\d{8}")
Evidence = Mapping[str, pl.LazyFrame]


@dataclass(frozen=True)
class Labels:
    """What can be predicted."""

    names: tuple[str, ...]  # as truth spells them
    texts: tuple[str, ...]  # as a prompt says them

    @classmethod
    def read(cls, file: str, truth: pl.Series) -> Labels:
        """From a file with ``label`` or ``label<TAB>text`` on each line, else the values of truth, sorted."""
        if not file:
            names = tuple(truth.drop_nulls().unique().sort().to_list())
            return cls(names, names)
        path = Path(file).expanduser()
        if not path.is_file():
            raise InputError(f"there is no file {file!r}; give -p labels=FILE with one label on each line")
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise InputError(f"{file!r} is not text in UTF-8; save it as UTF-8") from None
        texts: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            parts = line.split("\t")
            name, text = parts[0].strip(), parts[-1].strip()
            if not name or not text:
                raise InputError(f"{file!r} line {number} has an empty label; write label, or label<TAB>text")
            if name in texts:
                raise InputError(f"{file!r} line {number} repeats the label {one_line(name)!r}; keep one")
            texts[name] = text
        if not texts:
            raise InputError(f"{file!r} holds no label; write one on each line, or label<TAB>text")
        return cls(tuple(texts), tuple(texts.values()))

    def check(self, way: str) -> None:
        """Refuse labels that a way of asking cannot tell apart."""
        if way == "classify":
            return
        if len(self.names) < 2:
            raise UserError(
                f"ask={way} chooses among labels, and there {'is one' if self.names else 'are none'}; give "
                "--truth COLUMN with several values, or -p labels=FILE"
            )
        if way == "answer":
            self.forms()
            return
        names_by_text: dict[str, str] = {}
        for name, text in zip(self.names, self.texts, strict=True):
            if text in names_by_text:
                raise ParameterError(
                    f"labels {one_line(names_by_text[text])!r} and {one_line(name)!r} have the same text "
                    f"{one_line(text)!r}; give each its own with -p labels=FILE"
                )
            names_by_text[text] = name

    def forms(self) -> dict[str, str]:
        """The plain forms, of texts and of names, that an answer may say, each to its label."""
        forms: dict[str, str] = {}
        for name, text in zip(self.names, self.texts, strict=True):
            if not plain(text):
                raise ParameterError(
                    f"label {one_line(name)!r} has no letter or digit in its text {one_line(text)!r} to "
                    "find in an answer; give it a text with -p labels=FILE"
                )
            for form in filter(None, (plain(text), plain(name))):
                if forms.setdefault(form, name) != name:
                    raise ParameterError(
                        f"labels {one_line(forms[form])!r} and {one_line(name)!r} are both {form!r} in an "
                        "answer; give them texts that differ with -p labels=FILE"
                    )
        return forms


def choose_way(
    choice: str,  # one of the ways, or auto
    capabilities: Sequence[str],
    benchmark: str = "classification",  # for the message
    ways: Mapping[str, tuple[str, ...]] = WAYS,  # to the capabilities that each needs
) -> str:
    """The way that the user asked for, or the first that the model can go."""
    if choice != "auto":
        return choice
    for way, needed in ways.items():
        if set(needed) <= set(capabilities):
            return way
    have = ", ".join(name for name in CAPABILITIES if name in capabilities) or "no capability"
    needed_names = ", or ".join(" with ".join(needed) for needed in dict.fromkeys(ways.values()))
    raise MissingCapability(
        f"this model has {have}; {benchmark} needs {needed_names}; type: evenhand ls models"
    )


def questions(
    way: str, samples: LabelledImages, labels: Labels, parameters: Mapping[str, Any]
) -> list[Question]:
    """What is asked of the model."""
    ids = samples.annotations["sample"].to_list()
    truth = samples.annotations["truth"]
    if way == "classify":
        class_names = truth.drop_nulls()
        wordnet = bool(len(class_names)) and all(_WORDNET.fullmatch(name) for name in class_names.unique())
        names = "wordnet_ids" if wordnet else "labels"
        return [
            Question(
                "predictions", "classifies_images", ids, samples.images, truth=truth.to_list(), names=names
            )
        ]
    if way == "zero_shot":
        return embedded(ids, samples.images, prompted(labels, parameters))
    prompt = str(parameters["prompt"]).replace("{labels}", ", ".join(labels.texts))
    return [Question("answers", "answers_questions", ids, samples.images, texts=[prompt] * len(ids))]


def embedded(
    samples: Sequence[str],
    images: ImageSource,
    texts: Iterable[str],
    *,
    name: str = "texts",
    suffix: str = "",
) -> list[Question]:
    """Each image and each different text once; ``name`` is of the evidence of texts."""
    different = list(dict.fromkeys(texts))
    return [
        Question(f"images{suffix}", "embeds_images", samples, images),
        Question(f"{name}{suffix}", "embeds_texts", different, texts=different),
    ]


def predictions(
    way: str, evidence: Evidence, labels: Labels, parameters: Mapping[str, Any], facts: Mapping[str, Any]
) -> tuple[pl.LazyFrame, dict[str, int]]:
    """sample, prediction, rank, confidence; and how many answers could not be used, by reason."""
    if way == "classify":
        return evidence["predictions"].select(list(PREDICTED)), {}
    if way == "zero_shot":
        vectors = text_vectors(evidence["texts"], prompted(labels, parameters))
        predicted_labels = zero_shot(
            evidence["images"],
            prototypes(vectors, len(templates_of(parameters))),
            labels.names,
            scale=float(facts.get("logit_scale", 1.0)),
            offset=float(facts.get("logit_bias", 0.0)),
            link=str(facts.get("link", "softmax")),
        )
        return predicted_labels, {}
    return _from_answers(evidence["answers"], labels)


def text_vectors(embedded: pl.LazyFrame, texts: Sequence[str]) -> list[list[float]]:
    """The vector of each text."""
    by_text = dict(embedded.select("sample", "vector").collect().iter_rows())
    for text in texts:
        vector = by_text.get(text)
        if vector is None or not all(number is not None and isfinite(number) for number in vector):
            raise UserError(
                f"the model has no finite vector for the text {one_line(text)!r}; choose another text with "
                "-p labels=FILE or -p templates=..., or another model or --dtype"
            )
    return [by_text[text] for text in texts]


def _from_answers(answers: pl.LazyFrame, labels: Labels) -> tuple[pl.LazyFrame, dict[str, int]]:
    """Predictions from free text; each different text is parsed once."""
    forms = labels.forms()
    texts = answers.select(pl.col("text").unique()).collect()["text"].to_list()
    matches = pl.DataFrame(
        [(text, *label_in(text, forms)) for text in texts],
        schema={"text": pl.String, "prediction": pl.String, "reason": pl.String},
        orient="row",
    )
    matched_answers = answers.join(matches.lazy(), on="text")
    unusable = (
        matched_answers.filter(pl.col("reason").is_not_null())
        .group_by("reason")
        .len()
        .sort("reason")
        .collect()
    )
    usable = matched_answers.filter(pl.col("reason").is_null())
    predicted_labels = usable.select(
        "sample", "prediction", rank=pl.lit(1, pl.Int32), confidence=pl.lit(None, pl.Float64)
    )
    reasons = dict(unusable.iter_rows())
    if reasons and matches["prediction"].is_null().all():
        _refuse_answers(answers.select("text").head(1).collect().item(), labels, reasons)
    return predicted_labels, reasons


def _refuse_answers(first: str, labels: Labels, reasons: Mapping[str, int]) -> NoReturn:
    """None of the answers can be used."""
    alone = "" if set(reasons) == {NO_LABEL} else " alone"
    counts = ", ".join(f"{count} x {reason}" for reason, count in reasons.items())
    names = ", ".join(repr(one_line(name)) for name in labels.names[:4])
    raise UserError(
        f"no answer names a label{alone}: {counts}; the first is {one_line(first, 80)!r}; labels: {names}"
        f"{', ...' if len(labels.names) > 4 else ''}; ask otherwise with -p prompt=..., or read answers by "
        "steps with -p match=steps"
    )


def templates_of(parameters: Mapping[str, Any]) -> list[str]:
    """The prompt templates, at least one, each with a place for the label."""
    templates = [part.strip() for part in str(parameters["templates"]).split("|")]
    for template in templates:
        if "{label}" not in template:
            raise ParameterError(
                f"-p templates={template!r} has no {{label}}; write for instance 'a photo of a {{label}}'"
            )
    return templates


def prompted(labels: Labels, parameters: Mapping[str, Any]) -> list[str]:
    """Every label in every template; all templates of the first label first."""
    templates = templates_of(parameters)
    return [template.replace("{label}", text) for text in labels.texts for template in templates]
