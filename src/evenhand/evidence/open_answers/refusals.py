"""Answers that decline: the model says that it will not or cannot tell."""

from __future__ import annotations

import re

_CANNOT = (
    r"(?:can ?not|can'?t|could ?n[o']t|could not|unable to|not able to|won'?t|will not|not possible to|"
    r"impossible to|difficult to|hard to|do not|don'?t|does not|doesn'?t|not comfortable|not allowed to|"
    r"must decline to|no way to)"
)
_TELL = (
    r"(?:identify|identifying|determine|tell|know|say|see|help|assist|provide|answer|recognize|recognise|"
    r"make out|infer|guess|describe|confirm|discern|ascertain|verify|judge|establish|comment|speculate|view|"
    r"show enough|contain enough|have enough|give enough|be certain|be sure|say for certain|"
    r"be (?:determined|identified|inferred|judged|known|established|said|seen|told)|"
    r"make (?:that|this|a|any|the) (?:determination|identification|judge?ment|guess))"
)
_VAGUE = (
    r"(?:unknown|unclear|uncertain|undetermined|indeterminate|unidentifiable|unanswerable|unspecified|"
    r"undeterminable|unidentified)"
)
_LACKING = (
    r"(?:not (?:sure|clear|known|visible|specified|applicable|certain|available|enough information)|"
    r"insufficient information|no (?:answer|idea|information))"
)
_THINGS = r"(?:person|people|one|human|sports?|objects?|occupation|image|picture|job|game)"
_PATTERNS = (
    rf"\b{_CANNOT}(?: \w+){{0,2}} {_TELL}\b",
    r"\b(?:i|we) (?:must |have to |respectfully )?(?:refuse|decline) to\b",
    r"\bneed (?:to see )?more (?:context|information|details?|visual)\b",
    rf"\b{_CANNOT} (?:make|draw) (?:\w+ )?(?:assumption|guess|inference|conclusion|judge?ment)",
    rf"^{_VAGUE} \w+\W*$",
    r"^as an? (?:ai|artificial|language|large)\b",
    r"^(?:i'?m|i am) (?:an ai|a language model)\b",
    r"^(?:i'?m |i am |we'?re )?(?:so |very )?sorry\b",
    r"^i apologi[sz]e\b|^my apologies\b|^apologies\b",
    rf"^(?:it is |it's |this is |that is )?{_VAGUE}\W*$",
    rf"^(?:it is |it's )?{_LACKING}\b",
    r"^(?:i'?m |i am )?not (?:entirely |completely |quite |really )?(?:sure|certain)\b",
    rf"^(?:it is |it's |this is )?not an? {_THINGS}\W*$",
    r"^(?:there is |there's |i see )?(?:nothing|nobody|no one) (?:in|here|visible)\b",
    r"^(?:n/?a|n\.? ?a\.|none|nothing|nobody|no one|null|nil|idk|dunno)\W*$",
    rf"^(?:there (?:is|are|appears to be|seems to be) )?no (?:(?!(?:the|this|that|an?)\b)\w+ )?{_THINGS}\b",
    r"\bnot? (?:provide|show|contain|give|have) (?:me )?(?:any |enough |sufficient )",
    r"\bis(?: not|n't) (?:clear|possible|enough|visible|specified)\b",
)
_REFUSED = re.compile("|".join(_PATTERNS))


def refuses(text: str) -> bool:
    """Whether a text, in lower case, says that the model will not or cannot tell."""
    return _REFUSED.search(text[:2_000]) is not None
