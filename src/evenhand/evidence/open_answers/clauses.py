"""Clauses of an answer: which of them say something, which decline, deny, or take back what was said.

A label counts only in what an answer says. "A chef, but I cannot be sure" says chef, "I cannot say whether
she is a chef" says nothing, "A chef is not present" denies. An ambiguous clause says nothing here, so
that the answer stays open for a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from evenhand.evidence.open_answers.refusals import refuses

_MOST = 60  # sentences of an answer; a model that says more is looping
_SENTENCE = re.compile(r"(?:^|\s+)\(?\d{1,2}[.)]\s+|(?<=[.!?;])\s+|\s+-+\s+")
_JOINT = re.compile(
    r"(?P<turn>\s*,?\s+(?<!anything )(?<!everything )(?<!nothing )(?<!none )(?<!all )"
    r"(?:but|however|although|though|nevertheless|that said)\b,?\s+)"
    r"|\s*,?\s+(?=(?:so(?= \w)|because|since|while|as|who|whose|which|that|where|with no|without|rather than|"
    r"instead of|unlike|or not|and (?:no|not|i|it|we|you|he|she|they|there|her|his|their|its))\b)"
    r"|\s*\((?=\w)|(?P<comma>\s*,\s+)"
)
_NO_DENIAL = re.compile(r"\b(?:(?:no|without(?: a| any)?) doubt|not surprisingly)\b")
_DENIES = re.compile(
    r"\b(?:not|never|neither|nor|no|none|without|hardly|barely|missing|absent|lack(?:s|ing)?|gone|"
    r"wrong|incorrect|false|unlikely|doubt(?:s|ful)?|except|rather than|instead of|as opposed to|unlike|"
    r"(?:ruled?|ruling) out|excluded)\b|n't\b"
)
_UNREAL = re.compile(
    r"\b(?:halloween|costumes?|cosplay\w*|pretend\w*|in training|impersonat\w+|make-believe|"
    r"(?:model|doctor) of)\b"
)
_TAKEN_BACK = re.compile(
    r"(?:oh |actually |well |or |sorry )*(?:no|nope|nah|not|no wait|wait|wait no|not (?:really|likely|quite)|"
    r"wrong|incorrect|false|unlikely|hardly|(?:definitely|certainly|probably|of course|maybe|perhaps) not)|"
    r"(?:or not|scratch that|correction|i mean|actually|in fact|in reality) .+|"
    r"(?:he |she |it |this |that |they |which )?(?:is|are|was|were) (?:actually|in fact|in reality) .+|"
    r"(?:he|she|it|this|that|they)'(?:s|re) (?:actually|in fact|in reality) .+|"
    r".*\b(?:is|are|was|were) not(?: one| so| really| true| right| correct| the case)?|"
    r".*\b(?:isn't|aren't|wasn't|weren't)(?: one| so| really| true| right| correct| the case)?|"
    r".*\b(?:might|may|could) not be|"
    r"not (?:visible|present|shown|seen|there|here|in the (?:image|picture|photo))|missing|absent|"
    r"(?:which|that|this|it)(?:'s| is| was) (?:wrong|incorrect|false)|"
    r"i (?:do not|don't) (?:think|believe) so|i doubt (?:it|that)|by no means"
)
_SCOPE = re.compile(r"\b(?:whether|if|between|which of)\b")
_SAYS = re.compile(
    r"(?:(?:more |most )?(?:likely|probably)|possibly|perhaps|maybe|presumably|rather|instead|"
    r"i(?:'d| would| 'd)? (?:think|guess|say|believe|suspect|assume)|(?:my )?best guess|"
    r"(?:looks?|seems?|appears?) (?:like|to be)|(?:could|may|might|must|should) be|"
    r"(?:he|she|it|this|that|they|there|these|those|the \w+)(?:'s|'re| (?:is|are|was|were|may|might|could|"
    r"must|would|looks?|seems?|appears?|works?|plays?|shows?|depicts?)))\b"
)
_IN_GENERAL = re.compile(
    r"\b(?:usually|often|typically|normally|generally|sometimes|commonly|such as|for (?:example|instance))\b"
)


@dataclass(frozen=True)
class _Clause:
    """A part of a sentence."""

    text: str  # without what joins it
    joined: int  # where what joins it to the clause before begins
    start: int  # where the text begins
    joint: str  # turn (but, however), comma, or link


def sentences(text: str) -> list[str]:
    """The different sentences of a text; an item of a numbered list is one, so is what follows a dash."""
    return list(dict.fromkeys(part for part in _SENTENCE.split(text, _MOST) if part.strip()))


def doubtful(text: str) -> bool:
    """Whether any clause of a text, in lower case, declines, denies, or is of something unreal."""
    return any(_is_mute(clause.text) for sentence in sentences(text) for clause in _clauses(sentence))


def takes_back(text: str) -> bool:
    """Whether a text says no to what it said before, as in "A doctor? No, a nurse."."""
    every = [clause for sentence in sentences(text) for clause in _clauses(sentence)]
    return any(_TAKEN_BACK.fullmatch(clause.text.strip(" .!?;:,\"'")) for clause in every[1:])


def in_general(text: str) -> bool:
    """Whether a text tells what is usual, which is no answer about one image."""
    return _IN_GENERAL.search(text) is not None


def asserted(sentence: str) -> Iterator[str]:
    """The parts of a sentence, in one writing, that say something.

    What comes before the first clause that declines or denies: the whole where none does. Then what follows
    one of these after ``but``; and what follows a comma where it says so of itself ("she is", "maybe"), but
    not after "whether" or "if".
    """
    clauses = _clauses(sentence)
    mute = [_is_mute(clause.text) for clause in clauses]
    ends = [clause.joined for clause, silent in zip(clauses, mute, strict=True) if silent]
    if not mute[0]:
        yield sentence[clauses[0].start : ends[0] if ends else len(sentence)]
    scoped = denied = False
    for clause, silent in zip(clauses, mute, strict=True):
        if clause.joint == "turn":
            scoped = False
        if silent:
            scoped, denied = scoped or _SCOPE.search(clause.text) is not None, True
        elif clause.joined and (
            (clause.joint == "turn" and denied)
            or (clause.joint == "comma" and not scoped and _SAYS.match(clause.text) is not None)
        ):
            yield sentence[clause.start : next((end for end in ends if end > clause.start), len(sentence))]


@lru_cache(maxsize=20_000)
def _is_mute(text: str) -> bool:
    """Whether a clause says nothing: it declines or denies, or speaks of something unreal."""
    plain = _NO_DENIAL.sub("", text)
    return refuses(text) or _DENIES.search(plain) is not None or _UNREAL.search(text) is not None


@lru_cache(maxsize=5_000)
def _clauses(sentence: str) -> tuple[_Clause, ...]:
    """The clauses of a sentence, in their order."""
    clauses: list[_Clause] = []
    start, joint_start, joint = 0, 0, "link"
    for cut in _JOINT.finditer(sentence):
        if cut.start() > start or clauses:
            clauses.append(_Clause(sentence[start : cut.start()], joint_start, start, joint))
        joint_start, start, joint = cut.start(), cut.end(), cut.lastgroup or "link"
    return (*clauses, _Clause(sentence[start:], joint_start, start, joint))
