"""What a fitted mitigation comes to: findings and tidy tables, the held-out half first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.cards import metric_id
from evenhand.core.findings import Finding, Null, low_and_high
from evenhand.core.random_streams import stream
from evenhand.metrics.association.weat import association_effect_size, association_reduction
from evenhand.metrics.estimates import Inference, number
from evenhand.mitigate.mitigation import Mitigation
from evenhand.mitigate.training_vectors import LabelledVectors
from evenhand.stats.arrays import Floats
from evenhand.workflows.debias.items import AssociationItems, Test
from evenhand.workflows.debias.measures import (
    RANDOM_SETS,
    Removal,
    compared_in,
    cosines,
    effect_sizes,
    everything,
    random_effect_sizes,
    similarities,
)
from evenhand.workflows.debias.split import Split
from evenhand.workflows.debias.utility import Utility

HALVES = ("fit", "held_out")
_RANDOM_LEVEL = 0.9  # the lowest and highest of 20 hold another one with 19/21
BEFORE_AFTER = {
    "mitigation": pl.String,
    "form": pl.String,
    **dict.fromkeys(("x", "y", "a", "b"), pl.String),
    **dict.fromkeys(("before", "after", "reduction", "reduction_low", "reduction_high"), pl.Float64),
    **dict.fromkeys(("fit_before", "fit_after", "held_out_before", "held_out_after"), pl.Float64),
    **dict.fromkeys(("random_after", "random_low", "random_high", "random_sd"), pl.Float64),
    "removed": pl.Int64,
    "gained": pl.Boolean,
    "sign": pl.String,
    "chosen_on": pl.String,
}
FIT_HALF, ALL_ITEMS = "fit half", "all items"


@dataclass(frozen=True, eq=False)
class Fitted:
    """One mitigation with what it was fitted on."""

    name: str  # mitigation, or X--Y where each test has its own
    mitigation: Mitigation
    tests: tuple[Test, ...]  # whose association it lowers
    labelled: LabelledVectors | None = None  # what its filter kept recognisable

    @property
    def removed(self) -> int:
        """How many dimensions or directions are gone."""
        return int(self.mitigation.facts.get("removed", 0))


def measure_association(
    items: AssociationItems,
    fit: Split,  # what the mitigation was fitted on
    held_out: Split,
    fitted: Fitted,
    seed: int,  # of resampling and of random sets
    of_all: Fitted | None = None,  # fitted on all items, as the paper does; None: ``fitted`` is handed out
) -> tuple[list[Finding], pl.DataFrame]:
    """Effect sizes before and after on both halves, the reduction with its interval, and removal at random.

    In the table ``before`` and ``after`` are of all items, as the paper measures; ``reduction`` is
    |held_out_before| - |held_out_after| with its interval, ``gained`` whether that interval lies above 0, and
    ``random_after`` the mean |d| of the held-out half after as much was removed at random, of 20 draws.
    ``chosen_on`` says on which items what is left out of ``after`` was chosen, and ``removed`` how much that
    is.
    """
    values = [cosines(items.material, change) for change in (None, fitted.mitigation)]
    rng = stream(seed, "random removal", fitted.name)
    random_sizes = random_effect_sizes(
        items, Removal.of(fitted.mitigation), (fit, held_out), fitted.tests, rng
    )
    all_rows = compared_in(items, everything(items), fitted.tests)
    printed_values = values if of_all is None else [values[0], cosines(items.material, of_all.mitigation)]
    all_sizes = [effect_sizes(matrix, all_rows) for matrix in printed_values]
    findings, rows = [], []
    for index, test in enumerate(fitted.tests):
        test_findings = _of_test(items, (fit, held_out), values, test, random_sizes[:, :, index], seed)
        findings += test_findings
        if of_all is not None:
            findings += _as_in_paper(items, printed_values, test, seed)
        rows.append(
            _row(
                items,
                fitted if of_all is None else of_all,
                test,
                [sizes[index] for sizes in all_sizes],
                test_findings,
                random_sizes[:, 1, index],
            )
            | {"chosen_on": FIT_HALF if of_all is None else ALL_ITEMS}
        )
    return findings, pl.DataFrame(rows, schema=BEFORE_AFTER).with_columns(pl.col(pl.Float64).fill_nan(None))


def _as_in_paper(items: AssociationItems, values: Sequence[Floats], test: Test, seed: int) -> list[Finding]:
    """The d of all items before and after, where what is left out was chosen on the same items."""
    options: dict[str, Any] = {"targets": test[:2], "attributes": test[2:], "seed": seed}
    staged = []
    for stage, matrix in zip(("before", "after"), values, strict=True):
        evidence = similarities(items, matrix, everything(items), test)
        finding = association_effect_size(evidence, inference="none", mode="paper", **options)
        notes = [*finding.notes, "of the items that what is left out was chosen on, as in the paper"]
        staged.append(_staged(finding, stage, "all", notes=notes, role="exploratory"))
    return staged


def _of_test(
    items: AssociationItems,
    halves: Sequence[Split],
    values: Sequence[Floats],
    test: Test,
    random_sizes: Floats,
    seed: int,
) -> list[Finding]:
    """The reduction first, then d by half and stage."""
    staged = []
    options: dict[str, Any] = {"targets": test[:2], "attributes": test[2:], "seed": seed}
    evidence = [[similarities(items, matrix, half, test) for matrix in values] for half in halves]
    for half, name in reversed(list(zip((0, 1), HALVES, strict=True))):
        inference: Inference = "auto" if name == "held_out" else "none"
        for stage, stage_evidence in zip(("before", "after"), evidence[half], strict=True):
            finding = association_effect_size(stage_evidence, inference=inference, **options)
            staged.append(_staged(finding, stage, name))
        staged.append(_random(staged[-1], random_sizes[:, half], seed))
    reduction = association_reduction(evidence[1][0], after=evidence[1][1], **options)
    return [_judged(reduction, random_sizes[:, 1], seed), *staged]


def _staged(finding: Finding, stage: str, half: str, **update: Any) -> Finding:
    params = {**finding.params, "stage": stage, "half": half}
    printed = {
        key: "|".join(map(str, value)) if isinstance(value, list) else value for key, value in params.items()
    }
    metric = metric_id(finding.name, (), printed)
    return finding.model_copy(update={"params": params, "metric": metric, **update})


def _random(finding: Finding, random_sizes: Floats, seed: int) -> Finding:
    """The mean d after removal at random, in the shape of a finding of d."""
    usable = random_sizes[np.isfinite(random_sizes)]
    empty: dict[str, Any] = {"interval": None, "null": None, "p_value": None, "parts": []}
    fields: dict[str, Any] = {"value": None, "details": {}}
    if usable.size:
        details: dict[str, Any] = {
            "sd": number(usable.std(ddof=1)),
            "low": float(usable.min()),
            "high": float(usable.max()),
        }
        details["draws"] = float(usable.size)
        fields = {"value": float(usable.mean()), "reason": None, "details": details}
    note = f"mean over {random_sizes.size} random sets of as many dimensions or directions; seed {seed}"
    return _staged(finding, "random", str(finding.params["half"]), **empty, **fields, notes=[note])


def _judged(reduction: Finding, random_sizes: Floats, seed: int) -> Finding:
    """The reduction beside what removal at random reaches, and in words whether anything was gained."""
    before = reduction.details.get("before")
    null = None
    if isinstance(before, float) and np.isfinite(random_sizes).all():
        by_chance = abs(before) - np.abs(random_sizes)
        low, high = np.quantile(by_chance, [0.05, 0.95], method="weibull")
        null = Null(
            mean=float(by_chance.mean()),
            low=float(low),
            high=float(high),
            level=_RANDOM_LEVEL,
            method="removal of as many dimensions or directions at random",
            replicates=random_sizes.size,
            seed=seed,
        )
    notes = [*reduction.notes, *_verdict(reduction)]
    return _staged(reduction, "reduction", "held_out", null=null, notes=notes)


def _verdict(reduction: Finding) -> list[str]:
    interval = reduction.interval
    if reduction.value is None:
        return []
    sentences = []
    if interval is None:
        sentences.append("the held-out sets are too small for an interval; nothing can be said of a gain")
    elif interval.high < 0:
        sentences.append(
            "the association of the held-out items is stronger afterwards: leave this mitigation"
        )
    elif interval.low <= 0:
        sentences.append("the held-out reduction cannot be told from 0: its interval holds 0")
    if reduction.details.get("sign") == "changed":
        sentences.append("the association of the held-out items changed its sign")
    return sentences


def gained(reduction: Finding) -> bool | None:
    """Whether the interval of a reduction lies above 0; None where there is none."""
    return None if reduction.interval is None else reduction.interval.low > 0


def _row(
    items: AssociationItems,
    fitted: Fitted,
    test: Test,
    sizes: Sequence[float],
    findings: Sequence[Finding],
    random_sizes: Floats,
) -> dict[str, Any]:
    reduction, *staged = findings
    d = {(finding.params["stage"], finding.params["half"]): finding.value for finding in staged}
    low, high = low_and_high(reduction.interval)
    random = np.abs(random_sizes)
    return {
        "mitigation": fitted.name,
        "form": items.form,
        **dict(zip("xyab", test, strict=True)),
        "before": float(sizes[0]),
        "after": float(sizes[1]),
        "reduction": reduction.value,
        "reduction_low": low,
        "reduction_high": high,
        **{f"{half}_{stage}": d[stage, half] for half in HALVES for stage in ("before", "after")},
        "random_after": float(random.mean()),
        "random_low": float(random.min()),
        "random_high": float(random.max()),
        "random_sd": float(random.std(ddof=1)) if len(random) == RANDOM_SETS else float("nan"),
        "removed": fitted.removed,
        "gained": gained(reduction),
        "sign": reduction.details.get("sign"),
    }


UTILITY = {
    "mitigation": pl.String,
    **dict.fromkeys(("on", "measure", "x", "y"), pl.String),
    **dict.fromkeys(("before", "after", "chance"), pl.Float64),
    "n": pl.Int64,
    "reason": pl.String,
}


def utility_table(measured: Sequence[tuple[str, Sequence[Utility]]]) -> pl.DataFrame:
    """mitigation, on, measure, x, y, before, after, chance, n, reason; null where not defined."""
    rows = [{"mitigation": name, **asdict(utility)} for name, utilities in measured for utility in utilities]
    return pl.DataFrame(rows, schema=UTILITY).with_columns(pl.col(pl.Float64).fill_nan(None))


def norm_table(items: AssociationItems, held_out: Split, everyone: Sequence[Fitted]) -> pl.DataFrame:
    """How much of the held-out vectors' squared length is gone, by modality: mean, lowest and highest."""
    rows = []
    material = items.material
    for fitted in everyone:
        roles = (
            ("target", material.target_modality, material.targets[held_out.targets]),
            ("attribute", material.attribute_modality, material.attributes[held_out.attributes]),
        )
        for role, modality, vectors in roles:
            share = fitted.mitigation.removed_share(vectors, modality)
            usable = share[np.isfinite(share)]
            summary = [float(value) for value in (usable.mean(), usable.min(), usable.max())]
            rows.append((fitted.name, role, modality, *summary, len(usable)))
    schema = {
        **dict.fromkeys(("mitigation", "role", "modality"), pl.String),
        **dict.fromkeys(("share", "low", "high"), pl.Float64),
        "n": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")
