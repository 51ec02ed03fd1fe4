"""What a person sees first on stdout: what differs, by how much, how sure, what to check, where to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from evenhand.core.errors import one_line
from evenhand.core.findings import Part
from evenhand.display.overview.brief import largest, opening, sureness
from evenhand.display.overview.content import LEFT_OUT, Overview, with_command
from evenhand.display.overview.strips import ASCII, Signs, strip_lines
from evenhand.display.text.columns import cells, terminal_rows, wrapped
from evenhand.display.text.disparities import share
from evenhand.display.text.formatting import count, key_text, plural, short_label, shorten
from evenhand.runs.run_folder import CASES, MOST_CASE_ROWS
from evenhand.workflows.outputs.result import Run

WIDTH = 80
MOST_LINES = 25
_MOST_HEADLINES = 3
_FEWEST = 10  # rows from which a share is written
_WIDE = 12  # columns of what stands before the lines below the plot
_RIGHT = "right rows"
_APART = (0, 3, 1, 2)  # blocks that a blank line follows, if there is room, the most useful first


def has_first_lines(run: Run) -> bool:
    """Whether something can be said of a run first; otherwise its tables are."""
    return bool(run.overview.title)


def print_first_lines(
    console: Console, run: Run, out: Path | None, *, verbose: bool = False, ascii: bool = False
) -> None:
    """At most 25 rows of 80 columns, or of a narrower terminal's, unless warnings need more."""
    signs = ASCII if ascii else Signs()
    width = min(WIDTH, console.width) if console.is_terminal else WIDTH
    plotted = signs if console.is_terminal else None
    for line in first_lines(run, out, signs=plotted, width=width, verbose=verbose):
        console.print(line, markup=False, soft_wrap=True)


def first_lines(
    run: Run,  # with an overview
    out: Path | None,
    *,
    signs: Signs | None = None,  # of the plot; None: no plot
    width: int = WIDTH,
    verbose: bool = False,  # leave nothing out, and offer no further numbers
) -> list[str]:
    """The lines; each tighter form leaves more to ``--verbose``, until they fit."""
    blocks: list[list[str]] = []
    free = -1
    for marks, quiet in ((8, 2), (4, 2), (4, 1), (0, 1)):
        plot = [] if signs is None or not marks else _plot(run.overview, marks, signs, width)
        blocks = [
            wrapped(run.overview.kicker, width),
            _headlines(run.overview, width),
            plot,
            list(_below(run, len(run.overview.silent) if verbose else quiet, width)),
            [*wrapped(run.overview.caveat, width), *_paths(run, out, width, verbose=verbose)],
        ]
        free = MOST_LINES - sum(terminal_rows(block, width) for block in blocks)
        if free >= 0 or verbose:
            break
    for index in [index for index in _APART if blocks[index]][: max(free, 0)]:
        blocks[index].append("")
    return [line for block in blocks for line in block]


def _headlines(overview: Overview, width: int) -> list[str]:
    if not overview.beyond:
        lines = wrapped(opening(overview), width, first="  ")
        for headline in overview.headlines[:1]:
            lines += wrapped(line, width, first="  ") if (line := largest(overview)) else []
            lines += wrapped(sureness(headline), width, first="  ")
        return lines
    lines = []
    for number, headline in enumerate(overview.beyond[:_MOST_HEADLINES], 1):
        lead = f"  {number}  " if len(overview.beyond) > 1 else "  "
        lines += wrapped(headline.text, width, first=lead)
        lines += wrapped(sureness(headline), width, first=" " * len(lead))
    more = len(overview.beyond) - _MOST_HEADLINES
    return [*lines, f"     and {more} more in the report"] if more > 0 else lines


def _plot(overview: Overview, most: int, signs: Signs, width: int) -> list[str]:
    chart = overview.headlines[0].chart if overview.headlines else None
    if chart is None or not chart.marks:
        return []
    return strip_lines(
        chart, lead="(1)" if len(overview.beyond) > 1 else "", width=width, most=most, signs=signs
    )


def _below(run: Run, quiet: int, width: int) -> Iterator[str]:
    """Accuracy by group, what is silent, what to check, and what was left out."""
    overview = run.overview
    right = _right(run, width)
    if right:
        yield from _labelled("Right", right, width)
    for index, sentence in enumerate(overview.silent[:quiet]):
        yield from _labelled("" if index else "No finding", sentence, width)
    more = len(overview.silent) - quiet
    if more > 0:
        yield from _labelled("", f"and {plural(more, 'more sentence')}: --verbose", width)
    checks = [check for check in overview.checks if not check.startswith(LEFT_OUT)]
    for check in checks:
        yield from _check(check, width)
    for check in overview.checks:
        if check.startswith(LEFT_OUT):
            yield from _labelled("Left out", check.removeprefix(LEFT_OUT), width)


def _check(text: str, width: int) -> Iterator[str]:
    """A warning; what it says to type stands in a line of its own, whole, so that it can be copied."""
    sentence, command = with_command(text)
    yield from _labelled("Check", sentence, width)
    if command:
        yield f"  {'':<{_WIDE}}{command}" if cells(command) <= width - _WIDE - 2 else f"  {command}"


def _labelled(label: str, text: str, width: int) -> list[str]:
    return wrapped(text, width, first=f"  {label:<{_WIDE}}")


def _right(run: Run, width: int) -> str:
    """The share of right rows by group, for each grouping that one question alone was asked about."""
    right = [finding for finding in run.findings if finding.card.made_of == _RIGHT and finding.by]
    times = Counter(finding.grouping for finding in right)
    by_grouping = {
        finding.grouping: [part for part in finding.parts if part.kind == "group" and part.value is not None]
        for finding in right
        if times[finding.grouping] == 1
    }
    texts = {grouping: _shares(parts, width) for grouping, parts in by_grouping.items() if parts}
    if len(texts) == 1:
        return "".join(texts.values())
    leading = [f"{shorten(grouping)}: {text}" for grouping, text in list(texts.items())[:_MOST_HEADLINES]]
    more = len(texts) - len(leading)
    return "; ".join([*leading, *([f"and {more} more groupings"] if more > 0 else [])])


def _shares(parts: Sequence[Part], width: int) -> str:
    """Each group with its share; of many groups the lowest and the highest."""
    text = ", ".join(f"{short_label(key_text(part.key))} {_share(part)}" for part in parts)
    if cells(text) <= width - _WIDE - 2:
        return text
    enough = [part for part in parts if part.n >= _FEWEST] or list(parts)
    low, high = (pick(enough, key=lambda part: part.value or 0.0) for pick in (min, max))
    ends = [f"{_share(part)} ({short_label(key_text(part.key))})" for part in (low, high)]
    return f"{ends[0]} to {ends[1]}, {len(parts)} groups"


def _share(part: Part) -> str:
    value = part.value or 0.0
    return share(value) if part.n >= _FEWEST else f"{count(round(value * part.n, 1))} of {count(part.n)}"


def _paths(run: Run, out: Path | None, width: int, *, verbose: bool) -> list[str]:
    """Where the rows and the report are, and what shows the rest."""
    rest = "" if verbose else f"all {plural(len(run.findings), 'number')}: --verbose"
    if out is None:
        lead = f"{rest}; with" if rest else "With"
        return wrapped(f"{lead} -o DIR a report and the rows behind the findings", width)
    headlines = run.overview.headlines
    files = []
    for number in run.case_tables:
        path, rows = out / CASES / f"{number}.csv", headlines[int(number) - 1].cases
        cut = f" (the first {MOST_CASE_ROWS:,} of {count(rows)} rows)" if rows > MOST_CASE_ROWS else ""
        files.append(f"{path}{cut}")
    lines = [f"Cases   {', '.join(map(one_line, files))}"] if files else []
    report = f"Report  {one_line(out / 'report.html')}"
    if not rest:
        return [*lines, report]
    beside = f"{report}    {rest}"
    return [*lines, *([beside] if cells(beside) <= width else [report, f"        {rest}"])]
