"""``a(n)`` in a prompt becomes ``a`` or ``an``, by how the next word begins to sound."""

from __future__ import annotations

import re
import unicodedata

_ARTICLE = re.compile(r"\b([Aa])\(n\)(\s+[^\w\s]*)(\d[\d.,]*[\w'’-]*|[^\W_][\w'’-]*)")
_AS_CONSONANT = re.compile(
    r"""
    uni(?!deal|dent|diom|gn|ll|ron|sol|ss|tem|m(?!o[dl])|n(?!omin|uc))  # a unicyclist, an unidentified
    | unan(?=im) | unary | u[kv](?!iyo) | ut(?![mt]) | us[aeiu] | ur[aeiou] | u(bi|fo|gan|gri|lys)
    | eu | ew(?!ok) | one(?![ir]) | once | oui | ouag | oaxa
    """,
    re.VERBOSE | re.IGNORECASE,
)
_AS_VOWEL = re.compile(r"hour|honest|honou?r|heir|hors\b|y[^aeiou\W]", re.IGNORECASE)
_NAMED_WITH_VOWEL = "AEFHILMNORSX"  # letters whose names begin with one
_BEGINNINGS = re.compile(r"[FS]?[AEIOUY]|F[LR]|[A-EG-RT-Z][AEIOUY]|S[CHKLMNPQTW]|RH")  # of capitals as a word
_SAID_AS_WORDS = ("HUD", "LAN", "NAS", "RAM", "ROM", "SIM")
_SPELT_ALL_THE_SAME = re.compile(r"U(CL|EF|KI|NE|NH|S[A-Z])")
_UNFOLDED = str.maketrans({"ø": "o", "Ø": "O", "æ": "a", "Æ": "A", "œ": "o", "Œ": "O"})


def with_articles(text: str) -> str:
    """The text with each ``a(n)`` decided: ``a(n) umpire`` is ``an umpire``, ``a(n) unicyclist`` is ``a``.

    By rules for English, not by a dictionary: numbers as they are said (``an 80-year-old``, ``a 100 m race``,
    ``an 1880s house``), up to three capitals letter by letter (``an MRI``, ``a UX designer``), accents left
    out. A word that they get wrong is written with its article in a template of its own.
    """
    return _ARTICLE.sub(lambda match: match[1] + "n" * _takes_n(match[3]) + match[2] + match[3], text)


def _takes_n(text: str) -> bool:
    if text[0].isdecimal():
        return _number_takes_n(text)
    word = unicodedata.normalize("NFD", text.translate(_UNFOLDED))
    word = "".join(letter for letter in word if not unicodedata.combining(letter))
    first = re.split(r"[-'’]", word, maxsplit=1)[0]
    if _is_spelt(word, first):
        return first[0].upper() in _NAMED_WITH_VOWEL
    if _AS_VOWEL.match(word):
        return True
    return word[0].lower() in "aeiou" and not _AS_CONSONANT.match(word)


def _number_takes_n(text: str) -> bool:
    """Whether a number is said with ``eight``, ``eleven`` or ``eighteen`` first."""
    match = re.match(r"\d+(?:,\d{3})*", text)
    number = match[0] if match else text
    digits = number.replace(",", "")
    if digits[0] == "8":
        return True
    hundreds = len(number) == 4  # eighteen eighty, eleven hundred; 1,800 is one thousand
    return digits[:2] in ("11", "18") and (len(digits) % 3 == 2 or hundreds)


def _is_spelt(word: str, first: str) -> bool:
    """Whether the first part of a word is said letter by letter: an X-ray, an mRNA, an HDMI cable."""
    if len(first) == 1 or re.match("[a-z][A-Z]", word):
        return len(first) > 1 or not word[1:2].startswith(("'", "’"))
    if not first.isupper() or first in _SAID_AS_WORDS:
        return False
    return len(first) < 4 or not _BEGINNINGS.match(first) or bool(_SPELT_ALL_THE_SAME.match(first))
