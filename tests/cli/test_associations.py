"""What the terminal says about association tests."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.benchmarks.mmbias_planted import planted
from tests.benchmarks.mmbias_release import release
from tests.cli.test_audit import type_in
from tests.cli.test_first_lines import COPIED
from tests.models.tiny import build

pytestmark = pytest.mark.usefixtures("without_pages")


def test_pairs_stand_in_one_table_with_what_is_not_tested_and_unusual(tmp_path, monkeypatch, capsys):
    release(tmp_path / "data", phrases=4, images=4, traps=True)
    words = ["run", "mmbias/association", "--data", tmp_path / "data", "--model", f"hf:{build('clip')}"]
    assert type_in(monkeypatch, *words, "-v", "-o", tmp_path / "run") == 0
    told = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("muslim v christian") for line in told) == 3
    assert sum(line.startswith("arab v french") for line in told) == 1
    text = " ".join(" ".join(told).split())
    assert "not tested: 4 pairs, visual: " in text
    assert "no images of 'french' (1)" in text
    assert "to know about the sets (tables/traps)" in text
    assert "word in a target and an attribute set (1)" in text
    assert "p adj." in text
    assert "difference" in text
    assert "value is" in text
    assert max(len(line) for line in told if not line.startswith(COPIED)) <= 120


@pytest.mark.parametrize("standardised", ["no", "yes"])
def test_a_fusion_models_differences_are_named(tmp_path: Path, monkeypatch, capsys, standardised):
    data = planted(tmp_path)
    own = f"{tmp_path / 'own.py'}:Matches"
    words = ["run", "mmbias/matching", "--data", data, "--model", own, "-p", "k=4"]
    assert type_in(monkeypatch, *words, "-p", f"standardised={standardised}", "-vo", tmp_path / "run") == 0
    told = capsys.readouterr().out
    what = "d" if standardised == "yes" else "difference"
    assert f"matching, {what} of the most probable words of each image > 0: the first set is nearer" in told
    assert "nearer to bad than to good" in " ".join(told.split())  # whole, whatever its length
    assert "left v right" in told


def test_a_single_item_says_why_there_is_no_effect_size(tmp_path, monkeypatch, capsys):
    data = planted(tmp_path, images=False)
    data.write_text(data.read_text().replace('["left0", "left1", "left2", "left3", "left4"]', '["left0"]'))
    words = ["run", "mmbias/association", "--data", data, "--model", f"{tmp_path / 'own.py'}:Words"]
    assert type_in(monkeypatch, *words, "-v", "-o", tmp_path / "run") == 0
    told = capsys.readouterr().out
    assert "one_member" in told


def test_what_several_tests_lost_is_counted_once_and_all_of_it(tmp_path, monkeypatch, capsys):
    release(tmp_path / "data", phrases=4)
    words = ["--data", tmp_path / "data", "-p", "form=textual", "-p", "pairs=muslim:christian,arab:american"]
    model = f"hf:{build('clip')}"
    assert (
        type_in(monkeypatch, "run", "mmbias/association", *words, "--model", model, "-vo", tmp_path / "run")
        == 0
    )
    whole = pl.read_parquet(tmp_path / "run" / "evidence" / "texts" / "*.parquet")
    members = pl.read_parquet(tmp_path / "run" / "tables" / "members.parquet")
    gone = [
        members.filter(pl.col("set") == name)["sample"].to_list()[:few]
        for name, few in (("muslim", 1), ("arab", 2), ("american", 1))
    ]
    kept = whole.filter(~pl.col("sample").is_in([sample for samples in gone for sample in samples]))
    kept.write_parquet(tmp_path / "kept.parquet")
    capsys.readouterr()
    scored = ["score", "mmbias/association", *words, "--evidence", tmp_path / "kept.parquet"]
    assert type_in(monkeypatch, *scored, "-v", "-o", tmp_path / "scored") == 0
    told = capsys.readouterr().out
    assert "dropped: 4 rows with no answer" in told
    lost = pl.read_parquet(tmp_path / "scored" / "tables" / "lost.parquet")
    assert sorted(lost["set"].to_list()) == ["american", "arab", "arab", "muslim"]
    assert set(lost["reason"].to_list()) == {"no answer"}


def test_texts_in_other_sentences_than_were_looked_for_are_explained(tmp_path, monkeypatch, capsys):
    data = planted(tmp_path, images=False)
    model = f"{tmp_path / 'own.py'}:Words"
    words = ["run", "mmbias/association", "--data", data, "--model", model, "-p", "target_template={}"]
    assert type_in(monkeypatch, *words, "-o", tmp_path / "run", "-q") == 0
    scored = ["score", "mmbias/association", "--data", data, "--evidence", tmp_path / "run" / "evidence"]
    capsys.readouterr()
    assert type_in(monkeypatch, *scored, "-v", "-o", tmp_path / "scored") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "looked for texts such as 'This is left4.', 'This is right4.', 'bad4', 'good4'" in told
    assert "give -p target_template=... ({} for the bare phrase)" in told
    assert type_in(monkeypatch, *scored, "-p", "target_template={}", "-v", "-o", tmp_path / "right") == 0
    assert "looked for" not in capsys.readouterr().out
