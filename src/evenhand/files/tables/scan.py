"""Tables on disk or in the cloud, as lazy scans; every failure becomes one clear line."""

from __future__ import annotations

import re
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.core.unseen import without_secrets
from evenhand.files.hashing import sha256_file, sha256_text
from evenhand.files.tables.checksums import check_pages
from evenhand.files.tables.parts import PARQUET, by_name, chosen_files, partitions
from evenhand.files.tables.text import (
    COMPRESSIONS,
    LINES,
    SEPARATED,
    check_objects,
    check_text,
    format_of,
    refuse_pipe,
)


@dataclass(frozen=True)
class Origin:
    """Where rows came from: never a copy of them."""

    path: str  # as the user gave it; of an address without passwords and signatures
    size: int | None  # bytes of all files; None in the cloud
    sha256: str | None  # of the file, or of the files' hashes in order of their names; None in the cloud
    files: tuple[Path, ...] = ()  # the local ones
    format: str | None = None  # of another tool's file, as ``--from`` has it; None of a table
    beside: tuple[Origin, ...] = ()  # files that were read with it: annotations, groups
    on: str | None = None  # of groups the columns that joined them, as ``Predictions.with_groups`` takes them

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", without_secrets(self.path))

    @property
    def is_text(self) -> bool:
        """Whether the format writes numbers as text, so that 97 may stand there as 97.0."""
        return format_of(self.path.partition("?")[0]) in SEPARATED


def state_of(files: Sequence[Path]) -> tuple[tuple[int, int], ...]:
    """Size and time of local files: another state may hold other rows."""
    states = [file.stat() for file in files if file.exists()]
    return tuple((state.st_size, state.st_mtime_ns) for state in states)


def _remote(path: str | list[str]) -> bool:
    """Globs of local files are resolved here; those of the cloud by Polars."""
    return isinstance(path, str)


_READERS: dict[str, Callable[..., pl.LazyFrame]] = {
    ".csv": lambda path: pl.scan_csv(path, infer_schema=False, glob=_remote(path)),  # labels are text
    ".tsv": lambda path: pl.scan_csv(path, infer_schema=False, separator="\t", glob=_remote(path)),
    ".parquet": lambda path: pl.scan_parquet(path, glob=_remote(path)),
    ".pq": lambda path: pl.scan_parquet(path, glob=_remote(path)),
    ".parq": lambda path: pl.scan_parquet(path, glob=_remote(path)),
    ".jsonl": lambda path: pl.scan_ndjson(path, infer_schema_length=None),
    ".ndjson": lambda path: pl.scan_ndjson(path, infer_schema_length=None),
    ".arrow": pl.scan_ipc,
    ".ipc": pl.scan_ipc,
    ".feather": pl.scan_ipc,
}
_KNOWN = (*_READERS, *(text + packed for text in SEPARATED + LINES for packed in COMPRESSIONS))
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_SHOWN = 3
_HEADER = 1 << 20  # bytes of a first line that are looked at


def is_table(name: str | Path) -> bool:
    """Whether a name says a format that is read."""
    return format_of(name) in _READERS


def scan(path: str | Path) -> tuple[pl.LazyFrame, list[Path]]:
    """A lazy frame over a file, a glob, a folder of Parquet, or a cloud address, and its local files."""
    text = str(Path(path).expanduser()) if "://" not in str(path) else str(path)
    if "://" in text:
        return _reader(text)(text), []
    refuse_pipe(Path(text))
    files, _ = chosen_files(text, _READERS)
    if all(file.stat().st_size == 0 for file in files):
        raise InputError(f"{text!r} is empty; give a table with a header and rows")
    reader = _reader(str(files[0]))
    for file in files:
        check_text(file)
        if format_of(file) in PARQUET:
            check_pages(file)
    _check_separator(files[0])
    values = partitions(Path(text), files) if Path(text).is_dir() else {}
    if any(values.values()) or _differ(files):
        return by_name(files, reader, _schema, values), files
    lazy = reader([str(file) for file in files])
    if format_of(files[0]) in LINES:
        try:
            lazy.collect_schema()  # every line is read here, and not again where the schema is asked for
        except pl.exceptions.PolarsError:
            for file in files:  # what else is wrong is said when the rows are read
                check_objects(file)
    return lazy, files


def notes_of(path: str | Path) -> tuple[str, ...]:
    """What is to be said of the files of a folder or a glob: which are not read, which repeat others."""
    text = str(path)
    if "://" in text:
        return ()
    files, notes = chosen_files(str(Path(text).expanduser()), _READERS)
    sizes = Counter(file.stat().st_size for file in files)
    unique: dict[tuple[object, ...], Path] = {}
    for file in files:
        if sizes[file.stat().st_size] > 1:
            values = [part for part in file.parts[:-1] if "=" in part]  # of which rows are others
            unique.setdefault((sha256_file(file), *values), file)
    copies = [file for file in files if sizes[file.stat().st_size] > 1 and file not in set(unique.values())]
    if copies:
        names = ", ".join(repr(one_line(file.name)) for file in copies[:_SHOWN])
        many = "1 file repeats" if len(copies) == 1 else f"{len(copies):,} files repeat"
        notes += (f"{many} another file that is read, byte by byte, and the rows count again: {names}",)
    return notes


def _differ(files: Sequence[Path]) -> bool:
    """Whether files that are read together have other columns, in another order, or of other types."""
    if len(files) == 1 or format_of(files[0]) in LINES:
        return False
    if format_of(files[0]) in SEPARATED:
        return len({_header(file) for file in files}) > 1
    return len({tuple(_schema(file).items()) for file in files}) > 1


def _schema(file: Path) -> Mapping[str, pl.DataType]:
    """Names and types of the columns of a file."""
    format_name = format_of(file)
    _check_separator(file)
    with reading(file):
        if format_name in PARQUET:
            return pl.read_parquet_schema(file)
        return _READERS[format_name]([str(file)]).collect_schema()


def check_once(origin: Origin, name: str, columns: Sequence[str]) -> None:
    """Refuse a column of a text table whose name stands twice in the header: Polars would take the first."""
    if not origin.is_text or f"{name}_duplicated_0" not in columns:
        return
    file = origin.files[0] if origin.files else Path(origin.path)
    separator = _SEPARATORS[format_of(file)]
    header = pl.read_csv(file, has_header=False, n_rows=1, infer_schema=False, separator=separator)
    times = header.row(0).count(name)
    if times > 1:
        raise InputError(
            f"{times} columns are called {name!r} in the header of {str(file)!r}, so nobody knows which is "
            "meant; rename them"
        )


def _check_separator(file: Path) -> None:
    """Refuse a CSV or TSV whose header would be read as one name, because another separator was written."""
    expected_separator = _SEPARATORS.get(format_of(file))
    if expected_separator is None:
        return
    header = _header(file)
    actual_separator = next((separator for separator in (";", "\t", ",") if separator in header), None)
    if expected_separator in header or actual_separator is None or "\0" in header or "\ufffd" in header:
        return
    raise InputError(
        f"the columns of {str(file)!r} are separated by {actual_separator!r} "
        f"(header: {one_line(header, 80)!r}), but {format_of(file)} is read "
        f"with {expected_separator!r}; {_separated_anew(file, actual_separator)}"
    )


def _header(file: Path) -> str:
    """The first line; Polars decompresses it where it must be."""
    if format_of(file) != file.suffix.lower():
        first = pl.scan_csv(file, has_header=False, separator="\x01", quote_char=None, infer_schema=False)
        with reading(file):
            return str(first.head(1).collect().item()).strip()
    with file.open("rb") as opened:
        return opened.readline(_HEADER).decode("utf-8", "replace").lstrip("\ufeff").strip()


def _separated_anew(file: Path, actual_separator: str) -> str:
    """What to type for a table whose name and separator do not go together, and what to give then."""
    for suffix, separator in _SEPARATORS.items():
        if separator == actual_separator:
            target = str(file.with_suffix(suffix))
            return f"rename it: {shlex.join(['mv', str(file), target])}"
    target = str(file.with_name(f"{file.stem}-commas.csv"))
    read = f"polars.read_csv({str(file)!r}, separator={actual_separator!r}, infer_schema=False)"
    code = f"import polars; {read}.write_csv({target!r})"
    quoted = shlex.quote(code) if set(code) & set('"$`\\!') else f'"{code}"'
    return f"type: python -c {quoted} and give {shlex.quote(target)}"


def origin(path: str | Path, files: list[Path]) -> Origin:
    """Path, size and hash of what was read."""
    if not files:
        return Origin(str(path), None, None)
    hashes = [sha256_file(file) for file in files]
    digest = hashes[0] if len(hashes) == 1 else sha256_text("\n".join(hashes))
    return Origin(str(path), sum(file.stat().st_size for file in files), digest, tuple(files))


@contextmanager
def reading(path: str | Path = "", *, what: str = "") -> Iterator[None]:
    """Turn whatever a table library raises into one line about the file, or about ``what``."""
    what = what or repr(str(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # advice of cloud libraries; their errors follow
            yield
    except pl.exceptions.NoDataError:
        raise InputError(f"{what} is empty; give a table with a header and rows") from None
    except (pl.exceptions.PolarsError, OSError, UnicodeError) as problem:
        raise InputError(f"{what} cannot be read: {reading_cause(problem)}") from None
    except pl.exceptions.PanicException as problem:  # of Polars over damaged bytes; no Exception
        raise InputError(
            f"{what} is damaged, or holds what Polars does not know ({one_line(problem, 100)}); write it or "
            "fetch it again"
        ) from None


def reading_cause(problem: BaseException) -> str:
    """Why a table cannot be read, with what to do where that is known."""
    text = one_line(problem)
    if "surrogates" in text:
        return (
            "a text holds half of a character (a lone surrogate), which cannot be written; replace it: "
            "text.encode('utf-8', 'replace').decode()"
        )
    if "more fields than defined" in text:
        return "a row has more fields than the header; mend the row, or quote fields that hold the separator"
    if "CSV malformed" in text or ("could not parse" in text and "dtype `str`" in text):
        field = re.search(r"could not parse `(.{1,40})", str(problem))
        where = f", from {one_line(field[1])} on" if field else ""
        return f'a quotation mark (") is opened and not closed as it should be{where}; mend that row'
    if "utf-8" in text.lower() or "utf8" in text.lower():
        return "it is not UTF-8 text; convert it, for example: iconv -f latin1 -t utf-8 IN > OUT"
    return text[:200]


def _reader(name: str) -> Callable[..., pl.LazyFrame]:
    suffix = format_of(name.split("?", maxsplit=1)[0])
    if suffix not in _READERS:
        possible = ", ".join(_KNOWN)
        log = "; of another tool's log say whose: --from inspect" if suffix in (".eval", ".json") else ""
        raise InputError(f"{name!r} has an unknown format {suffix!r}; possible: {possible}{log}")
    return _READERS[suffix]
