"""How effect sizes are measured: the options of every metric of effect size, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict, get_args, get_type_hints

from evenhand.core.errors import ParameterError, check_choice, check_known
from evenhand.metrics.estimates import Fields, Inference, Mode, check_common

Form = Literal["separation", "sufficiency", "independence"]
"""Group x prediction given the truth, group x truth given the prediction, or group x prediction alone."""
Statistic = Literal["cramers_v", "phi", "bergsma"]
MevRule = Literal["min", "mean", "max"]
"""Which of a column's expected values counts, over groups."""
Rare = Literal["drop", "pool"]
"""What becomes of columns below the minimum expected value."""
EffectInterval = Literal["score", "bootstrap"]
Adjustment = Literal["holm", "bh", "none"]
"""How p-values of several classes are corrected."""


class EffectKeywords(TypedDict, total=False):
    """The keyword options of every effect-size metric; see EffectOptions for their meaning."""

    statistic: Statistic
    mev: float
    mev_rule: MevRule
    rare: Rare
    interval: EffectInterval
    alpha: float
    adjustment: Adjustment
    mode: Mode
    inference: Inference


@dataclass(frozen=True)
class EffectOptions:
    """How effect sizes are measured."""

    form: Form = "separation"
    statistic: Statistic = "cramers_v"
    mev: float = 0.0  # minimum expected value a column must reach to stay (Appendix D.3); 0 keeps all
    mev_rule: MevRule = "min"
    rare: Rare = "drop"
    interval: EffectInterval = "score"
    alpha: float = 0.05  # level of the tests
    adjustment: Adjustment = "holm"
    # ``paper`` applies Yates' correction to 2x2 tables, as the listing in Appendix G.2 does
    mode: Mode = "default"
    inference: Inference = "auto"

    @classmethod
    def make(cls, form: Form, keywords: Mapping[str, Any]) -> EffectOptions:
        """Options from keywords, checked."""
        option_names = [field.name for field in fields(cls) if field.name != "form"]
        check_known("option", keywords, option_names)
        options = cls(form, **keywords)
        check_common(options.mode, options.inference)
        for name, possible in get_type_hints(EffectKeywords).items():
            if get_args(possible):
                check_choice(name, getattr(options, name), get_args(possible))
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
    def changed(self) -> Fields:
        """The options that change a value and are not at their default."""
        names = ["mode", "statistic", "mev"] + (["mev_rule", "rare"] if self.mev else [])
        default = EffectOptions()
        return {n: getattr(self, n) for n in sorted(names) if getattr(self, n) != getattr(default, n)}
