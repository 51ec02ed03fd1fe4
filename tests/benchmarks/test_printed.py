"""Printed numbers are read as they stand, and every file of them is read by its paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evenhand.benchmarks import papers
from evenhand.benchmarks.papers.printed import printed, printed_cells

FOLDER = Path(papers.__file__).parent
FILES = sorted(FOLDER.glob("*/printed/*.csv"))


def test_cells_are_numbers_of_their_kind_and_empty_ones_none(tmp_path):
    (tmp_path / "printed").mkdir()
    (tmp_path / "printed" / "t.csv").write_text('x,y,a,b\nleft,"one, two",3,0.50\nright,z,,-1\n')
    module = str(tmp_path / "module.py")
    table = printed(module, "t", keys=2)
    assert table == {("left", "one, two"): (3, 0.5), ("right", "z"): (None, -1)}
    assert [type(number) for number in table["left", "one, two"]] == [int, float]
    with pytest.raises(ValueError, match="one"):
        printed(module, "t")  # the second column is no number


def test_cells_are_rows_in_the_order_of_the_file_with_the_words_of_their_headings(tmp_path):
    (tmp_path / "printed").mkdir()
    (tmp_path / "printed" / "t.csv").write_text(
        'x,y,one gap,one error rate,two gap\nb,"1, 2",3,,0.50\na,,-1,0,\n'
    )
    module = str(tmp_path / "module.py")
    table = printed_cells(module, "t", ("setting", "quantity"), keys=2)
    assert table.columns == ["x", "y", "setting", "quantity", "value"]
    assert table.rows() == [
        ("b", "1, 2", "one", "gap", 3.0),
        ("b", "1, 2", "one", "error rate", None),
        ("b", "1, 2", "two", "gap", 0.5),
        ("a", None, "one", "gap", -1.0),
        ("a", None, "one", "error rate", 0.0),
        ("a", None, "two", "gap", None),
    ]
    called = printed_cells(module, "t", ("setting", "quantity"), keys=("who", "where"), how="by hand")
    assert called.columns == ["who", "where", "setting", "quantity", "value", "how"]
    assert called["how"].unique().to_list() == ["by hand"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.parent.name}-{file.stem}")
def test_each_file_is_read_by_its_paper_and_names_each_row_once(file):
    modules = "".join(module.read_text(encoding="utf-8") for module in file.parent.parent.glob("*.py"))
    assert re.search(rf'\bprinted(_cells)?\(\s*__file__, "{file.stem}"', modules)
    header, *lines = file.read_text(encoding="utf-8").splitlines()
    assert len(set(lines)) == len(lines) > 0
    assert len(set(header.split(","))) >= 2
