"""Differences of two models in a finding of answers that are not predictions, on the samples of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.core.findings import Dropped, Finding, GroupSize, Key, NewDetails, Param, Part
from evenhand.core.random_streams import stream
from evenhand.metrics.differences.inference import both_values, difference_of, inferred, null_around
from evenhand.metrics.estimates import agreeing, as_finding, joint_p, number
from evenhand.metrics.named_groups import corrected
from evenhand.stats.arrays import Pair
from evenhand.stats.multiplicity import holm_levels
from evenhand.stats.paired.means import ComparedMeans
from evenhand.stats.paired.sums import PairedEffects, PairedSums
from evenhand.stats.rates.clustered import FEWEST

SAME_SAMPLES, NOT_SAME = "same samples", "not paired"
ALIKE = "the models answered every unit alike, so that there is no spread to measure a difference in"
BY_MOVER = "limits of both models by {unit}, on the same ones (MOVER, Zou and Donner)"

Pairs = PairedSums | PairedEffects | ComparedMeans
"""Answers of two models to the same units, with S numbers made of them."""


@dataclass(frozen=True)
class PartOf:
    """A part of which the difference is wanted too."""

    kind: str  # as parts of findings have it
    key: Key  # its group
    n: int  # samples in it
    details: Mapping[str, float | str] = field(default_factory=dict)  # such as how many of these samples hit


@dataclass(frozen=True, eq=False)
class AnsweredBoth:
    """What two models answered about the same samples, under one finding."""

    of: Finding  # the finding of the first model: which metric, grouping and parameters
    whole: Pairs  # its value, S = 1
    unit: str  # what `whole` counts as one, such as `household`
    n: int  # samples that both answered
    parts: tuple[PartOf, ...] = ()
    inner: Pairs | None = None  # their values, S = number of parts; None where there are none
    inner_unit: str = ""  # what `inner` counts as one
    groups: tuple[GroupSize, ...] = ()  # samples of each group
    dropped: tuple[Dropped, ...] = ()  # samples left out, by reason
    notes: tuple[str, ...] = ()  # what else is to be known
    details: Mapping[str, float | str] = field(default_factory=dict)  # such as how many of the samples hit
    method: str = BY_MOVER  # how intervals are made; ``{unit}`` is what counts as one
    apart: str = ""  # why the models' samples are not the same; empty: they are


def answer_difference(
    answers: AnsweredBoth,
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
    leaves 0 out, and the null band is where it would hold 0. ``mde`` as in ``model_differences``. ``family``
    tests of one metric are corrected together; ``tested`` is False where another finding has tested the same
    value. None where a model has no value. Parts have the difference in each group, with p corrected by Holm
    among them and intervals of their tests' levels there. Details hold both models' values on the samples
    compared, of rates of single samples how many hits each had (``first_hits``, ``second_hits``), of numbers
    how many are better and worse with the first (``n_gained``, ``n_lost``), and which way of the metric is
    better.

    Source: Newcombe 1998 (paired differences, method 10); Korn and Graubard 1998; Zou and Donner 2008.
    """
    of, values = answers.of, answers.whole.observed()[:, 0]
    value, fields = difference_of(values, names)
    notes = list(answers.notes)
    if value is not None:
        method = answers.method.format(unit=answers.unit)
        fields = _inferred(answers.whole, 0, _stream(answers, seed), value, method, alpha / family)
        if answers.whole.count < FEWEST:
            notes.append("there is a single unit, so that no test can tell the models apart")
        elif fields.get("interval") is None:
            notes.append(ALIKE)
    if not tested:
        fields |= {"p_value": None, "mde": None}
    details: NewDetails = {
        "compared": NOT_SAME if answers.apart else SAME_SAMPLES, **both_values(values),
        "units": float(answers.whole.count), "unit": answers.unit,
        "metric_direction": of.card.direction, **answers.details,
    }  # fmt: skip
    params: dict[str, Param] = {**of.params, "model": names[0], "reference": names[1]}
    return as_finding(
        f"{of.name}_difference", of.by, params, card=of.card.difference(), lists="|", benchmark=of.benchmark,
        model=names[0], reference=names[1], value=value, n=float(answers.n), groups=list(answers.groups),
        dropped=list(answers.dropped), notes=notes, parts=_parts(answers, alpha, seed), details=details,
        **fields,
    )  # fmt: skip


def _inferred(
    pairs: Pairs, at: int, rng: np.random.Generator, value: float, method: str, alpha: float
) -> dict[str, Any]:
    """As ``inferred``, by limits alone or, of means of numbers, by a test as well."""
    limits, test = pairs.limits(at, rng), None
    if isinstance(pairs, ComparedMeans):
        test = joint_p(pairs.p_value(at, rng), 0.0, limits)

    def agreed(level: float) -> Pair:
        return agreeing(limits(level), test, 0.0, level)

    return inferred(agreed, value, value, method, alpha, test)


def _stream(answers: AnsweredBoth, seed: int, *purpose: str) -> np.random.Generator:
    of = answers.of
    texts = sorted(f"{key}={value}" for key, value in of.params.items())
    return stream(seed, "answers", of.name, "+".join(of.by), texts, *purpose)


def _parts(answers: AnsweredBoth, alpha: float, seed: int) -> list[Part]:
    """The difference in each part."""
    if answers.inner is None or not answers.parts:
        return []
    values = answers.inner.observed()
    method = answers.method.format(unit=answers.inner_unit)
    of_parts, p = [], []
    for at in range(len(answers.parts)):
        value = number(float(values[0, at] - values[1, at]))
        fields: dict[str, Any] = {"reason": "empty"}
        if value is not None:
            rng = _stream(answers, seed, "parts", str(at))
            fields = _inferred(answers.inner, at, rng, value, method, 1.0) | {"mde": None}
        p.append(np.nan if fields.get("p_value") is None else fields["p_value"])
        of_parts.append({"value": value, **fields})
    levels = 1 - holm_levels(np.array(p), alpha)
    differences = []
    for at, (part, fields, level) in enumerate(zip(answers.parts, of_parts, levels.tolist(), strict=True)):
        make = fields.pop("limits", None)
        if make is not None:
            fields["interval"] = make(level)
            fields["null"] = null_around(fields["value"], fields["value"], fields["interval"])
        details = {**both_values(values[:, at]), **part.details}
        differences.append(
            Part(kind=part.kind, key=part.key, n=part.n, chance_at=0.0, details=details, **fields)
        )
    return corrected(differences)
