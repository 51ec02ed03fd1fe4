"""Who is really asked: of an adapted model its extractor, whose vectors are kept for every other head too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.core.capabilities import NotAnswered
from evenhand.core.requests import Question
from evenhand.models.adapted.folder import Head
from evenhand.models.adapted.source import AdaptedSource
from evenhand.models.identity.source import ModelSource
from evenhand.workflows.execution.answering.answer_cache import Answer
from evenhand.workflows.execution.answering.requests import Sink
from evenhand.workflows.execution.engines.lazy_model import LazyModel


@dataclass(frozen=True, eq=False)
class BackboneCache:
    """A model and what its answers go through before they are evidence."""

    source: ModelSource  # who is asked and whose answers are kept
    head: Head | None = None  # from its vectors to the logits of the named model; None where it is that model
    named: Mapping[str, Any] | None = None  # what the named model says of itself, where it is another

    @classmethod
    def of(cls, source: ModelSource) -> BackboneCache:
        """An adapted model with a head is asked for vectors through its extractor; all others as they are."""
        if not isinstance(source, AdaptedSource):
            return cls(source)
        head = source.head()
        if head is None:
            return cls(source)
        labels, ids = source.labels()
        facts = {"capabilities": list(source.capabilities()), "labels": labels}
        return cls(source.embedder(), head, facts | ({"wordnet_ids": ids} if any(ids) else {}))

    def question(self, question: Question) -> Question:
        """What is asked in place of a question."""
        if self.head is None:
            return question
        return replace(question, capability="embeds_images", method="")

    def sink(self, question: Question, sink: Sink) -> Sink:
        """Where answers go to: through the head, if the question is one for labels."""
        head = self.head
        if head is None or question.capability != "classifies_images":
            return sink
        return lambda shard, start, answers: sink(shard, start, _logits(head, answers))

    def facts(self, model: LazyModel) -> Mapping[str, Any]:
        """What the model that was named says of itself."""
        return model.facts() if self.named is None else self.named


def _logits(head: Head, answers: Sequence[Answer]) -> list[Answer]:
    """Logits in place of vectors; what was not answered stays so."""
    places = [index for index, answer in enumerate(answers) if not isinstance(answer, NotAnswered)]
    converted: list[Answer] = list(answers)
    if places:
        vectors = np.stack([np.asarray(answers[index]) for index in places])
        for index, logits in zip(places, head.logits(vectors), strict=True):
            converted[index] = logits
    return converted
