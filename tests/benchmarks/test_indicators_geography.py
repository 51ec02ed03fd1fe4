"""Geographic diversity from files to findings: maps, three ways of asking, and a reference run."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.core.errors import InputError, ParameterError, UnknownName
from tests.benchmarks.indicator_models import Answers, Classifies, Compares, ask, keys_of, numbered_image
from tests.benchmarks.people_layouts import write_csv
from tests.benchmarks.test_indicators_places import WRITERS
from tests.models.tiny import build

VECTOR = Path(__file__).parents[1] / "papers" / "vectors" / "indicators" / "geo_diversity.json"
WAYS = {"released_code_no_dedup": "paper", "paper_dedup_by_image": "default"}
GROUPINGS = {
    "income": ("income_bucket",),
    "region": ("region",),
    "income_region": ("income_bucket", "region"),
}
THINGS = ["stove", "bed", "cup"]


def homes(folder, rows):
    """A table of numbered images: household, concept, income, country and region of each."""
    lines = [(numbered_image(folder / f"{number}.png", number).name, *row) for number, row in enumerate(rows)]
    header = ["image", "household", "concept", "income", "country", "region"]
    return write_csv(folder / "homes.csv", header, lines)


def planted(households=20, images=4, poor=0.25, rich=0.75):
    """Half of the households are poor; of their images as many are right as it says, more or less."""
    rows, right = [], []
    for household in range(households):
        low = household % 2 == 0
        for image in range(images):
            country = ("India", "Asia") if low else ("France", "Europe")
            rows.append((f"h{household}", THINGS[image % 3], 50 if low else 5_000, *country))
            more = (-1, 1)[household // 2 % 2] if images == 4 else 0
            right.append(image < images * (poor if low else rich) + more)
    return rows, right


def logits_for(rows, right, labels=THINGS):
    """The right label first, or the next one."""
    made = np.zeros((len(rows), len(labels)))
    for number, (row, hit) in enumerate(zip(rows, right, strict=True)):
        made[number, (labels.index(row[1]) + (not hit)) % len(labels)] = 3
    return made


@pytest.mark.parametrize("way", WAYS)
def test_the_released_code_is_met_from_files_to_rates(way, tmp_path):
    case = json.loads(VECTOR.read_text(encoding="utf-8"))
    (tmp_path / "metadata_full_dollar_street.json").write_text(json.dumps(case["metadata"]))
    for number, path in enumerate(case["image_paths"]):
        numbered_image(tmp_path / "images" / "/".join(path.split("/")[-2:]), number)
    (tmp_path / "map.json").write_text(json.dumps(case["id_to_dollar_street_labels"]))
    model = Classifies(case["logits"], [f"class {number}" for number in range(8)])
    run = ask(
        "geography", model, tmp_path, concept_map=tmp_path / "map.json", top=case["topk"], mode=WAYS[way],
        threshold="0,0.2", duplicates="keep" if WAYS[way] == "default" else "auto",
    )  # fmt: skip
    for threshold, expected in case["expected"][way].items():
        given = {"threshold": float(threshold)} if float(threshold) else {}
        for grouping, columns in GROUPINGS.items():
            found = [
                one
                for one in run.findings.findings
                if one.name == "household_hit_rate"
                and one.by == list(columns)
                and one.params.get("threshold") == given.get("threshold")
            ]
            assert len(found) == 1
            values = {key: round(part.value, 6) for key, part in keys_of(found[0], "|").items()}
            if way == "released_code_no_dedup" or threshold == "0.0":
                assert values == expected[grouping]
    households = dict(run.tables["households"].select("household", pl.col("hit_rate").round(6)).iter_rows())
    assert households == case["expected"][way]["0.0"]["per_household"]


@pytest.mark.parametrize(("kind", "write"), WRITERS.items(), ids=list(WRITERS))
def test_every_layout_goes_to_findings_with_a_tiny_dual_encoder(kind, write, tmp_path):
    run = ask("geography", f"hf:{build('clip')}", write(tmp_path / "data"), tmp_path / "run", top=1)
    finding = run.finding("household_hit_rate", "income_bucket")
    assert 0 <= finding.value <= 1
    assert finding.params["ask"] == "zero_shot"
    assert (tmp_path / "run" / "tables" / "hits.parquet").is_file()


def test_a_planted_gap_by_income_is_found(tmp_path):
    rows, right = planted()
    run = ask("geography", Classifies(logits_for(rows, right), THINGS), homes(tmp_path, rows), top=1)
    rate = run.finding("household_hit_rate", "income_bucket")
    assert {key: part.value for key, part in keys_of(rate).items()} == {"low": 0.25, "high": 0.75}
    gap = run.finding("household_hit_gap", "income_bucket")
    assert gap.value == 0.5
    assert gap.interval.low > 0
    assert gap.p_value < 0.01
    worst = run.finding("worst_household_hit_rate", "region")
    assert worst.value == 0.25
    assert run.tables["countries"]["hit_rate"].sort().to_list() == [0.25, 0.75]
    assert {finding.name for finding in run.findings.findings} >= {"country_income_correlation"}


def test_what_no_label_names_is_left_out_and_counted(tmp_path):
    rows, right = planted()
    labels = ["stove", "bed", "lamp"]
    model = Classifies(logits_for(rows, right), labels)
    finding = ask("geography", model, homes(tmp_path, rows), top=1).finding("household_hit_rate", "region")
    cups = sum(row[1] == "cup" for row in rows)
    assert finding.n == len(rows) - cups
    assert {drop.reason: drop.count for drop in finding.dropped} == {"concept not in the label space": cups}


def test_a_model_that_never_says_a_thing_hits_nothing(tmp_path):
    rows, _ = planted()
    logits = np.tile([0.0, 0.0, 0.0, 5.0], (len(rows), 1))
    run = ask("geography", Classifies(logits, [*THINGS, "lamp"]), homes(tmp_path, rows), top=1)
    assert run.finding("household_hit_rate", "income_bucket").value == 0


def test_free_answers_hit_where_they_name_the_thing(tmp_path):
    rows, _ = planted(images=3)
    texts = [f"I see a {row[1]} and a CUP." if row[3] == "France" else "Hard to say." for row in rows]
    run = ask("geography", Answers(texts), homes(tmp_path, rows))
    rate = run.finding("household_hit_rate", "region")
    assert {key: part.value for key, part in keys_of(rate).items()} == {"Asia": 0, "Europe": 1}
    assert "top" not in rate.params


def test_a_dual_encoder_chooses_among_the_things_of_the_table(tmp_path):
    rows, right = planted(images=3)
    words = [row[1] if hit else "moon" for row, hit in zip(rows, right, strict=True)]
    (tmp_path / "more.txt").write_text("moon\n")
    run = ask(
        "geography",
        Compares([*THINGS, "moon"], words),
        homes(tmp_path, rows),
        top=1,
        labels=tmp_path / "more.txt",
    )
    assert run.finding("household_hit_rate", "income_bucket").part("low").value == pytest.approx(1 / 3)


def test_the_improvement_over_another_run(tmp_path):
    rows, right = planted(poor=0.25, rich=0.5)
    data = homes(tmp_path, rows)
    ask("geography", Classifies(logits_for(rows, right), THINGS), data, tmp_path / "first", top=1)
    better = planted(poor=0.5, rich=0.5)[1]
    run = ask(
        "geography", Classifies(logits_for(rows, better), THINGS), data, top=1, reference=tmp_path / "first"
    )
    finding = run.finding("household_hit_improvement", "income_bucket")
    assert {key: part.value for key, part in keys_of(finding).items()} == pytest.approx({"low": 1, "high": 0})
    with pytest.raises(InputError, match="is no run of indicators/geography"):
        ask("geography", Classifies(logits_for(rows, right), THINGS), data, top=1, reference=tmp_path)


def test_a_reference_that_was_judged_otherwise_is_refused_and_says_in_what(tmp_path):
    rows, right = planted(households=8)
    data = homes(tmp_path, rows)
    model = Classifies(logits_for(rows, right), THINGS)
    ask("geography", model, data, tmp_path / "first", top=1, threshold="0.3")
    given = {"top": 1, "reference": tmp_path / "first"}
    with pytest.raises(InputError, match=r"another threshold 0.3 \(here 0\); run it again"):
        ask("geography", model, data, **given)
    with pytest.raises(InputError, match=r"mode default \(here paper\), top 1 \(here 2\)"):
        ask("geography", model, data, threshold="0.3", mode="paper", **{**given, "top": 2})
    (tmp_path / "mine.json").write_text(json.dumps({thing: [thing] for thing in THINGS}))
    with pytest.raises(InputError, match=r"concept_map names \(here mine\)"):
        ask("geography", model, data, threshold="0.3", concept_map=tmp_path / "mine.json", **given)
    run = ask("geography", model, data, threshold="0.3", **given)
    finding = run.finding("household_hit_improvement", "region")
    assert (finding.value, finding.params["threshold"]) == (0, 0.3)
    assert finding.reference == f"Classifies ({tmp_path / 'first'})"
    assert f"the reference is {finding.reference}" in finding.notes


def test_a_reference_that_was_adapted_otherwise_is_told_with_the_improvement(tmp_path):
    rows, right = planted(households=8)
    data = homes(tmp_path, rows)
    model = Classifies(logits_for(rows, right), THINGS)
    ask("geography", model, data, tmp_path / "first", top=1)
    manifest = tmp_path / "first" / "manifest.json"
    told = json.loads(manifest.read_text())
    told["model_identity"]["adaptation"] = "linear_probe"
    manifest.write_text(json.dumps(told))
    (tmp_path / "first" / "hashes.json").unlink()
    run = ask("geography", model, data, top=1, reference=tmp_path / "first")
    notes = run.finding("household_hit_improvement", "region").notes
    assert any("was adapted and 'Classifies' was not" in note for note in notes)
    assert not any("adapted" in note for note in run.finding("household_hit_rate", "region").notes)


def test_each_threshold_has_its_improvement(tmp_path):
    rows, right = planted(households=8)
    data = homes(tmp_path, rows)
    made = logits_for(rows, right)
    ask("geography", Classifies(made, THINGS), data, tmp_path / "first", top=1, threshold="0,0.95")
    surer = Classifies(made * 2, THINGS)  # the same labels; of three with 3 and 0 the first is .91 sure
    run = ask("geography", surer, data, top=1, threshold="0,0.95", reference=tmp_path / "first")
    found = [one for one in run.findings.findings if one.name == "household_hit_improvement"]
    by_income = [one for one in found if one.by == ["income_bucket"]]
    assert [(one.params.get("threshold"), one.value, one.reason) for one in by_income] == [
        (None, 0, None), (0.95, None, "undefined"),
    ]  # fmt: skip


def test_incomes_that_cannot_be_read_are_told_with_the_findings(tmp_path):
    rows, right = planted(households=8)
    rows = [(*row[:2], "$1,200", *row[3:]) for row in rows]
    run = ask("geography", Classifies(logits_for(rows, right), THINGS), homes(tmp_path, rows), top=1)
    notes = run.finding("household_hit_rate", "region").notes
    assert f"income that is no number above 0: {len(rows)}" in notes
    assert "not grouped by income_bucket: no household has it" in notes


def test_one_prediction_an_image_is_not_called_high_by_design(tmp_path):
    rows, right = planted(households=8)
    data, labels = homes(tmp_path, rows), [*THINGS, "lamp", "pot", "rug"]
    (tmp_path / "labels.txt").write_text("\n".join(labels))
    table = pl.DataFrame({"sample": [f"{n}.png" for n in range(len(rows))],
                          "prediction": [row[1] for row in rows], "confidence": 0.5})  # fmt: skip
    table.write_csv(tmp_path / "said.csv")
    run = ask("geography", f"table:{tmp_path / 'said.csv'}", data, labels=tmp_path / "labels.txt")
    notes = " ".join(run.finding("household_hit_rate", "region").notes)
    assert "at most 1 predictions" in notes
    assert "by design" not in notes
    every = ask("geography", Classifies(logits_for(rows, right, labels), labels), data)
    assert "of only 6 labels 5 count" in " ".join(every.finding("household_hit_rate", "region").notes)


def test_the_first_images_only(tmp_path):
    rows, right = planted()
    run = ask(
        "geography", Classifies(logits_for(rows, right), THINGS), homes(tmp_path, rows), limit=10, top=1
    )
    assert run.finding("household_hit_rate", "income_bucket").n == 10


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"by": "continent"}, UnknownName, "attribute of these households"),
        ({"by": "region+region"}, ParameterError, "with itself"),
        ({"top": "0"}, ParameterError, "give 1 or more"),
        ({"threshold": "2"}, ParameterError, "numbers from 0 to 1"),
        ({"concept_map": "nothing.json"}, InputError, "there is no concept map"),
    ],
)
def test_what_is_not_possible_is_refused(given, error, message, tmp_path):
    rows, right = planted(households=4)
    with pytest.raises(error, match=message):
        ask("geography", Classifies(logits_for(rows, right), THINGS), homes(tmp_path, rows), **given)
