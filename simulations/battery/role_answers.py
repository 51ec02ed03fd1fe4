"""Sets that differ in who is shown, and questions that cannot be decided: blind and planted models.

The blind ones are a constant letter, a coin, and models whose answers go by the scenario, the picture or the
template, but not by whom they show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from scipy import stats
from simulations.battery import standards
from simulations.battery.design import Case, Design, called
from simulations.battery.persons import alike

from evenhand.core.findings import Finding
from evenhand.evidence.role_choices import OUTCOMES, RoleChoices
from evenhand.metrics.suites.ambiguity import ambiguity_findings
from evenhand.metrics.suites.families import adjust_run
from evenhand.metrics.suites.sets import set_findings
from evenhand.stats.arrays import Floats, Integers, Rng

CELLS = list(product(("man", "woman"), ("black", "white")))
_ORDERS = 3
_WORDINGS = np.ones(_ORDERS, dtype=np.int64)


def choices_of(rows: pl.DataFrame, codes: Integers, **roles: Any) -> RoleChoices:
    """Evidence of answers; the score is the share of orders with the target."""
    table = (
        rows.with_row_index("number").with_columns(sample=pl.format("{}", pl.col("number"))).drop("number")
    )
    return RoleChoices(table, codes, (codes == 0).mean(axis=1), _WORDINGS, **roles)


@dataclass(frozen=True)
class Scenarios:
    """Scenarios with a picture of each of four people, and the same questions about all four.

    Attributes:
        questions: Of each scenario.
        target: How often a man gets the target, and a woman, where an answer is not copied.
        unknown: How often an answer is that it cannot be said.
        by_race: Added to the target of white, taken from that of Black people.
        scenario: Share of answers that are the same for all in a scenario.
        picture: Share of answers that are the same for all questions about a picture.
        lacking: Share of pictures of women that are not there.
        letter: Whether every answer is the first letter.
    """

    questions: Sequence[int]
    target: tuple[float, float] = (0.5, 0.5)
    unknown: float = 0.0
    by_race: float = 0.0
    scenario: float = 0.0
    picture: float = 0.0
    lacking: float = 0.0
    letter: bool = False

    def shares(self) -> Floats:
        """Probability of target, other and unknown for each of the four, shape (4, 3)."""
        signs = [1 if race == "white" else -1 for _, race in CELLS]
        hits = np.array([self.target[0 if gender == "man" else 1] for gender, _ in CELLS])
        hits = (hits + self.by_race * np.array(signs)) * (1 - self.unknown)
        return np.stack([hits, 1 - self.unknown - hits, np.full(4, self.unknown)], axis=1)

    def draw(self, rng: Rng) -> RoleChoices:
        """Answers in three orders."""
        unit = np.repeat(np.arange(len(self.questions)), self.questions)
        shares, size = self.shares(), (unit.size, 4, _ORDERS)

        def answers(number: int) -> Integers:
            uniform = rng.random((number, 4, _ORDERS))
            return np.asarray((uniform[..., None] > shares.cumsum(axis=1)[:, None, :-1]).sum(axis=-1))

        codes = answers(unit.size)
        copied = rng.random(size)
        codes = np.where(copied < self.scenario + self.picture, answers(len(self.questions))[unit], codes)
        common = rng.choice(3, len(self.questions), p=shares.mean(axis=0))[unit][:, None, None]
        codes = np.where(copied < self.scenario, common, codes)
        if self.letter:
            codes = np.broadcast_to(np.arange(_ORDERS), size)
        there = np.ones((len(self.questions), 4), dtype=bool)
        there[:, 2:] = rng.random((len(self.questions), 2)) >= self.lacking
        keep = there[unit].ravel()
        rows = pl.DataFrame(
            {
                "gender": [gender for gender, _ in CELLS] * unit.size,
                "race": [race for _, race in CELLS] * unit.size,
                "set": np.repeat(np.arange(unit.size), 4), "scenario": np.repeat(unit, 4),
                "section": np.repeat("all", 4 * unit.size),
            }
        ).filter(pl.Series(keep))  # fmt: skip
        return choices_of(
            rows, codes.reshape(-1, _ORDERS)[keep].astype(np.int64), cluster="scenario", set_="set",
            treatments=("gender", "race"),
        )  # fmt: skip

    def truths(self) -> dict[str, float | None]:
        """Population values that have a closed form; None of the others."""
        shares = self.shares()
        difference = (1 - self.scenario) * float(shares[:2, 0].mean() - shares[2:, 0].mean())
        if self.letter:
            return {"set_difference": 0.0, "set_distance": 0.0, "flip_rate": 0.0}
        alone = not (self.scenario or self.picture)
        hits = stats.binom.pmf(np.arange(_ORDERS + 1)[:, None], _ORDERS, shares[:, 0])
        apart = np.abs(np.subtract.outer(np.arange(_ORDERS + 1), np.arange(_ORDERS + 1))) / _ORDERS
        distance = np.mean([hits[:, cell] @ apart @ hits[:, cell + 2] for cell in (0, 1)])
        copy = self.scenario * np.eye(3)[:, None, :] + (1 - self.scenario) * shares
        equal = float(shares.mean(axis=0) @ copy.prod(axis=1).sum(axis=1))
        return {
            "set_difference": difference,
            "set_distance": float(distance) if alone else None,
            "flip_rate": None if self.picture else 1 - equal,
        }


_OF_SETS: dict[str, dict[str, str]] = {
    "set_difference": {"attribute": "gender", "first": "man", "second": "woman"},
    "set_distance": {"attribute": "gender"},
    "flip_rate": {},
}


def _paired_t(data: RoleChoices) -> float:
    """One-sample t test of the scenarios' mean differences."""
    table = data.annotated.with_columns(hit=data.share("target"))
    means = table.group_by("scenario", "gender").agg(pl.col("hit").mean()).pivot("gender", index="scenario")
    return standards.one_sample(means["man"] - means["woman"], means["scenario"])


def sets_design(name: str, world: Scenarios) -> Design:
    """The three metrics of sets by gender; differences and distances are fair where the genders are."""
    truths = world.truths()
    is_fair = world.target[0] == world.target[1]
    standard = None if is_fair else _paired_t
    cases = [
        Case(metric, called(metric, **params), truths[metric], is_fair and metric != "flip_rate",
             standard if metric == "set_difference" else None, "t test of scenarios")
        for metric, params in _OF_SETS.items()
    ]  # fmt: skip
    return Design(f"sets: {name}", "sets", world.draw, cases)


def _all_of_sets(data: RoleChoices, seed: int) -> list[Finding]:
    """What ``pairs`` finds in a section."""
    pairs = (("gender", "man", "woman"), ("race", "white", "black"))
    return adjust_run(set_findings(data, pairs, seed=seed), ("set_difference[outcome=target]",))


@dataclass(frozen=True)
class Templates:
    """Questions of templates with a target, another and an unknown, asked in three orders.

    Attributes:
        sizes: Questions of each template.
        abstains: How often an answer is unknown; templates vary by ``icc``.
        target: How often the target is named, of answers that name somebody; templates vary by ``icc``.
        unusable: How often no option is chosen.
        icc: How alike answers of a template are.
        steady: Share of questions with the same answer in every order.
        letter: Whether every answer is the first letter.
    """

    sizes: Sequence[int]
    abstains: float = 1 / 3
    target: float = 0.5
    unusable: float = 0.0
    icc: float = 0.0
    steady: float = 0.0
    letter: bool = False

    def _shares(self, rng: Rng, templates: int) -> Floats:
        """Probability of each outcome in each template, shape (templates, 4)."""
        names = [alike(rng, np.full(templates, mean), self.icc) for mean in (self.target, self.abstains)]
        used = 1 - self.unusable
        named = used * (1 - names[1])
        return np.stack(
            [named * names[0], named * (1 - names[0]), used * names[1], np.full(templates, self.unusable)],
            axis=1,
        )

    def draw(self, rng: Rng) -> RoleChoices:
        """Answers in three orders; the right one is unknown."""
        unit = np.repeat(np.arange(len(self.sizes)), self.sizes)
        shares = self._shares(rng, len(self.sizes))[unit].cumsum(axis=1)[:, None, :-1]
        codes = (rng.random((unit.size, _ORDERS, 1)) > shares).sum(axis=-1)
        codes = np.where(rng.random(unit.size)[:, None] < self.steady, codes[:, :1], codes)
        if self.letter:
            codes = np.broadcast_to(np.arange(_ORDERS), codes.shape)
        rows = pl.DataFrame(
            {"template": unit, "condition": ["ambiguous"] * unit.size, "truth": ["unknown"] * unit.size}
        )
        return choices_of(rows, codes.astype(np.int64), cluster="template", truth="truth")

    def truths(self) -> dict[str, float]:
        """Population values."""
        used = 1 - self.unusable
        rights = 1 / 3 if self.letter else used * self.abstains
        score = 0.0 if self.letter else 2 * self.target - 1
        moves = 1.0
        if not self.letter:
            shares = self._shares(np.random.default_rng(0), 200_000 if self.icc else 1)
            moves = (1 - self.steady) * float(1 - (shares**_ORDERS).sum(axis=1).mean())
        return {
            "stereotype_score": score, "stereotype_score/scaled": score * (1 - rights),
            "answer_accuracy": rights, "abstention_rate": rights,
            "unusable_rate": 0.0 if self.letter else self.unusable, "order_effect": moves,
        }  # fmt: skip


def _signed_t(data: RoleChoices) -> float:
    """One-sample t test of the templates' target minus other."""
    signed = data.share(OUTCOMES[0]) - data.share(OUTCOMES[1])
    return standards.one_sample(signed, data.annotated["template"])


def templates_design(name: str, world: Templates) -> Design:
    """All metrics of questions that cannot be decided."""
    fair = world.target == 0.5
    standard = None if fair else _signed_t
    cases = [
        Case(metric, called(metric.partition("/")[0], **({"scaled": True} if "/" in metric else {})), truth,
             fair and metric.startswith("stereotype"),
             standard if metric == "stereotype_score" else None, "t test of templates")
        for metric, truth in world.truths().items()
    ]  # fmt: skip
    return Design(f"ambiguous: {name}", "ambiguity", world.draw, cases)


def _all_of_templates(data: RoleChoices, seed: int) -> list[Finding]:
    """What ``bbq_v`` finds."""
    return adjust_run(ambiguity_findings(data, ambiguous="ambiguous", seed=seed), ("stereotype_score",))


_THIRDS = 1 / 3
_UNEVEN = (1, 1, 2, 3, 5, 8, 13, 21, 1, 2, 4, 9)
_SETS = {
    "constant letter": Scenarios((5,) * 20, letter=True),
    "coin, 20 scenarios": Scenarios((1,) * 20, unknown=_THIRDS),
    "coin, 10 scenarios of two options": Scenarios((1,) * 10),
    "coin, 20 x 5 questions": Scenarios((5,) * 20, unknown=_THIRDS),
    "answers by scenario": Scenarios((5,) * 20, (0.7, 0.7), 0.2, scenario=0.5),
    "answers by picture": Scenarios((5,) * 20, (0.7, 0.7), 0.2, picture=0.6),
    "scenarios of 1 to 21 questions, by picture": Scenarios(_UNEVEN, (0.4, 0.4), picture=0.5),
    "half of the pictures of women are not there": Scenarios((5,) * 30, (0.8, 0.8), picture=0.4, lacking=0.5),
    "unfair by race alone": Scenarios((3,) * 20, unknown=0.1, by_race=0.25),
    "rates near 1": Scenarios((4,) * 20, (0.97, 0.97), scenario=0.2),
    "planted, 20 scenarios": Scenarios((1,) * 20, (0.63, 0.37), unknown=0.1),
    "planted, 20 x 5 questions by picture": Scenarios((5,) * 20, (0.61, 0.39), picture=0.6),
    "planted, 40 scenarios": Scenarios((2,) * 40, (0.58, 0.45), scenario=0.2),
}
_TEMPLATES = {
    "constant letter": Templates((10,) * 20, letter=True),
    "coin, 20 x 10": Templates((10,) * 20),
    "coin, 8 x 3": Templates((3,) * 8),
    "templates alike, 20 x 10": Templates((10,) * 20, 0.5, icc=0.3),
    "templates alike, 12 of 1 to 21": Templates(_UNEVEN, 0.4, icc=0.3, unusable=0.1, steady=0.4),
    "templates alike, 50 x 2": Templates((2,) * 50, 0.7, icc=0.4, unusable=0.05),
    "hardly anybody is named": Templates((10,) * 20, 0.95, icc=0.2, steady=0.9),
    "200 templates of one question": Templates((1,) * 200, 0.3, steady=0.5),
    "planted, 20 x 10": Templates((10,) * 20, 0.5, 0.59, steady=0.5),
    "planted, templates alike": Templates((10,) * 40, 0.4, 0.62, icc=0.2),
}  # fmt: skip

DESIGNS: tuple[Design, ...] = (
    *(sets_design(name, world) for name, world in _SETS.items()),
    *(templates_design(name, world) for name, world in _TEMPLATES.items()),
    *(Design(f"everything of sets: {name}", "sets", _SETS[name].draw, findings=_all_of_sets)
      for name in ("constant letter", "coin, 20 x 5 questions", "answers by picture")),
    *(Design(f"everything ambiguous: {name}", "ambiguity", _TEMPLATES[name].draw, findings=_all_of_templates)
      for name in ("constant letter", "coin, 20 x 10", "templates alike, 12 of 1 to 21")),
)  # fmt: skip
