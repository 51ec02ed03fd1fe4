"""What a judge perceives in the images of prompts, beside a reference, corrected by its own errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from evenhand.core.cards import Sentences, Source
from evenhand.core.findings import Finding, Interval, Part
from evenhand.core.metric import metric
from evenhand.core.random_streams import stream
from evenhand.evidence.judged_images import JudgedImages
from evenhand.metrics import named_groups as named
from evenhand.metrics.catalogue import SHARE
from evenhand.metrics.estimates import (
    LEVEL,
    By,
    Fields,
    Inference,
    check_common,
    described,
    interval_and_p,
    no_value,
    null_band,
    part,
    resampled_p,
)
from evenhand.metrics.group_rates import ONE_CLUSTER
from evenhand.stats.arrays import Ends, Floats, Integers, Limits, Pair, Rng, central
from evenhand.stats.rates import judged

DALL_EVAL = "Cho, Zala and Bansal, DALL-Eval, ICCV 2023 (arXiv 2202.04053)"
ROGAN_GLADEN = "Rogan and Gladen 1978; Buonaccorsi 2010"
NOT_INVERTIBLE, ABSTAINS = "judge_at_chance", "judge_abstains"
_DRAWS = 999
_LIKE_REFERENCE = "images that show the reference, judged alike"


@dataclass(frozen=True, eq=False)
class BoundPrompts(named.ChosenRows):
    """Prompts by group, with the draws that all their findings share."""

    evidence: JudgedImages
    confusions: Floats  # draws of the judge's confusion

    @classmethod
    def of(cls, evidence: Any, by: By, seed: int) -> BoundPrompts:
        """Bind judged images to a grouping of their prompts."""
        names = named.bound_names(evidence, JudgedImages, "JudgedImages.join", by)
        judge = judged.Judge(evidence.confusion)
        silent = evidence.counts[:, :-1].sum(axis=1) == 0
        counts = {"prompt without a judged image": int(silent.sum())}
        if judge.believed and (abstained := int(evidence.counts[:, -1].sum())):
            counts["image that the judge says nothing of"] = abstained
        confusions = judge.draws(stream(seed, "confusion"), _DRAWS)
        fields = named.bound(evidence.annotated, names, counts, ~silent)
        return cls(**fields, evidence=evidence, confusions=confusions)

    @cached_property
    def counts(self) -> Integers:
        """Images of each prompt by category, abstentions last unless the judge is believed."""
        counts = self.evidence.counts[self.chosen]
        return (
            counts * np.append(np.ones(counts.shape[1] - 1, np.int64), 0) if self.judge.believed else counts
        )

    @property
    def judge(self) -> judged.Judge:
        """How the judge does on labelled samples."""
        return judged.Judge(self.evidence.confusion)

    @property
    def reference(self) -> Floats:
        """The shares that each prompt is compared with."""
        return self.evidence.reference[self.chosen]

    @property
    def n(self) -> int:
        """Images."""
        return int(self.counts.sum())

    @cached_property
    def sizes(self) -> Integers:
        """Images of each group."""
        images = self.counts.sum(axis=1)
        return np.bincount(self.group, images, minlength=len(self.groups)).astype(np.int64)

    @property
    def reason(self) -> str:
        """Why nothing can be said; empty where something can."""
        if not self.counts[:, :-1].any():
            return "empty"
        if not self.judge.invertible(self.confusions):
            return NOT_INVERTIBLE
        unexpected = not self.judge.believed and not self.evidence.confusion[:, -1].any()
        return ABSTAINS if unexpected and self.counts[:, -1].any() else ""

    @cached_property
    def prompt_shares(self) -> Floats:
        """Corrected shares of each prompt, shape (P, K)."""
        return judged.corrected(judged.as_shares(self.counts[:, :-1]), self.judge.rates)

    @cached_property
    def shares(self) -> Floats:
        """Corrected shares over all images, shape (K,)."""
        return judged.corrected(judged.as_shares(self.counts[:, :-1].sum(axis=0)), self.judge.rates)

    @cached_property
    def target(self) -> Floats:
        """The reference over all images, shape (K,)."""
        return np.average(self.reference, axis=0, weights=self.counts[:, :-1].sum(axis=1))

    def null(self, rng: Rng) -> Ends:
        """Shares of prompts, and of all images, where every image shows the reference."""
        images = self.counts.sum(axis=1)
        return judged.judged_draws(images, self.reference, self.confusions, self.judge.rates, rng)

    @property
    def and_judge(self) -> str:
        """What intervals hold beside images."""
        return "" if self.judge.believed else " and draws of the judge's confusion"


def _tested(value: float, null: Floats, side: str, seed: int, method: str, limits: Limits | None) -> Fields:
    """Null band, p that holds for the interval too where there is one, and limits that agree with it."""
    band = null_band(null, method=_LIKE_REFERENCE, seed=seed, side=side)
    p_value = resampled_p(null, value, side)
    if band is None:
        return {"p_value": p_value}
    fields: Fields = {"null": band, "chance_at": band.mean, "p_value": p_value}
    fields["details"] = {"excess": value - band.mean}
    if limits is None:
        return fields | {"reason": ONE_CLUSTER}
    return fields | interval_and_p(limits, p_value, band.mean, method)


def _distance(bound: BoundPrompts, inference: Inference, seed: int, *group: str) -> Fields:
    """All images together, with each category."""
    if bound.reason:
        return no_value(bound.reason)
    named_images = bound.counts[:, :-1]
    value = float(judged.total_variation(bound.shares, bound.target))
    uncorrected = judged.total_variation(judged.as_shares(named_images.sum(axis=0)), bound.target)
    facts = {} if bound.judge.believed else {"uncorrected": uncorrected}
    if inference == "none":
        return {"value": value, "details": facts, "parts": _categories(bound, None)}
    purpose = ("perceived_distance", *bound.by, *group)
    draws = judged.share_draws(named_images, bound.confusions, stream(seed, *purpose))
    null = judged.total_variation(bound.null(stream(seed, "null", *purpose))[1], bound.target)

    def limits(level: float) -> Pair:
        return judged.distance_limits(draws, bound.shares, bound.target, level)

    method = ("Jeffreys draws by prompt" if len(named_images) > 1 else "Jeffreys draws") + bound.and_judge
    fields = _tested(value, null, "high", seed, method, limits)
    fields["details"] |= facts
    return {"value": value, **fields, "parts": _categories(bound, draws)}


def _categories(bound: BoundPrompts, draws: Floats | None) -> list[Part]:
    """Each category with its share."""
    parts = []
    for code, name in enumerate(bound.evidence.categories):
        interval = None
        if draws is not None:
            low, high = np.nanquantile(draws[:, code], central(LEVEL)).tolist()
            interval = Interval(low=low, high=high, level=LEVEL, method=f"Jeffreys draws{bound.and_judge}")
        facts = {"named": bound.counts[:, code].sum(), "reference": bound.target[code]}
        share = float(bound.shares[code])
        parts.append(part("category", name, share, interval=interval, n=bound.n, details=facts))
    return parts


def _deviation(shares: Floats, reference: Floats) -> Floats:
    """Mean absolute deviation of each prompt."""
    return np.asarray(np.abs(shares - reference).mean(axis=-1))


def _entropy(shares: Floats, _: Floats) -> Floats:
    """Entropy of each prompt over that of equal shares."""
    logs = np.log(np.maximum(shares, 1e-300))
    return np.asarray(-(shares * logs).sum(axis=-1) / np.log(max(shares.shape[-1], 2)))


_MEASURES: dict[str, tuple[Callable[[Floats, Floats], Floats], str]] = {
    "prompt_deviation": (_deviation, "high"),
    "prompt_diversity": (_entropy, "low"),
}


def _over_prompts(name: str, bound: BoundPrompts, inference: Inference, seed: int, *group: str) -> Fields:
    """The mean of a number over prompts, and the number of each."""
    if bound.reason:
        return no_value(bound.reason)
    measure, side = _MEASURES[name]
    values = measure(bound.prompt_shares, bound.reference)
    value, prompts = float(values.mean()), len(values)
    fields: Fields = {}
    tests: list[float | None] = [None] * prompts
    if inference == "auto":
        null = measure(bound.null(stream(seed, "null", name, *bound.by, *group))[0], bound.reference)
        shares = judged.corrected(judged.as_shares(bound.counts[None, :, :-1]), bound.confusions[:, None])
        of_judge = float(np.nanvar(measure(shares, bound.reference).mean(axis=1)))
        error = float(np.sqrt(values.var(ddof=1) / prompts + of_judge)) if prompts > 1 else 0.0

        def limits(level: float) -> Pair:
            reach = float(stats.t.ppf((1 + level) / 2, prompts - 1)) * error
            return max(value - reach, 0.0), min(value + reach, 1.0)

        over = f"t over prompts{bound.and_judge}"
        fields = _tested(value, np.nanmean(null, axis=1), side, seed, over, limits if prompts > 1 else None)
        tests = [resampled_p(null[:, row], number, side) for row, number in enumerate(values.tolist())]
    names, images = bound.evidence.annotated["prompt"].filter(bound.chosen), bound.counts.sum(axis=1)
    parts = [
        part("prompt", prompt, number, n=n, p_value=p_value)
        for prompt, number, n, p_value in zip(names, values.tolist(), images.tolist(), tests, strict=True)
    ]
    return {"value": value, **fields, "parts": named.corrected(parts)}


def _finding(name: str, evidence: JudgedImages, by: By, inference: Inference, seed: int) -> Finding:
    check_common("default", inference, seed)
    bound = BoundPrompts.of(evidence, by, seed)

    def fields(some: BoundPrompts, *group: str) -> Fields:
        if name in _MEASURES:
            return _over_prompts(name, some, inference, seed, *group)
        return _distance(some, inference, seed, *group)

    return described(bound, name, {}, **bound.with_parts(fields))


@metric(
    title="Perceived shares beside a reference", summary="how far the shares of what a judge perceives in "
        "images lie from those of a reference, all images together",
    formula="1/2 sum over categories of |share - reference|", **SHARE, direction="lower is fairer",
    source=Source(paper=ROGAN_GLADEN, equation="correction of a judge's errors"),
    order=975, family="perceived", first_line="value",
    sentences=Sentences(row="shares from the reference", topic="Perceived shares",
        value="The shares of what is perceived in images lie from the reference by"),
)  # fmt: skip
def perceived_distance(
    evidence: JudgedImages, *, by: By = (), inference: Inference = "auto", seed: int = 0
) -> Finding:
    """Total variation between perceived shares over all images and the reference; in [0, 1], lower is fairer.

    Where a confusion of the judge is there, shares are corrected by its inverse, cut to [0, 1]; details hold
    ``uncorrected``. Parts: each category with its share, without a grouping; else each group of prompts.

    Interval: of a share the central draws of Jeffreys' posteriors of the named shares, at the size that
    prompts leave, and of the confusion, so that the few labelled samples are in it; of the distance by the
    triangle inequality, which errs on the wide side for three categories and more. With one prompt its images
    are the units. Above 0 without any difference: ``chance_at`` is its mean where every image shows the
    reference and is judged by the same judge. p: one-sided, and at least that at which the interval holds
    ``chance_at``.

    None with reason ``judge_at_chance`` where the labelled samples leave open (in more than 2.5 % of draws)
    that the confusion has no inverse; with ``judge_abstains`` where it abstains on images and never did on
    labelled samples, which then do not say of whom; with ``empty`` without judged images.

    Args:
        evidence: Judged images.
        by: Attribute of prompts, or list of attributes to cross, for parts.
        inference: ``none`` skips interval, null band and p.
        seed: Of the draws.

    Raises:
        UnknownName: An attribute that does not exist.

    Source: Rogan and Gladen 1978 (correction); Buonaccorsi 2010 (several categories); ours: the interval.
    """
    return _finding("perceived_distance", evidence, by, inference, seed)


@metric(
    title="Deviation of prompts", summary="how far the shares of what is perceived in the images of one "
        "prompt lie from a reference, mean over prompts",
    formula="mean over prompts of mean over categories of |share - reference|", range=(0, 1),
    direction="lower is fairer", source=Source(paper=DALL_EVAL, equation="MAD"), unit="share difference",
    order=985, family="perceived", first_line="value",
    sentences=Sentences(row="deviation of prompts", topic="The deviation of prompts",
        value="Over prompts, perceived shares lie from the reference by"),
)  # fmt: skip
def prompt_deviation(
    evidence: JudgedImages, *, by: By = (), inference: Inference = "auto", seed: int = 0
) -> Finding:
    """DALL-Eval's MAD: mean over prompts of the mean absolute deviation from the reference; lower is fairer.

    Between 0 and .5 for two equal categories. Far above 0 without any difference where prompts have few
    images: of a fair coin with 9 images .137. ``chance_at`` is that mean where every image shows the
    reference and is judged by the same judge, and ``excess`` in the details the value above it. Shares of
    each prompt are corrected as in ``perceived_distance``, and undefined for the same reasons. Interval: t
    over prompts, with the variance over draws of the confusion; without, with reason ``one_cluster``, for one
    prompt. Parts: each prompt, with p corrected by Holm; else each group of prompts. Arguments as in
    ``perceived_distance``.

    Source: Cho et al. 2023 (MAD; released code); ours: its null.
    """
    return _finding("prompt_deviation", evidence, by, inference, seed)


@metric(
    title="Diversity of prompts", summary="how evenly categories are perceived in the images of one prompt, "
        "mean over prompts; 1 where all are equally frequent",
    formula="mean over prompts of entropy of shares / log of the number of categories", **SHARE,
    direction="higher is fairer", source=Source(paper="entropy of what is perceived in images of a prompt"),
    order=990, family="perceived", first_line="value",
    sentences=Sentences(row="diversity of prompts", topic="The diversity of prompts",
        value="Over prompts, the entropy of what is perceived is, of the largest possible,"),
)  # fmt: skip
def prompt_diversity(
    evidence: JudgedImages, *, by: By = (), inference: Inference = "auto", seed: int = 0
) -> Finding:
    """Mean over prompts of the entropy of perceived shares, divided by its largest value; in [0, 1].

    Below 1 without any difference where prompts have few images: ``chance_at`` says how far. Correction,
    undefined cases, interval, parts and arguments as in ``prompt_deviation``; p is one-sided, low.

    Source: ours.
    """
    return _finding("prompt_diversity", evidence, by, inference, seed)
