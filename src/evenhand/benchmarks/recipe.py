"""What a paper's recipe declares: data, steps, artifacts, and which numbers stand beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RecipeData:
    """Data that a recipe reads.

    Attributes:
        name: As in ``--data NAME=DIR``.
        source: Its name for ``evenhand data``; empty: no data of that command.
        get: How to get it, where ``evenhand data`` does not know it.
    """

    name: str
    source: str = ""
    get: str = ""


@dataclass(frozen=True)
class Step:
    """One run of a recipe.

    Attributes:
        name: Of its folder, and of what artifacts are made from.
        benchmark: What is run; empty for a step that debiases another.
        ways: Sets of capabilities, one of which a model must have; empty: no model is asked for.
        data: Name of its ``RecipeData``, if it reads any.
        parameters: Of the benchmark, beside ``mode=paper``.
        data_parameters: Parameters of the benchmark that are folders: parameter to name of ``RecipeData``.
        debiases: The step whose run is debiased as in the paper, if that is what this one does.
        trains: Settings of a sprites model that is trained first and then asked; see
            ``sprite_models.train``.
        suggestion: Models that can be asked, where the given ones cannot.
    """

    name: str
    benchmark: str = ""
    ways: Sequence[tuple[str, ...]] = ()
    data: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    data_parameters: Mapping[str, str] = field(default_factory=dict)
    debiases: str = ""
    trains: Mapping[str, str] = field(default_factory=dict)
    suggestion: str = ""


@dataclass(frozen=True)
class Compared:
    """Which numbers of an artifact stand beside those that the paper prints.

    Attributes:
        keys: Columns that say what a number is of, with every setting of it that the paper states: a number
            of one model has one place, and two are an error.
        values: Columns of numbers.
        settings: Columns of settings in which several of ours stand beside one of the paper's.
        held_out: Column of numbers to the column that has them of items which nothing was chosen on.
    """

    keys: tuple[str, ...]
    values: tuple[str, ...] = ("value",)
    settings: tuple[str, ...] = ()
    held_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """How a paper's tables and figures are made.

    Attributes:
        paper: As it is typed.
        title: Authors, year, and what it is about.
        data: What its steps read.
        steps: In their order.
        artifacts: Artifact to the steps whose runs it is made from; without a step, from data alone.
        compared: Artifact to what of it stands beside the paper's numbers.
        data_of: Artifact to the data that it describes, one after the other; the first of the recipe where
            it is not said.
        parameters: Artifact to its own parameters, where they are not the default.
        time: How long it takes, in a sentence; empty: not long.
        tests: Pairs of groups whose associations a step ``debiases``.
    """

    paper: str
    title: str
    data: Sequence[RecipeData]
    steps: Sequence[Step]
    artifacts: Mapping[str, tuple[str, ...]]
    compared: Mapping[str, Compared] = field(default_factory=dict)
    data_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    time: str = ""
    tests: Sequence[tuple[str, str]] = ()


def numbered(prefix: str, numbers: Sequence[int], *steps: str) -> dict[str, tuple[str, ...]]:
    """Several artifacts that are made from the same steps, such as ``visogender/figure`` 2 to 6."""
    return {f"{prefix}{number}": steps for number in numbers}
