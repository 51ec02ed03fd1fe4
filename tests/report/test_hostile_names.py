"""Names of columns, labels, groups, models, benchmarks and runs that would act on what shows them."""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata
from xml.etree import ElementTree

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.unseen import harmless, json_escaped, visible
from evenhand.report.exports import tracking
from evenhand.workflows.outputs.export import export
from tests.cli.test_audit import type_in

OSC, CSI, TURN, ZERO = "\x1b]0;pwned\x07", "\x9b31m", "\u202e", "\u200b\u2066"
ACTING = OSC + CSI + TURN + ZERO
MARKUP = "<script>alert(1)</script>|**x**[l](https://e.vil)"
FORMULA = "=cmd()"
COLUMNS = {
    "truth": f"truth{ACTING}", "said": f"said{MARKUP}{CSI}", "office": f"office{ACTING}|b",
    "sex": f"{FORMULA}{OSC}\nsex",
}  # fmt: skip
LABELS = [f"cat{ACTING}", f"dog{MARKUP}", f"{FORMULA}{TURN}\nowl"]
GROUPS = [f"f{ACTING}", f"m{MARKUP}{CSI}"]
TEXTS = ["json", "csv", "markdown", "every-eval-ever", "junit", "sarif", "controls", "ll144", "model-card"]


def acting(text: str) -> list[str]:
    """Characters of a text that act on a terminal or turn text round, each once."""
    unseen = {letter for letter in text if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp", "Cs")}
    return sorted(unseen - {"\n", "\t", "\u2068", "\u2069"})


def rows() -> pl.DataFrame:
    """A table in which one group's cats are called dogs."""
    made = [
        (LABELS[0], LABELS[1 if index % 10 < 5 * (group == 0) else 0], GROUPS[group], GROUPS[index % 2])
        for group in (0, 1)
        for index in range(120)
    ]
    made += [(label, label, GROUPS[index % 2], GROUPS[0]) for label in LABELS[1:] for index in range(40)]
    made += [(LABELS[0], None, GROUPS[0], GROUPS[0])] * 3
    return pl.DataFrame(made, schema=list(COLUMNS.values()), orient="row")


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """The folder of an audit of these rows, whose name acts too."""
    folder = tmp_path_factory.mktemp("hostile") / f"run{OSC}{TURN}|<b>"
    run = eh.audit(
        rows(), truth=COLUMNS["truth"], prediction=COLUMNS["said"],
        by=[COLUMNS["office"], COLUMNS["sex"], (COLUMNS["office"], COLUMNS["sex"])],
        search=[COLUMNS["office"], COLUMNS["sex"]], out=folder,
    )  # fmt: skip
    assert str(run).splitlines()
    for text in (str(run), repr(run), *map(str, run), str(run.findings), repr(run.findings)):
        assert acting(text) == []
    return folder


def parameters(format):
    """What a format needs."""
    return {
        "ll144": {"selected": LABELS[0], "sex": COLUMNS["office"]},
        "controls": {"people": COLUMNS["office"]},
    }.get(format, {})


@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("suppress", [0, 30])
def test_no_export_carries_a_character_that_acts(run_folder, format, suppress):
    if format == "model-card":
        pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    if format == "ll144" and suppress:
        return
    made = export([run_folder], format=format, parameters=parameters(format), suppress=suppress).content
    text = made.decode("utf-8")
    assert "U+202E" in text.replace("\\", "") or "\\u202e" in text
    if format != "csv":  # which is read back: a label is the same there, and shown by its reader
        assert acting(text) == []
    if format in ("sarif", "every-eval-ever", "controls"):  # other tools print what they read from there
        read = text if format == "controls" else json.dumps(json.loads(text), ensure_ascii=False)
        assert acting(read) == []
    if format == "json":  # findings.json keeps the names as they are, written as escapes
        assert TURN in json.dumps(json.loads(text), ensure_ascii=False)
    if format in ("markdown", "controls", "ll144", "model-card"):
        body = text.rpartition("\n---\n")[2]
        assert "<script>" not in body
        assert not re.search(r"(?<!\\)\]\(https", body)
    if format == "csv":
        cells = pl.read_csv(io.BytesIO(made), infer_schema=False)
        texts = [cell for row in cells.rows() for cell in row if cell is not None]
        assert [cell for cell in texts if re.match(r"[=+@]", cell)] == []
    if format == "junit":
        assert ElementTree.fromstring(made).tag == "testsuites"  # noqa: S314 - made here


def test_trackers_get_texts_that_do_not_act(run_folder):
    from evenhand.report.exports.exported import RunView

    run = eh.read_run(run_folder) if hasattr(eh, "read_run") else None
    folder = run or __import__("evenhand.runs.run_folder", fromlist=["RunFolder"]).RunFolder.read(run_folder)
    view = RunView(f"run{ACTING}", folder.findings, folder.manifest)
    for facts in (tracking._facts(view), tracking._parameters(view), tracking._missing(view)):
        assert acting(json.dumps(facts, ensure_ascii=False)) == []
    assert acting("".join(tracking.numbers(view))) == []


def test_pages_show_what_acts_and_run_no_markup(run_folder):
    page = (run_folder / "report.html").read_text(encoding="utf-8")
    assert acting(page) == []
    assert "<script>alert" not in page
    assert "[U+202E]" in page
    for name in ("findings.json", "manifest.json", "metrics.json"):
        assert acting((run_folder / name).read_text(encoding="utf-8")) == []


def on_terminal(monkeypatch, capsys, *words, code=0):
    """What a command prints, on both streams."""
    assert type_in(monkeypatch, *words) == code
    told = capsys.readouterr()
    return told.out + told.err


@pytest.mark.parametrize("more", [[], ["--verbose"], ["--quiet"], ["--ascii"]])
def test_no_name_acts_on_the_terminal(tmp_path, monkeypatch, capsys, more):
    path = tmp_path / f"t{OSC}.csv"
    rows().write_csv(path)
    words = ["audit", path, "--truth", COLUMNS["truth"], "--prediction", COLUMNS["said"]]
    by = ["--by", COLUMNS["office"], "--by", COLUMNS["sex"]]
    text = on_terminal(monkeypatch, capsys, *words, *by, *more, "-o", tmp_path / f"out{CSI}")
    assert acting(text) == []
    gate = ["--fail-if", f"accuracy_gap@{COLUMNS['office']}>0.001"]
    assert acting(on_terminal(monkeypatch, capsys, *words, *by, *more, *gate, code=4)) == []
    assert acting(on_terminal(monkeypatch, capsys, *words, "--by", f"offic{ACTING}", *more, code=2)) == []


def test_comparisons_and_exports_print_nothing_that_acts(run_folder, tmp_path, monkeypatch, capsys):
    other = tmp_path / f"other{CSI}{TURN}"
    eh.audit(
        rows().reverse(), truth=COLUMNS["truth"], prediction=COLUMNS["said"], by=[COLUMNS["office"]],
        out=other,
    )  # fmt: skip
    told = on_terminal(
        monkeypatch, capsys, "compare", run_folder, other, "--metric", "accuracy", "--verbose",
        "-o", tmp_path / "c",
    )  # fmt: skip
    assert told
    assert acting(told) == []
    assert acting(on_terminal(monkeypatch, capsys, "report", run_folder, "-o", tmp_path / "r.html")) == []
    gate = f"accuracy_gap@{COLUMNS['office']}>0.001"
    told = on_terminal(monkeypatch, capsys, "export", run_folder, "--as", "sarif", "--fail-if", gate, code=4)
    assert acting(told) == []
    page = (tmp_path / "c" / "report.html").read_text(encoding="utf-8")
    assert acting(page) == []


def test_rich_colours_stay_where_there_is_a_terminal(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdout", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    rows().write_csv(tmp_path / "t.csv")
    words = ["--truth", COLUMNS["truth"], "--prediction", COLUMNS["said"], "--by", COLUMNS["sex"]]
    assert type_in(monkeypatch, "audit", tmp_path / "t.csv", *words, "--verbose") == 0
    styled = terminal.getvalue()
    assert "\x1b[1m" in styled
    assert acting(re.sub(r"\x1b\[[\d;]*m", "", styled)) == []
    assert "pwned" in styled


def test_every_character_that_acts_is_escaped_in_json_and_shown_elsewhere():
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") and letter not in "\n\t":
            if code > 0x1F:  # below, JSON escapes them anyway
                assert json_escaped(letter) != letter, hex(code)
                assert json.loads(f'"{json_escaped(letter)}"') == letter
            assert letter not in visible(f"a{letter}b"), hex(code)
            assert letter in "\u2068\u2069" or letter not in harmless(f"a{letter}b"), hex(code)
    assert harmless("a\r\nb\tc  é ") == "a\r\nb\tc  é "
    assert harmless("\N{MAN}\u200d\N{GRINNING FACE}") == "\N{MAN}\u200d\N{GRINNING FACE}"


def test_what_is_exported_to_a_terminal_is_harmless_there_and_exact_in_a_pipe(run_folder, monkeypatch):
    class Stream(io.TextIOWrapper):
        is_terminal = False

        def isatty(self):
            return self.is_terminal

    written = {}
    for is_terminal in (False, True):
        stream = Stream(io.BytesIO(), encoding="utf-8")
        stream.is_terminal = is_terminal
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", stream)
            assert type_in(patch, "export", run_folder, "--as", "csv") == 0
        written[is_terminal] = stream.buffer.getvalue()
    assert written[False] == export([run_folder], format="csv").content
    assert acting(written[False].decode())
    assert acting(written[True].decode()) == []
