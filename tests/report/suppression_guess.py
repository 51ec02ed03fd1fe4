"""Someone who guesses hidden counts: other tables that all shown counts fit, and what is shown of them."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.optimize import Bounds, LinearConstraint, milp

import evenhand as eh
from evenhand.report.content import ReportInput
from evenhand.report.suppression.suppress import suppressed
from evenhand.workflows.outputs.evidence_rows import evidence_of, weighted_rows_of
from evenhand.workflows.outputs.export import export
from tests.report.suppression_attack import Attack

COLUMNS = {"truth": "truth", "prediction": "prediction"}
LABELS = ("cat", "dog", "owl")
WHEN = "2024-02-03T04:05:06+00:00"
EFFECTS = ("effects of classes", "other effects of classes", "effects of answers", "shares")


def drawn(seed):
    """Two large groups and one in which every cell is small, each of two skins."""
    random = np.random.default_rng(seed)
    rows = []
    for truth in LABELS:
        for group, size in (("f", 100), ("m", 90), ("x", 14)):
            for skin in "ab":
                chances = [0.8 if label == truth else 0.1 for label in LABELS]
                for label, n in zip(LABELS, random.multinomial(size, chances), strict=True):
                    rows += [(truth, group, skin, label)] * int(n)
    return pl.DataFrame(rows, schema=["truth", "group", "skin", "prediction"], orient="row")


def audited(table, **design):
    """The audit as if made at one moment."""
    run = eh.audit(table, **COLUMNS, **design)
    run.manifest["created"] = WHEN
    return run


def shown_of(run, fewest):
    """What a report shows."""
    content = ReportInput(run.findings, run.manifest, run.tables, evidence_of(run))
    return suppressed(content.__class__(**{**vars(content), "weighted_rows": weighted_rows_of(run)}), fewest)


def shared(run, format, fewest, gates=()):
    """The text of a file that is given away, or the page."""
    if format == "html":
        return run.html(suppress=fewest)
    made = export([run], format=format, suppress=fewest, parameters={}, gates=gates)
    return made.content.decode("utf-8") + "".join(made.broken) + "".join(made.messages)


def pattern(shown):
    """Which counts are shown, and as what."""
    cells = {name: table.rows() for name, table in shown.evidence.items()}
    return cells, [(each.metric, each.n, [part.n for part in each.parts]) for each in shown.findings.findings]


class Guesses:
    """Whole tables of rows that fit all counts which a run shows.

    Args:
        table: That was audited.
        run: Its audit.
        attributes: Names.
        fewest: Rows that a cell needs to be shown.
    """

    def __init__(self, table, run, attributes, fewest):
        self.fewest, self.shown = fewest, shown_of(run, fewest)
        self.columns = ["truth", *attributes, "prediction"]
        self.table = table.select(self.columns)
        self.attack = Attack(self.shown, evidence_of(run)["predictions"], attributes)
        counted = {tuple(cell): n for *cell, n in self.table.group_by(self.columns).len().iter_rows()}
        self.counts = np.array([counted.get(cell, 0) for cell in self.attack.cells], dtype=float)

    def other(self, seed):
        """One more table; None where there is none so near."""
        left, right = self.attack.left[:, :-1], self.attack.left[:, -1]
        assert np.allclose(left @ self.counts, right, atol=1e-6)  # the attack reads the page as it is meant
        moved = 1 + seed % 3
        occupied = (self.counts > 0) & ~self._told()
        low = np.where(occupied, np.maximum(self.counts - moved, 1), self.counts)
        high = np.where(occupied, self.counts + moved, self.counts)
        wanted = np.random.default_rng(seed).normal(size=self.counts.size)
        found = milp(
            wanted * np.where(self.counts < self.fewest + 2, 10, 0.1),
            constraints=LinearConstraint(left, right - 1e-7, right + 1e-7),
            integrality=np.ones(self.counts.size),
            bounds=Bounds(low, high),
        )
        counts = np.round(self.counts if found.x is None else found.x).astype(int)
        return None if (counts == self.counts).all() else self._rows(counts)

    def _told(self):
        """Cells of classes and answers whose effect size is shown: it tells every one of them."""
        told = np.zeros(self.counts.size, dtype=bool)
        for finding in self.shown.findings.findings:
            axis = -1 if finding.card.made_of == "effects of answers" else 0
            for part in finding.parts if finding.card.made_of in EFFECTS else ():
                if part.kind == "class" and part.value is not None:
                    told |= np.array([cell[axis] == part.key for cell in self.attack.cells])
        return told

    def _rows(self, counts):
        """As many of the rows as before, in their places."""
        left = dict(zip(self.attack.cells, counts.tolist(), strict=True))
        rows = []
        for row in self.table.rows():
            rows.append(row if left[row] else None)
            left[row] -= bool(left[row])
        more = iter([cell for cell, n in left.items() for _ in range(n)])
        return pl.DataFrame([row or next(more) for row in rows], schema=self.columns, orient="row")
