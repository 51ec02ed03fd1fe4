"""Texts to choose from, by objective, as DataComp lists them beside its shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.benchmarks.labelling.elicitation import Labels
from evenhand.core.errors import InputError, one_line

CLASSES, TEMPLATES = "classnames.txt", "zeroshot_classification_templates.txt"


@dataclass(frozen=True)
class Objective:
    """What is asked of an image at once."""

    labels: Labels  # in the order of the file
    templates: str  # with {label}, separated by |

    @property
    def how(self) -> dict[str, str]:
        """The templates as a parameter."""
        return {"templates": self.templates}

    def extended(self, *more: str) -> Objective:
        """The same with further labels at the end."""
        labels = Labels((*self.labels.names, *more), (*self.labels.texts, *more))
        return Objective(labels, self.templates)


def read_objective(folder: Path, name: str, groups: Sequence[str] = (), least: int = 0) -> Objective:
    """One objective of the two lists of a folder.

    ``groups`` are the names of the labels, in the order of the texts; without them the texts are, of which
    there must be ``least``.
    """
    texts, forms = (words_by_objective(folder / file).get(name, ()) for file in (CLASSES, TEMPLATES))
    if len(texts) < least or not texts or not forms or (groups and len(groups) != len(texts)):
        raise InputError(
            f"{str(folder)!r} has {len(texts)} texts and {len(forms)} templates of {name}, and "
            f"{len(groups) or least or 1} texts are needed; write {name}:TEXT in {CLASSES} and {TEMPLATES}"
        )
    templates = "|".join(form.replace("{c}", "{label}") for form in forms)
    return Objective(Labels(tuple(groups) or texts, texts), templates)


def words_by_objective(path: Path) -> Mapping[str, tuple[str, ...]]:
    """The texts of each objective, from lines ``objective:text``, split at the first colon."""
    try:
        lines = path.expanduser().read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError):
        raise InputError(f"{str(path)!r} cannot be read; give a text file of objective:text lines") from None
    texts: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        objective, colon, text = line.partition(":")
        if line.strip() and not (colon and objective.strip() and text.strip()):
            raise InputError(f"{str(path)!r} line {number} is {one_line(line, 60)!r}; write objective:text")
        if line.strip():
            texts.setdefault(objective.strip(), []).append(text.strip())
    return {objective: tuple(words) for objective, words in texts.items()}
