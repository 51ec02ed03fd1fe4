"""The language of a report: its texts are looked up by their English, which stands where none is found.

Catalogues are gettext's ``languages/CODE.po``, read only for a language other than English.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property
from gettext import NullTranslations
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import InputError
from evenhand.display.text.statement import Statement

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

VARIABLE = "EVENHAND_LANGUAGE"
"""Names the language of reports, such as ``de``."""

ENGLISH = "en"
_LINE = re.compile(r'^(msgid|msgstr)? ?(".*")$', re.MULTILINE)
_PARTS = re.compile(r"“[^”]*”|\d+(?:,\d{3})*(?:\.\d+)?")
_COUNTED = re.compile(r"\(([\d,]+) (row|rows|by weight)\)")
_COUNTS = {"row": "({n} row)", "rows": "({n} rows)", "by weight": "({n} by weight)"}
_BETWEEN_NAMES = re.compile(r"(?<='|\)) (and|or) (?=')")
_AND_MORE = re.compile(r" and ([\d,]+) more$")
_PLACE = r"((?:(?!\. [A-Z]).)+?)"  # what stands in one, which no sentence ends in
_NAMES = r"([\w, ]+?)"  # what stands in one before brackets that begin a text: names, and no other text
_BREAKS = tuple(map(re.compile, (r"\. ", ": ", r"(?<=\)); ", "; ")))  # between texts that are known apart
_FEWEST_LETTERS = 15  # of a finished text, its numbers and names left out, that a catalogue's is known by
_NUMBER = "1,234.5"
"""What a catalogue translates to say how its language writes numbers."""


class Catalogue(NullTranslations):
    """The texts of a language, by the English text, and the signs of its numbers."""

    def __init__(self, code: str = ENGLISH) -> None:
        super().__init__()
        self.code = code
        self.texts = {} if code == ENGLISH else _read(code)
        signs = self.texts.get(_NUMBER, _NUMBER)
        self.number_signs = str.maketrans({",": signs[1], ".": signs[-2]})
        self.english_signs = str.maketrans({signs[1]: ",", signs[-2]: "."})

    @cached_property
    def finished(self) -> list[tuple[re.Pattern[str], str]]:
        """Texts with places for whatever stands there, the longest first, and their translations."""
        keys = [key for key in self.texts if "{}" in key and len(key.replace("{}", "")) >= _FEWEST_LETTERS]
        keys.sort(key=len, reverse=True)
        return [(re.compile(_with_places(key)), self.texts[key]) for key in keys]

    def gettext(self, message: str) -> str:
        """The text; in English where the catalogue has none."""
        return self.texts.get(message) or super().gettext(message)


_current: ContextVar[Catalogue] = ContextVar("catalogue", default=Catalogue())  # noqa: B039 - never changed


def _(text: str, /, **values: Any) -> str:
    """A statement in the language that is written at the moment, with values in the places of their names."""
    translated = _current.get().gettext(text)
    return Statement(translated.format(**values) if values else translated, text, values)


def plural_of(singular: str, plural: str, n: float | None, /, **values: Any) -> str:
    """The same for one thing, or for several."""
    return _(singular if n == 1 else plural, **values)


def filled(text: str) -> str:
    """A finished text; its numbers, quotations and names stand in the places of ``{}`` in the catalogue's.

    Of one that is not there, what stands before a full stop, a colon or a semicolon, and what after it.
    """
    translated = _known(text)
    if translated is not None:
        return translated
    at = next(filter(None, (mark.search(text) for mark in _BREAKS)), None)
    if at is None:
        return current_catalogue().gettext(text)
    return f"{filled(text[: at.start()])}{at[0]}{filled(text[at.end() :])}"


def _known(text: str) -> str | None:
    """The translation of a whole finished text; None where the catalogue has none."""
    catalogue = current_catalogue()
    if catalogue.code == ENGLISH or text in catalogue.texts:
        return catalogue.gettext(text)
    key = _PARTS.sub("{}", text)
    if key in catalogue.texts:
        return catalogue.texts[key].format(*map(_part, _PARTS.findall(text)))
    for pattern, translated in catalogue.finished:
        if match := pattern.fullmatch(text):
            return translated.format(*map(_part, match.groups()))
    return None


def _with_places(key: str) -> str:
    """A pattern for a finished text."""
    pattern = _PLACE.join(map(re.escape, key.split("{}")))
    return _NAMES + pattern.removeprefix(_PLACE) if key.startswith("{} (") else pattern


def _part(text: str) -> str:
    """What stands in a place of a finished text: a number, a quotation, names with counts, or a text."""
    if text.startswith("“"):
        return _("“{text}”", text=text[1:-1])
    if _PARTS.fullmatch(text):
        return digits(text)
    translated = _known(text) if len(text) >= _FEWEST_LETTERS else None  # a short one may be a name
    if translated is not None:
        return translated
    text = _BETWEEN_NAMES.sub(lambda match: f" {_(match[1])} ", text)
    text = _AND_MORE.sub(lambda match: _(" and {n} more", n=digits(match[1])), text)
    return _COUNTED.sub(lambda match: _(_COUNTS[match[2]], n=digits(match[1])), text)


def lowered(title: str, letters: int | None = None) -> str:
    """A title inside a sentence: in English its first letters (None: all) are small."""
    if current_catalogue().code != ENGLISH:
        return title
    return title[:letters].lower() + ("" if letters is None else title[letters:])


def digits(text: str) -> str:
    """A number, written with the signs of the language."""
    catalogue = _current.get()
    return text if catalogue.code == ENGLISH else text.translate(catalogue.number_signs)


def current_catalogue() -> Catalogue:
    """The catalogue of the language that is written at the moment."""
    return _current.get()


@contextmanager
def written_in(language: str | None) -> Iterator[None]:
    """Write all texts of the block in a language; None: the one that the environment names, else English."""
    token = _current.set(_catalogue(language or os.environ.get(VARIABLE) or ENGLISH))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def reports_in(language: str) -> Iterator[None]:
    """Write the reports of the block, also those of its processes, in a language."""
    before, os.environ[VARIABLE] = os.environ.get(VARIABLE), _catalogue(language).code
    try:
        yield
    finally:
        os.environ.pop(VARIABLE)
        os.environ |= {} if before is None else {VARIABLE: before}


@cache
def _catalogue(code: str) -> Catalogue:
    if code == ENGLISH:
        return Catalogue()
    names = sorted(path.name for path in _folder().iterdir())
    codes = [ENGLISH, *(name.removesuffix(".po") for name in names if name.endswith(".po"))]
    if code not in codes:
        raise InputError(f"reports are written in {' or '.join(codes)}, not in {code!r}")
    return Catalogue(code)


def _folder() -> Traversable:
    from importlib.resources import files

    return files("evenhand.display.text") / "languages"


def _read(code: str) -> dict[str, str]:
    """Texts of a catalogue, by their English."""
    from ast import literal_eval

    texts: dict[str, str] = {}
    parts = {"msgid": "", "msgstr": ""}
    field = "msgstr"
    lines = _LINE.findall((_folder() / f"{code}.po").read_text(encoding="utf-8"))
    for name, text in [*lines, ("msgid", '""')]:
        if name == "msgid":
            texts[parts["msgid"]] = parts["msgstr"]
            parts = {"msgid": "", "msgstr": ""}
        field = name or field
        parts[field] += literal_eval(text)
    texts.pop("", None)
    return texts
