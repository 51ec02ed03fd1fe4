"""Pages of Parquet with checksums: what changed in them is damage, and no other label."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError
from evenhand.files.tables.checksums import check_pages

pa = pytest.importorskip("pyarrow", reason="needs pyarrow, which writes checksums")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = {
    "truth": ["cat", "dog", "owl"] * 400,
    "prediction": ["cat", "dog", "cat"] * 400,
    "group": [["m", "f"][row // 7 % 2] for row in range(1200)],
    "score": [row / 7 if row % 11 else None for row in range(1200)],
    "tags": [[row, row + 1] for row in range(1200)],
}
WRITERS = {
    "plain": {"compression": "none", "use_dictionary": False},
    "usual": {},
    "version 2": {"data_page_version": "2.0", "compression": "zstd"},
    "small pages": {"data_page_size": 512, "row_group_size": 300, "write_page_index": True},
}


def written(path, **options):
    pq.write_table(pa.table(ROWS), path, **options)
    return path


def audited(path):
    return eh.audit(str(path), truth="truth", prediction="prediction", by="group", inference="none")


@pytest.mark.parametrize("name", WRITERS)
def test_whole_files_are_read_with_and_without_checksums(tmp_path, name):
    for has_checksums in (True, False):
        path = written(tmp_path / "t.parquet", write_page_checksum=has_checksums, **WRITERS[name])
        check_pages(path)
        assert audited(path).finding("accuracy").n == 1200


@pytest.mark.parametrize("name", WRITERS)
def test_a_flipped_bit_of_a_page_is_damage(tmp_path, name):
    path = written(tmp_path / "t.parquet", write_page_checksum=True, **WRITERS[name])
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    group = pq.read_metadata(path).row_group(0)
    chunks = [group.column(index) for index in range(3)]
    draw = np.random.default_rng(0)
    told = 0
    for turn in range(30):
        chunk = chunks[turn % 3]
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        position = int(draw.integers(start, start + chunk.total_compressed_size))
        damaged = bytearray(content)
        damaged[position] ^= 1 << int(draw.integers(8))
        path.write_bytes(damaged)
        try:
            counted = audited(path).finding("accuracy")
        except InputError:
            told += 1
        else:  # a bit of a header, such as one of its statistics, which decides nothing
            assert (counted.n, counted.value) == (1200, pytest.approx(2 / 3))
    assert told >= 20
    for position in (10, len(content) - length, len(content) - 20, len(content) - 6):
        damaged = bytearray(content)
        damaged[position] ^= 255
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"damaged|cannot be read"):
            audited(path)


def test_a_label_that_became_another_is_told_with_its_place(tmp_path):
    path = written(tmp_path / "t.parquet", write_page_checksum=True, **WRITERS["plain"])
    content = bytearray(path.read_bytes())
    content[content.index(b"cat", 200)] ^= 4
    path.write_bytes(content)
    assert "gat" in pl.read_parquet(path)["truth"].to_list()
    with pytest.raises(InputError, match=r"is damaged: a page at byte [\d,]+ has another checksum"):
        audited(path)


def test_bytes_that_are_no_parquet_are_left_to_its_reader(tmp_path):
    path, draw = tmp_path / "t.parquet", np.random.default_rng(1)
    for length in (0, 3, 8, 40, 4000):
        for _ in range(20):
            path.write_bytes(b"PAR1" + draw.bytes(length) + b"PAR1")
            check_pages(path)
    ones = b"\xff" * 60_000
    endless = [b"\x1c" * 60_000, b"\x19\xf7" + ones, b"\x19\xf7" + ones[:8] + b"\x01", b"\x16" + ones]
    for content in endless:  # structures in structures, lists of doubles, an integer
        path.write_bytes(b"PAR1" + content)
        check_pages(path)
