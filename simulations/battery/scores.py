"""What is counted of many findings of one case, and the bounds it has to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from simulations.battery.design import Case, Line
from simulations.battery.printed import contradictions

from evenhand.core.findings import Finding
from evenhand.core.significance import reference_of, significance_of

LEVEL = 0.05
ANYTHING = "anything beyond chance"
"""Stands for the metric where a whole audit is looked at."""
LINES = "disparities"
"""The family of what is listed line by line."""


@dataclass(frozen=True)
class Bounds:
    """What a row has to keep, as shares."""

    false_alarms: float = 0.07
    anything: float = 0.06
    coverage: float = 0.92
    disagreements: float = 0.03
    width: float = 1.6
    wide: float = 2.5
    power: float = 0.65
    false_lines: float = 0.08
    line_coverage: float = 0.88
    too_far: float = 0.08
    false_share: float = 0.05


FULL = Bounds()


@dataclass(frozen=True)
class Outcome:
    """One finding of one draw, as numbers; None where there is none."""

    value: float | None
    p: float | None
    low: float | None
    high: float | None
    reference: float | None
    beyond: bool
    standard: float | None = None
    lines: Sequence[Line] | None = None
    printed: Sequence[str] = ()  # lines that contradict its verdict, as they are printed

    @classmethod
    def of(
        cls, finding: Finding, standard: float | None = None, lines: Sequence[Line] | None = None
    ) -> Outcome:
        """What is kept of a finding."""
        interval = finding.interval
        shown = finding.corrected if finding.corrected is not None else finding.value
        return cls(
            shown, finding.p_value, interval and interval.low, interval and interval.high,
            reference_of(finding), significance_of(finding).beyond, standard, lines,
            contradictions([finding]),
        )  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One line of the table; shares in [0, 1], None where there is nothing to count."""

    design: str
    family: str
    metric: str
    runs: int
    truth: float | None
    false_alarms: float | None
    coverage: float | None
    contradictions: float
    disagreements: float
    zero_widths: float
    outside: float
    power: float | None
    standard_power: float | None
    width: float | None
    wide: bool = False
    too_far: float | None = None
    false_share: float | None = None
    printed: float = 0.0
    least: float | None = None

    def missed(self, bounds: Bounds = FULL) -> list[str]:
        """The bounds that it does not keep."""
        alarms = bounds.anything if self.metric == ANYTHING else bounds.false_alarms
        coverage = bounds.coverage
        if self.family == LINES:
            alarms, coverage = bounds.false_lines, bounds.line_coverage
        width = bounds.wide if self.wide else bounds.width
        failed = {
            "FA": self.false_alarms is not None and self.false_alarms > alarms,
            "cov": self.coverage is not None and self.coverage < coverage,
            "contradictions": self.contradictions > 0,
            "printed contradictions": self.printed > 0,
            "p and interval disagree": self.disagreements > bounds.disagreements,
            "zero width": self.zero_widths > 0,
            "outside its interval": self.outside > 0,
            "near end too far": self.too_far is not None and self.too_far > bounds.too_far,
            "false lines": self.false_share is not None and self.false_share > bounds.false_share,
            "width": self.width is not None and self.width > width,
            "power": self.standard_power is not None
            and (self.power or 0) < bounds.power * min(self.standard_power / 0.8, 1),
            "too seldom": (self.power or 0) < (self.least or 0),
        }
        return [name for name, bad in failed.items() if bad]


def score(design: str, family: str, case: Case, outcomes: Sequence[Outcome]) -> Row:
    """Count what happened in the draws of one case.

    A share of false alarms is over all draws: a draw without p is none. Coverage is over draws with an
    interval. The width is the median width over the distance between the 2.5 and 97.5 % points of the values.
    """
    runs = len(outcomes)
    with_interval = [one for one in outcomes if one.low is not None and one.high is not None]
    tested = [one.p is not None for one in outcomes]
    small = [one.p is not None and one.p <= LEVEL for one in outcomes]
    held = None
    if case.truth is not None and with_interval:
        held = float(np.mean([_holds(one, case.truth) for one in with_interval]))
    standard = None
    power = None if case.standard is None and case.least is None else float(np.mean(small))
    if case.standard is not None:
        standard = float(np.mean([one.standard is not None and one.standard <= LEVEL for one in outcomes]))
    row = Row(
        design, family, case.metric, runs, case.truth,
        float(np.mean(small)) if case.fair and any(tested) else None,
        held,
        _share(outcomes, _contradicts), _share(outcomes, _disagrees),
        _share(with_interval, lambda one: one.low == one.high),
        _share(with_interval, lambda one: one.value is not None and not _holds(one, one.value)),
        power, standard, _width(with_interval), case.wide,
        printed=_share(outcomes, lambda one: bool(one.printed)), least=case.least,
    )  # fmt: skip
    return row if case.lines is None else _with_lines(row, case, [one.lines or () for one in outcomes])


def _with_lines(row: Row, case: Case, lines_of_draws: Sequence[Sequence[Line]]) -> Row:
    """The row with coverage over all lines of all draws; of listed ones, how often they mislead.

    The share of false lines is the mean over draws, 0 where none is listed.
    """
    lines = [line for lines in lines_of_draws for line in lines]
    row = replace(
        row,
        coverage=_share(lines, lambda line: _holds(line, line.truth)) if lines else None,
        zero_widths=_share(lines, lambda line: line.low == line.high),
        outside=_share(lines, lambda line: not _holds(line, line.value)),
    )
    if not case.is_listed:
        return row
    shares = [_share(lines, lambda line: line.is_false) for lines in lines_of_draws]
    return replace(row, too_far=_share(lines, _is_too_far), false_share=float(np.mean(shares)))


def _share(outcomes: Sequence[Outcome | Line], test: object) -> float:
    return float(np.mean([bool(test(one)) for one in outcomes])) if outcomes else 0.0  # type: ignore[operator]  # a function


def _is_too_far(line: Line) -> bool:
    """Whether the end nearer to 0 lies beyond the population value."""
    return 0 < line.low > line.truth or 0 > line.high < line.truth


def _holds(one: Outcome | Line, truth: float) -> bool:
    return one.low is not None and one.high is not None and one.low - 1e-9 <= truth <= one.high + 1e-9


def _contradicts(one: Outcome) -> bool:
    """A verdict "beyond chance" with the reference inside the interval."""
    return one.beyond and one.low is not None and one.reference is not None and _holds(one, one.reference)


def _disagrees(one: Outcome) -> bool:
    """P and interval of one level on different sides."""
    if one.p is None or one.low is None or one.reference is None:
        return False
    return (one.p <= LEVEL) == _holds(one, one.reference)


def _width(outcomes: Sequence[Outcome]) -> float | None:
    values = [one.value for one in outcomes if one.value is not None]
    if len(values) < 20:
        return None
    low, high = np.quantile(values, [0.025, 0.975])
    widths = [one.high - one.low for one in outcomes if one.high is not None and one.low is not None]
    return float(np.median(widths) / (high - low)) if high > low else None
