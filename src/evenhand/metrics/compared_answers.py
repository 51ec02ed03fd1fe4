"""Differences of two models in a finding of answers that are not predictions, on the samples of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from evenhand.core.results import Dropped, Finding, GroupSize, Interval, Key, Param, Part
from evenhand.core.seeds import stream
from evenhand.metrics.building import as_finding, number
from evenhand.metrics.compared_inference import inferred, made_by
from evenhand.metrics.definitions import DEFINITIONS
from evenhand.metrics.named_groups import corrected

Floats = npt.NDArray[np.float64]

SAME_SAMPLES = "same samples"
ALIKE = "the models answered every unit alike, so that there is no spread to measure a difference in"


class Pairs(Protocol):
    """Answers of two models to the same units, with S numbers made of them."""

    @property
    def count(self) -> int:
        """How many units there are."""
        ...

    def observed(self) -> Floats:
        """The numbers of both models, shape (2, S)."""
        ...

    def limits(self, at: int, rng: np.random.Generator) -> Callable[[float], tuple[float, float]]:
        """From a level to the limits of one of the differences; NaN where nothing varies."""
        ...


@dataclass(frozen=True)
class PartOf:
    """A part of which the difference is wanted too.

    Attributes:
        kind: As parts of findings have it.
        key: Its group.
        n: Samples in it.
    """

    kind: str
    key: Key
    n: int


@dataclass(frozen=True, eq=False)
class AnsweredBoth:
    """What two models answered about the same samples, under one finding.

    Attributes:
        of: The finding of the first model: which metric, grouping and parameters.
        whole: Its value, S = 1.
        unit: What ``whole`` counts as one, such as ``household``.
        n: Samples that both answered.
        parts: The parts.
        inner: Their values, S = number of parts; None where there are none.
        inner_unit: What ``inner`` counts as one.
        groups: Samples of each group.
        dropped: Samples left out, by reason.
        notes: What else is to be known.
    """

    of: Finding
    whole: Pairs
    unit: str
    n: int
    parts: tuple[PartOf, ...] = ()
    inner: Pairs | None = None
    inner_unit: str = ""
    groups: tuple[GroupSize, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()


def answer_difference(
    both: AnsweredBoth,
    *,
    names: Sequence[str] = ("first", "second"),
    family: int = 1,
    alpha: float = 0.05,
    seed: int = 0,
    tested: bool = True,
) -> Finding:
    r"""A finding of one model minus that of another, ``METRIC_difference``; fair at 0.

    Interval: rates of both models have Wilson's limits at the size that their units leave of it; their
    weighted difference, or that of their ranges and least rates, has limits by MOVER, with the correlation of
    two models that answered the same units. Numbers that are no shares have t over units, effect sizes of
    association t times the standard deviation of resamples. p is that of the level at which the interval
    leaves 0 out, and the null band is where it would hold 0. ``mde`` as in ``model_differences``.

    Args:
        both: The answers.
        names: What the two models are called.
        family: How many tests of one metric are corrected together.
        alpha: Level of the tests.
        seed: Of every random stream.
        tested: Whether the value has a p of its own; not where another finding has tested the same.

    Returns:
        A Finding in the metric's units, first minus second; None where it has no value for one of them. Parts
        have the difference in each group, with p corrected by Holm among them. Details hold both models'
        values on the samples compared, and which way of the metric is better.

    Source: Newcombe 1998 (paired differences, method 10); Korn and Graubard 1998; Zou and Donner 2008.
    """
    of = both.of
    values = both.whole.observed()[:, 0]
    value = number(float(values[0] - values[1]))
    lacking = [name for name, one in zip(names, values, strict=True) if not np.isfinite(one)]
    fields: dict[str, Any] = {"reason": f"no value for {' and '.join(lacking)}"}
    make: Callable[[float], Interval | None] | None = None
    if value is not None:
        limits = both.whole.limits(0, _stream(both, seed))
        make = made_by(limits, _method(both.unit))
        fields = inferred(limits, value, value, _method(both.unit), alpha / family)
    if not tested:
        fields |= {"p_value": None, "mde": None}
    details = {
        "compared": SAME_SAMPLES,
        "first": number(float(values[0])),
        "second": number(float(values[1])),
        "units": float(both.whole.count),
        "unit": both.unit,
        "metric_direction": DEFINITIONS[of.name].direction,
    }
    return _finding(both, names, value, limits=make, parts=_parts(both, seed), details=details, **fields)


def _finding(both: AnsweredBoth, names: Sequence[str], value: float | None, **fields: Any) -> Finding:
    """A Finding with what the compared finding and the definition say filled in."""
    of, name = both.of, f"{both.of.name}_difference"
    params: dict[str, Param] = {**of.params, "model": names[0], "reference": names[1]}
    return as_finding(
        name,
        of.by,
        params,
        lists="|",
        benchmark=of.benchmark,
        model=names[0],
        reference=names[1],
        value=value,
        n=float(both.n),
        groups=list(both.groups),
        dropped=list(both.dropped),
        notes=[*both.notes, *_agreement(both.whole, value, fields)],
        **fields,
    )


def _stream(both: AnsweredBoth, seed: int, *purpose: str) -> np.random.Generator:
    of = both.of
    told = sorted(f"{key}={one}" for key, one in of.params.items())
    return stream(seed, "answers", of.name, "+".join(of.by), told, *purpose)


def _method(unit: str) -> str:
    return f"limits of both models by {unit}, on the same ones (MOVER, Zou and Donner)"


def _agreement(whole: Pairs, value: float | None, fields: dict[str, Any]) -> list[str]:
    """A word on models between which nothing varies."""
    if value is None:
        return []
    if whole.count < 2:
        return ["there is a single unit, so that no test can tell the models apart"]
    return [ALIKE] if fields.get("interval") is None else []


def _parts(both: AnsweredBoth, seed: int) -> list[Part]:
    """The difference in each part."""
    if both.inner is None or not both.parts:
        return []
    values, made = both.inner.observed(), []
    for at, part in enumerate(both.parts):
        first, second = (number(float(one)) for one in values[:, at])
        told: dict[str, Any] = {"details": {"first": first, "second": second}}
        value = None if first is None or second is None else first - second
        if value is None:
            told["reason"] = "empty"
        else:
            limits = both.inner.limits(at, _stream(both, seed, "parts", str(at)))
            told |= inferred(limits, value, value, _method(both.inner_unit), 1.0) | {"mde": None}
        made.append(Part(kind=part.kind, key=part.key, value=value, n=part.n, chance_at=0.0, **told))
    return corrected(made)
