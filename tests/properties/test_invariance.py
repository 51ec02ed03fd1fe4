"""What must not change a finding of predictions: names, shards, repetition; more is in test_every_metric."""

from itertools import pairwise

import polars as pl
import pytest

from tests.properties.metric_table import CASES, COUNTED, plain, random_frame, relabel

pytestmark = pytest.mark.usefixtures("few_draws")
FRAME = random_frame(5, minority=0.4)
BIASED = random_frame(6, minority=0.4, bias=0.35)


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture(params=COUNTED, ids=str)
def counted(request):
    return request.param


@pytest.fixture(scope="module")
def usual():
    """The finding of each metric on the predictions of FRAME, made when it is first wanted."""
    made = {}

    def finding_of(case):
        if str(case) not in made:
            made[str(case)] = case(FRAME)
        return made[str(case)]

    return finding_of


def values(finding):
    return [finding.value, *sorted(part.value for part in finding.parts if part.value is not None)]


@pytest.mark.parametrize(
    "columns", [("group",), ("truth", "prediction", "second")], ids=["groups", "classes"]
)
def test_inference_depends_on_names_only_by_its_random_numbers(case, columns, usual):
    here, there = usual(case), case(relabel(FRAME, columns))
    if here.p_value is not None:
        # replicates, and for the skewness also the null mean from which distance counts, are random
        error = 4 * (2 * here.p_value * (1 - here.p_value) / 999) ** 0.5 + 0.03
        assert there.p_value == pytest.approx(here.p_value, abs=error)
    for name in ("interval", "null"):
        one, other = getattr(here, name), getattr(there, name)
        assert (one is None) == (other is None)
        if one is not None:
            width = one.high - one.low
            assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=0.25 * width)


@pytest.mark.parametrize("case", [case for case in CASES if case.scale_free], ids=str)
def test_values_do_not_depend_on_repetition(case):
    twice = pl.concat([BIASED, BIASED.with_columns(id=pl.col("id") + "x")])
    assert values(case(twice, inference="none")) == pytest.approx(
        values(case(BIASED, inference="none")), rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize("cuts", [[200], [1, 399], [13, 50, 51, 300]], ids=str)
def test_merged_shards_equal_the_whole(counted, cuts):
    ends = [0, *cuts, len(BIASED)]
    shards = [plain(BIASED[start:stop]).count(["group"]) for start, stop in pairwise(ends)]
    options = {} if cuts == [200] else {"inference": "none"}
    whole = plain(BIASED).count(["group"])
    assert sum(shards) == whole
    assert counted(sum(shards), **options).model_dump_json() == counted(whole, **options).model_dump_json()


def test_counts_and_predictions_give_one_finding(counted, usual):
    assert counted(plain(FRAME).count(["group"])) == usual(counted)


def test_unused_attributes_in_counts_change_nothing(counted, usual):
    wide = FRAME.with_columns(other=pl.col("id").str.slice(0, 1))
    counts = plain(wide).count(["other", "group"])
    assert counted(counts).model_dump_json() == usual(counted).model_dump_json()


def test_constant_columns_crossed_in_change_only_the_keys(counted, usual):
    from evenhand import metrics

    wide = FRAME.with_columns(camera=pl.lit("left"))
    crossed = getattr(metrics, counted.name)(
        plain(wide), by=["group", "camera"], inference="none", **counted.options
    )
    assert values(crossed) == values(usual(counted))
    assert crossed.groups[0].key == ["g0", "left"]
