"""What of Dollar Street is there, beside what paper and releases have; nothing is fetched."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from evenhand.benchmarks.datasets.download_source import SourcePart
from evenhand.benchmarks.datasets.listing import list_files
from evenhand.benchmarks.datasets.local_source import counted_source, readable, remarks, shown
from evenhand.benchmarks.indicators.households import dollar_street
from evenhand.benchmarks.indicators.households.layouts import list_households
from evenhand.benchmarks.indicators.households.samples import Households
from evenhand.evidence.household_hits import BUCKETS


def household_parts(kind: str, folder: Path) -> list[SourcePart]:
    """What is in a folder, what became no sample and why, and its households beside the paper's.

    The header of every image is read.
    """
    households = list_households(list_files(folder), kind, folder)
    source_parts = [
        SourcePart(coverage.name, coverage.present, coverage.expected) for coverage in households.coverage
    ]
    source_parts += [readable(households.images), *remarks(households.dropped, households.notes)]
    table, paper = households.annotations, households.paper_counts.get("", {})
    sizes = {
        "rows with an image": households.coverage[0].present,
        "images": table.height,
        "households": table["household"].n_unique(),
        "countries": table["country"].drop_nulls().n_unique(),
        "concepts": len(households.concepts),
    }
    source_parts += [shown(what, count, paper.get(what)) for what, count in sizes.items()]
    return source_parts + _groups(households)


def _groups(households: Households) -> list[SourcePart]:
    """Households of every bucket and region."""
    source_parts = []
    for column, order in (("income_bucket", BUCKETS), ("region", dollar_street.REGIONS)):
        counts, paper = households.counts(column), households.paper_counts.get(column, {})
        levels = dict.fromkeys((*(group for group in order if group in {*counts, *paper}), *counts))
        source_parts += [
            shown(f"households of {column} {group}", counts.get(group, 0), paper.get(group))
            for group in levels
        ]
    return source_parts


_source = partial(counted_source, parts=household_parts)

DOLLAR_STREET = _source(
    dollar_street.NAME,
    "Dollar Street as the fairness indicators read it: things at home, by income",
    "photos of Gapminder CC BY 4.0; look at the licence of the table that you have",
    "https://www.gapminder.org/dollar-street",
    "16,073 pairs of an image and a concept, of 289 households",
    "put metadata_full_dollar_street.json of the fairness indicators of VISSL "
    "(https://github.com/facebookresearch/vissl) and the images that its URLs name into one folder: "
    f"{dollar_street.LAYOUT}",
)
"""What ``evenhand data check dollar_street`` checks."""

DOLLAR_STREET_MLCOMMONS = _source(
    dollar_street.MLCOMMONS,
    "Dollar Street of MLCommons: things at home, by income, with classes of ImageNet-1k",
    "CC BY 4.0 or CC BY-SA 4.0, image by image; look at its page",
    "https://mlcommons.org/datasets/dollar-street/",
    "38,479 images of 63 countries; the 4,308 for testing are 11 GB",
    "get the archive from https://mlcommons.org/datasets/dollar-street/ and unpack it into one folder: "
    f"{dollar_street.MLCOMMONS_LAYOUT}",
)
"""What ``evenhand data check dollar_street_mlcommons`` checks."""
