"""What a command says first: few lines, in words and counts, the plot on a terminal only."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.cli.summaries.first_lines import MOST_LINES, WIDTH, first_lines
from evenhand.cli.summaries.text import CellTexts
from evenhand.display.overview.brief import largest, opening
from evenhand.display.overview.content import NOT_TESTED, Chart, Headline, Mark, Overview
from evenhand.display.overview.mistakes import _chance
from evenhand.display.overview.overview import _echoes
from evenhand.display.overview.strips import ASCII, Signs, strip_lines
from evenhand.display.overview.subject import Subject
from evenhand.display.text.columns import cells, fitted, terminal_rows, wrapped
from evenhand.report.content import ReportInput
from evenhand.report.page.html import render_html
from evenhand.workflows.outputs.evidence_rows import evidence_of
from tests.cli.test_audit import type_in
from tests.conftest import make_frame

WORDS = ("--truth", "truth", "--prediction", "said", "--by", "office", "--noun", "tickets")
PLOT = set("●○─░▒")
COPIED = ("Cases", "Report", "  --")  # lines with a command or a path stay whole, however long


def tickets(hurt: int = 33) -> pl.DataFrame:
    """Offices whose tickets of one kind are called another, and a channel that changes nothing."""
    kinds = ("account_locked", "fraud_report", "refund", "delivery_delay")
    lines = []
    for at, kind in enumerate(kinds):
        for office, rows in (("Lagos", 100), ("Munich", 180), ("Osaka", 140)):
            errors = hurt if (at, office) == (0, "Lagos") else rows // 30
            said = [kinds[(at + 1) % 4]] * errors + [kind] * (rows - errors)
            lines += [(kind, office, answer, ("app", "web")[row % 2]) for row, answer in enumerate(said)]
    return pl.DataFrame(lines, schema=["truth", "office", "said", "channel"], orient="row")


def run_of(table: pl.DataFrame, by="office", **options):
    metrics = ["disparities", "accuracy"]
    return eh.audit(table, truth="truth", prediction="said", by=by, metrics=metrics, **options)


def joined(lines) -> str:
    return " ".join(" ".join(lines).split())


def fits(run, out=None) -> list[str]:
    """The lines; all but those that are to be copied are no wider than a terminal."""
    lines = first_lines(run, out, signs=Signs())
    assert [line for line in lines if cells(line) > WIDTH and not line.startswith(COPIED)] == []
    assert all(line == line.rstrip() and line.isprintable() for line in lines)
    return lines


def test_tickets_in_25_lines(tmp_path):
    run = run_of(tickets(), by=["office", "channel"], noun="tickets", out=tmp_path / "out")
    lines = fits(run, tmp_path / "out")
    assert terminal_rows(lines) <= MOST_LINES
    text = joined(lines)
    assert lines[0].startswith("1 finding by office")
    for sentence in (
        "Lagos: 33 of 100 account_locked tickets are called fraud_report; elsewhere 10 of 320.",
        "30 points more than elsewhere (corrected 95 % interval ",
        "Chance alone would give ",
        "office: Lagos 90 %, Munich 97 %, Osaka 97 %",
        "No mistake differs between the 2 groups of channel beyond chance",
        "Associations, not causes; whether they harm is a question of context.",
        f"Cases {tmp_path / 'out' / 'cases' / '1.csv'}",
        f"Report {tmp_path / 'out' / 'report.html'} all {len(run.findings)} numbers: --verbose",
    ):
        assert sentence in text
    order = [
        text.index(part) for part in ("Lagos: 33", "30 points", "● beyond", "Right", "No finding", "Cases")
    ]
    assert order == sorted(order)
    assert PLOT & set(text) >= {"●", "─", "░"}


def test_real_faces_in_25_lines(faces, tmp_path):
    columns = {"truth": "true_age", "prediction": "pred_age", "by": "true_gender", "noun": "faces"}
    run = eh.audit(faces, **columns, metrics=["disparities", "accuracy"])
    lines = fits(run)
    assert terminal_rows(lines) <= MOST_LINES
    text = joined(lines)
    assert "1 Female: 45 of 94 “30-39” faces are called “20-29”; Male 31 of 120. 22 points more" in text
    assert "2 Male: 25 of 121 “20-29” faces are called “30-39”; Female 9 of 126. 14 points more" in text
    assert "Left out 61 without pred_age." in text
    option = "--map '70+=more than 70'"
    assert [line for line in lines if option in line] == [f"              {option}"]
    assert "45 of 94" in str(run)
    assert len(str(run).splitlines()) <= 8


def test_a_long_path_stands_alone_in_its_line(tmp_path):
    run = run_of(tickets(), out=tmp_path / ("x" * WIDTH))
    lines = fits(run, tmp_path / ("x" * WIDTH))
    assert lines[-2].endswith("report.html")
    assert lines[-1].strip() == f"all {len(run.findings)} numbers: --verbose"


def test_the_command_prints_them_without_a_plot_into_pipes(tmp_path, monkeypatch, capsys):
    tickets().write_csv(tmp_path / "t.csv")
    words = ["audit", tmp_path / "t.csv", *WORDS]
    assert type_in(monkeypatch, *words) == 0
    printed = capsys.readouterr().out
    assert "Lagos: 33 of 100" in printed
    assert PLOT & set(printed) == set()
    assert "cramers_v_mean" not in printed
    assert len(printed.splitlines()) <= MOST_LINES
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    assert type_in(monkeypatch, *words, "--ascii", "--verbose") == 0
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert "* beyond chance  o not beyond  - 95 % interval  : chance alone" in printed
    assert "cramers_v_mean" in printed
    assert type_in(monkeypatch, *words) == 0
    assert "● beyond chance" in capsys.readouterr().out


def test_verbose_prints_every_number_and_no_longer_offers_them(tmp_path, monkeypatch, capsys):
    tickets(hurt=3).write_csv(tmp_path / "t.csv")
    words = ["audit", tmp_path / "t.csv", *WORDS, "--by", "channel", "--verbose"]
    assert type_in(monkeypatch, *words, "-o", tmp_path / "out") == 0
    printed = capsys.readouterr().out
    findings = eh.Run.read(tmp_path / "out").findings
    values = {one.metric: "–" if one.value is None else CellTexts.of(one).value for one in findings}
    lost = [
        one.metric
        for one in findings
        if not re.search(rf"^{one.name}(\(.*\))? +{values[one.metric]} ", printed, re.MULTILINE)
    ]
    assert (len(findings), lost) == (48, [])
    assert "equalized_odds(aggregate=mean, eo=avg) " in printed
    assert type_in(monkeypatch, *words) == 0
    assert "With -o DIR a report and the rows behind the findings" in capsys.readouterr().out
    assert "--verbose" not in printed


def test_more_rows_than_a_file_holds_are_counted(tmp_path, monkeypatch):
    for module in ("workflows.outputs.audit_run", "cli.summaries.first_lines"):
        monkeypatch.setattr(f"evenhand.{module}.MOST_CASE_ROWS", 20)
    text = joined(first_lines(run_of(tickets()), tmp_path))
    assert f"Cases {tmp_path / 'cases' / '1.csv'} (the first 20 of 33 rows)" in text


def test_a_quiet_run_says_what_could_be_missed():
    lines = fits(run_of(tickets(hurt=3)))
    text = joined(lines)
    assert lines[0].startswith("No finding by office")
    assert (
        "Nothing differs by office beyond chance. No mistake differs between the 3 groups of office" in text
    )
    assert "would have been noticed (4 times in 5)" in text
    assert "Largest, within what chance alone gives: " in text
    assert "significant" not in text


HOSTILE = ["\x1b[31mred", "[bold]x[/bold]", "a\nb", "日本語" * 30, "x" * 500, "\u202eabc"]


def test_what_the_run_can_explain_by_chance_has_no_interval_that_leaves_out_zero():
    """A mistake beyond chance among those of its grouping, but not with four groupings."""
    table = tickets(hurt=12)
    rng = np.random.default_rng(1)
    more = {name: rng.choice(["p", "q", "r"], table.height) for name in "abc"}
    run = run_of(table.with_columns(**more), by=["office", *more], noun="tickets")
    finding = next(one for one in run.findings if one.name == "disparities" and one.by == ["office"])
    assert finding.p_value <= 0.05 < finding.p_adjusted
    assert finding.parts[0].interval.low > 0
    text = joined(fits(run))
    assert "Largest, within what chance alone gives: Lagos: 12 of 100 account_locked tickets" in text
    assert "9 points more than elsewhere. Chance alone" in text
    assert "corrected 95 % interval" not in text
    assert "at least" not in run.overview.headlines[0].sentence
    page = render_html(ReportInput(run.findings, run.manifest, evidence=evidence_of(run)))
    assert "corrected 95 % interval" not in page
    assert "Mistakes beyond chance" not in page
    assert "no class has a mistake that differs beyond chance" in page


def test_weights_are_explained_once_for_all_groupings():
    frame = tickets().with_columns(weight=pl.lit(1.0) + pl.int_range(pl.len()) % 2)
    run = eh.audit(frame, truth="truth", prediction="said", by=["office", "channel"], weight="weight")
    told = [text for text in run.overview.silent if "have weights" in text]
    assert told == ["The rows have weights: mistakes by class have rates and differences, but no test."]


def test_hostile_and_long_labels_stay_text():
    table = tickets().with_columns(
        pl.col("truth", "said").replace(
            {"account_locked": HOSTILE[0], "fraud_report": HOSTILE[4], "refund": HOSTILE[1]}
        ),
        office=pl.col("office").replace({"Lagos": HOSTILE[3], "Munich": HOSTILE[2], "Osaka": HOSTILE[5]}),
    )
    run = run_of(table)
    lines = fits(run)
    assert terminal_rows(lines) <= MOST_LINES
    assert "33 of 100" in joined(lines)
    assert not set("\x1b\u202e") & set("".join(lines))
    page = run._repr_html_()
    assert "x" * 100 not in page.partition("<details>")[0]
    assert all(line.isprintable() for line in str(run).splitlines())


@pytest.mark.parametrize("classes", [1, 1000])
def test_one_class_and_a_thousand(classes):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, 6000)
    said = np.where(rng.random(6000) < 0.9, truth, (truth + 1) % (classes + 1))
    table = pl.DataFrame({"truth": truth, "said": said, "office": rng.integers(0, 2, 6000)})
    assert terminal_rows(fits(run_of(table, inference="none" if classes > 1 else "auto"))) <= MOST_LINES


@pytest.mark.parametrize(("channels", "words"), [(3, "and 1 more sentence: "), (4, "and 2 more sentences: ")])
def test_sentences_that_are_not_printed_are_counted(channels, words):
    copies = {f"channel{index}": pl.col("channel") for index in range(channels)}
    assert words in joined(fits(run_of(tickets().with_columns(**copies), by=["office", *copies])))


def test_many_groups_and_many_headlines_are_counted():
    columns = {f"office{index}": [f"{name}{index}" for name in tickets()["office"]] for index in range(5)}
    run = run_of(tickets().with_columns(**{name: pl.Series(values) for name, values in columns.items()}),
                 by=list(columns))  # fmt: skip
    text = joined(fits(run))
    assert "3 Lagos" in text
    assert "and 2 more in the report" in text
    assert "and 2 more groupings" in text
    chart = Chart("t", tuple(Mark(f"g{at}", at / 100, named=at == 20) for at in range(30)))
    drawn = strip_lines(chart, most=4)
    assert [line.split()[0] for line in drawn[1:5]] == ["g0", "g1", "g2", "g20"]
    assert drawn[-1].strip() == "26 more not drawn"


def test_runs_of_which_nothing_can_be_said_first_print_their_tables(monkeypatch, tmp_path, capsys):
    run = eh.audit(make_frame(), truth="truth", prediction="prediction", by="group", metrics=["accuracy"])
    monkeypatch.setitem(run.__dict__, "overview", Overview("", "", "", ()))
    from evenhand.cli.summaries.findings import print_summary

    print_summary(run, None)
    printed = capsys.readouterr().out
    assert "by group" in printed
    assert "value is" in printed


def test_strips_of_every_unit():
    marks = (
        Mark("few", 0.6667, "2 of 3", (0.1, 0.9), (0.2, 0.4)),
        Mark("b", -0.5, "", (-0.6, -0.4), None, True),
    )
    lines = strip_lines(Chart("t", marks, unit="share difference", fair=0.0), signs=ASCII)
    assert lines[1].endswith("2 of 3")
    assert "%" not in lines[1]  # of 3 rows no share
    assert lines[2].endswith("−50")
    assert "= " not in lines[-1]
    assert strip_lines(Chart("t", (Mark("a", 0.0), Mark("b", 0.0))))[0].split()[:2] == ["0", "%"]
    numbers = strip_lines(Chart("t", (Mark("a", -1.25), Mark("b", 1.5)), unit="number"))
    assert numbers[1].endswith("−1.25")
    assert all(cells(line) <= WIDTH for line in lines + numbers)


def test_columns_of_wide_signs():
    assert cells("a") == 1
    assert cells("日本") == 4
    assert cells("e\u0301") == 1
    assert fitted("日本語", 4) == "日… "
    assert wrapped("aa bb cc", 5, first="- ") == ["- aa", "  bb", "  cc"]
    assert wrapped("x" * 12, 5) == ["xxxxx", "xxxxx", "xx"]
    assert terminal_rows(["", "x" * 81, "日" * 40]) == 4


def test_what_is_not_tested_is_said_once_and_not_explained_by_chance():
    text, full = "Women: 1 of 9; men 9 of 9.", "Women: 1 of 9 (11 %); men 9 of 9 (100 %)."
    line = Headline(text, full, "89 points.", "", NOT_TESTED, by="pronoun", beyond=False, metric="gap")
    said = Overview(text, full, "", (line,), (), ())
    assert (opening(said), largest(said)) == (full, "")
    other = replace(said, title="No difference is tested.", lead="")
    assert (opening(other), largest(other)) == ("No difference is tested.", f"Largest: {text}")
    tested = replace(other, headlines=(replace(line, certainty="p = 0.4."),))
    assert largest(tested) == f"Largest, within what chance alone gives: {text}"
    assert largest(replace(tested, headlines=(replace(line, beyond=True),))) == ""
    assert largest(replace(tested, headlines=(replace(line, weight=(0.5, 0.0, 0.0)),))) == ""  # no difference


def test_a_count_outside_the_band_of_one_comparison_says_how_many_were_made():
    band, line = Mark("f", 0.12, null=(0.031, 0.104)), {"n": 96}
    alone = "Chance alone would give 3 to 10 of the 96"
    assert _chance(band, line, 9) == f"{alone} in a single comparison; this is one of 9."
    assert _chance(band, line) == _chance(replace(band, value=0.09), line, 9) == f"{alone}."


def test_a_finding_within_the_rows_of_a_crossed_one_says_so():
    full = {"truth": "=calm", "sex": "=w", "age": "=60", "said": "=cross"}
    crossed = Headline("A.", "A.", "9 points.", "", "p <0.001.", "sex+age", True, "d", rows=full, cases=36.0)
    wider = {name: value for name, value in full.items() if name != "age"}
    others = [replace(crossed, rows=wider, cases=47.0), replace(crossed, rows={**wider, "sex": "=m"})]
    says = [line.certainty for line in _echoes([crossed, *others], Subject())]
    assert says == ["p <0.001.", "p <0.001. 36 of the 47 are those of finding 1.", "p <0.001."]
    weighted = [line.certainty for line in _echoes([crossed, *others], Subject(is_weighted=True))]
    assert weighted == ["p <0.001.", "p <0.001. By weight, 77 % of it lies in finding 1.", "p <0.001."]
