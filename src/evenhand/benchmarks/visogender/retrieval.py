"""The benchmark ``visogender/retrieval``: whose images come first for a caption that names no gender?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Scored, Setting
from evenhand.benchmarks.labelling.elicitation import embedded
from evenhand.benchmarks.tidy import counted_once
from evenhand.benchmarks.visogender.data.captions import TEMPLATES, Row, Template, parse_templates
from evenhand.benchmarks.visogender.data.study_data import DATA_PARAMETERS, coverage, read_material
from evenhand.benchmarks.visogender.data.taxonomy import FEMININE, MASCULINE, PERCEIVED, SINGLE, TWO
from evenhand.benchmarks.visogender.original_code import json_files as upstream
from evenhand.benchmarks.visogender.original_code import paper_mode
from evenhand.benchmarks.visogender.original_code.given_scores import given_rankings
from evenhand.core.errors import InputError, ParameterError
from evenhand.core.findings import Finding
from evenhand.core.nouns import Attribute, Nouns
from evenhand.evidence.derivation.from_vectors import cosines
from evenhand.evidence.rankings import Rankings
from evenhand.metrics.retrieval import ranking as retrieval

GROUPS = (MASCULINE, FEMININE)
SUBJECTS = {"occupation": "occupation_perceived_gender", "participant": "participant_perceived_gender"}
GENDER = Attribute(title="gender", groups={name: f"{name} people" for name in GROUPS})


class VisoGenderRetrieval(Benchmark[None]):
    """One ranking for each occupation: its images in the order of their cosine with a neutral caption."""

    name = "visogender/retrieval"
    asks = "whose images does the model rank first for a caption that names no gender?"
    nouns = Nouns(query=("occupation", "occupations"), attributes=dict.fromkeys(SUBJECTS.values(), GENDER))
    limits = (PERCEIVED,)
    people = ("gender", *SUBJECTS.values())
    parameters: Mapping[str, Parameter] = {
        **DATA_PARAMETERS,
        "templates": Parameter("occ_first,par_first", help="occ_first, par_first, or both"),
        "pronoun": Parameter("their", help="of the caption"),
        "k": Parameter("5,10", help="numbers of first places, separated by commas"),
        "pool": Parameter("occupation", ("occupation", "all"), "images that a caption ranks"),
        "target": Parameter("pool", ("pool", "equal"), "share of a group that would be even"),
        "model": Parameter("", help="score: whose files, where a folder holds several models'"),
        "mode": Parameter("default", ("default", "paper"), "paper: ties keep the order of the table"),
    }
    artifacts = ("visogender/table3", "visogender/table5")
    primaries: Sequence[str] = ("bias_at_k", "ndkl")

    def plan(self, setting: Setting) -> Plan[None]:
        """Each image and each neutral caption, once."""
        material = read_material(setting)
        params = setting.parameters
        texts = [text for _, _, text in _queries(material.rows, params)]
        ids = [str(row["sample"]) for row in material.rows]
        annotations = material.samples.frame.with_columns(truth=pl.lit(None, pl.String))
        requests = embedded(ids, material.images, texts, name="captions")
        by = [(SUBJECTS["occupation"],)]
        return Plan(annotations, requests, by=by, dropped=material.samples.dropped)

    def measure(self, answered: Answered[None]) -> Measured:
        """Every retrieval metric for each context, template and subject of the pronoun."""
        setting, samples = answered.setting, answered.plan.annotations.drop("truth")
        images = answered.evidence["images"].select("sample").collect()["sample"].to_list()
        measured = self._findings_and_tables(self._rankings(answered), setting, missing_counted=True)
        tables = {**measured.tables, "coverage": coverage(samples, images)}
        return Measured(measured.findings, tables=tables, exports=measured.exports)

    def score(self, files: Sequence[Path], setting: Setting) -> Scored:
        """The same of scores in files: retrieval scores of the original code, or a table of ours."""
        outputs = given_rankings(files, setting)
        template_names = {template.name for template in parse_templates(setting.text("templates"))}
        setting = replace(setting, model=outputs.model or "scores")
        selected_tables = [
            (context, TEMPLATES[template], _whole(table, setting))
            for context, template, table in outputs.tables
            if template in template_names
        ]
        if not selected_tables:
            raise InputError(
                f"the files hold no scores of {', '.join(sorted(template_names))}; change -p templates"
            )
        ranked = (
            (context, template, Rankings.from_frame(t, kind="occupation"))
            for context, template, t in selected_tables
        )
        measured = self._findings_and_tables(ranked, setting, missing_counted=False)
        samples = pl.concat([table for _, _, table in outputs.tables], how="diagonal").unique("sample")
        return Scored(samples, measured, outputs.model, [(SUBJECTS["occupation"],)], outputs.dropped)

    def _findings_and_tables(
        self, ranked: Iterable[tuple[str, Template, Rankings]], setting: Setting, *, missing_counted: bool
    ) -> Measured:
        """Findings of every context, template and subject; ``missing_counted``: those without scores were."""
        params, findings, tables = setting.parameters, list[Finding](), []
        exports: dict[str, bytes] = {}
        for context, template, rankings in ranked:
            ranking_table = rankings.to_frame().with_columns(
                context=pl.lit(context), template=pl.lit(template.name)
            )
            tables.append(ranking_table)
            for subject, column in SUBJECTS.items():
                if not _counts(rankings, context, template, subject):
                    continue
                for finding in self._findings(rankings, column, setting.seed, params):
                    extra = {"context": context, "template": template.name, "subject": subject}
                    # A sample without a score has no image or no answer, which the run says already.
                    remaining = counted_once(finding, "missing score") if missing_counted else finding
                    findings.append(remaining.bound(**extra, pool=str(params["pool"])))
            if params["mode"] == "paper" and (context, template.name) == (TWO, "occ_first"):
                content = paper_mode.retrieval_file(rankings, model=setting.model)
                exports[paper_mode.benchmark_name("CLIP", setting.model)] = upstream.dump(content)
        return Measured(findings, tables={"rankings": pl.concat(tables)}, exports=exports)

    def _rankings(self, answered: Answered[Any]) -> Iterator[tuple[str, Template, Rankings]]:
        """Rankings of each context and template."""
        params, samples = answered.setting.parameters, answered.plan.annotations.drop("truth")
        rows = samples.to_dicts()
        pairs: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
        for key, name, text in _queries(rows, params):
            context, template = key
            for row in rows:
                is_pooled = params["pool"] == "all"
                if row["context"] == context and (is_pooled or row["occupation"] == name):
                    pairs.setdefault((context, template.name), []).append((name, str(row["sample"]), text))
        for (context, template_name), query_rows in pairs.items():
            frame = pl.DataFrame(query_rows, schema=["query", "sample", "text"], orient="row")
            scored = cosines(answered.evidence["images"], answered.evidence["captions"], frame)
            scored_pairs = frame.join(
                scored, on=["query", "sample", "text"], how="left", maintain_order="left"
            )
            table = _whole(
                scored_pairs.drop("text").join(samples, on="sample", maintain_order="left"), answered.setting
            )
            yield context, TEMPLATES[template_name], Rankings.from_frame(table, kind="occupation")

    def _findings(
        self, rankings: Rankings, column: str, seed: int, params: Mapping[str, Any]
    ) -> list[Finding]:
        mode, target = params["mode"], str(params["target"])
        findings = []
        present = set(rankings.table[column].drop_nulls().unique())
        for k in _places(str(params["k"])):
            findings += [
                retrieval.skew_at_k(
                    rankings, by=column, k=k, group=group, target=target, mode=mode, seed=seed
                )
                for group in GROUPS
                if group in present
            ]
            findings += [
                retrieval.bias_at_k(rankings, by=column, k=k, groups=GROUPS, mode=mode, seed=seed),
                retrieval.max_skew_at_k(rankings, by=column, k=k, target=target, mode=mode, seed=seed),
                retrieval.min_skew_at_k(rankings, by=column, k=k, target=target, mode=mode, seed=seed),
            ]
        findings.append(retrieval.ndkl(rankings, by=column, target=target, mode=mode, seed=seed))
        return findings


def _counts(rankings: Rankings, context: str, template: Template, subject: str) -> bool:
    """Whether a subject's genders are counted: the pronoun may be the participant's if that stands first."""
    if subject == "occupation":
        return True
    has_subject = SUBJECTS[subject] in rankings.table.columns
    return has_subject and context == TWO and template.name == "par_first"


def _whole(table: pl.DataFrame, setting: Setting) -> pl.DataFrame:
    """In paper mode, only occupations of which every image has a score, as in the original code."""
    if setting.parameters["mode"] != "paper":
        return table
    return table.filter(pl.col("score").is_not_null().all().over("query"))


def _queries(
    rows: Sequence[Row], params: Mapping[str, object]
) -> Iterator[tuple[tuple[str, Template], str, str]]:
    """Context and template, occupation, and its caption; the other noun is that of the first sample."""
    templates = parse_templates(str(params["templates"]))
    for context in (SINGLE, TWO):
        first: dict[str, Row] = {}
        for row in rows:
            if row["context"] == context:
                first.setdefault(str(row["occupation"]), row)
        for template in templates:
            for name, row in first.items():
                if template.fits(row):
                    yield (context, template), name, template.caption(row, str(params["pronoun"]))


def _places(text: str) -> list[int]:
    try:
        places = [int(part) for part in text.split(",")]
    except ValueError:
        places = []
    if not places or min(places) < 1:
        raise ParameterError(f"-p k={text!r} is no list of places; write for instance 5,10")
    return places


RETRIEVAL = VisoGenderRetrieval()
