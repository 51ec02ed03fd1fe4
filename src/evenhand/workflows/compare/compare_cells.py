"""What one model answered to each sample, in the columns that a finding adds up; or why that is not kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.benchmarks.indicators.household_references import HITS
from evenhand.benchmarks.visogender.data.captions import TEMPLATES, parse_candidates
from evenhand.benchmarks.visogender.data.settings import SETTINGS, choices_of
from evenhand.core.findings import Finding, Key
from evenhand.evidence.choices import Choices
from evenhand.evidence.household_hits import HouseholdHits
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association.matching import match_items
from evenhand.metrics.choices.resolution import rule_of
from evenhand.metrics.choices.rows import BoundChoices
from evenhand.metrics.labels.estimation import HARMFUL
from evenhand.metrics.labels.households.tables import BoundHits
from evenhand.metrics.prepared import get_or_make
from evenhand.runs.run_folder import PER_SAMPLE
from evenhand.workflows.compare.runs import ComparedRun

ALL = "all"
"""The column of every sample."""

MATCHES = "matches"
"""Table with each sample's surest label of each kind."""

_MARK = "\x1f"  # between what a column's name is made of
_HOUSEHOLD = "household"
_PAPER = "paper mode rounds values; run in default mode to have differences tested"
_SCHEMA = {"sample": pl.String, "unit": pl.String, "column": pl.String, "value": pl.Float64}


@dataclass(frozen=True)
class Combination:
    """One number made of columns: see ``Summary`` of paired sums; or the effect size of two columns.

    Attributes:
        how: ``weights``, ``range``, ``least`` or ``effect_size``.
        columns: Names of columns.
        weights: One for each, where they are weighted.
    """

    how: str
    columns: tuple[str, ...]
    weights: tuple[float, ...] = ()


@dataclass(frozen=True)
class ContributionSpec:
    """A part of a finding, made of columns of its own."""

    kind: str
    key: Key
    wanted: Combination


@dataclass(frozen=True, eq=False)
class Contributions:
    """One model's answers under one finding.

    Attributes:
        table: A row for each sample and column that it counts in: sample, unit, column, value.
        whole: What the finding's value is made of.
        unit: What belongs together, such as ``occupation`` or ``sample``.
        parts: The finding's parts, where differences of them are wanted.
        once: Whether each unit counts once in a column, with the mean of its samples.
        fixed: Whether units stay whole however few they are.
    """

    table: pl.DataFrame
    whole: Combination
    unit: str = "sample"
    parts: tuple[ContributionSpec, ...] = ()
    once: bool = False
    fixed: bool = False


def cells_of(compared_run: ComparedRun, finding: Finding) -> Contributions | str:
    """The answers behind a finding, or why they cannot be had.

    Args:
        compared_run: The run.
        finding: One of its findings.
    """
    reader = _READERS.get(finding.card.family, _per_sample)
    if finding.card.compared != "contributions":
        return finding.card.why_not_compared
    if finding.params.get("mode") == "paper" and reader is not _queries:
        return _PAPER
    if finding.value is None:
        return f"there is no value ({finding.reason})"
    return reader(compared_run, finding)


def _groups(finding: Finding) -> list[Key]:
    return [group.key for group in finding.groups] if finding.by else []


def column_of(*names: str | Sequence[str]) -> str:
    """The name of a column from those of its group."""
    flat = [name for entry in names for name in ([entry] if isinstance(entry, str) else entry)]
    return _MARK.join(flat)


def _in_columns(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Rows of sample, unit, value in one column for each, named by some of their own columns."""
    column = pl.concat_str([pl.col(name).cast(pl.String) for name in names], separator=_MARK)
    return rows.with_columns(column.alias("column")).select(_SCHEMA.keys()).cast(_SCHEMA)  # type: ignore[arg-type]


def _rates(finding: Finding) -> tuple[ContributionSpec, ...]:
    """The rate of each group as a part."""
    kind = "*".join(finding.by)
    return tuple(
        ContributionSpec(kind, key, Combination("weights", (column_of(key),), (1.0,)))
        for key in _groups(finding)
    )


def _choices(compared_run: ComparedRun, finding: Finding) -> Contributions | str:
    """VisoGender: each sample's pronoun, by the gender of the truth."""
    scores, samples = compared_run.run.tables.get("scores"), compared_run.run.annotations
    if scores is None or samples is None:
        return "it keeps no scores of single samples"
    params = finding.params
    names = str(params["candidates"]).split("/")
    all_candidates = parse_candidates(str(compared_run.manifest["parameters"]["candidates"]))
    candidates = {name: all_candidates[name] for name in names if name in all_candidates}
    samples = samples.drop("truth", strict=False)
    template = TEMPLATES[str(params["template"])]
    choices = get_or_make(
        compared_run.memo, ("choices", template.name, *candidates.items()),
        lambda: choices_of(scores, samples, template=template, candidates=candidates),
    )  # fmt: skip
    bound = BoundChoices.of(choices, finding.by, SETTINGS.get(str(params.get("setting")), {}))
    outcome, weights = rule_of(finding.name)
    rows = bound.rows(outcome)
    genders = choices.genders
    table = choices.table.filter(pl.Series(bound.chosen)).select(
        "sample",
        *(pl.col(name).cast(pl.String) for name in finding.by),
        unit=pl.col(str(choices.cluster)).cast(pl.String),
        value=pl.Series(rows.values / rows.unit),
        gender=pl.Series(np.where(rows.second, genders[1], genders[0]), dtype=pl.String),
    )
    parts: list[ContributionSpec] = []
    if not finding.by:
        parts = [ContributionSpec("gender", g, Combination("weights", (g,), (1.0,))) for g in genders]
        return Contributions(
            _in_columns(table, ["gender"]),
            Combination("weights", genders, weights),
            _unit(choices),
            (*parts,),
        )
    kind = "*".join(finding.by)
    for key in _groups(finding):
        columns = tuple(column_of(key, gender) for gender in genders)
        parts.append(ContributionSpec(kind, key, Combination("weights", columns, weights)))
    value_rows = pl.concat([_in_columns(table, ["gender"]), _in_columns(table, [*finding.by, "gender"])])
    return Contributions(value_rows, Combination("weights", genders, weights), _unit(choices), (*parts,))


def _unit(choices: Choices) -> str:
    return choices.cluster or "sample"


def _labels(compared_run: ComparedRun, finding: Finding) -> Contributions | str:
    """Label association: whether a label of the kind is among the first of each image."""
    matches, annotations = compared_run.run.tables.get(MATCHES), compared_run.run.annotations
    if matches is None or annotations is None:
        return "it keeps no labels of single images; run it again, its answers are not asked anew"
    name = str(finding.params.get("association", HARMFUL))
    mine = matches.filter(pl.col("association") == name)
    if not mine.height:
        return f"it keeps nothing of {name}"
    threshold = float(str(finding.params["threshold"]))
    hit = (pl.col("confidence") >= threshold).fill_null(False).cast(pl.Float64)
    rows = mine.select("sample", value=hit).join(annotations, on="sample", how="inner", maintain_order="left")
    return _grouped(_with_unit(rows), finding)


def _with_unit(rows: pl.DataFrame) -> pl.DataFrame:
    """Samples of one person together; a person nobody names is one sample."""
    return rows.with_columns(unit=pl.col("subject") if "subject" in rows.columns else pl.lit(None, pl.String))


def _grouped(rows: pl.DataFrame, finding: Finding) -> Contributions:
    """Rates of groups, or how far these are apart; rows of sample, unit, value and attributes."""
    rows = rows.drop_nulls(list(finding.by))
    if finding.params.get("unknown") == "exclude":
        lower = [pl.col(name).cast(pl.String).str.to_lowercase() for name in finding.by]
        rows = rows.filter(~pl.any_horizontal(*(text.is_in(list(UNKNOWN)) for text in lower)))
    unit = "person" if rows["unit"].null_count() < rows.height else "sample"
    everyone = _in_columns(rows.with_columns(column=pl.lit(ALL)), ["column"])
    if not finding.by:
        return Contributions(everyone, Combination("weights", (ALL,), (1.0,)), unit)
    grouped = _in_columns(rows, finding.by)
    if finding.name.endswith("_gap"):
        apart = {column_of(str(name).split("*")) for name in _not_compared(finding)}
        columns = tuple(
            column
            for key in _groups(finding)
            if (column := column_of(key)) not in apart
            and not any(value.lower() in UNKNOWN for value in column.split(_MARK))
        )
        return Contributions(
            grouped.filter(pl.col("column").is_in(columns)), Combination("range", columns), unit
        )
    return Contributions(
        pl.concat([everyone, grouped]), Combination("weights", (ALL,), (1.0,)), unit, _rates(finding)
    )


def _not_compared(finding: Finding) -> list[str]:
    """Groups that a gap leaves out, as its notes name them."""
    excluded = [note.rpartition(": ")[2] for note in finding.notes if note.startswith("not compared")]
    return [name for listed in excluded for name in listed.split(", ")]


def _neighbours(compared_run: ComparedRun, finding: Finding) -> Contributions | str:
    """Retrieval of people: the share of each query's nearest pictures that match."""
    near, annotations = compared_run.run.tables.get("neighbours"), compared_run.run.annotations
    if near is None or annotations is None or "role" not in annotations.columns:
        return "it keeps no neighbours of single queries"
    match, k = str(finding.params["match"]).split("+"), int(str(finding.params["k"]))
    code = pl.concat_str([pl.col(name).cast(pl.String) for name in match], separator=_MARK).alias("_match")
    database = annotations.filter(pl.col("role") == "database").select("sample", code)
    queries = annotations.filter(pl.col("role") == "query").with_columns(code)
    is_known = ~pl.any_horizontal(*(pl.col(name).str.to_lowercase().is_in(list(UNKNOWN)) for name in match))
    is_in_database = pl.col("_match").is_in(database["_match"].drop_nulls().unique().implode())
    queries = queries.filter(is_known & is_in_database)
    first = near.filter(pl.col("rank") <= k).join(database, on="sample", how="left")
    pairs = first.join(queries.select(query="sample", asked="_match"), on="query", how="inner")
    same = (pl.col("_match") == pl.col("asked")).fill_null(False).cast(pl.Float64)
    shares = pairs.group_by("query").agg(value=same.sum() / k)
    rows = queries.join(shares.rename({"query": "sample"}), on="sample", how="inner", maintain_order="left")
    return _grouped(_with_unit(rows), finding)


def _households(compared_run: ComparedRun, finding: Finding) -> Contributions | str:
    """Geography: whether each image was recognised; each household counts once."""
    table = compared_run.run.tables.get(HITS)
    if table is None:
        return "it keeps no hits of single images"
    hits = HouseholdHits.from_hits(table).at(float(str(finding.params.get("threshold", 0.0))))
    weighting: Any = finding.params.get("weighting", _HOUSEHOLD)
    bound = BoundHits.of(hits, finding.by, weighting=weighting)
    columns = {"unit": pl.col(_HOUSEHOLD), "value": pl.col("hit").cast(pl.Float64)}
    concept = [pl.col("concept")] if "concept" in bound.rows.columns else []
    rows = bound.rows.with_columns(
        sample=pl.concat_str(_HOUSEHOLD, "image", *concept, separator=_MARK), **columns
    )
    images = rows
    if bound.pooled is not bound.rows:
        names = rows.unique("_household", keep="first").select("_household", _HOUSEHOLD)
        images = bound.pooled.join(names, on="_household").with_columns(
            sample=pl.concat_str(_HOUSEHOLD, "image", separator=_MARK), **columns
        )
    grouped = _in_columns(rows, finding.by) if finding.by else pl.DataFrame(schema=_SCHEMA)
    once = weighting == _HOUSEHOLD
    keys = [column_of(key) for key in _groups(finding)]
    if finding.card.sentences.more:
        groups = finding.params.get("groups")
        combination = Combination("range", tuple(keys))
        if isinstance(groups, list):
            combination = Combination(
                "weights", tuple(column_of(str(g).split("*")) for g in groups), (1.0, -1.0)
            )
        return Contributions(grouped, combination, _HOUSEHOLD, once=once, fixed=True)
    if "worst group" in finding.card.tags:
        return Contributions(grouped, Combination("least", tuple(keys)), _HOUSEHOLD, once=once, fixed=True)
    everyone = _in_columns(images.with_columns(column=pl.lit(ALL)), ["column"])
    overall = Combination("weights", (ALL,), (1.0,))
    return Contributions(pl.concat([everyone, grouped]), overall, _HOUSEHOLD, _rates(finding), once, True)


def _queries(compared_run: ComparedRun, finding: Finding) -> Contributions | str:
    """VisoGender's rankings: the figure of each query, which the finding's parts are."""
    rows = [(str(part.key), part.value) for part in finding.parts if part.value is not None]
    if not rows:
        return "it keeps no figure of single queries"
    kind = finding.parts[0].kind
    table = pl.DataFrame(rows, schema={"sample": pl.String, "value": pl.Float64}, orient="row")
    table = table.with_columns(unit=pl.col("sample"), column=pl.lit(ALL))
    combination = Combination("weights", (ALL,), (1.0,))
    return Contributions(_in_columns(table, ["column"]), combination, f"ranking of one {kind}", fixed=True)


def _associations(compared_run: ComparedRun, finding: Finding) -> Contributions | str:
    """MMBias: the association of each item of both sets."""
    table = compared_run.run.tables.get("contributions")
    if table is None:
        return "it keeps no associations of single items"
    params: Mapping[str, Any] = finding.params
    (x, y), (a, b) = params["targets"], params["attributes"]
    mine = table.filter(form=params.get("form") or "", x=x, y=y, a=a, b=b).filter(
        pl.col("role").is_in(["x", "y"])
    )
    unit = pl.col("item").replace(_units_of_words(compared_run.run.tables.get("members")))
    rows = mine.select(sample="item", unit=unit, column="role", value="association")
    return Contributions(
        rows, Combination("effect_size", ("x", "y"), (float(params.get("ddof", 1)),)), "item", fixed=True
    )


def _units_of_words(members: pl.DataFrame | None) -> dict[str, str]:
    """Targets that are words of a family to it: a family is drawn whole."""
    if members is None or "family" not in members.columns:
        return {}
    words = members.filter(pl.col("role") == "target").drop_nulls("family")
    return {item: f"family {family}" for item, family in words.select("item", "family").iter_rows()}


def _matches(compared_run: ComparedRun, finding: Finding) -> Contributions | str:
    """MMBias: how much likelier each image's best matches are of one set of words."""
    members, folder = compared_run.run.tables.get("members"), compared_run.run.folder
    parts = sorted((folder / "evidence" / MATCHES).glob("part-*.parquet")) if folder is not None else []
    if members is None or not parts:
        return "it keeps no match probabilities of single images"
    params: Mapping[str, Any] = finding.params
    if params["reading"] == "per_group":
        return "its words change with the images of a group"
    names = params["targets"]
    sets = {
        role: {name: members.filter(role=role, set=name)["sample"].to_list() for name in params[f"{role}s"]}
        for role in ("target", "attribute")
    }
    lost = (
        set(compared_run.run.tables["lost"].filter(role="target")["item"].to_list())
        if "lost" in compared_run.run.tables
        else set()
    )
    targets = {name: [item for item in items if item not in lost] for name, items in sets["target"].items()}
    similarities = Similarities.from_scores(pl.scan_parquet(parts), targets, sets["attribute"])
    ids, phi, first = match_items(
        similarities,
        targets=names,
        attributes=params["attributes"],
        k=int(params["k"]),
        reading=params["reading"],
    )
    columns = ["x"] * first + ["y"] * (len(ids) - first)
    table = pl.DataFrame({"sample": ids, "unit": ids, "column": columns, "value": phi}, schema=_SCHEMA)
    combination = Combination("weights", ("x", "y"), (1.0, -1.0))
    if params.get("standardised"):
        combination = Combination("effect_size", ("x", "y"), (1.0,))
    return Contributions(table, combination, "image", fixed=True)


def _compared_sets(compared_run: ComparedRun, finding: Finding) -> Contributions | str:
    """Items of two sets, or images with the words that match them."""
    read = _matches if "reading" in finding.params else _associations
    return read(compared_run, finding)


def _per_sample(compared_run: ComparedRun, finding: Finding) -> Contributions | str:
    """Any other metric: what its benchmark keeps of each sample, in shares of 1."""
    table = compared_run.run.tables.get(PER_SAMPLE)
    if table is None:
        return f"it keeps no table {PER_SAMPLE!r}"
    lacking = {"metric", "by", "sample", "unit", "part", "weight", "value"} - set(table.columns)
    if lacking:
        return f"its table {PER_SAMPLE!r} has no column {', '.join(sorted(lacking))}"
    rows = table.filter(pl.col("metric") == finding.name, pl.col("by") == finding.grouping)
    if not rows["value"].is_between(0, 1).all():
        return f"its table {PER_SAMPLE!r} has values that are not between 0 and 1"
    weights = dict(rows.select("part", "weight").unique(maintain_order=True).iter_rows())
    if not weights:
        return f"its table {PER_SAMPLE!r} has no row of it"
    columns = tuple(map(str, weights))
    combination = Combination("range", columns)
    if None not in weights.values():
        combination = Combination("weights", columns, tuple(map(float, weights.values())))
    return Contributions(_in_columns(rows, ["part"]), combination)


_READERS: dict[str, Callable[[ComparedRun, Finding], Contributions | str]] = {
    "pronouns": _choices,
    "labels": _labels,
    "households": _households,
    "neighbours": _neighbours,
    "rankings": _queries,
    "associations": _compared_sets,
}
"""How families of metrics are taken apart again; others by the table ``per_sample``."""
