"""Which groups stand furthest apart in accuracy, and that an audit says so."""

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.significance import EDGE, is_beyond

CLASSES = 4
PRIMARIES = ["disparities", "accuracy", "accuracy_contrast", "cramers_v_pooled"]


def table(rights, sizes, rng=None, **columns):
    """Groups with so many right of so many rows; classes in turn, wrong rows called the next class."""
    rows = [
        (str(i % CLASSES), str((i if i < right else i + 1) % CLASSES), f"g{z}")
        for z, (right, n) in enumerate(zip(rights, sizes, strict=True))
        for i in range(n)
    ]
    return pl.DataFrame(rows, schema=["truth", "prediction", "g"], orient="row")


def evidence(frame, **roles):
    return eh.Predictions.from_frame(frame, truth="truth", prediction="prediction", **roles)


def drawn(rng, accuracies, size, classes=CLASSES):
    group = np.repeat(np.arange(len(accuracies)), size)
    truth = rng.integers(0, classes, group.size)
    right = rng.random(group.size) < np.asarray(accuracies)[group]
    said = np.where(right, truth, (truth + rng.integers(1, classes, group.size)) % classes)
    return pl.DataFrame({"truth": truth, "prediction": said, "g": group}).cast(pl.String)


def test_the_better_group_is_named_in_counts():
    """One group at .99, five at .89: the worst group lies within chance, but groups differ."""
    frame = table([247, 222, 222, 223, 222, 223], [250] * 6)
    contrast = eh.metrics.accuracy_contrast(evidence(frame), by="g")
    assert contrast.value == pytest.approx(247 / 250 - 1_112 / 1_250)
    assert [(part.key, part.value, part.n) for part in contrast.parts] == [("g0", 247 / 250, 250)]
    assert contrast.details["side"] == "better"
    assert contrast.p_value <= 0.001
    assert contrast.interval.low > 0
    assert contrast.null.high < contrast.value
    lines = eh.audit(evidence(frame), by="g").overview
    assert "g0: 247 of 250 rows are right (99 %); elsewhere 1,112 of 1,250 (89 %)." in [
        line.text if line.text.endswith(").") else line.sentence for line in lines.beyond
    ]


def test_the_headline_is_of_what_drives_it():
    """All mistakes of five groups are as chance gives but one, near the limit: the sixth is served better."""
    rng = np.random.default_rng(2)
    frame = drawn(rng, [0.99] + [0.89] * 5, 250)
    run = eh.audit(evidence(frame), by="g", metrics=PRIMARIES)
    mistakes, contrast = run.finding("disparities", "g"), run.finding("accuracy_contrast", "g")
    assert mistakes.p_adjusted > 0.01 > 10 * contrast.p_adjusted
    assert run.overview.title.startswith("0: ")
    assert " rows are right; elsewhere " in run.overview.title
    (sure,) = [line for line in run.overview.headlines if line.metric == contrast.metric]
    assert sure == run.overview.headlines[0]


@pytest.mark.parametrize(
    ("accuracies", "least"),
    [([0.99] + [0.89] * 5, 10), ([0.78] + [0.89] * 5, 8), ([0.94] * 3 + [0.84] * 3, 9)],
)
def test_one_better_one_worse_and_halves_are_found(accuracies, least):
    found = 0
    for seed in range(10):
        frame = drawn(np.random.default_rng(seed), accuracies, 250)
        found += bool(eh.audit(evidence(frame), by="g", seed=seed, metrics=PRIMARIES).overview.beyond)
    assert found >= least


def test_many_small_differences_are_found_and_named():
    """Twenty classes, equal accuracies: each group has wrong labels of its own."""
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth, group = (codes.ravel() for codes in np.indices((20, 3, 60))[:2])
        wrong = (truth + 1 + (rng.integers(0, 7, truth.size) + 3 * group) % 19) % 20
        said = np.where(
            rng.random(truth.size) < 0.2, np.where(wrong == truth, (truth + 1) % 20, wrong), truth
        )
        frame = pl.DataFrame({"truth": truth, "prediction": said, "g": group}).cast(pl.String)
        found += bool(eh.audit(evidence(frame), by="g", seed=seed, metrics=PRIMARIES).overview.beyond)
    assert found >= 9


def test_nothing_is_said_only_where_no_question_of_the_run_is_beyond_chance():
    for seed in range(20):
        frame = drawn(np.random.default_rng(seed), [0.93, 0.9, 0.88, 0.86], 150)
        run = eh.audit(evidence(frame), by="g", seed=seed, metrics=PRIMARIES)
        beyond = any(is_beyond(finding) for finding in run.findings.findings if finding.role == "primary")
        assert run.overview.title.startswith("Nothing differs") == (not beyond)
        assert bool(run.overview.beyond) == beyond


def test_p_band_and_interval_are_of_one_statistic():
    """Three groups of unequal size, one of them tiny: the value lies outside its band where p is small."""
    outcomes = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        sizes = [600, 250, 12, 60]
        frame = table(rng.binomial(sizes, [0.95, 0.91, 0.9, 0.9]), sizes)
        contrast = eh.metrics.accuracy_contrast(evidence(frame), by="g", seed=seed)
        outside, small = contrast.value > contrast.null.high, contrast.p_value <= 0.05
        assert outside or not small
        assert small == (contrast.interval.low > 0)
        outcomes.add(small)
    assert outcomes == {True, False}


def test_persons_weights_single_groups_and_perfect_models():
    frame = table([180, 150, 160], [200] * 3).with_columns(
        person=pl.int_range(600) // 10, w=pl.Series(np.random.default_rng(0).uniform(0.5, 2, 600))
    )
    by_person = eh.metrics.accuracy_contrast(evidence(frame, cluster="person"), by="g")
    rows = eh.metrics.accuracy_contrast(evidence(frame), by="g")
    assert by_person.value == rows.value
    assert by_person.interval.low <= rows.interval.low
    weighted = eh.metrics.accuracy_contrast(evidence(frame, weight="w"), by="g")
    assert 0 < weighted.p_value < 0.05 < eh.metrics.accuracy_contrast(
        evidence(table([90, 88, 91], [100] * 3).with_columns(w=pl.lit(1.5)), weight="w"), by="g"
    ).p_value  # fmt: skip
    single = eh.metrics.accuracy_contrast(evidence(table([90], [100])), by="g")
    assert (single.value, single.reason, single.parts) == (None, "single_group", [])
    perfect = eh.metrics.accuracy_contrast(evidence(table([100, 50], [100, 50])), by="g")
    assert (perfect.value, perfect.p_value) == (0, 1)
    assert eh.metrics.accuracy_contrast(evidence(frame), by="g", inference="none").p_value is None


def test_few_rows_are_called_too_few():
    frame = table([24, 18], [30, 30])
    title = eh.audit(evidence(frame), by="g", metrics=PRIMARIES).overview.title
    assert title.startswith("60 rows are too few to tell by g: only ")
    assert title.endswith(" would usually have shown.")
    tiny = eh.audit(evidence(table([1, 0], [1, 1])), by="g", metrics=PRIMARIES).overview.title
    assert tiny == "2 rows are too few to tell whether anything differs by g."
    both = evidence(frame.with_columns(h=pl.int_range(60) % 2).cast(pl.String))
    titles = eh.audit(both, by=["g", "h"], metrics=PRIMARIES).overview.title
    assert "Nothing differs" not in titles
    assert titles.count("too few to tell by") == 2
    many = eh.audit(evidence(table([900, 905, 890], [1_000] * 3)), by="g", metrics=PRIMARIES).overview
    assert many.title == "Nothing differs by g beyond chance."
    assert any("rows 8" in text and "would usually have shown (4 times in 5)" in text for text in many.silent)


@pytest.mark.parametrize("sizes", [(300, 300), (400, 200, 120), (150,) * 8])
def test_what_would_usually_have_shown_does(sizes):
    """Planted at the stated rate, at the level of one of ten attributes: in 40 to 58 of 60."""
    level = 0.05 * 0.45 / 10
    z = sorted(range(len(sizes)), key=lambda code: sizes[code])[(len(sizes) - 1) // 2]
    base = [0.9] * len(sizes)
    about = eh.metrics.accuracy_contrast(evidence(table([round(0.9 * n) for n in sizes], sizes)), by="g")
    details = about.at_test_level(level).details
    assert details["detectable_n"] == sizes[z]
    assert details["detectable_rate"] < about.details["detectable_rate"]
    planted = [details["detectable_rate"] if code == z else rate for code, rate in enumerate(base)]
    shown = 0
    for seed in range(60):
        rights = np.random.default_rng(seed).binomial(sizes, planted)
        shown += (
            eh.metrics.accuracy_contrast(evidence(table(rights, sizes)), by="g", seed=seed).p_value <= level
        )
    assert 40 <= shown <= 58


@pytest.mark.parametrize(("usual", "sizes"), [(1.0, (300, 200)), (0.0, (300, 200)), (1.0, (150,) * 4)])
def test_what_would_have_shown_where_all_rows_are_right_or_none_is(usual, sizes):
    """Few mistakes in one group would usually have shown: the rows are not too few to tell."""
    rights = [round(usual * n) for n in sizes]
    run = eh.audit(evidence(table(rights, sizes)), by="g", metrics=PRIMARIES)
    assert run.overview.title == "Nothing differs by g beyond chance."
    details = run.finding("accuracy_contrast", "g").details
    rate = details["detectable_rate"]
    assert 0.01 < abs(usual - rate) < 0.06
    code = sizes.index(details["detectable_n"])
    planted, shown = [rate if z == code else usual for z in range(len(sizes))], 0
    for seed in range(40):
        rights = np.random.default_rng(seed).binomial(sizes, planted)
        about = eh.metrics.accuracy_contrast(evidence(table(rights, sizes)), by="g", seed=seed)
        shown += about.p_value <= 0.05  # alone with a test in its run
    assert 26 <= shown <= 38


@pytest.mark.parametrize(
    ("sizes", "level"),
    [((400, 150, 50), 0.05 * 0.45 / 10), ((400, 300, 200, 100, 80, 60, 40, 30), 0.05 * 0.45)],
)
def test_what_would_have_shown_of_right_rows_shows_in_test_and_interval(sizes, level):
    """One mistake more can have a larger p: few rows have few different results."""
    about = eh.metrics.accuracy_contrast(evidence(table(sizes, sizes)), by="g").at_test_level(level)
    z, shown = sizes.index(about.details["detectable_n"]), 0
    rates = np.where(np.arange(len(sizes)) == z, about.details["detectable_rate"], 1.0)
    for seed in range(100):
        rights = np.random.default_rng(seed).binomial(sizes, rates)
        found = eh.metrics.accuracy_contrast(evidence(table(rights, sizes)), by="g", seed=seed)
        shown += found.p_value <= level and found.interval_at(1 - level).low > EDGE
    assert 70 <= shown <= 91


def test_weighted_rows_that_moved_are_shares():
    """Sums of weights are not said as numbers of rows."""
    rng = np.random.default_rng(0)
    frame = drawn(rng, [0.95, 0.6], 400)
    equal = eh.Predictions.from_frame(
        frame.with_columns(who=pl.int_range(pl.len()) // 5), truth="truth", prediction="prediction",
        cluster="who", cluster_weights="equal",
    )  # fmt: skip
    for weighted in (
        equal,
        evidence(frame.with_columns(w=pl.lit(1.0) + pl.int_range(pl.len()) % 3), weight="w"),
    ):
        run = eh.audit(weighted, by="g", metrics=PRIMARIES)
        (line,) = [line for line in run.overview.beyond if "other answers" in line.text]
        assert " % of rows have other answers than the other groups' shares give; by chance " in line.text
        assert " of 4" not in line.text


def test_a_mean_that_exchange_cannot_change_has_no_test():
    """Of groups of one size it is the accuracy of all rows: no band without width, no p of 1."""
    for sizes, is_tested in (([100] * 3, False), ([100, 100, 60], True)):
        mean = eh.metrics.mean_group_accuracy(evidence(table([90, 80, 50], sizes)), by="g")
        assert mean.interval is not None
        assert (mean.p_value is not None, mean.null is not None) == (is_tested, is_tested)


def test_rows_of_one_person_are_not_called_alike():
    """Nor are they tested: no p, no band and no verdict come of one unit."""
    frame = table([120, 90], [150, 150]).with_columns(person=pl.lit("one"))
    run = eh.audit(evidence(frame, cluster="person"), by="g")
    assert run.overview.title == (
        "All 300 rows are of one cluster, so that nothing says whether they differ by g."
    )
    assert all(finding.p_value is None and finding.null is None for finding in run.findings)
    assert run.finding("disparities", "g").reason == "one_cluster"
    assert not any("chance" in text for text in (run.overview.lead, *run.overview.silent))


@pytest.mark.parametrize("is_mixed", [False, True])
@pytest.mark.parametrize("persons", [2, 3, 6])
def test_rows_of_a_few_persons_are_not_called_alike(persons, is_mixed):
    frame = table([90, 90], [150, 150])
    number = pl.int_range(pl.len())
    of_group = number % persons if is_mixed else number % (persons // 2 or 1) * 2 + (number >= 150)
    run = eh.audit(evidence(frame.with_columns(person=of_group), cluster="person"), by="g", metrics=PRIMARIES)
    shown = frame.with_columns(person=of_group)["person"].n_unique()
    title = f"300 rows of {shown} persons are too few to tell whether anything differs by g."
    assert run.overview.title == title


def test_a_group_of_a_set_is_inked_only_outside_its_own_band():
    """Three of six groups are worse together; one of them alone is as chance gives."""
    sizes = [400, 300, 250, 200, 150, 300]
    run = eh.audit(evidence(table([367, 276, 235, 167, 123, 260], sizes)), by="g", metrics=PRIMARIES)
    (line,) = [line for line in run.overview.beyond if " and " in line.text]
    named = [mark for mark in line.chart.marks if mark.named]
    assert [mark.label for mark in named] == ["g3", "g4", "g5"]
    assert any(mark.beyond for mark in named)
    assert not any(mark.beyond and mark.inside for mark in line.chart.marks)
