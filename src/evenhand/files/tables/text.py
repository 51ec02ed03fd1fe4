"""Tables as text: the format that a name says, compressed or not, and bytes that are no such text."""

from __future__ import annotations

import gzip
import json
import mmap
import shlex
import zlib
from pathlib import Path

from evenhand.core.errors import InputError, one_line

SEPARATED = (".csv", ".tsv")
LINES = (".jsonl", ".ndjson")
COMPRESSIONS = (".gz", ".zst")
_HEAD = 1 << 20  # bytes whose encoding is looked at
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


def format_of(name: str | Path) -> str:
    """The ending that says the format, in lower case: ``.csv`` of ``a.csv`` and of ``a.CSV.gz``."""
    path = Path(name)
    inner = Path(path.stem).suffix.lower()
    compressed = path.suffix.lower() in COMPRESSIONS and inner in SEPARATED + LINES
    return inner if compressed else path.suffix.lower()


def refuse_pipe(path: Path) -> None:
    """Refuse what is neither a file nor a folder, such as a pipe: a table is read more than once."""
    if path.exists() and not path.is_file() and not path.is_dir():
        what = "a named pipe" if path.is_fifo() else "a device"
        raise InputError(
            f"{str(path)!r} is {what}, and a table is read more than once; write it to a file first: "
            f"{shlex.join(['cat', str(path)])} > table.csv"
        )


def check_text(file: Path) -> None:
    """Refuse a text table whose bytes are not UTF-8 lines, with the command that makes some of them."""
    if format_of(file) not in SEPARATED + LINES:
        return
    head = _head(file)
    encoding = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None) or _utf16(head)
    if encoding is not None:
        raise InputError(
            f"{str(file)!r} is {encoding.upper()} text, and tables are read as UTF-8; "
            f"convert it: iconv -f {encoding} -t utf-8 {_to_new(file)}"
        )
    line = _line_of_nul(file, head)
    if line is not None:
        raise InputError(
            f"{str(file)!r} holds a NUL byte in line {line}: it is damaged, or no UTF-8 text; take such "
            f"bytes out: tr -d '\\000' < {_to_new(file)}"
        )
    if format_of(file) in SEPARATED:
        _check_lines(file, head)


def check_objects(file: Path) -> None:
    """Refuse JSON lines of which one is no object; for unreadable tables only, since it parses every line."""
    with file.open("rb") as opened:
        head = opened.read(len(_ZSTD))
    if head.startswith(_ZSTD):
        return
    try:
        with gzip.open(file) if head.startswith(_GZIP) else file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                _check_object(file, number, line)
    except (OSError, EOFError, zlib.error) as problem:
        raise InputError(f"{str(file)!r} cannot be read: {one_line(problem)}") from None


def _check_object(file: Path, number: int, line: bytes) -> None:
    """Refuse a line that is neither blank nor a JSON object."""
    if not line.strip() or _is_object(line):
        return
    if line.lstrip().startswith(b"["):
        raise InputError(
            f"{str(file)!r} cannot be read: it is a JSON array; write one object a line, for example: "
            "jq -c '.[]' IN > OUT"
        )
    start = one_line(line.decode(errors="replace"), 80)
    raise InputError(
        f"{str(file)!r} cannot be read: line {number} is no JSON object: {start!r}; "
        "mend that line: each holds one whole object"
    )


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode("utf-8-sig")), dict)
    except (ValueError, RecursionError):
        return False


def _check_lines(file: Path, head: bytes) -> None:
    if b"\r" in head and b"\n" not in head:
        raise InputError(
            f"the lines of {str(file)!r} end in CR alone, so that all of it is its header; convert it: "
            f"tr '\\r' '\\n' < {_to_new(file)}"
        )
    header = head.partition(b"\n")[0]
    if len(head) < _HEAD and header.count(b'"') % 2 and head.count(b'"') % 2:
        raise InputError(
            f'the header of {str(file)!r} opens a quotation mark (") that is never closed; mend the header'
        )


def _head(file: Path) -> bytes:
    """The first bytes of a text; empty where they are compressed in another way than by gzip."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    if head.startswith(_ZSTD):
        return b""  # Polars decompresses it; there is nothing to look into it with here
    if not head.startswith(_GZIP):
        return head
    try:
        with gzip.open(file) as unpacked:
            return unpacked.read(_HEAD)
    except (OSError, EOFError, zlib.error) as problem:
        raise InputError(
            f"{str(file)!r} cannot be decompressed ({problem}); compress it or copy it anew"
        ) from None


def _utf16(head: bytes) -> str | None:
    """The encoding of text without a mark in which every other byte is NUL."""
    low, high = head[1::2].count(0), head[::2].count(0)
    if len(head) < 4 or 2 * max(low, high) < len(head) // 2:
        return None
    return "utf-16le" if low > high else "utf-16be"


def _line_of_nul(file: Path, head: bytes) -> int | None:
    """The line of the first NUL byte; of a compressed file only the beginning is read."""
    if b"\0" in head:
        return head[: head.index(b"\0")].count(b"\n") + 1
    with file.open("rb") as opened:
        if opened.read(2) == _GZIP or len(head) < _HEAD:
            return None
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            position = content.find(b"\0")
            return None if position < 0 else content[:position].count(b"\n") + 1


def _to_new(file: Path) -> str:
    """Source and target of a command that converts a file."""
    new = file.with_name(f"{file.name.partition('.')[0]}-utf8{''.join(file.suffixes)}")
    return f"{shlex.quote(str(file))} > {shlex.quote(str(new))}"
