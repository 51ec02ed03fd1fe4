"""Concept maps: which things of a household each label of a model names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from evenhand.benchmarks.indicators.households.samples import Households
from evenhand.benchmarks.tidy import occurring
from evenhand.core.errors import InputError, one_line
from evenhand.evidence.derivation.from_vectors import plain
from evenhand.evidence.ranked_labels import WORDNET
from evenhand.files.json_file import read_json

AUTO, IMAGENET, NAMES = "auto", "imagenet", "names"
CONCEPT_MAPS: tuple[str, ...] = (AUTO, IMAGENET, NAMES)
"""Maps that need no file."""

NO_CLASS = "class of the concept map that the model does not have"
NO_THING = "concept of the concept map that no image shows"

_SHAPE = '{"class": ["concept", ...]}, classes by WordNet id, by name or by number from 0'
_CLASSES = 1000


@dataclass(frozen=True, eq=False)
class MappedConcepts:
    """A model's labels and images' concepts, brought to the same words."""

    name: str  # ``imagenet``, ``names``, or the stem of the file
    classes: Mapping[str, tuple[str, ...]]  # label as the model answers it -> concepts
    annotations: pl.DataFrame  # of the households, with the map's concepts
    notes: Mapping[str, int] = field(default_factory=dict)  # what of the map comes to nothing, with how many


def map_concepts(
    households: Households,
    concept_map: str = AUTO,
    *,
    labels: Sequence[str],  # in the order of the logits
    wordnet_ids: Sequence[str] | None = None,  # of each label, or empty texts
    answers: Sequence[str] | None = None,  # what answers are called, one for each label; None: the labels
) -> MappedConcepts:
    """Find out which concepts each label of a model names.

    ``auto`` is ``imagenet``, the table's own classes, where table and model have those of ImageNet-1k, else
    ``names``, labels that are called as concepts are; any other ``concept_map`` is a JSON file.
    """
    called = list(answers if answers is not None else labels)
    ids = list(wordnet_ids) if wordnet_ids is not None else [""] * len(labels)
    if not len(called) == len(labels) == len(ids):
        raise InputError(
            f"{len(ids)} WordNet ids and {len(called)} answers for {len(labels)} labels; give one for each"
        )
    if concept_map == AUTO:
        concept_map = IMAGENET if _first_class(labels) is not None and _classes(households) else NAMES
    if concept_map == IMAGENET:
        return _imagenet(households, labels, ids, called)
    notes: dict[str, int] = {}
    if concept_map == NAMES:
        matched = _by_names(households, labels)
        if not matched:
            raise InputError(_nothing(households, labels))
        name = NAMES
    else:
        matched, notes = _by_file(read_concept_map(concept_map), concept_map, households, labels, ids)
        name = Path(concept_map).stem
    table = households.annotations.drop("imagenet_classes")
    return MappedConcepts(name, _of_answers(matched, called), table, notes)


def _of_answers(matched: Mapping[int, Sequence[str]], called: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Concepts by answer: labels of one name, such as ImageNet's two cranes, cannot be distinguished."""
    classes: dict[str, tuple[str, ...]] = {}
    for index, concepts in sorted(matched.items()):
        classes[called[index]] = tuple(dict.fromkeys((*classes.get(called[index], ()), *concepts)))
    return classes


def _classes(households: Households) -> list[int]:
    """Classes of ImageNet-1k that are right for some image."""
    classes = households.annotations["imagenet_classes"].explode().drop_nulls().unique().sort()
    return [int(number) for number in classes]


def _first_class(labels: Sequence[str]) -> int | None:
    """Where the 1,000 classes begin in a model's labels; None if it has others."""
    if len(labels) == _CLASSES:
        return 0
    return 1 if len(labels) == _CLASSES + 1 and plain(labels[0]) == "background" else None


def _imagenet(
    households: Households, labels: Sequence[str], ids: Sequence[str], called: Sequence[str]
) -> MappedConcepts:
    """The classes that the table gives are the concepts."""
    classes, first = _classes(households), _first_class(labels)
    if not classes:
        raise InputError(
            "concept_map='imagenet' needs a table with the classes of ImageNet-1k of each image, as that of "
            f"MLCommons; this one has none: give concept_map={NAMES!r}, or a JSON file {_SHAPE}"
        )
    if first is None:
        raise InputError(
            f"concept_map='imagenet' needs a model with the 1,000 classes of ImageNet-1k and this one has "
            f"{len(labels)} labels; give concept_map={NAMES!r}, or a JSON file {_SHAPE}"
        )
    if classes[-1] >= _CLASSES:
        raise InputError(f"the table has class {classes[-1]}; those of ImageNet-1k are numbered 0 to 999")
    _check_order(households, labels[first:], ids[first:])
    names = households.imagenet_names
    concepts = {number: f"{number} {names.get(number, '')}".strip() for number in classes}
    table = households.annotations.with_columns(
        concepts=pl.col("imagenet_classes").list.eval(
            pl.element().replace_strict(concepts, default=None, return_dtype=pl.String)
        )
    )
    return MappedConcepts(
        IMAGENET,
        _of_answers({first + number: [concept] for number, concept in concepts.items()}, called),
        table.drop("imagenet_classes"),
    )


def _check_order(households: Households, labels: Sequence[str], ids: Sequence[str]) -> None:
    """Refuse 1,000 labels that are not those of ImageNet-1k in its order, which is that of WordNet ids."""
    if all(ids):
        wrong = list(ids) != sorted(ids)
    else:
        numbered_names = [(number, plain(name)) for number, name in households.imagenet_names.items()]
        there = sum(name in _names(labels[number]) for number, name in numbered_names if number < len(labels))
        wrong = bool(numbered_names) and 2 * there < len(numbered_names)
    if wrong:
        raise InputError(
            "the model has 1,000 labels, which are not the classes of ImageNet-1k in their order; "
            f"give concept_map={NAMES!r}, or a JSON file {_SHAPE}"
        )


def _by_names(households: Households, labels: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Labels that are called as concepts are."""
    things = _things(households)
    concepts_by_label = {
        index: tuple(concept for name in _names(label) for concept in things.get(name, ()))
        for index, label in enumerate(labels)
    }
    return {
        index: tuple(dict.fromkeys(concepts)) for index, concepts in concepts_by_label.items() if concepts
    }


def _by_file(
    concepts_by_class: Mapping[str, Sequence[str]],
    file_name: str,
    households: Households,
    labels: Sequence[str],
    ids: Sequence[str],
) -> tuple[dict[int, tuple[str, ...]], dict[str, int]]:
    """What a file says of each label, and how much of it comes to nothing."""
    things, places = _things(households), _places(concepts_by_class, labels, ids)
    matched: dict[int, list[str]] = defaultdict(list)
    absent, strange = 0, set()
    for key, concepts in concepts_by_class.items():
        here = places.get(key, [])
        absent += not here
        for concept in concepts:
            strange |= {concept} - ({concept} if plain(concept) in things else set())
            for index in here:
                matched[index] += things.get(plain(concept), ())
    matches = {index: tuple(dict.fromkeys(concepts)) for index, concepts in matched.items() if concepts}
    if not matches:
        raise InputError(
            f"no class of {file_name!r} is both a label of the model (such as {one_line(labels[0], 40)!r}) "
            f"and has a concept of the images (such as {_some(households)!r}); give {_SHAPE}"
        )
    notes = {NO_CLASS: absent, NO_THING: len(strange)}
    return matches, occurring(notes)


def _places(
    concepts_by_class: Mapping[str, Sequence[str]], labels: Sequence[str], ids: Sequence[str]
) -> dict[str, list[int]]:
    """The labels that each class of a file means."""
    if all(key.isdecimal() for key in concepts_by_class):
        return {key: [int(key)] if int(key) < len(labels) else [] for key in concepts_by_class}
    indices_by_name: dict[str, list[int]] = defaultdict(list)
    for index, (label, id_) in enumerate(zip(labels, ids, strict=True)):
        for name in {*_names(label), id_} - {""}:
            indices_by_name[name].append(index)
    return {
        key: indices_by_name.get(key if WORDNET.fullmatch(key) else plain(key), [])
        for key in concepts_by_class
    }


def read_concept_map(file_name: str) -> dict[str, list[str]]:
    """Class to the concepts that it names, from a JSON file."""
    path = Path(file_name).expanduser()
    if not path.is_file():
        raise InputError(
            f"there is no concept map {file_name!r}; give {IMAGENET!r}, {NAMES!r}, or a JSON file {_SHAPE}"
        )
    content = read_json(path, "get the file again")
    pairs = content.items() if isinstance(content, dict) else ()
    concepts_by_class = {
        key: [concepts] if isinstance(concepts, str) else concepts for key, concepts in pairs
    }
    is_valid = all(
        isinstance(concepts, list) and all(isinstance(name, str) for name in concepts)
        for concepts in concepts_by_class.values()
    )
    if not concepts_by_class or not is_valid:
        raise InputError(f"{file_name!r} is no concept map; give {_SHAPE}")
    return concepts_by_class


def _things(households: Households) -> dict[str, list[str]]:
    """The images' concepts by their plain names, as maps may write ``plates_of_food`` with spaces."""
    things: dict[str, list[str]] = defaultdict(list)
    for concept in households.concepts:
        things[plain(concept)].append(concept)
    return dict(things)


def _names(label: str) -> set[str]:
    """What a label such as ``n03874599 padlock, lock`` is called, in plain form."""
    text = WORDNET.sub("", label, count=1) if WORDNET.match(label) else label
    return {name for name in (plain(text), *(plain(part) for part in text.split(","))) if name}


def _nothing(households: Households, labels: Sequence[str]) -> str:
    example = one_line(labels[0], 40) if labels else "none"
    return (
        f"no label of the model is called as a concept of the images is: labels are such as {example!r}, "
        f"concepts such as {_some(households)!r}; give concept_map=FILE, JSON {_SHAPE}"
    )


def _some(households: Households) -> str:
    return one_line(next(iter(households.concepts), ""), 40)
