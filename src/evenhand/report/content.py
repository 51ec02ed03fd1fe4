"""What a report is made from: the content of a run folder, already read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

    from evenhand.core.results import Findings


@dataclass(frozen=True)
class RunContent:
    """The content of a run folder.

    Attributes:
        findings: What the metrics found.
        manifest: How the run was made; any key may be missing.
        tables: Tidy tables by name. ``mistakes`` is drawn; others are only listed.
    """

    findings: Findings
    manifest: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, polars.DataFrame] = field(default_factory=dict)
