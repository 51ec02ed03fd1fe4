"""What a person sees of a search over subgroups: three of them at most, in words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from evenhand.core.errors import one_line
from evenhand.core.findings import Finding
from evenhand.core.significance import p_among_all
from evenhand.display.text.formatting import p_value
from evenhand.display.text.subgroups import search_sentence, subgroup_sentence

_MOST = 3


def is_search(finding: Finding) -> bool:
    """Whether a finding is of a search, not of a grouping."""
    return finding.name == "subgroups"


def print_subgroups(console: Console, findings: Sequence[Finding]) -> None:
    """The subgroups that searches list, or why none is."""
    for finding in filter(is_search, findings):
        console.print(f"search {escape(one_line(', '.join(finding.by)))}", style="bold")
        for part in finding.parts[:_MOST]:
            sentence = one_line(subgroup_sentence({"n": part.n, **part.details}))
            p = p_among_all(finding, part)
            console.print(f"  {escape(sentence)}{'' if p is None else f' p adj. {p_value(p)}'}")
        if len(finding.parts) > _MOST:
            console.print(f"  and {len(finding.parts) - _MOST} more")
        if (why_none := search_sentence(finding.details, finding.by)) is not None:
            console.print(f"  {escape(one_line(why_none))}")
        for note in finding.notes:
            console.print(f"  {escape(one_line(note))}")
        console.print()
