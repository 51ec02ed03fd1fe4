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
    effects_of_persons,
    households,
    items,
    labels,
    neighbours,
    numbers,
    rankings,
    role_answers,
    shared_units,
)
from simulations.battery.design import Design
from simulations.battery.running import run_design
from simulations.battery.scores import LINES, Bounds

RUNS, RUNS_OF = 120, {LINES: 200, "audits": 80, "neighbours": 80, "differences": 80}
"""Draws of a design, and of those of some families: fewer where a draw is dear."""


def _short(design: Design, *metrics: str) -> Design:
    """A design under a name of its own, with some of its cases."""
    cases = [case for case in design.cases if case.metric in metrics]
    if len(cases) != len(metrics):
        raise ValueError(f"{design.name} has {[case.metric for case in design.cases]}, not all of {metrics}")
    return replace(design, name=f"short: {design.name}", cases=cases)


def _accuracy() -> list[Design]:
    def drawn(name: str, model: accuracy.Model, *metrics: str, planted: bool = False) -> Design:
        standard = dict.fromkeys(metrics, accuracy.SAID) if planted else None
        cases = accuracy.cases_of(model, metrics, standard)
        return _short(Design(name, "accuracy", model.draw, cases), *metrics)

    even, flat = accuracy.even, accuracy.flat
    return [
        drawn("accuracy: 3 unequal groups", accuracy.Model((150, 60, 20), even(3, 3), flat(3, 3, 0.85)),
             "accuracy_gap", "equalized_odds/max/max"),
        drawn("accuracy: 99 rows and 1 row", accuracy.Model((99, 1), even(2, 2), flat(2, 2, 0.95)),
             "accuracy_gap"),
        drawn("accuracy: base rates .7 and .3, nearly perfect",
             accuracy.Model((120, 120), np.array([[0.7, 0.3], [0.3, 0.7]]), flat(2, 2, 0.97)),
             "demographic_parity/max", planted=True),
        drawn("accuracy: 6 groups x 8 classes x 3 rows",
              accuracy.Model((24,) * 6, even(6, 8), flat(6, 8, 0.7)),
             "worst_class_group_accuracy", "equalized_odds/max/max"),
        drawn("accuracy: 10 persons x 8 a group",
             accuracy.Model((10, 10), even(2, 2), flat(2, 2, 0.8), photos=((8, 8),) * 2),
             "accuracy", "accuracy_gap"),
    ]  # fmt: skip


def _effects() -> list[Design]:
    sizes, mean = effects.spread([140] * 3, (0.6, 0.3, 0.1)), np.array([0.8, 0.7, 0.55])
    names = ("cramers_v_pooled", "cramers_v_mean", "cramers_v_max")
    gap = effects.Tables(effects.answers_of(effects.shifted(mean, 1, 0.21), 3), sizes)
    sums = dict.fromkeys(names[:2], effects.SUM_OF_CHI2)
    level = np.array([[0.75, 0.75], [0.6, 0.6]])
    persons = {
        "20 persons a group x 10 pictures": effects_of_persons.Persons(level, (20, 20), (10, 10)),
        "9 persons x 40 pictures": effects_of_persons.Persons(level, (5, 4), (40, 40)),
    }
    return [
        _short(effects.table_design("blind, unequal accuracies", effects.blind(sizes, mean, 3), names, names),
               *names),
        _short(effects.table_design("planted", gap, names[:2], (), sums), *names[:2]),
        *(_short(effects_of_persons.design(name, one, True), *names) for name, one in persons.items()),
    ]  # fmt: skip


def _choices() -> list[Design]:
    known = {design.name: design for design in choices.DESIGNS}
    many = known["one pronoun for each of 24 occupations, unbalanced"]
    draw = partial(choices.stereotype, occupations=10, most=10)
    few = replace(many, name="one pronoun for each of 10 occupations", draw=draw)
    return [
        _short(known["priors his .6, her .35, their .05"], "resolution_accuracy", "neutral_gap"),
        _short(few, "resolution_accuracy"),
        _short(known["12 and 18 persons x 8, ICC .3"], "resolution_gap"),
        _short(known["sectors of 9, 6, 4, 2, 2 occupations x 30, ICC .3"],
               "resolution_accuracy, 4 occupations"),
        _short(known["planted: right at .835 and .68, else misgendered"], "resolution_gap"),
    ]  # fmt: skip


def _labels() -> list[Design]:
    gap, rate = "label_association_gap", "label_association_rate"
    planted = labels.Persons([20, 20], [3, 3], [0.15, 0.45], 0.2)
    test = ("Welch's t test of subjects", labels.welch)
    return [
        _short(labels.design("9 subjects x 40, ICC .2", labels.equal([5, 4], 40, 0.3, 0.2)), gap, rate),
        _short(labels.design("24 subjects x 20, 5 % of them always", labels.equal([12, 12], 20, 0.05, 1.0)),
               gap, rate),
        _short(labels.design("6 unequal groups of pictures", labels.equal([60, 40, 20, 10, 5, 5], 1, 0.2),
                             subjects=False), gap),
        _short(labels.design("planted .15 / .45, 40 subjects x 3", planted, standard=test), gap),
    ]  # fmt: skip


def _households() -> list[Design]:
    topics = households.Homes((6, 5, 5), ((2, 8),) * 3, (0.6,) * 3, 0.1, (0.8, 0.5, 0.2), 0.5)
    unequal = households.Homes((6, 5, 4), ((1, 10),) * 3, (0.6,) * 3)
    return [
        _short(households.design("3 incomes, unequal homes", unequal, households.FAIR),
               "household_hit_gap", "worst_household_hit_rate"),
        _short(households.design("topics by income", topics, (0.3, 0.3, 0.45, None)), "household_hit_gap"),
        _short(households.countries("12 countries, noisier at both ends", households.Countries(12)),
               "country_income_correlation[method=pearson]"),
    ]  # fmt: skip


def _rankings() -> list[Design]:
    pools = {
        "one pool of 9 + 7 + 4 for 8 queries, common .5": (
            rankings.Pool((9, 7, 4), queries=8, common=0.5), ("bias_at_k",)),
        "8 persons x 4, alike .5": (
            rankings.Pool((4, 4), (4,), queries=5, alike=0.5), ("ndkl",)),
    }  # fmt: skip
    return [_short(rankings.design(name, pool), *metrics) for name, (pool, metrics) in pools.items()]


def _neighbours() -> list[Design]:
    unequal = neighbours.Pictures((16, 16), (30, 19), k=4)
    persons = neighbours.Pictures((6, 6), (9, 9), size=4, k=4)
    return [
        _short(neighbours.design("database 30/19, random vectors", unequal), "precision_gap"),
        _short(
            neighbours.design("12 persons x 4 and 18 in the database", persons),
            "precision_gap",
            "precision_at_k",
        ),
    ]


def _associations() -> list[Design]:
    world = associations.World((8, 6, 7, 6), apart=2.5, fusion=False)
    return [
        _short(associations.design("8 v 6 apart in what no word speaks of", world),
               "association_effect_size", "association_difference")
    ]  # fmt: skip


def _differences() -> list[Design]:
    fair = differences.Models((80, 40), (0.6, 0.4), (0.9, 0.9), (0.8, 0.8))
    small = differences.Models((28, 12), (0.5, 0.5), (0.85, 0.85), (0.8, 0.8))
    units = answer_differences.Units((80, 40), 1, (0.9, 0.9), (0.6, 0.6))
    return [
        _short(differences.design("two fair models of .9 and .8", fair, ("cramers_v_max",)),
               "cramers_v_max_difference"),
        _short(differences.design("two models of .85 and .8, n = 40", small, ("accuracy",)),
               "accuracy_difference"),
        _short(answer_differences.design("answers of two fair models of .9 and .6", units, ("range", "rate")),
               "label_association_gap of answers", "rate of answers"),
    ]  # fmt: skip


def _disparities() -> list[Design]:
    known = {design.name.removeprefix("disparities: "): design for design in disparities.DESIGNS}
    few = disparities.Persons((8, 8), [(15, 15)] * 2)
    return [
        _short(known["5 classes x 2 groups x 20 rows"], "disparities"),
        _short(known["5 x 3 x 100, unequal sizes and errors"], "disparities"),
        _short(disparities.persons_design("16 persons x 15 photos, 2 classes", 2, few), "disparities"),
        _short(known["1 planted, +.15, 5 x 3 x 100"], "disparities"),
        _short(known["gap of 3 groups, 5 classes"],
               *(f"accuracy_decomposition {kind}" for kind in ("mix", "errors", "share"))),
    ]  # fmt: skip


def _audits() -> list[Design]:
    return [
        _short(audits.design("audit, 2 classes, 1 attribute of 2 groups", 200, 2, audits.THREE[:1], ["a"]))
    ]


def _roles() -> list[Design]:
    known = {design.name: design for design in (*role_answers.DESIGNS, *items.DESIGNS)}
    alike = known["ambiguous: templates alike, 12 of 1 to 21"]
    return [
        _short(known["sets: coin, 10 scenarios of two options"], "set_difference"),
        _short(alike, "stereotype_score", "answer_accuracy"),
        _short(known["leaning: 4 groups, sizes and spreads unlike"], "lean_effect"),
    ]


def _shared() -> list[Design]:
    known = {design.name: design for design in shared_units.DESIGNS}
    return [
        _short(known["units: homes of a man and a woman x 10 photos, ICC .6"],
               "accuracy_gap", "demographic_parity/max", "cramers_v_pooled"),
        _short(known["units: groups seen in each photo, .85 and .65"], "accuracy_gap"),
        _short(known["units: persons of 1 to 200 photos count once, .8 and .6"], "accuracy_gap"),
        _short(known["units: weights, wrong rows three times as heavy"],
               "accuracy_gap", "equalized_odds/max/max"),
        _short(shared_units.few_ranked_homes, "ndkl"),
    ]  # fmt: skip


def _numbers() -> list[Design]:
    """An old form called a range beyond chance whose interval holds 0, in one draw of ten."""
    skewed = numbers.Drawn(numbers.errors, (60, 40), factors=(1.0, 2.2))
    persons = numbers.Drawn(numbers.overlaps, (10, 8, 6), 6)
    return [
        _short(numbers.design("age errors of 60 and 40", skewed), "mean_range", "mean_gap"),
        _short(numbers.design("overlaps of 10, 8 and 6 persons", persons), "mean_contrast", "mean_range"),
    ]


SHORT: tuple[Design, ...] = (
    *_accuracy(), *_effects(), *_choices(), *_labels(), *_households(), *_rankings(), *_neighbours(),
    *_associations(), *_differences(), *_disparities(), *_audits(), *_roles(), *_shared(),
    *_numbers(),
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
