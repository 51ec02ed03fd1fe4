"""The labels that a classification run chose among, with the vectors of their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from evenhand.stats.arrays import Floats
from evenhand.workflows.debias.items import SourceRun

NO_PROMPTS = "the run has no texts of the labels"
OTHER_PROMPTS = "the run does not say which text is which label's; run classification again"
Vectors = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class LabelTexts:
    """What a run's zero-shot prediction chose among.

    ``names`` are spelled as truth spells them (a label may have no image), and empty where they are not
    known. ``vectors`` has all templates of the first label first, shape (labels * templates, D).
    """

    names: tuple[str, ...] = ()
    vectors: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    templates: int = 1  # texts of each label
    reason: str | None = None  # why nothing is known

    @classmethod
    def read(cls, source: SourceRun, truth: pl.Series) -> LabelTexts:
        """From the table of labels that a run keeps; of one without it, from the texts that it asked for."""
        params = source.manifest.get("parameters", {})
        vectors = _texts(source)
        templates = [part.strip() for part in str(params.get("templates", "")).split("|") if part.strip()]
        if not vectors or not templates:
            return cls(reason=NO_PROMPTS)
        spelling = _renamed(str(params.get("rename", "")))
        texts_by_label = _saved_texts(source) or _inferred_texts(
            templates, vectors, truth.cast(pl.String), spelling
        )
        if texts_by_label is None or not _filled_templates(texts_by_label.values(), templates) <= set(
            vectors
        ):
            return cls(reason=OTHER_PROMPTS)
        prompts = [
            template.replace("{label}", text) for text in texts_by_label.values() for template in templates
        ]
        names = tuple(spelling.get(name, name) for name in texts_by_label)
        return cls(names, np.stack([vectors[prompt] for prompt in prompts]), len(templates))


def _texts(source: SourceRun) -> Vectors:
    """Every text that the run has a vector of."""
    vectors: dict[str, np.ndarray] = {}
    for table in source.embeddings():
        mine = table.filter(pl.col("modality") == "text").select("sample", "vector").drop_nulls().collect()
        for sample, vector in mine.iter_rows():
            vectors.setdefault(sample, np.asarray(vector, dtype=np.float64))
    return vectors


def _saved_texts(source: SourceRun) -> dict[str, str] | None:
    """Each label and its text, as the run keeps them."""
    table = source.tables.get("labels")
    if table is None or not {"label", "text"} <= set(table.columns):
        return None
    return dict(table.select("label", "text").iter_rows())


def _inferred_texts(
    templates: Sequence[str], vectors: Vectors, truth: pl.Series, spelling: Mapping[str, str]
) -> dict[str, str] | None:
    """Each label and its text by the texts alone, where these name every true label; else None."""
    plain = dict.fromkeys(_filled(templates[0], vectors))
    there = {
        text: text
        for text in plain
        if all(template.replace("{label}", text) in vectors for template in templates)
    }
    if _filled_templates(there.values(), templates) != set(vectors):
        return None
    return there if set(truth.drop_nulls()) <= {spelling.get(name, name) for name in there} else None


def _filled_templates(texts: Iterable[str], templates: Sequence[str]) -> set[str]:
    return {template.replace("{label}", text) for text in texts for template in templates}


def _filled(template: str, vectors: Vectors) -> list[str]:
    """What stands in the place for the label."""
    before, _, after = template.partition("{label}")
    return [
        text[len(before) : len(text) - len(after)]
        for text in vectors
        if len(text) > len(before) + len(after) and text.startswith(before) and text.endswith(after)
    ]


def _renamed(rename: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in rename.split(",") if pair.strip()]
    return {name.strip(): true.strip() for name, _, true in pairs}
