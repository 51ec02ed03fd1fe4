"""A cluster of two nodes, of which one is killed half-way: is it as if nothing happened?

    python -m simulations.killed_nodes ray|spark [--kills 3] [--seed 0]

``ray`` asks a suite (needs ray, torch and transformers), ``spark`` audits a table of 80 million rows (needs
pyspark and Java). Each kill has a cluster of its own. Prints the moment of each kill, and whether what was
written is equal to what an uninterrupted command wrote on a whole cluster.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from simulations.killed_suite import bytes_of, command
from tests.models import tiny
from tests.runner.crash.commands import EVENHAND, finish, start

NODES, PARTS, PART_ROWS, SPARK_PORT = 2, 40, 2_000_000, 17077


@dataclass(frozen=True)
class TwoNodes:
    """A cluster.

    Attributes:
        words: Options with which a command uses it.
        settings: Environment with which a command uses it.
        kill: Kills one of its nodes.
    """

    words: list[str]
    settings: dict[str, str]
    kill: Callable[[], None]


@contextmanager
def ray_nodes() -> Iterator[TwoNodes]:
    """Two nodes of Ray."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - only one of the two is needed

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        second = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        words = ["--engine", "ray", "--workers", str(NODES), "--ray-address", cluster.address]
        yield TwoNodes(words, {}, lambda: cluster.remove_node(second, allow_graceful=False))
    finally:
        cluster.shutdown()


@contextmanager
def spark_nodes() -> Iterator[TwoNodes]:
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
        words = ["--engine", "spark"]
        submit = {"PYSPARK_SUBMIT_ARGS": f"--master {address} --executor-memory 1g pyspark-shell"}
        yield TwoNodes(words, submit, lambda: kill(daemons[-1]))
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


def ray_work(_: Path) -> Callable[[Path], list[str]]:
    """Three benchmarks and two models."""
    clip, chat = tiny.build("clip"), tiny.build("llava")
    return lambda out: command(out, clip, chat)


def spark_work(folder: Path) -> Callable[[Path], list[str]]:
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
    """What must be equal."""
    return bytes_of(out) if (out / "results.parquet").exists() else {"": (out / "findings.json").read_bytes()}


KINDS: dict[
    str, tuple[Callable[[], AbstractContextManager[TwoNodes]], Callable[[Path], Callable[[Path], list[str]]]]
] = {"ray": (ray_nodes, ray_work), "spark": (spark_nodes, spark_work)}


def main() -> None:
    """Run it whole, then with a node less from a random moment on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(options.seed)
    nodes, work = KINDS[options.kind]
    typed = work(folder)
    with nodes() as cluster:
        began = time.monotonic()
        code, _, err = finish([*typed(folder / "whole"), *cluster.words], folder / "home", **cluster.settings)
        seconds = time.monotonic() - began
    if code:
        raise SystemExit(err)
    print(f"uninterrupted: {seconds:.0f} s", flush=True)
    for number in range(options.kills):
        out, moment = folder / f"out {number}", rng.uniform(0.2, 0.8) * seconds
        with nodes() as cluster:
            process = start([*typed(out), *cluster.words], folder / f"home {number}", **cluster.settings)
            time.sleep(moment)
            is_late = process.poll() is not None
            cluster.kill()
            _, err = process.communicate(timeout=1800)
        print(
            f"node killed after {moment:.0f} s{' (too late: it had ended)' if is_late else ''}; "
            f"exit {process.returncode}: "
            + ("equal" if written(out) == written(folder / "whole") else f"NOT EQUAL {err.strip()}"),
            flush=True,
        )


if __name__ == "__main__":
    main()
