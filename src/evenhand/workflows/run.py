"""From a benchmark and a model to a run folder."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import (
    PERTURBING,
    Answered,
    Benchmark,
    Measured,
    Plan,
    Setting,
    parse_parameters,
    primaries_of,
    words_to_keep,
)
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.benchmarks.tidy import noted
from evenhand.core.errors import exits_are_errors
from evenhand.core.findings import Dropped, Finding, Findings
from evenhand.files.atomic import atomic_folder
from evenhand.files.images.perturbed import perturbed
from evenhand.metrics.suites.families import adjust_run
from evenhand.mitigate.mitigation import Mitigation
from evenhand.models.identity.source import ModelSource
from evenhand.models.resolve import resolve, telling_what_to_add
from evenhand.runs import run_folder
from evenhand.runs.manifest import adaptation_warnings, make_manifest
from evenhand.workflows.execution.answer_tables import TableSource
from evenhand.workflows.execution.collect import FOLDER, CollectedEvidence, Progress, ask_all
from evenhand.workflows.execution.helper_models import HelperModels
from evenhand.workflows.execution.options import AskOptions
from evenhand.workflows.execution.reused_answers import reuse_notes
from evenhand.workflows.mitigated_model import Applied
from evenhand.workflows.outputs.outcomes import outcomes_of
from evenhand.workflows.outputs.result import Run, check_out
from evenhand.workflows.outputs.run_artifacts import artifact_tables

_MOST_CASES = 3  # headlines whose samples are written


@dataclass(frozen=True, eq=False, repr=False)
class AskedRun(Run):
    """A run with the raw answers and annotations it was computed from.

    ``unanswered`` has the columns sample, question, reason, detail, temporary.
    """

    evidence_folder: Path = Path()  # holds one folder of Parquet parts for each question
    unanswered: pl.DataFrame = field(default_factory=pl.DataFrame)
    _keeper: Any = None  # removes a temporary evidence folder when the run is forgotten

    @property
    def evidence(self) -> dict[str, pl.LazyFrame]:
        """Evidence and annotations by name, lazy; collect it while the run exists, or give ``out``."""
        names = sorted(entry.name for entry in self.evidence_folder.iterdir() if entry.is_dir())
        return {name: pl.scan_parquet(self.evidence_folder / name / "part-*.parquet") for name in names}

    @property
    def annotations(self) -> pl.DataFrame | None:
        """The samples with their attributes, one row each."""
        return self.evidence[run_folder.ANNOTATIONS].collect()

    @cached_property
    def case_tables(self) -> dict[str, pl.DataFrame]:
        """The samples behind the first headlines beyond chance, with their predictions, by their numbers."""
        lines = {str(number): line for number, line in enumerate(self.overview.beyond[:_MOST_CASES], 1)}
        labels = self.tables.get("predictions", self.evidence.get("predictions"))
        if not any(line.cases for line in lines.values()) or labels is None:
            return {}
        labels, samples = labels.lazy(), self.evidence[run_folder.ANNOTATIONS].collect()
        columns = labels.collect_schema().names()
        if not {"sample", "prediction"} <= set(columns):
            return {}
        first = labels.filter(pl.col("rank") == 1) if "rank" in columns else labels
        predictions = first.select("sample", "prediction").collect()
        table = samples.drop("prediction", strict=False).join(predictions, on="sample")
        tables = {
            number: _chosen(table, line.rows)
            for number, line in lines.items()
            if line.cases and set(line.rows) <= set(table.columns)
        }
        return {
            number: rows.head(run_folder.MOST_CASE_ROWS)
            for number, rows in tables.items()
            if rows.height == lines[number].cases  # else labels were spelled anew when they were counted
        }

    def temporary_reasons(self) -> dict[str, int]:
        """Samples worth asking about again, by reason; the same command does."""
        again = self.unanswered.filter("temporary")
        return dict(again["reason"].value_counts(sort=True).iter_rows())

    def reuse_notes(self) -> list[str]:
        """How many answers were reused, of which day, and how to ask again; empty where none were."""
        return reuse_notes(self.manifest["asking"])

    def write_extras(self, folder: Path) -> None:
        """Copy the evidence, unless it was made in that very folder."""
        if self.evidence_folder != folder / FOLDER:
            shutil.copytree(self.evidence_folder, folder / FOLDER)


def _chosen(table: pl.DataFrame, conditions: Mapping[str, str]) -> pl.DataFrame:
    """The rows with these values by column; ``!`` before a value: any other one."""
    for column, condition in conditions.items():
        is_it = pl.col(column).cast(pl.String) == condition[1:]
        table = table.filter(is_it if condition[0] == "=" else ~is_it)
    return table


def run(
    benchmark: str,
    *,
    model: Any,
    data: str | Path | None = None,
    parameters: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    options: AskOptions | None = None,
    mitigation: str | Path | Mitigation | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> AskedRun:
    """Ask a model a benchmark's questions, measure the answers, and write the run.

    What the model answered before, in any run, is not asked again; ``run.reuse_notes()`` says what was
    reused. A run that was stopped goes on where it was: call the same again.

    Args:
        benchmark: Its name, or ``file.py:object``.
        model: A model URI, or an object that meets a capability the benchmark asks for.
        data: Where the benchmark's data lies, where it needs one.
        parameters: The benchmark's own parameters, as text.
        tags: Facts about the model for comparisons.
        limit: Ask about the first so many samples only.
        seed: Of samples and resampling.
        options: Device, precision, batch size, workers, engine.
        mitigation: A fitted change of embeddings, or its file. It acts after asking and before measuring; the
            evidence on disk stays as the model gave it.
        out: Folder to write; default: evidence lives until the run is forgotten.
        progress: Called with a question's name, rows done, and rows in all.

    Returns:
        The run; ``run.unanswered`` lists the samples that the model has no answer for.

    Raises:
        UserError: Unknown benchmark, model or parameter, a model without the capability, or a mitigation
            that cannot act on what the benchmark asks for.
    """
    check_out(out)
    say = progress or (lambda *_: None)
    how = options or AskOptions()
    work = prepare(
        benchmark, model=model, data=data, parameters=parameters, tags=tags, limit=limit, seed=seed,
        options=how, mitigation=mitigation, progress=say,
    )  # fmt: skip
    with _building(out) as (folder, keeper):
        answers = ask_all(work.plan, work.source, folder, how, say)
        result = work.measured(answers, keeper)
        if out is not None:
            result.write_into(folder)
    return result if out is None else replace(result, evidence_folder=Path(out) / FOLDER)


def prepare(
    benchmark: str,
    *,
    model: Any,
    data: str | Path | None = None,
    parameters: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    options: AskOptions | None = None,
    mitigation: str | Path | Mitigation | None = None,
    progress: Progress | None = None,
) -> PreparedRun:
    """Everything that a run needs before its model is asked; the arguments are those of ``run``."""
    declared: Benchmark[Any] = BENCHMARKS.get(benchmark)
    words, values = words_to_keep(declared), parse_parameters(declared, parameters or {}, PERTURBING)
    how = options or AskOptions()
    applied = None if mitigation is None else Applied.read(mitigation)
    source = source_of(model, how)
    where = Path(data).expanduser() if data is not None else None
    setting = Setting(values, where, source.capabilities(), seed, limit, source.uri)
    further = HelperModels(how, progress or (lambda *_: None))
    with exits_are_errors(f"the benchmark {declared.name!r}"), telling_what_to_add(source):
        plan = declared.plan(setting)
    plan = replace(plan, questions=perturbed(plan.questions, values, seed))
    if applied is not None:
        applied.check(plan, declared.name)
    return PreparedRun(declared, words, setting, plan, source, applied, dict(tags or {}), further)


def source_of(model: Any, options: AskOptions) -> ModelSource:
    """Who answers: a model, or a table of answers."""
    if isinstance(model, str) and model.startswith("table:"):
        return TableSource(model.removeprefix("table:"))
    return resolve(model, options.load_options())


@contextmanager
def _building(out: str | Path | None) -> Iterator[tuple[Path, Any]]:
    """Where the run is made: beside its target, or in a folder that goes with the run."""
    if out is None:
        keeper = tempfile.TemporaryDirectory(prefix="evenhand-")
        yield Path(keeper.name), keeper
        return
    with atomic_folder(Path(out), entries=run_folder.ENTRIES, markers=run_folder.MARKERS) as folder:
        yield folder, None


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """A benchmark's questions to a model, and what their answers are measured with."""

    benchmark: Benchmark[Any]
    words: Mapping[str, Any]
    setting: Setting
    plan: Plan[Any]
    source: ModelSource
    applied: Applied | None
    tags: Mapping[str, str]
    further: HelperModels

    def measured(self, answers: CollectedEvidence, keeper: Any) -> AskedRun:
        """The run that the answers make."""
        plan, setting, applied = self.plan, self.setting, self.applied
        tables = answers.tables(plan)
        evidence = tables if applied is None else applied.tables(tables, plan)
        answered = Answered(plan, setting, evidence, answers.unanswered, answers.facts, self.further)
        with exits_are_errors(f"the benchmark {self.benchmark.name!r}"):
            measured = self.benchmark.measure(answered)
        extra: dict[str, Any] = {"tags": dict(self.tags)}
        if applied is not None:
            note = applied.note(self.source.uri, self.source.identity())
            measured = applied.noted(measured, note)
            extra |= applied.settings(plan, self.source.uri, note)
        findings, manifest = self._assembled(measured, answers, extra)
        result = AskedRun(
            findings,
            manifest,
            measured.counts,
            measured.tables,
            dict(measured.exports),
            answers.folder,
            answers.unanswered,
            keeper,
        )
        # with its folder, because some are made from the evidence
        full_run = run_folder.RunFolder(
            result.findings, result.manifest, result.counts, result.tables, folder=answers.folder.parent
        )
        result.tables.update(artifact_tables(full_run, data=setting.data, declared=self.benchmark.artifacts))
        outcomes = outcomes_of(full_run)
        result.tables.update({} if outcomes is None else {run_folder.OUTCOMES: outcomes})
        return result

    def _assembled(
        self, measured: Measured, answers: CollectedEvidence, extra: Mapping[str, Any]
    ) -> tuple[Findings, dict[str, Any]]:
        plan, setting = self.plan, self.setting
        settings: dict[str, Any] = {
            "kind": "run",
            "benchmark": self.benchmark.name,
            "model": self.source.uri,
            "model_identity": dict(self.source.identity()),
            "parameters": dict(setting.parameters),
            "truth": "truth",
            "prediction": "prediction",
            "by": ["+".join(names) for names in plan.by],
            "rows": len(plan.annotations),
            "samples": digest_of(plan.annotations),
            "mode": str(setting.parameters.get("mode", "default")),
            "seed": setting.seed,
            "source": None,
            **({"about": dict(plan.about)} if plan.about else {}),
            **extra,
        }
        manifest = make_manifest(measured.counts, settings)
        more = {"notes": dict(plan.notes), "further": self.further.accounts}
        asking = answers.account | {name: value for name, value in more.items() if value}
        manifest |= {"card": self.benchmark.card(), "asking": asking, **self.words}
        warnings = [*answers.warnings, *measured.warnings]
        manifest |= {"warnings": [warning.message for warning in warnings]} if warnings else {}
        dropped = _dropped(plan, answers.unanswered, measured.dropped)
        findings = adjust_run(measured.findings, primaries_of(self.benchmark))
        findings = named(findings, self.benchmark.name, str(settings["model"]), dropped)
        findings = _warned(findings, settings)
        return Findings(manifest_id=manifest["manifest_id"], findings=findings, warnings=warnings), manifest


def named(
    findings: Sequence[Finding], benchmark: str, model: str, dropped: Sequence[Dropped]
) -> list[Finding]:
    """Findings with the benchmark, the model, and what never came to be measured."""
    return [
        finding.model_copy(
            update={"benchmark": benchmark, "model": model, "dropped": [*dropped, *finding.dropped]}
        )
        for finding in findings
    ]


def _warned(findings: list[Finding], settings: Mapping[str, Any]) -> list[Finding]:
    """Findings beside another run's tell if the two models were not adapted alike."""
    folder = settings["parameters"].get("reference")
    if not folder or all(finding.reference is None for finding in findings):
        return findings
    other = run_folder.RunFolder.read_findings(Path(str(folder)).expanduser()).manifest
    sentences = adaptation_warnings([settings, other])
    return [finding if finding.reference is None else noted(finding, *sentences) for finding in findings]


def _dropped(plan: Plan[Any], unanswered: pl.DataFrame, unusable: Mapping[str, int]) -> list[Dropped]:
    """What never became an answer, by reason: a sample counts once."""
    dropped = dict(plan.dropped)
    counts = unanswered.unique("sample", keep="first", maintain_order=True)["reason"].value_counts(sort=True)
    unread = dict(counts.sort("count", "reason", descending=[True, False]).iter_rows())
    for reason, count in (*unread.items(), *unusable.items()):
        dropped[reason] = dropped.get(reason, 0) + count
    return [Dropped(reason=reason, count=count) for reason, count in dropped.items()]


def digest_of(annotations: pl.DataFrame) -> str:
    """A hash of who was asked about: ids, truth and attributes."""
    digest = hashlib.sha256(json.dumps(annotations.columns).encode())
    for block in annotations.iter_slices(65_536):
        digest.update(json.dumps(block.rows(), default=str, ensure_ascii=False).encode())
    return digest.hexdigest()
