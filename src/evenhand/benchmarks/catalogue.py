"""The benchmarks and artifacts that exist: built in, or added by other packages through entry points."""

from __future__ import annotations

from evenhand.core.registry import Registry

BENCHMARKS = Registry(
    "benchmark",
    {
        "classification": "evenhand.benchmarks.classification.benchmark:CLASSIFICATION",
        "sprites": "evenhand.benchmarks.sprites.benchmark:SPRITES",
        "visogender/resolution": "evenhand.benchmarks.visogender.resolution:RESOLUTION",
        "visogender/retrieval": "evenhand.benchmarks.visogender.retrieval:RETRIEVAL",
    },
    "evenhand.benchmarks",
)

ARTIFACTS = Registry(
    "artifact",
    {
        "skewsize/table1": "evenhand.benchmarks.sprites.artifacts:TABLE1",
        "skewsize/table2": "evenhand.benchmarks.sprites.artifacts:TABLE2",
        "skewsize/table5": "evenhand.benchmarks.sprites.artifacts:TABLE5",
    },
    "evenhand.artifacts",
)
