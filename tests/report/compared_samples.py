"""Comparisons to render: two and three models, labels that try to become markup."""

import numpy as np
import polars as pl

from evenhand.workflows.audit import audit_table
from evenhand.workflows.compare.engine import compare
from tests.report.report_samples import HOSTILE

ROWS = 1200


def table(labels, groups, columns, seed=0):
    """Truth, group and columns of predictions; each column says how often it is right and in class 1."""
    rng = np.random.default_rng(seed)
    truth, group = rng.integers(0, len(labels), ROWS), rng.integers(0, len(groups), ROWS)
    named = np.array(labels, dtype=object)
    made = {"id": [f"i{code}" for code in range(ROWS)], "label": named[truth].tolist()}
    made["group"] = [groups[code] for code in group]
    for name, (right, in_one) in columns.items():
        hit = rng.random(ROWS) < np.where(truth == 1, in_one, right)
        made[name] = named[np.where(hit, truth, rng.integers(0, len(labels), ROWS))].tolist()
    return pl.DataFrame(made)


def compared(where, rows, columns, **given):
    """Audits of the columns of a table, compared."""
    where.mkdir(exist_ok=True)
    rows.write_parquet(where / "t.parquet")
    folders = []
    for place, name in enumerate(columns):
        known = {"truth": "label", "prediction": name, "id": "id"}
        folders.append(where / f"run{place}")
        audit_table(str(where / "t.parquet"), columns=known, by=["group"], out=folders[-1], inference="none")
    return compare(folders[::-1], **given)  # the first column is the newest


def two_models(where):
    """After and before: better in class c1."""
    columns = {"after": (0.6, 0.95), "before": (0.6, 0.5)}
    rows = table([f"c{code}" for code in range(6)], ["g0", "g1"], columns)
    return compared(where, rows, columns)


def three_hostile_models(where):
    """Labels, groups and names of models that are not just names."""
    columns = {"<script>alert(1)</script>": (0.6, 0.95), "{{7*7}}": (0.6, 0.5), "long " * 2000: (0.7, 0.7)}
    rows = table(HOSTILE, ["</script>", "عربي عبرית"], columns)
    return compared(where, rows, columns)
