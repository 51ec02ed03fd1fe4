"""What every metric is called, which way is better, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evenhand.core.results import Source

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
class Definition:
    """The fixed facts of one metric."""

    direction: Direction
    source: Source
    fair_at: float | None = None


def _paper(direction: Direction, equation: str, fair_at: float | None = None) -> Definition:
    return Definition(direction, Source(paper=_SKEWSIZE, equation=equation), fair_at)


DEFINITIONS: dict[str, Definition] = {
    "accuracy": _paper("higher is better", "section 2.1"),
    "mean_group_accuracy": Definition("higher is better", Source(paper="macro average over groups")),
    "worst_group_accuracy": _paper("higher is better", "section 2.1; Table 1"),
    "worst_class_group_accuracy": Definition(
        "higher is better",
        Source(paper="Sagawa et al., Distributionally Robust Neural Networks for Group Shifts, 2020"),
    ),
    "accuracy_gap": _paper("lower is fairer", "section 2.1; Table 1", 0.0),
    "accuracy_range": Definition("lower is fairer", Source(paper="range over groups"), 0.0),
    "demographic_parity": _paper("lower is fairer", "eq. 5", 0.0),
    "equalized_odds": _paper("lower is fairer", "eq. 6; Table 1", 0.0),
    "skewsize": _paper("higher is fairer", "eq. 4; Appendix G.2"),
    "skewsize_sufficiency": _paper("higher is fairer", "section 2.3"),
    "skewsize_topk": _paper("higher is fairer", "section 2.3"),
    "skewsize_softmax": _paper("higher is fairer", "section 2.3"),
    "cramers_v": _paper("lower is fairer", "eq. 2; section 2.3", 0.0),
    "cramers_v_mean": _paper("lower is fairer", "eq. 2", 0.0),
    "cramers_v_median": _paper("lower is fairer", "eq. 2", 0.0),
    "cramers_v_max": _paper("lower is fairer", "eq. 2", 0.0),
    "cramers_v_corrected": Definition("lower is fairer", Source(paper=_BERGSMA, equation="eq. 6-7"), 0.0),
    "phi": _paper("lower is fairer", "Appendix B", 0.0),
    "bias_at_k": Definition("descriptive", Source(paper=_VISOGENDER, equation="Appendix A"), 0.0),
    "skew_at_k": Definition("descriptive", Source(paper=_VISOGENDER, equation="Appendix A"), 0.0),
    "max_skew_at_k": Definition("lower is fairer", Source(paper=_VISOGENDER, equation="Appendix A"), 0.0),
    "min_skew_at_k": Definition("higher is fairer", Source(paper=_GEYIK, equation="MinSkew@k"), 0.0),
    "ndkl": Definition("lower is fairer", Source(paper=_VISOGENDER, equation="Appendix A"), 0.0),
    "resolution_accuracy": Definition(
        "higher is better", Source(paper=_VISOGENDER, equation="section 3.5; Table 2")
    ),
    "resolution_gap": Definition(
        "descriptive", Source(paper=_VISOGENDER, equation="section 3.5; Table 2"), 0.0
    ),
    "misgendering_rate": Definition(
        "lower is fairer", Source(paper="misgendering apart from neutral choices")
    ),
    "misgendering_gap": Definition(
        "descriptive", Source(paper="misgendering apart from neutral choices"), 0.0
    ),
    "neutral_rate": Definition("descriptive", Source(paper=_VISOGENDER, equation="Appendix D.1; Table 4")),
    "neutral_gap": Definition(
        "descriptive", Source(paper=_VISOGENDER, equation="Appendix D.1; Table 4"), 0.0
    ),
    "resolution_difference": Definition(
        "descriptive", Source(paper="Agresti and Min, Simple improved intervals for matched pairs, 2005"), 0.0
    ),
    "association_effect_size": Definition(
        "descriptive", Source(paper=_MMBIAS, equation="eq. 1; Table 2"), 0.0
    ),
    "association_difference": Definition(
        "descriptive", Source(paper=_MMBIAS, equation="eq. 1, without its denominator"), 0.0
    ),
    "association_reduction": Definition(
        "higher is fairer", Source(paper=_MMBIAS, equation="Table 3, here on held-out items")
    ),
    "match_association": Definition(
        "descriptive", Source(paper=_MMBIAS, equation="section 5.2; Table 2, ALBEF and ViLT"), 0.0
    ),
    "single_category_association": Definition(
        "descriptive", Source(paper=_CALISKAN, equation="WEFAT; SC-WEAT"), 0.0
    ),
    "pleasant_at_k": Definition("descriptive", Source(paper=_MMBIAS, equation="section 5.1.1; Figure 5")),
    "label_association_rate": Definition(
        "descriptive", Source(paper=_INDICATORS, equation="section 3.1; Table 3")
    ),
    "label_association_gap": Definition(
        "lower is fairer", Source(paper=_INDICATORS, equation="section 3.1, range over groups"), 0.0
    ),
    "harmful_association_rate": Definition(
        "lower is fairer", Source(paper=_INDICATORS, equation="section 3.1; Figure 3")
    ),
    "harmful_association_gap": Definition(
        "lower is fairer", Source(paper=_INDICATORS, equation="section 3.1, range over groups"), 0.0
    ),
    "household_hit_rate": Definition(
        "higher is better", Source(paper=_INDICATORS, equation="section 3.2; Figure 5")
    ),
    "household_hit_gap": Definition(
        "descriptive", Source(paper=_INDICATORS, equation="section 3.2; gaps by income and region"), 0.0
    ),
    "worst_household_hit_rate": Definition(
        "higher is better", Source(paper=_INDICATORS, equation="section 3.2, least of the groups")
    ),
    "household_hit_improvement": Definition(
        "descriptive", Source(paper=_INDICATORS, equation="Figure 5; (rate - reference) / reference"), 0.0
    ),
    "country_income_correlation": Definition(
        "descriptive", Source(paper=_DE_VRIES, equation="Figure 1"), 0.0
    ),
    "precision_at_k": Definition("higher is better", Source(paper=_INDICATORS, equation="section 3.3")),
    "precision_gap": Definition(
        "lower is fairer", Source(paper=_INDICATORS, equation="section 3.3, range over groups"), 0.0
    ),
}
