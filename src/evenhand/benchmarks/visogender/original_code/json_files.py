"""The JSON files of the original code, read as evidence: resolution and retrieval."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.visogender.data.captions import OCC_FIRST, PAR_FIRST
from evenhand.benchmarks.visogender.data.samples import SCHEMA
from evenhand.benchmarks.visogender.data.taxonomy import (
    SINGLE,
    TWO,
    gender_of,
    noun_of,
)
from evenhand.core.errors import InputError, UnknownName, one_line

Record = dict[str, Any]

EXPERIMENTS = ("CLIP", "CAPTIONING")
_OF_ALL = ("experiment", "model_name", "context")  # older files say these once, on top
_OLDER = {"main_cat": "sector", "sub_cat": "specialisation"}  # as preliminary (augmented) files call them
LISTS = {
    SINGLE: {OCC_FIRST.name: "logits_list_obj"},
    TWO: {OCC_FIRST.name: "logits_list_occ_first", PAR_FIRST.name: "logits_list_par_first"},
}
_NOT_UPSTREAM = ("url", "licence", "errors", "annotator")  # columns of the tables that results do not repeat
_SAMPLES = {name: kind for name, kind in SCHEMA.items() if name not in _NOT_UPSTREAM}
_SCORES = {"sample": pl.String, "template": pl.String, "candidate": pl.String, "score": pl.Float64}
_RANKED = {
    "query": pl.String,
    "sample": pl.String,
    "score": pl.Float64,
    "context": pl.String,
    "sector": pl.String,
    "specialisation": pl.String,
    "occupation_perceived_gender": pl.String,
}


@dataclass(frozen=True, eq=False)
class Resolution:
    """Pronoun scores made by the original code."""

    samples: pl.DataFrame  # one row a sample, columns as of the benchmark's samples
    scores: pl.DataFrame  # sample, template, candidate, score; null where the file has no number
    candidates: tuple[str, ...]  # in the order of the files, which decides ties in the original code
    experiment: str  # CLIP or CAPTIONING
    model: str


@dataclass(frozen=True, eq=False)
class OriginalRetrieval:
    """Scores of images for neutral captions made by the original code, which keeps no ids of images."""

    table: pl.DataFrame  # query (occupation), sample (occupation/position), score, attributes; in file order
    context: str  # single or two_person
    template: str  # occ_first or par_first
    dropped: Mapping[str, int] = field(default_factory=dict)  # occupations without a ranking, by reason


def read_resolution(*paths: str | Path, model: str = "") -> Resolution:
    """Read model outputs (or preliminary results) of one or both contexts.

    Labels may be ``masculine`` or ``man`` and the like, also mixed. A record without a number for some
    candidate keeps its other scores. Older files say experiment and model once, on top.
    """
    samples: list[tuple[Any, ...]] = []
    scores: list[tuple[Any, ...]] = []
    places_by_model: dict[tuple[str, str], str] = {}
    orders: dict[tuple[str, ...], str] = {}
    for path, records in _of_model(paths, model):
        for sample, record in records:
            where = f"{str(path)!r}, {one_line(sample)}"
            context = SINGLE if "logits_list_obj" in record else TWO
            samples.append(_sample(sample, record, context, where))
            experiment = _experiment(_text(record, "experiment", where), where)
            places_by_model[experiment, _text(record, "model_name", where)] = where
            for template, key in LISTS[context].items():
                by_candidate = _scores_of(record, key, where)
                orders.setdefault(tuple(by_candidate), where)
                scores += [(sample, template, candidate, score) for candidate, score in by_candidate.items()]
    if not samples:
        raise InputError(f"{', '.join(map(repr, map(str, paths)))}: no record; give the model outputs")
    if len(places_by_model) > 1:
        (first_model, first), (other, second) = list(places_by_model.items())[:2]
        text = f"{first} is of {' '.join(first_model)}, {second} of {' '.join(other)}"
        raise InputError(f"{text}; give files of one model, or choose it, such as -p model={first_model[1]}")
    ids = [row[0] for row in samples]
    if len(set(ids)) < len(ids):
        twice = next(sample for sample in ids if ids.count(sample) > 1)
        raise InputError(f"{one_line(twice)} stands in several files; give each sample once")
    return Resolution(
        pl.DataFrame(samples, schema=_SAMPLES, orient="row"),
        pl.DataFrame(scores, schema=_SCORES, orient="row"),
        _one_order(orders),
        *next(iter(places_by_model)),
    )


def _of_model(paths: Sequence[str | Path], model: str) -> list[tuple[str | Path, list[tuple[str, Record]]]]:
    """Every file with its records; where a model is chosen, only its files."""
    files = [(path, list(_records(path))) for path in paths]
    if not model:
        return files
    names = [records[0][1].get("model_name") if records else None for _, records in files]
    if model not in names:
        raise UnknownName("model of these files", model, sorted({str(name) for name in names if name}))
    return [file for file, name in zip(files, names, strict=True) if name == model]


def read_retrieval(path: str | Path) -> OriginalRetrieval:
    """Read one file of retrieval scores.

    Occupations with ``error`` have no scores and are counted. The file's name gives the template.
    """
    rows: list[tuple[Any, ...]] = []
    contexts, errors = set(), 0
    for name, record in _records(path):
        where = f"{str(path)!r}, {one_line(name)}"
        context = SINGLE if "obj" in record else TWO
        contexts.add(context)
        if record.get("error", False):
            errors += 1
            continue
        labels, logits = _list(record, "occ_genders", where), _list(record, "logits_list", where)
        if len(labels) != len(logits):
            raise InputError(
                f"{where}: {len(labels)} occ_genders but {len(logits)} logits_list; one an image"
            )
        shared = (context, _text(record, "sector", where), _text(record, "specialisation", where))
        for position, (label, logit) in enumerate(zip(labels, logits, strict=True), 1):
            score = _number(logit, f"{where}, logits_list")
            rows.append((name, f"{name}/{position}", score, *shared, _gender(label, where)))
    if len(contexts) != 1:
        raise InputError(
            f"{str(path)!r} holds no retrieval scores of one context; give retrieval_bias_*.json"
        )
    template = PAR_FIRST.name if PAR_FIRST.name in Path(path).name else OCC_FIRST.name
    dropped = {"error in the original run": errors} if errors else {}
    return OriginalRetrieval(
        pl.DataFrame(rows, schema=_RANKED, orient="row"), contexts.pop(), template, dropped
    )


def dump(content: Mapping[str, Any]) -> bytes:
    """The bytes that the original code writes: four spaces, no final newline."""
    return json.dumps(content, indent=4).encode()


def _records(path: str | Path) -> Iterator[tuple[str, Record]]:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_unique)
    except OSError as problem:
        raise InputError(f"{str(path)!r} cannot be read: {problem.strerror}; give a JSON file") from None
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{str(path)!r} is no whole JSON file: {one_line(problem)}; make it again") from None
    if not isinstance(content, dict):
        raise InputError(f"{str(path)!r} is no JSON object of records; give a file of the original code")
    on_top = {key: content.pop(key) for key in _OF_ALL if isinstance(content.get(key), str)}
    for key, record in content.items():
        if not isinstance(record, dict):
            raise InputError(f"{str(path)!r}, {one_line(key)}: not a record; give model outputs or retrieval")
        yield key, on_top | {_OLDER.get(str(name), str(name)): value for name, value in record.items()}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands twice")
    return record


def _sample(sample: str, record: Record, context: str, where: str) -> tuple[Any, ...]:
    occupation = _gender(_text(record, "occ_gender", where), where)
    single = context == SINGLE
    participant = None if single else _gender(_text(record, "par_gender", where), where)
    noun = _text(record, "obj" if single else "par", where)
    return (
        sample,
        context,
        _text(record, "sector", where),
        _text(record, "specialisation", where),
        _text(record, "occ", where),
        noun_of(noun) if single else None,
        noun if single else None,
        None if single else noun_of(noun),
        occupation,
        participant,
        occupation[0] + (participant or "")[:1],
    )


def _scores_of(record: Record, key: str, where: str) -> dict[str, float | None]:
    scores = record.get(key)
    if not isinstance(scores, dict) or not scores:
        raise InputError(f"{where}: no {key}; it holds a number for each of his, her, their")
    return {name: _number(value, f"{where}, {key}, {one_line(name)}") for name, value in scores.items()}


def _number(value: Any, where: str) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}: {one_line(value)!r} is no number; scores are numbers or null")
    return float(value)


def _text(record: Record, key: str, where: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value:
        raise InputError(f"{where}: no {key}; records of the original code have it")
    return value


def _list(record: Record, key: str, where: str) -> list[Any]:
    value = record.get(key)
    if not isinstance(value, list):
        raise InputError(f"{where}: no {key}; records of the original code have a list there")
    return value


def _gender(label: Any, where: str) -> str:
    gender = gender_of(label) if isinstance(label, str) else None
    if gender is None:
        raise InputError(f"{where}: {one_line(label)!r} is no known label; write masculine or feminine")
    return gender


def _experiment(experiment: str, where: str) -> str:
    if experiment.upper() not in EXPERIMENTS:
        raise InputError(
            f"{where}: experiment {one_line(experiment)!r} is not known; write CLIP or CAPTIONING"
        )
    return experiment.upper()


def _one_order(orders: Mapping[tuple[str, ...], str]) -> tuple[str, ...]:
    """The order of candidates that all records follow; the longest list has them all."""
    longest = max(orders, key=len)
    for order, where in orders.items():
        if tuple(name for name in longest if name in order) != order:
            raise InputError(
                f"{where} lists {', '.join(order)}, {orders[longest]} lists {', '.join(longest)}: the order "
                "decides ties in the original code; bring all records into one"
            )
    return longest
