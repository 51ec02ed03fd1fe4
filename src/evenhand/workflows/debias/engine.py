"""From a run of association tests to a mitigation that was measured on items it was not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.core.errors import InputError, require_extra
from evenhand.core.findings import Dropped, Finding, Findings
from evenhand.core.nouns import WORDS, words_of
from evenhand.metrics.suites.families import adjust_run
from evenhand.mitigate.mitigation import Fitter, Mitigation
from evenhand.runs import run_folder
from evenhand.runs.manifest import make_manifest
from evenhand.workflows.debias.filter_labels import FilterLabels, read_filter_labels
from evenhand.workflows.debias.findings import Fitted, measure_association, norm_table, utility_table
from evenhand.workflows.debias.fitting import make_fitter, parameters_of
from evenhand.workflows.debias.items import AssociationItems, SourceRun, Test, read_items
from evenhand.workflows.debias.measures import everything
from evenhand.workflows.debias.paper_settings import DebiasSettings, debias_settings
from evenhand.workflows.debias.split import Split, part_of, split_halves
from evenhand.workflows.debias.tradeoff import Curve, names_of_tests
from evenhand.workflows.debias.utility import UtilityImages, utility_of_groups
from evenhand.workflows.mitigated_model import another_model, model_facts, utility_note
from evenhand.workflows.outputs.result import Run, check_out
from evenhand.workflows.run import named

JOINT = "mitigation"
PROBES = ("sklearn", "scikit-learn", "debias")
"""The library that every debias run needs for its measures of utility, as ``require_extra`` takes it."""

_ASKS = (
    "is the tie weaker after the mitigation, on items that were not used to fit it, and what does that cost?"
)
HELD_OUT = "--held-out"
"""At the end of the name of a mitigation that was fitted on half, where the run's own was on all items."""


@dataclass(frozen=True, eq=False, repr=False)
class DebiasRun(Run):
    """A run that fitted mitigations.

    ``mitigations`` go by name: ``mitigation``, or ``X--Y`` where each test has its own. They were fitted on
    the fit half, and are what was measured. In paper mode they were fitted on all items, and
    ``X--Y--held-out`` on the fit half.
    """

    mitigations: dict[str, Mitigation] = field(default_factory=dict)

    def write_extras(self, folder: Path) -> None:
        """Write the mitigations, each with its card beside it."""
        for name, mitigation in self.mitigations.items():
            mitigation.save(folder / place_of(name))


def place_of(name: str) -> Path:
    """Where a mitigation lies in a run folder."""
    return Path(f"{JOINT}.safetensors") if name == JOINT else Path("mitigations") / f"{name}.safetensors"


def debias(
    run: str | Path | run_folder.RunFolder,
    *,
    method: str = "pruning",
    parameters: Mapping[str, Any] | None = None,
    remove: int | None = None,
    pairs: str | None = None,
    tests: Sequence[str] = (),
    form: str | None = None,
    utility: str | Path | None = None,
    labels: str | Path | None = None,
    mode: str = "default",
    seed: int = 0,
    out: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DebiasRun:
    """Fit a mitigation on half of a run's items, and measure it on both halves.

    Targets and attributes are halved within their sets. What is fitted sees the fit half only; the reduction
    that counts is that of the held-out half, with an interval, beside what as much removal at random does,
    and beside what the embeddings are still good for.

    Args:
        run: A run of ``mmbias/association`` (its folder, or the run), or any with embeddings and the tables
            ``members`` and ``tests``.
        method: A name of ``evenhand ls mitigations``, or ``file.py:object``.
        parameters: The method's own parameters, as text or as they are.
        remove: How many dimensions, directions or rounds; as the parameter of that name.
        pairs: ``joint``: one mitigation for all tests, the default; ``each``: one a test, the paper's.
        tests: ``X:Y`` or ``X:Y:A:B``; empty: all.
        form: ``cross-modal``, ``textual`` or ``visual``; default: the first of them that the run has.
        utility: A run folder of ``classification``, measured before and after too.
        labels: What the method's filter keeps recognisable: ``groups``, a run folder of ``classification``, a
            table of ``sample`` and ``label``, or ``none``.
        mode: ``paper``: as Table 3 of the MMBias paper was made, with dimensions chosen on all items; what
            holds out stands beside it.
        seed: Of the halves, of what is fitted, and of resampling.
        out: Folder to write.
        progress: Called with the mitigations that are measured, and how many there are.

    Returns:
        The run: findings, the tables ``before_after``, ``tradeoff``, ``utility``, ``norm_share`` and
        ``halves``, and the mitigations.

    Raises:
        UserError: A run without embeddings or tests, an unknown method, parameter or test, sets too small to
            be halved, or nothing that could be fitted.
        MissingExtra: scikit-learn is not installed.
    """
    check_out(out)
    require_extra(*PROBES)
    source = SourceRun.read(run)
    protocol = debias_settings(mode, source, method, parameters or {}, pairs, tests, labels, form)
    fitter = make_fitter(method, protocol.parameters, remove)
    items = read_items(source, form=form, tests=protocol.tests)
    debias_run = _fitted_and_measured(source, protocol, fitter, items, utility, seed, progress)
    if out is not None:
        debias_run.save(out)
    return debias_run


def _fitted_and_measured(
    source: SourceRun,
    protocol: DebiasSettings,
    fitter: Fitter,
    items: AssociationItems,
    utility: str | Path | None,
    seed: int,
    progress: Callable[[int, int], None] | None,
) -> DebiasRun:
    labelled = None if utility is None else UtilityImages.read(utility, seed)
    filter_labels = read_filter_labels(protocol.labels, source, items, seed)
    halves = split_halves(items, seed)
    work = _Fitting(fitter, items, protocol.pairs, seed, model_facts(source.manifest), filter_labels)
    of_half = work.fitted(*halves)
    of_all = work.fitted(everything(items)) if protocol.of_paper else []
    show = progress or (lambda *_: None)
    findings, tables = _measured(fitter, items, halves, of_half, of_all, labelled, seed, show)
    beside = [replace(fitted, name=f"{fitted.name}{HELD_OUT}") for fitted in of_half]
    everyone = [*of_all, *beside] if of_all else of_half
    settings = _settings(source, items, fitter, halves, everyone, utility)
    settings |= {"pairs": protocol.pairs, "seed": seed, **_utility_settings(source, labelled)}
    settings |= {"mode": protocol.mode} if protocol.of_paper else {}
    settings |= {"labels": filter_labels.name} if filter_labels is not None else {}
    return _assembled(findings, tables, settings, items, everyone, _words(source.manifest))


def _words(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The benchmark's words with the question of a mitigation."""
    words = words_of(manifest).model_copy(update={"asks": _ASKS, "examined": "the embeddings"})
    return {WORDS: words.model_dump(mode="json", exclude_defaults=True)}


def _utility_settings(source: SourceRun, labelled: UtilityImages | None) -> dict[str, Any]:
    if labelled is None:
        return {}
    other = another_model(model_facts(source.manifest), labelled.model)
    return {"utility_model": labelled.model.get("model"), "utility_note": utility_note(other)}


def _assembled(
    findings: Sequence[Finding],
    tables: dict[str, pl.DataFrame],
    settings: dict[str, Any],
    items: AssociationItems,
    everyone: Sequence[Fitted],
    words: dict[str, Any],
) -> DebiasRun:
    manifest = make_manifest({}, settings) | words
    dropped = [Dropped(reason=reason, count=count) for reason, count in items.dropped.items()]
    adjusted = named(adjust_run(findings, ()), settings["benchmark"], settings["model"], dropped)
    return DebiasRun(
        Findings(manifest_id=manifest["manifest_id"], findings=adjusted),
        manifest,
        tables=tables,
        mitigations={fitted.name: fitted.mitigation for fitted in everyone},
    )


@dataclass(frozen=True, eq=False)
class _Fitting:
    """How mitigations are fitted, on whichever items."""

    fitter: Fitter
    items: AssociationItems
    pairs: str
    seed: int
    model: Mapping[str, Any]
    filter_labels: FilterLabels | None

    def fitted(self, half: Split, held_out: Split | None = None) -> list[Fitted]:
        """One mitigation, or one a test, of the items of a half; each says of which model it is."""
        items, tests = self.items, self.items.material.tests
        names = names_of_tests(tests)
        groups = [(JOINT, tests)] if self.pairs == "joint" else [(names[test], (test,)) for test in tests]
        labelled = None if self.filter_labels is None else self.filter_labels.part(items, held_out)
        everyone = []
        for name, group_tests in groups:
            material = part_of(replace(items.material, tests=group_tests, labelled=labelled), half)
            try:
                mitigation = self.fitter.fit(material, seed=self.seed)
            except InputError as problem:
                raise InputError(str(problem) if name == JOINT else f"{name}: {problem}") from None
            fit_facts = {**mitigation.facts, **self.model, **_paired(items, mitigation, group_tests)}
            everyone.append(Fitted(name, replace(mitigation, facts=fit_facts), group_tests, labelled))
        return everyone


def _paired(items: AssociationItems, mitigation: Mitigation, tests: Sequence[Test]) -> dict[str, Any]:
    """Two prompts that were taken as a pair, for a reader to see whether the lists are parallel."""
    if "paired" not in mitigation.facts:
        return {}
    first, second = replace(items.material, tests=tuple(tests)).pairs()[0]
    return {"such_as": [items.targets[first], items.targets[second]]}


def _measured(
    fitter: Fitter,
    items: AssociationItems,
    halves: tuple[Split, Split],
    of_half: Sequence[Fitted],
    of_all: Sequence[Fitted],
    labelled: UtilityImages | None,
    seed: int,
    progress: Callable[[int, int], None],
) -> tuple[list[Finding], dict[str, pl.DataFrame]]:
    """Findings and tables; utility and lengths are those of what is handed out."""
    findings, before_after, curves, useful = [], [], [], []
    for index, fitted in enumerate(of_half):
        progress(index, len(of_half))
        fitted_on_all = of_all[index] if of_all else None
        association_findings, table = measure_association(items, *halves, fitted, seed, fitted_on_all)
        findings += association_findings
        before_after.append(table)
        handed_out = (fitted_on_all or fitted).mitigation
        group_utility = utility_of_groups(items, *halves, handed_out, fitted.tests)
        beside = [] if labelled is None else labelled.compared(handed_out)
        useful.append((fitted.name, [*group_utility, *beside]))
        curve = Curve(items, *halves, fitted.tests, labelled, seed, fitted.labelled)
        curves.append(curve.table(fitted.name, fitter, fitted.mitigation))
    progress(len(of_half), len(of_half))
    tables = {
        "before_after": pl.concat(before_after),
        "tradeoff": pl.concat(curves),
        "utility": utility_table(useful),
        "norm_share": norm_table(items, halves[1], of_all or of_half),
        "halves": _halves(items, halves),
    }
    return findings, tables


def _halves(items: AssociationItems, halves: tuple[Split, Split]) -> pl.DataFrame:
    """Which item was in which half, and of which sets it is: role, sample, half, sets."""
    parts = []
    for name, half in zip(("fit", "held_out"), halves, strict=True):
        for role, ids, rows, sets in (
            ("target", items.targets, half.targets, items.material.target_sets),
            ("attribute", items.attributes, half.attributes, items.material.attribute_sets),
        ):
            of = [[set_name for set_name, members in sets.items() if row in members] for row in rows]
            part = pl.DataFrame(
                {"sample": [ids[row] for row in rows], "sets": of},
                schema={"sample": pl.String, "sets": pl.List(pl.String)},
            )
            parts.append(
                part.select(pl.lit(role).alias("role"), "sample", pl.lit(name).alias("half"), "sets")
            )
    return pl.concat(parts)


def _settings(
    source: SourceRun,
    items: AssociationItems,
    fitter: Fitter,
    halves: tuple[Split, Split],
    everyone: Sequence[Fitted],
    utility: str | Path | None,
) -> dict[str, Any]:
    fit, held_out = halves
    return {
        "kind": "debias",
        "benchmark": source.manifest.get("benchmark"),
        "model": source.manifest.get("model"),
        "run": source.manifest.get("manifest_id"),
        "utility": None if utility is None else Path(utility).name,
        "method": fitter.name,
        "parameters": parameters_of(fitter),
        "form": items.form,
        "tests": [":".join(test) for test in items.material.tests],
        "by": [],
        "rows": len(items.targets) + len(items.attributes),
        "halves": {
            "fit": {"targets": len(fit.targets), "attributes": len(fit.attributes)},
            "held_out": {"targets": len(held_out.targets), "attributes": len(held_out.attributes)},
        },
        "mitigations": {fitted.name: fitted.mitigation.fingerprint() for fitted in everyone},
        "source": {"path": source.name},
    }
