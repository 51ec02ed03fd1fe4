"""The benchmark ``indicators/geography``: are poor people's things recognised as well as rich ones?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.indicators.household_references import HITS, ReferenceHits, ReferenceModel
from evenhand.benchmarks.indicators.households.concept_maps import (
    AUTO,
    CONCEPT_MAPS,
    MappedConcepts,
    map_concepts,
)
from evenhand.benchmarks.indicators.households.layouts import HOUSEHOLD_KINDS, Households, read_households
from evenhand.benchmarks.indicators.households.samples import DUPLICATES, NO_INCOME
from evenhand.benchmarks.indicators.questions import (
    ASKING,
    RankedAnswers,
    answered_rows,
    label_questions,
    ranked_answers,
)
from evenhand.benchmarks.indicators.settings import thresholds_of, top_of
from evenhand.core.errors import InputError, ParameterError, check_known, one_line
from evenhand.core.findings import Finding
from evenhand.core.nouns import Attribute, Nouns
from evenhand.evidence.derivation.from_vectors import labels_in, plain
from evenhand.evidence.household_hits import HouseholdHits
from evenhand.files.images.sources import ImageFiles
from evenhand.metrics.labels.households import hit_rate as metrics
from evenhand.metrics.labels.households.tables import country_hit_rates, hit_curve, household_rates

NAME = "indicators/geography"
DEFAULT_BY = "income_bucket,region,income_bucket+region"

_HOUSEHOLDS = {level: f"{level}-income households" for level in ("low", "medium", "high")}
_GROUPS = ("income_bucket", "region", "country", "concept")
_DIGITS = 5  # of confidences in the released code


class Geography(Benchmark[Households]):
    """Images from households of known income and region; any model that can be brought to name things."""

    name = NAME
    asks = "does the model recognise things at home alike, whatever the income and region of the household?"
    nouns = Nouns(attributes={"income_bucket": Attribute(groups=_HOUSEHOLDS)})
    people = ("income_bucket", "region", "country")  # of the households
    parameters: Mapping[str, Parameter] = {
        "kind": Parameter("auto", ("auto", *HOUSEHOLD_KINDS), "layout of --data; auto: by what lies there"),
        "by": Parameter(DEFAULT_BY, help=f"of {', '.join(_GROUPS)}, A+B crosses, separated by commas"),
        "concept_map": Parameter(AUTO, help="auto, imagenet, names, or a JSON file of class: [concepts]"),
        "duplicates": Parameter(
            AUTO,
            (AUTO, *DUPLICATES),
            "an image of several concepts: one sample, or keep one each; auto: as mode",
        ),
        "split": Parameter("", help="of MLCommons' tables: test, train or all"),
        "top": Parameter(5, help="how many labels of an image count"),
        "threshold": Parameter("0", help="confidences that a hit must exceed, separated by commas"),
        **ASKING,
        "reference": Parameter("", help="folder of a run of another model, for the relative improvement"),
        "mode": Parameter("default", ("default", "paper"), "paper: the released code's numbers"),
    }
    primaries: Sequence[str] = ("household_hit_gap", "country_income_correlation[method=pearson]")

    def plan(self, setting: Setting) -> Plan[Households]:
        """Each image once; where labels are texts, each of them once too."""
        _check_files(setting)
        households = _households(setting)
        top, _ = top_of(setting), thresholds_of(setting)
        by = _groupings(households, setting.text("by"))
        samples = households.annotations["sample"].to_list()
        words = _words(households)
        requests = label_questions(setting, samples, households.images, words, n_labels=top, who=NAME)
        notes = households.notes
        return Plan(households.annotations, requests, by, households.dropped, notes, state=households)

    def measure(self, answered: Answered[Households]) -> Measured:
        """Hit rates, gaps and the worst group by threshold and grouping; countries by income; tables."""
        plan, setting = answered.plan, answered.setting
        households = plan.state
        ranked = ranked_answers(answered, _words(households), n_labels=top_of(setting), who=NAME)
        mapped = _mapped(households, ranked, setting)
        mapped = replace(mapped, annotations=answered_rows(mapped.annotations, answered))
        mode, thresholds = setting.parameters["mode"], thresholds_of(setting)
        reference = _reference(setting, mapped.name)
        first = _hits(ranked, mapped, setting, thresholds[0])
        first = replace(first, notes=(*first.notes, *_not_grouped(households)))
        findings, curves = [], []
        for threshold in thresholds:
            hits = first if threshold == thresholds[0] else first.at(threshold)
            for by in plan.by:
                findings += _findings(hits, by, setting, reference)
            if {"country", "income"} <= set(hits.attributes):
                findings += [
                    metrics.country_income_correlation(hits, method=method, mode=mode, seed=setting.seed)
                    for method in ("pearson", "spearman")
                ]
        if ranked.way != "answer":
            for by in plan.by:
                curve = hit_curve(first, by, mode=mode)
                curves.append(curve.select(pl.lit("+".join(by)).alias("by"), pl.all()))
        tables = {
            HITS: first.table,
            "households": household_rates(first, mode=mode),
            "classes": _classes(mapped),
            **({"curve": pl.concat(curves)} if curves else {}),
        }
        if {"country", "income"} <= set(first.attributes):
            tables["countries"] = country_hit_rates(first, mode=mode)
        return Measured(findings, {}, tables)


def _findings(
    hits: HouseholdHits, by: tuple[str, ...], setting: Setting, reference: ReferenceModel | None
) -> list[Finding]:
    shared: dict[str, Any] = {
        "by": by,
        "mode": setting.text("mode"),
        "seed": setting.seed,
    }
    findings = [
        metrics.household_hit_rate(hits, **shared),
        metrics.household_hit_gap(hits, **shared),
        metrics.worst_household_hit_rate(hits, **shared),
    ]
    if reference is not None:
        better = metrics.household_hit_improvement(hits, reference=reference.hits(hits.threshold), **shared)
        notes = [*better.notes, f"the reference is {one_line(reference.name)}"]
        findings.append(better.model_copy(update={"reference": reference.name, "notes": notes}))
    return findings


def _reference(setting: Setting, concept_map: str | None = None) -> ReferenceModel | None:
    """The run of another model, if one is given, judged as this one is."""
    folder = setting.text("reference")
    if not folder:
        return None
    reference = ReferenceModel.read(folder)
    reference.require(ReferenceHits.by(setting.parameters, concept_map))
    return reference


def _not_grouped(households: Households) -> list[str]:
    """What is not known about the households, so that the usual groupings lack rows or are not there."""
    count = households.notes.get(NO_INCOME, 0)
    table = households.annotations
    absent = [name for name in ("income_bucket", "region") if table[name].null_count() == table.height]
    return [
        *([f"{NO_INCOME}: {count}"] if count else []),
        *([f"not grouped by {' or '.join(absent)}: no household has it"] if absent else []),
    ]


def _check_files(setting: Setting) -> None:
    """Refuse files that are not there before anything is asked."""
    concept_map = setting.text("concept_map")
    if concept_map not in CONCEPT_MAPS and not Path(concept_map).expanduser().is_file():
        raise InputError(
            f"there is no concept map {concept_map!r}; give {', '.join(CONCEPT_MAPS)}, or a JSON file "
            '{"class": ["concept", ...]}'
        )
    _reference(setting)


def _households(setting: Setting) -> Households:
    if setting.data is None:
        raise InputError(
            "geography needs images from households; give --data FOLDER, such as of Dollar Street"
        )
    params = {name: str(value) for name, value in setting.parameters.items()}
    duplicates = params["duplicates"]
    if duplicates == AUTO:  # the released code asks about an image once for each of its concepts
        duplicates = "keep" if params["mode"] == "paper" else "paper"
    households = read_households(setting.data, params["kind"], duplicates=duplicates, split=params["split"])
    if setting.limit is None or setting.limit >= len(households.images):
        return households
    few = ImageFiles(households.images.paths[: setting.limit])
    return replace(households, annotations=households.annotations.head(setting.limit), images=few)


def _mapped(households: Households, ranked: RankedAnswers, setting: Setting) -> MappedConcepts:
    return map_concepts(
        households,
        setting.text("concept_map"),
        labels=ranked.outputs if ranked.outputs is not None else _words(households),
        wordnet_ids=ranked.output_ids,
    )


def _words(households: Households) -> list[str]:
    """What can be seen, as people write it: ``plates_of_food`` is plates of food."""
    return list(dict.fromkeys(concept.replace("_", " ") for concept in households.concepts))


def _hits(ranked: RankedAnswers, mapped: MappedConcepts, setting: Setting, threshold: float) -> HouseholdHits:
    paper, top = setting.parameters["mode"] == "paper", top_of(setting)
    predictions = ranked.predictions
    if ranked.way == "answer":
        predictions, top = _named(predictions, mapped)
    facts = {
        "concept_map": mapped.name,
        **({"ask": ranked.way} if ranked.way != "classify" else {}),
    }
    every = ranked.labels if ranked.labels is not None else tuple(mapped.classes)
    hits = HouseholdHits.from_predictions(
        predictions,
        mapped.annotations,
        {label: mapped.classes.get(label, ()) for label in every},
        labels=ranked.labels,
        top=top,
        threshold=threshold,
        digits=_DIGITS if paper else None,
        facts=facts,
    )
    mapping_notes = [f"{reason}: {count}" for reason, count in mapped.notes.items()]
    hit_notes = [note for note in hits.notes if ranked.way != "answer" or "confidence" not in note]
    return replace(hits, top=top_of(setting), notes=(*ranked.notes, *mapping_notes, *hit_notes))


def _named(answers: pl.LazyFrame, mapped: MappedConcepts) -> tuple[pl.LazyFrame, int]:
    """Each label that an answer names, else the answer itself; and the most that any names."""
    forms = {plain(label): label for label in mapped.classes}
    texts = answers.select(pl.col("prediction").unique()).collect()["prediction"].to_list()
    labels_by_text = {text: sorted(labels_in(text, forms)) or [text] for text in texts}
    table = pl.DataFrame(
        {"prediction": list(labels_by_text), "named": list(labels_by_text.values())},
        schema={"prediction": pl.String, "named": pl.List(pl.String)},
    )
    named_answers = answers.join(table.lazy(), on="prediction").explode("named")
    return named_answers.select("sample", prediction="named"), max(
        map(len, labels_by_text.values()), default=1
    )


def _classes(mapped: MappedConcepts) -> pl.DataFrame:
    """Which label of the model names which concept."""
    rows = [(label, concept) for label, concepts in mapped.classes.items() for concept in concepts]
    return pl.DataFrame(rows, schema={"label": pl.String, "concept": pl.String}, orient="row")


def _groupings(households: Households, by: str) -> list[tuple[str, ...]]:
    """Groupings as columns; of the default ones those that the table has."""
    table = households.annotations
    attributes = [name for name in _GROUPS if name == "concept" or table[name].null_count() < table.height]
    entries = [tuple(name.strip() for name in entry.split("+")) for entry in by.split(",") if entry.strip()]
    if by == DEFAULT_BY:
        return [entry for entry in entries if set(entry) <= set(attributes)]
    for entry in entries:
        check_known("attribute of these households", entry, attributes)
        if len(set(entry)) < len(entry):
            raise ParameterError(f"-p by={by!r} crosses {entry[0]!r} with itself; name each attribute once")
    return list(dict.fromkeys(entries))


GEOGRAPHY = Geography()
