"""A model of a library that builds the network itself and reads its weights from one file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, one_line
from evenhand.models.identity.source import LoadOptions
from evenhand.models.weights.checkpoint import check_memory, n_numbers, needed_memory, stored_dtype
from evenhand.models.weights.device import choose_device, choose_dtype, resolved_dtype
from evenhand.models.weights.pickle_conversion import is_refused_pickle, refusal


@dataclass(frozen=True)
class WeightFile:
    """The file of a model, and how it will be loaded."""

    uri: str  # for messages
    path: Path
    options: LoadOptions

    @cached_property
    def dtype(self) -> str:
        """The precision that is meant where the options leave it open."""
        return resolved_dtype(self.options, lambda: stored_dtype([self.path]))

    @cached_property
    def _numbers(self) -> int:
        return n_numbers([self.path], stored_dtype([self.path]))

    def memory(self) -> float:
        """Bytes that the weights need once loaded."""
        return needed_memory(self._numbers, self.dtype)

    def device_and_dtype(self) -> tuple[Any, Any]:
        """Where and in which precision it computes, as torch has them."""
        options = replace(self.options, dtype=self.dtype)
        check_memory(self.uri, self._numbers, self.dtype, options)
        return choose_device(options), choose_dtype(options)

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Name what a library says of weights that are a full pickle or of another architecture."""
        try:
            yield
        except Exception as problem:
            if is_refused_pickle(problem):
                raise InputError(f"{self.uri!r}: {refusal(self.path, problem)}") from None
            if not isinstance(problem, RuntimeError | KeyError | TypeError | ValueError):
                raise
            cause = one_line(problem, 300)
            raise InputError(
                f"{self.uri!r}: {str(self.path)!r} does not fit: {cause}; give the weights' own architecture"
            ) from None
