"""What several runs of one command share: loaded models, and answers that no later command may use."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from evenhand.models.adapters.own_code import ObjectSource
from evenhand.models.identity.source import ModelSource
from evenhand.workflows.execution.answering.answer_cache import fingerprint


class SharedModels:
    """Models that were loaded, and a folder for answers that end with the command.

    A model that counts what it costs, as served ones do, is not shared: each run has an account of its own.
    """

    def __init__(self) -> None:
        self._models: dict[str, Any] = {}
        self._problems: dict[str, Exception] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="evenhand-"))

    def load(self, source: ModelSource) -> Any:
        """The model of a source, loaded once; what went wrong the first time goes wrong again."""
        if isinstance(source, ObjectSource):
            return source.load()
        key = f"{source.uri} {fingerprint(source.identity())}"
        if key in self._problems:
            raise self._problems[key]
        if key not in self._models:
            try:
                loaded = source.load()
            except Exception as problem:
                self._problems[key] = problem
                raise
            if hasattr(loaded, "usage"):
                return loaded
            self._models[key] = loaded
        return self._models[key]

    def holds(self, loaded: object) -> bool:
        """Whether further runs need a model that a run is done with."""
        return any(loaded is model for model in self._models.values())

    def answers_of(self, source: ModelSource) -> Path:
        """Where the answers of a model are that end with the command."""
        return self._folder / f"{fingerprint(source.identity())[:32]}.sqlite"

    def release(self) -> None:
        """Let go of the models; answers stay."""
        models, self._models = self._models, {}
        for model in models.values():
            if hasattr(model, "close"):
                model.close()

    def close(self) -> None:
        """Let go of models and answers."""
        self.release()
        shutil.rmtree(self._folder, ignore_errors=True)
