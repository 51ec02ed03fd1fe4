"""Read and prepare the images of the next batches in threads, while the model looks at this one."""

from __future__ import annotations

import threading
import weakref
import zlib
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from math import gcd
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from evenhand.core.capabilities import NotAnswered, PreparesImages
from evenhand.core.errors import EvenhandError, UserError, described
from evenhand.core.requests import ImageSource, Question, UnreadableImage
from evenhand.workflows.execution.answering.batches import Batch, is_out_of_memory
from evenhand.workflows.execution.engines.memory import reuse_freed_memory

AHEAD = 2  # batches whose images are read while another is asked about, more if they are small:
_PREPARED = 8  # images whose preparation is remembered, where one stands in many rows
IMAGES_AHEAD = 32  # so many images, so that readers need not wait while answers are written
_SAMPLED = 1_000  # numbers of a prepared image that tell it from others
T = TypeVar("T")


def load(images: ImageSource, row: int, prepare: Callable[[Any], Any] | None) -> Any:
    """One image as the model takes it, or why there is none."""
    try:
        pixels = images.load(row)
        return np.require(pixels, requirements="W") if prepare is None else _prepared(pixels, prepare)
    except UnreadableImage as problem:
        return _unreadable(images, row, problem)
    except MemoryError as problem:
        raise UserError(
            "memory does not hold the images that are read ahead; give a smaller --batch-size or fewer "
            "--workers; what was answered is kept"
        ) from problem


class _Once:
    """Prepares the last images once each, for a source that gives the same pixels for many rows."""

    def __init__(self, prepare: Callable[[Any], Any]) -> None:
        self._prepare, self._lock = prepare, threading.Lock()
        self._cache: OrderedDict[int, tuple[Any, Any]] = OrderedDict()  # pixels are held, so ids stay theirs

    def __call__(self, pixels: Any) -> Any:
        with self._lock:
            cached = self._cache.get(id(pixels))
        if cached is not None:
            return cached[1]
        prepared = self._prepare(pixels)
        with self._lock:
            self._cache[id(pixels)] = (pixels, prepared)
            while len(self._cache) > _PREPARED:
                self._cache.popitem(last=False)
        return prepared


class _NewEach:
    """Refuses a ``prepare`` of the user's that fills one array anew: every image would become the last one.

    A copy would not do: while it is made, another thread fills the array with the next image.
    """

    def __init__(self, prepare: Callable[[Any], Any]) -> None:
        self._prepare, self._lock = prepare, threading.Lock()
        self._given: dict[
            int, tuple[weakref.ref[Any], int]
        ] = {}  # by place in memory: what, and its checksum

    def __call__(self, pixels: Any) -> Any:
        prepared = self._prepare(pixels)
        for part in prepared.values() if isinstance(prepared, Mapping) else (prepared,):
            if isinstance(part, np.ndarray) or type(part).__module__ == "torch":
                self._check(part)
        return prepared

    def _check(self, part: Any) -> None:
        try:
            array = np.asarray(part)
        except (TypeError, RuntimeError):  # a tensor elsewhere than in this memory
            return
        address = array.__array_interface__["data"][0]
        content = _checksum(array)
        with self._lock:
            before = self._given.get(address)
            self._given[address] = weakref.ref(part), content
        if before is not None and before[0]() is not None and before[1] != content:
            raise UserError(
                "prepare() of the model gives the same array for different images, so that each becomes the "
                "last one; let it return a new array, such as array.copy()"
            )


def _checksum(array: npt.NDArray[Any]) -> int:
    """Of a small array, or of numbers spread over all rows and channels of a large one."""
    flat = array.reshape(-1)
    step = max(1, flat.size // _SAMPLED)
    while gcd(step, 6) != 1:  # else they might be of one channel
        step += 1
    return zlib.crc32(flat[::step].tobytes())


def _prepared(pixels: Any, prepare: Callable[[Any], Any]) -> Any:
    try:
        return prepare(pixels)
    except (EvenhandError, UnreadableImage):
        raise
    except Exception as problem:
        if is_out_of_memory(problem):
            raise MemoryError from problem
        shape = "x".join(map(str, pixels.shape))
        detail = f"{shape}: {described(problem)}"
        # a missing file or library may be there next time; a size that does not fit stays what it is
        elsewhere = isinstance(problem, OSError | ImportError | NameError | AttributeError)
        return NotAnswered("could not be prepared", detail, temporary=elsewhere)


def _unreadable(images: ImageSource, row: int, problem: UnreadableImage) -> NotAnswered:
    """A file that changed or went away since it was hashed says nothing about the content of that hash."""
    if problem.temporary:
        return NotAnswered(problem.reason, problem.detail, temporary=True)
    try:
        images.digest(row)
    except UnreadableImage:
        return NotAnswered(problem.reason, problem.detail, temporary=True)
    return NotAnswered(problem.reason, problem.detail)


def with_images(
    question: Question,
    model: Any,
    batches: Iterable[tuple[T, list[int]]],  # a mark and the rows of each batch
    workers: int,
) -> Generator[tuple[T, Batch, dict[int, NotAnswered]], None, None]:
    """Each batch with its images, in the order given, and the rows that have none."""
    if question.images is None:
        for mark, rows in batches:
            yield mark, Batch(rows), {}
        return
    reuse_freed_memory()
    prepare: Callable[[Any], Any] | None = model.prepare if isinstance(model, PreparesImages) else None
    if prepare is not None and not type(model).__module__.startswith("evenhand."):
        prepare = _NewEach(prepare)
    if prepare is not None and getattr(question.images, "repeats", False):
        prepare = _Once(prepare)
    waiting: deque[tuple[T, list[int], list[Future[Any]]]] = deque()
    pool = ThreadPoolExecutor(workers, "images")
    try:
        for mark, rows in batches:
            waiting.append((mark, rows, [pool.submit(load, question.images, row, prepare) for row in rows]))
            if len(waiting) > max(AHEAD, IMAGES_AHEAD // max(1, len(rows))):
                yield _ready(*waiting.popleft())
        while waiting:
            yield _ready(*waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _ready(mark: T, rows: list[int], futures: list[Future[Any]]) -> tuple[T, Batch, dict[int, NotAnswered]]:
    wait(futures)  # woken once for a batch, not once for each of its images
    loaded = [future.result() for future in futures]
    failed = {row: image for row, image in zip(rows, loaded, strict=True) if isinstance(image, NotAnswered)}
    readable = [(row, image) for row, image in zip(rows, loaded, strict=True) if row not in failed]
    return mark, Batch([row for row, _ in readable], [image for _, image in readable]), failed
