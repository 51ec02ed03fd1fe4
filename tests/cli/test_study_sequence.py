"""The commands of docs/skewsize.md, typed as they stand; only the models and the list are small ones."""

from __future__ import annotations

import json
import re
import shlex

import polars as pl
import pytest
from typer.testing import CliRunner

from evenhand.cli.main import app
from evenhand.runs.run_folder import RunFolder
from tests.conftest import ROOT
from tests.models.api.conftest import served
from tests.models.tiny import build
from tests.models.tiny_diffusion import build_pipeline

STUDY = """
name: three jobs
class_axis: occupation
attribute: gender
classes: [doctor, nurse, engineer]
groups: [female, male]
templates: ["A {gender} {occupation}"]
images_per_cell: 1
people: true
question: "What is this person's occupation?"
"""


def documented() -> list[str]:
    """The first block of commands on the page."""
    page = (ROOT / "docs" / "skewsize.md").read_text(encoding="utf-8")
    block = re.search(r"```bash\n(.*?)```", page, re.S)
    assert block is not None
    return [line for line in block[1].splitlines() if line.strip()]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Every command, in a folder of its own, with what it printed."""
    folder = tmp_path_factory.mktemp("study")
    server = served()
    server.post("/admin/clear", {})
    (folder / "jobs.yaml").write_text(STUDY, encoding="utf-8")
    small = {
        "generate occupations": f"generate {folder / 'jobs.yaml'}",
        "diffusers:stabilityai/sd-turbo": f"diffusers:{build_pipeline(folder / 'pipeline')}",
        "--images-per-cell 20": "--images-per-cell 4 --steps 1 --size 16",
        "hf:llava-hf/llava-1.5-7b-hf": f"hf:{build('llava')}",
        "api:gpt-4o-mini@https://api.openai.com/v1": f"api:tiny@{server.url}",
        "hf:openai/clip-vit-base-patch32": f"hf:{build('clip')}",
    }
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("OPENAI_API_KEY", "none")
        for line in documented():
            command = line
            for given, ours in small.items():
                command = command.replace(given, ours)
            told.append((line, CliRunner().invoke(app, shlex.split(command)[1:])))
    return folder, told


@pytest.mark.nightly
def test_every_command_ends_well(played):
    _, told = played
    assert [line.split()[1] for line, _ in told] == ["generate", "run", "run", "run", "compare", "artifact"]
    for line, done in told:
        assert done.exit_code == 0, f"{line}: {done.output} {done.exception!r}"


@pytest.mark.nightly
def test_images_become_answers_labels_findings_and_a_comparison(played):
    folder, _ = played
    images = pl.read_parquet(folder / "images" / "annotations.parquet")
    assert images.height == 24
    for name in ("llava", "served"):
        run = RunFolder.read(folder / "runs" / name)
        answers = run.tables["answers"]
        assert answers.height == 24
        assert {"raw", "case", "frame", "article", "lemma", "synonym", "prediction", "category"} <= set(
            answers.columns
        )
        assert run.counts["predictions"].n_total == run.counts["predictions_raw"].n_total == 24
        assert run.finding("accuracy", "gender").n == 24
        assert (folder / "runs" / name / "exports" / "answers-to-review.csv").is_file()
    both = json.loads((folder / "runs" / "all" / "findings.json").read_text(encoding="utf-8"))
    differences = [one for one in both["findings"] if one["name"] == "accuracy_difference"]
    assert len(differences) == 3
    assert all(0 < one["p_value"] <= 1 for one in differences)
    assert (folder / "runs" / "all" / "report.html").stat().st_size > 10_000
    assert "table6" in (folder / "table6.html").read_text(encoding="utf-8")
