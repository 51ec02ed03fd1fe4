"""The benchmark ``visogender/resolution``: which pronoun does a model attach to a professional?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Scored, Setting
from evenhand.benchmarks.tidy import noted
from evenhand.benchmarks.visogender.data.captions import (
    OCC_FIRST,
    TEMPLATES,
    Template,
    parse_candidates,
    parse_templates,
)
from evenhand.benchmarks.visogender.data.settings import SETTINGS, choices_of
from evenhand.benchmarks.visogender.data.study_data import DATA_PARAMETERS, coverage, read_material
from evenhand.benchmarks.visogender.data.taxonomy import FEMININE, MASCULINE, PERCEIVED
from evenhand.benchmarks.visogender.original_code import json_files as upstream
from evenhand.benchmarks.visogender.original_code import paper_mode
from evenhand.benchmarks.visogender.original_code.given_scores import given_scores
from evenhand.benchmarks.visogender.questions import WAYS, Elicitation, choose_way
from evenhand.benchmarks.visogender.wordings import parse_wordings, spread
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.findings import Finding
from evenhand.core.nouns import Attribute, Nouns
from evenhand.evidence.choices import Choices
from evenhand.evidence.rankings import Rankings
from evenhand.metrics.choices import resolution
from evenhand.metrics.estimates import Mode

METRICS = (
    resolution.resolution_accuracy,
    resolution.resolution_gap,
    resolution.misgendering_rate,
    resolution.misgendering_gap,
    resolution.neutral_rate,
    resolution.neutral_gap,
)
GROUPINGS = ("sector", "specialisation", "occupation", "gender_pair")
_EXPERIMENTS = {"captions": "CLIP", "match": "CLIP"}  # every other way reads what a model would say

_SUBJECTS = {gender: f"{gender} subjects" for gender in (MASCULINE, FEMININE)}


class VisoGenderResolution(Benchmark[None]):
    """Every image with a caption or prefix, scored for each pronoun."""

    name = "visogender/resolution"
    asks = (
        "which pronoun does the model attach to a person, and is it right equally often for masculine and "
        "feminine subjects?"
    )
    nouns = Nouns(attributes={"gender": Attribute(groups=_SUBJECTS)})
    limits = (PERCEIVED,)
    people = ("gender",)
    parameters: Mapping[str, Parameter] = {
        **DATA_PARAMETERS,
        "ask": Parameter("auto", ("auto", *WAYS), "how a model is asked"),
        "candidates": Parameter("his,her,their", help="pronouns; others as PRONOUN=MEANING"),
        "templates": Parameter("occ_first,par_first", help="occ_first, par_first, or both"),
        "model": Parameter("", help="score: whose files, where a folder holds several models'"),
        "mode": Parameter("default", ("default", "paper"), "paper: captioners' first token, ties, rounding"),
        "wordings": Parameter(
            "", help="of ask=choice: shipped (five wordings), or a file with one on each line"
        ),
    }
    artifacts = ("visogender/table2", "visogender/table4", "visogender/table8")
    primaries: Sequence[str] = (
        "resolution_accuracy[setting=all,template=occ_first]",
        "resolution_gap[setting=all,template=occ_first]",
        "misgendering_gap[setting=all,template=occ_first]",
        "neutral_gap[setting=all,template=occ_first]",
        "resolution_gap[setting=two_person,template=par_first]",
    )
    """Is the person seen? Who is resolved better, misgendered more, called neutrally more, beside others?"""

    def plan(self, setting: Setting) -> Plan[None]:
        """Each image once, and each different caption once."""
        material = read_material(setting)
        asking = self._asking(setting, material.rows, material.images)
        annotations = material.samples.frame.with_columns(truth=pl.col(OCC_FIRST.subject))
        by = [(name,) for name in GROUPINGS]
        return Plan(annotations, asking.questions(), by=by, dropped=material.samples.dropped)

    def measure(self, answered: Answered[None]) -> Measured:
        """Accuracy, misgendering and neutral rates and their gaps, for each template and setting."""
        setting, samples = answered.setting, answered.plan.annotations.drop("truth")
        asking = self._asking(setting, samples.to_dicts(), None)
        scored = asking.scores(answered.evidence)
        scores = scored.scores
        measured = self._findings_and_tables(
            scores, samples, setting, asking.way, answered.unanswered["sample"]
        )
        tables = {**measured.tables, **scored.tables}
        if "wording" in scores.columns:
            candidates = parse_candidates(setting.text("candidates"))
            tables["wordings"] = spread(measured.findings, METRICS, scores, samples, candidates)
        experiment = _EXPERIMENTS.get(asking.way, "CAPTIONING")
        rankings = _neutral_rankings(scores, samples) if asking.way == "captions" else None
        exports = self._export(scores, samples, setting, experiment, rankings, setting.model)
        return Measured(measured.findings, tables=tables, exports=exports, warnings=scored.warnings)

    def score(self, files: Sequence[Path], setting: Setting) -> Scored:
        """The same of scores in files: model outputs of the original code, or a table of ours."""
        outputs = given_scores(files, setting)
        genders = parse_candidates(setting.text("candidates"))
        order = [name for name in outputs.candidates if name in genders] or list(genders)
        candidates_text = ",".join(
            f"{name}={genders[name]}" for name in [*order, *(genders.keys() - set(order))]
        )
        setting = Setting(
            {**setting.parameters, "candidates": candidates_text},
            setting.data,
            (),
            setting.seed,
            model=outputs.model,
        )
        measured = self._findings_and_tables(
            outputs.scores, outputs.samples, setting, "", pl.Series([], dtype=pl.String)
        )
        beside = [
            ranking.table
            for ranking in outputs.retrieval
            if (ranking.context, ranking.template) == ("two_person", "occ_first")
        ]
        rankings = Rankings.from_frame(beside[0], kind="occupation") if beside else None
        exports = self._export(
            outputs.scores,
            outputs.samples,
            setting,
            outputs.experiment or "CLIP",
            rankings,
            outputs.model or "scores",
        )
        with_exports = Measured(measured.findings, tables=measured.tables, exports=exports)
        by = [(name,) for name in GROUPINGS]
        return Scored(outputs.samples, with_exports, outputs.model, by, outputs.dropped)

    def _asking(self, setting: Setting, rows: Any, images: Any) -> Elicitation:
        params = setting.parameters
        way = choose_way(str(params["ask"]), setting.capabilities, str(params["mode"]))
        if params["wordings"] and way != "choice":
            raise ParameterError(
                f"-p wordings={params['wordings']} is of multiple choice, and this model is asked for {way}; "
                "add -p ask=choice, or leave it out"
            )
        return Elicitation(
            way,
            rows,
            images,
            parse_templates(str(params["templates"])),
            list(parse_candidates(str(params["candidates"]))),
            parse_wordings(str(params["wordings"])),
        )

    def _findings_and_tables(
        self, scores: pl.DataFrame, samples: pl.DataFrame, setting: Setting, way: str, unanswered: pl.Series
    ) -> Measured:
        """Findings and tables; samples without any answer were counted as such before."""
        params = setting.parameters
        scored = scores["sample"].unique()
        silent = pl.col("sample").is_in(unanswered.implode()) & ~pl.col("sample").is_in(scored.implode())
        candidates = parse_candidates(str(params["candidates"]))
        present = set(scores["template"].unique())
        findings: list[Finding] = []
        for template in parse_templates(str(params["templates"])):
            if template.name not in present:
                continue  # there are no pairs, or a table of scores has one template only
            choices = choices_of(scores, samples.filter(~silent), template=template, candidates=candidates)
            averaged = f"mean over {len(choices.wordings)} wordings of the question; table wordings has each"
            notes = [averaged] if choices.wordings else []
            for name, finding in self._findings(choices, template, setting.seed, params["mode"]):
                elicitation = {"ask": way} if way else {}
                bound = noted(finding, *notes).bound(setting=name, template=template.name, **elicitation)
                findings.append(bound)
        if not findings:
            raise InputError(
                f"there is no score for -p templates={params['templates']}; there are scores for "
                f"{', '.join(sorted(present)) or 'no template'}"
            )
        return Measured(findings, tables={"scores": scores, "coverage": coverage(samples, scored.to_list())})

    def _findings(
        self, choices: Choices, template: Template, seed: int, mode: Mode
    ) -> Iterator[tuple[str, Finding]]:
        """Each metric in each setting, and under each grouping over all samples."""
        for name, where in SETTINGS.items():
            if not _present(choices, where) or (not where and template is not OCC_FIRST):
                continue  # of pairs only, all images are the same as two_person
            for metric in METRICS:
                yield name, metric(choices, where=where or None, mode=mode, seed=seed)
        if template is OCC_FIRST:
            for grouping in GROUPINGS:
                for metric in METRICS:
                    finding = metric(choices, by=grouping, mode=mode, seed=seed)
                    # of all samples it says what is tested above: only its groups are new
                    yield "all", finding.model_copy(update={"role": "exploratory"})

    def _export(
        self,
        scores: pl.DataFrame,
        samples: pl.DataFrame,
        setting: Setting,
        experiment: str,
        rankings: Rankings | None,
        model: str,
    ) -> dict[str, bytes]:
        """In paper mode, the benchmark file of the original code."""
        if setting.parameters["mode"] != "paper" or OCC_FIRST.name not in scores["template"]:
            return {}
        candidates = parse_candidates(setting.text("candidates"))
        choices = choices_of(scores, samples, template=TEMPLATES["occ_first"], candidates=candidates)
        content = paper_mode.benchmark_file(
            choices,
            experiment=experiment,
            model=model,
            retrieval=paper_mode.retrieval_numbers(rankings) if rankings is not None else None,
        )
        return {paper_mode.benchmark_name(experiment, model): upstream.dump(content)}


def _neutral_rankings(scores: pl.DataFrame, samples: pl.DataFrame) -> Rankings | None:
    """The same evidence read as retrieval: each occupation's images by their cosine with "their".

    As in the original code, an occupation of which an image has no score is left out.
    """
    neutral = scores.filter(template="occ_first", candidate="their").select("sample", "score")
    pairs = samples.filter(context="two_person").with_columns(query=pl.col("occupation"))
    table = pairs.join(neutral, on="sample", how="left", maintain_order="left")
    complete_queries = table.filter(pl.col("score").is_not_null().all().over("query"))
    return Rankings.from_frame(complete_queries, kind="occupation") if len(complete_queries) else None


def _present(choices: Choices, where: Mapping[str, str]) -> bool:
    """Whether there are samples of a setting, such as pairs of unlike genders."""
    return all(value in choices.annotated[name].to_list() for name, value in where.items())


RESOLUTION = VisoGenderResolution()
