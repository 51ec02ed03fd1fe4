"""Importing, asking for help and a small audit, as whole processes with bytecode."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from measuring import clean_environment, median_process_times, show

BARE = '''import typer
app = typer.Typer()
@app.command()
def main(table: str, seed: int = 0) -> None:
    """Do one thing."""
if __name__ == "__main__":
    app()
'''


def test_import_at_most_half_again_numpy(benchmark: Any) -> None:
    commands = {
        "ours": [sys.executable, "-c", "import evenhand"],
        "numpy": [sys.executable, "-c", "import numpy"],
    }
    times = benchmark.pedantic(median_process_times, (commands,), rounds=1)
    show("import evenhand", times["ours"], times["numpy"], "import numpy", "1.5x its time")
    assert times["ours"] <= 1.5 * times["numpy"]


def test_help_at_most_twice_a_bare_program(benchmark: Any, tmp_path: Path) -> None:
    bare = tmp_path / "bare.py"
    bare.write_text(BARE, encoding="utf-8")
    commands = {
        "ours": [str(Path(sys.executable).with_name("evenhand")), "--help"],
        "bare": [sys.executable, str(bare), "--help"],
    }
    times = benchmark.pedantic(median_process_times, (commands,), rounds=1)
    show("evenhand --help", times["ours"], times["bare"], "bare typer program", "2x its time")
    assert times["ours"] <= 2 * times["bare"]


def test_a_small_audit_with_its_report_in_cpu_of_the_imports_of_its_libraries(
    benchmark: Any, tmp_path: Path
) -> None:
    """2,000 rows, 3 groups; CPU time, since a busy machine stretches wall time."""
    commands = {
        "ours": [sys.executable, "-m", "evenhand", "demo", "-q", "-o", str(tmp_path / "demo")],
        "imports": [sys.executable, "-c", "import scipy.stats, altair"],
    }
    times = benchmark.pedantic(_median_cpu, (commands,), rounds=1)
    show("small audit with report, CPU", times["ours"], times["imports"], "importing SciPy, Altair", "1.8x")
    assert times["ours"] <= 1.8 * times["imports"]


def _median_cpu(commands: dict[str, list[str]], rounds: int = 5) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=clean_environment())
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if turn:  # the first turn writes bytecode
                times[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {name: statistics.median(values) for name, values in times.items()}
