"""How well images fit captions, by cosine or by a model's own score, and captions that name no group."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import polars as pl

from evenhand.benchmarks.labelling.elicitation import embedded
from evenhand.core.errors import UserError
from evenhand.core.requests import ImageSource, Question
from evenhand.evidence.derivation.from_vectors import cosines


def caption_questions(
    capabilities: Sequence[str], samples: Sequence[str], images: ImageSource, texts: Sequence[str], who: str
) -> list[Question]:
    """Each image and each caption once for a model that embeds both, else each image with its caption."""
    if {"embeds_images", "embeds_texts"} <= set(capabilities):
        return embedded(samples, images, texts, name="captions")
    if "matches_pairs" not in capabilities:
        raise UserError(
            f"this model has {', '.join(capabilities)}; {who} needs embeds_images with embeds_texts, or "
            "matches_pairs; type: evenhand ls models"
        )
    return [Question("matches", "matches_pairs", samples, images, texts)]


def caption_scores(evidence: Mapping[str, pl.LazyFrame], pairs: pl.DataFrame) -> pl.DataFrame:
    """The pairs of ``sample`` and ``text`` with ``score``; those without an answer are left out."""
    if "matches" not in evidence:
        return cosines(evidence["images"], evidence["captions"], pairs)
    scores = evidence["matches"].select("sample", "score").collect()
    return pairs.join(scores, on="sample", how="inner", maintain_order="left")


@lru_cache(maxsize=100_000)
def neutral_caption(caption: str, *groups: str) -> str | None:
    """A caption without the words of its groups, its article put right; None where it lacks one of them.

    ``A photo of an Indian male doctor`` without ``Indian`` and ``male`` is ``A photo of a doctor``.
    """
    for group in groups:
        caption, times = re.subn(rf"\b{re.escape(group)}\b", " ", caption, flags=re.IGNORECASE)
        if not times:
            return None
    text = re.sub(r"\ban? (?=[^aeiou\W])", "a ", " ".join(caption.split()), flags=re.IGNORECASE)
    text = re.sub(r"\ba (?=[aeiou])", "an ", text, flags=re.IGNORECASE)
    return text[:1].upper() + text[1:]
