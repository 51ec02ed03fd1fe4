"""Tables of what changed between two models: order, bounds, flips and other answers, against the rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand.core.cards import Source
from evenhand.core.findings import Finding, Interval, Null, Part
from evenhand.evidence.derivation.paired import match
from evenhand.metrics.differences import changes
from evenhand.metrics.differences.changes import Changes, _bounded
from evenhand.metrics.differences.models import model_differences

ROWS = 700


def rows():
    """``(truth, group, first, second)`` of every sample."""
    rng = np.random.default_rng(0)
    truth, group = rng.integers(0, 5, ROWS), rng.integers(0, 3, ROWS)
    both = []
    for shift in (1, 2):
        wrong = np.where(rng.random(ROWS) < 0.7, (truth + shift) % 5, rng.integers(0, 5, ROWS))
        both.append(
            np.where(rng.random(ROWS) < np.where((truth == 1) & (shift == 1), 0.2, 0.6), truth, wrong)
        )
    return [tuple(map(int, row)) for row in zip(truth, group, *both, strict=True)]


def joined():
    truth, group, *both = zip(*rows(), strict=True)
    shared = {"sample": [str(i) for i in range(ROWS)], "truth": [f"c{y}" for y in truth],
              "group": [f"g{z}" for z in group]}  # fmt: skip
    tables = [pl.DataFrame({**shared, "prediction": [f"c{one}" for one in said]}) for said in both]
    return match(tables, ["group"], ["a", "b"]).counts(["group"])


@pytest.fixture(scope="module")
def differences():
    return model_differences(joined(), by="group", names=("a", "b"))


def collect(differences, comparisons=1):
    collected = Changes(comparisons)
    return collected.add_pair(differences, joined(), ["group"], ("a", "b")), collected.tables()


def sign_test(gained, lost):
    return 1.0 if gained + lost == 0 else stats.binomtest(gained, gained + lost).pvalue


def flipped(select):
    """Gained and lost of each key of the rows."""
    counts = {}
    for row in rows():
        n, gained, lost = counts.get(select(row), (0, 0, 0))
        first, second = row[2] == row[0], row[3] == row[0]
        counts[select(row)] = n + 1, gained + (first and not second), lost + (second and not first)
    return counts


def holm(p):
    order = sorted(p, key=p.get)
    adjusted, largest = {}, 0.0
    for place, key in enumerate(order):
        largest = max(largest, min(1.0, p[key] * (len(p) - place)))
        adjusted[key] = largest
    return adjusted


def test_flips_are_counted_of_groups_and_then_of_groups_and_classes_by_their_p(differences):
    table = collect(differences)[1]["flips"]
    groups, cells = flipped(lambda row: row[1]), flipped(lambda row: (row[1], row[0]))
    whole, inside = table.filter(pl.col("class").is_null()), table.filter(pl.col("class").is_not_null())
    assert table.columns[:3] == ["by", "model", "reference"]
    assert set(table.select("by", "model", "reference").iter_rows()) == {("group", "a", "b")}
    assert whole["group"].to_list() == ["g0", "g1", "g2"]
    assert inside.height == len([1 for _, gained, lost in cells.values() if gained + lost])
    for part, counts, key_of in (
        (whole, groups, lambda one: int(one["group"][1:])),
        (inside, cells, lambda one: (int(one["group"][1:]), int(one["class"][1:]))),
    ):
        adjusted = holm({key: sign_test(gained, lost) for key, (_, gained, lost) in counts.items()})
        for one in part.to_dicts():
            n, gained, lost = counts[key_of(one)]
            assert (one["n"], one["n_gained"], one["n_lost"]) == (n, gained, lost)
            assert one["p"] == pytest.approx(sign_test(gained, lost))
            assert one["p_adjusted"] == pytest.approx(adjusted[key_of(one)])
    order = [(round(one["p"], 12), -one["n_gained"] - one["n_lost"]) for one in inside.to_dicts()]
    assert order == sorted(order)


def test_other_answers_are_the_most_frequent_of_each_group(differences, monkeypatch):
    pairs = Counter((row[1], *(f"c{row[i]}" for i in (0, 2, 3))) for row in rows() if row[2] != row[3])
    table = collect(differences)[1]["answer_changes"]
    assert table.columns == list(changes.ANSWERS)
    told = {
        (int(one["group"][1:]), one["truth"], one["first"], one["second"]): one["n"]
        for one in table.to_dicts()
    }
    assert told == pairs
    assert table["n"].to_list() == sorted(pairs.values(), reverse=True)
    monkeypatch.setattr(changes, "MOST_CELLS", 40)
    monkeypatch.setattr(changes, "_LEAST", 21)
    for comparisons, most in ((2, 7), (1, 13), (4, 7)):  # 20, at least 21, and 40, over three groups
        few = collect(differences, comparisons)[1]
        assert few["answer_changes"].group_by("group").len()["len"].to_list() == [most] * 3
        assert few["flips"].height == 3 + min(max(40 // comparisons, 21), 15)
        for group in range(3):
            largest = sorted((n for key, n in pairs.items() if key[0] == group), reverse=True)[:most]
            assert few["answer_changes"].filter(group=f"g{group}")["n"].to_list() == largest
    monkeypatch.setattr(changes, "_LEAST", 3)
    least = collect(differences, 20)[1]
    assert least["answer_changes"].height == 15  # 5 of each group
    assert least["flips"].height == 3 + 3


def part(key, p=None, adjusted=None, value=0.5, kind="class", **more):
    return Part(kind=kind, key=key, value=value, p_value=p, p_adjusted=adjusted, **{"n": 1.0, **more})


def difference(name, parts, **more):
    fixed = {
        "metric": "m",
        "value": 0.1,
        "n": 9.0,
        "direction": "lower is fairer",
        "source": Source(paper="p"),
    }
    return Finding(name=name, parts=parts, **fixed, **more)


def test_parts_stand_with_the_surest_first():
    parts = [
        part("nothing", value=None, reason="undefined"), part("value"), part("large", value=-0.9),
        part("p", 0.3), part("adjusted", 0.3, 0.9), part("surer", 0.2, 0.9), part("surest", 0.04, 0.1),
        part(["x", "y"], 0.3, 0.9),
    ]  # fmt: skip
    finding = difference("accuracy_difference", parts)
    collected = Changes(1)
    assert collected.add_pair([finding], (joined(), joined()), ["group"], ("a", "b")) == [finding]
    table = collected.tables()["changes"]
    order = ["surest", "surer", "adjusted", "x × y", "p", "large", "value", "nothing"]
    assert table["key"].to_list() == order
    assert set(table["measure"]) == {"accuracy"}
    assert set(collected.tables()) == {"changes"}


def test_a_row_of_changes_has_all_that_its_part_says():
    one = part(
        "c1", 0.01, 0.02, n=40.0, corrected=0.4, interval=Interval(low=0.1, high=0.6, level=0.95, method="i"),
        null=Null(mean=0.0, low=-0.2, high=0.3, level=0.95, method="n"),
        details={"q_value": 0.03, "first": 0.7, "second": 0.2, "n_gained": 9.0, "n_lost": 2.0},
    )  # fmt: skip
    finding = difference("cramers_v_mean_difference", [one])
    collected = Changes(1)
    collected.add_pair([finding], (joined(), joined()), ["group", "x"], ("a", "b"))
    assert collected.tables()["changes"].row(0) == (
        "group+x", "a", "b", "cramers_v", "class", "c1", 0.5, 0.4, 0.1, 0.6, 0.95, -0.2, 0.3, 0.01, 0.02,
        0.03, 0.7, 0.2, 40.0, 9.0, 2.0, None,
    )  # fmt: skip


def test_findings_keep_groups_and_the_surest_parts_in_their_order(monkeypatch):
    parts = [*(part(f"c{i}", 0.1 * i, 0.1 * i) for i in (3, 1, 4, 2)), part("g", 0.9, 0.9, kind="group")]
    finding = difference("accuracy_difference", parts, details={"x": 1.0})
    assert _bounded(finding, 5) is finding
    few = _bounded(finding, 3)
    assert [one.key for one in few.parts] == ["c1", "c2", "g"]
    assert few.details == {"x": 1.0, "parts_left_out": 2.0}
    monkeypatch.setattr(changes, "MOST_PARTS", 16)
    monkeypatch.setattr(changes, "_LEAST", 1)
    for comparisons, most in ((1, 5), (2, 4), (4, 2), (100, 1)):
        (told,) = Changes(comparisons).add_pair([finding], (joined(), joined()), ["group"], ("a", "b"))
        assert len(told.parts) == most
