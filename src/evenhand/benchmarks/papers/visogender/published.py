"""The numbers that the VisoGender paper prints (Hall et al. 2023, arXiv 2306.12424v3)."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.benchmarks.papers.printed import printed

Numbers = Mapping[str, tuple[float, ...]]

RESOLUTION_MEASURES = (
    ("overall", "accuracy"),
    ("single", "accuracy"),
    ("single", "gap"),
    ("two_person", "accuracy"),
    ("two_person", "gap"),
    ("same", "accuracy"),
    ("same", "gap"),
    ("different", "accuracy"),
    ("different", "gap"),
)
"""What stands in a row of Tables 2, 6a and 8, and of Table 4 with the neutral rate for the accuracy."""

TABLE2: Numbers = printed(__file__, "table2")
"""Resolution accuracy and gap."""

TABLE6A: Numbers = printed(__file__, "table6a")
"""Table 2 for further models."""

IMAGENET: Mapping[str, float] = {model: value for model, (value,) in printed(__file__, "imagenet").items()}
"""Zero-shot accuracy on ImageNet, percent, where the paper prints it."""

RETRIEVAL_MEASURES = ("Bias@5", "Bias@10", "MaxSkew@5", "MaxSkew@10", "NDKL")
"""What stands in a row of Tables 3, 5, 6b and 9, each with mean and sigma."""

TABLE3: Numbers = printed(__file__, "table3")
"""Mean and sigma over occupations, images with two persons."""

TABLE6B: Numbers = printed(__file__, "table6b")
"""Table 3 for further models."""

TABLE5: Numbers = printed(__file__, "table5")
"""Table 3 with the participant first."""

TABLE4: Numbers = printed(__file__, "table4")
"""Neutral rate and its gap."""

TABLE7: Mapping[tuple[str, str], tuple[float, float]] = printed(__file__, "table7", keys=2)
"""Model and gender pair (occupation first) to Pearson's r and Kendall's tau with the male proportion."""

TABLE8: Numbers = printed(__file__, "table8")
"""Mean and standard deviation over 500 sub-samples of CLIP's answers; for one image kept, the paper says."""

TABLE9: Numbers = printed(__file__, "table9")
"""Mean and standard deviation, over 3,000 random relabellings, of each measure's mean and sigma."""

TABLE1: Mapping[tuple[str, str], tuple[int]] = printed(__file__, "table1", keys=2)
"""Context and what is counted to how many the data have."""

TABLE10: Mapping[tuple[str, str], tuple[int, int]] = printed(__file__, "table10", keys=2)
"""Images of single persons and of two, by sector and specialisation."""
