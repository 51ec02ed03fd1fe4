"""Synonyms from WordNet: the other words of a label's only sense."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evenhand.core.errors import InputError, MissingExtra, one_line
from evenhand.evidence.open_answers.synonyms import Synonym
from evenhand.evidence.open_answers.text import plain_form

LEXICON = "oewn:2024"
"""The Open English WordNet of 2024 (CC BY 4.0)."""


def wordnet_synonyms(
    names: Iterable[str], *, lexicon: str = LEXICON, senses: Mapping[str, str] | None = None
) -> list[Synonym]:
    """Words that stand in one synset with a label.

    A label with several senses as a noun, such as crane, gets none, unless its sense is given: the words of
    its other senses would be wrong. A word that shares a synset with two labels is left out too.

    Args:
        names: The labels.
        lexicon: A lexicon that the library ``wn`` has, such as ``oewn:2024``.
        senses: Label to the id of its synset.

    Returns:
        Lines of a synonym file, of the kind ``same``, whose reason names the synset.

    Raises:
        MissingExtra: The library ``wn`` is not installed.
        InputError: The lexicon is not there.
    """
    try:
        import wn
    except ImportError:
        raise MissingExtra("wn", "answers") from None
    try:
        words = wn.Wordnet(lexicon)
    except wn.Error:
        raise InputError(
            f"WordNet {lexicon!r} is not on this machine; type: python -m wn download {lexicon}"
        ) from None
    synset_ids = senses or {}
    labels = {plain_form(name): name for name in names}
    synonyms: dict[str, Synonym] = {}
    shared: set[str] = set()
    for form, name in labels.items():
        synsets = [words.synset(synset_ids[name])] if name in synset_ids else words.synsets(form, pos="n")
        if len(synsets) != 1:
            continue
        for lemma in synsets[0].lemmas():
            other = plain_form(lemma)
            if other in labels or not other:
                continue
            meaning = one_line(synsets[0].definition() or "")
            line = Synonym(str(lemma), name, "same", f"WordNet {synsets[0].id}: {meaning}")
            if synonyms.setdefault(other, line).name != name:
                shared.add(other)
    return [line for form, line in synonyms.items() if form not in shared]
