"""A model that is loaded when a question needs it, and not where its answers are all known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.core.capabilities import CAPABILITIES, capabilities_of
from evenhand.core.errors import UserError, one_line
from evenhand.models.adapters.own_code import ObjectSource
from evenhand.models.identity.declared import check_labels
from evenhand.models.identity.source import ModelSource
from evenhand.workflows.execution.answering.answer_cache import AnswerStore

if TYPE_CHECKING:
    from evenhand.workflows.execution.engines.shared_models import SharedModels

_FACTS = ("labels", "wordnet_ids", "logit_scale", "logit_bias", "link")


class LazyModel:
    """A model source with the store that remembers what the model said of itself.

    ``shared`` has the models that further runs need, too; None: a run stands alone.
    """

    def __init__(self, source: ModelSource, store: AnswerStore, shared: SharedModels | None = None) -> None:
        self.source, self._store, self._shared = source, store, shared
        self._loaded: Any = None

    def load(self) -> Any:
        """The model, loaded once; its facts are kept."""
        if self._loaded is None:
            loaded = self.source.load() if self._shared is None else self._shared.load(self.source)
            missing = set(self.source.capabilities()) - set(capabilities_of(loaded))
            if missing:
                names = ", ".join(CAPABILITIES[name].__name__ for name in sorted(missing))
                raise UserError(f"{self.source.uri!r} promises {names}, but lacks the methods")
            if "classifies_images" in self.source.capabilities():
                check_labels(loaded.labels, self.source.uri, distinct=isinstance(self.source, ObjectSource))
            self.remember(facts_of(loaded))
            self._loaded = loaded
        return self._loaded

    def remember(self, facts: Mapping[str, Any]) -> None:
        """Keep what the model says of itself."""
        self._store.put_facts(facts)

    def note_changes(self, how: str) -> None:
        """Keep that the model became another one by being asked, before any of those answers is kept."""
        if not self._store.changes():
            self._store.put_changes(how)

    def facts(self) -> Mapping[str, Any]:
        """Labels, logit scale and the like; the model is loaded only if they are not known."""
        facts = self._store.facts()
        if not facts:
            self.load()
            facts = self._store.facts()
        return facts

    def close(self) -> None:
        """Let go of connections, where the model holds any; an object of the user's is left as it is."""
        if self._shared is not None and self._shared.holds(self._loaded):
            return
        if hasattr(self._loaded, "close") and not isinstance(self.source, ObjectSource):
            self._loaded.close()

    def usage(self) -> Mapping[str, Any]:
        """What asking cost (tokens, requests, money), where the model counts it and was asked."""
        usage = self._loaded.usage() if hasattr(self._loaded, "usage") else {}
        try:
            plain: dict[str, Any] = json.loads(json.dumps(dict(usage)))
        except (TypeError, ValueError):
            raise UserError(
                f"usage() of {self.source.uri!r} gave {one_line(repr(usage), 80)}; it must give a dict of "
                "numbers and texts, such as {'requests': 12}"
            ) from None
        return plain


def facts_of(model: Any) -> dict[str, Any]:
    """What later steps need to know of a model without loading it."""
    facts: dict[str, Any] = {"capabilities": list(capabilities_of(model))}
    for name in _FACTS:
        value = getattr(model, name, None)
        if value is not None:
            facts[name] = _plain(value)
    return facts


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if hasattr(value, "__len__"):
        return [str(part) for part in value]
    return float(value)
