"""The options of ``evenhand generate``; what it needs is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments import options


def generate(  # noqa: PLR0917 - typer makes options of them
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
    dtype: options.Dtype = "float32",
    batch_size: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Images at once; default 1; halved if need be.")
    ] = None,
    quiet: options.Quiet = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="The images.")] = None,
) -> None:
    """Make images of a definition's classes and groups; the same command again goes on."""
    from evenhand.cli.commands.generate import generate_images

    generate_images(
        definition,
        model,
        out=out,
        numbers={
            "images_per_cell": images_per_cell,
            "seed": seed,
            "limit": limit,
            "batch_size": batch_size,
        },
        images={"steps": steps, "guidance": guidance, "size": size},
        shard=shard,
        options={"device": device, "dtype": dtype},
        gate={"clip": clip, "below": clip_below, "faces": faces},
        quiet=quiet,
    )
