"""precision_at_k and precision_gap: chance, queries apart, ties, clusters, and what cannot be compared."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from evenhand import metrics
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.findings import Finding
from evenhand.core.significance import significance_of
from evenhand.evidence.neighbours import Neighbours


def side(prefix, **columns):
    count = len(next(iter(columns.values())))
    return pl.DataFrame({"sample": [f"{prefix}{i:04d}" for i in range(count)], **columns})


def planted(strength, *, n=300, m=2000, share=0.5, seed=0):
    """Vectors that hold the attribute as strongly as said, for each gender of the query; else noise."""
    rng = np.random.default_rng(seed)
    db, asked = rng.random(m) < share, np.arange(n) % 2 == 0
    name = lambda flags: np.where(flags, "female", "male").tolist()  # noqa: E731
    sign = lambda flags: np.where(flags, 1.0, -1.0)[:, None]  # noqa: E731
    held = np.where(asked, strength[0], strength[1])[:, None]
    database = rng.standard_normal((m, 8))
    database[:, :1] += max(strength) * sign(db)
    queries = rng.standard_normal((n, 8))
    queries[:, :1] += held * sign(asked)
    left, right = side("q", gender=name(asked)), side("d", gender=name(db))
    return Neighbours.from_vectors(queries, database, left, right, k=50)


def listed(ids, query, database, k=1):
    """Neighbours as given, by position."""
    ids = np.array(ids)
    cosines = np.tile(np.linspace(0.9, 0.1, ids.shape[1], dtype=np.float32), (len(ids), 1))
    left, right = side("q", **query), side("d", **database)
    return Neighbours(left, right, ids, cosines, k)


def check(finding):
    text = finding.model_dump_json()
    json.loads(text, parse_constant=pytest.fail)
    assert Finding.model_validate_json(text) == finding
    assert sum(group.n for group in finding.groups) == (finding.n if finding.by else 0)
    for each in (finding, *finding.parts):
        if each.value is None:
            assert each.reason
            assert each.interval is None
        elif each.interval:
            assert each.interval.low <= each.value <= each.interval.high


def test_precision_is_the_share_of_neighbours_that_match():
    found = listed(
        [[0, 1, 2], [3, 2, 1], [0, 3, 1]],
        {"gender": ["f", "m", "m"], "skin": ["l", "l", "d"]},
        {"gender": ["f", "f", "m", "m"]},
        k=3,
    )
    finding = metrics.precision_at_k(found, match="gender", by="skin", k=2)
    check(finding)
    assert finding.value == pytest.approx((2 / 2 + 2 / 2 + 1 / 2) / 3)
    assert {part.key: part.value for part in finding.parts} == {"l": 1.0, "d": 0.5}
    assert finding.metric == "precision_at_k(by=skin, k=2, match=gender)"
    assert finding.details == {"chance": 0.5, "above_chance": pytest.approx(1 / 3)}


@pytest.mark.slow
def test_a_model_that_does_not_know_the_attribute_is_at_chance(monkeypatch):
    for name in ("_FEWEST", "_MOST"):  # draws enough for a band
        monkeypatch.setattr(f"evenhand.stats.rankings.neighbour_labels.{name}", 199)
    inside = []
    for seed in range(20):
        finding = metrics.precision_at_k(
            planted((0, 0), n=60, m=1000, share=0.3, seed=seed), match="gender", by="gender", k=10
        )
        inside.append([part.null.low <= part.value <= part.null.high for part in finding.parts])
        assert finding.parts[0].details["chance"] == pytest.approx(0.3, abs=0.05)
        assert finding.parts[1].details["chance"] == pytest.approx(0.7, abs=0.05)
    assert np.sum(inside) >= 33  # of 40; fewer by chance once in 1,000


def test_a_model_that_knows_it_is_far_above():
    finding = metrics.precision_at_k(planted((3, 3)), match="gender", by="gender", k=10)
    check(finding)
    assert finding.value > 0.95
    assert finding.p_value == 0.001  # the least that 999 exchanges give
    assert all(part.p_adjusted == 0.002 for part in finding.parts)
    assert finding.interval.low < finding.value < finding.interval.high


@pytest.mark.parametrize("k", [1, 5, 50])
def test_a_gap_is_found_and_named(k):
    found = planted((2, 0.5), n=600)
    finding = metrics.precision_gap(found, match="gender", by="gender", k=k)
    check(finding)
    parts = metrics.precision_at_k(found, match="gender", by="gender", k=k, inference="none").parts
    values = {part.key: part.value for part in parts}
    assert finding.value == pytest.approx(values["female"] - values["male"])
    assert (finding.details["highest"], finding.details["lowest"]) == ("female", "male")
    assert finding.p_value < 0.01
    assert finding.interval.low > 0


def test_no_gap_is_not_found():
    finding = metrics.precision_gap(planted((1, 1)), match="gender", by="gender", k=10)
    assert finding.p_value > 0.05
    assert finding.interval.low == 0
    assert finding.null.low <= finding.value <= finding.null.high


def test_the_mix_of_the_database_alone_makes_a_gap_and_is_told():
    finding = metrics.precision_gap(planted((0, 0), share=0.2), match="gender", by="gender", k=10)
    assert finding.details["gap_by_chance"] == pytest.approx(0.6, abs=0.05)
    assert finding.details["gap_above_chance"] < 0.15
    assert any("random neighbours from this database" in note for note in finding.notes)


def test_queries_that_cannot_match_stand_apart_and_paper_mode_counts_them_as_0():
    found = listed(
        [[0, 1], [1, 0], [0, 1], [0, 1], [1, 0]],
        {"gender": ["f", "m", "other", "unknown", None], "skin": ["l", "l", "l", "d", "d"]},
        {"gender": ["f", "m"]},
    )
    finding = metrics.precision_at_k(found, match="gender", by=["gender", "skin"], k=1)
    check(finding)
    assert (finding.value, finding.n) == (1, 2)
    assert {each.reason: each.count for each in finding.dropped} == {
        "gender not in the database": 1, "missing gender": 1, "unknown gender": 1,
    }  # fmt: skip
    apart = {tuple(part.key): (part.value, part.reason, part.n) for part in finding.parts[2:]}
    assert apart == {
        ("other", "l"): (None, "not in the database", 1), ("unknown", "d"): (None, "not in the database", 1),
    }  # fmt: skip
    by_skin = metrics.precision_at_k(found, match="gender", by="skin", k=1)
    assert [(part.key, part.value) for part in by_skin.parts] == [("l", 1), ("d", None)]
    paper = metrics.precision_at_k(found, match="gender", by="gender", k=1, mode="paper")
    assert (paper.value, paper.n) == (0.5, 4)
    assert {part.key: part.value for part in paper.parts} == {"f": 1, "m": 1, "other": 0, "unknown": 0}


def test_unknown_matches_nobody_even_where_the_database_has_it():
    found = listed([[0, 1], [1, 0]], {"gender": ["f", "unknown"]}, {"gender": ["f", "unknown"]})
    finding = metrics.precision_at_k(found, match="gender", k=1)
    assert (finding.value, finding.n) == (1, 1)
    assert finding.notes == ["1 database samples have no known gender; they count as a mismatch"]


def test_unknown_groups_are_kept_apart_or_excluded():
    found = listed(
        [[0, 1], [1, 0], [0, 1]],
        {"gender": ["f", "m", "f"], "age": ["18-30", "30-45", "unknown"]},
        {"gender": ["f", "m"]},
    )
    kept = metrics.precision_at_k(found, match="gender", by="age", k=1)
    assert [part.key for part in kept.parts] == ["18-30", "30-45", "unknown"]
    gap = metrics.precision_gap(found, match="gender", by="age", k=1)
    assert any("their group is not known: unknown" in note for note in gap.notes)
    out = metrics.precision_at_k(found, match="gender", by="age", k=1, unknown="exclude")
    assert (out.n, [part.key for part in out.parts]) == (2, ["18-30", "30-45"])
    assert [(each.reason, each.count) for each in out.dropped] == [("unknown age", 1)]


def test_several_attributes_can_have_to_match_at_once():
    found = listed(
        [[0, 1, 2], [0, 1, 2]],
        {"gender": ["f", "f"], "race": ["x", "y"]},
        {"gender": ["f", "m", "f"], "race": ["x", "y", "y"]},
        k=3,
    )
    finding = metrics.precision_at_k(found, match=["gender", "race"], by="race", k=1)
    assert {part.key: part.value for part in finding.parts} == {"x": 1, "y": 0}
    assert finding.params["match"] == "gender+race"
    assert finding.details["chance"] == pytest.approx(1 / 3)


def test_ties_are_averaged_and_counted():
    same = np.ones((6, 4))
    database = side("d", gender=["f"] * 3 + ["m"] * 3)
    found = Neighbours.from_vectors(same[:1], same, side("q", gender=["f"]), database, k=2)
    finding = metrics.precision_at_k(found, match="gender", k=1)
    assert finding.value == pytest.approx(0.5)
    assert any(note.startswith("1 queries have equally near samples at place 1") for note in finding.notes)
    assert metrics.precision_at_k(found, match="gender", k=1, mode="paper").value == 1


def test_a_model_that_maps_all_to_one_vector_is_not_estimated():
    same = np.ones((200, 4))
    left, right = side("q", gender=["f", "m"] * 5), side("d", gender=["f"] * 100 + ["m"] * 100)
    found = Neighbours.from_vectors(same[:10], same, left, right, k=10)
    for metric in (metrics.precision_at_k, metrics.precision_gap):
        finding = metric(found, match="gender", by="gender", k=10)
        check(finding)
        assert (finding.value, finding.reason) == (None, "no_usable_query")
        assert [(each.reason, each.count) for each in finding.dropped] == [
            ("more samples equally near than were looked at", 10)
        ]


def test_more_than_the_database_holds_is_not_estimated():
    found = Neighbours.from_vectors(
        np.eye(4), np.eye(4)[:3], side("q", gender=["f", "m", "f", "m"]), side("d", gender=["f", "m", "m"])
    )
    finding = metrics.precision_at_k(found, match="gender", by="gender", k=10)
    check(finding)
    assert (finding.value, finding.reason) == (None, "k_exceeds_pool")
    paper = metrics.precision_at_k(found, match="gender", by="gender", k=10, mode="paper")
    check(paper)
    assert paper.value == pytest.approx((1 + 2 + 1 + 2) / 40)
    assert paper.null.mean == pytest.approx(paper.details["chance"]) == pytest.approx(0.15)


def test_no_query_and_no_value_in_common():
    gone = listed([[0]], {"gender": [None]}, {"gender": ["f"]})
    assert metrics.precision_at_k(gone, match="gender", k=1).reason == "no_usable_query"
    apart = listed([[0]], {"gender": ["unknown"]}, {"gender": ["f"]})
    assert metrics.precision_at_k(apart, match="gender", k=1).reason == "not in the database"
    one = listed([[0], [0]], {"gender": ["f", "f"]}, {"gender": ["f"]})
    assert metrics.precision_gap(one, match="gender", by="gender", k=1).reason == "single_group"


def test_intervals_heed_subjects():
    n, alike = 400, 8
    subjects = [f"s{i // (2 * alike)}{i % 2}" for i in range(n)]  # a subject has one gender
    rng = np.random.default_rng(0)
    base = np.repeat(rng.standard_normal((n // alike, 8)), alike, axis=0)
    order = np.argsort(np.argsort([int(s[1:-1]) * 2 + int(s[-1]) for s in subjects], kind="stable"))
    queries = base[order] + 0.01 * rng.standard_normal((n, 8))
    database = rng.standard_normal((1000, 8))
    left = side("q", gender=["f", "m"] * (n // 2), subject=subjects)
    right = side("d", gender=np.where(database[:, 0] > 0, "f", "m").tolist())
    widths = []
    for cluster in (None, "subject"):
        found = Neighbours.from_vectors(queries, database, left, right, k=10, cluster=cluster)
        interval = metrics.precision_at_k(found, match="gender", by="gender", k=10).interval
        widths.append(interval.high - interval.low)
        assert ("50 values of subject" in interval.method) == (cluster is not None)
        check(metrics.precision_gap(found, match="gender", by="gender", k=10))
    # without subjects the variance sees that queries share neighbours, but not that they are of one person
    assert 1.5 < widths[1] / widths[0] < np.sqrt(alike) * 1.15


def found_among(groups, database, seed, *, width=3, subjects=None, k=10):
    """Random vectors: nobody's label shows in them."""
    rng = np.random.default_rng(seed)
    left, right = side("q", gender=groups), side("d", gender=database)
    sizes = len(groups), len(database)
    if subjects is not None:
        left, right = (
            table.with_columns(subject=pl.Series(names))
            for table, names in zip((left, right), subjects, strict=True)
        )
    queries, held = (rng.standard_normal((size, width)) for size in sizes)
    return Neighbours.from_vectors(
        queries, held, left, right, k=k, cluster="subject" if subjects is not None else None
    )


def test_random_vectors_in_an_unbalanced_database_are_at_chance():
    """Only queries used to be exchanged: a gap of .158 by the mix of the database had p < .001."""
    found = found_among(["f", "m"] * 60, ["f"] * 122 + ["m"] * 78, 0)
    gap = metrics.precision_gap(found, match="gender", by="gender", k=10)
    assert gap.value > 0.15
    assert gap.chance_at == pytest.approx(0.22)
    assert gap.p_value > 0.05
    assert gap.interval.low <= 0.22
    assert not significance_of(gap).beyond


def test_a_hub_in_a_balanced_database_makes_no_verdict():
    """All queries find the same ten samples, eight of one gender; labels of queries alone gave p < .001."""
    groups, database = ["f", "m"] * 40, ["f"] * 30 + ["m"] * 30
    hubs = [*range(8), 30, 31]
    found = listed([hubs] * 80, {"gender": groups}, {"gender": database}, k=10)
    gap = metrics.precision_gap(found, match="gender", by="gender", k=10)
    assert gap.value == pytest.approx(0.6)
    assert gap.p_value > 0.05
    assert gap.interval.low == 0


def test_persons_in_the_database_change_places_as_a_whole():
    """Pictures of the database used to be taken singly: of 6 persons x 20, each query finds one person."""
    database = ["f"] * 60 + ["m"] * 60
    persons = [f"d{number // 20}" for number in range(120)]
    groups = ["f", "m"] * 10
    ids = [[20 * (query % 2 * 3) + place for place in range(10)] for query in range(20)]
    rows = {"gender": groups, "subject": [f"q{number % 4}" for number in range(20)]}
    for cluster, p_low in ((None, True), ("subject", False)):
        held = {"gender": database, **({"subject": persons} if cluster else {})}
        found = replace(listed(ids, rows, held, k=10), cluster=cluster)
        finding = metrics.precision_at_k(found, match="gender", k=10)
        assert finding.value == 1
        assert (finding.p_value <= 0.001) == p_low
        assert p_low or finding.p_value > 0.05


@pytest.mark.parametrize(
    ("left", "right", "match"),
    [
        (["18-30", "30-45", "<18"], ["0-2", "10-19", "20-29"], "divided differently .*'18-30' and '10-19'"),
        (["18-30", "30-45"], ["13-30", "30-45"], "'18-30' and '13-30' overlap"),
        (["70+", "30-45"], ["45+", "30-45"], r"'70\+' and '45\+' overlap"),
        (["Female"], ["female"], "share no value of 'age' .'Female'; 'female'."),
    ],
)
def test_values_that_mean_something_else_are_refused(left, right, match):
    found = listed([[0]] * len(left), {"age": left}, {"age": right})
    with pytest.raises(InputError, match=match):
        metrics.precision_at_k(found, match="age", k=1)


def test_ranges_that_agree_are_accepted():
    found = listed([[0], [1]], {"age": ["18-30", "70+"]}, {"age": ["18-30", "30-45"]})
    assert metrics.precision_at_k(found, match="age", k=1).value == 1


def test_equal_seeds_give_equal_bytes_and_query_order_does_not_matter():
    rng = np.random.default_rng(0)
    q, d = rng.standard_normal((60, 8)), rng.standard_normal((300, 8))
    left, right = side("q", gender=["f", "m", "m"] * 20), side("d", gender=["f", "m"] * 150)
    order = rng.permutation(60)
    pieces = [
        Neighbours.from_vectors(q, d, left, right, k=5),
        Neighbours.from_vectors(q[order], d, left[order.tolist()], right, k=5),
    ]
    texts = {
        metric(found, match="gender", by="gender", k=5, seed=1).model_dump_json()
        for found in pieces
        for metric in (metrics.precision_gap,)
    }
    assert len(texts) == 1
    assert len({metrics.precision_at_k(p, match="gender", k=5).model_dump_json() for p in pieces}) == 1


def test_what_does_not_exist_is_refused():
    found = listed([[0]], {"gender": ["f"], "skin": ["l"]}, {"gender": ["f"]})
    with pytest.raises(UnknownName, match="no attribute of both sides 'skin'"):
        metrics.precision_at_k(found, match="skin", k=1)
    with pytest.raises(UnknownName, match="no attribute of the queries 'skn'; did you mean 'skin'"):
        metrics.precision_at_k(found, match="gender", by="skn", k=1)
    with pytest.raises(ParameterError, match="k=2 is not possible; these Neighbours hold 1"):
        metrics.precision_at_k(found, match="gender", k=2)
    with pytest.raises(ParameterError, match="match="):
        metrics.precision_at_k(found, match=[], k=1)
    with pytest.raises(InputError, match="takes Neighbours, not DataFrame"):
        metrics.precision_at_k(pl.DataFrame(), match="gender")
    with pytest.raises(ParameterError, match="mode="):
        metrics.precision_at_k(found, match="gender", k=1, mode="fast")


def test_what_the_database_lacks_is_no_lowest_group_in_paper_mode():
    r, count = np.random.default_rng(0), 60
    asked = pl.DataFrame(
        {"sample": [f"q{i}" for i in range(count)], "gender": ["female", "male", "other"] * 20}
    )
    held = pl.DataFrame({"sample": [f"d{i}" for i in range(count)], "gender": ["female", "male"] * 30})
    found = Neighbours.from_vectors(r.normal(size=(count, 3)), r.normal(size=(count, 3)), asked, held, k=5)
    rate = metrics.precision_at_k(found, match="gender", by="gender", k=5, mode="paper")
    gap = metrics.precision_gap(found, match="gender", by="gender", k=5, mode="paper")
    values = {part.key: part.value for part in rate.parts}
    assert values["other"] == 0
    assert gap.value == pytest.approx(abs(values["female"] - values["male"]))
    assert "not compared, because the database has nobody like them: other" in gap.notes
