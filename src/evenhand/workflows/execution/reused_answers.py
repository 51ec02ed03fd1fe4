"""What a run says of answers that it did not ask for: how many, of which day, and how to ask again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

_DAYS = 3  # that are named


def reuse_notes(asking: Mapping[str, Any]) -> list[str]:
    """Lines for the user; none where every answer was asked for and all are kept."""
    return [line for account in (asking, *asking.get("further", ())) for line in _lines(account)]


def _lines(asking: Mapping[str, Any]) -> Iterator[str]:
    model, questions = asking.get("model"), asking.get("questions", ())
    days: Counter[str] = Counter()
    for question in questions:
        days.update(question.get("reused_of") or {})
    if days:
        rows = sum(question["rows"] for question in questions)
        changed = ", ".join(name.removeprefix("sha256 of ") for name in asking.get("changed", ()))
        since = f", although {changed} changed since then and its version is the same" if changed else ""
        yield (
            f"{days.total():,} of {rows:,} answers of {model} are reused: {_listed(days)}{since}; "
            f"--forget-answers asks again{', and so does another version' if changed else ''}"
        )
    if why := asking.get("not_kept"):
        yield (
            f"answers of {model} are asked for anew in each run: {why}; to reuse them, give its class "
            "version = '1' and raise it whenever its answers change"
        )


def _listed(days: Mapping[str, int]) -> str:
    """When they were given, the last days first."""
    last_first = sorted(days.items(), reverse=True)
    earlier = sum(count for _, count in last_first[_DAYS:])
    day_texts = [f"{count:,} of {day or 'an unknown day'}" for day, count in last_first[:_DAYS]]
    return ", ".join([*day_texts, *([f"{earlier:,} of earlier days"] if earlier else [])])
