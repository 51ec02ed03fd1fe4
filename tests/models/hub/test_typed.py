"""Commands of the README and the pages, typed against the recorded hub with folders of small data."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.benchmarks import mmbias_release, skewsize_layouts, visogender_release
from tests.cli.test_audit import type_in
from tests.documents.reading import DOCS, OTHERS, blocks_of, shell_commands
from tests.models.hub.conftest import CLIP
from tests.models.hub.server import COMMIT

FETCH, LOAD = re.compile(rf"^fetched ([\d.,]+) [kM]B of {CLIP} in (\d) files; ", re.M), f"loading hf:{CLIP}: "
PAGE = DOCS / "first-model.md"
DATA = {
    "visogender/resolution": "visogender",
    "visogender/retrieval": "visogender",
    "mmbias/association": "mmbias",
    "skewsize/occupations": "images",
}


pytestmark = pytest.mark.usefixtures("few_draws", "without_pages")


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Small releases of what the commands need."""
    folder = tmp_path_factory.mktemp("data")
    visogender_release.release(folder / "visogender", ["doctor"])
    mmbias_release.release(folder / "mmbias", phrases=2, words=3, images=2)
    skewsize_layouts.generated(folder / "images", 2)
    return folder


def shown(benchmark: str) -> list[str]:
    """The command of the README, or of the system's own page, that asks CLIP a benchmark's questions."""
    pages = [OTHERS[0], DOCS / "visogender.md", DOCS / "mmbias.md"]
    typed = [words for page in pages for block in blocks_of(page) for words in shell_commands(block.text)]
    return next(words for words in typed if words[1:3] == ["run", benchmark] and f"hf:{CLIP}" in words)


def with_data(words: list[str], folder: Path) -> list[str]:
    """A command that is told where the data lies."""
    before = [word for place, word in enumerate(words) if "--data" not in (word, words[place - 1])]
    return [*before[1:], "--data", str(folder)]


def check_fetched(printed: str, hub, *, first: bool) -> None:
    """What was printed about bytes is what the server sent, each file once; later ones fetch nothing."""
    assert max(Counter(hub.fetched).values(), default=0) <= 1, "each file once"
    match = FETCH.search(printed)
    assert (match is not None) == first
    if match:
        assert f"{hub.bytes_of(CLIP) / 1000:,.1f}" == match[1]
        assert len(hub.fetched) == int(match[2])


def test_four_benchmarks_run_on_clip_as_it_was_first_published(hub, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for place, (benchmark, folder) in enumerate(DATA.items()):
        assert type_in(monkeypatch, *with_data(shown(benchmark), data / folder)) == 0, benchmark
        printed = capsys.readouterr().err
        check_fetched(printed, hub, first=not place)
        assert (LOAD in printed) == (benchmark != "visogender/retrieval"), "which asks nothing new"
    manifests = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("runs/*/manifest.json"))]
    assert {manifest["model_identity"]["revision"] for manifest in manifests} == {COMMIT}
    assert len({manifest["model_identity"]["sha256"] for manifest in manifests}) == 1


def test_the_page_from_an_address_to_table_2_can_be_typed(hub, data, tmp_path, monkeypatch, capsys):
    typed = [
        words for block in blocks_of(PAGE) if block.language == "bash" for words in shell_commands(block.text)
    ]
    fetch, *commands = typed
    assert fetch[1:] == ["data", "fetch", "visogender"]
    assert [words[1] for words in commands] == ["run", "run", "artifact", "artifact"]
    monkeypatch.chdir(tmp_path)
    for place, words in enumerate(commands):
        ready = with_data(words, data / "visogender") if words[1] == "run" else words[1:]
        assert type_in(monkeypatch, *ready) == 0, words
        captured = capsys.readouterr()
        check_fetched(captured.err, hub, first=not place)
    assert "clip-vit-base-patch32" in captured.out
    assert (tmp_path / "table2.html").is_file()
    lines = PAGE.read_text().split("```text\n")[1].partition("```")[0].splitlines()
    assert FETCH.match(lines[0])
    assert lines[1].startswith(LOAD)
