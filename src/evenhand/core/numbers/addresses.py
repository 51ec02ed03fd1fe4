"""Addresses without what opens them: passwords, and signatures and tokens of a query."""

from __future__ import annotations

import re

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
