"""Which files a folder or a glob stands for, and tables in several files read together by name."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from evenhand.core.errors import InputError, first_few, one_line
from evenhand.core.frames import grouped
from evenhand.files.tables.text import format_of

PARQUET = (".parquet", ".pq", ".parq")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # what Hive, Spark and others write for a missing value
_SHOWN = 3


def chosen_files(text: str, formats: Iterable[str]) -> tuple[list[Path], tuple[str, ...]]:
    """The files that are read for a path, and what is to be said of those that are not.

    Of a folder all Parquet files are read, whatever the case of their endings. What begins with ``_`` or
    ``.`` is left behind by writers: such folders are not read, nor, of a folder, such files.
    """
    path, endings = Path(text), set(formats)
    if path.is_file():
        return [path], ()
    if path.is_dir():
        everything = sorted(file for file in path.rglob("*") if file.is_file())
        visible = [file for file in everything if not _is_hidden(file.relative_to(path).parts)]
        tables = [file for file in visible if format_of(file) in endings]
        _check_one_format(text, tables)
        files = [file for file in tables if format_of(file) in PARQUET]
        if not files:
            hint = f": {_glob_of(text, tables[0].suffix)}" if tables else ""
            raise InputError(
                f"folder {text!r} holds no Parquet files; give a file, or a glob in quotes{hint}"
            )
        others = [file for file in visible if file not in set(files)]
    else:
        fixed = _fixed(path)
        everything = sorted(Path(name) for name in glob.glob(text, recursive=True) if Path(name).is_file())
        files = [file for file in everything if not _is_hidden(file.parts[len(fixed.parts) : -1])]
        if not files:
            raise InputError(f"there is no file {text!r}; check the path, or give a glob in quotes")
        _check_one_format(text, files)
        others = []
    read = {*files, *others}
    files, linked = _each_once(files)
    hidden = [file for file in everything if file not in read and format_of(file) in endings]
    notes = (
        _left_out(hidden, text, "because they or their folders begin with _ or ."),
        _left_out(linked, text, "because they lead to files that are read"),
        _left_out(others, text, f"because their names do not end in {', '.join(PARQUET)}"),
    )
    return files, tuple(filter(None, notes))


def _each_once(files: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Files, each under its own name where that is among them, and links to files that are read anyway."""
    regular = {file for file in files if not file.is_symlink()}
    read: dict[Path, Path] = {}
    for file in sorted(files, key=lambda file: (file not in regular, file)):
        read.setdefault(file.resolve(), file)
    unique = set(read.values())
    return [file for file in files if file in unique], [file for file in files if file not in unique]


def _is_hidden(parts: Sequence[str]) -> bool:
    """Whether a file below a folder, or a folder on the way to it, is none of the table's parts."""
    return any(part.startswith((".", "_")) and "=" not in part for part in parts)


def _fixed(pattern: Path) -> Path:
    """The folder of a glob that the user named, before the first wildcard."""
    parts = pattern.parts
    wild = next((index for index, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
    return Path(*parts[:wild])


def _left_out(files: Sequence[Path], text: str, why: str) -> str:
    if not files:
        return ""
    names = first_few([repr(one_line(file.name)) for file in files], _SHOWN, " and {:,} more")
    many = "1 file is" if len(files) == 1 else f"{len(files):,} files are"
    return f"{many} not read in {one_line(text)!r}, {why}: {names}"


def _check_one_format(text: str, files: Sequence[Path]) -> None:
    """Refuse files of several formats: only those of one would be read."""
    endings = Counter(ending for file in files if (ending := format_of(file)))
    formats = {".parquet" if ending in PARQUET else ending for ending in endings}
    if len(formats) > 1:
        counts = ", ".join(f"{count} {suffix}" for suffix, count in sorted(endings.items()))
        raise InputError(
            f"{text!r} holds files of several formats ({counts}), which are not read together; choose one "
            f"with a glob in quotes: {_glob_of(text, endings.most_common(1)[0][0])}"
        )


def _glob_of(text: str, suffix: str) -> str:
    """A glob over the files of one format, to type."""
    path = Path(text)
    pattern = path / "**" / f"*{suffix}" if path.is_dir() else path.with_name(f"*{suffix}")
    return f"'{pattern}'"


def partitions(folder: Path, files: Sequence[Path]) -> dict[Path, dict[str, str | None]]:
    """The values that the folders ``NAME=VALUE`` below a folder give each file, as they are written."""
    values: dict[Path, dict[str, str | None]] = {}
    for file in files:
        pairs = [part.partition("=") for part in file.relative_to(folder).parts[:-1] if "=" in part]
        values[file] = {unquote(name): _decoded(value) for name, _, value in pairs}
    return values


def _decoded(value: str) -> str | None:
    return None if value == _NO_VALUE else unquote(value)


def by_name(
    files: Sequence[Path],
    reader: Callable[[list[str]], pl.LazyFrame],
    schema_of: Callable[[Path], Mapping[str, pl.DataType]],
    values: Mapping[Path, Mapping[str, str | None]],
) -> pl.LazyFrame:
    """Files read together by the names of their columns, those of folders ``NAME=VALUE`` among them.

    A value of a folder is text, unless all are integers as programs write them: 01 and 1 are two values.
    """
    schemas = {file: dict(schema_of(file)) for file in files}
    for file in files:
        for name in values.get(file, {}):
            if name in schemas[file]:
                raise InputError(
                    f"{str(file)!r} has a column {name!r}, and so has its folder; rename one of the two"
                )
    columns = {file: [*schemas[file], *values.get(file, {})] for file in files}
    _check_columns(files, columns)
    _check_kinds(schemas)
    groups = grouped(files, lambda file: (*values.get(file, {}).items(), *schemas[file].items()))
    integers = _integers([dict(values.get(file, {})) for file in files])
    scans = []
    for members in groups.values():
        scan = reader([str(file) for file in members])
        of_folder = [
            pl.lit(value if value is None or name not in integers else int(value), dtype=kind).alias(name)
            for name, value in values.get(members[0], {}).items()
            for kind in [pl.Int64 if name in integers else pl.String]
        ]
        scans.append(scan.with_columns(of_folder).select(columns[files[0]]))
    return scans[0] if len(scans) == 1 else pl.concat(scans, how="vertical_relaxed")


def _check_columns(files: Sequence[Path], columns: Mapping[Path, Sequence[str]]) -> None:
    first, *others = files
    for other in others:
        for file, complete in ((other, first), (first, other)):
            absent = [name for name in columns[complete] if name not in columns[file]]
            if absent:
                raise InputError(
                    f"{str(file)!r} has no column {absent[0]!r}, which {str(complete)!r} has; files that are "
                    "read together have the same columns: add it there, or leave one of the two out"
                )


def _check_kinds(schemas: Mapping[Path, Mapping[str, pl.DataType]]) -> None:
    """Refuse a column whose values in two files are of kinds that do not go together, such as text and 1."""
    seen: dict[str, tuple[str, Path]] = {}
    for file, schema in schemas.items():
        for name, dtype in schema.items():
            kind = _kind(dtype)
            if kind == str(pl.Null):
                continue
            first = seen.setdefault(name, (kind, file))
            if first[0] != kind:
                raise InputError(
                    f"column {name!r} holds {kind} in {str(file)!r} and {first[0]} in {str(first[1])!r}; "
                    "write both alike"
                )


def _kind(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "numbers"
    return "text" if dtype in (pl.String, pl.Categorical, pl.Enum) else one_line(dtype)


def _integers(values: Sequence[Mapping[str, str | None]]) -> set[str]:
    """Names all of whose values are integers, each written in its one way."""
    names = {name for some in values for name in some}
    texts = {name: {some.get(name) for some in values} - {None} for name in names}
    return {name for name, some in texts.items() if some and all(map(_is_plain_integer, some))}


def _is_plain_integer(text: str | None) -> bool:
    if text is None or len(text) > 18 or not text.removeprefix("-").isdecimal():
        return False
    return str(int(text)) == text
