"""What a benchmark calls things, as data: sentences of reports speak of *professionals*, *photos*, *race*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from evenhand.core.cards import Model
from evenhand.core.errors import InputError

Noun = tuple[str, str]
"""Singular and plural."""

WORDS = "words"
"""The key of a manifest under which a benchmark's words travel with its runs."""


class Attribute(Model):
    """An annotated attribute.

    Attributes:
        title: How a sentence calls it: *perceived race*; empty: its name without underscores.
        groups: How sentences call the members of a group, in the plural: ``{"black": "Black people"}``.
    """

    title: str = ""
    groups: dict[str, str] = Field(default_factory=dict)


class Nouns(Model):
    """Singular and plural of what a benchmark is about.

    Attributes:
        sample: What a model is asked about once.
        query: What a ranking answers.
        attributes: Those that have words of their own.
    """

    sample: Noun = ("image", "images")
    query: Noun = ("query", "queries")
    attributes: dict[str, Attribute] = Field(default_factory=dict)

    def attribute(self, name: str) -> str:
        """How a sentence calls an attribute."""
        title = self.attributes[name].title if name in self.attributes else ""
        return title or name.replace("_", " ")

    def members(self, attribute: str, group: str) -> str:
        """How a sentence calls the members of a group."""
        noun = self.attributes[attribute].groups.get(group) if attribute in self.attributes else None
        return noun or f"the group “{group}”"


class BenchmarkWords(Model):
    """What a benchmark says of itself where its package need not be installed."""

    asks: str = ""  # its question, as a report begins with it
    examined: str = "the predictions"  # what of a model it examines
    nouns: Nouns = Nouns()
    limits: tuple[str, ...] = ()  # what its findings cannot show, in sentences
    people: tuple[str, ...] = ()  # attributes of people, as findings name them; none: groups of other things


def words_of(manifest: Mapping[str, Any]) -> BenchmarkWords:
    """The words that a run carries; the usual ones where it carries none."""
    return checked(manifest.get(WORDS) or {}, "manifest.json has")


def checked(words: object, whose: str) -> BenchmarkWords:
    """Words as somebody declared them; an error names the first that cannot be used, after ``whose``."""
    try:
        return BenchmarkWords.model_validate(words)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "words"
        raise InputError(f"{whose} {where} = {first['input']!r}: {first['msg']}") from None
