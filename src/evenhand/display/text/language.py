"""The language of a report: its texts are looked up by their English, which stands where none is found.

Catalogues are gettext's ``languages/CODE.po``, read only for a language other than English.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import NullTranslations
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import InputError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

VARIABLE = "EVENHAND_LANGUAGE"
"""Names the language of reports, such as ``de``."""

ENGLISH = "en"
_LINE = re.compile(r'^(msgid|msgstr)? ?(".*")$', re.MULTILINE)
_PARTS = re.compile(r"“[^”]*”|\d+(?:,\d{3})*(?:\.\d+)?")
_NUMBER = "1,234.5"
"""What a catalogue translates to say how its language writes numbers."""


class Catalogue(NullTranslations):
    """The texts of a language.

    Attributes:
        code: Of the language.
        texts: By the English text.
        number_signs: Turn a number as English writes it into the language's.
        english_signs: Turn it back.
    """

    def __init__(self, code: str = ENGLISH) -> None:
        super().__init__()
        self.code = code
        self.texts = {} if code == ENGLISH else _read(code)
        signs = self.texts.get(_NUMBER, _NUMBER)
        self.number_signs = str.maketrans({",": signs[1], ".": signs[-2]})
        self.english_signs = str.maketrans({signs[1]: ",", signs[-2]: "."})

    def gettext(self, message: str) -> str:
        """The text; in English where the catalogue has none."""
        return self.texts.get(message) or super().gettext(message)


_current: ContextVar[Catalogue] = ContextVar("catalogue", default=Catalogue())  # noqa: B039 - never changed


def _(text: str, /, **values: Any) -> str:
    """A text in the language that is written at the moment, with values in the places of their names."""
    translated = _current.get().gettext(text)
    return translated.format(**values) if values else translated


def plural_of(singular: str, plural: str, n: float | None, /, **values: Any) -> str:
    """The same for one thing, or for several."""
    return _(singular if n == 1 else plural, **values)


def filled(text: str) -> str:
    """A finished text; its numbers and quotations stand in the places of ``{}`` in the catalogue's.

    Of one that is not there, what stands before a colon or a full stop, and what stands after it.
    """
    catalogue = _current.get()
    if catalogue.code == ENGLISH or text in catalogue.texts:
        return catalogue.gettext(text)
    key = _PARTS.sub("{}", text)
    if key in catalogue.texts:
        return catalogue.texts[key].format(*map(_part, _PARTS.findall(text)))
    sign = next((sign for sign in (": ", ". ") if sign in text), "")
    if not sign:
        return catalogue.gettext(text)
    return sign.join(map(filled, text.split(sign, 1)))


def _part(text: str) -> str:
    return _("“{text}”", text=text[1:-1]) if text.startswith("“") else digits(text)


def digits(text: str) -> str:
    """A number, written with the signs of the language."""
    catalogue = _current.get()
    return text if catalogue.code == ENGLISH else text.translate(catalogue.number_signs)


def current_catalogue() -> Catalogue:
    """The catalogue of the language that is written at the moment."""
    return _current.get()


@contextmanager
def written_in(language: str | None) -> Iterator[None]:
    """Write all texts of the block in a language.

    Args:
        language: Its code; None: what the environment names, else English.

    Raises:
        InputError: There is no such language.
    """
    token = _current.set(_catalogue(language or os.environ.get(VARIABLE) or ENGLISH))
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def reports_in(language: str) -> Iterator[None]:
    """Write the reports of the block, also those of its processes, in a language.

    Raises:
        InputError: There is no such language.
    """
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
