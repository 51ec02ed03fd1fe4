"""Label association of 50k samples and 1,000 classes: 100 thresholds at once, and the memory it takes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from measuring import best, clean_environment, seconds, show, within

from evenhand.evidence.label_matches import LabelMatches
from evenhand.metrics.labels.tables import association_curve

SAMPLES, CLASSES, SUBJECTS = 50_000, 1_000, 10_000
CUTS = np.linspace(0, 1, 100).tolist()
LABELS = [f"label {number}" for number in range(CLASSES)]
TYPES = {
    "human": LABELS[:2], "possibly_human": LABELS[2:5], "non_human": LABELS[5:23], "crime": LABELS[23:24],
}  # fmt: skip
UNIONS = {"harmful": ("non_human", "crime")}
MEMORY = """
import sys; sys.path.insert(0, "perf")
from test_label_association import annotations, confidences, sweep
import polars, scipy.special, scipy.stats
from worker import peak_mib
evidence, table = confidences(), annotations()
before = peak_mib()
sweep(evidence, table, "subject")
print(peak_mib() - before)
"""


def annotations() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    subject = np.repeat(np.arange(SUBJECTS), SAMPLES // SUBJECTS)
    return pl.DataFrame(
        {
            "sample": [f"s{number:05d}" for number in range(SAMPLES)],
            "subject": subject.astype(str),
            "gender": rng.choice(["female", "male"], SUBJECTS)[subject],
            "skintone": rng.choice(["lighter", "darker"], SUBJECTS)[subject],
        }
    )


def confidences() -> Any:
    """The softmax of a head with 1,000 classes, float32."""
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((SAMPLES, CLASSES), dtype=np.float32)
    logits *= 3
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits


def first_ten(evidence: Any) -> pl.DataFrame:
    """The predictions as a run writes them."""
    order = np.argsort(-evidence, axis=1, kind="stable")[:, :10]
    return pl.DataFrame(
        {
            "sample": np.repeat([f"s{number:05d}" for number in range(SAMPLES)], 10),
            "prediction": pl.Series(LABELS).gather(order.ravel()),
            "rank": np.tile(np.arange(1, 11, dtype=np.int32), SAMPLES),
            "confidence": np.take_along_axis(evidence, order, axis=1).ravel().astype(np.float64),
        }
    )


def sweep(evidence: Any, table: pl.DataFrame, cluster: str | None = None) -> pl.DataFrame:
    """From the confidences of all classes to every rate at every threshold."""
    found = LabelMatches.from_confidences(
        evidence, table["sample"].to_list(), table, TYPES, LABELS, unions=UNIONS, cluster=cluster
    )
    return association_curve(found, ["gender", "skintone"], CUTS)


def one_by_one(predictions: pl.DataFrame, table: pl.DataFrame, cut: float) -> dict[Any, int]:
    """As the released code: loops over samples, for one threshold."""
    groups = dict(zip(table["sample"], zip(table["gender"], table["skintone"], strict=True), strict=True))
    rows = predictions.group_by("sample", maintain_order=True).agg("prediction", "confidence").rows()
    hits: dict[Any, int] = {}
    for sample, labels, sure in rows:
        kept = [label for label, value in zip(labels, sure, strict=True) if value >= cut][:5]
        for kind, members in TYPES.items():
            if set(kept) & set(members):
                key = (kind, "*".join(groups[sample]))
                hits[key] = hits.get(key, 0) + 1
    return hits


@pytest.fixture(scope="module")
def evidence() -> Any:
    return confidences()


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return annotations()


@pytest.mark.parametrize("cluster", [None, "subject"])
def test_100_thresholds_beside_a_sort(
    benchmark: Any, evidence: Any, table: pl.DataFrame, cluster: str | None
) -> None:
    curve = benchmark.pedantic(sweep, (evidence, table, cluster), rounds=3, warmup_rounds=1)
    assert curve.height == 5 * 4 * 100
    within(f"100 thresholds, {SAMPLES:,} x {CLASSES:,}, by {cluster}", best(benchmark), 2)


def test_from_predictions_beside_a_sort(benchmark: Any, evidence: Any, table: pl.DataFrame) -> None:
    predictions = first_ten(evidence)

    def work() -> pl.DataFrame:
        found = LabelMatches.from_predictions(
            predictions.lazy(), table, TYPES, LABELS, unions=UNIONS, cluster="subject"
        )
        return association_curve(found, ["gender", "skintone"], CUTS)

    curve = benchmark.pedantic(work, rounds=3, warmup_rounds=1)
    assert curve.equals(sweep(evidence, table, "subject"))
    took, expected = seconds(lambda: one_by_one(predictions, table, CUTS[10]))
    rows = curve.filter(pl.col("threshold") == CUTS[10], pl.col("association") != "harmful")
    found = {(row[0], row[1]): round(row[3] * row[7]) for row in rows.rows()}
    assert {key: count for key, count in found.items() if count} == expected
    what = "100 thresholds from ten predictions each"
    show(what, best(benchmark), 100 * took, "loops", "printed only")
    within(what, best(benchmark), 2)


def test_memory_under_1_gb_on_top_of_the_evidence() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, env=clean_environment()
    )
    extra = float(done.stdout.split()[-1])
    print(f"\n{extra:,.0f} MiB on top of {SAMPLES * CLASSES * 4 / 2**20:,.0f} MiB of confidences")
    assert extra < 1024
