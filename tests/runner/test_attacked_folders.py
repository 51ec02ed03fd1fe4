"""Run folders whose files nest endlessly or are folders; outputs that would replace what a run is made of."""

from __future__ import annotations

import json
import shutil

import numpy as np
import polars as pl
import pytest

from tests.runner.crash.commands import EVENHAND, here, one_line_of

DEEP = {"hashes.json": '{"a":', "findings.json": "[", "manifest.json": '{"a":', "metrics.json": "["}


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    random = np.random.default_rng(0)
    truth = random.choice(["cat", "dog"], 90)
    said = np.where(random.random(90) < 0.8, truth, "cat")
    table = folder / "t.csv"
    pl.DataFrame({"t": truth, "p": said, "g": random.choice(["a", "b", "c"], 90)}).write_csv(table)
    words = ["audit", str(table), "--truth", "t", "--prediction", "p", "--by", "g", "-q"]
    assert here([*EVENHAND, *words, "-o", str(folder / "run")], folder / "home")[0] == 0
    return folder


@pytest.fixture
def run(audited, tmp_path):
    return shutil.copytree(audited / "run", tmp_path / "run")


def typed(home, *words):
    return here([*EVENHAND, *map(str, words)], home)


@pytest.mark.parametrize("name", DEEP)
def test_files_that_nest_endlessly_are_one_line(run, tmp_path, name):
    (run / name).write_text(DEEP[name] * 50_000)
    if name != "hashes.json":
        (run / "hashes.json").unlink()
    for words in (
        ["report", run],
        ["export", run, "--as", "json", "-o", tmp_path / "o.json"],
        ["compare", run, run],
    ):
        code, _, err = typed(tmp_path, *words)
        assert code == 2
        one_line_of(err, "json'")


def test_a_record_that_is_a_folder_is_no_run_from_before_there_were_records(run, tmp_path):
    (run / "hashes.json").unlink()
    (run / "hashes.json").mkdir()
    code, _, err = typed(tmp_path, "report", run)
    assert code == 2
    one_line_of(err, "hashes.json' cannot be read")


@pytest.mark.parametrize(
    "name", ["findings.json", "manifest.json", "hashes.json", "counts/predictions.parquet"]
)
def test_no_output_replaces_a_file_of_a_run(run, tmp_path, name):
    before = (run / name).read_bytes()
    link = tmp_path / "link"
    link.symlink_to(run / name)
    for target in (run / name, link):
        for words in (["export", run, "--as", "csv"], ["report", run]):
            code, _, err = typed(tmp_path, *words, "-o", target)
            assert code == 2
            one_line_of(err, "is a file of the run in", "give another name")
    assert (run / name).read_bytes() == before


def test_what_no_run_wrote_is_replaced(run, tmp_path):
    (tmp_path / "hashes.json").write_text("[]")  # of somebody else
    for target in (tmp_path / "o.csv", run / "report.html"):
        target.write_text("old")
        code, _, err = typed(tmp_path, "report", run, "-o", target)
        assert (code, err) == (0, "")
        assert target.read_text() != "old"


def test_the_table_that_was_audited_is_not_replaced_by_its_findings(audited, tmp_path):
    before = (audited / "t.csv").read_bytes()
    code, _, err = typed(tmp_path, "export", audited / "run", "--as", "csv", "-o", audited / "t.csv")
    assert code == 2
    one_line_of(err, "t.csv' is the table that was audited")
    assert (audited / "t.csv").read_bytes() == before
    assert json.loads((audited / "run" / "manifest.json").read_bytes())["source"]["size"] == len(before)
