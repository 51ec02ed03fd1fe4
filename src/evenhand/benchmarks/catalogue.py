"""The benchmarks and artifacts that exist: built in, or added by other packages through entry points."""

from __future__ import annotations

from evenhand.core.registry import Registry

BENCHMARKS = Registry(
    "benchmark",
    {
        "classification": "evenhand.benchmarks.classification.benchmark:CLASSIFICATION",
        "indicators/geography": "evenhand.benchmarks.indicators.geography:GEOGRAPHY",
        "indicators/label_association": "evenhand.benchmarks.indicators.label_association:LABEL_ASSOCIATION",
        "indicators/retrieval": "evenhand.benchmarks.indicators.retrieval:RETRIEVAL",
        "mmbias/association": "evenhand.benchmarks.mmbias.association:ASSOCIATION",
        "mmbias/matching": "evenhand.benchmarks.mmbias.matching:MATCHING",
        "sprites": "evenhand.benchmarks.sprites.benchmark:SPRITES",
        "visogender/resolution": "evenhand.benchmarks.visogender.resolution:RESOLUTION",
        "visogender/retrieval": "evenhand.benchmarks.visogender.retrieval:RETRIEVAL",
    },
    "evenhand.benchmarks",
)

ARTIFACTS = Registry(
    "artifact",
    {
        "mmbias/table1": "evenhand.benchmarks.mmbias.artifacts_data:TABLE1",
        "mmbias/table2": "evenhand.benchmarks.mmbias.artifacts_association:TABLE2",
        "mmbias/table3": "evenhand.benchmarks.mmbias.artifacts_debias:TABLE3",
        "mmbias/figure2": "evenhand.benchmarks.mmbias.artifacts_data:FIGURE2",
        "mmbias/figure3": "evenhand.benchmarks.mmbias.artifacts_data:FIGURE3",
        "mmbias/figure4": "evenhand.runner.embedding_maps:FIGURE4",
        "mmbias/figure5": "evenhand.benchmarks.mmbias.artifacts_association:FIGURE5",
        "mmbias/tradeoff": "evenhand.benchmarks.mmbias.artifacts_debias:TRADEOFF",
        "skewsize/table1": "evenhand.benchmarks.sprites.artifacts:TABLE1",
        "skewsize/table2": "evenhand.benchmarks.sprites.artifacts:TABLE2",
        "skewsize/table5": "evenhand.benchmarks.sprites.artifacts:TABLE5",
        "visogender/table1": "evenhand.benchmarks.visogender.artifacts_data:TABLE1",
        "visogender/table2": "evenhand.benchmarks.visogender.artifacts_resolution:TABLE2",
        "visogender/table3": "evenhand.benchmarks.visogender.artifacts_retrieval:TABLE3",
        "visogender/table4": "evenhand.benchmarks.visogender.artifacts_resolution:TABLE4",
        "visogender/table5": "evenhand.benchmarks.visogender.artifacts_retrieval:TABLE5",
        "visogender/table6": "evenhand.benchmarks.visogender.artifacts_retrieval:TABLE6",
        "visogender/table7": "evenhand.benchmarks.visogender.artifacts_labour:TABLE7",
        "visogender/table8": "evenhand.benchmarks.visogender.artifacts_sampling:TABLE8",
        "visogender/table9": "evenhand.benchmarks.visogender.artifacts_sampling:TABLE9",
        "visogender/table10": "evenhand.benchmarks.visogender.artifacts_data:TABLE10",
        "visogender/figure2": "evenhand.benchmarks.visogender.artifacts_resolution:FIGURE2",
        "visogender/figure3": "evenhand.benchmarks.visogender.artifacts_labour:FIGURE3",
        "visogender/figure4": "evenhand.benchmarks.visogender.artifacts_resolution:FIGURE4",
        "visogender/figure5": "evenhand.benchmarks.visogender.artifacts_resolution:FIGURE5",
        "visogender/figure6": "evenhand.benchmarks.visogender.artifacts_resolution:FIGURE6",
        "visogender/figure7": "evenhand.benchmarks.visogender.artifacts_retrieval:FIGURE7",
        "visogender/figure8": "evenhand.benchmarks.visogender.artifacts_resolution:FIGURE8",
        "visogender/figure9": "evenhand.benchmarks.visogender.artifacts_labour:FIGURE9",
        "visogender/figure10": "evenhand.benchmarks.visogender.artifacts_labour:FIGURE10",
        "visogender/figure11": "evenhand.benchmarks.visogender.artifacts_labour:FIGURE11",
        "visogender/figure12": "evenhand.benchmarks.visogender.artifacts_sampling:FIGURE12",
        "visogender/figure13": "evenhand.benchmarks.visogender.artifacts_data:FIGURE13",
    },
    "evenhand.artifacts",
)
