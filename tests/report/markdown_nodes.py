"""What a page shows of Markdown: its texts, and what of it would act."""

import re

from markdown_it import MarkdownIt

LINKED = re.compile(r"(https?|ftp)://|www\.|\w@\w|@\w|#\d|\bGH-\d", re.IGNORECASE)
"""What GitHub makes links of inside one text: addresses, mail, names, issues."""

_SHOWN = ("text", "code_inline")
_ACTS = ("link_open", "image", "strong_open", "em_open", "s_open", "code_inline")


def nodes_of(source):
    """The texts of rendered Markdown, and the kinds of everything else; a comment is a text of its own."""
    nodes, acts = [], []
    for token in MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(source):
        acts += [token.type] if token.type in ("ordered_list_open", "code_block", "html_block") else []
        for child in token.children or []:
            nodes += [child.content] if child.type in _SHOWN else []
            acts += [child.type] if child.type in _ACTS else []
            if child.type == "html_inline":
                assert child.content == "<!-- -->"
                nodes.append("\0")
    return nodes, acts
