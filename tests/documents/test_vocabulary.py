"""Pages, docstrings and messages use the terms of the field, not words of our own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.documents.reading import OTHERS, WRITTEN, prose_of

AVOIDED = {  # what to write in its place
    "told apart": "distinguished, separated, recognised by",
    "told": "reported, stated, named; or say who says it",
    "looked at": "read, examined, reviewed",
    "asked through": "asked by way of, or the name of the adapter",
    "held against": "compared with",
    "significant": "beyond chance",
    "significantly": "beyond chance",
    "model is biased": "the finding itself: what differs, for whom, by how much",
}
LONGEST_FIRST = "|".join(sorted(AVOIDED, key=len, reverse=True)).replace(" ", r"\s+")
WORDS = re.compile(rf"(?<![`\w])(?:{LONGEST_FIRST})(?![`:\w(])", re.IGNORECASE)
EXCEPTIONS = (  # what others wrote, and what runs, prompts and pages of before hold
    r"most significant matches",  # the paper's words
    r"\(\?:determined\|[^)]*\)",  # words of models that refuse to answer
    r"it cannot be told(?: from the picture)?",  # an option that models were given
    r"the significant and along all",  # the name of a method in findings.json
    r"more samples equally near than were looked at",  # a reason in findings.json
    r"cannot be told from 0",  # a note in findings.json
)


def avoided_words(text: str) -> list[str]:
    """The words to avoid in a text, without the exceptions."""
    plain = re.sub("|".join(EXCEPTIONS), "", " ".join(text.split()), flags=re.IGNORECASE)
    return [match[0].lower() for match in WORDS.finditer(plain)]


def sentences_of(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that has such a word at all, with their lines."""
    code = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(code)) if WORDS.search(code) else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("The two groups cannot be told apart.", ["told apart"]),
        ("Files that were\n    looked at before, and a significant gap", ["looked at", "significant"]),
        ("The run is held against chance.", ["held against"]),
        ("`told` and told: sentences for the person", []),
        ("The paper shows \"the 15 most significant matches\"", []),
    ],
)  # fmt: skip
def test_old_forms_are_refused_and_exceptions_are_not(sentence, words):
    assert avoided_words(sentence) == words


def test_docstrings_and_messages_avoid_private_words():
    files = sorted((ROOT / "src").rglob("*.py"))
    offenders = [
        f"{path.relative_to(ROOT)}:{line}: {word} (write: {AVOIDED[word]})"
        for path in files
        for line, text in sentences_of(path)
        for word in avoided_words(text)
    ]
    assert offenders == []


def test_pages_avoid_private_words():
    offenders = [
        f"{page.relative_to(ROOT)}: {word} (write: {AVOIDED[word]})"
        for page in [*WRITTEN, *OTHERS, *(ROOT / "src").rglob("*.md")]
        for word in avoided_words(prose_of(page))
    ]
    assert offenders == []
