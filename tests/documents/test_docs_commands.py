"""What the pages show to type, typed: every block runs here, or stands in a list that says why it cannot."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from tests.cli.test_audit import type_in
from tests.documents.reading import DOCS, WRITTEN, Block, blocks_of, shell_commands
from tests.files.test_other_tools import annotations, results
from tests.files.test_other_tools import write as write_json

COMMANDS = {"bash", "python"}
FIRST = "tutorial.md"  # typed into a shell, all of it, and what it shows must be printed
RECORDED = "asks a model of a hub; tests/models/hub types it against a recorded one"
HUB = "asks a model of a hub or a server"
DATA = "needs data that others must give, and asks a model of a hub"
MINUTES = "takes minutes; tests/examples and perf have it"
NAMES = "stands for a user's own table, model and columns"
CANNOT_RUN = {
    ("tutorial.md", "python3 -m venv audit-env"): "needs a package index",
    ("adapt.md", "evenhand adapt --model hf:facebook/dinov2-base --train /data/ima"): DATA,
    ("adapt.md", "import evenhand as eh"): DATA,
    ("exports.md", "pip install 'evenhand[mlflow]'"): "installs two trackers; tests/report writes to both",
    ("exports.md", "evenhand export RUN --as ll144 -p selected=LABEL -p sex=COL -p r"): NAMES,
    ("first-model.md", "pip install 'evenhand[hf]'"): RECORDED,
    ("first-model.md", "evenhand run visogender/resolution --model hf:openai/clip-vit-ba"): RECORDED,
    ("first-model.md", "evenhand artifact visogender/table2 runs/clip -o table2.html"): RECORDED,
    ("generate.md", "evenhand generate kitchen.yaml --model diffusers:stabilityai/sd-"): HUB,
    ("generate.md", "pip install 'evenhand[generate]'"): HUB,
    ("indicators.md", "evenhand data check miap # what is there, beside the paper's cou"): DATA,
    ("mitigation.md", "evenhand run mmbias/association --model hf:openai/clip-vit-base-"): DATA,
    ("mitigation.md", "import evenhand as eh"): DATA,
    ("mmbias.md", "evenhand data fetch mmbias # phrases, URLs, valence photos; the "): DATA,
    ("models.md", "evenhand convert IN.pth OUT.safetensors [--key model]"): NAMES,
    ("models.md", "evenhand run classification --data images.csv --image path --tru"): "has its own test",
    ("open-answers.md", "evenhand run skewsize/occupations --data images/ --model hf:llav"): HUB,
    ("other-tools.md", "from functools import partial"): "tests/files/test_other_tools.py runs it",
    ("performance.md", "EVENHAND_PERF_DIR=/var/tmp/evenhand-perf pytest perf -s -p no:xd"): MINUTES,
    ("reproduce.md", "evenhand data fetch visogender"): DATA,
    ("running.md", "evenhand run classification --data images.csv --image path --tru"): HUB,
    ("scale.md", "pip install 'evenhand[spark]' # and Java 17"): NAMES,
    ("scale.md", "evenhand run classification --data images.parquet --image path -"): NAMES,
    ("skewsize.md", "evenhand generate occupations --model diffusers:stabilityai/sd-t"): HUB,
    ("skewsize.md", "evenhand run skewsize/occupations --model URI --data people.csv "): NAMES,
    ("skewsize.md", "evenhand adapt --model hf:microsoft/resnet-50 --method fine_tuni"): DATA,
    ("sprites.md", "python examples/sprites_model.py --removed heart --strength stro"): MINUTES,
    ("suite.md", "evenhand run visogender/resolution mmbias/association sprites \\"): DATA,
    ("suite.md", "evenhand run quick --model hf:openai/clip-vit-base-patch32"): HUB,
    ("suite.md", "import evenhand as eh"): DATA,
    ("visogender.md", "evenhand data fetch visogender # tables (CC BY 4.0, evaluation o"): DATA,
    ("visogender.md", "evenhand score visogender/resolution --evidence outputs/ --mode "): DATA,
}  # fmt: skip
PRELUDES = {  # what a block of a page takes for given
    ("models.md", "class Brightness:"): "import numpy as np",
    ("open-answers.md", "from evenhand.evidence.open_answers.normalise import Vocabulary,"): (
        "import polars as pl\n"
        "answers = pl.DataFrame({'sample': ['1', '2'], 'text': ['She is a **waitress**.', 'a doctor']})"
    ),
}


def answers(folder: Path, name: str, *predictions: str, seed: int = 0, **columns: str) -> None:
    """A table with two groups; each prediction is right in 7 of 10 rows."""
    rng, rows = np.random.default_rng(seed), 600
    truth = rng.choice(["cat", "dog", "fox", "owl"], rows)
    made = {
        prediction: np.where(rng.random(rows) < 0.7, truth, rng.choice(np.unique(truth), rows))
        for prediction in predictions
    }
    groups = {column: rng.choice(values.split(","), rows) for column, values in columns.items()}
    frame = pl.DataFrame({"image": [f"{row}.png" for row in range(rows)], "label": truth, **made, **groups})
    path = folder / name
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)


def two_models(folder: Path) -> None:
    """A table for two audits, and four audits: two recipes with two seeds."""
    seeds = [f"{recipe}_{seed}" for recipe in ("small", "large") for seed in (0, 1)]
    answers(folder, "preds.csv", "model_a", "model_b", *seeds, gender="woman,man")
    for name in seeds:
        preds = eh.Predictions.read(folder / "preds.csv", truth="label", prediction=name, id="image")
        eh.audit(preds, by="gender", metrics=["accuracy", "accuracy_gap"], out=folder / "runs" / name)


def two_parts(folder: Path) -> None:
    for part in (1, 2):
        answers(folder, f"part-{part}.parquet", "pred", seed=part, group="a,b")


def two_runs(folder: Path) -> None:
    for seed, name in enumerate(("sprites-planted", "sprites-fair")):
        answers(folder, f"{name}.csv", "pred", seed=seed, colour="red,green")
        preds = eh.Predictions.read(folder / f"{name}.csv", truth="label", prediction="pred")
        eh.audit(preds, by="colour", out=folder / "runs" / name)


def small_table(folder: Path) -> None:
    """``predictions.csv`` of the tutorial, by the tutorial's own command."""
    found = next(block for block in blocks_of(DOCS / "tutorial.md") if "predictions.csv" in block.text)
    run(found, folder)


def coloured_pictures(folder: Path) -> None:
    """``images.csv`` with pictures of three colours in two lights; each is told by its mean colour."""
    rows = []
    for place, label in enumerate(("red", "green", "blue")):
        for light, most in (("dim", 90), ("bright", 250)):
            for copy in range(4):
                pixels = np.random.default_rng(copy).integers(0, 60, (8, 8, 3), dtype=np.uint8)
                pixels[..., place] = most
                path = f"{label}-{light}-{copy}.png"
                Image.fromarray(pixels).save(folder / path)
                rows.append({"path": path, "label": label, "light": light})
    pl.DataFrame(rows).write_csv(folder / "images.csv")


def logs_of_others(folder: Path) -> None:
    """The logs of tests/files/other_tools, results of COCO, and the ages of the people on the photos."""
    names = {
        "samples_jobs.jsonl": "samples_jobs_choice.jsonl",
        "samples_text.jsonl": "samples_jobs_text.jsonl",
    }
    names |= {"jobs.eval": "jobs_choice.eval", "jobs_text.json": "jobs_text.json"}
    for name, source in names.items():
        shutil.copy(Path(__file__).parents[1] / "files" / "other_tools" / source, folder / name)
    write_json(folder / "instances.json", annotations(boxes=True))
    write_json(folder / "results.json", results(boxes=True))
    ages = {"photo": [f"photo-{i:02d}" for i in range(36)], "age": ["young", "old"] * 18}
    pl.DataFrame(ages).write_csv(folder / "people.csv")


GIVEN: dict[str, Callable[[Path], None]] = {
    "compare.md": two_models,
    "scale.md": two_parts,
    "exports.md": two_runs,
    "extending.md": small_table,
    "notebook.md": small_table,
    "other-tools.md": logs_of_others,
}
RUNNABLE = {
    page.name: [
        block
        for block in blocks_of(page)
        if block.language in COMMANDS and block.key not in CANNOT_RUN and not block.file
    ]
    for page in WRITTEN
}


def run(block: Block, folder: Path) -> str:
    """Type a block in a folder; what it prints. It must end well."""
    prelude = PRELUDES.get(block.key, "")
    commands = {
        "bash": ["bash", "-euo", "pipefail", "-c", block.text],
        "python": [sys.executable, "-c", f"{prelude}\n{block.text}"],
    }
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    surroundings = {**os.environ, "PATH": paths, "BROWSER": "echo", "COLUMNS": "100"}
    done = subprocess.run(
        commands[block.language], cwd=folder, env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{block.text}\n{done.stdout}{done.stderr}"
    return done.stdout


def run_here(block: Block, folder: Path, monkeypatch, capsys) -> str:
    """As ``run``, without new processes where nothing but evenhand is called.

    Code beside saved modules has a process of its own: here they would stay loaded.
    """
    monkeypatch.setenv("COLUMNS", "100")
    if block.language == "python" and not [*folder.glob("*.py")]:
        script = folder / "typed.txt"
        script.write_text(f"{PRELUDES.get(block.key, '')}\n{block.text}", encoding="utf-8")
        monkeypatch.chdir(folder)
        runpy.run_path(str(script))
        return capsys.readouterr().out
    words = shell_commands(block.text)
    said = [line for line in block.text.replace("\\\n", " ").splitlines() if line.strip()]
    if block.language != "bash" or len(words) != len(said) or "$" in block.text:
        return run(block, folder)
    monkeypatch.chdir(folder)
    for each in words:
        assert type_in(monkeypatch, *each[1:]) == 0, each
    return capsys.readouterr().out


def test_the_dual_encoder_of_the_page_is_right_and_without_its_scale_is_told_what_it_lacks(
    tmp_path, monkeypatch, capsys
):
    coloured_pictures(tmp_path)
    page = blocks_of(DOCS / "models.md")
    code = next(block for block in page if block.file == "colour_model.py")
    typed = next(block for block in page if "colour_model.py:Colours" in block.text and not block.file)
    (tmp_path / code.file).write_text(code.text, encoding="utf-8")
    run_here(typed, tmp_path, monkeypatch, capsys)
    asked = eh.Run.read(tmp_path / "runs" / "colours")
    assert asked.finding("accuracy").value == 1.0
    assert asked.manifest["parameters"]["ask"] == "auto"

    scale = next(line for line in code.text.splitlines(keepends=True) if "logit_scale" in line)
    (tmp_path / "no_scale.py").write_text(code.text.replace(scale, ""), encoding="utf-8")
    words = [word.replace("colour_model", "no_scale") for word in shell_commands(typed.text)[0][1:]]
    assert type_in(monkeypatch, *words) == 2
    told = capsys.readouterr().err
    assert "Colours has embed_texts() but no logit_scale; give it logit_scale = 100.0" in told


def test_blocks_that_cannot_run_are_still_there():
    there = {block.key for page in WRITTEN for block in blocks_of(page)}
    assert [key for key in (*CANNOT_RUN, *PRELUDES) if key not in there] == []


def test_most_blocks_of_the_first_pages_run():
    left_out = [
        block for block in blocks_of(DOCS / FIRST) if block.language in COMMANDS and block.key in CANNOT_RUN
    ]
    assert len(left_out) == 1  # the installation
    assert len(RUNNABLE[FIRST]) >= 8
    assert all(block.key[0] != "extending.md" for block in left_out)
    assert len(RUNNABLE["extending.md"]) == 5


@pytest.mark.nightly
@pytest.mark.parametrize("page", [name for name, blocks in RUNNABLE.items() if blocks])
def test_a_page_can_be_typed_from_its_first_block_to_its_last(page, tmp_path, monkeypatch, capsys):
    GIVEN.get(page, lambda folder: None)(tmp_path)
    printed = ""
    for block in blocks_of(DOCS / page):
        if block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block in RUNNABLE[page]:
            printed = run_here(block, tmp_path, monkeypatch, capsys)
        elif block.language == "text":
            told = " ".join(printed.split())
            assert [line for line in block.text.splitlines() if " ".join(line.split()) not in told] == []
