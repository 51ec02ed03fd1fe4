"""Synonym files: other spellings of labels, each with the kind of reason it is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from evenhand.core.errors import InputError, one_line
from evenhand.core.frames import grouped
from evenhand.evidence.open_answers.text import plain_form

SHIPPED = ("occupations", "sports", "objects", "faces", "birds")
"""Synonym files of ours."""
KINDS = ("same", "spelling", "short", "gendered", "narrower")
"""Why a spelling stands for a name: another word for the same, another spelling, a short form, a form that
tells the gender of who is named, or one sort of it."""
HEADER = ("spelling", "name", "kind", "reason")
_MOST_BYTES = 20_000_000


@dataclass(frozen=True)
class Synonym:
    """One line of a synonym file: ``spelling`` stands for ``name``, for a ``reason`` of a ``kind``."""

    spelling: str
    name: str
    kind: str = "same"
    reason: str = ""
    line: int = 0


def read_synonyms(file: str | Path) -> list[Synonym]:
    """The lines of a synonym file, or of one of ours by its name."""
    source = str(file)
    if source in SHIPPED:
        content = (
            files("evenhand.evidence.open_answers")
            .joinpath(f"synonym_files/{source}.tsv")
            .read_text(encoding="utf-8")
        )
    else:
        content = read_text(Path(file), f"give one of {', '.join(SHIPPED)}, or a file of yours")
    synonyms = []
    for number, line in enumerate(content.splitlines(), 1):
        parts = [part.strip() for part in line.split("\t")]
        if not any(parts) or line.startswith("#") or tuple(parts[:2]) == HEADER[:2]:
            continue
        kind = parts[2] if len(parts) > 2 and parts[2] else "same"
        if len(parts) < 2 or not parts[0] or not parts[1] or kind not in KINDS:
            raise InputError(
                f"{source!r} line {number} is {one_line(line, 60)!r}; write spelling, name and, if you "
                f"like, kind ({', '.join(KINDS)}) and reason, with tabs between them"
            )
        synonyms.append(Synonym(parts[0], parts[1], kind, parts[3] if len(parts) > 3 else "", number))
    return synonyms


def read_text(path: Path, hint: str) -> str:
    """A text file of the user's."""
    full = path.expanduser()
    if not full.is_file():
        raise InputError(f"there is no file {str(path)!r}; {hint}")
    if full.stat().st_size > _MOST_BYTES:
        raise InputError(f"{str(path)!r} has more than {_MOST_BYTES:,} bytes; {hint}")
    try:
        return full.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not text in UTF-8; save it as UTF-8") from None


def check_lines(lines: Sequence[Synonym], names: Sequence[str], file: str) -> None:
    """Refuse lines of a user's file that contradict the names or each other, with their numbers."""
    labels = {plain_form(name): name for name in names}
    seen: dict[str, Synonym] = {}
    for line in lines:
        form = plain_form(line.spelling)
        first = seen.setdefault(form, line)
        if plain_form(first.name) != plain_form(line.name):
            raise InputError(
                f"{file!r} lines {first.line} and {line.line} give {one_line(line.spelling)!r} two names, "
                f"{one_line(first.name)!r} and {one_line(line.name)!r}; keep one of the lines"
            )
        if form in labels and form != plain_form(line.name):
            raise InputError(
                f"{file!r} line {line.line} makes {one_line(line.spelling)!r} a spelling of "
                f"{one_line(line.name)!r}, but it is a label itself; remove the line, or turn it round"
            )


def fitted(lines: Sequence[Synonym], names: Sequence[str]) -> list[Synonym]:
    """Lines of ours, each group going to the one of its words that is a label.

    Words that are labels themselves are left out; of a group whose name is no label and of which one word is,
    all words that mean the same go to that one.
    """
    labels = {plain_form(name): name for name in names}
    fitted_lines = []
    for name, group in grouped(lines, lambda line: line.name).items():
        root = labels.get(plain_form(name))
        equal = [line for line in group if line.kind not in ("narrower", "gendered")]
        among = [line for line in equal if plain_form(line.spelling) in labels]
        members = list(group)
        if root is None and len(among) == 1:
            root = labels[plain_form(among[0].spelling)]
            members = [
                *equal,
                Synonym(name, root),
                *(synonym for synonym in group if synonym.kind == "gendered"),
            ]
        target = root or name
        fitted_lines += [
            Synonym(line.spelling, target, line.kind, line.reason, line.line)
            for line in members
            if plain_form(line.spelling) not in labels and plain_form(line.spelling) != plain_form(target)
        ]
    return fitted_lines
