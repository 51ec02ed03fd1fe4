"""Association tests, as one table for each form: all pairs with what chance gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from evenhand.cli.summaries.text import (
    CellTexts,
    about_intervals,
    alpha_of,
    clean,
    notes_by_row,
    plain_table,
    verdict,
)
from evenhand.core.findings import Finding
from evenhand.display.text.formatting import p_value
from evenhand.display.text.reasons import explain
from evenhand.workflows.outputs.result import Run

_FAMILY = "associations"
_READINGS: Mapping[str, str] = {
    "per_image_joint": "of the most probable words of each image",
    "per_image_joint_share": "of the most probable words of each image, counted",
    "per_image_per_set": "of the most probable words of each image and set",
    "per_group": "of the most probable words of each group",
}
Key = tuple[str, ...]


def has_associations(findings: Sequence[Finding]) -> bool:
    """Whether findings compare pairs of sets, and are no before and after."""
    return any(_is_effect(finding) for finding in findings)


def print_associations(console: Console, run: Run) -> None:
    """One table for each form (reading); single sets and contributions stay in the folder."""
    findings = run.findings.findings
    effects = [finding for finding in findings if _is_effect(finding)]
    beside = {_pair(finding): finding for finding in findings if _is_difference(finding)}
    for key in dict.fromkeys(map(_heading, effects)):
        mine = [finding for finding in effects if _heading(finding) == key]
        console.print(clean(", ".join(key), 400), style="bold")
        console.print(_table(mine, beside, alpha_of(run)))
        for line in about_intervals(mine, _row_name):
            console.print(f"  {line}")
        for reason in dict.fromkeys(finding.reason for finding in mine if finding.reason):
            console.print(f"  {clean(explain(reason), 200)}")
        for note in notes_by_row([finding for finding in mine if finding.value is None], _row_name, most=300):
            console.print(f"  {note}")
        console.print()
    _print_pleasant(console, findings)
    _print_untested(console, run)
    _print_families(console, run)
    _print_traps(console, run)
    more = sum(not (_is_comparison(finding) or _is_difference(finding)) for finding in findings)
    if more:
        console.print(f"{more} more findings (single sets, words) stand in report and findings.json.")


def lost_items(run: Run) -> dict[str, int]:
    """How many items association tests left out, by reason: each once, however many tests would have it."""
    if "lost" not in run.tables:
        return {}
    different = run.tables["lost"].unique(["role", "item", "reason"])
    return Counter(different["reason"].to_list())


def _print_untested(console: Console, run: Run) -> None:
    """Pairs that a form has nothing to test with."""
    rows = run.tables["tests"].to_dicts() if "tests" in run.tables else []
    untested = Counter((row["form"], row["reason"]) for row in rows if not row.get("tested", True))
    by_form: dict[str, list[str]] = {}
    for (form, reason), count in untested.items():
        by_form.setdefault(str(form), []).append(f"{reason} ({count})")
    for form, reasons in by_form.items():
        pairs = sum(count for (untested_form, _), count in untested.items() if untested_form == form)
        console.print(f"not tested: {pairs} pairs, {clean(form)}: {clean('; '.join(reasons), 300)}")


def _print_families(console: Console, run: Run) -> None:
    """Which words are of one family."""
    if "members" not in run.tables or "family" not in run.tables["members"].columns:
        return
    rows = run.tables["members"].drop_nulls("family").unique(["item", "family"]).sort("family", "item")
    families = rows.group_by("family", maintain_order=True).agg("item").rows()
    if families:
        text = "; ".join(f"{family} ({', '.join(items)})" for family, items in families)
        console.print(f"each family of words counts as one unit (tables/members): {clean(text, 300)}")


def _print_traps(console: Console, run: Run) -> None:
    """What is unusual about the sets, by kind."""
    kinds = Counter(run.tables["traps"]["kind"].to_list()) if "traps" in run.tables else Counter[str]()
    if kinds:
        text = "; ".join(f"{kind} ({count})" for kind, count in kinds.items())
        console.print(f"to know about the sets (tables/traps): {clean(text, 300)}")


def _is_effect(finding: Finding) -> bool:
    return _is_comparison(finding) and "targets" in finding.params and "stage" not in finding.params


def _is_comparison(finding: Finding) -> bool:
    return finding.card.family == _FAMILY and bool(finding.card.sentences.more)


def _is_difference(finding: Finding) -> bool:
    """The same comparison before it is divided by a spread."""
    return finding.card.family == _FAMILY and "targets" in finding.params and not finding.card.sentences.more


def _pair(finding: Finding) -> Key:
    """What tells a comparison from its like: form, targets and attributes."""
    names = (_names(finding, "targets"), _names(finding, "attributes"))
    return str(finding.params.get("form", "")), *names[0], *names[1]


def _names(finding: Finding, key: str) -> list[str]:
    names = finding.params.get(key)
    return [str(name) for name in names] if isinstance(names, list) else []


def _heading(finding: Finding) -> Key:
    """Form, what is counted, and which sign means what."""
    a, b = _names(finding, "attributes")
    reading = _READINGS.get(str(finding.params.get("reading", "")), "")
    value = "d" if "reading" not in finding.params or finding.params.get("standardised") else "difference"
    what = f"{value} {reading}".strip()
    return str(finding.params.get("form", "")), f"{what} > 0: the first set is nearer to {a} than to {b}"


def _table(findings: Sequence[Finding], beside: Mapping[Key, Finding], alpha: float) -> Table:
    last = ""
    if any(_pair(finding) in beside for finding in findings):
        last = "difference"
    if any("template_low" in finding.details for finding in findings):
        last = "over templates"
    names = ("pair", "value", "interval", "by chance alone", "p", "p adj.", "value is", last)
    table = plain_table(filter(None, names), ("pair", "value is"))
    for finding in findings:
        cells = {"difference": _difference(beside.get(_pair(finding))), "over templates": _range(finding)}
        table.add_row(*_row(finding), verdict(finding, alpha), *((cells[last],) if last else ()))
    return table


def _difference(finding: Finding | None) -> str:
    return "–" if finding is None or finding.value is None else f"{finding.value:z.4f}"


def _range(finding: Finding) -> str:
    low, high = (finding.details.get(name) for name in ("template_low", "template_high"))
    is_complete = isinstance(low, float) and isinstance(high, float)
    return f"{low:z.3f} … {high:z.3f}" if is_complete else "–"


def _row(finding: Finding) -> tuple[str, ...]:
    pair = clean(" v ".join(_names(finding, "targets")))
    if finding.value is None:
        return pair, "–", finding.reason or "undefined", "", "", ""
    numbers = CellTexts.of(finding)
    return (
        pair,
        numbers.both,
        numbers.interval,
        numbers.chance,
        p_value(finding.p_value),
        p_value(finding.p_adjusted),
    )


def _row_name(finding: Finding) -> str:
    return _row(finding)[0]


def _print_pleasant(console: Console, findings: Sequence[Finding]) -> None:
    """Of the words at the top of each group, how many are of the second set of attributes."""
    pleasant = [
        finding
        for finding in findings
        if finding.card.family == _FAMILY and finding.card.unit == "share" and finding.value is not None
    ]
    for k, word in dict.fromkeys(
        (finding.params.get("k"), _names(finding, "attributes")[-1]) for finding in pleasant
    ):
        shares = [
            f"{clean(str(finding.params.get('target')))} {(finding.value or 0) * 100:.0f} %"
            for finding in pleasant
            if (finding.params.get("k"), _names(finding, "attributes")[-1]) == (k, word)
        ]
        console.print(f"{clean(word)} among the first {k} words of a group: {', '.join(shares)}")
