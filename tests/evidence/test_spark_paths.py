"""What Spark is asked to read for a path, and what its errors become: with a session that only listens."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from evenhand.core.errors import InputError
from evenhand.evidence.predictions import spark


class Session:
    """Knows one table, and notes what is read."""

    def __init__(self):
        self.noted = {}
        self.read = self
        self.catalog = SimpleNamespace(
            tableExists=lambda name: name in ("shop.sales", "a.csv", "x/y", "here")
        )

    @property
    def conf(self):
        """Settings: folders NAME=VALUE are read as text, and what was set before stands after."""
        return SimpleNamespace(get=lambda name: "true", set=lambda name, value: self.noted.pop("path", None))

    def format(self, kind):
        self.noted["format"] = kind
        return self

    def options(self, **options):
        self.noted |= options
        return self

    def load(self, path):
        return {**self.noted, "path": path}


def test_a_table_of_the_catalogue_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert spark._is_table(Session(), "shop.sales")
    assert not spark._is_table(Session(), "shop.other")
    assert spark._is_table(Session(), "here")
    (tmp_path / "here").mkdir()
    for path in ("here", "a.csv", "x/y"):
        assert not spark._is_table(Session(), path)


@pytest.mark.parametrize(
    ("path", "kind", "separator"),
    [
        ("t.csv", "csv", ","), ("t.TSV", "csv", "\t"), ("t.pq", "parquet", None), ("t.orc", "orc", None),
        ("folder", "parquet", None), ("s3://b/t.csv?versionId=1.2", "csv", ","),
    ],
)  # fmt: skip
def test_files_are_read_as_their_ending_says(path, kind, separator):
    noted = spark._scan(Session(), path)
    assert (noted["format"], noted.get("sep"), noted["path"]) == (kind, separator, path)
    assert noted.get("inferSchema") == (None if separator is None else "false")


def test_a_home_folder_is_found_and_addresses_stay_as_they_are(monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    assert spark._scan(Session(), "~/t.csv")["path"] == "/home/somebody/t.csv"
    assert spark._scan(Session(), "s3://b//t.csv")["path"] == "s3://b//t.csv"


def test_other_files_are_refused():
    with pytest.raises(InputError, match=r"'\.xlsx' is not read by Spark"):
        spark._scan(Session(), "t.xlsx")


def test_errors_of_spark_are_one_line_and_java_is_named():
    errors = pytest.importorskip("pyspark.errors")
    for text in ("[JAVA_GATEWAY_EXITED] Java", "Java gateway process exited"):
        with pytest.raises(InputError, match="needs Java 17"), spark.reading_spark("t"):
            raise errors.PySparkException(text)
    with pytest.raises(InputError, match="Spark cannot read 't': no such") as told, spark.reading_spark("t"):
        raise errors.PySparkException("no such" + " thing" * 100)
    assert len(str(told.value)) <= 300 + len("Spark cannot read 't': ")
