"""Utility beside association: the same measures on the same held-out items, before and after a mitigation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import InputError
from evenhand.core.random_streams import lot
from evenhand.evidence.derivation.from_vectors import normalised, prototypes
from evenhand.mitigate import utility
from evenhand.mitigate.maps import in_range
from evenhand.mitigate.mitigation import Mitigation
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.arrays import Floats, Integers
from evenhand.workflows.debias.items import AssociationItems, SourceRun, Test
from evenhand.workflows.debias.label_texts import LabelTexts
from evenhand.workflows.debias.measures import changed
from evenhand.workflows.debias.split import Split, half_of_each, part_of
from evenhand.workflows.mitigated_model import model_facts

NEAREST = (1, 5)  # texts of retrieval
MOST_IMAGES = 20_000  # of a classification run; more are sampled
GROUPS = "groups"
NO_PHRASES = "the run has no texts of the groups"
TOO_FEW = "too few items or labels"
Change = Mitigation | None


@dataclass(frozen=True)
class Utility:
    """One measure before and after."""

    on: str  # groups, or the name of a classification run
    measure: str  # linear_probe_accuracy, zero_shot_accuracy, recall_at_1/5, rank_stability, group_leakage
    x: str  # of leakage, the first group; else empty
    y: str  # the second
    before: float  # NaN where it is not defined
    after: float  # as ``before``
    chance: float  # what guessing gives; NaN where there is no such number
    n: int  # items it was measured on
    reason: str | None = None  # why a value is missing


def utility_of_groups(
    items: AssociationItems, fit: Split, held_out: Split, change: Mitigation, tests: Sequence[Test]
) -> list[Utility]:
    """How well a classifier separates the groups on held-out items, and the pair of each test."""
    before, after = (GroupViews.make(items, fit, held_out, mitigation) for mitigation in (None, change))
    first, then = before.measures(), after.measures()
    utilities = [
        Utility(GROUPS, name, "", "", value, then[name], *before.beside(name))
        for name, value in first.items()
    ]
    utilities.append(_stability(before, after))
    for x, y in dict.fromkeys((x, y) for x, y, _, _ in tests):
        leaks = (before.leakage(x, y), after.leakage(x, y))
        chance, n = before.leakage_beside(x, y)
        reason = None if np.isfinite(leaks).all() else TOO_FEW
        utilities.append(Utility(GROUPS, "group_leakage", x, y, *leaks, chance, n, reason))
    return utilities


@dataclass(frozen=True, eq=False)
class GroupViews:
    """Vectors of fit and held-out items that belong to one group, and of the groups' phrases."""

    names: tuple[str, ...]
    train: Floats
    train_labels: Integers
    test: Floats
    test_labels: Integers
    texts: Floats
    text_labels: Integers

    @classmethod
    def make(cls, items: AssociationItems, fit: Split, held_out: Split, change: Change) -> GroupViews:
        """Before (None) or after a mitigation."""
        train, train_labels, names = part_of(items.material, fit).grouped()
        test, test_labels, _ = part_of(items.material, held_out).grouped()
        texts, text_labels = _phrases(items, fit, names)
        modality = items.material.target_modality
        return cls(
            names,
            changed(train, modality, change),
            train_labels,
            changed(test, modality, change),
            test_labels,
            changed(texts, "text", change),
            text_labels,
        )

    def measures(self, probe: bool = True) -> dict[str, float]:
        """Each measure's value; NaN where it is not defined."""
        labels, texts = self.test_labels, (self.texts, self.text_labels)
        values = {
            "zero_shot_accuracy": utility.nearest_prototype_accuracy(
                self.test, labels, *texts, len(self.names)
            ),
            **{f"recall_at_{k}": utility.recall_at(self.test, labels, *texts, k) for k in NEAREST},
        }
        if not probe:
            return values
        learnt = utility.probe_accuracy(self.train, self.train_labels, self.test, labels)
        return {"linear_probe_accuracy": learnt, **values}

    def beside(self, measure: str) -> tuple[float, int, str | None]:
        """Chance level, number of items, and why a value is missing."""
        n = len(self.test)
        if measure == "linear_probe_accuracy":
            chance = utility.chance_level(self.train_labels, self.test_labels)
            return chance, n, None if np.isfinite(chance) else TOO_FEW
        if not len(self.texts):
            return float("nan"), n, NO_PHRASES
        if measure == "zero_shot_accuracy":
            return 1 / len(self.names), n, None
        nearest = int(measure.rpartition("_")[2])
        chance = utility.recall_by_chance(self.test_labels, self.text_labels, nearest)
        return chance, n, None if np.isfinite(chance) else TOO_FEW

    def scores(self) -> Floats:
        """Cosine of each held-out item with each phrase."""
        return normalised(self.test) @ normalised(self.texts).T

    def leakage(self, x: str, y: str) -> float:
        """Accuracy on held-out items of a linear classifier that learnt to tell two groups apart."""
        codes = [self.names.index(x), self.names.index(y)]
        train, test = np.isin(self.train_labels, codes), np.isin(self.test_labels, codes)
        return utility.probe_accuracy(
            self.train[train], self.train_labels[train], self.test[test], self.test_labels[test]
        )

    def leakage_beside(self, x: str, y: str) -> tuple[float, int]:
        """Chance level and number of items of ``leakage``."""
        codes = [self.names.index(x), self.names.index(y)]
        train = self.train_labels[np.isin(self.train_labels, codes)]
        test = self.test_labels[np.isin(self.test_labels, codes)]
        return utility.chance_level(train, test), len(test)


def _phrases(items: AssociationItems, fit: Split, names: Sequence[str]) -> tuple[Floats, Integers]:
    """The groups' phrases with their group; of textual tests those of the fit half alone."""
    rows, labels = [], []
    for code, name in enumerate(names):
        mine = items.phrase_sets.get(name, np.zeros(0, dtype=np.int64))
        selected = mine[np.isin(mine, fit.phrases)]
        rows.append(selected)
        labels.append(np.full(len(selected), code, dtype=np.int64))
    every = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
    return items.phrases[every], np.concatenate(labels) if labels else every


def _stability(before: GroupViews, after: GroupViews) -> Utility:
    value = utility.rank_stability(before.scores(), after.scores()) if len(before.texts) else float("nan")
    reason = None if np.isfinite(value) else TOO_FEW if len(before.texts) else NO_PHRASES
    before_value = 1.0 if reason is None else float("nan")
    return Utility(
        GROUPS, "rank_stability", "", "", before_value, value, float("nan"), len(before.test), reason
    )


@dataclass(frozen=True, eq=False)
class UtilityImages:
    """Images with a true label from a classification run, and texts of the labels where it asked for them."""

    name: str
    images: Floats  # vectors, shape (N, D)
    labels: Integers  # true label of each, a place in ``names``
    in_train: np.ndarray  # which a probe learns on
    names: tuple[str, ...]  # those that the run chose among, then true ones that it could not choose
    texts: LabelTexts  # what it chose among
    model: Mapping[str, Any] = field(default_factory=dict)  # ``model`` and ``model_identity`` of the manifest

    @classmethod
    def read(cls, folder: str | Path, seed: int) -> UtilityImages:
        """From a run folder of ``classification``; half of the images of each label are to learn on."""
        run = RunFolder.read(Path(folder).expanduser())
        source = SourceRun.read(run)
        truth = run.annotations
        if truth is None or "truth" not in truth.columns:
            raise InputError(
                f"{str(folder)!r} has no true labels; give --utility a folder of evenhand run classification"
            )
        labelled = truth.filter(pl.col("truth").is_not_null()).select("sample", "truth")
        texts = LabelTexts.read(source, labelled["truth"])
        lots_of_all = [lot(seed, "utility", sample) for sample in labelled["sample"]]
        labelled = labelled.with_columns(lot=pl.Series(lots_of_all, dtype=pl.UInt64))
        images, truths, lots = _image_vectors(source, labelled.bottom_k(MOST_IMAGES, by="lot"))
        if not len(images):
            raise InputError(f"{str(folder)!r} has no vector of an image with a true label; give another run")
        names = tuple(dict.fromkeys((*texts.names, *sorted(set(truths)))))
        index_of = {label: index for index, label in enumerate(names)}
        labels = np.array([index_of[label] for label in truths], dtype=np.int64)
        model = model_facts(source.manifest)
        in_train = half_of_each(labels, lots)
        return cls(Path(folder).name, images, labels, in_train, names, texts, model)

    def measures(self, change: Change, probe: bool = True) -> dict[str, float]:
        """Linear-probe and zero-shot accuracy, before (None) or after a mitigation."""
        images = changed(self.images, "image", change)
        values = {"zero_shot_accuracy": self._zero_shot(images, change)}
        if not probe:
            return values
        train, test = self.in_train, ~self.in_train
        learnt = utility.probe_accuracy(images[train], self.labels[train], images[test], self.labels[test])
        return {"linear_probe_accuracy": learnt, **values}

    def _zero_shot(self, images: Floats, change: Change) -> float:
        """Share of images named rightly among all labels that the run chose among."""
        test = ~self.in_train
        if not self.texts.names or not test.any():
            return float("nan")
        centres = prototypes(changed(self.texts.vectors, "text", change), self.texts.templates)
        nearest = (normalised(images[test]) @ centres.T).argmax(axis=1)
        # two may be renamed to one
        label_indices = np.array([self.names.index(name) for name in self.texts.names])
        return float(np.mean(label_indices[nearest] == self.labels[test]))

    def _zero_shot_chance(self) -> float:
        """What naming each image by lot among the labels gives."""
        if not self.texts.names:
            return float("nan")
        label_indices = np.array([self.names.index(name) for name in self.texts.names])
        often = np.bincount(label_indices, minlength=len(self.names)) / len(label_indices)
        return float(often[self.labels[~self.in_train]].mean())

    def compared(self, change: Mitigation) -> list[Utility]:
        """Each measure before and after."""
        before, after = self.measures(None), self.measures(change)
        train, test = self.labels[self.in_train], self.labels[~self.in_train]
        chances: Mapping[str, Callable[[], float]] = {
            "linear_probe_accuracy": lambda: utility.chance_level(train, test),
            "zero_shot_accuracy": self._zero_shot_chance,
        }
        reasons = {"zero_shot_accuracy": self.texts.reason or TOO_FEW}
        return [
            Utility(
                self.name,
                name,
                "",
                "",
                value,
                after[name],
                chances[name]() if len(test) else float("nan"),
                len(test),
                None if np.isfinite(value) else reasons.get(name, TOO_FEW),
            )
            for name, value in before.items()
        ]


def _image_vectors(source: SourceRun, labelled: pl.DataFrame) -> tuple[Floats, list[str], Integers]:
    tables = [
        table.filter(pl.col("modality") == "image")
        .select("sample", "vector")
        .drop_nulls()
        .join(labelled.lazy(), on="sample", how="inner")
        .collect()
        for table in source.embeddings()
    ]
    rows = pl.concat(tables).unique("sample", keep="first").sort("sample")
    if not len(rows):
        return np.zeros((0, 0)), [], np.zeros(0, dtype=np.int64)
    raw_vectors = [np.asarray(vector, dtype=np.float64) for vector in rows["vector"]]
    lengths = {len(vector) for vector in raw_vectors}
    if len(lengths) > 1:
        text = f"vectors of {min(lengths)} and of {max(lengths)} dimensions"
        raise InputError(f"{text} stand in {source.name!r}; embed all anew")
    vectors = in_range(np.stack(raw_vectors))
    usable = np.isfinite(vectors).all(axis=1) & vectors.any(axis=1)
    usable_rows = rows.filter(pl.Series(usable))
    return vectors[usable], usable_rows["truth"].to_list(), usable_rows["lot"].to_numpy()
