"""A run in at most eight lines, for ``print``."""

from __future__ import annotations

from evenhand.display.overview.content import LEFT_OUT, NOT_TESTED, Headline, Overview
from evenhand.display.text.formatting import plural

_MOST_HEADLINES = 3


def run_lines(overview: Overview, title: str) -> list[str]:
    """What the run is, its headlines, how many checks there are, and what to call next."""
    leading = overview.headlines[:_MOST_HEADLINES]
    lines = [title, overview.kicker]
    if not overview.beyond:
        lines.append(opening(overview))
        lines += [f"  {line}" for line in (largest(overview),) if line]
    for number, headline in enumerate(leading if overview.beyond else (), 1):
        lines.append(f"  {number}  {headline.text}")
        lines += [f"     {sureness(headline)}"] if len(leading) == 1 else []
    more = len(overview.headlines) - len(leading)
    lines += [f"  and {more} more: run.overview.headlines"] if more > 0 else []
    warnings = sum(not check.startswith(LEFT_OUT) for check in overview.checks)
    about = [f"{plural(warnings, 'warning')}: run.overview.checks"] if warnings else []
    about += [check for check in overview.checks if check.startswith(LEFT_OUT)]
    lines += [f"Check: {'. '.join(about)}" if warnings else about[0]] if about else []
    return [*lines, "  ".join(next_calls(overview))]


def opening(overview: Overview) -> str:
    """Title and lead where nothing is beyond chance; the lead alone where it says the title in full."""
    says_it = any(overview.title == headline.text for headline in overview.headlines)
    return overview.lead if says_it and overview.lead else f"{overview.title} {overview.lead}".rstrip()


def largest(overview: Overview) -> str:
    """The largest difference of those that chance can explain; empty where the opening has it already."""
    headline = overview.headlines[0] if overview.headlines and not overview.beyond else None
    if headline is None or headline.text == overview.title or headline.weight[-1:] == (0.0,):
        return ""
    lead = "Largest" if headline.certainty == NOT_TESTED else "Largest, within what chance alone gives"
    return f"{lead}: {headline.text}"


def sureness(headline: Headline) -> str:
    """How much, what chance gives and how sure."""
    return " ".join(filter(None, (headline.size, headline.chance, headline.sureness)))


def next_calls(overview: Overview) -> list[str]:
    """What to type to see the rows, the page and all numbers."""
    rows = ["run.cases(1)"] if overview.headlines and overview.headlines[0].cases else []
    return [*rows, 'run.report("report.html")', "run.to_frame()"]
