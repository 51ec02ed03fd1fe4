"""What a suite asks: benchmarks with data, models with options, and the names of its folders."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evenhand.benchmarks.benchmark import PERTURBING, parse_parameters
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.display.text.model_names import model_names

_NAMED = re.compile(r"(?P<name>[A-Za-z0-9._-]+)=(?P<rest>.*)", re.DOTALL)


@dataclass(frozen=True)
class SuiteBenchmark:
    """A benchmark of a suite."""

    benchmark: str  # its name, or file.py:object
    name: str = ""  # of its folder; empty: as the benchmark is called
    data: Path | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)  # as text
    limit: int | None = None  # ask about the first so many samples only; None: as the suite has it
    gates: tuple[str, ...] = ()  # conditions on its findings


@dataclass(frozen=True, eq=False)
class SuiteModel:
    """A model of a suite."""

    model: Any  # a model URI, or an object that meets a capability
    name: str = ""  # of its folders; empty: made from the URI
    tags: Mapping[str, str] = field(default_factory=dict)  # facts about it for comparisons
    options: Mapping[str, Any] = field(default_factory=dict)  # fields of AskOptions in place of the command's
    mitigation: Path | None = None  # the file of a fitted change of embeddings

    @property
    def uri(self) -> str:
        """How it is called in messages."""
        return (
            self.model if isinstance(self.model, str) else str(getattr(self.model, "uri", type(self.model)))
        )


@dataclass(frozen=True, eq=False)
class Suite:
    """Benchmarks and models; every model is asked every benchmark."""

    benchmarks: Sequence[SuiteBenchmark]  # in the order in which they are asked
    models: Sequence[SuiteModel] = ()  # in the order in which they are asked
    gates: tuple[str, ...] = ()  # conditions on the findings of every benchmark that has such a finding
    seed: int | None = None  # of samples and resampling; None: as the command has it
    name: str = ""  # of the page

    def with_names(self) -> Suite:
        """The same, each benchmark and model with the name of its folder."""
        if not self.benchmarks or not self.models:
            lacking = "--model URI" if self.benchmarks else "a benchmark; see: evenhand ls benchmarks"
            raise ParameterError(f"a suite needs benchmarks and models; give {lacking}")
        benchmarks = [
            replace(entry, name=_folder(entry.name or _of_benchmark(entry))) for entry in self.benchmarks
        ]
        _refuse_equal("benchmarks", [entry.name for entry in benchmarks], "- {benchmark: NAME, name: OTHER}")
        names = _of_models(self.models)
        _refuse_equal("models", names, "--model OTHER=URI")
        models = [replace(entry, name=name) for entry, name in zip(self.models, names, strict=True)]
        return replace(self, benchmarks=benchmarks, models=models)


def named_model(text: str) -> SuiteModel:
    """A model as ``--model`` gives it: ``URI``, or ``NAME=URI``."""
    match = _NAMED.fullmatch(text)
    return SuiteModel(match["rest"], match["name"]) if match else SuiteModel(text)


def with_values(
    benchmarks: Sequence[SuiteBenchmark], parameters: Sequence[str], data: Sequence[str]
) -> list[SuiteBenchmark]:
    """Benchmarks with what ``-p`` and ``--data`` say where several run.

    ``parameters`` are ``BENCHMARK:key=value``, or ``key=value`` for all benchmarks that have such a
    parameter; ``data`` are ``BENCHMARK=PATH``, where a folder of benchmarks, such as ``visogender``, stands
    for those inside it.
    """
    entries = list(benchmarks)
    for text in parameters:
        before, equals, value = text.partition("=")
        where, colon, key = before.rpartition(":")
        if not equals or not key:
            raise ParameterError(f"-p {text!r} cannot be read; write -p BENCHMARK:KEY=VALUE or -p KEY=VALUE")
        for index in _chosen(entries, where, "-p") if colon else _that_have(entries, key):
            merged = {**entries[index].parameters, key: value}
            entries[index] = replace(entries[index], parameters=merged)
    for text in data:
        where, equals, path = text.partition("=")
        if not equals:
            if len(entries) > 1:
                raise ParameterError(
                    f"--data {text!r} does not say for which of {len(entries)} benchmarks; "
                    f"write --data {entries[0].name or _of_benchmark(entries[0])}={text}"
                )
            where, path = "", text
        for index in _chosen(entries, where, "--data") if where else [0]:
            entries[index] = replace(entries[index], data=Path(path).expanduser())
    return entries


def check_entries(entries: Sequence[SuiteBenchmark]) -> None:
    """Refuse names and parameters that do not exist; a file that cannot be imported fails with its pairs."""
    for entry in entries:
        try:
            declared = BENCHMARKS.get(entry.benchmark)
        except InputError:
            continue
        parse_parameters(declared, entry.parameters, PERTURBING)


def _chosen(entries: Sequence[SuiteBenchmark], where: str, option: str) -> list[int]:
    """The benchmarks of a name, or of a folder of benchmarks."""
    names = [(entry.name or _of_benchmark(entry), entry.benchmark) for entry in entries]
    exact = [index for index, pair in enumerate(names) if where in pair]
    inside = [index for index, pair in enumerate(names) if any(name.startswith(f"{where}/") for name in pair)]
    if not exact and not inside:
        raise UnknownName(f"benchmark for {option}", where, [name for name, _ in names])
    return exact or inside


def _that_have(entries: Sequence[SuiteBenchmark], key: str) -> list[int]:
    declared = [{**PERTURBING, **BENCHMARKS.get(entry.benchmark).parameters} for entry in entries]
    having = [index for index, parameters in enumerate(declared) if key in parameters]
    if not having:
        raise UnknownName(
            "parameter of these benchmarks", key, sorted({name for names in declared for name in names})
        )
    return having


def _refuse_equal(what: str, names: Sequence[str], how: str) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ParameterError(f"two {what} are called {twice[0]!r}; give one of them another name: {how}")


def _of_benchmark(entry: SuiteBenchmark) -> str:
    """As it is typed; of a file's object, the names of both."""
    where, colon, attribute = entry.benchmark.rpartition(":")
    return f"{Path(where).stem}-{attribute}" if colon else entry.benchmark


def _of_models(models: Sequence[SuiteModel]) -> list[str]:
    """A name for each model; a hash tells the later of two that end alike from the first."""
    names: list[str] = []
    addresses: dict[str, str] = {}
    for model in models:
        name = _slug(model.name or model_names([model.uri])[0])
        address = model.uri
        if not model.name and addresses.get(name, address) != address:
            name = f"{name}-{hashlib.sha256(address.encode()).hexdigest()[:6]}"
        addresses.setdefault(name, address)
        names.append(name)
    return names


def _folder(name: str) -> str:
    """A name as a folder, or as folders inside each other."""
    return "/".join(_slug(part) for part in name.split("/") if part)


def _slug(name: str) -> str:
    """A name without what file systems dislike."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name.replace(".py:", "-")).strip("-.") or "model"
