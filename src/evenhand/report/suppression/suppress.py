"""Small cells hidden before anything is drawn, so that no place of the page or its downloads holds them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from evenhand.core.cards import Model
from evenhand.core.errors import InputError
from evenhand.core.findings import Findings, TableWarning
from evenhand.core.significance import ALPHA, alpha_of
from evenhand.report.content import DrawnTable, ReportInput
from evenhand.report.suppression.families import corrected_apart
from evenhand.report.suppression.findings import COUNTS, REASON, HiddenFindings

if TYPE_CHECKING:
    import polars

__all__ = ["COUNTS", "REASON", "suppressed", "suppressed_findings"]

_HIDDEN = "hidden"
_TOLD = ("dropped", "notes", "unanswered", "reasons")  # entries of a manifest that count rows
_BESIDE = ("rows", "asked", "unanswered")
_ALL_ROWS = ("rows", "asked", "limit", "samples", "images", "total", "n")
_OF_ROWS = ("relabelled", "repeated_ids")
_PROVENANCE = ("sha256", "size")
_HASH = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{64}(?![0-9A-Za-z])")
_WHY_NOT = re.compile(r"(are not matched): .*?(?=\. They are compared)")  # it names single samples
_REFUSED = "grouping_suppressed"
_PAIRED = "same samples"
_HARMLESS = ("answer_kinds",)  # the page itself tells nothing of it where a count is small
_COMPARED = ("values", "ranking", "rank_shares", "mev_ranks")


def suppressed(content: ReportInput, fewest: int) -> ReportInput:
    """A run's content without cells of fewer than ``fewest`` rows, and without what would give them away.

    Hidden are, in this order:

    1. Every count above 0 and below ``fewest``: of findings, groups, classes and other parts, of rows left
       out, of cells of truth, group and prediction.
    2. Counts beside them, until none follows from the sums between all that is shown (see ``MarginSums``):
       groups, classes, crossed groups and their margins, cells by row and column, rows left out, and the
       rows by which groupings differ.
    3. The value of a part that is hidden, and of a finding of which a group or part is; a rate over all rows
       stays where it is the mean of its parts: it is one of the sums.
    4. Effect sizes of a class with a hidden cell, and what is made of fewer than 200 of them; with any hidden
       cell of a grouping, its differences of shares and its V of all rows; where no counts say what the cells
       are, all of these.
    5. Gaps within a part, unless both of their rates are shown; parts on the first k images of a query; parts
       of few households, and those beside them.
    6. Of a comparison, differences by class, how many samples flip, and the tests and intervals that would
       tell it: always in parts and of what groups make, in the whole where few flip; all parts where the
       models' samples differ; orders of models unless all answered the same rows.
    7. Single samples; cells of a grouping beside a coarser one; tables and drawings that may repeat what is
       hidden; notes, warnings and details that are not known to be harmless.
    8. A whole grouping, the later first, where those shown would tell a small count together, such as how
       many rows lack two attributes; a warning says so.
    9. Hashes and sizes of what was counted: whoever guesses hidden counts could check the guess. The run's
       identity is that of what is shown. Beside a hidden test others are corrected by their number alone.

    A hidden count is ``-fewest``, written as ``hidden``, whether it was small or protects another; 0 is no
    secret; rows count, whatever they weigh. Promised: no count that is hidden for being small can be worked
    out from this report; other counts fit as well. Not promised: it may be known within bounds; a rate over
    many rows tells how many are right, however few; draws repeated with guesses, other reports on overlapping
    rows and knowledge of some rows may tell more. This is not differential privacy.
    """
    _check(fewest)
    if fewest == 0:
        return content
    n_rows = _rows_of(content.manifest)
    hidden = _over_all_groupings(content, fewest, n_rows)
    findings = _findings(content.findings, hidden, alpha_of(content.manifest))
    return replace(
        content,
        findings=findings,
        manifest=_with_refusals(_manifest(content.manifest, fewest, hidden), findings, hidden),
        tables={
            name: shown_table
            for name, table in content.tables.items()
            if (shown_table := _table(name, table, fewest, hidden, n_rows)) is not None
        },
        evidence=_evidence(content.evidence, fewest, hidden),
        drawn=[_not_drawn(artifact) if hidden.changed else artifact for artifact in content.drawn],
        cases={},
        fewest=fewest,
    )


def _rows_of(manifest: Mapping[str, Any]) -> float | None:
    rows = manifest.get("rows")
    return float(rows) if isinstance(rows, int | float) and not isinstance(rows, bool) else None


def _with_refusals(manifest: dict[str, Any], findings: Findings, hidden: HiddenFindings) -> dict[str, Any]:
    """The manifest with the identity of what is shown, and the groupings that are left out."""
    if "manifest_id" in manifest:
        manifest["manifest_id"] = findings.manifest_id
    if hidden.refused:
        refusals = [warning.message for warning in findings.warnings if warning.code == _REFUSED]
        manifest["warnings"] = [*(manifest.get("warnings") or []), *refusals]
    return manifest


def suppressed_findings(
    findings: Findings, fewest: int, cells: Mapping[str, polars.DataFrame] | None = None
) -> Findings:
    """Findings alone, with the same hidden as in a report: see ``suppressed``.

    ``cells`` are the run's counts by name (``truth``, attributes, ``prediction``, ``n``). Without them
    nothing says how small the cells of a class are: effect sizes and differences of shares are hidden.
    """
    _check(fewest)
    if fewest == 0:
        return findings
    content = ReportInput(findings, {}, evidence=dict(cells or {}))
    return _findings(findings, _over_all_groupings(content, fewest, None), ALPHA)


def _over_all_groupings(content: ReportInput, fewest: int, n_rows: float | None) -> HiddenFindings:
    """What is hidden, with groupings left out until those that are shown tell no small count together."""
    from evenhand.report.suppression.groupings import refused, told_by

    findings = content.findings.findings
    groupings = list(dict.fromkeys(tuple(finding.by) for finding in findings if finding.by))
    tables = {**content.evidence, **content.weighted_rows}

    def without(left_out: Collection[tuple[str, ...]]) -> HiddenFindings:
        return HiddenFindings(findings, fewest, n_rows, content.evidence, content.weighted_rows, left_out)

    def tell(remaining: Sequence[tuple[str, ...]]) -> bool:
        hidden = without(set(groupings) - set(remaining))
        rows = None if hidden.rows_tell else n_rows
        return told_by(hidden.shown, hidden.shown_cells, tables, rows, fewest)

    return without(refused(groupings, tell))


def _findings(findings: Findings, hidden: HiddenFindings, alpha: float) -> Findings:
    """Findings with small counts hidden, and warnings without any count: theirs are of single labels."""
    warnings = [
        warning.model_copy(
            update={
                "message": f"{warning.code.replace('_', ' ')}"
                + (f" in {', '.join(map(repr, warning.columns))}" if warning.columns else "")
                + "; the counts are hidden, because cells of few rows are",
                "values": [],
            }
        )
        for warning in findings.warnings
    ]
    warnings += [
        TableWarning(
            code=_REFUSED,
            columns=list(by),
            message=f"by {' and '.join(map(repr, by))} is hidden: beside the other groupings of this run it "
            "would tell counts of few rows; audit by it alone to show it",
        )
        for by in sorted(hidden.refused)
    ]
    sizes = [finding.n for finding in findings]
    sizes += [part.n for finding in findings for part in finding.parts]
    is_weighted = not all(map(float.is_integer, sizes))
    visible = corrected_apart(findings.findings, hidden.findings, alpha)
    visible = _rounded(visible) if is_weighted else visible
    visible_findings = findings.model_copy(
        update={"findings": visible, "warnings": warnings, "manifest_id": ""}
    )
    identity = hashlib.sha256(
        visible_findings.dump()
    ).hexdigest()  # of what is shown: it checks no guess at the rest
    return visible_findings.model_copy(update={"manifest_id": identity})


def _rounded(entry: Any) -> Any:
    """Numbers to 12 digits: later ones tell in which order weights were added up, hidden rows among them."""
    if isinstance(entry, Model):
        return entry.model_copy(
            update={name: _rounded(getattr(entry, name)) for name in entry.model_fields_set}
        )
    if isinstance(entry, Mapping):
        return {name: _rounded(value) for name, value in entry.items()}
    if isinstance(entry, list):
        return [_rounded(value) for value in entry]
    return float(f"{entry:.12g}") if isinstance(entry, float) else entry


def _check(fewest: int) -> None:
    if fewest < 0:
        raise InputError(
            f"--suppress {fewest} is below 0; give the fewest rows to show, such as --suppress 10"
        )


def _not_drawn(drawn_table: DrawnTable) -> DrawnTable:
    title = f"{drawn_table.title} (hidden: it may repeat what this report hides)"
    return replace(drawn_table, table=drawn_table.table.clear(), figures=(), title=title)


def _evidence(
    tables: Mapping[str, polars.DataFrame], fewest: int, hidden: HiddenFindings
) -> dict[str, polars.DataFrame]:
    """Cells that may be shown, a table for each grouping; a group of several attributes in its columns."""
    import polars

    shown_tables = {}
    for (name, by), cells in hidden.cells.items():
        counts = tables[name].drop_nulls(["truth", "prediction", *by])
        summed = counts.group_by("truth", *by, "prediction", maintain_order=True).agg(
            polars.col("n").sum().cast(polars.Float64)
        )
        keys = summed.select(
            polars.col("truth").cast(polars.String),
            *(polars.col(column).cast(polars.String).alias(f"{index}") for index, column in enumerate(by)),
            polars.col("prediction").cast(polars.String),
        )
        tuples = [(truth, tuple(group), prediction) for truth, *group, prediction in keys.iter_rows()]
        is_shown = [not hidden.small.cell_hidden(name, by, *key) if key in cells else None for key in tuples]
        marked = summed.with_columns(shown=polars.Series(is_shown, dtype=polars.Boolean)).drop_nulls("shown")
        digits = polars.col("n").round_sig_figs(12)
        shown_n = polars.when("shown").then(digits).otherwise(float(-fewest)).alias("n")
        shown_tables["+".join(by) + "|" + name] = marked.with_columns(shown_n).drop("shown")
    return shown_tables


def _table(
    name: str, table: polars.DataFrame, fewest: int, hidden: HiddenFindings, n_rows: float | None
) -> polars.DataFrame | None:
    """A table as the page may use it; None where it may not."""
    import polars

    columns = set(table.columns)
    if name == "pairing" and "samples" in columns:
        samples, shown_n = polars.col("samples"), [int(finding.n) for finding in hidden.shown]
        is_known = samples.is_null() | samples.is_in(shown_n)
        joined = polars.col("compared") == _PAIRED
        return table.with_columns(
            samples=polars.when(is_known).then(samples).otherwise(-fewest),
            reason=polars.when(joined).then("reason"),  # why not: it names single samples
        )
    touched = ["+".join(by) for by in hidden.touched]
    if name in _COMPARED and "by" in columns:
        untouched = table.filter(~polars.col("by").is_in(touched))
        if "n" in columns:
            return _of_alike_rows(untouched, fewest)
        return untouched if hidden.of_same_rows(n_rows) else None
    if name == "coverage":
        return None if hidden.changed else table
    return table if name in _HARMLESS else None


def _of_alike_rows(values: polars.DataFrame, fewest: int) -> polars.DataFrame:
    """Values side by side, without those of few rows, or where a model has a few rows more than another."""
    import polars

    known = values.filter(polars.col("n") >= fewest)
    keys = [column for column in ("by", "metric", "params") if column in known.columns]
    apart = polars.col("n").sort().diff().is_between(1e-6, fewest - 1e-6).any().over(keys)
    return known.filter(~apart)


def _manifest(manifest: Mapping[str, Any], fewest: int, hidden: HiddenFindings) -> dict[str, Any]:
    """Without small counts, without the number of rows where that would tell them, and without warnings."""
    result: dict[str, Any] = _without_provenance(_counts_hidden(manifest, fewest))
    if hidden.rows_tell:
        rows = {row for row in _all_rows(manifest) if row >= fewest}
        result = _without_rows(result, rows)
        if "rows" in result:
            result["rows"] = _HIDDEN
    if result.get("warnings"):
        without_digits = hidden.changed or manifest.get("kind") == "audit"
        warnings = [_WHY_NOT.sub(r"\1", str(warning)) for warning in result["warnings"]]
        result["warnings"] = [
            warning for warning in warnings if not without_digits or not any(map(str.isdigit, warning))
        ]
    return result


def _without_provenance(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Without sizes and hashes of what was counted, and without how many rows had another label before.

    A model's identity stays: its weights are not what was counted.
    """
    return {
        name: entry if name == "model_identity" else _without_hashes(entry)
        for name, entry in manifest.items()
        if name not in _OF_ROWS
    }


def _without_hashes(entry: object) -> Any:
    if isinstance(entry, Mapping):
        return {name: _without_hashes(value) for name, value in entry.items() if name not in _PROVENANCE}
    if isinstance(entry, list):
        return [_without_hashes(value) for value in entry]
    return _HASH.sub(_HIDDEN, entry) if isinstance(entry, str) else entry


def _counts_hidden(entry: object, fewest: int, *, counts: bool = False) -> Any:
    """Counts of what was dropped or not answered, wherever it stands; with a small one, those beside it."""
    if isinstance(entry, Mapping):
        own_counts = {name: value for name, value in entry.items() if counts or name in _BESIDE}
        tells = counts or "unanswered" in own_counts
        small = tells and any(_is_count(value) and 0 < value < fewest for value in own_counts.values())
        return {
            name: _HIDDEN
            if small and name in own_counts and _is_count(value)
            else _counts_hidden(value, fewest, counts=counts or name in _TOLD)
            for name, value in entry.items()
        }
    if isinstance(entry, list):
        return [_counts_hidden(value, fewest, counts=counts) for value in entry]
    return _HIDDEN if counts and _is_count(entry) and 0 < entry < fewest else entry


def _all_rows(entry: object, name: str = "") -> set[int]:
    """How many rows there are, wherever a manifest says so."""
    if isinstance(entry, Mapping):
        return {row for key, value in entry.items() for row in _all_rows(value, str(key))}
    if isinstance(entry, list):
        return {row for value in entry for row in _all_rows(value, name)}
    return {entry} if name in _ALL_ROWS and _is_count(entry) else set()


def _without_rows(entry: object, rows: Collection[int]) -> Any:
    """The same where none of these numbers stands, neither as a number nor as a word of a command."""
    if isinstance(entry, Mapping):
        return {name: _without_rows(value, rows) for name, value in entry.items()}
    if isinstance(entry, list):
        return [_without_rows(value, rows) for value in entry]
    if isinstance(entry, str):
        numbers = "|".join(map(str, sorted(rows)))
        return re.sub(rf"(?<![\w.:-])(?:{numbers})(?![\w.:-])", _HIDDEN, entry) if rows else entry
    return _HIDDEN if _is_count(entry) and entry in rows else entry


def _is_count(entry: object) -> TypeGuard[int]:
    return isinstance(entry, int) and not isinstance(entry, bool)
