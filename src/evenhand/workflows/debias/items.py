"""What a mitigation is fitted and measured on: the vectors and sets that a run of association tests left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, UnknownName
from evenhand.mitigate.maps import in_range
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.runs import run_folder
from evenhand.stats.arrays import Floats, Integers

FORMS: Mapping[str, tuple[str, str]] = {
    "cross-modal": ("image", "text"),
    "textual": ("text", "text"),
    "visual": ("image", "image"),
}
Test = tuple[str, str, str, str]


@dataclass(frozen=True, eq=False)
class SourceRun:
    """A run with embeddings: its tables and where its evidence lies."""

    tables: Mapping[str, pl.DataFrame]
    evidence: Path
    manifest: Mapping[str, Any]
    name: str = ""

    @classmethod
    def read(cls, run_or_folder: str | Path | run_folder.RunFolder) -> SourceRun:
        """From a run folder, or from a run that still knows its evidence."""
        run = (
            run_folder.RunFolder.read(Path(run_or_folder).expanduser())
            if isinstance(run_or_folder, str | Path)
            else run_or_folder
        )
        if run.manifest.get("mitigation"):
            raise InputError(
                f"{str(run.folder or 'this run')!r} was measured with a mitigation, while its evidence is as "
                "the model gave it; give the run without --mitigation"
            )
        folder = getattr(run, "evidence_folder", None)
        if folder is None:
            folder = run.folder / "evidence" if run.folder is not None else Path()
        source = cls(run.tables, folder, run.manifest, str(run.folder or run_or_folder))
        if not source.embeddings():
            raise InputError(
                f"{source.name!r} holds no embeddings; give the folder of a run that asked for vectors, such "
                "as evenhand run mmbias/association --model hf:... -o DIR"
            )
        return source

    def embeddings(self) -> list[pl.LazyFrame]:
        """Every table of vectors, lazy."""
        tables = []
        for folder in sorted(self.evidence.glob("*")):
            if any(folder.glob("part-*.parquet")):
                table = pl.scan_parquet(folder / "part-*.parquet")
                if {"sample", "modality", "vector"} <= set(table.collect_schema().names()):
                    tables.append(table)
        return tables


@dataclass(frozen=True, eq=False)
class AssociationItems:
    """Target and attribute items of one form of the tests.

    ``compared`` has the rows of X, Y, A and B that each test compares: an image that stands in both sets,
    under one id or two, is in neither.
    """

    material: TrainingVectors  # of both halves
    form: str  # cross-modal, textual or visual
    targets: tuple[str, ...]  # ids of the rows of material.targets
    attributes: tuple[str, ...]  # ids of the rows of material.attributes
    phrases: Floats  # of the groups, shape (P, D); empty where the run has none
    phrase_sets: Mapping[str, Integers]  # rows of ``phrases`` by group
    compared: Mapping[Test, tuple[Integers, Integers, Integers, Integers]]
    dropped: Mapping[str, int] = field(default_factory=dict)  # items left out, by reason
    families: Mapping[str, str] = field(default_factory=dict)  # of words, by item, where the run knows them


def read_items(source: SourceRun, *, form: str | None = None, tests: Sequence[str] = ()) -> AssociationItems:
    """Vectors, sets and tests of one form.

    Without ``form`` it is the first that the run has, cross-modal before the others. ``tests`` are ``X:Y`` or
    ``X:Y:A:B``; empty: all of the form.
    """
    members, declared = _tables(source)
    chosen_form = _form(declared, form)
    selected_tests = _chosen(declared.filter(pl.col("form") == chosen_form), tests)
    target_modality, attribute_modality = FORMS[chosen_form]
    dropped: dict[str, int] = {}
    groups = list(dict.fromkeys(name for x, y, _, _ in selected_tests for name in (x, y)))
    poles = list(dict.fromkeys(name for _, _, a, b in selected_tests for name in (a, b)))
    target_sets = _members(members, "target", target_modality, groups)
    attribute_sets = _members(members, "attribute", attribute_modality, poles)
    target_ids, targets, target_rows = _vectors(source, target_modality, target_sets, dropped)
    attribute_ids, attributes, attribute_rows = _vectors(source, attribute_modality, attribute_sets, dropped)
    _check(targets, attributes, {**target_rows, **attribute_rows}, (*groups, *poles), chosen_form)
    phrase_sets = _members(members, "target", "text", groups)
    _, phrases, phrase_rows = _vectors(source, "text", phrase_sets, {})
    material = TrainingVectors(
        targets,
        target_rows,
        attributes,
        attribute_rows,
        selected_tests,
        target_modality=target_modality,
        attribute_modality=attribute_modality,
    )
    fits = phrases.shape[1] == targets.shape[1]
    return AssociationItems(
        material,
        chosen_form,
        target_ids,
        attribute_ids,
        phrases if fits else np.zeros((0, targets.shape[1])),
        phrase_rows if fits else {},
        {test: _compared(material, test) for test in selected_tests},
        dropped,
        _families(members),
    )


def _families(members: pl.DataFrame) -> dict[str, str]:
    """Sample to family; none in runs that were made before families were kept."""
    if "family" not in members.columns:
        return {}
    rows = members.select("sample", "family").drop_nulls()
    return dict(rows.iter_rows())


def declared_tests(source: SourceRun, form: str | None = None) -> list[Test]:
    """The tests of a run in one form, as ``read_items`` chooses it."""
    declared = _tables(source)[1]
    of_form = declared.filter(pl.col("form") == _form(declared, form))
    return list(dict.fromkeys(of_form.select("x", "y", "a", "b").iter_rows()))


def vectors_of_groups(source: SourceRun, modality: str) -> dict[str, tuple[tuple[str, ...], Floats]]:
    """Every usable target of a run, those of other tests too: its groups, and its vector."""
    members, _ = _tables(source)
    groups = members.filter((pl.col("role") == "target") & (pl.col("modality") == modality))["set"].unique()
    sets = _members(members, "target", modality, sorted(groups.to_list()))
    samples, vectors, rows = _vectors(source, modality, sets, {})
    groups_by_row: list[list[str]] = [[] for _ in samples]
    for name, set_rows in rows.items():
        for row in set_rows:
            groups_by_row[row].append(name)
    return {
        sample: (tuple(names), vector)
        for sample, names, vector in zip(samples, groups_by_row, vectors, strict=True)
    }


def _compared(material: TrainingVectors, test: Test) -> tuple[Integers, Integers, Integers, Integers]:
    x, y, a, b = test
    set_pairs = (
        (material.targets, material.target_sets[x], material.target_sets[y], material.target_modality),
        (
            material.attributes,
            material.attribute_sets[a],
            material.attribute_sets[b],
            material.attribute_modality,
        ),
    )
    first, second = (_apart(*set_pair) for set_pair in set_pairs)
    return (*first, *second)


def _apart(vectors: Floats, first: Integers, second: Integers, modality: str) -> tuple[Integers, Integers]:
    """Two sets of rows without images whose vectors both have; phrases of both stay in both."""
    if modality != "image":
        return first, second
    contents = [{row: vectors[row].tobytes() for row in rows.tolist()} for rows in (first, second)]
    shared = set(contents[0].values()) & set(contents[1].values())
    remaining = [[row for row, content in mine.items() if content not in shared] for mine in contents]
    return np.array(remaining[0], dtype=np.int64), np.array(remaining[1], dtype=np.int64)


def _tables(source: SourceRun) -> tuple[pl.DataFrame, pl.DataFrame]:
    needed = {
        "members": {"role", "set", "sample", "modality"},
        "tests": {"form", "x", "y", "a", "b"},
    }
    for name, columns in needed.items():
        if name not in source.tables or not columns <= set(source.tables[name].columns):
            raise InputError(
                f"{source.name!r} holds no association tests (it has no table {name!r}); give the folder of "
                "evenhand run mmbias/association --model URI -o DIR"
            )
    tests = source.tables["tests"]
    return source.tables["members"], tests.filter("tested") if "tested" in tests.columns else tests


def _form(declared: pl.DataFrame, form: str | None) -> str:
    there = [name for name in FORMS if name in set(declared["form"].to_list())]
    if form is not None and form not in there:
        raise UnknownName("form of association in this run", form, there)
    if not there:
        raise InputError("this run has no cross-modal, textual or visual test; give another run folder")
    return there[0] if form is None else form


def _chosen(declared: pl.DataFrame, names: Sequence[str]) -> tuple[Test, ...]:
    possible: list[Test] = list(dict.fromkeys(declared.select("x", "y", "a", "b").iter_rows()))
    if not names:
        return tuple(possible)
    tests_by_name: dict[str, list[Test]] = {}
    for test in possible:
        tests_by_name.setdefault(":".join(test[:2]), []).append(test)
        tests_by_name[":".join(test)] = [test]
    for name in names:
        if name not in tests_by_name:
            short = list(dict.fromkeys(":".join(test[:2]) for test in possible))
            raise UnknownName("test", name, short, "write X:Y as the run has them")
    return tuple(dict.fromkeys(test for name in names for test in tests_by_name[name]))


def _members(
    members: pl.DataFrame, role: str, modality: str, names: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Samples of each set; of several prompt templates the first only, else an item would count twice."""
    mine = members.filter(
        (pl.col("role") == role) & (pl.col("modality") == modality) & pl.col("set").is_in(names)
    )
    if "template" in mine.columns:
        first = pl.col("template").first().over("set")
        mine = mine.filter(pl.col("template").eq_missing(first))
    return {
        name: tuple(dict.fromkeys(mine.filter(pl.col("set") == name)["sample"].to_list())) for name in names
    }


def _vectors(
    source: SourceRun, modality: str, sets: Mapping[str, Sequence[str]], dropped: dict[str, int]
) -> tuple[tuple[str, ...], Floats, dict[str, Integers]]:
    """Ids and vectors of the usable items, and the rows of each set; the others are counted."""
    required = list(dict.fromkeys(sample for samples in sets.values() for sample in samples))
    vectors_by_sample: dict[str, npt.NDArray[np.float64]] = {}
    # a list slows Polars' reader of Parquet down 20-fold
    searched = pl.Series(required, dtype=pl.String).implode()
    for table in source.embeddings():
        mine = table.filter((pl.col("modality") == modality) & pl.col("sample").is_in(searched))
        part = mine.select("sample", "vector").drop_nulls().collect()
        for sample, vector in zip(part["sample"], part["vector"], strict=True):
            vectors_by_sample.setdefault(sample, np.asarray(vector, dtype=np.float64))
    there = [sample for sample in required if sample in vectors_by_sample]
    _count(dropped, "no answer", len(required) - len(there))
    lengths = {len(vectors_by_sample[sample]) for sample in there}
    if len(lengths) > 1:
        raise InputError(
            f"vectors of {min(lengths)} and of {max(lengths)} dimensions stand in one run; embed all anew"
        )
    finite = [sample for sample in there if np.isfinite(vectors_by_sample[sample]).all()]
    usable = [sample for sample in finite if vectors_by_sample[sample].any()]
    _count(dropped, "vector that is not finite", len(there) - len(finite))
    _count(dropped, "vector of length 0", len(finite) - len(usable))
    at = {sample: row for row, sample in enumerate(usable)}
    rows = {
        name: np.array([at[sample] for sample in samples if sample in at], dtype=np.int64)
        for name, samples in sets.items()
    }
    vectors = (
        in_range(np.stack([vectors_by_sample[sample] for sample in usable])) if usable else np.zeros((0, 0))
    )
    return tuple(usable), vectors, rows


def _check(
    targets: Floats, attributes: Floats, rows: Mapping[str, Integers], names: Sequence[str], form: str
) -> None:
    for name in names:
        if not len(rows[name]):
            raise InputError(f"set {name!r} has no usable vector in the {form} form; leave its tests out")
    if targets.shape[1] != attributes.shape[1]:
        raise InputError(
            f"targets have {targets.shape[1]} dimensions and attributes {attributes.shape[1]}; embed both "
            "with the same model"
        )


def _count(dropped: dict[str, int], reason: str, count: int) -> None:
    if count:
        dropped[reason] = dropped.get(reason, 0) + count
