"""A plain install has no pyarrow: frames of pandas are audited without it."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import importlib.abc, sys

class NoPyarrow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

sys.meta_path.insert(0, NoPyarrow())
import evenhand as eh, pandas as pd
frame = pd.DataFrame({
    "truth": ["a", "b", None, "b"] * 30,
    "prediction": ["a", "b", "b", "b"] * 30,
    "group": ["f", "m", "f", None] * 30,
})
run = eh.audit(frame, truth="truth", prediction="prediction", by="group", metrics=["accuracy"])
print(run["accuracy"].value, run["accuracy"].n, sum(drop.count for drop in run["accuracy"].dropped))
"""


def test_frames_of_pandas_need_no_pyarrow() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("1.0 60.0 60.0\n", 0), done.stderr
