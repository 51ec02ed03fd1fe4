"""Dimension pruning: planted dimensions, stops, filters, several tests, and bad input."""

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.mitigate.methods.dimension_pruning import (
    NO_IMPROVEMENT,
    REACHED,
    UNDEFINED,
    ZERO_CROSSING,
    Pruning,
    usual_amount,
)
from evenhand.mitigate.mitigation import MITIGATIONS, Mitigation
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.stats.association.effect_size import associations, effect_size

PLANTED = (5, 17, 40)
TEST = ("X", "Y", "A", "B")
both_strategies = pytest.mark.parametrize("strategy", ["one_shot", "greedy"])


def planted(seed=0, *, size=40, words=30, dimensions=64, strength=1.2, turned=None):
    """Two groups and two sets of words set apart along three dimensions, noise elsewhere."""
    rng = np.random.default_rng(seed)
    targets = rng.normal(size=(2 * size, dimensions))
    attributes = rng.normal(size=(2 * words, dimensions))
    side = np.repeat([1, -1], size)[:, None] * strength
    targets[:, PLANTED] += side
    attributes[:, PLANTED] += np.repeat([1, -1], words)[:, None] * strength
    if turned is not None:
        targets, attributes = targets @ turned, attributes @ turned
    sets = {"X": np.arange(size), "Y": np.arange(size, 2 * size)}
    wordsets = {"A": np.arange(words), "B": np.arange(words, 2 * words)}
    return TrainingVectors(targets, sets, attributes, wordsets, (TEST,))


def association(material, mitigation=None, test=TEST):
    """d of a test, before or after a mitigation, through its own transform."""
    targets, attributes = material.targets, material.attributes
    if mitigation is not None:
        targets = mitigation.transform(targets, material.target_modality)
        attributes = mitigation.transform(attributes, material.attribute_modality)
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (targets, attributes)]
    x, y, a, b = test
    phi = associations(unit[0] @ unit[1].T, material.attribute_sets[a], material.attribute_sets[b])
    return effect_size(phi[material.target_sets[x]], phi[material.target_sets[y]])


@both_strategies
@pytest.mark.parametrize("seed", range(5))
def test_planted_dimensions_are_found(strategy, seed):
    facts = Pruning(remove=3, strategy=strategy).fit(planted(seed)).facts
    assert sorted(facts["dimensions"]) == list(PLANTED)


@both_strategies
def test_planted_dimensions_are_found_first_without_an_amount(strategy):
    facts = Pruning(strategy=strategy).fit(planted()).facts
    assert sorted(facts["dimensions"][:3]) == list(PLANTED)
    assert facts["removed"] <= usual_amount(64)


@both_strategies
def test_the_association_falls_on_items_it_was_not_fitted_on(strategy):
    fitted, others = planted(0), planted(1)
    mitigation = Pruning(remove=3, strategy=strategy).fit(fitted)
    assert association(others) > 1.5
    assert abs(association(others, mitigation)) < 0.45  # two standard errors of no association at 40 v 40


@both_strategies
def test_a_rotation_of_the_embedding_changes_the_answer(strategy):
    """Single dimensions are left out: what a rotation spreads over all of them cannot be found by three."""
    turn, _ = np.linalg.qr(np.random.default_rng(9).normal(size=(64, 64)))
    straight, turned = planted(), planted(turned=turn)
    assert association(turned) == pytest.approx(association(straight), abs=1e-12)
    fitter = Pruning(remove=3, strategy=strategy)
    before, after = fitter.fit(straight), fitter.fit(turned)
    assert sorted(after.facts["dimensions"]) != list(PLANTED)
    assert abs(association(straight, before)) < 0.6
    assert association(turned, after) > 1.2


@both_strategies
def test_the_trajectory_is_what_the_transform_gives(strategy):
    material = planted(strength=0.4)
    fitter = Pruning(remove=12, strategy=strategy, stop_at_zero=False)
    order = fitter.order(material)
    for count in (0, 1, 4, len(order.dimensions)):
        mitigation = fitter.cut(order, count)
        assert mitigation.facts["removed"] == count
        assert mitigation.facts["trajectory"][0][-1] == pytest.approx(
            association(material, mitigation), abs=1e-12
        )
        assert mitigation.transform(material.targets, "image").shape == (80, 64 - count)


@both_strategies
def test_one_order_serves_every_amount(strategy):
    material = planted(strength=0.4)
    fitter = Pruning(remove=20, strategy=strategy, stop_at_zero=False)
    order = fitter.order(material)
    for amount in (0, 1, 7, len(order.dimensions)):
        alone = replace(fitter, remove=amount).fit(material)
        assert alone.facts["dimensions"] == fitter.cut(order, amount).facts["dimensions"]
        assert fitter.cut(order, amount).params == alone.params


@both_strategies
def test_it_stops_where_the_association_changes_its_sign(strategy):
    material = planted(strength=0.3)
    stopped = Pruning(remove=60, strategy=strategy).fit(material).facts
    assert stopped["stopped_because"] in (ZERO_CROSSING, NO_IMPROVEMENT)
    values = np.array(stopped["trajectory"][0])
    assert (values[:-1] > 0).all()
    assert abs(values[-1]) < abs(values[-2])
    further = Pruning(remove=60, strategy=strategy, stop_at_zero=False).order(material)
    assert further.dimensions[: stopped["removed"]] == tuple(stopped["dimensions"])


def test_one_shot_goes_past_zero_if_it_may():
    material = planted(strength=0.3)
    free = Pruning(remove=25, stop_at_zero=False).fit(material)
    assert association(material, free) < -0.5
    assert abs(association(material, Pruning(remove=25).fit(material))) < 0.1


def test_the_side_nearer_to_zero_is_kept():
    for seed in range(6):
        material = planted(seed, strength=0.25)
        facts = Pruning(remove=60).fit(material).facts
        if facts["stopped_because"] == ZERO_CROSSING:
            longer = Pruning(remove=60, stop_at_zero=False).order(material).trajectory[:, 0]
            longer = longer * np.sign(longer[0])
            crossing = int((longer <= 0).argmax())
            nearest = min(crossing - 1, crossing, key=lambda at: abs(longer[at]))
            assert facts["removed"] == nearest


@both_strategies
def test_signed_makes_a_negative_association_larger(strategy):
    """The algorithm as it is printed lowers d itself; of a negative d that is the wrong way."""
    material = planted(strength=0.5)
    swapped = replace(material, tests=(("Y", "X", "A", "B"),))
    base = association(material, test=swapped.tests[0])
    assert base < 0
    signed = Pruning(remove=5, strategy=strategy, objective="signed").fit(swapped)
    absolute = Pruning(remove=5, strategy=strategy).fit(swapped)
    assert association(material, signed, swapped.tests[0]) < base
    assert base < association(material, absolute, swapped.tests[0]) < 0.1
    assert (
        absolute.facts["dimensions"] == Pruning(remove=5, strategy=strategy).fit(material).facts["dimensions"]
    )


@both_strategies
def test_remove_nothing_changes_nothing(strategy):
    material = planted()
    mitigation = Pruning(remove=0, strategy=strategy).fit(material)
    assert mitigation.facts["removed"] == 0
    assert mitigation.facts["dimensions"] == []
    assert mitigation.facts["trajectory"] == [[pytest.approx(association(material))]]
    for modality in ("image", "text"):
        assert mitigation.transform(material.targets, modality).tobytes() == material.targets.tobytes()


def test_it_survives_its_file(tmp_path):
    material = planted()
    mitigation = Pruning(remove=3, strategy="greedy").fit(material)
    mitigation.save(tmp_path / "pruned.safetensors")
    loaded = Mitigation.load(tmp_path / "pruned.safetensors")
    assert loaded.facts == mitigation.facts
    assert (
        loaded.transform(material.targets, "text").tobytes()
        == np.delete(material.targets, PLANTED, axis=1).tobytes()
    )
    assert any("rotation" in line for line in loaded.card()["cannot_promise"])


def several(seed=4):
    """Three groups; X and Z differ along dimension 3, Y and Z along 8, and other words along 11."""
    rng = np.random.default_rng(seed)
    targets, attributes = rng.normal(size=(90, 32)), rng.normal(size=(80, 32))
    for rows, dimension in ((slice(0, 30), 3), (slice(30, 60), 8), (slice(0, 30), 11)):
        targets[rows, dimension] += 2.5
    attributes[:20, [3, 8]] += 2.5
    attributes[40:60, 11] += 2.5
    sets = {name: np.arange(30 * at, 30 * at + 30) for at, name in enumerate("XYZ")}
    words = {name: np.arange(20 * at, 20 * at + 20) for at, name in enumerate("ABCD")}
    tests = (("X", "Z", "A", "B"), ("Y", "Z", "A", "B"), ("X", "Z", "C", "D"))
    return TrainingVectors(targets, sets, attributes, words, tests)


@both_strategies
@pytest.mark.parametrize("pairs", ["joint_mean", "joint_max"])
def test_several_tests_give_one_list(strategy, pairs):
    material = several()
    fitter = Pruning(remove=3, strategy=strategy, pairs=pairs, stop_at_zero=False)
    mitigation = fitter.fit(material)
    if pairs == "joint_mean":  # to lower the worst test alone is no way to all three
        assert sorted(mitigation.facts["dimensions"]) == [3, 8, 11]
    now = [association(material, mitigation, test) for test in material.tests]
    assert [values[-1] for values in mitigation.facts["trajectory"]] == pytest.approx(now, abs=1e-12)
    combined = np.mean(np.abs(now)) if pairs == "joint_mean" else np.max(np.abs(now))
    assert mitigation.facts["objective"][-1] == pytest.approx(combined, abs=1e-12)
    assert np.diff(mitigation.facts["objective"]).max() < 0 or strategy == "one_shot"


@both_strategies
@pytest.mark.parametrize("pairs", ["joint_mean", "joint_max"])
def test_several_tests_stop_at_zero_too(strategy, pairs):
    material = several()
    fitter = Pruning(remove=31, strategy=strategy, pairs=pairs)
    facts = fitter.fit(material).facts
    values = np.array(facts["trajectory"]).T
    steps = list(pairwise(values))
    assert not any(fitter.past_zero(values[0], before, after) for before, after in steps)
    assert fitter.combined(values[-1]) < fitter.combined(values[0])


def test_one_association_is_not_turned_round_to_make_up_for_another():
    base = np.array([1.0, 1.0])
    fitter = Pruning()
    assert fitter.past_zero(base, np.array([0.9, -0.2]), np.array([0.85, -0.4]))
    assert not fitter.past_zero(base, np.array([0.9, -0.2]), np.array([0.5, -0.3]))  # in all there is less
    assert not fitter.past_zero(base, np.array([0.9, 0.1]), np.array([0.95, 0.1]))  # nothing is turned
    assert Pruning(pairs="joint_max").past_zero(base, np.array([0.9, -0.9]), np.array([0.1, -1.0]))


def shortened(material, gone):
    keep = [k for k in range(material.dimensions) if k not in gone]
    return replace(material, targets=material.targets[:, keep], attributes=material.attributes[:, keep])


def written_down(material, fitter):
    """Greedy and one-shot pruning as one writes them down: every d computed anew."""

    def objective(gone):
        return float(
            fitter.combined(np.array([association(shortened(material, gone), test=t) for t in tests]))
        )

    tests, gone, now = material.tests, [], np.inf
    left = set(range(material.dimensions))
    if fitter.strategy == "one_shot":
        base = objective([])
        values = {k: objective([k]) for k in left}
        return sorted((k for k in left if values[k] < base), key=values.get)[: fitter.remove]
    now = objective([])
    while len(gone) < fitter.remove:
        values = {k: objective([*gone, k]) for k in left - set(gone)}
        best = min(values, key=values.get)
        if values[best] >= now:
            break
        gone, now = [*gone, best], values[best]
    return gone


@both_strategies
@pytest.mark.parametrize("pairs", ["joint_mean", "joint_max"])
@pytest.mark.parametrize("objective", ["absolute", "signed"])
def test_several_tests_against_every_one_computed_anew(strategy, pairs, objective):
    material = several(7)
    material = shortened(material, range(12, 32))
    fitter = Pruning(remove=6, strategy=strategy, pairs=pairs, objective=objective, stop_at_zero=False)
    assert list(fitter.order(material).dimensions) == written_down(material, fitter)


def with_labels(seed=0):
    """Labels that must stay recognisable: told by dimensions 20 to 29, and by one planted one."""
    material = planted(seed)
    labels = np.tile([0, 1], 40)
    targets = material.targets.copy()
    targets[:, 20:30] += 3 * labels[:, None]
    targets[:, 5] += 3 * labels
    return replace(material, targets=targets, labels=labels)


@pytest.mark.parametrize("information", ["auto", "binned", "knn"])
def test_dimensions_that_tell_much_about_the_labels_stay(information):
    fitter = Pruning(remove=30, information=information, quantile=0.8, stop_at_zero=False)
    facts = fitter.fit(with_labels()).facts
    assert not {5, *range(20, 30)} & set(facts["dimensions"])
    assert {17, 40} <= set(facts["dimensions"])
    assert facts["information"] == ("binned" if information == "auto" else information)
    assert facts["labels"] == "given"
    assert 51 <= facts["within_threshold"] <= 64 - 11
    assert facts["candidates"] <= facts["within_threshold"]
    assert facts["threshold"] is not None


def test_without_labels_there_is_no_filter():
    facts = Pruning(remove=3).fit(planted()).facts
    assert (facts["information"], facts["threshold"], facts["labels"]) == ("none", None, None)
    assert facts["within_threshold"] == 64


def test_the_groups_as_labels_protect_what_sets_them_apart():
    """The reason why no filter is the default where no labels are given."""
    facts = Pruning(remove=3, information="binned").fit(planted()).facts
    assert facts["labels"] == "groups"
    assert not set(PLANTED) & set(facts["dimensions"])


def test_a_label_below_zero_is_none():
    material = with_labels()
    some = material.labels.copy()
    some[::5] = -1
    assert Pruning(remove=3).fit(replace(material, labels=some)).facts["labels"] == "given"
    with pytest.raises(InputError, match="at least two different labels"):
        Pruning().fit(replace(material, labels=np.full(80, -1)))


def test_a_vector_with_a_label_must_be_a_vector():
    """Items outside the sets of the tests count in the filter."""
    material = with_labels()
    broken_row = material.targets.copy()
    broken_row[79] = np.inf
    sets = {"X": np.arange(40), "Y": np.arange(40, 79)}
    with pytest.raises(InputError, match="NaN or infinity"):
        Pruning().fit(replace(material, targets=broken_row, target_sets=sets))


def test_a_threshold_in_nats():
    material = with_labels()
    none = Pruning(remove=3, threshold=-1.0).fit(material).facts
    assert (none["removed"], none["within_threshold"], none["candidates"]) == (0, 0, 0)
    assert none["stopped_because"] == NO_IMPROVEMENT
    everything = Pruning(remove=3, threshold=9.0).fit(material).facts
    assert everything["within_threshold"] == 64
    assert everything["threshold"] == 9.0
    assert sorted(everything["dimensions"]) == list(PLANTED)


@both_strategies
def test_fewer_candidates_than_asked_for_are_said(strategy):
    facts = Pruning(remove=63, strategy=strategy, quantile=0.1, stop_at_zero=False).fit(with_labels()).facts
    assert facts["asked"] == 63
    assert facts["removed"] <= facts["within_threshold"] < 20
    assert facts["stopped_because"] == NO_IMPROVEMENT


def test_all_dimensions_asked_for_are_reached():
    assert Pruning(remove=3).fit(planted()).facts["stopped_because"] == REACHED


def test_an_item_that_would_lose_its_length_stops_it():
    material = planted()
    targets = material.targets.copy()
    targets[3] = 0
    targets[3, list(PLANTED)] = 1
    facts = Pruning(remove=3, stop_at_zero=False).fit(replace(material, targets=targets)).facts
    assert facts["removed"] == 2
    assert facts["stopped_because"] == UNDEFINED


def test_single_precision_finds_the_same():
    material = planted(strength=0.5)
    double, single = (Pruning(remove=6, precision=p).fit(material) for p in ("float64", "float32"))
    assert double.facts["dimensions"] == single.facts["dimensions"]


def test_the_material_stays_as_it_is():
    material = planted()
    before = material.targets.tobytes(), material.attributes.tobytes()
    Pruning(remove=6, strategy="greedy").fit(material)
    assert (material.targets.tobytes(), material.attributes.tobytes()) == before


def test_the_usual_amount_is_that_of_the_paper():
    assert usual_amount(512) == 54
    assert usual_amount(2) == 1
    assert usual_amount(1) == 0


def test_it_is_registered_and_every_parameter_has_help():
    assert MITIGATIONS.get("pruning") is Pruning
    assert all(rule.metadata["help"] for rule in fields(Pruning))


@pytest.mark.parametrize(
    "wrong",
    [
        {"remove": -1},
        {"strategy": "beam"},
        {"objective": "square"},
        {"pairs": "each"},
        {"information": "kde"},
        {"quantile": 0.0},
        {"quantile": 1.5},
        {"threshold": float("nan")},
        {"precision": "float16"},
    ],
)
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ParameterError, match="not possible") as problem:
        Pruning(**wrong)
    assert "\n" not in str(problem.value)


def test_all_dimensions_cannot_go():
    with pytest.raises(ParameterError, match="give 0 to 63"):
        Pruning(remove=64).fit(planted())


def broken(**changes):
    material = planted()
    changed = {name: change(getattr(material, name)) for name, change in changes.items()}
    return replace(material, **changed)


def replaced(row, value):
    def change(vectors):
        vectors = vectors.copy()
        vectors[row] = value
        return vectors

    return change


@pytest.mark.parametrize(
    ("material", "says"),
    [
        (broken(tests=lambda _: ()), "no association to lower"),
        (broken(target_sets=lambda sets: {**sets, "X": sets["X"][:0]}), "'X' has 0 usable items"),
        (broken(target_sets=lambda sets: {**sets, "Y": sets["Y"][:1]}), "give at least 2"),
        (broken(attribute_sets=lambda sets: {**sets, "B": sets["B"][:0]}), "'B' has 0 usable items"),
        (broken(targets=replaced(4, 0.0)), "'X' has vectors of length 0"),
        (broken(attributes=replaced(4, np.nan)), "'A' has vectors with NaN"),
        (broken(attributes=lambda rows: rows[:, :40]), "64 dimensions and attributes 40"),
        (broken(targets=np.ones_like), "no spread"),
        (broken(targets=lambda rows: rows[0]), "give \\(items, dimensions\\)"),
        (broken(labels=lambda _: np.zeros(7, dtype=int)), "80 targets and labels of shape"),
    ],
)
def test_bad_input_is_refused_in_one_line(material, says):
    with pytest.raises(InputError, match=says) as problem:
        Pruning().fit(material)
    assert "\n" not in str(problem.value)


def test_a_set_that_does_not_exist_is_named():
    with pytest.raises(UnknownName, match="no set of attributes 'C'"):
        Pruning().fit(replace(planted(), tests=(("X", "Y", "A", "C"),)))
