"""Rows that the findings of each benchmark rest on, made from what a run kept for readers of its report.

A table has one row for each thing that a part's ``n`` counts. Its columns are called as kinds of parts are
(``gender``, ``occupation``, ``set``); a column that is called as a parameter of the findings (``template``,
``form``, ``k``) says to which of them a row belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from evenhand.evidence.choices import GENDERS
from evenhand.evidence.predictions.levels import ATTRIBUTE
from evenhand.runs.run_folder import OUTCOMES
from evenhand.workflows.outputs.drilled_pairs import pairs_of

if TYPE_CHECKING:
    from evenhand.runs.run_folder import RunFolder

_TRUTHS = {"occ_first": "occupation_perceived_gender", "par_first": "participant_perceived_gender"}
_NAMED = 5  # labels written out for an image
_MOST_NUMBERS = 200_000  # samples of which a report shows the first of each group


def rows_of(run: RunFolder) -> dict[str, pl.DataFrame]:
    """Every table of rows that can be made from what a run kept, by name; names end with ``/samples``."""
    annotations = run.annotations
    tables = {}
    for name, make in _MAKERS.items():
        table = make(run, annotations)
        if table is not None and table.height:
            tables[f"{name}/samples"] = table
    return tables


def _choices(run: RunFolder, annotations: pl.DataFrame | None) -> pl.DataFrame | None:
    """What was chosen for each image under each template; a tie is not decided here."""
    scores = _with(run, "scores", "sample", "template", "candidate", "score")
    if scores is None or annotations is None:
        return None
    from evenhand.benchmarks.visogender.data.settings import PAIRING, with_pairing

    names = {name for finding in run.findings for name in _candidates(finding.params)}
    candidate_scores = scores.filter(pl.col("candidate").is_in(list(names))) if names else scores
    is_complete = pl.col("score").is_not_null().all().over("sample", "template")
    best = pl.col("score") == pl.col("score").max().over("sample", "template")
    choices = (
        candidate_scores.filter(
            is_complete & (pl.len().over("sample", "template") == (len(names) or pl.len()))
        )
        .filter(best)
        .group_by("sample", "template", maintain_order=True)
        .agg(chosen=pl.col("candidate").str.join(" = "), score=pl.col("score").first())
    )
    rows = choices.join(annotations.drop("truth", strict=False), on="sample", maintain_order="left")
    genders = [
        pl.when(template=template).then(pl.col(column))
        for template, column in _TRUTHS.items()
        if column in rows.columns
    ]
    paired = with_pairing(rows).with_columns(gender=pl.coalesce(genders))
    columns = (
        "sample",
        "chosen",
        "gender",
        "occupation",
        "sector",
        "specialisation",
        "gender_pair",
        "context",
    )
    return paired.filter(pl.col("gender").is_in(GENDERS)).select(*columns, PAIRING, "template", "score")


def _candidates(params: Mapping[str, Any]) -> list[str]:
    return [name for name in str(params.get("candidates") or "").split("/") if name]


def _ranked(run: RunFolder, annotations: pl.DataFrame | None) -> pl.DataFrame | None:
    """Who stands where in each ranking of an occupation."""
    rankings = _with(run, "rankings", "query", "rank", "sample", "score", "context", "template")
    if rankings is None or annotations is None:
        return None
    people = annotations.select("sample", *_present(annotations, _TRUTHS.values()))
    rows = rankings.rename({"query": "occupation"}).join(people, on="sample", how="left")
    return rows.sort("context", "template", "occupation", "rank", maintain_order=True)


def _hits(run: RunFolder, annotations: pl.DataFrame | None) -> pl.DataFrame | None:
    """Images of homes, each with whether its thing was named."""
    del annotations
    hits = _with(run, "hits", "sample", "hit")
    return None if hits is None else hits.drop("image", strict=False)


def _neighbours(run: RunFolder, annotations: pl.DataFrame | None) -> pl.DataFrame | None:
    """Images that were searched with, each with how many of its first k neighbours are like it."""
    neighbours = _with(run, "neighbours", "query", "rank", "sample")
    searches = {
        (finding.params["match"], finding.params["k"])
        for finding in run.findings
        if {"match", "k"} <= set(finding.params)
    }
    if neighbours is None or annotations is None or not searches:
        return None
    tables = []
    for match, k in sorted(searches, key=str):
        names = match if isinstance(match, list) else [match]
        value = annotations.select("sample", value=pl.concat_str(names, separator=" × "))
        nearest = neighbours.filter(pl.col("rank") <= k).join(value, on="sample", how="left")
        nearest = nearest.join(value, left_on="query", right_on="sample", how="left", suffix="_own")
        counts = nearest.group_by("query", maintain_order=True).agg(
            alike=(pl.col("value") == pl.col("value_own")).sum().cast(pl.Int64),
            nearest=pl.col("sample").first(),
        )
        tables.append(counts.with_columns(k=pl.lit(str(k))))
    about = annotations.filter(role="query") if "role" in annotations.columns else annotations
    return pl.concat(tables).rename({"query": "sample"}).join(about, on="sample", maintain_order="left")


def _labels(run: RunFolder, annotations: pl.DataFrame | None) -> pl.DataFrame | None:
    """Images of people, each with the labels that it was given first."""
    metric_names = {finding.name for finding in run.findings}
    if annotations is None or run.folder is None or "label_association_rate" not in metric_names:
        return None
    parts = sorted((run.folder / "evidence" / "predictions").glob("part-*.parquet"))
    if not parts:
        return None
    label_text = pl.format("{} {}", "prediction", pl.col("confidence").round(3))
    first = (
        pl.scan_parquet(parts)
        .filter(pl.col("rank") <= _NAMED)
        .sort("sample", "rank")
        .group_by("sample", maintain_order=True)
        .agg(labels=label_text.str.join(", "))
    )
    return first.collect().join(annotations, on="sample", maintain_order="left")


def _items(run: RunFolder, annotations: pl.DataFrame | None) -> pl.DataFrame | None:
    """Items of each set with how much nearer they are to one side's words; pairs of sets share them."""
    del annotations
    contributions = _with(run, "contributions", "form", "x", "y", "a", "b", "role", "item", "association")
    if contributions is None:
        return None
    compared = contributions.filter(pl.col("role").is_in(["x", "y"])).select(
        sample="item",
        set=pl.when(role="x").then("x").otherwise("y"),
        association="association",
        attributes=pl.concat_str("a", "b", separator="/"),
        form="form",
    )
    return compared.unique(["sample", "set", "attributes", "form"], maintain_order=True)


def _pairs(run: RunFolder, annotations: pl.DataFrame | None) -> pl.DataFrame | None:
    """Items with words, where findings are about single ones."""
    del annotations
    kinds = {part.kind for finding in run.findings for part in finding.parts}
    return pairs_of(run) if kinds & {"item", "word"} else None


def _matched(run: RunFolder, annotations: pl.DataFrame | None) -> pl.DataFrame | None:
    """Images of each set with the words that match them best."""
    members = _with(run, "members", "role", "set", "item", "sample")
    metric_names = {finding.name for finding in run.findings}
    if (
        members is None
        or annotations is None
        or run.folder is None
        or "match_association" not in metric_names
    ):
        return None
    parts = sorted((run.folder / "evidence" / "matches").glob("part-*.parquet"))
    if not parts:
        return None
    best = (
        pl.scan_parquet(parts)
        .sort("score", descending=True, maintain_order=True)
        .group_by("sample", maintain_order=True)
        .agg(likeliest=pl.col("candidate").head(_NAMED).str.join(", "), highest=pl.col("score").max())
    )
    images = members.filter(role="target").select("item", "set", "sample")
    return images.join(best.collect(), on="sample", maintain_order="left").select(pl.exclude("item"))


def _halves(run: RunFolder, annotations: pl.DataFrame | None) -> pl.DataFrame | None:
    """Items of each set with the half that they were in."""
    del annotations
    halves = _with(run, "halves", "role", "sample", "half", "sets")
    if halves is None:
        return None
    return halves.filter(role="target").explode("sets").select("sample", set="sets", half="half")


def _numbers(run: RunFolder, annotations: pl.DataFrame | None) -> pl.DataFrame | None:
    """Samples with their number, the worst first."""
    del annotations
    outcomes = _with(run, OUTCOMES, "sample", "value")
    if outcomes is None or run.manifest.get("kind") != "numbers":
        return None
    rows = outcomes.filter(outcome=run.manifest["value"])
    rows = worst_first(rows, run.manifest.get("better")).head(_MOST_NUMBERS)
    attributes = {name: name.removeprefix(ATTRIBUTE) for name in rows.columns if name.startswith(ATTRIBUTE)}
    return rows.rename(attributes).select("sample", pl.col("value").alias("number"), *attributes.values())


def worst_first(outcomes: pl.DataFrame, better: object) -> pl.DataFrame:
    """Rows of numbers of which ``high`` or ``low`` ones are better."""
    return outcomes.sort("value", descending=better == "low", maintain_order=True)


def _with(run: RunFolder, name: str, *columns: str) -> pl.DataFrame | None:
    """A table of the run, if it has these columns."""
    table = run.tables.get(name)
    return table if table is not None and set(columns) <= set(table.columns) else None


def _present(table: pl.DataFrame, columns: Any) -> list[str]:
    return [column for column in columns if column in table.columns]


_MAKERS: Mapping[str, Callable[[RunFolder, pl.DataFrame | None], pl.DataFrame | None]] = {
    "choices": _choices,
    "ranked": _ranked,
    "hits": _hits,
    "neighbours": _neighbours,
    "labels": _labels,
    "items": _items,
    "pairs": _pairs,
    "matched": _matched,
    "halves": _halves,
    "numbers": _numbers,
}
