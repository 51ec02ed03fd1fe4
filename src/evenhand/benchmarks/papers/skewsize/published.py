"""Numbers that the SkewSize paper prints beyond its planted biases, to be drawn beside one's own.

Albuquerque et al. 2024. Figures 2 to 4 and 6 print no numbers. Table 4's occupation column is that of Table 7
at MEV 5 and of the post-processed rows of Table 6; which setting the sports column has is not said.
"""

from __future__ import annotations

from evenhand.benchmarks.papers.printed import printed
from evenhand.benchmarks.papers.rows import PAPER
from evenhand.benchmarks.papers.skewsize.views import lead

MODELS = ("BLIP2-2.7B", "BLIP2-6.7B", "BLIP2-FlanT5")
"""The models of Tables 4, 6 and 7; Table 3 is of the last."""

OCCUPATIONS, GROUPING = "occupations", "gender"
"""What the paper prints most of, and what it compares there and in sports."""

TABLE3 = printed(__file__, "table3")
"""Occupation to accuracy, gap and effect size."""

TABLE4 = printed(__file__, "table4")
"""Benchmark to SkewSize of each of ``MODELS``."""

TABLE6 = printed(__file__, "table6")
"""Answers on occupations, as given or post-processed, to SkewSize of each of ``MODELS``."""

TABLE7 = {float(mev): values for mev, values in printed(__file__, "table7").items()}
"""Minimum expected value to SkewSize of each of ``MODELS`` on occupations."""

FIGURE1 = printed(__file__, "figure1", keys=2)
"""Measure and class to model 1, model 2 and difference; entries of classes are -V."""

RESNET = lead(PAPER, "ResNet-50", "domainnet", "domain")
SKEWSIZE = 0.509
DOMAINNET = {"accuracy": 0.5995, "worst-group accuracy": 0.5995 - 0.3701, "gap": 0.3701}
"""Appendix C: a ResNet-50 trained on all domains of DomainNet; its worst group follows from the others."""

FIGURE5 = printed(__file__, "figure5")
"""Appendix C: Pearson's r of V, class by class, with each of these, and its p as printed (0: "p ~ 0")."""
