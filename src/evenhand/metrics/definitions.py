"""What every metric is called, which way is better, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evenhand.core.cards import Source
from evenhand.stats.contingency.model_summaries import SUMMARIES

Direction = Literal["lower is fairer", "higher is fairer", "higher is better", "descriptive"]

_SKEWSIZE = "Albuquerque et al., Evaluating Model Bias Requires Characterizing its Mistakes, ICML 2024"
_VISOGENDER = (
    "Hall et al., VisoGender: A dataset for benchmarking gender bias in image-text pronoun resolution, 2023"
)
_GEYIK = "Geyik et al., Fairness-Aware Ranking in Search and Recommendation Systems, KDD 2019"
_MMBIAS = (
    "Janghorbani and de Melo, Multi-Modal Bias: Introducing a Framework for Stereotypical Bias Assessment "
    "beyond Gender and Race in Vision-Language Models, EACL 2023"
)
_CALISKAN = (
    "Caliskan et al., Semantics derived automatically from language corpora contain human-like biases, 2017"
)
_INDICATORS = (
    "Goyal et al., Fairness Indicators for Systematic Assessments of Visual Feature Extractors, FAccT 2022"
)
_DE_VRIES = "De Vries et al., Does object recognition work for everyone?, CVPR workshops 2019"
_BERGSMA = "Bergsma, A bias-correction for Cramér's V and Tschuprow's T, 2013"


@dataclass(frozen=True)
class MetricDefinition:
    """The fixed facts of one metric."""

    direction: Direction
    source: Source
    fair_at: float | None = None


def _of(
    paper: str, direction: Direction, equation: str = "", fair_at: float | None = None
) -> MetricDefinition:
    return MetricDefinition(direction, Source(paper=paper, equation=equation), fair_at)


DEFINITIONS: dict[str, MetricDefinition] = {
    "accuracy": _of(_SKEWSIZE, "higher is better", "section 2.1"),
    "mean_group_accuracy": _of("macro average over groups", "higher is better"),
    "worst_group_accuracy": _of(_SKEWSIZE, "higher is better", "section 2.1; Table 1"),
    "worst_class_group_accuracy": _of(
        "Sagawa et al., Distributionally Robust Neural Networks for Group Shifts, 2020", "higher is better"
    ),
    "accuracy_gap": _of(_SKEWSIZE, "lower is fairer", "section 2.1; Table 1", 0.0),
    "accuracy_range": _of("range over groups", "lower is fairer", fair_at=0.0),
    "demographic_parity": _of(_SKEWSIZE, "lower is fairer", "eq. 5", 0.0),
    "equalized_odds": _of(_SKEWSIZE, "lower is fairer", "eq. 6; Table 1", 0.0),
    "skewsize": _of(_SKEWSIZE, "descriptive", "eq. 4; Appendix G.2"),
    "skewsize_sufficiency": _of(_SKEWSIZE, "descriptive", "section 2.3"),
    "skewsize_topk": _of(_SKEWSIZE, "descriptive", "section 2.3"),
    "skewsize_softmax": _of(_SKEWSIZE, "descriptive", "section 2.3"),
    "cramers_v": _of(_SKEWSIZE, "lower is fairer", "eq. 2; section 2.3", 0.0),
    "cramers_v_pooled": _of("sum of chi-squared tests over classes", "lower is fairer", "eq. 2 pooled", 0.0),
    "cramers_v_mean": _of(_SKEWSIZE, "lower is fairer", "eq. 2", 0.0),
    "cramers_v_median": _of(_SKEWSIZE, "lower is fairer", "eq. 2", 0.0),
    "cramers_v_max": _of(_SKEWSIZE, "lower is fairer", "eq. 2", 0.0),
    "cramers_v_corrected": _of(_BERGSMA, "lower is fairer", "eq. 6-7", 0.0),
    "phi": _of(_SKEWSIZE, "lower is fairer", "Appendix B", 0.0),
    "bias_at_k": _of(_VISOGENDER, "descriptive", "Appendix A", 0.0),
    "skew_at_k": _of(_VISOGENDER, "descriptive", "Appendix A", 0.0),
    "max_skew_at_k": _of(_VISOGENDER, "lower is fairer", "Appendix A", 0.0),
    "min_skew_at_k": _of(_GEYIK, "higher is fairer", "MinSkew@k", 0.0),
    "ndkl": _of(_VISOGENDER, "lower is fairer", "Appendix A", 0.0),
    "resolution_accuracy": _of(_VISOGENDER, "higher is better", "section 3.5; Table 2"),
    "resolution_gap": _of(_VISOGENDER, "descriptive", "section 3.5; Table 2", 0.0),
    "misgendering_rate": _of("misgendering apart from neutral choices", "lower is fairer"),
    "misgendering_gap": _of("misgendering apart from neutral choices", "descriptive", fair_at=0.0),
    "neutral_rate": _of(_VISOGENDER, "descriptive", "Appendix D.1; Table 4"),
    "neutral_gap": _of(_VISOGENDER, "descriptive", "Appendix D.1; Table 4", 0.0),
    "resolution_difference": _of(
        "Bonett and Price, Adjusted Wald confidence interval for paired proportions, 2012",
        "descriptive",
        fair_at=0.0,
    ),
    "association_effect_size": _of(_MMBIAS, "descriptive", "eq. 1; Table 2", 0.0),
    "association_difference": _of(_MMBIAS, "descriptive", "eq. 1, without its denominator", 0.0),
    "association_reduction": _of(_MMBIAS, "higher is fairer", "Table 3, here on held-out items"),
    "match_association": _of(_MMBIAS, "descriptive", "section 5.2; Table 2, ALBEF and ViLT", 0.0),
    "single_category_association": _of(_CALISKAN, "descriptive", "WEFAT; SC-WEAT", 0.0),
    "pleasant_at_k": _of(_MMBIAS, "descriptive", "section 5.1.1; Figure 5"),
    "label_association_rate": _of(_INDICATORS, "descriptive", "section 3.1; Table 3"),
    "label_association_gap": _of(_INDICATORS, "lower is fairer", "section 3.1, range over groups", 0.0),
    "harmful_association_rate": _of(_INDICATORS, "lower is fairer", "section 3.1; Figure 3"),
    "harmful_association_gap": _of(_INDICATORS, "lower is fairer", "section 3.1, range over groups", 0.0),
    "household_hit_rate": _of(_INDICATORS, "higher is better", "section 3.2; Figure 5"),
    "household_hit_gap": _of(_INDICATORS, "descriptive", "section 3.2; gaps by income and region", 0.0),
    "worst_household_hit_rate": _of(_INDICATORS, "higher is better", "section 3.2, least of the groups"),
    "household_hit_improvement": _of(
        _INDICATORS, "descriptive", "Figure 5; (rate - reference) / reference", 0.0
    ),
    "country_income_correlation": _of(_DE_VRIES, "descriptive", "Figure 1", 0.0),
    "precision_at_k": _of(_INDICATORS, "higher is better", "section 3.3"),
    "precision_gap": _of(_INDICATORS, "lower is fairer", "section 3.3, range over groups", 0.0),
    **{
        f"{name}_seed_spread": _of(
            "standard deviation over seeds", "descriptive", "n - 1; chi-square interval"
        )
        for name in SUMMARIES
    },
}

_COMPARED_ANSWERS = (
    "resolution_accuracy", "resolution_gap", "misgendering_rate", "misgendering_gap", "neutral_rate",
    "neutral_gap", "bias_at_k", "skew_at_k", "max_skew_at_k", "min_skew_at_k", "ndkl",
    "label_association_rate", "label_association_gap", "harmful_association_rate", "harmful_association_gap",
    "household_hit_rate", "household_hit_gap", "worst_household_hit_rate", "precision_at_k", "precision_gap",
    "association_effect_size", "match_association",
)  # fmt: skip

DEFINITIONS |= {
    f"{name}_difference": _of(DEFINITIONS[name].source.paper, "descriptive", "first model minus second", 0.0)
    for name in (*SUMMARIES, *_COMPARED_ANSWERS)
}
