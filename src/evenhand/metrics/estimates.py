"""What all families of metrics share: arguments and their checks, and the way from arrays to Findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.core.cards import MetricCard, metric_id
from evenhand.core.errors import ParameterError, check_choice
from evenhand.core.findings import Dropped, Finding, GroupSize, Interval, Key, NewDetails, Null, Part
from evenhand.core.significance import EDGE
from evenhand.metrics.tables.grouping import Grouped
from evenhand.stats.arrays import Ends, Floats, Integers, Limits, Pair, central, crossing, pair_of
from evenhand.stats.exchange.compared_rates import exceeded

P = ParamSpec("P")
T = TypeVar("T")
Holder = TypeVar("Holder", Finding, Part)

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

By: TypeAlias = str | Sequence[str]
Fields: TypeAlias = dict[str, Any]
"""Fields of a finding or a part, by name."""

REPLICATES = 999
LEVEL = 0.95
Z_LEVEL, Z_POWER = 1.959963984540054, 0.8416212335729143
"""The .975 quantile of the normal distribution, and its .8 quantile for a power of .8."""
Levels: TypeAlias = Callable[[float], Interval | None]
"""From a level to the interval at it, where there is one."""

_HALVINGS = 20  # a millionth of p
_ROUNDING = 1e-12  # as far apart as equal replicates may come
_INSIDE = 0.99  # of the distance between mean and value, where an end of a band may lie at most
FEWEST = 10
"""Units below which a group that decides a value is named."""

_UNDECLARED = MetricCard.plain("")


def get_or_make(memo: dict[Any, Any], key: Any, make: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """What evidence remembers under a key; it is made once, of these arguments."""
    if key not in memo:
        memo[key] = make(*args, **more)
    remembered: T = memo[key]
    return remembered


def names_of(by: By) -> tuple[str, ...]:
    """A grouping as a tuple of attribute names; a text is one name."""
    names = (by,) if isinstance(by, str) else tuple(by)
    if len(set(names)) != len(names):
        raise ParameterError(f"by={list(names)!r} names an attribute twice; name each once")
    return names


def check_common(mode: Mode, inference: Inference, seed: int = 0) -> None:
    """Refuse an unknown mode or inference, and a seed below 0."""
    check_choice("mode", mode, get_args(Mode))
    check_choice("inference", inference, get_args(Inference))
    check_seed(seed)


def check_seed(seed: int) -> None:
    """Refuse a seed below 0."""
    if seed < 0:
        raise ParameterError(f"seed={seed} is not possible; choose 0 or more")


class _Bound(Protocol):
    """Evidence that is bound to a grouping and counts for itself."""

    @property
    def by(self) -> tuple[str, ...]: ...
    @property
    def n(self) -> float: ...
    @property
    def dropped(self) -> list[Dropped]: ...
    def group_sizes(self) -> list[GroupSize]: ...


def number(value: float | np.floating[Any]) -> float | None:
    """A float for a finding; NaN and infinity are None, because undefined is not a number."""
    return float(value) if np.isfinite(value) else None


def described(bound: _Bound, name: str, params: Fields, value: float | None, **fields: Any) -> Finding:
    """A Finding with what bound evidence says already filled in."""
    sizes: Fields = {"n": bound.n, "groups": bound.group_sizes(), "dropped": bound.dropped}
    return as_finding(name, bound.by, params, value=value, **{**sizes, **fields})


def as_finding(
    name: str,
    by: Sequence[str],
    params: Fields,
    *,
    card: MetricCard | None = None,
    lists: str | None = None,
    limits: Levels | None = None,
    **fields: Any,
) -> Finding:
    """A Finding; what its metric declares is filled in where the metric is called, or by ``card``.

    Parameters are those that differ from their default; those that are None are left out. ``lists`` is what
    lists are joined by where the metric is printed; ``limits`` make the interval of every level.
    """
    facts = card or _UNDECLARED
    finding_params = {key: param for key, param in params.items() if param is not None}
    printed = finding_params
    if lists is not None:
        printed = {
            k: lists.join(map(str, value)) if isinstance(value, list) else value
            for k, value in finding_params.items()
        }
    fields["details"] = _plain(fields.get("details", {}))
    if limits is not None:
        fields.setdefault("interval", limits(LEVEL))
    fields["parts"] = list(map(_with_agreeing_band, fields.get("parts", ())))
    finding = Finding(
        metric=metric_id(name, by, printed), name=name, params=finding_params, by=list(by),
        direction=facts.direction, fair_at=facts.fair_at, source=facts.source, **fields,
    )  # fmt: skip
    finding = _with_agreeing_band(finding if card is None else finding.with_card(card))
    return finding if limits is None or finding.interval is None else finding.with_levels(limits)


def part(
    kind: str, key: Key, value: float | None, *, limits: Levels | None = None, details: Fields | None = None,
    **fields: Any,
) -> Part:  # fmt: skip
    """A part, with the interval that its limits make; its own parts are left out."""
    fields.pop("parts", None)
    if limits is not None:
        fields["interval"] = limits(LEVEL)
    if value is not None:
        value = number(value)
    return Part(kind=kind, key=key, value=value, details=_plain(details or {}), **fields)


def no_value(reason: str) -> Fields:
    """Fields of what has no value."""
    return {"value": None, "reason": reason}


def losses(counts: Iterable[tuple[str, float]]) -> list[Dropped]:
    """What was left out, by reason."""
    return [Dropped(reason=reason, count=count) for reason, count in counts]


def sizes_of(keys: Iterable[Key], sizes: Iterable[float]) -> list[GroupSize]:
    """Rows of each group."""
    return [GroupSize(key=key, n=n) for key, n in zip(keys, sizes, strict=True)]


def _plain(details: Fields) -> NewDetails:
    """Numbers as a finding has them, None where one is undefined."""
    return {
        name: detail if detail is None or isinstance(detail, str) else number(detail)
        for name, detail in details.items()
    }


def build(grouped: Grouped, name: str, params: Fields, value: float | None, **fields: Any) -> Finding:
    """A Finding with what the grouping says already filled in.

    ``dropped`` among the fields adds to the rows the grouping dropped; details say how many units there are.
    """
    if grouped.units is not None:
        fields["details"] = {**fields.get("details", {}), "units": grouped.units.count}
    dropped = [Dropped(reason=reason, count=count) for reason, count in grouped.dropped]
    fields["dropped"] = dropped + fields.pop("dropped", [])
    sizes = enumerate(grouped.group_sizes.tolist() if grouped.by else ())
    groups = [GroupSize(key=grouped.group_key(code), n=n) for code, n in sizes]
    return as_finding(name, grouped.by, params, value=value, n=grouped.n_rows, groups=groups, **fields)


def few_decide(groups: Iterable[tuple[str, int]], units: str = "rows") -> list[str]:
    """A note that names those groups that are small; nothing where none is.

    ``groups`` decide the value, such as the best and the worst, and stand with the number of their ``units``,
    such as ``rows`` or the column of clusters.
    """
    words = units if units.endswith("s") or " " in units else f"values of {units}"  # of a column
    small = [f"{name} ({count})" for name, count in groups if count < FEWEST]
    return [f"fewer than {FEWEST} {words} decide this: {', '.join(small)}"] if small else []


def at_levels(
    limits: Callable[[float], Ends | Pair], method: str, *, value: float | None = None,
    p_value: float | None = None, reference: float = 0.0, **sampling: Any,
) -> Levels:  # fmt: skip
    """From a level to the interval of limits; None where an end is no number.

    It holds the ``value``, and a ``reference`` that a test with ``p_value`` does not reject at that level.
    """

    def make(level: float) -> Interval | None:
        low, high = agreeing(pair_of(limits(level)), p_value, reference, level)
        if not (np.isfinite(low) and np.isfinite(high)):
            return None
        if value is not None:
            low, high = min(low, value), max(high, value)
        return Interval(low=low, high=high, level=level, method=method, **sampling)

    return make


def percentile_interval(draws: Floats, *, method: str, seed: int, level: float = LEVEL) -> Interval | None:
    """The central part of bootstrap replicates; None where too many replicates are undefined."""
    if (usable := _usable(draws)) is None:
        return None
    low, high = np.quantile(usable, central(level))
    return Interval(
        low=float(low), high=float(high), level=level, method=method, replicates=draws.size, seed=seed
    )


def agreeing(ends: Pair, p_value: float | None, reference: float, level: float = 0.95) -> Pair:
    """Limits that do not exclude a reference which the test of the same level does not reject.

    Limits and test are of different forms and may differ near the edge; the wider reading is shown.
    """
    if p_value is None or p_value <= 1 - level:
        return ends
    return min(ends[0], reference), max(ends[1], reference)


def agreeing_band(null: Null, value: float, p_value: float) -> Null:
    """A null band that does not hold a value which the test of the same level rejects.

    Band and test are of different forms where the test is studentised, or counts both tails of a skewed null.
    The end on the value's side then lies where a normal statistic with this p, not corrected for other tests,
    puts it, ``mean + (value - mean) z(level) / z(p)``, two-sided quantiles.
    """
    is_inside = null.low - EDGE <= value <= null.high + EDGE
    if p_value > 1 - null.level or not is_inside or abs(value - null.mean) <= EDGE:
        return null
    ratio = float(special.ndtri((1 + null.level) / 2) / special.ndtri(1 - max(p_value, 1e-15) / 2))
    end = null.mean + (value - null.mean) * min(ratio, _INSIDE)
    ends = {"high": end} if value > null.mean else {"low": end}
    return null.model_copy(update={**ends, "method": f"{null.method}; end by p"})


def _with_agreeing_band(holder: Holder) -> Holder:
    if holder.null is None or holder.p_value is None or holder.value is None:
        return holder
    null = agreeing_band(holder.null, holder.value, holder.p_value)
    return holder if null is holder.null else holder.model_copy(update={"null": null})


def joint_p(p_value: float | None, reference: float, limits: Limits) -> float | None:
    """The p with which both a test and an interval leave a reference: the larger of the two.

    A test by exchange is about these very units, an interval about others like them; what is said to be
    beyond chance has to hold for both (intersection-union test, Berger 1982).
    """
    if p_value is None:
        return None

    def holds(p: npt.ArrayLike) -> bool:
        low, high = limits(1 - float(np.asarray(p)))
        return bool(low <= reference <= high)

    if p_value >= 1 or not holds(p_value):
        return p_value
    return float(crossing(holds, p_value, 1.0, _HALVINGS)[1])


def p_of_both(p_value: float | None, reference: float, limits: Limits) -> float | None:
    """P of a test; where the interval holds the reference all the same, the p with which both leave it."""
    if p_value is None or p_value > 1 - LEVEL:
        return p_value
    low, high = limits(LEVEL)
    return joint_p(p_value, reference, limits) if low <= reference <= high else p_value


def interval_and_p(limits: Limits, p_value: float | None, reference: float, method: str) -> Fields:
    """Fields of an interval at any level, and of a p that leaves a reference only where the interval does.

    ``p_value`` is that of a test, None without one; ``limits`` hold the reference where it is not rejected.
    """
    p_value = joint_p(p_value, reference, limits)
    return {"p_value": p_value, "limits": at_levels(limits, method, p_value=p_value, reference=reference)}


def against_reference(
    value: float, ends: Callable[[float], Ends | Pair], method: str, p_value: float | None,
    draws: Floats | None, exchanged: str, seed: int, *, reference: float | None = 0.0, side: str = "high",
) -> Fields:  # fmt: skip
    """Fields of a value whose p and interval say the same of a reference: interval, null band, p, and mde.

    ``draws`` are of the value with groups ``exchanged``, and ``side`` of them is unfair. The smallest
    detectable value passes their 95 % point with 80 % power, by the upper arm of the interval.
    """
    tested = Fields()
    if reference is not None:
        p_value = p_of_both(p_value, reference, lambda level: pair_of(ends(level)))
        tested = {"p_value": p_value, "reference": reference}
    limits = at_levels(ends, method, value=value, **tested)
    interval = limits(LEVEL)
    fields: Fields = {"interval": interval, "limits": limits, "p_value": p_value}
    if draws is not None:
        fields["null"] = null_band(draws, method=exchanged, seed=seed, side=side)
        if side == "high" and interval is not None and not np.isnan(draws).all():
            arm = (interval.high - value) / Z_LEVEL
            fields["mde"] = number(float(np.nanquantile(draws, LEVEL) + Z_POWER * arm))
    return fields


def wilson_method(cluster: Integers | None, units: str) -> str:
    """What limits of rates by units are called."""
    by = "" if cluster is None else f", effective size by {np.unique(cluster).size} {units}"
    return f"Wilson score{by}"


def null_band(
    draws: Floats,
    *,
    method: str,
    seed: int,
    side: str = "both",
    mean: float | None = None,
    level: float = LEVEL,
) -> Null | None:
    """Mean and central part of null replicates; None where too many are undefined.

    Sides: ``both``; ``high``: all but the largest draws, for what a one-sided test takes for large; ``low``.
    A ``mean`` that is known stands in the band.
    """
    if (usable := _usable(draws)) is None:
        return None
    ends = {"both": central(level), "high": (0, level), "low": (1 - level, 1)}
    low, high = np.quantile(usable, ends[side])
    if mean is None:  # of draws that are all alike it may differ from them by its last digit
        mean = float(low if np.ptp(usable) < _ROUNDING else usable.mean())
    else:
        low, high = min(low, mean), max(high, mean)
    return Null(
        mean=mean, low=float(low), high=float(high), level=level, method=method, replicates=draws.size,
        seed=seed,
    )  # fmt: skip


def _usable(draws: Floats) -> Floats | None:
    """Draws that are defined; None where too many are not."""
    usable = draws[~np.isnan(draws)]
    return None if usable.size < 0.9 * draws.size or not usable.size else usable


def resampled_p(draws: Floats, observed: float, side: str) -> float | None:
    """``(1 + b) / (1 + B)`` where b of B null replicates are at least as extreme as the observed value.

    NaN is left out. Sides: ``high``, ``low``, or ``both`` (distance from the null mean).
    """
    usable = draws[~np.isnan(draws)]
    if not usable.size or not np.isfinite(observed):
        return None
    middle = usable.mean()
    if side == "both":
        return exceeded(abs(observed - middle), np.abs(usable - middle))
    sign = 1 if side == "high" else -1
    return exceeded(sign * observed, sign * usable)
