"""Hit rates of households: rates, gaps, worst groups, a reference, countries, and what is undefined."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand import metrics
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.findings import Finding
from evenhand.core.significance import significance_of
from evenhand.evidence.household_hits import HouseholdHits
from evenhand.metrics.labels.households.tables import country_hit_rates, hit_curve, household_rates

BY_GROUP = [metrics.household_hit_gap, metrics.worst_household_hit_rate]
OF_ONE = [metrics.household_hit_rate, *BY_GROUP, metrics.country_income_correlation]
INCOME = {"low": 50.0, "medium": 500.0, "high": 5000.0}
COUNTRIES = {"low": ["Burundi", "India"], "medium": ["China", "Kenya"], "high": ["France", "USA"]}


def frame(seed=0, rates=(0.4, 0.6, 0.8), homes=(30, 40, 30), most=20, icc=0.1):
    """Images of households with a planted hit rate by income."""
    rng = np.random.default_rng(seed)
    parts = []
    for bucket, rate, count in zip(INCOME, rates, homes, strict=True):
        scale = 1 / icc - 1
        for number in range(count):
            n, share = int(rng.integers(1, most + 1)), rng.beta(rate * scale, (1 - rate) * scale)
            country = COUNTRIES[bucket][number % 2]
            parts += [
                (f"{bucket}{number}-{i}", f"{bucket}{number}", country, INCOME[bucket] + number, bucket, hit)
                for i, hit in enumerate(rng.random(n) < share)
            ]
    columns = ["sample", "household", "country", "income", "income_bucket", "hit"]
    return pl.DataFrame(parts, schema=columns, orient="row").with_columns(pl.col("hit").cast(pl.Float64))


FRAME = frame()
PLANTED = HouseholdHits.from_hits(FRAME)


def evidence(**options):
    return HouseholdHits.from_hits(frame(**options))


def averages(table, *by):
    """Mean over households of the mean of their images, by brute force."""
    return table.group_by(*by, "household").agg(pl.col("hit").mean()).group_by(*by).agg(pl.col("hit").mean())


def check(finding):
    """It survives its JSON, which holds no NaN, and its pieces agree."""
    text = finding.model_dump_json()
    json.loads(text, parse_constant=pytest.fail)
    assert Finding.model_validate_json(text) == finding
    for piece in (finding, *finding.parts):
        assert piece.reason in (None, "one_cluster") if piece.value is not None else piece.reason
        if piece.interval is not None:
            assert piece.interval.low <= piece.value <= piece.interval.high
        if piece.null is not None:
            assert piece.null.low <= piece.null.mean <= piece.null.high
        assert piece.p_value is None or 0 < piece.p_value <= 1
    if finding.by:
        assert sum(group.n for group in finding.groups) == finding.n
    return finding


def test_rates_are_means_over_households():
    finding = check(metrics.household_hit_rate(PLANTED, by="income_bucket"))
    assert finding.value == pytest.approx(FRAME.group_by("household").agg(pl.col("hit").mean())["hit"].mean())
    assert [part.key for part in finding.parts] == ["low", "medium", "high"]
    for bucket, value in averages(FRAME, "income_bucket").iter_rows():
        part = finding.part(bucket)
        assert part.value == pytest.approx(value)
        assert part.n == FRAME.filter(income_bucket=bucket).height
        assert part.details["households"] == FRAME.filter(income_bucket=bucket)["household"].n_unique()
    assert finding.metric == "household_hit_rate(by=income_bucket)"
    assert finding.details == {"households": 100, "coverage": 1}
    assert finding.n == FRAME.height


def test_each_image_may_count_once():
    finding = check(metrics.household_hit_rate(PLANTED, by="income_bucket", weighting="image"))
    assert finding.value == pytest.approx(FRAME["hit"].mean())
    for bucket, value in FRAME.group_by("income_bucket").agg(pl.col("hit").mean()).iter_rows():
        assert finding.part(bucket).value == pytest.approx(value)
    assert finding.params == {"weighting": "image"}


def test_parts_are_compared_with_the_rest():
    finding = metrics.household_hit_rate(PLANTED, by="income_bucket")
    low, high = finding.part("low"), finding.part("high")
    assert low.value < low.null.low < finding.value < high.null.high < high.value
    assert low.p_adjusted == pytest.approx(3e-4, rel=0.5)
    fair = metrics.household_hit_rate(evidence(rates=(0.6, 0.6, 0.6), seed=3), by="income_bucket")
    assert all(part.p_value > 0.05 for part in fair.parts)


def test_crossed_groups():
    finding = check(metrics.household_hit_rate(PLANTED, by=["income_bucket", "country"]))
    assert finding.parts[0].key == ["low", "Burundi"]
    assert len(finding.parts) == 6
    assert finding.by == ["income_bucket", "country"]


def test_the_gap_of_income_is_high_minus_low():
    finding = check(metrics.household_hit_gap(PLANTED))
    rates = dict(averages(FRAME, "income_bucket").iter_rows())
    assert finding.value == pytest.approx(rates["high"] - rates["low"])
    assert finding.params == {"groups": ["high", "low"]}
    assert finding.p_value == pytest.approx(1e-4)
    assert finding.interval.low < 0.4 < finding.interval.high
    assert finding.null.low < 0 < finding.null.high < finding.value
    assert finding.details["first_rate"] == pytest.approx(rates["high"])
    assert 0.1 < finding.mde < 0.2
    turned = metrics.household_hit_gap(PLANTED, groups=["low", "high"])
    assert turned.value == -finding.value
    assert turned.interval.low == pytest.approx(-finding.interval.high)


def test_the_smallest_gap_that_would_be_found_is_that_of_two_means():
    shares = FRAME.group_by("income_bucket", "household").agg(pl.col("hit").mean())
    each = [shares.filter(income_bucket=one)["hit"].to_numpy() for one in ("low", "high")]
    error = np.sqrt(sum(one.var(ddof=1) / one.size for one in each))
    expected = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * error
    assert metrics.household_hit_gap(PLANTED).mde == pytest.approx(expected)


def test_the_gap_of_anything_else_is_best_minus_worst():
    finding = check(metrics.household_hit_gap(PLANTED, by="country"))
    rates = dict(averages(FRAME, "country").iter_rows())
    assert finding.value == pytest.approx(max(rates.values()) - min(rates.values()))
    assert rates[finding.details["worst"]] == min(rates.values())
    assert finding.params == {"groups": "extremes"}
    assert finding.null.high < finding.value
    assert finding.p_value < 0.001
    fair = check(metrics.household_hit_gap(evidence(rates=(0.6, 0.6, 0.6), seed=3), by="country"))
    assert fair.interval.low == 0
    assert fair.null.low > 0


def test_the_worst_group():
    finding = check(metrics.worst_household_hit_rate(PLANTED))
    low = metrics.household_hit_rate(PLANTED, by="income_bucket").part("low")
    assert (finding.value, finding.details["worst"]) == (low.value, "low")
    assert finding.interval.low <= low.interval.low
    assert finding.p_value < 0.001


def test_intervals_go_by_household():
    image = FRAME.with_columns(household=pl.col("sample"))
    by_image = metrics.household_hit_rate(HouseholdHits.from_hits(image), weighting="image").interval
    by_home = metrics.household_hit_rate(PLANTED, weighting="image").interval
    assert by_home.high - by_home.low > 1.3 * (by_image.high - by_image.low)


def test_households_in_several_groups_have_them_exchanged_inside():
    table = FRAME.with_columns(concept=pl.col("sample").str.slice(-1))
    for metric in BY_GROUP:
        finding = check(metric(HouseholdHits.from_hits(table), by="concept"))
        assert finding.p_value > 0.05
        assert finding.interval is not None
        assert all(part.null is not None for part in finding.parts)
    crowded = FRAME.with_columns(concept=pl.Series([str(number % 40) for number in range(FRAME.height)]))
    finding = check(metrics.household_hit_gap(HouseholdHits.from_hits(crowded), by="concept"))
    assert (finding.p_value, finding.null) == (None, None)
    assert any("more than 30 groups" in note for note in finding.notes)


def topics(seed=0, effect=0.0):
    """Poor homes show mostly toys, rich ones mostly stoves; a model names toys less, whoever has them."""
    rng, rows = np.random.default_rng(seed), []
    for number in range(80):
        bucket, share = ("low", 0.8) if number < 45 else ("high", 0.2)
        for image in range(int(rng.integers(3, 12))):
            toy = rng.random() < share
            hit = rng.random() < (0.3 if toy else 0.8) + effect * (bucket == "high")
            sample = f"{number}-{image}"
            rows.append((sample, str(number), bucket, "toy" if toy else "stove", float(hit)))
    columns = ["sample", "household", "income_bucket", "concept", "hit"]
    return HouseholdHits.from_hits(pl.DataFrame(rows, schema=columns, orient="row"))


def test_a_gap_that_concepts_explain_is_no_gap_by_income():
    """Topics differ by income and the model depends on the topic only: all such gaps were beyond chance."""
    finding = check(metrics.household_hit_gap(topics()))
    assert finding.value > 0.2
    assert finding.chance_at == pytest.approx(finding.value, abs=0.1)
    assert finding.details["gap_by_concept"] == finding.chance_at
    assert finding.p_value > 0.05
    assert not significance_of(finding).beyond
    extremes = check(metrics.household_hit_gap(topics(), groups="extremes"))
    assert extremes.p_value > 0.05
    worst = check(metrics.worst_household_hit_rate(topics()))
    assert worst.p_value > 0.05
    assert worst.null.low < worst.value
    planted = metrics.household_hit_gap(topics(effect=0.19))
    assert planted.p_value < 0.01
    assert significance_of(planted).side == "above"


def test_improvement_over_a_reference():
    rng = np.random.default_rng(1)
    worse = FRAME.with_columns(hit=pl.col("hit") * pl.Series(rng.random(FRAME.height) < 0.8))
    reference = HouseholdHits.from_hits(worse)
    finding = check(metrics.household_hit_improvement(PLANTED, reference=reference, by="income_bucket"))
    here, there = (metrics.household_hit_rate(e).value for e in (PLANTED, reference))
    assert finding.value == pytest.approx((here - there) / there)
    assert finding.interval.low < 0.25 < finding.interval.high
    assert finding.p_value < 0.001
    assert finding.null.low < finding.null.mean == 0 < finding.null.high < finding.value
    assert [part.key for part in finding.parts] == ["low", "medium", "high"]
    assert finding.part("low").details["rate"] > finding.part("low").details["reference_rate"]
    same = metrics.household_hit_improvement(PLANTED, reference=PLANTED)
    assert (same.value, same.p_value) == (0, 1)


def test_only_common_images_are_compared():
    some = FRAME.filter(pl.col("household") != "low0")
    finding = metrics.household_hit_improvement(PLANTED, reference=HouseholdHits.from_hits(some))
    assert finding.value == 0
    lost = FRAME.height - some.height
    assert [(d.reason, d.count) for d in finding.dropped] == [("not in the other evidence", lost)]
    other = FRAME.with_columns(sample=pl.col("sample") + "x")
    with pytest.raises(InputError, match="have no image in common"):
        metrics.household_hit_improvement(PLANTED, reference=HouseholdHits.from_hits(other))


def test_groups_are_those_of_both_models():
    """Codes of groups count from 0 in each: with other groups a region stood beside another one."""
    table = FRAME.with_columns(region=pl.when(pl.col("household").str.ends_with("1")).then(pl.lit("north"))
                               .otherwise(pl.lit("south")))  # fmt: skip
    hits = HouseholdHits.from_hits(table)
    moved = HouseholdHits.from_hits(table.with_columns(region=pl.lit("south")))
    with pytest.raises(InputError, match="'north' in the evidence and 'south' in the reference"):
        metrics.household_hit_improvement(hits, reference=moved, by="region")
    assert metrics.household_hit_improvement(hits, reference=moved).value == 0

    known = pl.when(pl.col("region") == "south").then("region")
    partial = HouseholdHits.from_hits(table.with_columns(region=known))
    finding = metrics.household_hit_improvement(hits, reference=partial, by="region")
    lost = table.filter(pl.col("region") == "north").height
    assert [(d.reason, d.count) for d in finding.dropped] == [
        ("missing region in the evidence or the reference only", lost)
    ]
    assert [part.key for part in finding.parts] == ["south"]
    assert {part.value for part in finding.parts} == {0.0}


def test_a_reference_that_recognises_nothing():
    nothing = HouseholdHits.from_hits(FRAME.with_columns(hit=pl.lit(0.0)))
    finding = check(metrics.household_hit_improvement(PLANTED, reference=nothing, by="income_bucket"))
    assert finding.reason == "undefined"
    assert {part.reason for part in finding.parts} == {"undefined"}


def test_countries_beside_their_income():
    points = country_hit_rates(PLANTED)
    expected = FRAME.group_by("country").agg(pl.col("hit").mean())
    assert dict(points.select("country", "hit_rate").iter_rows()) == pytest.approx(dict(expected.iter_rows()))
    homes = FRAME.unique("household").group_by("country").agg(pl.col("income").mean())
    assert dict(points.select("country", "income").iter_rows()) == pytest.approx(dict(homes.iter_rows()))
    assert points["income"].is_sorted()
    assert (points["low"] <= points["hit_rate"]).all()
    finding = check(metrics.country_income_correlation(PLANTED))
    r = np.corrcoef(np.log(points["income"].to_numpy()), points["hit_rate"].to_numpy())[0, 1]
    assert finding.value == pytest.approx(r)
    assert finding.interval.low < r < finding.interval.high
    assert finding.details["countries"] == 6
    assert finding.part("India").details["income"] == pytest.approx(65)
    linear = metrics.country_income_correlation(PLANTED, scale="linear")
    ranks = metrics.country_income_correlation(PLANTED, method="spearman")
    assert linear.value != finding.value
    assert linear.params == {"method": "pearson", "scale": "linear", "weighting": "image"}
    order = points["hit_rate"].to_numpy().argsort().argsort()
    assert ranks.value == pytest.approx(np.corrcoef(np.arange(6), order)[0, 1])


def test_income_outside_the_buckets_is_counted():
    frame_ = pl.DataFrame(
        {
            "sample": list("abcd"),
            "household": list("wxyz"),
            "hit": [1, 1, 0, 0],
            "income": [1.0, 50.0, 5000.0, None],
        }
    )
    finding = check(metrics.household_hit_gap(HouseholdHits.from_hits(frame_)))
    dropped = {d.reason: d.count for d in finding.dropped}
    assert dropped == {"income outside the buckets": 1, "missing income_bucket": 1}
    assert finding.value == -1
    assert finding.interval is None
    assert metrics.household_hit_rate(HouseholdHits.from_hits(frame_)).n == 4


def test_paper_mode_counts_pairs_and_households_by_income():
    table = pl.DataFrame(
        {
            "sample": ["a", "a", "b", "c"],
            "concept": ["cups", "plates", "cups", "cups"],
            "household": ["h", "h", "h", "h"],
            "income": [50.0, 50.0, 50.0, 51.0],
            "hit": [1, 0, 0, 1],
        }
    )
    found = HouseholdHits.from_hits(table)
    default, paper = (metrics.household_hit_rate(found, mode=mode) for mode in ("default", "paper"))
    assert (default.value, default.n) == (pytest.approx(2 / 3), 3)
    assert (paper.value, paper.n) == (pytest.approx((1 / 3 + 1) / 2), 4)
    assert paper.params["mode"] == "paper"
    assert household_rates(found, mode="paper")["hit_rate"].to_list() == pytest.approx([1 / 3, 1])


@pytest.mark.parametrize("metric", OF_ONE)
def test_degenerate_evidence_is_a_finding(metric):
    table = FRAME.head(0)
    assert check(metric(HouseholdHits.from_hits(table))).reason == "empty"
    one = check(metric(HouseholdHits.from_hits(FRAME.head(1))))
    assert one.interval is None
    equal = check(metric(HouseholdHits.from_hits(FRAME.with_columns(hit=pl.lit(1.0)))))
    assert equal.value in (None, 0, 1)
    single = check(metric(HouseholdHits.from_hits(FRAME.filter(income_bucket="low"))))
    if metric in BY_GROUP:
        assert single.reason == "single_group"


def test_a_model_that_cannot_name_any_concept_has_no_rate():
    long = pl.LazyFrame({"sample": ["a"], "prediction": ["cup"], "confidence": [0.5]})
    homes = pl.DataFrame({"sample": ["a"], "household": ["h"], "concepts": [["goats"]]})
    found = HouseholdHits.from_predictions(long, homes, {"cup": ["cups"]})
    finding = check(metrics.household_hit_rate(found))
    assert (finding.value, finding.reason) == (None, "not in the label space")
    assert finding.dropped[0].count == 1


@pytest.mark.parametrize("metric", OF_ONE)
def test_findings_do_not_depend_on_the_order_of_rows(metric):
    shuffled = HouseholdHits.from_hits(FRAME.sample(fraction=1, shuffle=True, seed=1))
    assert metric(shuffled).model_dump_json() == metric(PLANTED).model_dump_json()


@pytest.mark.parametrize("metric", OF_ONE)
def test_inference_none_keeps_the_value_and_skips_the_rest(metric):
    quick, full = metric(PLANTED, inference="none"), metric(PLANTED)
    assert quick.value == full.value
    assert [part.value for part in quick.parts] == [part.value for part in full.parts]
    for piece in (quick, *quick.parts):
        assert piece.interval is piece.null is piece.p_value is None


def test_a_curve_over_thresholds():
    rng = np.random.default_rng(0)
    homes = FRAME.drop("hit", "income_bucket").with_columns(concepts=pl.lit(["cups"]))
    long = pl.LazyFrame(
        {"sample": FRAME["sample"], "prediction": "cup", "confidence": rng.random(FRAME.height)}
    )
    found = HouseholdHits.from_predictions(long, homes, {"cup": ["cups"]})
    curve = hit_curve(found, "income_bucket", [0.0, 0.5, 0.9])
    assert curve.height == 9
    for threshold, group, value in curve.select("threshold", "group", "hit_rate").iter_rows():
        finding = metrics.household_hit_rate(found.at(threshold), by="income_bucket", inference="none")
        assert finding.part(group).value == value
    assert metrics.household_hit_rate(found.at(0.5)).params == {"threshold": 0.5}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: metrics.household_hit_rate(FRAME), InputError, "takes HouseholdHits, not DataFrame"),
        (lambda: metrics.household_hit_rate(PLANTED, by="regoin"), UnknownName, "no attribute"),
        (lambda: metrics.household_hit_rate(PLANTED, weighting="home"), ParameterError, "choose one of"),
        (lambda: metrics.household_hit_rate(PLANTED, mode="papre"), ParameterError, "choose one of"),
        (lambda: metrics.household_hit_rate(PLANTED, seed=-1), ParameterError, "seed=-1"),
        (lambda: metrics.household_hit_gap(PLANTED, by=()), InputError, "needs groups to compare"),
        (lambda: metrics.worst_household_hit_rate(PLANTED, by=()), InputError, "needs groups"),
        (lambda: metrics.household_hit_gap(PLANTED, groups=["high", "lwo"]), UnknownName, "'low'"),
        (lambda: metrics.household_hit_gap(PLANTED, groups=["high"]), ParameterError, "give two groups"),
        (lambda: metrics.household_hit_gap(PLANTED, groups="high"), ParameterError, "give two groups"),
        (lambda: metrics.household_hit_improvement(PLANTED, reference=3), InputError, "not int"),
        (lambda: metrics.country_income_correlation(PLANTED, method="r"), ParameterError, "'spearman'"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_no_null_band_leaves_the_range_of_its_metric():
    rng = np.random.default_rng(3)
    few = frame(homes=(3, 4, 2), rates=(0.1, 0.9, 0.95))
    crossed = few.with_columns(region=pl.Series(rng.choice(["Asia", "Europe"], few["household"].n_unique()))
                               .gather(few["household"].rank("dense").cast(pl.Int64) - 1))  # fmt: skip
    hits = HouseholdHits.from_hits(crossed)
    by = ["income_bucket", "region"]
    gap, worst = metrics.household_hit_gap(hits, by=by), metrics.worst_household_hit_rate(hits, by=by)
    for piece in (gap, worst, *gap.parts):
        assert 0 <= piece.null.low <= piece.null.high <= 1
    two = check(metrics.household_hit_gap(hits))
    assert -1 <= two.null.low <= two.null.high <= 1
    least = HouseholdHits.from_hits(few.with_columns(hit=pl.col("sample").str.ends_with("-0").cast(float)))
    better = check(metrics.household_hit_improvement(least, reference=hits, by="income_bucket"))
    for piece in (better, *better.parts):
        assert piece.null is None or piece.null.low >= -1


def test_without_rich_households_the_gap_is_that_of_the_incomes_that_are_there():
    some = HouseholdHits.from_hits(FRAME.filter(pl.col("income_bucket") != "high"))
    finding = check(metrics.household_hit_gap(some))
    rates = dict(averages(FRAME, "income_bucket").iter_rows())
    assert finding.value == pytest.approx(rates["medium"] - rates["low"])
    assert finding.params == {"groups": ["medium", "low"]}
    assert finding.notes == ["not every income is there: the gap is that of medium minus low income"]
    assert [part.key for part in finding.parts] == ["low", "medium"]
    with pytest.raises(UnknownName, match="'high'"):
        metrics.household_hit_gap(some, groups=["high", "low"])
    one = check(metrics.household_hit_gap(HouseholdHits.from_hits(FRAME.filter(income_bucket="low"))))
    assert (one.reason, len(one.parts)) == ("single_group", 1)


def test_by_concept_the_whole_still_counts_images():
    table = pl.DataFrame(
        {
            "sample": ["a", "a", "b", "c"],
            "concept": ["cups", "plates", "cups", "cups"],
            "household": ["h", "h", "h", "i"],
            "hit": [1, 0, 0, 1],
        }
    )
    hits = HouseholdHits.from_hits(table)
    whole, parted = metrics.household_hit_rate(hits), metrics.household_hit_rate(hits, by="concept")
    assert (parted.value, parted.n) == (whole.value, whole.n) == (0.75, 3)
    assert {part.key: (part.value, part.n) for part in parted.parts} == {"cups": (0.75, 3), "plates": (0, 1)}
    paper = metrics.household_hit_rate(hits, by="concept", mode="paper")
    assert (paper.value, paper.n) == (pytest.approx((1 / 3 + 1) / 2), 4)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_three_countries_in_a_line_are_no_proof(method):
    table = pl.DataFrame(
        {
            "sample": [f"{home}-{image}" for home in range(3) for image in range(4)],
            "household": [str(home) for home in range(3) for _ in range(4)],
            "country": [("Burundi", "China", "France")[home] for home in range(3) for _ in range(4)],
            "income": [(50.0, 500.0, 5_000.0)[home] for home in range(3) for _ in range(4)],
            "hit": [float(image <= home) for home in range(3) for image in range(4)],
        }
    )
    finding = check(metrics.country_income_correlation(HouseholdHits.from_hits(table), method=method))
    assert finding.value == 1
    assert finding.interval is None
    assert finding.p_value == pytest.approx(2 / 6)


def test_two_groups_are_compared_too():
    two = HouseholdHits.from_hits(FRAME.filter(pl.col("income_bucket") != "medium"))
    parts = metrics.household_hit_rate(two, by="income_bucket").parts
    assert len(parts) == 2
    assert all(part.p_value < 0.05 for part in parts)
