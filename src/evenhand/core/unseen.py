"""Text from data, models and servers: it cannot act on what shows it, pose as another text, or open anything.

Each medium has one place where all of it passes: the terminal ``cli/arguments/plain.py`` and ``console.py``,
pages the filters of ``report/inline.py``, JSON ``json_escaped``, JSON for other tools
``exports/exported.json_bytes``, Markdown and XML ``exports/exported.py``, lines of messages
``errors.one_line``. CSV and Parquet hold labels as they are: CSV only keeps spreadsheets from running
them (``files/tables/spreadsheets.py``).
"""

from __future__ import annotations

import json
import re
import unicodedata

# Invisible or text-reversing characters are shown, so that a label cannot pose as another one.
_SIGNS: dict[str, str] = {
    **{chr(code): chr(0x2400 + code) for code in range(0x20)},
    **dict.fromkeys("\n\r\u2028\u2029", "⏎"),
    "\t": "⇥",
}
_SPACE = "␣"
_UNSEEN = {"Cc", "Cf", "Cn", "Co"}  # categories without a shape of their own
_BLANK = {  # letters and marks that draw nothing: fillers, joiners, selectors of variants
    *map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180F, 0x2800, 0x3164, 0xFFA0)),
    *map(chr, (*range(0x180B, 0x180E), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))),
}
_JOINER, _AS_PICTURE = "\u200d", "\ufe0f"
_KEYCAPS, _KEYCAP = "0123456789#*", "\u20e3"
_ACTING = (
    "\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u2067\u206a-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
_IN_JSON = re.compile(f"[{_ACTING}\u2068\u2069]")
_IN_TEXT = re.compile(f"\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f{_ACTING}\ud800-\udfff]")


def visible(text: object) -> str:
    """Any text with line breaks, control, direction and all other invisible characters shown as signs.

    Joiners and selectors that make one picture of several signs, as in emoji, stay. Of blanks, those at the
    ends are signs, which would not be seen either.
    """
    string = str(text)
    inside = string.strip(" ")
    if inside != string:
        before = len(string) - len(string.lstrip(" "))
        after = len(string) - before - len(inside)
        return f"{_SPACE * before}{visible(inside)}{_SPACE * after}"
    if string.isascii() and string.isprintable():
        return string
    return "".join(_sign(string, index) for index in range(len(string)))


def _sign(text: str, index: int) -> str:
    letter = text[index]
    if letter in _SIGNS:
        return _SIGNS[letter]
    category = unicodedata.category(letter)
    if category == "Cs":
        return "\ufffd"
    if (category in _UNSEEN or letter in _BLANK) and not _of_a_picture(text, index):
        return f"[U+{ord(letter):04X}]"
    return letter


def _of_a_picture(text: str, index: int) -> bool:
    """Whether a joiner or selector stands where emoji have it."""
    letter, before, after = text[index], text[max(index - 1, 0)], text[index + 1 : index + 2]
    if letter == _AS_PICTURE:
        keycap = before in _KEYCAPS and after == _KEYCAP
        return index > 0 and (keycap or unicodedata.category(before) == "So")
    follows_picture = before == _AS_PICTURE or unicodedata.category(before) in ("So", "Sk")
    return letter == _JOINER and follows_picture and after != "" and unicodedata.category(after) == "So"


def harmless(text: object) -> str:
    """The same for text of several lines: line breaks, tabs, blanks and isolates stay as they are.

    An isolate (U+2068, U+2069) is what sentences put around a label of another direction; it turns nothing
    outside of it.
    """
    string = str(text)
    return _IN_TEXT.sub(lambda match: _sign(string, match.start()), string)


def harmless_line(text: object) -> str:
    """The same on one line, its blanks kept."""
    return harmless(text).replace("\n", _SIGNS["\n"])


def shown_in(value: object) -> object:
    """Lists and mappings with every text in them, keys too, as ``harmless`` has it."""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, dict):
        return {shown_in(key): shown_in(entry) for key, entry in value.items()}
    return [shown_in(entry) for entry in value] if isinstance(value, list | tuple) else value


def json_escaped(text: str) -> str:
    r"""JSON of the same content in which no character acts on a terminal, as ``\u009b`` for U+009B."""
    return _IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], text)


_ADDRESS = re.compile(
    # What follows an @ is the server of an API model: its options are no secrets, and passwords are refused.
    r"(?<![@\w])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?:(?P<user>[^\s/?#]*)@)?"
    r"(?P<place>[^\s?#'\"<>]*)(?P<query>\?[^\s#'\"<>]*)?(?P<fragment>#[^\s'\"<>]*)?"
)
_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs", "adl")  # of Azure: a name without a password stands before @


def without_secrets(text: object) -> str:
    """A text whose addresses have no password, no values of their query and no fragment.

    ``https://me:word@host/t.csv?sig=abc&v=2`` becomes ``https://…@host/t.csv?sig=…&v=…``: it says where
    something was read, and opens nothing. Nothing says which value is a secret, so that all go.
    """
    return _ADDRESS.sub(_cut, str(text))


def _cut(match: re.Match[str]) -> str:
    scheme, user = match["scheme"], match["user"]
    is_container = scheme.lower() in _CONTAINERS and user is not None and ":" not in user
    before = "" if user is None else f"{user if is_container else '…'}@"
    values = (match["query"] or "").removeprefix("?").split("&")
    names = [f"{value.partition('=')[0]}=…" if "=" in value else "…" for value in values]
    return f"{scheme}://{before}{match['place']}" + (f"?{'&'.join(names)}" if match["query"] else "")
