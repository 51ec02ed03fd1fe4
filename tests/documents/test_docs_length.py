"""Pages stay short: words that were written by hand, per page and in all."""

from __future__ import annotations

import re

from tests.documents.reading import WRITTEN

MADE = re.compile(r"<!-- made by .*?<!-- end of what was made -->", re.DOTALL)
MOST, MOST_OF_STATISTICS = 27_000, 7_000


def test_pages_written_by_hand_have_at_most_27_000_words(capsys) -> None:
    texts = {page.name: page.read_text(encoding="utf-8") for page in WRITTEN}
    assert MADE.search(texts["statistics.md"])
    words = {name: len(MADE.sub("", text).split()) for name, text in texts.items()}
    with capsys.disabled():
        longest = sorted(words.items(), key=lambda item: -item[1])[:8]
        print(f"\n{sum(words.values()):,} words on {len(words)} pages; {dict(longest)}")
    assert words["statistics.md"] <= MOST_OF_STATISTICS
    assert sum(words.values()) <= MOST
