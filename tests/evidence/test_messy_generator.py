"""Two hundred messy tables: their counts are those of plain Python, or they are refused in one line."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars as pl
import pyarrow
import pytest

import evenhand as eh
from evenhand.core.errors import UserError
from tests.helpers import Later

dask = Later("dask.dataframe")
TABLES, ROWS = 200, 60
AXES = ("truth", "prediction", "group")
ROLES = {"truth": "truth", "prediction": "prediction"}
Row = dict[str, Any]

TYPES: dict[str, list[Any]] = {
    "words": ["cat", "Cat", "cat ", "dog", "dög"],
    "number texts": ["1", "01", "1.0", "9", "10"],
    "long texts": ["1" * 29 + "1", "1" * 29 + "2", "1" * 29 + "3"],
    "missing words": ["NA", "none", "cat", "-", "dog"],
    "signs": ["a,b", 'say "x"', "=1+1", "a\tb", "ø"],
    "letters": ["a", "\u0430", "a\u00ad", "b"],
    "integers": [0, 1, 2, 40],
    "floats": [0.0, 1.0, 2.0],
    "booleans": [True, False],
}
MAPS: list[dict[str, str]] = [
    {},
    {"cat": "dog"},
    {"cat": "dog", "dog": "cat"},
    {"1": "0", "0": "1"},
    {"a": "b"},
]
SPELLINGS = {"cat ": "cat", "01": "1", "0.0": "0", "1.0": "1", "2.0": "2", "a\u00ad": "a", "a\tb": "a b"}


def as_text(value: Any) -> str | None:
    """A value as counts name it."""
    if value is None:
        return None
    return str(int(value)) if isinstance(value, float) else str(value)


class Table:
    """Rows of one seed with the options of an audit, and what plain Python counts of them."""

    def __init__(self, seed: int, engine: str = "") -> None:
        rng = random.Random(seed)  # noqa: S311 - no secret
        self.kind, self.engine = rng.choice(list(TYPES)), engine or rng.choice(list(ENGINES))
        self.map = rng.choice(MAPS)
        self.missing = ["NA", "none"] if rng.random() < 0.3 else []
        self.ranked, self.weighted = rng.random() < 0.3, rng.random() < 0.3
        self.columns = ["id", "truth", "prediction", "group"]
        self.columns += ["rank"] * self.ranked + ["w"] * self.weighted
        nulls, values = rng.choice([0.0, 0.1]), TYPES[self.kind]
        groups = rng.choice([["m", "f", "M"], ["18-39", "0-17", "40+"], ["10", "9", "100"]])

        def one(choices: list[Any]) -> Any:
            return None if rng.random() < nulls else rng.choice(choices)

        self.rows: list[Row] = []
        for sample in range(ROWS):
            row = {"id": f"s{sample}", "truth": one(values), "prediction": one(values), "group": one(groups)}
            ranks = rng.choice([[1], [1, 2], [2, 1, 3], [2], [None, 1]]) if self.ranked else [1]
            for rank in ranks:
                answer = row["prediction"] if rank == 1 else one(values)
                weight = {"w": rng.choice([0.5, 1.0, 2.25])}
                self.rows.append({**row, "prediction": answer, "rank": rank, **weight})
        if rng.random() < 0.1:
            self.spoil(rng)
        if rng.random() < 0.3:
            rng.shuffle(self.rows)
        self.normalize = rng.random() < 0.3

    def spoil(self, rng: random.Random) -> None:
        """Something that must be refused."""
        row = rng.choice(self.rows)
        if self.ranked:
            row["rank"] = rng.choice([0, 1.5])
        elif self.weighted:
            row["w"] = rng.choice([-1.0, 1e200, float("inf")])

    @property
    def is_spoilt(self) -> bool:
        """Whether a rank is none, or a weight."""
        ranks = [row["rank"] for row in self.rows if row["rank"] is not None] if self.ranked else []
        weights = [row["w"] for row in self.rows] if self.weighted else []
        return any(rank < 1 or rank % 1 for rank in ranks) or any(not 0 <= w < 1e60 for w in weights)

    def frame(self) -> pl.DataFrame:
        """The rows as a frame of Polars."""
        return pl.DataFrame(self.rows, infer_schema_length=None).select(self.columns)

    def counted(self) -> Counter[tuple[str | None, ...]]:
        """Weight of each truth, prediction and group, one row at a time."""
        total: Counter[tuple[str | None, ...]] = Counter()
        lowest: dict[str, float] = {}
        for row in self.rows:
            if row["rank"] is not None:
                lowest[row["id"]] = min(row["rank"], lowest.get(row["id"], row["rank"]))
        for row in self.rows:
            if self.ranked and row["rank"] != lowest.get(row["id"]):
                continue
            answer = row["prediction"] if not self.ranked or row["rank"] == 1 else None
            labels = [self.renamed(value) for value in (row["truth"], answer)]
            group = None if row["group"] in self.missing else row["group"]
            total[tuple(map(self.form, (*labels, group)))] += row["w"] if self.weighted else 1
        return total

    def form(self, label: str | None) -> str | None:
        """What all spellings of a label have in common, where they are merged."""
        return SPELLINGS.get(label, label.casefold()) if self.normalize and label else label

    def renamed(self, value: Any) -> str | None:
        """A label under the map and the missing texts; a CSV file has 1.0 where a frame has the number."""
        label = str(value) if self.engine == "csv" and value is not None else as_text(value)
        map_by_form = {self.form(old): new for old, new in self.map.items()}
        label = label if label is None else map_by_form.get(self.form(label), label)
        label = label.removesuffix(".0") if label and self.kind == "floats" else label
        return None if self.form(label) in map(self.form, self.missing) else label

    def options(self) -> dict[str, Any]:
        """Of ``Predictions``."""
        roles = {**ROLES, "id": "id", "map": self.map, "missing": self.missing, "normalize": self.normalize}
        return roles | ({"rank": "rank"} if self.ranked else {}) | ({"weight": "w"} if self.weighted else {})


def of_file(suffix: str) -> Callable[[Table, Path], eh.Predictions]:
    """A table written in two parts and read by a glob."""

    def read(table: Table, folder: Path) -> eh.Predictions:
        frame = table.frame()
        for index, part in enumerate((frame.head(25), frame.slice(25))):
            path = folder / f"p{index}.{suffix}"
            if suffix == "csv":
                with path.open("w", encoding="utf-8", newline="") as stream:
                    writer = csv.writer(stream)
                    writer.writerow(part.columns)
                    writer.writerows(part.rows())
            else:
                {"parquet": part.write_parquet, "jsonl": part.write_ndjson}[suffix](path)
        return eh.Predictions.read(folder / f"*.{suffix}", **table.options())

    return read


def of_frame(make: Callable[[pl.DataFrame], Any]) -> Callable[[Table, Path], eh.Predictions]:
    """A table as a frame of some library."""
    return lambda table, _: eh.Predictions.from_frame(make(table.frame()), **table.options())


def encoded(frame: pl.DataFrame) -> pyarrow.Table:
    """A table of Arrow whose groups are run-end encoded."""
    table = frame.to_arrow()
    group = table["group"].combine_chunks().cast(pyarrow.string())
    ends = pyarrow.compute.run_end_encode(group)
    return table.set_column(table.column_names.index("group"), "group", pyarrow.chunked_array([ends]))


def collated(frame: pl.DataFrame) -> Any:
    """A relation of DuckDB whose texts have a collation without case."""
    database = duckdb.connect()
    database.register("rows", frame.to_arrow())
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    columns = [
        f'"{name}" collate nocase as "{name}"' if name in texts else f'"{name}"' for name in frame.columns
    ]
    database.execute(f"create table t as select {', '.join(columns)} from rows")  # noqa: S608 - our names
    return database.table("t")


ENGINES: dict[str, Callable[[Table, Path], eh.Predictions]] = {
    "csv": of_file("csv"), "parquet": of_file("parquet"), "jsonl": of_file("jsonl"),
    "lazy": of_frame(pl.DataFrame.lazy), "pandas": of_frame(pl.DataFrame.to_pandas),
    "objects": of_frame(lambda frame: pandas.DataFrame(frame.to_dicts(), dtype=object)),
    "arrow": of_frame(encoded), "duckdb": of_frame(collated),
    "dask": of_frame(lambda frame: dask.from_pandas(frame.to_pandas(), npartitions=3)),
}  # fmt: skip


def cells(counts: Any) -> Counter[tuple[str | None, ...]]:
    """Weight of each truth, prediction and group of Counts."""
    total: Counter[tuple[str | None, ...]] = Counter()
    for row in counts.table().iter_rows(named=True):
        total[tuple(as_text(row[name]) for name in AXES)] += row["n"]
    return total


def merged(total: Counter[tuple[str | None, ...]], table: Table) -> Counter[tuple[str | None, ...]]:
    """The cells by the form of their labels."""
    forms: Counter[tuple[str | None, ...]] = Counter()
    for labels, n in total.items():
        forms[tuple(map(table.form, labels))] += n
    return forms


def has_one_spelling(counts: Any, table: Table) -> bool:
    """Whether no two labels of a column, or of the truth and the predictions, have one form."""
    columns = [[str(label) for label in counts.axis(name).levels if label is not None] for name in AXES]
    truths, predictions, groups = columns
    together = ({*truths, *predictions}, groups)
    return all(len(set(map(table.form, labels))) == len(labels) for labels in together)


def fault(table: Table, read: Callable[[Table, Path], eh.Predictions], folder: Path) -> str:
    """What is wrong with the counts of a table beside those of plain Python, or with its refusal."""
    folder.mkdir()
    try:
        counts = read(table, folder).count(["group"])
    except UserError as refusal:
        text = str(refusal)
        return "" if table.is_spoilt and text and "\n" not in text else f"refused: {text}"
    if table.is_spoilt:
        return "not refused"
    if merged(cells(counts), table) != pytest.approx(table.counted()):
        return f"counts {cells(counts)}"
    return "" if not table.normalize or has_one_spelling(counts, table) else "two spellings of a label"


@pytest.mark.parametrize("block", range(8))
def test_counts_are_those_of_plain_python_or_refused_in_one_line(block, tmp_path):
    step = TABLES // 8
    for seed in range(block * step, (block + 1) * step):
        table = Table(seed)
        found = fault(table, ENGINES[table.engine], tmp_path / str(seed))
        assert not found, f"seed {seed}, {table.kind}, {table.engine}: {found}"
