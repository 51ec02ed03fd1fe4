"""From predictions to a run: count once, then every metric under every grouping."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from evenhand.core.errors import InputError, ParameterError, check_choice, check_known
from evenhand.core.findings import Finding, Findings
from evenhand.core.metric import Metric
from evenhand.evidence.predictions.bins import BinsLike
from evenhand.evidence.predictions.count import ClusterWeights, said
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.label_rules import LabelRules, MapLike
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.evidence.predictions.spark import read_spark, reading_spark
from evenhand.files.atomic import write_bytes
from evenhand.files.datasets import EXAMPLES
from evenhand.files.tables.group_columns import group_columns
from evenhand.metrics.catalogue import MetricChoice, chosen_metrics
from evenhand.metrics.classification.disparities.mistakes import SCHEMA, prediction_differences
from evenhand.metrics.classification.disparities.overlaps import with_overlaps
from evenhand.metrics.classification.disparities.subgroups import subgroups
from evenhand.metrics.classification.effect_options import Adjustment, EffectOptions, MevRule, Rare
from evenhand.metrics.estimates import Inference, Mode, check_seed
from evenhand.metrics.numbers.estimation import Better
from evenhand.metrics.suites.audit import audit_grouping, check_groups
from evenhand.metrics.suites.families import AUDIT, SEARCH, adjust_run
from evenhand.metrics.suites.groupings import Grouping, groupings_of, names_in
from evenhand.runs.manifest import make_manifest
from evenhand.runs.saved_counts import SavedCounts, is_saved
from evenhand.workflows.outputs.audit_run import AuditRun
from evenhand.workflows.outputs.audited_table import Audited, Evidence
from evenhand.workflows.outputs.number_run import Range, audit_numbers, refuse_labels
from evenhand.workflows.outputs.result import Run, check_out

Progress: TypeAlias = Callable[[str], None]
ENGINES = ("local", "spark")
_LONGEST_NOUN = 30


def audit(
    evidence: Evidence | Any, *, by: Grouping | Sequence[Grouping], truth: str | None = None,
    prediction: str | None = None, id: str | None = None, rank: str | None = None, cluster: str | None = None,
    weight: str | None = None, value: str | None = None, better: Better | None = None, range: Range = None,
    unit: str = "", cluster_weights: ClusterWeights = "rows", metrics: MetricChoice | None = None,
    search: Sequence[str] = (), mode: Mode = "default", mev: float = 0.0, mev_rule: MevRule = "min",
    rare: Rare = "drop", alpha: float = 0.05, adjustment: Adjustment = "holm", inference: Inference = "auto",
    seed: int = 0, map: MapLike | None = None, normalize: bool = False, missing: str | Sequence[str] = (),
    bins: BinsLike = (), noun: str | None = None, out: str | Path | None = None,
    progress: Progress | None = None,
) -> Run:  # fmt: skip
    """Audit predictions, or a number of each row: every metric, under every grouping.

    Args:
        evidence: Predictions, Counts, Counts of earlier audits added up; a frame, or the path of a table.
        by: One grouping or a list of them; a text is one attribute, a tuple or ``A+B`` crosses several.
        truth: Column of true labels of a frame or path.
        prediction: Column of predicted labels.
        id: Column of sample ids.
        rank: Column of ranks, from 1, of tables with several predictions a sample.
        cluster: Column of what was sampled as a whole.
        weight: Column of weights.
        value: Column of numbers that are compared, such as an overlap, in place of labels.
        better: Which of these are good: ``high`` or ``low``.
        range: Their least and largest possible, such as ``(0, 1)``.
        unit: What they count, such as ``years``.
        cluster_weights: ``equal``: each cluster counts once, not each of its ``rows``.
        metrics: One or several to compute, by name or as functions; None: all of an audit.
        search: Attributes to search for subgroups with more mistakes, as ``metrics.subgroups`` does.
        mode: ``paper`` reproduces the paper's listing, Yates' correction included.
        mev: Minimum expected value of a column; 0 keeps every column.
        mev_rule: ``min``, ``mean`` or ``max``.
        rare: ``drop`` or ``pool`` columns below ``mev``.
        alpha: Level of the tests.
        adjustment: ``holm``, ``bh`` or ``none``.
        inference: ``none`` for values only.
        seed: Of every random stream.
        map: Old to new labels, a file of them, or ``OLD=NEW``, as ``LabelRules.make`` takes them.
        normalize: Merge labels that differ in case, space, Unicode form or the form of a number only.
        missing: Texts that are missing values.
        bins: Numbers as groups: ``{"age": [18, 40, 65]}``, or ``"quantiles:4"`` for bins of equal sizes.
        noun: What sentences call the rows, in the plural: ``tickets``.
        out: Folder to write the run to.
        progress: Called with what is being done.

    Returns:
        The run; ``run.report("report.html")`` renders it.

    Raises:
        UserError: Unknown columns or options, no usable row, fewer than two groups.
    """
    if value is not None:
        return audit_numbers(**locals())  # what only labels have is refused there
    columns = {"truth": truth, "prediction": prediction, "id": id, "rank": rank, "cluster": cluster}
    columns |= {"weight": weight, **said(cluster_weights)}
    options: dict[str, Any] = {"seed": seed, "mode": mode, "mev": mev, "mev_rule": mev_rule, "rare": rare}
    options |= {"alpha": alpha, "adjustment": adjustment, "inference": inference, **_searched(search)}
    groupings, rules = _checked(by, options, out), LabelRules.make(map, normalize, missing, bins)
    table, words, selected = _read(evidence, columns), _words(noun), chosen_metrics(metrics)
    return _audited(table, _crossed(table, groupings), rules, options, words, selected, out, progress)


def _audited(
    evidence: Evidence,
    groupings: list[tuple[str, ...]],
    rules: LabelRules,
    options: dict[str, Any],
    words: dict[str, str],
    metrics: list[Metric[...]] | None,
    out: str | Path | None,
    progress: Progress | None,
) -> Run:
    say = progress or (lambda _: None)
    say("counting")
    search = [tuple(options["search"])] if "search" in options else []
    audited = Audited.of(evidence, [*groupings, *search], rules)
    tested = metrics is None and options["inference"] != "none"
    check_groups(audited.counts, groupings, tested=tested)
    findings, mistakes = _measure(audited.counts, groupings, options, say, metrics)
    run = _assemble(audited, groupings, findings, mistakes, options, words)
    if out is not None:
        say("writing")
        run.save(out)
    return run


def _checked(by: Any, options: dict[str, Any], out: str | Path | None) -> list[tuple[str, ...]]:
    """The groupings, after refusing whatever can be refused before counting."""
    EffectOptions.make("separation", {k: v for k, v in options.items() if k not in ("seed", "search")})
    check_seed(options["seed"])
    check_out(out)
    return groupings_of(by)


def _words(noun: str | None) -> dict[str, str]:
    """What the manifest says of the rows."""
    if noun is None:
        return {}
    if not noun.strip() or not noun.isprintable() or len(noun) > _LONGEST_NOUN:
        raise ParameterError(
            f"noun={noun!r} is no name of rows; give a plural of at most {_LONGEST_NOUN} signs: tickets"
        )
    return {"noun": noun.strip()}


def _searched(search: Any) -> dict[str, list[str]]:
    """The attributes to search, each once; nothing where there is no search."""
    if isinstance(search, str):
        raise ParameterError(f"search={search!r} is a text; name attributes in a list: search=[{search!r}]")
    names = [str(name) for name in search]
    if len(set(names)) != len(names):
        raise ParameterError(f"search={names!r} names an attribute twice; name each once")
    return {"search": names} if names else {}


def _read(evidence: Any, columns: dict[str, str | None]) -> Evidence:
    """Predictions of a frame or path whose columns are named; other evidence as it is."""
    columns_by_role = {role: column for role, column in columns.items() if column is not None}
    if isinstance(evidence, Predictions | Counts | SavedCounts):
        if columns_by_role:
            raise ParameterError(
                f"{', '.join(columns_by_role)} of {type(evidence).__name__} are known; name none here"
            )
        return evidence
    if columns["truth"] is None or columns["prediction"] is None:
        raise ParameterError(
            f"name the columns of this {type(evidence).__name__}: audit(table, truth=COL, prediction=COL)"
        )
    read = Predictions.read if isinstance(evidence, str | Path) else Predictions.from_frame
    return read(evidence, **columns_by_role)  # type: ignore[arg-type]  # columns by role


def _assemble(
    audited: Audited,
    groupings: Sequence[tuple[str, ...]],
    findings: list[Finding],
    mistakes: pl.DataFrame,
    options: dict[str, Any],
    words: dict[str, str],
) -> Run:
    """The run: findings with a manifest that says what was done."""
    evidence, counts = audited.evidence, audited.counts
    table = evidence if isinstance(evidence, Predictions) else None
    warnings, repeated = audited.warnings()
    settings: dict[str, Any] = {
        "kind": "audit",
        "benchmark": None,
        "model": None,
        "truth": getattr(evidence, "truth", "truth"),
        "prediction": getattr(evidence, "prediction", "prediction"),
        "by": ["+".join(grouping) for grouping in groupings],
        "rows": counts.n_total,
        **options,
        **audited.rules.settings(),
        "source": _source(evidence),
    }
    manifest = make_manifest({"predictions": counts}, settings)
    manifest |= {**words, "repeated_ids": repeated, "warnings": [warning.message for warning in warnings]}
    manifest |= {"relabelled": audited.changes} if audited.changes else {}
    manifest |= {"id": table.id, "rank": table.rank, **said(table.cluster_weights)} if table else {}
    manifest |= {"cluster": counts.cluster} if counts.cluster else {}
    manifest |= {"weight": table.weight} if table and table.weight else {}
    return AuditRun(
        Findings(manifest_id=manifest["manifest_id"], findings=findings, warnings=warnings),
        manifest,
        {"predictions": counts},
        {"mistakes": mistakes},
        audited=audited,
    )


def audit_table(
    path: str,  # as for Predictions.read; with Spark a table of its catalogue; or run folders or saved Counts
    *,
    columns: Mapping[str, str | None],  # of truth, prediction, id, rank, cluster, weight, cluster_weights
    by: Sequence[str],  # ``A+B`` crosses, unless a column is called just that
    engine: str = "local",  # spark: count where a cluster keeps the table
    search: str | None = None,  # ``A,B,C``, unless a column is called just that
    source: str | None = None,  # of another tool's file: as for Predictions.read_from
    groups: str | None = None,  # a table with attributes of the rows, as for Predictions.with_groups
    on: str | None = None,  # the column of both
    **options: Any,
) -> Run:
    """Audit a table on disk or in the cloud, its columns and groupings named as on the command line."""
    check_choice("engine", engine, ENGINES)
    _check_joined(source, groups, on, engine)
    if options.get("value") is not None:
        refuse_labels({"from": source, "groups": groups, "engine": engine, "search": search})
        return audit(path, by=list(by), **columns, **options)  # type: ignore[arg-type]  # columns by role
    if source is None and groups is None and is_saved(path):
        saved = SavedCounts.read(path)
        saved.check_columns(columns)
        attributes = saved.counts.attributes
        _check_grouped(by, attributes)
        options["search"] = names_in(attributes, search, ",")
        return audit(saved, by=[names_in(attributes, entry, "+") for entry in by], **options)
    predictions = _predictions_of(path, columns, engine, source)
    used = [column for role, column in columns.items() if column and role != "cluster_weights"]
    _check_grouped(by, group_columns(path, used) if not by and source is None else ())
    if groups is not None and on is not None:
        predictions = predictions.with_groups(groups, on=on)
    groupings = [names_in(predictions.columns, entry, "+") for entry in by]
    options["search"] = names_in(predictions.columns, search, ",")
    if engine == "local":
        return audit(predictions, by=groupings, **options)
    with reading_spark(path):
        return audit(predictions, by=groupings, **options)


def write_example(name: str, folder: Path) -> tuple[Path, str, Mapping[str, Any]]:
    """Write an example table as ``folder/NAME.csv``, for an audit into ``folder/NAME``.

    Returns the table's path, a sentence about it, and the options of ``audit`` for it.
    """
    check_known("example", name, EXAMPLES)
    load, options = EXAMPLES[name]
    check_out(folder / name)
    path, content = folder / f"{name}.csv", load().write_csv().encode()
    if path.exists() and path.read_bytes() != content:
        raise InputError(f"{str(path)!r} is another table; give an empty or new folder with -o")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content)
    return path, (load.__doc__ or "").partition("\n")[0], options


def _predictions_of(
    path: str, columns: Mapping[str, str | None], engine: str, source: str | None
) -> Predictions:
    """The rows of a table, or of another tool's file."""
    optional: dict[str, Any] = {name: columns.get(name) for name in ("id", "cluster", "weight")}
    optional |= {"cluster_weights": columns.get("cluster_weights") or "rows"}
    truth, prediction, rank = columns["truth"], columns["prediction"], columns.get("rank")
    if source is not None:
        if rank is not None:
            raise ParameterError("--rank is for tables with several predictions of a sample, not for --from")
        return Predictions.read_from(source, path, truth=truth, prediction=prediction, **optional)
    if truth is None or prediction is None:
        raise ParameterError(
            f"{path!r} is a table of rows; name its columns: --truth COL --prediction COL (of the log "
            "of another tool its format: --from lm-eval)"
        )
    read = Predictions.read if engine == "local" else read_spark
    return read(path, truth=truth, prediction=prediction, rank=rank, **optional)


def _check_joined(source: str | None, groups: str | None, on: str | None, engine: str) -> None:
    """Refuse options that do not go together."""
    if (groups is None) != (on is None):
        raise ParameterError("--groups TABLE and --on COL go together: the column that joins the two tables")
    if engine != "local" and (source or groups):
        raise ParameterError(
            f"--from and --groups are read here, not by engine={engine!r}; leave --engine out"
        )


def _check_grouped(by: Sequence[str], columns: Sequence[str]) -> None:
    """Say what to type where nothing says who is compared."""
    if not by:
        possible = f"; columns of few values: {', '.join(map(repr, columns))}" if columns else ""
        raise ParameterError(f"an audit compares groups: name their column with --by COL{possible}")


def _crossed(evidence: Evidence, groupings: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The groupings; a text ``A+B`` crosses as on the command line, unless a column is called just that."""
    counts = evidence.counts if isinstance(evidence, SavedCounts) else evidence
    columns = counts.columns if isinstance(counts, Predictions) else counts.attributes
    crossed = [
        names_in(columns, names[0], "+") if len(names) == 1 and "+" in names[0] else names
        for names in groupings
    ]
    crossed = list(dict.fromkeys(crossed))
    for index, names in enumerate(crossed):
        same = next((other for other in crossed[:index] if set(other) == set(names)), None)
        if same is not None:
            orders = " and ".join(repr("+".join(order)) for order in (same, names))
            raise ParameterError(f"by={orders} are the same groups in two orders; name one")
    return crossed


def _measure(
    counts: Counts,
    groupings: Sequence[tuple[str, ...]],
    options: dict[str, Any],
    say: Progress,
    metrics: Sequence[Metric[...]] | None = None,
) -> tuple[list[Finding], pl.DataFrame]:
    options = dict(options)
    findings: list[Finding] = []
    search, tables = options.pop("search", None), [pl.DataFrame(schema=SCHEMA)]
    for grouping in groupings:
        say(f"measuring by {'+'.join(grouping)}")
        grouping_findings, bound = audit_grouping(counts, grouping, metrics=metrics, **options)
        findings += grouping_findings
        tables.append(prediction_differences(bound, by=grouping, seed=options["seed"]))
    if search:
        say(f"searching {', '.join(search)}")
        of_search = {name: options[name] for name in ("alpha", "mode", "inference", "seed")}
        findings.append(subgroups(counts, by=search, **of_search))
    primaries = (*AUDIT, SEARCH) if search else AUDIT
    adjusted = adjust_run(findings, primaries, alpha=options["alpha"], method=options["adjustment"])
    return with_overlaps(adjusted, counts, options["alpha"]), pl.concat(tables)


def _source(evidence: Evidence) -> dict[str, Any] | None:
    origin = None if not isinstance(evidence, Predictions | SavedCounts) else evidence.origin
    if origin is None:
        return None
    parts: dict[str, Any] = {"parts": list(evidence.parts)} if isinstance(evidence, SavedCounts) else {}
    parts |= {"format": origin.format} if origin.format else {}
    beside = [
        {"path": other.path, "sha256": other.sha256, **({"on": other.on} if other.on else {})}
        for other in origin.beside
    ]
    parts |= {"beside": beside} if beside else {}
    return {"path": origin.path, "size": origin.size, "sha256": origin.sha256, **parts}
