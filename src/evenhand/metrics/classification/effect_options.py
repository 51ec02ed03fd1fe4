"""How effect sizes are measured: the options of every metric of effect size, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from evenhand.core.errors import ParameterError, UnknownName, check_choice
from evenhand.metrics.prepared import check_common


class EffectKeywords(TypedDict, total=False):
    """The keyword options of every effect-size metric; see EffectOptions for their meaning."""

    statistic: str
    mev: float
    mev_rule: str
    rare: str
    constant: str
    interval: str
    alpha: float
    adjustment: str
    mode: str
    inference: str


@dataclass(frozen=True)
class EffectOptions:
    """How effect sizes are measured."""

    # ``separation`` (group x prediction given truth), ``sufficiency`` (group x truth given prediction) or
    # ``independence`` (group x prediction, one table)
    form: str = "separation"
    statistic: str = "cramers_v"  # ``cramers_v``, ``phi`` or ``bergsma``
    mev: float = 0.0  # minimum expected value a column must reach to stay (Appendix D.3); 0 keeps all
    # which of a column's expected values counts: ``min``, ``mean`` or ``max`` over groups
    mev_rule: str = "min"
    rare: str = "drop"  # what happens to rarer columns: ``drop`` or ``pool`` into one
    constant: str = "drop"  # what a class with a single predicted label is: ``drop`` (undefined) or ``zero``
    interval: str = "score"  # ``score``, ``delta``, ``noncentral`` or ``bootstrap``
    alpha: float = 0.05  # level of the tests
    adjustment: str = "holm"  # ``holm``, ``bh`` or ``none``, over classes
    # ``paper`` applies Yates' correction to 2x2 tables, as the listing in Appendix G.2 does
    mode: str = "default"
    inference: str = "auto"  # ``auto``, or ``none`` for values only

    @classmethod
    def make(cls, form: str, keywords: Mapping[str, Any]) -> EffectOptions:
        """Options from keywords, checked.

        Raises:
            UnknownName: A keyword that does not exist.
            ParameterError: A value outside what is possible.
        """
        option_names = [field.name for field in fields(cls) if field.name != "form"]
        for name in keywords:
            if name not in option_names:
                raise UnknownName("option", name, option_names)
        options = cls(form, **keywords)
        check_common(options.mode, options.inference)
        for name, possible in _CHOICES.items():
            check_choice(name, getattr(options, name), possible)
        if not 0 < options.alpha < 1:
            raise ParameterError(f"alpha={options.alpha} is not possible; choose a level between 0 and 1")
        if not 0 <= options.mev < math.inf:
            raise ParameterError(f"mev={options.mev} is not possible; choose 0 (keep all columns) or more")
        return options

    @property
    def kind(self) -> str:
        """The statistic's kernel name."""
        yates = self.mode == "paper" and self.statistic == "cramers_v"
        return "cramers_v_yates" if yates else self.statistic

    @property
    def changed(self) -> dict[str, Any]:
        """The options that change a value and are not at their default."""
        names = ["mode", "statistic", "mev", "constant"] + (["mev_rule", "rare"] if self.mev else [])
        default = EffectOptions()
        return {n: getattr(self, n) for n in sorted(names) if getattr(self, n) != getattr(default, n)}


_CHOICES = {
    "statistic": ("cramers_v", "phi", "bergsma"),
    "mev_rule": ("min", "mean", "max"),
    "rare": ("drop", "pool"),
    "constant": ("drop", "zero"),
    "interval": ("score", "delta", "noncentral", "bootstrap"),
    "adjustment": ("holm", "bh", "none"),
}
