"""What all benchmarks here share: labelled images in, every classification metric by attribute out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.datasets.labelled_images import LabelledImages
from evenhand.benchmarks.labelling.elicitation import WAYS, Labels, choose_way, predictions, questions
from evenhand.benchmarks.labelling.measures import (
    EFFECTS,
    answers_of,
    attributes_in,
    audit_labels,
    check_spelling,
    count_labels,
    effects_of,
    groupings_in,
    label_of_each,
    respelled,
)
from evenhand.benchmarks.labelling.open_labels import PARAMETERS
from evenhand.benchmarks.skewsize.data.samples import LabelledSamples
from evenhand.benchmarks.skewsize.data.wordnet_labels import called
from evenhand.benchmarks.skewsize.open_answers import check_answers, measure_answers
from evenhand.files.images.sources import FirstImages
from evenhand.metrics.suites.families import AUDIT

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


@dataclass(frozen=True, eq=False)
class PictureBenchmark(Benchmark[LabelledPlan]):
    """Labelled images with an attribute, and any model that can be brought to name a label."""

    name: str
    card_file: str  # in ``cards``; empty: ``card.md`` beside the class
    reads: Callable[[Setting], LabelledSamples]
    own: Mapping[str, Parameter]  # beyond those that all share
    templates: str = "a photo of a {label}"  # prompts for zero-shot, separated by ``|``
    synonyms: str = ""  # shipped file, for answers in words
    artifacts: tuple[str, ...] = ()  # tables and figures that one run can fill
    primaries: tuple[str, ...] = AUDIT  # metrics whose tests are corrected together
    paper: Mapping[str, str] = field(default_factory=dict)  # parameters that ``mode=paper`` sets

    @property
    def parameters(self) -> Mapping[str, Parameter]:  # type: ignore[override]  # made of fields
        """What ``-p key=value`` can set."""
        templates = Parameter(self.templates, help="zero_shot: texts, separated by |")
        synonyms = replace(PARAMETERS["synonyms"], default=self.synonyms)
        return {**self.own, **_SHARED, "synonyms": synonyms, "templates": templates, **self.own}

    def plan(self, setting: Setting) -> Plan[LabelledPlan]:
        """Read the images and choose how to ask."""
        params = {name: str(value) for name, value in setting.parameters.items()}
        effects_of(params)
        material = self.reads(setting)
        by = groupings_in(params["by"]) or [(material.attribute,)]
        material.check_columns(attributes_in(by))
        way = choose_way(params["ask"], setting.capabilities, self.name)
        labels = material.labels
        if params["labels"]:
            labels = Labels.read(params["labels"], material.annotations["truth"])
        if way == "zero_shot":
            labels.check(way)
        if way == "answer":
            check_answers(material, params)
        table, images = material.annotations, material.images
        if setting.limit is not None and setting.limit < len(table):
            table, images = table.head(setting.limit), FirstImages(images, setting.limit)
        prompt = {**params, "prompt": params["question"] or material.question}
        requests = questions(way, LabelledImages(table, images), labels, prompt)
        requests = [replace(request, names="labels") for request in requests]
        dropped, notes = material.dropped, material.notes
        state = LabelledPlan(material, labels)
        return Plan(table, requests, by, dropped, notes, about=material.about, state=state)

    def measure(self, answered: Answered[LabelledPlan]) -> Measured:
        """Every classification metric under every grouping; of answers in words also the raw ones."""
        plan, material, labels = answered.plan, answered.plan.state.material, answered.plan.state.labels
        params, seed = answered.setting.parameters, answered.setting.seed
        way = choose_way(str(params["ask"]), answered.setting.capabilities, self.name)
        if way == "answer":
            return measure_answers(answered, material)
        predicted, unusable = predictions(way, answered.evidence, labels, params, answered.facts)
        possible = answers_of(way, labels.names, answered.facts)
        if way == "classify":
            predicted, possible = (called(frame, answered.facts, material) for frame in (predicted, possible))
        predicted, possible = (
            respelled(frame, str(params["rename"]), labels.names) for frame in (predicted, possible)
        )
        counts = count_labels(plan.annotations, predicted, plan.by, cluster=material.cluster)
        if params["spelling"] == "check":
            check_spelling(counts, possible)
        limited = answered.setting.limit is not None
        findings, tables = audit_labels(counts, plan.by, seed, limited=limited, effects=effects_of(params))
        tables["predictions"] = label_of_each(predicted)
        if way == "zero_shot":
            tables["labels"] = pl.DataFrame({"label": labels.names, "text": labels.texts})
        return Measured(findings, {"predictions": counts}, tables, unusable)

    def card(self) -> str:
        """What this can and cannot show."""
        if not self.card_file:
            return super().card()
        return files(__package__).joinpath("cards", self.card_file).read_text(encoding="utf-8")
