"""Items that a model affirms of people, asked in several wordings: does the group of the person move them?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import check_known
from evenhand.core.findings import Dropped, Finding, GroupSize, Interval, Part, key_of
from evenhand.core.metric import metric
from evenhand.core.random_streams import stream
from evenhand.evidence.item_scores import ItemScores
from evenhand.metrics import named_groups as named
from evenhand.metrics.estimates import agreeing, as_finding, joint_p, null_band, resampled_p
from evenhand.metrics.group_rates import ONE_CLUSTER
from evenhand.metrics.prepared import LEVEL, By, Inference, check_common, names_of
from evenhand.stats.arrays import Floats, Integers, Mask, codes_of, piece_sizes
from evenhand.stats.exchange.between import Between, UnitSums
from evenhand.stats.rates.clustered import FEWEST
from evenhand.stats.welch import welch_p

GRAS = "GRAS, EACL Findings 2026, arXiv 2508.18989"
_DRAWS, _ALPHA, _HELD = 499, 0.05, 2_000_000


@dataclass(frozen=True, eq=False)
class _Images:
    """The images of one grouping that have a value."""

    names: tuple[str, ...]
    scores: Floats  # shape (N, items, wordings)
    code: Integers  # group of each image
    groups: named.Groups
    dropped: list[Dropped]
    unit: Integers | None  # what each image was sampled with, from 0; None: every image by itself
    unit_name: str  # what is drawn as a whole

    @classmethod
    def of(cls, evidence: Any, by: By) -> _Images:
        """The images, and what is left out; one that names no unit is its own."""
        named.check_kind(evidence, ItemScores, "ItemScores.join")
        names = names_of(by)
        check_known("attribute of these scores", names, evidence.attributes)
        counts = {"no score for each item and wording": evidence.incomplete} if evidence.incomplete else {}
        columns = named.texts(evidence.annotated, names)
        there = np.ones(evidence.annotated.height, dtype=bool)
        mask = named.left_out(there, named.missing(columns), counts)
        groups, code = named.coded(columns, mask)
        unit = None
        if evidence.cluster is not None:
            alone = pl.concat_str(pl.lit("\x1f"), "sample")
            clusters = evidence.annotated.select(pl.coalesce(pl.col(evidence.cluster).cast(pl.String), alone))
            unit = codes_of(clusters.to_series().to_numpy()[mask])
        called = evidence.cluster or "image"
        return cls(names, evidence.scores[mask], code, groups, named.dropped_of(counts), unit, called)

    @property
    def units(self) -> int:
        """How many were sampled as wholes."""
        return self.code.size if self.unit is None else int(self.unit.max(initial=-1)) + 1

    @property
    def counts(self) -> dict[str, Any]:
        """The fields of a finding that say of how many images it is."""
        sizes = np.bincount(self.code, minlength=len(self.groups)).tolist()
        keyed = [
            GroupSize(key=key_of(group), n=n) for group, n in zip(self.groups, sizes, strict=True) if group
        ]
        return {"n": int(self.code.size), "dropped": self.dropped, "groups": keyed}

    @property
    def method(self) -> str:
        """How what chance gives was made."""
        if self.unit is None:
            return "groups exchanged among images"
        return f"answers of each {self.unit_name} turned around the mean of all"


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
    at least that at which the interval holds 0. Interval: by the noncentrality of F. Where images come in
    clusters, such as persons, spreads are those between clusters, and under the null all deviations of a
    cluster from the mean of all images change their sign together (wild bootstrap of clusters); without
    interval and p with reason ``one_cluster`` where there is one. Parts: the mean leaning
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

    Source: ours; GRAS 2026 counts tests instead. Brown and Forsythe 1974; Steiger 2004; Cameron, Gelbach and
    Miller 2008 (clusters).
    """
    check_common("default", inference, seed)
    images = _Images.of(evidence, by)
    size = np.array([(evidence.signs > 0).sum(), (evidence.signs < 0).sum()]).clip(1)
    weight = np.where(evidence.signs > 0, 0.5 / size[0], -0.5 / size[1])
    leans = np.einsum("niw,i->nw", images.scores, weight)
    fields = images.counts
    if len(images.groups) < 2:
        return as_finding("lean_effect", images.names, {}, value=None, reason="single_group", **fields)
    columns = np.column_stack([leans.mean(axis=1), leans])  # the mean over wordings, and each wording
    units = (
        None if images.unit is None else UnitSums.of(columns, images.code, len(images.groups), images.unit)
    )
    observed = Between.of(columns, images.code, len(images.groups)) if units is None else units.between()[0]
    value, *single = observed.values.tolist()
    if not np.isfinite(value):
        return as_finding("lean_effect", images.names, {}, value=None, reason="constant", **fields)
    fields["parts"] = _lean_parts(columns[:, 0], single, images)
    usable = [effect for effect in single if np.isfinite(effect)]
    ends = min(usable, default=None), max(usable, default=None)
    fields["details"] = dict(zip(("lowest_wording", "highest_wording"), ends, strict=True))
    if images.unit is not None:
        fields["details"] |= {"units": float(images.units), "unit": images.unit_name}
    if inference == "auto" and images.units < FEWEST:
        fields["reason"] = ONE_CLUSTER
    elif inference == "auto":
        fields |= _lean_inference(observed, columns, images, units, seed, fields["details"])
    return as_finding("lean_effect", images.names, {}, value=value, **fields)


def _lean_parts(lean: Floats, single: list[float], images: _Images) -> list[Part]:
    """The mean leaning of each group, and the value in each wording."""
    code = images.code
    means = [
        Part(kind="*".join(images.names), key=key_of(group), value=float(lean[code == z].mean()),
             n=int((code == z).sum()))
        for z, group in enumerate(images.groups)
    ]  # fmt: skip
    wordings = [
        Part(kind="wording", key=str(w), value=effect if np.isfinite(effect) else None, n=code.size)
        for w, effect in enumerate(single, 1)
    ]
    return means + wordings


def _lean_inference(
    observed: Between, columns: Floats, images: _Images, units: UnitSums | None, seed: int,
    details: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Null band, p and interval; the p of any wording goes into the details."""
    rng, many = stream(seed, "lean_effect", *images.names), len(images.groups)
    chance = []
    for size in piece_sizes(_DRAWS, _HELD, images.units * many):
        if units is None:
            between = Between.of(columns, np.stack([rng.permutation(images.code) for _ in range(size)]), many)
        else:
            between = units.between(rng.choice((-1.0, 1.0), (size, images.units)))
        p = between.p_values
        chance.append(np.stack([between.values[:, 0], -p[:, 0], -p[:, 1:].min(axis=1)], axis=1))
    draws = np.concatenate(chance)
    p_single = observed.p_values
    p_value = joint_p(resampled_p(draws[:, 1], -float(p_single[0]), "high"), 0.0, observed.limits)
    details["p_any_wording"] = resampled_p(draws[:, 2], -float(p_single[1:].min()), "high")

    def limits(level: float) -> Interval:
        low, high = agreeing(observed.limits(level), p_value, 0.0, level)
        method = "noncentral F, unlike spreads" + (f", by {images.unit_name}" if units else "")
        return Interval(low=low, high=high, level=level, method=method)

    band = null_band(draws[:, 0], level=LEVEL, method=images.method, seed=seed, side="high")
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
    all answers of an image together; those of a cluster turned around the mean of all, as in
    ``lean_effect``, where images come in clusters. It measures how many images there are as much as how
    large effects are: read ``lean_effect``. No p. Parts: the share in each wording alone. None with reason
    ``single_group``. Arguments as in ``lean_effect``.

    Source: GRAS 2026.
    """
    check_common("default", inference, seed)
    images = _Images.of(evidence, by)
    columns, many = images.scores.reshape(len(images.scores), -1), len(images.groups)
    shape, fields = images.scores.shape[1:], images.counts
    rng = stream(seed, "rejected_items", *images.names)

    def rejected(values: Floats, code: Integers) -> Mask:
        return np.nan_to_num(welch_p(values, code, many), nan=1.0).reshape(shape) < _ALPHA

    def by_chance() -> float:
        if images.unit is None:
            return float(rejected(columns, rng.permutation(images.code)).any(axis=1).mean())
        sign, mean = rng.choice((-1.0, 1.0), images.units)[images.unit], columns.mean(axis=0)
        return float(rejected(mean + sign[:, None] * (columns - mean), images.code).any(axis=1).mean())

    if many < 2:
        return as_finding("rejected_items", images.names, {}, value=None, reason="single_group", **fields)
    is_rejected = rejected(columns, images.code)
    fields["parts"] = [
        Part(kind="wording", key=str(w), value=float(part), n=images.code.size)
        for w, part in enumerate(is_rejected.mean(axis=0), 1)
    ]
    if inference == "auto" and images.units >= FEWEST:
        draws = np.array([by_chance() for _ in range(99)])
        band = null_band(draws, level=LEVEL, method=images.method, seed=seed)
        fields |= {"null": band, "chance_at": band and band.mean}
    value = float(is_rejected.any(axis=1).mean())
    return as_finding("rejected_items", images.names, {}, value=value, **fields)
