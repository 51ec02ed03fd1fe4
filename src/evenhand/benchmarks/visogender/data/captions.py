"""Captions and prefixes: one sentence for each sample, template and pronoun."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.benchmarks.visogender.data.taxonomy import FEMININE, MASCULINE, NEUTRAL, SINGLE
from evenhand.core.errors import ParameterError

PRONOUNS: Mapping[str, str] = {"his": MASCULINE, "her": FEMININE, "their": NEUTRAL}
"""Pronouns of the paper, in the order that decides ties in its code, with the gender each stands for."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Template:
    """Who stands first and owns the pronoun."""

    name: str  # occ_first, or par_first with the two persons exchanged
    subject: str  # column of the perceived gender that the pronoun should agree with
    first: str  # column of the noun before the pronoun

    def fits(self, row: Row) -> bool:
        """Whether a sample has both nouns: a single person stands beside an object, which owns nothing."""
        return self.name == "occ_first" or row["context"] != SINGLE

    def caption(self, row: Row, pronoun: str) -> str:
        """Such as ``The doctor and her patient``."""
        return f"{self.prefix(row)} {pronoun} {self._second(row)}"

    def prefix(self, row: Row) -> str:
        """The caption before the pronoun, without the space."""
        return f"The {row[self.first]} and"

    def _second(self, row: Row) -> str:
        if self.name == "par_first":
            return str(row["occupation"])
        return str(row["object_written" if row["context"] == SINGLE else "participant"])


OCC_FIRST = Template("occ_first", "occupation_perceived_gender", "occupation")
PAR_FIRST = Template("par_first", "participant_perceived_gender", "participant")
TEMPLATES: Mapping[str, Template] = {template.name: template for template in (OCC_FIRST, PAR_FIRST)}


def parse_candidates(text: str) -> dict[str, str]:
    """Pronouns with what each stands for, from ``his,her`` or ``his=masculine,xyr=neutral``."""
    genders: dict[str, str] = {}
    for part in text.split(","):
        pronoun, _, meaning = (piece.strip() for piece in part.partition("="))
        gender = meaning or PRONOUNS.get(pronoun, "")
        if not pronoun or not gender:
            raise ParameterError(
                f"-p candidates={text!r}: what does {pronoun!r} stand for? write for instance "
                "his=masculine,her=feminine,xyr=neutral"
            )
        genders[pronoun] = gender
    if not {MASCULINE, FEMININE} <= set(genders.values()):
        raise ParameterError(
            f"-p candidates={text!r} needs a masculine and a feminine pronoun at least; the paper's are "
            "his,her,their"
        )
    return genders


def parse_templates(text: str) -> list[Template]:
    """Templates by name, separated by commas."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or not set(names) <= set(TEMPLATES):
        raise ParameterError(f"-p templates={text!r} is not possible; choose from {', '.join(TEMPLATES)}")
    return [TEMPLATES[name] for name in names]
