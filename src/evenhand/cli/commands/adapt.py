"""``evenhand adapt``: an extractor and labelled images in, a new model out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments import options
from evenhand.core.errors import ParameterError


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
    dtype: options.Dtype = "auto",
    batch_size: options.BatchSize = None,
    workers: options.Workers = None,
    keep_answers: options.KeepAnswers = True,
    trust_remote_code: options.TrustRemoteCode = False,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="The new model.")] = None,
) -> None:
    """Give a feature extractor a head for your classes, or train it as a whole: adapted:DIR."""
    from evenhand.cli.arguments.pairs import parse_pairs
    from evenhand.cli.summaries.adapted import print_adapted
    from evenhand.cli.summaries.progress import bars
    from evenhand.workflows.adapt.engine import adapt as adapt_model
    from evenhand.workflows.execution.options import AskOptions

    if out is None:
        raise ParameterError(
            "adapt writes a model, and needs to know where; add -o DIR, for instance -o models/adapted"
        )
    asking = AskOptions(
        device=device, dtype=dtype, batch_size=batch_size, workers=workers, keep_answers=keep_answers,
        trust_remote_code=trust_remote_code,
    )  # fmt: skip
    with bars(quiet) as show:
        adaptations = adapt_model(
            model, train=train, out=out, method=method, classes=classes, image=image, truth=truth,
            parameters=parse_pairs("-p", parameters or []), evaluation=evaluation or [], seeds=seeds,
            seed=seed, options=asking, progress=show,
        )  # fmt: skip
    for line in adaptations[0].notes:
        print(line, file=sys.stderr)
    if not quiet:
        print_adapted(adaptations)
