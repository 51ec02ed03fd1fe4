"""Spelling of open answers: one way of writing, no articles, no punctuation. Pure functions of a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

REFUSAL, EMPTY, OTHER = "(refusal)", "(empty)", "(other)"
SPECIAL = (REFUSAL, EMPTY, OTHER)
"""Labels of their own; no step changes them."""
LONGEST = 2_000
"""Characters; a longer text is no label with words around it, and only looked up as it is."""

_PLAIN = {"“”„‟«»": '"', "‘’‚‛´": "'", "‐‑‒–—―−": "-"}
_MARKS = {ord(mark): plain for marks, plain in _PLAIN.items() for mark in marks}
_BARE = re.compile(r"[a-z0-9]+(?: [a-z0-9]+)*")  # most names and answers: nothing to fold, no punctuation
_TAG = re.compile(r"</?[a-z][a-z0-9]{0,9}\s?/?>")
_EMPHASIS = re.compile(r"\*\*|__|`+")
_STAR = re.compile(r"(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")
_BREAK = re.compile(r"\s*[\r\n\v\f\x85\u2028\u2029]+\s*")
_OPENING = re.compile(r"^(?:(?:a|an|the|some|one|my|his|her|their|its|your|our)\s+(?=\S))+")
_KEPT = "'&%/+#"
_COUNTS = "two|three|four|five|six|several|many|multiple|both|few|\\d{1,3}"
_COLOURS = (
    "black|white|red|blue|green|yellow|brown|grey|gray|orange|pink|purple|golden|silver|colorful|colourful|"
    "dark|bright|blonde"
)
_LOOKS = (
    "small|large|big|little|tiny|huge|tall|short|old|older|elderly|young|younger|middle-aged|new|beautiful|"
    "cute|nice|single|empty|open|closed|wooden|plastic|metal|professional|experienced|skilled|qualified|"
    "certified|licensed|local|modern|vintage|typical|smiling"
)
_ADJECTIVE = re.compile(
    rf"^(?:{_COUNTS}|{_COLOURS}|{_LOOKS})(?:,? and (?={_COLOURS}|{_LOOKS})|,?\s+|-)(?=\S)"
)
_GENDERED = re.compile(r"^(?:male|female|man|woman|lady|men|women|boy|girl|(?:wo)?men'?s|ladies)\s+(?=\S)")


def one_writing(text: str) -> str:
    """A text in lower case, one encoding (NFKC), one space between words, without markup.

    Lines become sentences, so that what stands on a second line is not taken for part of the first. Curly
    quotes and long dashes become plain ones; characters that nobody sees (zero width) go. The same once more
    gives the same.
    """
    if text in SPECIAL:
        return text
    for _ in range(8):  # folding may make what another folding changes
        if _BARE.fullmatch(text) or (new := _written_once(text)) == text:
            break
        text = new
    return text


def _written_once(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = _BREAK.sub(_sentence_end, folded.translate(_MARKS).strip())
    visible = folded.translate(_UNSEEN)
    plain = _STAR.sub("", _EMPHASIS.sub("", _TAG.sub(" ", visible)))
    return " ".join(plain.split())


def _sentence_end(match: re.Match[str]) -> str:
    before = match.string[: match.start()].rstrip("*_` ")[-1:]
    return " " if before in ".:;,!?" else ". "


class _Table(dict[int, int | str | None]):
    """What ``str.translate`` makes of each character, found out once."""

    def __init__(self, rule: Callable[[str], int | str | None]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> int | str | None:
        self[code] = self._rule(chr(code))
        return self[code]


def _seen(character: str) -> str | None:
    unseen = unicodedata.category(character) in ("Cf", "Cc", "Cs", "Co", "Cn")
    return None if unseen and not character.isspace() else character


def _spaced(character: str) -> str:
    if character in _KEPT:
        return character
    return " " if unicodedata.category(character).startswith("P") or character in "`|~^<>=" else character


_UNSEEN, _SPACED = _Table(_seen), _Table(_spaced)


def without_article(text: str) -> str:
    """A text without the articles and possessives it begins with; one that is nothing else stays."""
    return _OPENING.sub("", text)


def without_adjective(text: str) -> str:
    """A text without the first word, if that is a number, a colour or a look: it names no kind of thing."""
    return _ADJECTIVE.sub("", text)


def without_gender(text: str) -> str:
    """A text without a first word such as ``female``, that tells the gender of who is named."""
    return _GENDERED.sub("", text)


def without_punctuation(text: str) -> str:
    """A text without punctuation: hyphens become spaces; apostrophes, ``&``, ``/`` and ``%`` stay in words.

    Signs that are no punctuation, such as ``+`` or an emoji inside a text, stay. Emoji beside words go.
    """
    if text in SPECIAL:
        return text
    words = [word.strip("'&/") for word in text.translate(_SPACED).split()]
    spoken = [word for word in words if word.isalnum() or any(map(_is_word, word))]
    return " ".join(spoken or filter(None, words))


def plain_form(text: str) -> str:
    """How a label or spelling looks in an answer: one writing, no punctuation."""
    text = one_writing(text)
    return text if _BARE.fullmatch(text) else without_punctuation(text)


def _is_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LN"


def says_nothing(text: str) -> bool:
    """Whether a text has nothing but spaces, punctuation and characters that nobody sees."""
    return all(unicodedata.category(character)[0] in "PZC" or character in "`|~^<>=" for character in text)
