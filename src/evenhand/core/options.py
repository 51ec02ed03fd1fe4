"""Options of metrics that take one of a few words, each declared once."""

from __future__ import annotations

from typing import Literal

Mode = Literal["default", "paper"]
"""``paper`` gives the published values, rounding and ties included; docstrings say where the two differ."""
Inference = Literal["auto", "none"]
"""``none``: values without intervals and tests, faster."""
Unknown = Literal["keep", "exclude"]
"""What becomes of people whom annotators could not place."""
Weighting = Literal["household", "image"]
"""What counts once."""
Aggregate = Literal["max", "mean"]
"""How values of labels become one."""
EqualizedOdds = Literal["max", "avg", "full"]
Alternative = Literal["two_sided", "greater", "less"]
