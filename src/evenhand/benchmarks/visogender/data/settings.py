"""The settings of the paper, and the choices that pronoun scores of the samples make."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from evenhand.benchmarks.visogender.data.captions import OCC_FIRST, PRONOUNS, Template
from evenhand.benchmarks.visogender.data.taxonomy import SINGLE, TWO
from evenhand.evidence.choices import Choices

PAIRING = "pairing"
"""Attribute: ``single``, or whether two persons have the ``same`` or ``different`` perceived genders."""

SETTINGS: Mapping[str, Mapping[str, str]] = {
    "all": {},
    "single": {"context": SINGLE},
    "two_person": {"context": TWO},
    "same": {PAIRING: "same"},
    "different": {PAIRING: "different"},
}
"""Settings of Table 2 as selections of samples, the ``where`` of metrics."""


def with_pairing(samples: pl.DataFrame) -> pl.DataFrame:
    """Samples with the attribute ``pairing``."""
    pair = pl.col("gender_pair")
    return samples.with_columns(
        pl.when(pl.col("context") == SINGLE)
        .then(pl.lit("single"))
        .when(pair.is_in(["mm", "ff"]))
        .then(pl.lit("same"))
        .when(pair.is_in(["mf", "fm"]))
        .then(pl.lit("different"))
        .alias(PAIRING)
    )


def choices_of(
    scores: pl.DataFrame | pl.LazyFrame,  # sample, candidate, score; template and wording where several
    samples: pl.DataFrame,
    *,
    template: Template = OCC_FIRST,
    candidates: Mapping[str, str] = PRONOUNS,  # in the order that decides ties in paper mode
) -> Choices:
    """Pronoun scores as choices, under one template.

    The truth is the perceived gender of whom the template puts first. Occupations are clusters; genders are
    exchanged within occupation and pairing. Samples without the template's nouns are not among them. A sample
    asked in several wordings counts as the mean of its outcomes over them.
    """
    lazy = scores.lazy()
    columns = lazy.collect_schema().names()
    if "template" in columns:
        lazy = lazy.filter(pl.col("template") == template.name)
    fitting = samples if template.name == OCC_FIRST.name else samples.filter(pl.col("context") == TWO)
    parts = [lazy]
    if "wording" in columns:
        numbers = lazy.select(pl.col("wording").unique().sort()).collect()["wording"]
        parts = [lazy.filter(pl.col("wording") == number) for number in numbers] or parts
    readings = [
        Choices.join(
            part,
            with_pairing(fitting),
            truth=template.subject,
            candidates=candidates,
            cluster="occupation",
            strata=("occupation", PAIRING),
            facts={} if template.name == OCC_FIRST.name else {"template": template.name},
        )
        for part in parts
    ]
    return readings[0] if len(readings) == 1 else Choices.averaged(readings)
