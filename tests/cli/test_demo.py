"""The example tables, what an audit says of them, ``evenhand demo``, and the README that shows it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import polars as pl
import pytest

import evenhand as eh
from evenhand.files.datasets import EXAMPLES
from tests.cli.test_audit import type_in
from tests.conftest import ROOT
from tests.documents.reading import blocks_of, links_of, prose_of, shell_commands, slugs_of

README = ROOT / "README.md"
SHA256 = {
    "tickets": "7e943faa658db79493c4256316721a49bbaafc483362ceefed68746a74ef1afd",
    "faces": "6fb726815b0f813a525ac788fd5ed07a2918e301291e0054452258d447389cb2",
    "sightings": "ddc52d5398b564262919d83e342ec2c32536a9910b8bdaeddbd108ba67961d4a",
}
SAID = {
    "tickets": ["Lagos: 33 of 99 account_locked tickets are called fraud_report; elsewhere 9 of 320."],
    "faces": [
        "woman · 60 and over: 36 of 100 neutral faces are called frowning; elsewhere 28 of 500.",
        "60 and over: 42 of 200 neutral faces are called frowning; elsewhere 22 of 400.",
        "woman: 47 of 300 neutral faces are called frowning; man 17 of 300.",
    ],
    "sightings": [],
}


def audited(name: str, **options) -> eh.Run:
    load, columns = EXAMPLES[name]
    return eh.audit(load(), **{**columns, "metrics": ["disparities", "accuracy_gap"], **options})


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_table_is_the_same_everywhere_and_an_audit_says_what_is_planted(name):
    content = EXAMPLES[name][0]().write_csv().encode()
    assert len(content) < 100_000
    assert hashlib.sha256(content).hexdigest() == SHA256[name]
    assert [headline.text for headline in audited(name).overview.beyond] == SAID[name]


def test_nothing_is_planted_in_the_channel_of_tickets():
    assert audited("tickets", by="channel").overview.beyond == ()


def test_the_tables_are_polars_frames_loaded_late():
    code = "import sys, evenhand as eh; assert 'datasets' in dir(eh); assert 'polars' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert isinstance(eh.datasets.load_tickets(), pl.DataFrame)
    assert EXAMPLES["tickets"][1] == eh.datasets.TICKETS


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[Path, str]:
    """The folder in which ``evenhand demo`` was typed, and what it printed."""
    folder, printed = tmp_path_factory.mktemp("demo"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.chdir(folder)
        assert type_in(patch, "demo") == 0
    return folder / "evenhand-demo", printed.getvalue()


def test_a_demo_writes_the_table_and_its_report(demo):
    folder, printed = demo
    assert pl.read_csv(folder / "tickets.csv").equals(eh.datasets.load_tickets())
    assert (folder / "tickets" / "report.html").is_file()
    assert SAID["tickets"][0] in " ".join(printed.split())
    assert "Report  evenhand-demo/tickets/report.html" in printed


def test_the_command_that_a_demo_shows_is_the_audit_that_it_ran(demo):
    folder, printed = demo
    [words] = shell_commands(printed.partition("\n\n")[2].partition("\n\n")[0])
    manifest = eh.Run.read(folder / "tickets").manifest
    options = {
        "--truth": manifest["truth"],
        "--prediction": manifest["prediction"],
        "--by": manifest["by"][0],
        "--noun": manifest["noun"],
        "-o": "evenhand-demo/tickets",
    }
    assert words == ["evenhand", "audit", "evenhand-demo/tickets.csv", *chain(*options.items())]
    assert manifest["source"]["path"] == words[2]


def test_the_readme_prints_what_the_last_of_its_first_commands_prints(demo):
    """It is typed in the fixture; those before make an environment and install what it calls."""
    commands, output = blocks_of(README)[1:3]
    environment, activated, *installed = commands.text.splitlines()
    assert environment == f"python3 -m venv {activated.removeprefix('. ').removesuffix('/bin/activate')}"
    assert installed == ["pip install .", "evenhand demo"]
    assert output.text == demo[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"evenhand": "evenhand.cli.main:main"}


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    [block] = [block for block in blocks_of(README) if block.language == "python"]
    exec(compile(block.text, "README.md", "exec"), {})  # noqa: S102 - what a reader would copy
    assert capsys.readouterr().out.startswith("accuracy_gap(by=office): 0.051; 95 % interval ")
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_the_readme_is_short_and_every_path_in_it_is_a_link_that_leads_somewhere():
    assert len(README.read_text(encoding="utf-8").split()) < 700
    links = [link for link in links_of(README) if "://" not in link]
    for link in links:
        path, _, anchor = link.partition("#")
        assert (ROOT / path).is_file(), link
        assert not anchor or anchor in slugs_of(ROOT / path), link
    bare = re.sub(r"\]\([^)]*\)", "", prose_of(README))
    assert re.findall(r"[\w./-]+\.(?:md|py|png)\b", bare) == []
    assert len(links) > 15


def test_a_demo_leaves_the_files_of_others(tmp_path, monkeypatch, capsys):
    (tmp_path / "tickets.csv").write_text("mine\n")
    assert type_in(monkeypatch, "demo", "-o", tmp_path) == 2
    assert "is another table; give an empty or new folder with -o" in capsys.readouterr().err
    assert (tmp_path / "tickets.csv").read_text() == "mine\n"
    assert type_in(monkeypatch, "demo", "ticket", "-o", tmp_path) == 2
    assert "there is no example 'ticket'; did you mean 'tickets'" in capsys.readouterr().err
