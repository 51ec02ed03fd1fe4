"""The page about the architecture is true: rooms, imports, and where things are."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.source_tree import SOURCE
from tests.architecture.test_imports import ROOMS
from tests.documents.reading import DOCS

PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| `")
]
WHERE = re.findall(r"^\| ([^|`]+) \| `([^`]+)` \| `([^`]+)` \|$", PAGE, re.MULTILINE)


def test_the_table_of_rooms_is_the_one_that_is_held() -> None:
    named = {row[0].strip("`"): {room for room in row[2].split(", ") if room} for row in ROWS}
    assert named == {room: used for room, used in ROOMS.items() if room not in ("", "__main__")}


@pytest.mark.parametrize(("looked_for", "path", "name"), WHERE, ids=[row[2] for row in WHERE])
def test_where_is(looked_for, path, name) -> None:
    file = SOURCE / path
    assert file.is_file(), f"{looked_for}: {path}"
    defined = {getattr(node, "name", None) for node in ast.parse(file.read_text(encoding="utf-8")).body}
    assert name in defined, f"{looked_for}: {name} in {path}"


def test_the_page_tells_where_ten_things_are() -> None:
    assert len(WHERE) >= 10


def test_files_that_the_page_names_exist() -> None:
    named = set(re.findall(r"`([a-z_/]+\.py)`", PAGE))
    assert {path for path in named if not (SOURCE / path).is_file()} == set()
