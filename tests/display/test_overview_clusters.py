"""First lines of rows that come in clusters: how many there are, and what the p counts."""

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.findings import Finding
from evenhand.display.overview.strips import strip_lines
from evenhand.display.overview.subject import Subject
from evenhand.stats.rates.clustered import ClusterMean
from evenhand.stats.rates.rates import Rates, normal_quantile
from tests.display.test_overview_rates import finding

SITES = {"R": 40, "M": 40, "T": 30}  # patients, four photos each


def photos(hurt=24):
    """Photos of patients; at the first site some of the first class are called the second."""
    rows = []
    for site, patients in SITES.items():
        for patient in range(patients):
            for photo in range(4):
                is_wrong = (patient < hurt and photo < 3) if site == "R" else patient % 8 == photo
                rows.append((f"{site}{patient:02d}", site, "a", "b" if is_wrong else "a"))
                rows.append((f"{site}{patient:02d}", site, "b", "b"))
    return pl.DataFrame(rows, schema=["patient", "site", "truth", "prediction"], orient="row")


def audited(frame=None, cluster="patient", **more):
    frame = photos() if frame is None else frame
    return eh.audit(
        frame, truth="truth", prediction="prediction", by="site", cluster=cluster, noun="photos", **more
    )


@pytest.fixture(scope="module")
def run():
    return audited()


def test_first_lines_say_how_many_units_rows_come_from_and_what_p_counts(run):
    lines = run.overview
    assert lines.kicker.endswith("880 of 880 photos of 110 patients")
    assert lines.headlines[0].text.startswith("R: 72 of 160 a photos are called b")
    assert lines.headlines[0].certainty.endswith("comparisons, counted by patient.")
    assert "of 110 patients" in str(run)
    assert run.finding("disparities").details["units"] == 110


def test_rows_that_are_their_own_units_say_nothing_of_them():
    lines = audited(cluster=None).overview
    assert lines.kicker.endswith("880 of 880 photos")
    assert "counted by" not in lines.headlines[0].certainty
    assert "units" not in audited(cluster=None).finding("disparities").details


def test_shares_have_the_interval_of_their_patients_and_what_exchanged_patients_give(run):
    """Wilson's with the effective size of leaving out each patient, as all other rates of clusters."""
    frame = photos().filter(pl.col("truth") == "a").with_columns(hit=pl.col("prediction") == "b")
    shares = [part for part in run.finding("disparities").parts if part.kind == "share"]
    assert [part.key[1] for part in shares] == ["R", "M", "T"]
    for part in shares:
        units = (
            frame.filter(pl.col("site") == part.key[1])
            .group_by("patient")
            .agg(pl.col("hit").sum(), w=pl.len())
        )
        s, w = (units[name].to_numpy().astype(float) for name in ("hit", "w"))
        mean = ClusterMean.of(s, w, w, pl.arange(len(s), eager=True).to_numpy(), len(s))
        low, high = Rates.of_clusters([mean]).limits(normal_quantile(0.95))
        assert (part.interval.low, part.interval.high) == pytest.approx((low[0], high[0]), abs=1e-12)
        assert part.null.low < frame["hit"].mean() < part.null.high
        assert "patient" in part.interval.method
        assert "patient" in part.null.method
    by_rows = audited(cluster=None).finding("disparities")
    plain = {tuple(part.key): part for part in by_rows.parts if part.kind == "share"}
    wide, narrow = shares[0].null, plain[tuple(shares[0].key)].null
    assert wide.high - wide.low > 1.2 * (narrow.high - narrow.low)


def test_shares_do_not_depend_on_how_the_table_is_read(run, tmp_path):
    photos().write_csv(tmp_path / "photos.csv")
    halves = [
        eh.Predictions.from_frame(some, truth="truth", prediction="prediction", cluster="patient").count(
            ["site"]
        )
        for some in (photos().head(300), photos().tail(-300))
    ]
    others = [
        audited(str(tmp_path / "photos.csv")).finding("disparities"),
        eh.metrics.disparities(halves[0] + halves[1], by="site"),
    ]
    for other in others:
        assert other.parts == run.finding("disparities").parts
        assert other.details["units"] == 110


def test_the_chart_has_intervals_bands_and_a_key(run):
    chart = run.overview.headlines[0].chart
    assert all(mark.interval and mark.null for mark in chart.marks)
    assert chart.null == "chance alone: groups shuffled by patient within the class"
    assert strip_lines(chart)[-1].endswith("● beyond chance  ○ not beyond  ─ 95 % interval  ░ chance alone")


def test_a_group_of_one_cluster_has_no_interval_and_says_why():
    alone = pl.DataFrame(
        [("T99", "X", "a", "b")] * 3 + [("T99", "X", "a", "a")] * 9, schema=photos().schema, orient="row"
    )
    parts = audited(pl.concat([photos(), alone])).finding("disparities").parts
    (share,) = [part for part in parts if part.kind == "share" and part.key[1] == "X"]
    assert (share.interval, share.reason) == (None, "one_cluster")
    assert share.null is not None


def test_units_of_several_groups_have_shares_too():
    frame = photos().with_columns(
        site=pl.when(pl.int_range(pl.len()) % 8 == 0).then(pl.lit("T")).otherwise("site")
    )
    shares = [part for part in audited(frame).finding("disparities").parts if part.kind == "share"]
    assert len(shares) == 3
    assert all(part.interval and part.null for part in shares)


@pytest.mark.parametrize(
    ("column", "n", "text"),
    [
        ("patient", 1080, " of 1,080 patients"), ("patient_id", 2, " of 2 patients"),
        ("PersonID", 1, " of 1 Person"), ("family", 9, " of 9 families"), ("boy", 2, " of 2 boys"),
        ("box", 2, " of 2 boxes"), ("subjects", 9, " of 9 subjects"), ("kid", 9, " of 9 kids"),
        ("p7", 3, " of 3 values of p7"), ("p7", 1, " of 1 value of p7"),
        ("patient", "hidden", ""), ("", 9, ""),
    ],
)  # fmt: skip
def test_units_are_called_by_their_column(column, n, text):
    some: Finding = finding("disparities", details={"units": n})
    assert Subject(cluster=column).units_of(some) == text
