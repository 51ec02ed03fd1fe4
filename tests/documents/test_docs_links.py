"""Links lead somewhere, every page can be found, and the commands that pages show exist."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from evenhand.benchmarks.catalogue import ARTIFACTS, BENCHMARKS
from evenhand.cli.main import app
from evenhand.mitigate.mitigation import MITIGATIONS
from evenhand.workflows.suite.engine import suite_of_words
from tests.architecture.test_house import METRICS
from tests.conftest import ROOT
from tests.documents.reading import (
    DOCS,
    GENERATED,
    OTHERS,
    WRITTEN,
    blocks_of,
    inline_code,
    links_of,
    pages_of_nav,
    shell_commands,
    slugs_of,
)

OTHER_TOOLS = {"python", "pip", "pytest", "make", "spark-submit"}
ROOT_COMMAND: Any = typer.main.get_command(app)
GENERATED_PLACES = {f"docs/{name}" for name in GENERATED}
each_page = pytest.mark.parametrize("page", [*WRITTEN, *OTHERS], ids=lambda page: page.name)


@pytest.fixture(scope="module")
def docs(tmp_path_factory) -> Path:
    """The pages with those that are generated."""
    folder = tmp_path_factory.mktemp("site") / "docs"
    shutil.copytree(DOCS, folder)
    for name in GENERATED:
        (folder / name).unlink(missing_ok=True)
    subprocess.run([sys.executable, DOCS / "make_cards.py", folder], check=True)
    return folder


@cache
def options_of(*names: str) -> frozenset[str]:
    """Every option of a command."""
    command = ROOT_COMMAND
    for name in names:
        command = command.commands[name]
    return frozenset(
        ["--help", *(text for each in command.params for text in (*each.opts, *each.secondary_opts))]
    )


def named(words: list[str]) -> tuple[str, ...]:
    """The command and its subcommand, if ``words`` begin with any."""
    known = ROOT_COMMAND.commands
    if len(words) < 2 or words[1] not in known:
        return ()
    inner = getattr(known[words[1]], "commands", {})
    return (words[1], words[2]) if len(words) > 2 and words[2] in inner else (words[1],)


def every_option() -> set[str]:
    found = set(options_of())
    for name, command in ROOT_COMMAND.commands.items():
        found |= options_of(name)
        for inner in getattr(command, "commands", {}):
            found |= options_of(name, inner)
    return found


def test_every_page_is_in_the_navigation_once(docs):
    assert sorted(pages_of_nav()) == sorted(page.name for page in docs.glob("*.md"))


def test_links_and_anchors_exist(docs):
    broken = []
    for page in sorted(docs.glob("*.md")):
        for link in links_of(page):
            if re.match(r"[a-z]+:", link):
                continue
            place, _, anchor = link.partition("#")
            target = page if not place else page.parent / place
            if not target.is_file() or (anchor and anchor not in slugs_of(target)):
                broken.append(f"{page.name}: {link}")
    assert broken == []


@each_page
def test_files_of_the_project_that_are_mentioned_exist(page):
    text = page.read_text(encoding="utf-8")
    named_files = re.findall(
        r"(?<![\w/-])((?:docs|tests|perf|examples|simulations)/[\w/.-]+\.(?:md|py|json|png))", text
    )
    assert [name for name in named_files if not (ROOT / name).exists() and name not in GENERATED_PLACES] == []


def test_pages_that_messages_of_the_code_name_exist():
    said = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
    named_pages = set(re.findall(r"docs/[\w-]+\.(?:md|json)", said)) - GENERATED_PLACES
    assert {name for name in named_pages if not (ROOT / name).is_file()} == set()


@each_page
def test_commands_and_options_in_blocks_exist(page):
    for block in blocks_of(page):
        if block.language != "bash":
            continue
        for words in shell_commands(block.text):
            known = named(words)
            assert known, words
            given = {word.split("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)}
            assert given <= options_of(*known), words


@each_page
def test_commands_and_options_in_the_text_exist(page):
    for code in inline_code(page):
        words = code.replace("\\|", "|").split()
        if words[:1] and words[0] in OTHER_TOOLS:
            continue
        if words[:1] == ["evenhand"] and len(words) > 1 and words[1].isalpha() and words[1].islower():
            assert named(words), code
        options = {found[0] for word in words if (found := re.match(r"--[a-z][a-z-]+", word))}
        allowed = options_of(*named(words)) if words[0] == "evenhand" and named(words) else every_option()
        assert options <= allowed, code


@each_page
def test_names_in_commands_exist(page):
    for block in blocks_of(page):
        for words in shell_commands(block.text) if block.language == "bash" else []:
            subject = next((word for word in words[2:] if not word.startswith("-")), "")
            if words[1] in {"run", "score"} and subject.islower() and ":" not in subject:
                subjects = takewhile(lambda word: not word.startswith("-"), words[2:])
                names = [entry.benchmark for entry in suite_of_words(list(subjects)).benchmarks]
                declared = {name: BENCHMARKS.get(name).parameters for name in names}
                given = [after.split("=")[0] for word, after in pairwise(words) if word == "-p"]
                for benchmark, colon, key in (text.rpartition(":") for text in given):
                    assert any(key in declared[name] for name in ([benchmark] if colon else names)), words
            if words[1] == "artifact":
                assert subject in ARTIFACTS.names(), words
            if words[1] == "debias":
                method = words[words.index("--method") + 1]
                assert method in MITIGATIONS.names() or ":" in method, words


@each_page
def test_extras_that_are_named_exist(page):
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named_extras = re.findall(r"(?:evenhand|\.)\[([\w,]+)\]", page.read_text(encoding="utf-8"))
    assert {extra for found in named_extras for extra in found.split(",")} <= set(declared)


@each_page
def test_blocks_of_data_can_be_read(page):
    readers = {"json": json.loads, "yaml": yaml.safe_load, "toml": tomllib.loads}
    for block in blocks_of(page):
        if block.language in readers:
            assert readers[block.language](block.text)


def test_every_metric_and_benchmark_has_a_card(docs):
    from evenhand import metrics
    from evenhand.metrics.catalogue import known_cards

    names = {name for name in dir(metrics) if not name.startswith("_")} | set(known_cards())
    assert names == set(re.findall(r"^### (\w+)$", (docs / GENERATED[0]).read_text(), re.MULTILINE))
    further = (docs / GENERATED[0]).read_text().partition("\n## Further\n")[2].partition("\n## ")[0]
    assert re.findall(r"^### (\w+)$", further, re.MULTILINE) == ["model_differences"]  # of no family
    cards = (docs / GENERATED[1]).read_text()
    assert all(f"`evenhand run {name}`" in cards for name in BENCHMARKS.builtin)
    assert "``" not in re.sub(r"```.*?```", "", (docs / GENERATED[0]).read_text(), flags=re.DOTALL)


def test_metrics_stay_on_the_page_of_questions():
    """Each name that is held to stay; a new metric has its card, and may have a question of its own."""
    said = (DOCS / "metrics.md").read_text()
    assert {name for name in METRICS if f"(metric_cards.md#{name})" not in said} == set()


def test_the_site_builds_strictly_and_asks_no_one(docs):
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("needs zensical; type: make docs")
    shutil.copy(ROOT / "mkdocs.yml", docs.parent)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=docs.parent, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    pages = list((docs.parent / "site").glob("*.html"))
    assert len(pages) > len(WRITTEN)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'(?:src|data)="(?:https?:)?//|<link[^>]+href="(?:https?:)?//', text), page.name
