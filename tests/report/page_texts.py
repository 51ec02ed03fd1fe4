"""What pages show and read out, what the source looks up in catalogues, and what is missing there."""

from __future__ import annotations

import ast
import json
import re
from gettext import NullTranslations
from html.parser import HTMLParser

from evenhand.display.text.formatting import PROSE_LIMIT, key_text, shorten
from tests.architecture.source_tree import SOURCE, nodes

REPORT = SOURCE / "report" / "templates"
PAGES = sorted((REPORT / "pages").rglob("*.j2"))
SCRIPTS = sorted((REPORT / "scripts").glob("*.js"))
CALLS = {"_": slice(0, 1), "plural_of": slice(0, 2), "plural": slice(1, 3)}
IN_TEMPLATES = re.compile(r"""_\((?:"([^"]+)"|'([^']+)')(?: if [^"]*? else "([^"]+)")?""")
PLURALS_IN_TEMPLATES = re.compile(r'plural_of\("([^"]+)", "([^"]+)"')
IN_SCRIPTS = re.compile(r'\b_\("([^"]+)"\)')
IN_ENGLISH = {"cli", "models", "exports", "brief.py", "impact_ratios.py"}
"""Rooms, folders and files whose sentences no audit's page shows."""
ATTRIBUTES = ("aria-label", "placeholder", "data-caption")
WORDS = re.compile(r"[A-Za-z]{2}")
DRAWERS = ('<details class="drawer"', '<section id="method"')


RECORDED = ("matched", "ranked_on", "model")  # which the page says in words


class Texts(HTMLParser):
    """What a page shows and reads out, without its styles and scripts, and a drawer that is left out."""

    def __init__(self, page, without=""):
        super().__init__()
        self.texts, self.hidden, self.language, self.tags = [], "", "", []
        self.feed(_cut(page, without) if without else page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.language = given["lang"] if tag == "html" else self.language
        self.hidden = tag if tag in ("script", "style") else self.hidden
        self.texts += [
            given[name] for name in ("aria-label", "placeholder", "data-caption") if given.get(name)
        ]

    def handle_endtag(self, tag):
        self.hidden = "" if tag == self.hidden else self.hidden

    def handle_data(self, data):
        self.texts += [] if self.hidden else [" ".join(data.split())]


def _cut(page, drawer):
    """A page without one of its drawers."""
    start = page.find(f'<details class="drawer" id="{drawer}">')
    following = [at for at in (page.find(mark, start) for mark in DRAWERS) if at > start]
    return page if start < 0 else page[:start] + page[min(following) :]


def texts_of_data(page):
    """What the page's scripts write of its tables and charts: headings, axes, and words that are no names."""
    data = json.loads(re.search(r'id="run-data">(.*?)</script>', page, re.S)[1])
    figures = re.findall(r'data-figure="(\d+)"', _cut(page, "artifacts"))
    drawn = [*data["specs"].values(), *(data["figures"][int(place)] for place in figures)]
    texts = [title.strip() for title in _titles(drawn)]
    long_tables = [table for name, table in data["tables"].items() if f'data-table="{name}"' in page]
    for table in (*long_tables, *(table for tables in data["evidence"].values() for table in tables)):
        frame = data["frames"][table["frame"]]
        texts += [column.get("shown", column["title"]) for column in table["columns"]]
        texts.append(table.get("only", ""))
        for name in {"reading", "level"} & {*frame["text"]}:
            texts += [data["labels"][place] for place in frame["columns"][name] if place is not None]
    return texts


def _titles(spec):
    """Titles of axes and tooltips anywhere in specifications."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            yield from [value] if key == "title" and isinstance(value, str) else _titles(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from _titles(value)


def names_in(run):
    """What names of models, runs, tables, columns, groups, findings and benchmarks match, and references.

    So are texts of the manifest. The longest come first, so that of a name none is left over.
    """
    manifest, command = run.manifest, " ".join(run.manifest["command"])
    names = {*run.all_tables, "SkewSize", command, shorten(command, PROSE_LIMIT)}
    names |= {text for key, text in manifest.items() if isinstance(text, str) and key not in RECORDED}
    names |= {*manifest["models"], *map(str, manifest.get("dates") or ())}
    for entry in manifest["runs"]:
        names |= {
            str(entry.get(key)) for key in ("folder", "model", "name", "group", "manifest_id", "source")
        }
    for finding in run.findings:
        names |= {finding.name, *finding.by, *map(str, finding.params.values())}
        names |= {finding.name.removesuffix("_difference"), finding.name.removesuffix("_seed_spread")}
        names |= {key_text(part.key) for part in finding.parts} | {
            key_text(one.key) for one in finding.groups
        }
        names.add(f"{finding.source.paper}, {finding.source.equation}".removesuffix(", "))
    for table in run.tables.values():
        for name in {"metric", "by", "label", "truth", "group", "first", "second"} & {*table.columns}:
            names |= {str(cell) for cell in table[name].unique() if isinstance(cell, str)}
    words = sorted((re.escape(name) for name in names if name), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)")


class Missing(NullTranslations):
    """Keeps what a catalogue has no text for."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def gettext(self, message):
        self.texts.append(message)
        return message


def constants_of(node, assigned):
    """Texts that an argument may be: itself, either of two, or what its name was set to before."""
    if isinstance(node, ast.Constant):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*constants_of(node.body, assigned), *constants_of(node.orelse, assigned))
    elif isinstance(node, ast.Name):
        for value in assigned.get(node.id, ()):
            yield from constants_of(value, {})


def texts_of_modules():
    """What modules of reports look up, as far as they write it down."""
    for path in sorted(SOURCE.rglob("*.py")):
        if IN_ENGLISH & set(path.relative_to(SOURCE).parts):
            continue
        for function in (node for node in nodes(path) if isinstance(node, ast.FunctionDef)):
            assigned = {}
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    assigned.setdefault(node.targets[0].id, []).append(node.value)
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in CALLS:
                    for argument in node.args[CALLS[node.func.id]]:
                        yield from filter(None, constants_of(argument, assigned))


def texts_of_templates():
    for path in PAGES:
        source = path.read_text(encoding="utf-8")
        for match in (*IN_TEMPLATES.finditer(source), *PLURALS_IN_TEMPLATES.finditer(source)):
            yield from (text.replace("\\n", "\n") for text in match.groups() if text)
    for path in SCRIPTS:
        yield from IN_SCRIPTS.findall(path.read_text(encoding="utf-8"))
