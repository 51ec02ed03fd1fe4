"""How answers to lettered options are read: what frames them, marks them, and concludes on a letter."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

NOUN = (
    r"(?:final answer|answer|ans|option|choice|caption|letter|selection|sentence|description|respuesta|"
    r"opci[oó]n|leyenda|r[eé]ponse|l[eé]gende|antwort|bildunterschrift|antwoord|resposta|op[cç][aã]o|legenda|risposta|"
    r"opzione|ответ|odpowied[zź]|cevap|jawaban|alternativa|letra)"
)
_SUBJECT = (
    rf"(?:{NOUN}|(?:best|closest|better|right|correct|ideal|perfect|strongest|most \w+) "
    r"(?:match|fit|pick|guess|candidate|one|bet)|my (?:\w+ )?(?:match|pick|guess|bet|vote|verdict)|"
    r"conclusion|verdict|decision|final(?=:))"
)
_LINK = (
    r"(?:(?:is|are|was|would be|should be|must be|will be|es|est|ist|lautet|é|è|seria|to|jest|adalah)\b|"
    r"[:=]|\n)"
    r"\s*(?:most likely |probably |likely |clearly |definitely |the |la |el |l'|die |der |a |o )?"
)
_LETTER = r"[\s\W]*?\b([A-Za-z])\b"
_CAPITAL = r"[\s\W]*?\b([A-Z])\b"
_OR = r"(?:or|and|ou|oder|und|et|und|أو|او|و|या|और|/)"
_END = (
    r"(?=\s*(?:$|[.!;:)\]}\"。、।؛]|\n|[,،](?!\s*(?:(?:or|and)\s)?[A-Z]\b)|\s[-–—]+\s|"
    r"(?:because|since|porque|pois|as(?! well\b))\b))"
    rf"(?!\s*[.,;:)]?\s*{_OR}\s*(?:option |caption )?[A-Z]\b)"
)
_POLITE = r"(?:clearly |definitely |probably |likely |also )?(?:the |a )?"
_BAD = (
    r"(?:wrong|incorrect|inaccurate|unlikely|misleading|inappropriate|offensive|sexist|biased|stereotypical|"
    r"problematic|harmful|questionable|doubtful)"
)
_GOOD = (
    rf"(?:(?:most|more)(?! (?:\w+ )?{_BAD})|best|better|safest|closest|correct|right|accurate|appropriate|"
    r"suitable|fitting|answer\b|caption\b|my (?:answer|choice|pick|guess)|"
    r"only (?:one|option|caption|choice|answer|possibility|fit)\b|"
    r"bonne|correcta|richtig)"
)
_AR_NOUN = r"(?:الإجابة|الاجابة|إجابة|إجابتي|الجواب|جوابي|الخيار|الاختيار|العنوان|التعليق|الوصف|الحرف)"
_AR_GOOD = r"(?:الأنسب|الأفضل|الصحيح|الصحيحة|الأصح|الأدق|الأقرب|صحيح|صحيحة|مناسب)"
_HI_NOUN = r"(?:उत्तर|जवाब|विकल्प|कैप्शन|शीर्षक)"
_HI_GOOD = r"(?:सबसे\s+(?:उपयुक्त|सही|अच्छा|बेहतर|सटीक)|सही|उपयुक्त|बेहतर|सटीक)"
CONCLUSIONS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?i:\b{_SUBJECT}\b[^.,;!?\n]{{0,80}}?\s*{_LINK}(?:{NOUN}\W+)?){_LETTER}{_END}",
        r"(?i:\b(?:choose|chose|pick|select|go with|going with|opt for|say|think|guess|answer|"
        r"settle on|vote for|choisis|elijo|wähle|scelgo|escolho|escolheria|seleciono|marcaria|marco|diria)\s+"
        rf"(?:with )?(?:the |la |die |den |a |o |que é a )?(?:{NOUN}\W+)?){_LETTER}{_END}",
        r"(?i:\b(?:it is|it's|that is|that's|must be|should be|would be|has to be|have to be|can only be)\s+"
        rf"{_POLITE}(?:{NOUN}\W+)?){_CAPITAL}{_END}",
        r"(?i:(?:^|[,;:.\n]\s*)(?:(?:so|thus|therefore|hence|overall|finally|ultimately|in conclusion|"
        r"in short|in summary|all in all)[, ]+|(?:by |through )?(?:a |the )?(?:process of )?elimination\b"
        r"[,:]?\s+(?:(?:it is|it's|it must be|i get|we get|i choose|i pick)\s+)?)"
        rf"(?:{NOUN}\W+)?){_LETTER}{_END}",
        r"(?i:\b(?:leaves?|leaving|left with)\s+(?:us |me |with |only |just |the )*"
        rf"(?:{NOUN}\W+)?){_CAPITAL}{_END}",
        r"\b([A-Z])\b[\"')\]]* (?:it is|remains|is left|is all that(?: is|'s) left)(?=\W*(?:$|\n)|[.,;!])",
        rf"(?i:\bonly (?:{NOUN}\W+)?)([A-Z])\b[\"')\]]* (?:works|fits|matches|applies|is possible)\b",
        rf"(?<![A-Z])(?<!\b[A-Z] )(?:[-=]+>|[→⇒➜➔⟶⟹])\s*(?i:(?:the )?(?:{NOUN}\W+)?)[\"'(\[]*([A-Z])\b{_END}",
        r"(?i:(?:^|[.\n]\s*)(?:since|because|given|considering|seeing|judging by|based on)\b"
        rf"(?:(?!\b(?:options|captions|(?-i:[A-HJ-Z]))\b)[^.!?\n]){{3,300}}?[:,]\s*"
        rf"(?:(?:it is|it's) )?(?:{NOUN}\W+)?)[\"'(\[]*\b([A-Z])\b[^\w\n]*(?=\n|$)",
        rf"\b([A-Z])\b[\"')\],]*\s+(?:is|est|es|ist|would be|seems|seems to be|appears to be|looks)\s+"
        rf"(?:la )?{_POLITE}{_GOOD}",
        r"\b([A-Z])\b[\"')\]]*\s+(?:best |better |most accurately |accurately |correctly )?"
        r"(?:fits|matches|describes|suits|represents)"
        r"(?=\W*$|[.,;]| (?:it|best|better|most|well|what)\b|"
        r" (?:the|this) (?:\w+ )?(?:image|picture|photo)\b)",
        r"^[^()]*\(([A-Z])\)[.\s]*$",
        r"(?:答案|标题|说明|正解|正确|选项|選項|选择|選擇|选|選|答え|回答|答|정답)[^A-Za-z。\n]{0,8}([A-Z])(?![A-Za-z/、或和と])",
        rf"{_AR_NOUN}[^A-Za-z.\n،؛]{{0,40}}?(?:هي|هو|:)[^A-Za-z\n]{{0,25}}([A-Z])\b{_END}",
        rf"(?:أختار|اختار|سأختار|اخترت)\s[^A-Za-z.\n]{{0,25}}([A-Z])\b{_END}",
        rf"{_AR_NOUN}\s*[\"'(]*([A-Z])\b[\"')]*\s*(?:(?:هو|هي)\s+)?{_AR_GOOD}",
        rf"{_HI_NOUN}[^A-Za-z।.\n]{{0,25}}?([A-Z])\b[\"')]*(?:\s*(?:है|होगा))?(?=\s*(?:[।.!]|\n|$))",
        rf"{_HI_NOUN}\s*[\"'(]*([A-Z])\b[\"')]*\s*(?:भी\s+)?{_HI_GOOD}\s+(?:विकल्प\s+|उत्तर\s+)?(?:है|रहेगा|होगा|लगता)(?!\s*नहीं)",
        r"\b([A-Z])\b[\"')]*\s*(?:को\s+)?(?:चुनूंगा|चुनूँगा|चुनूंगी|चुनूँगी|चुनता|चुनती)(?!\s*नहीं)",
    )
)
"""Each finds, as its only group, a letter that something concludes on."""
LAST_LINE = re.compile(rf"\n\s*\n[^\w\n]*(?:(?i:{NOUN})\W+)?([A-Z])[^\w\n]*$")
"""A letter alone, after an empty line, at the end."""
_ADVERB = r"(?:definitely|clearly|probably|most likely|likely|certainly|surely|yes|the|i think|i believe)"
LABEL = re.compile(
    rf"^\W*(?:(?i:{_ADVERB})\W+)?(?:(?i:{NOUN})\W+)?(?:([A-Za-z])(?=\W*$|[.](?!\w\.)|[):\]])|([A-Z])(?=[,;、]|\s+[-–—]+\s|\s+\())\W*"
)
"""A letter at the beginning of a line, alone or before a text."""
NEXT_LETTER = re.compile(r"^\W*(?:(?:or|and)\W+)?[A-Z]\b(?=\W*$|\s*[,;/&)]|\s+(?:or|and|all|both|are)\b)")
DENIES = re.compile(
    r"\b(?:not|never|no|none|neither|nor|cannot|hardly|least|less|worst|wrong|false|incorrect|unlikely|except|exclude[sd]?|"
    r"eliminate[sd]?|rather than|instead of|rule[sd]? out|whether|could|might|may|maybe|"
    r"perhaps|either|both|nicht|pas|keine?|não|nem|nunca|talvez)\b|n't\b|不|ない|아니|"
    r"(?<!\S)(?:ليس|ليست|لا|لن|لم|غير|ربما)(?!\S)|नहीं|शायद|गलत|सबसे कम|(?<!\S)न(?!\S)|"
    r"\b[A-Z]\s*(?:,|and|or|/|&)\s*(?:option |caption )?$",
    re.IGNORECASE,
)
SUPPOSES = re.compile(
    r"\b(?:if|unless)\b(?! (?:i|we) (?:had|have|must|were|am|need))|"
    r"\b(?:wenn|falls|si (?:c'est|l[ae]|il|elle)|se (?:for|fosse))\b|(?<!\S)(?:إذا|لو|यदि|अगर)(?!\S)",
    re.IGNORECASE,
)
LISTS = re.compile(r"\b(?:each|every|following|these|options|captions)\b[^.!?]*$", re.IGNORECASE)
_OTHER = r"\b([A-HJ-Z])\b"  # "I may be wrong" speaks of no option
HEDGES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?i:\b(?:if|when|were i|should i)\b[^.!?\n]{0,60}?\b(?:forced|pressed|pushed|compelled|required|"
        rf"must|had to|have to|need to|made to)\b[^.!?\n]{{0,80}}?){_OTHER}{_END}",
        rf"(?i:\b(?:if|unless|when)\b[^.!?\n]{{1,100}}?[:,]\s*(?:then )?(?:{NOUN}\W+)?){_OTHER}{_END}",
        rf"(?i:\b(?:could|might|may|can)(?: (?!not\b)\w+){{0,4}}? be (?:the )?(?:{NOUN}\W+)?){_OTHER}{_END}",
        r"(?i:\b(?:or|possibly|perhaps|maybe|otherwise|alternatively|no|wait|actually|rather|sorry|correction|"
        r"i mean|scratch that)\b(?:\W+(?:even|also|maybe|perhaps|possibly|no|wait|actually|it is|it's|"
        rf"the answer is|make that|rather))*\W+(?:{NOUN}\W+)?){_OTHER}{_END}",
        rf"{_OTHER}[\"')]*\s+(?i:also|(?:is|would be|seems) "
        r"(?:also|equally|just as|as|close|possible|plausible|likely)|"
        r"(?:could|might|may)(?: also| equally| just as well| as well| well)? "
        r"(?:work|fit|be|apply|match)(?! (?:only )?if)|"
        r"(?:fits|works|matches|is (?:right|correct))(?: just)? (?:too|also|as well|equally))\b",
        rf"(?i:\b(?:so|as) (?:does|do|is|would)\b[^.!?\n]{{0,20}}?){_OTHER}",
        rf"{_OTHER}[\"')]*\s+(?i:can(?:not|'t|’t)|could(?: not|n't|n’t)) (?i:be (?:ruled out|excluded))\b",
    )
)
"""Each finds a letter that an answer leaves open beside, or puts in the place of, the one that it chose."""
NEXT_LABEL = re.compile(rf"[.;,]\s+(?i:(?:{NOUN}\W+)?){_OTHER}[):]\s")
"""The label of a further option on the same line."""
NO_OPTION = re.compile(
    r"\b(?:but|though|although|however|honestly|really)\W[^.!?\n]{0,60}?\b(?:neither|none)\b|"
    r"\bwhich (?:(?:is|does|would)(?: not|n't) (?:really |even )?(?:right|correct|fit|match|work)|"
    r"is (?:wrong|incorrect|impossible|unlikely))\b",
    re.IGNORECASE,
)
"""What takes every option back."""
OPEN = re.compile(
    r"\W*[A-Z]\W*\?\W*"  # asks back
    r"|\W*(?:none|neither)\b[^.!?\n]{0,60}?\b(?:but|though|although|however)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""A whole answer that names a letter, and leaves open whether any is right."""
WRONG = re.compile(r"^\W{0,4}(?:is |was )?(wrong|incorrect|impossible)\b", re.IGNORECASE)
"""What takes back the letter that it follows."""


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_SHORT = ("1st", "2nd", "3rd", *(f"{number}th" for number in range(4, 11)))
_PLACES = {word: index for words in (_WORDS, _SHORT) for index, word in enumerate(words)}
_PLACE = rf"({'|'.join(_PLACES)}|last|former|latter)"
_OPTION = r"(?:option|choice|caption|sentence|description|statement|candidate)"
_ENDS = r"(?=\W*$|\s*[.,;:!)\n]|\s+(?:because|since|as|or|and|is (?:correct|right|best))\b)"
_NAMED = re.compile(
    rf"(?<!my )(?<!your )\b(?:the )?(?:very )?{_PLACE} {_OPTION}\b|"
    rf"\b{_OPTION}\s?(?:number|no\.?|nr\.?|#)?\s?(\d{{1,2}})\b(?!\s?%|[.,]\d)|"
    rf"^\W*(?:number |no\. ?|#)(\d{{1,2}})(?=\W*$)|"
    rf"\bthe {_PLACE} one\b{_ENDS}|"
    rf"(?:^|(?<=\bis )|(?<=\bbe )|(?<=\bchoose )|(?<=\bpick )|(?<=\bselect )|(?<=\bwith )|(?<=\beither )|"
    rf"(?<=\bor )|(?<=\band )|(?<=\bperhaps )|(?<=\bmaybe )|(?<=\bpossibly ))the {_PLACE}\b{_ENDS}",
    re.IGNORECASE,
)
_LETTERED = re.compile(rf"(?i:\b{_OPTION}) [A-Z]\b")
_COUNTED = re.compile(rf"\d|\b{_PLACE}\b", re.IGNORECASE)


def with_letters(text: str, options: Sequence[str]) -> str:
    """A text in which options named by their place have their letter: "the second one" is "option B".

    Nothing changes where the text names letters, or where an option holds a number or a place itself; places
    beyond the options stay.
    """
    if _LETTERED.search(text) or any(map(_COUNTED.search, options)):
        return text

    def lettered(match: re.Match[str]) -> str:
        word = next(filter(None, match.groups())).lower()
        index = int(word) - 1 if word.isdigit() else _PLACES.get(word, len(options) - 1)
        if word == "former":
            index = 0
        pair = word not in ("former", "latter") or len(options) == 2
        return f"option {LETTERS[index]}" if pair and 0 <= index < len(options) else match[0]

    return _NAMED.sub(lettered, text)


_DEEPEST = 3  # a field that holds tags that hold a box
_BOXED = (
    re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}"),
    re.compile(r"<answer>((?:(?!<answer>).)*?)</answer>", re.DOTALL | re.IGNORECASE),
    re.compile(r"<\|begin_of_box\|>((?:(?!<\|begin_of_box\|>).)*?)<\|end_of_box\|>", re.DOTALL),
)
_OBJECT = re.compile(r"\{[^{}]*\}")
_KEYS = ("answer", "final_answer", "choice", "option", "letter", "caption", "selection", "label", "response")


def framed_parts(reply: str) -> list[str]:
    """The parts of a reply that it frames as its answer, without their frames.

    They are the reply itself where it frames nothing; a frame that holds no text gives an empty one.
    """
    parts = [reply]
    for _ in range(_DEEPEST):
        inner = [list(_framed(part)) or [part] for part in parts]
        parts = [text for texts in inner for text in texts]
    return parts


def _framed(reply: str) -> Iterator[str]:
    for pattern in _BOXED:
        for match in pattern.finditer(reply):
            yield match[1]
    for match in _OBJECT.finditer(reply):
        for key, value in _object(match[0]).items():
            if str(key).lower().replace(" ", "_") in _KEYS:
                yield value if isinstance(value, str) else ""


def _object(text: str) -> dict[Any, Any]:
    """A JSON object, or Python's way of writing one; empty where it is neither."""
    if ":" not in text:
        return {}
    for parse in (json.loads, ast.literal_eval):
        try:
            fields = parse(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # the last two: too deep
            continue
        if isinstance(fields, dict):
            return fields
    return {}


_MARK = re.compile(
    r"(?P<tick>\[[xX✓✔]\]|\([xX✓✔]\)|[✓✔☑✅🗹◉🔘])\ufe0f?|"
    r"(?P<cross>[✗✘❌✖✕☐⬜□○]|\[ ?\]|\( ?\))\ufe0f?|"
    r"\(?(?P<share>\d{1,3}(?:[.,]\d{1,2})?) ?%\)?(?=\s*(?:$|[,;.|/\n]|(?:and )?[A-Z]\b))"
)
_OF_ERROR = re.compile(r"\b(?:wrong|incorrect|errors?|unlikely|risk|not)\b|n't\b", re.IGNORECASE)
_BESIDE = re.compile(rf"^\W*(?:(?i:{NOUN})\W+)?([A-Z])\W{{0,3}}$")
_MOST_SURE = 50  # percent; what has less is not what the answer says
_ALL = 101  # percent, rounded; shares of more in all do not exclude each other


@dataclass(frozen=True)
class Marked:
    """What the marks of an answer say."""

    ticked: dict[str, str]  # letters ticked, or with most of the certainty, each with the words beside it
    crossed: frozenset[str]  # letters with another mark
    rest: str  # the text without what is marked


def marked(text: str) -> Marked:
    """The options that a text marks.

    A letter counts that stands in one piece with one mark: on a line of its own, or in a row of them such as
    "☐ A ☑ B". Shares count from two on. Of these, what has more than half is ticked; shares that leave this
    open tick all their letters.
    """
    ticked: dict[str, str] = {}
    crossed: set[str] = set()
    shares: dict[str, tuple[float, str]] = {}
    rest, unsure = [], []
    for piece in _pieces(text):
        kind, letter, words, share = _item(piece)
        if kind == "tick":
            ticked[letter] = words
        elif kind == "cross":
            crossed.add(letter)
        elif kind == "share":
            shares[letter] = (max(share, shares.get(letter, (0.0, ""))[0]), words)
            unsure.append(piece)
        else:
            rest.append(piece)
    if len(shares) < 2:
        rest += unsure
        shares = {}
    certain = sum(share for share, _ in shares.values()) <= _ALL and not _OF_ERROR.search(text)
    most = [letter for letter, (share, _) in shares.items() if certain and share > _MOST_SURE]
    for letter in most if len(most) == 1 else shares:
        ticked[letter] = shares[letter][1]
    crossed |= shares.keys() - ticked.keys()
    if not ticked and not crossed:
        return Marked({}, frozenset(), text)
    return Marked(ticked, frozenset(crossed), "\n".join(rest))


def _item(piece: str) -> tuple[str, str, str, float]:
    """What kind of mark a piece holds, beside which letter, with which words, and what share."""
    marks = list(_MARK.finditer(piece))
    if len(marks) != 1:
        return "", "", "", 0.0
    mark = marks[0]
    before, words = piece[: mark.start()], piece[: mark.start()] + piece[mark.end() :]
    label = _BESIDE.match(before) or LABEL.match(words)
    if label is None:
        return "", "", "", 0.0
    letter = next(filter(None, label.groups())).upper()
    share = float(mark["share"].replace(",", ".")) if mark["share"] else 0.0
    return mark.lastgroup or "", letter, words[label.end(label.lastindex or 0) :], share


def _pieces(text: str) -> Iterator[str]:
    """The lines of a text; a line with several marks is cut before each, or behind each."""
    for line in text.splitlines():
        marks = list(_MARK.finditer(line))
        if len(marks) < 2:
            yield line
            continue
        first = not line[: marks[0].start()].strip(" \t-•>")
        cuts = [mark.start() if first else mark.end() for mark in marks]
        bounds = [0, *cuts[1:], len(line)] if first else [0, *cuts, len(line)]
        yield from (line[start:end] for start, end in pairwise(bounds) if end > start)
