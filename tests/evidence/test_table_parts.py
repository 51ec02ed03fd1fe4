"""Tables in several files, columns of other libraries: rows count as they are written, or are refused."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas
import polars as pl
import pyarrow
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError
from evenhand.evidence.predictions.columns.arrays import unmasked
from evenhand.runs.saved_counts import SavedCounts

ROLES = {"truth": "truth", "prediction": "prediction"}
ROWS = [("ab"[n % 2], "ab"[n // 2 % 2], "mf"[n // 4 % 2]) for n in range(80)]
TABLE = pl.DataFrame(ROWS, ["truth", "prediction", "group"], orient="row")


def groups_of(table, by="group", **options):
    run = eh.audit(table, by=by, inference="none", **ROLES, **options)
    notes = [warning.message for warning in run.findings.warnings if warning.code == "rows"]
    return {str(part.key): part.n for part in run.finding("accuracy").parts}, notes


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        rows = TABLE.sample(fraction=1, shuffle=True, seed=len(list(folder.rglob("*"))))  # none repeats
        rows.write_parquet(folder / name)
    return folder


def test_all_parquet_files_of_a_folder_are_read_and_the_others_are_named(tmp_path):
    folder = write(tmp_path / "t", "a.parquet", "b.PARQUET", "c.parq", "d.pq")
    assert groups_of(folder) == ({"f": 160, "m": 160}, [])
    write(folder, "_temporary/0/e.parquet", ".hidden/f.parquet", "_g.parquet", "h.parquet.bak")
    (folder / "_SUCCESS").write_text("")
    numbers, (hidden, others) = groups_of(folder)
    assert numbers == {"f": 160, "m": 160}
    assert hidden.startswith(f"3 files are not read in {str(folder)!r}, because they or their folders begin")
    assert "1 file is not read" in others
    assert "'h.parquet.bak'" in others
    numbers, (hidden,) = groups_of(folder / "**" / "*.parquet")
    assert numbers == {"f": 80, "m": 80}  # _g.parquet was named by the glob
    assert "1 file is not read" in hidden


def test_links_to_a_file_that_is_read_are_not_read_again_and_copies_are_told(tmp_path):
    folder = write(tmp_path / "t", "b.parquet", "deep/c.parquet")
    TABLE.reverse().write_parquet(folder / "b.parquet")
    (folder / "a.parquet").symlink_to(folder / "b.parquet")
    (folder / "loop").symlink_to(folder)
    numbers, (linked,) = groups_of(folder / "*.parquet")
    assert numbers == {"f": 40, "m": 40}
    assert "1 file is not read" in linked
    assert linked.endswith("because they lead to files that are read: 'a.parquet'")
    (folder / "z.parquet").write_bytes((folder / "b.parquet").read_bytes())
    numbers, (_, repeated) = groups_of(folder)
    assert numbers == {"f": 120, "m": 120}
    assert repeated.startswith(
        "1 file repeats another file that is read, byte by byte, and the rows count again"
    )
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.parquet").symlink_to(folder / "b.parquet")  # as caches lay out what they downloaded
    assert groups_of(outside) == ({"f": 40, "m": 40}, [])


def test_values_of_folders_are_as_they_are_written(tmp_path):
    none = "__HIVE_DEFAULT_PARTITION__"
    folder = write(
        tmp_path / "run=7" / "t", *(f"site={v}/p.parquet" for v in ("01", "1", "1.0", "a%20b", none))
    )
    assert groups_of(folder, "site") == ({"01": 80, "1": 80, "1.0": 80, "a b": 80}, [])
    years = write(tmp_path / "years", *(f"year={year}/p.parquet" for year in (2019, 2021)))
    assert eh.Predictions.read(years, **ROLES).count(["year"]).axis("year").levels == (2019, 2021)
    write(years, "p.parquet")
    with pytest.raises(InputError, match="has no column 'year'"):
        groups_of(years, "year")
    with pytest.raises(InputError, match=r"has a column 'group', and so has its folder"):
        groups_of(write(tmp_path / "twice", "group=x/p.parquet"))


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_parts_with_other_columns_are_read_by_name_or_refused(suffix, tmp_path):
    save = {"parquet": pl.DataFrame.write_parquet, "arrow": pl.DataFrame.write_ipc}[suffix]
    save(TABLE, tmp_path / f"a.{suffix}")
    save(TABLE.select("group", "prediction", "truth"), tmp_path / f"b.{suffix}")
    assert groups_of(tmp_path / f"*.{suffix}") == ({"f": 80, "m": 80}, [])
    for more, said in (
        ({"z": pl.lit(1)}, "has no column 'z'"),
        ({"group": pl.lit(1)}, "'group' holds numbers in"),
    ):
        save(TABLE.with_columns(**more), tmp_path / f"b.{suffix}")
        with pytest.raises(InputError, match=said):
            groups_of(tmp_path / f"*.{suffix}")
    save(TABLE.with_columns(group=pl.lit(None)), tmp_path / f"b.{suffix}")
    assert groups_of(tmp_path / f"*.{suffix}") == ({"f": 40, "m": 40}, [])


def test_a_collation_of_duckdb_merges_no_labels():
    database = duckdb.connect()
    database.execute("create table t (truth varchar collate nocase, prediction varchar collate nocase, "
                     "\"group\" varchar collate nocase)")  # fmt: skip
    rows = [(*row[:2], row[2].upper() if n % 3 else row[2]) for n, row in enumerate(ROWS)]
    rows += [("é", "É", "m"), (None, "a", "m")]
    database.executemany("insert into t values (?, ?, ?)", rows)
    expected = pl.DataFrame(rows, TABLE.schema, orient="row")
    assert groups_of(database.table("t")) == groups_of(expected)
    database.execute("set default_collation = 'nocase'")
    with pytest.raises(InputError, match="SET default_collation = ''"):
        groups_of(database.table("t"))


def test_sparse_and_run_end_encoded_and_masked_columns_are_counted():
    expected = groups_of(TABLE)
    encoded = pyarrow.array(TABLE["group"].to_list()).dictionary_encode().cast(pyarrow.string())
    ends = pyarrow.compute.run_end_encode(encoded)
    table = TABLE.to_arrow().set_column(2, "group", pyarrow.chunked_array([ends]))
    assert groups_of(table) == expected
    frame = TABLE.to_pandas()
    frame["group"] = pandas.Series(pandas.arrays.ArrowExtensionArray(ends), index=frame.index)
    for role in ROLES:
        frame[role] = pandas.arrays.SparseArray((frame[role] == "a").astype(int))
    frame.index = frame.index[::-1]
    assert groups_of(frame) == expected
    mask = [n % 5 == 0 for n in range(80)]
    group = np.ma.masked_array(TABLE["group"].to_list(), mask)
    arrays = eh.Predictions.from_arrays(TABLE["truth"], TABLE["prediction"], groups=group)
    assert arrays.count(["group"]).level_counts("group").sum() == 64
    vectors = np.ma.masked_array(np.ones((4, 2)), [[0, 1], [0, 0], [0, 0], [0, 0]])
    with pytest.raises(InputError, match="vectors hold masked values; write NaN"):
        unmasked(vectors, "vectors")
    assert type(unmasked(np.ma.masked_array([1.0]), "x")) is np.ndarray


def test_long_numbers_are_one_label_only_where_all_digits_agree(tmp_path):
    long = ["1" * 29 + "1", "1" * 29 + "2"]
    rows = TABLE.with_columns(
        truth=pl.Series(long * 40), prediction=pl.Series([long[0], long[1] + ".0"] * 40)
    )
    path = tmp_path / "t.csv"
    rows.write_csv(path)
    counts = eh.Predictions.read(path, normalize=True, **ROLES).count()
    assert counts.axis("truth").levels == tuple(long)
    assert counts.level_counts("prediction").tolist() == [40, 40]


@pytest.mark.parametrize("name", ["weight:rows", "weight:", "cluster:x", "n", "rank"])
def test_names_that_counts_use_are_no_attributes(name):
    with pytest.raises(InputError, match="rename the column first"):
        groups_of(TABLE.rename({"group": name}).with_columns(w=pl.lit(1.5)), name, weight="w")


@pytest.mark.parametrize("columns", [("truth", "prediction", "group"), ("group", "truth", "prediction")])
def test_a_second_header_is_refused(columns, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE.write_csv() + TABLE.select(columns).write_csv())
    with pytest.raises(
        InputError, match=r"1 row of .* is a header .*; take it out, or give the files with a glob"
    ):
        groups_of(path)
    one_hot = TABLE.with_columns(a=1, b=2, m=3, f=4)
    assert groups_of(one_hot)[0] == {"f": 40, "m": 40}


def test_a_key_that_stands_twice_in_a_line_of_json_is_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    line = '{{"doc": {{"truth": "x"}}, "truth": "{}", "prediction": "{}", "group": "{}"}}\n'
    lines = [line.format(*row) for row in ROWS]
    path.write_text("".join(lines))
    assert groups_of(path)[0] == {"f": 40, "m": 40}
    path.write_text("".join([*lines[:9], lines[9].replace('"doc"', '"group": "q", "doc"')]))
    with pytest.raises(InputError, match=r"line 10 of .* has the key 'group' 2 times"):
        groups_of(path)


def test_groups_say_which_column_both_tables_have(tmp_path):
    rows = TABLE.with_row_index("id")
    joined = eh.Predictions.from_frame(rows, **ROLES).with_groups(
        rows.select("id", group=pl.lit("x")), on="id"
    )
    assert joined.notes == (
        "both tables have a column 'group': group is that of the predictions, "
        "groups.group that of the groups",
    )


def test_audits_under_other_rules_do_not_add_up(tmp_path):
    for name, options in (
        ("a", {}),
        ("b", {"missing": "b"}),
        ("c", {"normalize": True}),
        ("d", {"map": "a=c"}),
    ):
        eh.audit(
            TABLE.head(60 + len(name)), by="group", inference="none", out=tmp_path / name, **ROLES, **options
        )
    for name, said in (("b", "--missing differs"), ("c", "--normalize differs"), ("d", "--map differs")):
        with pytest.raises(InputError, match=f"do not add up, their {said}"):
            SavedCounts.read(str(tmp_path / f"[a{name}]"))


def test_damaged_parquet_is_read_or_refused_in_one_line(tmp_path):
    whole = TABLE.sample(4_000, with_replacement=True, seed=1).write_parquet
    whole(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    rng, refusals = np.random.default_rng(3), []
    for _ in range(40):
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        (tmp_path / "t.parquet").write_bytes(damaged)
        try:
            groups_of(tmp_path / "t.parquet")
        except InputError as refusal:
            refusals.append(str(refusal))
    assert refusals
    assert not any("\n" in refusal for refusal in refusals)


@pytest.mark.parametrize("weight", [1e200, 1e308, 1e-200])
def test_weights_whose_squares_are_no_numbers_are_refused(weight):
    with pytest.raises(InputError, match=r"weights are 0, or from 1e-60 to 1e\+60: divide all by their mean"):
        groups_of(TABLE.with_columns(w=pl.lit(weight)), weight="w")


def test_half_of_a_character_is_refused_in_one_line(tmp_path):
    half = "a\ud800"
    frame = pandas.DataFrame(
        {"truth": [half, "b"] * 4, "prediction": ["b"] * 8, "group": ["m", "f"] * 4}, dtype=object
    )
    path = tmp_path / "t.jsonl"
    path.write_text('{"truth": "a\\ud800", "prediction": "b", "group": "m"}\n')
    arrays = {"y_true": [half, "b"], "y_pred": ["b", "b"]}
    for refused in (
        lambda: groups_of(frame), lambda: groups_of(path), lambda: eh.Predictions.from_arrays(**arrays),
    ):  # fmt: skip
        with pytest.raises(InputError, match="half of a character"):
            refused()
    with pytest.raises(ParameterError, match="no text in UTF-8"):
        groups_of(TABLE, map={"a": half})
    path.write_text('{"truth": "\\ud83d\\ude00", "prediction": "b", "group": "m"}\n' * 2)
    assert eh.Predictions.read(path, **ROLES).count().axis("truth").levels == ("😀",)
