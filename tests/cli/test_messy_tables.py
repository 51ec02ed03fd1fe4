"""Messy tables: what is wrong with labels, columns and rows is on the terminal, in report and findings."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from html import unescape
from pathlib import Path

import pandas
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError
from tests.cli.test_audit import type_in

pytestmark = pytest.mark.usefixtures("without_pages")

OPTIONS = ["--truth", "truth", "--prediction", "prediction", "--by", "group"]
Rows = Sequence[tuple[str, ...]]


def rows_of(**cells: int) -> Rows:
    """Rows from ``truth_prediction_group=count``."""
    return [tuple(key.split("_")) for key, count in cells.items() for _ in range(count)]


FAIR = rows_of(a_a_m=20, a_b_m=10, b_b_m=25, b_a_m=5, a_a_f=22, a_b_f=8, b_b_f=24, b_a_f=6)


def csv(path: Path, rows: Rows, header: str = "truth,prediction,group") -> Path:
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return path


def changed(rows: Rows, column: int, old: str, *new: str) -> Rows:
    """Every value ``old`` of a column becomes one of ``new`` in turn."""
    made, turn = [], 0
    for row in rows:
        cells = list(row)
        if cells[column] == old:
            cells[column] = new[turn % len(new)]
            turn += 1
        made.append(tuple(cells))
    return made


def audit(monkeypatch, capsys, path: object, *words: object) -> str:
    """What the terminal prints, its lines joined; the audit must succeed."""
    assert type_in(monkeypatch, "audit", path, *OPTIONS, "--seed", 0, *words) == 0
    return " ".join(capsys.readouterr().out.split())


def refused(monkeypatch, capsys, path: object, *words: object) -> str:
    """The one line with which the command refuses."""
    assert type_in(monkeypatch, "audit", path, *words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def finding(folder: Path, name: str) -> dict:
    return next(
        f for f in json.loads((folder / "findings.json").read_text())["findings"] if f["name"] == name
    )


def read(path: Path, **rules: object) -> eh.Predictions:
    return eh.Predictions.read(path, truth="truth", prediction="prediction", **rules)


def test_a_tidy_table_is_audited_without_a_warning(tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    printed = audit(monkeypatch, capsys, csv(tmp_path / "t.csv", FAIR), "-o", out)
    assert "Check" not in printed
    assert json.loads((out / "findings.json").read_text())["warnings"] == []


SPELLINGS = {
    "numbers": (0, ("1", "1.0", "01")),
    "space and case of predictions": (1, (" a", "a ", "A", "a")),
    "space and case of groups": (2, ("f", "f ", "F")),
    "unicode forms": (2, (unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é"))),
    "booleans": (2, ("True", "true")),
    "leading zero": (2, ("01", "1")),
}


@pytest.mark.pages
@pytest.mark.parametrize("case", SPELLINGS)
def test_one_label_in_several_spellings_is_named_with_counts_and_merged_by_normalize(
    case, tmp_path, monkeypatch, capsys
):
    column, spellings = SPELLINGS[case]
    plain = "f" if column == 2 else "a"
    messy = changed(FAIR, column, plain, *spellings)
    if case == "numbers":
        messy = changed(messy, 1, "a", "1")
    clean = changed(FAIR, column, plain, spellings[0])
    path, out = csv(tmp_path / "t.csv", messy), tmp_path / "out"
    printed = audit(monkeypatch, capsys, path, "-o", out)
    assert " Check " in printed
    assert "--normalize" in printed
    warning = json.loads((out / "findings.json").read_text())["warnings"][0]
    assert warning["code"] == "spelled_alike"
    assert set(spellings) <= {one["value"] for one in warning["values"]}
    assert sum(one["count"] for one in warning["values"]) >= sum(row[column] == spellings[0] for row in clean)
    assert "--normalize" in (out / "report.html").read_text()

    assert "Check" not in audit(monkeypatch, capsys, path, "--normalize")
    merged, tidy = (
        eh.audit(read(one), by="group", normalize=True, inference="none")
        for one in (path, csv(tmp_path / "clean.csv", FAIR))
    )
    for name in ("accuracy", "accuracy_gap", "cramers_v_mean"):
        assert merged.finding(name).value == pytest.approx(tidy.finding(name).value)


def test_one_label_in_two_spellings_of_two_parts_of_a_glob_is_named(tmp_path, monkeypatch, capsys):
    numbers = changed(changed(FAIR, 0, "a", "1"), 0, "b", "2")
    numbers = changed(changed(numbers, 1, "a", "1"), 1, "b", "2")
    csv(tmp_path / "part1.csv", numbers)
    csv(tmp_path / "part2.csv", changed(changed(numbers, 0, "1", "1.0"), 0, "2", "2.0"))
    printed = audit(monkeypatch, capsys, tmp_path / "part*.csv")
    assert "'1' (120 rows), '1.0' (60 rows)" in printed or "'1.0'" in printed
    assert "--normalize" in printed
    out = tmp_path / "out"
    audit(monkeypatch, capsys, tmp_path / "part*.csv", "--normalize", "-o", out)
    assert finding(out, "accuracy")["value"] == pytest.approx(91 / 120)


def test_the_real_faces_name_more_than_70_and_what_to_type(faces, tmp_path, monkeypatch, capsys):
    words = ["audit", faces, "--truth", "true_age", "--prediction", "pred_age", "--by", "true_gender"]
    assert type_in(monkeypatch, *words) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "'more than 70' (14 rows)" in printed
    assert "'70+' (9 rows)" in printed
    assert "--map '70+=more than 70'" in printed
    before, after = tmp_path / "before", tmp_path / "after"
    assert type_in(monkeypatch, *words, "-q", "-o", before) == 0
    assert type_in(monkeypatch, *words, "-q", "-o", after, "--map", "70+=more than 70") == 0
    assert "70+" in capsys.readouterr().err  # of the first alone: what was mapped is no warning
    assert finding(after, "accuracy")["value"] > finding(before, "accuracy")["value"]
    codes = [one["code"] for one in json.loads((after / "findings.json").read_text())["warnings"]]
    assert codes == ["repeated_ids"]  # four faces stand twice in the table


def test_a_map_file_renames_labels_and_groups(tmp_path, monkeypatch, capsys):
    messy = changed(changed(FAIR, 1, "a", "eh"), 2, "f", "f", "female")
    mapping = csv(
        tmp_path / "map.csv",
        [("eh", "a", "prediction"), ("female", "f", "group"), ("zzz", "a", "")],
        "old,new,column",
    )
    out = tmp_path / "out"
    printed = audit(monkeypatch, capsys, csv(tmp_path / "t.csv", messy), "-o", out, "--map", mapping)
    assert "'zzz'" in printed  # of the map, but of no row
    assert {group["key"] for group in finding(out, "accuracy")["groups"]} == {"f", "m"}
    assert finding(out, "accuracy")["value"] == pytest.approx(91 / 120)


WORDS = ("NA", "N/A", "NaN", "None", "null", "-", "?", "na", "  ")


@pytest.mark.parametrize("column", [1, 2])
def test_texts_that_mean_missing_are_named_and_left_out_by_missing(column, tmp_path, monkeypatch, capsys):
    plain = "f" if column == 2 else "a"
    messy = changed(FAIR, column, plain, plain, *WORDS)
    path, out = csv(tmp_path / "t.csv", messy), tmp_path / "out"
    printed = audit(monkeypatch, capsys, path, "-o", out)
    gone = sum(row[column] in WORDS for row in messy)
    assert f"n is 120 with them as labels and {120 - gone} with them missing" in printed
    warning = json.loads((out / "findings.json").read_text())["warnings"][0]
    assert warning["code"] == "missing_words"
    counts = {one["value"]: one["count"] for one in warning["values"]}
    assert counts == {word: sum(row[column] == word for row in messy) for word in WORDS}
    assert all(f"--missing {word}" in warning["option"] for word in ("NA", "N/A", "None", "null", "'  '"))
    texts = [word for text in WORDS for word in ("--missing", text)]
    printed = audit(monkeypatch, capsys, path, "-v", "-o", out, *texts)
    assert "Check" not in printed
    assert finding(out, "accuracy")["n"] == 120 - gone
    assert f"{gone} rows with missing {'group' if column == 2 else 'prediction'}" in printed


def test_the_command_line_and_pandas_agree_once_missing_texts_are_named(tmp_path, monkeypatch, capsys):
    path = csv(tmp_path / "t.csv", changed(changed(FAIR, 2, "f", "f", "NA"), 1, "b", "b", "b", "null"))
    out = tmp_path / "out"
    audit(monkeypatch, capsys, path, "--missing", "NA", "--missing", "null", "-o", out)
    frame = eh.Predictions.from_frame(pandas.read_csv(path), truth="truth", prediction="prediction")
    there = eh.audit(frame, by="group", inference="none")
    assert there.finding("accuracy").n == finding(out, "accuracy")["n"] < 120
    assert there.finding("accuracy").value == finding(out, "accuracy")["value"]
    same = eh.audit(read(path), by="group", missing=["NA", "null"], inference="none")
    assert same.finding("accuracy").n == there.finding("accuracy").n


def test_python_takes_the_same_options(tmp_path):
    messy = changed(changed(FAIR, 2, "f", "f", "F "), 1, "b", "b", "bee")
    predictions = read(csv(tmp_path / "t.csv", messy))
    run = eh.audit(predictions, by="group", map={"bee": "b"}, normalize=True, inference="none")
    assert run.finding("accuracy").value == pytest.approx(91 / 120)
    assert {group.key for group in run.finding("accuracy").groups} == {"f", "m"}
    again = eh.audit(read(tmp_path / "t.csv", map="bee=b", normalize=True), by="group", inference="none")
    assert again.findings.findings == run.findings.findings


@pytest.mark.parametrize("column", ["truth", "prediction"])
def test_groups_of_the_truth_or_the_prediction_are_refused(column, tmp_path, monkeypatch, capsys):
    path = csv(tmp_path / "t.csv", FAIR, "y,yhat,group")
    words = ["--truth", "y", "--prediction", "yhat", "--by", {"truth": "y", "prediction": "yhat"}[column]]
    assert f"is the column of the {column}" in refused(monkeypatch, capsys, path, *words)
    path.write_text(path.read_text().replace("y,yhat", "truth,prediction"))
    words = ["--truth", "truth", "--prediction", "prediction", "--by", f"group+{column}"]
    assert f"is the column of the {column}" in refused(monkeypatch, capsys, path, *words)


def test_a_column_name_that_stands_twice_is_refused_where_it_is_used(tmp_path, monkeypatch, capsys):
    twice = [(*row, "other") for row in FAIR]
    path = csv(tmp_path / "t.csv", twice, "truth,prediction,group,group")
    assert "2 columns are called 'group'" in refused(monkeypatch, capsys, path, *OPTIONS)
    path = csv(tmp_path / "t.csv", twice, "truth,prediction,group,note")
    assert type_in(monkeypatch, "audit", path, *OPTIONS, "-q") == 0


def test_a_folder_or_glob_of_several_formats_is_refused_with_counts(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "parts"
    folder.mkdir()
    csv(folder / "a.csv", FAIR)
    csv(folder / "b.csv", FAIR)
    pl.read_csv(folder / "a.csv").write_parquet(folder / "c.parquet")
    (folder / "_SUCCESS").write_text("")
    for given in (folder, folder / "*.*"):
        error = refused(monkeypatch, capsys, given, *OPTIONS)
        assert "1 .parquet" in error
        assert "2 .csv" in error
        assert "*.csv" in error
    (folder / "c.parquet").unlink()
    assert "*.csv" in refused(monkeypatch, capsys, folder, *OPTIONS)


def test_one_image_with_contradictory_truths_is_named(tmp_path, monkeypatch, capsys):
    rows = [(*row, f"{number}.jpg") for number, row in enumerate(FAIR)]
    rows += [("a", "a", "m", "0.jpg"), ("b", "a", "m", "0.jpg")]
    path = csv(tmp_path / "t.csv", rows, "truth,prediction,group,image")
    for words in ([], ["--id", "image"]):
        printed = audit(monkeypatch, capsys, path, *words)
        assert "1 value of 'image' has rows with different truths: '0.jpg' (3 rows)" in printed


def test_repeated_rows_are_counted(tmp_path, monkeypatch, capsys):
    rows = [(*row, f"{number}.jpg") for number, row in enumerate(FAIR)]
    printed = audit(
        monkeypatch, capsys, csv(tmp_path / "t.csv", [*rows, *rows[:50]], "truth,prediction,group,image")
    )
    assert "50 of 170 rows repeat the 'image' of an earlier row" in printed
    scores = [(*row[:3], f"0.{number}") for number, row in enumerate(rows)]
    printed = audit(
        monkeypatch, capsys, csv(tmp_path / "t.csv", [*scores, *scores[:50]], "truth,prediction,group,score")
    )
    assert "50 of 170 rows repeat an earlier row in every column" in printed


def test_a_column_called_weight_is_named(tmp_path, monkeypatch, capsys):
    path = csv(tmp_path / "t.csv", [(*row, "2.5") for row in FAIR], "truth,prediction,group,weight")
    printed = audit(monkeypatch, capsys, path)
    assert "'weight' is not used; if rows stand for different numbers, type --weight weight" in printed
    assert "is not used" not in audit(monkeypatch, capsys, path, "--weight", "weight")


@pytest.mark.pages
def test_sums_of_weights_are_not_called_rows(tmp_path, monkeypatch, capsys):
    rows = [(*row, "2.5") for row in changed(FAIR, 1, "a", "A", "a")]
    path, out = csv(tmp_path / "t.csv", rows, "truth,prediction,group,w"), tmp_path / "out"
    printed = audit(monkeypatch, capsys, path, "--weight", "w", "-o", str(out))
    assert "'a' (162 by weight), 'A' (68 by weight)" in printed
    page = (out / "report.html").read_text()
    assert "All counts are sums of weights." in page
    assert "<small>150 by weight</small>" in page


def test_a_column_of_few_values_is_no_id(tmp_path, monkeypatch, capsys):
    path = csv(
        tmp_path / "t.csv", [(*row, "ns"[n % 2]) for n, row in enumerate(FAIR)], "truth,prediction,group,r"
    )
    printed = audit(monkeypatch, capsys, path, "--id", "r")
    assert "With 2 values in all 'r' is hardly the id of a sample; leave --id out" in printed
    assert "truth of each" not in printed


@pytest.mark.filterwarnings("error")
def test_series_with_other_indexes_are_matched_by_position_and_that_is_said():
    truth, said = pandas.Series(["a", "b", "a", "b"] * 9), ["a"] * 36
    groups = pandas.Series(["m", "f"] * 18, name="sex")
    assert len(eh.Predictions.from_arrays(truth, said, groups=groups).frame.to_native()) == 36
    with pytest.raises(InputError, match=r"same index in another order; give sex\.loc\[y_true\.index\]"):
        eh.Predictions.from_arrays(truth, said, groups=groups[::-1])
    with pytest.warns(UserWarning, match="y_true and sex are .* matched by position, not by index"):
        eh.metrics.accuracy(truth, said, groups=groups.rename(lambda row: row + 100))


@pytest.mark.pages
def test_what_was_left_out_speaks_of_the_columns_of_the_table(tmp_path, monkeypatch, capsys):
    rows = [*FAIR, ("", "a", "m"), ("a", "", "f"), ("a", "a", "")]
    path, out = csv(tmp_path / "t.csv", rows, "job,said,sex"), tmp_path / "out"
    words = ["--truth", "job", "--prediction", "said", "--by", "sex"]
    assert type_in(monkeypatch, "audit", path, *words, "-o", out) == 0
    report = (out / "report.html").read_text()
    assert "perceived gender is not annotated" not in report
    for column in ("job", "said", "sex"):
        assert f"no value in the column “{column}”" in report


def test_quiet_runs_print_warnings_on_stderr(tmp_path, monkeypatch, capsys):
    path = csv(tmp_path / "t.csv", changed(FAIR, 2, "f", "f", "F"))
    assert type_in(monkeypatch, "audit", path, *OPTIONS, "-q") == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "--normalize" in printed.err


def test_audits_compared_sample_by_sample_keep_what_was_mapped(tmp_path, monkeypatch, capsys):
    rows = [(str(number), *row) for number, row in enumerate(changed(FAIR, 1, "b", "b", "bee"))]
    csv(tmp_path / "one.csv", rows, "id,truth,prediction,group")
    csv(tmp_path / "two.csv", changed(rows, 2, "bee", "a"), "id,truth,prediction,group")
    for name in ("one", "two"):
        words = ["--id", "id", "--map", "bee=b", "-q", "-o", tmp_path / name]
        assert type_in(monkeypatch, "audit", tmp_path / f"{name}.csv", *OPTIONS, *words) == 0
    assert type_in(monkeypatch, "compare", tmp_path / "one", tmp_path / "two", "-v") == 0
    assert "1 of 1 pairs on the same samples (120)" in capsys.readouterr().out


def test_columns_of_one_name_in_a_frame_are_refused():
    frame = pandas.DataFrame([["a", "b", "x", "y"]], columns=["truth", "prediction", "group", "group"])
    with pytest.raises(InputError, match="rename them"):
        eh.Predictions.from_frame(frame, truth="truth", prediction="prediction")


def test_truths_and_predictions_of_two_kinds_agree_after_normalize():
    frame = pl.DataFrame(
        {"t": [True, False] * 20, "p": ["true", "False "] * 20, "g": ["a", "b", "b", "a"] * 10}
    )
    predictions = eh.Predictions.from_frame(frame, truth="t", prediction="p", normalize=True)
    assert eh.metrics.accuracy(predictions, by="g").value == 1.0


def test_labels_of_a_large_vocabulary_that_are_never_true_are_no_warning(tmp_path, monkeypatch, capsys):
    long_tail = changed(FAIR, 1, "b", "b", "b", *(f"{letter * 3}" for letter in "cdefghijkl"))
    assert "Check" not in audit(monkeypatch, capsys, csv(tmp_path / "t.csv", long_tail))


def test_a_report_that_hides_small_cells_hides_the_counts_of_warnings(tmp_path):
    messy = [*changed(FAIR, 2, "f", "f", "F"), ("a", "a", "NA"), ("a", "a", "NA"), ("a", "a", "NA")]
    run = eh.audit(
        read(csv(tmp_path / "t.csv", messy)),
        by="group",
    )
    assert "'NA' (3 rows)" in unescape(run.html())
    hidden = unescape(run.html(suppress=10))
    assert "'NA' (3 rows)" not in hidden
    assert "with them as labels" not in hidden
    assert "missing words in 'group'; the counts are hidden" in hidden


def test_a_table_that_pandas_wrote_with_its_index_is_audited(monkeypatch, capsys, tmp_path):
    """Such a column has the empty text as its name."""
    rows = pl.read_csv(csv(tmp_path / "a.csv", FAIR)).with_row_index("")
    rows.write_csv(tmp_path / "indexed.csv")
    assert "120 of 120 rows" in audit(monkeypatch, capsys, tmp_path / "indexed.csv", "-o", tmp_path / "out")


PERSONS = [(*row, str(number // 4)) for number, row in enumerate(FAIR)]


@pytest.mark.parametrize("column", ["subject_id", "Patient", "id"])
def test_persons_of_several_rows_are_named_and_what_to_type(column, tmp_path, monkeypatch, capsys):
    path = csv(tmp_path / "t.csv", PERSONS, f"truth,prediction,group,{column}")
    printed = audit(monkeypatch, capsys, path)
    assert f"{len(FAIR) * 3 // 4} of {len(FAIR)} rows have the '{column}' of an earlier row" in printed
    assert f"type: --cluster {column} " in printed  # reports show what follows as code
    assert "of an earlier row" not in audit(monkeypatch, capsys, path, "--cluster", column)


@pytest.mark.parametrize(("column", "of"), [("subject_id", 1), ("identity", 30), ("file", 60), ("site", 4)])
def test_columns_that_are_no_persons_of_several_rows_are_not(column, of, tmp_path, monkeypatch, capsys):
    rows = [(*row, str(number // of)) for number, row in enumerate(FAIR)]
    path = csv(tmp_path / "t.csv", rows, f"truth,prediction,group,{column}")
    assert "--cluster" not in audit(monkeypatch, capsys, path)


def test_scores_that_a_missing_value_made_labels_are_named(tmp_path, monkeypatch, capsys):
    rows = [(row[0], "NA" if at % 40 == 0 else f"0.{at:04}", row[2]) for at, row in enumerate(FAIR)]
    printed = audit(monkeypatch, capsys, csv(tmp_path / "t.csv", rows))
    assert "column 'prediction' holds 117 different fractional numbers, such as 0.0001: scores" in printed
    assert "--map" not in printed
    halves = [(str(at % 5 / 2), str(at % 5 / 2), row[2]) for at, row in enumerate(FAIR)]
    halves[0] = ("NA", "NA", "m")
    assert "scores" not in audit(monkeypatch, capsys, csv(tmp_path / "stars.csv", halves))
