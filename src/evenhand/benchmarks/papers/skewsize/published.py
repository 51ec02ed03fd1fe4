"""Numbers that the SkewSize paper prints beyond its planted biases, to be drawn beside one's own.

Albuquerque et al. 2024. Figures 2 to 4 and 6 print no numbers. Table 4's occupation column is that of Table 7
at MEV 5 and of the post-processed rows of Table 6; which setting the sports column has is not said.
"""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.benchmarks.papers.printed import printed

MODELS: tuple[str, ...] = ("BLIP2-2.7B", "BLIP2-6.7B", "BLIP2-FlanT5")
"""The models of Tables 4, 6 and 7."""

GROUPING = "gender"
"""What the paper compares in occupations and sports."""

TABLE3_MODEL = "BLIP2-FlanT5"

TABLE3: Mapping[str, tuple[float, float, float]] = printed(__file__, "table3")
"""Occupation to accuracy, gap and effect size."""

TABLE4: Mapping[str, tuple[float, float, float]] = printed(__file__, "table4")
"""Benchmark to SkewSize of each of ``MODELS``."""

TABLE6: Mapping[str, tuple[float, float, float]] = printed(__file__, "table6")
"""Answers on occupations, as given or post-processed, to SkewSize of each of ``MODELS``."""

TABLE7: Mapping[float, tuple[float, float, float]] = {
    float(mev): values for mev, values in printed(__file__, "table7").items()
}
"""Minimum expected value to SkewSize of each of ``MODELS`` on occupations."""

FIGURE1_MODELS: tuple[str, str] = ("M1", "M2")

_CELLS = printed(__file__, "figure1", keys=2)
FIGURE1: Mapping[str, Mapping[str, tuple[float, float, float]]] = {
    row: {name: values for (other, name), values in _CELLS.items() if other == row} for row, _ in _CELLS
}
"""Row of Figure 1's table to class to model 1, model 2 and difference; entries of classes are -V."""

DOMAINNET: Mapping[str, float] = {"accuracy": 0.5995, "accuracy_gap": 0.3701, "skewsize": 0.509}
"""Appendix C: a ResNet-50 trained on all domains of DomainNet."""

FIGURE5: Mapping[str, tuple[float, float]] = printed(__file__, "figure5")
"""Appendix C: Pearson's r of V, class by class, with each of these, and its p as printed (0: "p ~ 0")."""
