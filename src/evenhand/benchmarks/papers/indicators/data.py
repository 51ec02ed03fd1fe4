"""Tables 1 to 5 of the indicators' paper: data, indicators, the map of labels, samples and households."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import polars as pl

from evenhand.benchmarks.attributes import AnnotatedAttribute
from evenhand.benchmarks.benchmark import Artifact, Made, Parameter, Setting
from evenhand.benchmarks.indicators.households import dollar_street
from evenhand.benchmarks.indicators.households import sources as household_sources
from evenhand.benchmarks.indicators.households.dollar_street import REGIONS
from evenhand.benchmarks.indicators.households.layouts import HOUSEHOLD_KINDS, read_households
from evenhand.benchmarks.indicators.people.datasets import casual_conversations, fairface, miap, utkface
from evenhand.benchmarks.indicators.people.datasets import sources as people_sources
from evenhand.benchmarks.indicators.people.datasets.layouts import KINDS, read_people
from evenhand.benchmarks.indicators.people.samples import UNKNOWN_POLICIES, People
from evenhand.benchmarks.labelling.taxonomies import TAXONOMIES, find_taxonomy
from evenhand.benchmarks.papers.indicators import published
from evenhand.benchmarks.papers.indicators.rows import AUTO, GEOGRAPHY, LABELS, RETRIEVAL
from evenhand.benchmarks.papers.rows import OURS, PAPER
from evenhand.benchmarks.tidy import table_of
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure
from evenhand.evidence.household_hits import BUCKETS
from evenhand.metrics.catalogue import known_cards
from evenhand.runs.run_folder import RunFolder

_ALL = "all"
_NONE = "(none)"
_NOT_THERE = "not in the paper"
_AXES = ("gender", "age", "skin_tone", "race", "fitzpatrick", "lighting")
_MOST_GROUPS = 20
_IN_PAPER = (casual_conversations.NAME, miap.NAME, utkface.NAME)
_UNKNOWN_BOXES = "The paper's boxes of unknown gender are what its other counts leave of its 43,523."
_BARS_OF = ("gender", "perceived gender", "age", "perceived age", "perceived skin tone", "skin tone")


def _axes_of(definitions: Mapping[str, AnnotatedAttribute]) -> str:
    """What people are annotated with."""
    axes = [definition.axis for definition in definitions.values() if definition.axis in _AXES]
    return ", ".join(axes).replace("_", " ")


_HOME = "income, country, region of the household; what images show"
_SOURCES = (  # data, for which indicator, what is annotated, samples in the paper
    (people_sources.CASUAL_CONVERSATIONS, f"{LABELS} (samples), {RETRIEVAL} (queries)",
     _axes_of(casual_conversations.DEFINITIONS), casual_conversations.PAPER_COUNTS[""]["images"]),
    (people_sources.CASUAL_CONVERSATIONS_V2, _NOT_THERE,
     "age, gender, skin tone (Fitzpatrick, Monk), country, language", None),
    (people_sources.MIAP, LABELS, _axes_of(miap.DEFINITIONS), miap.PAPER_COUNTS[""]["boxes"]),
    (people_sources.UTKFACE, f"{RETRIEVAL} (database)", _axes_of(utkface.DEFINITIONS),
     utkface.PAPER_COUNTS[""]["images"]),
    (people_sources.FAIRFACE, _NOT_THERE, _axes_of(fairface.DEFINITIONS), None),
    (household_sources.DOLLAR_STREET, GEOGRAPHY, _HOME, dollar_street.PAPER_COUNTS[""]["rows with an image"]),
    (household_sources.DOLLAR_STREET_MLCOMMONS, _NOT_THERE, f"{_HOME}, classes", None),
)  # fmt: skip
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

_DATA = Figure(
    "table", levels=("kind", "what", "indicator", "annotated", "paper", "licence"),
    titles={"kind": "", "paper": "samples in the paper"}, formats={"paper": "count"},
)  # fmt: skip
_QUESTIONS = Figure(
    "table", levels=("indicator", "question", "evidence", "metric", "measures", "direction", "limits"),
    titles={"indicator": "", "limits": "cannot show"},
)  # fmt: skip
_MAP = Figure(
    "table", levels=("taxonomy", "association", "label", "wordnet_id", "what"),
    titles={"taxonomy": "", "wordnet_id": "WordNet", "what": ""},
)  # fmt: skip
_COUNTS = Figure("table", value="value", formats={"value": "count"})
_SAMPLES = replace(_COUNTS, x="from", levels=("attribute", "group"), titles={"attribute": "", "group": ""})
_BARS = Figure(
    "bars", x="value", y="group", colour="from", formats={"value": "short"},
    titles={"value": "images", "group": "", "from": ""},
)  # fmt: skip
_HOUSEHOLDS = replace(
    _COUNTS, x="region", levels=("from", "income_bucket"), order={"region": (*REGIONS, _NONE)},
    titles={"from": "", "income_bucket": "income"},
)  # fmt: skip


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> pl.DataFrame:
    """Rows that begin with their source."""
    columns = ("source", *columns)
    table_rows = [dict(zip(columns, row, strict=True)) for row in rows]
    return table_of(table_rows, columns, numbers=("paper", "value"))


def _table1(runs: Sequence[RunFolder]) -> Made:
    """Data sets, with what is annotated in them and how many samples the paper has."""
    rows = [
        (OURS, source.name, source.title, indicator, axes, count, source.licence)
        for source, indicator, axes, count in _SOURCES
    ]
    notes = ("Gender, skin tone and race are perceived by annotators, except in Casual Conversations, where "
             "people gave age and gender themselves.",)  # fmt: skip
    return Made(_table(_DATA.levels, rows), notes)


def _table2(runs: Sequence[RunFolder]) -> Made:
    """The indicators, with the direction that their metrics declare."""
    rows = [
        (OURS, *words, metric, measures, known_cards()[metric].direction, limits)
        for *words, metric, measures, limits in _INDICATORS
    ]
    return Made(_table(_QUESTIONS.levels, rows), ("The cards of the benchmarks say more.",))


def _table3(runs: Sequence[RunFolder], setting: Setting) -> Made:
    """The labels of the maps."""
    taxonomy, synonyms = setting.text("taxonomy"), setting.text("synonyms") == "yes"
    names = TAXONOMIES if taxonomy == AUTO else (taxonomy,)
    notes = (
        "Labels with WordNet ids are matched by id, others by words. face and beard are persons in WordNet, "
        "whatever the photographs show. Which of them a model has stands in the table label_space of a run.",
    )
    return Made(_table(_MAP.levels, (row for name in names for row in _labels(name, synonyms))), notes)


def _labels(name: str, synonyms: bool) -> Iterator[tuple[str | None, ...]]:
    """Each label of a map; in the papers' maps each name stands beside its id."""
    taxonomy = find_taxonomy(name)
    for kind, ids in taxonomy.ids.items():
        shared, words = (OURS, taxonomy.name, kind.replace("_", " ")), taxonomy.words[kind]
        apart = (*product([None], ids), *product(words, [None]))
        for pair in zip(words, ids, strict=True) if name in TAXONOMIES else apart:
            yield (*shared, *pair, "label")
        for label in taxonomy.synonyms.get(kind, ()) if synonyms else ():
            yield (*shared, label, None, "synonym, for words")
    for union, kinds in taxonomy.unions.items():
        kind_names = " or ".join(kinds).replace("_", " ")
        yield OURS, taxonomy.name, union, kind_names, None, "an image with any counts once"


def _data_path(setting: Setting) -> Path:
    """Where the data lies that is described."""
    if not isinstance(setting.data, Path):
        raise InputError("this describes data; add --data DIR")
    return setting.data


def _left_out(what: str, counts: Mapping[str, int], form: str = "") -> tuple[str, ...]:
    """A note on what is left out, with how many, if there is anything."""
    items = ", ".join(f"{name} ({count:{form}})" for name, count in counts.items() if count)
    return (f"{what}: {items}.",) if items else ()


def _table4(runs: Sequence[RunFolder], setting: Setting) -> Made:
    """Our counts of groups beside those of the paper or of the release."""
    people = read_people(_data_path(setting), setting.text("kind"), unknown=setting.text("unknown"))
    many = {name: size for name in people.attributes if (size := len(people.counts(name))) > _MOST_GROUPS}
    table = _table(("attribute", "annotated_by", "group", "value"), _samples(people, many))
    origins = {OURS: people.name, PAPER: "paper" if people.name in _IN_PAPER else "release"}
    table = table.drop_nulls("value").insert_column(4, pl.col("source").replace(origins).alias("from"))
    notes = (
        *_left_out("Left out", people.dropped, ","),
        *_left_out("Attributes with many values are left out", many),
        *((_UNKNOWN_BOXES,) if people.name == miap.NAME else ()),
    )
    bars = [
        replace(_BARS, only={"attribute": name}, title=name)
        for name in table["attribute"].unique(maintain_order=True)
        if name in _BARS_OF
    ]
    return Made(table, notes, (_SAMPLES, *bars))


def _samples(people: People, skip: Collection[str]) -> Iterator[tuple[object, ...]]:
    """The paper's counts and ours; None where there is none."""
    totals = people.paper_counts.get("", {})
    for what, count in totals.items():
        yield PAPER, _ALL, None, what, count
    # Of MIAP there are boxes, each cut out of its image.
    yield OURS, _ALL, None, next(iter(totals), "images"), len(people.images)
    for name, definition in people.definitions.items():
        if name in skip:
            continue
        counts, paper = people.counts(name), people.paper_counts.get(name, {})
        shared = name.replace("_", " "), definition.annotated_by
        for group in dict.fromkeys((*definition.levels, *counts, *paper)):
            yield PAPER, *shared, group, paper.get(group)
            yield OURS, *shared, group, counts.get(group, 0 if group in paper else None)
        yield OURS, *shared, "not annotated", people.annotations[name].null_count() or None


def _table5(runs: Sequence[RunFolder], setting: Setting) -> Made:
    """Households of each bucket and region, with their sums."""
    households = read_households(_data_path(setting), setting.text("kind"), split=setting.text("split"))
    homes = households.annotations.unique("household", keep="first")["income_bucket", "region"]
    groups = [(bucket or _NONE, region or _NONE) for bucket, region in homes.iter_rows()]
    counts = Counter(cell for bucket, region in groups for cell in product({bucket, _ALL}, {region, _ALL}))
    buckets, regions = map(set, zip(*groups, strict=True))
    rows = [
        (OURS, households.name, bucket, region, counts[bucket, region])
        for bucket in (*BUCKETS, *buckets & {_NONE}, _ALL)
        for region in (*(name for name in REGIONS if name in regions), *sorted(regions - {*REGIONS}), _ALL)
    ]
    if households.name == dollar_street.NAME:
        rows += [
            (PAPER, "paper", bucket, region, count)
            for bucket, printed in published.HOUSEHOLDS.items()
            for region, count in zip(published.HOUSEHOLD_REGIONS, printed, strict=True)
        ]
    incomes = sorted(households.annotations["income"].drop_nulls())
    income_range = f", here {incomes[0]:,.0f} to {incomes[-1]:,.0f}" if incomes else ""
    notes = (
        "Buckets of monthly income in dollars: low below 90.02, high from 1,808.04; the ranges that the "
        f"paper prints are what it observed{income_range}.",
        *_left_out("Left out", households.dropped, ","),
    )
    return Made(_table(("from", "income_bucket", "region", "value"), rows), notes, (_HOUSEHOLDS,))


_artifact = partial(Artifact, runs=0)
_KIND = "layout of --data; auto: what lies there says it"

TABLE1 = _artifact(
    "indicators/table1", "The data: what they hold, who annotated it, for which indicator", _table1, (_DATA,)
)
TABLE2 = _artifact(
    "indicators/table2",
    "The indicators: what each asks, of what, and what it cannot show",
    _table2,
    (_QUESTIONS,),
)
TABLE3 = _artifact(
    "indicators/table3",
    "Which labels count as human, possibly human, non-human and crime",
    _table3,
    (_MAP,),
    parameters={
        "taxonomy": Parameter(AUTO, help="one of the papers' maps or your own file; auto: both maps"),
        "synonyms": Parameter("yes", ("yes", "no"), "whether further words are listed"),
    },
)
TABLE4 = _artifact(
    "indicators/table4",
    "Samples per group",
    _table4,
    data=True,
    parameters={
        "kind": Parameter(AUTO, (AUTO, *KINDS), _KIND),
        "unknown": Parameter("keep", UNKNOWN_POLICIES, "people whose group nobody gave: apart, or left out"),
    },
)
TABLE5 = _artifact(
    "indicators/table5",
    "Households by region and income bucket",
    _table5,
    data=True,
    parameters={
        "kind": Parameter(AUTO, (AUTO, *HOUSEHOLD_KINDS), _KIND),
        "split": Parameter("", help="of MLCommons' tables: test, train or all"),
    },
)
