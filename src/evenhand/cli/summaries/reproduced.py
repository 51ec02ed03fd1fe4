"""What the terminal says of a paper's recipe: what is missing, and our numbers beside the paper's."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from evenhand.cli.summaries.text import clean, console_of
from evenhand.display.text.formatting import number
from evenhand.workflows.reproduce.engine import ARTIFACT_FOLDER, COMPARISON, Reproduction

_WIDTH = 150
_NAME = 60


def print_plan(plan: Reproduction) -> None:
    """The data, the steps with their models, and how to get what is missing."""
    console = console_of(_WIDTH)
    console.print(escape(plan.recipe.title), style="bold")
    if plan.recipe.time:
        console.print(f"time     {escape(plan.recipe.time)}", soft_wrap=True)
    for state in plan.data:
        where = f" in {escape(str(state.folder))}" if state.folder is not None else ""
        console.print(f"data     {state.name}: {escape(state.here)}{where}", soft_wrap=True)
        if state.missing:
            console.print(f"missing  {escape(state.missing)}; {escape(state.get)}", soft_wrap=True)
    for ready in plan.steps:
        what = ready.step.benchmark or f"debias, of {ready.step.debiases}"
        if ready.lacks:
            get = f"; {escape(ready.get)}" if ready.get else ""
            console.print(f"missing  {what}: {escape(ready.lacks)}{get}", soft_wrap=True)
        else:
            who = ready.model.uri if ready.model is not None else "a model that is trained here"
            console.print(f"step     {what} ({ready.step.name}): {escape(clean(who, _NAME))}", soft_wrap=True)


def print_reproduction(result: Reproduction) -> None:
    """Our numbers beside the paper's, what could not be filled, and where everything is."""
    console = console_of(_WIDTH)
    for name in dict.fromkeys(result.beside["artifact"]):
        console.print(_beside(result, name))
    for ready in result.steps:
        if ready.lacks:
            console.print(f"not run     {ready.step.name}: {escape(ready.lacks)}", soft_wrap=True)
    for name, why in result.unfilled.items():
        console.print(f"not filled  {name}: {escape(why)}", soft_wrap=True)
    folder = escape(str(result.folder))
    counted_files = f"{len(result.filled)} of {len(result.filled) + len(result.unfilled)} tables and figures"
    console.print(f"{counted_files}: {folder}/{ARTIFACT_FOLDER}", soft_wrap=True)
    console.print(f"Beside the paper: {folder}/{COMPARISON}", soft_wrap=True)


def _beside(result: Reproduction, name: str) -> Table:
    rows = result.beside.filter(artifact=name)
    held_out = bool(rows["held_out"].is_not_null().any())
    table = Table(box=None, pad_edge=False, title=escape(name), title_justify="left", title_style="bold")
    for column in ("", "model"):
        table.add_column(column, justify="left")
    for column in ("ours", *(["held out"] if held_out else []), "paper"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("of", justify="left")
    for row in rows.iter_rows(named=True):
        measure = "" if row["measure"] == "value" else f", {row['measure'].replace('_', ' ')}"
        low, high = row["paper_low"], row["paper_high"]
        paper_number = (
            f"{number(low)} … {number(high)}" if row["paper"] is None and low != high else number(low)
        )
        apart = [number(row["held_out"])] if held_out else []
        whose = " · ".join(filter(None, (row["model"], row["setting"])))
        what, model = escape(f"{row['of']}{measure}"), escape(clean(whose, _NAME)) if whose else ""
        table.add_row(what, model, number(row["ours"]), *apart, paper_number, escape(row["paper_model"]))
    return table
