"""Answers in words: labels from free text, and the same metrics on the words as they were said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Measured
from evenhand.benchmarks.labelling.measures import audit_labels, count_labels, effects_of
from evenhand.benchmarks.labelling.open_labels import check_given, open_labels
from evenhand.benchmarks.skewsize.data.samples import LabelledSamples
from evenhand.benchmarks.skewsize.yes_no import TwoWay
from evenhand.core.cards import metric_id
from evenhand.core.findings import Finding
from evenhand.core.thoughts import without_thought
from evenhand.evidence.open_answers.normalise import EMPTY
from evenhand.evidence.open_answers.vocabulary import Vocabulary
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.classification import effect_sizes as effect_size
from evenhand.metrics.classification.accuracy import accuracy
from evenhand.metrics.prepared import BoundCounts


def measure_answers(answered: Answered[Any], material: LabelledSamples) -> Measured:
    """Every metric on normalised answers; SkewSize, V and accuracy also on the raw ones."""
    params, seed, by = answered.setting.parameters, answered.setting.seed, answered.plan.by
    vocabulary = vocabulary_of(material, params)
    if material.two_way:
        answer_texts = answered.evidence["answers"].select(
            pl.col("text").drop_nulls().unique(maintain_order=True)
        )
        reader = TwoWay(vocabulary, polar="yes" in material.synonyms)
        spoken = [without_thought(text) or "" for text in answer_texts.collect()["text"]]
        vocabulary = vocabulary.with_texts(reader.spellings(spoken))
    opened = open_labels(answered, vocabulary, params)
    annotations = answered.plan.annotations
    counts = count_labels(annotations, opened.predictions, by, cluster=material.cluster)
    as_they_are = opened.table.lazy().select("sample", prediction=as_said())
    raw = count_labels(annotations, as_they_are, by, cluster=material.cluster)
    limited = answered.setting.limit is not None
    findings, tables = audit_labels(counts, by, seed, limited=limited, effects=effects_of(params))
    return Measured(
        [*findings, *raw_findings(raw, by, seed, effects_of(params))],
        {"predictions": counts, "predictions_raw": raw},
        {**tables, **opened.tables},
        exports=opened.exports,
    )


def check_answers(material: LabelledSamples, params: Mapping[str, Any]) -> None:
    """Refuse what answers could not be brought to labels with, before anything is asked."""
    check_given(vocabulary_of(material, params), params)


def vocabulary_of(material: LabelledSamples, params: Mapping[str, Any]) -> Vocabulary:
    """The classes with the synonyms of a file and with the words that prompts say."""
    file, folded = str(params["synonyms"]) or None, params["gendered"] == "fold"
    vocabulary = Vocabulary.read(material.labels.names, file, gendered=folded).with_texts(material.synonyms)
    if material.two_way:
        synonyms = {
            spelling: name for spelling, name in vocabulary.synonyms.items() if name in vocabulary.names
        }
        vocabulary = replace(vocabulary, synonyms=synonyms)
    return vocabulary.with_frames(material.frames)


def as_said() -> pl.Expr:
    """The answer as it was given; of an empty one, the label of empty answers."""
    return pl.when(pl.col("raw").str.strip_chars() == "").then(pl.lit(EMPTY)).otherwise("raw")


def raw_findings(
    counts: Counts, by: Sequence[tuple[str, ...]], seed: int, effects: Mapping[str, Any]
) -> list[Finding]:
    """SkewSize, V and accuracy of answers as they were said; a parameter, ``answers=raw``, says so."""
    findings = []
    for grouping in by:
        prepared = BoundCounts.bind(counts, grouping, seed=seed)
        findings += [
            metric(prepared, by=grouping, seed=seed, **effects)
            for metric in (
                effect_size.skewsize,
                effect_size.cramers_v_mean,
                effect_size.cramers_v_median,
                effect_size.cramers_v_max,
            )
        ]
        findings.append(accuracy(prepared, by=grouping, seed=seed, mode=effects["mode"]))
    return [_as_raw(finding) for finding in findings]


def _as_raw(finding: Finding) -> Finding:
    params = {**finding.params, "answers": "raw"}
    printed = metric_id(finding.name, finding.by, _shown(finding) | {"answers": "raw"})
    return finding.model_copy(update={"params": params, "metric": printed})


def _shown(finding: Finding) -> dict[str, object]:
    """The parameters that the finding's name prints."""
    return {name: value for name, value in finding.params.items() if f"{name}={value}" in finding.metric}
