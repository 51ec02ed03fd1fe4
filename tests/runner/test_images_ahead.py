"""Images read ahead of the model: one that stands in many rows is prepared once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from evenhand.benchmarks.mmbias.data.repeated_images import RepeatedImages
from evenhand.core.requests import Question
from evenhand.workflows.execution.engines.prefetch import with_images


class Grey:
    """Three images of one colour each."""

    def __len__(self):
        return 3

    def digest(self, index):
        return str(index)

    def load(self, index):
        return np.full((2, 2, 3), index, dtype=np.uint8)


class Matcher:
    """Counts what it prepares."""

    def __init__(self):
        self.prepared = Counter()

    def prepare(self, image):
        self.prepared[int(image[0, 0, 0])] += 1
        return image.astype(np.float32)


@pytest.mark.parametrize(("times", "most"), [(40, 2), (1, 1)])
def test_an_image_of_many_rows_is_prepared_once(times, most):
    source = RepeatedImages(Grey(), times)
    rows = list(range(len(source)))
    question = Question("pairs", "matches_pairs", [str(row) for row in rows], source, ["word"] * len(rows))
    model, seen = Matcher(), []
    batches = ((mark, rows[mark : mark + 5]) for mark in range(0, len(rows), 5))
    for _, batch, failed in with_images(question, model, batches, workers=2):
        assert not failed
        seen += [int(image[0, 0, 0]) for image in batch.images]
    assert seen == [row // times for row in rows]
    assert set(model.prepared) == {0, 1, 2}
    assert max(model.prepared.values()) <= most  # two threads may begin with the same one
