"""Every metric there is: evenhand's own, those of installed packages, and what follows from both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeAlias

from evenhand.core.cards import DIFFERENCE, SEED_SPREAD, MetricCard
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.findings import Finding
from evenhand.core.metric import Metric

SKEWSIZE = "Albuquerque et al., Evaluating Model Bias Requires Characterizing its Mistakes, ICML 2024"
VISOGENDER = (
    "Hall et al., VisoGender: A dataset for benchmarking gender bias in image-text pronoun resolution, 2023"
)
GEYIK = "Geyik et al., Fairness-Aware Ranking in Search and Recommendation Systems, KDD 2019"
MMBIAS = (
    "Janghorbani and de Melo, Multi-Modal Bias: Introducing a Framework for Stereotypical Bias "
    "Assessment beyond Gender and Race in Vision-Language Models, EACL 2023"
)
CALISKAN = (
    "Caliskan et al., Semantics derived automatically from language corpora contain human-like biases, 2017"
)
INDICATORS = (
    "Goyal et al., Fairness Indicators for Systematic Assessments of Visual Feature Extractors, FAccT 2022"
)
DE_VRIES = "De Vries et al., Does object recognition work for everyone?, CVPR workshops 2019"
BERGSMA = "Bergsma, A bias-correction for Cramér's V and Tschuprow's T, 2013"
SAGAWA = "Sagawa et al., Distributionally Robust Neural Networks for Group Shifts, 2020"
BONETT_PRICE = "Bonett and Price, Adjusted Wald confidence interval for paired proportions, 2012"

GAP: dict[str, Any] = {
    "range": (0, 1), "direction": "lower is fairer", "fair_at": 0.0, "unit": "share difference",
}  # fmt: skip
"""What metrics declare alike: how far shares of groups are apart."""
SIGNED: dict[str, Any] = {**GAP, "range": (-1, 1), "direction": "descriptive"}
"""One share less another."""
EFFECT: dict[str, Any] = {**GAP, "unit": "Cramér's V"}
LOG_RATIO: dict[str, Any] = {"range": (None, None), "fair_at": 0.0, "unit": "log ratio"}
SKEWNESS: dict[str, Any] = {"range": (None, None), "direction": "descriptive", "unit": "skewness"}
SHARE: dict[str, Any] = {"range": (0, 1), "unit": "share"}

GROUP = "evenhand.metrics"
"""Entry point group through which packages declare metrics; the names are those of the metrics."""
NamedMetric: TypeAlias = str | Metric[...] | partial[Finding]
MetricChoice: TypeAlias = NamedMetric | Sequence[NamedMetric]
"""One or several metrics, by name or as they are, or as partials that fix arguments."""
_NONE: Mapping[str, MetricCard] = {}


@cache
def declared_metrics() -> dict[str, Metric[...]]:
    """All metrics by name: evenhand's own first, then those of entry points."""
    package = import_module("evenhand.metrics")
    public = {name: getattr(package, name) for name in package.__all__}
    metrics = {name: thing for name, thing in public.items() if isinstance(thing, Metric)}
    for point in entry_points(group=GROUP):
        metric = point.load()
        if not isinstance(metric, Metric):
            raise InputError(
                f"the entry point {point.value!r} of {GROUP!r} is no metric; declare it with @evenhand.metric"
            )
        if metric.card.name in metrics:
            raise InputError(
                f"the metric {metric.card.name!r} of the entry point {point.value!r} has the name of another "
                "one; give it another name"
            )
        metrics[metric.card.name] = metric
    return metrics


@cache
def known_cards() -> dict[str, MetricCard]:
    """The cards of all metrics, of differences between models and of spreads over seeds, by name."""
    cards = {name: metric.card for name, metric in declared_metrics().items()}
    derived = [card.difference() for card in cards.values() if card.compared != "values"]
    derived += [card.seed_spread() for card in cards.values() if card.compared == "counts"]
    return cards | {card.name: card for card in derived if card.name not in cards}


def card_of(name: str) -> MetricCard | None:
    """The card of a metric, or of a difference or spread of one; None where nobody declared it."""
    cards = known_cards()
    if name in cards:
        return cards[name]
    for ending, derive in ((DIFFERENCE, MetricCard.difference), (SEED_SPREAD, MetricCard.seed_spread)):
        of = cards.get(name.removesuffix(ending)) if name.endswith(ending) else None
        if of is not None:
            return derive(of)
    return None


def with_cards(findings: Iterable[Finding], saved: Mapping[str, MetricCard] = _NONE) -> list[Finding]:
    """The findings, each with the card of its metric where it is known: from ``saved``, else from here."""

    def known(name: str) -> MetricCard | None:
        return saved.get(name) or card_of(name)

    def card_for(finding: Finding) -> MetricCard | None:
        card, compared = known(finding.name), finding.params.get("metric")
        if card is None or card.p_is_about != "models" or compared is None:
            return card
        return card.comparing(known(str(compared)))  # a metric that compares any other

    return [finding if finding.is_declared else finding.with_card(card_for(finding)) for finding in findings]


def chosen_metrics(metrics: MetricChoice | None) -> list[Metric[...]] | None:
    """Metrics by their names, or as they are; None is all of an audit.

    ``name[argument=value,...]`` fixes arguments, as ``functools.partial`` of a metric does.
    """
    if metrics is None:
        return None
    several = [metrics] if isinstance(metrics, str | Metric | partial) else metrics
    return [_chosen(metric) for metric in several]


def _chosen(metric: NamedMetric) -> Metric[...]:
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, partial):
        if metric.args or not isinstance(metric.func, Metric):
            raise ParameterError("a partial is of a metric and names arguments: partial(metric, label='cat')")
        return metric.func.with_arguments(**metric.keywords)
    name, arguments = named_arguments(metric)
    if name not in declared_metrics():
        raise UnknownName("metric", name, sorted(declared_metrics()), "see: evenhand ls metrics")
    declared = declared_metrics()[name]
    defaults = {key: parameter.default for key, parameter in declared.parameters.items()}
    return declared.with_arguments(
        **{key: parsed_as(defaults.get(key), key, value) for key, value in arguments.items()}
    )


def named_arguments(text: str) -> tuple[str, dict[str, str]]:
    """The name and the arguments of ``name[key=value,key=value]``.

    Raises:
        ParameterError: It cannot be read so.
    """
    name, bracket, rest = text.partition("[")
    pairs = [pair.partition("=") for pair in rest.removesuffix("]").split(",") if pair.strip()]
    is_whole = all(key.strip() and value.strip() for key, _, value in pairs)
    if bracket and not (rest.endswith("]") and is_whole):
        raise ParameterError(f"{text!r} cannot be read; write arguments as name[key=value,key=value]")
    return name.strip(), {key.strip(): value.strip() for key, _, value in pairs}


def parsed_as(default: object, name: str, text: str) -> object:
    """A text as a number where the default is one, else as it is."""
    if isinstance(default, bool) or not isinstance(default, int | float):
        return text
    try:
        return type(default)(text)
    except ValueError:
        raise ParameterError(f"{name}={text!r} is no {type(default).__name__}") from None
