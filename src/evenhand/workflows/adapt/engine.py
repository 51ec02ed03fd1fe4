"""From a feature extractor and labelled images to a new model: ``adapted:FOLDER``."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.benchmarks.benchmark import Plan
from evenhand.benchmarks.labelling.elicitation import Labels
from evenhand.benchmarks.labelling.taxonomies import NO_HYPONYMS
from evenhand.core.errors import InputError, ParameterError, UserError
from evenhand.core.requests import Question
from evenhand.evidence.derivation.from_vectors import prototypes
from evenhand.files.atomic import atomic_folder, check_replaceable
from evenhand.files.tables.write import telling_where, write_table
from evenhand.models.adapted.folder import (
    ENTRIES,
    HEAD,
    HISTORY,
    MARKERS,
    NETWORK,
    Head,
    hash_of_hashes,
    read_card,
    write_card,
    write_hashes,
)
from evenhand.models.identity.source import ModelSource
from evenhand.models.resolve import require, resolve
from evenhand.models.trainable import Trainable, open_trainable
from evenhand.models.weights.device import import_torch
from evenhand.workflows.adapt.evaluation_images import read_evaluation
from evenhand.workflows.adapt.fine_tuning import FineTuning
from evenhand.workflows.adapt.head_classes import ClassSelection, HeadClass, prompts
from evenhand.workflows.adapt.heads import Vectors, fit_probe, read_vectors
from evenhand.workflows.adapt.recipes import FINE_TUNING, METHODS, PROBE, ZERO_SHOT, read_recipe
from evenhand.workflows.adapt.stable_uris import lasting_uri
from evenhand.workflows.adapt.training_images import TrainingImages, read_training, readable_rows
from evenhand.workflows.execution.collect import CollectedEvidence, Progress, ask_all
from evenhand.workflows.execution.leakage import refuse_evaluation_images
from evenhand.workflows.execution.options import AskOptions
from evenhand.workflows.execution.reused_answers import reuse_notes

CANNOT_PROMISE = (
    "that what it does on its training classes says anything about images of other kinds: a head names one "
    "of its classes for every image",
    "a fair comparison with a model that was adapted by another recipe, to other classes or on other images",
)


@dataclass(frozen=True, eq=False)
class Adapted:
    """A model that was adapted."""

    folder: Path
    card: Mapping[str, Any]  # method, recipe, classes, images, how well it fits
    asked: int = 0  # images that the extractor had to be asked about; the others' vectors were known
    notes: Sequence[str] = ()

    @property
    def uri(self) -> str:
        """What to give as ``--model``."""
        return f"adapted:{self.folder}"


@dataclass(frozen=True, eq=False)
class _Fitted:
    """What is written: a head or a network, and what the card says of it."""

    facts: dict[str, Any]
    head: Head | None = None
    network: Trainable | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    seen: Sequence[str] = ()
    images: Sequence[int] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    training: TrainingImages | None = None  # those that could be read


def adapt(
    model: str,
    *,
    train: str | Path | None = None,
    out: str | Path,
    method: str = PROBE,
    classes: str | None = None,
    image: str | None = None,
    truth: str | None = None,
    parameters: Mapping[str, str] | None = None,
    evaluation: Sequence[str | Path] = (),
    seeds: int = 1,
    seed: int = 0,
    options: AskOptions | None = None,
    progress: Progress | None = None,
) -> list[Adapted]:
    """Give a model a head for classes of the user's, or train it as a whole.

    ``probe`` fits a multinomial logistic regression on frozen vectors, which are asked for as any question
    and kept: a second adaptation asks nothing. ``fine_tuning`` trains all weights of an ``hf:`` or ``timm:``
    model. ``zero_shot`` makes a head of the classes' prompts, for models that embed texts, and needs no
    images.

    Args:
        model: Its URI.
        train: Labelled images: a table, a folder for each class, or any other form that ``classification``
            reads, or a copy of ImageNet-21k with a folder or a tar for each class.
        out: Folder of the new model; of several seeds, of one folder for each.
        method: ``probe``, ``fine_tuning`` or ``zero_shot``.
        classes: Which classes to take: a taxonomy, or a file; default: all.
        image: Column of the images.
        truth: Column of the labels.
        parameters: The method's own, as text.
        evaluation: Images that the model will be measured on; to fit on one of them is refused.
        seeds: How many models, with the seeds ``seed``, ``seed + 1``, ...
        seed: Of the validation images, and of training.
        options: Device, precision, batch size, workers.
        progress: Called with a name, rows done, and rows in all.

    Returns:
        The models, one a seed.

    Raises:
        UserError: A model, parameter, class or folder that cannot be used, or images that are also measured
            on.
        MissingExtra: accelerate is not installed, for fine-tuning.
    """
    if seeds < 1:
        raise ParameterError(f"--seeds {seeds} is not possible; give 1 or more")
    how, log = options or AskOptions(), progress or (lambda *_: None)
    recipe = read_recipe(method, parameters or {})
    source = _source(model, method, how)
    targets = _targets(Path(out).expanduser(), seeds, seed)
    selection = None if classes is None else ClassSelection.read(classes, str(recipe["hyponyms"]))
    training = _training(train, method, image, truth, selection, recipe)
    if training is not None:
        _refuse_images_of(evaluation, training)
    work = _SharedTraining(source, model, method, recipe, training, selection, how, log)
    return [work.adapted(target, seed + number) for number, target in enumerate(targets)]


def _source(model: Any, method: str, options: AskOptions) -> ModelSource:
    if not isinstance(model, str):
        raise UserError(
            f"a {type(model).__name__} cannot be loaded again by what is written here; give a model URI, "
            "such as file.py:object"
        )
    source = resolve(model, options.load_options())
    if "shared with" in source.identity():
        raise UserError(
            f"{model!r} cannot be distinguished from other models; give its class version = '1' or identity()"
        )
    for capability in METHODS[method].needs:
        require(source, capability)
    return source


def _targets(out: Path, seeds: int, seed: int) -> list[Path]:
    """Where each model goes; refused before the work rather than after it."""
    targets = [out] if seeds == 1 else [out / f"seed-{seed + number}" for number in range(seeds)]
    if seeds > 1 and (out / MARKERS[0]).exists():
        raise InputError(
            f"{str(out)!r} holds one adapted model; give another folder with -o for several seeds"
        )
    for target in targets:
        check_replaceable(target, entries=ENTRIES, markers=MARKERS)
    return targets


def _training(
    train: str | Path | None,
    method: str,
    image: str | None,
    truth: str | None,
    selection: ClassSelection | None,
    recipe: Mapping[str, Any],
) -> TrainingImages | None:
    if train is None:
        if method != ZERO_SHOT:
            raise ParameterError(f"--method {method} learns from images; give --train IMAGES")
        if selection is None:
            raise ParameterError("--method zero_shot needs to know the classes; give --classes or --train")
        if selection.hyponyms != NO_HYPONYMS:
            raise ParameterError(
                f"-p hyponyms={selection.hyponyms!r} picks classes from those of the training images, and "
                "there are none; add --train IMAGES, or leave it out"
            )
        return None
    training = read_training(
        train, image=image, truth=truth, selection=selection, per_class=int(recipe.get("per_class", 0))
    )
    if method != ZERO_SHOT and recipe["validation"] and not len(training.halves(recipe["validation"], 0)[1]):
        raise ParameterError(
            f"{len(training)} images of {len(training.classes)} classes leave none for validation; give more "
            "images, a larger -p validation, or none: -p validation=0 (with -p l2=0.001 for a probe)"
        )
    return training


def _refuse_images_of(evaluation: Sequence[str | Path], training: TrainingImages) -> None:
    """Refuse training images that the model will be measured on."""
    for path in evaluation:
        refuse_evaluation_images(training.samples, training.digests, read_evaluation(path), str(path))


@dataclass(eq=False)
class _SharedTraining:
    """Everything that the seeds share."""

    source: ModelSource
    uri: str
    method: str
    recipe: Mapping[str, Any]
    training: TrainingImages | None
    selection: ClassSelection | None
    options: AskOptions
    progress: Progress
    n_asked: int = 0
    notes: Sequence[str] = ()
    unreadable: list[str] = field(default_factory=list)
    _read: TrainingImages | None = None

    def adapted(self, target: Path, seed: int) -> Adapted:
        """The model of one seed, in its folder."""
        with atomic_folder(target, entries=ENTRIES, markers=MARKERS) as folder, telling_where(target):
            self.write(folder, seed)
        return Adapted(target, read_card(target), self.n_asked, self.notes)

    def write(self, folder: Path, seed: int) -> None:
        """Fit with a seed and write the folder."""
        with tempfile.TemporaryDirectory(prefix="work-", dir=folder) as room:
            fitted = _FITS[self.method](self, seed, Path(room))
        if fitted.head is not None:
            fitted.head.save(folder / HEAD)
        if fitted.network is not None:
            fitted.network.save(folder / NETWORK)
        if fitted.history:
            write_table(pl.DataFrame(fitted.history, infer_schema_length=None), folder / HISTORY)
        write_hashes(folder, fitted.seen)
        write_card(folder, self._card(fitted, seed))

    def classes(self) -> list[HeadClass]:
        """What the head's outputs stand for."""
        if self.training is not None:
            return self.training.classes
        return self.selection.classes() if self.selection is not None else []

    def _card(self, fitted: _Fitted, seed: int) -> dict[str, Any]:
        training = fitted.training or self.training
        classes = training.classes if training is not None else self.classes()
        counts = fitted.images or [0] * len(classes)
        dropped = {**(training.dropped if training else {}), **fitted.dropped}
        return {
            "evenhand": version("evenhand"),
            "method": self.method,
            "seed": seed,
            "extractor": {"uri": lasting_uri(self.uri), "identity": dict(self.source.identity())},
            "recipe": dict(self.recipe),
            "classes": [
                head_class.described(int(count)) for head_class, count in zip(classes, counts, strict=True)
            ],
            "not_found": list(training.not_found if training else ()),
            "training": {"images": len(set(fitted.seen)), "sha256": hash_of_hashes(fitted.seen)},
            "dropped": [{"reason": reason, "count": count} for reason, count in sorted(dropped.items())],
            "fit": fitted.facts,
            "cannot_promise": list(CANNOT_PROMISE),
        }

    def readable(self) -> TrainingImages:
        """The training images that can be decoded, checked once for all seeds; the others are counted."""
        assert self.training is not None  # noqa: S101 - checked before
        if self._read is None:
            rows, reasons = readable_rows(self.training, self.options.n_workers(), self.progress)
            self._read, self.unreadable = self.training.only(rows), reasons
        return self._read

    def ask(self, plan: Plan[Any], room: Path) -> CollectedEvidence:
        """Ask the extractor, as any benchmark does."""
        lenient = replace(self.options, allow_missing=True)  # what cannot be read is counted by the fit
        answers = ask_all(plan, self.source, room, lenient, self.progress)
        if not (self.n_asked or self.notes):  # later seeds reuse what the first one asked for
            self.notes = reuse_notes(answers.account)
        self.n_asked += sum(int(question["asked"]) for question in answers.account["questions"])
        return answers


def _probe(work: _SharedTraining, seed: int, room: Path) -> _Fitted:
    training = work.training
    assert training is not None  # noqa: S101 - checked before
    ids = [str(row) for row in range(len(training))]
    question = Question("images", "embeds_images", ids, training.images)
    plan = Plan[None](pl.DataFrame({"sample": ids}), [question])
    answers = work.ask(plan, room)
    values, rows = read_vectors(answers.folder / question.name, room / "vectors.npy", len(training))
    order = np.argsort(rows)
    read = training.only(rows[order])
    fit, validation = (order[half] for half in read.halves(work.recipe["validation"], seed))
    codes = np.zeros(len(rows), dtype=np.int64)
    codes[order] = read.codes
    unit = work.recipe["vectors"] == "unit"
    probe = fit_probe(
        Vectors(values, codes, len(read.classes), fit, validation, unit), work.recipe, _device(work)
    )
    reasons = answers.unanswered["reason"].value_counts(sort=True).iter_rows()
    return _Fitted(
        probe.facts,
        head=probe.head,
        history=probe.history,
        seen=[training.digests[row] for row in rows.tolist()],
        images=read.per_class().tolist(),
        dropped=dict(reasons),
        training=read,
    )


def _device(work: _SharedTraining) -> str:
    """Where a probe is fitted: on the processor, unless torch has an accelerator here."""
    if work.options.device == "cpu":
        return "cpu"
    from importlib.util import find_spec

    if find_spec("torch") is None:
        return "cpu"
    from evenhand.models.weights.device import choose_device

    return str(choose_device(work.options.load_options()))


def _fine_tuned(work: _SharedTraining, seed: int, room: Path) -> _Fitted:
    del room
    read = work.readable()
    options = work.options.load_options()
    torch = import_torch()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # the new head starts at random
        trainable = open_trainable(work.uri, options, [head_class.label for head_class in read.classes])
    halves = read.halves(work.recipe["validation"], seed)
    workers = work.options.n_workers()
    tuning = FineTuning(trainable, read, halves, work.recipe, seed, options, work.progress, workers)
    facts = tuning.run() | {"new_weights": sorted(trainable.fresh)}
    rows = [row for row in range(len(read)) if row not in tuning.unreadable]
    return _Fitted(
        facts,
        network=trainable,
        history=tuning.history,
        seen=[read.digests[row] for row in rows],
        images=np.bincount(read.codes[rows], minlength=len(read.classes)).tolist(),
        dropped=Counter([*work.unreadable, *tuning.unreadable.values()]),
        training=read,
    )


def _zero_shot(work: _SharedTraining, seed: int, room: Path) -> _Fitted:
    del seed
    classes = work.classes()
    templates = [part.strip() for part in str(work.recipe["templates"]).split("|")]
    for template in templates:
        if "{label}" not in template:
            raise ParameterError(
                f"-p templates={template!r} has no {{label}}; write for instance 'a photo of a {{label}}'"
            )
    Labels(tuple(head_class.label for head_class in classes), tuple(prompts(classes))).check("zero_shot")
    texts = [template.replace("{label}", head_class.text) for head_class in classes for template in templates]
    different = list(dict.fromkeys(texts))
    plan = Plan[None](
        pl.DataFrame({"sample": different}), [Question("texts", "embeds_texts", different, texts=different)]
    )
    answers = work.ask(plan, room)
    by_text = dict(answers.tables(plan)["texts"].select("sample", "vector").collect().iter_rows())
    lacking = [text for text in different if text not in by_text]
    if lacking:
        raise UserError(f"the model has no vector for the text {lacking[0]!r}; give other -p templates")
    nearest = prototypes(np.array([by_text[text] for text in texts]), len(templates))
    scale = float(answers.facts.get("logit_scale", 1.0))
    offset = float(answers.facts.get("logit_bias", 0.0))
    head = Head(
        (scale * nearest).astype(np.float32),
        np.full(len(classes), offset, dtype=np.float32),
        np.zeros(nearest.shape[1], dtype=np.float32),
        unit=True,
    )
    facts = {"logit_scale": scale, "logit_bias": offset, "texts": len(different)}
    return _Fitted(facts, head=head)


_FITS = {PROBE: _probe, FINE_TUNING: _fine_tuned, ZERO_SHOT: _zero_shot}
