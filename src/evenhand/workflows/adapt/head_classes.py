"""The classes of an adapted model: those of its training images, or those of a taxonomy or list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.benchmarks.labelling.taxonomies import NAMES, NO_HYPONYMS, TAXONOMIES, Taxonomy, find_taxonomy
from evenhand.core.errors import InputError, ParameterError, one_line
from evenhand.evidence.derivation.from_vectors import plain

_LEADING = re.compile(r"(n\d{8})(?:[\s_.,:-]+(.*))?", re.DOTALL)  # n01440764, n01440764_tench


@dataclass(frozen=True)
class HeadClass:
    """What one output of the head stands for."""

    truth: str  # as the training images' labels say it
    label: str
    wordnet_id: str = ""  # empty: none
    text: str = ""  # how a prompt says it

    def described(self, images: int) -> dict[str, Any]:
        """As the card has it."""
        return {
            "truth": self.truth,
            "label": self.label,
            "wordnet_id": self.wordnet_id,
            "text": self.text,
            "images": images,
        }


@dataclass(frozen=True)
class ClassSelection:
    """Which classes to take."""

    names: Mapping[str, str]  # WordNet id or word to how it is called; in the user's order
    taxonomy: Taxonomy | None = None  # knows what lies below a synset
    hyponyms: str = NO_HYPONYMS  # none, or as for Taxonomy.nearest
    _words: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, source: str, hyponyms: str = NO_HYPONYMS) -> ClassSelection:
        """From the name of a taxonomy, its JSON file, or a text file of one class on each line.

        A line is a WordNet id or a name, and after a tab how it is called. With a taxonomy ``hyponyms`` is
        ``none``, ``imagenet-1k`` or a file of ``parent child`` ids.
        """
        path = Path(source).expanduser()
        if source not in TAXONOMIES and path.is_file() and path.suffix.lower() != ".json":
            if hyponyms != NO_HYPONYMS:
                raise ParameterError(
                    f"-p hyponyms={hyponyms!r} goes with a taxonomy; {source!r} is a list: write them into it"
                )
            return cls._of(_read_lines(path))
        taxonomy = find_taxonomy(source)
        names: dict[str, str] = {}
        for kind, ids in taxonomy.ids.items():
            words = taxonomy.words[kind]
            paired = words if len(words) == len(ids) and not taxonomy.words_always else ids
            names |= dict(zip(ids, paired, strict=True))
            names |= {word: word for word in words if taxonomy.words_always}
        return cls._of(names, taxonomy, hyponyms)

    @classmethod
    def _of(
        cls, names: Mapping[str, str], taxonomy: Taxonomy | None = None, hyponyms: str = NO_HYPONYMS
    ) -> ClassSelection:
        names_by_key = {key: NAMES.get(key, key) if name == key else name for key, name in names.items()}
        words = {plain(name): key for key, name in names_by_key.items()} | {
            plain(key): key for key in names_by_key
        }
        return cls(names_by_key, taxonomy, hyponyms, words)

    def chosen(self, truths: Iterable[str]) -> dict[str, str]:
        """Those of the training images' labels that are wanted, each with what it was wanted as.

        Labels that begin with a WordNet id are compared by it, others by their words.
        """
        labels = list(truths)
        ids = {truth: split_truth(truth)[0] for truth in labels}
        below = self._nearest(list(filter(None, ids.values())))
        keys = {}
        for truth in labels:
            if ids[truth]:
                key = ids[truth] if ids[truth] in self.names or ids[truth] in below else None
            else:
                key = self._words.get(plain(truth))
            if key is not None:
                keys[truth] = key
        return keys

    def not_found(self, truths: Iterable[str]) -> tuple[str, ...]:
        """Those that none of the labels is, nor lies below, as a user reads them.

        Words of a type with ids stand for labels without ids; where all labels have one, they are not missed.
        """
        keys_by_truth = self.chosen(truths)
        present = set(keys_by_truth.values())
        for synsets in self._nearest([key for key in present if split_truth(key)[0]]).values():
            present |= set(synsets)
        unlike = (
            self._words_with_ids()
            if keys_by_truth and all(split_truth(truth)[0] for truth in keys_by_truth)
            else set()
        )
        return tuple(
            class_text(name, key)
            for key, name in self.names.items()
            if key not in present and key not in unlike
        )

    def _words_with_ids(self) -> set[str]:
        """Words of types that also have ids."""
        if self.taxonomy is None:
            return set()
        return {
            word for kind, words in self.taxonomy.words.items() if self.taxonomy.ids[kind] for word in words
        }

    def _nearest(self, ids: Sequence[str]) -> Mapping[str, Sequence[str]]:
        if self.taxonomy is None or self.hyponyms == NO_HYPONYMS:
            return {}
        return self.taxonomy.nearest(ids, self.hyponyms)

    def classes(self) -> list[HeadClass]:
        """All of them, in order; for heads that need no images. A word that an id is called by is that id."""
        by_name: dict[str, HeadClass] = {}
        for key, name in self.names.items():
            wordnet_id = split_truth(key)[0]
            alike = by_name.get(plain(name))
            if alike is not None and alike.wordnet_id and not wordnet_id:
                continue
            replaced = alike is None or bool(wordnet_id and not alike.wordnet_id)
            by_name[plain(name) if replaced else key] = HeadClass(key, name, wordnet_id, name)
        return _distinct(list(by_name.values()))


def prompts(classes: Sequence[HeadClass]) -> list[str]:
    """How each class is said in a prompt."""
    bare = [
        head_class
        for head_class in classes
        if _LEADING.fullmatch(head_class.text) and not split_truth(head_class.text)[1]
    ]
    if bare:
        raise InputError(
            f"{len(bare):,} classes have a WordNet id and no name to write into a prompt, such as "
            f"{bare[0].text!r}; give --classes FILE with a line for each: {bare[0].text}<TAB>name"
        )
    return [head_class.text for head_class in classes]


def class_text(name: str, key: str) -> str:
    """A class as a user reads it, with the id behind it."""
    return name if name == key or not key else f"{name} ({key})"


def classes_of(truths: Iterable[str], selection: ClassSelection | None) -> list[HeadClass]:
    """The classes of labels that occur, sorted by the label; without a selection all of them."""
    listed = sorted(set(truths))
    keys_by_truth = dict.fromkeys(listed, "") if selection is None else selection.chosen(listed)
    head_classes = []
    for truth in listed:
        if truth not in keys_by_truth:
            continue
        wordnet_id, rest = split_truth(truth)
        name = selection.names.get(keys_by_truth[truth], "") if selection is not None else ""
        label = name or rest or truth
        head_classes.append(HeadClass(truth, label, wordnet_id, name or rest or NAMES.get(wordnet_id, truth)))
    return _distinct(head_classes)


def split_truth(truth: str) -> tuple[str, str]:
    """The WordNet id that a label begins with, or an empty text, and the name behind it."""
    match = _LEADING.fullmatch(truth.strip())
    if match is None:
        return "", truth
    return match[1], (match[2] or "").replace("_", " ").strip()


def _distinct(classes: Sequence[HeadClass]) -> list[HeadClass]:
    """Labels that stand for one class only: WordNet has two slugs, and two cranes."""
    often = Counter(head_class.label for head_class in classes)
    return [
        head_class
        if often[head_class.label] == 1
        else HeadClass(
            head_class.truth,
            f"{head_class.label} ({head_class.wordnet_id or head_class.truth})",
            head_class.wordnet_id,
            head_class.text,
        )
        for head_class in classes
    ]


def _read_lines(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(
            f"--classes {str(path)!r} cannot be read as UTF-8 text; give one class on each line, "
            "or class<TAB>name"
        ) from None
    names: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        key, tab, name = (part.strip() for part in line.partition("\t"))
        if not key or (tab and not name):
            raise InputError(
                f"{str(path)!r} line {number} has an empty class; write class, or class<TAB>name"
            )
        if key in names:
            raise InputError(f"{str(path)!r} line {number} repeats the class {one_line(key)!r}; keep one")
        names[key] = name or key
    if not names:
        raise InputError(f"{str(path)!r} holds no class; write one on each line, or class<TAB>name")
    return names
