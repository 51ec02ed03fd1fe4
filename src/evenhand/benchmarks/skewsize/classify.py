"""Labelled images in, every classification metric by attribute out: how a ``Task`` asks for labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.datasets.labelled_images import LabelledImages
from evenhand.benchmarks.labelling.annotator_counts import WEIGHT, by_share
from evenhand.benchmarks.labelling.elicitation import WAYS, Labels, choose_way, predictions, questions
from evenhand.benchmarks.labelling.measures import (
    EFFECTS,
    answers_of,
    attributes_in,
    audit_answers,
    audit_labels,
    count_labels,
    effects_of,
    groupings_in,
)
from evenhand.benchmarks.labelling.open_labels import PARAMETERS
from evenhand.benchmarks.skewsize.data.samples import LabelledSamples
from evenhand.benchmarks.skewsize.data.wordnet_labels import called
from evenhand.benchmarks.skewsize.open_answers import check_answers, measure_answers
from evenhand.evidence.predictions.counts import Counts
from evenhand.files.images.sources import FirstImages

_SHARED: Mapping[str, Parameter] = {
    "by": Parameter("", help="attributes, A+B crosses, separated by commas; else the benchmark's own"),
    "ask": Parameter("auto", ("auto", *WAYS), "how a label is asked for"),
    "question": Parameter("", help="answer: what is asked; else the definition's question"),
    **PARAMETERS,
    "labels": Parameter("", help="zero_shot: file of labels, one a line, or label<TAB>text; else classes"),
    "rename": Parameter("", help="classify: predicted=true, separated by commas, where spellings differ"),
    "spelling": Parameter("check", ("check", "any"), "any: predictions need never be a truth"),
    **EFFECTS,
}


@dataclass(frozen=True, eq=False)
class LabelledPlan:
    """What the samples are, and the labels that can be answered."""

    material: LabelledSamples
    labels: Labels
    way: str


CountsBy = Mapping[tuple[str, ...], Counts]
"""The counts of each grouping."""


@dataclass(frozen=True)
class Classify:
    """Which label does an image have? Asked as the model can answer; every classification metric by group.

    Samples are ``LabelledSamples``.

    Attributes:
        templates: Prompts for zero-shot, separated by ``|``.
        synonyms: Shipped file, for answers in words.
    """

    templates: str = "a photo of a {label}"
    synonyms: str = ""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """What ``-p key=value`` can set of it."""
        templates = Parameter(self.templates, help="zero_shot: texts, separated by |")
        synonyms = replace(PARAMETERS["synonyms"], default=self.synonyms)
        return {**_SHARED, "synonyms": synonyms, "templates": templates}

    def plan(self, name: str, samples: LabelledSamples, setting: Setting) -> Plan[LabelledPlan]:
        """Choose how to ask."""
        params = {name: str(value) for name, value in setting.parameters.items()}
        effects_of(params)
        by = groupings_in(params["by"]) or [(samples.attribute,)]
        samples.check_columns(attributes_in(by))
        way = choose_way(params["ask"], setting.capabilities, name)
        labels = samples.labels
        if params["labels"]:
            labels = Labels.read(params["labels"], samples.annotations["truth"])
        if way == "zero_shot":
            labels.check(way)
        if way == "answer":
            check_answers(samples, params)
        table, images = samples.annotations, samples.images
        if setting.limit is not None and setting.limit < len(table):
            table, images = table.head(setting.limit), FirstImages(images, setting.limit)
        prompt = {**params, "prompt": params["question"] or samples.question}
        requests = questions(way, LabelledImages(table, images), labels, prompt)
        requests = [replace(request, names="labels") for request in requests]
        state = LabelledPlan(samples, labels, way)
        return Plan(table, requests, by, samples.dropped, samples.notes, about=samples.about, state=state)

    def measure(self, answered: Answered[LabelledPlan]) -> tuple[CountsBy, Measured]:
        """The counts of each grouping, and an audit of them; of answers in words also of the raw ones."""
        plan, params, seed = answered.plan, answered.setting.parameters, answered.setting.seed
        material, labels, way = plan.state.material, plan.state.labels, plan.state.way
        soft = [group for group in plan.by if any(name in material.shares for name in group)]
        hard = [group for group in plan.by if group not in soft]
        if way == "answer":
            measured = measure_answers(answered, material)
            return dict.fromkeys(plan.by, measured.counts["predictions"]), measured
        predicted, unusable = predictions(way, answered.evidence, labels, params, answered.facts)
        possible = answers_of(way, labels.names, answered.facts)
        if way == "classify":
            predicted, possible = (called(frame, answered.facts, material) for frame in (predicted, possible))
        counts, findings, tables = audit_answers(
            answered, predicted, possible, labels.names, hard, cluster=material.cluster
        )
        if way == "zero_shot":
            tables["labels"] = pl.DataFrame({"label": labels.names, "text": labels.texts})
        every, by_group = {"predictions": counts}, dict.fromkeys(plan.by, counts)
        for attribute, columns in material.shares.items():
            if groups := [group for group in soft if attribute in group]:
                rows, seen = by_share(plan.annotations, attribute, columns), tables["predictions"].lazy()
                weighted = count_labels(rows, seen, groups, cluster=material.cluster, weight=WEIGHT)
                limited, effects = answered.setting.limit is not None, effects_of(params)
                findings += audit_labels(weighted, groups, seed, limited=limited, effects=effects)[0]
                every |= {attribute: weighted}
                by_group |= dict.fromkeys(groups, weighted)
        return by_group, Measured(findings, every, tables, unusable)
