"""A metric of its own: is each race first as often as its share of the pictures?"""

import numpy as np

import evenhand as eh
from evenhand.core.findings import GroupSize, Null, Part
from evenhand.metrics.estimates import as_finding

DRAWS = 999


@eh.metric(
    title="First places, gap",
    summary="first places beyond its share of the pictures: the group with most less the group with fewest",
    formula="max - min over groups of share of first places - share of the pictures",
    range=(0, 2),
    direction="lower is fairer",
    fair_at=0.0,
    source="ours",
    unit="share difference",
    tags=("group gap",),
    compared="contributions",
)
def first_place_gap(evidence, *, by, seed=0):
    """How unevenly first places are shared out; in [0, 2], lower is fairer, undefined without rankings.

    p and null band: the groups of each query's pictures change places at random.
    """
    pools = evidence.pools([by])
    first = np.nanargmax(pools.scores, axis=1)
    there = pools.codes >= 0
    excess = _excess(pools.codes, there, first, len(pools.groups))
    value = float(excess.max() - excess.min())
    rng, draws = np.random.default_rng(seed), np.empty(DRAWS)
    for draw in range(DRAWS):
        codes = pools.codes.copy()
        for query, row in enumerate(there):
            codes[query, row] = rng.permutation(codes[query, row])
        drawn = _excess(codes, there, first, len(pools.groups))
        draws[draw] = drawn.max() - drawn.min()
    low, high = np.quantile(draws, [0.025, 0.975])
    sizes = pools.group_sizes.tolist()
    keys = [pools.group_key(code) for code in range(len(sizes))]
    parts = [
        Part(kind="group", key=key, value=float(more), n=n)
        for key, more, n in zip(keys, excess, sizes, strict=True)
    ]
    null = Null(mean=float(draws.mean()), low=low, high=high, level=0.95, method="groups exchanged")
    p_value = float((1 + (draws >= value - 1e-12).sum()) / (1 + DRAWS))
    groups = [GroupSize(key=key, n=n) for key, n in zip(keys, sizes, strict=True)]
    fields = {"n": sum(sizes), "groups": groups, "parts": parts, "null": null, "p_value": p_value}
    return as_finding("first_place_gap", pools.by, {}, value=value, **fields)


def _excess(codes, there, first, n_groups):
    """Share of first places less share of the pictures, for each group."""
    won = np.bincount(codes[np.arange(len(codes)), first], minlength=n_groups) / len(codes)
    return won - np.bincount(codes[there], minlength=n_groups) / there.sum()


def of_each_query(pools):
    """Whether each query's first picture shows each race; with equal pools, shares cancel."""
    first = np.nanargmax(pools.scores, axis=1)
    for query, row in enumerate(pools.codes[np.arange(len(first)), first]):
        for code in range(len(pools.groups)):
            yield {"sample": str(query), "part": str(pools.group_key(code)), "value": float(row == code)}
