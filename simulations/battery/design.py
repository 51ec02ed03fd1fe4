"""What the battery is made of: a design draws data, its cases are metrics with their population value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand import metrics
from evenhand.core.findings import Finding, Part
from evenhand.stats.arrays import Rng

Draw = Callable[[Rng], Any]


@dataclass(frozen=True)
class Line:
    """One part of a finding, beside its population value.

    Attributes:
        value: Its value.
        low: Lower end of its interval.
        high: Upper end.
        truth: The population value.
        is_false: Whether it should not have been listed.
    """

    value: float
    low: float
    high: float
    truth: float
    is_false: bool = False


@dataclass(frozen=True)
class Case:
    """One metric in one design.

    Attributes:
        metric: What the table calls it, such as ``accuracy_gap``.
        call: From the data of one draw and a seed to the finding.
        truth: The population value that an interval should hold; None: coverage is not counted.
        fair: Whether the population value is the metric's reference, so that a small p is a false alarm.
        standard: p of a named standard test of right level on the same data; with it, power is compared.
        standard_name: What that test is.
        wide: Whether more than ten groups make a width of 2.5 times the spread acceptable.
        lines: From the data and the finding to its parts beside their population values, whose intervals
            are counted in place of the finding's.
        is_listed: Whether a line is there because its p is small, so that its interval's end nearer to 0
            may be too far from it.
        least: Smallest share of small p, where no standard test says it.
    """

    metric: str
    call: Callable[[Any, int], Finding]
    truth: float | None = None
    fair: bool = False
    standard: Callable[[Any], float] | None = None
    standard_name: str = ""
    wide: bool = False
    lines: Callable[[Any, Finding], Sequence[Line]] | None = None
    is_listed: bool = False
    least: float | None = None


@dataclass(frozen=True)
class Design:
    """A way to draw data.

    Attributes:
        name: What the table calls it; names are unique over the battery.
        family: Of the metrics: ``accuracy``, ``effects``, ``choices``, ``labels``, ``households``,
            ``rankings``, ``neighbours``, ``associations``, ``differences``, ``disparities``, ``audits``,
            ``sets``, ``ambiguity``, ``items`` or ``numbers``.
        draw: From a random stream to the data of one draw.
        cases: The metrics that are called on it.
        findings: From the data and a seed to all findings of an audit or run, in designs where no primary
            is unfair; any verdict "beyond chance" among them counts.
    """

    name: str
    family: str
    draw: Draw
    cases: Sequence[Case] = ()
    findings: Callable[[Any, int], Sequence[Finding | Part]] | None = None


def called(
    name: str, data_of: Callable[[Any], Any] = lambda drawn: drawn, **params: Any
) -> Callable[[Any, int], Finding]:
    """A metric as cases call it, on what ``data_of`` takes from a draw."""

    def call(drawn: Any, seed: int) -> Finding:
        finding: Finding = getattr(metrics, name)(data_of(drawn), seed=seed, **params)
        return finding

    return call


def answered(finding: Finding, *, yes: bool) -> Finding:
    """The finding with p 0 for yes and 1 for no, so that shares of small p count a design's own question."""
    return finding.model_copy(update={"p_value": float(not yes), "interval": None, "null": None, "parts": []})
