"""Where a value stands beside chance: its test says, and its null band only where there is no test."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.core.results import Finding, Part

ALPHA = 0.05
_ROUNDING = 1e-9  # a value on the edge of its band is within it


@dataclass(frozen=True)
class Standing:
    """A value beside chance.

    Attributes:
        side: ``above``, ``below`` or ``within`` chance; ``beyond`` where a test says so and nothing tells the
            side; empty where there is neither a test nor a band.
        note: What a reader of the band beside it would stumble over; empty where test and band agree.
    """

    side: str
    note: str = ""

    @property
    def beyond(self) -> bool:
        """Whether chance alone does not explain the value."""
        return self.side not in ("", "within")

    def told(self, chance: str = "chance") -> str:
        """The side in words, with the note; ``chance`` is what the value is held against."""
        return f"{self.side} {chance}{self.note}" if self.side else ""


def standing_of(holder: Finding | Part, alpha: float = ALPHA) -> Standing:
    """Where a finding or part stands beside chance.

    A p-value of at most ``alpha`` is beyond chance, the adjusted one where there is one; a greater one is
    within it. The null band decides only where there is no p: it leaves out both ends, a p may look at one.

    Args:
        holder: With value, null band, p and adjusted p; each may be missing.
        alpha: The significance level.

    Returns:
        The side, and a note where test and band differ; without side where there is no value, or nothing to
        hold it against.
    """
    p_value = holder.p_value if holder.p_adjusted is None else holder.p_adjusted
    place = _in_band(holder)
    if holder.value is None or p_value is None:
        return Standing(place)
    if p_value <= alpha:
        return _passed(holder, place, p_value)
    if holder.p_value is not None and holder.p_value <= alpha:
        return Standing("within", ", corrected for testing many")
    differs = place in ("above", "below")
    return Standing("within", f" by its test (p {p_text(p_value)}), {place} its band" if differs else "")


def alone(holder: Finding | Part, alpha: float = ALPHA) -> Standing:
    """Where it stands when looked at by itself, without the correction for testing many."""
    return standing_of(holder.model_copy(update={"p_adjusted": None}), alpha)


def p_text(p_value: float) -> str:
    """A p-value with three decimals, never as zero."""
    return "<0.001" if p_value < 0.0005 else f"{p_value:.3f}"


def _passed(holder: Finding | Part, place: str, p_value: float) -> Standing:
    if place in ("above", "below"):
        return Standing(place)
    if holder.null is None or holder.value is None:
        return Standing("beyond")
    side = "above" if holder.value > holder.null.mean else "below"
    ends = f"{(1 - holder.null.level) * 50:.3g}%"
    return Standing(side, f" by its test (p {p_text(p_value)}); the band leaves out {ends} at each end")


def _in_band(holder: Finding | Part) -> str:
    value, null = holder.value, holder.null
    if value is None or null is None:
        return ""
    if value > null.high + _ROUNDING:
        return "above"
    return "below" if value < null.low - _ROUNDING else "within"
