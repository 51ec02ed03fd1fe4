"""A small comparison of every kind: of audits, over time, of seeds, of numbers, and without predictions."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from tests.benchmarks.indicator_models import Classifies
from tests.conftest import draw_few, leave_pages_out
from tests.report.compared_samples import compared, table, two_models
from tests.report.export_runs import numbered
from tests.runner.test_compare import audited, changed
from tests.runner.test_compare_dates import ACCURACIES, DATES, months
from tests.runner.test_compare_numbers import TOLD
from tests.runner.test_compare_numbers import table as numbers_table
from tests.runner.test_compare_seeds import adapted, answers


def group_apart(folder):
    """Two models that are right equally often over all rows, and not in either group."""
    rows = table([f"c{code}" for code in range(6)], ["g0", "g1"], {"after": (0.6, 0.6), "before": (0.6, 0.6)})
    rng, is_first = np.random.default_rng(3), pl.col("group") == "g0"
    wrong = pl.Series(rng.random(rows.height) < 0.35)
    for name, group in (("after", is_first), ("before", ~is_first)):
        mistake = pl.when(wrong & group).then(pl.lit("none of them")).otherwise(pl.col("label"))
        rows = rows.with_columns(mistake.alias(name))
    return compared(folder, rows, ["after", "before"])


def unpaired(folder):
    """Two models on rows without ids, of which the newer answered fewer."""
    rows = table(["a", "b", "c"], ["g0", "g1"], {"after": (0.8, 0.9), "before": (0.6, 0.5)})
    answered = {"before": rows, "after": rows.head(900)}
    for name, some in answered.items():
        eh.audit(some, truth="label", prediction=name, by="group", inference="none", out=folder / name)
    return eh.compare([folder / name for name in answered])


def over_time(folder):
    """One model at three times, typed in another order."""
    months().write_csv(folder / "t.csv")
    runs = [
        changed(
            audited(folder, folder / "t.csv", month), folder / f"of {month}",
            model="api:eye@https://x", created=DATES[month],
        )
        for month in ACCURACIES
    ]  # fmt: skip
    return eh.compare([runs[2], *runs[:2]], over_time=True)


def seeds(folder):
    """Two recipes of three seeds."""
    answers().write_csv(folder / "t.csv")
    names = [f"{recipe}-s{seed}" for recipe in ("plain", "better") for seed in range(3)]
    runs = [
        changed(
            audited(folder, folder / "t.csv", name), folder / f"of {name}", **adapted(name[:-3], name[-1])
        )
        for name in names
    ]
    return eh.compare(runs)


def numbers(folder):
    """Two runs of numbers, one of which is better for the oldest."""
    tables = {"a": numbers_table(), "b": numbers_table(1, older=1.0)}
    for name, rows in tables.items():
        eh.audit(rows, **TOLD, inference="none", out=folder / name)
    return eh.compare([folder / name for name in tables])


def numbers_unpaired(folder):
    """Three runs of numbers without ids."""
    tables = {"a": numbers_table(), "b": numbers_table(1, older=3.0), "c": numbers_table(2)}
    for name, rows in tables.items():
        eh.audit(rows, **(TOLD | {"id": None}), inference="none", out=folder / name)
    return eh.compare([folder / name for name in tables])


def without_predictions(folder):
    """Two models that label people, one of which calls one group harmful names."""
    gender = ["g0"] * 60 + ["g1"] * 60
    data = numbered(folder, 120, gender=gender, subject=[f"s{number}" for number in range(120)])
    even = np.random.default_rng(0).normal(size=(120, 8))
    biased = even + 9.0 * np.outer([one == "g0" for one in gender], np.arange(8) == 1)
    for name, logits in (("biased", biased), ("even", even)):
        model = Classifies(logits, ["people", "swine", *"abcdef"])
        given = {"by": "gender"}
        eh.run("indicators/label_association", model=model, data=data, parameters=given, out=folder / name)
    return eh.compare([folder / "biased", folder / "even"])


KINDS = {
    "two audits": two_models,
    "a group apart": group_apart,
    "unpaired audits": unpaired,
    "over time": over_time,
    "seeds": seeds,
    "numbers": numbers,
    "unpaired numbers": numbers_unpaired,
    "without predictions": without_predictions,
}


def made(kind, folder):
    """The comparison of a kind, without pages of its own runs."""
    with pytest.MonkeyPatch.context() as patch:
        draw_few(patch)
        leave_pages_out(patch)
        patch.setenv("EVENHAND_HOME", str(folder / "home"))
        return KINDS[kind](folder)
