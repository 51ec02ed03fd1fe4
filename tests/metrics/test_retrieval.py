"""Retrieval findings: what they hold, what is left out and counted, and whether intervals are right."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from evenhand import metrics
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.rankings import Rankings
from evenhand.metrics.catalogue import known_cards
from tests.helpers import predictions
from tests.properties.metric_table import check_finding

CARDS = known_cards()

FIGURES = {
    "bias_at_k": {"k": 5},
    "skew_at_k": {"k": 5, "group": "f"},
    "max_skew_at_k": {"k": 5},
    "min_skew_at_k": {"k": 5},
    "ndkl": {},
}
each_figure = pytest.mark.parametrize("name", FIGURES)


def frame(queries=23, men=10, women=10, seed=0, decimals=9, shift=0.0):
    """Random scores of balanced pools; ``shift`` lifts the men's."""
    rng = np.random.default_rng(seed)
    size = men + women
    gender = np.tile(["m"] * men + ["f"] * women, queries)
    scores = rng.normal(size=queries * size) + shift * (gender == "m")
    return pl.DataFrame(
        {
            "query": np.repeat([f"q{i:02d}" for i in range(queries)], size),
            "sample": [f"s{i}" for i in range(queries * size)],
            "score": scores.round(decimals),
            "gender": gender,
            "age": rng.choice(["old", "young", "middle"], queries * size),
        }
    )


def ask(name, table, by="gender", **more):
    evidence = table if isinstance(table, Rankings) else Rankings.from_frame(table)
    return getattr(metrics, name)(evidence, by=by, **{**FIGURES[name], **more})


@pytest.mark.parametrize("name", ["bias_at_k", "skew_at_k", "max_skew_at_k", "min_skew_at_k"])
@pytest.mark.parametrize("inference", ["auto", "none"])
def test_what_no_order_can_change_is_not_tested(name, inference):
    finding = ask(name, frame(men=5, women=5), k=10, inference=inference)
    check_finding(finding)
    assert (finding.value, finding.p_value, finding.null, finding.interval) == (0.0, None, None, None)
    assert all(part.value == 0 and part.p_value is None and part.null is None for part in finding.parts)
    said = any("all orders of these pools give the same value" in note for note in finding.notes)
    assert said == (inference == "auto")


@each_figure
@pytest.mark.parametrize("mode", ["default", "paper"])
@pytest.mark.parametrize("decimals", [9, 1])
def test_a_finding_says_what_it_is(name, mode, decimals):
    finding = ask(name, frame(decimals=decimals), mode=mode)
    check_finding(finding)
    definition = CARDS[name]
    assert (finding.name, finding.by, finding.n) == (name, ["gender"], 460)
    assert (finding.direction, finding.fair_at) == (definition.direction, definition.fair_at)
    assert finding.metric.startswith(f"{name}(by=gender")
    assert ("mode=paper" in finding.metric) == (mode == "paper")
    assert finding.interval.low <= finding.value <= finding.interval.high
    assert finding.null.low <= finding.null.mean <= finding.null.high
    assert [part.kind for part in finding.parts] == ["query"] * 23
    values = np.array([part.value for part in finding.parts])
    assert finding.value == pytest.approx(values.mean())
    assert finding.details["sigma"] == pytest.approx(values.std(ddof=1))
    assert finding.details["queries"] == 23
    for part in finding.parts:
        assert part.n == 20
        assert 0 < part.p_value <= part.p_adjusted <= 1
    assert finding.details["z"] == pytest.approx(
        (finding.value - finding.null.mean) / finding.details["null_sd"]
    )


@each_figure
def test_inference_none_keeps_the_value_and_skips_the_rest(name):
    quick, full = ask(name, frame(), inference="none"), ask(name, frame())
    assert quick.value == full.value
    assert quick.details["sigma"] == full.details["sigma"]
    for piece in (quick, *quick.parts):
        assert piece.interval is piece.null is piece.p_value is None
        assert "z" not in piece.details


@each_figure
@pytest.mark.parametrize("decimals", [9, 1])
def test_rows_in_any_order_give_the_same_bytes(name, decimals):
    table = frame(decimals=decimals)
    shuffled = table.sample(fraction=1, shuffle=True, seed=1)
    assert ask(name, table).model_dump_json() == ask(name, shuffled).model_dump_json()


@each_figure
def test_wrong_options_are_refused_in_one_line(name):
    with pytest.raises(ParameterError, match="choose one of 'auto', 'none'"):
        ask(name, frame(), inference="no")
    with pytest.raises(ParameterError, match="choose one of 'default', 'paper'"):
        ask(name, frame(), mode="papre")
    with pytest.raises(UnknownName, match="did you mean 'gender'"):
        ask(name, frame(), by="gendre")
    with pytest.raises(ParameterError, match="k=0 is not possible"):
        ask(name, frame(), k=0)
    with pytest.raises(ParameterError, match="seed=-1"):
        ask(name, frame(), seed=-1)
    with pytest.raises(ParameterError, match="name an attribute"):
        ask(name, frame(), by=())
    with pytest.raises(ParameterError, match="takes Rankings, not Predictions"):
        getattr(metrics, name)(predictions([("a", "g", "a")]), by="group", **FIGURES[name])


def test_wrong_groups_and_targets_are_refused_in_one_line():
    with pytest.raises(ParameterError, match="there are 3 groups; name two of"):
        ask("bias_at_k", frame(), by="age")
    with pytest.raises(ParameterError, match=r"name two of \['f', 'm'\]"):
        ask("bias_at_k", frame(), groups=["m"])
    with pytest.raises(UnknownName, match="there is no group of gender 'x'"):
        ask("bias_at_k", frame(), groups=["m", "x"])
    with pytest.raises(UnknownName, match="there is no group of gender 'x'"):
        ask("skew_at_k", frame(), group="x")
    with pytest.raises(ParameterError, match="choose 'pool', 'equal', or shares"):
        ask("ndkl", frame(), target="even")
    with pytest.raises(ParameterError, match="a share above 0, together 1"):
        ask("ndkl", frame(), target={"f": 1.0})
    with pytest.raises(UnknownName, match="there is no group 'x'"):
        ask("ndkl", frame(), target={"f": 0.5, "x": 0.5})


def test_the_order_of_groups_is_the_sign():
    plus, minus = (ask("bias_at_k", frame(), groups=pair) for pair in (["m", "f"], ["f", "m"]))
    assert plus.value == -minus.value
    assert plus.p_value == pytest.approx(minus.p_value, abs=0.03)  # drawn
    assert plus.metric == "bias_at_k(by=gender, groups=['m', 'f'], k=5)"
    assert ask("bias_at_k", frame()).value == minus.value  # sorted
    part = plus.parts[0]
    assert part.value == pytest.approx((part.details["top_m"] - part.details["top_f"]) / 5)


def test_two_of_three_groups_and_crossed_attributes():
    finding = ask("bias_at_k", frame(), by="age", groups=["old", "young"], k=12)
    check_finding(finding)
    assert finding.value is not None
    crossed = ask("max_skew_at_k", frame(), by=["gender", "age"])
    assert [group.key for group in crossed.groups][:2] == [["f", "middle"], ["f", "old"]]
    assert "f+old" in "".join(part.details["group_of_max"] for part in crossed.parts)


def test_targets():
    table = frame(queries=4, men=5, women=15)
    pool, equal = ask("ndkl", table), ask("ndkl", table, target="equal")
    given = ask("ndkl", table, target={"f": 0.75, "m": 0.25})
    assert given.value == pytest.approx(pool.value, abs=1e-12)
    assert given.metric == "ndkl(by=gender, target=f=0.75,m=0.25)"
    assert equal.value > pool.value
    assert equal.null.mean > pool.null.mean  # an even target is out of reach here
    skew = ask("skew_at_k", table, k=20, target="equal")
    assert skew.value == pytest.approx(np.log(0.75 / 0.5))
    assert ask("max_skew_at_k", table, k=20).value == pytest.approx(0)


def test_what_is_missing_is_counted():
    table = frame(queries=3).with_columns(
        gender=pl.when(pl.col("sample").is_in(["s0", "s1", "s20"])).then(None).otherwise("gender"),
        score=pl.when(pl.col("sample").is_in(["s1", "s2"])).then(float("nan")).otherwise("score"),
    )
    finding = ask("bias_at_k", table)
    assert {d.reason: d.count for d in finding.dropped} == {"missing score": 2, "missing gender": 2}
    assert [part.n for part in finding.parts] == [17, 19, 20]
    assert finding.n == 56
    assert "the pools of 2 of 3 queries lost samples (see dropped)" in finding.notes
    gone = table.with_columns(gender=pl.when(pl.col("query") == "q01").then(None).otherwise("gender"))
    finding = ask("bias_at_k", gone)
    assert ("query without usable samples", 1) in [(d.reason, d.count) for d in finding.dropped]
    assert len(finding.parts) == 2
    with pytest.raises(InputError, match="no usable row by gender: 60 with missing gender"):
        ask("bias_at_k", frame(queries=3).with_columns(gender=pl.lit(None, dtype=pl.String)))


@each_figure
def test_a_pool_smaller_than_k_has_no_value(name):
    table = pl.concat(
        [frame(queries=3), frame(queries=1, men=2, women=1).with_columns(query=pl.lit("small"))]
    )
    finding = ask(name, table, k=5)
    check_finding(finding)
    part = finding.part("small")
    assert (part.value, part.reason, part.n) == (None, "k_exceeds_pool", 3)
    assert finding.details["queries"] == 3
    assert ("query: k_exceeds_pool", 1) in [(d.reason, d.count) for d in finding.dropped]
    nothing = ask(name, table, k=50)
    assert (nothing.value, nothing.reason, nothing.interval) == (None, "k_exceeds_pool", None)


@each_figure
def test_one_group_cannot_be_compared(name):
    table = frame(queries=3).with_columns(
        gender=pl.when(pl.col("query") == "q01").then(pl.lit("f")).otherwise("gender")
    )
    finding = ask(name, table)
    check_finding(finding)
    assert (finding.part("q01").value, finding.part("q01").reason) == (None, "single_group")
    alone = ask(name, table.filter(pl.col("query") == "q01"))
    assert (alone.value, alone.reason) == (None, "single_group")
    paper = ask(name, table.filter(pl.col("query") == "q01"), mode="paper")
    assert paper.value == pytest.approx(1 if name == "bias_at_k" else 0, abs=1e-15)
    check_finding(paper)
    if name == "bias_at_k":
        named = ask(name, table.filter(pl.col("query") == "q01"), groups=["m", "f"], mode="paper")
        assert named.value == -1


def test_a_group_that_a_pool_lacks():
    table = frame(queries=2).with_columns(
        gender=pl.when((pl.col("query") == "q01") & (pl.col("gender") == "f"))
        .then(pl.lit("x"))
        .otherwise("gender")
    )
    finding = ask("skew_at_k", table)
    assert (finding.part("q01").value, finding.part("q01").reason) == (None, "group_not_in_pool")
    assert ask("max_skew_at_k", table).part("q01").value is not None
    assert ask("bias_at_k", table, groups=["m", "f"]).part("q01").reason == "single_group"


def test_a_single_query_has_a_null_but_no_interval():
    finding = ask("ndkl", frame(queries=1))
    check_finding(finding)
    assert finding.interval is None
    assert finding.details["sigma"] is None
    assert finding.null == finding.parts[0].null.model_copy(update={"method": finding.null.method})
    assert finding.p_value == finding.parts[0].p_value


def test_queries_of_one_value_have_an_interval_of_the_spread_that_chance_leads_to_expect():
    finding = ask("bias_at_k", frame(shift=100.0))
    assert (finding.value, finding.p_value) == (-1, 1e-4)
    assert finding.interval.low == -1
    assert -0.95 < finding.interval.high < -0.8


def test_ties_are_averaged_and_counted():
    table = frame(queries=2).with_columns(score=pl.lit(0.5))
    for name in FIGURES:
        finding = ask(name, table)
        assert finding.details["tied_queries"] == 2
        assert finding.value == pytest.approx(finding.null.mean, abs=1e-12)
        assert "in 2 of 2 queries tied scores leave the order open" in finding.notes[0]
        assert ask(name, table, mode="paper").value != pytest.approx(finding.value)


def one_pool(queries, order, groups, **columns):
    """One pool that every query ranks in the same order: what one query says, all say."""
    size = len(order)
    return pl.DataFrame(
        {
            "query": np.repeat([f"q{i:02d}" for i in range(queries)], size),
            "sample": [f"s{i:03d}" for i in range(size)] * queries,
            "score": np.tile(np.asarray(order, dtype=float), queries),
            "gender": list(groups) * queries,
            **{name: list(column) * queries for name, column in columns.items()},
        }
    )


def test_queries_of_one_pool_are_not_independent():
    """Twenty copies of a ranking whose first five are men say what one says: 2 C(10,5) / C(20,5) = .033."""
    table = one_pool(20, range(20, 0, -1), "mmmmm" + "fm" * 5 + "fffff")
    alone, many = ask("bias_at_k", table.head(20)), ask("bias_at_k", table)
    assert alone.p_value == pytest.approx(0.0325, abs=1e-4)
    assert many.p_value == pytest.approx(0.0325, abs=0.015)
    assert (many.n, many.null.method) == (
        20, "groups exchanged between units (sample) of the pools, once for all queries",
    )  # fmt: skip
    assert many.interval.high - many.interval.low > 0.5
    assert not any("independent" in note for note in many.notes)


@pytest.mark.parametrize("gender", ["f", "m"])
@pytest.mark.parametrize("shared", [False, True])
def test_a_unit_of_any_group_may_stand_in_several_pools(gender, shared):
    """Two pools of a man and a woman each, which share a person of one gender or nobody."""
    rows = [("q1", "f1", "f", 1.0), ("q1", "m1", "m", 0.5), ("q2", "f2", "f", 1.0), ("q2", "m2", "m", 0.5)]
    columns = ["query", "sample", "gender", "score"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    if shared:
        table = table.with_columns(pl.col("sample").replace({f"{gender}2": f"{gender}1"}))
    assert Rankings.from_frame(table).pools(["gender"]).shared == shared


@pytest.mark.parametrize("name", ["bias_at_k", "max_skew_at_k", "ndkl"])
def test_pictures_of_one_person_are_one_unit(name):
    """Six persons of four pictures each, the three men first: one of C(6,3) = 20 ways, not one in 10^6."""
    table = one_pool(5, range(24, 0, -1), "m" * 12 + "f" * 12, person=np.repeat(list("abcdef"), 4))
    single = ask(name, table, k=8)
    persons = ask(name, Rankings.from_frame(table, cluster="person"), k=8)
    assert single.value == persons.value
    assert single.p_value <= 0.01
    assert persons.p_value >= 0.05
    assert persons.interval.low <= persons.null.mean <= persons.interval.high
    assert "units (person)" in persons.null.method
    if name == "bias_at_k":
        assert "fewer than 10 values of person decide this: f (3), m (3)" in persons.notes


def test_one_person_of_each_group_cannot_change_places():
    table = one_pool(5, range(8, 0, -1), "mfmfmfmf", person=list("abababab"))
    finding = ask("bias_at_k", Rankings.from_frame(table, cluster="person"), k=3)
    assert finding.value is not None
    assert finding.interval is finding.null is finding.p_value is None
    assert any(note.startswith("one_cluster: ") for note in finding.notes)


def test_a_person_of_both_groups_has_them_exchanged_inside():
    table = one_pool(6, range(16, 0, -1), "mfmmfmmmfmfffmff", person=list("aabbccddeeffgghh"))
    finding = ask("bias_at_k", Rankings.from_frame(table, cluster="person"), k=4)
    check_finding(finding)
    assert finding.null.low < 0 < finding.null.high


def test_clusters_that_are_missing_wrong_or_several():
    table = one_pool(2, range(6, 0, -1), "mfmfmf", person=["a", "b", "c", "d", None, "f"])
    finding = ask("bias_at_k", Rankings.from_frame(table, cluster="person"), k=2)
    assert {d.reason: d.count for d in finding.dropped} == {"missing person": 1}
    with pytest.raises(UnknownName, match="there is no column 'persn'"):
        Rankings.from_frame(table, cluster="persn")
    with pytest.raises(InputError, match="cluster='sample' is the query, sample or score"):
        Rankings.from_frame(table, cluster="sample")
    moved = table.with_columns(
        person=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("z")).otherwise("person")
    )
    with pytest.raises(InputError, match="sample 's001' has two values of person"):
        ask("bias_at_k", Rankings.from_frame(moved, cluster="person"), k=2)


@each_figure
@pytest.mark.parametrize("shared", [True, False])
def test_p_and_interval_agree_at_every_level(name, shared):
    table = frame(queries=8, shift=0.35, seed=3)
    if shared:
        table = one_pool(8, range(20), "mf" * 10).with_columns(
            score=pl.Series(np.random.default_rng(1).normal(size=160)) + 0.5 * (pl.col("gender") == "m")
        )
    finding = ask(name, table)
    for level in (0.5, 0.8, 0.9, 0.95, 0.99):
        interval = finding.interval_at(level)
        excluded = not interval.low - 1e-9 <= finding.null.mean <= interval.high + 1e-9
        assert excluded == (finding.p_value <= 1 - level), (level, finding.p_value)


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.lazy, pl.DataFrame.to_arrow])
def test_frames_of_other_libraries(convert):
    assert ask("ndkl", convert(frame(queries=2))).value == ask("ndkl", frame(queries=2)).value


def test_ranks_in_place_of_scores():
    table = frame(queries=3, decimals=1)
    evidence = Rankings.from_frame(table)
    ranked = evidence.to_frame().join(table.drop("score", "query"), on="sample")
    assert ranked.columns[:4] == ["query", "rank", "sample", "score"]
    by_rank = Rankings.from_frame(ranked.drop("score"), rank="rank")
    for name in FIGURES:
        assert ask(name, by_rank).model_dump_json() == ask(name, evidence).model_dump_json()


def test_from_scores_keeps_the_order_of_the_annotations():
    table = frame(queries=2, men=2, women=2)
    annotations = table.select("sample", "gender")
    scores = table.select(
        "sample", pl.concat_str(pl.lit("The "), "query").alias("candidate"), score=pl.lit(1.0)
    )
    evidence = Rankings.from_scores(
        scores.reverse().lazy(),
        annotations,
        queries={"The q00": "doctor", "The q01": "baker"},
        kind="occupation",
    )
    finding = ask("bias_at_k", evidence, k=2, groups=["m", "f"], mode="paper")
    assert (finding.value, [part.key for part in finding.parts]) == (1, ["baker", "doctor"])
    assert finding.parts[0].kind == "occupation"
    unknown = Rankings.from_scores(scores, annotations.head(6))
    assert {d.reason: d.count for d in ask("bias_at_k", unknown, k=2).dropped}["missing gender"] == 2
    with pytest.raises(InputError, match="sample twice"):
        Rankings.from_scores(scores, pl.concat([annotations, annotations]))


def test_tables_that_are_no_rankings():
    table = frame(queries=1, men=1, women=1)
    with pytest.raises(InputError, match="query 'q00' holds sample 's0' twice"):
        Rankings.from_frame(pl.concat([table, table]))
    with pytest.raises(UnknownName, match="there is no column 'scores'"):
        Rankings.from_frame(table, score="scores")
    with pytest.raises(InputError, match="not numbers"):
        Rankings.from_frame(table, score="gender")
    with pytest.raises(InputError, match="is not a frame"):
        Rankings.from_frame([1, 2])
    with pytest.raises(InputError, match="score=COLUMN or rank=COLUMN"):
        Rankings.from_frame(table, score=None)
    assert isinstance(pd.DataFrame(), pd.DataFrame)


def test_a_planted_preference_is_found():
    finding = ask("bias_at_k", frame(shift=1.0), groups=["m", "f"])
    assert finding.value > finding.null.high
    assert finding.p_value == 1e-4
    assert finding.interval.low > 0
    assert ask("ndkl", frame(shift=1.0)).p_value == 2e-4
    assert ask("max_skew_at_k", frame(shift=1.0)).p_value < 1e-3
    assert ask("min_skew_at_k", frame(shift=1.0)).p_value < 1e-3
    assert ask("skew_at_k", frame(shift=1.0)).p_value < 1e-3


def test_a_drawn_null_is_said_and_depends_on_the_seed_only():
    table = frame(queries=3, men=20, women=20)
    first, again, other = (ask("ndkl", table, seed=seed) for seed in (0, 0, 1))
    assert first.model_dump_json() == again.model_dump_json()
    assert (first.null.replicates, first.null.seed) == (9_999, 0)
    assert first.null.method == "random rankings of each pool, convolved over queries"
    assert other.null.mean == pytest.approx(first.null.mean, rel=0.02)
    assert other.null.mean != first.null.mean
    listed = ask("ndkl", frame(queries=3))
    assert (listed.null.replicates, listed.null.seed) == (None, None)
    assert listed.null.method == "all rankings of each pool, convolved over queries"


def test_the_group_of_the_largest_and_of_the_smallest_skew_is_named_where_few_decide():
    table = frame(queries=4, men=4, women=20, shift=9.0)
    table = table.with_columns(sample=pl.Series([f"s{row % 24}" for row in range(len(table))]))
    high, low = (ask(name, table, k=4) for name in ("max_skew_at_k", "min_skew_at_k"))
    assert [part.details["group_of_max"] for part in high.parts] == ["m"] * 4
    assert [part.details["group_of_min"] for part in low.parts] == ["f"] * 4
    assert [note for note in high.notes if "decide" in note] == ["fewer than 10 samples decide this: m (4)"]
    assert not [note for note in low.notes if "decide" in note]
