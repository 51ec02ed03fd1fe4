"""Answers to a question that has two answers: yes or no, one class or the other.

"No, this person has brown hair.", "The person does not have blond hair." and "not blond" say the same. Such a
sentence is brought to its class only where all that it says agrees. One that contradicts itself ("No, the
person is blond.") stays open; one that declines or weighs ("hard to say whether ...") is left to the steps of
open answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from evenhand.evidence.open_answers.refusals import refuses
from evenhand.evidence.open_answers.text import one_writing, plain_form, without_article
from evenhand.evidence.open_answers.vocabulary import Vocabulary

YES: tuple[str, ...] = (
    "yes", "yeah", "yep", "yup", "correct", "true", "affirmative", "indeed", "absolutely", "definitely",
    "certainly", "i think so", "i believe so", "probably", "most likely", "likely", "they do", "it is",
    "he does", "she does", "it does",
)  # fmt: skip
"""What says yes on its own."""

NO: tuple[str, ...] = (
    "no", "nope", "nah", "false", "incorrect", "negative", "not really", "not at all", "definitely not",
    "certainly not", "absolutely not", "probably not", "most likely not", "likely not", "of course not",
    "i do not think so", "i don't think so", "i do not believe so", "i don't believe so", "unlikely",
)  # fmt: skip
"""What says no on its own."""

_WORDS = frozenset(map(plain_form, (*YES, *NO)))
_LONGEST = 2_000  # characters; a longer answer is left to the steps
_CLAUSE = re.compile(
    r"[.!?;:,()]+\s*|\s+-+\s+|\s+(?=(?:but|however|because|since|as|while|although|though|so|with no|without|"
    r"rather than|instead of|not an?|and (?:is|are|has|have|does|do|it|he|she|they|the|this|that|her|his|"
    r"their|its|not|no))\b)"
)
_WEIGHS = re.compile(r"\b(?:whether|if|neither|either|usually|typically|generally)\b")
_BOTH = re.compile(r"\byes(?: and | or |/)no\b")
_WHO = r"(?:it|he|she|they|this|that|there|(?:the|this|that) [\w']+(?: in the [\w']+)?)"
_LEADS = re.compile(
    r"(yes|yeah|no|nope)\s+(?=(?:the|this|that|it|he|she|they|there|i|her|his|their|its|not|indeed)\b)"
)
_OPENING = re.compile(
    r"^(?:(?:but|and|so|well|oh|hmm|however|because|since|as|the (?:correct |final )?answer is|"
    r"(?:final )?answer|i(?: would|'d)? (?:say|think|believe|guess)(?: that)?|"
    r"it (?:is|seems|appears) (?:likely )?that)\s+)+"
)
_AGREES = re.compile(rf"{_WHO} (?:does|do|is|are|has|have)(?: indeed| so)?")
_DENIES_IT = re.compile(rf"{_WHO} (?:(?:does|do|is|are|has|have) not|(?:does|do|is|are|has|have)n't)(?: so)?")
_NOT = re.compile(
    r"\b(?:not|no|never|without|hardly|barely|lacks?|lacking|nor|none|rather than|instead of|other than)\b"
    r"|n't\b"
)
_ANY = re.compile(r"\b(?:any|an?|the|really|actually|enough)\s+")


class TwoWay:
    """Reads answers to a question that has two answers, by yes or no if it is ``polar``.

    A spelling of the kind ``narrower`` says its class, but denying it says nothing; one of the kind ``short``
    counts only where it is all that is said.
    """

    def __init__(self, vocabulary: Vocabulary, *, polar: bool) -> None:
        self._vocabulary = vocabulary
        self._polar = polar
        self._other = dict(zip(vocabulary.names, reversed(vocabulary.names), strict=True))

    def spellings(self, answers: Iterable[str]) -> dict[str, str]:
        """The answers that say a class and are no spelling of it yet, in one writing, to the class.

        Those that say yes and the other class, or no and the same, stand for themselves: for a person.
        """
        by_form: dict[str, tuple[str, str]] = {}
        unlike: set[str] = set()
        for text in dict.fromkeys(map(one_writing, answers)):
            form, label = plain_form(text), self.read(text)
            if label is not None and form not in self._vocabulary.forms:
                unlike |= {form} if by_form.setdefault(form, (text, label))[1] != label else set()
        return {text: label for form, (text, label) in by_form.items() if form not in unlike}

    def read(self, text: str) -> str | None:
        """The class that an answer, in one writing, says; None if it says no class or both, or declines.

        It is the plain text itself where yes or no contradicts the rest.
        """
        if self._polar and _BOTH.search(text):
            return plain_form(text)
        if len(text) > _LONGEST or _WEIGHS.search(text):
            return None
        votes: set[str] = set()
        words: set[str] = set()
        for part in filter(None, map(plain_form, _CLAUSE.split(text))):
            clause = _OPENING.sub("", part)
            lead = _LEADS.match(clause) if self._polar else None
            if lead:
                words.add(self._known[lead[1]])
                clause = clause[lead.end() :]
            bare = _ANY.sub("", without_article(clause))
            if refuses(bare) and bare not in self._known:
                return None
            if self._polar and clause in _WORDS:
                words.add(self._known[clause])
            else:
                votes |= self._classes_of_clause(clause, bare)
        if len(words) == 2 or (words and votes - words):
            return plain_form(text)
        labels = words | votes
        return labels.pop() if len(labels) == 1 else None

    def _classes_of_clause(self, clause: str, bare: str) -> set[str]:
        """The classes that a clause says."""
        clause_label = self._known.get(clause) or self._known.get(bare)
        if clause_label is not None:
            return {clause_label}
        if self._polar and _DENIES_IT.fullmatch(clause):
            return {self._vocabulary.names[1]}
        if self._polar and _AGREES.fullmatch(clause):
            return {self._vocabulary.names[0]}
        votes, end = set(), 0
        for mention in self._mentions.finditer(bare):
            label, deniable = self._terms[mention[0]]
            if not _NOT.search(bare[end : mention.start()]):
                votes.add(label)
            elif deniable:
                votes.add(self._other[label])
            end = mention.end()
        return votes

    @cached_property
    def _known(self) -> dict[str, str]:
        """Every spelling, plain and without articles, to its class."""
        names = self._vocabulary.names
        return {
            _ANY.sub("", form): name for form, (name, _) in self._vocabulary.forms.items() if name in names
        }

    @cached_property
    def _terms(self) -> dict[str, tuple[str, bool]]:
        """What a clause is searched for: its class, and whether denying it says the other class."""
        kinds = {plain_form(line.spelling): line.kind for line in self._vocabulary.lines}
        return {
            form: (name, kinds.get(form) != "narrower")
            for form, name in self._known.items()
            if form not in _WORDS and kinds.get(form) != "short"
        }

    @cached_property
    def _mentions(self) -> re.Pattern[str]:
        longest = sorted(self._terms, key=len, reverse=True)
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})\b")
