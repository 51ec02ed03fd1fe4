"""What a benchmark declares: parameters, samples, the capability it asks for, measures and artifacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import ParameterError, UnknownName, check_choice
from evenhand.core.results import Finding
from evenhand.evidence.counts import Counts
from evenhand.evidence.run_folder import Run


@dataclass(frozen=True)
class Parameter:
    """One ``-p key=value`` that a benchmark understands.

    Attributes:
        default: Used when it is not given; its type is the parameter's type.
        choices: What is possible; empty means any value of the type.
        help: What it does.
    """

    default: str | int | float
    choices: tuple[str, ...] = ()
    help: str = ""

    def parse(self, name: str, text: str) -> str | int | float:
        """The value that a text stands for.

        Raises:
            ParameterError: The text is not of the parameter's type, or not one of the choices.
        """
        if self.choices:
            check_choice(name, text, self.choices)
        kind = type(self.default)
        try:
            return kind(text)
        except ValueError:
            raise ParameterError(
                f"-p {name}={text!r} is not a {kind.__name__}; default: {self.default}"
            ) from None


@dataclass(frozen=True, eq=False)
class Samples:
    """The inputs of a benchmark with what is known about them.

    Attributes:
        annotations: One row a sample: ``sample`` (unique text), ``truth``, and the attributes.
        images: Gives the images of samples start to stop, uint8 RGB, shape (N, H, W, 3).
    """

    annotations: pl.DataFrame
    images: Callable[[int, int], npt.NDArray[np.uint8]]

    def __len__(self) -> int:
        return len(self.annotations)


@dataclass(frozen=True, eq=False)
class Measured:
    """What a benchmark says about predictions: findings, the counts they rest on, tidy tables."""

    findings: list[Finding]
    counts: dict[str, Counts] = field(default_factory=dict)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)


class Benchmark(Protocol):
    """Samples, questions and bound metrics under one name."""

    name: str
    parameters: Mapping[str, Parameter]
    attributes: Sequence[str]
    artifacts: Sequence[str]

    def samples(self, parameters: Mapping[str, Any], seed: int) -> Samples:
        """The samples, images rendered or decoded when asked for."""
        ...

    def measure(self, predictions: pl.DataFrame, *, seed: int) -> Measured:
        """Findings from predictions joined with annotations (columns sample, truth, prediction, ...)."""
        ...

    def card(self) -> str:
        """Source, licence and limits, in Markdown."""
        ...


@dataclass(frozen=True)
class Artifact:
    """A table of a paper, made from runs.

    Attributes:
        name: Such as ``skewsize/table1``.
        title: What it shows.
        make: From runs to a tidy table; the paper's own rows have ``source`` = ``paper``.
    """

    name: str
    title: str
    make: Callable[[Sequence[Run]], pl.DataFrame]


def parse_parameters(benchmark: Benchmark, given: Mapping[str, str]) -> dict[str, str | int | float]:
    """All parameters of a benchmark, those given checked and the others at their default.

    Raises:
        UnknownName: A parameter that the benchmark does not declare.
        ParameterError: A value that is not possible.
    """
    declared = benchmark.parameters
    for name in given:
        if name not in declared:
            raise UnknownName(f"parameter of {benchmark.name}", name, declared)
    return {
        name: parameter.parse(name, given[name]) if name in given else parameter.default
        for name, parameter in declared.items()
    }
