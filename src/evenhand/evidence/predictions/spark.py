"""Tables of a Spark cluster: counted there, so that only the groups come home."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, MissingExtra, one_line
from evenhand.evidence.predictions.count import ClusterWeights
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.files.tables.scan import Origin

_CSV = {
    "header": "true",
    "inferSchema": "false",  # labels are text
    "mode": "FAILFAST",  # a row with too many fields is an error, not a row of nulls
    "quote": '"',
    "escape": '"',
    "multiLine": "true",
    "nullValue": "\x00",  # nothing between separators; an empty text in quotes stays a text
}
_TYPED_FOLDERS = "spark.sql.sources.partitionColumnTypeInference.enabled"
_FILES = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".orc": "orc"}


def read_spark(
    path: str,  # a table of the catalogue, or Parquet, ORC, CSV or TSV: a file, folder, glob or address
    *,
    truth: str,
    prediction: str,
    id: str | None = None,
    rank: str | None = None,  # 1 = first
    cluster: str | None = None,  # what was sampled as a whole
    weight: str | None = None,
    cluster_weights: ClusterWeights = "rows",  # equal: each cluster counts once
) -> Predictions:
    """Predictions in a table that Spark reads; they are counted in Spark.

    The session that is active is used; else one is made, as ``spark-submit`` or ``SPARK_CONF_DIR`` say, or on
    this machine.
    """
    with reading_spark(path):
        session = _session()
        frame = session.table(path) if _is_table(session, path) else _scan(session, path)
        frame.schema  # noqa: B018  # Spark looks at the files now, so that a wrong path is told here
    predictions = Predictions.from_frame(
        frame,
        truth=truth,
        prediction=prediction,
        id=id,
        rank=rank,
        cluster=cluster,
        weight=weight,
        cluster_weights=cluster_weights,
    )
    return replace(predictions, origin=Origin(path, None, None))


@contextmanager
def reading_spark(path: str) -> Iterator[None]:
    """Turn what Spark raises into one line about a table."""
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
    except ImportError:
        raise MissingExtra("pyspark", "spark") from None
    try:
        yield
    except (PySparkException, Py4JError) as problem:
        text = one_line(problem)
        if "JAVA_GATEWAY_EXITED" in text or "Java gateway" in text:
            raise InputError(
                "--engine spark needs Java 17 or newer; install it (Debian: apt-get install "
                "openjdk-17-jre-headless), or set JAVA_HOME"
            ) from None
        raise InputError(f"Spark cannot read {path!r}: {text[:300]}") from None


def _session() -> Any:
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    builder = SparkSession.builder.appName("evenhand")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _is_table(session: Any, path: str) -> bool:
    """Whether a text is the name of a table of the catalogue, and not of a file."""
    names_a_file = "/" in path or Path(path).exists() or Path(path).suffix.lower() in _FILES
    return not names_a_file and bool(session.catalog.tableExists(path))


def _scan(session: Any, path: str) -> Any:
    suffix = Path(path.split("?", maxsplit=1)[0]).suffix.lower()
    if suffix and suffix not in _FILES:
        raise InputError(
            f"{path!r} is no table of the catalogue, and {suffix!r} is not read by Spark here; possible: "
            f"{', '.join(_FILES)}, a folder of Parquet, or CATALOGUE.SCHEMA.TABLE"
        )
    reader = session.read.format(_FILES.get(suffix, "parquet"))
    if suffix in (".csv", ".tsv"):
        reader = reader.options(**_CSV, sep="\t" if suffix == ".tsv" else ",")
    inferred = session.conf.get(_TYPED_FOLDERS)
    session.conf.set(_TYPED_FOLDERS, "false")  # site=01 and site=1 are two sites
    try:
        return reader.load(path if "://" in path else str(Path(path).expanduser()))
    finally:
        session.conf.set(_TYPED_FOLDERS, inferred)
