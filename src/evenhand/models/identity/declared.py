"""What a model declares of itself: labels and scales to read answers with, and texts that files can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from evenhand.core.errors import UserError, one_line


def check_scale(scale: Any, uri: str) -> None:
    """Refuse a logit scale that no cosine could be multiplied with."""
    try:
        is_number = not isinstance(scale, str | bytes | bool) and np.isfinite(float(scale))
    except (TypeError, ValueError, OverflowError):
        is_number = False
    if not is_number:
        scale_text = one_line(repr(scale), 80)
        raise UserError(f"the logit_scale of {uri!r} is {scale_text}; give a number, such as 100.0")


def check_labels(labels: Any, uri: str, *, distinct: bool) -> None:
    """Refuse labels that no answer could be read with."""
    wrong = ""
    if isinstance(labels, str | bytes | Mapping | Set) or not hasattr(labels, "__len__"):
        wrong = f"are {type(labels).__name__}"
    elif len(labels) == 0:
        wrong = "are empty"
    else:
        label_list = list(labels)
        odd = [label for label in label_list if not isinstance(label, str) or not _is_text(label)]
        twice = next((label for label, count in Counter(map(str, label_list)).items() if count > 1), None)
        if odd:
            wrong = f"hold {one_line(repr(odd[0]), 80)}"
        elif distinct and twice is not None:
            wrong = f"hold {one_line(repr(twice), 80)} twice"
    if wrong:
        raise UserError(f"the labels of {uri!r} {wrong}; give a list of distinct texts, one for each logit")


def _is_text(label: str) -> bool:
    """Whether there is something to read, and no half of a surrogate pair, which no file can hold."""
    return bool(label.strip()) and encodable(label) == label


def encodable(text: Any) -> str:
    """A text in which half of a surrogate pair is written as its escape."""
    return str(text).encode("utf-8", "backslashreplace").decode()
