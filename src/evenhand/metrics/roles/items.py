"""Items that a model affirms of people, asked in several wordings: does the group of the person move them?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import UnknownName
from evenhand.core.findings import Dropped, Finding, GroupSize, Interval, Part, key_of
from evenhand.core.metric import metric
from evenhand.core.random_streams import stream
from evenhand.evidence.item_scores import ItemScores
from evenhand.metrics import named_groups as named
from evenhand.metrics.estimates import agreeing, as_finding, null_band, resampled_p
from evenhand.metrics.prepared import LEVEL, By, Inference, check_common, names_of
from evenhand.stats.arrays import Floats, Integers, Mask, Pair
from evenhand.stats.welch import welch_p

GRAS = "GRAS, EACL Findings 2026, arXiv 2508.18989"
_DRAWS, _ALPHA = 499, 0.05


def _grouped(evidence: Any, by: By) -> tuple[tuple[str, ...], Floats, Integers, named.Groups, list[Dropped]]:
    """Names, scores, group codes and groups of the images that have a value, and what is left out."""
    named.check_kind(evidence, ItemScores, "ItemScores.join")
    names = names_of(by)
    for name in names:
        if name not in evidence.attributes:
            raise UnknownName("attribute of these scores", name, evidence.attributes)
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


def _eta_squared(lean: Floats, code: Integers, groups: int) -> float:
    """The share of the variance of numbers that lies between groups; NaN where nothing varies."""
    centred = lean - lean.mean()
    size = np.bincount(code, minlength=groups)
    sums = np.bincount(code, centred, minlength=groups)
    total = float(centred @ centred)
    return float((sums**2 / np.maximum(size, 1)).sum() / total) if total > 1e-18 else float("nan")


def _eta_limits(value: float, groups: int, rows: int, level: float) -> Pair:
    """Limits of eta squared by those of the noncentrality of F (Steiger 2004), around the value."""
    between, within = groups - 1, rows - groups
    if within < 1 or value >= 1:
        return 0.0, 1.0
    f = value / between / ((1 - value) / within)
    nc = [special.ncfdtrinc(between, within, tail, f) for tail in ((1 + level) / 2, (1 - level) / 2)]
    low, high = (float(end / (end + rows)) if np.isfinite(end) else 0.0 for end in nc)
    return min(low, value), max(high, value)


@metric(
    title="Leaning by group", summary="share of the variance of images' leaning to good rather than bad "
        "items, mean over wordings of the question, that lies between groups",
    formula="eta^2 of (mean score of good items - mean score of bad items) by group", range=(0, 1),
    direction="lower is fairer", source=Source(paper=GRAS, equation="effect instead of its test"),
    unit="share", order=970, family="items", first_line="value",
    sentences=Sentences(row="leaning by group", topic="Leaning",
        value="Of the variance of images' leaning, groups account for"),
)  # fmt: skip
def lean_effect(
    evidence: ItemScores, *, by: By = (), inference: Inference = "auto", seed: int = 0
) -> Finding:
    """How far the group decides whether good or bad items are affirmed: eta squared, in [0, 1].

    An image's leaning is the mean score of good items minus that of bad ones, half each, mean over wordings.
    Above 0 without any bias: ``chance_at`` is the mean with groups exchanged among images, all answers of an
    image together; p is one-sided. Parts: the mean leaning of each group, and the value in each wording
    (kind ``wording``), of which no single one is a headline. Details: range over wordings. Interval: by the
    noncentrality of F. None with reason
    ``single_group`` where there is one group, ``constant`` where all images lean alike.

    Args:
        evidence: Scores of items.
        by: Attribute, or list of attributes to cross.
        inference: ``none`` skips null band and p.
        seed: Of the exchanges.

    Raises:
        UnknownName: An attribute that does not exist.

    Source: ours; GRAS 2026 counts tests instead.
    """
    check_common("default", inference, seed)
    names, scores, code, groups, dropped = _grouped(evidence, by)
    size = np.array([(evidence.signs > 0).sum(), (evidence.signs < 0).sum()]).clip(1)
    weight = np.where(evidence.signs > 0, 0.5 / size[0], -0.5 / size[1])
    leans = np.einsum("niw,i->nw", scores, weight)
    lean, many = leans.mean(axis=1) if leans.size else np.zeros(0), len(groups)
    counts_of = _counts(code, groups, dropped)
    if many < 2:
        return as_finding("lean_effect", names, {}, value=None, reason="single_group", **counts_of)
    value = _eta_squared(lean, code, many)
    if not np.isfinite(value):
        return as_finding("lean_effect", names, {}, value=None, reason="constant", **counts_of)
    parts = [
        Part(kind="*".join(names), key=key_of(group), value=float(lean[code == z].mean()),
             n=int((code == z).sum()))
        for z, group in enumerate(groups)
    ]  # fmt: skip
    single = [_eta_squared(leans[:, w], code, many) for w in range(leans.shape[1])]
    usable = [effect for effect in single if np.isfinite(effect)]
    parts += [Part(kind="wording", key=str(w), value=effect if np.isfinite(effect) else None, n=code.size)
              for w, effect in enumerate(single, 1)]  # fmt: skip
    fields: dict[str, Any] = {"parts": parts, **counts_of}
    ends = min(usable, default=None), max(usable, default=None)
    fields["details"] = dict(zip(("lowest_wording", "highest_wording"), ends, strict=True))
    if inference == "auto":
        rng = stream(seed, "lean_effect", *names)
        draws = _permuted(lambda moved: _eta_squared(lean, moved, many), code, rng, _DRAWS)
        band = null_band(draws, level=LEVEL, method="groups exchanged among images", seed=seed, side="high")
        at, p_value = 0.0 if band is None else band.mean, resampled_p(draws, value, "high")

        def limits(level: float) -> Interval:
            low, high = agreeing(_eta_limits(value, many, code.size, level), p_value, at, level)
            return Interval(low=low, high=high, level=level, method="noncentral F")

        fields |= {"null": band, "chance_at": at, "p_value": p_value, "interval": limits(LEVEL)}
        fields["limits"] = limits
    return as_finding("lean_effect", names, {}, value=value, **fields)


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
