"""Logs of inspect_ai: ``.json``, and ``.eval``, a zip file of JSON documents.

Layout: inspect_ai 0.3.285, log version 2: ``log/_log.py`` (``EvalLog``, ``EvalSample``),
``scorer/_metric.py`` (``Score``) and ``log/_recorders/eval.py``. A ``.json`` log holds ``version``,
``status``, ``eval`` and ``samples``; an ``.eval`` log has ``header.json`` (once the evaluation has ended) and
``samples/ID_epoch_N.json``, compressed by Zstandard, by deflate in logs of older versions; of members of one
name the last counts. A sample holds ``id``, ``epoch``, ``target``, ``choices``, ``metadata``, ``scores``
(scorer to ``value``, ``answer``, ``explanation``) and ``error``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, UnknownName
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.zip import ZipMember, packed_bytes, read_zip_member, zip_members
from evenhand.files.other_tools.samples import (
    ALL_RIGHT,
    EXPECTED,
    GRADED,
    MOST_BYTES,
    SampleTable,
    check_file,
    flat,
    frame_of,
    grade_of,
    grading_notes,
    json_file,
    json_of,
    roles_of,
    times,
)
from evenhand.files.zstandard import decompressed_lines

_ZIP = b"PK\x03\x04"
_SLACK = 16 * 2**20
_KEYS = ("id", "epoch", "target")
_USED = (*_KEYS, "choices", "metadata", "scores", "error")  # messages and events stay in the log


def read_log(path: Path, choice: str | None) -> SampleTable:
    """A row for each sample, and each epoch of it; ``choice`` is the scorer, where samples have several.

    Columns: ``id``, ``epoch``, ``metadata.FIELD``, ``target``, ``answer`` (what the scorer took for the
    answer), ``target_choice`` and ``answer_choice`` (the texts of choices where targets are their letters),
    ``score`` (its value), ``graded`` and ``expected``. Samples without a score, such as those that ended with
    an error, have no answer. Where samples have several epochs, the sample is what was drawn: the
    ``cluster``.
    """
    check_file(path)
    with path.open("rb") as stream:
        is_zip = stream.read(4) == _ZIP
    header, samples = _of_zip(path) if is_zip else _of_json(path)
    scorers = list(dict.fromkeys(name for sample in samples for name in sample["scores"] or ()))
    if choice is None and len(scorers) > 1:
        possible = " or ".join(f"--from inspect:{name}" for name in scorers)
        raise InputError(f"the samples of {str(path)!r} have {len(scorers)} scores; choose with {possible}")
    if choice is not None and choice not in scorers:
        raise UnknownName("scorer", choice, scorers)
    scorer = choice or (scorers[0] if scorers else "")
    frame = frame_of([_row(sample, scorer) for sample in samples], path)
    repeated = frame["id"].n_unique() < frame.height
    roles = {**roles_of(frame), "cluster" if repeated else "id": "id"}
    notes = [*_notes(header, samples, scorer), *grading_notes(frame, roles)]
    if repeated:
        notes.append("samples have several epochs: each sample is one cluster")
    return SampleTable(frame, roles, notes)


def _of_json(path: Path) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    log = json_file(path)
    if not isinstance(log, Mapping) or not {"version", "eval"} <= set(log):
        raise InputError(
            f"{str(path)!r} is no log of inspect_ai (with 'version', 'eval' and 'samples'); give a file of "
            "its folder logs/, or a copy: inspect log convert LOG --to json --output-dir DIR"
        )
    samples = log.get("samples")
    if not isinstance(samples, list):
        raise InputError(f"the log {str(path)!r} holds no samples; evaluate without --no-log-samples")
    return log, [_checked(sample, path) for sample in samples]


def _of_zip(path: Path) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    members = {member.name: member for member in zip_members(path, zstandard=True)}  # the last of a name
    samples = [member for name, member in members.items() if name.startswith("samples/")]
    claimed = sum(member.size for member in samples)
    if not samples and not {"header.json", "_journal/start.json"} & set(members):
        raise InputError(f"{str(path)!r} is no log of inspect_ai: it has no header.json and no samples/")
    if claimed > 64 * MOST_BYTES:
        raise InputError(
            f"the samples of {str(path)!r} have {claimed:,} bytes, more than {64 * MOST_BYTES:,}"
        )
    header = _document(path, members["header.json"]) if "header.json" in members else {"status": "started"}
    return header, [_checked(_document(path, member), path) for member in samples]


def _document(path: Path, member: ZipMember) -> Any:
    """The JSON of a member."""
    what = f"{member.name} in {str(path)!r}"
    try:
        if not member.zstandard:
            return json_of(read_zip_member(path, member), what)
        most = min(MOST_BYTES, _SLACK + 8 * member.size)  # blocks are counted as if all of them were full
        return json_of(decompressed_lines(packed_bytes(path, member), most), what)
    except (InputError, UnreadableImage) as problem:
        raise InputError(f"{what} cannot be read: {problem}") from None


def _checked(sample: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(sample, Mapping) or not set(_KEYS) <= set(sample):
        raise InputError(f"a sample of {str(path)!r} lacks some of {', '.join(_KEYS)}: no log of inspect_ai")
    return {key: sample.get(key) for key in _USED}


def _row(sample: Mapping[str, Any], scorer: str) -> dict[str, Any]:
    score = (sample["scores"] or {}).get(scorer) or {}
    target, answer, choices = _single(sample["target"]), score.get("answer"), sample.get("choices") or []
    row = {
        "id": str(sample["id"]),
        "epoch": sample["epoch"],
        **flat("metadata", sample.get("metadata") or {}),
    }
    row |= {"target": target, "answer": answer}
    row |= {"target_choice": _text_of(target, choices), "answer_choice": _text_of(answer, choices)}
    value = score.get("value")
    return row | {**flat("score", value), EXPECTED: ALL_RIGHT, GRADED: grade_of(value)}


def _single(target: Any) -> str | None:
    """The target, None where several are right."""
    targets = target if isinstance(target, list) else [target]
    return str(targets[0]) if len(targets) == 1 and targets[0] is not None else None


def _text_of(letter: Any, choices: Sequence[Any]) -> str | None:
    """The text of the choice of a letter."""
    if not isinstance(letter, str) or len(letter) != 1:
        return None
    position = ord(letter.upper()) - ord("A")
    return str(choices[position]) if 0 <= position < len(choices) else None


def _notes(header: Mapping[str, Any], samples: Sequence[Mapping[str, Any]], scorer: str) -> list[str]:
    notes = []
    if header.get("status") != "success":
        notes.append(f"the log says {header.get('status')!r}: samples may be missing")
    failed = sum(bool(sample.get("error")) for sample in samples)
    without = sum(scorer not in (sample["scores"] or {}) for sample in samples)
    if without:
        notes.append(
            f"{times(without, 'sample')} of {len(samples):,} without a score ({failed:,} of all ended with "
            "an error): without a prediction"
        )
    several = sum(_single(sample["target"]) is None for sample in samples)
    if several:
        notes.append(f"{times(several, 'sample')} with several targets or none: without a truth")
    return notes
