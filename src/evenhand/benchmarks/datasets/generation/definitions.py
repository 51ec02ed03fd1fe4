"""Definitions of generated images: classes, groups and templates, from a YAML file to prompts with seeds."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from evenhand.benchmarks.datasets.generation.articles import with_articles
from evenhand.benchmarks.datasets.generation.definition_text import check_keys, field_of, parse_text, texts_of
from evenhand.benchmarks.datasets.readers.rows import RESERVED
from evenhand.core.errors import InputError, ParameterError, check_known, one_line

COLUMNS: tuple[str, ...] = (
    "sample", "image", "truth", "template", "prompt", "seed", "index", "model", "flagged_by_model",
    "clip_score", "faces", "flags",
)  # fmt: skip
"""Of the table beside generated images; the attribute has another name."""

FLAGGED: str = "flagged"
"""The column in which a run says whether an image was flagged; the attribute has another name."""

MAX_IMAGES: int = 1_000_000
"""Of a cell."""

_KEYS = (
    "name", "class_axis", "attribute", "classes", "groups", "templates", "images_per_cell", "seed", "people",
    "question", "source", "licence", "limits",
)  # fmt: skip
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PLACE = re.compile(r"\{([^{}]*)\}")
_MARK = "classname"
_ENDING = (".yaml", ".yml")


@dataclass(frozen=True)
class Entry:
    """A class or a group."""

    name: str  # in annotations
    text: str  # in prompts
    wordnet_id: str = ""  # of a class, such as n01443537; empty: there is none
    templates: tuple[str, ...] = ()  # of a group that has its own; empty: the definition's


@dataclass(frozen=True)
class PromptCell:
    """One class in one group."""

    class_name: str
    group: str
    templates: tuple[str, ...]  # what its images are asked for with, in turn
    prompts: tuple[str, ...]  # the templates, filled in

    @cached_property
    def folder(self) -> str:
        """Where its images lie, ``class/group``: letters and digits of ASCII, small."""
        return f"{_slug(self.class_name)}/{_slug(self.group)}"


@dataclass(frozen=True)
class GenerationDefinition:
    """What images are to be made, and what is asked about them."""

    name: str
    class_axis: str  # what a class is called, such as occupation
    attribute: str  # the annotated axis, the column of groups
    classes: tuple[Entry, ...]
    groups: tuple[Entry, ...]  # two or more
    templates: tuple[str, ...] = ()  # for groups without their own
    images_per_cell: int = 50  # of each class in each group
    seed: int = 0
    people: bool = False  # whether a group is meant to be visible on one person
    question: str = ""  # for models that answer in words
    source: str = ""  # of the lists
    licence: str = ""
    limits: tuple[str, ...] = ()  # what it cannot show

    @classmethod
    def read(cls, name_or_path: str | Path) -> GenerationDefinition:
        """A definition from a ``.yaml`` file, or one that ``shipped()`` lists, by its name."""
        text = str(name_or_path)
        if not text.endswith(_ENDING) and "/" not in text:
            check_known("definition", text, shipped(), "or give a file that ends in .yaml")
            return cls.parse((_folder() / f"{text}.yaml").read_bytes(), text)
        path = Path(text).expanduser()
        if not path.is_file():
            raise InputError(f"there is no file {text!r}; give a .yaml file or one of {', '.join(shipped())}")
        return cls.parse(path.read_bytes(), text)

    @classmethod
    @lru_cache(maxsize=8)  # every run of a study reads those that are shipped
    def parse(cls, content: bytes, file_name: str = "definition.yaml") -> GenerationDefinition:
        """A definition from the bytes of a YAML file; one without a name is called like the file."""
        fields = parse_text(content, file_name)
        where = repr(file_name)
        check_keys(fields, _KEYS, where)
        definition = cls(
            name=field_of(fields, "name", str, Path(file_name).stem, where),
            class_axis=field_of(fields, "class_axis", str, "class", where),
            attribute=field_of(fields, "attribute", str, ..., where),
            classes=_entries(fields, "classes", ("name", "text", "wordnet_id"), where),
            groups=_entries(fields, "groups", ("name", "text", "template", "templates"), where),
            templates=texts_of(fields, "templates", where),
            images_per_cell=field_of(fields, "images_per_cell", int, 50, where),
            seed=field_of(fields, "seed", int, 0, where),
            people=field_of(fields, "people", bool, False, where),
            question=field_of(fields, "question", str, "", where),
            source=field_of(fields, "source", str, "", where),
            licence=field_of(fields, "licence", str, "", where),
            limits=texts_of(fields, "limits", where),
        )
        definition._check(where)
        return definition

    def changed(self, *, images_per_cell: int | None = None, seed: int | None = None) -> GenerationDefinition:
        """The same with other numbers; None leaves one as it is."""
        per_cell = self.images_per_cell if images_per_cell is None else images_per_cell
        definition = replace(self, images_per_cell=per_cell, seed=self.seed if seed is None else seed)
        _check_numbers(definition)
        return definition

    def dump(self) -> bytes:
        """The definition as YAML; ``parse`` of it gives an equal one."""
        fields = {
            "name": self.name,
            "class_axis": self.class_axis,
            "attribute": self.attribute,
            "classes": [_dump_entry(entry) for entry in self.classes],
            "groups": [_dump_entry(entry) for entry in self.groups],
            "templates": list(self.templates),
            "images_per_cell": self.images_per_cell,
            "seed": self.seed,
            "people": self.people,
            "question": self.question,
            "source": self.source,
            "licence": self.licence,
            "limits": list(self.limits),
        }
        filled = {key: value for key, value in fields.items() if value not in ("", [])}
        return yaml.safe_dump(filled, sort_keys=False, allow_unicode=True, width=100).encode()

    def cells(self) -> list[PromptCell]:
        """Every class in every group, classes first."""
        prompt_cells = []
        for class_entry, group in product(self.classes, self.groups):
            templates = group.templates or self.templates
            prompts = tuple(self.prompt(template, class_entry, group) for template in templates)
            prompt_cells.append(PromptCell(class_entry.name, group.name, templates, prompts))
        return prompt_cells

    def prompt(self, template: str, class_entry: Entry, group: Entry) -> str:
        """A template filled in with a class and a group."""
        words = {"class": class_entry.text, "group": group.text, self.class_axis: class_entry.text}
        words[self.attribute] = group.text
        return with_articles(_PLACE.sub(lambda match: words[match[1]], template))

    def around(self) -> list[tuple[str, str]]:
        """What prompts say before and behind a class, of each group and template."""
        contexts = []
        for group in self.groups:
            for template in group.templates or self.templates:
                prompt = self.prompt(template, Entry(_MARK, _MARK), group)
                if prompt.count(_MARK) == 1:
                    before, _, after = prompt.partition(_MARK)
                    contexts.append((before, after))
        return list(dict.fromkeys(contexts))

    def prompts(self, seed: int | None = None) -> pl.DataFrame:
        """What a model is asked for, one row an image: the first of each cell, then the second of each.

        The first so many rows are balanced, and more images a cell add rows at the end. ``sample`` is
        ``class/group/index``, as file names can be; ``seed`` is the definition's if None.
        """
        first = self.seed if seed is None else seed
        rows: list[tuple[Any, ...]] = []
        cells = self.cells()
        for index, cell in product(range(self.images_per_cell), cells):
            turn = index % len(cell.templates)
            key = (first, cell.class_name, cell.group, cell.templates[turn], index)
            sample = f"{cell.folder}/{index:05d}"
            rows.append((sample, *key[1:], cell.prompts[turn], image_seed(*key)))
        schema = {
            "sample": pl.String, "class": pl.String, "group": pl.String, "template": pl.String,
            "index": pl.Int64, "prompt": pl.String, "seed": pl.Int64,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _check(self, where: str) -> None:
        """Refuse what would make prompts or columns that mean nothing."""
        for key in ("class_axis", "attribute"):
            if not _NAME.fullmatch(getattr(self, key)):
                raise InputError(
                    f"{where}: {key} {getattr(self, key)!r} is no name of a column; "
                    "write small letters, digits and _, such as perceived_gender"
                )
        if self.attribute in (*COLUMNS, *RESERVED, FLAGGED, "class", self.class_axis):
            raise InputError(
                f"{where}: attribute {self.attribute!r} is the name of another column; choose another"
            )
        _check_names(self.classes, "classes", 1, where)
        _check_names(self.groups, "groups", 2, where)
        _check_numbers(self)
        for group in self.groups:
            if not group.templates and not self.templates:
                raise InputError(f"{where}: group {group.name!r} has no template; add templates: [...]")
        group_templates = [template for group in self.groups for template in group.templates]
        for template in (*self.templates, *group_templates):
            self._check_template(template, where, says_group=template not in group_templates)
        alike = Counter(prompt for cell in self.cells() for prompt in set(cell.prompts)).most_common(1)
        if alike[0][1] > 1:
            raise InputError(f"{where}: two cells have the prompt {alike[0][0]!r}; let groups differ in text")

    def _check_template(self, template: str, where: str, *, says_group: bool) -> None:
        placeholders = _PLACE.findall(template)
        possible = ("class", self.class_axis, "group", self.attribute)
        check_known(f"place in {template!r} of {where}", placeholders, dict.fromkeys(possible))
        if not set(placeholders) & set(possible[:2]):
            raise InputError(f"{where}: template {template!r} does not say the class; put {{class}} in it")
        if says_group and not set(placeholders) & set(possible[2:]):
            raise InputError(f"{where}: template {template!r} does not say the group; put {{group}} in it")


def shipped() -> list[str]:
    """Names of the definitions that come with evenhand."""
    folder = _folder()
    if not folder.is_dir():
        return []
    return sorted(path.name[:-5] for path in folder.iterdir() if path.name.endswith(".yaml"))


def image_seed(seed: int, class_name: str, group: str, template: str, index: int) -> int:
    """The seed of one image, in [0, 2**32): a hash of its place, so that other images do not matter."""
    key = json.dumps([seed, class_name, group, template, index]).encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=4).digest(), "big")


def _folder() -> Any:
    return files("evenhand.benchmarks.datasets.generation")


def _entries(fields: dict[str, Any], key: str, possible: Sequence[str], where: str) -> tuple[Entry, ...]:
    entries = []
    for number, entry in enumerate(field_of(fields, key, list, ..., where), 1):
        here = f"{where}, {key} {number}"
        holder = entry if isinstance(entry, dict) else {"name": entry}
        check_keys(holder, possible, here)
        name = field_of(holder, "name", str, ..., here)
        template = field_of(holder, "template", str, "", here)
        entries.append(
            Entry(
                name,
                field_of(holder, "text", str, name, here),
                field_of(holder, "wordnet_id", str, "", here),
                (template,) if template else texts_of(holder, "templates", here),
            )
        )
    return tuple(entries)


def _dump_entry(entry: Entry) -> Any:
    """A class or group as short as the grammar allows."""
    fields: dict[str, Any] = {"name": entry.name}
    fields |= {"text": entry.text} if entry.text != entry.name else {}
    fields |= {"wordnet_id": entry.wordnet_id} if entry.wordnet_id else {}
    fields |= {"templates": list(entry.templates)} if entry.templates else {}
    return entry.name if len(fields) == 1 else fields


def _check_names(entries: Iterable[Entry], key: str, least: int, where: str) -> None:
    names = [entry.name for entry in entries]
    repeated = [name for name, count in Counter(name.casefold() for name in names).items() if count > 1]
    if repeated:
        raise InputError(f"{where}: {key} name {one_line(repeated[0])!r} twice; keep one")
    if len(names) < least:
        raise InputError(f"{where}: {key} lists {len(names)}; it needs {least} or more")


def _check_numbers(definition: GenerationDefinition) -> None:
    if not 1 <= definition.images_per_cell <= MAX_IMAGES:
        raise ParameterError(
            f"images_per_cell={definition.images_per_cell} is not possible; choose 1 to {MAX_IMAGES:,}"
        )
    if not 0 <= definition.seed < 2**63:
        raise ParameterError(f"seed={definition.seed} is not possible; choose 0 or more")


def _slug(name: str) -> str:
    """A file name of a name; a changed one ends in a hash, so that names stay distinct."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
    same = plain.replace("-", " ") == name
    return plain if same else f"{plain or 'x'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
