"""Folders in the layouts that the benchmarks under skewsize read; images hold their numbers."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import evenhand as eh
from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.workflows.execution.options import AskOptions
from tests.benchmarks.indicator_models import numbered_image

STUDY = """
name: tiny
class_axis: occupation
attribute: gender
classes: [nurse, waiter, {name: lawyer, text: lawyer}]
groups: [{name: female, text: female}, {name: male, text: male}]
templates: ["A {group} {class}"]
images_per_cell: 10
people: true
question: "What is this person's occupation?"
"""


def generated(folder: Path, per_cell: int = 10, definition: str = STUDY, **columns: list) -> pl.DataFrame:
    """A folder as ``evenhand generate`` writes it; images are numbered by their row."""
    made = GenerationDefinition.parse(definition.encode()).changed(images_per_cell=per_cell)
    prompts = made.prompts()
    table = prompts.rename({"class": "truth", "group": made.attribute}).with_columns(
        image=pl.format("images/{}.png", "sample"),
        model=pl.lit("diffusers:tiny"),
        flagged_by_model=pl.lit(None, pl.Boolean),
        flags=pl.Series([[]] * len(prompts), dtype=pl.List(pl.String)),
    )
    table = table.with_columns(pl.Series(name, values) for name, values in columns.items())
    for number, place in enumerate(table["image"].to_list()):
        numbered_image(folder / place, number)
    (folder / "definition.yaml").write_bytes(made.dump())
    table.write_parquet(folder / "annotations.parquet")
    return table


def cells(folder: Path, names: dict[str, int], ending: str = "png") -> list[str]:
    """So many numbered images in each folder such as ``nurse/female``; their paths, by number."""
    places = [f"{name}/{index}.{ending}" for name, count in names.items() for index in range(count)]
    for number, place in enumerate(places):
        numbered_image(folder / place, number)
    return places


def domainnet(
    folder: Path, domains: dict[str, int], classes: tuple[str, ...], split: str = "test"
) -> list[str]:
    """Lists and images of DomainNet, so many of each class in each domain; paths by number."""
    places = []
    for domain, count in domains.items():
        lines = []
        for code, name in enumerate(classes):
            for index in range(count):
                place = f"{domain}/{name}/{domain}_{code:03}_{split}_{index:06}.png"
                numbered_image(folder / place, len(places))
                places.append(place)
                lines.append(f"{place} {code}\n")
        (folder / f"{domain}_{split}.txt").write_text("".join(lines))
    return places


def waterbirds(folder: Path, rows: list[tuple[int, str, int, int, int]]) -> None:
    """``metadata.csv`` of (img_id, img_filename, y, split, place) and an image for each row."""
    header = "img_id,img_filename,y,split,place,place_filename"
    lines = [
        f"{i},{name},{y},{split},{place},/b/bamboo_forest/00001.jpg" for i, name, y, split, place in rows
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metadata.csv").write_text("\n".join([header, *lines]) + "\n")
    for number, (_, name, *_rest) in enumerate(rows):
        numbered_image(folder / name, number)


def celeba(folder: Path, rows: list[tuple[str, int, int, int]], partition: list[tuple[str, int]]) -> None:
    """The tables of CelebA of (image_id, Blond_Hair, Male, Young), the splits, and an image for each row."""
    lines = [",".join(map(str, row)) for row in rows]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "list_attr_celeba.csv").write_text("\n".join(["image_id,Blond_Hair,Male,Young", *lines]) + "\n")
    splits = [f"{name},{split}" for name, split in partition]
    (folder / "list_eval_partition.csv").write_text("\n".join(["image_id,partition", *splits]) + "\n")
    for number, (name, *_rest) in enumerate(rows):
        numbered_image(folder / "img_align_celeba" / name, number)


def ask(
    benchmark: str, model: object, data: Path, limit: int | None = None, out: Path | None = None, **given: str
):
    """A run; no two of its findings are called the same."""
    few = AskOptions(allow_missing=True)  # of a dozen rows, one without its image is more than 5 %
    run = eh.run(
        f"skewsize/{benchmark}", model=model, data=data, parameters=given, limit=limit, options=few, out=out
    )
    keys = [(one.name, tuple(one.by), str(sorted(one.params.items()))) for one in run.findings.findings]
    printed = [one.metric for one in run.findings.findings]
    assert len(set(keys)) == len(keys)
    assert len(set(printed)) == len(printed)
    return run


def dropped(run, name: str = "accuracy") -> dict[str, int]:
    """What a finding says was left out, by reason."""
    finding = next(one for one in run.findings.findings if one.name == name)
    return {one.reason: int(one.count) for one in finding.dropped}
