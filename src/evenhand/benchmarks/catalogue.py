"""Benchmarks, artifacts and recipes that exist: built in, or of other packages through entry points."""

from __future__ import annotations

from evenhand.core.registry import Registry

BENCHMARKS = Registry(
    "benchmark",
    {
        "bbq_v": "evenhand.benchmarks.further.bbq_v.bbq_v:BBQ_V",
        "classification": "evenhand.benchmarks.classification.classification:CLASSIFICATION",
        "clip/fairface_words": "evenhand.benchmarks.further.fairface_words.fairface_words:FAIRFACE_WORDS",
        "facet": "evenhand.benchmarks.further.facet.facet:FACET",
        "geode": "evenhand.benchmarks.further.geode.geode:GEODE",
        "gras": "evenhand.benchmarks.further.gras.gras:GRAS",
        "indicators/geography": "evenhand.benchmarks.indicators.geography:GEOGRAPHY",
        "indicators/label_association": "evenhand.benchmarks.indicators.label_association:LABEL_ASSOCIATION",
        "indicators/retrieval": "evenhand.benchmarks.indicators.retrieval:RETRIEVAL",
        "mmbias/association": "evenhand.benchmarks.mmbias.association:ASSOCIATION",
        "mmbias/matching": "evenhand.benchmarks.mmbias.matching:MATCHING",
        "pairs": "evenhand.benchmarks.further.pairs.pairs:PAIRS",
        "portraits": "evenhand.benchmarks.further.portraits.portraits:PORTRAITS",
        "skewsize/backgrounds": "evenhand.benchmarks.skewsize.studies:BACKGROUNDS",
        "skewsize/celeba": "evenhand.benchmarks.skewsize.celeba:CELEBA",
        "skewsize/domainnet": "evenhand.benchmarks.skewsize.domainnet:DOMAINNET",
        "skewsize/occupations": "evenhand.benchmarks.skewsize.studies:OCCUPATIONS",
        "skewsize/sports": "evenhand.benchmarks.skewsize.studies:SPORTS",
        "skewsize/waterbirds": "evenhand.benchmarks.skewsize.waterbirds:WATERBIRDS",
        "social_counterfactuals": "evenhand.benchmarks.further.social_counterfactuals.social_counterfactuals:"
        "SOCIAL_COUNTERFACTUALS",
        "sprites": "evenhand.benchmarks.sprites.sprites:SPRITES",
        "visogender/resolution": "evenhand.benchmarks.visogender.resolution:RESOLUTION",
        "visogender/retrieval": "evenhand.benchmarks.visogender.retrieval:RETRIEVAL",
    },
    "evenhand.benchmarks",
)

# The papers' own are entry points of this package, too: nothing here names their room.
ARTIFACTS = Registry("artifact", {}, "evenhand.artifacts")
RECIPES = Registry("paper", {}, "evenhand.recipes")
