"""Cells stay sorted where truths and predictions have orders of which labels cannot keep both."""

import numpy as np
import polars as pl

import evenhand as eh
from evenhand.metrics.tables.grouping import Grouped


def test_ages_called_by_names_are_audited_as_plain_counts_have_them():
    rng = np.random.default_rng(0)
    ages, names = ["0-2", "3-9", "10-19", "20-29"], ["happy", "sad", "10-19"]
    table = pl.DataFrame(
        {"t": rng.choice(ages, 400), "p": rng.choice(names, 400), "g": rng.choice(["a", "b"], 400)}
    )
    counts = eh.Predictions.from_frame(table, truth="t", prediction="p").count(["g"])
    bound = Grouped.bind(counts, ["g"])
    cells = np.stack([bound.truth, bound.group, bound.prediction])
    assert (np.lexsort(cells[::-1]) == np.arange(cells.shape[1])).all()
    found = {
        (bound.labels[t], bound.groups[g][0], bound.labels[p]): n
        for t, g, p, n in zip(*cells.tolist(), bound.n.tolist(), strict=True)
    }
    assert found == {tuple(row[:3]): row[3] for row in table.group_by("t", "g", "p").len().rows()}
    assert eh.metrics.cramers_v_pooled(counts, by="g").p_value > 0.001
