"""What is suspicious about labels: each rule on either side of its edge."""

from __future__ import annotations

import shlex

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError
from evenhand.core.findings import ValueCount
from evenhand.evidence.predictions.checks.labels import check_labels, listed, shown
from evenhand.evidence.predictions.checks.rows import check_rows
from evenhand.evidence.predictions.label_rules import Renaming

COLUMNS = {"truth": "y", "prediction": "said"}


def checked(*rows, **options):
    """Warnings of ``(truth, prediction, group, n)``, by code; only one of each is expected."""
    frame = pl.DataFrame(rows, schema=["truth", "prediction", "group", "n"], orient="row")
    frame = frame.select(pl.exclude("n").repeat_by("n").explode())
    counts = eh.Predictions.from_frame(frame, truth="truth", prediction="prediction").count(["group"])
    warnings = check_labels(counts, COLUMNS, **options)
    assert len({one.code for one in warnings}) == len(warnings)
    return {one.code: one for one in warnings}


def values(warning):
    return {one.value: one.count for one in warning.values}


TIDY = ("a", "a", "m", 9), ("b", "b", "f", 9), ("a", "b", "f", 9), ("b", "a", "m", 9)


def test_tidy_labels_are_no_warning():
    assert checked(*TIDY) == {}


def test_texts_that_mean_missing_are_named_with_n_as_it_would_be():
    frame = pl.DataFrame({"t": ["a", "NA", "a"], "p": ["a", "a", "NA"], "g": ["x", "x", None]})
    counts = eh.Predictions.from_frame(frame, truth="t", prediction="p").count(["g"])
    labels, predictions = check_labels(counts, {"truth": "t", "prediction": "p"})
    assert (labels.columns, predictions.columns) == (["t"], ["p"])
    assert values(labels) == {"NA": 1}
    assert "n is 2 with them as labels and 1 with them missing" in labels.message
    assert labels.option == "--missing NA"
    assert "They count as labels here" in labels.message


def test_groups_that_mean_missing_are_groups():
    told = checked(*TIDY, ("a", "a", "none", 4), ("a", "a", "#N/A", 5))["missing_words"]
    assert list(values(told).items()) == [("#N/A", 5), ("none", 4)]
    assert "They count as groups here" in told.message
    assert told.option == "--missing '#N/A' --missing none"


def test_spellings_of_both_sides_are_one_space_and_those_of_groups_another():
    told = checked(*TIDY, ("A", "a", "m", 2), ("b", "a", "b", 1))["spelled_alike"]
    assert told.columns == ["y", "said"]
    assert list(values(told).items()) == [("a", 30), ("A", 2)]  # rows with it on either side
    assert "one label is written in several ways" in told.message
    assert "'a' (30 rows), 'A' (2 rows)" in told.message
    assert "a prediction in another spelling than its truth is wrong" in told.message
    groups = checked(*TIDY, ("a", "a", "M", 2), ("a", "a", "F", 1))["spelled_alike"]
    assert groups.columns == ["group"]
    assert "2 labels are written in several ways" in groups.message
    assert "each is its own group" in groups.message
    assert list(values(groups)) == ["m", "M", "f", "F"]  # the form of most rows first


def test_of_many_spellings_six_are_shown():
    rows = [("a", "a", letter, 2) for letter in "abcdefgh"] + [
        ("a", "a", letter.upper(), 1) for letter in "abcdefgh"
    ]
    told = checked(*rows)["spelled_alike"]
    assert "; and 2 more" in told.message
    assert told.message.count("(2 rows)") == 6
    assert len(told.values) == 16
    six = checked(*rows[:6], *rows[8:14])["spelled_alike"]
    assert "more" not in six.message


@pytest.mark.parametrize(
    ("true", "said", "matched"),
    [
        ("police officer", "officer", True),  # all words of one
        ("sea lion", "lion sea", True),
        ("receptionist", "receptionists", True),
        ("abcde", "abcdx", True),  # 8 of 10 letters
        ("abcd", "abcx", False),  # 6 of 8
        ("cat", "dog", False),
    ],
)
def test_labels_that_are_never_met_are_matched_where_they_resemble_each_other(true, said, matched):
    filler = [(f"k{i}", f"k{i}", "m", 9) for i in range(3)]
    told = checked(
        *filler, (true, "k0", "m", 3), ("k1", said, "m", 4), ("u", "k1", "m", 2), ("k1", "z", "m", 1)
    )
    assert ("never_met" in told) == matched
    if matched:
        warning = told["never_met"]
        assert warning.columns == ["y", "said"]
        assert values(warning) == {true: 3, said: 4, "u": 2, "z": 1}
        assert f"Likely the same: '{true}' and '{said}'." in warning.message
        assert warning.option.count("--map") == 1
        assert f"{said}={true}" in warning.option


def test_one_label_on_either_side_is_a_pair_from_five_rows():
    for n, met in ((5, True), (4, False)):
        for rows in (
            (("cat", "a", "m", n), ("a", "dog", "m", 9)),
            (("cat", "a", "m", 9), ("a", "dog", "m", n)),
        ):
            told = checked(*TIDY, *rows)
            assert ("never_met" in told) == met
    assert told == {}
    told = checked(*TIDY, ("cat", "a", "m", 5), ("a", "dog", "m", 5))["never_met"]
    assert told.option == "--map dog=cat"
    assert "'cat' (5 rows) is never predicted" in told.message
    assert "'dog' (5 rows) is never true" in told.message


def unlike(unsaid, untrue, n=5):
    """So many true labels that are never predicted, and predictions that are never true."""
    rows = [(2 * left, "a", "m", n) for left in "cdefghij"[:unsaid]]
    return [*rows, *(("a", 3 * right, "m", n) for right in "opqrstuvw"[:untrue])]


def test_a_few_that_resemble_nothing_are_named_and_many_are_a_long_tail():
    told = checked(*TIDY, *unlike(2, 8))["never_met"]
    assert told.option == "--map"
    assert "If two of them are one label" in told.message
    assert "'cc' (5 rows), 'dd' (5 rows) are never predicted" in told.message
    assert " and 2 more are never true" in told.message
    assert checked(*TIDY, *unlike(2, 9)) == {}
    assert checked(*TIDY, *unlike(2, 2, n=4)) == {}
    assert checked(*TIDY, *unlike(2, 0)) == {}
    assert checked(*TIDY, *unlike(0, 2)) == {}


def test_where_no_true_label_is_ever_predicted_a_model_may_speak_of_something_else():
    assert checked(*[("a", "x", "m", 9), ("b", "y", "m", 9)]) == {}
    assert checked(("a", "x", "m", 9)) == {}


def test_of_several_matches_each_label_has_the_best_one():
    told = checked(
        *TIDY, ("abcdefghij", "a", "m", 3), ("abcdefghxx", "a", "m", 3), ("a", "abcdefghiz", "m", 3),
        ("a", "abcdefghxz", "m", 3), ("a", "abcdefghzz", "m", 3),
    )["never_met"]  # fmt: skip
    assert told.option == "--map abcdefghiz=abcdefghij --map abcdefghxz=abcdefghxx"


def test_lines_of_a_map_that_nothing_has_are_named():
    unused = [Renaming(f"o{i}", "a", "said") for i in range(7)]
    told = checked(*TIDY, unused=unused)["unused_map"]
    assert told.columns == ["said"]
    assert "'o5' and 1 more, which no row holds" in told.message
    assert "'o6'" not in told.message
    assert {one.count for one in told.values} == {0}
    assert "more" not in checked(*TIDY, unused=unused[:6])["unused_map"].message


def test_a_map_that_renames_a_group_is_told_how_groups_are_renamed():
    told = checked(*TIDY, unused=[Renaming("m", "male")])["unused_map"]
    assert told.message == (
        "the map renames 'm', which no row holds in 'y' or 'said'. To rename groups of column 'group', give "
        "--map a CSV file with the columns old, new and column"
    )
    told = checked(*TIDY, unused=[Renaming("mm", "male")])["unused_map"]
    assert told.message.endswith("in 'y' or 'said'. Check the spelling in the table")


def test_texts_for_missing_values_that_nothing_has_are_named():
    told = checked(*TIDY, unused_missing=[f"o{i}" for i in range(7)])["unused_missing"]
    assert "--missing names 'o0', 'o1'" in told.message
    assert told.message.endswith(
        "'o5' and 1 more, which no row holds in 'y', 'group' or 'said'. Check the spelling in the table"
    )
    table = pl.DataFrame({"truth": ["a", "b"] * 9, "said": "a", "group": ["x", "x", "y"] * 6})
    run = eh.audit(table, truth="truth", prediction="said", by="group", missing="N.A.")
    assert "names 'N.A.', which no row holds in 'truth', 'group' or 'said'" in run.manifest["warnings"][-1]


def test_a_single_row_is_no_rows_and_n_with_missing_values_is_said_once():
    frame = pl.DataFrame({"t": ["a", "NA", "a"], "p": ["a", "a", "NA"], "g": ["x", "x", "NA"]})
    counts = eh.Predictions.from_frame(frame, truth="t", prediction="p").count(["g"])
    messages = [warning.message for warning in check_labels(counts, {"truth": "t", "prediction": "p"})]
    assert len(messages) == 3
    assert messages[1] == (
        "column 'g' holds texts that often mean a missing value, too: 'NA' (1 row). They count as groups "
        "here. To leave them out, type: --missing NA"
    )
    assert sum("n is " in message for message in messages) == 1


def test_where_there_are_no_options_something_else_is_advised():
    told = checked(*TIDY, ("A", "a", "m", 2), instead="Write it again.")["spelled_alike"]
    assert told.message.endswith(". Write it again.")
    assert told.option is None


def test_labels_are_shown_so_that_spaces_and_forms_are_seen():
    assert [shown(text) for text in ("a", "a ", "é", "e\u0301", "a\u200b")] == [
        "'a'", "'a '", "'é'", "'e\\u0301'", "'a\\u200b'",
    ]  # fmt: skip
    seven = [ValueCount(value=str(i), count=1000.0) for i in range(7)]
    assert listed(seven).endswith("'5' (1,000 rows) and 1 more")
    assert "more" not in listed(seven[:6])


def rows_checked(frame, **columns):
    """Warnings about rows, by code."""
    table = eh.Predictions.from_frame(frame, truth="truth", prediction="prediction", **columns)
    return {warning.code: warning for warning in check_rows(table, table.count(["group"]))[0]}


def test_rows_are_called_repeated_where_most_are_unlike_any_other():
    few = pl.DataFrame(
        {"truth": ["a", "b"], "prediction": "a", "group": ["x", "y"], "light": ["day", "night"]}
    )
    assert rows_checked(pl.concat([few] * 30)) == {}
    many = pl.concat([few] * 30).with_columns(score=pl.int_range(60))
    assert "repeated_rows" not in rows_checked(many)
    assert "5 of 65 rows" in rows_checked(pl.concat([many, many.head(5)]))["repeated_rows"].message


def test_persons_with_several_rows_are_named_beside_the_ids_of_the_rows_too():
    table = pl.DataFrame({"truth": ["a", "b"] * 30, "prediction": "a", "group": ["x", "y"] * 30})
    table = table.with_columns(photo=pl.int_range(60), person=pl.int_range(60) // 3)
    for columns in ({}, {"id": "photo"}):
        assert rows_checked(table, **columns)["unused_cluster"].option == "--cluster person"
    for columns in ({"id": "person"}, {"id": "photo", "cluster": "person"}):
        assert "unused_cluster" not in rows_checked(table, **columns)


@pytest.mark.parametrize(
    ("clusters", "largest", "is_uneven"), [(13, 20, False), (13, 21, True), (10, 21, True), (9, 21, False)]
)
def test_clusters_of_which_one_has_far_more_rows_than_most_may_count_once(clusters, largest, is_uneven):
    person = [code for code in range(1, clusters) for _ in range(2)] + [0] * largest
    table = pl.DataFrame({"truth": "a", "prediction": "a", "group": "x", "person": person})
    warning = rows_checked(table, cluster="person").get("uneven_clusters")
    assert (warning is not None) == is_uneven
    if warning is not None:
        assert warning.option == "--cluster-weights equal"
        assert "21 rows" in warning.message
    assert "uneven_clusters" not in rows_checked(table, cluster="person", cluster_weights="equal")
    declared = pl.Enum([str(code) for code in range(100)])  # of which most have no row
    again = rows_checked(
        table.with_columns(pl.col("person").cast(pl.String).cast(declared)), cluster="person"
    )
    assert ("uneven_clusters" in again) == (warning is not None)


def test_the_first_hundred_ids_of_different_truths_are_listed():
    table = pl.DataFrame({"truth": ["a", "b"] * 101, "prediction": "a", "group": "x"})
    table = table.with_columns(photo=pl.int_range(202) // 2)
    warning = rows_checked(table, id="photo")["contradictory_truths"]
    assert len(warning.values) == 100
    assert "101 values of 'photo'" in warning.message


def test_labels_that_only_look_alike_are_told_with_their_code_points_and_a_map():
    cyrillic, hyphen = "\u0430", "a\u00adx"
    frame = pl.DataFrame({
        "truth": ["a"] * 9 + ["ax"] * 9, "prediction": ["a", cyrillic, "a"] * 3 + ["ax", hyphen, "ax"] * 3,
        "group": ["\u041c", "M", "F"] * 6,
    })  # fmt: skip
    counts = eh.Predictions.from_frame(frame, truth="truth", prediction="prediction").count(["group"])
    told = {warning.code: warning for warning in check_labels(counts, {}) if warning.code != "never_met"}
    assert set(told) == {"look_alike", "spelled_alike"}
    of_labels, of_groups = (w for w in check_labels(counts, {}) if w.code == "look_alike")
    assert "'a' (9 rows), '\\u0430' (3 rows)" in of_labels.message
    assert of_labels.option == f"--map '{cyrillic}=a'"
    assert "'M' (6 rows), '\\u041c' (6 rows)" in of_groups.message
    assert "'a\\xadx' (3 rows)" in told["spelled_alike"].message


@pytest.mark.parametrize("written", ["{}.", "'{}'", '"{}."', "**{}**", "({})", "{}!"])
@pytest.mark.parametrize("share", [1, 2, 3])
def test_answers_with_the_signs_of_a_sentence_are_told(written, share):
    truth = ["cat", "dog"] * 30
    answers = [written.format(label) if row // 2 % share == 0 else label for row, label in enumerate(truth)]
    frame = pl.DataFrame({"truth": truth, "prediction": answers, "group": ["m", "m", "f"] * 20})
    counts = eh.Predictions.from_frame(frame, truth="truth", prediction="prediction").count(["group"])
    (warning,) = check_labels(counts, {})
    assert warning.code == "look_alike"
    assert "2 labels are written in letters or signs that only look alike" in warning.message
    maps = [text.partition("=") for text in shlex.split(warning.option)[1::2]]
    assert {new for _, _, new in maps} == {"cat", "dog"} or share == 1
    assert {old for old, _, _ in maps} | {new for _, _, new in maps} == {*truth, *answers}


@pytest.mark.parametrize(
    "labels", [("C", "C++"), (".5", "5"), ("-1", "1"), ("18", "18+"), ("!", "?"), ("$5", "5")]
)
def test_signs_that_make_a_label_are_no_end_of_a_sentence(labels):
    frame = pl.DataFrame(
        {"truth": [*labels] * 30, "prediction": [*labels] * 30, "group": ["m", "m", "f"] * 20}
    )
    counts = eh.Predictions.from_frame(frame, truth="truth", prediction="prediction").count(["group"])
    assert "look_alike" not in {warning.code for warning in check_labels(counts, {})}


SETS = [("hat|smile", "smile|hat"), ("smile", "smile"), ("hat|smile", "hat"), ("smile|hat", "smile|hat")]


@pytest.mark.parametrize(
    ("labels", "is_set"),
    [
        (SETS, True),
        ([(t.replace("|", "; "), p.replace("|", ";")) for t, p in SETS], True),
        ([(str(t.split("|")), str(p.split("|"))) for t, p in SETS], True),
        ([("Paris, France", "Paris, France"), ("Lyon, France", "Rome, Italy")], False),
        ([(f"class {n}, “quoted”", f"class {n % 2}, “quoted”") for n in range(6)], False),
        ([("red|circle", "red|square"), ("blue|circle", "blue|square"), ("red|square", "red|square")], False),
        ([("a", "b"), ("b", "a"), ("a|b", "a")], False),  # most are single labels
        ([(t.replace("|", "+"), p.replace("|", "+")) for t, p in SETS], False),
    ],
)
def test_labels_that_are_several_in_one_are_refused(labels, is_set):
    frame = pl.DataFrame([(*row, group) for row in labels for group in "mf"], list("tpg"), orient="row")
    options = {"truth": "t", "prediction": "p", "by": "g", "inference": "none"}
    if not is_set:
        assert eh.audit(frame, **options).finding("accuracy").n == frame.height
        return
    with pytest.raises(
        InputError, match=r"most labels in 't' and 'p' are several in one, separated by '[|;,]'"
    ):
        eh.audit(frame, **options)
