"""The metric that searches for subgroups, of values of up to three attributes, with more mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from evenhand.core.errors import InputError, ParameterError
from evenhand.core.findings import Finding, NewDetails, Part, key_of
from evenhand.metrics.classification.disparities.comparison import Options
from evenhand.metrics.estimates import LEVEL, By, Inference, Mode, build, check_common, part
from evenhand.metrics.prepared import BoundCounts, Evidence, classifier_metric
from evenhand.stats.arrays import Floats, Integers, codes_of, keys_and_codes, sum_by
from evenhand.stats.disparities.redundancy import not_redundant
from evenhand.stats.disparities.search import ClusterExchange, Clusters, RowExchange, step_down
from evenhand.stats.disparities.subgroups import ALL, Cells, Regions, Subgroups
from evenhand.stats.exchange.relabelling import several_in
from evenhand.stats.multiplicity import selected_level
from evenhand.stats.rates.rates import Rates, mover, normal_quantile

DEEPEST = 3
_JOINED = " · "
_UNDEFINED = ("single_group", "weighted", "mixed_clusters", "one_cluster", "no_large_subgroup")
_MOST_MEMBERS = 50_000_000
_MOST_ROWS = 1_000_000_000  # of a class; numpy draws no more


@classifier_metric(
    title="Subgroups with more mistakes",
    summary="subgroups, of values of up to three attributes, with more mistakes than their classes give, "
    "each beyond chance",
    formula="number of subgroups, in all classes or in one, whose Mantel-Haenszel z of mistakes is beyond "
    "the largest of all by chance, less those that another one explains",
    range=(0, None), direction="lower is fairer", fair_at=0.0,
    source="Mantel and Haenszel 1959; step-down maximum over permutations, Westfall and Young 1993",
    unit="count", order=6, why_not_compared="which subgroups are listed depends on each model's own counts",
    tags=("where it differs",), made_of="mistakes", first_line="subgroups",
)  # fmt: skip
def subgroups(
    evidence: Evidence, *, by: By, depth: int = 3, alpha: float = 0.05,
    mode: Mode = "default", inference: Inference = "auto", seed: int = 0,
) -> Finding:  # fmt: skip
    """Number of subgroups with more mistakes than the classes of their rows give; from 0, lower is fairer.

    Searched is every combination of values of up to ``depth`` of the attributes: in all classes, with 20 rows
    or more in it and in the rest and 2 mistakes or more expected, and within each of the 50 classes with most
    mistakes, with 10 rows and 1 mistake. Its score is ``z = sum_y (o_y - e_y) / sqrt(sum_y v_y)`` over
    classes y: of n of the N rows of a class o of W mistakes, ``e = n W / N``,
    ``v = n (N - n) W (N - W) / (N^2 (N - 1))``.

    All are one family: the adjusted p is that of the step-down maximum over 999 draws in which the mistakes
    of each class fall on its rows at random. The parts are those with adjusted p of at most ``alpha`` that no
    other one explains, the largest z first. Of a subgroup and a narrower one inside it, the wider one goes
    where nothing is left without the narrower (z < 1.96) and this stands out within it; else the narrower
    one goes where it does not stand out. A part's value is the rate of its mistakes above what its classes
    give, ``(o - e) / n``; its key are the values, with the class first where it is within one class. Of
    independent rows, details hold the ``difference`` of its rate and that of all others of these classes,
    with limits ``low`` and ``high`` (Newcombe 1998, method 10) that heed that the data chose them: of R
    subgroups beyond chance among K their level is ``1 - .05 R / K``, so that 5 % of all such intervals are
    expected to miss (Benjamini and Yekutieli 2005).

    Where a cluster column was declared, clusters change subgroups within a class, and the score is divided by
    what clusters of such sizes vary; a region needs two clusters, and the rest too. None with reason
    ``single_group``, ``weighted``, ``no_large_subgroup``, ``one_cluster`` or, where clusters lie in several
    of the crossed groups and so cannot change places, ``mixed_clusters``; no mistake at all is 0. What came
    of it stands in ``details["status"]``.

    Args:
        evidence: Predictions or Counts.
        by: The attributes to search; rows that lack one of them are left out.
        depth: Most attributes of a subgroup, 1 to 3.
        alpha: Largest adjusted p.
        mode: Same value in both.
        inference: ``none`` leaves p out; what is listed stays.
        seed: Of the draws.

    Raises:
        UserError: Unknown columns or options, no usable row, or too many subgroups.

    Source: Mantel and Haenszel 1959; Westfall and Young 1993, algorithm 2.8.
    """
    check_common(mode, inference)
    is_whole = isinstance(depth, int | np.integer) and not isinstance(depth, bool)
    if not is_whole or not 1 <= depth <= DEEPEST:
        raise ParameterError(f"depth={depth!r} is not possible; choose 1, 2 or 3")
    params = {**({"depth": int(depth)} if depth != DEEPEST else {}), **Options(alpha).params}
    search = _Search(BoundCounts.of(evidence, by, seed), int(depth), alpha)
    status = search.status
    reason = status if status in _UNDEFINED else None
    parts = [] if reason or status == "no_mistakes" else _parts(search)
    has_p = inference != "none" and not reason and status != "no_mistakes"
    if not has_p:
        parts = [part.model_copy(update={"p_adjusted": None}) for part in parts]
    return build(
        search.bound, "subgroups", params, None if reason else float(len(parts)), reason=reason, parts=parts,
        p_value=float(search.p.min()) if has_p else None, details=_details(search),
        notes=search.notes if status == "mixed_clusters" else [],
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Search:
    """The subgroups of a table, scored and tested."""

    bound: BoundCounts
    depth: int
    alpha: float

    @cached_property
    def choices(self) -> list[tuple[int, ...]]:
        """Which attributes subgroups are made of, the fewest first."""
        attributes = range(len(self.bound.by))
        return [some for size in range(1, self.depth + 1) for some in combinations(attributes, size)]

    @cached_property
    def cells(self) -> Cells:
        """Rows and mistakes by class and crossed group."""
        bound = self.bound
        attributes = len(bound.by)
        if len(self.choices) * len(bound.groups) > _MOST_MEMBERS:
            raise ParameterError(
                f"{attributes} attributes with {len(bound.groups):,} combinations of values are too many for "
                f"depth={self.depth}; choose fewer attributes, a smaller depth, or fewer values of each"
            )
        values = [sorted({group[at] for group in bound.groups}) for at in range(attributes)]
        codes = [{value: code for code, value in enumerate(column)} for column in values]
        levels = [[codes[at][value] for at, value in enumerate(group)] for group in bound.groups]
        wrong, strata = np.where(self.bound.right, 0, bound.n), bound.strata
        rows, hits = (np.add.reduceat(column, strata).astype(np.float64) for column in (bound.n, wrong))
        shape = (len(bound.groups), attributes)
        cells = Cells(
            bound.truth[strata].astype(np.int64), bound.group[strata].astype(np.int64), rows, hits,
            np.array(levels, dtype=np.int64).reshape(shape),
        )  # fmt: skip
        if cells.class_rows.max() >= _MOST_ROWS:
            raise InputError(f"a class has {_MOST_ROWS:,} rows or more; search a sample of fewer")
        return cells

    @cached_property
    def clusters(self) -> Clusters | None:
        """Rows by cluster, where clusters were declared."""
        units = self.bound.units
        if units is None:
            return None
        unit = codes_of(units.unit)
        group = np.zeros(int(unit.max()) + 1, dtype=np.int64)
        group[unit] = units.group
        keys, piece = keys_and_codes(units.truth.astype(np.int64) * group.size + unit)
        rows = units.rows.astype(np.float64)
        wrong = np.where(units.truth != units.prediction, rows, 0.0)
        truth, unit, *sums = keys // group.size, keys % group.size, sum_by(piece, rows), sum_by(piece, wrong)
        return Clusters(truth, unit, sums[0], sums[1], group)

    @cached_property
    def mixed(self) -> list[str]:
        """Attributes of which a cluster has several values."""
        units, by = self.bound.units, self.bound.by
        if units is None:
            return []
        unit = codes_of(units.unit)
        values = self.cells.levels[units.group]
        return [name for at, name in enumerate(by) if several_in(unit, values[:, at]).any()]

    @property
    def notes(self) -> list[str]:
        """What can be searched where clusters have several values of some attributes."""
        rest = [name for name in self.bound.by if name not in self.mixed]
        units = self.bound.units
        text = f"{', '.join(self.mixed)}: a value of {units.name if units else ''} has several of these"
        return [f"{text}; search {', '.join(rest)} alone" if rest else text]

    @cached_property
    def subgroups(self) -> Subgroups:
        """All that are large enough."""
        return Subgroups.of(self.cells, self.choices)

    @cached_property
    def _exchange(self) -> RowExchange | ClusterExchange:
        regions, clusters = Regions.of(self.cells, self.subgroups), self.clusters
        if clusters is None:
            return RowExchange(self.cells, self.subgroups, regions)
        enough = ClusterExchange(clusters, self.subgroups, regions).enough
        return ClusterExchange(clusters, self.subgroups, regions.take(enough))

    @property
    def regions(self) -> Regions:
        """All that are tested."""
        return self._exchange.regions

    @cached_property
    def z(self) -> Floats:
        """Their scores."""
        return self._exchange.observed()

    @cached_property
    def p(self) -> Floats:
        """Their adjusted p."""
        return step_down(self._exchange, self.bound.stream("subgroups", self.depth))

    @cached_property
    def beyond(self) -> Integers:
        """Indices of those beyond chance, the largest score first."""
        index = np.flatnonzero(self.p <= self.alpha)
        return index[np.argsort(-self.z[index], kind="stable")]

    @cached_property
    def level(self) -> float:
        """Of the intervals of those that are listed, which heeds that the data chose them."""
        return selected_level(self.beyond.size, len(self.regions), LEVEL)

    @cached_property
    def listed(self) -> Integers:
        """Indices of those that are listed."""
        regions = self.regions.take(self.beyond)
        return self.beyond[not_redundant(self.cells, self.subgroups, regions, self.z[self.beyond])]

    @cached_property
    def status(self) -> str:
        """What came of it, as a code."""
        bound, clusters = self.bound, self.clusters
        states: dict[str, Callable[[], bool]] = {  # later ones can be asked where those before do not hold
            "single_group": lambda: len(bound.groups) < 2,
            "no_mistakes": lambda: not self.cells.wrong.any(),
            "weighted": lambda: bound.moments is not None,
            "mixed_clusters": lambda: bool(self.mixed),
            "one_cluster": lambda: clusters is not None and clusters.relabelling.fixed,
            "no_large_subgroup": lambda: not len(self.regions),
            "none_beyond_chance": lambda: not self.listed.size,
        }
        return next((name for name, holds in states.items() if holds()), "found")

    def values(self, region: int) -> dict[str, str]:
        """The attributes of a region and its values."""
        bound, subgroup = self.bound, int(self.regions.subgroup[region])
        members = self.subgroups.members
        member = bound.groups[int(members.indices[members.indptr[subgroup]])]
        levels = self.subgroups.levels[subgroup].tolist()
        return {name: str(member[at]) for at, name in enumerate(bound.by) if levels[at] != ALL}

    @cached_property
    def _spread_values(self) -> Counter[str]:
        """In how many attributes each value occurs."""
        bound = self.bound
        return Counter(str(v) for at in range(len(bound.by)) for v in {group[at] for group in bound.groups})

    def name(self, region: int) -> str:
        """What a region's subgroup is called: its values, with the attribute where several have the value."""
        values, several = self.values(region), self._spread_values
        texts = (value if several[value] == 1 else f"{name} = {value}" for name, value in values.items())
        return _JOINED.join(texts)


def _parts(search: _Search) -> list[Part]:
    """The listed subgroups."""
    regions, parts = search.regions, []
    columns = {name: column.tolist() for name, column in vars(regions).items()}
    differences = _differences(regions.take(search.listed), search.level) if search.clusters is None else []
    for number, index in enumerate(search.listed.tolist()):
        row = {name: column[index] for name, column in columns.items()}
        within = row["truth"] != ALL
        truth = search.bound.label_key(row["truth"]) if within else None
        values = search.values(index)
        key = [f"{name} = {value}" for name, value in values.items()]
        subgroup = part(
            "subgroup of a class" if within else "subgroup", key_of([truth, *key] if within else key),
            (row["mistakes"] - row["expected"]) / row["rows"], chance_at=0.0,
            p_adjusted=search.p[index], n=row["rows"],
            details={
                "group": search.name(index), "attributes": _JOINED.join(values), "truth": truth,
                "mistakes": row["mistakes"], "expected": row["expected"],
                "rate": row["mistakes"] / row["rows"], "rest_n": row["rest_rows"],
                "rest_mistakes": row["rest_mistakes"], "rest_rate": row["rest_mistakes"] / row["rest_rows"],
                "z": search.z[index], **(differences[number] if differences else {}),
            },
        )  # fmt: skip
        parts.append(subgroup)
    return parts


def _differences(regions: Regions, level: float) -> list[dict[str, float]]:
    """Rate less that of all others, with its limits."""
    figures = []
    for hits, rows in ((regions.mistakes, regions.rows), (regions.rest_mistakes, regions.rest_rows)):
        low, high = Rates(hits / rows, rows, np.array(np.inf)).limits(normal_quantile(level))
        figures.append((low, hits / rows, high))
    difference = figures[0][1] - figures[1][1]
    columns = zip(difference, *mover(figures[0], figures[1]), strict=True)
    return [dict(zip(("difference", "low", "high"), map(float, numbers), strict=True)) for numbers in columns]


def _details(search: _Search) -> NewDetails:
    """What came of it, how many were tested, and how many were beyond chance before pruning."""
    details: NewDetails = {"status": search.status}
    if search.status in ("found", "none_beyond_chance"):
        details |= {"tested": len(search.regions), "beyond": search.beyond.size}
        details["level"] = search.level
    return details
