"""Options of the effect-size metrics: what they change, what they refuse, what stands beside the value."""

import numpy as np
import pytest

from evenhand import metrics
from evenhand.core.errors import ParameterError, UnknownName
from evenhand.metrics.prepared import BoundCounts
from evenhand.stats.multiplicity import adjust
from tests.helpers import counts_of

LABELS = ["a", "b", "c"]
TABLES = {
    "a": [[150, 30, 20], [120, 50, 30]],
    "b": [[10, 160, 30], [40, 130, 30]],
    "c": [[20, 20, 160], [22, 18, 161]],
    "d": [[60, 70, 70], [80, 60, 60]],
}
COUNTS = counts_of(TABLES, LABELS)


def skewsize(**options):
    return metrics.skewsize(COUNTS, by="group", **options)


@pytest.mark.parametrize(
    "wrong",
    [{"statistic": "v"}, {"mev_rule": "median"}, {"rare": "keep"}, {"interval": "delta"},
     {"interval": "noncentral"}, {"interval": "exact"}, {"adjustment": "bonferroni"},
     {"alpha": 0}, {"alpha": 1}, {"mev": -1}],
)  # fmt: skip
def test_impossible_options_are_refused(wrong):
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))}=.* is not possible; choose"):
        skewsize(**wrong)


def test_unknown_options_name_the_closest():
    with pytest.raises(UnknownName, match="there is no option 'intervall'; did you mean 'interval'"):
        skewsize(intervall="score")
    with pytest.raises(UnknownName, match="there is no option 'constant'"):
        skewsize(constant="zero")


@pytest.mark.parametrize("adjustment", ["holm", "bh", "none"])
def test_parts_are_adjusted_as_one_family(adjustment):
    finding = skewsize(adjustment=adjustment)
    p = np.array([part.p_value for part in finding.parts])
    adjusted = [part.p_adjusted for part in finding.parts]
    np.testing.assert_allclose(adjusted, adjust(p, adjustment), rtol=1e-12)
    assert finding.adjustment == adjustment


def test_phi_is_v_times_sqrt_dof_in_every_part():
    v, phi = skewsize(), metrics.phi(COUNTS, by="group")
    for part in v.parts:
        assert phi.part(part.key).value == pytest.approx(part.value, rel=1e-12)  # two groups: dof 1
        assert phi.part(part.key).band is None
    assert phi.value == pytest.approx(np.mean([part.value for part in v.parts]))


def test_summaries_summarise_the_parts_of_skewsize():
    values = [part.value for part in skewsize().parts]
    for name, summary in {"mean": np.mean, "median": np.median, "max": np.max}.items():
        finding = getattr(metrics, f"cramers_v_{name}")(COUNTS, by="group")
        assert finding.value == pytest.approx(summary(values), rel=1e-12)


@pytest.mark.parametrize("interval", ["score", "bootstrap"])
def test_every_interval_holds_a_clear_effect(interval):
    part = skewsize(interval=interval).part("b")
    assert 0 < part.interval.low < part.value < part.interval.high < 1


def test_score_and_bootstrap_intervals_are_of_like_width():
    widths = [
        part.interval.high - part.interval.low
        for part in (skewsize(interval=kind).part("b") for kind in ("score", "bootstrap"))
    ]
    assert widths[0] == pytest.approx(widths[1], rel=0.35)


def test_bergsma_is_below_plain_v():
    corrected = metrics.cramers_v_corrected(COUNTS, by="group")
    for part in skewsize().parts:
        assert corrected.part(part.key).value < part.value


def test_the_null_band_holds_the_noise_floor_and_p_agrees_with_it():
    for part in skewsize().parts:
        floor = np.sqrt((3 - 1) / (part.n - 1))
        assert part.null.low < floor < part.null.high
        if not part.null.low <= part.value <= part.null.high:
            assert part.p_value < 0.06


def test_a_2x2_table_is_enumerated():
    counts = counts_of({"a": [[12, 5], [3, 9]], "b": [[20, 5], [3, 9]]}, ["a", "b"])
    part = metrics.cramers_v_max(counts, by="group", seed=1)
    again = metrics.skewsize(counts, by="group").part("a")
    assert again.null.method == "exact enumeration"
    assert again.null.replicates is None
    from scipy import stats

    hits = np.arange(3, 16)
    weight = stats.hypergeom(29, 17, 15).pmf(hits)
    distance = np.abs(hits - 17 * 15 / 29)
    expected = weight[distance >= abs(12 - 17 * 15 / 29) - 1e-9].sum()
    assert again.p_value == pytest.approx(expected, rel=1e-9)
    assert part.value > again.value


def test_paper_and_default_share_their_p():
    counts = counts_of({key: [[12, 5], [3, 9]] for key in "ab"}, ["a", "b"])
    paper = metrics.skewsize(counts, by="group", mode="paper").part("a")
    default = metrics.skewsize(counts, by="group").part("a")
    assert paper.value < default.value
    assert paper.p_value == default.p_value


def test_a_metric_on_bound_evidence_equals_that_on_counts():
    prepared = BoundCounts.of(COUNTS, "group", 5)
    assert metrics.skewsize(prepared, by="group", seed=5) == skewsize(seed=5)
    with pytest.raises(ParameterError, match="bound to"):
        metrics.skewsize(prepared, by="group", seed=6)
    with pytest.raises(ParameterError, match="names an attribute twice"):
        metrics.skewsize(COUNTS, by=["group", "group"])


def test_minimum_expected_values_are_named_in_the_finding():
    finding = skewsize(mev=5, mev_rule="max", rare="pool")
    assert finding.params == {"mev": 5, "mev_rule": "max", "rare": "pool"}
    assert finding.metric == "skewsize(by=group, mev=5, mev_rule=max, rare=pool)"


def test_differences_come_with_the_most_unlike_mistakes_first():
    tables = {**TABLES, "d": [[0, 0, 40], [0, 40, 0]]}
    tables["d"] = [[60, 0, 40], [60, 40, 0]]
    counts = counts_of({"a": tables["d"], "b": TABLES["b"], "c": TABLES["c"]}, LABELS)
    table = metrics.prediction_differences(counts, by="group")
    first = table.filter(table["order"] == 0)
    assert first["truth"].unique().to_list() == ["a"]
    assert sorted(table["order"].unique().to_list()) == [0, 1, 2]
    shares = {(row["group"], row["prediction"]): row["share"] for row in first.iter_rows(named=True)}
    assert shares == {("g0", "a"): 0.6, ("g0", "b"): 0, ("g0", "c"): 0.4,
                      ("g1", "a"): 0.6, ("g1", "b"): 0.4, ("g1", "c"): 0}  # fmt: skip


def test_differences_of_a_perfect_model_are_none():
    perfect = counts_of({"a": [[9, 0], [8, 0]], "b": [[0, 9], [0, 7]]}, ["a", "b"])
    assert metrics.prediction_differences(perfect, by="group").is_empty()


SUMMARIES = ("cramers_v_mean", "cramers_v_median", "cramers_v_max", "cramers_v_corrected", "phi")


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_of_one_class_has_the_interval_of_that_class(name):
    counts = counts_of({"a": [[32, 5, 3], [13, 19, 8]]}, ["a", "b", "c"])
    finding = getattr(metrics, name)(counts, by="group")
    options = {"statistic": "phi"} if name == "phi" else {}
    part = metrics.skewsize(counts, by="group", **options).part("a")
    assert (finding.interval.low, finding.interval.high) == (part.interval.low, part.interval.high)
    assert finding.interval.method == "interval of the one class"
    assert finding.p_value == part.p_value


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_interval_of_a_summary_is_of_its_corrected_value_in_closed_form(name):
    finding = getattr(metrics, name)(COUNTS, by="group", seed=1)
    assert finding.interval.replicates is finding.interval.seed is None
    assert 0 <= finding.interval.low <= finding.corrected <= finding.interval.high
    assert finding.interval.low < finding.interval.high
    wider = finding.interval_at(0.99)
    assert wider.low <= finding.interval.low
    assert wider.high > finding.interval.high
