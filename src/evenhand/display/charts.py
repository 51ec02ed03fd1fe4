"""Charts of results for notebooks: value, interval and null band of findings and of their parts.

Altair is imported when a chart is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import cut
from evenhand.core.findings import Finding, Part
from evenhand.core.frames import ends, grouped
from evenhand.core.significance import is_beyond, p_shown
from evenhand.display.html import harmless
from evenhand.display.marks import Spec, marks, number
from evenhand.display.text.formatting import key_text

if TYPE_CHECKING:
    import altair

MOST_LINES = 40
"""Lines of a panel; a note counts the others."""

MOST_PANELS = 30
"""Panels of a chart; one for each metric, or for each kind of part."""

_LONGEST = 80
_WIDTH = 420
_BAND, _INK, _ACCENT = "#c9ced6", "#30343b", "#3b5bdb"
_BY_VERDICT = {  # as on pages: filled and blue where the corrected test passed
    "fill": {"condition": {"test": "datum.beyond", "value": _ACCENT}, "value": "white"},
    "stroke": {"condition": {"test": "datum.beyond", "value": _ACCENT}, "value": "#7b838f"},
}
_EFFECTS = ("skewsize", "cramers_v")
_TOLD = {
    "label": "what",
    "value": "value",
    "corrected": "corrected for chance",
    "low": "interval from",
    "high": "interval to",
    "null_low": "by chance from",
    "null_high": "by chance to",
    "p": "adjusted p",
    "n": "rows",
}

Line = dict[str, Any]


def finding_chart(finding: Finding) -> altair.VConcatChart:
    """A ``Finding`` and, in a panel with its own scale for each kind, its parts, the highest first."""
    about = "Cramér’s V" if finding.name.startswith(_EFFECTS) else finding.name
    panels = [_panel([_line(_finding_label(finding), finding)], finding.metric, finding.name, finding)]
    for kind in dict.fromkeys(part.kind for part in finding.parts):
        parts = [part for part in finding.parts if part.kind == kind]
        lines = sorted((_line(key_text(part.key), part) for part in parts), key=_highest)
        panels.append(_panel(lines, f"{about} by {kind.replace('*', ' × ')}", about, None))
    return _below(panels[:MOST_PANELS], [])


def findings_chart(findings: Sequence[Finding]) -> altair.VConcatChart:
    """A panel with its own axis for each metric; a line for each grouping, model and set of parameters."""
    several = len({finding.model for finding in findings}) > 1
    by_name = grouped(findings, lambda finding: finding.name)
    panels = [
        _panel(
            [_line(_finding_label(finding, several), finding) for finding in alike],
            name,
            name,
            alike[0],
        )
        for name, alike in list(by_name.items())[:MOST_PANELS]
    ]
    left = [f"{len(by_name) - MOST_PANELS:,} more metrics"] if len(by_name) > MOST_PANELS else []
    return _below(panels, left)


def _finding_label(finding: Finding, with_model: bool = False) -> str:
    """The printed parameters of a finding, with its model where several stand together."""
    inside = finding.metric.removeprefix(finding.name).strip("()") or "all rows"
    return f"{finding.model}: {inside}" if with_model and finding.model else inside


def _highest(line: Line) -> float:
    return float("inf") if line["value"] is None else -line["value"]


def _line(label: str, holder: Finding | Part) -> Line:
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in label)
    return {
        "label": cut(text, _LONGEST),
        "value": holder.value,
        "corrected": holder.corrected,
        "reason": holder.reason,
        **ends(holder),
        "p": p_shown(holder),
        "n": holder.n,
        "beyond": is_beyond(holder),
    }


def _panel(lines: Sequence[Line], title: str, about: str, finding: Finding | None) -> Spec:
    """The lines of one axis; that of findings marks where a fair one stands, and a count begins at 0."""
    fair_at = finding and finding.fair_at
    present = [line for line in lines if line["value"] is not None]
    rows = harmless(_apart(present[:MOST_LINES]))
    title, about, subtitle = harmless([title, about, _notes(lines, present)])
    hints = [
        {"field": name, "type": "nominal" if name == "label" else "quantitative", "title": words}
        for name, words in _TOLD.items()
        if any(line[name] is not None for line in rows)
    ]
    label = {"field": "label", "sort": None, "title": None, "axis": {"labelLimit": 260}}
    scale: Spec = {"zero": False, "nice": False, "padding": 12}
    if finding is not None and finding.card.unit == "count":
        scale = {"zero": True, "nice": True}
    axis = partial(number, title=None if about == title else about, scale=scale)
    mark = marks("x", axis, {"y": label, "tooltip": hints})
    layers = [
        _where(mark("bar", "null_low", "null_high", size=12, color=_BAND)),
        _where(mark("rule", "low", "high", strokeWidth=1.8, color=_INK)),
        _where(mark("tick", "corrected", thickness=2, size=10, color=_INK)),
        mark("point", "value", more=_BY_VERDICT, size=70, opacity=1, strokeWidth=1.6),
    ]
    if fair_at is not None and rows:
        line = marks("x", number, {"tooltip": number("fair", title="fair at")})
        fair = line("rule", "fair", strokeDash=[4, 3], color=_INK)
        layers.append({"data": {"values": [{"fair": fair_at}]}, **fair})
    head = {"text": title, "subtitle": subtitle, "anchor": "start", "fontSize": 12, "fontWeight": "bold"}
    return {"data": {"values": rows}, "layer": layers, "width": _WIDTH, "title": head}


def _where(layer: Spec) -> Spec:
    """Marks only of lines that have what they begin at."""
    return {**layer, "transform": [{"filter": f"isValid(datum.{layer['encoding']['x']['field']})"}]}


def _apart(lines: Iterable[Line]) -> list[Line]:
    """Lines whose labels are the same, such as after cutting, are numbered: they do not share a place."""
    met: Counter[str] = Counter()
    labelled = []
    for line in lines:
        met[line["label"]] += 1
        again = met[line["label"]]
        labelled.append(line if again == 1 else {**line, "label": f"{line['label']} ({again})"})
    return labelled


def _notes(lines: Sequence[Line], present: Sequence[Line]) -> list[str]:
    """What is not drawn: lines beyond the most, and lines without a value, by reason."""
    hidden = len(present) - MOST_LINES
    notes = [f"the first {MOST_LINES} of {len(present):,}"] if hidden > 0 else []
    reasons = Counter(str(line["reason"]) for line in lines if line["value"] is None)
    return [*notes, *(f"{count:,} not estimable: {reason}" for reason, count in reasons.most_common(5))]


def _below(panels: Sequence[Spec], notes: Sequence[str]) -> altair.VConcatChart:
    from altair import VConcatChart

    legend = "Point: value. Line: interval, with the corrected value it is of. Bar: by chance alone."
    key = [legend, "Filled and blue: beyond chance, corrected. Dashed: where a fair model stands."]
    title = {"text": key, "subtitle": list(notes), "anchor": "start", "fontSize": 11, "fontWeight": "normal"}
    chart: altair.VConcatChart = VConcatChart.from_dict({"vconcat": list(panels), "title": title})
    return chart
