"""What the terminal says of a mitigation: association before and after, utility, notes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenhand.cli.summaries.first_lines import has_first_lines, print_first_lines
from evenhand.cli.summaries.text import clean, console_of, notes_by_row, rich_table
from evenhand.core.findings import Finding
from evenhand.display.text.formatting import DASH
from evenhand.workflows.debias.engine import JOINT, DebiasRun, place_of
from evenhand.workflows.debias.findings import ALL_ITEMS

_WIDTH = 150
_MEANINGS = {
    "linear_probe_accuracy": "linear probe, accuracy",
    "zero_shot_accuracy": "zero-shot, accuracy",
    "rank_stability": "order of scores, Spearman",
    "group_leakage": "group predicted by a linear classifier",
}


def print_debias(run: DebiasRun, out: Path, *, verbose: bool = False, ascii: bool = False) -> None:
    """Association before and after, held-out items first; then utility, notes, and what to type next."""
    console = console_of(_WIDTH, ascii=ascii)
    if has_first_lines(run):
        print_first_lines(console, run, out, verbose=verbose, ascii=ascii)
    if verbose or not has_first_lines(run):
        _print_tables(console, run, out)
    first = out / place_of(next(iter(run.mitigations)))
    following = f"evenhand run BENCHMARK --model URI --mitigation {escape(str(first))}"
    console.print(f"Next:   {following}", soft_wrap=True)


def _print_tables(console: Console, run: DebiasRun, out: Path) -> None:
    sizes = run.manifest["halves"]
    fit, held_out = (f"{sizes[name]['targets']} targets" for name in ("fit", "held_out"))
    method = escape(str(run.manifest["method"]))
    console.print(f"{method}, {run.manifest['form']}  fitted on {fit}, held out {held_out}", style="bold")
    console.print(_associations(run.tables["before_after"]))
    if run.manifest.get("mode") == "paper":
        console.print("As in the paper: all items, on which the dimensions were chosen too.")
    console.print("Association: d, positive where X is nearer to A. Random: mean |d| of 20 random removals.")
    console.print()
    console.print(_utilities(run.tables["utility"]))
    for line in _shares(run.tables["norm_share"]):
        console.print(line)
    for note in _notes(run):
        console.print(note)
    console.print(f"Report: {escape(str(out / 'report.html'))}")


def _associations(table: pl.DataFrame) -> Table:
    of_paper = bool((table["chosen_on"] == ALL_ITEMS).any())
    columns = {
        "test": "test",
        **({"before": "as in the paper: before", "after": "after"} if of_paper else {}),
        "held_out_before": "held out: before",
        "held_out_after": "after",
        "reduction": "|d| less by",
        "interval": "interval",
        "random_after": "random",
        "fit_before": "fit: before",
        "fit_after": "after",
        "removed": "removed",
    }
    rows = []
    for row in table.iter_rows(named=True):
        low, high = row["reduction_low"], row["reduction_high"]
        interval = DASH if low is None else f"{_number(low)} … {_number(high)}"
        texts = {"test": _pair(row), "interval": interval, "removed": str(row["removed"])}
        rows.append({name: texts[name] if name in texts else _number(row[name]) for name in columns})
    return rich_table(columns, rows)


def _pair(row: Mapping[str, Any]) -> str:
    return f"{clean(row['x'], 20)} : {clean(row['y'], 20)}"


def _utilities(table: pl.DataFrame) -> Table:
    columns = {"measure": "on held-out items", "of": "of", "before": "before", "after": "after"}
    columns |= {"chance": "by chance", "n": "n"}
    rows = [
        {
            "measure": _MEANINGS.get(row["measure"], row["measure"]),
            "of": _pair(row) if row["x"] else clean(row["on"], 30),
            **{name: _number(row[name]) for name in ("before", "after", "chance")},
            "n": str(row["n"]),
        }
        for row in table.filter(mitigation=table["mitigation"][0]).iter_rows(named=True)
    ]
    return rich_table(columns, rows)


def _shares(table: pl.DataFrame) -> list[str]:
    first = table.filter(mitigation=table["mitigation"][0])
    lines: dict[str, list[str]] = {"is gone": [], "was added (they are longer than before)": []}
    gone, more = lines.values()
    for row in first.drop_nulls("share").iter_rows(named=True):
        percent = round(100 * row["share"], 1)
        text = f"{abs(percent):.1f} % of {row['modality']} {row['role']}s"
        (more if percent < 0 else gone).append(text)
    return [
        f"Share of the vectors' squared length that {what}: {', '.join(of)}"
        for what, of in lines.items()
        if of
    ]


def _notes(run: DebiasRun) -> list[str]:
    """Lines for the terminal."""
    notes = []
    reductions = [finding for finding in run.findings if finding.name == "association_reduction"]
    missing = [reduction.reason for reduction in reductions if reduction.value is None and reduction.reason]
    notes += [f"{missing.count(why)} of {len(reductions)} tests: –, {why}" for why in dict.fromkeys(missing)]
    notes += _of_mitigations(run)
    for name, mitigation in run.mitigations.items():
        why = mitigation.facts.get("stopped_because")
        if why is not None and (len(run.mitigations) == 1 or name == JOINT):
            notes.append(f"stopped at {mitigation.facts.get('removed')} removed: {why}")
    if len(run.mitigations) > 1:
        notes.append(f"{len(run.mitigations)} mitigations, one a test; utility is shown of the first")
    reasons = dict.fromkeys(run.tables["utility"]["reason"].drop_nulls().to_list())
    lines = map(escape, [*notes, *(f"–: {reason}" for reason in reasons)])
    return [*notes_by_row(reductions, _test_name, most=400), *lines]


def _test_name(finding: Finding) -> str:
    """The two sets of targets of a test, and its attributes."""
    sets = [finding.params.get(name) for name in ("targets", "attributes")]
    return ", ".join(clean(" : ".join(map(str, names))) for names in sets if isinstance(names, list))


def _of_mitigations(run: DebiasRun) -> list[str]:
    """What is not changed, and how prompts were paired."""
    notes = []
    for mitigation in run.mitigations.values():
        others = sorted({"image", "text"} - set(mitigation.maps))
        if mitigation.maps and others:
            notes.append(
                f"vectors of {' and '.join(others)} stay as they are: {mitigation.name} changes others"
            )
        if "such_as" in mitigation.facts:
            x, y = (clean(text, 40) for text in mitigation.facts["such_as"])
            notes.append(
                f"prompts at the same place of X and Y are pairs, such as {x!r} and {y!r}; right only "
                "where both lists were made from one list"
            )
    return list(dict.fromkeys(notes))


def _number(value: float | None) -> str:
    return DASH if value is None else f"{round(value, 3) + 0.0:.3f}"  # + 0.0: no minus before 0
