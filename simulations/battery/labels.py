"""Label association: rates and gaps of groups of pictures, taken singly or by subject."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import polars as pl
from scipy import stats
from simulations.battery import standards
from simulations.battery.design import Case, Design, called
from simulations.battery.persons import Persons, Pictures

from evenhand.evidence.label_matches import LabelMatches
from evenhand.stats.arrays import Rng

LABELS = ("person", "pig")
KINDS = {"human": ["person"], "non_human": ["pig"]}
UNIONS = {"harmful": ["non_human"]}


def matches(people: Persons, rng: Rng, *, subjects: bool) -> tuple[LabelMatches, Pictures]:
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
_ASSOCIATION = {"association": "non_human"}
_METRICS = {
    "label_association_gap": {**_ASSOCIATION, "by": "group"},
    "harmful_association_gap": {"by": "group"},
    "label_association_rate": _ASSOCIATION,
    "harmful_association_rate": {},
}
USUAL = ("label_association_gap", "label_association_rate")


def design(
    title: str,
    people: Persons,
    *,
    subjects: bool = True,
    names: Sequence[str] = USUAL,
    standard: tuple[str, Callable[[Data], float] | None] = ("", None),
) -> Design:
    """Rates of all and the gap of groups for one way to draw persons."""
    fair, cases = people.gap == 0, []
    for name in names:
        call = called(name, itemgetter(0), threshold=0.5, **_METRICS[name])
        if name.endswith("gap"):
            cases.append(
                Case(name, call, people.gap, fair, standard[1], standard[0], len(people.counts) > 10)
            )
        else:
            cases.append(Case(name, call, people.rates[0] if fair else None))
    return Design(f"labels: {title}", "labels", partial(matches, people, subjects=subjects), cases)


def fisher(data: Data) -> float:
    """Fisher's exact test of two groups of pictures."""
    hit, group = data[1].hit, data[1].group
    table = [[int((hit[group == code] == value).sum()) for value in (True, False)] for code in (0, 1)]
    return float(stats.fisher_exact(table).pvalue)


def welch(data: Data) -> float:
    """Welch's t test of the shares of subjects."""
    return standards.welch(data[1].hit, data[1].person, data[1].group)


def equal(
    counts: Sequence[int], size: int | tuple[int, int], rate: float, icc: float = 0.0, **more: Any
) -> Persons:
    """Groups of one rate and one size of persons."""
    return Persons(counts, [size] * len(counts), [rate] * len(counts), icc, **more)


_ALL = {"names": tuple(_METRICS)}
WELCH = ("Welch's t test of subjects", welch)
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
        standard=WELCH,
    ),
    design(
        "planted .15 / .40, 18 subjects x 20",
        Persons([9, 9], [20, 20], [0.15, 0.40], 0.15),
        standard=WELCH,
    ),
)  # fmt: skip
