"""Logged samples of lm-evaluation-harness: ``samples_TASK_DATE.jsonl``, written with ``--log_samples``.

Layout: lm_eval 0.4.13, ``result_schema.SampleResult``, ``evaluator.evaluate`` and
``loggers/evaluation_tracker.py`` (``save_results_samples``). A line is a document under one filter:
``doc_id``, ``doc`` (the fields of the data set), ``target`` (text; of a multiple choice mostly the number of
the choice), ``arguments`` (``gen_args_N``: ``arg_0`` the context, ``arg_1`` the continuation or the settings
of generation), ``resps``, ``filtered_resps``, ``filter``, ``metrics`` (names) and the metrics' values.

lmms-eval writes the same with three differences (``loggers/evaluation_tracker.py``): a single response stands
in ``filtered_resps`` as plain text, ``doc`` may be left out, and metrics are not listed by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, UnknownName
from evenhand.files.other_tools.samples import (
    ALL_RIGHT,
    EXPECTED,
    GRADED,
    SampleTable,
    flat,
    frame_of,
    grade_of,
    grading_notes,
    json_lines,
    roles_of,
    times,
)

_KEYS = ("doc_id", "target", "filtered_resps")
_OF_A_SAMPLE = ("doc", "input")  # lmms-eval keeps the prompt, and may leave the document out


@dataclass(frozen=True, eq=False)
class _Sample:
    """What a line says, without its prompts."""

    doc_id: Any
    doc: Any
    target: str
    filter: str
    metrics: Mapping[str, Any]
    labels: Sequence[str]
    answer: str | None

    def target_label(self, by_text: bool) -> str | None:
        """The right choice, where ``by_text`` the one of this text; of generated text the text itself."""
        target = self.target.strip()
        if len(self.labels) < 2:
            return target or None
        number = int(target) if target.isascii() and target.isdigit() else len(self.labels)
        if target in self.labels and (by_text or number >= len(self.labels)):
            return target
        return self.labels[number] if number < len(self.labels) else None


def read_samples(path: Path, choice: str | None) -> SampleTable:
    """A row for each document; ``choice`` is the filter, where the file has several.

    Columns: ``doc_id``, ``doc.FIELD``, ``target``, ``answer``, the metrics, ``graded`` (right or wrong by the
    first metric) and ``expected`` (always right). Of a multiple choice ``answer`` is the choice with the
    highest log-likelihood, the first of equal ones, as the metric ``acc`` has it, and ``target`` the choice
    that is right; both are the choice's text, or its number where choices differ in their contexts.
    """
    samples = [_sample(content, number, path) for number, content in json_lines(path)]
    filters = list(dict.fromkeys(sample.filter for sample in samples))
    if choice is None and len(filters) > 1:
        possible = " or ".join(f"--from lm-eval:{name}" for name in filters)
        raise InputError(
            f"{str(path)!r} holds each document {len(filters)} times, once for each filter of answers; "
            f"choose with {possible}"
        )
    if choice is not None and choice not in filters:
        raise UnknownName("filter", choice, filters)
    selected = [sample for sample in samples if choice in (None, sample.filter)]
    by_text = _targets_are_texts(selected)
    frame = frame_of([_row(sample, by_text) for sample in selected], path)
    roles = {**roles_of(frame), "id": "doc_id"}
    notes = grading_notes(frame, roles)
    several = frame["target"].null_count()
    if several:
        notes.append(f"{times(several, 'document')} with several right answers or none: without a truth")
    return SampleTable(frame, roles, notes)


def _sample(content: Any, number: int, path: Path) -> _Sample:
    is_sample = isinstance(content, Mapping) and all(key in content for key in _KEYS)
    if not is_sample or not any(key in content for key in _OF_A_SAMPLE):
        raise InputError(
            f"line {number} of {str(path)!r} is no logged sample of lm-evaluation-harness (with "
            f"{', '.join(_KEYS)} and doc); evaluate with --log_samples, and give the file "
            "samples_TASK_DATE.jsonl"
        )
    labels, values = _choices(content)
    metrics = {str(name): content.get(str(name)) for name in content.get("metrics", ())}
    answer = _generated(content["filtered_resps"]) if not labels else _most_likely(labels, values)
    filtered_by = str(content.get("filter", "none"))
    target = str(content["target"])
    return _Sample(content["doc_id"], content.get("doc", {}), target, filtered_by, metrics, labels, answer)


def _row(sample: _Sample, by_text: bool) -> dict[str, Any]:
    grades = [grade for grade in map(grade_of, sample.metrics.values()) if grade is not None]
    row = {"doc_id": sample.doc_id, **flat("doc", sample.doc)}
    row |= {"target": sample.target_label(by_text), "answer": sample.answer}
    row |= {EXPECTED: ALL_RIGHT, GRADED: grades[0] if grades else None}
    return row | {name: value for name, value in sample.metrics.items() if name not in row}


def _likelihoods(content: Mapping[str, Any]) -> list[float]:
    """The log-likelihood of each continuation; empty for generated text."""
    responses = content["filtered_resps"]
    if not isinstance(responses, list) or not all(
        isinstance(entry, list) and len(entry) == 2 and str(entry[1]) in ("True", "False")
        for entry in responses
    ):
        return []
    return [float(entry[0]) for entry in responses]


def _choices(content: Mapping[str, Any]) -> tuple[list[str], list[float]]:
    """The text of each choice, or its number, with its log-likelihood; empty for generated text.

    With the metric ``acc_mutual_info`` the choices stand once more, without a context: these are left out.
    """
    values, arguments = _likelihoods(content), content.get("arguments", {})
    count = len(values)
    pairs = [arguments.get(f"gen_args_{index}", {}) for index in range(count)]
    contexts = [str(pair.get("arg_0") or "") for pair in pairs]
    half = count // 2
    if count > 2 and count == 2 * half and any(contexts[:half]) and not any(contexts[half:]):
        count = half
    texts = [str(pair.get("arg_1", "")).strip() for pair in pairs[:count]]
    distinct = len(set(texts)) == count and all(texts)
    return (texts if distinct else [str(index) for index in range(count)]), values[:count]


def _most_likely(labels: Sequence[str], values: Sequence[float]) -> str | None:
    """The choice of highest likelihood, None where a single continuation was scored."""
    return None if len(labels) < 2 or any(map(isnan, values)) else labels[values.index(max(values))]


def _generated(responses: Any) -> str | None:
    """The text that a filter let through, None where it let several through."""
    first = responses[0] if isinstance(responses, list) and responses else responses
    if isinstance(first, list) and len(first) == 1:
        first = first[0]
    return first.strip() if isinstance(first, str) else None


def _targets_are_texts(samples: Sequence[_Sample]) -> bool:
    """Whether targets such as ``1`` name a choice of that text, rather than the choice of that number.

    The metric ``acc`` says it: it is 1 where the answer is the target.
    """
    scored = [sample for sample in samples if "acc" in sample.metrics and len(sample.labels) > 1]
    fitting = {
        by_text: sum(
            (sample.answer == sample.target_label(by_text)) == bool(sample.metrics["acc"])
            for sample in scored
        )
        for by_text in (True, False)
    }
    return fitting[True] >= fitting[False]
