"""Options of commands, with their help; each is said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments.plain import VARIABLE
from evenhand.display.text.language import VARIABLE as LANGUAGE
from evenhand.display.text.language import reports_in


def _write_reports_in(context: typer.Context, language: str | None) -> str | None:
    if language is not None:
        context.with_resource(reports_in(language))
    return language


def _allow_edited(context: typer.Context, allowed: bool) -> bool:
    if allowed:
        from evenhand.runs.run_folder import edited_allowed

        context.with_resource(edited_allowed())
    return allowed


Table = Annotated[
    str, typer.Argument(metavar="TABLE", help="CSV, TSV, Parquet, JSONL, Arrow; glob; URL; runs.")
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="TABLE is a log: lm-eval[:FILTER], inspect[:SCORER], coco:ANNOTATIONS.",
    ),
]
Groups = Annotated[
    str | None, typer.Option(metavar="TABLE", help="Table with attributes of the rows; needs --on.")
]
On = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of both tables, or COL=COL of the groups.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random stream.")]
Gates = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="GATE",
        help='Exit 4 if it holds: "name[@by] OP number", "name.low[@by] OP number", '
        '"name[@by] beyond chance"; of compare "name[@by] got worse".',
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress and no summary.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="All tables below the first lines.")]
Ascii = Annotated[
    bool, typer.Option("--ascii", envvar=VARIABLE, help="Plain signs on the terminal: no ● ░ ─ ·.")
]
Language = Annotated[
    str | None,
    typer.Option(
        metavar="CODE",
        envvar=LANGUAGE,
        callback=_write_reports_in,
        help="Language of reports: en or de; all else stays English.",
    ),
]
"""The callback sees to it; commands need not look at it."""
AllowEdited = Annotated[
    bool,
    typer.Option(
        "--allow-edited",
        callback=_allow_edited,
        help="Go on where a file of a run folder is not as the run wrote it.",
    ),
]
"""The callback sees to it; commands need not look at it."""
Out = Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="Write a run folder here.")]
Model = Annotated[
    str, typer.Option(metavar="URI", help="hf:..., timm:..., onnx:FILE, FILE.py:object; docs/models.md")
]
Data = Annotated[Path | None, typer.Option(metavar="PATH", help="The benchmark's data, where it needs any.")]
Evidence = Annotated[
    list[Path],
    typer.Option(metavar="PATH", help="Scores: tables or files of the original code; may be repeated."),
]
Image = Annotated[str | None, typer.Option(metavar="COL", help="Column of images; as -p image=COL.")]
Truth = Annotated[str | None, typer.Option(metavar="COL", help="Column of true labels; as -p truth=COL.")]
Value = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of numbers to compare in place of labels.")
]
Better = Annotated[str | None, typer.Option(help="Which numbers are good: high or low.")]
Range = Annotated[str | None, typer.Option(metavar="A,B", help="Least and largest possible number: 0,1.")]
Unit = Annotated[str, typer.Option(metavar="TEXT", help="What the numbers count: years.")]
Search = Annotated[
    str | None, typer.Option(metavar="A,B,C", help="Search combinations of these for more mistakes.")
]
Cluster = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of persons, households ... sampled as a whole.")
]
ClusterWeights = Annotated[str, typer.Option(help="rows, or equal: each cluster counts once.")]
Weight = Annotated[str | None, typer.Option(metavar="COL", help="Column of weights of the rows.")]
By = Annotated[list[str] | None, typer.Option(metavar="COL", help="Attribute; A+B crosses; may be repeated.")]
Map = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE|OLD=NEW", help="Rename labels: CSV with columns old,new; may be repeated."),
]
Normalize = Annotated[
    bool, typer.Option("--normalize", help="Merge labels that differ in case, space, Unicode form, 1 or 1.0.")
]
MissingTexts = Annotated[
    list[str] | None, typer.Option("--missing", metavar="TEXT", help="A missing value; may be repeated.")
]
Bins = Annotated[
    list[str] | None,
    typer.Option("--bins", metavar="COL=18,40,65", help="Cut numbers into groups; or age=quantiles:4."),
]
Noun = Annotated[
    str | None, typer.Option("--noun", metavar="TEXT", help="What sentences call the rows: tickets.")
]
Parameters = Annotated[
    list[str] | None, typer.Option("-p", metavar="KEY=VALUE", help="Parameter of the benchmark.")
]
Mode = Annotated[str, typer.Option(help="default, or paper: the paper's settings and rounding, whole.")]
BenchmarkMode = Annotated[
    str | None,
    typer.Option(help="default, or paper: the paper's settings and rounding, whole; as -p mode=paper."),
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="KEY=VALUE", help="Tag of the run.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Ask about the first N samples only.")]
Mitigation = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Change the embeddings before measuring; of evenhand debias."),
]
Device = Annotated[str, typer.Option(help="auto, cuda, cuda:1, mps or cpu.")]
Dtype = Annotated[
    str, typer.Option(help="auto (float32 on the CPU, else the checkpoint's), float32, bfloat16, float16.")
]
DeviceMap = Annotated[
    str | None, typer.Option(metavar="auto", help="auto: spread a model of hf: over all devices and memory.")
]
Quantize = Annotated[
    int | None, typer.Option(metavar="8|4", help="Bits of each weight of a model of hf:; evenhand[large].")
]
BatchSize = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Default: by question; halved when out of memory.")
]
Workers = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Threads that read images; processes with ray.")
]
Engine = Annotated[str, typer.Option(help="local or ray.")]
RayAddress = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Of a Ray cluster; default: this machine.")
]
KeepAnswers = Annotated[
    bool, typer.Option("--keep-answers/--forget-answers", help="Reuse and keep the model's answers.")
]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Go on if more than 5 % of the samples have no image file.")
]
MaxTokens = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Tokens of an answer in words, thought included.")
]
TrustRemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Let the model's repository run its own code.")
]
