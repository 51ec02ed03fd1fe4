"""Tables 1 to 5 of the indicators' paper: data, indicators, the map of labels, samples and households."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evenhand.benchmarks.attributes import AnnotatedAttribute
from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.datasets.download_source import DataSource
from evenhand.benchmarks.indicators.households import dollar_street
from evenhand.benchmarks.indicators.households import sources as household_sources
from evenhand.benchmarks.indicators.households.dollar_street import REGIONS
from evenhand.benchmarks.indicators.households.layouts import HOUSEHOLD_KINDS, read_households
from evenhand.benchmarks.indicators.people.datasets import (
    casual_conversations,
    casual_conversations_v2,
    fairface,
    miap,
    utkface,
)
from evenhand.benchmarks.indicators.people.datasets import sources as people_sources
from evenhand.benchmarks.indicators.people.datasets.layouts import KINDS, read_people
from evenhand.benchmarks.indicators.people.samples import UNKNOWN_POLICIES
from evenhand.benchmarks.labelling.taxonomies import TAXONOMIES, find_taxonomy
from evenhand.benchmarks.papers.indicators import published
from evenhand.benchmarks.papers.indicators.rows import GEOGRAPHY, LABELS, RETRIEVAL
from evenhand.benchmarks.papers.rows import OURS, PAPER, Row, frame
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure
from evenhand.evidence.household_hits import BUCKETS
from evenhand.metrics.catalogue import known_cards
from evenhand.runs.run_folder import RunFolder

_ALL = "all"
_AUTO = "auto"
_NONE = "(none)"
_NOT_THERE = "not in the paper"
_AXES = ("gender", "age", "skin_tone", "race", "fitzpatrick", "lighting")
_MOST_GROUPS = 20

_PEOPLE: Mapping[str, tuple[DataSource, Mapping[str, AnnotatedAttribute] | None, str, int | None]] = {
    casual_conversations.NAME: (
        people_sources.CASUAL_CONVERSATIONS,
        casual_conversations.DEFINITIONS,
        f"{LABELS} (samples), {RETRIEVAL} (queries)",
        casual_conversations.PAPER_COUNTS[""]["images"],
    ),
    casual_conversations_v2.NAME: (
        people_sources.CASUAL_CONVERSATIONS_V2,
        None,
        _NOT_THERE,
        None,
    ),
    miap.NAME: (people_sources.MIAP, miap.DEFINITIONS, LABELS, miap.PAPER_COUNTS[""]["boxes"]),
    utkface.NAME: (
        people_sources.UTKFACE,
        utkface.DEFINITIONS,
        f"{RETRIEVAL} (database)",
        utkface.PAPER_COUNTS[""]["images"],
    ),
    fairface.NAME: (people_sources.FAIRFACE, fairface.DEFINITIONS, _NOT_THERE, None),
}
_UNKNOWN_BOXES = "The paper's boxes of unknown gender are what its other counts leave of its 43,523."
_COUNTED = (casual_conversations.NAME, miap.NAME, utkface.NAME)
_V2 = "age, gender, skin tone (Fitzpatrick, Monk), country, language"
_HOME = "income, country, region of the household; what images show"

_INDICATORS = (
    (
        LABELS,
        "Which labels does a model give pictures of people: human, animal, crime?",
        "the first 5 labels of each image, as sure as the threshold",
        "label_association_rate",
        "share of a group's images with a label of a kind",
        "what it would say with another list of labels; who people are",
    ),
    (
        GEOGRAPHY,
        "Does it recognise things at home alike in poor and rich households, everywhere?",
        "the first 5 labels of each image",
        "household_hit_rate",
        "share of images recognised, mean over households",
        "what homes of a country look like: some 290 households",
    ),
    (
        RETRIEVAL,
        "Are the nearest faces of the same group, for each group alike?",
        "vectors of queries and of a database, by cosine",
        "precision_at_k",
        "share of the K nearest that are of the query's group",
        "equal treatment: it goes with how many of each group the database holds",
    ),
)


def _table1(runs: Sequence[RunFolder], setting: Setting) -> Made:
    rows: list[Row] = []
    for name, (source, definitions, indicator, count) in _PEOPLE.items():
        axes = [definition.axis for definition in (definitions or {}).values() if definition.axis in _AXES]
        annotated = ", ".join(axis.replace("_", " ") for axis in axes)
        rows.append(_described(name, source, indicator, annotated or _V2, count))
    counts = dollar_street.PAPER_COUNTS[""]
    homes = household_sources
    rows.append(
        _described(dollar_street.NAME, homes.DOLLAR_STREET, GEOGRAPHY, _HOME, counts["rows with an image"])
    )
    mlcommons = homes.DOLLAR_STREET_MLCOMMONS
    rows.append(_described(dollar_street.MLCOMMONS, mlcommons, _NOT_THERE, f"{_HOME}, classes", None))
    notes = ("Gender, skin tone and race are perceived by annotators, except in Casual Conversations, where "
             "people gave age and gender themselves.",)  # fmt: skip
    return Made(frame(rows, ("source", "kind", "what", "indicator", "annotated", "paper", "licence")), notes)


def _described(name: str, source: DataSource, indicator: str, annotated: str, count: int | None) -> Row:
    what, paper = source.title, None if count is None else float(count)
    return {"source": OURS, "kind": name, "what": what, "indicator": indicator, "annotated": annotated,
            "paper": paper, "licence": source.licence}  # fmt: skip


def _table2(runs: Sequence[RunFolder], setting: Setting) -> Made:
    columns = ("source", "indicator", "question", "evidence", "metric", "measures", "direction", "limits")
    rows = [
        {"source": OURS, "indicator": name, "question": question, "evidence": evidence, "metric": metric,
         "measures": measures, "direction": known_cards()[metric].direction, "limits": limits}
        for name, question, evidence, metric, measures, limits in _INDICATORS
    ]  # fmt: skip
    return Made(frame(rows, columns), ("The cards of the benchmarks say more.",))


def _table3(runs: Sequence[RunFolder], setting: Setting) -> Made:
    taxonomy = setting.text("taxonomy")
    names = list(TAXONOMIES) if taxonomy == _AUTO else [taxonomy]
    synonyms = setting.parameters["synonyms"] == "yes"
    rows = [row for name in names for row in _labels(name, synonyms)]
    notes = (
        "Labels with WordNet ids are matched by id, others by words. face and beard are persons in WordNet, "
        "whatever the photographs show. Which of them a model has stands in the table label_space of a run.",
    )
    columns = ("source", "taxonomy", "association", "label", "wordnet_id", "what")
    return Made(frame(rows, columns), notes)


def _labels(name: str, synonyms: bool) -> Iterator[Row]:
    """Each label of a map; in the papers' maps each name stands beside its id."""
    taxonomy = find_taxonomy(name)
    for kind in taxonomy.ids:
        shared = {"source": OURS, "taxonomy": taxonomy.name, "association": kind.replace("_", " ")}
        ids, words = taxonomy.ids[kind], taxonomy.words[kind]
        pairs = (
            list(zip(words, ids, strict=True))
            if name in TAXONOMIES
            else [*((None, wordnet_id) for wordnet_id in ids), *((word, None) for word in words)]
        )
        for label, id_ in pairs:
            yield {**shared, "label": label, "wordnet_id": id_, "what": "label"}
        for label in taxonomy.synonyms.get(kind, ()) if synonyms else ():
            yield {**shared, "label": label, "wordnet_id": None, "what": "synonym, for words"}
    for union, kinds in taxonomy.unions.items():
        kind_names = " or ".join(kind.replace("_", " ") for kind in kinds)
        yield {"source": OURS, "taxonomy": taxonomy.name, "association": union, "label": kind_names,
               "what": "an image with any counts once"}  # fmt: skip


def _data_path(setting: Setting) -> Path:
    if not isinstance(setting.data, Path):
        raise InputError("this describes data; add --data DIR")
    return setting.data


def _left(dropped: Mapping[str, int]) -> tuple[str, ...]:
    reasons = ", ".join(f"{reason} ({count:,})" for reason, count in dropped.items() if count)
    return (f"Left out: {reasons}.",) if reasons else ()


def _table4(runs: Sequence[RunFolder], setting: Setting) -> Made:
    params = setting.parameters
    people = read_people(_data_path(setting), str(params["kind"]), unknown=str(params["unknown"]))
    rows: list[Row] = []
    totals = people.paper_counts.get("", {})
    for what, count in totals.items():
        rows.append({"source": PAPER, "attribute": _ALL, "group": what, "value": float(count)})
    what = next(iter(totals), "images")  # of MIAP boxes, each cut out of its image
    rows.append({"source": OURS, "attribute": _ALL, "group": what, "value": float(len(people.images))})
    skipped = []
    for name in people.attributes:
        counts, paper = people.counts(name), people.paper_counts.get(name, {})
        if len(counts) > _MOST_GROUPS:
            skipped.append(f"{name} ({len(counts)})")
            continue
        who = people.definitions[name].annotated_by
        levels = [level for level in people.definitions[name].levels if level in {*counts, *paper}]
        shared = {"attribute": name.replace("_", " "), "annotated_by": who}
        for group in dict.fromkeys((*levels, *counts, *paper)):
            lead = {**shared, "group": group}
            if group in paper:
                rows.append({"source": PAPER, **lead, "value": float(paper[group])})
            rows.append({"source": OURS, **lead, "value": float(counts.get(group, 0))})
        empty = people.annotations[name].null_count()
        if empty:
            rows.append({"source": OURS, **shared, "group": "not annotated", "value": float(empty)})
    notes = _left(people.dropped)
    notes += (f"Attributes with many values are left out: {', '.join(skipped)}.",) if skipped else ()
    notes += (_UNKNOWN_BOXES,) if people.name == miap.NAME else ()
    origin = "paper" if people.name in _COUNTED else "release"
    all_rows = [{**row, "from": origin if row["source"] == PAPER else people.name} for row in rows]
    columns = ("source", "attribute", "annotated_by", "group", "from", "value")
    attributes = dict.fromkeys(str(row["attribute"]) for row in all_rows if row["attribute"] != _ALL)
    return Made(frame(all_rows, columns), notes, _sample_figures(tuple(attributes)))


def _sample_figures(attributes: tuple[str, ...]) -> tuple[Figure, ...]:
    table = Figure(
        "table", x="from", value="value", levels=("attribute", "group"), formats={"value": "count"},
        titles={"attribute": "", "group": ""},
    )  # fmt: skip
    if not attributes:
        return (table,)
    bars = [
        Figure(
            "bars", x="value", y="group", colour="from", only={"attribute": name}, title=name,
            formats={"value": "short"}, titles={"value": "images", "group": "", "from": ""},
        )
        for name in attributes
        if name in ("gender", "perceived gender", "age", "perceived age", "perceived skin tone", "skin tone")
    ]  # fmt: skip
    return (table, *bars)


def _table5(runs: Sequence[RunFolder], setting: Setting) -> Made:
    params = setting.parameters
    households = read_households(_data_path(setting), str(params["kind"]), split=str(params["split"]))
    columns = ["household", "income_bucket", "region"]
    homes = households.annotations.select(columns).unique("household", keep="first", maintain_order=True)
    home_groups = [(bucket or _NONE, region or _NONE) for _, bucket, region in homes.iter_rows()]
    regions = [region for region in REGIONS if any(home_region == region for _, home_region in home_groups)]
    regions += sorted({region for _, region in home_groups} - set(regions))
    buckets = [*BUCKETS, *([_NONE] if any(bucket == _NONE for bucket, _ in home_groups) else [])]
    rows: list[Row] = []
    for bucket in (*buckets, _ALL):
        for region in (*regions, _ALL):
            count = sum(
                bucket in (home_bucket, _ALL) and region in (home_region, _ALL)
                for home_bucket, home_region in home_groups
            )
            rows.append({"source": OURS, "income_bucket": bucket, "region": region, "value": float(count)})
    if households.name == dollar_street.NAME:
        for bucket, counts in published.HOUSEHOLDS.items():
            rows += [
                {"source": PAPER, "income_bucket": bucket, "region": region, "value": float(count)}
                for region, count in zip(published.HOUSEHOLD_REGIONS, counts, strict=True)
            ]
    all_rows = [{**row, "from": "paper" if row["source"] == PAPER else households.name} for row in rows]
    incomes = sorted(households.annotations["income"].drop_nulls().to_list())
    income_range = f", here {incomes[0]:,.0f} to {incomes[-1]:,.0f}" if incomes else ""
    notes = (
        "Buckets of monthly income in dollars: low below 90.02, high from 1,808.04; the ranges that the "
        f"paper prints are what it observed{income_range}.",
        *_left(households.dropped),
    )
    figure = Figure(
        "table", x="region", value="value", levels=("from", "income_bucket"), formats={"value": "count"},
        order={"region": (*REGIONS, _NONE)}, titles={"from": "", "income_bucket": "income"},
    )  # fmt: skip
    return Made(frame(all_rows, ("source", "from", "income_bucket", "region", "value")), notes, (figure,))


_KIND = "layout of --data; auto: what lies there says it"

TABLE1 = Artifact(
    "indicators/table1",
    "The data: what they hold, who annotated it, for which indicator",
    _table1,
    (
        Figure(
            "table", levels=("kind", "what", "indicator", "annotated", "paper", "licence"),
            titles={"kind": "", "paper": "samples in the paper"}, formats={"paper": "count"},
        ),
    ),
    runs=0,
)  # fmt: skip
TABLE2 = Artifact(
    "indicators/table2",
    "The indicators: what each asks, of what, and what it cannot show",
    _table2,
    (
        Figure(
            "table",
            levels=("indicator", "question", "evidence", "metric", "measures", "direction", "limits"),
            titles={"indicator": "", "limits": "cannot show"},
        ),
    ),
    runs=0,
)  # fmt: skip
TABLE3 = Artifact(
    "indicators/table3",
    "Which labels count as human, possibly human, non-human and crime",
    _table3,
    (
        Figure(
            "table", levels=("taxonomy", "association", "label", "wordnet_id", "what"),
            titles={"taxonomy": "", "wordnet_id": "WordNet", "what": ""},
        ),
    ),
    runs=0,
    parameters={
        "taxonomy": Parameter(_AUTO, help="one of the papers' maps or your own file; auto: both maps"),
        "synonyms": Parameter("yes", ("yes", "no"), "whether further words are listed"),
    },
)  # fmt: skip
TABLE4 = Artifact(
    "indicators/table4",
    "Samples per group",
    _table4,
    runs=0,
    data=True,
    parameters={
        "kind": Parameter(_AUTO, (_AUTO, *KINDS), _KIND),
        "unknown": Parameter("keep", UNKNOWN_POLICIES, "people whose group nobody gave: apart, or left out"),
    },
)
TABLE5 = Artifact(
    "indicators/table5",
    "Households by region and income bucket",
    _table5,
    runs=0,
    data=True,
    parameters={
        "kind": Parameter(_AUTO, (_AUTO, *HOUSEHOLD_KINDS), _KIND),
        "split": Parameter("", help="of MLCommons' tables: test, train or all"),
    },
)
