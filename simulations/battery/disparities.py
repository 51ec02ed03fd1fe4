"""Mistakes that one group gets more often: tables in which groups are alike, and tables with planted ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np
import polars as pl
from scipy import stats
from simulations.battery.accuracy import counts_of
from simulations.battery.design import Case, Design, Line, answered, called
from simulations.battery.persons import units

import evenhand as eh
from evenhand.core.findings import Finding, Part
from evenhand.core.significance import is_beyond
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.suites.families import AUDIT, adjust_run
from evenhand.stats.arrays import Floats, Integers, Rng

_RANKS = 8  # labels that rows of a class are mistaken for
_FEWEST = 5  # rows of a class in a group, and elsewhere


@dataclass(frozen=True, eq=False)
class Drawn:
    """Counts of one sample, and the rates that they were drawn from.

    A label is named by its rank: rows of class ``y`` with rank ``r`` are called ``(y + r) % classes``; rank 0
    is right.

    Attributes:
        counts: Axes truth, prediction and group, and persons where there are any.
        rows: Rows of each class in each group, shape (G, L).
        rates: By group, class and rank, shape (G, L, R).
        support: Population shares of rows by group and class, shape (G, L), times the rows of the group.
        plants: Class, group and rank of the planted mistakes.
    """

    counts: Counts
    rows: Integers
    rates: Floats
    support: Floats
    plants: frozenset[tuple[int, int, int]]


@dataclass(frozen=True)
class Persons:
    """Rows that come as photos of persons.

    Attributes:
        counts: Persons of each group.
        photos: Fewest and most photos of a person, by group.
        alike: Intra-class correlation of the answers to a person's photos.
        one_class: Whether a person's photos are all of one class.
        mixed: Whether each photo has a group of its own.
    """

    counts: Sequence[int]
    photos: Sequence[tuple[int, int]]
    alike: float = 0.3
    one_class: bool = False
    mixed: bool = False


@dataclass(frozen=True)
class Tables:
    """A classifier that treats groups alike but for planted mistakes.

    Attributes:
        classes: How many; mistakes fall on the next eight labels, by Zipf's law or all alike.
        groups: How many.
        rows: Rows of each class in each group; where sizes are drawn, their mean.
        error: Share of mistakes; None: beta-distributed over classes, with mean .17.
        plants: How many mistakes one group gets more often, each in a class of its own.
        added: Smallest and largest rate that is added.
        drawn: Whether sizes are drawn, groups and classes being unequal.
        mixes: Whether groups differ in their mix of classes; sizes are drawn then.
        persons: None where rows are independent.
        zipf: 1 for Zipf's law, 0 for labels that are alike.
    """

    classes: int
    groups: int
    rows: int = 0
    error: float | None = 0.1
    plants: int = 0
    added: tuple[float, float] = (0.3, 0.3)
    drawn: bool = False
    mixes: bool = False
    persons: Persons | None = None
    zipf: float = 1.0

    def draw(self, rng: Rng) -> Drawn:
        """Rates and a sample of them."""
        rates = np.tile(self._base(rng), (self.groups, 1, 1))
        plants = set()
        for truth in rng.permutation(self.classes)[: self.plants].tolist():
            group, rank = int(rng.integers(self.groups)), int(rng.integers(1, rates.shape[2]))
            rate = min(rng.uniform(*self.added), rates[group, truth, 0] - 0.05)
            rates[group, truth, rank] += rate
            rates[group, truth, 0] -= rate
            plants.add((truth, group, rank))
        if self.persons is not None:
            return self._of_persons(rng, self.persons, rates, frozenset(plants))
        support = self._support(rng)
        rows = support.astype(np.int64)
        if self.drawn or self.mixes:
            rows = np.stack([rng.multinomial(round(size.sum()), size / size.sum()) for size in support])
        cells = rng.multinomial(rows, rates)
        group, truth, rank = np.nonzero(cells)
        table = {"truth": truth, "prediction": (truth + rank) % self.classes, "group": group}
        counts = Counts.from_table(
            pl.DataFrame({**table, "n": cells[group, truth, rank]}), {name: name for name in table}
        )
        return Drawn(counts, rows, rates, support, frozenset(plants))

    def _base(self, rng: Rng) -> Floats:
        """Rates by class and rank, where groups are alike."""
        zipf = 1 / np.arange(1, min(_RANKS, self.classes - 1) + 1) ** self.zipf
        error = np.full(self.classes, self.error)
        if self.error is None:
            error = rng.beta(2, 2 * 0.83 / 0.17, self.classes)
        return np.column_stack([1 - error, error[:, None] * zipf / zipf.sum()])

    def _support(self, rng: Rng) -> Floats:
        shape = (self.groups, self.classes)
        sizes = np.full(shape, float(self.rows))
        if self.drawn:
            groups, classes = (1 / np.arange(1, count + 1) ** 0.5 for count in shape)
            sizes *= np.outer(groups / groups.mean(), classes / classes.mean())
        if self.mixes:
            sizes *= rng.uniform(0.4, 1.6, shape)
        return sizes

    def _of_persons(
        self,
        rng: Rng,
        persons: Persons,
        rates: Floats,
        plants: frozenset[tuple[int, int, int]],
    ) -> Drawn:
        group, person = units(rng, persons.counts, persons.photos)
        truth = rng.integers(0, self.classes, person.size)
        if persons.one_class:
            truth = truth[np.unique(person, return_index=True)[1]][person]
        spread = 1 / persons.alike - 1
        # answers of a person: all of its photos share the chance of each rank
        own = rng.dirichlet(spread * self._base(rng)[0], group.size)
        rank = (rng.random(person.size)[:, None] > own[person].cumsum(axis=1)).sum(axis=1)
        rank = np.minimum(rank, own.shape[1] - 1)
        of_photo = group[person]
        if persons.mixed:
            of_photo = rng.integers(0, self.groups, person.size)
        for planted_truth, planted_group, planted_rank in plants:
            before = rates[planted_group, planted_truth, 0]
            rate = rates[planted_group, planted_truth, planted_rank] - self._base(rng)[0][planted_rank]
            share = rate / (before + rate)
            flips = rng.beta(share * spread, (1 - share) * spread, group.size)[person]
            here = (truth == planted_truth) & (of_photo == planted_group) & (rank == 0)
            rank = np.where(here & (rng.random(person.size) < flips), planted_rank, rank)
        table = {"truth": truth, "said": (truth + rank) % self.classes, "group": of_photo, "person": person}
        rows = np.zeros((self.groups, self.classes), dtype=np.int64)
        np.add.at(rows, (of_photo, truth), 1)
        return Drawn(counts_of(table, cluster="person"), rows, rates, rows.astype(np.float64), plants)


def listed_lines(data: Drawn, finding: Finding) -> list[Line]:
    """The listed lines, with the difference of the rates that both sides were drawn from."""
    lines = []
    for part in (part for part in finding.parts if part.kind in ("mistake", "miss")):
        truth, group, rank = cell = _cell(data, part)
        rates = data.rates[:, truth, rank] if rank else 1 - data.rates[:, truth, 0]
        rows = data.rows[:, truth].astype(np.float64)
        rows[group] = 0
        is_planted = cell in data.plants if rank else cell[:2] in {plant[:2] for plant in data.plants}
        is_false = not is_planted or part.details["direction"] != "more"
        lines.append(_line(part, float(rates[group] - rows @ rates / rows.sum()), is_false))
    return lines


def _cell(data: Drawn, part: Part) -> tuple[int, int, int]:
    """Class, group and rank of the label; rank 0: a miss."""
    truth, group, *label = map(int, part.key)
    return truth, group, (label[0] - truth) % data.rows.shape[1] if label else 0


def _line(part: Part, truth: float, is_false: bool = False) -> Line:
    value, interval = part.value, part.interval
    if value is None or interval is None:
        raise ValueError(f"{part.key} has no value or interval")
    return Line(value, interval.low, interval.high, truth, is_false)


def _parts_of_gap(kind: str, planted: bool, data: Drawn, finding: Finding) -> list[Line]:
    """One kind of part of ``accuracy_decomposition``, of planted mistakes or of all, beside the truth."""
    return [
        _line(part, _population(data, part))
        for part in finding.parts
        if part.kind == kind and (not planted or _cell(data, part) in data.plants)
    ]


def _population(data: Drawn, part: Part) -> float:
    """By Kitagawa's formula on the shares and rates that the sample was drawn from."""
    group = int(part.key if isinstance(part.key, str) else part.key[1])
    support, rest = data.support[group], data.support.sum(axis=0) - data.support[group]
    w, w_rest = support / support.sum(), rest / rest.sum()
    others = np.delete(data.support, group, axis=0)
    rates = data.rates[group]
    rates_rest = (others[..., None] * np.delete(data.rates, group, axis=0)).sum(axis=0) / rest[:, None]
    right, right_rest = rates[:, 0], rates_rest[:, 0]
    if part.kind == "mix":
        return float(((w_rest - w) * (right + right_rest) / 2).sum())
    if part.kind == "errors":
        return float(((w + w_rest) / 2 * (right_rest - right)).sum())
    truth, _, rank = _cell(data, part)
    return float((w + w_rest)[truth] / 2 * (rates - rates_rest)[truth, rank])


def fisher(data: Drawn) -> float:
    """The least of Fisher's exact p, larger tail doubled, of all mistakes with enough rows, by Bonferroni."""
    truth, said, group = (data.counts.codes_of(name) for name in ("truth", "prediction", "group"))
    groups, classes, ranks = data.rates.shape
    cells = np.zeros((groups, classes, ranks), dtype=np.int64)
    levels = [np.array(data.counts.axis(name).levels, dtype=int) for name in ("truth", "prediction", "group")]
    truth, said, group = levels[0][truth], levels[1][said], levels[2][group]
    np.add.at(cells, (group, truth, (said - truth) % classes), data.counts.n)
    n, hits = cells.sum(axis=2)[..., None], cells.sum(axis=0)[None]
    total = n.sum(axis=0)[None]
    tested = (n >= _FEWEST) & (total - n >= _FEWEST) & (hits >= 2) & (np.arange(ranks) > 0)
    a, n, hits, total = (np.broadcast_to(values, cells.shape)[tested] for values in (cells, n, hits, total))
    law = stats.hypergeom(total, hits, n)
    p = 2 * np.minimum(law.sf(a - 1), law.cdf(a))
    return float(min(p.min(initial=1) * p.size, 1))


_LINES = called("disparities", attrgetter("counts"), by="group")
_FISHER = {"standard": fisher, "standard_name": "Fisher's exact tests, Bonferroni"}


def design(name: str, tables: Tables, *, beside: bool = False) -> Design:
    """False lines of tables in which groups are alike; what is listed of planted ones, and how well."""
    more = _FISHER if beside else {}
    fair = tables.plants == 0
    lines = None if fair else listed_lines
    case = Case("disparities", _LINES, fair=fair, lines=lines, is_listed=not fair, **more)
    return Design(f"disparities: {name}", "disparities", tables.draw, [case])


def decomposed(name: str, tables: Tables) -> Design:
    """Intervals of the parts of accuracy gaps."""
    call = called("accuracy_decomposition", attrgetter("counts"), by="group")
    kinds = {
        "mix": ("mix", False), "errors": ("errors", False), "share": ("mistake", True),
        "share, false lines included": ("mistake", False),
    }  # fmt: skip
    cases = [
        Case(f"accuracy_decomposition {title}", call, lines=partial(_parts_of_gap, *of))
        for title, of in kinds.items()
    ]
    return Design(f"disparities: {name}", "disparities", tables.draw, cases)


def _first_line(in_run: bool, data: Drawn, seed: int) -> Finding:
    """Whether the first line is the planted mistake, or where nothing is planted, whether there is any.

    In a run it counts only where the metric is beyond chance among the questions of an audit.
    """
    lines = _LINES(data, seed)
    first = [_cell(data, part) for part in lines.parts if part.kind in ("mistake", "miss")][:1]
    yes = bool(first) and (not data.plants or first[0] in data.plants)
    if in_run and yes:
        others = [getattr(eh.metrics, name)(data.counts, by="group", seed=seed) for name in AUDIT[1:]]
        yes = is_beyond(adjust_run([lines, *others], AUDIT)[0])
    return answered(lines, yes=yes)


def first_line(groups: int, rate: float, least: float | None = None) -> Design:
    """Five classes of 100 rows a group, with one planted mistake: how often does the first line name it?"""
    tables = Tables(5, groups, 100, plants=int(rate > 0), added=(rate, rate), zipf=0.0)
    cases = [
        Case(f"disparities, first line{how}", partial(_first_line, in_run), fair=not rate, least=least)
        for how, in_run in (("", False), (" in a run", True))
    ]
    name = f"first line: {groups} groups, " + (f"planted, +{rate:g}" if rate else "alike")
    return Design(name, "disparities", tables.draw, cases)


def _null() -> list[Design]:
    sizes = [
        (5, 2, 10), (5, 2, 20), (5, 2, 50), (5, 2, 100), (5, 3, 20), (5, 3, 100), (5, 5, 20), (5, 23, 20),
        (5, 23, 100), (20, 2, 20), (50, 2, 10), (50, 2, 20), (50, 3, 20), (50, 23, 20), (200, 2, 10),
        (200, 3, 20), (200, 23, 10), (200, 5, 100),
    ]  # fmt: skip
    designs = [
        design(f"{classes} classes x {groups} groups x {rows} rows", Tables(classes, groups, rows))
        for classes, groups, rows in sizes
    ]
    return designs + [
        design(f"{classes} x {groups} x {rows}, unequal sizes and errors",
               Tables(classes, groups, rows, error=None, drawn=True))
        for classes, groups, rows in [(5, 2, 20), (5, 3, 100), (50, 3, 20), (50, 23, 20)]
    ]  # fmt: skip


def persons_design(name: str, classes: int, persons: Persons, **planted: object) -> Design:
    """The same of photos of persons."""
    tables = Tables(classes, len(persons.counts), persons=persons, **planted)  # type: ignore[arg-type]  # named
    return design(name, tables)


_TWENTY = [(20, 20)] * 2

PERSONS = {
    "40 persons x 20 photos, 2 classes": (2, Persons((20, 20), _TWENTY)),
    "40 persons x 20 photos, 5 classes": (5, Persons((20, 20), _TWENTY)),
    "60 persons x 2-40 photos, 3 groups": (5, Persons((30, 20, 10), [(2, 40)] * 3)),
    "40 persons, group and number of photos go together": (3, Persons((20, 20), [(2, 6), (20, 40)])),
    "150 persons x 10 photos of one class": (5, Persons((60, 50, 40), [(10, 10)] * 3, one_class=True)),
    "30 persons x 12 photos in any of 3 groups": (3, Persons((10,) * 3, [(12, 12)] * 3, mixed=True)),
}

DESIGNS: tuple[Design, ...] = (
    *_null(),
    *(persons_design(name, *choice) for name, choice in PERSONS.items()),
    design("1 planted, +.10, 5 x 3 x 100", Tables(5, 3, 100, plants=1, added=(0.1, 0.1))),
    design("1 planted, +.15, 5 x 3 x 100", Tables(5, 3, 100, plants=1, added=(0.15, 0.15)), beside=True),
    design("1 planted, +.15, 5 x 2 x 100", Tables(5, 2, 100, plants=1, added=(0.15, 0.15)), beside=True),
    design("1 planted, +.15, 5 x 23 x 100", Tables(5, 23, 100, plants=1, added=(0.15, 0.15))),
    design("1 planted, +.30, 50 x 2 x 20", Tables(50, 2, 20, plants=1), beside=True),
    design("5 planted, +.1 to .5, 5 x 3 x 100, unequal",
           Tables(5, 3, 100, None, 5, (0.1, 0.5), drawn=True)),
    design("5 planted, +.1 to .5, 50 x 3 x 20, unequal",
           Tables(50, 3, 20, None, 5, (0.1, 0.5), drawn=True)),
    design("5 planted, +.1 to .5, 50 x 23 x 20", Tables(50, 23, 20, None, 5, (0.1, 0.5))),
    persons_design("1 planted, +.3, 80 persons x 20 photos, 5 classes", 5,
                   Persons((40, 40), _TWENTY), plants=1),
    persons_design("1 planted, +.4, 60 persons x 2-40 photos, 3 groups", 5,
                   Persons((30, 20, 10), [(2, 40)] * 3), plants=1, added=(0.4, 0.4)),
    decomposed("gap of 3 groups, 5 classes", Tables(5, 3, 100, None, 1, mixes=True)),
    decomposed("gap of 3 unequal groups, 20 classes x 12 rows",
               Tables(20, 3, 12, None, 2, (0.4, 0.4), mixes=True, drawn=True)),
    decomposed("gap of 5 groups, 50 classes x 5 rows", Tables(50, 5, 5, None, 5, (0.6, 0.6), mixes=True)),
    *(first_line(groups, 0.0) for groups in (2, 3, 5, 23)),
    *(first_line(groups, 0.15, least) for groups, least in ((2, 0.6), (3, 0.75), (5, 0.825), (23, 0.9))),
    *(first_line(groups, rate, 0.9) for groups in (2, 3, 5, 23) for rate in (0.3, 0.5)),
)  # fmt: skip
