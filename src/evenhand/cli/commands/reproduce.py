"""``evenhand reproduce``: a paper's recipe from data check to artifacts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.arguments import options
from evenhand.core.errors import Incomplete

if TYPE_CHECKING:
    from evenhand.workflows.reproduce.engine import ReproduceOptions, Reproduction


def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="skewsize, indicators, visogender or mmbias.")
    ],
    model: Annotated[
        list[str] | None, typer.Option(metavar="URI", help="As of evenhand run; may be repeated.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]DIR", help="Data that is not in its usual folder; may be repeated."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Say what is there and missing; ask nothing.")
    ] = False,
    beside: Annotated[
        str, typer.Option(metavar="NAME", help="The paper's model whose numbers stand beside; default: all.")
    ] = "",
    preset: Annotated[
        str, typer.Option(help="skewsize: paper (ResNet-18) or quick sprites models.")
    ] = "paper",
    labels: Annotated[
        str | None, typer.Option(metavar="NAME|RUN|FILE", help="mmbias: as of evenhand debias.")
    ] = None,
    utility: Annotated[
        Path | None, typer.Option(metavar="RUN", help="mmbias: as of evenhand debias.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="[N:]NAME=VALUE", help="Of every run, or of the Nth model's; may be repeated."),
    ] = None,
    limit: options.Limit = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    batch_size: options.BatchSize = None,
    workers: options.Workers = None,
    allow_missing: options.AllowMissing = False,
    trust_remote_code: options.TrustRemoteCode = False,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    out: options.Out = None,
) -> None:
    """Run a paper's recipe in its own settings, and print its numbers beside ours; again resumes."""
    from evenhand.cli.summaries.reproduced import print_plan
    from evenhand.workflows.execution.options import AskOptions
    from evenhand.workflows.reproduce.engine import ReproduceOptions, planned

    asking = AskOptions(
        device=device, dtype=dtype, batch_size=batch_size, workers=workers, allow_missing=allow_missing,
        trust_remote_code=trust_remote_code,
    )  # fmt: skip
    how = ReproduceOptions(limit, seed, preset, labels, utility, beside, asking, tag or [])
    folder = out or Path("runs") / f"reproduce-{paper.rpartition('/')[2].partition(':')[0]}"
    plan = planned(paper, models=model or [], data=data or [], out=folder, options=how)
    if not quiet:
        print_plan(plan)
    if not check:
        _carry_out(plan, how, quiet)


def _carry_out(plan: Reproduction, how: ReproduceOptions, quiet: bool) -> None:
    from evenhand.cli.summaries.progress import bars
    from evenhand.cli.summaries.reproduced import print_reproduction
    from evenhand.workflows.reproduce.engine import carried_out

    plan.folder.mkdir(parents=True, exist_ok=True)
    with bars(quiet) as show:
        result = carried_out(
            plan, how, say=None if quiet else lambda line: typer.echo(f"running  {line}", err=True),
            progress=show,
        )  # fmt: skip
    if not quiet:
        print_reproduction(result)
    if result.unfilled_tables:
        raise Incomplete(
            f"{len(result.unfilled_tables)} tables of the paper could not be filled: "
            f"{', '.join(result.unfilled_tables)}; what is missing: "
            f"evenhand reproduce {plan.recipe.paper} --check"
        )
