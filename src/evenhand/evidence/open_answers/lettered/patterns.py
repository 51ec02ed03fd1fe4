"""The words by which an answer names, chooses and denies a letter, in the languages that models answer in."""

from __future__ import annotations

import re

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
WRONG = re.compile(r"^\W{0,4}(?:is |was )?(wrong|incorrect|impossible)\b", re.IGNORECASE)
"""What takes back the letter that it follows."""
