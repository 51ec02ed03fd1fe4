"""What ranked predictions leave out is counted."""

import polars as pl

from evenhand import metrics
from evenhand.evidence.predictions.predictions import Predictions

ROWS = pl.DataFrame(
    {
        "image": [1, 1, 2, 2, 3, 4, 4],
        "truth": ["a"] * 7,
        "group": ["x", "x", "y", "y", "x", "y", "y"],
        "prediction": ["a", "b", "b", None, "b", "a", "b"],
        "rank": [1, 2, 1, 2, 2, 1, 2],
    }
)


def test_images_without_a_first_rank_and_labels_that_are_missing_are_counted():
    evidence = Predictions.from_frame(ROWS, truth="truth", prediction="prediction", id="image", rank="rank")
    finding = metrics.skewsize_topk(evidence, by="group", k=2, inference="none")
    dropped = {entry.reason: entry.count for entry in finding.dropped}
    assert dropped["image without a first rank"] == 1
    assert dropped["later rank with something missing"] == 1
    assert finding.n == 3
    assert finding.parts[0].n == 5
