"""Metrics of choices against naive loops, enumeration and invariances."""

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand import metrics
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.choices import BINARY_PRONOUNS, PRONOUNS
from evenhand.stats.choices import Chance, combined, exchanged_gap, random_rates, rate
from evenhand.stats.paired import flip_p_value, paired_difference
from tests.metrics.resolution_evidence import choices, drawn_scores, naive_rates, people, random_scores
from tests.properties.metric_table import check_finding

NAMES = {
    "resolution_accuracy": ("correct", "mean"),
    "resolution_gap": ("correct", "gap"),
    "misgendering_rate": ("misgendered", "mean"),
    "misgendering_gap": ("misgendered", "gap"),
    "neutral_rate": ("neutral", "mean"),
    "neutral_gap": ("neutral", "gap"),
}
each_name = pytest.mark.parametrize("name", NAMES)
PEOPLE = people()


def computed(name, evidence, **options):
    return getattr(metrics, name)(evidence, **options)


def expected(name, rates):
    m, f = rates["masculine"], rates["feminine"]
    return (m + f) / 2 if NAMES[name][1] == "mean" else m - f


@pytest.mark.parametrize("candidates", [PRONOUNS, BINARY_PRONOUNS], ids=["three", "two"])
@each_name
def test_equals_a_loop_over_images(name, candidates):
    for seed in range(4):
        scores = random_scores(PEOPLE, seed).sample(fraction=0.97, seed=seed)
        evidence = choices(PEOPLE, scores, candidates=candidates)
        outcome = NAMES[name][0]
        for where in ({}, {"context": "single"}, {"pairing": "different"}, {"gender_pair": ["mm", "f"]}):
            wanted = {key: [value] if isinstance(value, str) else value for key, value in where.items()}
            found = computed(name, evidence, where=where, inference="none")
            rates = naive_rates(
                PEOPLE,
                scores,
                outcome,
                candidates,
                lambda row, w=wanted: all(row[k] in v for k, v in w.items()),
            )
            assert found.value == pytest.approx(expected(name, rates), abs=1e-12)
            assert {p.key: p.value for p in found.parts} == pytest.approx(rates)


@each_name
def test_parts_equal_a_loop_over_groups(name):
    scores = random_scores(PEOPLE, 7)
    found = computed(name, choices(PEOPLE, scores), by=["sector", "gender_pair"])
    kinds = {part.kind for part in found.parts}
    assert kinds == {"gender", "sector*gender_pair", "sector*gender_pair*gender"}
    for sector, pair in product(("s0", "s1"), ("m", "mf", "ff")):
        rates = naive_rates(
            PEOPLE,
            scores,
            NAMES[name][0],
            keep=lambda row, s=sector, p=pair: (row["sector"], row["gender_pair"]) == (s, p),
        )
        part = found.part([sector, pair])
        assert (part.value, part.reason) == (None, "single_group")
        for gender, value in rates.items():
            assert found.part([sector, pair, gender]).value == pytest.approx(value)
    by_sector = computed(name, choices(PEOPLE, scores), by="sector")
    rates = naive_rates(PEOPLE, scores, NAMES[name][0], keep=lambda row: row["sector"] == "s1")
    assert by_sector.part("s1").value == pytest.approx(expected(name, rates))
    assert by_sector.part("s1").details == pytest.approx(rates)
    assert [group.key for group in by_sector.groups] == ["s0", "s1"]
    tested = [part for part in by_sector.parts if part.p_value is not None]
    assert all(part.p_adjusted >= part.p_value for part in tested)
    assert len(tested) == 2


def test_outcomes_add_up():
    meant = {**PRONOUNS, "xyr": "neopronoun"}
    scores = random_scores(PEOPLE, 3)
    more = scores.filter(pl.col("candidate") == "his").with_columns(
        candidate=pl.lit("xyr"), score=pl.lit(2.0)
    )
    for evidence in (choices(PEOPLE, scores), choices(PEOPLE, pl.concat([scores, more]), candidates=meant)):
        right, wrong, neutral = (
            computed(f"{name}", evidence).value
            for name in ("resolution_accuracy", "misgendering_rate", "neutral_rate")
        )
        other = (evidence.outcomes()[0][:, 3] / evidence.outcomes()[1]).mean()
        assert right + wrong + neutral + other == pytest.approx(1)
    evidence = choices(PEOPLE, scores)
    halves = metrics.misgendering_gap(evidence).value + metrics.neutral_gap(evidence).value
    assert metrics.resolution_gap(evidence).value == pytest.approx(-halves)


@each_name
def test_exchanging_the_genders_turns_the_sign_of_gaps(name):
    scores = random_scores(PEOPLE, 11)
    turned = PEOPLE.with_columns(pl.col("truth").replace({"masculine": "feminine", "feminine": "masculine"}))
    mirrored = scores.with_columns(pl.col("candidate").replace({"his": "her", "her": "his"}))
    one = computed(name, choices(PEOPLE, scores), by="sector")
    other = computed(name, choices(turned, mirrored), by="sector")
    sign = -1 if name.endswith("_gap") else 1
    assert other.value == pytest.approx(sign * one.value)
    ends = sorted((sign * one.interval.low, sign * one.interval.high))
    assert [other.interval.low, other.interval.high] == pytest.approx(ends)
    assert other.p_value == pytest.approx(one.p_value)
    assert other.part("s0").value == pytest.approx(sign * one.part("s0").value)


@each_name
def test_nothing_depends_on_the_order_of_rows(name):
    scores = random_scores(PEOPLE, 5)
    one = computed(name, choices(PEOPLE, scores), by="occupation")
    shuffled = scores.sample(fraction=1, shuffle=True, seed=3)
    other = computed(
        name, choices(PEOPLE.sample(fraction=1, shuffle=True, seed=4), shuffled), by="occupation"
    )
    assert one.model_dump_json() == other.model_dump_json()


@each_name
def test_a_finding_keeps_the_contract(name):
    found = computed(name, choices(PEOPLE, random_scores(PEOPLE, 1)), by="sector")
    check_finding(found)
    assert found.null is not None
    assert found.interval.low <= found.value <= found.interval.high
    assert found.metric == f"{name}(by=sector, candidates=his/her/their)"
    assert found.n == PEOPLE.height
    quick = computed(name, choices(PEOPLE, random_scores(PEOPLE, 1)), by="sector", inference="none")
    assert [quick.value, *(part.value for part in quick.parts)] == [
        found.value,
        *(part.value for part in found.parts),
    ]
    for piece in (quick, *quick.parts):
        assert piece.interval is piece.null is piece.p_value is None


def test_ties_and_drops_are_told():
    scores = random_scores(PEOPLE, 2, levels=2)
    gone = scores.filter(~pl.col("sample").str.starts_with("00-m-"))
    sectors = PEOPLE.with_columns(sector=pl.when(pl.col("sample") == "01-f-0").then(None).otherwise("sector"))
    evidence = choices(sectors, gone)
    found = metrics.resolution_accuracy(evidence, by="sector")
    assert {d.reason: d.count for d in found.dropped} == {"no scores": 3, "missing sector": 1}
    assert f"{evidence.tied.sum() - evidence.tied[evidence.table['sector'].is_null()].sum()} samples" in str(
        found.notes
    )
    two = metrics.resolution_accuracy(evidence, where={"context": "two_person"})
    assert two.dropped == []


@each_name
def test_what_cannot_be_estimated_is_none_with_a_reason(name):
    men = PEOPLE.filter(pl.col("truth") == "masculine")
    cases = {
        "single_group": choices(men, random_scores(men, 0)),
        "empty": choices(PEOPLE, random_scores(PEOPLE, 0).clear()),
    }
    for reason, evidence in cases.items():
        for mode in ("default", "paper"):
            found = computed(name, evidence, by="sector", mode=mode)
            assert (found.value, found.reason) == (None, reason)
            if mode == "default":
                check_finding(found)
    men_only = computed(name, cases["single_group"])
    assert men_only.part("masculine").interval is not None
    assert (men_only.part("feminine").value, men_only.part("feminine").reason) == (None, "empty")
    one_each = PEOPLE.filter(pl.col("sample").is_in(["00-m-0", "00-f-0"]))
    check_finding(computed(name, choices(one_each, random_scores(one_each, 0)), by="occupation"))


def test_a_perfect_model_has_intervals_of_some_width():
    perfect = {"masculine": (1, 0, 0), "feminine": (1, 0, 0)}
    found = metrics.resolution_gap(choices(PEOPLE, drawn_scores(PEOPLE, 0, perfect)))
    assert (found.value, found.p_value) == (0, 1)
    assert found.interval.low < -0.01 < 0.01 < found.interval.high
    assert metrics.resolution_accuracy(choices(PEOPLE, drawn_scores(PEOPLE, 0, perfect))).p_value < 1e-6


def test_neutral_choices_are_not_misgendering():
    design = people(23, 5)
    planted = {"masculine": (0.95, 0.05, 0), "feminine": (0.85, 0.05, 0.1)}
    evidence = choices(design, drawn_scores(design, 0, planted))
    neutral, wrong = metrics.neutral_gap(evidence), metrics.misgendering_gap(evidence)
    assert neutral.value == pytest.approx(-0.1, abs=0.04)
    assert neutral.p_value < 1e-4
    assert not neutral.null.low <= neutral.value <= neutral.null.high
    assert wrong.p_value > 0.05
    assert wrong.null.low <= wrong.value <= wrong.null.high
    assert metrics.resolution_gap(evidence).p_value < 0.01


def test_a_random_model_is_inside_the_null_bands():
    design = people(23, 5)
    for name in NAMES:
        inside = []
        for seed in range(60):
            found = computed(name, choices(design, random_scores(design, seed, levels=10**6)))
            inside.append(found.null.low - 1e-9 <= found.value <= found.null.high + 1e-9)
        assert np.mean(inside) >= 0.85


def test_the_exchange_of_genders_equals_enumeration():
    values = np.array([6, 0, 3, 2, 6, 6, 0, 3])  # sixths: right, wrong, tied among two and three
    second = np.array([False, True, False, True, True, False, True, True])
    stratum = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    found = exchanged_gap(values, second, stratum, 6)
    gaps = []
    for a in combinations(range(4), 2):
        for b in combinations(range(4, 8), 1):
            first = np.isin(np.arange(8), a + b)
            gaps.append((values[first].mean() - values[~first].mean()) / 6)
    gaps = np.array(gaps)
    assert found.mean == pytest.approx(gaps.mean())
    assert found.sd == pytest.approx(gaps.std())
    observed = (values[~second].mean() - values[second].mean()) / 6
    far = np.abs(gaps - gaps.mean()) >= abs(observed - gaps.mean()) - 1e-9
    assert found.p_value(observed) == pytest.approx(far.mean())


def test_the_exchange_in_one_stratum_is_fishers():
    hits, second = np.array([1] * 7 + [0] * 5 + [1] * 3 + [0] * 9), np.repeat([False, True], 12)
    found = exchanged_gap(hits, second, np.zeros(24, dtype=np.int64), 1)
    table = [[7, 5], [3, 9]]
    assert found.p_value(7 / 12 - 3 / 12) == pytest.approx(stats.fisher_exact(table).pvalue)


def test_many_rows_take_moments_that_agree_with_the_exact_distribution(monkeypatch):
    rng = np.random.default_rng(0)
    second, stratum = rng.random(300_000) < 0.4, rng.integers(60_000, size=300_000)
    values = rng.integers(7, size=300_000)
    large = exchanged_gap(values, second, stratum, 6)
    assert not large.values.size
    some = stratum < 60
    exact = exchanged_gap(values[some], second[some], stratum[some], 6)
    assert exact.values.size
    monkeypatch.setattr("evenhand.stats.choices._CELL_BUDGET", 0)
    moments = exchanged_gap(values[some], second[some], stratum[some], 6)
    assert not moments.values.size
    assert (moments.mean, moments.sd) == pytest.approx((exact.mean, exact.sd))
    assert moments.band() == pytest.approx(exact.band(), abs=exact.sd / 10)
    assert moments.p_value(0.04) == pytest.approx(exact.p_value(0.04), abs=0.02)


def test_random_choices_equal_two_binomials():
    found = random_rates((4, 3), (1 / 3, 2 / 3), (0.5, 0.5))
    weights = {}
    for i, j in product(range(5), range(4)):
        key = round(i / 8 + j / 6, 9)
        p = stats.binom.pmf(i, 4, 1 / 3) * stats.binom.pmf(j, 3, 2 / 3)
        weights[key] = weights.get(key, 0) + p
    assert found.values.round(9).tolist() == sorted(weights)
    assert found.weights == pytest.approx([weights[key] for key in sorted(weights)])
    assert found.mean == pytest.approx(0.5)


def test_the_band_of_a_constant_is_the_constant():
    chance = Chance.exact(np.zeros(3), np.ones(3))
    assert chance.band() == (0, 0)
    assert chance.p_value(0) == 1
    assert Chance.normal(0, 0).p_value(0) == 1


def test_a_hidden_correlation_is_the_worst_for_a_mean():
    cluster = np.repeat(np.arange(12), 10)
    perfect, other = rate(np.ones(120), cluster, 12), rate(np.arange(120) % 7 > 0, cluster, 12)
    low, high = combined(perfect, other, (0.5, 0.5))
    assert (low, high) == pytest.approx(((perfect.low + other.low) / 2, (perfect.high + other.high) / 2))
    low, high = combined(perfect, other, (1.0, -1.0))
    arms = np.hypot(perfect.value - perfect.low, other.high - other.value)
    assert low == pytest.approx(perfect.value - other.value - arms)


def test_clusters_widen_the_interval_only_where_there_are_ten():
    values = np.repeat([1.0, 0.0], 60)
    cluster = np.repeat(np.arange(12), 10)
    plain, clustered = rate(values, None, 0), rate(values, cluster, 12)
    assert (plain.clusters, clustered.clusters) == (0, 12)
    assert clustered.high - clustered.low > 2 * (plain.high - plain.low)
    assert rate(values, cluster // 2, 6).high == plain.high
    low, high = stats.binomtest(60, 120).proportion_ci(method="wilson")
    assert (plain.low, plain.high) == pytest.approx((low, high))


def test_paper_mode_rounds_twice_and_takes_the_first_of_ties():
    truths = PEOPLE.filter((pl.col("context") == "single") & (pl.col("occupation") < "o03"))
    men = {"00-m-0", "00-m-1", "01-m-0", "02-m-0"}  # 4 of 9
    women = {"00-f-0", "01-f-0", "01-f-1"}  # 3 of 9
    rows = [
        (sample, candidate, float((candidate == right) == (sample in men | women)))
        for sample, truth in truths.select("sample", "truth").iter_rows()
        for right in ["his" if truth == "masculine" else "her"]
        for candidate in PRONOUNS
    ]
    scores = pl.DataFrame(rows, schema=["sample", "candidate", "score"], orient="row")
    evidence = choices(truths, scores)
    gap = metrics.resolution_gap(evidence, mode="paper")
    assert gap.value == 0.11  # .44 - .33
    assert gap.params["mode"] == "paper"
    assert [part.value for part in gap.parts] == [0.44, 0.33]
    assert metrics.resolution_accuracy(evidence, mode="paper").value == 0.38  # .385, half to even
    tied = scores.with_columns(score=pl.lit(1.0))
    assert metrics.resolution_gap(choices(truths, tied), mode="paper").value == 1
    assert metrics.resolution_gap(choices(truths, tied)).value == 0


def test_paper_mode_averages_contexts_and_has_no_gap_over_them():
    evidence = choices(PEOPLE, random_scores(PEOPLE, 4))
    found = metrics.resolution_accuracy(evidence, mode="paper")
    means = [
        metrics.resolution_accuracy(evidence, mode="paper", where={"context": one}).value
        for one in ("single", "two_person")
    ]
    assert found.value == float(np.round(sum(means) / 2, 2))
    assert found.interval is None
    assert "whatever their sizes" in found.notes[0]
    gap = metrics.resolution_gap(evidence, mode="paper")
    assert (gap.value, gap.reason) == (None, "undefined")


def test_wrong_options_are_refused():
    evidence = choices(PEOPLE, random_scores(PEOPLE, 0))
    with pytest.raises(InputError, match="takes Choices, not int"):
        metrics.resolution_gap(3)
    with pytest.raises(UnknownName, match="did you mean 'sector'"):
        metrics.resolution_gap(evidence, by="sectr")
    with pytest.raises(UnknownName, match="did you mean 'single'"):
        metrics.resolution_gap(evidence, where={"context": "singel"})
    for wrong in ({"mode": "papre"}, {"inference": "no"}, {"seed": -1}, {"by": ["sector", "sector"]}):
        with pytest.raises(ParameterError):
            metrics.resolution_gap(evidence, **wrong)


def test_findings_of_one_model_have_names_of_their_own():
    scores = random_scores(PEOPLE, 0)
    evidence = [
        choices(PEOPLE, scores),
        choices(PEOPLE, scores).only(["his", "her"]),
        choices(PEOPLE, scores, facts={"template": "par_first"}),
    ]
    names = [
        metrics.resolution_gap(one, where=where, mode=mode, inference="none").metric
        for one in evidence
        for where in ({}, {"context": "single"}, {"gender_pair": ["mm", "ff"]})
        for mode in ("default", "paper")
    ]
    assert len(set(names)) == len(names)
    assert "resolution_gap(candidates=his/her, where=gender_pair=mm|ff)" in names


def test_the_difference_of_two_models_equals_that_of_their_values():
    one, other = (choices(PEOPLE, random_scores(PEOPLE, seed)) for seed in (1, 2))
    for name in NAMES:
        found = metrics.resolution_difference(one, reference=other, metric=name, by="sector")
        check_finding(found)
        assert found.value == pytest.approx(computed(name, one).value - computed(name, other).value)
        for sector in ("s0", "s1"):
            where = {"sector": sector}
            both = [computed(name, e, where=where).value for e in (one, other)]
            assert found.part(sector).value == pytest.approx(both[0] - both[1])
        back = metrics.resolution_difference(other, reference=one, metric=name)
        assert back.value == pytest.approx(-found.value)
        assert (back.interval.low, back.interval.high) == pytest.approx(
            (-found.interval.high, -found.interval.low)
        )


def test_a_model_does_not_differ_from_itself():
    evidence = choices(PEOPLE, random_scores(PEOPLE, 1))
    found = metrics.resolution_difference(evidence, reference=evidence)
    assert (found.value, found.p_value) == (0, 1)
    assert found.interval.low < 0 < found.interval.high


def test_samples_that_only_one_model_answered_are_dropped():
    scores = random_scores(PEOPLE, 1)
    fewer = scores.filter(~pl.col("sample").str.starts_with("00-"))
    found = metrics.resolution_difference(choices(PEOPLE, scores), reference=choices(PEOPLE, fewer))
    assert {d.reason: d.count for d in found.dropped} == {"not answered by the reference": 18}
    assert (found.n, found.value) == (PEOPLE.height - 18, 0)
    none = metrics.resolution_difference(choices(PEOPLE, scores), reference=choices(PEOPLE, scores.clear()))
    assert (none.value, none.reason) == (None, "empty")


def test_models_are_compared_on_the_same_truths():
    scores = random_scores(PEOPLE, 1)
    turned = PEOPLE.with_columns(truth=pl.lit("feminine"))
    with pytest.raises(InputError, match="the truth of sample '00-m-0' is 'masculine' in one"):
        metrics.resolution_difference(choices(PEOPLE, scores), reference=choices(turned, scores))
    evidence = choices(PEOPLE, scores)
    with pytest.raises(ParameterError, match="metric='accuracy' is not possible"):
        metrics.resolution_difference(evidence, reference=evidence, metric="accuracy")


def test_candidates_of_both_models_are_named():
    scores = random_scores(PEOPLE, 1)
    three = choices(PEOPLE, scores)
    found = metrics.resolution_difference(three, reference=three.only(["his", "her"]), inference="none")
    assert found.params["candidates"] == "his/her/their"
    assert found.params["reference_candidates"] == "his/her"


def test_few_discordant_samples_are_mcnemars_exact_test():
    difference = np.array([1.0] * 8 + [-1.0] * 2 + [0.0] * 30)
    second = np.arange(40) % 2 == 0
    found = paired_difference(difference, second, (0.5, 0.5), None, np.random.default_rng(0))
    assert found.replicates is None
    assert flip_p_value(found) == pytest.approx(stats.binomtest(2, 10).pvalue)


def test_many_discordant_samples_are_drawn_and_agree():
    difference = np.array([1.0] * 40 + [-1.0] * 22 + [0.0] * 60)
    second = np.arange(122) % 2 == 0
    found = paired_difference(difference, second, (0.5, 0.5), None, np.random.default_rng(0))
    assert found.replicates == 9999
    assert flip_p_value(found) == pytest.approx(stats.binomtest(22, 62).pvalue, abs=0.01)
    clustered = paired_difference(
        difference, second, (0.5, 0.5), np.arange(122) // 6, np.random.default_rng(0)
    )
    assert (clustered.units, clustered.clustered) == (21, True)
