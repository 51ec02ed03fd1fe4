"""Gates: ``--fail-if "accuracy_gap@gender beyond chance"`` turns a finding into an exit code."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from evenhand.core.cards import SHARES, MetricCard
from evenhand.core.errors import GateBroken, ParameterError, UnknownName, first_few
from evenhand.core.findings import Finding
from evenhand.core.significance import p_shown, significance_of
from evenhand.display.overview.changes import direction, gain
from evenhand.display.overview.mistakes import first_sentence
from evenhand.display.overview.subject import Subject
from evenhand.display.results import finding_facts
from evenhand.metrics.catalogue import known_cards, named_arguments

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
    r"(?:\s*(?P<op><=|>=|==|!=|<|>)\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,2})?)"
    r"|(?(end)(?!))\s+(?:(?P<side>beyond|above|below)\s+chance|got\s+(?P<worse>worse)))\s*"  # no verdict
)
_FORMS = (
    "write name[@by] OP number, for example 'accuracy_gap@gender>0.1'; name.low[@by] OP number or name.high "
    "for an end of the interval, for example 'accuracy_gap.low@gender>0.05'; or name[@by] beyond chance "
    "(also above, below), for example 'accuracy_gap@gender beyond chance'; of a comparison name[@by] got "
    "worse, for example 'accuracy_difference@gender got worse'"
)
_ONE_CLUSTER = "so that nothing says how clusters differ"
_SUGGESTED = 6  # findings with a verdict that a message names


@dataclass(frozen=True)
class Condition:
    """What a gate says."""

    name: str  # of the metric
    by: str | None  # None: every grouping
    params: Mapping[str, str]  # that a finding must have
    end: str  # ``.low`` or ``.high`` of the interval; empty: the value
    sign: str  # an operator; a side of chance, ``beyond``, ``above`` or ``below``; or ``worse``
    number: float | None  # None beside a side of chance, or ``worse``


def check_gates(
    findings: Sequence[Finding], gates: Sequence[str], manifest: Mapping[str, Any] | None = None
) -> None:
    """Raise GateBroken where a finding meets a gate's condition, or lacks what the gate reads.

    ``name[@by] OP number``: without ``@by`` every grouping counts; parameters in brackets choose among
    findings of one name (``association_effect_size[stage=after]>1``); ``name.low`` reads an end of the
    interval. ``beyond``, ``above`` and ``below chance`` read ``significance_of``. ``accuracy_gap got worse``
    reads ``accuracy_gap_difference``: the newer model (the one typed later, the later one in time, or the one
    that is no ``--reference``) is worse beyond chance.
    """
    subject = Subject.of(manifest or {})
    broken = [line for gate in gates for _, line in gate_results(findings, gate, subject) if line]
    if broken:
        raise GateBroken("gate broken: " + "; ".join(broken))


def gate_results(
    findings: Sequence[Finding], gate: str, subject: Subject
) -> list[tuple[Finding, str | None]]:
    """Every finding that a gate is about, with what broke the gate; None where it held."""
    condition = parse_gate(gate)
    name, by = condition.name, condition.by
    of_name = [f for f in findings if f.name == name and by in (None, f.grouping)]
    if not of_name and condition.sign == "worse":  # by how much models differ in it
        of_name = [f for f in findings if f.name == f"{name}_difference" and by in (None, f.grouping)]
    if not of_name:
        names = sorted({f"{f.name}@{f.grouping}" if by else f.name for f in findings})
        raise UnknownName("finding", f"{name}@{by}" if by else name, names)
    about = _with_parameters(of_name, condition.params, gate)
    return [(finding, _broken(finding, condition, subject, findings)) for finding in about]


def parse_gate(gate: str) -> Condition:
    """What a gate says."""
    match = _GATE.fullmatch(gate)
    if match is None:
        raise ParameterError(f"{OPTION} {gate!r} cannot be read; {_FORMS}")
    try:
        name, params = named_arguments(f"{match['name']}[{match['only'] or ''}]")
    except ParameterError:
        raise ParameterError(
            f"{OPTION} {gate!r} cannot be read; write parameters as name[key=value,key=value] OP number, "
            "for example 'association_effect_size[stage=after,half=held_out]>1'"
        ) from None
    return Condition(
        name=name,
        by=match["by"],
        params=params,
        end=match["end"] or "",
        sign=match["op"] or match["side"] or match["worse"],
        number=float(match["number"]) if match["op"] else None,
    )


def check_gate_names(
    gates: Sequence[str],
    own_cards: Iterable[MetricCard] = (),  # of metrics that nothing else declares: a benchmark's, or a run's
    groupings: Sequence[str] = (),  # that findings will have; empty: not known yet
    *,
    compares: bool = False,  # findings compare models, so that one can be worse
) -> None:
    """Refuse gates that cannot be read, name no metric or grouping, or always say the same, before counting.

    A metric that says nothing by itself, as SkewSize, needs a gate on the one that its card names beside it,
    of the same grouping or of all.
    """
    if not gates:
        return
    cards_by_name = known_cards() | {card.name: card for card in own_cards}
    conditions = [parse_gate(gate) for gate in gates]
    gated = {(condition.name, condition.by) for condition in conditions}
    for gate, condition in zip(gates, conditions, strict=True):
        name, by = condition.name, condition.by
        if name not in cards_by_name:
            raise UnknownName("metric", name, sorted(cards_by_name), "see: evenhand ls metrics")
        _refuse_settled(gate, condition, cards_by_name[name])
        if condition.sign == "worse" and not compares:
            raise ParameterError(f"{OPTION} {gate!r} needs two models; give it to evenhand compare OLD NEW")
        if by and groupings and by not in groupings:
            raise UnknownName("grouping", by, groupings, f"{OPTION} {gate!r} needs one of --by")
        beside = cards_by_name[name].gate_beside
        if beside and not {(beside, by), (beside, None)} & gated:
            finding_name = f"{beside}@{by}" if by else beside
            raise ParameterError(
                f"{OPTION} {gate!r} cannot stand alone: {cards_by_name[name].title} says how effects are "
                "spread over classes, not how strong they are, so that it is the same for weak and for "
                f'strong ones; add a gate on mean V, such as {OPTION} "{finding_name}>0.1"'
            )


def _refuse_settled(gate: str, condition: Condition, card: MetricCard) -> None:
    """Refuse a gate that every value of its metric breaks, or none: it would check nothing."""
    number = condition.number
    if number is None or card.range == (None, None):
        return
    least, most = card.range
    low, high = -math.inf if least is None else least, math.inf if most is None else most
    possible = (low, high, number) if low <= number <= high else (low, high)
    breaks = {bool(_OPERATORS[condition.sign](value, number)) for value in possible}
    if len(breaks) == 2:  # it depends on the value
        return
    lies = f"lies in {low:g} to {high:g}"
    if least is None or most is None:
        lies = f"is at most {high:g}" if least is None else f"is at least {low:g}"
    hint = ""
    if card.unit in SHARES and abs(number) >= 1 and low < number / 100 < high:
        counted = "point" if abs(number) == 1 else "points"
        counted = "%" if card.unit == "share" and card.of is None else counted
        hint = f"; for {number:g} {counted} write {number / 100:g}"
    raise ParameterError(
        f"{OPTION} {gate!r} {'always' if breaks == {True} else 'never'} breaks: {card.name} {lies}{hint}"
    )


def _broken(
    finding: Finding, condition: Condition, subject: Subject, findings: Sequence[Finding]
) -> str | None:
    """How a finding breaks a gate, with its sentence; None where it does not."""
    metric, end, number = finding.metric, condition.end, condition.number
    if finding.value is None:
        return f"{metric} has no value ({finding.reason}), and a gate needs one"
    if end and finding.interval is None:
        return f"{metric} has no interval, and this gate needs its end"
    if (end or number is None) and finding.details.get("units") == 1:
        return f"{metric} is of one cluster ({_ONE_CLUSTER}), and this gate needs several"
    measured = float(getattr(finding.interval, end[1:])) if end else finding.value
    if number is not None:
        is_broken, says = _OPERATORS[condition.sign](measured, number), f"{condition.sign} {number:g}"
    else:
        verdict = significance_of(finding, subject.alpha)
        if not verdict.side:
            return f"{metric} has no verdict ({_untested(finding)}), and this gate needs one; " + _tested(
                findings, subject.alpha
            )
        # A gate on a side is broken, too, where nothing says on which side of chance the value is.
        signs = ("beyond", verdict.side, "worse") if _got_worse(finding, condition, subject) else ()
        is_broken = verdict.beyond and (condition.sign in signs or verdict.side == "beyond")
        says = f"is {verdict.side} chance"
        if condition.sign == "worse" and (better := direction([finding], subject)):
            says += f"; {better}"
    if not is_broken:
        return None
    value = f"{measured:.12g}" if finding.card.unit == "count" else f"{measured:.4f}"
    return f"{metric}{end} = {value} {says}{_sentence(finding, end, subject)}"


def _got_worse(finding: Finding, condition: Condition, subject: Subject) -> bool:
    """Whether the newer of two models is worse by its value; true of gates that do not ask for it."""
    if condition.sign != "worse":
        return True
    more = gain(finding) if finding.reference is not None else None
    if more is None:
        why = "neither side of it is better" if finding.reference else "it compares no models"
        raise ParameterError(
            f"{OPTION} '{finding.name} got worse' is not possible: {why}; write {finding.name} beyond chance"
        )
    return more > 0 if subject.is_turned(finding) else more < 0


def _sentence(finding: Finding, end: str, subject: Subject) -> str:
    """What a broken gate says of its finding beside the number, and the first line that the finding lists."""
    facts = [f"value {finding.value:z.3f}"] if end else []
    listed = first_sentence(finding, subject) if finding.card.first_line else None
    return f" ({'; '.join(facts + finding_facts(finding))})" + (f": {listed.rstrip('.')}" if listed else "")


def _untested(finding: Finding) -> str:
    """Why a finding with a value has no verdict."""
    if p_shown(finding) is None:
        is_one = any(note.startswith("one_cluster") for note in finding.notes)
        return f"it has no test: each group is one cluster, {_ONE_CLUSTER}" if is_one else "it has no test"
    if finding.role == "exploratory":
        return "its p is exploratory: not corrected for the other tests of the run"
    return "nothing says what chance gives"


def _tested(findings: Sequence[Finding], alpha: float) -> str:
    """The gates on chance that a run can have."""
    tested = [finding for finding in findings if significance_of(finding, alpha).side]
    gates = list(dict.fromkeys(f"{f.name}@{f.grouping}" if f.by else f.name for f in tested))
    if not gates:
        return "no finding of this run has one"
    return f"findings that have one: {first_few(gates, _SUGGESTED, ' and {} more')}"


def _with_parameters(findings: Sequence[Finding], only: Mapping[str, str], gate: str) -> Sequence[Finding]:
    """The findings whose parameters a gate asks for; all where it asks for none."""
    if not only:
        return findings
    printed = [
        {
            key: "|".join(map(str, value)) if isinstance(value, list) else str(value)
            for key, value in finding.params.items()
        }
        for finding in findings
    ]
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
        raise ParameterError(f"{OPTION} {gate!r} chooses no finding: none has all of these; leave one out")
    return matching


def gates_of(command: Sequence[str]) -> list[str]:
    """The gates that a command line gives, as they were typed."""
    words = [
        part for word in command for part in (word.split("=", 1) if word.startswith(f"{OPTION}=") else [word])
    ]
    return [gate for option, gate in pairwise(words) if option == OPTION and _GATE.fullmatch(gate)]
