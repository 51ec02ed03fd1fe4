"""SkewSize over k labels and over confidences."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from evenhand import Predictions, metrics
from evenhand.core.errors import InputError, ParameterError
from evenhand.metrics.classification import ranked

COLUMNS = ["id", "truth", "group", "prediction", "rank", "confidence"]


def rows(n=90, label=lambda x: f"c{x}", group=lambda z: f"g{z}", seed=1):
    rng = np.random.default_rng(seed)
    return [
        (str(i), label(truth), group(z), label(int(guess)), rank + 1, (0.6, 0.3, 0.1)[rank])
        for i, (truth, z) in enumerate(
            zip(rng.integers(3, size=n).tolist(), rng.integers(2, size=n).tolist(), strict=True)
        )
        for rank, guess in enumerate(rng.permutation(3))
    ]


def evidence(found, **columns):
    frame = found if not isinstance(found, list) else pl.DataFrame(found, schema=COLUMNS, orient="row")
    wanted = {"id": "id", "rank": "rank", "confidence": "confidence", **columns}
    return Predictions.from_frame(frame, truth="truth", prediction="prediction", **wanted)


def quick(metric, found, **options):
    return getattr(metrics, metric)(evidence(found), by="group", inference="none", **options)


def test_k_1_equals_skewsize():
    found = rows()
    one = quick("skewsize_topk", found, k=1)
    plain = metrics.skewsize(evidence(found), by="group", inference="none")
    assert one.value == plain.value
    assert [part.value for part in one.parts] == [part.value for part in plain.parts]


def test_certain_confidences_equal_skewsize():
    found = [(*row[:5], 1.0 if row[4] == 1 else 0.0) for row in rows()]
    plain = metrics.skewsize(evidence(found), by="group", inference="none")
    assert quick("skewsize_softmax", found).value == pytest.approx(plain.value, rel=1e-12)


@pytest.mark.parametrize("metric", ["skewsize_topk", "skewsize_softmax"])
def test_values_equal_a_naive_loop(metric):
    frame = pd.DataFrame(rows(), columns=COLUMNS)
    weight = frame["confidence"] if metric == "skewsize_softmax" else (frame["rank"] <= 2).astype(float)
    v = []
    for _, one in frame.assign(w=weight).query("w > 0").groupby("truth"):
        table = one.pivot_table(index="group", columns="prediction", values="w", aggfunc="sum", fill_value=0)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.to_numpy().sum()
        chi2 = ((table - expected) ** 2 / expected).to_numpy().sum()
        v.append(np.sqrt(chi2 / (table.to_numpy().sum() * (min(table.shape) - 1))))
    options = {"k": 2} if metric == "skewsize_topk" else {}
    finding = quick(metric, frame, **options)
    assert [part.value for part in finding.parts] == pytest.approx(v, rel=1e-9)
    assert finding.value == pytest.approx(stats.skew(v), rel=1e-9)
    assert finding.n == 90


def test_what_is_needed_is_said():
    found = rows(9)
    with pytest.raises(InputError, match="needs ranked predictions; read the table with id=COLUMN"):
        metrics.skewsize_topk(evidence(found, id=None), by="group")
    with pytest.raises(InputError, match="needs confidences; read the table with confidence=COLUMN"):
        metrics.skewsize_softmax(evidence(found, confidence=None), by="group")
    with pytest.raises(ParameterError, match="k=0 is not possible; choose a whole number"):
        metrics.skewsize_topk(evidence(found), by="group", k=0)


def test_logits_are_refused():
    found = [(*row[:5], row[5] - 0.5) for row in rows(9)]
    with pytest.raises(InputError, match="look like logits, which have no count table"):
        quick("skewsize_softmax", found)


@pytest.mark.parametrize("group", [str, int, bool, float])
def test_groups_of_any_kind(group):
    assert quick("skewsize_topk", rows(group=group), k=2).value == quick("skewsize_topk", rows(), k=2).value


@pytest.mark.parametrize("label", [str, int, float])
def test_labels_of_any_kind(label):
    assert quick("skewsize_topk", rows(label=label), k=2).value == quick("skewsize_topk", rows(), k=2).value


@pytest.mark.parametrize("odd", [("z", "c0", "only", None), ("z", "c0", "only"), ("z", "only", "g0")])
def test_images_without_a_first_label_are_left_out(odd):
    first = [(*odd, 1, 0.6)] if len(odd) == 4 else []
    found = [*rows(), *first, (*odd[:3], "c1", 2, 0.3)]
    assert quick("skewsize_topk", found, k=2).value == quick("skewsize_topk", rows(), k=2).value


@pytest.mark.parametrize(("more", "refused"), [(0.0009, False), (0.0011, True), (0.5, True)])
def test_confidences_of_an_image_add_up_to_one_or_less(more, refused):
    found = [(*row[:5], row[5] + more * (row[0] == "4" and row[4] == 1)) for row in rows(30)]
    if refused:
        with pytest.raises(InputError, match="add up to more than 1"):
            quick("skewsize_softmax", found)
    else:
        assert quick("skewsize_softmax", found).n == 30


def test_bands_of_classes_reach_from_the_least_draw_to_their_95_percent_point(monkeypatch):
    made = []
    monkeypatch.setattr(
        ranked, "_null", lambda *given, usual=ranked._null: made.append(usual(*given)) or made[0]
    )
    found = metrics.skewsize_softmax(evidence(rows()), by="group")
    ends = np.sort(made[0].draws, axis=0)
    assert ends.shape == (999, 3)
    for part, draws in zip(found.parts, ends.T, strict=True):
        high = draws[948] + 0.1 * (draws[949] - draws[948])  # .95 of 998
        assert (part.null.low, part.null.high) == pytest.approx((draws[0], high))
