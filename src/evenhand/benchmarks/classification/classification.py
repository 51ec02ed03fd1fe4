"""The benchmark ``classification``: the user's own labelled images."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.datasets.labelled_images import read_samples
from evenhand.benchmarks.labelling.elicitation import WAYS, Labels, choose_way, predictions, questions
from evenhand.benchmarks.labelling.measures import (
    EFFECTS,
    answers_of,
    attributes_in,
    audit_answers,
    effects_of,
    groupings_in,
    label_warnings,
)
from evenhand.benchmarks.labelling.open_labels import NAMED, PARAMETERS, OpenLabels, check_given, open_labels
from evenhand.benchmarks.tidy import occurring
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.findings import TableWarning
from evenhand.evidence.open_answers.normalise import Vocabulary
from evenhand.files.images.sources import FirstImages
from evenhand.files.tables.group_columns import group_columns
from evenhand.metrics.suites.families import AUDIT

_REPEATED = "rows whose id stands on an earlier row"
_BY_NAME = "images found by their file name alone"


class Classification(Benchmark[Labels]):
    """Images with a true label and attributes; any model that can be brought to name a label."""

    name = "classification"
    primaries = AUDIT
    parameters: Mapping[str, Parameter] = {
        "image": Parameter("", help="column of image paths or bytes; --image"),
        "truth": Parameter("", help="column of true labels; --truth"),
        "by": Parameter("", help="attributes, A+B crosses, separated by commas; --by"),
        "id": Parameter("", help="column of sample ids; else the path, else the row"),
        "roots": Parameter("", help="folders that hold the images, separated by commas; else the table's"),
        "ask": Parameter("auto", ("auto", *WAYS), "how a label is asked for"),
        "labels": Parameter("", help="file of labels, one a line, or label<TAB>text; else the truths"),
        "rename": Parameter("", help="predicted=true, separated by commas, where spellings differ"),
        "spelling": Parameter("check", ("check", "any"), "any: predictions need never be a truth"),
        "templates": Parameter("a photo of a {label}", help="zero_shot: texts, separated by |"),
        "prompt": Parameter(
            "What does this image show? Answer with one of: {labels}.", help="answer: what is asked"
        ),
        **EFFECTS,
        **PARAMETERS,
        "match": Parameter(
            NAMED,
            help="answer: named (the one label that an answer names); steps (docs/open-answers.md), and for "
            "what is left embedding:URI, llm:URI",
        ),
    }

    def plan(self, setting: Setting) -> Plan[Labels]:
        """Read the samples and choose how to ask."""
        if setting.data is None:
            raise InputError("classification needs your images; give --data TABLE or --data FOLDER")
        params = {name: str(value) for name, value in setting.parameters.items()}
        by = groupings_in(params["by"])
        effects_of(params)
        samples = read_samples(
            setting.data,
            image=params["image"] or None,
            truth=params["truth"] or None,
            by=attributes_in(by),
            id=params["id"] or None,
            roots=[root.strip() for root in params["roots"].split(",") if root.strip()],
        )
        way = choose_way(params["ask"], setting.capabilities)
        labels = Labels.read(params["labels"], samples.annotations["truth"])
        labels.check(way)
        if way == "answer":
            _vocabulary(labels, params)  # what cannot be used is told before anything is asked
        if setting.limit is not None and setting.limit < len(samples):
            few = samples.annotations.head(setting.limit)
            samples = replace(samples, annotations=few, images=FirstImages(samples.images, setting.limit))
        note_counts = {_REPEATED: samples.repeated, _BY_NAME: samples.by_name}
        notes = occurring(note_counts)
        requests = questions(way, samples, labels, params)
        used = {samples.truth, *(params[name] for name in ("image", "truth", "id"))}
        about = {} if by else {"group_columns": group_columns(setting.data, used)}
        return Plan(samples.annotations, requests, by, samples.dropped, notes, state=labels, about=about)

    def measure(self, answered: Answered[Labels]) -> Measured:
        """Every classification metric under every grouping."""
        plan, params = answered.plan, answered.setting.parameters
        way = choose_way(str(params["ask"]), answered.setting.capabilities)
        labels = plan.state
        opened = _opened(answered, labels, params) if way == "answer" else None
        if opened is None:
            predicted, unusable = predictions(way, answered.evidence, labels, params, answered.facts)
        else:
            predicted, unusable = opened.predictions, dict[str, int]()
        possible = answers_of(way, labels.names, answered.facts)
        counts, findings, tables = audit_answers(answered, predicted, possible, labels.names, plan.by)
        if way == "classify" and not params["rename"]:
            del tables["predictions"]  # the evidence says it
        if way != "classify":
            tables["labels"] = pl.DataFrame({"label": labels.names, "text": labels.texts})
        more, exports = (opened.tables, opened.exports) if opened is not None else ({}, {})
        warnings = label_warnings(counts, str(params["truth"]), shared=way != "classify")
        warnings += [] if plan.by else [_ungrouped(plan.about)]
        return Measured(findings, {"predictions": counts}, tables | more, unusable, exports, warnings)


def _ungrouped(about: Mapping[str, Any]) -> TableWarning:
    """That nothing was compared, and the columns that could say whom to compare."""
    columns = [str(column) for column in about.get("group_columns", ())]
    some = f" Columns with few values: {', '.join(map(repr, columns))}." if columns else ""
    return TableWarning(
        code="no_groups",
        columns=columns,
        message="no group column was given, so that no groups are compared."
        f"{some} To compare groups, type: --by {shlex.quote(columns[0]) if columns else 'COLUMN'}",
        option="--by",
    )


def _opened(answered: Answered[Any], labels: Labels, params: Mapping[str, Any]) -> OpenLabels | None:
    """Labels of open answers by steps, if that was asked for."""
    vocabulary = _vocabulary(labels, params)
    return None if vocabulary is None else open_labels(answered, vocabulary, params)


def _vocabulary(labels: Labels, params: Mapping[str, Any]) -> Vocabulary | None:
    """What open answers are brought to, or None where an answer counts that names one label."""
    if str(params["match"]) == NAMED:
        unused = [name for name in ("synonyms", "decisions") if params[name]]
        if unused:
            raise ParameterError(f"-p {unused[0]}=... needs the steps of open answers; add -p match=steps")
        return None
    folded = params["gendered"] == "fold"
    vocabulary = Vocabulary.read(labels.names, str(params["synonyms"]) or None, gendered=folded)
    vocabulary = vocabulary.with_texts(dict(zip(labels.texts, labels.names, strict=True)))
    check_given(vocabulary, params)
    return vocabulary


CLASSIFICATION = Classification()
