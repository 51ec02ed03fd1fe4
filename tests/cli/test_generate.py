"""``evenhand generate`` as users type it, with a tiny pipeline of diffusers and with a server."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import polars as pl
import pytest

from evenhand.cli.main import main
from evenhand.runs.run_folder import RunFolder
from tests.conftest import ROOT
from tests.models.api.conftest import Served
from tests.models.tiny import build
from tests.models.tiny_diffusion import STEPS, build_pipeline
from tests.runner.generation import arrange, mode, painted_prompts


def evenhand(*words, **environment):
    """The command, in this process: how it ended and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["evenhand", *map(str, words)])
        patch.chdir(ROOT)
        for name, value in environment.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
    return subprocess.CompletedProcess(words, ended.value.code, out.getvalue(), err.getvalue())


@pytest.mark.slow
def test_a_pipeline_makes_images_and_a_dual_encoder_looks_at_them(tmp_path):
    pytest.importorskip("diffusers")
    definition, _ = arrange(tmp_path)
    folder = build_pipeline(tmp_path / "pipeline", checker="easy")
    command = ["generate", definition, "--model", f"diffusers:{folder}", "--steps", STEPS, "--device", "cpu"]
    command += ["--images-per-cell", 1, "-o", tmp_path / "out", "--clip", f"hf:{build('clip')}"]
    done = evenhand(*command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("people: 6 of 6 images (3 classes, 2 groups, 1 a cell)\n")
    said = [line.partition(": ")[0] for line in done.stderr.splitlines()]
    assert said == [f"loading diffusers:{folder}", f"loading hf:{build('clip')}"]
    table = pl.read_parquet(tmp_path / "out" / "annotations.parquet")
    assert table["flagged_by_model"].to_list() == [False] * 6
    assert table["clip_score"].null_count() == 0
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert told["safety"] == {"checker": "StableDiffusionSafetyChecker", "required": "true"}
    assert told["model_identity"]["steps"] == str(STEPS)
    code = (
        "import sys\nfrom evenhand.cli.main import app\n"
        f"app({[*map(str, command)]!r}, standalone_mode=False)\n"
        "assert not {'torch', 'diffusers', 'transformers'} & set(sys.modules)"
    )
    again = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert again.returncode == 0, again.stderr  # a finished folder asks nothing and loads nothing
    assert again.stdout == done.stdout
    other = evenhand(*[3 if word == STEPS else word for word in command])
    assert other.returncode == 2
    assert "steps of the model (2, now 3)" in other.stderr
    assert other.stderr.count("\n") == 1


def test_a_server_makes_images_refuses_some_and_fails_for_a_while(tmp_path):
    pytest.importorskip("openai")
    definition, _ = arrange(tmp_path)
    server = Served()
    try:
        command = ["generate", definition, "--model", f"api:tiny@{server.url}?retries=0"]
        command += ["--size", 48, "-o", tmp_path / "out"]
        server.post(
            "/admin/faults",
            [
                {"kind": "policy", "times": 2, "match": "woman who is a nurse"},
                {"kind": "500", "times": 3, "match": "doctor"},
                {"kind": "other size", "times": 1, "match": "woman who is an engineer"},
            ],
        )
        done = evenhand(*command)
        assert done.returncode == 3, done.stderr
        assert "3 of 24 images are missing: the server failed (3)" in done.stderr
        assert "not made, woman: 2 refused by the server (400: rejected (content_policy_vio" in done.stdout
        assert "another size than asked: woman 1/" in done.stdout
        again = evenhand(*command)
        assert again.returncode == 0, again.stderr
        assert "people: 22 of 24 images" in again.stdout
    finally:
        server.end()


def test_shards_exit_3_until_the_last(tmp_path):
    definition, painter = arrange(tmp_path)
    command = ["generate", definition, "--model", painter, "-o", tmp_path / "out"]
    first = evenhand(*command, "--shard", "1/2")
    assert first.returncode == 3
    assert "12 of 24 images are missing; what was made is kept; the other shards" in first.stderr
    last = evenhand(*command, "--shard", "2/2")
    assert last.returncode == 0
    assert "annotations.parquet are in" in last.stdout
    assert len(painted_prompts(tmp_path)) == 24


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--shard", "one"], "give I/N such as 1/4 to 4/4"),
        (["--steps", "3"], "takes no --steps"),
        (["--clip-below", "1"], "add --clip URI"),
        (["--images-per-cell", "0"], "--images-per-cell"),
    ],
)
def test_mistakes_are_one_line(tmp_path, words, told):
    definition, painter = arrange(tmp_path)
    done = evenhand("generate", definition, "--model", painter, "-o", tmp_path / "out", *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_definition_that_does_not_exist_and_a_missing_folder_are_told(tmp_path):
    _, painter = arrange(tmp_path)
    done = evenhand("generate", "nothing", "--model", painter, "-o", tmp_path / "out")
    assert (done.returncode, "there is no definition 'nothing'" in done.stderr) == (2, True)
    done = evenhand("generate", tmp_path / "people.yaml", "--model", painter)
    assert (done.returncode, "add -o DIR" in done.stderr) == (2, True)


@pytest.mark.slow
def test_the_definition_of_the_page_is_run_by_the_commands_under_it(tmp_path):
    _, painter = arrange(tmp_path)
    (tmp_path / "namer.py").write_text(
        "class Namer:\n    version = '1'\n"
        "    def answer(self, images, prompts):\n"
        "        return ['an umbrella', 'T-shirt'] * (len(prompts) // 2)\n"
    )
    page = (ROOT / "docs" / "generate.md").read_text(encoding="utf-8").partition("```yaml\n")[2]
    (tmp_path / "kitchen.yaml").write_text(page.partition("```")[0], encoding="utf-8")
    lines = page.partition("```bash\n")[2].partition("```")[0].splitlines()
    small = {
        "kitchen.yaml": f"{tmp_path / 'kitchen.yaml'} --images-per-cell 2",
        "diffusers:stabilityai/sd-turbo": painter,
        "hf:Salesforce/blip2-flan-t5-xl": f"{tmp_path / 'namer.py'}:Namer",
        "images/kitchen": str(tmp_path / "images"),
    }
    assert [line.split()[1] for line in lines] == ["generate", "run"]
    for line in lines:
        words = [small.get(word, word) for word in line.split()[1:]]
        out = [] if "generate" in line else ["-o", tmp_path / "run"]
        done = evenhand(*" ".join(words).split(), *out)
        assert done.returncode == 0, done.stderr
    assert RunFolder.read(tmp_path / "run").counts["predictions"].n_total == 12


def test_quiet_says_nothing(tmp_path):
    definition, painter = arrange(tmp_path)
    mode(tmp_path, "grey")
    done = evenhand("generate", definition, "--model", painter, "-o", tmp_path / "out", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
