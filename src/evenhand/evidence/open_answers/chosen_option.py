"""Which option an answer to a multiple-choice question chooses: by letter, or by the option's own words.

A letter counts only where it answers the choice: alone, as a label before text ("B. The doctor ..."), or in
what concludes ("the answer is B", "caption B fits best", "which leaves B"). The place of an option ("the
second one") and a mark on it ("- [x] B", "B: 85 %") count as its letter. An article, a letter within a
sentence ("hepatitis B"), a denial ("not A"), an alternative ("A or B") and what is hedged ("C, but if forced,
A") choose nothing.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from evenhand.core.thoughts import UNFINISHED, without_thought
from evenhand.evidence.open_answers.lettered import (
    CONCLUSIONS,
    DENIES,
    HEDGES,
    LABEL,
    LAST_LINE,
    LETTERS,
    LISTS,
    NEXT_LABEL,
    NEXT_LETTER,
    NO_OPTION,
    NOUN,
    OPEN,
    SUPPOSES,
    WRONG,
    Marked,
    framed_parts,
    marked,
    with_letters,
)
from evenhand.evidence.open_answers.refusals import refuses
from evenhand.evidence.open_answers.text import one_writing, plain_form, says_nothing, without_article

__all__ = ["LETTERS", "ChosenOption", "chosen_option"]

EMPTY, REFUSED, NOTHING = "empty answer", "declined", "no option chosen"
SEVERAL, OUTSIDE, CONTRADICTION = "several options", "letter of no option", "letter and text disagree"

_NEAR = 1_000  # characters before and after a letter that are looked at: the time stays linear
_SENTENCE, _CLAUSE = re.compile(r"[.!?\n]\s|[।。؟]"), re.compile(r"[,;:،]\s")
_TITLE = re.compile(rf"^\W*(?:(?:the|correct|right|best|my) )*{NOUN}(?: is)?\s*[:\n]", re.IGNORECASE)
_SPACES = re.compile(r"\s{3,}")  # long runs of them take the patterns seconds
_ROLE = re.compile(r"^\s*(?:assistant|response|bot|ai|gpt)\s*[:\n]\s*", re.IGNORECASE)
_MARKUP = re.compile(
    r"<\|[^|>]{1,40}\|>|</?[a-z]{1,12}>|\\(?:text|textbf|mathbf|mathrm)\b|\\[\[\]()]|[$`*_]+"
)
_LEAD = re.compile(
    r"|(?:(?:so|thus|hence|therefore) )?(?:i(?: would|'d|'ll| will)? "
    r"(?:say|think|choose|pick|select|prefer|go with|opt for|use)(?: that)? ?)?"
    r"(?:(?:the|this) (?:\w+ )?(?:caption|option|answer))?|"
    r"(?:so )?my (?:\w+ )?(?:pick|choice|answer|vote|guess|caption|option)(?: is| would be)?|"
    r"(?:(?:(?:the|this|that) )?(?:\w+ ){0,2}?(?:image|picture|photo|photograph|person|individual|caption|"
    r"option|answer|choice|occupation|man|woman|it|this|that|he|she|they)(?: [a-z' ]{0,40}?)?)"
    r"\b(?:is|are|shows|depicts|'s|(?:seems|appears) to (?:be|show)|looks like)"
    r"(?: (?:likely|probably|most likely|clearly|definitely|an? (?:picture|photo|image) of))?"
)
_TAIL = re.compile(
    r"|(?:is the (?:\w+ ){0,2}?(?:caption|option|answer|choice|fit|match|one)(?: that| which)?|fits|matches|"
    r"describes|is (?:what|the (?:one|caption|option)) i(?: would|'d)? "
    r"(?:use|choose|pick|select|go with|prefer)(?: here)?)"
    r"(?: (?:fits|matches|describes))?(?: (?:the|this) (?:image|picture|photo))?(?: best| better)?"
)
_REASON = re.compile(r"(?:^| )(?:because|since|as) .*$")


@dataclass(frozen=True)
class ChosenOption:
    """What an answer chooses."""

    index: int | None  # position of the option, from 0; None where none is chosen
    reason: str = ""  # why none is; empty where one is


def chosen_option(answer: str, options: Sequence[str]) -> ChosenOption:
    """The option that an answer, thought included, chooses, as a person would read it.

    Undefined (``index`` is None): nothing said, a refusal, a thought that did not end, several options, a
    letter beyond the options, a letter whose text is another option's, or no option at all. At most 26
    options are lettered A, B, ... in their order. Source: the lists of tests/evidence/answers.
    """
    reply = without_thought(answer)
    if reply is None:
        return ChosenOption(None, UNFINISHED)
    if says_nothing(reply):
        return ChosenOption(None, EMPTY)
    text = _SPACES.sub(_short_run, unicodedata.normalize("NFKC", reply))
    choices = []
    for part in framed_parts(text):  # the answer may say itself which part is its answer
        plain = _MARKUP.sub("", part)
        is_open = not part.strip() or OPEN.fullmatch(plain) is not None
        choices.append(ChosenOption(None, NOTHING) if is_open else _Reader(plain, tuple(options)).choice())
    return _agreed(choices)


@dataclass(frozen=True)
class _Mention:
    """A letter, where it ends, the words about it, and whether the line before announces a list."""

    letter: str
    end: int = 0
    words: str = ""
    announced: bool = False


@dataclass(frozen=True)
class _Reader:
    reply: str
    options: tuple[str, ...]

    @cached_property
    def _marked(self) -> Marked:
        return marked(with_letters(_ROLE.sub("", self.reply.strip()), self.options))

    @cached_property
    def _ends(self) -> list[int]:
        """Where the sentences of what is not marked end."""
        return [match.end() for match in _SENTENCE.finditer(self._marked.rest)]

    def choice(self) -> ChosenOption:
        """What the reply chooses."""
        marks, text = self._marked, self._marked.rest
        labels = self._labels(text)
        ticked = [_Mention(letter, words=words) for letter, words in marks.ticked.items()]
        letters = {mention.letter for mention in (*labels, *ticked)}
        if (index := self._by_text(text)) is not None:
            if letters <= {LETTERS[index]}:
                return self._unhedged(index, text, HEDGES)
            return ChosenOption(None, CONTRADICTION)
        concluded = [*self._conclusions(text, labels), *ticked]
        if concluded and letters and not letters & {mention.letter for mention in concluded}:
            return ChosenOption(None, SEVERAL)
        if concluded or labels:
            return self._by_letter(concluded or labels, text, HEDGES if concluded else (*HEDGES, NEXT_LABEL))
        index = self._by_sentence(text)
        if index is None:
            return ChosenOption(None, REFUSED if refuses(one_writing(self.reply)) else NOTHING)
        return ChosenOption(index)

    def _by_letter(
        self, mentions: Sequence[_Mention], text: str, hedges: Sequence[re.Pattern[str]]
    ) -> ChosenOption:
        """The option whose letter is the only one that is mentioned."""
        letters = {mention.letter for mention in mentions}
        index = LETTERS.index(mentions[0].letter)
        why = ""
        if len(letters) > 1:
            why = SEVERAL
        elif all(mention.announced for mention in mentions):
            why = NOTHING  # the first of a list of options that broke off
        elif index >= len(self.options):
            why = OUTSIDE
        elif letters & self._marked.crossed or any(
            self._contradicts(words, index) for words in {mention.words for mention in mentions}
        ):
            why = CONTRADICTION
        if why:
            return ChosenOption(None, why)
        return self._unhedged(index, text[max(mention.end for mention in mentions) :], hedges)

    def _unhedged(self, index: int, rest: str, hedges: Sequence[re.Pattern[str]]) -> ChosenOption:
        """An option, unless what follows leaves another one open or takes it back."""
        others = set(LETTERS[: len(self.options)]) - {LETTERS[index]}
        if any(match[1] in others for pattern in hedges for match in pattern.finditer(rest)):
            return ChosenOption(None, SEVERAL)
        wrong = WRONG.match(rest)
        if NO_OPTION.search(rest) or (wrong and wrong[1].lower() != plain_form(self.options[index])):
            return ChosenOption(None, NOTHING)
        return ChosenOption(index)

    def _conclusions(self, text: str, labels: Sequence[_Mention]) -> list[_Mention]:
        """Letters that something concludes on.

        Where ``labels`` list options, a letter on a line of its own concludes nothing, unless it is the last
        line and comes again.
        """
        mentions = []
        listed = len({label.letter for label in labels}) > 1
        for pattern in CONCLUSIONS:
            for match in pattern.finditer(text):
                start, end = match.span(1)
                number = bisect_right(self._ends, start)
                begins = max(self._ends[number - 1] if number else 0, start - _NEAR)
                sentence = text[begins:start]
                clause = "" if match[0][0] in ",;:" else _CLAUSE.split(sentence)[-1]
                line = text[end : end + _NEAR].partition("\n")[0]
                behind = text[match.end() : match.end() + _NEAR].partition("\n")[0]
                broken = "\n" in match[0] and (listed or LISTS.search(match[0]))
                if broken or DENIES.search(clause) or SUPPOSES.search(sentence):
                    continue
                if not SUPPOSES.search(_SENTENCE.split(behind)[0]):
                    mentions.append(_Mention(match[1].upper(), end, sentence + match[1] + line))
        last = LAST_LINE.search(text) if listed else None
        if last and last[1] in {label.letter for label in labels[:-1] if label.words.strip()}:
            mentions.append(_Mention(last[1], last.end(1)))
        return mentions

    def _labels(self, text: str) -> list[_Mention]:
        """Letters that stand alone or before a text at the beginning of a line."""
        lines: list[tuple[int, str]] = []
        start = 0
        for line in text.splitlines(keepends=True):
            if line.strip(" \t-#>\r\n"):
                lines.append((start + len(line) - len(line.lstrip()), line.strip()))
            start += len(line)
        labels: list[_Mention] = []
        for number, (start, line) in enumerate(lines):
            match = LABEL.match(line)
            if match and NEXT_LETTER.match(line[match.end(match.lastindex or 0) :]):
                return [_Mention("A"), _Mention("B")]  # a list of letters
            if match and not (line.endswith(":") and match.end() == len(line)):
                announced = number > 0 and lines[number - 1][1].endswith(":")
                words = line[match.end() :] or " ".join(line for _, line in lines[number + 1 : number + 2])
                letter = (match[1] or match[2]).upper()
                labels.append(_Mention(letter, start + match.end(match.lastindex or 0), words, announced))
        return labels

    def _by_text(self, text: str) -> int | None:
        """The option whose words the whole answer is, or begins with and then explains."""
        plain = [plain_form(option) for option in self.options]
        for full_text in (plain_form(text), plain_form(_TITLE.sub("", text))):
            if full_text in plain:
                return plain.index(full_text)
        parts = [*re.split(r"[.,;!\n]+", text, maxsplit=1), ""]
        start, rest = plain_form(parts[0]), parts[1]
        bare = start if start in plain else without_article(start)
        if bare not in plain or (start != bare and without_article(bare) != bare):
            return None
        index = plain.index(bare)
        return None if self._occurring(rest) - {index} else index

    def _by_sentence(self, text: str) -> int | None:
        """The option that a sentence such as "the person is a doctor" says, if no other occurs."""
        indices = set()
        for sentence in re.split(r"[.!?\n]+(?:\s|$)", text):
            words = plain_form(sentence)
            for index, option in enumerate(map(plain_form, self.options)):
                before, _, after = f" {words} ".partition(f" {option} ")
                if option == without_article(option):
                    before = re.sub(r"(?:^| )(?:an?|the)$", "", before)
                after = _REASON.sub("", after)
                reads_so = _LEAD.fullmatch(before.strip()) and _TAIL.fullmatch(after.strip())
                if (
                    option in words
                    and words != option
                    and reads_so
                    and not DENIES.search(f"{before} {after}")
                ):
                    indices.add(index)
        return indices.pop() if len(indices) == 1 and len(self._occurring(text)) == 1 else None

    def _occurring(self, text: str) -> set[int]:
        """The options whose words occur."""
        plain = f" {plain_form(text)} "
        return {index for index, option in enumerate(self.options) if f" {plain_form(option)} " in plain}

    def _contradicts(self, words: str, index: int) -> bool:
        """Whether the words about a letter are another option's, and not its own."""
        occurring = self._occurring(words)
        return bool(occurring) and index not in occurring


def _short_run(spaces: re.Match[str]) -> str:
    """An empty line for several lines, else one space."""
    return "\n\n" if spaces[0].count("\n") > 1 else "\n" if "\n" in spaces[0] else " "


def _agreed(choices: Sequence[ChosenOption]) -> ChosenOption:
    """The choice of all parts; those that choose nothing count where no part does."""
    indices = {choice.index for choice in choices if choice.index is not None}
    if len(indices) > 1:
        return ChosenOption(None, SEVERAL)
    return ChosenOption(indices.pop()) if indices else choices[-1]
