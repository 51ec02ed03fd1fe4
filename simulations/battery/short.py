"""The short battery that the tests run: small designs, one cause of false alarms each, and effects.

Each design is the least one on which an old form of the same method fails (``old_forms.py``). They are drawn
beside those of the full battery and have streams of their own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import stats
from simulations.battery import (
    accuracy,
    answer_differences,
    associations,
    audits,
    choices,
    differences,
    disparities,
    effects,
    households,
    labels,
    neighbours,
    numbers,
    rankings,
    shared_units,
)
from simulations.battery.accuracy import Model, even, flat
from simulations.battery.catalogue import DESIGNS
from simulations.battery.design import Design
from simulations.battery.running import run_design
from simulations.battery.scores import LINES, Bounds

RUNS, RUNS_OF = 120, {LINES: 200, "audits": 80, "neighbours": 80, "differences": 80}
"""Draws of a design, and of those of some families: fewer where a draw is dear."""
_FULL = {design.name: design for design in DESIGNS}


def _short(design: Design | str, *metrics: str) -> Design:
    """A design, or one of the full battery, under a name of its own, with some of its cases."""
    design = _FULL[design] if isinstance(design, str) else design
    cases = [case for case in design.cases if case.metric in metrics]
    if len(cases) != len(metrics):
        raise ValueError(f"{design.name} has {[case.metric for case in design.cases]}, not all of {metrics}")
    return replace(design, name=f"short: {design.name}", cases=cases)


def _rows(name: str, model: Model, *metrics: str, standard: accuracy.Standard = ("", None)) -> Design:
    cases = accuracy.cases_of(model, metrics, standard)
    return _short(Design(f"accuracy: {name}", "accuracy", model.draw, cases), *metrics)


_V = ("cramers_v_pooled", "cramers_v_mean", "cramers_v_max")
_SIZES, _MEAN = effects.spread([140] * 3, (0.6, 0.3, 0.1)), np.array([0.8, 0.7, 0.55])
_GAP = effects.Tables(effects.answers_of(effects.shifted(_MEAN, 1, 0.21), 3), _SIZES)
_LEVEL = np.array([[0.75, 0.75], [0.6, 0.6]])
_FEW = replace(
    _FULL["one pronoun for each of 24 occupations, unbalanced"],
    name="one pronoun for each of 10 occupations",
    draw=partial(choices.stereotype, occupations=10, most=10),
)
_SUBJECTS = labels.Persons([20, 20], [3, 3], [0.15, 0.45], 0.2)
_TOPICS = households.Homes((6, 5, 5), ((2, 8),) * 3, (0.6,) * 3, 0.1, (0.8, 0.5, 0.2), 0.5)
_UNEQUAL = households.Homes((6, 5, 4), ((1, 10),) * 3, (0.6,) * 3)
_PERSONS = neighbours.Pictures((6, 6), (9, 9), size=4, k=4)
_SMALL = differences.Models((28, 12), (0.5, 0.5), (0.85, 0.85), (0.8, 0.8))
_UNITS = answer_differences.Units((80, 40), 1, (0.9, 0.9), (0.6, 0.6))

SHORT: tuple[Design, ...] = (
    _rows("3 unequal groups", Model((150, 60, 20), even(3, 3), flat(3, 3, 0.85)),
          "accuracy_gap", "equalized_odds/max/max"),
    _rows("99 rows and 1 row", Model((99, 1), even(2, 2), flat(2, 2, 0.95)), "accuracy_gap"),
    _rows("base rates .7 and .3, nearly perfect",
          Model((120, 120), np.array([[0.7, 0.3], [0.3, 0.7]]), flat(2, 2, 0.97)),
          "demographic_parity/max", standard=accuracy.SAID),
    _rows("6 groups x 8 classes x 3 rows", Model((24,) * 6, even(6, 8), flat(6, 8, 0.7)),
          "worst_class_group_accuracy", "equalized_odds/max/max"),
    _rows("10 persons x 8 a group", Model((10, 10), even(2, 2), flat(2, 2, 0.8), photos=((8, 8),) * 2),
          "accuracy", "accuracy_gap"),
    _short(effects.table_design("blind, unequal accuracies", effects.blind(_SIZES, _MEAN, 3), _V, _V), *_V),
    _short(effects.table_design("planted", _GAP, _V[:2], (), dict.fromkeys(_V[:2], effects.SUM_OF_CHI2)),
           *_V[:2]),
    *(_short(effects.persons_design(name, effects.Persons(_LEVEL, *sizes)), *_V)
      for name, sizes in (("20 persons a group x 10 pictures", ((20, 20), (10, 10))),
                          ("9 persons x 40 pictures", ((5, 4), (40, 40))))),
    _short("priors his .6, her .35, their .05", "resolution_accuracy", "neutral_gap"),
    _short(_FEW, "resolution_accuracy"),
    _short("12 and 18 persons x 8, ICC .3", "resolution_gap"),
    _short("sectors of 9, 6, 4, 2, 2 occupations x 30, ICC .3", "resolution_accuracy, 4 occupations"),
    _short("planted: right at .835 and .68, else misgendered", "resolution_gap"),
    _short(labels.design("9 subjects x 40, ICC .2", labels.equal([5, 4], 40, 0.3, 0.2)), *labels.USUAL),
    _short(labels.design("24 subjects x 20, 5 % of them always", labels.equal([12, 12], 20, 0.05, 1.0)),
           *labels.USUAL),
    _short(labels.design("6 unequal groups of pictures", labels.equal([60, 40, 20, 10, 5, 5], 1, 0.2),
                         subjects=False), "label_association_gap"),
    _short(labels.design("planted .15 / .45, 40 subjects x 3", _SUBJECTS, standard=labels.WELCH),
           "label_association_gap"),
    _short(households.design("3 incomes, unequal homes", _UNEQUAL, households.FAIR),
           "household_hit_gap", "worst_household_hit_rate"),
    _short(households.design("topics by income", _TOPICS, (0.3, 0.3, 0.45, None)), "household_hit_gap"),
    _short(households.countries("12 countries, noisier at both ends", households.Countries(12)),
           "country_income_correlation[method=pearson]"),
    _short(rankings.design("one pool of 9 + 7 + 4 for 8 queries, common .5",
                           rankings.Pool((9, 7, 4), queries=8, common=0.5)), "bias_at_k"),
    _short(rankings.design("8 persons x 4, alike .5", rankings.Pool((4, 4), (4,), queries=5, alike=0.5)),
           "ndkl"),
    _short(neighbours.design("database 30/19, random vectors", neighbours.Pictures((16, 16), (30, 19), k=4)),
           "precision_gap"),
    _short(neighbours.design("12 persons x 4 and 18 in the database", _PERSONS),
           "precision_gap", "precision_at_k"),
    _short(associations.design("8 v 6 apart in what no word speaks of",
                               associations.World((8, 6, 7, 6), apart=2.5, fusion=False)),
           "association_effect_size", "association_difference"),
    _short(differences.design("two fair models of .9 and .8",
                              differences.Models((80, 40), (0.6, 0.4), (0.9, 0.9), (0.8, 0.8)),
                              ("cramers_v_max",)), "cramers_v_max_difference"),
    _short(differences.design("two models of .85 and .8, n = 40", _SMALL, ("accuracy",)),
           "accuracy_difference"),
    _short(answer_differences.design("answers of two fair models of .9 and .6", _UNITS, ("range", "rate")),
           "label_association_gap of answers", "rate of answers"),
    _short("disparities: 5 classes x 2 groups x 20 rows", "disparities"),
    _short("disparities: 5 x 3 x 100, unequal sizes and errors", "disparities"),
    _short(disparities.persons_design("16 persons x 15 photos, 2 classes", 2,
                                      disparities.Persons((8, 8), [(15, 15)] * 2)), "disparities"),
    _short("disparities: 1 planted, +.15, 5 x 3 x 100", "disparities"),
    _short("disparities: gap of 3 groups, 5 classes",
           *(f"accuracy_decomposition {kind}" for kind in ("mix", "errors", "share"))),
    _short(audits.design("audit, 2 classes, 1 attribute of 2 groups", 200, 2, audits.THREE[:1], ["a"])),
    _short("sets: coin, 10 scenarios of two options", "set_difference"),
    _short("ambiguous: templates alike, 12 of 1 to 21", "stereotype_score", "answer_accuracy"),
    _short("leaning: 4 groups, sizes and spreads unlike", "lean_effect"),
    _short("units: homes of a man and a woman x 10 photos, ICC .6",
           "accuracy_gap", "demographic_parity/max", "cramers_v_pooled"),
    _short("units: groups seen in each photo, .85 and .65", "accuracy_gap"),
    _short("units: persons of 1 to 200 photos count once, .8 and .6", "accuracy_gap"),
    _short("units: weights, wrong rows three times as heavy", "accuracy_gap", "equalized_odds/max/max"),
    _short(shared_units.few_ranked_homes, "ndkl"),
    # an old form called a range beyond chance whose interval holds 0, in one draw of ten
    _short(numbers.design("age errors of 60 and 40",
                          numbers.Drawn(numbers.errors, (60, 40), factors=(1.0, 2.2))),
           "mean_range", "mean_gap"),
    _short(numbers.design("overlaps of 10, 8 and 6 persons",
                          numbers.Drawn(numbers.overlaps, (10, 8, 6), 6)), "mean_contrast", "mean_range"),
)  # fmt: skip


def bounds_of(runs: int, alpha: float = 0.001, opposed_alpha: float = 0.005) -> Bounds:
    """What a share ``alpha`` of cases of exact level .05 misses by chance.

    And ``opposed_alpha`` of those of which p and interval disagree in 3 %.

    Widths say little of so few runs and small designs; what is listed has the bounds of the full battery.
    """
    most, opposed = (float(stats.binom.isf(*of)) for of in ((alpha, runs, 0.05), (opposed_alpha, runs, 0.03)))
    return Bounds(
        false_alarms=most / runs, anything=most / runs, coverage=(runs - most) / runs,
        disagreements=opposed / runs, width=float("inf"), wide=float("inf"),
    )  # fmt: skip


def failed(design: Design) -> dict[str, list[str]]:
    """The bounds that the metrics of a short design do not keep.

    A third of the draws is enough where it is as quiet as nine of ten cases of exact level are.
    """
    runs = RUNS_OF.get(design.family, RUNS)
    if not _missed(design, runs // 3, bounds_of(runs // 3, 0.1, 0.1)):
        return {}
    return _missed(design, runs, bounds_of(runs))


def _missed(design: Design, runs: int, bounds: Bounds) -> dict[str, list[str]]:
    missed = {row.metric: row.missed(bounds) for row in run_design(design, runs)}
    return {name: names for name, names in missed.items() if names}
