"""The large files, made once in a folder outside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from make_large_table import write
from reference import write_large


@pytest.fixture(scope="session")
def large_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = os.environ.get("EVENHAND_PERF_DIR")
    folder = Path(named) if named else tmp_path_factory.mktemp("perf")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def large_integers(large_folder: Path) -> Path:
    return write_large(large_folder / "integers-20m.parquet")


@pytest.fixture(scope="session")
def large_texts(large_folder: Path) -> Path:
    return write_large(large_folder / "texts-20m.parquet", text=True)


@pytest.fixture(scope="session")
def hundred_million(large_folder: Path) -> Path:
    return write(large_folder / "integers-100m.parquet")
