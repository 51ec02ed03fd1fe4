"""Numbers that the SkewSize paper prints beyond its planted biases, to be drawn beside one's own.

Albuquerque et al. 2024. Figures 2 to 4 and 6 print no numbers. Table 4's occupation column is that of Table 7
at MEV 5 and of the post-processed rows of Table 6; which setting the sports column has is not said.
"""

from __future__ import annotations

from collections.abc import Mapping

MODELS: tuple[str, ...] = ("BLIP2-2.7B", "BLIP2-6.7B", "BLIP2-FlanT5")
"""The models of Tables 4, 6 and 7."""

GROUPING = "gender"
"""What the paper compares in occupations and sports."""

TABLE3_MODEL = "BLIP2-FlanT5"

TABLE3: Mapping[str, tuple[float, float, float]] = {
    "writer": (0.802, 0.006, 0.263),
    "doctor": (0.903, 0.073, 0.291),
    "biologist": (0.151, 0.007, 0.250),
    "maid": (0.317, 0.120, 0.556),
    "model": (0.838, 0.102, 0.368),
    "nurse": (0.517, 0.358, 0.728),
    "philosopher": (0.349, 0.347, 0.927),
    "scientist": (0.737, 0.065, 0.241),
    "veterinarian": (0.791, 0.001, 0.154),
}
"""Occupation to accuracy, gap and effect size."""

TABLE4: Mapping[str, tuple[float, float, float]] = {
    "occupations": (0.233, -0.045, 0.599),
    "sports": (1.205, 0.360, 1.255),
}
"""Benchmark to SkewSize of each of ``MODELS``."""

TABLE6: Mapping[str, tuple[float, float, float]] = {
    "normalised": (0.233, -0.045, 0.599),
    "raw": (-0.005, -0.130, 0.124),
}
"""Answers on occupations, as given or post-processed, to SkewSize of each of ``MODELS``."""

TABLE7: Mapping[float, tuple[float, float, float]] = {
    6.0: (0.235, -0.031, 0.625),
    5.0: (0.233, -0.045, 0.599),
    4.0: (0.225, -0.056, 0.578),
    3.0: (0.199, -0.072, 0.544),
    2.0: (0.19, -0.102, 0.507),
}
"""Minimum expected value to SkewSize of each of ``MODELS`` on occupations."""

FIGURE1_MODELS: tuple[str, str] = ("M1", "M2")

FIGURE1: Mapping[str, Mapping[str, tuple[float, float, float]]] = {
    "accuracy": {
        "writer": (0.88, 0.67, -0.21), "doctor": (0.77, 0.77, 0.00),
        "biologist": (0.02, 0.15, 0.13), "all": (0.56, 0.53, -0.03),
    },
    "worst group": {
        "writer": (0.87, 0.66, -0.21), "doctor": (0.77, 0.77, 0.00),
        "biologist": (0.01, 0.14, 0.14), "all": (0.55, 0.53, -0.02),
    },
    "gap": {
        "writer": (0.01, 0.00, 0.00), "doctor": (0.00, 0.00, 0.00),
        "biologist": (0.01, 0.00, -0.01), "all": (0.01, 0.00, 0.00),
    },
    "- SkewSize": {
        "writer": (-0.07, -0.45, -0.38), "doctor": (-0.04, -0.45, -0.40),
        "biologist": (-0.12, -0.71, -0.58), "all": (-0.44, -0.71, -0.27),
    },
}  # fmt: skip
"""Row of Figure 1's table to class to model 1, model 2 and difference; entries of classes are -V."""

DOMAINNET: Mapping[str, float] = {"accuracy": 0.5995, "accuracy_gap": 0.3701, "skewsize": 0.509}
"""Appendix C: a ResNet-50 trained on all domains of DomainNet."""

FIGURE5: Mapping[str, tuple[float, float]] = {
    "accuracy": (-0.291, 0.0),
    "EO": (0.190, 0.0008),
    "gap": (0.103, 0.07),
    "DP": (0.051, 0.377),
}
"""Appendix C: Pearson's r of V, class by class, with each of these, and its p as printed (0: "p ~ 0")."""
