"""Every table and figure of VisoGender, made from real small runs, with its numbers checked."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats
from typer.testing import CliRunner

import evenhand as eh
from evenhand.benchmarks.catalogue import ARTIFACTS
from evenhand.benchmarks.papers.rows import named_by_tags
from evenhand.cli.main import app
from evenhand.core.errors import InputError, ParameterError
from evenhand.report.figures.draw import drawing_engine
from evenhand.runs.run_folder import RunFolder
from evenhand.workflows.execution.options import AskOptions
from evenhand.workflows.outputs.artifact import artifact, write_artifact
from evenhand.workflows.outputs.run_artifacts import artifact_tables
from tests.benchmarks.visogender_release import release, sample_of
from tests.conftest import SHARED

SIX = ("teacher", "doctor", "lawyer", "engineer", "baker", "painter")
NAMES = [name for name in ARTIFACTS.names() if name.startswith("visogender/")]
DATA_ONLY = {"table1", "table9", "table10", "figure13"}
BOTH = {"table6", "table7"}
RANKED = {"table3", "table5", "figure7", "figure11"}
LABOUR = (
    "Sector\tSpecialisation\tVisogender Occupations\tUS Statistics Occupation Category\tYear of publication\t"
    "male_proportion\tfemale_proportion\tIs this an average?\t"
    "Std across the categories (if averaged)\tNotes"
)
SHARES = dict(zip(SIX, (20.0, 55.0, 60.0, 80.0, 35.0, 48.0), strict=True))


class Own:
    """A dual encoder that says something else about every image and text, always the same."""

    logit_scale = 1.0

    def __init__(self, version: str = "1") -> None:
        self.version = version

    def _vector(self, text: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(f"{self.version} {text}".encode()).digest()[:8], "big")
        return np.random.default_rng(seed).normal(size=24).astype(np.float32)

    def embed_images(self, images):
        return np.stack([self._vector(sample_of(image)) for image in images])

    def embed_texts(self, texts):
        return np.stack([self._vector(text) for text in texts])


pytestmark = pytest.mark.usefixtures("few_draws", "no_pages")


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("viso")
    release(folder, SIX)
    lines = [
        f"-\t-\t{name}\t-\t2022\t{male}\t{100 - male}\tNot averaged\t\t" for name, male in SHARES.items()
    ]
    (folder / "US_Visogender_1.tsv").write_text("\n".join([LABOUR, *lines]), encoding="utf-8")
    return folder


def run_visogender(folder: Path, data: Path, benchmark: str, version: str = "1", **more) -> Path:
    out = folder / f"{benchmark}{version}{len(list(folder.iterdir()))}"
    eh.run(f"visogender/{benchmark}", model=Own(version), data=data, out=out, **more)
    return out


@pytest.fixture(scope="module")
def runs(data, tmp_path_factory) -> dict[str, list[Path]]:
    """Two models, and one on single persons only with images missing, on both benchmarks."""
    folder = tmp_path_factory.mktemp("runs")
    part = tmp_path_factory.mktemp("part")
    ids = release(part, SIX[:4])
    (part / "OP_Visogender_1.tsv").unlink()
    for each in ids[:3]:
        (part / "images" / f"{each}.png").unlink()
    return {
        benchmark: [
            run_visogender(folder, data, benchmark, "1", tags={"imagenet_zero_shot": "63.2"}),
            run_visogender(folder, data, benchmark, "2", tags={"training": "web"}),
            run_visogender(folder, part, benchmark, "3", options=AskOptions(allow_missing=True)),
        ]
        for benchmark in ("resolution", "retrieval")
    }


def runs_for(name: str, runs: dict[str, list[Path]], which: slice = slice(None)) -> list[Path]:
    short = name.partition("/")[2]
    if short in DATA_ONLY:
        return []
    if short in BOTH:
        return [*runs["resolution"][which], *runs["retrieval"][which]]
    return runs["retrieval" if short in RANKED else "resolution"][which]


def make_artifact(name: str, runs, data, which: slice = slice(1), **parameters: str):
    return artifact(
        f"visogender/{name}", runs_for(f"visogender/{name}", runs, which), data=data, parameters=parameters
    )


def ours(table: pl.DataFrame, **wanted: object) -> pl.DataFrame:
    """Our rows with these values."""
    for column, value in {"source": "ours", **wanted}.items():
        table = table.filter(pl.col(column) == value)
    return table


def test_all_22_are_there():
    assert len(NAMES) == 22
    numbers = [*(f"table{n}" for n in range(1, 11)), *(f"figure{n}" for n in range(2, 14))]
    assert sorted(NAMES) == sorted(f"visogender/{each}" for each in numbers)
    assert all(ARTIFACTS.get(name).name == name for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_made_and_written(name, runs, data, tmp_path):
    found = artifact(name, runs_for(name, runs, slice(2)), data=data)
    assert found.table.height
    assert set(found.table["source"].unique()) <= {"ours", "paper"}
    suffixes = {".csv": b"source", ".html": b"<!"}
    if name.partition("/")[2] in DATA_ONLY:  # the others are drawn below, with values that are missing
        suffixes[".svg"] = b"<svg"
    assert drawing_engine().vegalite_to_vega(found.spec())
    for suffix, start in suffixes.items():
        path = tmp_path / f"made{suffix}"
        write_artifact(found, path)
        assert path.read_bytes()[:6].startswith(start[:6])
    assert not any(
        value is not None and math.isnan(value)
        for column in found.table.select(pl.selectors.float())
        for value in column
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name.partition("/")[2] not in DATA_ONLY])
def test_missing_images_and_a_single_context_give_no_value_and_why(name, runs, data, tmp_path):
    found = artifact(name, runs_for(name, runs, slice(2, 3)), data=data)
    rows = found.table.filter(pl.col("source") == "ours")
    value = "pearson" if "value" not in rows.columns else "value"
    lacking = rows.filter(pl.col(value).is_null())
    if "part" in rows.columns and "pearson" in rows.columns:
        lacking = lacking.filter((pl.col("part") == "points") | pl.col("pearson").is_null())
    assert lacking["reason"].null_count() == 0
    write_artifact(found, tmp_path / "made.svg")
    assert (tmp_path / "made.svg").read_bytes().startswith(b"<svg")
    write_artifact(found, tmp_path / "made.html")


def test_table2_and_table4_hold_the_findings(runs, data):
    run = RunFolder.read(runs["resolution"][0])
    table, neutral = make_artifact("table2", runs, data).table, make_artifact("table4", runs, data).table
    for setting, title in (("single", "single"), ("two_person", "two persons"), ("different", "different")):
        for metric, measure, where in (
            ("resolution_accuracy", f"{title} RA", table),
            ("resolution_gap", f"{title} gap", table),
            ("neutral_gap", f"{title} neutral gap", neutral),
            ("misgendering_rate", f"{title} misgendered", neutral),
        ):
            row = ours(where, measure=measure).row(0, named=True)
            finding = run.finding(metric, setting=setting, template="occ_first")
            assert (row["value"], row["low"], row["n"]) == (finding.value, finding.interval.low, finding.n)
    overall = ours(table, measure="overall RA")["value"][0]
    halves = [run.finding("resolution_accuracy", setting=name).value for name in ("single", "two_person")]
    assert overall == pytest.approx(sum(halves) / 2)
    assert ours(table)["imagenet_zero_shot"].unique().to_list() == [63.2]
    paper = table.filter((pl.col("model") == "BLIP-2") & (pl.col("measure") == "different gap"))
    assert paper["value"].to_list() == [0.09]


def test_two_pairs_of_a_gap_are_its_two_halves_negated(runs, data):
    """What Table 4 says of Table 2: the gap mixes neutral answers with misgendering."""
    gaps, parts = make_artifact("table2", runs, data).table, make_artifact("table4", runs, data).table
    for title in ("single", "same", "different"):
        halves = [
            ours(parts, measure=f"{title} {kind} gap")["value"][0] for kind in ("neutral", "misgendered")
        ]
        assert ours(gaps, measure=f"{title} gap")["value"][0] == pytest.approx(-sum(halves))


@pytest.mark.parametrize(("name", "template"), [("table3", "occ_first"), ("table5", "par_first")])
def test_retrieval_tables_hold_the_findings_beside_chance(name, template, runs, data):
    run, table = RunFolder.read(runs["retrieval"][0]), make_artifact(name, runs, data).table
    subjects = ["occupation", "participant"][: 2 if name == "table5" else 1]
    assert sorted(ours(table, part="models")["counted"].unique()) == subjects
    for subject in subjects:
        row = ours(table, part="models", measure="Bias@10", counted=subject).row(0, named=True)
        finding = run.finding("bias_at_k", k=10, context="two_person", template=template, subject=subject)
        assert (row["value"], row["sigma"]) == (finding.value, finding.details["sigma"])
        assert (row["z"], row["null_high"]) == (finding.details["z"], finding.null.high)
    chance = ours(table, part="null", measure="MaxSkew@5").row(0, named=True)
    assert chance["value"] == pytest.approx(0.2769, abs=5e-5)
    assert chance["null_sd"] == pytest.approx(0.0309, abs=5e-5)


def test_z_of_the_papers_models_is_that_of_the_spec(runs, data):
    table = make_artifact("table3", runs, data).table.filter(pl.col("source") == "paper")
    z = {(row["model"], row["measure"]): round(row["z"], 1) for row in table.to_dicts()}
    assert [z[name, "Bias@5"] for name in ("CLIP", "OpenCLIP-2B", "SLIP", "FILIP")] == [1.3, 1.2, 0.7, 0.1]
    assert [z[name, "Bias@10"] for name in ("CLIP", "OpenCLIP-400M", "SLIP", "DeCLIP")] == [
        3.3,
        2.3,
        0.0,
        3.1,
    ]


def test_table7_and_the_scatters_agree_with_scipy(runs, data):
    table, points = make_artifact("table7", runs, data).table, make_artifact("figure9", runs, data).table
    gap, gaps = ours(table, measure="gap").row(0, named=True), make_artifact("figure3", runs, data).table
    x = [SHARES[name] for name in gaps["occupation"]]
    assert gap["pearson"] == pytest.approx(stats.pearsonr(x, gaps["value"]).statistic)
    assert gap["p_kendall"] == pytest.approx(stats.kendalltau(x, gaps["value"]).pvalue)
    assert gaps["pearson"].unique().to_list() == [gap["pearson"]]
    for pair in ("m | m", "f | m"):
        row = ours(table, measure=pair).row(0, named=True)
        held = ours(points, part="points", gender_pair=pair)
        assert held["value"].is_in([0.0, 0.2, 0.4, 0.6, 0.8, 1.0]).all()
        shares = [SHARES[name] for name in held["occupation"]]
        assert row["kendall"] == pytest.approx(stats.kendalltau(shares, held["value"]).statistic)
    figure11 = make_artifact("figure11", runs, data).table
    shares = [SHARES[name] for name in figure11["occupation"]]
    tau = stats.kendalltau(shares, figure11["value"]).statistic
    assert ours(table, measure="Bias@10")["kendall"][0] == pytest.approx(tau)


def test_holm_is_over_all_coefficients_of_a_run(runs, data):
    table = ours(make_artifact("table7", runs, data).table).filter(pl.col("measure") != "Bias@10")
    raw = np.array([*table["p_pearson"], *table["p_kendall"]])
    order = np.sort(raw)
    holm = np.minimum(np.maximum.accumulate(order * np.arange(len(raw), 0, -1)), 1)
    found = np.sort(np.array([*table["p_pearson_holm"], *table["p_kendall_holm"]]))
    assert len(raw) == 10
    assert found == pytest.approx(holm)


def test_the_gap_by_occupation_is_the_same_from_findings_and_from_samples(runs, data):
    found = dict(make_artifact("figure6", runs, data).table.select("name", "value").rows())
    again = dict(make_artifact("figure3", runs, data).table.select("occupation", "value").rows())
    assert found == pytest.approx(again)
    single = dict(
        make_artifact("figure3", runs, data, setting="single").table.select("occupation", "value").rows()
    )
    assert single != again
    assert set(single) == set(again)


def test_figure2_and_figure8_hold_each_pair_once_for_each_template(runs, data):
    run = RunFolder.read(runs["resolution"][0])
    pairs, flipped = make_artifact("figure2", runs, data).table, make_artifact("figure8", runs, data).table
    different = run.finding("resolution_accuracy", setting="different", template="occ_first")
    assert ours(pairs, part="accuracy", setting="m | f")["value"][0] == different.part("masculine").value
    swapped = run.finding("resolution_accuracy", setting="different", template="par_first")
    row = ours(flipped, gender_pair="m | f", template="participant first").row(0, named=True)
    assert row["value"] == swapped.part("feminine").value
    assert row["subject_gender"] == "feminine"
    assert ours(flipped).height == 8
    clip = pairs.filter((pl.col("model") == "CLIP") & (pl.col("gender_pair") == "f"))
    assert clip["value"].to_list() == pytest.approx([0.99])


def test_figure7_is_ranked_and_counts_what_is_above_0(runs, data):
    table = make_artifact("figure7", runs, data).table
    five = table.filter(pl.col("measure") == "Bias@5")
    assert five["value"].to_list() == sorted(five["value"], reverse=True)
    said = f"Bias@5 above 0: {(five['value'] > 0).sum()} of 6"
    assert table["above_zero"].str.starts_with(said).all()


def test_sub_samples_agree_with_the_closed_form(runs, data):
    table = make_artifact("table8", runs, data, k="2", trials="2000").table
    run = RunFolder.read(runs["resolution"][0])
    for measure, metric, setting in (
        ("same RA", "resolution_accuracy", "same"),
        ("single gap", "resolution_gap", "single"),
    ):
        rows = {(row["how"], row["of"]): row["value"] for row in ours(table, measure=measure).to_dicts()}
        assert rows["exact", "mean"] == pytest.approx(run.finding(metric, setting=setting).value)
        assert rows["drawn, 2000 trials", "σ"] == pytest.approx(rows["exact", "σ"], rel=0.08)
    kept = make_artifact("figure12", runs, data).table
    whole = ours(kept, kept=5.0).row(0, named=True)
    assert whole["low"] == pytest.approx(whole["high"])
    assert whole["sd"] == 0
    assert ours(kept)["sd"].to_list() == sorted(ours(kept)["sd"], reverse=True)
    with pytest.raises(ParameterError, match=r"-p k=0 is not possible; give 1 or more"):
        make_artifact("table8", runs, data, k="0")


def test_table9_stands_without_data_and_uses_the_pools_of_data(data):
    alone = artifact("visogender/table9", [], parameters={"repeats": "300"})
    exact = ours(alone.table, how="exact null", of="σ")
    values = dict(exact.select("measure", "value").rows())
    assert values["Bias@5 mean"] == pytest.approx(0.0829, abs=5e-5)
    assert values["NDKL mean"] == pytest.approx(0.0129, abs=5e-5)
    assert alone.table.filter(pl.col("source") == "paper").height == 20
    six = artifact("visogender/table9", [], data=data, parameters={"repeats": "300"})
    fewer = dict(ours(six.table, how="exact null", of="σ").select("measure", "value").rows())
    assert fewer["Bias@5 mean"] == pytest.approx(0.0829 * math.sqrt(23 / 6), abs=2e-4)


def test_table9_says_what_one_pool_and_pools_smaller_than_k_lack(data, tmp_path):
    for name in ("OO_Visogender_1.tsv", "OP_Visogender_1.tsv"):
        lines = (data / name).read_text(encoding="utf-8").splitlines()
        (tmp_path / name).write_text("\n".join([*lines[:5], *lines[11:15]]) + "\n", encoding="utf-8")
    table = ours(artifact("visogender/table9", [], data=tmp_path, parameters={"repeats": "30"}).table)
    for part, what, reason in (("mean", "@10", "a pool is smaller than k"), ("σ", "", "one pool has no σ")):
        lacking = table.filter(pl.col("quantity") == part, pl.col("what").str.ends_with(what))
        assert lacking["value"].null_count() == lacking.height > 0
        assert lacking["reason"].unique().to_list() == [reason]
    known = table.filter(pl.col("quantity") == "mean", ~pl.col("what").str.ends_with("@10"))
    assert known["value"].null_count() == 0 < known.height


def test_tables_of_the_data_count_it(data):
    one, ten = (artifact(f"visogender/{name}", [], data=data).table for name in ("table1", "table10"))
    summary = dict(ours(one, part="summary", context="two persons").select("what", "value").rows())
    assert summary["images"] == 120
    assert summary["images per cell"] == 5
    assert ours(one, part="cells")["value"].sum() == 180
    assert ours(ten, level="sector")["value"].sum() == 180
    assert ours(ten, name="retail")["value"].to_list() == [0, 0]
    taxonomy = artifact("visogender/figure13", [], data=data).table
    assert taxonomy.filter(pl.col("occupation") == "baker")["what"].to_list() == ["mixing spoon / customer"]
    assert taxonomy["value"].to_list() == [30] * 6


def test_a_run_without_samples_takes_them_from_the_data(runs, data, tmp_path):
    run = RunFolder.read(runs["resolution"][0])
    bare = RunFolder(run.findings, run.manifest, run.counts, run.tables)
    found = artifact("visogender/figure3", [bare], data=data).table
    assert found.equals(make_artifact("figure3", runs, data).table)
    with pytest.raises(InputError, match=r"labour statistics; type: evenhand data fetch visogender"):
        artifact("visogender/figure3", [bare])


def test_runs_are_told_apart_by_model_tags_and_parameters(runs, data):
    names = [name for name, _ in named_by_tags([RunFolder.read(path) for path in runs["resolution"]])]
    assert len(set(names)) == 3
    assert "training=web" in names[1]
    assert "imagenet_zero_shot" not in names[0]
    same = [name for name, _ in named_by_tags([RunFolder.read(runs["resolution"][0])] * 2)]
    assert [name.rpartition(" · ")[2] for name in same] == ["1", "2"]


def test_the_command_takes_runs_data_parameters_and_a_seed(runs, data, tmp_path):
    out = tmp_path / "made.csv"
    call = ["artifact", "visogender/table8", str(runs["resolution"][0]), "--data", str(data), "-p", "k=3"]
    assert CliRunner().invoke(app, [*call, "--seed", "4", "-o", str(out)]).exit_code == 0
    expected = artifact("visogender/table8", runs["resolution"][:1], data=data, parameters={"k": "3"}, seed=4)
    assert pl.read_csv(out, columns=["value"])["value"].to_list() == expected.table["value"].to_list()
    assert CliRunner().invoke(app, ["artifact", "visogender/table1", "--data", str(data)]).exit_code == 0


def test_a_run_makes_the_tables_that_it_alone_can_fill(runs, data):
    run = RunFolder.read(runs["resolution"][0])
    bare = replace(run, tables={name: run.tables[name] for name in ("coverage", "scores")})
    tables = artifact_tables(bare)
    assert {"visogender-table2", "visogender-figure2", "visogender-table9"} <= set(tables)
    assert not {"visogender-table1", "visogender-table3", "visogender-table7"} & set(tables)
    why = dict(tables["artifacts"].select("artifact", "reason").iter_rows())
    assert why["visogender/table2"] is None
    assert why["visogender/table3"].startswith("made from runs of visogender/retrieval, this run is a run of")
    assert why["visogender/table7"].startswith("this needs the table of labour statistics; type:")
    assert why["visogender/table1"].endswith("type: evenhand artifact visogender/table1 --data DIR")
    with_data = artifact_tables(bare, data=data)
    assert {"visogender-table1", "visogender-table7", "visogender-figure3"} <= set(with_data)
    assert artifact_tables(replace(run, tables=tables)) == {}, "what a run keeps is not made again"


def test_table2_of_upstream_scores_in_paper_mode_is_the_upstream_benchmark(tmp_path):
    path = SHARED / "vectors" / "visogender" / "resolution_cases.json"
    if not path.is_file():
        pytest.skip(f"needs {path}")
    blocks = {
        "single": "single_person_images",
        "two persons": "two_person_images",
        "same": "two_person_images_same_gender",
        "different": "two_person_images_diff_gender",
    }
    for number, case in enumerate(json.loads(path.read_text())["cases"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        for context in ("op", "oo"):
            (folder / f"clip_x_Context{context.upper()}.json").write_text(json.dumps(case[context]))
        run = eh.score("visogender/resolution", evidence=folder, parameters={"mode": "paper"})
        found = dict(ours(artifact("visogender/table2", [run]).table).select("measure", "value").rows())
        expected = case["expected_benchmark"]["resolution_bias"]
        assert found["overall RA"] == expected["all_images"]["overall_accuracy"]
        for title, block in blocks.items():
            assert found[f"{title} RA"] == expected[block]["RA_avg"]
            assert found[f"{title} gap"] == expected[block]["gender_gap"]


@pytest.mark.parametrize(
    ("model", "label"),
    [
        ("hf:openai/clip-vit-base-patch32", "hf:openai/clip-vit-base-patch32"),
        ("hf:/models/clip", "clip"),
        ("/home/me/own.py:MODEL", "own.py:MODEL"),
        ("timm:resnet50", "timm:resnet50"),
    ],
)
def test_a_model_is_called_by_the_last_part_of_a_path(model, label, runs):
    findings = RunFolder.read(runs["resolution"][0]).findings
    assert [name for name, _ in named_by_tags([RunFolder(findings, {"model": model})])] == [label]
