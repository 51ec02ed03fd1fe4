"""Label association: rates and gaps of groups of pictures, taken singly or by subject."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy import stats
from simulations.battery.design import Case, Design
from simulations.battery.persons import Persons, Pictures, person_means

from evenhand import metrics
from evenhand.core.findings import Finding
from evenhand.evidence.label_matches import LabelMatches

LABELS = ("person", "pig")
KINDS = {"human": ["person"], "non_human": ["pig"]}
UNIONS = {"harmful": ["non_human"]}


def matches(people: Persons, rng: np.random.Generator, *, subjects: bool) -> tuple[LabelMatches, Pictures]:
    """Pictures that are called a pig where the model hits."""
    drawn = people.draw(rng)
    names = [f"{number:06d}" for number in range(drawn.hit.size)]
    sure = np.where(drawn.hit[:, None], [0.1, 0.9], [0.9, 0.05])
    table = pl.DataFrame(
        {"sample": names, "group": drawn.group.astype(str), "subject": drawn.person.astype(str)}
    )
    found = LabelMatches.from_confidences(
        sure, names, table, KINDS, LABELS, unions=UNIONS, cluster="subject" if subjects else None
    )
    return found, drawn


Data = tuple[LabelMatches, Pictures]
_GAPS = {
    "label_association_gap": partial(metrics.label_association_gap, association="non_human", by="group"),
    "harmful_association_gap": partial(metrics.harmful_association_gap, by="group"),
}
_RATES = {
    "label_association_rate": partial(metrics.label_association_rate, association="non_human"),
    "harmful_association_rate": metrics.harmful_association_rate,
}


def _at_threshold(metric: Callable[..., Finding]) -> Callable[[Data, int], Finding]:
    def call(data: Data, seed: int) -> Finding:
        return metric(data[0], threshold=0.5, seed=seed)

    return call


def design(
    name: str,
    people: Persons,
    *,
    subjects: bool = True,
    gaps: Sequence[str] = ("label_association_gap",),
    rates: Sequence[str] = ("label_association_rate",),
    standard: tuple[str, Callable[[Data], float]] | None = None,
) -> Design:
    """Rates of all and the gap of groups for one way to draw persons."""
    planted: dict[str, Any] = (
        {} if standard is None else {"standard_name": standard[0], "standard": standard[1]}
    )
    wide, fair = len(people.counts) > 10, people.gap == 0
    cases = [
        Case(gap, _at_threshold(_GAPS[gap]), truth=people.gap, fair=fair, wide=wide, **planted)
        for gap in gaps
    ]
    rate = people.rates[0] if fair else None
    cases += [Case(one, _at_threshold(_RATES[one]), truth=rate) for one in rates]
    return Design(f"labels: {name}", "labels", partial(matches, people, subjects=subjects), cases)


def fisher(data: Data) -> float:
    """Fisher's exact test of two groups of pictures."""
    hit, group = data[1].hit, data[1].group
    table = [[int((hit[group == code] == value).sum()) for value in (True, False)] for code in (0, 1)]
    return float(stats.fisher_exact(table).pvalue)


def welch(data: Data) -> float:
    """Welch's t test of the shares of subjects."""
    share, group = person_means(data[1])
    return float(stats.ttest_ind(share[group == 0], share[group == 1], equal_var=False).pvalue)


def equal(
    counts: Sequence[int], size: int | tuple[int, int], rate: float, icc: float = 0.0, **more: Any
) -> Persons:
    """Groups of one rate and one size of persons."""
    return Persons(counts, [size] * len(counts), [rate] * len(counts), icc, **more)


_ALL = {"gaps": tuple(_GAPS), "rates": tuple(_RATES)}
_UNEQUAL = [2 + round(36 * number / 13) for number in range(14)]

DESIGNS: tuple[Design, ...] = (
    design("3 unequal groups of pictures", equal([400, 150, 50], 1, 0.1), subjects=False, **_ALL),
    design("9 subjects x 40, ICC .2, 2 groups", equal([5, 4], 40, 0.3, 0.2)),
    design("17 subjects x 40, ICC .2, 2 groups", equal([9, 8], 40, 0.3, 0.2)),
    design("26 subjects x 40, ICC .2, 3 groups", equal([12, 9, 5], 40, 0.3, 0.2), **_ALL),
    design("52 subjects x 20, 5 % of them always", equal([40, 12], 20, 0.05, 1.0)),
    design("24 subjects x 20, 5 % of them always", equal([12, 12], 20, 0.05, 1.0)),
    design("60 subjects x 2-40, ICC .3", equal([30, 20, 10], (2, 40), 0.2, 0.3)),
    design(
        "group and number of pictures go together",
        Persons([20, 20], [(2, 6), (20, 40)], [0.2, 0.2], 0.3),
    ),
    design("30 subjects x 12 of all 3 groups, ICC .3", equal([15, 10, 5], 12, 0.2, 0.3, mixed=True)),
    design("12 subjects x 5-20, 2 groups each", equal([6, 6], (5, 20), 0.3, 0.3, mixed=True)),
    design("14 unequal groups of pictures", equal([200, 150, 100, *[40] * 11], 1, 0.2), subjects=False),
    design("14 groups of 2-38 subjects x 5, ICC .3", equal(_UNEQUAL, 5, 0.3, 0.3)),
    design("50 groups of 20 pictures", equal([20] * 50, 1, 0.3), subjects=False),
    design("rate .01, 3 groups", equal([500, 200, 60], 1, 0.01), subjects=False),
    design("rate .99, 3 groups", equal([500, 200, 60], 1, 0.99), subjects=False),
    design("one picture in a group", equal([150, 40, 1], 1, 0.2), subjects=False),
    design(
        "planted .10 / .20",
        Persons([200, 200], [1, 1], [0.1, 0.2]),
        subjects=False,
        standard=("Fisher's exact test", fisher),
        **_ALL,
    ),
    design(
        "planted .20 / .42, 40 subjects x 6",
        Persons([20, 20], [6, 6], [0.2, 0.42], 0.2),
        standard=("Welch's t test of subjects", welch),
    ),
    design(
        "planted .15 / .40, 18 subjects x 20",
        Persons([9, 9], [20, 20], [0.15, 0.40], 0.15),
        standard=("Welch's t test of subjects", welch),
    ),
)  # fmt: skip
