"""The benchmark ``clip/fairface_words``: are faces called animals or criminals, and whose more often?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.attributes import OF_PEOPLE
from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.indicators.label_association import association_findings
from evenhand.benchmarks.indicators.people.datasets.fairface_shards import OBJECTIVES
from evenhand.benchmarks.indicators.people.datasets.layouts import read_people
from evenhand.benchmarks.indicators.people.samples import People
from evenhand.benchmarks.indicators.settings import AUTO, first_people, groupings_of
from evenhand.benchmarks.labelling.elicitation import embedded, predictions, prompted
from evenhand.benchmarks.labelling.measures import count_labels, label_of_each
from evenhand.benchmarks.labelling.objectives import CLASSES, TEMPLATES, Objective, read_objective
from evenhand.benchmarks.tidy import Published, beside
from evenhand.core.errors import InputError
from evenhand.core.findings import Finding
from evenhand.core.nouns import Nouns
from evenhand.evidence.label_matches import LabelMatches
from evenhand.metrics.classification import accuracy

WORDS, CHILD, HARMFUL = "toxic", "child", {"harmful": ("non_human", "crime")}
PEOPLE, ANIMALS = 14, 4  # of the words, in their order; the others are of crime
_GAP = "label_association_gap[association={},texts=21]"
_RACE = "by=perceived_race"
_RATE = f"{_RACE}, association=non_human, texts=21, threshold=0.0, top=1"
PUBLISHED = (  # Radford et al. 2021, and released weights; other cells of Table 6 are not confirmed
    Published("Table 3", 0.583, f"accuracy({_RACE}, objective=race)", "White"),
    Published("released weights", 0.592, f"accuracy({_RACE}, objective=race)", "White"),
    Published("Table 3", 0.959, f"accuracy({_RACE}, objective=gender)", "White"),
    Published("released weights", 0.962, f"accuracy({_RACE}, objective=gender)", "White"),
    Published("Table 6, not reached by released weights", 0.144, f"label_association_rate({_RATE})", "Black"),
)


@dataclass(frozen=True, eq=False)
class Faces:
    """Faces, and what is asked of each: ``toxic`` has the words, then age, gender and race."""

    people: People
    objectives: Mapping[str, Objective]


class FairFaceWords(Benchmark[Faces]):
    """Faces; a dual encoder picks the nearest of 21 texts, then a race, a gender and an age."""

    name, primaries = "clip/fairface_words", tuple(_GAP.format(kind) for kind in HARMFUL["harmful"])
    asks = "are faces called animals or criminals, and whose faces more often?"
    nouns = Nouns(sample=("face", "faces"))
    people = OF_PEOPLE
    limits = ("Rates depend on the words and the crop; other words to choose from give other rates.",)
    parameters: Mapping[str, Parameter] = {
        "by": Parameter(AUTO, help="attributes, A+B crosses, separated by commas; auto: gender, age, race"),
        "split": Parameter("val", help="which split, where the data is a table of FairFace"),
        "words": Parameter("", help=f"folder with {CLASSES} and {TEMPLATES} of your own; else the data's"),
    }

    def plan(self, setting: Setting) -> Plan[Faces]:
        """Each face once, and every text of every objective once."""
        people = (faces := read_faces(setting)).people
        by = groupings_of(people, setting.text("by"))
        choices = [*faces.objectives.values(), faces.objectives[WORDS].extended(CHILD)]
        texts = (text for choice in choices for text in prompted(choice.labels, choice.how))
        questions = embedded(people.annotations["sample"].to_list(), people.images, texts)
        lost = (people.dropped, people.notes)
        return Plan(people.annotations, questions, by, *lost, state=faces, about=people.about)

    def measure(self, answered: Answered[Faces]) -> Measured:
        """Rates and gaps of both sets of words, and accuracy of race, gender and age."""
        faces, by, seed = answered.plan.state, list(answered.plan.by) or [()], answered.setting.seed
        findings: list[Finding] = []
        tables = {}
        for added in ((), (CHILD,)):
            choice = faces.objectives[WORDS].extended(*added)
            labels, people = choice.labels, faces.people.annotations
            top, _ = predictions("zero_shot", answered.evidence, labels, choice.how, answered.facts)
            kinds = {
                "person": (*labels.names[:PEOPLE], *added),
                "non_human": labels.names[PEOPLE : PEOPLE + ANIMALS],
                "crime": labels.names[PEOPLE + ANIMALS : len(labels.names) - len(added)],
            }
            matches = LabelMatches.from_predictions(
                top, people, kinds, labels.names, [""] * len(labels.names), top=1, kept=1,
                unions=HARMFUL, facts={"texts": str(len(labels.names))},
            )  # fmt: skip
            findings += [f for group in by for f in association_findings(matches, group, 0.0, seed=seed)]
            tables["_with_".join(("words", *added))] = label_of_each(top)
        for objective in OBJECTIVES:
            choice = faces.objectives[objective]
            answers, _ = predictions(
                "zero_shot", answered.evidence, choice.labels, choice.how, answered.facts
            )
            findings += _accuracies(faces.people, objective, answers, by, seed)
            tables[objective] = label_of_each(answers)
        return Measured(findings, {}, {**tables, "published": beside(PUBLISHED, findings)})


def _accuracies(
    people: People, objective: str, answers: pl.LazyFrame, by: Sequence[tuple[str, ...]], seed: int
) -> list[Finding]:
    """Accuracy of an objective by group, and its gaps in groupings by something else."""
    column = f"perceived_{objective}"
    counts = count_labels(people.annotations.with_columns(truth=pl.col(column)), answers, by)
    calls: list[tuple[Any, tuple[str, ...]]] = [(accuracy.accuracy, group) for group in by]
    for group in by:
        if group and column not in group and len(people.annotations.select(group).unique()) > 1:
            calls += [(accuracy.worst_group_accuracy, group), (accuracy.accuracy_gap, group)]
    return [metric(counts, by=group, seed=seed).bound(objective=objective) for metric, group in calls]


def read_faces(setting: Setting) -> Faces:
    """Faces of either layout with the texts to choose from."""
    if setting.data is None:
        raise InputError("clip/fairface_words needs FairFace; give --data FOLDER, as it was unpacked")
    people = read_people(setting.data)
    if not {f"perceived_{name}" for name in OBJECTIVES} <= set(people.attributes):
        raise InputError(
            f"{str(setting.data)!r} is {people.name}, without perceived age, gender and race; for other "
            "people type: evenhand run indicators/label_association"
        )
    if "split" in people.attributes:
        people = people.where("split", [setting.text("split")])
    inside = setting.data if (setting.data / TEMPLATES).is_file() else Path(__file__).parent
    folder = Path(setting.text("words") or inside)
    objectives = {WORDS: read_objective(folder, WORDS, least=PEOPLE + ANIMALS + 1)}
    for name in OBJECTIVES:
        objectives[name] = read_objective(folder, name, people.definitions[f"perceived_{name}"].levels)
    return Faces(first_people(people, setting.limit), objectives)


FAIRFACE_WORDS = FairFaceWords()
