"""Terminals as people have them: narrow, without colours, without signs outside ASCII, with completion."""

from __future__ import annotations

import re
import sys
from contextlib import redirect_stdout
from io import StringIO

import pytest

from evenhand.cli.summaries.progress import status
from evenhand.display.text.columns import cells
from evenhand.display.text.notes import note
from tests.cli.test_audit import type_in
from tests.cli.test_first_lines import COPIED, WORDS, tickets

NARROW = 60


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What an audit prints with its tables on a terminal of 60 columns, without colours, in ASCII."""
    path = tmp_path_factory.mktemp("access") / "t.csv"
    tickets().write_csv(path)
    terminal = {"FORCE_COLOR": "1", "COLUMNS": str(NARROW), "NO_COLOR": "1", "EVENHAND_ASCII": "1"}
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as out:
        for name, value in terminal.items():
            patch.setenv(name, value)
        assert type_in(patch, "audit", path, *WORDS, "--verbose") == 0
    return out.getvalue()


def test_no_line_is_longer_than_a_narrow_terminal(printed):
    lines = re.sub(r"\x1b\[\d*m", "", printed).splitlines()
    assert [line for line in lines if cells(line) > NARROW and not line.startswith(COPIED)] == []
    assert "Lagos: 33 of 100 account_locked tickets are called" in printed
    assert "skewsize" in printed


class Terminal(StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("typed", ["", "1"])
def test_no_color_leaves_the_colours_out(printed, monkeypatch, typed):
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", typed)
    with status(quiet=False) as say:
        say("counting")
    progress = sys.stderr.getvalue()
    assert "counting" in progress
    assert ("\x1b[3" in progress) is not bool(typed)
    assert "\x1b[3" not in printed


@pytest.mark.parametrize("is_terminal", [False, True])
def test_notes_are_shown_while_a_table_is_read(monkeypatch, is_terminal):
    monkeypatch.setattr("sys.stderr", Terminal() if is_terminal else StringIO())
    for quiet in (False, True):
        with status(quiet=quiet):
            note(f"[bold]rows are not kept[/bold] {quiet}")
    shown = sys.stderr.getvalue()
    assert "[bold]rows are not kept[/bold] False\n" in shown
    assert "True" not in shown


def test_ascii_of_the_environment_holds_for_every_command(printed, monkeypatch, capsys):
    assert printed.isascii()
    assert "* beyond chance" in printed
    monkeypatch.setenv("EVENHAND_ASCII", "1")
    assert type_in(monkeypatch, "audit", "--help") == 0
    assert "no * : - |" in capsys.readouterr().out
    assert type_in(monkeypatch, "audit", "é.csv", "--by", "a") == 2
    assert capsys.readouterr().err.isascii()


def test_words_are_completed(monkeypatch, capsys):
    for key, value in {
        "_EVENHAND_COMPLETE": "complete_bash", "COMP_WORDS": "evenhand au", "COMP_CWORD": "1"
    }.items():  # fmt: skip
        monkeypatch.setenv(key, value)
    assert type_in(monkeypatch) == 0
    assert capsys.readouterr().out.split() == ["audit"]
