"""Association tests, as one table for each form: all pairs with what chance gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from evenhand.cli.summaries.text import (
    NUMBERS,
    FamilyLayout,
    FindingTable,
    about_intervals,
    clean,
    notes_by_row,
    number_cells,
    reasons,
)
from evenhand.core.findings import Finding
from evenhand.core.frames import grouped
from evenhand.core.significance import alpha_of
from evenhand.display.text.formatting import DASH
from evenhand.workflows.outputs.result import Run

_FAMILY = "associations"
_READINGS: Mapping[str, str] = {
    "per_image_joint": "of the most probable words of each image",
    "per_image_joint_share": "of the most probable words of each image, counted",
    "per_image_per_set": "of the most probable words of each image and set",
    "per_group": "of the most probable words of each group",
}
Key = tuple[str, ...]


def lost_items(run: Run) -> dict[str, int]:
    """How many items association tests left out, by reason: each once, however many tests would have it."""
    if "lost" not in run.tables:
        return {}
    return Counter(run.tables["lost"].unique(["role", "item", "reason"])["reason"].to_list())


def _tables(run: Run, findings: Sequence[Finding]) -> Iterator[FindingTable]:
    """One for each form (reading); single sets and contributions stay in the folder."""
    differences = {_pair(finding): finding for finding in findings if not _is_comparison(finding)}
    for heading, mine in grouped(filter(_is_effect, findings), _heading).items():
        last = []
        if any("template_low" in finding.details for finding in mine):
            last = ["over templates"]
        elif any(_pair(finding) in differences for finding in mine):
            last = ["difference"]
        rows = [
            {
                "pair": _pair_name(finding),
                **number_cells(finding, alpha_of(run.manifest)),
                "difference": _difference(differences.get(_pair(finding))),
                "over templates": _range(finding),
            }
            for finding in mine
        ]
        undefined = [finding for finding in mine if finding.value is None]
        notes = notes_by_row(undefined, _pair_name, most=300)
        lines = [*about_intervals(mine, _pair_name), *reasons(mine), *notes]
        yield FindingTable(clean(", ".join(heading), 400), ("pair", *NUMBERS, *last), rows, lines)


def _after(run: Run, _: Sequence[Finding]) -> Iterator[str]:
    yield from _pleasant(run.findings.findings)
    yield from _untested(run)
    members = run.tables.get("members", pl.DataFrame())
    if "family" in members.columns:
        words = members.drop_nulls("family").unique(["item", "family"]).sort("family", "item")
        families = words.group_by("family", maintain_order=True).agg("item").rows()
        if families:
            text = "; ".join(f"{family} ({', '.join(items)})" for family, items in families)
            yield f"each family of words counts as one unit (tables/members): {clean(text, 300)}"
    if "traps" in run.tables and run.tables["traps"].height:
        text = _counted(Counter(run.tables["traps"]["kind"].to_list()))
        yield f"to know about the sets (tables/traps): {clean(text, 300)}"


def _untested(run: Run) -> Iterator[str]:
    """Pairs that a form has nothing to test with."""
    rows = run.tables["tests"].to_dicts() if "tests" in run.tables else []
    by_form: dict[str, Counter[str]] = {}
    for row in rows:
        if not row.get("tested", True):
            by_form.setdefault(str(row["form"]), Counter())[row["reason"]] += 1
    for form, reasons_of_form in by_form.items():
        yield (
            f"not tested: {reasons_of_form.total()} pairs, {clean(form)}: "
            f"{clean(_counted(reasons_of_form), 300)}"
        )


def _counted(counts: Counter[str]) -> str:
    return "; ".join(f"{name} ({count})" for name, count in counts.items())


def _has_line(finding: Finding) -> bool:
    """Whether it is a comparison, or one before it is divided by a spread."""
    return _is_comparison(finding) or (finding.card.family == _FAMILY and "targets" in finding.params)


def _is_comparison(finding: Finding) -> bool:
    return finding.card.family == _FAMILY and bool(finding.card.sentences.more)


def _is_effect(finding: Finding) -> bool:
    """Whether it compares pairs of sets, and is no before and after."""
    return _is_comparison(finding) and "targets" in finding.params and "stage" not in finding.params


def _pair(finding: Finding) -> Key:
    """What tells a comparison from its like: form, targets and attributes."""
    return str(finding.params.get("form", "")), *_names(finding, "targets"), *_names(finding, "attributes")


def _names(finding: Finding, key: str) -> list[str]:
    names = finding.params.get(key)
    return [str(name) for name in names] if isinstance(names, list) else []


def _pair_name(finding: Finding) -> str:
    return clean(" v ".join(_names(finding, "targets")))


def _heading(finding: Finding) -> Key:
    """Form, what is counted, and which sign means what."""
    a, b = _names(finding, "attributes")
    reading = _READINGS.get(str(finding.params.get("reading", "")), "")
    value = "d" if "reading" not in finding.params or finding.params.get("standardised") else "difference"
    what = f"{value} {reading}".strip()
    return str(finding.params.get("form", "")), f"{what} > 0: the first set is nearer to {a} than to {b}"


def _difference(finding: Finding | None) -> str:
    return DASH if finding is None or finding.value is None else f"{finding.value:z.4f}"


def _range(finding: Finding) -> str:
    low, high = (finding.details.get(name) for name in ("template_low", "template_high"))
    is_complete = isinstance(low, float) and isinstance(high, float)
    return f"{low:z.3f} … {high:z.3f}" if is_complete else DASH


def _pleasant(findings: Sequence[Finding]) -> Iterator[str]:
    """Of the words at the top of each group, how many are of the second set of attributes."""
    shares = [
        finding
        for finding in findings
        if finding.card.family == _FAMILY and finding.card.unit == "share" and finding.value is not None
    ]
    by_set = grouped(shares, lambda finding: (finding.params.get("k"), _names(finding, "attributes")[-1]))
    for (k, word), alike in by_set.items():
        texts = [
            f"{clean(str(finding.params.get('target')))} {(finding.value or 0) * 100:.0f} %"
            for finding in alike
        ]
        yield f"{clean(word)} among the first {k} words of a group: {', '.join(texts)}"


ASSOCIATIONS = FamilyLayout(_is_effect, _has_line, _tables, _after, " (single sets, words)")
