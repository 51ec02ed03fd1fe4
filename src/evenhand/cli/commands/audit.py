"""``evenhand audit``: a table in, findings out."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.arguments import options


def audit(
    table: options.Table,
    by: options.By = None,
    truth: Annotated[str | None, typer.Option(metavar="COL", help="Column of true labels.")] = None,
    prediction: Annotated[str | None, typer.Option(metavar="COL", help="Column of predicted labels.")] = None,
    value: options.Value = None,
    better: options.Better = None,
    range: options.Range = None,
    unit: options.Unit = "",
    source: options.From = None,
    groups: options.Groups = None,
    on: options.On = None,
    id: Annotated[str | None, typer.Option("--id", metavar="COL", help="Column of sample ids.")] = None,
    rank: Annotated[str | None, typer.Option(metavar="COL", help="Column of ranks (1 = first).")] = None,
    search: options.Search = None,
    cluster: options.Cluster = None,
    cluster_weights: options.ClusterWeights = "rows",
    weight: options.Weight = None,
    mode: Annotated[str, typer.Option(help="default, or paper: the published listing.")] = "default",
    mev: Annotated[float, typer.Option(help="Minimum expected value of a column; 0 keeps all.")] = 0.0,
    mev_rule: Annotated[str, typer.Option(help="min, mean or max over groups.")] = "min",
    rare: Annotated[str, typer.Option(help="drop or pool columns below --mev.")] = "drop",
    alpha: Annotated[float, typer.Option(help="Level of the tests.")] = 0.05,
    adjustment: Annotated[str, typer.Option(help="holm, bh or none, over classes.")] = "holm",
    engine: Annotated[str, typer.Option(help="local, or spark: count where the table lives.")] = "local",
    map: options.Map = None,
    normalize: options.Normalize = False,
    missing: options.MissingTexts = None,
    bins: options.Bins = None,
    noun: options.Noun = None,
    seed: options.Seed = 0,
    fail_if: options.Gates = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    ascii: options.Ascii = False,
    language: options.Language = None,
    allow_edited: options.AllowEdited = False,
    out: options.Out = None,
) -> None:
    """Audit a table of predictions."""
    from evenhand.cli.summaries.findings import print_run
    from evenhand.cli.summaries.progress import status
    from evenhand.runs.gates import check_gate_names, check_gates
    from evenhand.workflows.audit import audit_table

    check_gate_names(fail_if or [], groupings=() if search else by or ())
    columns = {"truth": truth, "prediction": prediction, "id": id, "rank": rank}
    columns |= {"cluster": cluster, "weight": weight}
    if cluster_weights != "rows":
        columns["cluster_weights"] = cluster_weights
    with status(quiet) as say:
        run = audit_table(
            table, columns=columns, by=by or (), source=source, groups=groups, on=on, search=search, out=out,
            progress=say, mode=mode, mev=mev, mev_rule=mev_rule, rare=rare, alpha=alpha,
            adjustment=adjustment, engine=engine, map=map, normalize=normalize, missing=missing or (),
            bins=bins or (), noun=noun, seed=seed, value=value, better=better, range=range, unit=unit,
        )  # fmt: skip
    print_run(run, out, quiet=quiet, verbose=verbose, ascii=ascii)
    check_gates(run.findings.findings, fail_if or [], run.manifest)
