"""``geode`` in its three layouts: the worst region against a naive count, countries as units, maps."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.benchmark import Setting, parse_parameters
from evenhand.benchmarks.further.geode.geode import GEODE
from tests.benchmarks import further_layouts as layouts
from tests.benchmarks.indicator_models import Classifies

PHOTOS = 360
NAMES = [name.replace("_", " ") for name in layouts.GEO_OBJECTS]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("geode")
    return {
        "first": layouts.geode(folder / "first", PHOTOS),
        "later": layouts.geode(folder / "later", PHOTOS, later=True),
        "shards": layouts.geode_shards(folder / "shards", PHOTOS),
    }


def run_geode(named, data, labels=NAMES, **parameters):
    """A run of a classifier for which photo i shows the object of number ``named[i]``."""
    model = Classifies(np.eye(len(labels))[named], labels)
    run = eh.run("geode", model=model, data=data, parameters=parameters)
    return {finding.name: finding for finding in run.findings.findings}, run


def test_the_worst_region_is_that_of_a_naive_count(data) -> None:
    rng = np.random.default_rng(5)
    truth = np.array([thing for thing, _, _ in layouts.photos(PHOTOS)])
    regions = np.array([region for _, region, _ in layouts.photos(PHOTOS)])
    named = np.where(rng.random(PHOTOS) < 0.7, truth, rng.integers(3, size=PHOTOS))
    by_region = [(named == truth)[regions == region].mean() for region in range(6)]
    findings, run = run_geode(named, data["shards"], regions=",".join(layouts.GEO_REGIONS))
    worst = findings["worst_group_accuracy"]
    assert worst.value == pytest.approx(min(by_region))
    assert findings["accuracy_range"].value == pytest.approx(max(by_region) - min(by_region))
    parts = {part.key: part.value for part in findings["accuracy"].parts}
    assert parts == pytest.approx(dict(zip(layouts.GEO_REGIONS, by_region, strict=True)))
    assert worst.null.mean < findings["accuracy"].value - 0.01  # a worst of six is lower without any bias
    assert "skewsize" in findings
    assert "images whose country was sampled as a whole" in run.manifest["asking"]["notes"]


def test_every_layout_has_the_same_photos(data) -> None:
    columns = ("truth", "region", "country")
    cells = {}
    for kind, folder in data.items():
        given = parse_parameters(GEODE, {"regions": ",".join(layouts.GEO_REGIONS)})
        plan = GEODE.plan(Setting(given, folder, ("embeds_images", "embeds_texts"), 0))
        table = plan.annotations.with_columns(pl.col("country").str.strip_prefix("Land "))
        cells[kind] = table.select(columns).sort(columns)
    assert cells["first"].equals(cells["later"])
    assert cells["first"].equals(cells["shards"])


def test_a_blind_model_is_within_chance_and_a_planted_region_is_not(data) -> None:
    rng = np.random.default_rng(2)
    rows = layouts.photos(PHOTOS)
    findings, _ = run_geode(rng.integers(3, size=PHOTOS), data["first"])
    assert findings["accuracy_gap"].p_adjusted > 0.05
    assert findings["worst_group_accuracy"].null.low <= findings["worst_group_accuracy"].value
    planted = [(thing + (region == 2 and n % 5 < 4)) % 3 for n, (thing, region, _) in enumerate(rows)]
    findings, run = run_geode(planted, data["first"])
    assert findings["accuracy_range"].value == pytest.approx(0.8)
    worst = next(f for f in run.findings.findings if f.name == "accuracy" and list(f.by) == ["region"])
    assert min(worst.parts, key=lambda part: part.value).key == "EastAsia"


def test_a_map_names_classes_and_leaves_objects_without_one_out(data, tmp_path) -> None:
    labels = ["tote, bag", "soap dispenser", "lotion"]
    named = [0 if thing == 1 else 1 + n % 2 for n, (thing, _, _) in enumerate(layouts.photos(PHOTOS))]
    path = tmp_path / "imagenet-v1.json"
    path.write_text(json.dumps({"tote": "bag", "soap dispenser": ["hand_soap"], "lotion": ["hand soap"]}))
    findings, run = run_geode(named, data["first"], labels, map=str(path))
    assert findings["accuracy"].value == 1
    assert findings["accuracy"].n == PHOTOS * 2 / 3
    lost = {row.reason: row.count for row in findings["accuracy"].dropped}
    assert lost["object that the map has no class for"] == PHOTOS / 3
    assert run.manifest["about"]["map"] == "imagenet-v1"
