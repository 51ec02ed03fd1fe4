"""The first lines of a run as a cell of a notebook: a headline, its picture, and two drawers; no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from evenhand.display.html import label
from evenhand.display.overview.brief import largest, next_calls, sureness
from evenhand.display.overview.content import Chart, Mark, Overview
from evenhand.display.overview.scale import Scale, few_rows
from evenhand.display.text.formatting import short_label, unbroken, visible_label

_MOST_MARKS = 6
_MOST_CHECKS = 3
_TITLE, _LONG = 400, 1000  # characters of texts that hold several labels
_HEIGHT = 34
_PAGE = """<style>
.evenhand-run{--ink:#1b1e24;--soft:#545b66;--hot:#0b5f8a;--band:#c9cac2;--rule:#d9dad3;--paper:#fcfcfa;
max-width:820px;border:1px solid var(--rule);border-radius:6px;padding:14px 20px;
background:var(--paper);color:var(--ink);font:15px/1.45 system-ui,sans-serif}
@media (prefers-color-scheme:dark){.evenhand-run{--ink:#eceef0;--soft:#a4acb6;--hot:#6cc3ee;--band:#4a515a;
--rule:#343a42;--paper:#14171b}}
.evenhand-run p{margin:0 0 8px}.evenhand-run .soft{color:var(--soft);font-size:14px}
.evenhand-run h1{font:700 23px/1.22 Georgia,serif;margin:0 0 10px}
.evenhand-run .row{display:grid;grid-template-columns:110px minmax(0,1fr) 136px;
gap:0 12px;align-items:center}
.evenhand-run .row span{overflow-wrap:anywhere;line-height:1.2}
.evenhand-run .hot{font-weight:700;color:var(--hot)}.evenhand-run svg{display:block;overflow:visible}
.evenhand-run svg text{font:12px system-ui,sans-serif;fill:var(--soft)}
.evenhand-run details{border-top:1px solid var(--rule);overflow-x:auto}
.evenhand-run summary{cursor:pointer;padding:7px 0}
.evenhand-run summary:focus-visible{outline:2px solid var(--hot)}
</style>"""


def cell_html(overview: Overview, table: str) -> str:
    """A run for a notebook; ``table`` has all its numbers, as HTML."""
    headline = overview.headlines[0] if overview.headlines else None
    parts = [f'<p class="soft">{label(overview.kicker, _TITLE)}</p>']
    parts.append(f"<h1>{label(overview.title, _TITLE)}</h1>")
    if headline is not None and headline.chart is not None and headline.chart.marks:
        parts.append(_figure(headline.chart))
    if headline is not None:
        text = f"{largest(overview)} {sureness(headline)}".strip()
        parts.append(f"<p>{label(text, _LONG)}</p>")
    elif overview.lead:
        parts.append(f"<p>{label(overview.lead, _LONG)}</p>")
    more = len(overview.checks) - _MOST_CHECKS
    checks = [*overview.checks[:_MOST_CHECKS], *([f"and {more} more"] if more > 0 else []), overview.caveat]
    parts += [f'<p class="soft">{label(check, _LONG)}</p>' for check in checks]
    parts.append(_drawer("All numbers", table))
    parts.append(_drawer("How to go on", _steps(overview)))
    return f'{_PAGE}<div class="evenhand-run">{unbroken("".join(parts))}</div>'


def _drawer(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>{content}</details>"


def _steps(overview: Overview) -> str:
    """Steps and calls; then the other headlines, and what is silent."""
    steps = overview.headlines[0].steps if overview.headlines else ()
    others = [headline.text for headline in overview.beyond[1:_MOST_CHECKS]]
    texts = [f"<p>{label(text, _LONG)}</p>" for text in (*steps, *others, *overview.silent[:_MOST_CHECKS])]
    calls = " · ".join(f"<code>{escape(call)}</code>" for call in next_calls(overview))
    return f"<p>{calls}</p>{''.join(texts)}"


def _figure(chart: Chart) -> str:
    marks, scale = chart.first(_MOST_MARKS).marks, Scale.of(chart.first(_MOST_MARKS))
    more = len(chart.marks) - len(marks)
    notes = [chart.title, f"{more} more not drawn" if more else "", _key(marks, chart)]
    rows = "".join(_row(mark, scale) for mark in marks) + _axis(scale.ticks, scale)
    return f'{rows}<p class="soft">{label(". ".join(filter(None, notes)), _LONG)}</p>'


def _key(marks: Sequence[Mark], chart: Chart) -> str:
    is_beyond = any(mark.beyond for mark in marks)
    hollow = "hollow: not beyond chance"
    texts = ["filled: beyond chance, hollow: not"] if is_beyond else [hollow] if chart.null else []
    texts += ["line: 95 % interval"] if any(mark.interval is not None for mark in marks) else []
    return "; ".join([*texts, *([f"grey: {chart.band}"] if chart.null else [])])


def _row(mark: Mark, scale: Scale) -> str:
    """A name, a dot with its interval on the band of chance, and counts."""
    colour, middle = ("var(--hot)" if mark.beyond else "var(--ink)"), _HEIGHT / 2
    at = [f'<line x1="0" x2="100%" y1="{middle}" y2="{middle}" stroke="var(--rule)"/>']
    if mark.null is not None:
        low, high = (100 * scale.position(end) for end in mark.null)
        at_band = f'x="{low:.2f}%" width="{high - low:.2f}%" y="{middle - 8}" height="16"'
        at.append(f'<rect {at_band} fill="var(--band)"/>')
    if mark.interval is not None:
        low, high = (100 * scale.position(end) for end in mark.interval)
        ends = f'x1="{low:.2f}%" x2="{high:.2f}%" y1="{middle}" y2="{middle}"'
        at.append(f'<line {ends} stroke="{colour}" stroke-width="2"/>')
    fill, centre = (colour if mark.beyond else "var(--paper)"), f"{100 * scale.position(mark.value):.2f}%"
    at.append(f'<circle cx="{centre}" cy="{middle}" r="6" fill="{fill}" stroke="{colour}" stroke-width="2"/>')
    value = "" if few_rows(mark) else scale.text(mark.value)
    spoken = escape(f"{short_label(mark.label, 80)}: {value} {mark.text}", quote=True)
    svg = f'<svg width="100%" height="{_HEIGHT}" role="img" aria-label="{spoken}">{"".join(at)}</svg>'
    hot = ' class="hot"' if mark.beyond else ""
    texts = f"<b>{escape(value)}</b> {label(mark.text)}"
    name = f"<span{hot}>{label(visible_label(mark.label), 40)}</span>"
    return f'<div class="row">{name}<span>{svg}</span><span>{texts}</span></div>'


def _axis(ticks: Sequence[float], scale: Scale) -> str:
    texts = []
    for tick in ticks:
        at = f'x="{100 * scale.position(tick):.2f}%" y="12" text-anchor="middle"'
        texts.append(f"<text {at}>{escape(scale.text(tick, tick=True))}</text>")
    svg = f'<svg width="100%" height="18" aria-hidden="true">{"".join(texts)}</svg>'
    return f'<div class="row"><span></span><span>{svg}</span><span></span></div>'
