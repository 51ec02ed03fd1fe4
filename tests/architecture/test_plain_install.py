"""A plain install has no pyarrow, vl-convert or faiss: tables need none of them; errors name the extra."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys

import pytest

from evenhand.report.inline import CHARTS

CODE = """
import importlib.abc, json, sys

class Plain(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyarrow", "vl_convert", "faiss"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Plain())
import evenhand as eh, pandas as pd
from pathlib import Path
from evenhand.core.errors import MissingExtra
from evenhand.evidence.derivation.vector_search import search_engine
from evenhand.workflows.outputs.artifact import check_format
frame = pd.DataFrame({
    "truth": ["a", "b", None, "b"] * 30,
    "prediction": ["a", "b", "b", "b"] * 30,
    "group": ["f", "m", "f", None] * 30,
})
SEEN = {}
for name, table in {"texts": frame, "categories": frame.astype("category")}.items():
    run = eh.audit(table, truth="truth", prediction="prediction", by="group", metrics=["accuracy"])
    finding = run["accuracy"]
    SEEN[name] = [finding.value, finding.n, sum(drop.count for drop in finding.dropped)]
SEEN["report"] = "vegaEmbed(" in run.html()
for needed in (search_engine, lambda: check_format(Path("figure.SVG"))):
    try:
        needed()
    except MissingExtra as problem:
        SEEN.setdefault("missing", []).append(str(problem))
print(json.dumps(SEEN))
"""


@pytest.fixture(scope="module")
def seen() -> dict[str, object]:
    """What an interpreter without the extras prints."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["texts", "categories"])
def test_frames_of_pandas_are_audited(seen, kind) -> None:
    assert seen[kind] == [1.0, 60.0, 60.0]


def test_a_report_draws_its_charts(seen) -> None:
    assert seen["report"]


def test_search_and_images_say_what_to_type(seen) -> None:
    assert seen["missing"] == [
        "faiss is not installed; type: pip install 'evenhand[search]'",
        "vl_convert is not installed; type: pip install 'evenhand[figures]'",
    ]


def test_the_script_of_charts_is_what_vl_convert_bundles() -> None:
    """Of the release that its first line names; with another one, its Vega-Lite is still that of Altair."""
    import altair

    from tests.report import chart_library

    shipped = gzip.decompress(CHARTS.read_bytes()).decode()
    if f"vl-convert {chart_library.version()} " in shipped.partition("\n")[0]:
        assert shipped == chart_library.bundle(), "type: python -m tests.report.chart_library"
    major = altair.SCHEMA_URL.partition("/vega-lite/v")[2].partition(".")[0]
    assert f"Vega-Lite {major}." in shipped.partition("\n")[0], "type: python -m tests.report.chart_library"
