"""Metrics of choices against naive loops, enumeration and invariances."""

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand import metrics
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.significance import significance_of
from evenhand.evidence.choices import BINARY_PRONOUNS, PRONOUNS
from evenhand.metrics.choices.rows import GAP, MEAN, OutcomeRates
from evenhand.stats.contingency.model_changes import Flips
from evenhand.stats.paired.differences import Deviations
from evenhand.stats.rates.rates import mean_limits, normal_quantile
from tests.conftest import draw_few
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
    assert len(tested) == (0 if name == "neutral_rate" else 2)


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
    assert other.p_value == pytest.approx(one.p_value, abs=0.05)
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
    assert (found.null is None) == (name == "neutral_rate")  # who is seen changes nothing in it
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


def test_a_mapping_that_its_caller_changes_later_is_not_remembered():
    evidence = choices(PEOPLE, random_scores(PEOPLE, 3))
    where = {"context": "single"}
    single = metrics.resolution_gap(evidence, where=where)
    where["context"] = "two_person"
    assert metrics.resolution_gap(evidence, where=where).n < metrics.resolution_gap(evidence).n
    again = metrics.resolution_gap(evidence, where={"context": "single"})
    assert again.model_dump() == single.model_dump()


def test_selections_by_long_series_are_not_one():
    """Polars shortens a series where it is written out."""
    table = people(occupations=40)
    names = [f"o{number:02d}" for number in range(40)]
    chosen = [pl.Series(names[:15] + middle + names[25:]) for middle in (names[15:24], names[16:25])]
    evidence = choices(table, random_scores(table, 3))
    both = [metrics.resolution_gap(evidence, where={"occupation": one}, inference="none") for one in chosen]
    fresh = [
        metrics.resolution_gap(
            choices(table, random_scores(table, 3)), where={"occupation": one}, inference="none"
        )
        for one in chosen
    ]
    assert [finding.value for finding in both] == [finding.value for finding in fresh]
    assert fresh[0].value != fresh[1].value


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
    design = people(23, 2)
    found = metrics.resolution_accuracy(choices(design, drawn_scores(design, 0, perfect)))
    assert (found.value, found.chance_at) == pytest.approx((1, 0.5))
    assert found.p_value < 0.001
    assert 0.7 < found.interval.low < 0.95


def test_neutral_choices_are_not_misgendering():
    design = people(23, 5)
    planted = {"masculine": (0.95, 0.05, 0), "feminine": (0.85, 0.05, 0.1)}
    evidence = choices(design, drawn_scores(design, 0, planted))
    neutral, wrong = metrics.neutral_gap(evidence), metrics.misgendering_gap(evidence)
    assert neutral.value == pytest.approx(-0.1, abs=0.04)
    assert neutral.p_value < 0.001
    assert not neutral.null.low <= neutral.value <= neutral.null.high
    assert wrong.p_value > 0.05
    assert wrong.null.low <= wrong.value <= wrong.null.high
    assert metrics.resolution_gap(evidence).p_value < 0.01


@pytest.mark.slow
def test_a_random_model_is_inside_the_null_bands(monkeypatch):
    draw_few(monkeypatch)
    design = people(23, 5)
    for name in ("resolution_accuracy", "misgendering_gap"):
        inside = []
        for seed in range(12):
            found = computed(name, choices(design, random_scores(design, seed, levels=10**6)))
            inside.append(found.null.low - 1e-9 <= found.value <= found.null.high + 1e-9)
        assert np.mean(inside) >= 0.8


def rows_of(first, second, cluster=None, stratum=None, outcome="correct"):
    """Rows as metrics make them: each gender's hits, with clusters and strata."""
    values = np.array([*first, *second])
    genders = np.repeat([False, True], [len(first), len(second)])
    zero = np.zeros(values.size, dtype=np.int64)
    cluster = None if cluster is None else np.array(cluster)
    return OutcomeRates(
        values, 1 - values, 1, genders, zero if stratum is None else np.array(stratum), cluster
    )


def test_the_exchange_of_genders_equals_enumeration():
    values = np.array([6, 0, 3, 2, 6, 6, 0, 3])  # sixths: right, wrong, tied among two and three
    second = np.array([False, True, False, True, True, False, True, True])
    stratum = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    found = OutcomeRates(values, 6 - values, 6, second, stratum, None).exchanged(
        GAP, np.random.default_rng(0)
    )
    gaps = []
    for a in combinations(range(4), 2):
        for b in combinations(range(4, 8), 1):
            first = np.isin(np.arange(8), a + b)
            gaps.append((values[first].mean() - values[~first].mean()) / 6)
    assert found.expected == pytest.approx(np.mean(gaps))
    assert found.values.mean() == pytest.approx(np.mean(gaps), abs=0.02)
    assert found.values.std() == pytest.approx(np.std(gaps), rel=0.06)
    assert set(found.values.round(9)) == set(np.round(gaps, 9))


def test_the_exchange_in_one_stratum_is_fishers():
    rows = rows_of([1] * 7 + [0] * 5, [1] * 3 + [0] * 9)
    found = rows.exchanged(GAP, np.random.default_rng(0))
    assert found.p_value == pytest.approx(stats.fisher_exact([[7, 5], [3, 9]]).pvalue, abs=0.03)
    assert (found.expected, rows.value(GAP)) == pytest.approx((0, 1 / 3))


def stereotyped(people_of, seed=0, each=8):
    """Each occupation gets the pronoun of the gender that most of its pictures show."""
    rows, scores = [], []
    for occupation, (men, women) in enumerate(people_of):
        pronoun = "his" if men > women else "her"
        for index in range(men + women):
            sample, truth = f"{occupation}-{index}", "masculine" if index < men else "feminine"
            rows.append((sample, truth, f"o{occupation}", "single"))
            scores += [(sample, candidate, float(candidate == pronoun)) for candidate in PRONOUNS]
    annotations = pl.DataFrame(rows, schema=["sample", "truth", "occupation", "pairing"], orient="row")
    return choices(annotations, pl.DataFrame(scores, schema=["sample", "candidate", "score"], orient="row"))


def test_one_pronoun_for_each_occupation_is_not_beyond_chance():
    evidence = stereotyped([(8, 2), (1, 7), (9, 3), (2, 10), (6, 1), (2, 5)])
    for name in ("resolution_accuracy", "misgendering_rate"):
        found = computed(name, evidence)
        assert found.chance_at == pytest.approx(found.value)
        assert (found.p_value, significance_of(found).side) == (1, "within")
        assert found.details["guessing"] == pytest.approx(1 / 3)
    assert metrics.resolution_accuracy(evidence).value > 0.75


def test_chance_is_what_the_same_choices_give_other_people():
    """A prior of his .6, her .35, their .05 that does not look: 1/3 is nothing to compare with."""
    rng, design = np.random.default_rng(3), people(20, 3)
    chosen = rng.choice(list(PRONOUNS), p=(0.6, 0.35, 0.05), size=design.height)
    scores = pl.DataFrame(
        {
            "sample": np.repeat(design["sample"].to_numpy(), 3),
            "candidate": list(PRONOUNS) * design.height,
            "score": (chosen[:, None] == np.array(list(PRONOUNS))).ravel().astype(float),
        }
    )
    found = metrics.resolution_accuracy(choices(design, scores, cluster=None, strata=()))
    men = (design["truth"] == "masculine").to_numpy()
    his, her = (chosen == "his").mean(), (chosen == "her").mean()
    assert found.chance_at == pytest.approx((his + her) / 2)
    assert found.null.low <= found.value <= found.null.high
    assert found.part("masculine").chance_at == pytest.approx(his)
    assert found.part("masculine").value == pytest.approx((chosen[men] == "his").mean())
    assert significance_of(found).side == "within"
    assert (metrics.neutral_rate(choices(design, scores)).p_value, found.fair_at) == (None, None)


def test_clusters_are_heeded_however_few():
    first, second = [1] * 15 + [0] * 15, [1] * 15 + [0] * 15
    plain = rows_of(first, second)
    two = rows_of(first, second, cluster=[*([0] * 15 + [1] * 15), *([0] * 15 + [1] * 15)])
    narrow, wide = (mean_limits(rows.rates, np.array(MEAN)) for rows in (plain, two))
    assert wide[1] - wide[0] > 2.5 * (narrow[1] - narrow[0])
    low, high = stats.binomtest(15, 30).proportion_ci(method="wilson")
    assert [float(end[0]) for end in plain.rates.limits(normal_quantile(0.95))] == pytest.approx([low, high])


def test_persons_of_one_gender_change_places_as_a_whole():
    """Each person is right in all pictures or in none: 5 persons decide, not 40 pictures."""
    person = np.repeat(np.arange(10), 8)
    rows = rows_of([1] * 32 + [0] * 8, [1] * 8 + [0] * 32, cluster=person)
    clustered = rows.exchanged(GAP, np.random.default_rng(0)).p_value
    single = rows_of([1] * 32 + [0] * 8, [1] * 8 + [0] * 32).exchanged(GAP, np.random.default_rng(0)).p_value
    assert single < 0.001
    assert clustered == pytest.approx(stats.fisher_exact([[4, 1], [1, 4]]).pvalue, abs=0.03)


def test_one_cluster_says_nothing_of_others():
    evidence = choices(PEOPLE.filter(pl.col("occupation") == "o01"), random_scores(PEOPLE, 1))
    for name in ("resolution_gap", "resolution_accuracy"):
        found = computed(name, evidence)
        assert (found.interval, found.p_value, found.null, found.reason) == (None, None, None, "one_cluster")
        assert found.value is not None
    by_occupation = metrics.resolution_gap(choices(PEOPLE, random_scores(PEOPLE, 1)), by="occupation")
    own = by_occupation.part("o01")  # an occupation itself is not one of several: its pictures are
    assert own.interval.method == "MOVER of Wilson score of both genders"
    assert own.p_value is not None
    assert "6 values of occupation" in by_occupation.interval.method


def test_a_missing_gender_leaves_the_other_its_interval():
    """Occupations in which all pictures are right, or none: their samples are wholly alike."""
    rows = rows_of([1] * 6 + [0] * 6, [], cluster=np.repeat([0, 1, 2, 3], 3))
    low, high = rows.rates.limits(1.96)
    assert 0 <= low[0] < 0.5 < high[0] <= 1


def test_a_gender_without_a_hit_borrows_how_alike_samples_are():
    """0 of 60 in 6 occupations: 60 rows where rows are unlike, hardly more than 6 where they are alike."""
    cluster = np.tile(np.repeat(np.arange(6), 10), 2)
    unlike = rows_of([0] * 60, [1, 0, 0, 0, 0] * 12, cluster=cluster).rates
    whole = rows_of([0] * 60, [1] * 20 + [0] * 40, cluster=cluster).rates
    assert unlike.size[0] == pytest.approx(60)
    assert 6 <= whole.size[0] < 20


def test_few_units_that_decide_are_named():
    few = PEOPLE.filter((pl.col("truth") == "masculine") | pl.col("sample").is_in(["00-f-0", "01-f-0"]))
    found = metrics.resolution_gap(choices(few, random_scores(PEOPLE, 1), cluster=None, strata=()))
    assert "fewer than 10 rows decide this: feminine (2)" in found.notes
    found = metrics.resolution_gap(choices(few, random_scores(PEOPLE, 1)))
    assert "fewer than 10 values of occupation decide this: masculine (6), feminine (2)" in found.notes


@each_name
def test_an_interval_can_be_made_at_other_levels(name):
    found = computed(name, choices(PEOPLE, random_scores(PEOPLE, 1)))
    wider = found.interval_at(0.99)
    assert (wider.level, found.interval_at(0.95)) == (0.99, found.interval)
    assert wider.low < found.interval.low <= found.interval.high < wider.high


@each_name
def test_p_and_interval_are_on_one_side(name):
    design = people(8, 2)
    for seed in range(8):
        found = computed(name, choices(design, random_scores(design, seed, levels=3)))
        if found.p_value is None:
            continue
        reference = found.chance_at if found.chance_at is not None else found.fair_at
        held = found.interval.low - 1e-9 <= reference <= found.interval.high + 1e-9
        assert held == (found.p_value > 0.05)


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
    found = Deviations(difference, second, (0.5, 0.5), None).exchanged(np.random.default_rng(0))
    assert found.replicates is None
    assert found.p_value == pytest.approx(stats.binomtest(2, 10).pvalue)


def test_many_discordant_samples_are_drawn_and_agree():
    difference = np.array([1.0] * 40 + [-1.0] * 22 + [0.0] * 60)
    second = np.arange(122) % 2 == 0
    found = Deviations(difference, second, (0.5, 0.5), None).exchanged(np.random.default_rng(0))
    assert found.replicates == 9999
    assert found.p_value == pytest.approx(stats.binomtest(22, 62).pvalue, abs=0.01)


def test_the_interval_of_pairs_is_bonett_and_prices():
    difference = np.array([1.0] * 8 + [-1.0] * 2 + [0.0] * 30)
    alone = Deviations(difference, np.zeros(40, dtype=bool), (1.0, 0.0), None)
    flips = Flips(np.array([40.0]), np.array([8.0]), np.array([2.0]))
    low, high = flips.interval(0.95)
    assert alone.limits(0.95) == pytest.approx((low[0], high[0]))


def test_whole_clusters_change_places_however_few():
    """Four occupations in which one model is better throughout: 2 of 16 exchanges are as far out."""
    difference, second = np.repeat([1.0, 0.0], [20, 20])[np.arange(40) * 7 % 40], np.arange(40) % 2 == 0
    cluster = np.arange(40) % 4
    found = Deviations(difference, second, (0.5, 0.5), cluster).exchanged(np.random.default_rng(0))
    assert found.p_value == pytest.approx(2 / 16)
    rows = Deviations(difference, second, (0.5, 0.5), None).exchanged(np.random.default_rng(0))
    assert rows.p_value < 0.001
    widths = [np.ptp(Deviations(difference, second, (0.5, 0.5), one).limits(0.95)) for one in (cluster, None)]
    assert widths[0] > widths[1]
    one = Deviations(difference, second, (0.5, 0.5), np.zeros(40, dtype=np.int64))
    assert np.isnan(one.limits(0.95)).all()


def test_the_smallest_gap_that_would_be_found_is_that_of_two_rates():
    annotations = people(occupations=40, each=2)
    rates = {"masculine": (0.7, 0.2, 0.1), "feminine": (0.7, 0.2, 0.1)}
    scores = drawn_scores(annotations, 1, rates)
    evidence = choices(annotations, scores, cluster=None, strata=())
    found = metrics.resolution_gap(evidence)
    n, right = annotations.height, metrics.resolution_accuracy(evidence, inference="none").value
    spread = np.sqrt(n / (n - 1) * right * (1 - right) * 4 / n)  # of a gap of two halves, exchanged
    z = stats.norm.ppf(0.975)
    error = (found.interval.high - found.interval.low) / (2 * z)
    assert found.mde == pytest.approx(z * spread + stats.norm.ppf(0.8) * max(spread, error), rel=0.02)
