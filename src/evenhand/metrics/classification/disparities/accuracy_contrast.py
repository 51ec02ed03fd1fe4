"""Does accuracy differ between any groups? Which ones stand apart, and how far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy import special

from evenhand.core.cards import Sentences, Source
from evenhand.core.findings import Details, Finding, NewDetails, Part
from evenhand.core.significance import EDGE
from evenhand.metrics.catalogue import GAP
from evenhand.metrics.estimates import Z_POWER, By, Inference, Mode, get_or_make, number, part
from evenhand.metrics.prepared import (
    BoundCounts,
    Evidence,
    MarginInference,
    classifier_metric,
    deciding,
    margin_finding,
)
from evenhand.metrics.tables.margin_rates import Margins
from evenhand.stats.arrays import Floats, Mask
from evenhand.stats.exchange.compared_rates import ComparedRates, MaxT, least_exceeding
from evenhand.stats.exchange.cuts import Cuts, reached_by_chance
from evenhand.stats.rates.differences import noticed_below, noticed_by_exchange
from evenhand.stats.rates.rates import Rates

_TWO = 2  # groups, whose exchange has few different results
_DRAWS = 4_999  # of numbers of t, where weighted rows cannot be exchanged
_DRAWS_UNLIKE = 999, 9_999  # where all rows are alike, of some that are not: of many groups few
_COUNTS = 2_000_000  # of groups, drawn at a time
_METHOD = "MOVER of both sets of groups, at once over all cuts of the groups in order of their accuracies"
_NORMAL = "p by numbers of t with the groups' standard errors: weighted rows are not exchanged"


@classifier_metric(
    sentences=Sentences(models="has groups further apart"),
    title="Accuracy, groups furthest apart",
    summary="accuracy of some groups less that of all others: the two sets that stand furthest apart",
    formula="|P(right | z in S) - P(right | z not in S)|, S: the cut of groups in order of accuracy whose "
        "difference in standard errors exceeds most what such cuts reach by chance",
    **GAP,
    source=Source(paper="largest studentised contrast by exchange: Scheffé 1953; Chung and Romano 2013",
                  equation="omnibus over groups"),
    order=45, family="mistakes", headline=True,
    why_not_compared="which groups stand apart depends on each model's own counts",
    tags=("group gap",), first_line="rates", parts_of="accuracy", second_to="disparities",
)  # fmt: skip
def accuracy_contrast(
    evidence: Evidence, *, by: By, mode: Mode = "default", inference: Inference = "auto", seed: int = 0
) -> Finding:
    """How far two sets of groups stand apart in accuracy: does it differ between any groups?

    In [0, 1], lower is fairer, fair at 0. Groups stand in order of their accuracies; of the G - 1 cuts
    between neighbours that one is taken whose difference ``|P(right | S) - P(right | not S)|``, in standard
    errors, most exceeds what such a cut of equal groups reaches by chance (``stats.exchange.cuts``). It finds
    one group that is better or worse than all others, halves, and trends. Parts are the groups of the smaller
    set S with their accuracies (of equal ones the less accurate); the detail ``side`` says whether S is
    ``worse`` or ``better``.

    p exchanges groups among all rows (units: as wholes), the statistic in its own standard error; interval:
    MOVER of both sets (Zou and Donner 2008), whose lower limit has the quantile of that statistic; band: what
    the same cut would need by chance. So p, interval and band are of one statistic. Of two groups this is the
    two-sided test of both. None with reason ``single_group``.

    Args:
        evidence: Predictions or Counts.
        by: Attribute, or list of attributes to cross.
        mode: Same value in both.
        inference: ``none`` skips interval, band and p.
        seed: Of the exchange.

    Raises:
        UserError: Unknown columns, or no usable row.

    Source: Scheffé 1953 (contrasts after the fact); Chung and Romano 2013 (studentised exchange).
    """
    contrast = GroupsApart.of(BoundCounts.of(evidence, by, seed))
    return margin_finding(
        contrast.prepared, "accuracy_contrast", contrast.infer, mode=mode, inference=inference,
        value=contrast.value, parts=contrast.parts, details=contrast.details,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class GroupsApart:
    """The two sets of groups of a table that stand furthest apart."""

    prepared: BoundCounts

    @classmethod
    def of(cls, prepared: BoundCounts) -> GroupsApart:
        """Made once for each grouping."""
        return get_or_make(prepared.memo, "accuracy contrast", cls, prepared)

    @cached_property
    def _cuts(self) -> Cuts | None:
        """None where there is one group."""
        return Cuts.of(self.prepared.compared("hit")) if len(self.prepared.groups) > 1 else None

    @cached_property
    def _smaller(self) -> tuple[Mask, bool]:
        """The smaller set of groups, shape (G,), and whether it is the less accurate one."""
        lower = np.zeros(1, dtype=bool) if self._cuts is None else self._cuts.lower()
        is_lower = 2 * int(lower.sum()) <= lower.size
        return (lower if is_lower else ~lower), is_lower

    @property
    def value(self) -> float:
        """Accuracy of the better set less that of the other; NaN with a single group."""
        if self._cuts is None:
            return float("nan")
        first, second = self._rates.value
        return abs(float(first - second))

    @cached_property
    def _rates(self) -> Rates:
        """Accuracy above and below the cut, shape (2,)."""
        smaller, is_lower = self._smaller
        below = (smaller if is_lower else ~smaller).astype(np.int64)
        return self.prepared.regrouped(below, 2)

    @property
    def parts(self) -> list[Part]:
        """The groups of the smaller set; empty with a single group."""
        if self._cuts is None:
            return []
        accuracies = self.prepared.confusion.accuracy_by_group()
        return [
            part("group", self.prepared.group_key(z), accuracies[z], n=self.prepared.group_sizes[z])
            for z in np.flatnonzero(self._smaller[0]).tolist()
        ]  # fmt: skip

    @property
    def details(self) -> NewDetails:
        """Whether these are worse or better off."""
        return {} if self._cuts is None else {"side": "worse" if self._smaller[1] else "better"}

    def infer(self, margins: Margins, value: float) -> MarginInference | str:
        """p, interval and band of one statistic: the largest of all cuts."""
        cuts, draws = self._cuts, self._drawn(margins)
        if cuts is None:
            return ""
        test = None if draws is None else cuts.against(draws)
        return MarginInference(
            partial(cuts.limits, self._rates, test), _METHOD, reference=0.0, test=test,
            draws=None if test is None else np.clip(cuts.critical(test.draws), 0, 1),
            exchanged=f"{margins.exchanged} exchanged" if margins.testable else "numbers of t drawn",
            deciding=deciding(margins, np.flatnonzero(self._smaller[0]).tolist()),
            notes=[] if margins.tables is not None or margins.testable else [_NORMAL],
            noticed=None if test is None or margins.unit != "rows" else partial(self._noticed, test.draws),
        )  # fmt: skip

    def _noticed(self, draws: Floats, alpha: float) -> Details:
        """How few rows right in one group of usual size would have shown (4 times in 5) at a level.

        Of rows that are all right, or none is, exchange tells nothing: then draws with as many mistakes.
        """
        sizes, moments = self.prepared.group_sizes, self.prepared.moments
        if moments is not None:
            return {}
        group = int(np.argsort(sizes, kind="stable")[(sizes.size - 1) // 2])
        n, confusion = int(sizes[group]), self.prepared.confusion
        usual, total = float(confusion.accuracy()), int(sizes.sum())
        if usual in (0.0, 1.0):
            rate = abs(usual - self._unlike(group, alpha, are_right=usual == 1))
        elif sizes.size == _TWO:
            rate = noticed_by_exchange(usual, n, total - n, alpha)
        else:
            z = least_exceeding(draws, alpha) + float(reached_by_chance(sizes.size)[0])
            rate = noticed_below(usual, n, total - n, z)
        return {"detectable_n": float(n), "detectable_others": usual, "detectable_rate": number(rate)}

    def _unlike(self, group: int, alpha: float, *, are_right: bool) -> float:
        """The rate of rows of a group, unlike all others, that would have shown; NaN where none would.

        It solves ``sum over x of P(X = x) [x unlike rows of this group show] = power``, X being binomial of
        its n rows. Test and interval have to show them, and one row more can show less: their steps are few.
        """
        from scipy import optimize, stats

        sizes, rng = self.prepared.group_sizes, self.prepared.stream("contrast", "unlike")
        n, replicates = int(sizes[group]), int(np.clip(_COUNTS // sizes.size, *_DRAWS_UNLIKE))
        least = 1 / (replicates + 1)

        def p_of(rows: int) -> tuple[float, bool]:
            draws = rng.multivariate_hypergeometric(sizes, rows, size=replicates, method="marginals")
            unlike = np.vstack([rows * np.eye(sizes.size, dtype=np.int64)[group], draws]).astype(np.float64)
            hits = sizes - unlike if are_right else unlike
            cuts = Cuts.of(ComparedRates.of_rows(hits[..., None], sizes[:, None].astype(np.float64)))
            lower, test = cuts.lower(), MaxT(float(cuts.largest[0]), cuts.largest[1:])
            right, trials = ([side[~lower].sum(), side[lower].sum()] for side in (hits[0], sizes))
            low, _ = cuts.limits(Rates.of_rows(np.array(right), np.array(trials)), test, 1 - alpha)
            return test.p_value, test.p_value <= alpha and low > EDGE

        if least > alpha:
            return float("nan")
        p, shows = 1.0, [False]
        while len(shows) <= n and not (shows[-1] and p <= max(alpha / 10, 1.5 * least)):
            p, is_shown = p_of(len(shows))
            shows.append(is_shown)
        if not shows[-1]:
            return float("nan")

        def lacking(rate: float) -> float:
            count = stats.binom(n, rate)
            found = count.pmf(np.flatnonzero(shows)).sum() + count.sf(len(shows) - 1)
            return float(special.ndtr(Z_POWER) - found)

        return float(optimize.brentq(lacking, 0, 1))

    def _drawn(self, margins: Margins) -> ComparedRates | None:
        """Accuracies without differences; None where nothing says how units vary."""
        if margins.hits is not None:
            return margins.hits.drawn
        if margins.tables is not None:
            return None
        observed = margins.compared("hit")  # of weighted rows: their standard errors, and numbers of t
        rng, error = self.prepared.stream("contrast"), np.sqrt(observed.variance)
        noise = rng.standard_normal((_DRAWS, *error.shape[1:])) * error * margins.unsure("hit", _DRAWS)
        return ComparedRates(0.5 + noise, observed.trials, np.broadcast_to(observed.variance, noise.shape))
