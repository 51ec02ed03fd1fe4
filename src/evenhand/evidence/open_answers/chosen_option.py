"""Which option an answer to a multiple-choice question chooses: by letter, or by the option's own words.

A letter counts only where it answers the choice: alone, as a label before text ("B. The doctor ..."), or in
what concludes ("the answer is B", "caption B fits best", "I would choose B"). An article, a letter within a
sentence ("hepatitis B"), a denial ("not A") and an alternative ("A or B") choose nothing.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.core.text.thoughts import UNFINISHED, without_thought
from evenhand.evidence.open_answers.refusals import refuses
from evenhand.evidence.open_answers.text import one_writing, plain_form, says_nothing, without_article

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
EMPTY, REFUSED, NOTHING = "empty answer", "declined", "no option chosen"
SEVERAL, OUTSIDE, CONTRADICTION = "several options", "letter of no option", "letter and text disagree"

_NOUN = (
    r"(?:final answer|answer|ans|option|choice|caption|letter|selection|sentence|description|respuesta|"
    r"opci[oó]n|leyenda|r[eé]ponse|l[eé]gende|antwort|bildunterschrift|antwoord|resposta|op[cç][aã]o|legenda|risposta|"
    r"opzione|ответ|odpowied[zź]|cevap|jawaban)"
)
_LINK = (
    r"(?:(?:is|are|was|would be|should be|must be|will be|es|est|ist|lautet|é|è|to|jest|adalah)\b|[:=]|\n)"
    r"\s*(?:most likely |probably |likely |clearly |definitely |the |la |el |l'|die |der )?"
)
_LETTER = r"[\s\W]*?\b([A-Za-z])\b"
_END = (
    r"(?=\s*(?:$|[.!;:)\]}\"。、]|\n|,(?!\s*(?:(?:or|and)\s)?[A-Z]\b)|\s[-–—]+\s|(?:because|since|as)\b))"
    r"(?!\s*[.,;:)]?\s*(?:or|and|/)\s+(?:option |caption )?[A-Z]\b)"
)
_POLITE = r"(?:clearly |definitely |probably |likely |also )?(?:the |a )?"
_GOOD = (
    r"(?:most|best|better|more|safest|closest|correct|right|accurate|appropriate|suitable|fitting|answer\b|"
    r"caption\b|my (?:answer|choice)|bonne|correcta|richtig)"
)
_CONCLUSIONS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?i:\b{_NOUN}\b[^.,;!?\n]{{0,80}}?\s*{_LINK}(?:{_NOUN}\W+)?){_LETTER}{_END}",
        r"(?i:\b(?:choose|chose|pick|select|go with|going with|opt for|say|think|guess|answer|choisis|elijo|"
        rf"wähle|scelgo|escolho)\s+(?:with )?(?:the |la |die |den )?(?:{_NOUN}\W+)?){_LETTER}{_END}",
        rf"(?i:\b(?:it is|it's|that is|that's|must be|should be|would be)\s+{_POLITE}(?:{_NOUN}\W+)?)"
        rf"[\s\W]*?\b([A-Z])\b{_END}",
        rf"(?i:(?:^|[,;:.\n]\s*)(?:so|thus|therefore|hence)[, ]+(?:{_NOUN}\W+)?){_LETTER}{_END}",
        rf"\b([A-Z])\b[\"')\],]*\s+(?:is|est|es|ist|would be|seems|seems to be|appears to be|looks)\s+"
        rf"(?:la )?{_POLITE}{_GOOD}",
        r"\b([A-Z])\b[\"')\]]*\s+(?:best |better |most accurately |accurately |correctly )?"
        r"(?:fits|matches|describes|suits|represents)"
        r"(?=\W*$|[.,;]| (?:it|best|better|most|well|what)\b|"
        r" (?:the|this) (?:\w+ )?(?:image|picture|photo)\b)",
        r"^[^()]*\(([A-Z])\)[.\s]*$",
        r"(?:答案|标题|说明|正解|正确|选项|選項|选择|選擇|选|選|答え|回答|答|정답)[^A-Za-z。\n]{0,8}([A-Z])(?![A-Za-z/、或和と])",
    )
)
_ADVERB = r"(?:definitely|clearly|probably|most likely|likely|certainly|surely|yes|the|i think|i believe)"
_LABEL = re.compile(
    rf"^\W*(?:(?i:{_ADVERB})\W+)?(?:(?i:{_NOUN})\W+)?(?:([A-Za-z])(?=\W*$|[.](?!\w\.)|[):\]])|([A-Z])(?=[,;、]|\s+[-–—]+\s|\s+\())\W*"
)
_NEXT_LETTER = re.compile(r"^\W*(?:(?:or|and)\W+)?[A-Z]\b(?=\W*$|\s*[,;/&)]|\s+(?:or|and|all|both|are)\b)")
_DENIES = re.compile(
    r"\b(?:not|never|no|none|neither|nor|cannot|hardly|least|less|worst|wrong|false|incorrect|unlikely|except|exclude[sd]?|"
    r"eliminate[sd]?|rather than|instead of|rule[sd]? out|whether|could|might|may|maybe|"
    r"perhaps|either|both|nicht|pas|keine?)\b|n't\b|不|ない|아니|"
    r"\b[A-Z]\s*(?:,|and|or|/|&)\s*(?:option |caption )?$",
    re.IGNORECASE,
)
_SENTENCE, _CLAUSE = re.compile(r"[.!?\n]\s"), re.compile(r"[,;:]\s")
_LISTS = re.compile(r"\b(?:each|every|following|these|options|captions)\b[^.!?]*$", re.IGNORECASE)
_SUPPOSES = re.compile(r"\b(?:if|unless)\b(?! (?:i|we) (?:had|have|must|were|am|need))", re.IGNORECASE)
_TITLE = re.compile(rf"^\W*(?:(?:the|correct|right|best|my) )*{_NOUN}(?: is)?\s*[:\n]", re.IGNORECASE)
_SPACES = re.compile(r"\s{3,}")  # long runs of them take the patterns above seconds
_ROLE = re.compile(r"^\s*(?:assistant|response|bot|ai|gpt)\s*[:\n]\s*", re.IGNORECASE)
_BOXED = (
    re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}"),
    re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE),
    re.compile(r"<\|begin_of_box\|>(.*?)<\|end_of_box\|>", re.DOTALL),
)
_OBJECT = re.compile(r"\{[^{}]*:[^{}]*\}")
_KEYS = ("answer", "final_answer", "choice", "option", "letter", "caption", "selection", "label", "response")
_MARKUP = re.compile(
    r"<\|[^|>]{1,40}\|>|</?[a-z]{1,12}>|\\(?:text|textbf|mathbf|mathrm)\b|\\[\[\]()]|[$`*_]+"
)
_LEAD = re.compile(
    r"|(?:(?:so|thus|hence|therefore) )?(?:i(?: would|'d)? (?:say|think|choose|pick)(?: that)? )?"
    r"(?:the|this) (?:\w+ )?"
    r"(?:caption|option|answer)|"
    r"(?:(?:(?:the|this|that) )?(?:\w+ ){0,2}?(?:image|picture|photo|photograph|person|individual|caption|"
    r"option|answer|choice|occupation|man|woman|it|this|that|he|she|they)(?: [a-z' ]{0,40}?)?)"
    r"\b(?:is|are|shows|depicts|'s|(?:seems|appears) to (?:be|show)|looks like)"
    r"(?: (?:likely|probably|most likely|clearly|definitely|an? (?:picture|photo|image) of))?"
)
_TAIL = re.compile(
    r"|(?:is the (?:\w+ ){0,2}?(?:caption|option|answer|choice|fit)(?: that| which)?|fits|matches|describes)"
    r"(?: (?:fits|matches|describes))?(?: (?:the|this) (?:image|picture|photo))?(?: best| better)?"
)


@dataclass(frozen=True)
class ChosenOption:
    """What an answer chooses.

    Attributes:
        index: Position of the option, from 0; None where none is chosen.
        reason: Why none is, a short phrase; empty where one is.
    """

    index: int | None
    reason: str = ""


def chosen_option(answer: str, options: Sequence[str]) -> ChosenOption:
    """The option that an answer chooses, as a person would read it.

    Undefined (``index`` is None): nothing said, a refusal, a thought that did not end, several options, a
    letter beyond the options, a letter whose text is another option's, or no option at all.

    Args:
        answer: What the model said, thought included.
        options: Their texts, lettered A, B, ... in this order; at most 26.

    Returns:
        The option, or why there is none. Source: the lists of tests/evidence/answers.
    """
    reply = without_thought(answer)
    if reply is None:
        return ChosenOption(None, UNFINISHED)
    if says_nothing(reply):
        return ChosenOption(None, EMPTY)
    return _Reader(tuple(options)).read(_SPACES.sub(_short_run, unicodedata.normalize("NFKC", reply)))


@dataclass(frozen=True)
class _Mention:
    """A letter, the words about it, and whether the line before announces a list."""

    letter: str
    words: str = ""
    announced: bool = False


@dataclass(frozen=True)
class _Reader:
    options: tuple[str, ...]

    def read(self, reply: str) -> ChosenOption:
        framed = list(_framed(reply))
        if framed:  # the answer says itself which part is its answer
            return _agreed(
                [self.read(part) if part.strip() else ChosenOption(None, NOTHING) for part in framed]
            )
        text = _ROLE.sub("", _MARKUP.sub("", reply).strip())
        labels = self._labels(text)
        letters = {label.letter for label in labels}
        if (index := self._by_text(text)) is not None:
            agrees = letters <= {LETTERS[index]}
            return ChosenOption(index) if agrees else ChosenOption(None, CONTRADICTION)
        concluded = self._conclusions(text, listed=len(letters) > 1)
        if concluded and letters and not letters & {mention.letter for mention in concluded}:
            return ChosenOption(None, SEVERAL)
        if concluded or labels:
            return self._by_letter(concluded or labels)
        index = self._by_sentence(text)
        if index is None:
            return ChosenOption(None, REFUSED if refuses(one_writing(reply)) else NOTHING)
        return ChosenOption(index)

    def _by_letter(self, mentions: Sequence[_Mention]) -> ChosenOption:
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
        elif any(self._contradicts(mention.words, index) for mention in mentions):
            why = CONTRADICTION
        return ChosenOption(None, why) if why else ChosenOption(index)

    def _conclusions(self, text: str, *, listed: bool) -> list[_Mention]:
        """Letters that something concludes on.

        Args:
            text: Without markup.
            listed: Whether it lists options, so that one on a line of its own concludes nothing.
        """
        mentions = []
        for pattern in _CONCLUSIONS:
            for match in pattern.finditer(text):
                sentence = _SENTENCE.split(text[: match.start(1)])[-1]
                clause = "" if match[0][0] in ",;:" else _CLAUSE.split(sentence)[-1]
                line = text[match.end(1) :].partition("\n")[0]
                behind = text[match.end() :].partition("\n")[0]
                broken = "\n" in match[0] and (listed or _LISTS.search(match[0]))
                if broken or _DENIES.search(clause) or _SUPPOSES.search(sentence):
                    continue
                if not _SUPPOSES.search(_SENTENCE.split(behind)[0]):
                    mentions.append(_Mention(match[1].upper(), sentence + match[1] + line))
        return mentions

    def _labels(self, text: str) -> list[_Mention]:
        """Letters that stand alone or before a text at the beginning of a line."""
        lines = [line.strip() for line in text.splitlines() if line.strip(" \t-#>")]
        labels: list[_Mention] = []
        for number, line in enumerate(lines):
            match = _LABEL.match(line)
            if match and _NEXT_LETTER.match(line[match.end(match.lastindex or 0) :]):
                return [_Mention("A"), _Mention("B")]  # a list of letters
            if match and not (line.endswith(":") and match.end() == len(line)):
                announced = number > 0 and lines[number - 1].endswith(":")
                words = line[match.end() :] or " ".join(lines[number + 1 : number + 2])
                labels.append(_Mention((match[1] or match[2]).upper(), words, announced))
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
                reads_so = _LEAD.fullmatch(before.strip()) and _TAIL.fullmatch(after.strip())
                if option in words and words != option and reads_so and not _DENIES.search(before):
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


def _framed(reply: str) -> Iterator[str]:
    """What stands in a box, between tags for the answer, or in a field of JSON."""
    for pattern in _BOXED:
        for match in pattern.finditer(reply):
            yield match[1]
    for match in _OBJECT.finditer(reply):
        fields = _object(match[0])
        for key, value in fields.items():
            if str(key).lower().replace(" ", "_") in _KEYS:
                yield value if isinstance(value, str) else ""


def _object(text: str) -> dict[Any, Any]:
    """A JSON object, or Python's way of writing one."""
    for parse in (json.loads, ast.literal_eval):
        try:
            fields = parse(text)
        except (ValueError, SyntaxError):
            continue
        if isinstance(fields, dict):
            return fields
    return {}


def _agreed(choices: Sequence[ChosenOption]) -> ChosenOption:
    """The choice of all parts; those that choose nothing count where no part does."""
    indices = {choice.index for choice in choices if choice.index is not None}
    if len(indices) > 1:
        return ChosenOption(None, SEVERAL)
    return ChosenOption(indices.pop()) if indices else choices[-1]
