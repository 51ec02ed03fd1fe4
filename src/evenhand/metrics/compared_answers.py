"""Differences of two models in a finding of answers that are not predictions, on the samples of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from evenhand.core.bound import BoundMetric
from evenhand.core.results import Dropped, Finding, GroupSize, Key, Param, Part
from evenhand.core.seeds import stream
from evenhand.metrics.building import null_band, number, percentile_interval
from evenhand.metrics.compared_models import POWER, exchanges_for
from evenhand.metrics.definitions import DEFINITIONS
from evenhand.metrics.prepared import LEVEL, REPLICATES
from evenhand.metrics.resolution_findings import corrected
from evenhand.stats.exchanged import exchange_p

Floats = npt.NDArray[np.float64]

SAME_SAMPLES = "same samples"
_MOST_NUMBERS = 20_000_000  # of exchanged parts


class Pairs(Protocol):
    """Answers of two models to the same units, with S numbers made of them."""

    @property
    def count(self) -> int:
        """How many units there are."""
        ...

    @property
    def linear(self) -> bool:
        """Whether every number is a weighted sum of rates."""
        ...

    def observed(self) -> Floats:
        """The numbers of both models, shape (2, S)."""
        ...

    def exchanged(self, rng: np.random.Generator, replicates: int) -> Floats:
        """The same where answers changed places, shape (2, replicates, S)."""
        ...

    def resampled(self, rng: np.random.Generator, replicates: int) -> Floats:
        """The same where units were drawn again, shape (2, replicates, S)."""
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
        unit: What ``whole`` exchanges and draws, such as ``household``.
        n: Samples that both answered.
        parts: The parts.
        inner: Their values, S = number of parts; None where there are none.
        inner_unit: What ``inner`` exchanges and draws.
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

    Test: the answers of each unit (a sample; or a person, household or occupation as a whole, where the
    metric's own interval has those as units) change places with probability 1/2. It holds whatever the
    metric, if the two models' answers to a unit are alike in distribution. p is ``(1 + b) / (1 + B)``, B from
    ``exchanges_for``. Interval: percentiles of 999 paired bootstrap replicates, units drawn again as a whole,
    within their group where the group is fixed by the unit; of gaps, worst groups and effect sizes, which
    resampling moves, those and the basic bootstrap interval together. Of effect sizes of association, what
    changes places are associations on the scale of each model's own standard deviation, and the attributes
    are taken as they are. ``mde`` as in ``model_differences``.

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

    Source: permutation of pairs, Good 2005, chapter 3; of single answers, McNemar 1947.
    """
    of = both.of
    values = both.whole.observed()[:, 0]
    value = number(float(values[0] - values[1]))
    lacking = [name for name, one in zip(names, values, strict=True) if not np.isfinite(one)]
    fields: dict[str, Any] = {"reason": f"no value for {' and '.join(lacking)}"}
    if value is not None:
        fields = _whole(both, value, exchanges_for(family, alpha), alpha / family, seed)
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
    return _finding(both, names, value, parts=_parts(both, alpha, seed), details=details, **fields)


def _finding(both: AnsweredBoth, names: Sequence[str], value: float | None, **fields: Any) -> Finding:
    """A Finding with what the compared finding and the definition say filled in."""
    of, name = both.of, f"{both.of.name}_difference"
    definition = DEFINITIONS[name]
    params: dict[str, Param] = {**of.params, "model": names[0], "reference": names[1]}
    printed = {key: "|".join(map(str, one)) if isinstance(one, list) else one for key, one in params.items()}
    return Finding(
        metric=str(BoundMetric.make(name, tuple(of.by), printed)),
        name=name,
        params=params,
        benchmark=of.benchmark,
        model=names[0],
        reference=names[1],
        by=list(of.by),
        value=value,
        n=float(both.n),
        groups=list(both.groups),
        dropped=list(both.dropped),
        direction=definition.direction,
        fair_at=definition.fair_at,
        source=definition.source,
        notes=[*both.notes, *_agreement(both.whole, value)],
        **fields,
    )


def _stream(both: AnsweredBoth, seed: int, *purpose: str) -> np.random.Generator:
    of = both.of
    told = sorted(f"{key}={one}" for key, one in of.params.items())
    return stream(seed, "answers", of.name, "+".join(of.by), told, *purpose)


def _whole(both: AnsweredBoth, value: float, exchanges: int, alpha: float, seed: int) -> dict[str, Any]:
    """What is inferred about the value itself."""
    null = _minus(both.whole.exchanged(_stream(both, seed, "exchange"), exchanges))
    draws = _minus(both.whole.resampled(_stream(both, seed, "bootstrap"), REPLICATES))
    found = _inference(null, draws, value, both.unit, seed, hull=not both.whole.linear)
    return {**found, "mde": _mde(null[:, 0], alpha)}


def _minus(draws: Floats) -> Floats:
    return np.asarray(draws[0] - draws[1])


def _inference(
    null: Floats, draws: Floats, value: float, unit: str, seed: int, *, at: int = 0, hull: bool = False
) -> dict[str, Any]:
    """Interval, null band and p of one of the numbers; ``null`` and ``draws`` of shape (replicates, S)."""
    told = f"answers of each {unit} exchanged"
    method = f"paired bootstrap of each {unit}"
    interval = percentile_interval(draws[:, at], level=LEVEL, method=method, seed=seed)
    if interval is not None and hull:
        low, high = 2 * value - interval.high, 2 * value - interval.low
        ends = {"low": min(low, interval.low), "high": max(high, interval.high)}
        interval = interval.model_copy(update={**ends, "method": f"{method}, percentile and basic together"})
    return {
        "interval": interval,
        "null": null_band(null[:, at], level=LEVEL, method=told, seed=seed),
        "p_value": exchange_p(null[:, at], value, symmetric=True),
    }


def _mde(null: Floats, alpha: float) -> float | None:
    from scipy import special

    spread = float(np.nanstd(null)) if np.isfinite(null).any() else 0.0
    return number(spread * float(special.ndtri(1 - alpha / 2) + special.ndtri(POWER))) or None


def _agreement(whole: Pairs, value: float | None) -> list[str]:
    """A word on models between which nothing varies: exchange and bootstrap then show no width."""
    if value is None or whole.count > 1:
        return []
    return ["there is a single unit, so that no test can tell the models apart"]


def _parts(both: AnsweredBoth, alpha: float, seed: int) -> list[Part]:
    """The difference in each part."""
    if both.inner is None or not both.parts:
        return []
    values = both.inner.observed()
    most = max(REPLICATES, _MOST_NUMBERS // len(both.parts))
    exchanges = min(exchanges_for(len(both.parts), alpha), most)
    null = _minus(both.inner.exchanged(_stream(both, seed, "exchange", "parts"), exchanges))
    draws = _minus(both.inner.resampled(_stream(both, seed, "bootstrap", "parts"), REPLICATES))
    made = []
    for at, part in enumerate(both.parts):
        first, second = (number(float(one)) for one in values[:, at])
        told: dict[str, Any] = {"details": {"first": first, "second": second}}
        value = None if first is None or second is None else first - second
        if value is None:
            told["reason"] = "empty"
        else:
            told |= _inference(null, draws, value, both.inner_unit, seed, at=at)
        made.append(Part(kind=part.kind, key=part.key, value=value, n=part.n, **told))
    return corrected(made)
