"""Ask a classifier about every sample, batch by batch on a fixed grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.benchmarks.declaration import Samples
from evenhand.core.capabilities import ClassifiesImages
from evenhand.core.errors import EvenhandError, UserError, one_line

BATCH = 256

SCHEMA = {
    "sample": pl.String,
    "truth": pl.String,
    "prediction": pl.String,
    "rank": pl.Int32,
    "confidence": pl.Float64,
}


def ask_classifier(
    model: ClassifiesImages, samples: Samples, *, limit: int | None, progress: Callable[[int, int], None]
) -> pl.DataFrame:
    """Predictions of the first rank: ``sample, truth, prediction, rank, confidence``.

    Logits that are not finite give a missing prediction, which metrics count as dropped.

    Args:
        model: The classifier.
        samples: What to ask about.
        limit: Only so many samples.
        progress: Called with samples done and samples in all.

    Raises:
        UserError: The model's answer has the wrong shape.
    """
    total = len(samples) if limit is None else min(limit, len(samples))
    labels = pl.Series([str(label) for label in model.labels])
    parts = []
    for start in range(0, total, BATCH):
        stop = min(start + BATCH, total)
        logits = _classify(model, samples.images(start, stop), start)
        if logits.shape != (stop - start, len(labels)):
            raise UserError(
                f"the model answered with shape {one_line(logits.shape)}; classify must return one logit for "
                f"each of {stop - start} images and {len(labels)} labels"
            )
        parts.append(_rows(samples.annotations[start:stop], logits, labels))
        progress(stop, total)
    return pl.concat(parts)


def _classify(model: ClassifiesImages, images: npt.NDArray[np.uint8], start: int) -> npt.NDArray[np.float64]:
    """The model's logits; whatever its code raises is told as one line, with the cause kept."""
    try:
        return np.asarray(model.classify(images), dtype=np.float64)
    except EvenhandError:
        raise
    except Exception as problem:
        cause = one_line(f"{type(problem).__name__}: {problem}")
        stop = start + len(images) - 1
        raise UserError(f"the model failed on samples {start} to {stop}: {cause}") from problem


def _rows(annotations: pl.DataFrame, logits: npt.NDArray[np.float64], labels: pl.Series) -> pl.DataFrame:
    finite: npt.NDArray[np.bool_] = np.asarray(np.isfinite(logits).all(axis=1))
    safe = np.where(finite[:, None], logits, 0.0)
    weight = np.exp(safe - safe.max(axis=1, keepdims=True))
    best = safe.argmax(axis=1)
    confidence = weight.max(axis=1) / weight.sum(axis=1)
    answered = pl.Series(finite)
    return annotations.select("sample", "truth").with_columns(
        prediction=pl.when(answered).then(labels.gather(best)).otherwise(None),
        rank=pl.lit(1, dtype=pl.Int32),
        confidence=pl.when(answered).then(pl.Series(confidence)).otherwise(None),
    )
