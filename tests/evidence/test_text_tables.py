"""Text tables: compressed ones are read, and bytes that are no such text are refused with what to type."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError
from tests.conftest import make_frame


@pytest.fixture
def frame() -> pl.DataFrame:
    return make_frame(n=200)


def counted(path: Path) -> pl.DataFrame:
    """What is counted of a table."""
    read = eh.Predictions.read(str(path), truth="truth", prediction="prediction")
    return read.count(["group"]).to_frame()


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("packed", ["gz", "zst"])
def test_compressed_tables_give_what_plain_ones_give(frame, tmp_path, kind, packed) -> None:
    plain, small = tmp_path / f"t.{kind}", tmp_path / f"t.{kind}.{packed}"
    if kind == "jsonl":
        frame.write_ndjson(plain)
        if packed == "zst":
            frame.lazy().sink_ndjson(small, compression="zstd", check_extension=False)
    else:
        separator = "," if kind == "csv" else "\t"
        frame.write_csv(plain, separator=separator)
        if packed == "zst":
            frame.lazy().sink_csv(small, separator=separator, compression="zstd", check_extension=False)
    if packed == "gz":
        small.write_bytes(gzip.compress(plain.read_bytes()))
    assert counted(small).equals(counted(plain))
    assert len(counted(plain)) > 4


def refused(path: Path) -> str:
    """The message of a table that is not read."""
    with pytest.raises(InputError) as problem:
        counted(path)
    return str(problem.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16le", "utf-16be", "utf-32"])
def test_other_encodings_are_refused_with_the_command_that_converts_them(frame, tmp_path, encoding) -> None:
    path = tmp_path / "my table.csv"
    path.write_bytes(frame.write_csv().encode(encoding))
    told = refused(path)
    assert "text, and tables are read as UTF-8" in told
    converts(told, frame)


def test_lines_that_end_in_cr_alone_are_refused_with_the_command_that_converts_them(frame, tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(frame.write_csv().replace("\n", "\r").encode())
    told = refused(path)
    assert "end in CR alone" in told
    converts(told, frame)


@pytest.mark.parametrize("rows", [200, 200_000])
def test_a_nul_byte_is_refused_with_its_line(tmp_path, rows) -> None:
    frame = make_frame(n=rows)
    path = tmp_path / "t.csv"
    lines = frame.write_csv().encode().split(b"\n")
    lines[-2] = b"\0" + lines[-2]
    path.write_bytes(b"\n".join(lines))
    told = refused(path)
    assert f"a NUL byte in line {rows + 1}" in told
    converts(told, frame)


def converts(told: str, frame: pl.DataFrame) -> None:
    """Assert that the command in a message makes a table that is read as it should be."""
    command = told.rpartition(": ")[2]
    subprocess.run(command, shell=True, check=True)  # noqa: S602 - it is what a user would type
    made = shlex.split(command)[-1]
    assert pl.read_csv(made, infer_schema=False).equals(frame.cast(pl.String))


@pytest.mark.parametrize(
    ("row", "said"),
    [('"a,b,x', 'from "a,b,x on'), ('a,"b,x', "quotation mark"), ('a,b,"x', 'from "x on')],
)
def test_an_unclosed_quotation_mark_is_said_so(tmp_path, row, said) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["truth,prediction,group", "a,b,y", row, "a,a,x", "b,b,y", ""]))
    told = refused(path)
    assert 'a quotation mark (") is opened and not closed' in told
    assert said in told


def test_an_unclosed_quotation_mark_of_the_header_is_said_so(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('truth,"prediction,group\na,b,x\nb,b,y\n')
    assert "the header of" in refused(path)


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_files_are_read_together_by_the_names_of_their_columns(frame, tmp_path, packed) -> None:
    def write(name: str, table: pl.DataFrame) -> None:
        content = table.write_csv().encode()
        (tmp_path / f"{name}.csv{packed}").write_bytes(gzip.compress(content) if packed else content)

    names = ["prediction", "group", "truth"]
    write("a", frame.head(90))
    write("b", frame.slice(90).select(*names, pl.exclude(names)))
    frame.write_csv(tmp_path / "whole.csv")
    both = tmp_path / f"[ab].csv{packed}"
    assert counted(both).equals(counted(tmp_path / "whole.csv"))
    write("b", frame.drop("group"))
    assert f"b.csv{packed}' has no column 'group', which " in refused(both)
    write("b", frame.with_columns(more=1))
    assert f"a.csv{packed}' has no column 'more', which " in refused(both)


def test_one_empty_file_among_others_is_named(frame, tmp_path) -> None:
    frame.write_csv(tmp_path / "a.csv")
    (tmp_path / "b.csv").touch()
    assert "b.csv' is empty; " in refused(tmp_path / "*.csv")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("{ROW}\n\n{ROW}\n{'truth' 1}\n{ROW}\n", "line 4 is no JSON object: .*'truth' 1"),
        ("[{ROW},\n{ROW}]\n", "it is a JSON array; write one object a line"),
        ("[\n{ROW}\n]\n", "it is a JSON array; write one object a line"),
    ],
)
def test_json_that_is_no_line_of_an_object_is_said_so(tmp_path, lines, said, packed) -> None:
    path = tmp_path / ("t.jsonl.gz" if packed else "t.jsonl")
    content = lines.replace("{ROW}", '{"truth": "a", "prediction": "b", "group": "x"}').encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    assert re.search(said, refused(path))


def test_json_whose_gzip_is_cut_off_late_is_one_line(tmp_path) -> None:
    row = {"truth": "a", "prediction": "b", "group": "x"}
    lines = "".join(json.dumps({**row, "n": os.urandom(30).hex()}) + "\n" for _ in range(20_000))
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(lines.encode())[:-30_000])
    assert "cannot be read" in refused(path)


def test_a_named_pipe_is_said_so(tmp_path) -> None:
    path = tmp_path / "t.csv"
    os.mkfifo(path)
    assert "is a named pipe" in refused(path)


def test_a_gzip_that_is_cut_off_is_one_line(frame, tmp_path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(frame.write_csv().encode())[:100])
    assert "cannot be decompressed" in refused(path)


def test_the_name_of_a_compressed_format_that_is_not_read_is_said_with_those_that_are(tmp_path) -> None:
    path = tmp_path / "t.parquet.gz"
    path.write_bytes(b"x")
    told = refused(path)
    assert "unknown format '.gz'" in told
    assert ".csv.gz" in told
