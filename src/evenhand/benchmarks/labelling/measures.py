"""From labelled images and what a model called them to counts, findings and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Parameter
from evenhand.core.errors import ParameterError, UserError, first_few, one_line
from evenhand.core.findings import Finding, TableWarning
from evenhand.core.frames import grouped
from evenhand.evidence.predictions.checks.labels import check_labels
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.metrics.classification.accuracy import accuracy
from evenhand.metrics.classification.disparities.mistakes import prediction_differences
from evenhand.metrics.classification.effect_options import EffectOptions
from evenhand.metrics.suites.audit import audit_grouping, check_groups

_MEND = "Mend the table of images; predictions are renamed by -p rename=PREDICTED=TRUE"

By = Sequence[tuple[str, ...]]
EFFECTS: Mapping[str, Parameter] = {
    "mode": Parameter(
        "default", ("default", "paper"), "paper: SkewSize's listing, Yates' correction included"
    ),
    "mev": Parameter(0.0, help="expected value that a predicted label needs to count; 0 keeps all"),
}
"""How effect sizes are measured, for benchmarks that count predictions."""


def effects_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """The options of ``EFFECTS``, as effect sizes take them."""
    options = {"mode": str(params["mode"]), "mev": float(params["mev"])}
    EffectOptions.make("separation", options)
    return options


def groupings_in(by: str) -> list[tuple[str, ...]]:
    """The groupings of a text such as ``gender,gender+race``: separated by commas, crossed by a plus."""
    entries = [entry.strip() for entry in by.split(",") if entry.strip()]
    return list(dict.fromkeys(tuple(entry.split("+")) for entry in entries))


def attributes_in(by: By) -> list[str]:
    """Every attribute of some groupings, once."""
    return list(dict.fromkeys(name for grouping in by for name in grouping))


def count_labels(
    annotations: pl.DataFrame,  # sample, truth and the attributes
    predictions: pl.LazyFrame,  # sample and prediction
    by: By,
    *,
    cluster: str | None = None,  # column of what was sampled as a whole
    weight: str | None = None,  # column of how much a row counts; a sample may then have several rows
) -> Counts:
    """Count truth x attributes x prediction."""
    rows = annotations.lazy().join(predictions, on="sample", how="inner")
    labelled_samples = Predictions.from_frame(
        rows, truth="truth", prediction="prediction", cluster=cluster, weight=weight
    )
    return labelled_samples.count(attributes_in(by))


def label_of_each(predictions: pl.LazyFrame) -> pl.DataFrame:
    """What each sample was called, in the spelling that is counted: ``sample``, ``prediction``.

    It is kept with a run where the evidence does not say it: so runs can be compared sample by sample.
    """
    return predictions.select("sample", "prediction").collect()


def audit_labels(
    counts: Counts, by: By, seed: int, *, limited: bool = False, effects: Mapping[str, Any] | None = None
) -> tuple[list[Finding], dict[str, pl.DataFrame]]:
    """Every classification metric under every grouping, and the table ``mistakes``.

    Without groupings: accuracy alone. A grouping with fewer than two groups is refused, unless a limit chose
    the samples (``limited``): then its findings have no value.
    """
    if not limited:
        check_groups(counts, by)
    findings: list[Finding] = [] if by else [accuracy(counts)]
    tables = []
    for grouping in by:
        grouping_findings, prepared = audit_grouping(counts, grouping, seed=seed, **(effects or {}))
        findings += grouping_findings
        tables.append(prediction_differences(prepared, by=grouping, seed=seed))
    return findings, {"mistakes": pl.concat(tables)} if tables else {}


def audit_answers(
    answered: Answered[Any],
    predicted: pl.LazyFrame,
    possible: pl.LazyFrame,  # as of ``answers_of``
    names: Sequence[str],  # of the labels
    by: By,
    *,
    cluster: str | None = None,
) -> tuple[Counts, list[Finding], dict[str, pl.DataFrame]]:
    """Counts, findings and tables of predictions in the spelling of the truths, as the parameters say."""
    params, limited = answered.setting.parameters, answered.setting.limit is not None
    spelled, possible = (respelled(frame, str(params["rename"]), names) for frame in (predicted, possible))
    counts = count_labels(answered.plan.annotations, spelled, by, cluster=cluster)
    if params["spelling"] == "check":
        check_spelling(counts, possible)
    effects = effects_of(params)
    findings, tables = audit_labels(counts, by, answered.setting.seed, limited=limited, effects=effects)
    return counts, findings, {**tables, "predictions": label_of_each(spelled)}


def respelled(predictions: pl.LazyFrame, rename: str, names: Sequence[str]) -> pl.LazyFrame:
    """Predictions in the spelling of the truths: by ``rename`` where given, else without regard to case.

    Labels of a model that differ in case alone, such as ``left`` and ``Left``, stay two.
    """
    pairs = [pair.partition("=") for pair in rename.split(",") if pair.strip()]
    for name, sign, true in pairs:
        if not sign or not name.strip() or not true.strip():
            raise ParameterError(
                f"-p rename={rename!r} is no list; write for instance male=Male,female=Female"
            )
    explicit = {name.strip(): true.strip() for name, _, true in pairs}
    predicted_labels = (
        predictions.select(pl.col("prediction").unique()).collect()["prediction"].drop_nulls().to_list()
    )
    true_forms, said_forms = _by_case(names), _by_case(predicted_labels)
    spelling = {
        labels[0]: true_forms[form][0]
        for form, labels in said_forms.items()
        if len(labels) == 1 and len(true_forms.get(form, [])) == 1
    }
    mapping = {**spelling, **explicit}
    return predictions.with_columns(pl.col("prediction").replace(mapping)) if mapping else predictions


def _by_case(labels: Iterable[str]) -> dict[str, list[str]]:
    """Distinct labels by their form without case."""
    return grouped(dict.fromkeys(labels), str.casefold)


def answers_of(way: str, labels: Sequence[str], facts: Mapping[str, Any]) -> pl.LazyFrame:
    """Every prediction that the model could have given; none for a classifier whose labels are unknown."""
    names = facts.get("labels", ()) if way == "classify" else labels
    return pl.LazyFrame({"prediction": list(names)}, schema={"prediction": pl.String})


def check_spelling(counts: Counts, possible: pl.LazyFrame) -> None:
    """Refuse predictions of which none is ever a truth: the two use different names.

    ``possible`` is as of ``answers_of``, in the spelling of ``counts``: wrong answers are no other names.
    """
    truths = {str(level) for level in counts.axis("truth").levels}
    predicted_labels = {str(level) for level in counts.axis("prediction").levels}
    if (
        truths
        and predicted_labels
        and not truths & (predicted_labels | set(possible.collect()["prediction"]))
    ):
        raise UserError(
            f"no predicted label is a true one: predicted {_some(predicted_labels)}; true {_some(truths)}; "
            "map them with -p rename=predicted=true,..., or, if they should differ, give -p spelling=any"
        )


def label_warnings(counts: Counts, truth: str, *, shared: bool) -> list[TableWarning]:
    """What is suspicious about the labels of images and about their groups.

    Where the model chose among the true labels (``shared``), one that it never chose is no other name.
    """
    warnings = check_labels(counts, {"truth": truth or "truth"}, instead=_MEND)
    return [warning for warning in warnings if not (shared and warning.code == "never_met")]


def _some(names: set[str]) -> str:
    return first_few([repr(one_line(name)) for name in sorted(names)], 4)
