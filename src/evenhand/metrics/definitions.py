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
}
