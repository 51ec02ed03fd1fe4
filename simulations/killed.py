"""Commands killed at random moments: is it as if nothing happened?

    python -m simulations.killed suite|ray|spark [--kills 10] [--seed 0]

``suite`` kills a suite over three benchmarks and two tiny models and begins it again until it was killed so
often (needs torch and transformers). ``ray`` asks the same suite of a cluster of two nodes, of which one is
killed half-way (needs ray, too); ``spark`` audits a table of 80 million rows in the same way (needs pyspark
and Java). Prints the moment of each kill, of a suite how often each image was read for each model, and
whether findings, evidence and the table of results are equal to the byte.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import tests.conftest  # noqa: F401 - nothing from the hub, nothing into the user's caches
from tests.models import tiny
from tests.runner.crash.commands import EVENHAND, evidence_bytes, finish, start, uri

PARAMETERS = {"PATTERNS": (800, 0), "OTHER": (800, 400), "THIRD": (1400, 100)}
IMAGES, MOST_STARTS = 1500, 60
NODES, PARTS, PART_ROWS, SPARK_PORT = 2, 40, 2_000_000, 17077
Typed = Callable[[Path], list[str]]


Cluster = tuple[list[str], dict[str, str], Callable[[], None]]
"""Options and environment with which a command uses it, and what kills one of its nodes."""
ALONE: Cluster = ([], {}, lambda: None)


@contextmanager
def ray_nodes() -> Iterator[Cluster]:
    """Two nodes of Ray."""
    from ray.cluster_utils import Cluster as Nodes  # noqa: PLC0415 - only one of the two is needed

    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        second = nodes.add_node(num_cpus=1)
        nodes.wait_for_nodes()
        words = ["--engine", "ray", "--workers", str(NODES), "--ray-address", nodes.address]
        yield words, {}, lambda: nodes.remove_node(second, allow_graceful=False)
    finally:
        nodes.shutdown()


@contextmanager
def spark_nodes() -> Iterator[Cluster]:
    """A standalone master of Spark and two workers."""
    import pyspark  # noqa: PLC0415 - only one of the two is needed

    home = os.path.dirname(pyspark.__file__)
    address = f"spark://127.0.0.1:{SPARK_PORT}"

    def daemon(kind: str, *words: str) -> subprocess.Popen[bytes]:
        java = [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{kind}", *words]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(  # noqa: S603 - our own words
            java, start_new_session=True, env=os.environ | {"SPARK_HOME": home}, **quiet
        )

    def kill(process: subprocess.Popen[bytes]) -> None:
        """A node with all that runs on it."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    daemons = [daemon("master.Master", "--host", "127.0.0.1", "--port", str(SPARK_PORT), "--webui-port", "0")]
    try:
        wait_for(SPARK_PORT)
        worker = ("worker.Worker", "--cores", "1", "--memory", "2g", "--webui-port", "0", address)
        daemons += [daemon(*worker) for _ in range(NODES)]
        submit = {"PYSPARK_SUBMIT_ARGS": f"--master {address} --executor-memory 1g pyspark-shell"}
        yield ["--engine", "spark"], submit, lambda: kill(daemons[-1])
    finally:
        for process in reversed(daemons):
            kill(process)


def wait_for(port: int, seconds: float = 60) -> None:
    """Wait until somebody listens."""
    for _ in range(int(seconds / 0.2)):
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise SystemExit(f"nobody listens at port {port}")


def suite_work(_: Path) -> Typed:
    """Three benchmarks and two models."""
    models = [f"--model={name}=hf:{tiny.build(kind)}" for name, kind in (("clip", "clip"), ("chat", "llava"))]
    words = [f"-ppatterns-{name}:{key}={value}" for name, values in PARAMETERS.items()
             for key, value in zip(("n", "first"), values, strict=True)]  # fmt: skip
    return lambda out: [
        *EVENHAND,
        "run",
        *map(uri, PARAMETERS),
        "-pask=auto",
        *words,
        *models,
        "-o",
        str(out),
    ]


def table_work(folder: Path) -> Typed:
    """A table in parts."""
    rng = np.random.default_rng(0)
    columns = {"truth": 50, "prediction": 50, "group": 5}
    (folder / "table").mkdir()
    for part in range(PARTS):
        values = {name: rng.integers(0, size, PART_ROWS) for name, size in columns.items()}
        pl.DataFrame(values).write_parquet(folder / "table" / f"part-{part:02d}.parquet")
    named = ["--truth", "truth", "--prediction", "prediction", "--by", "group"]
    return lambda out: [*EVENHAND, "audit", str(folder / "table"), *named, "-o", str(out)]


def written(out: Path) -> dict[str, bytes]:
    """Findings and evidence of all runs, and the table of results; of an audit its findings."""
    if not (out / "results.parquet").exists():
        return {"": (out / "findings.json").read_bytes()}
    files = {"results": (out / "results.parquet").read_bytes()}
    for run in (file.parent for file in out.rglob("findings.json")):
        files |= {str(run.relative_to(out) / name): content for name, content in evidence_bytes(run).items()}
    return files


def verdict(folder: Path, out: str) -> str:
    """Whether what was written is what an uninterrupted command wrote."""
    return "equal" if written(folder / out) == written(folder / "whole") else "NOT EQUAL"


def completed(typed: list[str], home: Path, **settings: Any) -> float:
    """Seconds that a command takes; the script ends where it fails."""
    began = time.monotonic()
    code, _, err = finish(typed, home, **settings)
    if code:
        raise SystemExit(err)
    return time.monotonic() - began


def kill_command(typed: Typed, folder: Path, kills: int, seconds: float, rng: np.random.Generator) -> None:
    """Kill the command itself, begin it again, and count what was read."""
    loads, done = folder / "loads", 0
    for number in range(MOST_STARTS):
        if done == kills:
            break
        process = start(typed(folder / "out"), folder / "home 2", PATTERNS_LOADS=loads)
        moment = rng.uniform(2, seconds)
        time.sleep(moment)
        is_alive = process.poll() is None
        process.kill()
        process.communicate()
        if not is_alive:
            print(f"it came to its end: {verdict(folder, 'out')}; begun anew")
            for name in ("home 2", "out", "loads"):
                (folder / name).rename(folder / f"{name} {number}")
            continue
        done += 1
        n_done = len(list((folder / "out").rglob("findings.json")))
        print(f"kill {done} after {moment:.1f} s: {n_done} runs on disk")
    completed(typed(folder / "out"), folder / "home 2", PATTERNS_LOADS=loads)
    times = Counter(loads.read_text().split())
    print(f"{len(times)} of {IMAGES} images read, {Counter(times.values())} times over all starts")
    print(verdict(folder, "out"))


def kill_node(typed: Typed, nodes: Any, folder: Path, number: int, moment: float) -> None:
    """Kill a node of a cluster of its own while the command runs."""
    with nodes() as (words, settings, kill):
        process = start([*typed(folder / f"out {number}"), *words], folder / f"home {number}", **settings)
        time.sleep(moment)
        late = " (too late: it had ended)" if process.poll() is not None else ""
        kill()
        _, err = process.communicate(timeout=1800)
    said = verdict(folder, f"out {number}")
    why = f" {err.strip()}" if said != "equal" else ""
    print(f"node killed after {moment:.0f} s{late}; exit {process.returncode}: {said}{why}", flush=True)


KINDS: dict[str, tuple[Any, Callable[[Path], Typed], int]] = {
    "suite": (lambda: nullcontext(ALONE), suite_work, 10),
    "ray": (ray_nodes, suite_work, 3),
    "spark": (spark_nodes, table_work, 3),
}
"""Clusters, commands, and how many kills unless it is told."""


def main() -> None:
    """Run it whole, then killed, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(options.seed)
    nodes, work, usual = KINDS[options.kind]
    typed, kills = work(folder), options.kills or usual
    with nodes() as (words, settings, _):
        seconds = completed([*typed(folder / "whole"), *words], folder / "home 1", **settings)
    print(f"uninterrupted: {seconds:.0f} s", flush=True)
    if options.kind == "suite":
        kill_command(typed, folder, kills, seconds, rng)
        return
    for number in range(kills):
        kill_node(typed, nodes, folder, number, rng.uniform(0.2, 0.8) * seconds)


if __name__ == "__main__":
    main()
