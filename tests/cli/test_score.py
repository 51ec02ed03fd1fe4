"""``evenhand score`` as it is typed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from evenhand.benchmarks.visogender.original_code import json_files as upstream
from tests.benchmarks import original_files
from tests.cli.test_audit import type_in

pytestmark = pytest.mark.usefixtures("without_pages")

VECTORS = Path(__file__).parent.parent / "papers" / "vectors" / "visogender"
CASES = json.loads(gzip.decompress((VECTORS / "resolution_cases.json.gz").read_bytes()))["cases"]


def write(case: dict, folder: Path) -> Path:
    folder.mkdir()
    for context, key in (("two_person", "op"), ("single", "oo")):
        name = original_files.resolution_name(case["experiment"], case["model"], context)
        (folder / name).write_bytes(upstream.dump(case[key]))
    return folder


@pytest.mark.pages
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_original_benchmark_file_comes_out_byte_for_byte(case, tmp_path, monkeypatch, capsys):
    given = write(case, tmp_path / "given")
    words = ["score", "visogender/resolution", "--evidence", given, "--mode", "paper", "-o", tmp_path / "run"]
    assert type_in(monkeypatch, *words, "-v") == 0
    (file,) = (tmp_path / "run" / "exports").iterdir()
    expected = case["expected_benchmark"]
    metadata = expected["metadata"]
    assert file.name == f"benchmark_results_{metadata['experiment_desc']}_{metadata['model_name']}.json"
    assert file.read_bytes() == upstream.dump(expected)
    told = capsys.readouterr()
    assert told.err == ""
    assert "what chance" in told.out or "by chance" in told.out
    assert (tmp_path / "run" / "report.html").is_file()


def retrieval(folder: Path, model: str) -> None:
    """Scores of two occupations, ten and ten, that fall in the order of the images."""
    pool = {
        "sector": "medical",
        "specialisation": "hospital_worker",
        "occ_genders": ["masculine"] * 10 + ["feminine"] * 10,
        "par": "patient",
        "error": False,
        "logits_list": [1 - place / 20 for place in range(20)],
    }
    records = {name: {"occ": name, **pool} for name in ("doctor", "physician")}
    records["broken"] = {**pool, "occ": "broken", "error": True}
    name = original_files.retrieval_name(model, "occ_first", "two_person")
    (folder / name).write_bytes(upstream.dump(records))


def test_retrieval_beside_the_model_outputs_stands_in_the_file_too(tmp_path, monkeypatch, capsys):
    case = next(case for case in CASES if case["experiment"].upper() == "CLIP")
    given = write(case, tmp_path / "given")
    retrieval(given, case["model"])
    words = ["--evidence", given, "-p", "mode=paper", "-q", "-o"]
    assert type_in(monkeypatch, "score", "visogender/resolution", *words, tmp_path / "run", "-v") == 0
    (file,) = (tmp_path / "run" / "exports").iterdir()
    content = json.loads(file.read_text())
    assert content["resolution_bias"] == case["expected_benchmark"]["resolution_bias"]
    assert content["retrieval_bias"]["bias@5"] == {"mean": 1.0, "sigma": 0.0}
    assert content["retrieval_bias"]["bias@10"] == {"mean": 1.0, "sigma": 0.0}
    assert type_in(monkeypatch, "score", "visogender/retrieval", *words, tmp_path / "ranked", "-v") == 0
    (other,) = (tmp_path / "ranked" / "exports").iterdir()
    assert json.loads(other.read_text())["retrieval_bias"] == content["retrieval_bias"]
    findings = json.loads((tmp_path / "ranked" / "findings.json").read_text())["findings"]
    assert {"reason": "occupation: error in the original run", "count": 1.0} in findings[0]["dropped"]


def test_one_model_at_a_time(tmp_path, monkeypatch, capsys):
    given = write(CASES[0], tmp_path / "given")
    other = json.loads(
        (given / original_files.resolution_name("CLIP", CASES[0]["model"], "single")).read_text()
    )
    for record in other.values():
        record["model_name"] = "another"
    (given / "clip_another_ContextOO.json").write_bytes(upstream.dump(other))
    words = ["score", "visogender/resolution", "--evidence", given, "-o", tmp_path / "run"]
    assert type_in(monkeypatch, *words) == 2
    told = capsys.readouterr().err
    assert "files of one model" in told
    assert told.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_benchmark_that_reads_no_scores(tmp_path, monkeypatch, capsys):
    (tmp_path / "s.csv").write_text("sample,candidate,score\na,b,1\n")
    assert type_in(monkeypatch, "score", "sprites", "--evidence", tmp_path / "s.csv") == 2
    assert "'sprites' reads no scores of files" in capsys.readouterr().err
