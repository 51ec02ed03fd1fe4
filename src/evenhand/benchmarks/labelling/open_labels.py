"""From open answers to labels in a benchmark: its parameters, the steps, further models, tables and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Parameter
from evenhand.core.errors import ParameterError, UserError
from evenhand.core.requests import Question
from evenhand.evidence.open_answers.matching import (
    MATCHES,
    accepted,
    asked_labels,
    matching_prompt,
    nearest_labels,
    open_texts,
)
from evenhand.evidence.open_answers.normalise import (
    MATCHERS,
    STEPS,
    Decisions,
    Pipeline,
    Vocabulary,
    normalised,
    review_file,
    review_table,
    step_shares,
)
from evenhand.evidence.open_answers.pipeline import PipelineRun

REVIEW_FILE = "answers-to-review.csv"
"""What a person fills in and gives back as ``-p decisions=``."""
SYNONYMS_FILE = "synonyms.tsv"
"""The synonyms in use, for a person to edit and give back as ``-p synonyms=``."""
DECISIONS_FILE = "decisions.csv"
"""The decisions in use, as they were given."""
NAMED = "named"
PARAMETERS: Mapping[str, Parameter] = {
    "synonyms": Parameter(
        "",
        help="answer: file of synonyms, or ours: occupations, sports, objects, faces, birds",
    ),
    "decisions": Parameter("", help="answer: CSV of decisions about answers, as reviewed"),
    "gendered": Parameter("fold", ("fold", "keep"), "answer: whether waitress is waiter"),
    "match": Parameter(
        "steps", help="answer: steps, then embedding:URI, then llm:URI for what is left, separated by commas"
    ),
    "similarity": Parameter(0.8, help="answer: the least cosine that match=embedding:URI accepts"),
}
"""The parameters of a benchmark of open answers."""


@dataclass(frozen=True, eq=False)
class OpenLabels:
    """Labels of open answers, and what is kept beside them."""

    table: pl.DataFrame  # of open_answers.normalised: one row an answer
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)  # those that a run keeps, by name
    exports: dict[str, bytes] = field(default_factory=dict)  # review and decisions (CSV), synonyms (TSV)

    @property
    def predictions(self) -> pl.LazyFrame:
        """``sample``, ``prediction``; refusals and empty answers are predictions of their own."""
        return self.table.lazy().select("sample", "prediction")


def further_models(match: str) -> dict[str, str]:
    """The further models of a parameter such as ``steps,embedding:hf:org/x``, by matcher, in their order."""
    models: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in match.split(","))):
        matcher, _, model = entry.partition(":")
        if entry in ("steps", NAMED):
            continue
        if matcher not in MATCHERS or not model or matcher in models:
            raise ParameterError(
                f"-p match={match!r} is not possible; write steps, and for what is left embedding:URI or "
                "llm:URI, such as steps,embedding:hf:sentence-transformers/all-MiniLM-L6-v2"
            )
        models[matcher] = model
    return {matcher: models[matcher] for matcher in MATCHERS if matcher in models}


def check_given(vocabulary: Vocabulary, params: Mapping[str, Any]) -> None:
    """Refuse parameters about open answers that cannot be used, before anything is asked."""
    further_models(str(params["match"]))
    threshold = float(params["similarity"])
    if not -1 <= threshold <= 1:
        raise ParameterError(f"-p similarity={threshold} is not possible; choose a cosine in [-1, 1]")
    if params["decisions"]:
        pipeline = Pipeline(gendered=params["gendered"] == "fold")
        PipelineRun(vocabulary, pipeline, Decisions.read(str(params["decisions"])))


def open_labels(answered: Answered[Any], vocabulary: Vocabulary, params: Mapping[str, Any]) -> OpenLabels:
    """Labels from the evidence ``answers``."""
    check_given(vocabulary, params)
    models = further_models(str(params["match"]))
    decisions = Decisions.read(str(params["decisions"])) if params["decisions"] else None
    raw_answers, folded = answered.evidence["answers"].collect(), params["gendered"] == "fold"
    step_names: list[str] = list(STEPS)
    matches: dict[str, dict[str, str]] = {}
    match_tables = [pl.DataFrame(schema=MATCHES)]
    answers = normalised(raw_answers, vocabulary, Pipeline(gendered=folded), decisions=decisions)
    for matcher, model in models.items():
        match = _MATCH[matcher](answered, open_texts(answers), vocabulary, model, float(params["similarity"]))
        match_tables.append(match)
        step_names.append(matcher)
        matches[matcher] = accepted(match)
        steps = Pipeline(tuple(step_names), gendered=folded)
        answers = normalised(raw_answers, vocabulary, steps, decisions=decisions, matches=matches)
    review = review_table(answers, vocabulary.names, vocabulary.forms)
    tables = {
        "answers": answers,
        "answers_to_review": review,
        "answer_steps": step_shares(answers),
        "answer_kinds": answers.group_by("category", "matched", "several").len("n").sort(pl.all()),
    }
    if models:
        tables["answer_matches"] = pl.concat(match_tables)
    exports = {REVIEW_FILE: review_file(review)}
    if decisions is not None:
        tables["decisions"] = decisions.used(answers)
        exports[DECISIONS_FILE] = decisions.content
    if vocabulary.synonyms:
        exports[SYNONYMS_FILE] = vocabulary.text().encode()
    return OpenLabels(answers, tables, exports)


def _by_embedding(
    answered: Answered[Any], texts: Sequence[str], vocabulary: Vocabulary, model: str, threshold: float
) -> pl.DataFrame:
    if not texts:
        return pl.DataFrame(schema=MATCHES)
    all_texts = list(dict.fromkeys([*vocabulary.names, *texts]))
    evidence = _ask(answered, model, Question("answer_vectors", "embeds_texts", all_texts, texts=all_texts))
    vectors = dict(evidence.select("sample", "vector").iter_rows())
    lost = [name for name in vocabulary.names if name not in vectors]
    if lost:
        raise UserError(f"{model!r} has no vector for the label {lost[0]!r}; match with another model")
    none = [float("nan")] * len(vectors[vocabulary.names[0]])
    return nearest_labels(
        texts,
        [vectors.get(text, none) for text in texts],
        vocabulary.names,
        [vectors[name] for name in vocabulary.names],
        threshold=threshold,
        model=model,
    )


def _by_asking(
    answered: Answered[Any], texts: Sequence[str], vocabulary: Vocabulary, model: str, threshold: float
) -> pl.DataFrame:
    del threshold
    if not texts:
        return pl.DataFrame(schema=MATCHES)
    prompts = [matching_prompt(text, vocabulary.names) for text in texts]
    evidence = _ask(answered, model, Question("answer_matches", "answers_questions", texts, texts=prompts))
    replies = dict(evidence.select("sample", "text").iter_rows())
    return asked_labels(texts, [replies.get(text) for text in texts], vocabulary, model=model)


def _ask(answered: Answered[Any], model: str, question: Question) -> pl.DataFrame:
    if answered.further is None:
        raise UserError(
            f"answers made elsewhere are scored without asking {model!r}; leave it out of -p match, or "
            "run the benchmark with --model table:FILE"
        )
    return answered.further(model, question)


_MATCH = {"embedding": _by_embedding, "llm": _by_asking}
