"""Label association: rates, gaps, unknown groups, clusters, what is undefined, and the tables."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand import metrics
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.findings import Finding
from evenhand.evidence.label_matches import LabelMatches
from evenhand.metrics.labels.tables import association_confidences, label_rates
from tests.helpers import wilson

LABELS = ["person", "pig", "prison", "lamp", "chair"]
TYPES = {"human": ["person"], "non_human": ["pig"], "crime": ["prison"], "possibly_human": ["beard"]}
UNIONS = {"harmful": ["non_human", "crime"]}
RATES = [metrics.label_association_rate, metrics.label_association_gap]
HARMFUL = [metrics.harmful_association_rate, metrics.harmful_association_gap]


def evidence(confidences, group, types=TYPES, unions=UNIONS, top=5, cluster=None, **columns):
    samples = [f"s{number:05d}" for number in range(len(group))]
    table = pl.DataFrame({"sample": samples, "gender": group, **columns})
    return LabelMatches.from_confidences(
        confidences, samples, table, types, LABELS, unions=unions, top=top, cluster=cluster
    )


def planted(seed=0, n=600, shares=(0.1, 0.3), groups=("female", "male"), subject=None):
    """Samples called a pig with .6, else a person, as often as their group's share says."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, len(groups), n)
    hit = rng.random(n) < np.array(shares)[code]
    confidences = np.full((n, 5), 0.05)
    confidences[np.arange(n), np.where(hit, 1, 0)] = 0.6
    group = [groups[number] for number in code]
    skin = rng.choice(["darker", "lighter"], n)
    return evidence(confidences, group, skintone=skin), hit, np.array(group), skin


def check(finding):
    """It survives its JSON, which holds no NaN, and its pieces agree."""
    text = finding.model_dump_json()
    json.loads(text, parse_constant=pytest.fail)
    assert Finding.model_validate_json(text) == finding
    for piece in (finding, *finding.parts):
        assert (piece.value is None) == (piece.reason is not None)
        if piece.interval is not None:
            assert 0 <= piece.interval.low <= piece.value <= piece.interval.high <= 1
        if piece.null is not None:
            assert piece.null.low <= piece.null.mean <= piece.null.high
    if finding.by:
        assert sum(group.n for group in finding.groups) == finding.n
    return finding


def test_rates_of_groups():
    found, hit, group, _ = planted()
    finding = check(metrics.label_association_rate(found, association="non_human", by="gender"))
    assert finding.value == hit.mean()
    assert finding.metric == "label_association_rate(by=gender, association=non_human, threshold=0.1)"
    assert finding.params == {"association": "non_human", "threshold": 0.1}
    for key in ("female", "male"):
        part = finding.part(key)
        assert part.value == hit[group == key].mean()
        assert part.n == (group == key).sum()
        mine = hit[group == key]
        assert (part.interval.low, part.interval.high) == pytest.approx(wilson(mine.sum(), mine.size))
        assert part.p_value == 1e-4
        assert part.p_adjusted == 2e-4
        assert part.null.mean == pytest.approx(hit.mean(), abs=0.005)
        assert not part.null.low <= part.value <= part.null.high
    human = metrics.label_association_rate(found, association="human", threshold=0.5)
    assert human.value == 1 - hit.mean()
    assert human.parts == []


def test_coverage_stands_beside_every_rate():
    confidences = np.array([[0.5, 0.3, 0.1, 0.1, 0], [0.3, 0.2, 0.2, 0.2, 0.1], [0.9, 0.1, 0, 0, 0]])
    found = evidence(confidences, ["f", "f", "m"])
    finding = check(metrics.label_association_rate(found, association="human", by="gender", threshold=0.4))
    assert finding.details == {"coverage": pytest.approx(2 / 3)}
    assert [(part.value, part.details) for part in finding.parts] == [
        (0.5, {"coverage": 0.5}), (1.0, {"coverage": 1.0}),
    ]  # fmt: skip


def test_a_confidence_at_the_threshold_counts_and_covers():
    confidences = np.array([[0.5, 0, 0, 0, 0], [0.25, 0.4, 0, 0, 0], [0, 0.5, 0, 0, 0]])
    found = metrics.label_association_rate(
        evidence(confidences, ["f", "f", "m"]), association="human", threshold=0.5
    )
    assert found.value == pytest.approx(1 / 3)
    assert found.details["coverage"] == pytest.approx(2 / 3)


def test_crossed_groups():
    found, hit, group, skin = planted()
    finding = check(metrics.label_association_rate(found, association="non_human", by=["gender", "skintone"]))
    part = finding.part(["male", "darker"])
    assert part.kind == "gender*skintone"
    assert part.value == hit[(group == "male") & (skin == "darker")].mean()


def test_the_gap_finds_what_was_planted():
    found, hit, group, _ = planted()
    finding = check(metrics.label_association_gap(found, association="non_human", by="gender"))
    expected = hit[group == "male"].mean() - hit[group == "female"].mean()
    assert finding.value == pytest.approx(expected)
    assert finding.p_value == 1e-4
    assert finding.null.high < finding.value
    assert finding.interval.low < 0.2 < finding.interval.high
    assert (finding.details["highest"], finding.details["lowest"]) == ("male", "female")
    assert 0.05 < finding.mde < 0.15
    assert (finding.direction, finding.fair_at) == ("lower is fairer", 0)


def test_the_smallest_gap_that_would_be_found_is_that_of_two_normal_rates():
    found, hit, group, _ = planted(n=2_000, shares=(0.3, 0.3))
    finding = metrics.label_association_gap(found, association="non_human", by="gender")
    error = np.sqrt(hit.mean() * (1 - hit.mean()) * sum(1 / (group == key).sum() for key in set(group)))
    expected = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * error
    assert finding.mde == pytest.approx(expected, rel=0.03)


def test_harmful_is_a_union():
    confidences = np.array([[0.5, 0.2, 0.2, 0.1, 0], [0.5, 0, 0.3, 0.2, 0], [0.5, 0.0, 0.0, 0.3, 0.2]])
    found = evidence(confidences, ["f", "f", "m"])
    finding = check(metrics.harmful_association_rate(found, by="gender"))
    assert finding.value == pytest.approx(2 / 3)
    assert finding.metric == "harmful_association_rate(by=gender, threshold=0.1)"
    same = metrics.label_association_rate(found, association="harmful", by="gender")
    assert same.value == finding.value
    gap = check(metrics.harmful_association_gap(found, by="gender"))
    assert gap.value == 1
    with pytest.raises(UnknownName, match="there is no association 'harmful'"):
        metrics.harmful_association_rate(evidence(confidences, ["f"] * 3, unions={}))


@pytest.mark.parametrize("metric", RATES)
@pytest.mark.parametrize("mode", ["default", "paper"])
def test_what_the_model_cannot_say_is_not_zero(metric, mode):
    found = planted()[0]
    finding = check(metric(found, association="possibly_human", by="gender", mode=mode))
    assert (finding.value, finding.reason) == (None, "not in the label space")
    assert finding.interval is finding.null is finding.p_value is None
    assert all(part.reason == "not in the label space" for part in finding.parts)
    assert finding.details["coverage"] == 1


def test_half_a_union_counts_with_a_note():
    types = {**TYPES, "crime": ["thief"]}
    confidences = np.full((2, 5), 0.2)
    finding = check(metrics.harmful_association_rate(evidence(confidences, ["f", "m"], types)))
    assert finding.value == 1
    assert finding.notes == ["the model has no label for crime; the rest of harmful counts"]
    neither = evidence(confidences, ["f", "m"], {**types, "non_human": ["hog"]})
    assert metrics.harmful_association_rate(neither).reason == "not in the label space"


def test_unknown_groups_stand_apart():
    groups = ("female", "male", "n/a", "Unknown")
    found, hit, group, _ = planted(shares=(0.1, 0.2, 0.9, 0.0), groups=groups)
    finding = check(metrics.label_association_rate(found, association="non_human", by="gender"))
    assert finding.value == hit.mean()
    assert [part.key for part in finding.parts] == ["Unknown", "female", "male", "n/a"]
    assert finding.part("n/a").null is finding.part("n/a").p_value is None
    assert finding.part("male").null is not None
    gap = check(metrics.label_association_gap(found, association="non_human", by="gender"))
    assert gap.value == pytest.approx(hit[group == "male"].mean() - hit[group == "female"].mean())
    assert gap.notes == ["not compared, because their group is not known: Unknown, n/a"]
    less = check(
        metrics.label_association_rate(found, association="non_human", by="gender", unknown="exclude")
    )
    known = np.isin(group, ["female", "male"])
    assert less.value == hit[known].mean()
    assert [(one.reason, one.count) for one in less.dropped] == [("unknown gender", (~known).sum())]
    assert less.params["unknown"] == "exclude"


def test_missing_attributes_are_dropped_and_counted():
    found = evidence(np.full((4, 5), 0.2), ["f", None, "m", None])
    finding = check(metrics.label_association_rate(found, association="human", by="gender"))
    assert finding.n == 2
    assert [(one.reason, one.count) for one in finding.dropped] == [("missing gender", 2)]
    assert metrics.label_association_rate(found, association="human").n == 4


@pytest.mark.parametrize("group", [["f"] * 3, ["f", "unknown", "n/a"]], ids=["one", "one known"])
def test_a_gap_needs_two_known_groups(group):
    found = evidence(np.full((3, 5), 0.2), group)
    for metric in HARMFUL:
        finding = check(metric(found, by="gender"))
        assert finding.value == (None if metric is metrics.harmful_association_gap else 1)
    assert metrics.harmful_association_gap(found, by="gender").reason == "single_group"


@pytest.mark.parametrize("by", [(), "gender"])
@pytest.mark.parametrize("group", [[], [None, None]], ids=["no rows", "no group"])
def test_no_usable_sample(group, by):
    found = evidence(np.full((len(group), 5), 0.2), pl.Series(group, dtype=pl.String))
    finding = check(metrics.harmful_association_rate(found, by=by))
    if not finding.n:
        assert (finding.value, finding.reason, finding.parts) == (None, "empty", [])
    if by:
        assert metrics.harmful_association_gap(found, by=by).reason == "empty"
    assert metrics.association_curve(found, by, [0.5]).height == 5 * len(finding.groups or [0]) * bool(
        finding.n or not by
    )
    assert not association_confidences(found, by)["mean_confidence"].drop_nulls().is_nan().any()
    label_rates(found, "gender")


def test_nobody_is_not_certain():
    """A gap of 0 between groups without a hit has an interval: rare labels cannot be excluded."""
    found = planted(shares=(0.0, 0.0))[0]
    finding = check(metrics.label_association_gap(found, association="non_human", by="gender"))
    assert finding.value == 0
    assert finding.p_value == 1
    assert 0.005 < finding.interval.high < 0.03


def test_paper_mode_rounds_percentages():
    confidences = np.array([[0.9, 0.1, 0, 0, 0], [0, 0.9, 0.1, 0, 0], [0, 0.9, 0.1, 0, 0]])
    found = evidence(confidences, ["f", "f", "f"])
    finding = check(metrics.label_association_rate(found, association="human", by="gender", mode="paper"))
    assert finding.details["percent"] == finding.parts[0].details["percent"] == 33.333
    assert finding.value == 33.333 / 100
    assert finding.params["mode"] == "paper"


def test_the_order_of_samples_does_not_matter():
    rng = np.random.default_rng(0)
    confidences, group = rng.dirichlet(np.ones(5), 200), rng.choice(["f", "m"], 200)
    subject = rng.integers(0, 60, 200).astype(str)
    samples, order = np.array([f"s{number}" for number in range(200)]), rng.permutation(200)
    for cluster in (None, "subject"):
        table = pl.DataFrame({"sample": samples, "gender": group, "subject": subject})
        one = LabelMatches.from_confidences(
            confidences, samples, table, TYPES, LABELS, unions=UNIONS, cluster=cluster
        )
        other = LabelMatches.from_confidences(
            confidences[order], samples[order], table.sample(fraction=1, shuffle=True), TYPES, LABELS,
            unions=UNIONS, cluster=cluster,
        )  # fmt: skip
        for metric in HARMFUL:
            found = [metric(e, by="gender", threshold=0.3).model_dump_json() for e in (one, other)]
            assert found[0] == found[1]


def test_one_seed_gives_one_finding_and_values_do_not_depend_on_it():
    found = planted()[0]
    for metric in HARMFUL:
        first, again, other = (metric(planted()[0], by="gender", seed=seed) for seed in (1, 1, 2))
        assert first.model_dump_json() == again.model_dump_json()
        assert first.value == other.value
        assert first.model_dump_json() != other.model_dump_json()
    quick = metrics.harmful_association_gap(found, by="gender", inference="none")
    assert quick.value == metrics.harmful_association_gap(found, by="gender").value
    assert quick.interval is quick.null is quick.p_value is quick.mde is None


@pytest.mark.parametrize("metric", HARMFUL)
def test_wrong_options_are_refused_in_one_line(metric):
    found = planted(n=20)[0]
    for options, message in (
        ({"threshold": 1.5}, r"threshold=1.5 is not possible; choose a confidence in \[0, 1\]"),
        ({"threshold": float("nan")}, "threshold=nan is not possible"),
        ({"threshold": True}, "threshold=True is not possible"),
        ({"mode": "papre"}, "choose one of 'default', 'paper'"),
        ({"inference": "no"}, "choose one of 'auto', 'none'"),
        ({"unknown": "drop"}, "choose one of 'keep', 'exclude'"),
        ({"seed": -1}, "seed=-1 is not possible"),
        ({"by": ["gender", "gender"]}, "names an attribute twice"),
    ):
        with pytest.raises(ParameterError, match=message):
            metric(found, **{"by": "gender", **options})
    with pytest.raises(
        UnknownName, match="there is no attribute of these samples 'gendr'; did you mean 'gender'"
    ):
        metric(found, by="gendr")
    with pytest.raises(UnknownName, match="there is no association 'hooman'; did you mean 'human'"):
        metrics.label_association_rate(found, association="hooman")
    with pytest.raises(InputError, match="takes LabelMatches, not DataFrame; make them with"):
        metric(pl.DataFrame(), by="gender")


def of_subjects(seed, shares=(0.2, 0.2), count=60, per=6, lit=False):
    """Samples of subjects: each subject has a share of its own around that of its group."""
    rng = np.random.default_rng(seed)
    code = np.arange(count) % 2
    own = rng.beta(np.array(shares)[code], 1 - np.array(shares)[code])
    subject = np.repeat(np.arange(count), per)
    hit = rng.random(subject.size) < own[subject]
    confidences = np.full((subject.size, 5), 0.05)
    confidences[np.arange(subject.size), np.where(hit, 1, 0)] = 0.6
    light = np.where(np.arange(subject.size) % 2, "bright", "dark")
    table = {"subject": subject.astype(str), "light": light}
    group = np.array(["f", "m"])[code[subject]]
    return [evidence(confidences, group, cluster=cluster, **table) for cluster in ("subject", None)]


@pytest.fixture(scope="module")
def fair_gaps():
    """Gaps of 100 fair models by subject and by sample, each between and within subjects."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_FEWEST", "_MOST"):
            patch.setattr(f"evenhand.stats.exchange.rows.{name}", 199)
        return [
            [[gap_of(found, by, seed) for by in ("gender", "light")] for found in of_subjects(seed)]
            for seed in range(100)
        ]


def gap_of(found, by, seed):
    return metrics.label_association_gap(found, association="non_human", by=by, seed=seed)


def test_intervals_heed_subjects():
    heeded, plain = of_subjects(0)
    wide, narrow = (
        check(metrics.label_association_rate(e, association="non_human", by="gender"))
        for e in (heeded, plain)
    )
    assert wide.value == narrow.value
    assert wide.interval.method == "Wilson score, effective size by 60 values of subject"
    for one, other in zip((wide, *wide.parts), (narrow, *narrow.parts), strict=True):
        assert one.interval.high - one.interval.low > 1.2 * (other.interval.high - other.interval.low)
    gaps = [metrics.label_association_gap(e, association="non_human", by="gender") for e in (heeded, plain)]
    assert gaps[0].null.mean > 1.3 * gaps[1].null.mean
    assert gaps[0].null.method == "groups exchanged by subject"


@pytest.mark.slow
def test_p_is_right_only_where_subjects_are_heeded(fair_gaps):
    small = sum(np.array([[gap.p_value <= 0.1 for gap in row] for row in rows], int) for rows in fair_gaps)
    print(f"p <= .1 by subject {small[0]}, by sample {small[1]} of 100, between and within subjects")
    assert (small[0] <= 20).all()  # 10 expected; more by chance once in 1,000
    assert small[0, 1] >= 2
    assert small[1, 0] >= 24
    assert small[1, 1] <= small[0, 1]  # exchanging rows overstates chance within subjects


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0, 0.3], ids=["fair", "planted"])
def test_intervals_of_the_gap_hold(gap, fair_gaps, monkeypatch):
    monkeypatch.setattr("evenhand.stats.exchange.rows._MOST", 999)
    if gap:
        planted_ = (of_subjects(seed, (0.15, 0.45))[0] for seed in range(100))
        intervals = [gap_of(found, "gender", seed).interval for seed, found in enumerate(planted_)]
    else:
        intervals = [rows[0][0].interval for rows in fair_gaps]
    inside = sum(interval.low <= gap <= interval.high for interval in intervals)
    print(f"gap {gap}: covered in {inside} of 100")
    assert inside >= 87  # 95 expected; fewer by chance once in 1,000


@pytest.mark.slow
def test_intervals_of_the_gap_hold_for_many_fair_groups():
    inside = 0
    for seed in range(100):
        found = planted(seed, 480, (0.1,) * 4, ("a", "b", "c", "d"))[0]
        inside += gap_of(found, "gender", seed).interval.low == 0
    print(f"four fair groups: 0 covered in {inside} of 100")
    assert inside >= 87  # 95 expected; fewer by chance once in 1,000


def test_few_subjects_are_units_too():
    """Fewer than ten subjects used to count as independent samples."""
    heeded, plain = of_subjects(0, count=8, per=40)
    gaps = [metrics.label_association_gap(e, association="non_human", by="gender") for e in (heeded, plain)]
    assert gaps[0].interval.low == 0
    assert gaps[0].p_value > 0.05
    assert gaps[0].null.high > 2 * gaps[1].null.high
    finding = check(metrics.label_association_rate(heeded, association="non_human", by="gender"))
    assert finding.interval.method == "Wilson score, effective size by 8 values of subject"
    assert gaps[0].notes == ["fewer than 10 values of subject decide this: f (4), m (4)"]


def test_where_nobody_is_hit_each_subject_counts_once():
    """Rates of 0 and 1 used to take every sample for a unit."""
    found = evidence(
        np.tile([0.6, 0.1, 0.1, 0.1, 0.1], (400, 1)), ["f"] * 200 + ["m"] * 200, cluster="subject",
        subject=[str(number // 20) for number in range(400)],
    )  # fmt: skip
    finding = metrics.label_association_rate(found, association="non_human", by="gender", threshold=0.5)
    assert finding.value == 0
    assert finding.interval.high > 0.15
    assert all(part.interval.high > 0.25 for part in finding.parts)


def test_a_group_of_one_subject_has_no_interval_of_its_own():
    confidences = np.where(np.arange(60)[:, None] % 3 == 0, [0.1, 0.6, 0, 0, 0], [0.6, 0.1, 0, 0, 0])
    subject = [str(number) if number < 40 else "one" for number in range(60)]
    found = evidence(confidences, ["f"] * 40 + ["m"] * 20, cluster="subject", subject=subject)
    finding = metrics.label_association_rate(found, association="non_human", by="gender", threshold=0.5)
    assert (finding.part("m").interval, finding.part("m").reason) == (None, "one_cluster")
    assert finding.part("f").interval is not None
    gap = metrics.label_association_gap(found, association="non_human", by="gender", threshold=0.5)
    assert (gap.interval.low, gap.reason) == (0, None)
    assert gap.interval.high > 0.6  # the limits of one subject are 0 and 1


def test_an_interval_at_the_level_of_a_family_is_wider():
    found = planted()[0]
    for metric in HARMFUL:
        finding = metric(found, by="gender")
        usual, strict = finding.interval, finding.interval_at(0.99)
        assert strict.level == 0.99
        assert strict.low < usual.low < usual.high < strict.high


@pytest.mark.parametrize("cluster", [True, False])
def test_a_curve_holds_what_the_findings_hold(cluster):
    found = of_subjects(1)[0 if cluster else 1]
    curve = metrics.association_curve(found, ["gender", "light"], [0.6, 0.1, 0.1, 0.7, 0])
    assert curve.columns == ["association", "group", "threshold", "rate", "low", "high", "coverage", "n"]
    assert curve["threshold"].unique().sort().to_list() == [0, 0.1, 0.6, 0.7]
    for row in curve.iter_rows(named=True):
        finding = metrics.label_association_rate(
            found, association=row["association"], by=["gender", "light"], threshold=row["threshold"],
            inference="auto" if row["threshold"] == 0.6 else "none",
        )  # fmt: skip
        part = finding.part(row["group"].split("*"))
        assert (row["rate"], row["n"], row["coverage"]) == (part.value, part.n, part.details["coverage"])
        assert (row["rate"] is None) == (row["association"] == "possibly_human") == (row["low"] is None)
        if part.interval is not None:
            assert (row["low"], row["high"]) == pytest.approx((part.interval.low, part.interval.high))


def test_a_curve_of_everything():
    found, hit, *_ = planted()
    curve = metrics.association_curve(found, associations=["non_human"])
    assert curve.height == 101
    assert curve["group"].unique().to_list() == ["all"]
    assert curve.filter(pl.col("threshold") == 0.6)["rate"].item() == hit.mean()
    with pytest.raises(ParameterError, match=r"thresholds=\[\] is not possible"):
        metrics.association_curve(found, thresholds=[])
    with pytest.raises(ParameterError, match=r"threshold=2.0 is not possible"):
        metrics.association_curve(found, thresholds=[0, 2])


def test_labels_that_groups_differ_in():
    rng = np.random.default_rng(3)
    confidences, group = rng.dirichlet(np.ones(5), 60), rng.choice(["f", "m", "x"], 60)
    table = label_rates(evidence(confidences, group, top=3), "gender", 0.2, disparate=0.05)
    counts = {key: dict.fromkeys(LABELS, 0) for key in "fmx"}
    for row, key in zip(confidences, group, strict=True):
        for code in np.argsort(-row)[:3]:
            counts[key][LABELS[code]] += int(row[code] >= 0.2)
    shares = {key: {x: n / sum(c.values()) for x, n in c.items()} for key, c in counts.items()}
    for row in table.iter_rows(named=True):
        key, label = row["group"], row["label"]
        others = [shares[other][label] for other in "fmx" if other != key]
        assert row["count"] == counts[key][label]
        assert row["rate"] == pytest.approx(shares[key][label])
        assert row["difference"] == pytest.approx(shares[key][label] - np.mean(others))
        assert row["samples"] == pytest.approx(counts[key][label] / (group == key).sum())
        assert row["disparate"] == (row["difference"] > 0.05)
    assert table.height == 15
    inside = table.filter(pl.col("group") == "m")["difference"].to_list()
    assert inside == sorted(inside, reverse=True)


def test_labels_of_one_group_differ_from_nothing():
    table = label_rates(evidence(np.full((2, 5), 0.2), ["f", "f"]), "gender")
    assert table["difference"].null_count() == table.height == 5
    assert table["disparate"].null_count() == 5


def test_evidence_says_what_it_lacks():
    rows = [("a", "pig", 1, 0.9), ("b", "person", 1, 0.9)]
    found = LabelMatches.from_predictions(
        pl.LazyFrame(rows, schema=["sample", "prediction", "rank", "confidence"], orient="row"),
        pl.DataFrame({"sample": ["a", "b", "c"], "gender": ["f", "m", "m"]}),
        TYPES, LABELS, unions=UNIONS, top=4, facts={"head": "zero-shot"},
    )  # fmt: skip
    finding = check(metrics.harmful_association_rate(found, by="gender"))
    assert finding.params == {"threshold": 0.1, "top": 4, "head": "zero-shot"}
    assert "at most 1 predictions, fewer than the 4 that count" in finding.notes[0]
    assert [(one.reason, one.count) for one in finding.dropped] == [("no answer", 1)]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_of_groups_that_are_all_alike_two_are_named(share):
    found, *_ = planted(n=60, shares=(share,) * 3, groups=("female", "male", "other"))
    details = metrics.label_association_gap(found, association="non_human", by="gender").details
    assert details["highest"] != details["lowest"]
