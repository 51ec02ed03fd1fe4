"""Items that a model affirms of people, asked in several wordings: does the group of the person move them?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.cards import Sentences, Source
from evenhand.core.findings import Finding, Part
from evenhand.core.metric import metric
from evenhand.core.random_streams import stream
from evenhand.evidence.item_scores import ItemScores
from evenhand.metrics import named_groups as named
from evenhand.metrics.catalogue import SHARE
from evenhand.metrics.estimates import (
    By,
    Fields,
    Inference,
    check_common,
    described,
    interval_and_p,
    null_band,
    number,
    part,
    resampled_p,
)
from evenhand.metrics.group_rates import ONE_CLUSTER
from evenhand.stats.arrays import Floats, Integers, Mask, piece_sizes
from evenhand.stats.exchange.between import Between, UnitSums, welch_p
from evenhand.stats.rates.clustered import FEWEST

GRAS = "GRAS, EACL Findings 2026, arXiv 2508.18989"
_DRAWS, _ALPHA, _HELD = 499, 0.05, 2_000_000


@dataclass(frozen=True, eq=False)
class _Images(named.ChosenRows):
    """The images of one grouping that have a value."""

    scored: ItemScores

    @classmethod
    def of(cls, evidence: Any, by: By) -> _Images:
        """The images, and what is left out."""
        names = named.bound_names(evidence, ItemScores, "ItemScores.join", by)
        counts = {"no score for each item and wording": evidence.incomplete}
        return cls(**named.bound(evidence.annotated, names, counts), scored=evidence)

    @property
    def scores(self) -> Floats:
        """Those of the images, shape (N, items, wordings)."""
        return self.scored.scores[self.chosen]

    @cached_property
    def unit(self) -> Integers | None:
        """What each image was sampled with, from 0, those that name nothing alone; None: all are."""
        cluster = self.scored.cluster
        if cluster is None:
            return None
        return named.units_of({"": self.scored.annotated.filter(self.chosen)}, cluster)

    @property
    def reason(self) -> str | None:
        """Why nothing can be compared; None: something can."""
        return None if len(self.groups) > 1 else "single_group" if self.n else "empty"

    @property
    def units(self) -> int:
        """How many were sampled as wholes."""
        return self.n if self.unit is None else int(self.unit.max(initial=-1)) + 1

    @property
    def unit_name(self) -> str:
        """What is drawn as a whole."""
        return self.scored.cluster or "image"

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
    **SHARE, direction="lower is fairer", fair_at=0.0,
    source=Source(paper=GRAS, equation="effect instead of its test"), order=970,
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
    ``single_group`` where there is one group, ``empty`` without an image, ``constant`` where all lean alike.

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
    leans, many = np.einsum("niw,i->nw", images.scores, weight), len(images.groups)
    if images.reason:
        return described(images, "lean_effect", {}, None, reason=images.reason)
    columns = np.column_stack([leans.mean(axis=1), leans])  # the mean over wordings, and each wording
    units = None if images.unit is None else UnitSums.of(columns, images.group, many, images.unit)
    observed = Between.of(columns, images.group, many) if units is None else units.between()[0]
    value, *single = map(number, observed.values)
    if value is None:
        return described(images, "lean_effect", {}, None, reason="constant")
    usable = [effect for effect in single if effect is not None]
    details: Fields = {
        "lowest_wording": min(usable, default=None), "highest_wording": max(usable, default=None),
    }  # fmt: skip
    if units is not None:
        details |= {"units": images.units, "unit": images.unit_name}
    fields: Fields = {}
    if inference == "auto" and images.units < FEWEST:
        fields["reason"] = ONE_CLUSTER
    elif inference == "auto":
        fields = _lean_inference(observed, columns, images, units, seed, details)
    means = images.parts(lambda code: {"value": float(columns[images.group == code, 0].mean())})
    fields |= {"details": details, "parts": means + _wordings(single, images)}
    return described(images, "lean_effect", {}, value, **fields)


def _wordings(values: Iterable[float | None], images: _Images) -> list[Part]:
    """The value in each wording alone."""
    return [part("wording", str(w), value, n=images.n) for w, value in enumerate(values, 1)]


def _lean_inference(
    observed: Between, columns: Floats, images: _Images, units: UnitSums | None, seed: int,
    details: Fields,
) -> Fields:  # fmt: skip
    """Null band, p and interval; the p of any wording goes into the details."""
    rng, many = stream(seed, "lean_effect", *images.by), len(images.groups)
    chance = []
    for size in piece_sizes(_DRAWS, _HELD, images.units * many):
        if units is None:
            between = Between.of(
                columns, np.stack([rng.permutation(images.group) for _ in range(size)]), many
            )
        else:
            between = units.between(rng.choice((-1.0, 1.0), (size, images.units)))
        p = between.p_values
        chance.append(np.stack([between.values[:, 0], -p[:, 0], -p[:, 1:].min(axis=1)], axis=1))
    draws = np.concatenate(chance)
    p_single = observed.p_values
    details["p_any_wording"] = resampled_p(draws[:, 2], -float(p_single[1:].min()), "high")
    p_value = resampled_p(draws[:, 1], -float(p_single[0]), "high")
    method = "noncentral F, unlike spreads" + (f", by {images.unit_name}" if units else "")
    band = null_band(draws[:, 0], method=images.method, seed=seed, side="high")
    return {"null": band, **interval_and_p(observed.limits, p_value, 0.0, method)}


@metric(
    title="Items that tests reject", summary="share of items whose mean differs between groups by an "
        "uncorrected test in any wording; it grows with the number of images and has no zero",
    formula="share of items with p < .05 (Welch) in any wording", **SHARE, direction="lower is fairer",
    source=Source(paper=GRAS, equation="GRAS bias score"), order=980, family="items",
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
    ``single_group`` or ``empty``. Arguments as in ``lean_effect``.

    Source: GRAS 2026.
    """
    check_common("default", inference, seed)
    images = _Images.of(evidence, by)
    if images.reason:
        return described(images, "rejected_items", {}, None, reason=images.reason)
    columns, many, group = images.scores.reshape(images.n, -1), len(images.groups), images.group
    rng, shape = stream(seed, "rejected_items", *images.by), images.scores.shape[1:]

    def rejected(values: Floats, code: Integers) -> Mask:
        return np.nan_to_num(welch_p(values, code, many), nan=1.0).reshape(shape) < _ALPHA

    def by_chance() -> float:
        if images.unit is None:
            return float(rejected(columns, rng.permutation(group)).any(axis=1).mean())
        sign, mean = rng.choice((-1.0, 1.0), images.units)[images.unit], columns.mean(axis=0)
        return float(rejected(mean + sign[:, None] * (columns - mean), group).any(axis=1).mean())

    is_rejected, fields = rejected(columns, group), Fields()
    if inference == "auto" and images.units >= FEWEST:
        draws = np.array([by_chance() for _ in range(99)])
        band = null_band(draws, method=images.method, seed=seed)
        fields |= {"null": band, "chance_at": band and band.mean}
    value, parts = float(is_rejected.any(axis=1).mean()), _wordings(is_rejected.mean(axis=0).tolist(), images)
    return described(images, "rejected_items", {}, value, parts=parts, **fields)
