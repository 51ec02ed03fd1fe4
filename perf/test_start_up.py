"""Importing and asking for help, as whole processes with bytecode."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from measuring import median_process_times, show

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
