"""Predictions derived from embeddings or free text: pure functions of evidence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import UserError
from evenhand.core.thoughts import UNFINISHED, without_thought
from evenhand.evidence.predictions.columns.arrays import Floats, unmasked

NO_LABEL = "answer names no label"
SEVERAL_LABELS = "answer names several labels"
LOOKED_AT = 10_000  # characters of an answer; a label after that is not looked for
PREDICTED = {"sample": pl.String, "prediction": pl.String, "rank": pl.Int32, "confidence": pl.Float64}


def normalised(vectors: npt.ArrayLike) -> Floats:
    """Vectors of length 1, shape (N, D); a vector of length 0 stays 0."""
    array = np.asarray(unmasked(vectors, "vectors"), dtype=np.float64)
    length = np.linalg.norm(array, axis=1, keepdims=True)
    return np.asarray(np.divide(array, length, out=np.zeros_like(array), where=length > 0))


def prototypes(vectors: npt.ArrayLike, templates: int) -> Floats:
    """One vector for each label: the mean of its normalised texts, normalised (Radford et al. 2021, 3.1.4).

    All templates of the first label come first in ``vectors``, shape (labels * templates, D).
    """
    unit = normalised(vectors)
    return normalised(unit.reshape(-1, templates, unit.shape[1]).mean(axis=1))


def check_one_space(images: Sequence[int], texts: int) -> None:
    """Refuse vectors that no cosine could compare, by how many numbers each of them has."""
    wrong = [width for width in images if width != texts]
    if wrong:
        raise UserError(
            f"vectors of images have {wrong[0]:,} numbers, those of texts {texts:,}; embed_images() and "
            "embed_texts() must give vectors of one space; mend one and raise the model's version, or "
            "add --forget-answers"
        )


def zero_shot(
    embeddings: pl.LazyFrame,  # of images: sample, modality, vector
    text: Floats,  # one vector of length 1 for each label, shape (K, D)
    labels: Sequence[str],
    *,
    scale: float,  # the model's own logit scale; it changes confidences, never the label
    offset: float = 0.0,  # the model's own logit bias
    link: str = "softmax",  # softmax over the labels, or sigmoid of each (SigLIP)
    top: int = 1,  # labels of each image
) -> pl.LazyFrame:
    """The labels whose texts lie nearest to each image: ``argmax_k scale * cos(image, text_k) + offset``.

    Columns: sample, prediction, rank (1 = nearest), confidence in [0, 1]. Of equal logits the first label is
    taken.
    """
    first = embeddings.select(pl.col("vector").head(1)).collect()["vector"].to_list()
    check_one_space([len(vector) for vector in first], text.shape[1])
    names, depth = pl.Series(labels, dtype=pl.String), min(top, len(labels))

    def predict(part: pl.DataFrame) -> pl.DataFrame:
        if part.is_empty():
            return pl.DataFrame(schema=PREDICTED)
        images = np.stack(list(part["vector"].to_numpy()))
        logits = scale * normalised(images) @ text.T + offset
        first = logits.argmax(axis=1)[:, None]
        best = first if depth == 1 else np.argsort(-logits, axis=1, kind="stable")[:, :depth]
        confidence = np.take_along_axis(_linked(logits, link), best, axis=1)
        return pl.DataFrame(
            {
                "sample": part["sample"].gather(np.repeat(np.arange(len(part)), depth)),
                "prediction": names.gather(best.ravel()),
                "rank": np.tile(np.arange(1, depth + 1, dtype=np.int32), len(part)),
                "confidence": confidence.ravel(),
            },
            schema=PREDICTED,
        )

    return embeddings.map_batches(predict, schema=PREDICTED, streamable=True)


def _linked(logits: Floats, link: str) -> Floats:
    if link == "sigmoid":
        return 1 / (1 + np.exp(-logits))
    weight = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def label_in(text: str, labels: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The label that a free answer names and None; or None and the reason why it names no single one.

    The whole answer is compared first, then labels are looked for as whole words; a label that lies within a
    longer label found at the same place does not count. Case, encoding of accents and punctuation do not
    matter. Only the first 10,000 characters (``LOOKED_AT``) are read, without a last word cut short, and
    nothing in a thought. ``labels`` maps the plain form (``plain``) of each to the label.
    """
    answer = without_thought(text)
    if answer is None:
        return None, UNFINISHED
    beginning = _beginning(answer)
    if beginning in labels:
        return labels[beginning], None
    matches = _named_in(beginning, labels)
    if len(matches) == 1:
        return matches.pop(), None
    return None, SEVERAL_LABELS if matches else NO_LABEL


def labels_in(text: str, labels: Mapping[str, str]) -> set[str]:
    """All labels that a free answer names, looked for as in ``label_in``; none in a thought."""
    return _named_in(_beginning(without_thought(text) or ""), labels)


def _beginning(text: str) -> str:
    """As much of a text as is read, in plain form, without a last word cut short."""
    beginning = plain(text[:LOOKED_AT])
    if len(text) > LOOKED_AT and not text[LOOKED_AT].isspace():
        beginning = beginning.rpartition(" ")[0]
    return beginning


def _named_in(text: str, labels: Mapping[str, str]) -> set[str]:
    outer, reached = set(), 0
    for match in _any_of(tuple(labels)).finditer(text):  # the longest at each place, from left to right
        if match.end(1) > reached:  # else it lies within one that began before
            reached = match.end(1)
            outer.add(labels[match[1]])
    return outer


@lru_cache(maxsize=8)
def _any_of(forms: tuple[str, ...]) -> re.Pattern[str]:
    """Finds the longest form at every place where one begins, overlapping ones too; group 1 is the form."""
    longest_first = sorted(filter(None, forms), key=len, reverse=True)
    either = "|".join(map(re.escape, longest_first)) or "(?!)"
    return re.compile(rf"(?<!\w)(?=({either})(?!\w))")


def plain(text: str) -> str:
    """A text in one encoding, lower case, without punctuation, single-spaced."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[^\w\s'-]|_", " ", folded).split())


def cosines(images: pl.LazyFrame, texts: pl.LazyFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """The cosine of each pair of an image and a text; pairs of which one has no embedding are left out.

    The ``sample`` of ``texts`` is the text itself; pairs keep their order.
    """
    image_rows, image_unit = _by_sample(images)
    text_rows, text_unit = _by_sample(texts)
    numbered = pairs.with_columns(
        _image=pl.col("sample").replace_strict(image_rows, default=None, return_dtype=pl.Int64),
        _text=pl.col("text").replace_strict(text_rows, default=None, return_dtype=pl.Int64),
    ).drop_nulls(["_image", "_text"])
    left, right = numbered["_image"].to_numpy(), numbered["_text"].to_numpy()
    scores = np.einsum("nd,nd->n", image_unit[left], text_unit[right]) if len(numbered) else np.zeros(0)
    return numbered.drop("_image", "_text").with_columns(score=pl.Series(scores, dtype=pl.Float64))


def _by_sample(embeddings: pl.LazyFrame) -> tuple[dict[str, int], Floats]:
    """Row of each sample, and all vectors at length 1."""
    table = (
        embeddings.select("sample", "vector").unique("sample", keep="first", maintain_order=True).collect()
    )
    rows = {str(sample): row for row, sample in enumerate(table["sample"])}
    return rows, normalised(np.stack(list(table["vector"].to_numpy()))) if rows else np.zeros((0, 1))
