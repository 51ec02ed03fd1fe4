"""Messy tables that Spark holds: their counts are those of plain Python, or they are refused in one line."""

from __future__ import annotations

import pytest

from tests.evidence.test_messy_generator import Table, fault, of_frame


@pytest.mark.nightly
def test_counts_of_spark_are_those_of_plain_python_or_refused_in_one_line(spark, tmp_path):
    read = of_frame(lambda frame: spark.createDataFrame(frame.to_arrow()))
    for seed in range(1000, 1006):
        found = fault(Table(seed, "spark"), read, tmp_path / str(seed))
        assert not found, f"seed {seed}: {found}"
