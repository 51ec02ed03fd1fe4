"""Dimension pruning: leave out the dimensions without which the association is weaker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import InputError, ParameterError
from evenhand.mitigate.maps import ONE_BASIS, kept_maps
from evenhand.mitigate.mitigation import Mitigation
from evenhand.mitigate.scikit_learn import neighbour_information
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.mitigate.validation import check_amount, check_choices, check_material
from evenhand.stats.arrays import Floats, Integers
from evenhand.stats.association.without_dimension import RemainingDimensions
from evenhand.stats.mutual_information import binned_information

Bools = npt.NDArray[np.bool_]

MOST = 0.105  # of all dimensions, unless the user says how many: 54 of 512 in the paper
REACHED = "as many as asked for"
ZERO_CROSSING = "zero crossing"
NO_IMPROVEMENT = "no dimension lowers the association further"
UNDEFINED = "the association would be undefined"

_TOLERANCE = 64  # times the rounding unit: a gain below it is no gain


@dataclass(frozen=True, eq=False)
class PruningOrder:
    """Which dimension goes first, second, third; every shorter list is the start of this one."""

    total: int  # D, dimensions before
    dimensions: tuple[int, ...]  # in the order in which they go
    trajectory: Floats  # d of each test before and after each removal, shape (1 + removed, tests)
    objective: Floats  # what was made small, before and after each removal, shape (1 + removed,)
    within_threshold: int  # dimensions that the filter by mutual information lets go; all without a filter
    candidates: int  # those of them without which, alone, the objective is lower
    information: str  # ``none``, ``binned`` or ``knn``, as it was used
    threshold: float | None  # nats below which a dimension may go; None without a filter
    labels: str | None  # ``given``, ``groups`` or a name of ``LabelledVectors``; None without a filter
    most: int  # how many were to go at most
    stopped_because: str


@dataclass(frozen=True)
class Pruning:
    """Leave out dimensions without which the association of the fit half is weaker (MMBias, Algorithm 1).

    The same dimensions go from images and texts. What can go wrong: chosen and judged on the same items, the
    effect looks larger than it is; the dimensions depend on the basis, and a rotation of the embedding gives
    others; many dimensions at once (``one_shot``) go past zero, into an association the other way round.

    The filter keeps the dimensions that tell much about ``TrainingVectors.labels``, what must stay
    recognisable. Its default (``auto``) is no filter unless such labels are given: with the compared groups
    as labels it would protect just the dimensions that set the groups apart.

    Attributes:
        remove: At most so many dimensions; None: 10.5 % of them.
        strategy: ``one_shot`` ranks once, ``greedy`` ranks again after each removal.
        objective: ``absolute`` makes |d| small; ``signed`` makes d small, past zero too if
            ``stop_at_zero`` is off, as the paper's algorithm is printed.
        pairs: What of several tests is made small, with one list of dimensions for all: the mean, or the
            largest, which often finds no way down where no dimension lowers the worst test.
        renormalise: Whether cosines are made of what remains, as the association test does afterwards.
        information: How to know what a dimension (as the model made it) tells about labels: ``binned``
            (8 quantile bins), ``knn`` (scikit-learn), ``none``, or ``auto``: binned where labels are given.
        threshold: A dimension may go if it tells less than so many nats about the labels; None: ``quantile``.
        quantile: A dimension may go if it tells no more than this share of all dimensions do.
        stop_at_zero: Stop where the association changes its sign, on the side that is nearer to zero; with
            several tests, where those that changed it grow by more than the others shrink.
        precision: Of the search.
    """

    name: ClassVar[str] = "pruning"
    paper: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"strategy": "one_shot", "objective": "signed", "stop_at_zero": False}
    )
    """What Algorithm 1 of the MMBias paper, as printed, has in place of the defaults."""

    remove: int | None = field(
        default=None, metadata={"help": "at most so many dimensions; left out: 10.5 % of them"}
    )
    strategy: str = field(
        default="one_shot",
        metadata={"help": "rank once, or again after each removal", "choices": ("one_shot", "greedy")},
    )
    objective: str = field(
        default="absolute",
        metadata={"help": "make |d| small, or d itself", "choices": ("absolute", "signed")},
    )
    pairs: str = field(
        default="joint_mean",
        metadata={"help": "what several tests come to", "choices": ("joint_mean", "joint_max")},
    )
    renormalise: bool = field(default=True, metadata={"help": "cosines of what remains"})
    information: str = field(
        default="auto",
        metadata={
            "help": "keep dimensions that tell much about the labels; auto: binned where there are labels",
            "choices": ("auto", "none", "binned", "knn"),
        },
    )
    threshold: float | None = field(
        default=None, metadata={"help": "nats below which a dimension may go; left out: the quantile"}
    )
    quantile: float = field(default=0.5, metadata={"help": "share of the dimensions that may go"})
    stop_at_zero: bool = field(default=True, metadata={"help": "stop where the association changes its sign"})
    precision: str = field(
        default="float64", metadata={"help": "of the search", "choices": ("float64", "float32")}
    )

    def __post_init__(self) -> None:
        check_choices(self)
        if not 0 < self.quantile <= 1:
            raise ParameterError(f"quantile={self.quantile} is not possible; give a share above 0, at most 1")
        if self.threshold is not None and not isfinite(self.threshold):
            raise ParameterError(f"threshold={self.threshold} is not possible; give a number of nats")
        check_amount(self.remove)

    def fit(self, material: TrainingVectors, *, seed: int = 0) -> Mitigation:
        """Choose the dimensions on the fit half.

        Args:
            material: Vectors, sets and tests of the fit half.
            seed: Of the estimator ``knn``; nothing else is drawn.

        Returns:
            The mitigation; its facts hold the dimensions in their order and d after each.

        Raises:
            InputError: A set too small, a vector that cannot be used, no spread over X and Y.
            ParameterError: More dimensions to remove than there are.
        """
        return self.cut(self.order(material, seed=seed))

    def order(self, material: TrainingVectors, *, seed: int = 0) -> PruningOrder:
        """The order in which dimensions go, up to ``remove``: one search serves every smaller amount.

        Args:
            material: Vectors, sets and tests of the fit half.
            seed: Of the estimator ``knn``.

        Returns:
            The order, with the association after each removal.

        Raises:
            InputError: A set too small, a vector that cannot be used, no spread over X and Y.
            ParameterError: More dimensions to remove than there are.
        """
        check_material(material)
        check_amount(self.remove, material.dimensions)
        limit = usual_amount(material.dimensions) if self.remove is None else self.remove
        tests = [
            (
                material.target_sets[x],
                material.target_sets[y],
                material.attribute_sets[a],
                material.attribute_sets[b],
            )
            for x, y, a, b in material.tests
        ]
        state = RemainingDimensions(
            material.targets,
            material.attributes,
            tests,
            renormalise=self.renormalise,
            precision=self.precision,
        )
        base = state.effect_sizes()
        for (x, y, a, b), d in zip(material.tests, base, strict=True):
            if not np.isfinite(d):
                raise InputError(
                    f"the association of {x!r} and {y!r} with {a!r} and {b!r} is the same for every item: "
                    "there is no spread to remove; give items that differ"
                )
        allowed, used = self._allowed(material, seed)
        search = _PruningSearch(self, state, allowed, limit, base)
        search.run()
        trajectory = np.array(search.trajectory)
        return PruningOrder(
            total=material.dimensions,
            dimensions=tuple(search.chosen),
            trajectory=trajectory,
            objective=self.combined(trajectory.T),
            within_threshold=int(allowed.sum()),
            candidates=search.candidates,
            most=limit,
            stopped_because=search.stopped_because,
            **used,
        )

    def cut(self, order: PruningOrder, remove: int | None = None) -> Mitigation:
        """The mitigation that leaves out the first dimensions of an order.

        Args:
            order: From ``order``.
            remove: How many; None, or more than there are: all of them.

        Returns:
            The mitigation; with no dimension to leave out, one that changes nothing.
        """
        count = len(order.dimensions) if remove is None else min(remove, len(order.dimensions))
        gone = order.dimensions[:count]
        facts = {
            "removed": count,
            "dimensions": list(gone),
            "of": order.total,
            "asked": order.most if remove is None else remove,
            "trajectory": order.trajectory[: count + 1].T.tolist(),
            "objective": order.objective[: count + 1].tolist(),
            "within_threshold": order.within_threshold,
            "candidates": order.candidates,
            "information": order.information,
            "threshold": order.threshold,
            "labels": order.labels,
            "stopped_because": REACHED if count == remove else order.stopped_because,
            "cannot_promise": [ONE_BASIS],
        }
        params = asdict(self) | ({} if remove is None else {"remove": remove})
        return Mitigation(self.name, params, kept_maps(order.total, gone), facts)

    def combined(self, effect_sizes: Floats) -> Floats:
        """What is made small, of the d of each test.

        Args:
            effect_sizes: Shape (tests, ...).

        Returns:
            Shape (...).
        """
        values = np.abs(effect_sizes) if self.objective == "absolute" else effect_sizes
        return np.asarray(values.mean(axis=0) if self.pairs == "joint_mean" else values.max(axis=0))

    def past_zero(self, base: Floats, before: Floats, after: Floats) -> bool:
        """Whether a removal turns associations round by more than it lowers others.

        With one test: whether its d has reached the other side of zero. With several, where some have turned
        round: whether these grow, and with them the mean (or the largest) |d| of all.

        Args:
            base: d of each test at first, shape (tests,).
            before: d before the removal, shape (tests,).
            after: d after it, shape (tests,).
        """
        turned = np.sign(base) * after <= 0
        if len(base) == 1 or not turned.any():
            return bool(turned.all())
        was, is_now = np.abs(before), np.abs(after)
        overall = np.mean if self.pairs == "joint_mean" else np.max
        return bool(is_now[turned].sum() > was[turned].sum() and overall(is_now) > overall(was))

    def _allowed(self, material: TrainingVectors, seed: int) -> tuple[Bools, dict[str, Any]]:
        """Which dimensions the filter lets go, and what the filter was."""
        how = self.information
        if how == "auto":
            how = "none" if material.labels is None and material.labelled is None else "binned"
        if how == "none":
            used = {"information": how, "threshold": None, "labels": None}
            return np.ones(material.dimensions, dtype=bool), used
        vectors, labels, whose = _labelled(material)
        if how == "binned":
            information = binned_information(vectors, labels)
        else:
            information = neighbour_information(vectors, labels, seed=seed)
        if self.threshold is not None:
            allowed, threshold = information < self.threshold, self.threshold
        else:
            threshold = float(np.quantile(information, self.quantile))
            allowed = information <= threshold  # many are exactly 0 by nearest neighbours
        return allowed, {"information": how, "threshold": threshold, "labels": whose}


class _PruningSearch:
    """One run over the dimensions, from the first to the last that goes."""

    def __init__(
        self, rules: Pruning, state: RemainingDimensions, allowed: Bools, limit: int, base: Floats
    ) -> None:
        self.rules, self.state, self.limit, self.base = rules, state, limit, base
        self.open = allowed.copy()
        self.chosen: list[int] = []
        self.trajectory = [base]
        self.stopped_because = REACHED
        self.tolerance = _TOLERANCE * float(np.finfo(rules.precision).eps)
        self.first = self._without_each()
        self.better = self._improving(self._scores(self.first))
        self.candidates = int(self.better.sum())

    def run(self) -> None:
        if self.rules.strategy == "greedy":
            self._greedy()
        else:
            self._one_shot()

    def _greedy(self) -> None:
        effects = self.first
        while len(self.chosen) < self.limit:
            scores = self._scores(effects)
            best = int(scores.argmin())
            if not self._improving(scores)[best]:
                self.stopped_because = NO_IMPROVEMENT
                return
            if not self._take(best, effects[:, best]):
                return
            effects = self._without_each()

    def _one_shot(self) -> None:
        order = np.argsort(self._scores(self.first), kind="stable")[: self.candidates]
        for dimension in order[: self.limit].tolist():
            self.state.remove(dimension)
            if not self._take(dimension, self.state.effect_sizes(), remove=False):
                return
        if self.candidates < self.limit:
            self.stopped_because = NO_IMPROVEMENT

    def _take(self, dimension: int, after: Floats, *, remove: bool = True) -> bool:
        """Note one removal; False where it is the last, or one too many."""
        if not np.isfinite(after).all():
            self.stopped_because = UNDEFINED
            return False
        crossing = self.rules.stop_at_zero and self.rules.past_zero(self.base, self.trajectory[-1], after)
        if crossing:
            self.stopped_because = ZERO_CROSSING
            if len(after) > 1 or abs(after[0]) >= abs(self.trajectory[-1][0]):
                return False
        if remove:
            self.state.remove(dimension)
        self.chosen.append(dimension)
        self.trajectory.append(after)
        self.open[dimension] = False
        return not crossing

    def _without_each(self) -> Floats:
        return self.state.without_each()

    def _scores(self, effects: Floats) -> Floats:
        """The objective without each dimension; infinity for those that may not go."""
        scores = self.rules.combined(effects)
        return np.where(self.open & np.isfinite(scores), scores, np.inf)

    def _improving(self, scores: Floats) -> Bools:
        now = self.rules.combined(self.trajectory[-1])
        return scores < now - self.tolerance


def usual_amount(dimensions: int) -> int:
    """How many dimensions go if nothing is said: 10.5 %, at least one, never all."""
    return min(max(1, round(MOST * dimensions)), dimensions - 1)


def _labelled(material: TrainingVectors) -> tuple[Floats, Integers, str]:
    """Vectors with a label, their labels, and where those come from; a label below 0 is none."""
    if material.labelled is not None:
        vectors, labels = material.labelled.vectors, material.labelled.labels
        whose = material.labelled.name
    elif material.labels is None:
        vectors, labels, _ = material.grouped()
        whose = "groups"
    else:
        rows = material.labels >= 0
        vectors, labels, whose = material.targets[rows], material.labels[rows], "given"
    if not np.isfinite(vectors).all():
        raise InputError("targets with a label have vectors with NaN or infinity; leave them out")
    if len(np.unique(labels)) < 2:
        raise InputError(
            "mutual information needs targets with at least two different labels; "
            "give such labels, or information=none"
        )
    return vectors, labels, whose
