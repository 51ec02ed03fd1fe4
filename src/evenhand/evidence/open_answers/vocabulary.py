"""Vocabulary: the labels that an open answer may be brought to, and other spellings of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from evenhand.core.errors import InputError, MissingExtra, ParameterError, one_line
from evenhand.evidence.open_answers.answer_lemma import singular
from evenhand.evidence.open_answers.synonyms import (
    HEADER,
    SHIPPED,
    Synonym,
    check_lines,
    fitted,
    read_synonyms,
)
from evenhand.evidence.open_answers.text import SPECIAL, one_writing, plain_form

LEXICON = "oewn:2024"
"""The Open English WordNet of 2024 (CC BY 4.0)."""


def wordnet_synonyms(
    names: Iterable[str], *, lexicon: str = LEXICON, senses: Mapping[str, str] | None = None
) -> list[Synonym]:
    """Words that stand in one synset with a label.

    A label with several senses as a noun, such as crane, gets none, unless ``senses`` gives the id of its
    synset: the words of its other senses would be wrong. A word that shares a synset with two labels is left
    out too.
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


__all__ = ["Vocabulary", "plain_form"]
WORDNET = "wordnet"
_SHORTEST_COMPACT = 5  # letters; shorter words written together are too often other words


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Names and their other spellings.

    No spelling may stand for two names, no name may be a spelling of another, and no spelling may lead to
    a spelling: one look says where an answer goes. Case, punctuation and hyphens do not tell spellings apart.

    Attributes:
        names: The labels, as predictions are to spell them.
        synonyms: Other spelling to name. A name need not be among ``names``.
        gendered: Spellings, among those of ``synonyms``, that tell the gender of who is named.
        lines: The lines of the file that they are from, for their reasons.
        frames: What prompts say before and behind a name, such as ``("an oil painting of a ", "")``.

    Raises:
        ParameterError: Two names or spellings that cannot be distinguished, or a chain.
    """

    names: tuple[str, ...]
    synonyms: Mapping[str, str] = field(default_factory=dict)
    gendered: frozenset[str] = frozenset()
    lines: tuple[Synonym, ...] = ()
    frames: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Check that every spelling leads to one name."""
        _ = self.forms

    @classmethod
    def read(
        cls, names: Iterable[str], file: str | Path | None = None, *, gendered: bool = True
    ) -> Vocabulary:
        """Names with the synonyms of a file.

        A file of ours is fitted to the names: where a word of a group is one of the names, the group goes to
        that name; a word that is a name itself is no synonym of another.

        Args:
            names: The labels.
            file: ``occupations``, ``sports`` or ``objects`` (ours), ``wordnet`` or ``wordnet:LEXICON``, or
                a file of tab-separated lines ``spelling, name, kind, reason``, the last two optional; ``#``
                begins a comment. None: no synonyms.
            gendered: Whether lines of the kind ``gendered`` count (waitress is waiter).

        Raises:
            InputError: No such file, or a line that cannot be used, with its number.
            ParameterError: Spellings that contradict each other.
        """
        labels = tuple(names)
        if file is None or not str(file):
            return cls(labels)
        source = str(file)
        if source.partition(":")[0] == WORDNET:
            lines = wordnet_synonyms(labels, lexicon=source.partition(":")[2] or LEXICON)
        else:
            lines = read_synonyms(file)
        selected = [line for line in lines if gendered or line.kind != "gendered"]
        if source in SHIPPED:
            selected = fitted(selected, labels)
        else:
            check_lines(selected, labels, source)
        gendered_spellings = frozenset(line.spelling for line in selected if line.kind == "gendered")
        return cls(
            labels, {line.spelling: line.name for line in selected}, gendered_spellings, tuple(selected)
        )

    def with_texts(self, texts: Mapping[str, str]) -> Vocabulary:
        """Also other ways to say the labels, such as those of prompts; what is known already stays.

        Args:
            texts: Other spelling to label.

        Raises:
            ParameterError: Two labels that are said in one way.
        """
        more = {text: name for text, name in texts.items() if plain_form(text) not in self.forms}
        if not more:
            return self
        return replace(self, synonyms={**more, **self.synonyms})

    def with_frames(self, frames: Iterable[tuple[str, str]]) -> Vocabulary:
        """Also what prompts say around the names, so that an answer in their words is opened.

        Args:
            frames: Text before and behind a name.
        """
        return replace(self, frames=tuple(frames))

    @cached_property
    def forms(self) -> dict[str, tuple[str, str]]:
        """Every plain form to its name and how it got there: ``exact`` or ``synonym``."""
        by_form: dict[str, tuple[str, str]] = {}
        times = Counter(name for name in self.names if isinstance(name, str))
        for name in self.names:
            forms = (one_writing(name), plain_form(name)) if isinstance(name, str) else ("", "")
            if not forms[1] or name in SPECIAL:
                raise ParameterError(
                    f"label {name!r} cannot be found in an answer; give it a letter or digit"
                )
            for form in forms:
                other = by_form.setdefault(form, (name, "exact"))[0]
                if other != name or times[name] > 1:
                    raise ParameterError(
                        f"labels {one_line(other)!r} and {one_line(name)!r} are both {form!r} in an answer; "
                        "rename one of them"
                    )
        keys = {plain_form(spelling): spelling for spelling in self.synonyms}
        for spelling, name in self.synonyms.items():
            self._check_end(spelling, name, keys)
            for form in (one_writing(spelling), plain_form(spelling)):
                other, how = by_form.setdefault(form, (name, "synonym"))
                if other != name:
                    raise ParameterError(
                        _TWICE[how].format(one_line(spelling), one_line(name), one_line(other))
                    )
        for name in dict.fromkeys(self.synonyms.values()):
            for form in (one_writing(name), plain_form(name)):
                by_form.setdefault(form, (name, "exact"))
        return by_form

    def _check_end(self, spelling: str, name: str, keys: Mapping[str, str]) -> None:
        if not plain_form(spelling) or not plain_form(name):
            raise ParameterError(f"synonym {spelling!r} of {name!r} is empty; give both letters or digits")
        further = self.synonyms.get(keys.get(plain_form(name), ""), name)
        if plain_form(further) != plain_form(name):
            raise ParameterError(
                f"{one_line(spelling)!r} stands for {one_line(name)!r}, which itself stands for "
                f"{one_line(further)!r}; let both stand for {one_line(further)!r}"
            )

    @cached_property
    def together(self) -> dict[str, tuple[str, str]]:
        """Forms written without spaces to their name; those of two names are left out."""
        names_by_form: dict[str, set[str]] = {}
        for form, (name, _) in self.forms.items():
            names_by_form.setdefault(form.replace(" ", ""), set()).add(name)
        return {
            form: (names.pop(), "synonym")
            for form, names in names_by_form.items()
            if len(names) == 1 and len(form) >= _SHORTEST_COMPACT
        }

    @cached_property
    def singulars(self) -> dict[str, tuple[str, str]]:
        """The singular of forms in the plural to their name, where no form is spelled so."""
        names_by_form: dict[str, set[str]] = {}
        for form, (name, _) in self.forms.items():
            names_by_form.setdefault(singular(form), set()).add(name)
        return {
            form: (names.pop(), "lemma")
            for form, names in names_by_form.items()
            if len(names) == 1 and form not in self.forms
        }

    def find(self, text: str) -> tuple[str, str] | None:
        """The name that a text, in plain form, stands for, and how: exact, synonym or lemma."""
        match = self.forms.get(text) or self.singulars.get(text)
        return match or self.together.get(text.replace(" ", ""))

    def tells_gender(self, text: str) -> bool:
        """Whether a text is a spelling that tells the gender of who is named."""
        return text in self._gendered_forms

    @cached_property
    def _gendered_forms(self) -> frozenset[str]:
        return frozenset(form for word in self.gendered for form in (one_writing(word), plain_form(word)))

    def text(self) -> str:
        """The synonyms as a file that ``read`` takes and a person can edit."""
        line_by_spelling = {line.spelling: line for line in self.lines}
        rows = [HEADER]
        for spelling, name in sorted(self.synonyms.items()):
            kind = "gendered" if spelling in self.gendered else "same"
            line = line_by_spelling.get(spelling, Synonym(spelling, name, kind, ""))
            rows.append((spelling, name, line.kind, line.reason))
        return "".join("\t".join(row).rstrip("\t") + "\n" for row in rows)


_TWICE = {
    "exact": "{0!r} stands for {1!r}, but it is the label {2!r} itself; leave the synonym out",
    "synonym": "{0!r} stands for {1!r} and for {2!r}; keep one of the two",
}
