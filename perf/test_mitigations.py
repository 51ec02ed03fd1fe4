"""A million embeddings of 512 dimensions: memory stays bounded, whatever the map is made of."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from measuring import clean_environment, show

from evenhand.mitigate import MITIGATIONS, TrainingVectors

WORKER = Path(__file__).with_name("mitigation_worker.py")
DIMENSIONS, FILES, ROWS, GROUP = 512, 4, 250_000, 16_384
MIB = 1 << 20
DATA = FILES * ROWS * DIMENSIONS * 4 / MIB  # 1,953 MiB
LITTLE = 256.0  # MiB: libraries, blocks, the mitigation itself


def worker(*arguments: object) -> dict[str, float]:
    command = [sys.executable, str(WORKER), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=clean_environment())
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a million embeddings, images and texts in turns of a thousand."""
    folder = tmp_path_factory.mktemp("embeddings")
    rng = np.random.default_rng(0)
    for number in range(FILES):
        vectors = rng.standard_normal((ROWS, DIMENSIONS), dtype=np.float32)
        rows = pl.int_range(ROWS, eager=True)
        table = pl.DataFrame({"sample": rows.cast(pl.String)}).with_columns(
            modality=pl.when(rows // 1000 % 2 == 0).then(pl.lit("image")).otherwise(pl.lit("text")),
            vector=pl.Series(vectors).cast(pl.List(pl.Float32)),
        )
        table.write_parquet(folder / f"{number}.parquet", row_group_size=GROUP)
        del vectors, table
    yield folder
    for file in folder.iterdir():
        file.unlink()


def fitted(name: str, folder: Path) -> Path:
    rng = np.random.default_rng(1)
    sets, words = (
        {"x": np.arange(100), "y": np.arange(100, 200)},
        {"a": np.arange(20), "b": np.arange(20, 40)},
    )
    material = TrainingVectors(
        rng.normal(size=(200, DIMENSIONS)),
        sets,
        rng.normal(size=(40, DIMENSIONS)),
        words,
        (("x", "y", "a", "b"),),
        target_modality="text" if name == "calibrated_projection" else "image",
    )
    amount = {"remove": 54} if name in ("pruning", "clip_clip") else {}
    saved: Path = MITIGATIONS.get(name)(**amount).fit(material).save(folder / f"{name}.safetensors")
    return saved


@pytest.mark.parametrize("name", ["leace", "pruning", "calibrated_projection"])
def test_a_million_in_a_table_in_bounded_memory(name: str, embeddings: Path, tmp_path: Path) -> None:
    mitigation, target = fitted(name, tmp_path), tmp_path / "out.parquet"
    some = worker("table", mitigation, embeddings / "0.parquet", target)
    copy = worker("copy", embeddings / "*.parquet", target)
    every = worker("table", mitigation, embeddings / "*.parquet", target)
    show(f"{name}, 1M x 512, file to file", every["seconds"], copy["seconds"], "Polars copies it", "printed")
    added = DATA * (FILES - 1) / FILES
    print(
        f"peak memory {every['peak_mib']:.0f} MiB of {DATA:.0f} MiB of vectors, of a quarter of them "
        f"{some['peak_mib']:.0f}, copying {copy['peak_mib']:.0f} (bound: half of what is added)"
    )
    assert every["peak_mib"] - some["peak_mib"] < added / 2
    assert every["peak_mib"] < 0.75 * DATA
    assert pl.scan_parquet(target).select(pl.len()).collect().item() == FILES * ROWS


@pytest.mark.parametrize("name", ["leace", "pruning"])
def test_a_million_in_an_array_need_the_result_and_little_more(name: str, tmp_path: Path) -> None:
    run = worker("array", fitted(name, tmp_path), FILES * ROWS, DIMENSIONS)
    print(f"\n{name}, array of 1M x 512: {run['seconds']:.1f} s, peak {run['peak_mib']:.0f} MiB")
    assert run["peak_mib"] < 2 * DATA + LITTLE


def test_blocks_cost_little_beside_a_bare_product(benchmark: Any) -> None:
    from measuring import best, seconds

    from evenhand.mitigate import Map

    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((50_000, DIMENSIONS), dtype=np.float32)
    matrix = np.linalg.qr(rng.normal(size=(DIMENSIONS, DIMENSIONS)))[0]
    change = Map(matrix=matrix, centre=rng.normal(size=DIMENSIONS), unit_before=True)
    benchmark.pedantic(change.transform, (vectors,), rounds=3, warmup_rounds=1)
    bare, _ = seconds(lambda: vectors.astype(np.float64) @ matrix, 3)
    show("50k x 512 through a map with a centre", best(benchmark), bare, "a bare product", "3x its time")
    assert best(benchmark) < 3 * bare
