"""What the parts of a chapter rest on: cells of counts, or rows of samples, found by a part's key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.core.findings import Finding, Key, Part
from evenhand.core.unseen import visible
from evenhand.display.text.formatting import key_text, visible_label
from evenhand.report import facets
from evenhand.report.chapters import Chapter
from evenhand.report.views.frames import PageData

if TYPE_CHECKING:
    import polars

    from evenhand.report.content import ReportInput

MOST_ROWS = 24_000
"""Rows of evidence on a page, over all chapters: what a browser reads in a moment."""

_A_CHAPTER = 6_000
MOST_PICTURES = 300
"""Thumbnails on a page: some three kilobytes each."""

_PICTURES_OF_A_CELL = 4
_OF_A_CELL = 20  # samples kept of each combination of truth and group, where all are too many
_GROUP = "group"
_ALWAYS = ("sample", "truth", "prediction", _GROUP, "n", "share", "picture")  # others only where they differ
_BY_ANSWER: Mapping[str, Mapping[str, str]] = {"skewsize_sufficiency": {"class": "prediction"}}
"""Findings whose classes are what was answered, not what was true."""

Conditions = dict[str, list[str]]


def add_evidence(data: PageData, chapter: Chapter, content: ReportInput, budget: int) -> list[dict[str, Any]]:
    """Keep a chapter's evidence as frames: cells of counts; samples where there are none, or with pictures.

    For each frame its name, its columns, what it holds (``cells`` or ``samples``), the kinds of parts that
    rest on it, how many rows were kept (at most ``budget``) and left out, the column that holds each kind's
    key, and for findings that are about some of the rows only, which.
    """
    kinds = {rests_on(finding, part)[0] for finding in chapter.findings for part in finding.parts}
    tables = content.evidence.values()
    cells = [table for table in tables if {"truth", "prediction", "n"} <= set(table.columns)]
    samples = [table for table in tables if "n" not in table.columns]
    views = []
    for table, about in _chosen(cells, chapter.by, kinds)[:1]:
        views.append(
            _add_view(data, chapter, _cells(table, chapter.by, content.fewest), budget, ("cells", about))
        )
    shown_kinds = {kind for view in views if view for kind in view["kinds"]}
    for table, about in _chosen(samples, chapter.by, kinds if content.pictures else kinds - shown_kinds):
        rows = _samples(table, chapter, min(budget, _A_CHAPTER))
        if content.pictures is not None and "sample" in rows.columns:
            rows = _with_pictures(rows, data, content.pictures)
        views.append(_add_view(data, chapter, rows, budget, ("samples", about)))
    return [view for view in views if view]


def rests_on(finding: Finding, part: Part) -> tuple[str, Key]:
    """The axes of the rows that a part counts, and its key on them: kind and key, if it is called by them."""
    axes = finding.card.rests_on.get(part.kind)
    if axes is None:
        return part.kind, part.key
    key, attributes = [part.key] if isinstance(part.key, str) else part.key, len(finding.by)
    has_class = len(key) > attributes  # a class stands before the group, a label after it
    group = key[1 : 1 + attributes] if has_class else key
    return axes, [key[0], *group] if axes.startswith("class") else group


def _chosen(
    tables: Sequence[polars.DataFrame], by: Sequence[str], kinds: set[str]
) -> list[tuple[polars.DataFrame, list[str]]]:
    """The first table for each kind of part, with the kinds that it is taken for."""
    selected = []
    left = set(kinds)
    for table in tables:
        has = {*table.columns, *(["group"] if by else []), *(["class"] if "truth" in table.columns else [])}
        about = sorted(kind for kind in left if set(kind.split("*")) <= has)
        if about and set(by) <= has:
            selected.append((table, about))
            left -= set(about)
    return selected


def _conditions(finding: Finding, columns: Sequence[str]) -> Conditions:
    """Which values rows must have to be a finding's: its parameters, and its selection ``where``."""
    params = {name: value for name, value in finding.params.items() if value is not None}
    conditions = {
        name: ["/".join(map(str, value)) if isinstance(value, list) else str(value)]
        for name, value in params.items()
        if name in columns
    }
    for condition in str(params.get("where", "")).split(","):
        name, _, values = condition.partition("=")
        if name in columns:
            conditions[name] = values.split("|")
    return conditions


def _mine(rows: polars.DataFrame, chapter: Chapter) -> polars.DataFrame:
    """Rows that some finding of the chapter is about."""
    import polars

    columns = [name for name in rows.columns if name != _GROUP]
    all_conditions = [_conditions(finding, columns) for finding in chapter.findings]
    if not all(all_conditions):
        return rows
    tests = [
        polars.all_horizontal(
            polars.col(name).cast(polars.String).is_in(values) for name, values in conditions.items()
        )
        for conditions in all_conditions
    ]
    return rows.filter(polars.any_horizontal(tests))


def _when(chapter: Chapter, columns: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """For the tables of parts, by what they are about: how labels begin, and the rows that belong to them."""
    varying = facets.varying(chapter.findings) if chapter.faceted else ()
    selections: dict[str, list[dict[str, Any]]] = {}
    for finding in chapter.findings:
        about = finding.name if chapter.faceted else finding.metric
        prefix = facets.row_params(finding, varying) if varying else ""
        needed = _conditions(finding, columns)
        if finding.parts and needed:
            selections.setdefault(about, []).append(
                {
                    "told": visible(prefix),
                    "rows": {name: list(map(visible_label, of)) for name, of in needed.items()},
                }
            )
    return selections


def _axes(chapter: Chapter) -> dict[str, Mapping[str, str]]:
    """Kinds whose keys are in another column, by what the tables of parts are about."""
    return {
        finding.name if chapter.faceted else finding.metric: _BY_ANSWER[finding.name]
        for finding in chapter.findings
        if finding.name in _BY_ANSWER
    }


def _cells(table: polars.DataFrame, by: Sequence[str], fewest: int) -> polars.DataFrame:
    """Cells of truth, group and prediction, each with its share of the rows of this truth and group."""
    import polars

    rows = _grouped(table, by).drop_nulls([_GROUP, "truth", "prediction"])
    summed = rows.group_by("truth", _GROUP, "prediction")
    cells = summed.agg(polars.col("n").sum().cast(polars.Float64))
    total = polars.col("n").sum().over("truth", _GROUP)
    hidden = polars.col("n") < fewest
    # One share beside its count gives the total, and so the one cell that is hidden.
    is_complete = ~hidden.any().over("truth", _GROUP)
    cells = cells.with_columns(share=polars.when(is_complete).then(polars.col("n") / total))
    return cells.with_columns(n=polars.when(hidden).then(float(-fewest)).otherwise(polars.col("n")))


def _samples(table: polars.DataFrame, chapter: Chapter, most: int) -> polars.DataFrame:
    """The rows of a chapter, mistakes ahead; where they are too many, the first of each kind of part."""
    import polars

    kinds = {kind for finding in chapter.findings for part in finding.parts for kind in part.kind.split("*")}
    rows = _mine(_grouped(table, chapter.by), chapter)
    rows = rows.drop_nulls(_GROUP) if chapter.by else rows
    about = [column for column in rows.columns if column in {*kinds, "truth", _GROUP}]
    if {"truth", "prediction"} <= set(rows.columns):
        rows = rows.sort(
            polars.col("truth") == polars.col("prediction").cast(polars.String), maintain_order=True
        )
    if rows.height > most and about:
        return rows.group_by(about, maintain_order=True).head(_OF_A_CELL)
    return rows


def _with_pictures(
    rows: polars.DataFrame, data: PageData, pictures: Callable[[Sequence[str]], Mapping[str, str]]
) -> polars.DataFrame:
    """The first of each truth and group, with their thumbnails."""
    import polars

    cell_columns = [column for column in ("truth", _GROUP) if column in rows.columns]
    selected_rows = rows.group_by(*cell_columns, maintain_order=True).head(_PICTURES_OF_A_CELL)
    n_pictures = sum(
        view["rows"] for views in data.evidence.values() for view in views if view["of"] == "samples"
    )
    selected_rows = selected_rows.head(max(MOST_PICTURES - n_pictures, 0))
    thumbnails = pictures(selected_rows["sample"].to_list())
    addresses = [thumbnails.get(sample) for sample in selected_rows["sample"]]
    pictured = selected_rows.with_columns(picture=polars.Series(addresses, dtype=polars.String))
    return pictured.select("sample", "picture", polars.exclude("sample", "picture"))


def _grouped(table: polars.DataFrame, by: Sequence[str]) -> polars.DataFrame:
    """With the group as the keys of parts say it, if there is a grouping."""
    import polars

    parts = [polars.col(column).cast(polars.String) for column in by]
    crossed = polars.concat_str(parts, separator=key_text(["", ""])) if by else None
    grouped = table if crossed is None else table.with_columns(crossed.alias(_GROUP))
    return (
        grouped.with_columns(polars.col("truth").cast(polars.String))
        if "truth" in grouped.columns
        else grouped
    )


def _in_order(rows: polars.DataFrame, chapter: Chapter) -> polars.DataFrame:
    """Classes as the chapter ranks them, the most frequent answers first."""
    import polars

    ranked = [key_text(part.key) for part in chapter.ranked]
    places = {name: rank for rank, name in enumerate(ranked)}
    first = polars.col("truth").replace_strict(places, default=len(places), return_dtype=polars.Int64)
    if "truth" not in rows.columns:
        return (
            rows if "rank" in rows.columns else rows.sort(_GROUP if chapter.by else [], maintain_order=True)
        )
    ahead = ["__place", "truth", *([_GROUP] if chapter.by else [])]
    order = rows.with_columns(__place=first)
    if {"n", "prediction"} <= set(rows.columns):
        downward = [False, False, False, True, False]
        return order.sort(*ahead, "n", "prediction", descending=downward).drop("__place")
    return order.sort(*ahead, maintain_order=True).drop("__place")


def _add_view(
    data: PageData, chapter: Chapter, rows: polars.DataFrame, budget: int, what: tuple[str, list[str]]
) -> dict[str, Any]:
    of, kinds = what
    rows = _in_order(rows, chapter)
    shown_rows = rows.head(max(min(budget, _A_CHAPTER), 0))
    if not shown_rows.height:
        return {}
    name = f"{chapter.id}-{of}-{kinds[0]}"
    numeric = [column for column, dtype in shown_rows.schema.items() if dtype.is_numeric()]
    texts = {
        column: [None if cell is None else str(cell) for cell in shown_rows[column]]
        for column in shown_rows.columns
        if column not in numeric
    }
    data.add_frame(name, {column: shown_rows[column].to_list() for column in numeric}, texts)
    shown_as = {"n": "count", "rank": "count", "picture": "picture"}
    columns = [
        {
            "key": column,
            "title": visible(column.replace("_", " ")),
            "kind": shown_as.get(column, "number" if column in numeric else "label"),
        }
        for column in shown_rows.columns
        if shown_rows[column].n_unique() > 1 or column in _ALWAYS
        if column != _GROUP
        or chapter.by != tuple(name for name in chapter.by[:1] if name in shown_rows.columns)
    ]
    aliases = {"class": "truth", "group": _GROUP}
    return {
        "frame": name,
        "kinds": kinds,
        "columns": columns,
        "keys": {column: column for column in texts}
        | {kind: column for kind, column in aliases.items() if column in texts},
        "when": _when(chapter, [name for name in texts if name != _GROUP]),
        "axes": _axes(chapter),
        "of": of,
        "rows": shown_rows.height,
        "left": rows.height - shown_rows.height,
    }
