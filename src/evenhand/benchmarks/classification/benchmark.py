"""The benchmark ``classification``: the user's own labelled images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files

import polars as pl

from evenhand.benchmarks.classification.reader import read_samples
from evenhand.benchmarks.classification.ways import WAYS, Labels, choose_way, predictions, questions
from evenhand.benchmarks.declaration import Answered, Measured, Parameter, Plan, Setting
from evenhand.core.errors import InputError, ParameterError, UserError, one_line
from evenhand.core.results import Finding
from evenhand.evidence.counts import Counts
from evenhand.evidence.predictions import Predictions
from evenhand.files.image_sources import FirstImages
from evenhand.metrics.group_accuracy import accuracy
from evenhand.metrics.mistakes import prediction_differences
from evenhand.metrics.suite import audit_grouping, check_groups

_REPEATED = "rows whose id stands on an earlier row"
_BY_NAME = "images found by their file name alone"


@dataclass(frozen=True, eq=False)
class _LabelledPlan(Plan):
    """A plan with the labels of the whole table, of which a limit keeps some samples only."""

    labels: Labels = field(default_factory=lambda: Labels((), ()))


class Classification:
    """Images with a true label and attributes; any model that can be brought to name a label."""

    name = "classification"
    parameters: Mapping[str, Parameter] = {
        "image": Parameter("", help="column of image paths or bytes; --image"),
        "truth": Parameter("", help="column of true labels; --truth"),
        "by": Parameter("", help="attributes, A+B crosses, separated by commas; --by"),
        "id": Parameter("", help="column of sample ids; else the path, else the row"),
        "roots": Parameter("", help="folders that hold the images, separated by commas; else the table's"),
        "ask": Parameter("auto", ("auto", *WAYS), "how a label is asked for"),
        "labels": Parameter("", help="file of labels, one a line, or label<TAB>text; else the truths"),
        "rename": Parameter("", help="predicted=true, separated by commas, where spellings differ"),
        "spelling": Parameter("check", ("check", "any"), "any: predictions need never be a truth"),
        "templates": Parameter("a photo of a {label}", help="zero_shot: texts, separated by |"),
        "prompt": Parameter(
            "What does this image show? Answer with one of: {labels}.", help="answer: what is asked"
        ),
    }
    artifacts = ()

    def plan(self, setting: Setting) -> Plan:
        """Read the samples and choose how to ask."""
        if setting.data is None:
            raise InputError("classification needs your images; give --data TABLE or --data FOLDER")
        given = {name: str(value) for name, value in setting.parameters.items()}
        by = _groupings(given["by"])
        names = list(dict.fromkeys(name for grouping in by for name in grouping))
        samples = read_samples(
            setting.data,
            image=given["image"] or None,
            truth=given["truth"] or None,
            by=names,
            id=given["id"] or None,
            roots=[root.strip() for root in given["roots"].split(",") if root.strip()],
        )
        way = choose_way(given["ask"], setting.capabilities)
        labels = Labels.read(given["labels"], samples.annotations["truth"])
        labels.check(way)
        if setting.limit is not None and setting.limit < len(samples):
            few = samples.annotations.head(setting.limit)
            samples = replace(samples, annotations=few, images=FirstImages(samples.images, setting.limit))
        told = {_REPEATED: samples.repeated, _BY_NAME: samples.by_name}
        notes = {note: count for note, count in told.items() if count}
        asked = questions(way, samples, labels, given)
        return _LabelledPlan(samples.annotations, asked, by, samples.dropped, notes, labels)

    def measure(self, answered: Answered) -> Measured:
        """Every classification metric under every grouping."""
        plan, given = answered.plan, answered.setting.parameters
        way = choose_way(str(given["ask"]), answered.setting.capabilities)
        if isinstance(plan, _LabelledPlan):
            labels = plan.labels
        else:
            labels = Labels.read(str(given["labels"]), plan.annotations["truth"])
        found, unusable = predictions(way, answered.evidence, labels, given, answered.facts)
        renamed = _renamed(found, str(given["rename"]), labels)
        rows = plan.annotations.lazy().join(renamed, on="sample", how="inner")
        attributes = list(dict.fromkeys(name for grouping in plan.by for name in grouping))
        counts = Predictions.from_frame(rows, truth="truth", prediction="prediction").count(attributes)
        if given["spelling"] == "check":
            _check_spelling(counts)
        check_groups(counts, plan.by)
        findings: list[Finding] = [] if plan.by else [accuracy(counts)]
        tables = []
        for grouping in plan.by:
            made, prepared = audit_grouping(counts, grouping, seed=answered.setting.seed)
            findings += made
            tables.append(prediction_differences(prepared, by=grouping, seed=answered.setting.seed))
        kept = {"mistakes": pl.concat(tables)} if tables else {}
        if way != "classify":
            kept["labels"] = pl.DataFrame({"label": labels.names, "text": labels.texts})
        return Measured(findings, {"predictions": counts}, kept, unusable)

    def card(self) -> str:
        """What this can and cannot show."""
        return files(__package__).joinpath("card.md").read_text(encoding="utf-8")


def _groupings(by: str) -> list[tuple[str, ...]]:
    entries = [entry.strip() for entry in by.split(",") if entry.strip()]
    return list(dict.fromkeys(tuple(entry.split("+")) for entry in entries))


def _renamed(found: pl.LazyFrame, rename: str, labels: Labels) -> pl.LazyFrame:
    """Predictions in the spelling of the truths: by ``rename`` where given, else without regard to case."""
    pairs = [pair.partition("=") for pair in rename.split(",") if pair.strip()]
    for name, sign, true in pairs:
        if not sign or not name.strip() or not true.strip():
            raise ParameterError(
                f"-p rename={rename!r} is no list; write for instance male=Male,female=Female"
            )
    explicit = {name.strip(): true.strip() for name, _, true in pairs}
    folded: dict[str, list[str]] = {}
    for name in labels.names:
        folded.setdefault(name.casefold(), []).append(name)
    said = found.select(pl.col("prediction").unique()).collect()["prediction"].drop_nulls().to_list()
    spelling = {one: folded[one.casefold()][0] for one in said if len(folded.get(one.casefold(), [])) == 1}
    mapping = {**spelling, **explicit}
    return found.with_columns(pl.col("prediction").replace(mapping)) if mapping else found


def _check_spelling(counts: Counts) -> None:
    """Refuse predictions of which none is ever a truth: the two use different names."""
    truths = {str(level) for level in counts.axis("truth").levels}
    said = {str(level) for level in counts.axis("prediction").levels}
    if truths and said and not truths & said:
        raise UserError(
            f"no predicted label is a true one: predicted {_some(said)}; true {_some(truths)}; "
            "map them with -p rename=predicted=true,..., or, if they should differ, give -p spelling=any"
        )


def _some(names: set[str]) -> str:
    shown = ", ".join(repr(one_line(name)) for name in sorted(names)[:4])
    return shown + (", ..." if len(names) > 4 else "")


CLASSIFICATION = Classification()
