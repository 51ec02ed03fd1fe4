"""The number of each sample that findings are made of: right or wrong, harmful or not, nearer to some words.

A table of outcomes has a row for each sample and outcome: ``sample``, ``outcome`` (what is counted, and with
which parameters), ``value``, ``attribute:NAME``, ``unit`` (what was sampled as a whole; null: the sample),
``unit_name`` (what units are: ``occupation``, ``person``) and ``stratum`` (within which samples are alike but
for what is tested; null: all are).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.benchmarks.indicators.household_references import HITS
from evenhand.benchmarks.visogender.data.captions import TEMPLATES, parse_candidates
from evenhand.benchmarks.visogender.data.settings import SETTINGS, choices_of
from evenhand.core.findings import Finding
from evenhand.evidence.household_hits import HouseholdHits
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.evidence.numbers import MOST_SAMPLES
from evenhand.evidence.predictions.levels import ATTRIBUTE
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association.matching import match_items
from evenhand.metrics.choices.resolution import rule_of
from evenhand.metrics.choices.rows import BoundChoices
from evenhand.metrics.estimates import get_or_make
from evenhand.metrics.labels.association import HARMFUL
from evenhand.runs.run_folder import OUTCOMES, PER_SAMPLE, RunFolder

MATCHES = "matches"
"""Table with each sample's surest label of each kind."""
GENDER, SET, CONCEPT = "gender", "set", "concept"
"""Attributes that readers of answers add."""
STRATUM = "stratum"
UNIT_NAME = "unit_name"

_FIRST, _LAST = ("sample", "outcome", "value"), ("unit", UNIT_NAME, STRATUM)
_PAPER = "paper mode rounds values; run in default mode to have differences tested"
_TEXT, _NUMBER = pl.String(), pl.Float64()
_SHARES = pl.Schema({"sample": _TEXT, "unit": _TEXT, "part": _TEXT, "value": _NUMBER, "weight": _NUMBER})
_Made = pl.DataFrame | str
_Memo = dict[Any, Any]


def outcomes_of(run: RunFolder) -> pl.DataFrame | None:
    """The outcomes of a run that asked a model; None where it kept no answers of single samples."""
    tables: dict[str, pl.DataFrame] = {}
    memo: _Memo = {}
    for finding in run.findings:
        if (name := _outcome(finding)) in tables:
            continue
        rows = outcome_rows(run, finding, memo)
        if not isinstance(rows, str):
            attributes = set(rows.columns).difference(_FIRST, _LAST)
            rows = rows.rename({column: f"{ATTRIBUTE}{column}" for column in attributes})
            tables[name] = rows.with_columns(outcome=pl.lit(name))
    if not tables or sum(table.height for table in tables.values()) > MOST_SAMPLES:
        return None
    lacking = pl.DataFrame(schema={STRATUM: pl.String})
    outcomes = pl.concat([*tables.values(), lacking], how="diagonal_relaxed")
    return outcomes.select(*_FIRST, pl.exclude(*_FIRST, *_LAST), *_LAST)


def outcome_rows(run: RunFolder, finding: Finding, memo: _Memo) -> pl.DataFrame | str:
    """Sample, unit, value and attributes of each sample that a finding is made of, or why there are none."""
    family, saved = finding.card.family, run.tables.get(OUTCOMES)
    if finding.card.compared != "contributions":
        return finding.card.why_not_compared
    if finding.params.get("mode") == "paper" and family != "rankings":
        return _PAPER
    if finding.value is None:
        return f"there is no value ({finding.reason})"
    if reserved := {"part", *_FIRST, *_LAST}.intersection(finding.by):
        return f"its groups are called {min(reserved)!r}, as a column of outcomes is; rename them"
    rows = pl.DataFrame() if saved is None else saved.filter(outcome=_outcome(finding))
    if UNIT_NAME in rows.columns and rows.height:
        return rows.rename(lambda name: name.removeprefix(ATTRIBUTE))
    outcomes = finding.outcomes
    return _READERS.get(family, _per_sample)(run, finding, memo) if outcomes is None else outcomes


def _outcome(finding: Finding) -> str:
    """What is counted for a finding, with the parameters that decide it; else what it is called itself."""
    if finding.card.family not in _COUNTED:
        return finding.metric
    count, names = _COUNTED[finding.card.family]
    texts = [f"{name}={param}" for name in names if (param := finding.params.get(name)) is not None]
    return ", ".join([count(finding), *texts])


def _choices(run: RunFolder, finding: Finding, memo: _Memo) -> _Made:
    """How much each sample's pronouns count as the outcome, by the gender of its truth."""
    scores, samples = run.tables.get("scores"), run.annotations
    if scores is None or samples is None:
        return "it keeps no scores of single samples"
    params = finding.params
    names = str(params["candidates"]).split("/")
    all_candidates = parse_candidates(str(run.manifest["parameters"]["candidates"]))
    candidates = {name: all_candidates[name] for name in names if name in all_candidates}
    template = TEMPLATES[str(params["template"])]
    choices = get_or_make(
        memo, ("choices", template.name, *candidates.items()),
        lambda: choices_of(
            scores, samples.drop("truth", strict=False), template=template, candidates=candidates
        ),
    )  # fmt: skip
    bound = BoundChoices.of(choices, (), SETTINGS.get(str(params.get("setting")), {}))
    rows, genders = bound.rows(rule_of(finding.name)[0]), choices.genders
    gender = pl.when(pl.Series(rows.second)).then(pl.lit(genders[1])).otherwise(pl.lit(genders[0]))
    return choices.table.filter(pl.Series(bound.chosen)).select(
        "sample",
        pl.col(str(choices.cluster)).cast(pl.String).alias("unit"),
        pl.Series("value", rows.hits),
        pl.concat_str(pl.col(list(choices.strata)).cast(pl.String), separator="/", ignore_nulls=True).alias(
            STRATUM
        ),
        gender.alias(GENDER),
        *_attributes(run, finding, choices.attributes),
        unit_name=pl.lit(choices.cluster),
    )


def _labels(run: RunFolder, finding: Finding, memo: _Memo) -> _Made:
    """Whether a label of the kind is among the first of each image."""
    del memo
    matches, annotations = run.tables.get(MATCHES), run.annotations
    if matches is None or annotations is None:
        return "it keeps no labels of single images; run it again, its answers are not asked anew"
    name = str(finding.params.get("association", HARMFUL))
    mine = matches.filter(association=name)
    if not mine.height:
        return f"it keeps nothing of {name}"
    hit = (pl.col("confidence") >= float(str(finding.params["threshold"]))).fill_null(False)
    rows = mine.select("sample", value=hit.cast(pl.Float64))
    return _of_persons(rows.join(annotations, on="sample", how="inner", maintain_order="left"), run, finding)


def _of_persons(rows: pl.DataFrame, run: RunFolder, finding: Finding) -> pl.DataFrame:
    """Samples of one person together; a person nobody names is one sample."""
    unit = pl.col("subject") if "subject" in rows.columns else pl.lit(None, pl.String)
    attributes = _attributes(run, finding, rows.columns)
    return rows.select("sample", unit.alias("unit"), "value", *attributes, unit_name=pl.lit("person"))


def _neighbours(run: RunFolder, finding: Finding, memo: _Memo) -> _Made:
    """The share of each query's nearest pictures that match."""
    del memo
    near, annotations = run.tables.get("neighbours"), run.annotations
    if near is None or annotations is None or "role" not in annotations.columns:
        return "it keeps no neighbours of single queries"
    match, k = str(finding.params["match"]).split("+"), int(str(finding.params["k"]))
    code = pl.struct(pl.col(name).cast(pl.String) for name in match)
    code = pl.when(pl.all_horizontal(pl.col(match).is_not_null())).then(code).alias("_match")
    database = annotations.filter(role="database").select("sample", code)
    queries = annotations.filter(role="query").with_columns(code)
    is_known = ~pl.any_horizontal(*(pl.col(name).str.to_lowercase().is_in(list(UNKNOWN)) for name in match))
    is_in_database = pl.col("_match").is_in(database["_match"].drop_nulls().unique().implode())
    queries = queries.filter(is_known & is_in_database)
    first = near.filter(pl.col("rank") <= k).join(database, on="sample", how="left")
    pairs = first.join(queries.select(query="sample", asked="_match"), on="query", how="inner")
    same = (pl.col("_match") == pl.col("asked")).fill_null(False).cast(pl.Float64)
    shares = pairs.group_by("query").agg(value=same.sum() / k)
    rows = queries.join(shares.rename({"query": "sample"}), on="sample", how="inner", maintain_order="left")
    return _of_persons(rows, run, finding)


def _households(run: RunFolder, finding: Finding, memo: _Memo) -> _Made:
    """Whether each image of a home was recognised; one that shows several concepts has a row for each."""
    table = run.tables.get(HITS)
    if table is None:
        return "it keeps no hits of single images"
    threshold = float(str(finding.params.get("threshold", 0.0)))
    hits = get_or_make(memo, ("hits", threshold), lambda: HouseholdHits.from_hits(table).at(threshold))
    return hits.table.drop_nulls("household").select(
        pl.concat_str("household", "image", separator="/").alias("sample"),
        pl.col("household").alias("unit"),
        pl.col("hit").alias("value"),
        pl.col(CONCEPT).drop_nulls().unique().sort().str.join("/").over("household", "image").alias(STRATUM),
        CONCEPT,
        *_attributes(run, finding, hits.table.columns),
        unit_name=pl.lit("household"),
    )


def _queries(run: RunFolder, finding: Finding, memo: _Memo) -> _Made:
    """The figure of each query, which the finding's parts are."""
    del run, memo
    rows = [(str(part.key), part.value) for part in finding.parts if part.value is not None]
    if not rows:
        return "it keeps no figure of single queries"
    table = pl.DataFrame(rows, schema={"sample": pl.String, "value": pl.Float64}, orient="row")
    unit = pl.lit(f"ranking of one {finding.parts[0].kind}")
    return table.select("sample", pl.col("sample").alias("unit"), "value", unit_name=unit)


def _associations(run: RunFolder, finding: Finding, memo: _Memo) -> _Made:
    """The association of each item of both sets; words of a family are drawn whole."""
    del memo
    table = run.tables.get("contributions")
    if table is None:
        return "it keeps no associations of single items"
    params: Mapping[str, Any] = finding.params
    (x, y), (a, b) = params["targets"], params["attributes"]
    mine = table.filter(pl.col("role").is_in(["x", "y"]), form=params.get("form") or "", x=x, y=y, a=a, b=b)
    members = run.tables.get("members")
    families = {}
    if members is not None and "family" in members.columns:
        words = members.filter(role="target").drop_nulls("family")
        families = {item: f"family {family}" for item, family in words.select("item", "family").iter_rows()}
    side = pl.when(role="x").then(pl.lit(x)).otherwise(pl.lit(y))
    unit = pl.col("item").replace(families)
    return mine.select(
        pl.col("item").alias("sample"),
        unit.alias("unit"),
        pl.col("association").alias("value"),
        side.alias(SET),
        unit_name=pl.lit("item"),
    )


def _matches(run: RunFolder, finding: Finding, memo: _Memo) -> _Made:
    """How much likelier each image's best matches are of one set of words."""
    del memo
    members = run.tables.get("members")
    parts = (
        sorted((run.folder / "evidence" / MATCHES).glob("part-*.parquet")) if run.folder is not None else []
    )
    if members is None or not parts:
        return "it keeps no match probabilities of single images"
    params: Mapping[str, Any] = finding.params
    if params["reading"] == "per_group":
        return "its words change with the images of a group"
    targets, attributes = (
        {name: members.filter(role=role, set=name)["sample"].to_list() for name in params[f"{role}s"]}
        for role in ("target", "attribute")
    )
    if "lost" in run.tables:
        lost = set(run.tables["lost"].filter(role="target")["item"].to_list())
        targets = {name: [item for item in items if item not in lost] for name, items in targets.items()}
    ids, phi, first = match_items(
        Similarities.from_scores(pl.scan_parquet(parts), targets, attributes),
        targets=params["targets"],
        attributes=params["attributes"],
        k=int(params["k"]),
        reading=params["reading"],
    )
    x, y = params["targets"]
    rows = pl.DataFrame(
        {"sample": ids, "unit": ids, "value": phi, SET: [x] * first + [y] * (len(ids) - first)},
        schema={"sample": pl.String, "unit": pl.String, "value": pl.Float64, SET: pl.String},
    )
    return rows.with_columns(unit_name=pl.lit("image"))


def _compared_sets(run: RunFolder, finding: Finding, memo: _Memo) -> _Made:
    """Items of two sets, or images with the words that match them."""
    return (_matches if "reading" in finding.params else _associations)(run, finding, memo)


def _per_sample(run: RunFolder, finding: Finding, memo: _Memo) -> _Made:
    """Any other metric: what its benchmark keeps of each sample, in shares of 1."""
    del memo
    table = run.tables.get(PER_SAMPLE)
    if table is None:
        return f"it keeps no outcomes of its samples, and no table {PER_SAMPLE!r}"
    lacking = {"metric", "by", *_SHARES} - set(table.columns)
    if lacking:
        return f"its table {PER_SAMPLE!r} has no column {', '.join(sorted(lacking))}"
    rows = table.filter(metric=finding.name, by=finding.grouping).select(*_SHARES).cast(_SHARES, strict=False)
    if not rows["value"].is_between(0, 1).all():
        return f"its table {PER_SAMPLE!r} has values that are not between 0 and 1"
    if not rows.height:
        return f"its table {PER_SAMPLE!r} has no row of it"
    return rows.with_columns(unit_name=pl.lit("sample"))


def _attributes(run: RunFolder, finding: Finding, columns: Sequence[str]) -> list[pl.Expr]:
    """Columns that findings of this family group by, as texts."""
    family = finding.card.family
    names = [name for other in run.findings if other.card.family == family for name in other.by]
    return [
        pl.col(name).cast(pl.String) for name in dict.fromkeys(names) if name in columns and name != CONCEPT
    ]


_READERS: dict[str, Callable[[RunFolder, Finding, _Memo], _Made]] = {
    "pronouns": _choices,
    "labels": _labels,
    "households": _households,
    "neighbours": _neighbours,
    "rankings": _queries,
    "associations": _compared_sets,
}
"""How families are taken apart again whose findings say no outcomes; others by the table ``per_sample``."""
_COUNTED: dict[str, tuple[Callable[[Finding], str], tuple[str, ...]]] = {
    "pronouns": (lambda finding: rule_of(finding.name)[0], ("template", "candidates", "setting")),
    "labels": (lambda finding: str(finding.params.get("association", HARMFUL)), ("threshold",)),
    "households": (lambda _: "recognised", ("threshold",)),
    "neighbours": (lambda _: "alike", ("match", "k")),
}
"""What several metrics of a family count, and which parameters decide it."""
