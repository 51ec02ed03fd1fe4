"""What a classifier calls its classes, and what the benchmark calls them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.benchmarks.skewsize.data.samples import LabelledSamples

_ID = re.compile(r"n\d{8}")


def called(predicted: pl.LazyFrame, facts: Mapping[str, Any], material: LabelledSamples) -> pl.LazyFrame:
    """Predictions of a classifier by the benchmark's names.

    A label goes by its WordNet id, where the model has ids, else by its first word (``goldfish, Carassius
    auratus``), with regard to case: ``cardigan`` is a garment and ``Cardigan`` a dog. What the benchmark
    does not have stays as the model calls it.
    """
    if not material.wordnet_ids:
        return predicted
    mapping = label_names(facts.get("labels", ()), facts.get("wordnet_ids", ()), material)
    return predicted.with_columns(pl.col("prediction").replace(mapping)) if mapping else predicted


def label_names(labels: Sequence[str], ids: Sequence[str], material: LabelledSamples) -> dict[str, str]:
    """The benchmark's name of each label that it has."""
    names, mapped_words = set(material.labels.names), material.wordnet_ids.keys() - {""}
    class_names: dict[str, str] = {}
    for number, label in enumerate(labels):
        wordnet_id = ids[number] if number < len(ids) else ""
        leading = _ID.match(label)
        key = wordnet_id or (leading[0] if leading else "")
        first = label.split(",")[0].strip().replace("_", " ")
        class_name = key if key in names else None
        mapped = next(
            (material.wordnet_ids[word] for word in (key, label, first) if word in mapped_words), None
        )
        name = mapped or (class_name if key else first if first in names else None)
        if name is not None and name != label:
            class_names[label] = name
    return class_names
