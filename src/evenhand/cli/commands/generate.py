"""``evenhand generate``: a definition in, a folder of images and their annotations out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.arguments import options
from evenhand.core.errors import Incomplete, ParameterError

if TYPE_CHECKING:
    from evenhand.workflows.generate.engine import Generated


def generate(
    definition: Annotated[
        str, typer.Argument(metavar="DEFINITION", help="A .yaml file or a shipped name; docs/generate.md.")
    ],
    model: options.Model,
    images_per_cell: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Of each class in each group; may grow later.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Default: the definition's.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, metavar="N", help="Denoising steps.")] = None,
    guidance: Annotated[float | None, typer.Option(metavar="X", help="How strongly prompts steer.")] = None,
    size: Annotated[int | None, typer.Option(min=8, metavar="N", help="Height and width, pixels.")] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Every Nth image from the Ith on; for N machines.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="The first N images only.")] = None,
    clip: Annotated[
        str | None, typer.Option(metavar="URI", help="Dual encoder that compares images with prompts.")
    ] = None,
    clip_below: Annotated[
        float | None, typer.Option(metavar="X", help="Flag CLIP scores (0 to 2.5) under X.")
    ] = None,
    faces: Annotated[bool, typer.Option("--faces", help="Count faces, with evenhand[faces].")] = False,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    batch_size: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Images at once; default 1; halved if need be.")
    ] = None,
    quiet: options.Quiet = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="The images.")] = None,
) -> None:
    """Make images of a definition's classes and groups; the same command again goes on."""
    from evenhand.cli.summaries.generated import print_generated
    from evenhand.cli.summaries.progress import bars
    from evenhand.workflows.execution.options import AskOptions
    from evenhand.workflows.generate.engine import ReviewRule
    from evenhand.workflows.generate.engine import generate as generate_images

    if out is None:
        raise ParameterError("generate writes images, and needs to know where; add -o DIR")
    load = AskOptions(device=device, dtype=dtype).image_options(steps=steps, guidance=guidance, size=size)
    with bars(quiet) as show:
        generated = generate_images(
            definition, model, out, images_per_cell=images_per_cell, seed=seed, limit=limit,
            batch_size=batch_size, shard=parse_shard(shard), options=load,
            gate=ReviewRule(clip=clip, below=clip_below, faces=faces), progress=show,
        )  # fmt: skip
    if not quiet:
        print_generated(generated)
    _check_complete(generated, sharded=shard is not None)


def parse_shard(text: str | None) -> tuple[int, int]:
    """``I/N`` as two numbers; None is all."""
    if text is None:
        return (1, 1)
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
    if match is None:
        raise ParameterError(f"--shard {text!r} is not possible; give I/N such as 1/4 to 4/4")
    return (int(match[1]), int(match[2]))


def _check_complete(generated: Generated, *, sharded: bool) -> None:
    """Exit 3 while images are missing that may still come."""
    if not generated.missing:
        return
    why = ", ".join(f"{reason} ({count})" for reason, count in generated.failed.items())
    others = "the other shards, or the same command again" if sharded else "the same command again"
    raise Incomplete(
        f"{generated.missing:,} of {generated.wanted:,} images are missing{f': {why}' if why else ''}; "
        f"what was made is kept; {others} makes the rest"
    )
