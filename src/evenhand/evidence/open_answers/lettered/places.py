"""Options that an answer names by their place: "the second one", "option number 2". Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_SHORT = ("1st", "2nd", "3rd", *(f"{number}th" for number in range(4, 11)))
_PLACES = {word: index for words in (_WORDS, _SHORT) for index, word in enumerate(words)}
_PLACE = rf"({'|'.join(_PLACES)}|last|former|latter)"
_OPTION = r"(?:option|choice|caption|sentence|description|statement|candidate)"
_ENDS = r"(?=\W*$|\s*[.,;:!)\n]|\s+(?:because|since|as|or|and|is (?:correct|right|best))\b)"
_NAMED = re.compile(
    rf"(?<!my )(?<!your )\b(?:the )?(?:very )?{_PLACE} {_OPTION}\b|"
    rf"\b{_OPTION}\s?(?:number|no\.?|nr\.?|#)?\s?(\d{{1,2}})\b(?!\s?%|[.,]\d)|"
    rf"^\W*(?:number |no\. ?|#)(\d{{1,2}})(?=\W*$)|"
    rf"\bthe {_PLACE} one\b{_ENDS}|"
    rf"(?:^|(?<=\bis )|(?<=\bbe )|(?<=\bchoose )|(?<=\bpick )|(?<=\bselect )|(?<=\bwith )|(?<=\beither )|"
    rf"(?<=\bor )|(?<=\band )|(?<=\bperhaps )|(?<=\bmaybe )|(?<=\bpossibly ))the {_PLACE}\b{_ENDS}",
    re.IGNORECASE,
)
_LETTERED = re.compile(rf"(?i:\b{_OPTION}) [A-Z]\b")
_COUNTED = re.compile(rf"\d|\b{_PLACE}\b", re.IGNORECASE)


def with_letters(text: str, options: Sequence[str]) -> str:
    """A text in which options named by their place have their letter: "the second one" is "option B".

    Args:
        text: Without markup; where it names letters, nothing is changed.
        options: Texts of the options; where one holds a number or a place itself, nothing is changed.

    Returns:
        The text; places beyond the options stay.
    """
    if _LETTERED.search(text) or any(map(_COUNTED.search, options)):
        return text

    def lettered(match: re.Match[str]) -> str:
        word = next(filter(None, match.groups())).lower()
        index = int(word) - 1 if word.isdigit() else _PLACES.get(word, len(options) - 1)
        if word == "former":
            index = 0
        pair = word not in ("former", "latter") or len(options) == 2
        return f"option {LETTERS[index]}" if pair and 0 <= index < len(options) else match[0]

    return _NAMED.sub(lettered, text)
