from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.cli.main import main
from tests.conftest import make_frame

pytestmark = pytest.mark.usefixtures("without_pages")

OPTIONS = ["--truth", "truth", "--prediction", "prediction", "--by", "group"]


def type_in(monkeypatch, *words: object) -> int:
    """Run the command line in this process and give its exit code."""
    monkeypatch.setattr(sys, "argv", ["evenhand", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def table(folder: Path, **columns: object) -> Path:
    frame = make_frame().with_columns(**{name: pl.Series(value) for name, value in columns.items()})
    frame.write_parquet(folder / "table.parquet")
    return folder / "table.parquet"


def text(folder: Path, name: str, content: str, encoding: str = "utf-8") -> Path:
    (folder / name).write_bytes(content.encode(encoding))
    return folder / name


BAD = {
    "no such file": (lambda d: d / "missing.csv", "there is no file"),
    "an empty file": (lambda d: text(d, "t.csv", ""), "is empty"),
    "only a header": (lambda d: text(d, "t.csv", "truth,prediction,group\n"), "no usable row"),
    "a missing column": (
        lambda d: text(d, "t.csv", "truht,prediction,group\na,b,c\n"),
        "did you mean 'truht'",
    ),
    "one group": (lambda d: table(d, group=["m"] * 600), "one group"),
    "ids as groups": (lambda d: table(d, group=range(600)), "600 groups among 600 usable rows"),
    "no usable row": (lambda d: text(d, "t.csv", "truth,prediction,group\na,,m\nb,,f\n"), "2 with missing"),
    "fractional truth": (lambda d: table(d, truth=np.linspace(0, 1, 600)), "fractional"),
    "different kinds": (lambda d: table(d, truth=range(600)), "no prediction could be right"),
    "too many classes": (lambda d: wide(d), "more than the 100,000 classes"),  # noqa: PLW0108 - defined below
    "mixed types": (
        lambda d: text(
            d,
            "t.jsonl",
            '{"truth":"a","prediction":"a","group":"x"}\n{"truth":1,"prediction":"a","group":"y"}\n',
        ),
        "mixes text with numbers",
    ),
    "not UTF-8": (lambda d: text(d, "t.csv", "truth,prediction,group\né,é,m\nü,é,f\n", "latin-1"), "UTF-8"),
    "broken Parquet": (lambda d: text(d, "t.parquet", "PAR1garbage"), "cannot be read"),
    "broken JSON": (lambda d: text(d, "t.jsonl", "hello\n"), "cannot be read"),
    "ragged rows": (lambda d: text(d, "t.csv", "truth,prediction,group\na,b,c,d,e\n"), "more fields"),
    "an unknown format": (lambda d: text(d, "t.xlsx", "x"), "unknown format"),
}


def wide(folder: Path) -> Path:
    n = 100_002
    frame = pl.DataFrame({"truth": range(n), "prediction": range(n), "group": ["x", "y"] * (n // 2)})
    frame.write_parquet(folder / "wide.parquet")
    return folder / "wide.parquet"


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_exit_2_and_nothing_written(case, tmp_path, monkeypatch, capsys) -> None:
    make, message = BAD[case]
    path = make(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert type_in(monkeypatch, "audit", path, *OPTIONS, "-o", tmp_path / "out") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert message in printed.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mode", "papr"], "'default', 'paper'"),
        (["--mev", "-1"], "choose 0"),
        (["--alpha", "2"], "between 0 and 1"),
        (["--fail-if", "skewsize<<1"], "name[@by] OP number"),
        (["--fail-if", "accuracy_gap@group beyond chnce"], "'accuracy_gap@gender beyond chance'"),
        (["--fail-if", "accuracy_gp beyond chance"], "did you mean 'accuracy_gap'"),
        (["--fail-if", "accuracy_gap@group>5"], "accuracy_gap lies in 0 to 1; for 5 points write 0.05"),
        (["--fail-if", "skewsiz<1"], "did you mean 'skewsize'"),
        (["--nope"], "evenhand audit --help"),
        (["--by", "grup"], "did you mean 'group'"),
    ],
)
def test_bad_options_are_one_line_and_exit_2(words, message, tmp_path, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, "audit", table(tmp_path), *OPTIONS, *words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


def test_a_folder_with_other_files_is_not_replaced(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    assert type_in(monkeypatch, "audit", table(tmp_path), *OPTIONS, "-o", tmp_path / "mine") == 2
    assert "holds other files" in capsys.readouterr().err
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


HOSTILE = ["<script>alert(1)</script>", "a\nb", "😀", "{{7*7}}", "'; DROP", "\x1b[31mred", "[bold]x[/bold]"]


@pytest.mark.pages
def test_hostile_labels_are_text_everywhere(tmp_path, monkeypatch, capsys) -> None:
    rng = np.random.default_rng(0)
    columns = {name: rng.choice(HOSTILE, 600).tolist() for name in ("truth", "prediction", "group")}
    out = tmp_path / "out"
    assert type_in(monkeypatch, "audit", table(tmp_path, **columns), *OPTIONS, "-o", out) == 0
    assert "\x1b[31mred" not in capsys.readouterr().out
    keys = {g["key"] for g in json.loads((out / "findings.json").read_text())["findings"][0]["groups"]}
    assert keys == set(HOSTILE)
    assert "<script>alert(1)" not in (out / "report.html").read_text()


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"truth": ["a"] * 600}, "one_usable_class"),
        ({"truth": ["a"] * 600, "prediction": ["a"] * 600}, "no_usable_class"),
        ({"prediction": make_frame()["truth"].to_list()}, "no_usable_class"),
    ],
    ids=["one class", "a constant class", "a model without errors"],
)
def test_what_cannot_be_estimated_is_a_finding_with_a_reason(columns, reason, tmp_path, monkeypatch) -> None:
    out = tmp_path / "out"
    assert type_in(monkeypatch, "audit", table(tmp_path, **columns), *OPTIONS, "-o", out, "-q") == 0
    findings = json.loads((out / "findings.json").read_text())["findings"]
    skewsize = next(f for f in findings if f["name"] == "skewsize")
    assert skewsize["value"] is None
    assert skewsize["reason"] == reason


def test_the_summary_goes_to_stdout_and_names_what_matters(tmp_path, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, "audit", table(tmp_path), *OPTIONS, "--verbose") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for word in ("by group", "skewsize", "cramers_v_mean", "by chance alone", "not causes"):
        assert word in printed.out


def test_quiet_prints_nothing(tmp_path, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, "audit", table(tmp_path), *OPTIONS, "-q") == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.pages
def test_gates_give_exit_4_after_everything_is_written(tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "out"
    words = ["audit", table(tmp_path), *OPTIONS, "-o", out, "-q", "--fail-if"]
    assert type_in(monkeypatch, *words, "accuracy@group>0.1") == 4
    assert "accuracy(by=group)" in capsys.readouterr().err
    assert (out / "report.html").is_file()
    assert type_in(monkeypatch, *words, "accuracy>0.99") == 0


def test_gates_on_chance_and_on_disparities_say_the_sentence(tmp_path, monkeypatch, capsys) -> None:
    path = table(tmp_path, prediction=make_frame(bias=0.9)["prediction"])
    words = ["audit", path, *OPTIONS, "--noun", "cards", "-q", "--fail-if"]
    assert type_in(monkeypatch, *words, "accuracy_gap@group beyond chance") == 0
    assert type_in(monkeypatch, *words, "disparities@group>0") == 4
    assert type_in(monkeypatch, *words, "disparities@group beyond chance") == 4
    value, verdict = capsys.readouterr().err.splitlines()
    assert " > 0 (p = 0.001; n = 600): Of 47 g0 cards that are c1, 18 (38 %) are called c2" in value
    assert verdict == value.replace("> 0", "is above chance")


def test_a_gate_on_a_value_that_is_missing_is_broken(tmp_path, monkeypatch, capsys) -> None:
    path = table(tmp_path, truth=["a"] * 600)
    gates = ["--fail-if", "skewsize>9", "--fail-if", "cramers_v_mean>0.99"]
    assert type_in(monkeypatch, "audit", path, *OPTIONS, "-q", *gates) == 4
    assert "has no value" in capsys.readouterr().err


def test_a_gate_on_skewsize_needs_one_on_mean_v_beside_it(tmp_path, monkeypatch, capsys) -> None:
    path, shape = table(tmp_path), ["--fail-if", "skewsize@group<-9"]
    assert type_in(monkeypatch, "audit", path, *OPTIONS, "-q", *shape) == 2
    error = capsys.readouterr().err
    assert "skewsize@group<-9" in error
    assert '--fail-if "cramers_v_mean@group>0.1"' in error
    assert (
        type_in(monkeypatch, "audit", path, *OPTIONS, "-q", *shape, "--fail-if", "cramers_v_mean>0.99") == 0
    )


def test_crossed_attributes_and_repeated_by(tmp_path, monkeypatch) -> None:
    out = tmp_path / "out"
    words = ["audit", table(tmp_path), *OPTIONS, "--by", "group+other", "-o", out, "-q"]
    assert type_in(monkeypatch, *words) == 0
    findings = json.loads((out / "findings.json").read_text())["findings"]
    assert {tuple(f["by"]) for f in findings} == {("group",), ("group", "other")}
    assert sum(f["name"] == "skewsize" for f in findings) == 2


def test_a_column_whose_name_holds_a_plus_is_one_attribute(tmp_path, monkeypatch) -> None:
    path = table(tmp_path, **{"a+b": ["x", "y"] * 300})
    out = tmp_path / "out"
    words = ["audit", path, "--truth", "truth", "--prediction", "prediction", "--by", "a+b", "-o", out, "-q"]
    assert type_in(monkeypatch, *words) == 0
    assert json.loads((out / "manifest.json").read_text())["by"] == ["a+b"]


def test_the_same_command_gives_the_same_bytes(tmp_path, monkeypatch) -> None:
    path, out = table(tmp_path), tmp_path / "out"
    assert type_in(monkeypatch, "audit", path, *OPTIONS, "-o", out, "-q") == 0
    first = (out / "findings.json").read_bytes()
    assert type_in(monkeypatch, "audit", path, *OPTIONS, "-o", out, "-q") == 0
    assert (out / "findings.json").read_bytes() == first


@pytest.mark.pages
def test_real_faces_flip_sign_between_modes(faces, tmp_path, monkeypatch, capsys) -> None:
    words = ["audit", faces, "--truth", "true_age", "--prediction", "pred_age", "--by", "true_gender"]
    assert type_in(monkeypatch, *words, "-v", "-o", tmp_path / "out") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "SkewSize here is 0.3991, in paper mode -0.0573" in printed
    assert "Yates" in printed
    assert "61 rows with missing prediction" in printed
    report = (tmp_path / "out" / "report.html").read_text()
    assert "Yates" in report


def test_listing_and_unknown_listing(monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, "ls", "benchmarks") == 0
    listed = capsys.readouterr().out.split()
    assert listed == sorted(listed)
    assert set(listed) >= {
        "classification",
        "indicators/geography",
        "indicators/label_association",
        "indicators/retrieval",
        "mmbias/association",
        "mmbias/matching",
        "skewsize/backgrounds",
        "skewsize/celeba",
        "skewsize/domainnet",
        "skewsize/occupations",
        "skewsize/sports",
        "skewsize/waterbirds",
        "sprites",
        "visogender/resolution",
        "visogender/retrieval",
    }
    assert type_in(monkeypatch, "ls", "benchmark") == 2
    assert "did you mean 'benchmarks'" in capsys.readouterr().err


def test_no_words_at_all_show_the_help(monkeypatch, capsys) -> None:
    assert type_in(monkeypatch) == 2
    assert "Usage" in capsys.readouterr().err


def test_whoever_reads_the_output_may_stop_early_and_gates_are_checked(tmp_path) -> None:
    given = table(tmp_path, truth=["a", "b"] * 300)
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "evenhand", "audit", str(given), *OPTIONS, "--fail-if", "accuracy<1"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == 4
    assert len(done.stderr.splitlines()) == 1  # of the gate
