"""A model without group differences stays in its own null band; a planted one leaves it."""

import numpy as np
import pytest

from evenhand.core.significance import is_beyond, reference_of, significance_of
from evenhand.metrics.classification import ranked as ranked_metrics
from evenhand.metrics.prepared import BoundCounts
from tests.helpers import usual
from tests.properties.metric_table import CASES, COUNTED, plain, random_frame, ranked

pytestmark = pytest.mark.slow
SEEDS = (24, pytest.param(60, marks=pytest.mark.nightly))  # the battery of simulations draws more
WITH_NULL = [case for case in COUNTED if case.null]
TESTED = [case for case in WITH_NULL if not case.name.startswith("skewsize")]
SHAPES = [case for case in WITH_NULL if case.name.startswith("skewsize")]
RANKED = [case for case in CASES if case.ranked and case.null]
CAUTIOUS = ("cramers_v_median",)  # its p is small only where about half of the classes show an effect


def inside(finding):
    return finding.null.low - 1e-12 <= finding.value <= finding.null.high + 1e-12


@pytest.fixture(scope="module", params=SEEDS)
def fair(request):
    """Findings of every counted metric on fair models, one per seed."""
    found = {str(case): [] for case in WITH_NULL}
    with pytest.MonkeyPatch.context() as patch:
        for module in ("class_effects", "null_effects", "summaries"):  # bands need no more
            patch.setattr(f"evenhand.metrics.classification.{module}.REPLICATES", 499)
        for seed in range(request.param):
            prepared = BoundCounts.of(plain(random_frame(seed, n=1_100, minority=0.4)), "group", seed)
            for case in WITH_NULL:
                found[str(case)].append(case(prepared, seed=seed))
    return found


@pytest.mark.parametrize("case", WITH_NULL, ids=str)
def test_a_fair_model_stays_in_its_null_band(fair, case):
    findings = fair[str(case)]
    count = sum(map(inside, findings))
    print(f"{case}: inside its null band in {count} of {len(findings)}")
    assert count >= usual(0.95, len(findings))[0]


@pytest.mark.parametrize("case", TESTED, ids=str)
def test_p_of_a_fair_model_is_rarely_small(fair, case):
    p = np.array([finding.p_value for finding in fair[str(case)]], dtype=float)
    assert not np.isnan(p).any()
    print(f"{case}: p <= .05 in {(p <= 0.05).sum()} of {p.size}, p <= .5 in {(p <= 0.5).sum()}")
    least, most = usual(0.5, p.size)
    assert (p <= 0.05).sum() <= usual(0.05, p.size)[1]
    assert (p <= 0.5).sum() <= most
    assert (p <= 0.5).sum() >= least or case.name in CAUTIOUS  # steps of p make it cautious


@pytest.mark.parametrize("case", TESTED, ids=str)
def test_a_verdict_on_a_fair_model_is_rare(fair, case):
    """Test and interval together call no more beyond chance than the test alone."""
    verdicts = [is_beyond(finding) for finding in fair[str(case)]]
    small = [finding.p_value <= 0.05 for finding in fair[str(case)]]
    assert sum(verdicts) <= usual(0.05, len(verdicts))[1]
    assert all(p for p, verdict in zip(small, verdicts, strict=True) if verdict)


@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_the_shape_of_effect_sizes_is_descriptive(fair, case):
    for finding in fair[str(case)][:20]:
        assert (finding.p_value, finding.direction, significance_of(finding).side) == (
            None,
            "descriptive",
            "",
        )


@pytest.mark.parametrize("case", WITH_NULL, ids=str)
def test_a_planted_effect_leaves_the_null_band(case):
    everywhere = case.name == "cramers_v_median"  # which one class does not move
    finding = case(random_frame(7, classes=6, n=2_400, minority=0.25, bias=0.95, everywhere=everywhere))
    assert not inside(finding)
    if case in TESTED:
        assert finding.p_value < 0.05
    if case in TESTED and reference_of(finding) is not None:
        assert is_beyond(finding)


@pytest.mark.parametrize("case", RANKED, ids=str)
def test_ranked_metrics_of_a_fair_model_stay_in_their_null_band(case, monkeypatch):
    monkeypatch.setattr(ranked_metrics, "_BUDGET", 0)  # 99 replicates are enough here
    count = 0
    for seed in range(25):
        evidence = ranked(random_frame(2000 + seed, n=120, classes=3))
        count += inside(case(evidence, seed=seed))
    print(f"{case}: inside its null band in {count} of 25")
    assert count >= 20


@pytest.mark.parametrize("case", RANKED, ids=str)
def test_ranked_metrics_see_a_planted_effect(case):
    finding = case(random_frame(7, classes=6, n=900, minority=0.4, bias=0.95))
    assert not inside(finding)
    assert finding.p_value is None
    assert finding.part("c0").p_value < 0.01
