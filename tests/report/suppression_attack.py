"""Someone who wants the hidden counts back: every shown number as a linear constraint on single cells."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import polars
from scipy.optimize import linprog

from evenhand.display.text.formatting import key_text

ANY = object()
MISTAKEN = ("disparities", "accuracy_decomposition", "subgroups")


class Attack:
    """The least and the most rows that a set of cells may have, given everything that a content shows.

    Cells are combinations of truth, attributes and prediction, with None for a missing attribute. Whatever
    is shown, counts, totals, rates times counts, and that a table does not list a cell, is an equation.

    Args:
        shown: Content of a report.
        counts: Of the run; only which values there are is taken from it.
        attributes: Names.
    """

    def __init__(self, shown, counts, attributes):
        self.axes = ["truth", *attributes, "prediction"]
        levels = {axis: sorted(set(counts[axis].drop_nulls())) for axis in self.axes}
        self.levels = {axis: levels[axis] for axis in attributes}
        values = [[*own, None] if axis in attributes else own for axis, own in levels.items()]
        self.cells = list(product(*values))
        self.named = [dict(zip(self.axes, cell, strict=True)) for cell in self.cells]
        self.left, self.right = [], []
        self._findings(shown)
        self._evidence(shown)
        self._mistakes(shown)
        rows = shown.manifest.get("rows")
        if isinstance(rows, int):
            self._equal({}, rows)
        self.left, self.right = np.unique(np.column_stack([self.left, self.right]), axis=0), None

    def where(self, asked):
        """Which cells meet all conditions; a condition is a value, or a function of a cell as a mapping."""
        met = np.ones(len(self.cells), dtype=bool)
        for axis, want in asked.items():
            met &= [want(own) for own in self.named] if callable(want) else self._has(axis, want)
        return met.astype(float)

    @cache  # noqa: B019 - each attack ends with its test
    def _has(self, axis, value):
        return np.array([own[axis] == value for own in self.named])

    def range(self, asked):
        """Least and most rows in the cells that are asked for."""
        goal = self.where(asked)
        equations, values = self.left[:, :-1], self.left[:, -1]
        ends = []
        for sign in (1, -1):
            done = linprog(sign * goal, A_eq=equations, b_eq=values, bounds=(0, None), method="highs")
            assert done.status in (0, 3), done.message
            ends.append(sign * done.fun if done.status == 0 else np.inf)
        return ends

    def _equal(self, asked, n):
        self.left.append(self.where(asked))
        self.right.append(n)

    def _findings(self, shown):
        for finding in shown.findings.findings:
            usable = {f"has {axis}": (lambda own, axis=axis: own[axis] is not None) for axis in finding.by}
            backward = finding.name == "skewsize_sufficiency"
            self._counted(usable, finding.n, finding.value if finding.name == "accuracy" else None)
            for group in finding.groups:
                self._counted({**usable, **of_group(finding.by, group.key)}, group.n, None)
            if finding.groups:  # every group that there is stands in the list
                listed = {tuple(of_group(finding.by, group.key).values()) for group in finding.groups}
                for absent in set(product(*(self.levels[axis] for axis in finding.by))) - listed:
                    self._equal(dict(zip(finding.by, absent, strict=True)), 0.0)
            if finding.name in MISTAKEN:
                self._mistaken(usable, finding)
            for part in [] if finding.name in MISTAKEN else finding.parts:
                asked = {**usable, **of_part(finding.by, part, backward)}
                accuracy = part.details.get("accuracy")
                if finding.name in ("accuracy", "worst_group_accuracy", "worst_class_group_accuracy"):
                    accuracy = part.value
                self._counted(asked, part.n, accuracy)
            for dropped in finding.dropped:
                missing = dropped.reason.removeprefix("missing ")
                if missing in finding.by and dropped.count >= 0:  # a row counts for the first that it lacks
                    before = finding.by[: finding.by.index(missing)]
                    there = {f"has {axis}": usable[f"has {axis}"] for axis in before}
                    self._equal({**there, missing: None}, dropped.count)

    def _mistaken(self, usable, finding):
        """Rows of a class in a group and elsewhere, and those with a mistake; accuracies of groups."""
        for part in finding.parts:
            key = [part.key] if isinstance(part.key, str) else list(part.key)
            if finding.name == "accuracy_decomposition":
                if part.kind == "gap":
                    asked = {**usable, **of_group(finding.by, key)}
                    self._counted(asked, part.n, part.details["accuracy"])
                continue
            if finding.name == "subgroups":
                self._searched(usable, part, key)
                continue
            group, label = of_group(finding.by, key[1 : 1 + len(finding.by)]), key[1 + len(finding.by) :]
            mistake = (
                {"prediction": label[0]}
                if label
                else {"wrong": lambda own: own["truth"] != own["prediction"]}
            )
            inside = {**usable, "truth": key[0], **group}
            elsewhere = {
                **usable, "truth": key[0],
                "others": lambda own, group=group: any(own[axis] != value for axis, value in group.items()),
            }  # fmt: skip
            self._equal(inside, part.n)
            self._equal({**inside, **mistake}, part.details["a"])
            if part.kind != "share":
                self._equal(elsewhere, part.details["m"])
                self._equal({**elsewhere, **mistake}, part.details["b"])

    def _searched(self, usable, part, key):
        """Rows of a subgroup and of all others of its classes, and how many of both are wrong."""
        truth = part.details["truth"]
        among = usable if truth is None else {**usable, "truth": truth}
        values = dict(text.split(" = ", 1) for text in (key if truth is None else key[1:]))
        wrong = {"wrong": lambda own: own["truth"] != own["prediction"]}
        rest = {**among, "rest": lambda own: any(own[axis] != value for axis, value in values.items())}
        self._equal({**among, **values}, part.n)
        self._equal({**among, **values, **wrong}, part.details["mistakes"])
        self._equal(rest, part.details["rest_n"])
        self._equal({**rest, **wrong}, part.details["rest_mistakes"])

    def _counted(self, asked, n, accuracy):
        """A count that is shown, and with it the right rows that an accuracy tells."""
        if n < 0:
            assert accuracy is None, "a rate is shown of a hidden number of rows"
            return
        self._equal(asked, n)
        if accuracy is not None:
            self._equal({**asked, "right": lambda own: own["truth"] == own["prediction"]}, accuracy * n)

    def _evidence(self, shown):
        for table in shown.evidence.values():
            by = [axis for axis in self.axes[1:-1] if axis in table.columns]
            truths = set(table["truth"])
            listed = {
                tuple(row[axis] for axis in ("truth", *by, "prediction")): row["n"]
                for row in table.to_dicts()
            }
            levels = [
                sorted({cell[self.axes.index(axis)] for cell in self.cells} - {None})
                for axis in ("truth", *by, "prediction")
            ]
            for cell in product(*levels):
                asked = dict(zip(("truth", *by, "prediction"), cell, strict=True))
                n = listed.get(cell, 0.0)
                if n >= 0 and cell[0] in truths:
                    self._equal(asked, n)

    def _mistakes(self, shown):
        table = shown.tables.get("mistakes")
        for row in [] if table is None else table.to_dicts():
            asked = {"truth": row["truth"], **of_group(row["by"].split("+"), row["group"].split(" · "))}
            n, share = row["n"], row["share"]
            if n >= 0:
                self._equal({**asked, "prediction": row["prediction"]}, n)
            if n > 0 and share is not None:
                self._equal(asked, n / share)
                if row["group_accuracy"] is not None:
                    self._equal({**asked, "prediction": row["truth"]}, row["group_accuracy"] * n / share)


def of_group(by, key):
    """Conditions of a group."""
    return dict(zip(by, [key] if isinstance(key, str) else key, strict=True))


def of_part(by, part, backward):
    """Conditions of a part of an audit's finding."""
    key = [part.key] if isinstance(part.key, str) else list(part.key)
    if part.kind == "group":
        return of_group(by, key)
    asked = {"prediction" if backward else "truth": key[0]}
    return {**asked, **of_group(by, key[1:])} if part.kind == "class*group" else asked


def secrets(content, shown, fewest):
    """Counts above 0 and below ``fewest`` that would have been shown, as conditions with their count."""
    found = []
    for finding in content.findings.findings:
        usable = {f"has {axis}": (lambda own, axis=axis: own[axis] is not None) for axis in finding.by}
        parts = [] if finding.name in MISTAKEN else finding.parts  # the cells stand among those of the table
        for one in [*finding.groups, *parts]:
            asked = (
                of_part(finding.by, one, finding.name == "skewsize_sufficiency")
                if hasattr(one, "kind")
                else of_group(finding.by, one.key)
            )
            found.append((f"{finding.by} {key_text(one.key)}", {**usable, **asked}, one.n))
        found += [
            (one.reason, {one.reason.removeprefix("missing "): None}, one.count)
            for one in finding.dropped
            if one.reason.startswith("missing ")
        ]
    for name, table in shown.evidence.items():
        by = [column for column in table.columns if column not in ("truth", "prediction", "n")]
        counts = next(iter(content.evidence.values())).drop_nulls(by)
        for axes in (["truth", *by], ["truth", *by, "prediction"]):
            summed = counts.group_by(axes).agg(polars.col("n").sum())
            found += [(name, {axis: row[axis] for axis in axes}, row["n"]) for row in summed.to_dicts()]
    named = {}
    for told, asked, n in found:
        if 0 < n < fewest:
            plain = sorted((axis, want) for axis, want in asked.items() if not callable(want))
            named.setdefault((told, str(plain)), (told, asked, n))
    return list(named.values())
