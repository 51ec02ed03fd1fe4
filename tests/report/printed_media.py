"""What every medium prints of a run, and whether the run bears it out."""

from __future__ import annotations

from evenhand.cli.summaries.first_lines import first_lines
from evenhand.report.checking.check import check
from evenhand.report.exports.exported import RunView
from evenhand.report.exports.junit import junit
from evenhand.report.exports.sarif import sarif
from evenhand.report.exports.summary import section


def checked(run, **printed):
    """What the first lines of a run, and what is printed of them, say wrong."""
    return check(run.findings, run.manifest, next(iter(run.counts.values()), None), **printed)


def printed_by(run, folder):
    """Page, terminal, notebook, ``print``, Markdown, SARIF and JUnit, by their names."""
    page = folder / "page.html"
    run.report(page)
    view = RunView("run", run.findings, run.manifest)
    markdown = section(view, "##")
    return {
        "page": page.read_text(encoding="utf-8"),
        "terminal": "\n".join(first_lines(run, None)),
        "verbose": "\n".join(first_lines(run, None, verbose=True)),
        "notebook": run._repr_html_(),
        "print": str(run),
        "markdown": markdown.partition("\n| Finding |")[0],
        "sarif": sarif([view]).decode(),
        "junit": junit([view]).decode(),
    }
