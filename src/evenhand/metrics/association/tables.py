"""Tables that explain association tests: what each item adds, single sets, and means of each pair of sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association.estimation import SetComparison, effects_without
from evenhand.metrics.association.similarities import SingleSet
from evenhand.metrics.estimates import number
from evenhand.stats.association.effect_size import (
    attribute_contributions,
    effect_size,
    single_category,
    target_contributions,
)
from evenhand.stats.association.permutation import permutation_tests

Test: TypeAlias = tuple[str, str, str, str]

ITEM_DRAWS = 9_999  # partitions of the attributes for an item's p, where they are too many to list
_LISTED = 12  # exact p of an item up to 12 v 12 attributes

_TEST = ("form", "x", "y", "a", "b")
CONTRIBUTIONS: dict[str, Any] = dict.fromkeys((*_TEST, "role", "item"), pl.String)
CONTRIBUTIONS |= dict.fromkeys(("association", "contribution", "without"), pl.Float64)
SINGLE_CATEGORY: dict[str, Any] = dict.fromkeys(("form", "set", "a", "b", "item"), pl.String)
SINGLE_CATEGORY |= {"effect_size": pl.Float64, "p_value": pl.Float64, "n": pl.Int64}
LEVELS: dict[str, Any] = dict.fromkeys(("form", "set", "attribute_set"), pl.String)
LEVELS |= {"mean": pl.Float64, "sd": pl.Float64, "n": pl.Int64}


def association_tables(
    evidence: Similarities, tests: Iterable[Test], *, ddof: int = 1, seed: int = 0
) -> dict[str, pl.DataFrame]:
    """What lies behind the effect sizes of some tests: names (x, y, a, b) of the sets of each.

    ``contributions``: what each item adds to the mean difference (targets add up to it, and so do
    attributes), and d without it. ``single_category``: each set of targets alone (``item`` null: its mean)
    and each item, p of exchanging attributes between a and b (families whole). ``levels``: mean and spread.
    Undefined is null.

    Source: Caliskan et al. 2017 (SC-WEAT); ML-EAT, arXiv 2408.01966 (levels).
    """
    distinct_tests = list(dict.fromkeys(tests))
    contributions = [_contributions(evidence, test, ddof) for test in distinct_tests]
    target_sets = dict.fromkeys((name, a, b) for x, y, a, b in distinct_tests for name in (x, y))
    single = [_single(evidence, name, (a, b), seed) for name, a, b in target_sets]
    levels = dict.fromkeys((name, attribute) for name, a, b in target_sets for attribute in (a, b))
    return {
        "contributions": _stacked(contributions, CONTRIBUTIONS),
        "single_category": _stacked(single, SINGLE_CATEGORY),
        "levels": pl.DataFrame(
            [_level(evidence, name, attribute) for name, attribute in levels], schema=LEVELS, orient="row"
        ),
    }


def _contributions(evidence: Similarities, test: Test, ddof: int) -> pl.DataFrame:
    x, y, a, b = test
    comparison = SetComparison.make("association_effect_size", evidence, (x, y), (a, b))
    if comparison.empty:
        return pl.DataFrame(schema=CONTRIBUTIONS)
    n, m, na, nb = comparison.sizes
    added = attribute_contributions(comparison.block, *comparison.places)
    return _frame(
        {
            **dict(zip(_TEST, (evidence.form, *test), strict=True)),
            "role": ["x"] * n + ["y"] * m + ["a"] * na + ["b"] * nb,
            "item": [*comparison.items, *comparison.words],
            "association": np.concatenate([comparison.phi, comparison.nearer]),
            "contribution": np.concatenate([target_contributions(comparison.x, comparison.y), added]),
            "without": np.concatenate(effects_without(comparison, ddof)),
        },
        CONTRIBUTIONS,
    )


def _single(evidence: Similarities, name: str, pair: tuple[str, str], seed: int) -> pl.DataFrame:
    bound_set = SingleSet.make("single_category_association", evidence, name, pair, seed=seed)
    if bound_set.empty:
        return pl.DataFrame(schema=SINGLE_CATEGORY)
    units, (na, nb) = bound_set.exchanged_words(bound_set.block)
    means = bound_set.block.mean(axis=0)
    effects = single_category(
        bound_set.block, np.arange(bound_set.na), np.arange(bound_set.na, len(bound_set.words))
    )
    few = max(na, nb) <= _LISTED
    tests = permutation_tests(
        units[:, :na], units[:, na:], rng=bound_set.stream("items"), draws=ITEM_DRAWS,
        exact_up_to=_LISTED if few else 0,
    )  # fmt: skip
    test = bound_set.word_test(means)
    n = len(bound_set.items)
    d = effect_size(means[: bound_set.na], means[bound_set.na :])
    return _frame(
        {
            "form": evidence.form,
            "set": name,
            "a": pair[0],
            "b": pair[1],
            "item": [None, *bound_set.items],
            "effect_size": np.array([d, *effects]),
            "p_value": np.array([test.two_sided, *(item_test.two_sided for item_test in tests)]),
            "n": [n] + [1] * n,
        },
        SINGLE_CATEGORY,
    )


def _level(evidence: Similarities, name: str, attribute: str) -> tuple[Any, ...]:
    block = evidence.values[np.ix_(evidence.target_rows(name), evidence.attribute_columns(attribute))]
    mean = number(block.mean()) if block.size else None
    sd = number(block.std(ddof=1)) if block.size > 1 else None
    return evidence.form, name, attribute, mean, sd, block.size


def _frame(columns: Mapping[str, Any], schema: Mapping[str, Any]) -> pl.DataFrame:
    """A table of this schema in which what is undefined is null."""
    frame = pl.DataFrame(columns, schema=dict(schema))
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


def _stacked(tables: Sequence[pl.DataFrame], schema: Mapping[str, Any]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=dict(schema)), *tables])
