"""Exports: run folders in, one file (or a tracker's runs) in a format of others out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import InputError, ParameterError, UserError, check_known
from evenhand.display.overview.subject import Subject
from evenhand.files.atomic import write_bytes
from evenhand.files.sealed import refuse_recorded
from evenhand.files.tables.spreadsheets import csv_bytes
from evenhand.files.tables.write import telling_where
from evenhand.report.content import ReportInput
from evenhand.report.exports import control_mapping, tracking
from evenhand.report.exports.every_eval_ever import every_eval_ever, record_path
from evenhand.report.exports.exported import Gate, RunView, chosen, only_run, text_of
from evenhand.report.exports.junit import junit
from evenhand.report.exports.ll144 import ll144_json, ll144_markdown
from evenhand.report.exports.model_card import model_card
from evenhand.report.exports.sarif import sarif
from evenhand.report.exports.summary import summary
from evenhand.report.exports.tidy import tidy_csv, tidy_frame, tidy_parquet
from evenhand.report.suppression.suppress import suppressed
from evenhand.runs.gates import check_gate_names, gate_results
from evenhand.runs.run_folder import FINDINGS, RunFolder, runs_in
from evenhand.workflows.outputs.evidence_rows import evidence_of, weighted_rows_of
from evenhand.workflows.outputs.impact_ratios import impact_ratios

if TYPE_CHECKING:
    import polars as pl

COUNTS = "predictions"
_RECORDS = "every-eval-ever"
_EACH_BY_ITSELF = (
    "cells are hidden in each run by itself; runs on the same rows may tell more together: audit all "
    "groupings in one run"
)
_Writer = Callable[[Sequence[RunView], Mapping[str, str]], bytes]
_Sink = Callable[[Sequence[RunView], "str | None", Mapping[str, str]], list[str]]

FORMATS: Mapping[str, str] = {
    "json": "findings.json itself; docs/findings.schema.json is its schema",
    "csv": "a row for each finding and each part",
    "parquet": "the same rows",
    "markdown": "a summary to paste",
    "model-card": "section of a Hugging Face model card, with model-index",
    "every-eval-ever": "Every Eval Ever JSON, schema 0.3.0",
    "junit": "JUnit XML; a gate is a test",
    "sarif": "SARIF 2.1.0; broken gates and findings beyond chance",
    "mlflow": "a run in MLflow; -o is the tracking address",
    "wandb": "a run in Weights & Biases, offline; -o is a folder",
    "controls": "evidence for EU AI Act, NIST AI RMF and NYC LL144; .md or .json",
    "ll144": "impact ratios of Local Law 144; .csv, .md or .json",
}
_BY_NAME = {
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".md": "markdown",
    ".xml": "junit",
    ".sarif": "sarif",
}
_SINKS: Mapping[str, _Sink] = {"mlflow": tracking.to_mlflow, "wandb": tracking.to_wandb}


def _plain(write: Callable[[Sequence[RunView]], bytes], name: str) -> _Writer:
    """A writer of a format without parameters."""

    def checked(runs: Sequence[RunView], parameters: Mapping[str, str]) -> bytes:
        chosen(parameters, {}, name)
        return write(runs)

    return checked


def _findings_json(runs: Sequence[RunView]) -> bytes:
    return only_run(runs, "json", "--as csv").content


_WRITERS: Mapping[str, _Writer] = {
    "json": _plain(_findings_json, "json"),
    "csv": _plain(tidy_csv, "csv"),
    "parquet": _plain(tidy_parquet, "parquet"),
    "markdown": _plain(summary, "markdown"),
    "model-card": model_card,
    "every-eval-ever": every_eval_ever,
    "junit": _plain(junit, "junit"),
    "sarif": _plain(sarif, "sarif"),
}


@dataclass(frozen=True)
class Export:
    """What an export made."""

    format: str
    content: bytes | None  # the file; None for a tracker, and for several files
    messages: tuple[str, ...] = ()  # for the user
    broken: tuple[str, ...] = ()  # what broke the gates that were given
    files: Mapping[str, bytes] = field(default_factory=dict)  # where a format has one for each run


def export(
    runs: Sequence[str | Path | RunFolder],  # folders of suites stand for their runs
    *,
    format: str | None = None,  # one of FORMATS; None: what the end of ``out`` says
    out: str | None = None,  # file or folder, or a tracker's address; None: nothing is written
    parameters: Mapping[str, str] | None = None,  # the format's own
    gates: Sequence[str] = (),  # beside those that the runs' manifests keep
    suppress: int = 0,  # rows that a cell needs to be shown; 0 hides nothing
) -> Export:
    """Write runs in a format of others.

    Equal run folders give equal bytes. The only times in them are the runs' own. What ``suppress`` hides has
    the reason ``suppressed``, a hidden count is ``-suppress``, and a gate on it is broken.
    """
    format_name = format_of(format, out)
    if not runs:
        raise InputError("no run given; type: evenhand export RUN --as markdown")
    read = _read(runs, tables=suppress > 0)
    is_several = format_name == _RECORDS and len(read) > 1
    if not is_several and format_name not in _SINKS and out is not None and Path(out).expanduser().is_dir():
        raise InputError(f"-o {out!r} is a folder; give a file in it")
    if format_name not in _SINKS and out is not None:
        _check_target(Path(out).expanduser(), read)
    if is_several and (out is None or Path(out).suffix == ".json"):
        raise ParameterError(f"{len(read)} runs are {len(read)} records; give them a folder: -o DIR")
    check_gate_names(gates, (card for run in read for card in run.findings.cards.values()), compares=True)
    if suppress and format_name == "ll144":
        raise ParameterError("the rules of ll144 want every category's number; leave out --suppress")
    exported = _exported(read, gates, suppress)
    result = _export_as(format_name, read, exported, out, parameters or {})
    if result.content is not None and out is not None:
        path = Path(out).expanduser()
        with telling_where(path.parent):
            write_bytes(path, result.content)
    for name, content in result.files.items():
        write_bytes(Path(str(out)).expanduser() / name, content)
    if suppress and len(read) > 1:
        result = replace(result, messages=(*result.messages, _EACH_BY_ITSELF))
    typed = [gate for run in exported for gate in run.gates if gate.text in gates]
    return replace(result, broken=tuple(gate.broken for gate in typed if gate.broken is not None))


def _check_target(target: Path, read: Sequence[RunFolder]) -> None:
    """Refuse to write over a run, or over the table that was audited."""
    refuse_recorded(target)
    for run in read:
        source = run.manifest.get("source")
        path = source.get("path") if isinstance(source, Mapping) else None
        if target.is_file() and isinstance(path, str) and os.path.realpath(path) == os.path.realpath(target):
            raise InputError(f"-o {str(target)!r} is the table that was audited; give another name")


def format_of(format: str | None, out: str | None) -> str:
    """The format asked for, or what the file's name says."""
    if format is not None:
        check_known("format", format, FORMATS)
        return format
    inferred_format = _BY_NAME.get(Path(out).suffix.lower()) if out else None
    if inferred_format is None:
        where = f"-o {out!r} does not say the format" if out else "no format given"
        raise ParameterError(f"{where}; add --as, one of {', '.join(FORMATS)}")
    return inferred_format


def _export_as(
    format: str,
    read: Sequence[RunFolder],
    runs: Sequence[RunView],
    out: str | None,
    parameters: Mapping[str, str],
) -> Export:
    if format in _SINKS:
        addresses = _SINKS[format](runs, out, parameters)
        return Export(format, None, tuple(f"logged to {format}: {address}" for address in addresses))
    if format == _RECORDS and len(runs) > 1:
        files = {record_path(run, parameters): every_eval_ever([run], parameters) for run in runs}
        return Export(format, None, (f"wrote {len(files)} records into {out}",), files=files)
    suffix = Path(out or "").suffix.lower()
    if format == "controls":
        controls = control_mapping.controls(runs, parameters)
        write = control_mapping.controls_json if suffix == ".json" else control_mapping.controls_markdown
        return Export(format, write(controls))
    if format == "ll144":
        return _ratios(read, runs, suffix, parameters)
    if format == "parquet" and out is None:
        raise ParameterError("parquet is no text to print; add -o FILE.parquet")
    return Export(format, _WRITERS[format](runs, parameters))


def _ratios(
    read: Sequence[RunFolder], runs: Sequence[RunView], suffix: str, parameters: Mapping[str, str]
) -> Export:
    pairs = []
    for run, exported in zip(read, runs, strict=True):
        counts = run.counts.get(COUNTS)
        if counts is None:
            raise InputError(
                f"{exported.name!r} keeps no counts of predictions; type: evenhand audit TABLE ... -o DIR"
            )
        pairs.append((exported, counts))
    table, notes = impact_ratios(pairs, parameters)
    write: Callable[[Any, Sequence[str]], bytes] = {
        ".csv": lambda table, _: csv_bytes(table),
        ".json": ll144_json,
    }.get(suffix, ll144_markdown)
    return Export("ll144", write(table, notes), tuple(notes))


def _read(runs: Sequence[str | Path | RunFolder], *, tables: bool) -> list[RunFolder]:
    """The runs; their tables are read where what they show is looked through for small cells."""
    reader = RunFolder.read if tables else RunFolder.read_counts
    read: list[RunFolder] = []
    for run in runs:
        read += [run] if isinstance(run, RunFolder) else map(reader, runs_in(Path(run).expanduser()))
    folders = [run.folder.resolve() for run in read if run.folder is not None]
    for index, folder in enumerate(folders):
        if folder in folders[:index]:
            raise InputError(f"{str(folder)!r} is given twice; give each run once")
    return read


def _names(read: Sequence[RunFolder], contents: Sequence[ReportInput]) -> list[str]:
    """What the runs are called: by their folders, with as many parents as tell them apart."""
    paths = [run.folder.resolve().parts if run.folder is not None else () for run in read]
    plain = [
        path[-1] if path else content.findings.manifest_id[:12]
        for content, path in zip(contents, paths, strict=True)
    ]
    names: list[str] = []
    for path, name in zip(paths, plain, strict=True):
        alike = [
            other_path for other_path, other in zip(paths, plain, strict=True) if other == name and other_path
        ]
        depth = 1
        while path and sum(other_path[-depth:] == path[-depth:] for other_path in alike) > 1:
            depth += 1
        label = text_of("/".join(path[-depth:]) if path else name)
        n_taken = sum(earlier == label or earlier.startswith(f"{label} #") for earlier in names)
        names.append(f"{label} #{n_taken + 1}" if n_taken else label)
    return names


def _exported(read: Sequence[RunFolder], gates: Sequence[str], suppress: int) -> list[RunView]:
    """The runs as formats see them: what is hidden is gone before anything is made of it."""
    contents = [ReportInput(run.findings, run.manifest) for run in read]
    if suppress:
        contents = [
            suppressed(
                replace(content, evidence=evidence_of(run), weighted_rows=weighted_rows_of(run)), suppress
            )
            for run, content in zip(read, contents, strict=True)
        ]
    return [
        RunView(
            name=name,
            findings=content.findings,
            manifest=content.manifest,
            gates=_checked(content, gates),
            content=content.findings.dump()
            if suppress or run.folder is None
            else (run.folder / FINDINGS).read_bytes(),
            counts=run.counts.get(COUNTS),
            fewest=suppress,
        )
        for run, name, content in zip(read, _names(read, contents), contents, strict=True)
    ]


def _gates_of_manifest(manifest: Mapping[str, Any]) -> list[str]:
    """Conditions that the manifest keeps; a manifest that was changed by hand may hold anything."""
    gates = manifest.get("gates")
    return [gate for gate in gates if isinstance(gate, str)] if isinstance(gates, list) else []


def _checked(content: ReportInput, gates: Sequence[str]) -> list[Gate]:
    """Every finding that a gate is about, with what broke it; a kept gate about none is passed over."""
    checked: list[Gate] = []
    manifest_gates = _gates_of_manifest(content.manifest)
    if not gates and not manifest_gates:
        return checked
    subject = Subject.of(content.manifest)
    for gate in dict.fromkeys((*gates, *manifest_gates)):
        try:
            results = gate_results(content.findings.findings, gate, subject)
        except UserError:
            if gate in gates:
                raise
            continue
        checked += [
            Gate(gate, finding, broken, in_manifest=gate in manifest_gates) for finding, broken in results
        ]
    return checked


def frame(runs: Sequence[str | Path | RunFolder]) -> pl.DataFrame:
    """The findings and parts of runs as a frame, as the CSV and Parquet exports have them."""
    read = _read(runs, tables=False)
    return tidy_frame(_exported(read, (), 0))
