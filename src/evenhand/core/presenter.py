"""Who shows findings: ``evenhand/__init__.py`` says so before any room is imported, so none is named here.

Nothing is imported either, not even ``typing``: ``import evenhand`` runs this file.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    import altair

    class Presenter(Protocol):
        """Makes of a ``Finding`` or of ``Findings`` what people look at."""

        def text(self, results: Any) -> str:
            """Lines to print."""

        def html(self, results: Any) -> str:
            """A table for a notebook."""

        def chart(self, results: Any) -> altair.VConcatChart:
            """Panels of values with their intervals and null bands."""


load: Callable[[], Presenter]
