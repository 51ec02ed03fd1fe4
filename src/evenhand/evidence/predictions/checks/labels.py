"""What is suspicious about counted labels: spellings, missing values written as texts, labels never met."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence, Sized
from difflib import SequenceMatcher
from typing import Any, TypeAlias

import numpy as np

from evenhand.core.findings import TableWarning, ValueCount
from evenhand.core.frames import grouped
from evenhand.evidence.predictions.counts import LABEL_AXES, PLAIN_AXES, Counts
from evenhand.evidence.predictions.label_rules import Renaming, folded
from evenhand.evidence.predictions.levels import CLUSTER, MISSING

_Rows: TypeAlias = dict[str, float]
_Advised: TypeAlias = tuple[TableWarning, str]  # what is suspicious, and the sentence that says what to do

MISSING_WORDS = frozenset(
    ("", "-", "--", "?", "na", "n/a", "nan", "-nan", "none", "null", "nil", "#n/a", "#na", "<na>")
)
_SHOWN = 6  # values of one kind in a message
_COMPARED = 60  # labels of either side, the most frequent, are compared letter by letter
_ALIKE = 0.8  # share of equal letters from which two labels may be one
_SURPRISING = 5  # rows from which a label that is never met says something by itself
_SCORES, _NEARLY_ALL = 20, 0.9  # fractional numbers from which labels are scores, and their share
_FRACTION = re.compile(r"[-+]?\d*\.\d+(e[-+]?\d+)?", re.IGNORECASE)
_FEW = 10  # labels never met; of more, those that resemble none are the long tail of a vocabulary


_PRINTED = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјкорсухһԁԛԝвмнтΑΒΕΖΗΙΚΜΝΟΡΤΥΧονυικραχɑıʼ’‘‐‑‒–—−",
    "ABESIJKMHOPCTYXaesijkopcyxhdqwbmhtABEZHIKMNOPTYXovuikpaxai'''------",
)
"""Letters of Cyrillic and Greek, and signs, and what they look like in Latin."""
_ENDS, _AROUND = ".,;:!", "'\"`*«»„“”()[]{}"
"""What ends a sentence, and what stands around a quoted word: a model that answers writes both."""


def check_labels(
    counts: Counts, columns: Mapping[str, str], *, unused: Sequence[Renaming] = (),
    unused_missing: Sequence[str] = (), instead: str = "",
) -> list[TableWarning]:  # fmt: skip
    """Warnings about the labels of truth, prediction and groups; the time depends on labels, not on rows.

    ``unused`` and ``unused_missing`` are renamings and texts of the user that no row has; ``instead`` is the
    advice where the options of an audit are not at hand.
    """
    counts = counts.of_first()
    rows = {
        axis.name: {
            str(level): float(n)
            for level, n in zip(axis.levels, counts.level_counts(axis.name), strict=True)
            if n or counts.weighted  # a category that no row has is no label
        }
        for axis in counts.axes
        if axis.name != "rank"
    }
    called = {name: columns.get(name, name) for name in rows}
    labels = [name for name in LABEL_AXES if name in rows]
    scores = list(_scores({called[name]: rows[name] for name in labels}))
    warnings = [*scores, *_missing_words(counts, rows, called)]
    for names in (labels, *([name] for name in rows if name not in PLAIN_AXES)):
        in_columns, total = {called[name]: rows[name] for name in names}, _rows_with(counts, names)
        warnings += _spelled_alike(in_columns, total, labels=names is labels)
        warnings += look_alike(in_columns, total)
    if not scores:
        warnings += _never_met(rows["truth"], rows["prediction"], called["truth"], called["prediction"])
    advised = [*warnings, *_unused(unused, rows, called), *_unused_missing(unused_missing, called)]
    texts = [f"{warning.message}. {instead or advice}" for warning, advice in advised]
    if counts.weighted:
        texts = [re.sub(r"\(([\d,]+) rows?\)", r"(\1 by weight)", text) for text in texts]
    edits = [(warning, {"message": text}) for (warning, _), text in zip(advised, texts, strict=True)]
    return [
        warning.model_copy(update=text | ({"option": None} if instead else {})) for warning, text in edits
    ]


def shown(text: str) -> str:
    """A label in quotes, so that spaces and Unicode forms are seen."""
    is_visible = text.isprintable() and unicodedata.normalize("NFKC", text) == text
    return repr(text) if is_visible else ascii(text)


def listed(values: Sequence[ValueCount]) -> str:
    """Values with their counts, the first few."""
    some = ", ".join(
        f"{shown(value_count.value)} ({_rows_of(value_count.count)})" for value_count in values[:_SHOWN]
    )
    return some + _and_more(values)


def _and_more(values: Sequence[Any], words: str = "more") -> str:
    return f" and {len(values) - _SHOWN} {words}" if len(values) > _SHOWN else ""


def _rows_of(n: float) -> str:
    text = f"{n:,.0f}"
    return f"{text} {'row' if text == '1' else 'rows'}"


def counted(rows: Mapping[str, float], values: Iterable[str]) -> list[ValueCount]:
    """Values with their counts, the most frequent first."""
    ordered = sorted(values, key=lambda value: (-rows[value], value))
    return [ValueCount(value=value, count=rows[value]) for value in ordered]


def _scores(rows_by_column: Mapping[str, _Rows]) -> Iterable[_Advised]:
    """Columns of fractional numbers that some text, such as NA, made labels of."""
    for column, rows in rows_by_column.items():
        fractions = [label for label in rows if _FRACTION.fullmatch(label)]
        if len(fractions) >= max(_SCORES, _NEARLY_ALL * len(rows)):
            message = (
                f"column {column!r} holds {len(fractions):,} different fractional numbers, such as "
                f"{fractions[0]}: scores rather than labels"
            )
            warning = TableWarning(code="scores", columns=[column], message=message)
            yield warning, "Name the column of labels, or turn the scores into labels first"


def _missing_words(
    counts: Counts, rows: Mapping[str, _Rows], called: Mapping[str, str]
) -> Iterable[_Advised]:
    """Texts such as NA that this table has as labels and other readers as missing values."""
    words = {
        name: [label for label in rows[name] if folded(label) in MISSING_WORDS]
        for name in rows
        if counts.axis(name).kind == "text"
    }
    words = {name: texts for name, texts in words.items() if texts}
    if not words:
        return
    now, then = _usable(counts, {}), _usable(counts, words)
    also = ""
    aside = (
        f", while pandas reads most such texts as missing: n is {now:,.0f} with them as labels and "
        f"{then:,.0f} with them missing"
    )
    for name, texts in words.items():
        values = counted(rows[name], texts)
        option = " ".join(f"--missing {shlex.quote(value_count.value)}" for value_count in values)
        kind = "labels" if name in LABEL_AXES else "groups"
        warning = TableWarning(
            code="missing_words",
            columns=[called[name]],
            message=(
                f"column {called[name]!r} holds texts that often mean a missing value{also}: "
                f"{listed(values)}. They count as {kind} here{aside}"
            ),
            values=values,
            option=option,
        )
        yield warning, f"To leave them out, type: {option}"
        also, aside = ", too", ""  # n is said once, of all columns


def _usable(counts: Counts, words: Mapping[str, Sequence[str]]) -> float:
    """Rows with nothing missing, if these texts are missing values."""
    usable = np.ones(counts.n.size, dtype=bool)
    for axis in counts.axes:
        levels, codes = [str(level) for level in axis.levels], counts.codes_of(axis.name)
        gone = [MISSING, *(levels.index(word) for word in words.get(axis.name, ()))]
        usable &= ~np.isin(codes, gone)
    return float(counts.n[usable].sum())


def _rows_with(counts: Counts, names: Sequence[str]) -> _Rows:
    """Rows that hold each label on any of some axes: a row with the label on two of them counts once."""
    ids: dict[str, int] = {}
    codes = []
    for name in names:
        level_ids = [ids.setdefault(str(level), len(ids)) for level in counts.axis(name).levels]
        codes.append(np.array([*level_ids, MISSING])[counts.codes_of(name)])  # MISSING takes the last entry
    rows = np.zeros(len(ids) + 1)
    for index, code in enumerate(codes):
        again = np.any([code == earlier for earlier in codes[:index]], axis=0)
        np.add.at(rows, code, np.where(again, 0, counts.n))
    return dict(zip(ids, rows[:-1].tolist(), strict=True))


def _spelled_alike(rows_by_column: Mapping[str, _Rows], total: _Rows, *, labels: bool) -> Iterable[_Advised]:
    """Labels of one space that have one folded form and several spellings."""
    forms = grouped(total, folded)
    several = [counted(total, texts) for form, texts in forms.items() if len(texts) > 1 and form]
    if not several:
        return
    several.sort(key=lambda values: -sum(value_count.count for value_count in values))
    columns = [
        column
        for column, rows in rows_by_column.items()
        if any(value_count.value in rows for g in several for value_count in g)
    ]
    examples = "; ".join(listed(values) for values in several[:_SHOWN])
    more, many = more_and_many(several)
    apart = "a prediction in another spelling than its truth is wrong" if labels else "each is its own group"
    warning = TableWarning(
        code="spelled_alike",
        columns=columns,
        message=(
            f"in {columns_text(columns)} {many} written in several ways: {examples}{more}. They count as "
            f"different labels, and {apart}"
        ),
        values=[value_count for values in several for value_count in values],
        option="--normalize",
    )
    yield warning, "To merge them, type: --normalize"


def _never_met(truth: _Rows, prediction: _Rows, true_column: str, said_column: str) -> Iterable[_Advised]:
    """True labels that are never predicted beside predicted ones that are never true, and likely matches."""
    forms = [{printed_form(label) for label in side} for side in (prediction, truth)]
    unsaid = counted(truth, (label for label in truth if _stands_alone(label, forms[0])))
    untrue = counted(prediction, (label for label in prediction if _stands_alone(label, forms[1])))
    if not unsaid or not untrue:
        return
    pairs = _matches(unsaid, untrue)
    if len(unsaid) == len(untrue) == 1 and len(truth) > 1 and _many([*unsaid, *untrue]):
        pairs = [(unsaid[0], untrue[0])]
    few = len(unsaid) + len(untrue) <= _FEW and len(unsaid) < len(truth)
    if not pairs and not (few and _many([*unsaid[:1], *untrue[:1]])):
        return
    option = " ".join(
        f"--map {shlex.quote(f'{predicted.value}={true.value}')}" for true, predicted in pairs[:_SHOWN]
    )
    advice = (
        f"Likely the same: {_paired(pairs)}. To join them, type: {option}"
        if pairs
        else "If two of them are one label, join them: --map 'PREDICTED=TRUE'"
    )
    warning = TableWarning(
        code="never_met",
        columns=[true_column, said_column],
        message=(
            f"of the true labels in {true_column!r}, {listed(unsaid)} {_is(unsaid)} never predicted, and of "
            f"the predictions in {said_column!r}, {listed(untrue)} {_is(untrue)} never true"
        ),
        values=[*unsaid, *untrue],
        option=option or "--map",
    )
    yield warning, advice


def _stands_alone(label: str, others: set[str]) -> bool:
    """Whether the other side lacks a label in every spelling; other spellings are another warning."""
    form = printed_form(label)
    return form not in others and form not in MISSING_WORDS


def _many(values: Sequence[ValueCount]) -> bool:
    return all(value_count.count >= _SURPRISING for value_count in values)


def _matches(
    unsaid: Sequence[ValueCount], untrue: Sequence[ValueCount]
) -> list[tuple[ValueCount, ValueCount]]:
    """Pairs that resemble each other, the best first, each label once."""
    scored = [
        (score, true, predicted)
        for true in unsaid[:_COMPARED]
        for predicted in untrue[:_COMPARED]
        if (score := _resemblance(folded(true.value), folded(predicted.value))) >= _ALIKE
    ]
    pairs: list[tuple[ValueCount, ValueCount]] = []
    for _, true, predicted in sorted(scored, key=lambda match: (-match[0], match[1].value, match[2].value)):
        if all(true is not left and predicted is not right for left, right in pairs):
            pairs.append((true, predicted))
    return pairs


def _resemblance(left: str, right: str) -> float:
    """1 where the words of one are all among those of the other, else the share of equal letters."""
    words = [set("".join(c if c.isalnum() else " " for c in text).split()) for text in (left, right)]
    if all(words) and (words[0] <= words[1] or words[1] <= words[0]):
        return 1.0
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    quick = matcher.real_quick_ratio() >= _ALIKE and matcher.quick_ratio() >= _ALIKE
    return matcher.ratio() if quick else 0.0


def _paired(pairs: Sequence[tuple[ValueCount, ValueCount]]) -> str:
    some = ", ".join(
        f"{shown(true.value)} and {shown(predicted.value)}" for true, predicted in pairs[:_SHOWN]
    )
    return some + _and_more(pairs, "pairs more")


def _is(values: Sequence[ValueCount]) -> str:
    return "is" if len(values) == 1 else "are"


def _unused(
    unused: Sequence[Renaming], rows: Mapping[str, _Rows], called: Mapping[str, str]
) -> Iterable[_Advised]:
    """Lines of the user's map that change nothing; one without a column renames labels, no groups."""
    if unused:
        names = ", ".join(shown(renaming.old) for renaming in unused[:_SHOWN])
        more = _and_more(unused)
        of_labels = {renaming.old for renaming in unused if not renaming.column}
        where = ""
        if len(of_labels) == len(unused):
            where = " in " + " or ".join(repr(called[name]) for name in LABEL_AXES if name in rows)
        groups = [called[name] for name in rows if name not in LABEL_AXES and of_labels & rows[name].keys()]
        warning = TableWarning(
            code="unused_map",
            columns=list(dict.fromkeys(renaming.column for renaming in unused if renaming.column)),
            message=f"the map renames {names}{more}, which no row holds{where}",
            values=[ValueCount(value=renaming.old, count=0) for renaming in unused],
            option="--map",
        )
        to_rename = f"To rename groups of {columns_text(groups)}, give --map a CSV file with the columns"
        yield warning, f"{to_rename} old, new and column" if groups else "Check the spelling in the table"


def _unused_missing(texts: Sequence[str], called: Mapping[str, str]) -> Iterable[_Advised]:
    """Texts that are to mean a missing value and stand nowhere."""
    if texts:
        more = _and_more(texts)
        searched = [called[name].removeprefix(CLUSTER) for name in called]
        warning = TableWarning(
            code="unused_missing",
            message=(
                f"--missing names {', '.join(map(shown, texts[:_SHOWN]))}{more}, which no row holds in "
                f"{', '.join(map(repr, searched[:-1]))} or {searched[-1]!r}"
            ),
            values=[ValueCount(value=text, count=0) for text in texts],
            option="--missing",
        )
        yield warning, "Check the spelling in the table"


def printed_form(text: str) -> str:
    """What a label looks like: ``folded``, in Latin letters, without quotes and the end of a sentence."""
    form = folded(text.translate(_PRINTED))
    return form.rstrip(_ENDS).strip(_AROUND).rstrip(_ENDS).strip() or form


def look_alike(
    rows_by_column: Mapping[str, Mapping[str, float]], total: Mapping[str, float]
) -> Iterable[tuple[TableWarning, str]]:
    """Labels of one space that look alike and are no spellings of one label, with what to type."""
    forms = grouped(sorted(total, key=lambda label: (-total[label], label)), printed_form)
    several = [labels for labels in forms.values() if len({folded(label) for label in labels}) > 1]
    if not several:
        return
    odd = {label for labels in several for label in labels}
    columns = [column for column, rows in rows_by_column.items() if odd & rows.keys()]
    names = columns_text(columns)
    examples = "; ".join(
        ", ".join(f"{label!a} ({total[label]:,.0f} {_noun(total[label])})" for label in labels)
        for labels in several[:_SHOWN]
    )
    more, many = more_and_many(several)
    maps = [(other, labels[0]) for labels in several[:_SHOWN] for other in labels[1:]]
    is_group = len(rows_by_column) == 1
    option = "--map" if is_group else " ".join(f"--map {shlex.quote(f'{old}={new}')}" for old, new in maps)
    yield (
        TableWarning(
            code="look_alike",
            columns=columns,
            message=(
                f"in {names} {many} written in letters or signs that only look alike: {examples}{more}. They "
                "count as different labels"
            ),
            values=[ValueCount(value=label, count=total[label]) for labels in several for label in labels],
            option=option,
        ),
        "To join them, give --map a CSV file with the columns old, new and column"
        if is_group
        else f"To join them, type: {option}",
    )


def _noun(n: float) -> str:
    return "row" if n == 1 else "rows"


def columns_text(columns: Sequence[str]) -> str:
    """Columns by their names, with the noun before them."""
    return ("columns " if len(columns) > 1 else "column ") + " and ".join(map(repr, columns))


def more_and_many(several: Sized) -> tuple[str, str]:
    """How many labels are not listed, and how many there are."""
    more = f"; and {len(several) - _SHOWN} more" if len(several) > _SHOWN else ""
    return more, f"{len(several)} labels are" if len(several) > 1 else "one label is"
