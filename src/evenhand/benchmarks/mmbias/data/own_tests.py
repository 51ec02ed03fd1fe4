"""A user's own association tests: WEAT and SEAT files, and sets of phrases and image folders."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.benchmarks.mmbias.data.collected import CollectedSets
from evenhand.benchmarks.mmbias.data.images import ImageFile, folder_images
from evenhand.benchmarks.mmbias.data.irregularities import DataIrregularity
from evenhand.benchmarks.mmbias.data.pairs import Test
from evenhand.benchmarks.mmbias.data.phrases import clean
from evenhand.core.errors import InputError, check_known
from evenhand.evidence.derivation.item_sets import declared_families

FORMS = (
    'one or several {"targ1": {"category": NAME, "examples": [..]}, "targ2": ..., "attr1": .., "attr2": ..}, '
    'or {"targets": {NAME: [phrases] or {"images": FOLDER}}, "attributes": ..., "tests": [[x, y, a, b], ...]}'
    '; "family": [..] beside "examples" or "phrases" names the family of each'
)
"""What a file of tests may look like, for messages."""

_FAMILY = "family"
_SEAT = ("targ1", "targ2", "attr1", "attr2")
_KEYS = {"phrases", "images", _FAMILY}


def parse_tests(content: Any, path: Path) -> CollectedSets:
    """Tests from what a JSON file holds; folders of images are relative to its folder."""
    several = content if isinstance(content, list) else [content]
    if isinstance(content, dict) and "targets" in content:
        return _sets_and_tests(content, path)
    if not several or not all(isinstance(seat_test, dict) for seat_test in several):
        raise InputError(f"{str(path)!r} holds no tests; give {FORMS}")
    collected, tests = CollectedSets(), list[Test]()
    for number, seat_test in enumerate(several, 1):
        where = f"test {number} in " if len(several) > 1 else ""
        missing = [key for key in _SEAT if key not in seat_test]
        if missing:
            raise InputError(f"{where}{str(path)!r} has no {missing[0]!r}; give {FORMS}")
        name = path.stem if len(several) == 1 else f"{path.stem}#{number}"
        tests.append(_seat(seat_test, where, path, name, collected))
    collected.tests = tests
    return collected


def _seat(seat_test: Mapping[str, Any], where: str, path: Path, name: str, collected: CollectedSets) -> Test:
    """One test of WEAT or SEAT; a category that another test has with other phrases gets a number."""
    names = []
    for key in _SEAT:
        entry = seat_test[key]
        if not isinstance(entry, dict) or "examples" not in entry:
            raise InputError(f"{key!r} of {where}{str(path)!r} has no 'examples'; give {FORMS}")
        sets = collected.target_phrases if key.startswith("targ") else collected.attribute_phrases
        category = key if entry.get("category") is None else str(entry["category"])
        traps: list[DataIrregularity] = []
        phrases = clean(entry["examples"], category, path, traps)
        _add_families(entry, "examples", category, path, collected)
        choices = (category, *(f"{category} ({number})" for number in range(2, len(sets) + 3)))
        set_name = next(choice for choice in choices if sets.get(choice, phrases) == phrases)
        if set_name not in sets:
            sets[set_name] = phrases
            collected.traps += [
                DataIrregularity(trap.kind, set_name, trap.item, trap.other and set_name, trap.detail)
                for trap in traps
            ]
        names.append(set_name)
    _check_distinct(names, path)
    return Test(names[0], names[1], names[2], names[3], name)


def _sets_and_tests(content: Mapping[str, Any], path: Path) -> CollectedSets:
    collected = CollectedSets()
    _add_sets(
        content["targets"], "targets", path, collected, collected.target_phrases, collected.target_images
    )
    _add_sets(
        content.get("attributes"),
        "attributes",
        path,
        collected,
        collected.attribute_phrases,
        collected.attribute_images,
    )
    targets, attributes = collected.targets, collected.attributes
    tests = content.get("tests")
    if tests is None and len(targets) == len(attributes) == 2:
        tests = [[*targets, *attributes]]
    if not isinstance(tests, list) or not tests:
        raise InputError(f"{str(path)!r} has no 'tests'; add a list such as [[x, y, a, b], ...] of its sets")
    parsed_tests: list[Test] = []
    for test in tests:
        if not isinstance(test, list) or len(test) not in (2, 4) or not all(isinstance(n, str) for n in test):
            raise InputError(f"the test {test!r} in {str(path)!r} is not [x, y, a, b]")
        if len(test) == 2 and len(attributes) != 2:
            raise InputError(f"the test {test!r} in {str(path)!r} names no attributes; write [x, y, a, b]")
        names = test if len(test) == 4 else [*test, *attributes]
        for name, possible in zip(names, (targets, targets, attributes, attributes), strict=True):
            check_known("set", name, possible, f"name sets of {str(path)!r}")
        _check_distinct(names, path)
        parsed_tests.append(Test(*names))
    collected.tests = parsed_tests
    return collected


def _add_sets(
    sets: Any,
    what: str,
    path: Path,
    collected: CollectedSets,
    phrases: dict[str, tuple[str, ...]],
    images: dict[str, Sequence[ImageFile]],
) -> None:
    """Read the sets of one side."""
    if not isinstance(sets, dict) or len(sets) < 2:
        raise InputError(f"{what!r} in {str(path)!r} must be at least two sets by name; give {FORMS}")
    for name, entry in sets.items():
        parts = {"phrases": entry} if isinstance(entry, list) else entry
        if not isinstance(parts, dict) or not parts or not set(parts) <= _KEYS:
            raise InputError(
                f"the set {name!r} in {str(path)!r} must be a list of phrases, or an object with 'phrases', "
                "'images' or both, and 'family' beside 'phrases'"
            )
        if "phrases" in parts:
            phrases[name] = clean(parts["phrases"], name, path, collected.traps)
        _add_families(parts, "phrases", name, path, collected)
        if "images" in parts:
            images[name] = _images(parts["images"], name, path, collected)


def _add_families(
    entry: Mapping[str, Any], key: str, name: str, path: Path, collected: CollectedSets
) -> None:
    """Add the families of a set's phrases, which stand in a list beside theirs."""
    column = entry.get(_FAMILY)
    if column is None:
        return
    if key not in entry or not isinstance(column, list):
        raise InputError(
            f"{_FAMILY!r} of the set {name!r} in {str(path)!r} must be a list beside {key!r}: the family of "
            "each phrase, and null for one that stands alone"
        )
    phrases = [phrase.strip() for phrase in entry[key]]
    try:
        collected.families = declared_families({name: phrases}, {name: column}, collected.families)
    except InputError as problem:
        raise InputError(f"{str(path)!r}: {problem}") from problem


def _images(folder: Any, name: str, path: Path, collected: CollectedSets) -> Sequence[ImageFile]:
    if not isinstance(folder, str) or not folder or "\x00" in folder:
        raise InputError(f"'images' of the set {name!r} in {str(path)!r} must be a folder's path")
    files, notes = folder_images(path.parent / os.path.expanduser(folder))
    collected.notes += notes
    return files


def _check_distinct(names: Sequence[str], path: Path) -> None:
    if names[0] == names[1] or names[2] == names[3]:
        raise InputError(
            f"a test in {str(path)!r} compares {names[0]!r} with {names[1]!r} on {names[2]!r} and "
            f"{names[3]!r}; name two different sets each time"
        )
