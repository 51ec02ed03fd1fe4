"""What a recipe can run with the models and data that are there, and how to get the rest."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evenhand.benchmarks.datasets.download_source import DATA, DataSource, default_folder
from evenhand.benchmarks.recipe import Recipe, RecipeData, Step
from evenhand.core.errors import (
    InputError,
    MissingExtra,
    ParameterError,
    UserError,
    check_known,
    first_few,
    require_extra,
)
from evenhand.files.download.downloads import files_by_id
from evenhand.models.catalogue import require_library
from evenhand.models.identity.source import ModelSource
from evenhand.workflows.debias.engine import PROBES


@dataclass(frozen=True)
class DataState:
    """Data of a recipe, and what of it lies in a folder."""

    name: str  # as in --data NAME=DIR
    folder: Path | None  # None: nowhere
    here: str  # what is there, in words
    missing: str = ""  # what is not; empty: nothing
    get: str = ""  # what to type, or where to get it; empty: nothing to do


@dataclass(frozen=True)
class Ready:
    """A step that can be run, or why it cannot."""

    step: Step
    model: ModelSource | None  # who is asked; None: nobody, or nobody can be
    lacks: str = ""  # what is missing; empty: it can be run
    get: str = ""  # what to type instead


def data_folders(recipe: Recipe, data: Sequence[str]) -> dict[str, Path]:
    """Folders of a recipe's data by name: as given, else where ``evenhand data`` keeps it, if that exists.

    ``data`` are ``NAME=DIR``; ``DIR`` alone where there is one name.
    """
    names = [part.name for part in recipe.data]
    usual = {part.name: default_folder(part.source) for part in recipe.data if part.source}
    folders = {name: folder for name, folder in usual.items() if folder.exists()}
    for text in data:
        name, sign, folder_text = text.partition("=")
        if not sign or (len(names) == 1 and name not in names):
            name, folder_text = names[0], text
            if len(names) > 1:
                raise ParameterError(f"--data {text!r} needs a name; write {names[0]}={text}, or another of: "
                                     f"{', '.join(names)}")  # fmt: skip
        check_known(f"data of {recipe.paper}", name, names)
        folders[name] = Path(folder_text).expanduser()
        if not folders[name].exists():
            raise InputError(
                f"--data {text!r}: there is nothing at {folder_text!r}; give a folder that exists"
            )
    return folders


def data_state(part: RecipeData, folder: Path | None) -> DataState:
    """What of some data lies in its folder; nothing is asked of the network."""
    source: DataSource | None = DATA.get(part.source) if part.source else None
    get = _how(part, source, folder)
    if folder is None:
        return DataState(part.name, None, "not there", "all of it", get)
    if source is None:
        return DataState(part.name, folder, "yours, taken as it is")
    try:
        here, missing = _contents(source, folder)
    except UserError as problem:
        return DataState(part.name, folder, "not as released", str(problem), get)
    return DataState(part.name, folder, here, missing, get if missing else "")


def _contents(source: DataSource, folder: Path) -> tuple[str, str]:
    """What of some data is in a folder, and what is not, in words.

    "As released" is said of all of it or not at all: images may be whole beside a list that is not.
    """
    if source.parts is not None:
        parts = source.parts(folder)
        judged = [part for part in parts if part.judged]
        lacking = [part.name for part in judged if not part.whole]
        listed = first_few(lacking, 4)
        other = [
            f"{part.name} {part.present:,} of {part.expected:,}"
            for part in parts
            if not part.judged and part.expected is not None and part.present != part.expected
        ]
        here = f"{len(judged) - len(lacking)} of {len(judged)} parts"
        if other:  # a user's own part of the data, or a later release
            others = first_few(other, 3, " and {} more")
            return f"{here} usable, other numbers than the paper's: {others}", listed
        return f"{here} {'whole' if lacking else 'as released'}", listed
    ids = [link.id for link in source.links(folder)]
    below = (folder, *(folder / name for name in source.image_folders))
    files = {image_id for subfolder in below if subfolder.is_dir() for image_id in files_by_id(subfolder)}
    n_here = len(files & set(ids))
    return f"{n_here} of {len(ids)} images", f"{len(ids) - n_here} images" if n_here < len(ids) else ""


def _how(part: RecipeData, source: DataSource | None, folder: Path | None) -> str:
    if source is None:
        return f"type: {part.get}, then --data {part.name}=DIR" if part.get else ""
    where = f" --data {shlex.quote(str(folder))}" if folder is not None else ""
    if source.files:
        hand = f"; {source.by_hand}" if source.by_hand else ""
        return f"type: evenhand data fetch {part.source}{where}{hand}"
    return f"{source.by_hand}; then type: evenhand data check {part.source} --data DIR"


def ready_steps(recipe: Recipe, models: Sequence[ModelSource], folders: Mapping[str, Path]) -> list[Ready]:
    """Every step with each model that can be asked; one that no model or no data is there for says so."""
    steps: list[Ready] = []
    for step in recipe.steps:
        if step.debiases:
            steps += map(_with_libraries, _debiased(step, steps))
            continue
        absent = [
            name for name in (step.data, *step.data_parameters.values()) if name and name not in folders
        ]
        if absent:
            steps.append(Ready(step, None, f"there is no data {absent[0]!r}"))
        elif step.trains:
            steps.append(_with_libraries(Ready(step, None)))
        else:
            steps += map(_with_libraries, _steps_with_models(step, models))
    return steps


def _with_libraries(ready: Ready) -> Ready:
    """The step as it is, unless a library that it needs is not installed."""
    try:
        if ready.model is not None:
            require_library(ready.model.uri)
        if ready.step.debiases:
            require_extra(*PROBES)
        if ready.step.trains:
            require_extra("torch", "torch", "torch")
    except MissingExtra as problem:
        return replace(ready, lacks=str(problem))
    return ready


def _steps_with_models(step: Step, models: Sequence[ModelSource]) -> list[Ready]:
    able = [
        model for model in models if any(set(way) <= set(model.capabilities()) for way in step.ways)
    ]  # fmt: skip
    if able:
        return [Ready(step, model) for model in able]
    needed = " or ".join(" with ".join(way) for way in step.ways)
    return [Ready(step, None, f"no model given has {needed}", f"add --model {step.suggestion}")]


def _debiased(step: Step, before: Sequence[Ready]) -> list[Ready]:
    """Every run of the step that is debiased, where its model embeds images and texts."""
    runs = [ready for ready in before if ready.step.name == step.debiases]
    able = [
        Ready(step, ready.model)
        for ready in runs
        if ready.model is not None
        and not ready.lacks
        and {"embeds_images", "embeds_texts"} <= set(ready.model.capabilities())
    ]
    lacks = next((ready.lacks for ready in runs if ready.lacks), "no model given embeds images and texts")
    get = next((ready.get for ready in runs if ready.get), "")
    return able or [Ready(step, None, lacks, get)]
