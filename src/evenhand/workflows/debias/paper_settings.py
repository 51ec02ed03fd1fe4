"""What ``--mode paper`` of ``evenhand debias`` sets: the protocol of Table 3 of the MMBias paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.benchmarks.catalogue import RECIPES
from evenhand.core.errors import InputError, check_choice
from evenhand.mitigate.mitigation import MITIGATIONS
from evenhand.workflows.debias.filter_labels import GROUPS
from evenhand.workflows.debias.items import SourceRun, declared_tests

MODES = ("default", "paper")
PAIRS = ("joint", "each")


@dataclass(frozen=True)
class DebiasSettings:
    """How a mitigation is fitted, for which tests, and what is chosen on all items."""

    mode: str = "default"  # paper: fitted on all items, with the held-out half beside
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the method
    pairs: str = "joint"  # joint or each
    tests: Sequence[str] = ()  # names; empty: all of the run
    labels: str | Path | None = None  # as read_filter_labels takes them

    @property
    def of_paper(self) -> bool:
        """Whether the paper's protocol is followed."""
        return self.mode == "paper"


def debias_settings(
    mode: str,
    source: SourceRun,
    method: str,
    parameters: Mapping[str, Any],
    pairs: str | None,
    tests: Sequence[str],
    labels: str | Path | None,
    form: str | None,
) -> DebiasSettings:
    """The settings of a mode; what the user gives stands in place of the paper's.

    In ``paper``: the method's own settings of the paper (signed d, one ranking, past zero), a choice of
    dimensions for each test, the ten tests of Table 3 as far as the run has them, else all of its tests, and
    a filter that keeps the run's groups recognisable.
    """
    check_choice("mode", mode, MODES)
    if pairs is not None:
        check_choice("pairs", pairs, PAIRS)
    if mode == "default":
        return DebiasSettings(mode, parameters, pairs or "joint", tests, labels)
    declared = getattr(MITIGATIONS.get(method), "paper", None)
    if declared is None:
        raise InputError(
            f"--mode paper is the protocol of --method pruning, the MMBias paper's; {method!r} has no "
            "settings of a paper: leave one of the two out"
        )
    return DebiasSettings(
        mode,
        {**declared, **parameters},
        pairs or "each",
        tests or _tests_of_paper(source, form),
        GROUPS if labels is None else labels,
    )


def _tests_of_paper(source: SourceRun, form: str | None) -> list[str]:
    """The ten tests of Table 3, as far as the run has them."""
    present = {test[:2] for test in declared_tests(source, form)}
    return [":".join(pair) for pair in RECIPES.get("mmbias").tests if pair in present]
