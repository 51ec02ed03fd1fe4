"""SkewSize and the effect sizes under it: do a classifier's mistakes differ by group?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, Unpack

from evenhand.core.cards import Sentences, Source
from evenhand.core.findings import Finding
from evenhand.core.metric import of_family
from evenhand.metrics.catalogue import BERGSMA, EFFECT, SKEWNESS, SKEWSIZE
from evenhand.metrics.classification.class_effects import ClassEffects, class_effects
from evenhand.metrics.classification.effect_options import (
    EffectKeywords,
    EffectOptions,
    Form,
    Statistic,
)
from evenhand.metrics.classification.summaries import (
    pooled_finding,
    single_table,
    skewness_finding,
    summary_finding,
)
from evenhand.metrics.estimates import By
from evenhand.metrics.prepared import BoundCounts, Evidence, classifier_metric

Measure: TypeAlias = tuple[Form, Callable[[ClassEffects, str], Finding]]
"""Of which tables, and what becomes of their effect sizes."""
_STATISTICS: dict[str, Statistic] = {
    "cramers_v_pooled": "cramers_v", "cramers_v_corrected": "bergsma", "phi": "phi",
}  # fmt: skip


def _of_effects(
    measure: Callable[[], Measure], evidence: Evidence, *, by: By, seed: int = 0,
    **options: Unpack[EffectKeywords],
) -> Finding:  # fmt: skip
    """One of the metrics of effect sizes, which has the name of its measure."""
    name, (form, finding) = measure.__name__, measure()
    if name in _STATISTICS:
        options["statistic"] = _STATISTICS[name]
    return finding(class_effects(BoundCounts.of(evidence, by, seed), EffectOptions.make(form, options)), name)


@classifier_metric(
    title="SkewSize",
    summary="how lopsided the classes’ effect sizes are (their skewness); blind to how large they are, so "
        "it is never read without the mean, median and largest effect size below it",
    formula="m3 / m2^(3/2) of V_y over classes y", **SKEWNESS,
    source=Source(paper=SKEWSIZE, equation="eq. 4; Appendix G.2"),
    order=80, gate_beside="cramers_v_mean",
    family="mistakes",
    compared="counts", parts_direction="lower is fairer",
    made_of="effects of classes",
)  # fmt: skip
@of_family(_of_effects)
def skewsize() -> Measure:
    r"""SkewSize, separation form: the skewness over classes of the effect size of group on prediction.

    For each true class the table group x prediction (only rows and columns that occur) gives
    ``V = sqrt(chi2 / (n * (min(r, c) - 1)))``; SkewSize is the Fisher-Pearson skewness of these V,
    ``m3 / m2^(3/2)``. It is descriptive: skewness does not see location and scale, so that one class with a
    strong effect gives a high value, and strong effects in all classes give any. There is no p and no
    verdict; read ``cramers_v_mean``, ``_median``, ``_max`` and the class parts beside it.

    Args:
        evidence: Predictions or Counts.
        by: Attribute, or a list of attributes to cross.
        seed: Of every random stream.
        options: ``statistic``, ``mev``, ``mev_rule``, ``rare``, ``interval``, ``alpha``,
            ``adjustment``, ``mode``, ``inference``; see EffectOptions.

    Returns:
        A Finding in ``[-(k-2)/sqrt(k-1), (k-2)/sqrt(k-1)]`` for k usable classes; higher means that strong
        effects are rare among them (the paper's Figure 1 prints the negative). Parts are the classes. None
        with a reason below three usable classes, or when all effect sizes are equal; paper mode gives 0 for
        two classes. Its interval is the value's spread over resamples, no confidence interval: resamples
        contain the noise of the sample once more.

    Raises:
        UserError: Unknown columns or options, or no usable row.

    Source: Albuquerque et al. 2024, eq. 2-4 and Appendix G.2.
    """
    return "separation", skewness_finding


@classifier_metric(
    title="SkewSize, sufficiency form",
    summary="the same skewness, computed within each predicted label instead of each true class",
    formula="m3 / m2^(3/2) of V_c over predicted labels c", **SKEWNESS,
    source=Source(paper=SKEWSIZE, equation="section 2.3"),
    order=120, gate_beside="cramers_v_mean",
    family="mistakes", headline=False,
    parts_direction="lower is fairer",
    made_of="effects of answers",
)  # fmt: skip
@of_family(_of_effects)
def skewsize_sufficiency() -> Measure:
    """SkewSize, sufficiency form: given the prediction, does the truth differ by group?

    As ``skewsize`` with truth and prediction exchanged: one group x truth table per predicted label.
    Range, direction, undefined cases, options and errors as there.

    Source: Albuquerque et al. 2024, section 2.3.
    """
    return "sufficiency", skewness_finding


@classifier_metric(
    title="Effect size over all classes",
    summary="Cramér’s V of one table, group by prediction, without regard to the truth",
    formula="sqrt(chi2 / (n (min(r, c) - 1)))", **EFFECT,
    source=Source(paper=SKEWSIZE, equation="eq. 2; section 2.3"), order=140,
    family="mistakes",
    tags=("group gap",),
    made_of="one table",
)  # fmt: skip
@of_family(_of_effects)
def cramers_v() -> Measure:
    """Cramér's V, independence form: the one table group x prediction, whatever the truth.

    ``V = sqrt(chi2 / (n * (min(r, c) - 1)))`` in [0, 1]; lower is fairer, 0 means that predictions are
    independent of the group. This is demographic parity as an effect size: it also sees differences that
    the truth explains. ``corrected`` is V without what noise adds, and the interval is of it. p exchanges
    groups over all rows. None with reason ``single_group`` or ``constant``. Options as in ``skewsize``.

    Source: Albuquerque et al. 2024, eq. 2 and section 2.3.
    """
    return "independence", single_table


@classifier_metric(
    title="Effect size within the classes",
    summary="Cramér’s V of all classes together: do predictions depend on the group where the truth is the "
        "same?", formula="sqrt(sum over classes y of chi2_y / sum over y of n_y (min(r_y, c_y) - 1))",
    **EFFECT,
    source=Source(paper="sum of chi-squared tests over classes", equation="eq. 2 pooled"),
    order=70, family="mistakes",
    tags=("where it differs",),
    made_of="all effects", first_line="classes", second_to="disparities", error_share=2 / 9,
)  # fmt: skip
@of_family(_of_effects)
def cramers_v_pooled() -> Measure:
    r"""Cramér's V of all classes together: does the prediction depend on the group within the truth?

    ``sqrt(sum_y chi2_y / sum_y n_y (min(r_y, c_y) - 1))`` over usable classes y, in [0, 1]; lower is fairer,
    0 means that predictions are independent of the group within every class. A class counts by its rows, so
    that many weak effects add up. ``corrected`` is V without what noise adds, and the interval is of it.

    p is that of chi-squared summed over classes with groups exchanged within each: a gamma distribution with
    the exact moments (Dawson 1954), or resampled tables where classes are sparse. With clusters or weights:
    Rao and Scott's null (1981). Options as in ``skewsize``.

    None with reason ``no_usable_class`` when no class can be estimated.

    Source: the sum over strata of independent chi-squared tests; Cramér 1946.
    """
    return "separation", pooled_finding


@classifier_metric(
    sentences=Sentences(models="errs more differently by group, on average over classes,"),
    title="Mean effect size", summary="the average of the classes’ Cramér’s V",
    formula="mean over classes y of V_y", **EFFECT,
    source=Source(paper=SKEWSIZE, equation="eq. 2"), order=90,
    family="mistakes", compared="counts",
    tags=("group gap",),
    made_of="mean effect",
)  # fmt: skip
@of_family(_of_effects)
def cramers_v_mean() -> Measure:
    """Mean over classes of V in separation form; in [0, 1], lower is fairer. Options as in ``skewsize``.

    ``corrected`` is the mean of the population that makes the observed mean the median of samples; the
    interval inverts the same test (``inverted_families``). Plain V may lie above.
    p: mean V with groups exchanged within each class.

    None with reason ``no_usable_class`` when no class can be estimated.

    Source: Albuquerque et al. 2024, eq. 2.
    """
    return "separation", summary_finding


@classifier_metric(
    sentences=Sentences(models="errs more differently by group, in the middle class,"),
    title="Median effect size", summary="the middle of the classes’ Cramér’s V",
    formula="median over classes y of V_y", **EFFECT,
    source=Source(paper=SKEWSIZE, equation="eq. 2"), order=100,
    family="mistakes", compared="counts",
    made_of="one effect",
)  # fmt: skip
@of_family(_of_effects)
def cramers_v_median() -> Measure:
    """Median over classes of V in separation form; in [0, 1], lower is fairer. Options as in ``skewsize``.

    ``corrected`` and interval as of the mean. p also combines the larger half of the classes' p (Benjamini
    and Heller 2008): it is small where about half of the classes show an effect.

    None with reason ``no_usable_class`` when no class can be estimated.

    Source: Albuquerque et al. 2024, eq. 2.
    """
    return "separation", summary_finding


@classifier_metric(
    sentences=Sentences(models="errs more differently by group, in its worst class,"),
    title="Largest effect size", summary="the highest Cramér’s V of any class",
    formula="max over classes y of V_y", **EFFECT,
    source=Source(paper=SKEWSIZE, equation="eq. 2"), order=110,
    family="mistakes", compared="counts",
    tags=("where it differs",),
    made_of="one effect",
)  # fmt: skip
@of_family(_of_effects)
def cramers_v_max() -> Measure:
    """Largest V over classes in separation form; in [0, 1], lower is fairer. Options as in ``skewsize``.

    ``corrected`` and interval as of the mean. p: the largest V with groups exchanged within classes.

    None with reason ``no_usable_class`` when no class can be estimated.

    Source: Albuquerque et al. 2024, eq. 2.
    """
    return "separation", summary_finding


@classifier_metric(
    title="Effect size, bias-corrected",
    summary="the same V after Bergsma’s correction, which removes what chance adds",
    formula="mean over classes of sqrt(max(0, chi2 / n - (r - 1)(c - 1) / (n - 1)) / (min(r~, c~) - 1))",
    **EFFECT, source=Source(paper=BERGSMA, equation="eq. 6-7"),
    order=150, family="mistakes",
    made_of="other effects of classes",
)  # fmt: skip
@of_family(_of_effects)
def cramers_v_corrected() -> Measure:
    """Mean over classes of Bergsma's bias-corrected V; in [0, 1], lower is fairer. Parts are the classes.

    ``sqrt(max(0, phi2 - (r-1)(c-1)/(n-1)) / (min(r~, c~) - 1))``, ``r~ = r - (r-1)^2/(n-1)`` and c~
    likewise. Unlike plain V it has almost no noise floor. Options as in ``skewsize``.

    None with reason ``no_usable_class`` when no class can be estimated.

    Source: Bergsma 2013, eq. 6-7.
    """
    return "separation", summary_finding


@classifier_metric(
    title="Phi", summary="association of group and prediction, not scaled by the size of the table",
    formula="mean over classes y of sqrt(chi2_y / n_y)", range=(0, None), direction="lower is fairer",
    fair_at=0.0, source=Source(paper=SKEWSIZE, equation="Appendix B"), unit="Cramér's V", order=160,
    family="mistakes", headline=False,
    made_of="other effects of classes",
)  # fmt: skip
@of_family(_of_effects)
def phi() -> Measure:
    """Mean over classes of phi, ``sqrt(chi2 / n)``, in separation form; lower is fairer. Parts: classes.

    In [0, sqrt(min(r, c) - 1)]; ``phi = V sqrt(min(r, c) - 1)``. Unlike V it can be compared between tables
    of different shape, but has no common upper bound. Options as in ``skewsize``.

    None with reason ``no_usable_class`` when no class can be estimated.

    Source: Albuquerque et al. 2024, Appendix B and Table 5.
    """
    return "separation", summary_finding
