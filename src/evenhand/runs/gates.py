"""Gates: ``--fail-if "accuracy_gap@gender>0.1"`` turns a finding into an exit code."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from evenhand.core.cards import MetricCard
from evenhand.core.errors import GateBroken, ParameterError, UnknownName
from evenhand.core.findings import Finding
from evenhand.metrics.catalogue import known_cards

OPTION = "--fail-if"
_OPERATORS = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
_GATE = re.compile(
    r"\s*(?P<name>[a-z_]\w*)(?P<end>\.(?:low|high))?(?:\[(?P<only>[^\]]*)\])?(?:@(?P<by>.+?))?"
    r"\s*(?P<op><=|>=|==|!=|<|>)\s*(?P<number>\S+)\s*"
)


def check_gates(findings: Sequence[Finding], gates: Sequence[str]) -> None:
    """Raise GateBroken where a finding meets a gate's condition, or has no value.

    Args:
        findings: All findings of a run.
        gates: Conditions ``name[@by] OP number``; without ``@by`` every grouping counts. Parameters in
            brackets choose among findings of one name: ``association_effect_size[stage=after]>1``.
            ``accuracy_gap.low>0.02`` reads the end of the interval that is shown.

    Raises:
        ParameterError: A gate that cannot be read.
        UnknownName: No finding has the gate's name, grouping and parameters.
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


def chosen_by(gate: str) -> dict[str, str]:
    """The parameters that a gate names in brackets, and the value that each must have.

    Raises:
        ParameterError: They cannot be read.
    """
    match = _GATE.fullmatch(gate)
    text = "" if match is None else match["only"] or ""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    if any(not sign or not key.strip() or not value.strip() for key, sign, value in pairs):
        raise ParameterError(
            f"--fail-if {gate!r} cannot be read; write parameters as name[key=value,key=value] OP number, "
            "for example 'association_effect_size[stage=after,half=held_out]>1'"
        )
    return {key.strip(): value.strip() for key, _, value in pairs}


def check_gate_names(gates: Sequence[str], own_cards: Iterable[MetricCard] = ()) -> None:
    """Refuse gates that cannot be read or name no metric, before hours of counting.

    A metric that says nothing by itself, as SkewSize, needs a gate on the one that its card names beside it,
    of the same grouping or of all.

    Args:
        gates: Conditions.
        own_cards: Cards of metrics that nothing else declares: a benchmark's, or those of a run.
    """
    if not gates:
        return
    cards_by_name = known_cards() | {card.name: card for card in own_cards}
    read = [parse_gate(gate)[:2] for gate in gates]
    for gate, (name, by) in zip(gates, read, strict=True):
        chosen_by(gate)
        if name not in cards_by_name:
            raise UnknownName("metric", name, sorted(cards_by_name), "see: evenhand ls metrics")
        beside = cards_by_name[name].gate_beside
        if beside and not {(beside, by), (beside, None)} & set(read):
            finding_name = f"{beside}@{by}" if by else beside
            raise ParameterError(
                f"{OPTION} {gate!r} cannot stand alone: {cards_by_name[name].title} says how effects are "
                "spread over classes, not how strong they are, so that it is the same for weak and for "
                f'strong ones; add a gate on mean V, such as {OPTION} "{finding_name}>0.1"'
            )


def _broken(findings: Sequence[Finding], gate: str) -> list[str]:
    name, by, symbol, number = parse_gate(gate)
    of_name = [f for f in findings if f.name == name and by in (None, f.grouping)]
    if not of_name:
        names = sorted({f"{f.name}@{f.grouping}" if by else f.name for f in findings})
        raise UnknownName("finding", f"{name}@{by}" if by else name, names)
    broken = []
    for finding in _with_parameters(of_name, chosen_by(gate), gate):
        if finding.value is None:
            broken.append(f"{finding.metric} has no value ({finding.reason}), and a gate needs one")
            continue
        measured, what = _measured(finding, finding.value, gate)
        if measured is None:
            broken.append(f"{finding.metric} has no interval, and this gate needs its end")
        elif _OPERATORS[symbol](measured, number):
            broken.append(f"{finding.metric}{what} = {measured:.4f} {symbol} {number:g}")
    return broken


def _measured(finding: Finding, value: float, gate: str) -> tuple[float | None, str]:
    """The number that a gate reads: the value, or an end of the interval shown; and what that is called."""
    match = _GATE.fullmatch(gate)
    end = match["end"] if match is not None else None
    if not end:
        return value, ""
    interval = finding.interval
    return (None if interval is None else float(getattr(interval, end[1:]))), end


def _with_parameters(findings: Sequence[Finding], only: Mapping[str, str], gate: str) -> Sequence[Finding]:
    """The findings whose parameters a gate asks for; all where it asks for none."""
    if not only:
        return findings
    printed = [{key: _printed(value) for key, value in finding.params.items()} for finding in findings]
    for key, value in only.items():
        values = sorted({params[key] for params in printed if key in params})
        if not values:
            raise UnknownName(
                f"parameter of {findings[0].name}", key, sorted({k for params in printed for k in params})
            )
        if value not in values:
            raise UnknownName(f"{key} of {findings[0].name}", value, values)
    matching = [
        finding for finding, params in zip(findings, printed, strict=True) if only.items() <= params.items()
    ]
    if not matching:
        raise ParameterError(f"--fail-if {gate!r} chooses no finding: none has all of these; leave one out")
    return matching


def _printed(value: object) -> str:
    """A parameter as the name of a finding has it."""
    return "|".join(map(str, value)) if isinstance(value, list) else str(value)


def gates_of(command: Sequence[str]) -> list[str]:
    """The gates that a command line gives, as they were typed.

    Args:
        command: Program and arguments, such as ``sys.argv``.
    """
    words = [part for word in command for part in (word.split("=", 1) if _joined(word) else [word])]
    return [gate for option, gate in pairwise(words) if option == OPTION and _GATE.fullmatch(gate)]


def _joined(word: str) -> bool:
    return word.startswith(f"{OPTION}=")
