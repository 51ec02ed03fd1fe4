"""Linear probes: multinomial logistic regression on frozen vectors, in blocks, stopped by validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.models.adapted.folder import Head
from evenhand.stats.arrays import ratio

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PENALTIES: tuple[float, ...] = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""What ``l2=auto`` tries, strong to weak, each from where the one before ended."""

_WORSE = 2  # penalties in a row that make validation no better: weaker ones are not tried
_BLOCK = 8_192  # rows that are looked at together
_REMEMBERED = 2**30  # bytes of vectors that are standardised once, not in each step
_LEAST = 1e-12  # a spread below this is none
Loss = tuple[float, Doubles]


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of labelled images, of which some rows are fitted on."""

    values: npt.NDArray[np.float32]  # shape (N, D); may lie on disk
    codes: Ints  # class of each row, shape (N,)
    classes: int  # how many
    fit: Ints  # rows to fit on
    validation: Ints  # rows to validate on; may be none
    unit: bool = False  # bring vectors to length 1 first

    def block(self, rows: Ints) -> Floats:
        """Some vectors, at length 1 where that is asked for."""
        some = np.asarray(self.values[rows], dtype=np.float32)
        if self.unit:
            length = np.linalg.norm(some, axis=1, keepdims=True)
            some = np.divide(some, length, out=np.zeros_like(some), where=length > 0)
        return some

    def spread(self) -> tuple[Doubles, Doubles]:
        """Mean and standard deviation of each dimension over the rows to fit on; a spread of 0 is 1."""
        total = np.zeros(self.values.shape[1])
        for rows in blocks(self.fit):
            total += self.block(rows).sum(axis=0, dtype=np.float64)
        mean = total / len(self.fit)
        square = np.zeros_like(mean)
        for rows in blocks(self.fit):
            square += np.square(self.block(rows) - mean).sum(axis=0)
        deviation = np.sqrt(square / len(self.fit))
        return mean, np.where(deviation > _LEAST, deviation, 1.0)


@dataclass(frozen=True, eq=False)
class Probe:
    """A fitted head."""

    head: Head  # from vectors to logits
    facts: dict[str, Any]  # accuracies, penalty, why it stopped
    history: list[dict[str, Any]] = field(default_factory=list)  # losses of each iteration


def read_vectors(evidence: Path, path: Path, count: int) -> tuple[Any, Any]:
    """All vectors in a file that is mapped into memory, and the row of each; unanswered rows have none.

    The samples in ``evidence`` are row numbers; ``path`` is the file that is made.
    """
    import polars as pl

    values, rows, n_rows = None, np.zeros(count, dtype=np.int64), 0
    for file in sorted(evidence.glob("part-*.parquet")):
        part = pl.read_parquet(file, columns=["sample", "vector"])
        if part.is_empty():
            continue
        block = np.stack(list(part["vector"].to_numpy()))
        if values is None:
            values = np.lib.format.open_memmap(path, "w+", np.float32, (count, block.shape[1]))
        values[n_rows : n_rows + len(block)] = block
        rows[n_rows : n_rows + len(block)] = part["sample"].cast(pl.Int64).to_numpy()
        n_rows += len(block)
    assert values is not None  # noqa: S101 - the engine refuses a question without an answer
    return values[:n_rows], rows[:n_rows]


def fit_probe(vectors: Vectors, recipe: Mapping[str, Any], device: str = "cpu") -> Probe:
    """Fit a multinomial logistic regression and stop where validation stops getting better.

    Minimises ``sum_i w_i CE_i / sum_i w_i + l2 / 2 |W|^2`` by L-BFGS over standardised vectors; w is 1, or
    n / (C n_c) with balanced class weights. The loss on the validation rows has the same weights. Of all
    iterations of all penalties the one of the smallest validation loss is kept; without validation rows the
    last one of the one penalty. Deterministic: the start is 0. The device ``cpu`` needs no torch.
    """
    weights = class_weights(vectors, str(recipe["class_weights"]))
    mean, deviation = vectors.spread()
    measure = _Measure(vectors, weights, mean.astype(np.float32), deviation.astype(np.float32), device)
    auto = recipe["l2"] == "auto"
    search = _PenaltySearch(measure, vectors, int(recipe["iterations"]), int(recipe["patience"]))
    search.run(PENALTIES if auto else (float(recipe["l2"]),))
    weight, offset = search.best[:, :-1], search.best[:, -1]
    head = Head(
        (weight / deviation).astype(np.float32),
        offset.astype(np.float32),
        mean.astype(np.float32),
        vectors.unit,
    )
    facts = {"l2": search.penalty, "iterations": search.iterations, "stopped_because": search.why}
    return Probe(head, facts | evaluated(head, vectors), search.history)


def class_weights(vectors: Vectors, kind: str) -> Doubles:
    """What an image of each class weighs, shape (C,); of ``balanced`` the mean over the images is 1."""
    counts = np.bincount(vectors.codes[vectors.fit], minlength=vectors.classes).astype(np.float64)
    if kind == "none":
        return np.ones(vectors.classes)
    present = max(1, int((counts > 0).sum()))
    return ratio(len(vectors.fit), present * counts, 0.0)


def evaluated(head: Head, vectors: Vectors) -> dict[str, Any]:
    """Accuracies on both halves: of all images, and the mean over the classes; null where there is none."""
    facts: dict[str, Any] = {}
    for name, rows in (("fit", vectors.fit), ("validation", vectors.validation)):
        right = np.zeros(vectors.classes)
        for some in blocks(rows):
            predictions = head.logits(vectors.values[some]).argmax(axis=1)
            np.add.at(right, vectors.codes[some], predictions == vectors.codes[some])
        counts = np.bincount(vectors.codes[rows], minlength=vectors.classes)
        facts |= accuracies(name, right, counts)
    return facts


def accuracies(name: str, right: Doubles, counts: Ints) -> dict[str, Any]:
    """Images, accuracy, and its mean over the classes that have images."""
    total, there = int(counts.sum()), counts > 0
    return {
        f"{name}_images": total,
        f"{name}_accuracy": float(right.sum() / total) if total else None,
        f"{name}_mean_class_accuracy": float((right[there] / counts[there]).mean()) if total else None,
    }


def blocks(rows: Ints) -> list[Ints]:
    """Rows in pieces that fit in memory."""
    return [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]


@dataclass(eq=False)
class _PenaltySearch:
    """L-BFGS for each penalty, and the best of all its steps."""

    measure: _Measure
    vectors: Vectors
    limit: int
    patience: int
    best: Doubles = field(default_factory=lambda: np.zeros((0, 0)))
    penalty: float = 0.0
    iterations: int = 0
    why: str = ""
    history: list[dict[str, Any]] = field(default_factory=list)

    def run(self, penalties: Sequence[float]) -> None:
        """Try the penalties in their order."""
        start = np.zeros((self.vectors.classes, self.vectors.values.shape[1] + 1))
        least, worse = np.inf, 0
        for penalty in penalties:
            step = self._best_step(penalty, start)
            start = step.weights
            if step.loss < least:
                least, worse = step.loss, 0
                self.best, self.penalty = step.weights, penalty
                self.iterations, self.why = step.iteration, step.why
            else:
                worse += 1
            if worse >= _WORSE:
                return

    def _best_step(self, penalty: float, start: Doubles) -> _Step:
        """The best step of one penalty: of the smallest validation loss, or the last without validation."""
        from scipy import optimize

        minimize: Any = optimize.minimize  # its stubs know no function that gives value and gradient
        shape, step = start.shape, _Step(start.copy())
        validated = len(self.vectors.validation) > 0
        count = 0

        def after_each(intermediate_result: Any) -> None:
            nonlocal count
            count += 1
            now = intermediate_result.x.reshape(shape)
            loss = self.measure.loss(now, self.vectors.validation) if validated else None
            fitted = float(intermediate_result.fun)
            row = {"l2": penalty, "iteration": count, "fit_loss": fitted, "validation_loss": loss}
            self.history.append(row)
            if loss is None:
                step.take(now, fitted, count)
            elif loss < step.loss:
                step.take(now, loss, count)
            elif count - step.iteration >= self.patience:
                step.why = "validation"
                raise StopIteration

        result = minimize(
            lambda flat: self._objective(flat.reshape(shape), penalty),
            start.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=after_each,
            options={"maxiter": self.limit, "maxcor": 10, "ftol": 1e-9, "gtol": 1e-6},
        )
        if not count:  # it began at the optimum
            step.take(
                start, self.measure.loss(start, self.vectors.validation if validated else self.vectors.fit), 0
            )
        step.why = step.why or ("iterations" if result.nit >= self.limit else "converged")
        return step

    def _objective(self, weights: Doubles, penalty: float) -> Loss:
        loss, gradient = self.measure.gradient(weights, self.vectors.fit)
        gradient[:, :-1] += penalty * weights[:, :-1]
        return loss + penalty / 2 * float(np.square(weights[:, :-1]).sum()), gradient.ravel()


@dataclass(eq=False)
class _Step:
    weights: Doubles
    loss: float = np.inf
    iteration: int = 0
    why: str = ""

    def take(self, weights: Doubles, loss: float, iteration: int) -> None:
        self.weights, self.loss, self.iteration = weights.copy(), loss, iteration


@dataclass(eq=False)
class _Measure:
    """Loss and gradient over some rows, block by block, on the processor or on torch's device."""

    vectors: Vectors
    weights: Doubles
    mean: Floats
    deviation: Floats
    device: str = "cpu"
    _block_cache: dict[int, list[tuple[Floats, Ints, Floats]]] = field(default_factory=dict)

    def loss(self, parameters: Doubles, rows: Ints) -> float:
        """The weighted mean of the cross-entropy."""
        return self._over(parameters, rows, slope=False)[0]

    def gradient(self, parameters: Doubles, rows: Ints) -> Loss:
        """The loss and its gradient, shape (C, D + 1); the last column is that of the offsets."""
        return self._over(parameters, rows, slope=True)

    def _over(self, parameters: Doubles, rows: Ints, *, slope: bool) -> Loss:
        answer: Callable[..., tuple[float, Any]] = _by_numpy if self.device == "cpu" else _by_torch
        loss, weight = 0.0, 0.0
        gradient = np.zeros_like(parameters) if slope else np.zeros((0, 0))
        theta = parameters.astype(np.float32)
        for inputs, codes, row_weights in self._blocks(rows):
            part, sloped = answer(inputs, codes, row_weights, theta, slope, self.device)
            loss, weight = loss + part, weight + float(row_weights.sum(dtype=np.float64))
            if slope:
                gradient += sloped
        total = weight if weight > 0 else 1.0
        return loss / total, gradient / total

    def _blocks(self, rows: Ints) -> Iterable[tuple[Floats, Ints, Floats]]:
        """Standardised vectors, classes and weights; remembered where they take little memory."""
        if self.vectors.values.size * 4 > _REMEMBERED:
            return map(self._block, blocks(rows))
        if id(rows) not in self._block_cache:  # the rows of the two halves, which live as long as this does
            self._block_cache[id(rows)] = [self._block(some) for some in blocks(rows)]
        return self._block_cache[id(rows)]

    def _block(self, rows: Ints) -> tuple[Floats, Ints, Floats]:
        codes = self.vectors.codes[rows]
        inputs = (self.vectors.block(rows) - self.mean) / self.deviation
        return inputs, codes, self.weights[codes].astype(np.float32)


def _by_numpy(
    inputs: Floats, codes: Ints, row_weights: Floats, theta: Floats, slope: bool, device: str
) -> tuple[float, Doubles | None]:
    """Summed loss of a block and, if wanted, its gradient."""
    del device
    logits = inputs @ theta[:, :-1].T + theta[:, -1]
    logits -= logits.max(axis=1, keepdims=True)
    weight = np.exp(logits)
    total = weight.sum(axis=1, keepdims=True)
    rows = np.arange(len(codes))
    losses = np.log(total[:, 0]) - logits[rows, codes]
    loss = float(np.dot(losses.astype(np.float64), row_weights.astype(np.float64)))
    if not slope:
        return loss, None
    weight /= total
    weight[rows, codes] -= 1
    weight *= row_weights[:, None]
    return loss, np.hstack([weight.T @ inputs, weight.sum(axis=0)[:, None]]).astype(np.float64)


def _by_torch(
    inputs: Floats, codes: Ints, row_weights: Floats, theta: Floats, slope: bool, device: str
) -> tuple[float, Doubles | None]:
    """As ``_by_numpy``, on a device of torch."""
    import torch

    with torch.inference_mode():
        features, weights, parameters = (
            torch.from_numpy(array).to(device) for array in (inputs, row_weights, theta)
        )
        index = torch.from_numpy(codes).to(device)
        logits = features @ parameters[:, :-1].T + parameters[:, -1]
        logs = torch.log_softmax(logits, dim=1)
        loss = float(-(logs.gather(1, index[:, None])[:, 0] * weights).sum())
        if not slope:
            return loss, None
        share = logs.exp()
        share[torch.arange(len(codes), device=device), index] -= 1
        share *= weights[:, None]
        gradient = torch.hstack([share.T @ features, share.sum(0)[:, None]])
        return loss, gradient.cpu().numpy().astype(np.float64)
