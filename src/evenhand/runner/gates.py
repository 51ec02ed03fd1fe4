"""Gates: ``--fail-if "skewsize@gender<-0.5"`` turns a finding into an exit code."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence

from evenhand.core.errors import GateBroken, ParameterError, UnknownName
from evenhand.core.results import Finding
from evenhand.metrics.definitions import DEFINITIONS

_OPERATORS = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
_GATE = re.compile(r"\s*(?P<name>[a-z_]\w*)(?:@(?P<by>.+?))?\s*(?P<op><=|>=|==|!=|<|>)\s*(?P<number>\S+)\s*")


def check_gates(findings: Sequence[Finding], gates: Sequence[str]) -> None:
    """Raise GateBroken where a finding meets a gate's condition, or has no value.

    Args:
        findings: All findings of a run.
        gates: Conditions ``name[@by] OP number``; without ``@by`` every grouping counts.

    Raises:
        ParameterError: A gate that cannot be read.
        UnknownName: No finding has the gate's name and grouping.
        GateBroken: At least one gate is broken; the message lists all.
    """
    broken = [line for gate in gates for line in _broken(findings, gate)]
    if broken:
        raise GateBroken("gate broken: " + "; ".join(broken))


def parse_gate(gate: str) -> tuple[str, str | None, str, float]:
    """Name, grouping, operator and number of a gate.

    Raises:
        ParameterError: It cannot be read.
    """
    match = _GATE.fullmatch(gate)
    try:
        if match is None:
            raise ValueError
        number = float(match["number"])
        if not math.isfinite(number):
            raise ValueError
        return match["name"], match["by"], match["op"], number
    except ValueError:
        raise ParameterError(
            f"--fail-if {gate!r} cannot be read; write name[@by] OP number, "
            "for example 'accuracy_gap@gender>0.1'"
        ) from None


def check_gate_names(gates: Sequence[str]) -> None:
    """Refuse gates that cannot be read or name no metric, before hours of counting."""
    for gate in gates:
        name = parse_gate(gate)[0]
        if name not in DEFINITIONS:
            raise UnknownName("metric", name, sorted(DEFINITIONS), "see: evenhand ls metrics")


def _broken(findings: Sequence[Finding], gate: str) -> list[str]:
    name, by, symbol, number = parse_gate(gate)
    chosen = [f for f in findings if f.name == name and by in (None, f.grouping)]
    if not chosen:
        known = sorted({f"{f.name}@{f.grouping}" if by else f.name for f in findings})
        raise UnknownName("finding", f"{name}@{by}" if by else name, known)
    broken = []
    for finding in chosen:
        if finding.value is None:
            broken.append(f"{finding.metric} has no value ({finding.reason}), and a gate needs one")
        elif _OPERATORS[symbol](finding.value, number):
            broken.append(f"{finding.metric} = {finding.value:.4f} {symbol} {number:g}")
    return broken
