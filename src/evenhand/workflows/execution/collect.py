"""From a plan and a model to evidence on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Plan
from evenhand.core.errors import UserError, failures_are_errors
from evenhand.core.findings import TableWarning
from evenhand.core.requests import Question
from evenhand.files.tables.write import write_table
from evenhand.models.adapters.own_code import ObjectSource
from evenhand.models.identity.source import ModelSource
from evenhand.models.resolve import require
from evenhand.workflows.execution.answer_tables import TableSource
from evenhand.workflows.execution.answering.answer_cache import AnswerStore
from evenhand.workflows.execution.answering.requests import BATCHES, Engine, RequestBatch
from evenhand.workflows.execution.backbone_cache import BackboneCache
from evenhand.workflows.execution.engines.lazy_model import LazyModel
from evenhand.workflows.execution.engines.local import LocalEngine
from evenhand.workflows.execution.evidence_writer import (
    UNANSWERED,
    EvidenceParts,
    flat_vectors,
    tied_answers,
    tied_scores,
)
from evenhand.workflows.execution.leakage import refuse_training_images
from evenhand.workflows.execution.missing_images import check_images
from evenhand.workflows.execution.options import AskOptions
from evenhand.workflows.execution.repeated_images import PictureRepeats

Progress = Callable[[str, int, int], None]
FOLDER = "evidence"
_TEMPORARY = "answers.sqlite"


@dataclass(frozen=True, eq=False)
class CollectedEvidence:
    """Evidence on disk and how it was made."""

    folder: Path  # holds one folder of Parquet parts for each question
    unanswered: pl.DataFrame  # samples without an answer
    facts: Mapping[str, Any]  # what the model says of itself
    account: dict[str, Any] = field(default_factory=dict)  # for the manifest: requests, reuse and cost
    warnings: Sequence[TableWarning] = ()  # about missing images, and answers that prefer nothing

    def tables(self, plan: Plan[Any]) -> dict[str, pl.LazyFrame]:
        """The evidence of each question, lazy."""
        return {
            question.name: pl.scan_parquet(self.folder / question.name / "part-*.parquet")
            for question in plan.questions
        }


def ask_all(
    plan: Plan[Any], source: ModelSource, folder: Path, options: AskOptions, progress: Progress
) -> CollectedEvidence:
    """Ask every question of a plan and write the evidence."""
    for question in plan.questions:
        require(source, question.capability)
    refuse_training_images(source, plan.questions)
    if isinstance(source, TableSource):
        return _from_tables(plan, source, folder / FOLDER)
    missing = check_images(plan.questions, allow_missing=options.allow_missing)
    repeats, answer_warnings = PictureRepeats.of(plan.questions), []
    evidence = folder / FOLDER
    through = BackboneCache.of(source)
    with (
        failures_are_errors(f"the model {source.uri!r}"),
        _store(through.source, folder, options) as (store, unfit),
        closing(LazyModel(through.source, store, options.shared)) as model,
    ):
        engine = make_engine(model, options)
        unanswered_rows, accounts = [], []
        for question in plan.questions:
            parts = EvidenceParts(evidence / question.name, question, partial(through.facts, model))
            asking = RequestBatch(
                through.question(question),
                store,
                options.batch_size or BATCHES[question.capability],
                through.sink(question, parts.write),
                lambda n_done, total, name=question.name: progress(name, n_done, total),  # type: ignore[misc]
            )
            asking.run(engine)
            if not len(question):  # a limit, or the data, left nobody to ask: a table without rows says so
                parts.write(0, 0, [])
            unanswered_rows += parts.unanswered
            answer_warnings += tied_answers(question, parts.tied) + flat_vectors(question, parts.vectors)
            accounts.append(_account(question, asking, engine, len(parts.unanswered)))
        unanswered = pl.DataFrame(unanswered_rows, schema=UNANSWERED)
        _refuse_silence(plan, unanswered)
        facts = through.facts(model)
        more: dict[str, Any] = {"usage": model.usage(), "not_kept": unfit}
        if options.keep_answers:
            more |= {"not_kept": unfit or store.changes(), "changed": _changed(through.source, store)}
    _write_about(plan, unanswered, evidence)
    how: dict[str, Any] = {"model": through.source.uri, "questions": accounts}
    how |= {"engine": options.engine, "workers": options.n_workers()}
    account_of = how | {name: value for name, value in more.items() if value}
    warnings = [*missing, *repeats.warnings(), *answer_warnings]
    return CollectedEvidence(evidence, unanswered, facts, account_of, warnings)


def _write_about(plan: Plan[Any], unanswered: pl.DataFrame, evidence: Path) -> None:
    """Who was asked about, and who has no answer."""
    write_table(plan.annotations, evidence / "annotations" / "part-00000.parquet")
    if len(unanswered):
        write_table(unanswered, evidence / "unanswered" / "part-00000.parquet")


def _from_tables(plan: Plan[Any], source: TableSource, evidence: Path) -> CollectedEvidence:
    """Evidence from answers made elsewhere."""
    without = [pl.DataFrame(schema=UNANSWERED)]
    account: list[dict[str, Any]] = []
    warnings: list[TableWarning] = []
    for question in plan.questions:
        answers, unanswered = source.evidence(question)
        warnings += tied_answers(question, tied_scores(answers))
        write_table(answers, evidence / question.name / "part-00000.parquet")
        without.append(unanswered)
        account.append(
            {"question": question.name, "rows": len(question), "asked": 0, "unanswered": len(unanswered)}
        )
    everything = pl.concat(without)
    _refuse_silence(plan, everything)
    _write_about(plan, everything, evidence)
    return CollectedEvidence(evidence, everything, {}, {"questions": account, "engine": "table"}, warnings)


@contextmanager
def _store(source: ModelSource, folder: Path, options: AskOptions) -> Iterator[tuple[AnswerStore, str]]:
    """The model's answers, and why they last for this command only although they were to be kept."""
    why = source.not_kept() if options.keep_answers and isinstance(source, ObjectSource) else ""
    if options.keep_answers and not why:
        store = AnswerStore.of_model(source.identity())
    else:
        store = AnswerStore(options.shared.answers_of(source) if options.shared else folder / _TEMPORARY)
    if changes := store.changes():
        store.close()
        store = AnswerStore(folder / _TEMPORARY)
    try:
        yield store, why or changes
    finally:
        store.close()
        for leftover in folder.glob(f"{_TEMPORARY}*"):
            leftover.unlink()


def _changed(source: ModelSource, store: AnswerStore) -> list[str]:
    """Files of the user's own model that changed under one version since its first answers were kept."""
    code = source.declared_code() if isinstance(source, ObjectSource) else {}
    first = store.first_code(code) if code else {}
    return sorted(name for name in code | dict(first) if code.get(name) != first.get(name))


def make_engine(model: LazyModel, options: AskOptions) -> Engine:
    """Who answers batches."""
    if options.engine == "ray":
        from evenhand.workflows.execution.engines.ray import RayEngine

        return RayEngine(model, options.n_workers(), options.address, options.load_options())
    return LocalEngine(model, options.n_workers())


def _account(question: Question, asking: RequestBatch, engine: Engine, unanswered: int) -> dict[str, Any]:
    account: dict[str, Any] = {
        "question": question.name,
        "capability": question.capability,
        "rows": len(question),
        "asked": asking.rows_sent,
        "reused": asking.reused.total(),
        "batch": asking.batch,
        "unanswered": unanswered,
    }
    if asking.reused:
        account["reused_of"] = dict(sorted(asking.reused.items()))
    halved = getattr(engine, "halved", {}).get(question.name)
    return account | ({"halved_to": halved} if halved else {})


def _refuse_silence(plan: Plan[Any], unanswered: pl.DataFrame) -> None:
    """A question without a single answer is a mistake to mend, not a finding."""
    for question in plan.questions:
        missing = unanswered.filter(pl.col("question") == question.name)
        if len(question) and len(missing) == len(question):
            reason, detail = missing.select("reason", "detail").row(0)
            detail = f" ({detail})" if detail else ""
            raise UserError(
                f"not one of {len(question)} samples was answered; the first, {missing['sample'][0]!r}: "
                f"{reason}{detail}"
            )
