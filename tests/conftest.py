"""Fixtures shared by all rooms."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

import evenhand
import tests.shim.sitecustomize  # noqa: F401 - mends torchvision for this process
from tests import distribution

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def _seclude() -> None:
    """Nothing from the hub, nothing into the user's caches, here and in every subprocess."""
    folder = tempfile.mkdtemp(prefix="evenhand-home-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    paths = [str(ROOT / "tests" / "shim"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ |= {
        "EVENHAND_HOME": folder,
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "PYTHONPATH": os.pathsep.join(path for path in dict.fromkeys(paths) if path),
    }


def _keep_bytecode() -> None:
    """Whatever the surroundings say: else each worker and subprocess compiles it all again."""
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


_seclude()
_keep_bytecode()
gc.disable()  # until all is imported: it would look for garbage among what stays
# No deadlines (shared machines), and the same examples every time.
settings.register_profile("evenhand", deadline=None, derandomize=True, max_examples=60, database=None)
settings.load_profile("evenhand")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first."""
    distribution.arrange(items)


def pytest_collection_finish() -> None:
    """What is there once tests are collected stays; a search for garbage need not go through it each time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> distribution.Groups:
    """Groups instead of files."""
    return distribution.Groups(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """A browser is open from the first module of a group that looks at something to the last of the group."""
    yield
    browsing = sys.modules.get("tests.report.browsing")
    if browsing is not None and (
        nextitem is None or distribution.group_of(nextitem.nodeid) != distribution.group_of(item.nodeid)
    ):
        browsing.close_browser()


def pytest_runtest_setup() -> None:
    """Each test begins with one thread, whatever the one before wanted."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() > 1:
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def demo_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data and runs of the demo, built once; whoever needs more beside them makes links to them.

    By day without those of ``demo.AT_NIGHT``. At night those of ``demo.WITH_PAGES``, which tests then open,
    have a report and the papers' tables.
    """
    pytest.importorskip("sklearn")
    from tests.gallery import demo

    folder, run = tmp_path_factory.mktemp("demo"), evenhand.run
    is_night = any(item.get_closest_marker("nightly") for item in request.session.items)
    with_pages, left_out = (demo.WITH_PAGES, set()) if is_night else (set(), demo.AT_NIGHT)

    def run_quickly(benchmark: str, *, out: Path, **given: Any) -> evenhand.Run | None:
        if out.name in left_out:
            return None
        with pytest.MonkeyPatch.context() as patch:
            if out.name not in with_pages:
                leave_pages_out(patch)
            return run(benchmark, out=out, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evenhand, "run", run_quickly)
        demo.build(folder)
    return folder


def draw_few(patch: pytest.MonkeyPatch) -> None:
    """A tenth of the draws of genders, groups and ranked images: for tests to which p need not be exact."""
    patch.setattr("evenhand.metrics.choices.rows.DRAWS", 199)
    patch.setattr("evenhand.stats.exchange.rows._MOST", 999)
    patch.setattr("evenhand.metrics.classification.ranked._BUDGET", 0)


@pytest.fixture(scope="module")
def few_draws() -> Iterator[None]:
    """See ``draw_few``."""
    with pytest.MonkeyPatch.context() as patch:
        draw_few(patch)
        yield


def leave_pages_out(patch: pytest.MonkeyPatch) -> None:
    """Runs are saved without the papers' tables and without their report: for tests that look at neither."""
    patch.setattr("evenhand.workflows.outputs.result.Run.report", lambda run, path, **options: path)
    leave_tables_out(patch)


def leave_tables_out(patch: pytest.MonkeyPatch) -> None:
    """Runs are saved without the papers' tables."""
    for user in ("outputs.run_artifacts", "run"):
        patch.setattr(f"evenhand.workflows.{user}.artifact_tables", lambda run, **options: {})


@pytest.fixture
def without_pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """See ``leave_pages_out``; in a file that uses it, tests marked ``pages`` have theirs."""
    if request.node.get_closest_marker("pages") is None:
        leave_pages_out(monkeypatch)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One of Spark's for all tests."""
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("needs Java 17")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    # tables of a few rows: code that runs once is not worth a compiler's best work
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    builder = builder.config("spark.sql.codegen.wholeStage", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def faces() -> Path:
    """Real predictions on real faces; skipped where they are not beside the project."""
    path = SHARED / "assets" / "faces" / "labels.csv"
    if not path.is_file():
        pytest.skip(f"needs {path}")
    return path


def make_frame(
    seed: int = 0, n: int = 600, classes: int = 5, groups: int = 2, bias: float = 0.0
) -> pl.DataFrame:
    """Predictions that are right 60 % of the time; ``bias`` sends g0's mistakes to one label."""
    rng = np.random.default_rng(seed)
    truth, group = rng.integers(0, classes, n), rng.integers(0, groups, n)
    wrong = rng.integers(0, classes, n)
    wrong = np.where((group == 0) & (rng.random(n) < bias), (truth + 1) % classes, wrong)
    prediction = np.where(rng.random(n) < 0.6, truth, wrong)
    return pl.DataFrame(
        {
            "truth": [f"c{code}" for code in truth],
            "prediction": [f"c{code}" for code in prediction],
            "group": [f"g{code}" for code in group],
            "other": [f"h{code}" for code in rng.integers(0, 3, n)],
        }
    )
