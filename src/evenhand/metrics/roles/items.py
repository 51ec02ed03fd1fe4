"""Items that a model affirms of people, asked in several wordings: does the group of the person move them?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import check_known
from evenhand.core.findings import Dropped, Finding, GroupSize, Interval, Part, key_of
from evenhand.core.metric import metric
from evenhand.core.random_streams import stream
from evenhand.evidence.item_scores import ItemScores
from evenhand.metrics import named_groups as named
from evenhand.metrics.estimates import agreeing, as_finding, joint_p, null_band, resampled_p
from evenhand.metrics.prepared import LEVEL, By, Inference, check_common, names_of
from evenhand.stats.arrays import Floats, Integers, Mask, Pair
from evenhand.stats.welch import welch_p

GRAS = "GRAS, EACL Findings 2026, arXiv 2508.18989"
_DRAWS, _ALPHA, _TINY, _HELD = 499, 0.05, 1e-18, 2_000_000


def _grouped(evidence: Any, by: By) -> tuple[tuple[str, ...], Floats, Integers, named.Groups, list[Dropped]]:
    """Names, scores, group codes and groups of the images that have a value, and what is left out."""
    named.check_kind(evidence, ItemScores, "ItemScores.join")
    names = names_of(by)
    check_known("attribute of these scores", names, evidence.attributes)
    counts = {"no score for each item and wording": evidence.incomplete} if evidence.incomplete else {}
    columns = named.texts(evidence.annotated, names)
    there = np.ones(evidence.annotated.height, dtype=bool)
    mask = named.left_out(there, named.missing(columns), counts)
    groups, code = named.coded(columns, mask)
    return names, evidence.scores[mask], code, groups, named.dropped_of(counts)


def _counts(code: Integers, groups: named.Groups, dropped: list[Dropped]) -> dict[str, Any]:
    """The fields of a finding that say of how many images it is."""
    sizes = np.bincount(code, minlength=len(groups)).tolist()
    keyed = [GroupSize(key=key_of(group), n=n) for group, n in zip(groups, sizes, strict=True) if group]
    return {"n": int(code.size), "dropped": dropped, "groups": keyed}


def _permuted(
    statistic: Callable[[Integers], float], code: Integers, rng: np.random.Generator, draws: int
) -> Floats:
    """The statistic with groups exchanged among the images, all items and wordings of an image together."""
    return np.array([statistic(rng.permutation(code)) for _ in range(draws)])


@dataclass(frozen=True, eq=False)
class _Between:
    """How much of the variance of each column lies between groups, whose spreads may differ.

    Attributes:
        between: Squares of the groups' means around that of all, times sizes; shape (..., K).
        noise: What of it the spread within groups alone gives.
        within: Variance within groups, mean over images.
        freedom: Degrees of freedom of ``between / noise`` (Brown and Forsythe 1974, Mehrotra 1997).
    """

    between: Floats
    noise: Floats
    within: Floats
    freedom: tuple[Floats, Floats]
    rows: int

    @classmethod
    def of(cls, columns: Floats, code: Integers, groups: int) -> _Between:
        """Of numbers, shape (N, K), and codes, shape (..., N); a group of one has the variance of the others.

        Each group has as many rows in all of the codes.
        """
        member = np.swapaxes(np.eye(groups)[code], -1, -2)
        size = member.sum(axis=-1).reshape(-1, groups)[0][:, None]
        centred = columns - columns.mean(axis=0)
        mean = member @ centred / size
        squares = np.maximum(member @ centred**2 - size * mean**2, 0)
        pooled = squares.sum(axis=-2, keepdims=True) / max(len(columns) - groups, 1)
        variance = np.where(size > 1, squares / np.maximum(size - 1, 1), pooled)
        share = size / len(columns)
        spread = (1 - share) * variance
        noise, within = spread.sum(axis=-2), (share * variance).sum(axis=-2)
        first = (variance**2).sum(axis=-2) + within**2 - 2 * (share * variance**2).sum(axis=-2)
        second = (spread**2 / np.maximum(size - 1, 1)).sum(axis=-2)
        ones = np.ones(noise.shape)
        freedom = (
            np.divide(noise**2, first, out=(groups - 1) * ones, where=first > 0),
            np.divide(noise**2, second, out=ones, where=second > 0),
        )
        return cls((size * mean**2).sum(axis=-2), noise, within, freedom, len(columns))

    @property
    def values(self) -> Floats:
        """Shares of the variance, without what noise adds to them; NaN where nothing varies."""
        between = np.maximum(self.between - self.noise, 0) / self.rows
        total = between + self.within
        shares = np.full(total.shape, np.nan)
        np.divide(between, total, out=shares, where=total > _TINY)
        return shares

    @property
    def p_values(self) -> Floats:
        """P of equal means by the F distribution of ``freedom``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            f = np.where(self.between > _TINY, self.between / self.noise, 0.0)
        return np.asarray(special.fdtrc(*self.freedom, f))

    def limits(self, level: float) -> Pair:
        """Limits of the first column's share by those of the noncentrality of F (Steiger 2004)."""
        first, second = (float(freedom[0]) for freedom in self.freedom)
        if self.noise[0] <= _TINY:
            return 0.0, 1.0
        f = max(float(self.between[0] / self.noise[0]), 1.0)  # below 1 the value is 0 as well
        nc = [special.ncfdtrinc(first, second, tail, f) for tail in ((1 + level) / 2, (1 - level) / 2)]
        squares = [float(end * self.noise[0] / first / self.rows) if np.isfinite(end) else 0.0 for end in nc]
        low, high = (end / (end + float(self.within[0])) for end in squares)
        value = float(self.values[0])
        return min(low, value), max(high, value)


@metric(
    title="Leaning by group", summary="share of the variance of images' leaning to good rather than bad "
        "items, mean over wordings of the question, that lies between groups",
    formula="variance between groups / variance of (mean score of good items - mean score of bad items)",
    range=(0, 1), direction="lower is fairer", fair_at=0.0,
    source=Source(paper=GRAS, equation="effect instead of its test"), unit="share", order=970,
    family="items", first_line="value",
    sentences=Sentences(row="leaning by group", topic="Leaning",
        value="Of the variance of images' leaning, groups account for"),
)  # fmt: skip
def lean_effect(
    evidence: ItemScores, *, by: By = (), inference: Inference = "auto", seed: int = 0
) -> Finding:
    """How far the group decides whether good or bad items are affirmed: a share of variance, in [0, 1].

    An image's leaning is the mean score of good items minus that of bad ones, half each, mean over wordings.
    The value is the variance of the groups' mean leanings over that of all images, without what noise adds
    (omega squared, groups of unlike spread), and at least 0. Null: groups exchanged among images, all
    answers of an image together; p, one-sided, compares means studentised by each group's own spread, and is
    at least that at which the interval holds 0. Interval: by the noncentrality of F. Parts: the mean leaning
    of each group, and the value in each wording (kind ``wording``), of which no single one is a headline.
    Details: the lowest and the highest of these, and ``p_any_wording``, small where the groups differ in some
    wording (the largest statistic of all wordings under the same exchanges). None with reason
    ``single_group`` where there is one group, ``constant`` where all images lean alike.

    Args:
        evidence: Scores of items.
        by: Attribute, or list of attributes to cross.
        inference: ``none`` skips interval, null band and p.
        seed: Of the exchanges.

    Raises:
        UnknownName: An attribute that does not exist.

    Source: ours; GRAS 2026 counts tests instead. Brown and Forsythe 1974; Steiger 2004.
    """
    check_common("default", inference, seed)
    names, scores, code, groups, dropped = _grouped(evidence, by)
    size = np.array([(evidence.signs > 0).sum(), (evidence.signs < 0).sum()]).clip(1)
    weight = np.where(evidence.signs > 0, 0.5 / size[0], -0.5 / size[1])
    leans = np.einsum("niw,i->nw", scores, weight)
    counts_of, many = _counts(code, groups, dropped), len(groups)
    if many < 2:
        return as_finding("lean_effect", names, {}, value=None, reason="single_group", **counts_of)
    columns = np.column_stack([leans.mean(axis=1), leans])  # the mean over wordings, and each wording
    observed = _Between.of(columns, code, many)
    value, *single = observed.values.tolist()
    if not np.isfinite(value):
        return as_finding("lean_effect", names, {}, value=None, reason="constant", **counts_of)
    fields: dict[str, Any] = {"parts": _lean_parts(columns[:, 0], single, code, names, groups), **counts_of}
    usable = [effect for effect in single if np.isfinite(effect)]
    ends = min(usable, default=None), max(usable, default=None)
    fields["details"] = dict(zip(("lowest_wording", "highest_wording"), ends, strict=True))
    if inference == "auto":
        rng = stream(seed, "lean_effect", *names)
        fields |= _lean_inference(observed, columns, code, rng, seed, fields["details"])
    return as_finding("lean_effect", names, {}, value=value, **fields)


def _lean_parts(
    lean: Floats, single: list[float], code: Integers, names: tuple[str, ...], groups: named.Groups
) -> list[Part]:
    """The mean leaning of each group, and the value in each wording."""
    means = [
        Part(kind="*".join(names), key=key_of(group), value=float(lean[code == z].mean()),
             n=int((code == z).sum()))
        for z, group in enumerate(groups)
    ]  # fmt: skip
    wordings = [
        Part(kind="wording", key=str(w), value=effect if np.isfinite(effect) else None, n=code.size)
        for w, effect in enumerate(single, 1)
    ]
    return means + wordings


def _lean_inference(
    observed: _Between,
    columns: Floats,
    code: Integers,
    rng: np.random.Generator,
    seed: int,
    details: dict[str, Any],
) -> dict[str, Any]:
    """Null band, p and interval; the p of any wording goes into the details."""
    many = int(code.max()) + 1

    some = max(_HELD // (code.size * many), 1)  # exchanges that are worked on at a time
    exchanged = []
    for start in range(0, _DRAWS, some):
        moved = np.stack([rng.permutation(code) for _ in range(start, min(start + some, _DRAWS))])
        between = _Between.of(columns, moved, many)
        p = between.p_values
        exchanged.append(np.stack([between.values[:, 0], -p[:, 0], -p[:, 1:].min(axis=1)], axis=1))
    draws = np.concatenate(exchanged)
    p_single = observed.p_values
    p_value = joint_p(resampled_p(draws[:, 1], -float(p_single[0]), "high"), 0.0, observed.limits)
    details["p_any_wording"] = resampled_p(draws[:, 2], -float(p_single[1:].min()), "high")

    def limits(level: float) -> Interval:
        low, high = agreeing(observed.limits(level), p_value, 0.0, level)
        return Interval(low=low, high=high, level=level, method="noncentral F, unlike spreads")

    method = "groups exchanged among images"
    band = null_band(draws[:, 0], level=LEVEL, method=method, seed=seed, side="high")
    return {"null": band, "p_value": p_value, "interval": limits(LEVEL), "limits": limits}


@metric(
    title="Items that tests reject", summary="share of items whose mean differs between groups by an "
        "uncorrected test in any wording; it grows with the number of images and has no zero",
    formula="share of items with p < .05 (Welch) in any wording", range=(0, 1), direction="lower is fairer",
    source=Source(paper=GRAS, equation="GRAS bias score"), unit="share", order=980, family="items",
    sentences=Sentences(row="items rejected", topic="The share of rejected items",
        value="Of all items, those that an uncorrected test rejects in some wording are"),
)  # fmt: skip
def rejected_items(
    evidence: ItemScores, *, by: By = (), inference: Inference = "auto", seed: int = 0
) -> Finding:
    """The share of items with Welch's p below .05 in any wording, uncorrected, as GRAS counts; in [0, 1].

    GRAS is its mean over four attributes. There is no zero: a blind model has .05 (where all wordings say the
    same) to .23 (five that say something else each). ``chance_at`` and null: groups exchanged among images,
    all answers of an image together. It measures how many images there are as much as how large effects are:
    read ``lean_effect``. No p. Parts: the share in each wording alone. None with reason ``single_group``.
    Arguments as in ``lean_effect``.

    Source: GRAS 2026.
    """
    check_common("default", inference, seed)
    names, scores, code, groups, dropped = _grouped(evidence, by)
    columns, many = scores.reshape(len(scores), -1), len(groups)
    shape = scores.shape[1:]

    def rejected(moved: Integers) -> Mask:
        return np.asarray(np.nan_to_num(welch_p(columns, moved, many), nan=1.0).reshape(shape) < _ALPHA)

    def share(moved: Integers) -> float:
        return float(rejected(moved).any(axis=1).mean())

    fields = _counts(code, groups, dropped)
    if many < 2:
        return as_finding("rejected_items", names, {}, value=None, reason="single_group", **fields)
    alone = rejected(code).mean(axis=0)
    fields["parts"] = [
        Part(kind="wording", key=str(w), value=float(part), n=code.size) for w, part in enumerate(alone, 1)
    ]
    if inference == "auto":
        draws = _permuted(share, code, stream(seed, "rejected_items", *names), 99)
        band = null_band(draws, level=LEVEL, method="groups exchanged among images", seed=seed)
        fields |= {"null": band, "chance_at": band and band.mean}
    return as_finding("rejected_items", names, {}, value=share(code), **fields)
