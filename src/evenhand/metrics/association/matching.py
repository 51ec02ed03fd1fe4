"""Which words does a fusion model match with the images of a group? Differences of match probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.core.cards import Sentences, Source
from evenhand.core.errors import ParameterError, check_choice
from evenhand.core.findings import Finding, NewDetails, Null
from evenhand.core.metric import metric
from evenhand.evidence.predictions.columns.annotated import check_k
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association.estimation import SetComparison
from evenhand.metrics.association.similarities import BAND_DRAWS, drawn_members
from evenhand.metrics.association.weat import undefined
from evenhand.metrics.catalogue import MMBIAS
from evenhand.metrics.estimates import Alternative, Fields, Inference, Mode, null_band, number, resampled_p
from evenhand.stats.arrays import Floats, piece_sizes
from evenhand.stats.association.effect_size import effect_bound

READINGS = ("per_image_joint", "per_image_joint_share", "per_image_per_set", "per_group")
_CELLS = 4_000_000
_ROUNDING = 1e-12


@metric(
    title="Association by match probability",
    summary="how much more images of the first group match unpleasant words than images of the second group "
        "do", formula="mean over X - mean over Y of how much likelier the k best matches are of A than of B",
    range=(None, None), direction="descriptive", fair_at=0.0,
    source=Source(paper=MMBIAS, equation="section 5.2; Table 2, ALBEF and ViLT"), unit="share difference",
    order=340, family="associations",
    sentences=Sentences(value="difference of match probability", more="are tied more to"),
    first_line="pairs",
    compared="contributions",
    tags=("outcome",),
)  # fmt: skip
def match_association(
    evidence: Similarities,
    *,
    targets: Sequence[str],
    attributes: Sequence[str],
    k: int = 15,
    reading: str = "per_image_joint",
    standardised: bool = False,
    alternative: Alternative = "two_sided",
    mode: Mode = "default",
    inference: Inference = "auto",
    seed: int = 0,
) -> Finding:
    """Mean over X minus mean over Y of how much likelier an image's k best matches are of A than of B.

    Fair at 0; with A unpleasant and B pleasant, positive where X is matched more with what is unpleasant.
    The paper looks at "the top 15 most significant matches" without saying which those are; ``reading``:

    - ``per_image_joint``: the k most probable of all words of an image; ``phi`` is the mean of their
      probabilities, counted negative for words of B.
    - ``per_image_joint_share``: as before, but each of the k counts 1: the share of A minus that of B.
    - ``per_image_per_set``: the mean of an image's k best words of A minus that of its k best of B.
    - ``per_group``: the k words that are most probable on average over a set of images, the same for all of
      them; then as ``per_image_joint``.

    Words that tie for the last of the k places share it (the average over all orders).

    Args:
        evidence: Similarities of kind ``probability``.
        targets: Names of the sets of images X and Y.
        attributes: Names of the sets of words A and B.
        k: How many matches count.
        reading: Which they are.
        standardised: Divide by the standard deviation of phi over X and Y together, as an effect size.
        alternative: ``two_sided``, ``greater`` or ``less``.
        mode: ``paper``: p is that of the right tail over images alone, and sets of one image count.
        inference: ``none`` skips interval, null and p.
        seed: Of random partitions.

    Returns:
        A Finding in [-2, 2]; parts are the mean phi of X and Y. p and interval take images and words as
        samples, as in ``association_effect_size``, of what each word adds to each image's phi; which words
        match best is taken as it is. ``p_items`` in the details exchanges images between X and Y, words as
        they are; with ``per_group`` the words of the sets are found anew for every exchange. None with reason
        ``empty_set``, ``k_exceeds_pool`` (fewer words than k), and, standardised, ``one_member`` or
        ``equal_associations``.

    Raises:
        UserError: Cosines, or an unknown set or option.

    Source: Janghorbani and de Melo 2023, section 5.2.
    """
    comparison = _set_comparison(
        evidence, targets, attributes, k, reading, alternative=alternative, mode=mode, inference=inference,
        seed=seed,
    )  # fmt: skip
    return _finding(comparison, k, reading, standardised)


def match_items(
    evidence: Similarities, *, targets: Sequence[str], attributes: Sequence[str], k: int, reading: str
) -> tuple[tuple[str, ...], Floats, int]:
    """The phi of each image of ``match_association``, by which models are compared image by image.

    Returned are the ids of the images of X, then of Y; the phi of each, in [-1, 1]; and how many are of X.
    """
    comparison = _set_comparison(evidence, targets, attributes, k, reading)
    return comparison.items, comparison.phi, comparison.sizes[0]


def top_weights(values: Floats, k: int) -> Floats:
    """Chance of each entry to be among the k largest of its row, over all orders of equal ones.

    Every row adds up to k.
    """
    width = values.shape[1]
    last = np.partition(values, width - k, axis=1)[:, width - k, None]
    # equal means may differ in their last digits: of themselves, or, where terms cancel, of the largest
    cancel = np.where(values.min(axis=1) < 0, np.abs(values).max(axis=1) / 100, 0)[:, None]
    near = _ROUNDING * np.maximum(np.maximum(np.abs(last), cancel), 1e-6)
    above, level = values > last + near, np.abs(values - last) <= near
    left = k - above.sum(axis=1, keepdims=True)
    return np.asarray(above + level * (left / level.sum(axis=1, keepdims=True)))


def _set_comparison(
    evidence: Similarities,
    targets: Sequence[str],
    attributes: Sequence[str],
    k: int,
    reading: str,
    **options: Any,
) -> SetComparison:
    """The images and words of a reading, checked and bound."""
    check_choice("reading", reading, READINGS)
    check_k(k)
    if isinstance(evidence, Similarities) and evidence.kind != "probability":
        raise ParameterError(
            "match_association takes probabilities, not cosines; use association_effect_size, or make the "
            "Similarities with from_scores"
        )
    return SetComparison.make(
        "match_association", evidence, targets, attributes,
        reading=lambda block, na: _read(block, na, k, reading), **options,
    )  # fmt: skip


def _finding(comparison: SetComparison, k: int, reading: str, standardised: bool) -> Finding:
    params = {"k": k, "reading": reading, "standardised": True if standardised else None}
    na, nb = comparison.sizes[2:]
    words = min(na, nb) if reading == "per_image_per_set" else na + nb
    if not comparison.empty and k > words:
        notes = [f"{words} words are fewer than k = {k}"]
        return comparison.finding(params, None, "k_exceeds_pool", notes=notes)
    reason = undefined(comparison, 1) if standardised else ("empty_set" if comparison.empty else None)
    if reason is not None:
        return comparison.finding(params, None, reason)
    scale = 1 / float(comparison.phi.std(ddof=1)) if standardised else 1.0
    value = comparison.difference * scale
    details: NewDetails = comparison.scale_details(1)
    fields: Fields = {}
    if comparison.infers:
        fields = comparison.inferred("d" if standardised else "difference", 1)
        if reading == "per_group":
            bound = effect_bound(*comparison.sizes[:2]) if standardised else 2.0
            details["p_items"], null = _group_test(comparison, k, scale, bound)
            if comparison.mode == "paper":
                fields |= {"p_value": details["p_items"], "null": null}
        else:
            details |= comparison.p_details()
    return comparison.finding(params, number(value), None, details=details, **fields)


def _read(block: Floats, na: int, k: int, reading: str) -> Floats:
    """What each word adds to the association of each image of one set, as means over A and over B take it.

    An image's association is the sum over words of ``+-weight x probability / k``: mean over A minus mean
    over B once the words of a set of w count w times. Zeros where there are fewer words than k.
    """
    width = block.shape[1]
    if k > (min(na, width - na) if reading == "per_image_per_set" else width):
        return np.zeros(block.shape)
    if reading == "per_image_per_set":
        return np.concatenate([_best(block[:, :na], k), _best(block[:, na:], k)], axis=1)
    weights = top_weights(block.mean(axis=0)[None] if reading == "per_group" else block, k)
    contributions = weights if reading == "per_image_joint_share" else weights * block
    return contributions * np.where(np.arange(width) < na, na, width - na) / k


def _best(block: Floats, k: int) -> Floats:
    """Numbers of which the mean over a row is that of its k largest: a place, and what each is above it.

    Another word counts only by how far it is above the last place, which lies halfway between the last that
    counts and the first that does not. At the last itself k words that are alike would seem certain, however
    far they are above all others.
    """
    weights = top_weights(block, k)
    last = np.where(weights > 0, block, np.inf).min(axis=1, keepdims=True)
    first = np.where(weights < 1, block, -np.inf).max(axis=1, keepdims=True)
    middle = (last + np.where(np.isfinite(first), first, last)) / 2
    return np.asarray(middle + weights * (block - middle) * block.shape[1] / k)


def _group_test(
    comparison: SetComparison, k: int, scale: float, bound: float
) -> tuple[float | None, Null | None]:
    """Images exchanged between the sets: their words change with them, so they are found anew each time.

    Families of images are exchanged whole. What is drawn is the difference; standardised, it is multiplied by
    the scale of the value itself, and cut to what an effect size can be.
    """
    na, rng = comparison.sizes[2], comparison.stream("groups")
    columns, (n, m) = comparison.exchanged_items(comparison.block.T)
    units, total, differences = columns.T, n + m, []
    signs = np.where(np.arange(units.shape[1]) < na, 1.0, -1.0)
    for count in piece_sizes(BAND_DRAWS, _CELLS, max(total, units.shape[1])):
        membership = np.zeros((count, total))
        np.put_along_axis(membership, drawn_members(rng, count, total, n), 1.0, axis=1)
        means = [weights @ units for weights in (membership / n, (1 - membership) / m)]
        first, second = ((top_weights(mean, k) * mean) @ signs / k for mean in means)
        differences.append(first - second)
    draws = np.concatenate(differences)
    side = {"two_sided": "both", "greater": "high", "less": "low"}[comparison.alternative]
    band = np.clip(draws * scale, -bound, bound)
    null = null_band(band, method="random partitions of the images", seed=comparison.seed)
    return resampled_p(draws, comparison.difference, side), null
