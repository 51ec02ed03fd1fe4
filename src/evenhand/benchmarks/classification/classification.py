"""The benchmark ``classification``: the user's own labelled images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.datasets.labelled_images import read_samples
from evenhand.benchmarks.labelling.elicitation import WAYS, Labels, choose_way, predictions, questions
from evenhand.benchmarks.labelling.measures import (
    answers_of,
    attributes_in,
    audit_labels,
    check_spelling,
    count_labels,
    groupings_in,
    label_of_each,
    label_warnings,
    respelled,
)
from evenhand.benchmarks.labelling.open_labels import NAMED, PARAMETERS, OpenLabels, check_given, open_labels
from evenhand.core.errors import InputError, ParameterError
from evenhand.evidence.open_answers.normalise import Vocabulary
from evenhand.files.images.sources import FirstImages
from evenhand.metrics.families import AUDIT

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
        given = {name: str(value) for name, value in setting.parameters.items()}
        by = groupings_in(given["by"])
        samples = read_samples(
            setting.data,
            image=given["image"] or None,
            truth=given["truth"] or None,
            by=attributes_in(by),
            id=given["id"] or None,
            roots=[root.strip() for root in given["roots"].split(",") if root.strip()],
        )
        way = choose_way(given["ask"], setting.capabilities)
        labels = Labels.read(given["labels"], samples.annotations["truth"])
        labels.check(way)
        if way == "answer":
            _vocabulary(labels, given)  # what cannot be used is told before anything is asked
        if setting.limit is not None and setting.limit < len(samples):
            few = samples.annotations.head(setting.limit)
            samples = replace(samples, annotations=few, images=FirstImages(samples.images, setting.limit))
        told = {_REPEATED: samples.repeated, _BY_NAME: samples.by_name}
        notes = {note: count for note, count in told.items() if count}
        asked = questions(way, samples, labels, given)
        return Plan(samples.annotations, asked, by, samples.dropped, notes, state=labels)

    def measure(self, answered: Answered[Labels]) -> Measured:
        """Every classification metric under every grouping."""
        plan, given = answered.plan, answered.setting.parameters
        way = choose_way(str(given["ask"]), answered.setting.capabilities)
        labels = plan.state
        opened = _opened(answered, labels, given) if way == "answer" else None
        if opened is None:
            found, unusable = predictions(way, answered.evidence, labels, given, answered.facts)
        else:
            found, unusable = opened.predictions, dict[str, int]()
        renamed = respelled(found, str(given["rename"]), labels.names)
        counts = count_labels(plan.annotations, renamed, plan.by)
        if given["spelling"] == "check":
            possible = answers_of(way, labels.names, answered.facts)
            check_spelling(counts, respelled(possible, str(given["rename"]), labels.names))
        limited = answered.setting.limit is not None
        findings, kept = audit_labels(counts, plan.by, answered.setting.seed, limited=limited)
        if way != "classify" or given["rename"]:
            kept["predictions"] = label_of_each(renamed)
        if way != "classify":
            kept["labels"] = pl.DataFrame({"label": labels.names, "text": labels.texts})
        more, exports = (opened.tables, opened.exports) if opened is not None else ({}, {})
        warnings = label_warnings(counts, str(given["truth"]), shared=way != "classify")
        return Measured(findings, {"predictions": counts}, kept | more, unusable, exports, warnings)


def _opened(answered: Answered[Any], labels: Labels, given: Mapping[str, Any]) -> OpenLabels | None:
    """Labels of open answers by steps, if that was asked for."""
    vocabulary = _vocabulary(labels, given)
    return None if vocabulary is None else open_labels(answered, vocabulary, given)


def _vocabulary(labels: Labels, given: Mapping[str, Any]) -> Vocabulary | None:
    """What open answers are brought to, or None where an answer counts that names one label.

    Raises:
        UserError: A file or parameter about open answers that cannot be used.
    """
    if str(given["match"]) == NAMED:
        unused = [name for name in ("synonyms", "decisions") if given[name]]
        if unused:
            raise ParameterError(f"-p {unused[0]}=... needs the steps of open answers; add -p match=steps")
        return None
    folded = given["gendered"] == "fold"
    found = Vocabulary.read(labels.names, str(given["synonyms"]) or None, gendered=folded)
    found = found.with_texts(dict(zip(labels.texts, labels.names, strict=True)))
    check_given(found, given)
    return found


CLASSIFICATION = Classification()
