"""Resolution of VisoGender: the original benchmark file to the digit, and the published tables."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from evenhand import metrics
from evenhand.benchmarks.visogender.data.captions import OCC_FIRST, PAR_FIRST
from evenhand.benchmarks.visogender.data.settings import SETTINGS, choices_of
from evenhand.benchmarks.visogender.original_code import json_files as upstream
from evenhand.benchmarks.visogender.original_code import paper_mode
from evenhand.evidence.choices import BINARY_PRONOUNS, PRONOUNS
from tests.benchmarks import original_files

VECTORS = Path(__file__).parent / "vectors" / "visogender"
CASES = json.loads(gzip.decompress((VECTORS / "resolution_cases.json.gz").read_bytes()))["cases"]
TABLES = json.loads((VECTORS / "paper_tables.json").read_text())
NAMES = {
    "single": "single_person_images",
    "two_person": "two_person_images",
    "same": "two_person_images_same_gender",
    "different": "two_person_images_diff_gender",
}
each_case = pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])


def read(case, folder):
    """The case through its upstream files."""
    files = []
    for context, key in (("two_person", "op"), ("single", "oo")):
        files.append(folder / original_files.resolution_name(case["experiment"], case["model"], context))
        files[-1].write_bytes(upstream.dump(case[key]))
    return upstream.read_resolution(*files)


@each_case
def test_the_benchmark_file_is_written_to_the_digit(case, tmp_path):
    found = read(case, tmp_path)
    choices = choices_of(found.scores, found.samples)
    content = paper_mode.benchmark_file(choices, experiment=found.experiment, model=found.model)
    assert upstream.dump(content) == upstream.dump(case["expected_benchmark"])


@each_case
def test_model_outputs_are_written_as_they_were_read(case, tmp_path):
    found = read(case, tmp_path)
    for context, key in (("two_person", "op"), ("single", "oo")):
        assert upstream.dump(original_files.resolution_records(found, context)) == upstream.dump(case[key])
        flagged = original_files.resolution_records(found, context, flags=True)
        for sample, flags in case["expected_flags"].items():
            for name, value in flags.items():
                assert sample not in flagged or flagged[sample][name] is value


@each_case
def test_unrounded_values_of_default_mode(case, tmp_path):
    if "tied" in case["name"]:
        pytest.skip("default mode shares ties")
    found = read(case, tmp_path)
    choices = choices_of(found.scores, found.samples)
    for setting, name in NAMES.items():
        expected = case["unrounded_ours"][name]
        accuracy = metrics.resolution_accuracy(choices, where=SETTINGS[setting])
        assert accuracy.value == pytest.approx(expected["RA_avg"], abs=1e-12)
        assert accuracy.part("masculine").value == pytest.approx(expected["RA_m"], abs=1e-12)
        assert accuracy.part("feminine").value == pytest.approx(expected["RA_f"], abs=1e-12)
        gap = metrics.resolution_gap(choices, where=SETTINGS[setting])
        assert gap.value == pytest.approx(expected["gender_gap"], abs=1e-12)


@each_case
def test_counts_by_cell(case, tmp_path):
    found = read(case, tmp_path)
    for key, expected in case["counts_ours"].items():
        context, template, pair = key.split("|")
        chosen = OCC_FIRST if template == "occ_first" else PAR_FIRST
        three = choices_of(found.scores, found.samples, template=chosen)
        two = choices_of(found.scores, found.samples, template=chosen, candidates=BINARY_PRONOUNS)
        cell = (three.table["gender_pair"] == pair) & (
            three.table["context"] == ("two_person" if context == "OP" else "single")
        )
        rows = cell.to_numpy()
        assert rows.sum() == expected["n"]
        outcomes = three.outcomes("first")[0][rows].sum(axis=0)
        assert outcomes[0] == expected["correct_3way"]
        assert outcomes[2] == expected["neutral_3way"]
        assert two.outcomes("first")[0][rows, 0].sum() == expected["correct_2way"]
        assert three.tied[rows].sum() == expected["top_ties_3way"]
        assert two.tied[rows].sum() == expected["his_her_ties"]


def test_a_captioner_has_no_retrieval_part(tmp_path):
    found = read(CASES[0], tmp_path)
    choices = choices_of(found.scores, found.samples)
    content = paper_mode.benchmark_file(choices, experiment="CAPTIONING", model="blipv2")
    assert list(content) == ["metadata", "resolution_bias"]
    assert paper_mode.benchmark_name("CAPTIONING", "blipv2") == "benchmark_results_CAPTIONING_blipv2.json"


def test_retrieval_numbers_are_rounded_and_missing_ones_null(tmp_path):
    found = read(CASES[0], tmp_path)
    choices = choices_of(found.scores, found.samples)
    given = {"bias@5": (0.1349, 0.3851), "NDKL": (0.175, float("nan"))}
    content = paper_mode.benchmark_file(choices, experiment="CLIP", model="x", retrieval=given)
    assert content["retrieval_bias"]["bias@5"] == {"mean": 0.13, "sigma": 0.39}
    assert content["retrieval_bias"]["NDKL"] == {"mean": 0.18, "sigma": None}
    assert content["retrieval_bias"]["maxskew@5"] == {"mean": None, "sigma": None}


def test_one_context_alone_leaves_the_other_null(tmp_path):
    path = tmp_path / "clip_x_ContextOO.json"
    path.write_bytes(upstream.dump(CASES[0]["oo"]))
    found = upstream.read_resolution(path)
    numbers = paper_mode.resolution_numbers(choices_of(found.scores, found.samples))
    assert numbers["single_person_images"] == {"RA_avg": 0.87, "gender_gap": 0.08}
    assert numbers["all_images"] == {"overall_accuracy": None}
    assert numbers["two_person_images_same_gender"] == {"RA_avg": None, "gender_gap": None}


@pytest.mark.parametrize("model", [name for name in TABLES["table2"] if name != "cols"])
def test_published_accuracies_are_means_of_means(model):
    row = dict(zip(TABLES["table2"]["cols"], TABLES["table2"][model], strict=True))
    assert row["overall_RA"] == pytest.approx((row["single_RA"] + row["two_RA"]) / 2, abs=0.0101)
    assert row["two_RA"] == pytest.approx((row["same_RA"] + row["diff_RA"]) / 2, abs=0.0151)
    if model != "ALIGN":  # printed as -.02 beside -.01 and .03, whose mean is .01
        assert row["two_gap"] == pytest.approx((row["same_gap"] + row["diff_gap"]) / 2, abs=0.0201)


@pytest.mark.parametrize("model", ["CLIP", "BLIP-2"])
@pytest.mark.parametrize("setting", ["single", "two", "same", "diff"])
def test_published_right_and_neutral_choices_leave_room_for_misgendering(model, setting):
    right = dict(zip(TABLES["table2"]["cols"], TABLES["table2"][model], strict=True))
    neutral = dict(zip(TABLES["table4_neutral"]["cols"], TABLES["table4_neutral"][model], strict=True))
    for sign in (1, -1):
        accuracy = right[f"{setting}_RA"] + sign * right[f"{setting}_gap"] / 2
        rate = neutral[f"{setting} R"] + sign * neutral[f"{setting} dN"] / 2
        assert accuracy + rate <= 1 + 0.02


def test_the_published_gap_of_clip_is_neutral_choices(tmp_path):
    """Single persons: RA .85 / .99 with neutral .13 / .01 give the gap -.14; misgendering does not."""
    rows = []
    for sample, record in CASES[0]["oo"].items():
        gender, number = record["occ_gender"], int(sample.split("_")[1])
        right, wrong = ("his", "her") if gender == "masculine" else ("her", "his")
        rows.append((sample, gender, right, wrong, number))
    chosen = {}
    for gender, (hits, neutral) in {"masculine": (98, 15), "feminine": (114, 1)}.items():
        mine = sorted((row for row in rows if row[1] == gender), key=lambda row: row[4] * 7919 % 231)
        for index, (sample, _, right, wrong, _) in enumerate(mine):
            chosen[sample] = right if index < hits else "their" if index < hits + neutral else wrong
    (tmp_path / "clip_x_ContextOO.json").write_bytes(upstream.dump(CASES[0]["oo"]))
    found = upstream.read_resolution(tmp_path / "clip_x_ContextOO.json")
    scores = pl.DataFrame(
        [(s, c, float(c == best)) for s, best in chosen.items() for c in PRONOUNS],
        schema=["sample", "candidate", "score"],
        orient="row",
    )
    choices = choices_of(scores, found.samples)
    table2 = dict(zip(TABLES["table2"]["cols"], TABLES["table2"]["CLIP"], strict=True))
    assert metrics.resolution_gap(choices, mode="paper").value == table2["single_gap"]
    assert metrics.neutral_gap(choices).p_value < 0.01
    assert metrics.misgendering_gap(choices).p_value > 0.05
    assert metrics.misgendering_rate(choices).value == pytest.approx(2 / 230)
