"""The benchmark ``mmbias/association``: which words and pictures does a model tie to a group of people?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Scored, Setting
from evenhand.benchmarks.mmbias.data.prompts import BLANK, check_template, parse_templates
from evenhand.benchmarks.mmbias.data.sets import AssociationData, read_association_data
from evenhand.benchmarks.mmbias.embedding_tables import read_embeddings
from evenhand.benchmarks.mmbias.measures import AssociationMeasures
from evenhand.benchmarks.mmbias.modalities import FORMS, choose_forms, limited
from evenhand.benchmarks.mmbias.questions import (
    IMAGES,
    PERCEIVED,
    TEXTS,
    AssociationSets,
    Templates,
    annotations_of,
)
from evenhand.core.errors import ParameterError
from evenhand.core.nouns import Nouns

SHARED_PARAMETERS: Mapping[str, Parameter] = {
    "pairs": Parameter("paper", help="paper (its 19), all, or X:Y,X:Y"),
    "attribute_template": Parameter(BLANK, help="sentence around attribute words"),
    "drop_overlap": Parameter("no", ("no", "yes"), "leave out phrases that are also attribute words"),
}


class MMBiasAssociation(Benchmark[AssociationSets]):
    """Targets X and Y, attributes A (unpleasant) and B (pleasant): who lies nearer to A?"""

    name = "mmbias/association"
    asks = (
        "does the model tie one group more to one set of words or pictures (in MMBias the unpleasant) than "
        "another group?"
    )
    examined = "the embeddings"
    nouns = Nouns(sample=("item", "items"))
    limits = (PERCEIVED,)
    people = ("set",)
    parameters: Mapping[str, Parameter] = {
        "form": Parameter("auto", help=f"auto, or of {', '.join(FORMS)}, separated by commas"),
        **SHARED_PARAMETERS,
        "target_template": Parameter("This is {}.", help="sentence around target phrases"),
        "templates": Parameter("", help="sensitivity, or a file with a template on each line"),
        "ddof": Parameter(1, ("1", "0"), "of the standard deviation in d"),
        "alternative": Parameter("two_sided", ("two_sided", "greater", "less"), "what p is for"),
        "k": Parameter(15, help="words at the top of a group of images"),
        "scale": Parameter("auto", help="logit scale of attribution; auto: the model's own"),
        "mode": Parameter("default", ("default", "paper"), "paper: one-sided p, as ieat"),
    }
    artifacts: Sequence[str] = ("mmbias/table2", "mmbias/figure5")
    primaries: Sequence[str] = ("association_effect_size",)

    def plan(self, setting: Setting) -> Plan[AssociationSets]:
        """Each image once, and each different prompt once.

        ``setting.limit`` takes the first so many images of each set; phrases and words stay whole.
        """
        sets, data = self._sets(setting, setting.capabilities)
        return Plan(
            annotations_of(sets.members()),
            sets.questions(),
            dropped=data.dropped,
            notes={**data.notes, **_untested(sets)},
            state=sets,
        )

    def measure(self, answered: Answered[AssociationSets]) -> Measured:
        """Effect sizes and differences of all forms and pairs, single sets, attribution, and tables."""
        sets = answered.plan.state
        scale = check_scale(str(answered.setting.parameters["scale"])) or answered.facts.get("logit_scale")
        measures = AssociationMeasures(sets, answered.setting, scale, missing_counted=True)
        return measures.measured(answered.evidence)

    def score(self, files: Sequence[Path], setting: Setting) -> Scored:
        """The same of embeddings in files: sample is an image id or a prompt, as ``plan`` asks for them."""
        evidence = read_embeddings(files)
        have = {IMAGES: "embeds_images", TEXTS: "embeds_texts"}
        sets, data = self._sets(setting, [name for table, name in have.items() if table in evidence])
        scale = check_scale(str(setting.parameters["scale"]))
        measured = AssociationMeasures(sets, setting, scale, missing_counted=False).measured(evidence)
        annotations = annotations_of(sets.members())
        return Scored(annotations, measured, setting.model, dropped=data.dropped)

    def _sets(self, setting: Setting, capabilities: Sequence[str]) -> tuple[AssociationSets, AssociationData]:
        params = setting.parameters
        templates = Templates(
            check_template("target_template", str(params["target_template"])),
            check_template("attribute_template", str(params["attribute_template"])),
        )
        further = parse_templates(str(params["templates"]))
        check_k(params["k"])
        check_scale(str(params["scale"]))
        if params["mode"] == "paper" and params["alternative"] == "less":
            raise ParameterError(
                "-p mode=paper takes p of the right tail, so -p alternative=less is not possible with it; "
                "leave one of the two out"
            )
        data = limited(read_data(setting), setting.limit)
        forms = choose_forms(str(params["form"]), capabilities, data)
        variants = {
            "textual": [Templates(template, templates.attribute) for template in further],
            "cross-modal": [Templates(templates.target, template) for template in further],
        }
        return AssociationSets(data, forms, templates, variants), data


def read_data(setting: Setting) -> AssociationData:
    """Sets and tests that a setting asks for."""
    params = setting.parameters
    return read_association_data(
        setting.data, pairs=str(params["pairs"]), drop_overlap=params["drop_overlap"] == "yes"
    )


def check_k(k: int) -> None:
    """Refuse a number of words below 1."""
    if k < 1:
        raise ParameterError(f"-p k={k} is not possible; give 1 or more")


def check_scale(text: str) -> float | None:
    """The logit scale that was given; None: the model's own."""
    if text == "auto":
        return None
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0 < scale < float("inf"):
        raise ParameterError(f"-p scale={text!r} is not possible; give auto or a positive number such as 100")
    return scale


def _untested(sets: AssociationSets) -> dict[str, int]:
    """How many tests each form has nothing to test with."""
    form_counts = sets.test_table().filter(~pl.col("tested"))["form"].value_counts(sort=True)
    return {f"{form}: pairs without items": int(count) for form, count in form_counts.iter_rows()}


ASSOCIATION = MMBiasAssociation()
