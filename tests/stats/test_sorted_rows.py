"""Runs of equal rows, and whether rows are sorted, beside plain Python."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.stats.arrays import is_sorted, run_starts

rows_of = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(-1, 2)] * width), max_size=12).map(
        lambda rows: (width, rows)
    )
)


@given(rows_of, st.booleans())
def test_runs_and_order_are_those_of_tuples(case, in_order):
    width, rows = case
    rows = sorted(rows) if in_order else rows
    columns = [np.array([row[place] for row in rows], dtype=np.int32) for place in range(width)]
    expected = [place for place, row in enumerate(rows) if place == 0 or row != rows[place - 1]]
    assert run_starts(*columns).tolist() == expected
    assert is_sorted(*columns) == all(before <= after for before, after in pairwise(rows))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_no_difference_of_codes_overflows(dtype):
    ends = np.iinfo(dtype)
    codes = np.array([ends.max, ends.min], dtype=dtype)
    assert not is_sorted(codes)
    assert is_sorted(codes[::-1])
    assert run_starts(codes).tolist() == [0, 1]
