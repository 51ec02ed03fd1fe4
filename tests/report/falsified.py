"""Statements that say something else in one of their places, or in their words."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from evenhand.display.text.statement import Slot, Statement


def share(value):
    """A share in points."""
    return Slot(f"{value * 100:.0f}".replace("-", "−"), round(value, 2), is_share=True)


def number(value):
    """A number in its shortest form."""
    return Slot(f"{value:,g}".replace("-", "−"), float(value))


def with_place(text, name, change, skip=0):
    """Another text in a place of this name, after ``skip`` of them; ``change`` is given the old text."""
    met = count()

    def changed(part):
        places = {}
        for key, inner in part.places.items():
            if key == name and not isinstance(inner, Statement):
                places[key] = change(inner) if next(met) == skip else inner
            else:
                places[key] = changed(inner) if isinstance(inner, Statement) else inner
        return Statement(part.pattern.format(**places) if places else part.pattern, part.pattern, places)

    other = changed(text)
    assert next(met) > skip, f"{text} has no such place {name}"
    return other


def with_words(text, before, after):
    """Another pattern, in English."""
    places = {
        key: with_words(inner, before, after) if isinstance(inner, Statement) else inner
        for key, inner in text.places.items()
    }
    pattern = text.pattern.replace(before, after)
    return Statement(pattern.format(**places) if places else pattern, pattern, places)


def placed(name, change, skip=0):
    """``with_place`` of a text that comes later; a ``change`` that is no function is what stands there."""
    return lambda text: with_place(text, name, change if callable(change) else lambda _: change, skip)


def worded(before, after):
    """``with_words`` of a text that comes later."""
    return lambda text: with_words(text, before, after)


def headline(index=0, **changes):
    """First lines of which one headline has something else in some fields, made from what stood there."""

    def falsified(overview):
        line = overview.headlines[index]
        other = replace(line, **{name: change(getattr(line, name)) for name, change in changes.items()})
        assert other != line
        return replace(
            overview, headlines=(*overview.headlines[:index], other, *overview.headlines[index + 1 :])
        )

    return falsified
