"""The benchmark ``visogender/resolution``: which pronoun does a model attach to a professional?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import polars as pl

from evenhand.benchmarks.declaration import Answered, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.visogender.captions import OCC_FIRST, Template, parse_candidates, parse_templates
from evenhand.benchmarks.visogender.material import DATA_PARAMETERS, bound, coverage, read_material
from evenhand.benchmarks.visogender.questions import WAYS, Asking, choose_way
from evenhand.benchmarks.visogender.settings import SETTINGS, choices_of
from evenhand.core.results import Finding
from evenhand.evidence.choices import Choices
from evenhand.metrics import resolution

METRICS = (
    resolution.resolution_accuracy,
    resolution.resolution_gap,
    resolution.misgendering_rate,
    resolution.misgendering_gap,
    resolution.neutral_rate,
    resolution.neutral_gap,
)
GROUPINGS = ("sector", "specialisation", "occupation", "gender_pair")


class VisoGenderResolution:
    """Every image with a caption or prefix, scored for each pronoun."""

    name = "visogender/resolution"
    parameters: Mapping[str, Parameter] = {
        **DATA_PARAMETERS,
        "ask": Parameter("auto", ("auto", *WAYS), "how a model is asked"),
        "candidates": Parameter("his,her,their", help="pronouns; others as PRONOUN=MEANING"),
        "templates": Parameter("occ_first,par_first", help="occ_first, par_first, or both"),
        "mode": Parameter("default", ("default", "paper"), "paper: ties go to the first pronoun"),
    }
    artifacts = ()

    def plan(self, setting: Setting) -> Plan:
        """Each image once, and each different caption once."""
        material = read_material(setting)
        asking = self._asking(setting, material.rows, material.images)
        annotations = material.samples.frame.with_columns(truth=pl.col(OCC_FIRST.subject))
        by = [(name,) for name in GROUPINGS]
        return Plan(annotations, asking.questions(), by=by, dropped=material.samples.dropped)

    def measure(self, answered: Answered) -> Measured:
        """Accuracy, misgendering and neutral rates and their gaps, for each template and setting."""
        given = answered.setting.parameters
        samples = answered.plan.annotations
        asking = self._asking(answered.setting, samples.to_dicts(), None)
        scores = asking.scores(answered.evidence)
        findings: list[Finding] = []
        for template in asking.templates:
            candidates = parse_candidates(str(given["candidates"]))
            choices = choices_of(scores, samples.drop("truth"), template=template, candidates=candidates)
            for name, finding in self._findings(choices, template, answered.setting.seed, str(given["mode"])):
                findings.append(bound(finding, setting=name, template=template.name, ask=asking.way))
        images = scores["sample"].unique().to_list()
        tables = {"scores": scores, "coverage": coverage(samples, images)}
        places = asking.places(answered.evidence)
        return Measured(findings, tables=tables | ({"places": places} if places is not None else {}))

    def card(self) -> str:
        """Source, licence and limits."""
        return files(__package__).joinpath("card.md").read_text(encoding="utf-8")

    def _asking(self, setting: Setting, rows: Any, images: Any) -> Asking:
        given = setting.parameters
        return Asking(
            choose_way(str(given["ask"]), setting.capabilities),
            rows,
            images,
            parse_templates(str(given["templates"])),
            list(parse_candidates(str(given["candidates"]))),
        )

    def _findings(
        self, choices: Choices, template: Template, seed: int, mode: str
    ) -> Iterator[tuple[str, Finding]]:
        """Each metric in each setting, and under each grouping over all samples."""
        for name, where in SETTINGS.items():
            if not _present(choices, where):
                continue
            for metric in METRICS:
                yield name, metric(choices, where=where or None, mode=mode, seed=seed)
        if template is OCC_FIRST:
            for grouping in GROUPINGS:
                for metric in METRICS:
                    yield "all", metric(choices, by=grouping, mode=mode, seed=seed)


def _present(choices: Choices, where: Mapping[str, str]) -> bool:
    """Whether there are samples of a setting, such as pairs of unlike genders."""
    return all(wanted in choices.annotated[name].to_list() for name, wanted in where.items())


RESOLUTION = VisoGenderResolution()
