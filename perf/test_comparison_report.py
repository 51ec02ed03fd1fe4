"""Ten models on 50,000 samples of 1,000 classes and 23 groups: the report of their comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from measuring import best, within

from evenhand.report.content import ReportInput
from evenhand.report.page.html import render_html
from evenhand.workflows.audit import audit_table
from evenhand.workflows.compare.engine import compare
from evenhand.workflows.outputs.result import Run

MODELS, CLASSES, GROUPS, ROWS = 10, 1000, 23, 50_000
MEGABYTES = 10.0


def table() -> pl.DataFrame:
    """One truth, one attribute, and predictions of each model, every next one a little better."""
    rng = np.random.default_rng(0)
    truth, group = rng.integers(0, CLASSES, ROWS), rng.integers(0, GROUPS, ROWS)
    columns = {"label": truth}
    for model in range(MODELS):
        right = rng.random(ROWS) < 0.55 + 0.01 * model + 0.02 * model * (truth < 20)
        columns[f"model {model}"] = np.where(right, truth, rng.integers(0, CLASSES, ROWS))
    named = {name: [f"class {code:04d}" for code in codes] for name, codes in columns.items()}
    groups = [f"group {code:02d}" for code in group]
    return pl.DataFrame({"id": [f"i{row}" for row in range(ROWS)], "group": groups, **named})


def compared(folder: Path) -> Run:
    """Audits of the columns, each compared with the first."""
    rows = table()
    rows.write_parquet(folder / "t.parquet")
    runs = []
    for model in range(MODELS):
        columns = {"truth": "label", "prediction": f"model {model}", "id": "id"}
        runs.append(folder / str(model))
        audit_table(str(folder / "t.parquet"), columns=columns, by=["group"], out=runs[-1], inference="none")
    measures = ["accuracy", "cramers_v_mean"]
    compare(runs, metrics=measures, reference=runs[0], out=folder / "compared")
    return Run.read(folder / "compared")


def test_the_report_of_a_large_comparison(benchmark: Any, tmp_path: Path) -> None:
    run = compared(tmp_path)
    assert run.tables["changes"].height == (MODELS - 1) * (2 * CLASSES + GROUPS)
    assert sum(len(one.parts) for one in run.findings.findings) <= 12_000
    content = ReportInput(run.findings, run.manifest, run.tables)  # without figures of benchmarks
    html = benchmark.pedantic(render_html, args=(content,), rounds=1, iterations=1)
    took, size = best(benchmark), len(html.encode()) / 1e6
    within(f"report of 10 models, 1,000 classes, 23 groups ({size:.1f} MB)", took, 10)
    assert size < MEGABYTES
