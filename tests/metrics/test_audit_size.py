"""What would take hours is refused before it begins, with what to type; values alone are always given."""

from __future__ import annotations

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError

ROLES = {"truth": "truth", "prediction": "prediction"}


def table(rows, **columns):
    index = pl.int_range(rows, eager=True)
    plain = pl.DataFrame({"truth": index % 2, "prediction": index % 3, "group": index % 2})
    return plain.with_columns(**columns, other=pl.Series(index // 2 % 50))


GROUPS = pl.int_range(6_100)


@pytest.mark.parametrize(
    ("frame", "by", "said"),
    [
        (table(6_100, group=GROUPS // 2), "group", "'group' has 3,050 groups, .* --bins group=quantiles:4"),
        (table(6_100, group=GROUPS % 61), ["group+other"], "'group.other' has 3,050 groups.*cross fewer"),
        (table(30_001, truth=pl.int_range(30_001)), "group", "30,001 different true labels.*--normalize"),
        (table(100_001, prediction=pl.int_range(100_001)), "group", "100,001 different predicted labels"),
    ],
)  # fmt: skip
def test_more_than_can_be_tested_is_refused_before_it_begins(frame, by, said):
    with pytest.raises(InputError, match=said):
        eh.audit(frame, by=by, **ROLES)
    accuracy = eh.audit(frame, by=by, metrics="accuracy", inference="none", **ROLES).finding("accuracy")
    assert accuracy.n == frame.height


@pytest.mark.parametrize("rows", [119, 120])
def test_a_column_of_many_groups_that_hardly_repeat_is_refused(rows):
    frame = table(rows, group=pl.int_range(rows) % 60)
    if rows < 2 * 60:
        with pytest.raises(InputError, match="60 groups among 119 usable rows, most of them a single row"):
            eh.audit(frame, by="group", inference="none", **ROLES)
    else:
        assert eh.audit(frame, by="group", inference="none", **ROLES).finding("accuracy").n == rows
