"""Sets whose members differ in who is shown: naive oracles, blind models, and what is planted."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from evenhand.core.errors import InputError, UnknownName
from evenhand.core.significance import is_beyond
from evenhand.evidence.role_choices import RoleChoices
from evenhand.metrics import flip_rate, set_difference, set_distance
from evenhand.metrics.choices.roles.bound import mean_interval
from evenhand.metrics.suites.sets import set_findings
from tests.helpers import wilson

PEOPLE = [(race, gender) for race in ("black", "white") for gender in ("man", "woman")]
ROLES = ("target", "other", "unknown", None)
GENDER = {"attribute": "gender", "first": "man", "second": "woman"}


def evidence(answer, *, scenes=20, questions=1, orders=2, without=()):
    """Sets of four, ``answer(scene, question, race, gender, order)`` of each; some samples left out."""
    people, answers = [], []
    for scene, question in itertools.product(range(scenes), range(questions)):
        for race, gender in PEOPLE:
            sample = f"{scene:02d}/{question}/{race}_{gender}"
            people.append((sample, f"{scene:02d}/{question}", f"{scene:02d}", race, gender))
            if sample not in without:
                answers += [
                    (sample, f"o{o}", answer(scene, question, race, gender, o)) for o in range(orders)
                ]
    table = pl.DataFrame(people, schema=["sample", "set", "scene", "race", "gender"], orient="row")
    rows = pl.DataFrame(answers, schema=["sample", "order", "role"], orient="row")
    return RoleChoices.join(rows, table, cluster="scene", sets="set", treatments=["race", "gender"])


def coin(seed, roles=("target", "other")):
    rng = np.random.default_rng(seed)
    return lambda *_: roles[rng.integers(len(roles))]


def test_differences_flips_and_distances_are_what_a_loop_counts():
    rng = np.random.default_rng(3)
    drawn = {}

    def answer(scene, question, race, gender, order):
        drawn[scene, question, race, gender, order] = role = ROLES[rng.choice(4, p=[0.4, 0.3, 0.2, 0.1])]
        return role

    choices = evidence(answer, scenes=9, questions=2)

    def share(scene, question, race, gender):
        return sum(drawn[scene, question, race, gender, order] == "target" for order in (0, 1)) / 2

    sets = list(itertools.product(range(9), range(2)))
    moved = {
        race: [share(*s, race, "man") - share(*s, race, "woman") for s in sets] for race in ("black", "white")
    }
    difference = set_difference(choices, **GENDER, by="race")
    assert difference.value == pytest.approx(np.mean([*moved["black"], *moved["white"]]))
    assert {p.key: p.value for p in difference.parts} == pytest.approx(
        {r: np.mean(m) for r, m in moved.items()}
    )
    crossed = set_difference(choices, attribute=["race", "gender"], first="black*man", second="white*woman")
    expected = [share(*s, "black", "man") - share(*s, "white", "woman") for s in sets]
    assert crossed.value == pytest.approx(np.mean(expected))
    apart = [abs(d) for values in moved.values() for d in values]
    assert set_distance(choices, attribute="gender").value == pytest.approx(np.mean(apart))

    def answers_of(s, order):
        return [drawn[(*s, *person, order)] for person in PEOPLE]

    flips = [len(set(answers_of(s, order))) > 1 for s in sets for order in (0, 1)]
    pairs = [a != b for s in sets for o in (0, 1) for a, b in itertools.combinations(answers_of(s, o), 2)]
    again = [drawn[(*s, *person, 0)] != drawn[(*s, *person, 1)] for s in sets for person in PEOPLE]
    finding = flip_rate(choices)
    assert finding.value == pytest.approx(np.mean(flips))
    assert finding.details["consistency"] == pytest.approx(1 - np.mean(flips))
    assert finding.details["pair_flips"] == pytest.approx(np.mean(pairs))
    assert finding.details["noise_floor"] == pytest.approx(np.mean(again))


BLIND = {
    "constant": lambda *_: "target",
    "letter": lambda scene, question, race, gender, order: ROLES[order],
    "scene": lambda scene, *_: ROLES[scene % 3],
}


@pytest.mark.parametrize("name", BLIND)
def test_a_model_that_does_not_look_at_the_person_is_exactly_consistent(name):
    choices = evidence(BLIND[name])
    for finding in set_findings(choices, [("gender", "man", "woman"), ("race", "white", "black")]):
        assert finding.value == 0
        assert not is_beyond(finding)
    assert flip_rate(choices).details["consistency"] == 1
    assert any("0 of 20 units differ" in note for note in set_difference(choices, **GENDER).notes)


def test_a_coin_is_consistent_in_an_eighth_of_sets_and_chance_covers_it():
    consistent, covered, beyond = [], 0, 0
    for seed in range(30):
        choices = evidence(coin(seed), orders=1)
        finding = flip_rate(choices)
        consistent.append(finding.details["consistency"])
        covered += finding.null.low <= finding.value <= finding.null.high
        assert finding.p_value is None
        beyond += is_beyond(set_difference(choices, **GENDER)) + is_beyond(
            set_distance(choices, attribute="gender")
        )
    assert np.mean(consistent) == pytest.approx(1 / 8, abs=0.03)
    assert covered >= 26
    assert beyond <= 6  # of 60 at 5 %


def test_a_planted_difference_is_beyond_chance_and_the_reverse_has_its_sign():
    noise = coin(1)

    def answer(scene, question, race, gender, order):
        return noise() if scene < 6 else "target" if gender == "man" else "other"

    choices = evidence(answer)
    found, turned = (
        set_difference(choices, attribute="gender", first=first, second=second)
        for first, second in (("man", "woman"), ("woman", "man"))
    )
    assert found.value > 0.6
    assert is_beyond(found)
    assert found.value > found.mde
    assert turned.value == -found.value
    assert is_beyond(set_distance(choices, attribute="gender"))
    assert not is_beyond(set_difference(choices, attribute="race", first="white", second="black"))


def test_a_bias_whose_direction_changes_is_a_distance_and_no_difference():
    choices = evidence(lambda scene, q, r, gender, o: "target" if (gender == "man") == scene % 2 else "other")
    assert set_difference(choices, **GENDER).value == 0
    distance = set_distance(choices, attribute="gender")
    assert distance.value == 1
    assert distance.chance_at == pytest.approx(2 / 3, abs=0.01)
    assert is_beyond(distance)


def test_six_units_in_one_direction_are_the_fewest_that_are_beyond_chance():
    """Two-sided p of the exchange alone: 2 / 2^6 = .031; of five units .0625."""
    for differing, p in ((5, 0.0625), (6, 0.03125)):
        choices = evidence(
            lambda scene, q, r, gender, o, n=differing: "target" if gender == "man" and scene < n else "other"
        )
        finding = set_difference(choices, **GENDER)
        assert finding.p_value >= p
        assert any("differ; below 6" in note for note in finding.notes) == (differing < 6)


def test_an_incomplete_set_is_listed_and_counts_with_the_pairs_it_has():
    choices = evidence(lambda s, q, race, gender, o: "target" if gender == "man" else "other",
                       scenes=3, without=["00/0/black_man", "01/0/black_man", "01/0/white_man"])  # fmt: skip
    assert choices.incomplete().rows() == [("00/0", 3, 4), ("01/0", 2, 4)]
    assert replace(choices, treatments=()).incomplete().is_empty()
    assert replace(choices, set_=None).incomplete().is_empty()
    finding = set_difference(choices, **GENDER)
    assert (finding.value, finding.details["pairs"]) == (1, 3)
    assert "1 sets have only one of the two and give no pair" in finding.notes
    flips = flip_rate(choices)
    assert flips.details["sets"] == 1
    assert {d.reason: d.count for d in flips.dropped} == {"incomplete set": 2, "no answer": 3}


def test_what_cannot_be_compared_is_refused_with_what_is_possible():
    choices = evidence(lambda *_: "target", scenes=2)
    with pytest.raises(UnknownName, match="'age'; did you mean 'race'"):
        set_difference(choices, attribute="age", first="old", second="young")
    with pytest.raises(UnknownName, match="'boy'"):
        set_difference(choices, attribute="gender", first="boy", second="woman")
    plain = RoleChoices.join(
        pl.DataFrame({"sample": ["a"], "role": ["target"]}), pl.DataFrame({"sample": ["a"]})
    )
    with pytest.raises(InputError, match="sets='COLUMN'"):
        flip_rate(plain)
    with pytest.raises(UnknownName, match="'maybe'"):
        RoleChoices.join(pl.DataFrame({"sample": ["a"], "role": ["maybe"]}), pl.DataFrame({"sample": ["a"]}))


def test_rows_of_a_unit_that_are_alike_count_as_one():
    values = np.repeat([0.0, 1.0, 1.0, 0.0, 1.0, 1.0], 8)
    alone = mean_interval(values, None)["limits"](0.95)
    together = mean_interval(values, np.repeat(np.arange(6), 8))["limits"](0.95)
    assert (alone.low, alone.high) == pytest.approx(wilson(32, 48), abs=0.01)
    few = mean_interval(values[::8], None)["limits"](0.95)
    assert (together.low, together.high) == pytest.approx((few.low, few.high))
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert (alone.method, together.method) == ("Wilson score", "Wilson score, effective size by 6 units")
    assert mean_interval(values, np.zeros(48, dtype=np.int64)) == {}
