"""Suites in files: ``suite.yaml``, and those that are shipped by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import yaml

from evenhand.core.errors import InputError, UnknownName, check_known, one_line
from evenhand.workflows.suite.entries import Suite, SuiteBenchmark, SuiteModel

SUFFIXES = (".yaml", ".yml")
_SHIPPED = files("evenhand.workflows.suite") / "shipped"
_BENCHMARK_KEYS = ("benchmark", "name", "data", "parameters", "limit", "gates")
_OPTIONS = {
    "device": str, "dtype": str, "batch-size": int, "workers": int, "max-tokens": int, "device-map": str,
    "quantize": int, "trust-remote-code": bool,
}  # fmt: skip
_MODEL_KEYS = ("model", "name", "tags", "mitigation", *_OPTIONS)
_SUITE_KEYS = ("benchmarks", "models", "gates", "seed", "limit", "about")
_HERE = ("./", "../", ".\\", "..\\")
_ELSEWHERE = ("api", "py", "timm", "openclip")
_EXAMPLE = "benchmarks: [sprites] and models: ['hf:openai/clip-vit-base-patch32']"


def shipped_suites() -> dict[str, str]:
    """Names of the suites that are shipped, with what they are for."""
    paths = sorted(path.name for path in _SHIPPED.iterdir() if path.name.endswith(SUFFIXES))
    return {name.removesuffix(SUFFIXES[0]): str(_content_of(name).get("about", "")) for name in paths}


def suites_with_aims() -> list[tuple[str, str]]:
    """Every suite that is shipped with what it is for."""
    return list(shipped_suites().items())


def is_suite(text: str) -> bool:
    """Whether an argument names a suite rather than a benchmark."""
    return text.endswith(SUFFIXES) or text in shipped_suites()


def read_suite(text: str) -> Suite:
    """A suite by its file or its name (see ``shipped_suites``). Paths in a file begin at its folder."""
    if not text.endswith(SUFFIXES):
        check_known("suite", text, shipped_suites(), "or give your own as suite.yaml")
        with as_file(_SHIPPED) as folder:
            return parse_suite(_content_of(f"{text}{SUFFIXES[0]}"), text, folder)
    path = Path(text).expanduser()
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InputError(f"{text!r} cannot be read: {problem.strerror}; check the path") from None
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        raise InputError(f"{text!r} is no YAML: {one_line(problem, 200)}") from None
    return parse_suite(content, text, path.absolute().parent)


def parse_suite(content: object, where: str, folder: Path) -> Suite:
    """A suite from what its file holds; paths in it begin at ``folder``."""
    reader = _SuiteReader(where, folder)
    top = reader.mapping(content, "", _SUITE_KEYS)
    if "benchmarks" not in top:
        raise InputError(f"{where!r} has no benchmarks; write for instance {_EXAMPLE}")
    limit = reader.integer(top, "", "limit")
    entries = [
        reader.benchmark(entry, f"benchmarks[{index}]", limit)
        for index, entry in enumerate(reader.listing(top["benchmarks"], "benchmarks"), 1)
    ]
    models = [
        reader.model(entry, f"models[{index}]")
        for index, entry in enumerate(reader.listing(top.get("models"), "models"), 1)
    ]
    gates = tuple(map(str, reader.listing(top.get("gates"), "gates")))
    return Suite(entries, models, gates, reader.integer(top, "", "seed"), Path(where).stem)


class _SuiteReader:
    """Values of one file; messages name the file and the key."""

    def __init__(self, where: str, folder: Path) -> None:
        self.where, self.folder = where, folder

    def benchmark(self, entry: object, at: str, limit: int | None) -> SuiteBenchmark:
        """A name, or a mapping."""
        content = self.mapping({"benchmark": entry} if isinstance(entry, str) else entry, at, _BENCHMARK_KEYS)
        parameters = self.mapping(content.get("parameters") or {}, f"{at}.parameters")
        data = self.text(content, at, "data")
        return SuiteBenchmark(
            self._code(self.required(content, at, "benchmark")),
            self.text(content, at, "name"),
            self.path(data) if data else None,
            {key: self._value(value) for key, value in parameters.items()},
            self.integer(content, at, "limit") or limit,
            tuple(map(str, self.listing(content.get("gates"), f"{at}.gates"))),
        )

    def model(self, entry: object, at: str) -> SuiteModel:
        """A URI, or a mapping."""
        content = self.mapping({"model": entry} if isinstance(entry, str) else entry, at, _MODEL_KEYS)
        tags = self.mapping(content.get("tags") or {}, f"{at}.tags")
        mitigation = self.text(content, at, "mitigation")
        options = {
            key.replace("-", "_"): self._typed(content, at, key, kind)
            for key, kind in _OPTIONS.items()
            if key in content
        }
        return SuiteModel(
            self._uri(self.required(content, at, "model")),
            self.text(content, at, "name"),
            {key: self._value(value) for key, value in tags.items()},
            options,
            self.path(mitigation) if mitigation else None,
        )

    def mapping(self, content: object, at: str, keys: tuple[str, ...] = ()) -> dict[str, Any]:
        """A mapping with texts as keys, of which only some exist; no keys: any."""
        if not isinstance(content, Mapping):
            raise self._wrong(at, content, f"keys with values ({', '.join(keys) or 'key: value'})")
        for key in content:
            if keys and key not in keys:
                where = f"{at} of {self.where!r}" if at else f"{self.where!r}"
                raise UnknownName(f"key in {where}:", str(key), keys)
        return {str(key): value for key, value in content.items()}

    def listing(self, content: object, at: str) -> list[Any]:
        """A list; nothing is an empty one, a text one of one."""
        if content is None:
            return []
        if isinstance(content, str):
            return [content]
        if not isinstance(content, list):
            raise self._wrong(at, content, "a list, with - before each entry")
        return content

    def required(self, content: Mapping[str, Any], at: str, key: str) -> str:
        """A text that must be there."""
        value = self.text(content, at, key)
        if not value:
            raise InputError(f"{at} of {self.where!r} has no {key}; write {key}: NAME")
        return value

    def text(self, content: Mapping[str, Any], at: str, key: str) -> str:
        """A text; empty where there is none."""
        return str(self._typed(content, at, key, str) or "")

    def integer(self, content: Mapping[str, Any], at: str, key: str) -> int | None:
        """A whole number from 0 on; None where there is none."""
        value = self._typed(content, at, key, int)
        if value is not None and value < 0:
            raise self._wrong(f"{at}.{key}".strip("."), value, "0 or more")
        return None if value is None else int(value)

    def path(self, text: str) -> Path:
        """A path, from the file's folder on."""
        path = Path(text).expanduser()
        return path if path.is_absolute() else self.folder / path

    def _typed(self, content: Mapping[str, Any], at: str, key: str, kind: type) -> Any:
        value = content.get(key)
        if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            names = {str: "a text", int: "a whole number", bool: "true or false"}
            raise self._wrong(f"{at}.{key}".strip("."), value, names[kind])
        return value

    def _value(self, value: object) -> str:
        """A parameter as ``-p`` would give it: YAML reads yes and no as truth values."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list):
            return ",".join(self._value(part) for part in value)
        return str(self.path(value)) if isinstance(value, str) and value.startswith(_HERE) else str(value)

    def _code(self, text: str) -> str:
        """A benchmark; of a file's object, the file from here on."""
        where, colon, attribute = text.rpartition(":")
        return f"{self.path(where)}:{attribute}" if colon and where.endswith(".py") else text

    def _uri(self, text: str) -> str:
        """A model URI; what lies beside the file is named by its whole path."""
        if text.rpartition(":")[0].endswith(".py"):
            return self._code(text)
        scheme, colon, rest = text.partition(":")
        if colon and scheme not in _ELSEWHERE and (rest.startswith(_HERE) or self.path(rest).exists()):
            return f"{scheme}:{self.path(rest)}"
        return text

    def _wrong(self, at: str, value: object, possible: str) -> InputError:
        where = f"{at} of {self.where!r}" if at else f"{self.where!r}"
        return InputError(f"{where} is {one_line(repr(value), 80)}; give {possible}")


def _content_of(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((_SHIPPED / name).read_text(encoding="utf-8"))
    return content
