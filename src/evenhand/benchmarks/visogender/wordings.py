"""Several wordings of one question, and how far each metric moves from one to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.labelling.lettered import OPTIONS
from evenhand.benchmarks.visogender.data.captions import TEMPLATES
from evenhand.benchmarks.visogender.data.settings import SETTINGS, choices_of
from evenhand.benchmarks.visogender.multiple_choice import FIRST_WORDING
from evenhand.core.errors import InputError, ParameterError, one_line
from evenhand.core.findings import Finding
from evenhand.core.metric import Metric

SHIPPED = "shipped"
WORDINGS = (
    FIRST_WORDING,
    f"Choose the caption that describes the picture.\n{OPTIONS}\nReply with its letter and nothing else.",
    f"{OPTIONS}\nOne of these captions belongs to the image. Which one is it? Give the letter only.",
    f"Look at the people in the image. Which sentence is right?\n{OPTIONS}\nAnswer with one letter.",
    f"Read the sentences below and pick the one that matches what you see.\n{OPTIONS}\nYour letter:",
)
"""The wordings of ``-p wordings=shipped``; the first is asked where there is one only."""


def parse_wordings(text: str) -> tuple[str, ...]:
    """Texts of the question: the first of ``WORDINGS``, all of them (``shipped``), or those of a file.

    A file has one wording on each line: ``{options}`` stands for the captions under their letters, backslash
    n for a new line.
    """
    if not text:
        return WORDINGS[:1]
    if text == SHIPPED:
        return WORDINGS
    path = Path(text).expanduser()
    if not path.is_file():
        raise InputError(
            f"there is no file {text!r}; give -p wordings=shipped, or a file with one wording on each line"
        )
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{text!r} is not text in UTF-8; save it as UTF-8") from None
    wordings = [line.strip().replace("\\n", "\n") for line in lines if line.strip()]
    if not wordings:
        raise InputError(f"{text!r} holds no wording; write one on each line, with {OPTIONS} in it")
    for number, wording in enumerate(wordings):
        if wording.count(OPTIONS) != 1:
            raise ParameterError(
                f"the wording {one_line(wording, 60)!r} of {text!r} must have {OPTIONS} once, where the "
                "captions go"
            )
        if wording in wordings[:number]:
            raise ParameterError(f"the wording {one_line(wording, 60)!r} is in {text!r} twice; keep one")
    return tuple(wordings)


def wording_answers(answers: pl.DataFrame, wordings: Sequence[str]) -> pl.DataFrame:
    """Each wording with how many answers it got and how many of them choose no caption."""
    counts = answers.group_by("wording").agg(answers=pl.len(), unread=pl.col("place").is_null().sum())
    texts = pl.DataFrame({"wording": range(1, len(wordings) + 1), "text": list(wordings)})
    return texts.join(counts, on="wording", how="left", maintain_order="left")


def spread(
    findings: Sequence[Finding],  # of all wordings together; those under a grouping are left out
    metrics: Sequence[Metric[...]],
    scores: pl.DataFrame,  # sample, template, wording, candidate, score
    samples: pl.DataFrame,
    candidates: Mapping[str, str],
) -> pl.DataFrame:
    """The value of each metric in each wording, beside its mean over them, smallest and largest.

    ``group`` is a gender, or empty; ``same_sign`` is, of a difference, the share of wordings whose sign is
    that of the value (null where that is 0). Undefined values are null.
    """
    by_name = {metric.card.name: metric for metric in metrics}
    numbers = scores["wording"].unique().sort().to_list()
    parts = {number: scores.filter(pl.col("wording") == number).drop("wording") for number in numbers}
    bound = {
        (template, number): choices_of(part, samples, template=TEMPLATES[template], candidates=candidates)
        for template in scores["template"].unique()
        for number, part in parts.items()
    }
    rows: list[dict[str, Any]] = []
    for finding in (finding for finding in findings if not finding.by):
        setting, template = str(finding.params["setting"]), str(finding.params["template"])
        mode = str(finding.params.get("mode", "default"))
        single = {
            number: by_name[finding.name](
                bound[template, number], where=SETTINGS[setting] or None, mode=mode, inference="none"
            )
            for number in numbers
        }
        genders = [str(part.key) for part in finding.parts if part.kind == "gender"]
        for group in ["", *genders]:
            values = {f"wording_{number}": _value(other, group) for number, other in single.items()}
            defined = [value for value in values.values() if value is not None]
            about = {"metric": finding.name, "template": template, "setting": setting, "group": group}
            value = _value(finding, group)
            is_difference = not group and by_name[finding.name].card.range[0] != 0
            sums = {
                "value": value,
                "low": min(defined, default=None),
                "high": max(defined, default=None),
                "same_sign": _same_sign(value, defined) if is_difference else None,
            }
            rows.append({**about, **sums, **values})
    return pl.DataFrame(rows, infer_schema_length=None)


def _same_sign(value: float | None, others: Sequence[float]) -> float | None:
    """The share of values on the same side of 0 as the first; None where that one is 0 or undefined."""
    if not value or not others:
        return None
    return sum(other * value > 0 for other in others) / len(others)


def _value(finding: Finding, group: str) -> float | None:
    """The value of a finding, or that of one gender."""
    if not group:
        return finding.value
    return next((part.value for part in finding.parts if str(part.key) == group), None)
