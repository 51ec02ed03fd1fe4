"""A paper's recipe from data check to artifacts, its numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.catalogue import ARTIFACTS, RECIPES
from evenhand.benchmarks.recipe import Recipe
from evenhand.benchmarks.sprites.presets import preset
from evenhand.core.errors import ParameterError, UserError
from evenhand.display.text.model_names import model_names
from evenhand.models.identity.source import ModelSource
from evenhand.models.resolve import resolve
from evenhand.workflows.debias.engine import debias
from evenhand.workflows.execution.collect import Progress
from evenhand.workflows.execution.options import AskOptions
from evenhand.workflows.outputs.artifact import MadeArtifact, artifact, write_artifact
from evenhand.workflows.reproduce.beside import Row, beside_paper, beside_table
from evenhand.workflows.reproduce.needs import DataState, Ready, data_folders, data_state, ready_steps
from evenhand.workflows.reproduce.sprite_models import SpriteClassifier, fixed_threads, save, train
from evenhand.workflows.run import run as run_benchmark

ARTIFACT_FOLDER, MODELS, COMPARISON = "artifacts", "models", "beside-the-paper.csv"
Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What a recipe will do, and after ``carried_out`` what it did."""

    recipe: Recipe
    data: Sequence[DataState]  # what of it is there
    steps: Sequence[Ready]  # what is run with which model, and what cannot be
    folder: Path
    filled: Mapping[str, Path] = field(default_factory=dict)  # artifacts that were drawn, each with its file
    unfilled: Mapping[str, str] = field(default_factory=dict)  # artifacts that were not, and why
    beside: pl.DataFrame = field(default_factory=lambda: beside_table([]))  # ours beside the paper's

    @property
    def unfilled_tables(self) -> list[str]:
        """Tables of the paper that could not be drawn."""
        return [name for name in self.unfilled if name.partition("/")[2].startswith("table")]


@dataclass(frozen=True)
class ReproduceOptions:
    """How a recipe is carried out."""

    limit: int | None = None  # ask about the first so many samples of each benchmark only
    seed: int = 0  # of samples, halves, resampling and training
    preset: str = "paper"  # how much the sprites models train: paper or quick
    labels: str | None = None  # what the filter of ``debias`` keeps
    utility: Path | None = None  # a run of ``classification`` that ``debias`` measures before and after
    paper_model: str = ""  # whose numbers stand beside; empty: all of them
    asking: AskOptions = field(default_factory=AskOptions)
    tags: Sequence[str] = ()  # of every run, such as parameters=7e8; 2:parameters=7e8: of the second model's


def planned(
    paper: str, *, models: Sequence[Any], data: Sequence[str], out: Path, options: ReproduceOptions
) -> Reproduction:
    """What a recipe will do with these models and data, before anything is asked.

    ``data`` are ``NAME=DIR``, or ``DIR`` where the recipe has one.
    """
    recipe: Recipe = RECIPES.get(paper)
    preset(options.preset)
    list(_tags_of(options.tags, ""))
    folders = data_folders(recipe, data)
    sources = [resolve(model, options.asking.load_options()) for model in models]
    states = [data_state(part, folders.get(part.name)) for part in recipe.data]
    return Reproduction(recipe, states, ready_steps(recipe, sources, folders), out)


def carried_out(
    plan: Reproduction, options: ReproduceOptions, *, say: Say | None = None, progress: Progress | None = None
) -> Reproduction:
    """Run every step that can be run, make every artifact, and set our numbers beside the paper's.

    What a model answered before is not asked again, and a trained model not trained again: the same call goes
    on where it was stopped.
    """
    work = _Work(plan, options, say or (lambda _: None), progress or (lambda *_: None))
    folders: dict[str, list[Path]] = {}
    steps: list[Ready] = []
    n_runnable, n_begun = sum(not ready.lacks for ready in plan.steps), 0
    for ready in plan.steps:
        try:
            if not ready.lacks:
                n_begun += 1
                folders.setdefault(ready.step.name, []).append(
                    work.run_step(ready, f"{n_begun} of {n_runnable}")
                )
            steps.append(ready)
        except UserError as problem:
            steps.append(replace(ready, lacks=str(problem)))
    filled, unfilled, rows = work.artifacts(folders)
    beside = beside_table(rows)
    beside.write_csv(plan.folder / COMPARISON)
    return Reproduction(plan.recipe, plan.data, steps, plan.folder, filled, unfilled, beside)


@dataclass(frozen=True, eq=False)
class _Work:
    plan: Reproduction
    options: ReproduceOptions
    say: Say
    progress: Progress

    @property
    def data(self) -> dict[str, Path]:
        """Folders of data by name."""
        return {state.name: state.folder for state in self.plan.data if state.folder is not None}

    def run_step(self, ready: Ready, turn: str) -> Path:
        """Carry out one step, said with its place among all; its run folder."""
        step, out = ready.step, self._folder(ready)
        who = f"a model that is trained here, {step.name}" if step.trains else _name(ready)
        self.say(f"{turn}: {step.benchmark or 'debias'} with {who}")
        if step.debiases:
            debias(
                self._folder(Ready(self._step(step.debiases), ready.model)), mode="paper", out=out,
                labels=self.options.labels, utility=self.options.utility, seed=self.options.seed,
                progress=self._shown("measuring mitigations"),
            )  # fmt: skip
            return out
        folders = {name: str(self.data[value]) for name, value in step.data_parameters.items()}
        sizes = {"preset": self.options.preset} if step.trains else {}
        parameters = {"mode": "paper", **step.parameters, **folders, **sizes}
        run_benchmark(
            step.benchmark, model=self._trained(ready) if step.trains else ready.model,
            data=self.data.get(step.data), parameters=parameters, limit=self.options.limit,
            seed=self.options.seed, options=self.options.asking, out=out, tags=self._tags(ready),
            progress=lambda name, n_done, total: self.progress(f"asking {name}", n_done, total),
        )  # fmt: skip
        return out

    def _shown(self, what: str) -> Callable[[int, int], None]:
        return partial(self.progress, what)

    def _tags(self, ready: Ready) -> dict[str, str]:
        """Tags of all models, then those of this one."""
        addresses = list(dict.fromkeys(step.model.uri for step in self.plan.steps if step.model is not None))
        number = str(addresses.index(ready.model.uri) + 1) if ready.model is not None else ""
        return {name: value for owner in ("", number) for name, value in _tags_of(self.options.tags, owner)}

    def _step(self, name: str) -> Any:
        return next(step for step in self.plan.recipe.steps if step.name == name)

    def _folder(self, ready: Ready) -> Path:
        return self.plan.folder / (
            ready.step.name if ready.model is None else f"{ready.step.name}--{self._short(ready.model)}"
        )

    def _short(self, model: ModelSource) -> str:
        """What a model's folders are called: no more of its address than tells it from the others."""
        addresses = list(
            dict.fromkeys(ready.model.uri for ready in self.plan.steps if ready.model is not None)
        )
        name = dict(zip(addresses, model_names(addresses), strict=True))[model.uri]
        return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name).strip("-.")

    def _trained(self, ready: Ready) -> SpriteClassifier:
        """The sprites model of a step, trained unless it was before."""
        settings, size = ready.step.trains, preset(self.options.preset)
        name = f"{ready.step.name}-{size.name}-{self.options.seed}.safetensors"
        path = self.plan.folder / MODELS / name
        if not path.is_file():
            with fixed_threads(size):
                network, record = train(
                    size,
                    seed=self.options.seed,
                    progress=self._shown(f"training {ready.step.name}"),
                    **settings,
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            save(network, record, path)
        return SpriteClassifier(path)

    def artifacts(
        self, folders: Mapping[str, Sequence[Path]]
    ) -> tuple[dict[str, Path], dict[str, str], list[Row]]:
        """Files of the artifacts that could be filled, reasons of the others, and the numbers beside."""
        recipe, filled, unfilled = self.plan.recipe, dict[str, Path](), dict[str, str]()
        rows: list[Row] = []
        self.say(f"{len(recipe.artifacts)} tables and figures")
        for name, steps in recipe.artifacts.items():
            runs = [folder for step in steps for folder in folders.get(step, ())]
            described = recipe.data_of.get(name) or tuple(part.name for part in recipe.data[:1])
            for data in described:
                several = f"-{data}" if len(described) > 1 else ""
                path = self.plan.folder / ARTIFACT_FOLDER / f"{name.replace('/', '-')}{several}.html"
                try:
                    drawn_artifact = self._artifact(name, runs, data)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    for suffix in (".csv", ".html"):
                        write_artifact(drawn_artifact, path.with_suffix(suffix))
                except UserError as problem:
                    unfilled[f"{name}{several}"] = str(problem)
                    continue
                filled[f"{name}{several}"] = path
                if name in recipe.compared:
                    of = (name, drawn_artifact.table, recipe.compared[name], self.options.paper_model)
                    rows += beside_paper(*of)
        return filled, unfilled, rows

    def _artifact(self, name: str, runs: Sequence[Path], data: str) -> MadeArtifact:
        recipe, declared = self.plan.recipe, ARTIFACTS.get(name)
        if recipe.artifacts[name] and not runs:
            raise UserError("no step that it is made from could be run")
        if declared.data and data not in self.data:
            raise UserError(f"there is no data {data!r}, which it describes")
        folder = self.data.get(data) if declared.data or len(recipe.data) == 1 else None
        parameters = dict(recipe.parameters.get(name, {}))
        return artifact(name, runs, data=folder, parameters=parameters, seed=self.options.seed)


def _tags_of(tags: Sequence[str], owner: str) -> Iterator[tuple[str, str]]:
    """Names and values of the tags of a model's place; of all models where it is empty."""
    for text in tags:
        name, sign, value = text.partition("=")
        model, colon, rest = name.partition(":")
        if not sign or not (rest if colon else name) or (colon and not model.isdigit()):
            raise ParameterError(f"--tag {text!r} is not possible; give NAME=VALUE, or 2:NAME=VALUE for the "
                                 "second --model")  # fmt: skip
        if (model if colon else "") == owner:
            yield (rest if colon else name), value


def _name(ready: Ready) -> str:
    return ready.model.uri if ready.model is not None else "no model"
