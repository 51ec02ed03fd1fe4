"""The sentence around an answer: "The person in the image is a X", "Answer: X", "X who is holding ...".

A frame that says nothing of the label goes always. What follows a label (a clause, a place, a second
sentence) goes only where what is left is known, so that an answer nobody expected stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from evenhand.evidence.open_answers.clauses import asserted, doubtful, in_general, sentences, takes_back
from evenhand.evidence.open_answers.refusals import refuses
from evenhand.evidence.open_answers.text import LONGEST, one_writing, without_article, without_gender

Known = Callable[[str], str | None]
"""The label that a text without frame stands for, if any."""
_LONGEST_HEAD = 120  # characters of a label with what stands before it

_SHOWN = r"(?:image|picture|photo|photograph|photography|scene|frame|shot|snapshot|screenshot|close-?up)"
_ASKED = (
    r"(?:occupation|profession|job(?: title)?|career|work|role|sport|game|activity|object|item|thing|answer|"
    r"label|class|category)"
)
_WHO = (
    r"(?:person|man|woman|individual|people|subject|boy|girl|lady|gentleman|guy|figure|someone|somebody|child|"
    r"children|men|women|players?|athletes?|kid|kids|adult|human|group of (?:people|men|women|children))"
)
_SURE = (
    r"(?:(?:most |more )?(?:likely|probably)|possibly|perhaps|maybe|rather|clearly|apparently|definitely|"
    r"certainly|presumably|currently|actually|also)"
)
_THE = r"(?:the|this|that|these|those|a|an|one|his|her|their|your|my)"
_WHERE = (
    rf"(?:,? (?:(?:that|who|which) (?:is|are) )?(?:being )?(?:in|of|on|from|shown|seen|depicted|pictured|"
    rf"visible|displayed|featured|played|performed|practiced|practised)"
    rf"(?: (?:in|on|here|above|below|by))?(?: (?:the|this|that) {_SHOWN}| here)?)"
)
# "plays a doctor" is an actor's part, "plays a game of tennis" is tennis
_PART = r"(?! (?:an?|the) (?!.{0,60}\b(?:game|match|race|round|sport|competition|contest|event)\b))"
_DOING = (
    rf"(?:playing{_PART}|doing|practicing|practising|performing|participating in|engaged in|competing in|"
    r"(?:employed|working|dressed|serving|acting) (?:as|like))"
)
_AS = rf"(?: (?:that of|to be|called|known as|named|identified as|{_DOING}))?"
_IS = (
    rf"(?:(?:is|are|was|were|may be|might be|could be|must be|would be|can be|should be)(?: {_SURE})*{_AS}|"
    rf"(?:seems?|appears?|looks?)(?: to me)?(?: (?:to be|to work as|to show|to depict|like|as if|as though))?"
    rf"(?: {_SURE})?{_AS}|works? as|depicts?|shows?|displays?|features?|contains?|represents?|"
    rf"plays?{_PART}|does)"
)
_SOMEONE = rf"(?:{_THE} |two |three |some |several )?(?:young |old |older )?{_WHO} (?:is |are )?"
_THINK = r"(?:think|believe|guess|say|see|suppose|assume|suspect)"
_OPENINGS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?:\d{1,2}[.)]|[-*•·#>]+)\s+",
        r"^(?:(?:option|choice) [a-h][.):]?|\([a-h]\)|[a-h]\)|[a-h][.:])\s+(?=\S)",
        r"^(?:about |roughly )?\d{1,3} ?% (?:sure |certain |likely )?(?:that )?",
        r"^either (?=.{1,80} or )",
        r"^(?:there is |there's )?no doubt(?: that)?,? ",
        r"^(?:the|this|that|his|her|their) (?:[\w'-]+ ){1,5}(?:suggest|indicate|implie)s? (?:that )?",
        rf"^(?:the |my |final |correct |best |short )*{_ASKED}"
        r"(?: (?:name|type|shown|played|depicted|category))?\s*(?::|=|-)\s*",
        r"^(?:sure|certainly|yes|yeah|of course|okay|ok|well|hmm|great question)[,!.:]\s+",
        rf"^{_SURE},? ",
        rf"^(?:i|we|you|one) (?:would |can |could |'d )?{_THINK}(?: that)?[,:]? ",
        r"^(?:my )?(?:best |first |educated )?(?:guess|bet) (?:is|would be)(?: that)?:? ",
        r"^(?:seems?|appears?|looks?) (?:to be|like|as if|as though) ",
        r"^(?:i am|i'm) (?:just )?(?:going to (?:guess|say)|guessing)(?: that)?:? ",
        rf"^(?:could|may|might|must|would|should) be(?: {_SURE})* ",
        rf"^(?:(?:{_THE}) )?{_ASKED} (?:called|named|known as) ",
        rf"^(?:i'd|we'd) {_THINK}(?: that)?[,:]? ",
        rf"^in (?:the|this|that) {_SHOWN},? ",
        r"^(?:based on|judging (?:by|from)|given|considering|according to|from) [^,.]{1,120}, ",
        rf"^(?:{_THE} )?(?:main |primary |central |only )?(?:{_ASKED}|{_SHOWN}|{_WHO})"
        rf"(?: of {_THE} {_WHO})?(?:{_WHERE})*(?:,? {_SURE},?)? {_IS}(?::)? (?:that )?",
        rf"^{_THE} {_WHO}'s? (?:{_ASKED})(?:{_WHERE})* {_IS}(?::)? ",
        rf"^(?:he|she|they|it|this|that|there|these|those|who|what)(?: {_SURE})? {_IS}(?::)? (?:that )?",
        rf"^(?:he|she|it|that|there|they|this)'(?:s|re) (?:{_SURE} )?(?:{_DOING} )?",
        r"^(?:i'm|i am) (?:seeing|looking at) ",
        rf"^(?:a |an |the |this )?(?:close-?up )?(?:{_SHOWN}|game|match|round) (?:of|showing|with) ",
        rf"^{_SOMEONE}{_DOING} ",
        rf"^(?:{_DOING}|works as) ",
        r"^(?:(?:a|an|some|one) )?(?:lots?|pair|slice|bunch|piece|couple|group|set|type|kind|sort|member|"
        r"herd|flock) of ",
    )
)
_ACTING = re.compile(rf"^{_SOMEONE}(?=\S)")
_HOLDING = re.compile(
    rf"^{_SOMEONE}(?:holding|carrying|using|wearing|riding|eating|walking|driving|reading|playing with) "
)
_REPEATED = re.compile(r"(.{3,120}?)(?:[\s,.;]+\1)+[\s.]*")
_OCCASION = re.compile(r"\s+(?:game|match|race|tournament|competition|contest|event)$")
_OBJECT = re.compile(r'^\{\s*"[a-z_ ]{1,30}"\s*:\s*"([^"{}]{0,200})"\s*\}$')
_LISTED = re.compile(r",\s*(?:or |and )?|\s*/\s*|\s+or\s+|\s+and\s+|\s+&\s+|\s*\+\s*|;\s*")
_BRACKET = re.compile(r"^([^()\[\]]*?)\s*[(\[]([^()\[\]]*)[)\]]\W*$")
_PLACE = (
    r"in|at|on|with|from|for|of|by|to|near|next|under|inside|outside|behind|over|through|during|down|up|"
    r"indoors|outdoors|together|alone"
)
_NAMES_NOTHING = (
    rf"(?:who|that|which|whose|where|while|because|since|as|{_PLACE}|being|an?|the|some|his|her|their|"
    rf"[a-z]{{2,}}ing|[a-z]{{3,}}ed(?= (?:{_PLACE}|as|like|against|around|between|an?|the)\b|\W*$))"
)
_LINK = re.compile(
    rf",?\s+(?=(?:{_NAMES_NOTHING}|is|are|was|sits?|stands?|lies|hangs?|rests?|holds?|wears?)\b)|"
    r"\s*[,:;(]\s*|\s+(?=\d{1,3} ?%)"
)
_STRICT_LINK = re.compile(rf",?\s+(?={_NAMES_NOTHING}\b)|\s*[:;(]\s*")
_ARTICLE = re.compile(r"(?:an?|the|this|that|one) ")
_GUESSED = re.compile(
    rf"\b(?:guess|think|believe|say|likely|probably|perhaps|maybe|possibly|(?:works?|working|employed) as|"
    rf"{_ASKED}(?: of {_THE} {_WHO})? {_IS})\b"
)
_THING = re.compile(r"(?:an?|the) (?:[\w'-]+ ?){1,3}\W*")
_NAMED_THING = re.compile(rf"\b{_ASKED}\b")
_LEADING = re.compile(r"(yes|no|yeah|yep|yup|nope)\s*[,.;:!]\s*")  # of vocabularies that know these words
_EDGES = " .!?\"'"
_NOBODY = re.compile(rf"\b(?:{_WHO}|{_SHOWN}|{_ASKED}|bit|little|lot|few)\b")


@dataclass(frozen=True)
class PromptFrame:
    """What prompts say around a class: "an oil painting of a goldfish" is a goldfish to who asked for it."""

    before: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None

    @classmethod
    def around(cls, pairs: Iterable[tuple[str, str]]) -> PromptFrame:
        """From the text before and behind the class in each prompt.

        Words that tell a gender are left to the step that folds them.
        """
        before, after = set(), set()
        for start, end in pairs:
            opened = without_article(_opened(one_writing(f"{start}{_CLASS}{end}"), cls()))
            left, separator, right = opened.partition(_CLASS)
            if not separator:
                continue
            words = re.sub(r"(?:^|\s+)(?:an?|the)$", "", left.strip()).split()
            if words and without_gender(f"{words[0]} x") == f"{words[0]} x":
                lead = "".join(f"(?:{re.escape(word)} )?" for word in words[:-2]) if words[-1] == "of" else ""
                rest = words[-2:] if lead else words
                before.add(lead + " ".join(map(re.escape, rest)))
            if right.strip(" .,"):
                after.add(re.escape(right.rstrip(" .")))
        return cls(
            re.compile(rf"^(?:(?:an?|the) )?(?:{'|'.join(sorted(before))}) ") if before else None,
            re.compile(rf"(?:{'|'.join(sorted(after))})\W*$") if after else None,
        )


_CLASS = "zzclasszz"
_NO_FRAME = PromptFrame()


def unframed(text: str, label_of: Known, frame: PromptFrame = _NO_FRAME) -> str:
    """An answer, in one writing, without the sentence around it; the whole where no frame is found."""
    if label_of(text) or len(text) > LONGEST:
        return text
    part = _labelled(text, label_of, frame)
    if part is None:
        part = _guessed(text, frame)
    if part is not None:
        return part
    return text if refuses(text) else _opened(text, frame)


def declines(text: str, frame: PromptFrame = _NO_FRAME) -> bool:
    """Whether an answer without a label says that the model will not or cannot tell.

    "A barista, but I can't be sure" does not: it names something, be it no label.
    """
    return refuses(text) and _guessed(text, frame) is None


def named_together(text: str, label_of: Known, frame: PromptFrame = _NO_FRAME) -> int:
    """How many labels an answer lists, as in "a doctor or a nurse"; 1 where it is no list of labels."""
    if label_of(text) or len(text) > LONGEST:
        return 1
    labels: set[str] = set()
    for index, sentence in enumerate(sentences(text)):
        for part in asserted(sentence):
            items = [part] if index else _LISTED.split(_opened(part, frame))
            names = [label_of(_opened(item.strip(_EDGES), frame)) for item in (*items, part) if item]
            labels.update(label for label in names if label is not None)
    return max(1, len(labels))


def _labelled(text: str, label_of: Known, frame: PromptFrame) -> str | None:
    """The first part of a text that is a known label when its frame is gone, if the text stands by it."""
    inside = _OBJECT.match(text)
    if inside:
        return inside[1]
    for candidate in _stages(text.strip(" \"'"), frame):
        if label_of(candidate):  # a label may hold a word such as "no" itself
            return candidate
    led = _LEADING.match(text)
    if led and label_of(led[1]):
        return _leading_answer(led[1], text[led.end() :], label_of, frame)
    if takes_back(text):
        return None
    parts = [part for sentence in sentences(text) for part in asserted(sentence)]
    strict = refuses(text)
    for part in dict.fromkeys(parts if doubtful(text) else [text, *parts]):
        if strict and in_general(part):
            continue
        for candidate in _candidates(part, label_of, frame, strict=strict):
            if label_of(candidate):
                return candidate
    return None


def _leading_answer(word: str, rest: str, label_of: Known, frame: PromptFrame) -> str | None:
    """A yes or no that an answer begins with, unless what follows says otherwise or declines."""
    if word.startswith("n") and refuses(rest):
        return None
    further = _labelled(rest, label_of, frame)
    return word if further is None or label_of(further) == label_of(word) else None


def _guessed(text: str, frame: PromptFrame) -> str | None:
    """What an answer names that is no label, before it declines to be sure: "a barista, but I can't say"."""
    if not refuses(text) or takes_back(text):
        return None
    every = sentences(text)
    first = next(asserted(every[0]), "") if every else ""
    rest = text[len(first) :]
    if not text.startswith(first) or _NAMED_THING.search(rest) or in_general(first):
        return None
    opened = _opened(first, frame)
    if opened != first and _GUESSED.search(first) is None:
        return None
    return opened if _THING.fullmatch(opened) and not _NOBODY.search(opened) else None


def _candidates(sentence: str, label_of: Known, frame: PromptFrame, *, strict: bool) -> Iterator[str]:
    """Parts of a sentence that may be the label, longest first; fewer of them where the answer declines."""
    for opened in _stages(sentence.strip(" \"'"), frame):
        yield opened
        if frame.after is not None:
            yield frame.after.sub("", opened)
        bracket = _BRACKET.match(opened)
        if bracket:
            yield bracket[1]
        yield from (_sure_heads(opened, label_of, frame) if strict else _heads(opened))
        yield _OCCASION.sub("", opened.rstrip(" .!?"))
        if bracket:
            yield bracket[2]


def _heads(text: str) -> Iterator[str]:
    """Beginnings of a text, cut where a clause, a place or a further part of a list begins, longest first."""
    yield from _cut(text, _LINK, _LISTED)


def _sure_heads(text: str, label_of: Known, frame: PromptFrame) -> Iterator[str]:
    """As ``_heads``, but not of "nurses are ...", and of a list only where all of it is labels."""
    yield from _cut(text, _LINK if _ARTICLE.match(text) and not _LISTED.search(text) else _STRICT_LINK)
    items = [item for item in _LISTED.split(text[:_LONGEST_HEAD]) if item]
    if len(items) > 1 and all(label_of(_opened(item.strip(_EDGES), frame)) for item in items):
        yield items[0]


def _cut(text: str, *patterns: re.Pattern[str]) -> Iterator[str]:
    """Beginnings of a text up to where a pattern is found, longest first."""
    ends = {match.start() for pattern in patterns for match in pattern.finditer(text[:_LONGEST_HEAD])}
    for end in sorted(ends, reverse=True):
        if end:
            yield text[:end]


def _stages(text: str, frame: PromptFrame) -> Iterator[str]:
    """A text, then what is left as its openings go, one after the other, then without who acts."""
    yield text
    for _ in range(12):
        shorter = _less(text, frame)
        if shorter == text:
            break
        text = shorter
        yield text
    again = _REPEATED.fullmatch(text[:LONGEST])
    if again:
        yield again[1]
    for who in (_ACTING, _HOLDING):
        if (without := who.sub("", text)) != text:
            yield without


def _opened(text: str, frame: PromptFrame) -> str:
    """A text without its openings."""
    for _ in range(12):
        shorter = _less(text, frame)
        if shorter == text:
            break
        text = shorter
    return text


@lru_cache(maxsize=20_000)
def _less(text: str, frame: PromptFrame) -> str:
    """A text without one opening; never without everything."""
    for pattern in (*_OPENINGS, frame.before) if frame.before is not None else _OPENINGS:
        shorter = pattern.sub("", text, count=1).lstrip(" \"'")
        if shorter != text and any(map(str.isalnum, shorter)):
            return shorter
    return text
