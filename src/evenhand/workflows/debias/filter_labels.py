"""Labels that a mitigation's filter keeps recognisable, as ``--labels`` names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, check_known
from evenhand.files.tables.scan import reading, scan
from evenhand.mitigate.training_vectors import LabelledVectors
from evenhand.stats.arrays import Floats, Integers
from evenhand.workflows.debias.items import FORMS, AssociationItems, SourceRun, vectors_of_groups
from evenhand.workflows.debias.split import Split
from evenhand.workflows.debias.utility import UtilityImages

GROUPS, NO_LABELS = "groups", "none"
_COLUMNS = ("sample", "label")


@dataclass(frozen=True, eq=False)
class FilterLabels:
    """Vectors with labels, and which of them may be used where a half is held out."""

    name: str  # ``groups``, or the file or run folder that they come from
    vectors: Floats  # shape (N, D)
    labels: Integers  # one integer for each, shape (N,)
    in_train: np.ndarray | None = None  # of another run: images that its accuracy leaves out; None: see part

    def part(self, items: AssociationItems, held_out: Split | None = None) -> LabelledVectors:
        """The vectors that a fit may see; all of them where no half is held out."""
        if held_out is None:
            usable = np.ones(len(self.labels), dtype=np.bool_)
        elif self.in_train is not None:
            usable = self.in_train
        else:
            hidden = {vector.tobytes() for vector in items.material.targets[held_out.targets]}
            usable = np.array([vector.tobytes() not in hidden for vector in self.vectors], dtype=np.bool_)
        return LabelledVectors(self.vectors[usable], self.labels[usable], self.name)


def read_filter_labels(
    labels: str | Path | None, source: SourceRun, items: AssociationItems, seed: int
) -> FilterLabels | None:
    """Labels for the filter; None where ``labels`` is None or ``none``.

    ``labels`` is ``groups`` (every group of the run, those of other tests too), a run folder of
    ``classification``, or a table with the columns ``sample`` and ``label``. ``seed`` decides what is held
    out of another run.
    """
    if labels is None or str(labels) == NO_LABELS:
        return None
    path = Path(labels).expanduser()
    if str(labels) != GROUPS and path.is_dir():
        images = UtilityImages.read(path, seed)
        filter_labels = FilterLabels(path.name, images.images, images.labels, images.in_train)
    else:
        sets = vectors_of_groups(source, FORMS[items.form][0])
        label_of = _groups(sets) if str(labels) == GROUPS else _listed(path, list(sets))
        filter_labels = _labelled(str(labels) if str(labels) == GROUPS else path.name, sets, label_of)
    if len(np.unique(filter_labels.labels)) < 2:
        raise InputError(f"--labels {str(labels)!r} has fewer than two different labels of items of the run")
    return filter_labels


Items = Mapping[str, tuple[tuple[str, ...], Floats]]


def _groups(items: Items) -> dict[str, str]:
    """Every item of one group alone, with its group."""
    return {sample: names[0] for sample, (names, _) in items.items() if len(names) == 1}


def _listed(path: Path, samples: list[str]) -> dict[str, str]:
    if not path.exists():
        raise InputError(
            f"--labels {str(path)!r} does not exist; give {GROUPS}, {NO_LABELS}, a run folder of "
            "classification, or a table with the columns sample and label"
        )
    with reading(path):
        lazy, _ = scan(path)
        columns = lazy.collect_schema().names()
        check_known(f"column of {path.name}", _COLUMNS, columns)
        table = lazy.select(pl.col(_COLUMNS).cast(pl.String)).drop_nulls().collect()
    label_of = dict(table.iter_rows())
    if not label_of.keys() & set(samples):
        raise InputError(
            f"no sample of {str(path)!r} is an item of the run; its items are called like {samples[0]!r}"
        )
    return label_of


def _labelled(name: str, items: Items, label_of: Mapping[str, str]) -> FilterLabels:
    used = [sample for sample in items if sample in label_of]
    kinds = {label: code for code, label in enumerate(sorted({label_of[sample] for sample in used}))}
    vectors = np.stack([items[sample][1] for sample in used]) if used else np.zeros((0, 0))
    codes = np.array([kinds[label_of[sample]] for sample in used], dtype=np.int64)
    return FilterLabels(name, vectors, codes)
