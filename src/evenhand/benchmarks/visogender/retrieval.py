"""The benchmark ``visogender/retrieval``: whose images come first for a caption that names no gender?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

import polars as pl

from evenhand.benchmarks.declaration import Answered, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.visogender.captions import TEMPLATES, Row, Template, parse_templates
from evenhand.benchmarks.visogender.material import DATA_PARAMETERS, bound, coverage, read_material
from evenhand.benchmarks.visogender.taxonomy import FEMININE, MASCULINE, SINGLE, TWO
from evenhand.core.errors import ParameterError
from evenhand.core.questions import Question
from evenhand.core.results import Finding
from evenhand.evidence.derive import cosines
from evenhand.evidence.rankings import Rankings
from evenhand.metrics import retrieval

GROUPS = (MASCULINE, FEMININE)
SUBJECTS = {"occupation": "occupation_perceived_gender", "participant": "participant_perceived_gender"}


class VisoGenderRetrieval:
    """One ranking for each occupation: its images in the order of their cosine with a neutral caption."""

    name = "visogender/retrieval"
    parameters: Mapping[str, Parameter] = {
        **DATA_PARAMETERS,
        "templates": Parameter("occ_first,par_first", help="occ_first, par_first, or both"),
        "pronoun": Parameter("their", help="of the caption"),
        "k": Parameter("5,10", help="places that are looked at, separated by commas"),
        "pool": Parameter("occupation", ("occupation", "all"), "images that a caption ranks"),
        "target": Parameter("pool", ("pool", "equal"), "share of a group that would be even"),
        "mode": Parameter("default", ("default", "paper"), "paper: ties keep the order of the table"),
    }
    artifacts = ()

    def plan(self, setting: Setting) -> Plan:
        """Each image and each neutral caption, once."""
        material = read_material(setting)
        given = setting.parameters
        texts = [text for _, _, text in _queries(material.rows, given)]
        unique = list(dict.fromkeys(texts))
        ids = [str(row["sample"]) for row in material.rows]
        annotations = material.samples.frame.with_columns(truth=pl.lit(None, pl.String))
        asked = [
            Question("images", "embeds_images", ids, material.images),
            Question("captions", "embeds_texts", unique, texts=unique),
        ]
        by = [(SUBJECTS["occupation"],)]
        return Plan(annotations, asked, by=by, dropped=material.samples.dropped)

    def measure(self, answered: Answered) -> Measured:
        """Every retrieval metric for each context, template and subject of the pronoun."""
        given, samples = answered.setting.parameters, answered.plan.annotations.drop("truth")
        findings: list[Finding] = []
        tables = []
        for context, template, rankings in self._rankings(answered):
            shown = rankings.to_frame().with_columns(context=pl.lit(context), template=pl.lit(template.name))
            tables.append(shown)
            for subject, column in SUBJECTS.items():
                if context == SINGLE and subject == "participant":
                    continue
                if template.name == "occ_first" and subject == "participant":
                    continue  # the pronoun is the occupation's
                for finding in self._findings(rankings, column, answered.setting.seed, given):
                    extra = {"context": context, "template": template.name, "subject": subject}
                    findings.append(bound(finding, **extra, pool=str(given["pool"])))
        images = answered.evidence["images"].select("sample").collect()["sample"].to_list()
        kept = {"rankings": pl.concat(tables), "coverage": coverage(samples, images)}
        return Measured(findings, tables=kept)

    def card(self) -> str:
        """Source, licence and limits."""
        return files(__package__).joinpath("card.md").read_text(encoding="utf-8")

    def _rankings(self, answered: Answered) -> Iterator[tuple[str, Template, Rankings]]:
        """Rankings of each context and template."""
        given, samples = answered.setting.parameters, answered.plan.annotations.drop("truth")
        rows = samples.to_dicts()
        pairs: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
        for key, name, text in _queries(rows, given):
            context, template = key
            for row in rows:
                whole = given["pool"] == "all"
                if row["context"] == context and (whole or row["occupation"] == name):
                    pairs.setdefault((context, template.name), []).append((name, str(row["sample"]), text))
        for (context, named), wanted in pairs.items():
            frame = pl.DataFrame(wanted, schema=["query", "sample", "text"], orient="row")
            scored = cosines(answered.evidence["images"], answered.evidence["captions"], frame)
            joined = frame.join(scored, on=["query", "sample", "text"], how="left", maintain_order="left")
            table = joined.drop("text").join(samples, on="sample", maintain_order="left")
            yield context, TEMPLATES[named], Rankings.from_frame(table, kind="occupation")

    def _findings(
        self, rankings: Rankings, column: str, seed: int, given: Mapping[str, object]
    ) -> list[Finding]:
        mode, target = str(given["mode"]), str(given["target"])
        found = []
        for k in _places(str(given["k"])):
            found += [
                retrieval.bias_at_k(rankings, by=column, k=k, groups=GROUPS, mode=mode, seed=seed),
                retrieval.max_skew_at_k(rankings, by=column, k=k, target=target, mode=mode, seed=seed),
                retrieval.min_skew_at_k(rankings, by=column, k=k, target=target, mode=mode, seed=seed),
            ]
        found.append(retrieval.ndkl(rankings, by=column, target=target, mode=mode, seed=seed))
        return found


def _queries(
    rows: Sequence[Row], given: Mapping[str, object]
) -> Iterator[tuple[tuple[str, Template], str, str]]:
    """Context and template, occupation, and its caption; the other noun is that of the first sample."""
    templates = parse_templates(str(given["templates"]))
    for context in (SINGLE, TWO):
        first: dict[str, Row] = {}
        for row in rows:
            if row["context"] == context:
                first.setdefault(str(row["occupation"]), row)
        for template in templates:
            for name, row in first.items():
                if template.fits(row):
                    yield (context, template), name, template.caption(row, str(given["pronoun"]))


def _places(text: str) -> list[int]:
    try:
        places = [int(part) for part in text.split(",")]
    except ValueError:
        places = []
    if not places or min(places) < 1:
        raise ParameterError(f"-p k={text!r} is no list of places; write for instance 5,10")
    return places


RETRIEVAL = VisoGenderRetrieval()
