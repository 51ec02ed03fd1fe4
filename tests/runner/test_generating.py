"""Folders of generated images: resumed, sharded, grown, killed, refused where something differs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from PIL import Image

from evenhand.benchmarks.datasets.generation.definitions import COLUMNS, GenerationDefinition
from evenhand.core.errors import InputError, ParameterError, UserError
from evenhand.files.hashing import sha256_file
from evenhand.models.identity.source import ImageOptions, LoadOptions
from evenhand.workflows.generate.engine import generate
from evenhand.workflows.generate.journal import journal
from tests.conftest import ROOT
from tests.runner.generation import arrange, mode, painted_prompts, pixels


@pytest.fixture
def arranged(tmp_path):
    return arrange(tmp_path)


def images(folder):
    return {str(path.relative_to(folder)): sha256_file(path) for path in folder.rglob("*.png")}


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def test_every_image_has_a_row_that_says_how_it_was_made(arranged, tmp_path):
    made = generate(*arranged, tmp_path / "out")
    table = pl.read_parquet(tmp_path / "out" / "annotations.parquet")
    assert (made.wanted, made.made, made.missing, made.written) == (24, 24, 0, True)
    assert set(table.columns) == {*COLUMNS, "gender"}
    assert table.group_by("truth", "gender").len()["len"].to_list() == [4] * 6
    prompts = GenerationDefinition.read(arranged[0]).prompts()
    assert table.select("sample", "prompt", "seed", "index").equals(
        prompts.select("sample", "prompt", "seed", "index")
    )
    for row in table.iter_rows(named=True):
        with Image.open(tmp_path / "out" / row["image"]) as image:
            assert image.text["prompt"] == row["prompt"]
            assert image.text["seed"] == str(row["seed"])
    assert table["flags"].list.len().sum() == 0
    assert table["clip_score"].null_count() == 24
    told = manifest(tmp_path / "out")
    assert told["kind"] == "generated"
    assert told["images"] == {"wanted": 24, "made": 24, "refused": 0, "missing": 0}
    assert GenerationDefinition.read(tmp_path / "out" / "definition.yaml") == GenerationDefinition.read(
        arranged[0]
    )


def test_a_finished_folder_asks_nothing(arranged, tmp_path):
    generate(*arranged, tmp_path / "out")
    before, count = images(tmp_path / "out"), len(painted_prompts(tmp_path))
    generate(*arranged, tmp_path / "out")
    assert images(tmp_path / "out") == before
    assert len(painted_prompts(tmp_path)) == count == 24


def test_a_limit_makes_the_first_and_no_limit_the_rest(arranged, tmp_path):
    some = generate(*arranged, tmp_path / "out", limit=6)
    assert (some.wanted, some.made, some.missing) == (6, 6, 0)
    assert len(set(painted_prompts(tmp_path))) == 6
    assert set(some.table["index"]) == {0}
    assert manifest(tmp_path / "out")["images"]["missing"] == 18
    generate(*arranged, tmp_path / "out")
    assert len(painted_prompts(tmp_path)) == 24
    again = generate(*arranged, tmp_path / "out", limit=6)
    assert len(again.table) == 24  # a smaller limit hides nothing that is there


def test_more_images_a_cell_go_on_and_fewer_are_refused(arranged, tmp_path):
    generate(*arranged, tmp_path / "out", images_per_cell=2)
    before = images(tmp_path / "out")
    generate(*arranged, tmp_path / "out", images_per_cell=5)
    assert len(painted_prompts(tmp_path)) == 30
    assert images(tmp_path / "out").items() >= before.items()
    with pytest.raises(ParameterError, match="has 5 images a cell, more than 4; type --images-per-cell 5"):
        generate(*arranged, tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("seed", r"seed of the definition \(0, now 1\)"),
        ("definition", "templates of the definition"),
        ("model", r"version in .* of the model \(1, now 2\)"),
    ],
)
def test_what_differs_from_before_is_told(arranged, tmp_path, change, told):
    definition, model = arranged
    generate(*arranged, tmp_path / "out", limit=1)
    count = len(painted_prompts(tmp_path))
    if change == "definition":
        definition.write_text(definition.read_text().replace("A photo of", "A drawing of"))
    if change == "model":
        path = tmp_path / "painter.py"
        path.write_text(path.read_text().replace('version = "1"', 'version = "2"'))
    with pytest.raises(InputError, match=told):
        generate(definition, model, tmp_path / "out", seed=1 if change == "seed" else None)
    assert len(painted_prompts(tmp_path)) == count


def test_what_only_describes_may_change(arranged, tmp_path):
    definition, model = arranged
    generate(definition, model, tmp_path / "out")
    definition.write_text(definition.read_text().replace("What is this", "Guess this") + "source: us\n")
    generate(definition, model, tmp_path / "out")
    assert len(painted_prompts(tmp_path)) == 24
    assert GenerationDefinition.read(tmp_path / "out" / "definition.yaml") == GenerationDefinition.read(
        definition
    )


def test_a_folder_of_something_else_is_left_alone(arranged, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds other files such as 'thesis\.txt'"):
        generate(*arranged, tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["thesis.txt"]
    with pytest.raises(InputError, match="is a file"):
        generate(*arranged, tmp_path / "out" / "thesis.txt")


def test_shards_make_what_one_call_makes_and_the_last_joins_them(arranged, tmp_path):
    whole = generate(*arranged, tmp_path / "whole")
    count = len(painted_prompts(tmp_path))
    for shard in ((2, 3), (1, 3)):
        made = generate(*arranged, tmp_path / "out", shard=shard)
        assert not made.written
        assert not (tmp_path / "out" / "annotations.parquet").exists()
    assert made.missing == 8
    last = generate(*arranged, tmp_path / "out", shard=(3, 3))
    assert last.written
    assert last.missing == 0
    assert len(painted_prompts(tmp_path)) == 2 * count
    assert images(tmp_path / "out") == images(tmp_path / "whole")
    joined = pl.read_parquet(tmp_path / "out" / "annotations.parquet")
    assert joined.equals(whole.table)


def test_a_call_without_shard_joins_and_makes_what_is_missing(arranged, tmp_path):
    generate(*arranged, tmp_path / "out", shard=(1, 2))
    made = generate(*arranged, tmp_path / "out")
    assert made.missing == 0
    assert len(painted_prompts(tmp_path)) == len(set(painted_prompts(tmp_path))) == 24


@pytest.mark.parametrize("shard", [(0, 2), (3, 2), (1, 0)])
def test_a_shard_that_is_none_is_refused(arranged, tmp_path, shard):
    with pytest.raises(ParameterError, match="give I/N"):
        generate(*arranged, tmp_path / "out", shard=shard)


def test_two_processes_do_not_make_the_same_shard(arranged, tmp_path):
    generate(*arranged, tmp_path / "out", limit=1)
    with journal(tmp_path / "out", "images", (1, 2)), pytest.raises(InputError, match="another process"):
        generate(*arranged, tmp_path / "out", shard=(1, 2))


def test_parts_of_another_folder_are_refused(arranged, tmp_path):
    generate(*arranged, tmp_path / "out", shard=(1, 2))
    generate(*arranged, tmp_path / "other", shard=(2, 2), seed=5)
    part = next((tmp_path / "other" / "parts").glob("*.jsonl"))
    (tmp_path / "out" / "parts" / part.name).write_bytes(part.read_bytes())
    with pytest.raises(InputError, match="parts that were made otherwise"):
        generate(*arranged, tmp_path / "out")


def test_a_killed_process_leaves_whole_images_and_the_same_command_goes_on(arranged, tmp_path):
    mode(tmp_path, "slow")
    code = (
        "import sys\nfrom evenhand.workflows.generate.engine import generate\n"
        "generate(sys.argv[1], sys.argv[2], sys.argv[3])"
    )
    command = [sys.executable, "-c", code, str(arranged[0]), arranged[1], str(tmp_path / "out")]
    process = subprocess.Popen(command, cwd=ROOT)
    deadline = time.monotonic() + 300
    while len(painted_prompts(tmp_path)) < 9 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = list((tmp_path / "out").rglob("*.png"))
    assert 0 < len(left) < 24
    for path in left:
        assert pixels(path).shape == (32, 32, 3)
    part = next((tmp_path / "out" / "parts").glob("images-*.jsonl"))
    part.write_bytes(
        part.read_bytes() + b'{"sample": "doctor/wo'
    )  # as if it had died in the middle of a line
    torn = tmp_path / "out" / "images" / "engineer" / "man" / ".00003.png.abc"
    torn.parent.mkdir(parents=True, exist_ok=True)
    torn.write_bytes(b"\x89PNG half")
    mode(tmp_path, "")
    done = len(painted_prompts(tmp_path))
    made = generate(*arranged, tmp_path / "out")
    assert made.missing == 0
    assert not torn.exists()
    assert len(painted_prompts(tmp_path)) - done <= 24 - len(left) + 1
    generate(*arranged, tmp_path / "whole")
    assert images(tmp_path / "out") == images(tmp_path / "whole")


def test_an_image_that_was_deleted_or_cut_is_made_again(arranged, tmp_path):
    generate(*arranged, tmp_path / "out")
    before = images(tmp_path / "out")
    first, second = sorted((tmp_path / "out").rglob("*.png"))[:2]
    first.unlink()
    second.write_bytes(second.read_bytes()[:100])
    generate(*arranged, tmp_path / "out")
    assert images(tmp_path / "out") == before
    assert len(painted_prompts(tmp_path)) == 26


def test_refused_images_are_counted_by_group_and_not_asked_for_again(arranged, tmp_path):
    mode(tmp_path, "refuse")
    made = generate(*arranged, tmp_path / "out")
    assert (made.made, made.missing) == (20, 0)
    assert made.refused.to_dicts() == [
        {"reason": "against the rules", "group": "woman", "count": 4, "detail": "no nurses here"}
    ]
    assert manifest(tmp_path / "out")["images"] == {"wanted": 24, "made": 20, "refused": 4, "missing": 0}
    count = len(painted_prompts(tmp_path))
    assert generate(*arranged, tmp_path / "out").made == 20
    assert len(painted_prompts(tmp_path)) == count


def test_what_fails_for_now_is_asked_for_again(arranged, tmp_path):
    mode(tmp_path, "busy")
    made = generate(*arranged, tmp_path / "out")
    assert (made.made, made.missing, made.failed) == (16, 8, {"busy": 8})
    mode(tmp_path, "")
    assert generate(*arranged, tmp_path / "out").missing == 0


def test_what_asking_cost_adds_over_calls_and_shards(arranged, tmp_path):
    path = tmp_path / "painter.py"
    path.write_text(
        path.read_text() + "    asked = 0\n"
        "    def usage(self):\n"
        "        return {'requests': self.asked, 'served_as': [f'v{self.asked}'], 'seeds': 'sent'}\n"
        "    def __getattribute__(self, name):\n"
        "        if name == 'generate':\n"
        "            self.asked += 1\n"
        "        return super().__getattribute__(name)\n"
    )
    mode(tmp_path, "busy")
    generate(*arranged, tmp_path / "out", shard=(1, 2))
    generate(*arranged, tmp_path / "out", shard=(2, 2))
    assert manifest(tmp_path / "out").get("usage") is None
    mode(tmp_path, "")
    generate(*arranged, tmp_path / "out")
    generate(*arranged, tmp_path / "out")
    assert len(painted_prompts(tmp_path)) == 24 + 8
    used = manifest(tmp_path / "out")["usage"]
    assert used["requests"] == 24 + 8
    assert used["seeds"] == "sent"
    assert set(used["served_as"]) == {"v12", "v8"}


def test_a_failing_model_is_told_and_what_was_made_is_kept(arranged, tmp_path):
    mode(tmp_path, "broken")
    with pytest.raises(
        UserError, match="the model failed on 'A photo of a woman who is a nurse': RuntimeErr"
    ):
        generate(*arranged, tmp_path / "out")
    mode(tmp_path, "")
    count = len(painted_prompts(tmp_path))
    generate(*arranged, tmp_path / "out")
    assert len(painted_prompts(tmp_path)) - count == 22


def test_a_model_that_exits_is_an_error(arranged, tmp_path):
    mode(tmp_path, "exit")
    with pytest.raises(UserError, match=r"painter\.py:Painter' called sys\.exit\(0\)"):
        generate(*arranged, tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "told"), [("float", "gave float64 of shape"), ("short", "gave 0 images for 1 prompts")]
)
def test_what_is_no_image_is_told(arranged, tmp_path, name, told):
    mode(tmp_path, name)
    with pytest.raises(UserError, match=told):
        generate(*arranged, tmp_path / "out")


def test_batches_are_halved_until_they_fit_in_memory(arranged, tmp_path):
    mode(tmp_path, "memory")
    assert generate(*arranged, tmp_path / "out", batch_size=8).made == 24
    mode(tmp_path, "")
    generate(*arranged, tmp_path / "whole")
    assert images(tmp_path / "out") == images(tmp_path / "whole")


def test_a_model_of_another_kind_and_options_it_does_not_take_are_refused(arranged, tmp_path):
    (tmp_path / "namer.py").write_text(
        "class Namer:\n    version = '1'\n    labels = ['a']\n    def classify(self, images): ...\n"
    )
    with pytest.raises(UserError, match="this asks for generates_images"):
        generate(arranged[0], f"{tmp_path / 'namer.py'}:Namer", tmp_path / "out")
    with pytest.raises(ParameterError, match="takes no --steps"):
        generate(*arranged, tmp_path / "out", options=LoadOptions(images=ImageOptions(steps=3)))
    assert not (tmp_path / "out").exists()


def test_what_the_models_own_check_says_is_kept_beside_the_image(arranged, tmp_path):
    mode(tmp_path, "check")
    made = generate(*arranged, tmp_path / "out")
    assert made.table.filter(gender="woman")["flagged_by_model"].to_list() == [True] * 12
    assert made.table.filter(gender="man")["flagged_by_model"].to_list() == [False] * 12
    assert made.flags.filter(flag="flagged by the model").to_dicts() == [
        {"flag": "flagged by the model", "group": "woman", "count": 12, "of": 12},
        {"flag": "flagged by the model", "group": "man", "count": 0, "of": 12},
    ]
    assert np.all(pixels(tmp_path / "out" / made.table["image"][0]) == 0)
    assert made.table["flags"][0].to_list() == ["flagged by the model", "one colour only"]


def test_images_of_one_colour_are_flagged(arranged, tmp_path):
    mode(tmp_path, "grey")
    made = generate(*arranged, tmp_path / "out")
    assert made.flags["flag"].unique().to_list() == ["one colour only"]
    assert made.flags["count"].to_list() == [12, 12]
