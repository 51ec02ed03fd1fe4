"""What of further data is there, as its benchmark would ask about it; nothing is fetched."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from evenhand.benchmarks.benchmark import Benchmark, Setting, parse_parameters
from evenhand.benchmarks.datasets.download_source import DataSource, SourcePart
from evenhand.benchmarks.datasets.local_source import counted_source, remarks, shown
from evenhand.benchmarks.further.facet import facet
from evenhand.benchmarks.further.geode import geode
from evenhand.benchmarks.further.social_counterfactuals import social_counterfactuals as counterfactuals

_MOST_GROUPS = 40


def planned_parts(
    benchmark: Benchmark[Any], released: int | None, name: str, folder: Path
) -> list[SourcePart]:
    """How many samples a benchmark finds by default, what became none and why, and the size of each group."""
    able = ("embeds_images", "embeds_texts")
    plan = benchmark.plan(Setting(parse_parameters(benchmark, {}), folder, able, 0))
    parts = [shown("samples", plan.annotations.height, released), *remarks(plan.dropped, plan.notes)]
    for column in dict.fromkeys(column for grouping in plan.by for column in grouping):
        counts = plan.annotations[column].drop_nulls().value_counts(sort=False).sort(column).rows()
        some = [(f"{column} {group}", count) for group, count in counts[:_MOST_GROUPS]]
        parts += [shown(what, count) for what, count in some]
    return parts


def _source(benchmark: Benchmark[Any], released: int | None, *texts: str) -> DataSource:
    title, licence, home, size, by_hand = texts
    parts = partial(planned_parts, benchmark, released)
    return counted_source(benchmark.name, title, licence, home, size, by_hand, parts)


GEODE = _source(
    geode.GEODE, 61_940,
    "GeoDE: 40 everyday objects photographed in six regions", "CC BY 4.0",
    "https://geodiverse-data-collection.cs.princeton.edu/", "61,940 photos; DataComp's shards 12,488",
    f"get it from https://geodiverse-data-collection.cs.princeton.edu/ and unpack it: {geode.LAYOUT}",
)  # fmt: skip
"""What ``evenhand data check geode`` checks."""

FACET = _source(
    facet.FACET, None,
    "FACET: people of 52 classes with boxes and perceived attributes",
    "on registration, for evaluation only; images may not be passed on", "https://facet.metademolab.com/",
    "32,000 photos of 50,000 people",
    f"register at https://facet.metademolab.com/ and unpack it into one folder: {facet.LAYOUT}",
)  # fmt: skip
"""What ``evenhand data check facet`` checks."""

SOCIAL_COUNTERFACTUALS = _source(
    counterfactuals.SOCIAL_COUNTERFACTUALS, 95_232,
    "SocialCounterfactuals: generated sets of people at work", "MIT",
    "https://huggingface.co/datasets/Intel/SocialCounterfactuals", "170,832 images in 61 Parquet shards",
    "get the shards of https://huggingface.co/datasets/Intel/SocialCounterfactuals into one folder: "
    f"{counterfactuals.LAYOUT}",
)  # fmt: skip
"""What ``evenhand data check social_counterfactuals`` checks; its samples are those of race and gender."""
