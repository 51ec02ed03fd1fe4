"""The command line: thin commands; what they need is imported when they run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments import options
from evenhand.cli.commands.compare import compare_runs
from evenhand.cli.commands.data import data_app
from evenhand.cli.commands.export import export_runs
from evenhand.cli.commands.generate_entry import generate
from evenhand.cli.stopping import fail, readers_may_leave, sigterm_as_ctrl_c, usage

app = typer.Typer(
    name="evenhand",
    help="Audits vision and vision-language models for bias.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(data_app, name="data")
app.command(name="compare")(compare_runs)
app.command(name="export")(export_runs)

_STOPPED = 130  # what typer returns after Ctrl-C
_TERMINATED = 143  # what shells report of a process that SIGTERM ended
_STOPPED_MESSAGE = "stopped; what was written before is whole; type the same command again to go on"


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"evenhand {version('evenhand')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Audits vision and vision-language models for bias."""


@app.command()
def audit(
    table: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="CSV, TSV, Parquet, JSONL, Arrow; glob; URL; runs."),
    ],
    by: Annotated[list[str], typer.Option(metavar="COL", help="Attribute; A+B crosses; may be repeated.")],
    truth: Annotated[str | None, typer.Option(metavar="COL", help="Column of true labels.")] = None,
    prediction: Annotated[str | None, typer.Option(metavar="COL", help="Column of predicted labels.")] = None,
    id: Annotated[str | None, typer.Option("--id", metavar="COL", help="Column of sample ids.")] = None,
    rank: Annotated[str | None, typer.Option(metavar="COL", help="Column of ranks (1 = first).")] = None,
    cluster: options.Cluster = None,
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
    seed: options.Seed = 0,
    fail_if: options.Gates = None,
    quiet: options.Quiet = False,
    out: options.Out = None,
) -> None:
    """Audit a table of predictions."""
    from evenhand.cli.commands.audit import run_audit

    run_audit(
        table,
        columns={
            "truth": truth,
            "prediction": prediction,
            "id": id,
            "rank": rank,
            "cluster": cluster,
            "weight": weight,
        },
        by=by,
        options={
            "mode": mode,
            "mev": mev,
            "mev_rule": mev_rule,
            "rare": rare,
            "alpha": alpha,
            "adjustment": adjustment,
            "engine": engine,
            "map": map,
            "normalize": normalize,
            "missing": missing or (),
            "seed": seed,
        },
        gates=fail_if or [],
        quiet=quiet,
        out=out,
    )


@app.command()
def run(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="See: evenhand ls benchmarks.")],
    model: options.Model,
    data: options.Data = None,
    image: options.Image = None,
    truth: options.Truth = None,
    by: options.By = None,
    parameters: options.Parameters = None,
    tags: options.Tags = None,
    limit: options.Limit = None,
    mitigation: options.Mitigation = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "float32",
    batch_size: options.BatchSize = None,
    workers: options.Workers = None,
    engine: options.Engine = "local",
    ray_address: options.RayAddress = None,
    keep_answers: options.KeepAnswers = True,
    allow_missing: options.AllowMissing = False,
    trust_remote_code: options.TrustRemoteCode = False,
    seed: options.Seed = 0,
    fail_if: options.Gates = None,
    quiet: options.Quiet = False,
    out: options.Out = None,
) -> None:
    """Ask a model a benchmark's questions and audit the answers; the same command again resumes."""
    from evenhand.cli.commands.run import run_benchmark

    run_benchmark(
        benchmark,
        model,
        data=data,
        parameters=parameters or [],
        columns={"image": image, "truth": truth, "by": ",".join(by) if by else None},
        tags=tags or [],
        limit=limit,
        seed=seed,
        gates=fail_if or [],
        options={
            "device": device,
            "dtype": dtype,
            "batch_size": batch_size,
            "workers": workers,
            "engine": engine,
            "address": ray_address,
            "keep_answers": keep_answers,
            "allow_missing": allow_missing,
            "trust_remote_code": trust_remote_code,
        },
        mitigation=mitigation,
        quiet=quiet,
        out=out,
    )


@app.command()
def score(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Such as visogender/resolution.")],
    evidence: options.Evidence,
    data: options.Data = None,
    mode: Annotated[str | None, typer.Option(help="default or paper; as -p mode=paper.")] = None,
    parameters: options.Parameters = None,
    tags: options.Tags = None,
    seed: options.Seed = 0,
    fail_if: options.Gates = None,
    quiet: options.Quiet = False,
    out: options.Out = None,
) -> None:
    """Measure scores that were made elsewhere; no model is asked."""
    from evenhand.cli.commands.score import score_evidence

    score_evidence(
        benchmark,
        evidence,
        data=data,
        mode=mode,
        parameters=parameters or [],
        tags=tags or [],
        seed=seed,
        gates=fail_if or [],
        quiet=quiet,
        out=out,
    )


@app.command()
def debias(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of mmbias/association.")],
    method: Annotated[str, typer.Option(metavar="NAME", help="See: evenhand ls mitigations.")],
    parameters: Annotated[
        list[str] | None, typer.Option("-p", metavar="KEY=VALUE", help="Parameter of the method.")
    ] = None,
    remove: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Dimensions, directions, or rounds of inlp.")
    ] = None,
    pairs: Annotated[str, typer.Option(help="joint: one for all tests; each: one a test.")] = "joint",
    tests: Annotated[
        list[str] | None, typer.Option("--test", metavar="X:Y", help="These only; may be repeated.")
    ] = None,
    form: Annotated[str | None, typer.Option(help="cross-modal, textual or visual.")] = None,
    utility: Annotated[
        Path | None, typer.Option(metavar="RUN", help="A classification run, measured before and after.")
    ] = None,
    seed: options.Seed = 0,
    fail_if: options.Gates = None,
    quiet: options.Quiet = False,
    out: options.Out = None,
) -> None:
    """Fit a mitigation on half of a run's items, and measure it on the other half."""
    from evenhand.cli.commands.debias import debias_run

    debias_run(
        folder,
        method,
        parameters=parameters or [],
        remove=remove,
        pairs=pairs,
        tests=tests or [],
        form=form,
        utility=utility,
        seed=seed,
        gates=fail_if or [],
        quiet=quiet,
        out=out,
    )


@app.command()
def adapt(
    model: options.Model,
    train: Annotated[
        Path | None,
        typer.Option(metavar="IMAGES", help="Labelled images: a table, or a folder for each class."),
    ] = None,
    method: Annotated[str, typer.Option(help="probe, fine_tuning or zero_shot; docs/adapt.md.")] = "probe",
    classes: Annotated[
        str | None, typer.Option(metavar="TAXONOMY", help="Only these: a taxonomy, or a file of classes.")
    ] = None,
    image: Annotated[str | None, typer.Option(metavar="COL", help="Column of images.")] = None,
    truth: Annotated[str | None, typer.Option(metavar="COL", help="Column of labels.")] = None,
    parameters: Annotated[
        list[str] | None, typer.Option("-p", metavar="KEY=VALUE", help="Parameter of the method.")
    ] = None,
    evaluation: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Will be measured on: none is trained on; may be repeated."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="How many models, one a seed.")] = 1,
    device: options.Device = "auto",
    dtype: options.Dtype = "float32",
    batch_size: options.BatchSize = None,
    workers: options.Workers = None,
    keep_answers: options.KeepAnswers = True,
    trust_remote_code: options.TrustRemoteCode = False,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="The new model.")] = None,
) -> None:
    """Give a feature extractor a head for your classes, or train it as a whole: adapted:DIR."""
    from evenhand.cli.commands.adapt import adapt_model

    adapt_model(
        model,
        train=train,
        method=method,
        classes=classes,
        columns={"image": image, "truth": truth},
        parameters=parameters or [],
        evaluation=evaluation or [],
        seeds=seeds,
        seed=seed,
        options={
            "device": device,
            "dtype": dtype,
            "batch_size": batch_size,
            "workers": workers,
            "keep_answers": keep_answers,
            "trust_remote_code": trust_remote_code,
        },
        quiet=quiet,
        out=out,
    )


app.command()(generate)


@app.command()
def artifact(
    name: Annotated[str, typer.Argument(metavar="ID", help="See: evenhand ls artifacts.")],
    runs: Annotated[list[Path] | None, typer.Argument(metavar="RUN", help="Run folders.")] = None,
    data: options.Data = None,
    parameters: Annotated[
        list[str] | None, typer.Option("-p", metavar="KEY=VALUE", help="Parameter of the artifact.")
    ] = None,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="csv, parquet, html, svg, png or json; default: print."
        ),
    ] = None,
) -> None:
    """Make a table or figure of a paper from runs, or from data."""
    from evenhand.cli.commands.artifact import make_artifact

    make_artifact(name, runs or [], out, data=data, parameters=parameters or [], seed=seed)


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help=".pth, .pt, .bin or .ckpt.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="A new .safetensors file.")],
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Where the weights are; found out where not given.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Make safetensors of a pickled checkpoint, without running code in it."""
    from evenhand.cli.commands.convert import convert_weights

    convert_weights(source, target, key=key, quiet=quiet)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Default: in RUN.")] = None,
    suppress: Annotated[
        int, typer.Option(metavar="N", help="Hide cells of fewer than N rows, and what would give them away.")
    ] = 0,
    images: Annotated[
        bool, typer.Option("--images", help="Show thumbnails of samples; they may show people.")
    ] = False,
    data: options.Data = None,
) -> None:
    """Render a run's report again."""
    from evenhand.workflows.outputs.result import Run

    run_ = Run.read(folder)
    run_.report(out or folder / "report.html", suppress=suppress, images=images, data=data)


@app.command(name="ls")
def ls(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="benchmarks, models, metrics, mitigations or artifacts.")
    ],
    can: Annotated[str | None, typer.Option(metavar="CAPABILITY", help="Only models that have it.")] = None,
) -> None:
    """List what there is."""
    from evenhand.cli.commands.ls import list_kind

    list_kind(kind, can)


def main() -> None:
    """Run the command line; mistakes of the user become one line on stderr and an exit code."""
    from evenhand.core.errors import EvenhandError, exits_are_errors, one_line

    try:
        with (
            readers_may_leave(), sigterm_as_ctrl_c() as terminations,
            exits_are_errors("code that this command runs"),
        ):  # fmt: skip
            code = app(standalone_mode=False)
    except EvenhandError as problem:
        fail(str(problem), problem.exit_code)
    except typer.TyperException as problem:
        usage(problem)
    except OSError as problem:
        where = f"{str(problem.filename)!r}: " if problem.filename else ""
        fail(f"{where}{one_line(problem.strerror or problem)}; check the path, permissions and free space", 2)
    except (KeyboardInterrupt, typer.Abort):
        code = _STOPPED
    if code == _STOPPED:
        fail(_STOPPED_MESSAGE, _TERMINATED if terminations else _STOPPED)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
