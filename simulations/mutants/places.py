"""Where a source file can be changed by one operator, comparison or constant, and what it is changed to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.MatMult: ("@", "*"),
    ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.BitXor: ("^", "&"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
Span = tuple[int, int]
"""First and last line."""


@dataclass(frozen=True)
class Place:
    """One change of one file.

    Attributes:
        line: Its line, from 1.
        start: Where the changed text begins, in bytes of its line.
        before: The text.
        after: What it becomes.
        spans: Lines that run if, and only if, what is changed can matter.
        imported: Whether the change itself runs when the file is imported.
    """

    line: int
    start: int
    before: str
    after: str
    spans: tuple[Span, ...]
    imported: bool

    def applied(self, source: str) -> str:
        """The file with the change."""
        lines = source.encode().splitlines(keepends=True)
        text, before = lines[self.line - 1], self.before.encode()
        end = self.start + len(before)
        if text[self.start : end] != before:
            raise ValueError(f"line {self.line} does not have {self.before!r} at {self.start}")
        lines[self.line - 1] = text[: self.start] + self.after.encode() + text[end:]
        return b"".join(lines).decode()


def places_of(source: str) -> list[Place]:
    """All places of a file, from its first line to its last.

    Left out is what is said and not computed: docstrings, annotations, names of types, decorators
    (declarations of metrics among them), formatted strings, errors and warnings.
    """
    return sorted(_Finder(source).places(), key=lambda place: (place.line, place.start))


class _Finder:
    """Walks one file."""

    def __init__(self, source: str) -> None:
        self._lines = source.encode().splitlines(keepends=True)
        self._statements = list(_statements(ast.parse(source), ()))

    def places(self) -> Iterator[Place]:
        """Of the whole file, statement by statement."""
        for statement, owners in self._statements:
            changes = [] if _only_names_a_type(statement, owners) else [*self._changes(statement)]
            if changes:
                spans, imported = self._matters(statement, owners)
                for line, start, before, after in changes:
                    yield Place(line, start, before, after, spans, imported)

    def _changes(self, statement: ast.stmt) -> Iterator[tuple[int, int, str, str]]:
        for node in _own_nodes(statement):
            if isinstance(node, ast.BinOp):
                yield from self._between(node.left, node.right, *_OPERATORS[type(node.op)])
            elif isinstance(node, ast.AugAssign):
                before, after = (f"{sign}=" for sign in _OPERATORS[type(node.op)])
                yield from self._between(node.target, node.value, before, after)
            elif isinstance(node, ast.BoolOp):
                words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from self._between(left, right, *words)
            elif isinstance(node, ast.Compare):
                for left, sign, right in zip(
                    [node.left, *node.comparators], node.ops, node.comparators, strict=False
                ):
                    yield from self._between(left, right, *_COMPARISONS[type(sign)])
            else:
                yield from self._single(node)

    def _single(self, node: ast.AST) -> Iterator[tuple[int, int, str, str]]:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield node.lineno, node.col_offset, "-", ""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            text = self._lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            yield node.lineno, node.col_offset, text, _other(node.value)

    def _between(
        self, left: ast.expr, right: ast.expr, before: str, after: str
    ) -> Iterator[tuple[int, int, str, str]]:
        """Where the sign is found between two operands; brackets and comments are passed over."""
        pattern = re.compile(rb"\s+".join(re.escape(word) for word in before.encode().split()))
        for line in range(left.end_lineno or left.lineno, right.lineno + 1):
            text = self._lines[line - 1]
            start = left.end_col_offset or 0 if line == left.end_lineno else 0
            end = right.col_offset if line == right.lineno else len(text)
            match = pattern.search(text[start:end].partition(b"#")[0])
            if match:
                yield line, start + match.start(), match.group().decode(), after
                return

    def _matters(self, statement: ast.stmt, owners: tuple[ast.stmt, ...]) -> tuple[tuple[Span, ...], bool]:
        """The lines that run when it matters, and whether it runs on import."""
        if any(isinstance(owner, _FUNCTIONS) for owner in owners):
            return (_header(statement) if not isinstance(statement, _FUNCTIONS) else _body(statement),), False
        if isinstance(statement, _FUNCTIONS):
            return (_body(statement),), True
        if owners and isinstance(owners[-1], ast.ClassDef):
            return tuple(_body(one) for one in owners[-1].body if isinstance(one, _FUNCTIONS)), True
        names = {one.id for one in ast.walk(statement) if _is_written(one)}
        readers = (one for one, inside in self._statements if inside and names & _read(one))
        return tuple(map(_header, readers)), True


def _statements(
    node: ast.AST, owners: tuple[ast.stmt, ...]
) -> Iterator[tuple[ast.stmt, tuple[ast.stmt, ...]]]:
    """Statements that compute, each with the functions and classes around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise) or (
            isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        ):
            continue
        if isinstance(child, ast.stmt):
            yield child, owners
        inner = isinstance(child, (*_FUNCTIONS, ast.ClassDef))
        yield from _statements(child, (*owners, child) if inner else owners)


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The statement and its expressions, without what is said and without the statements inside it."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            children = value if isinstance(value, list) else [value]
            pending += [
                child for child in children
                if isinstance(child, ast.AST) and not isinstance(child, ast.stmt) and not _is_said(child)
            ]  # fmt: skip


def _is_said(node: ast.AST) -> bool:
    """Whether this is text for people, or a type in a call that asks for types."""
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        return called.endswith(("Error", "warn")) or called in ("isinstance", "issubclass", "cast")
    return isinstance(node, ast.JoinedStr)


def _only_names_a_type(statement: ast.stmt, owners: tuple[ast.stmt, ...]) -> bool:
    """``Ends = tuple[Floats, Floats] | None`` and the like, and ``__all__``."""
    if owners or not isinstance(statement, ast.Assign):
        return False
    names = ast.unparse(statement.targets[0])
    return names == "__all__" or (names[:1].isupper() and not names.isupper())


def _header(statement: ast.stmt) -> Span:
    """The lines of a statement, without those of the statements inside it."""
    inside = [child.lineno for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]
    end = statement.end_lineno or statement.lineno
    return statement.lineno, max(statement.lineno, min([end, *(line - 1 for line in inside)]))


def _body(function: _Function) -> Span:
    return function.body[0].lineno, function.end_lineno or function.lineno


def _is_written(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _read(statement: ast.stmt) -> set[str]:
    return {node.id for node in _own_nodes(statement) if isinstance(node, ast.Name)}


def _other(number: float) -> str:
    """Another number of the same kind."""
    if isinstance(number, int):
        return str(number + 1)
    return repr(number * 1.5 if number else 1.0)
