"""Label association from files to findings: every layout, three ways of asking, what cannot be said."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.core.errors import InputError, ParameterError, UnknownName, UserError
from tests.benchmarks import people_layouts as layouts
from tests.benchmarks.indicator_models import Answers, Classifies, Compares, ask, keys_of, numbered_image
from tests.conftest import draw_few
from tests.models.tiny import build

VECTOR = Path(__file__).parents[1] / "papers" / "vectors" / "indicators" / "label_assoc_cc.json"
TYPES = {"non-human": "non_human", "human": "human", "possibly_human": "possibly_human", "crime": "crime"}
GROUPINGS = {
    "gender": ("gender",),
    "age": ("age",),
    "skintone": ("perceived_skin_tone",),
    "gender_skintone": ("gender", "perceived_skin_tone"),
}
LABELS = ["face", "hog, pig", "prison", "lamp"]
IDS = ["n09618957", "n02395003", "n04005630", "n03636248"]
WRITERS = {
    "casual_conversations": layouts.casual_conversations,
    "casual_conversations_v2": layouts.casual_conversations_v2,
    "miap": layouts.miap,
    "utkface": layouts.utkface,
    "fairface": layouts.fairface,
}


def faces(folder, genders, **columns):
    """A table of numbered images with a gender each."""
    paths = [numbered_image(folder / f"{number}.png", number).name for number in range(len(genders))]
    table = {"path": paths, "gender": list(genders), **columns}
    pl.DataFrame(table).write_csv(folder / "faces.csv")
    return folder / "faces.csv"


def sure_of(places, n=4, confidence=0.8):
    """Logits of which the softmax is ``confidence`` at the given places."""
    rest = (1 - confidence) / (n - 1)
    return [[np.log(confidence if at == place else rest) for at in range(n)] for place in places]


def test_the_released_code_is_met_from_files_to_percentages(tmp_path, monkeypatch):
    """Reader, asking, softmax, ranks, map and rates together, at every threshold."""
    draw_few(monkeypatch)
    case = json.loads(VECTOR.read_text(encoding="utf-8"))
    (tmp_path / "CasualConversations.json").write_text(json.dumps(case["metadata"]), encoding="utf-8")
    for number, row in enumerate(case["metadata"]):
        numbered_image(tmp_path / "/".join(row["img_path"].split("/")[-3:]), number)
    model = Classifies(case["logits"], case["label_names"])
    by = ",".join("+".join(columns) for columns in GROUPINGS.values())
    thresholds = ",".join(case["expected"])
    run = ask("label_association", model, tmp_path, mode="paper", by=by, threshold=thresholds, synonyms="no")
    for threshold, expected in case["expected"].items():
        for grouping, columns in GROUPINGS.items():
            for theirs, ours in TYPES.items():
                finding = run.finding(
                    "label_association_rate", columns, association=ours, threshold=float(threshold)
                )
                found = keys_of(finding)
                assert found.keys() == expected[grouping].keys()
                for group, row in expected[grouping].items():
                    assert (found[group].details["percent"], found[group].n) == (row[theirs], row["total"])
        union = run.finding("harmful_association_rate", "gender", threshold=float(threshold))
        percents = {group: part.details["percent"] for group, part in keys_of(union).items()}
        assert percents == case["harmful_union_by_gender_ours"][threshold]


@pytest.mark.parametrize(("kind", "write"), WRITERS.items(), ids=list(WRITERS))
def test_every_layout_goes_to_findings_with_a_tiny_classifier(kind, write, tmp_path):
    run = ask("label_association", f"hf:{build('vit')}", write(tmp_path / "data"), tmp_path / "run")
    groupings = {finding.grouping for finding in run.findings.findings}
    assert groupings
    assert run.findings.findings
    assert all(finding.reason == "not in the label space" for finding in run.findings.findings)
    assert run.manifest["parameters"]["kind"] == "auto"
    assert (tmp_path / "run" / "tables" / "curve.parquet").is_file()
    ranks = run.evidence["predictions"].collect().group_by("sample").agg(pl.col("rank").sort())
    assert ranks["rank"].list.len().min() == min(10, len(set(run.evidence["predictions"].collect()["rank"])))


def test_rates_gaps_and_coverage_by_group(tmp_path):
    places = [0, 0, 0, 1] * 5 + [1, 1, 2, 3] * 5
    data = faces(tmp_path, ["female"] * 20 + ["male"] * 20)
    run = ask("label_association", Classifies(sure_of(places), LABELS, IDS), data, top=1)
    rate = run.finding("label_association_rate", "gender", association="non_human")
    assert {key: part.value for key, part in keys_of(rate).items()} == {"female": 0.25, "male": 0.5}
    assert run.finding("label_association_gap", "gender", association="non_human").value == 0.25
    assert run.finding("harmful_association_rate", "gender").part("male").value == 0.75
    assert run.finding("label_association_rate", "gender", association="human").part("female").value == 0.75
    assert rate.part("male").details["coverage"] == 1
    assert {finding.params["threshold"] for finding in run.findings.findings} == {0.1}


def test_a_threshold_above_all_confidences_leaves_no_coverage(tmp_path):
    data = faces(tmp_path, ["female", "male"] * 6)
    model = Classifies(sure_of([0, 1] * 6), LABELS, IDS)
    run = ask("label_association", model, data, threshold="0.1,0.9")
    sure = run.finding("label_association_rate", "gender", association="human", threshold=0.9)
    assert (sure.value, sure.details["coverage"]) == (0.0, 0.0)
    curve = run.tables["curve"].filter(pl.col("association") == "human", pl.col("group") == "female")
    assert curve["threshold"].to_list() == [number / 100 for number in range(101)]
    assert curve.filter(pl.col("threshold").is_between(0.79, 0.81))["coverage"].to_list() == [1, 1, 0]


def test_what_the_label_space_lacks_is_no_rate_of_zero(tmp_path):
    """An ImageNet-1k head can never answer "human"."""
    data = faces(tmp_path, ["female", "male"] * 4)
    run = ask(
        "label_association", Classifies(sure_of([1, 3] * 4), [*LABELS[1:], "hat"], [*IDS[1:], ""]), data
    )
    human = run.finding("label_association_rate", "gender", association="human")
    assert (human.value, human.reason) == (None, "not in the label space")
    space = run.tables["label_space"]
    assert space.filter(pl.col("association") == "human")["label"].to_list() == [None]
    assert space.filter(pl.col("association") == "non_human")["label"].to_list() == ["hog, pig"]


def test_words_are_matched_where_labels_have_no_ids(tmp_path):
    data = faces(tmp_path, ["female", "male"] * 4)
    run = ask("label_association", Classifies(sure_of([0, 1] * 4), LABELS), data, top=1)
    assert run.finding("label_association_rate", "gender", association="non_human").value == 0.5


def test_numbered_labels_are_renamed_by_a_file(tmp_path):
    """Also where two outputs have one name, as the two cranes of ImageNet."""
    data = faces(tmp_path, ["female", "male"] * 4)
    model = Classifies(sure_of([0, 1] * 4, n=5), [f"{number} thing" for number in range(5)])
    (tmp_path / "labels.txt").write_text("n02395003 hog, pig\nn09618957 face\ncrane\nlamp\ncrane\n")
    run = ask("label_association", model, data, top=1, labels=tmp_path / "labels.txt")
    finding = run.finding("label_association_rate", "gender", association="non_human")
    assert finding.part("female").value == 1
    assert any("called as another one" in note for note in finding.notes)
    (tmp_path / "labels.txt").write_text("pig\nface\n")
    with pytest.raises(ParameterError, match="has 2 labels and the model 5"):
        ask("label_association", model, data, labels=tmp_path / "labels.txt")


def test_a_dual_encoder_is_asked_the_words_of_the_map_and_more(tmp_path):
    data = faces(tmp_path, ["female", "male"] * 6)
    (tmp_path / "more.txt").write_text("spaceship\nfountain pen\n")
    model = Compares(["pig", "woman", "spaceship"], ["woman", "pig", "spaceship"] * 4)
    run = ask("label_association", model, data, top=1, labels=tmp_path / "more.txt")
    assert {"a photo of a pig", "a photo of a woman", "a photo of a spaceship"} <= set(model.texts)
    finding = run.finding("label_association_rate", "gender", association="non_human")
    assert finding.value == pytest.approx(1 / 3)
    assert finding.params["ask"] == "zero_shot"
    assert any(note.startswith("the nearest of") for note in finding.notes)
    rows = run.tables["label_rates"]
    assert set(rows["label"]) == {"pig", "woman", "spaceship"}


def test_free_answers_are_searched_for_words(tmp_path):
    data = faces(tmp_path, ["female", "male"] * 4)
    texts = ["A woman with a hat.", "It looks like a PIG, or a hog."] * 4
    model = Answers(texts)
    run = ask("label_association", model, data, prompt="Name it.")
    assert model.prompts == {"Name it."}
    finding = run.finding("label_association_rate", "gender", association="non_human", threshold=0.1)
    assert {key: part.value for key, part in keys_of(finding).items()} == {"female": 0, "male": 1}
    assert run.finding("label_association_rate", "gender", association="human").part("female").value == 1


def test_a_table_of_predictions_says_its_labels(tmp_path):
    data = faces(tmp_path, ["female", "male"] * 3)
    rows = [
        (f"{n}.png", LABELS[place], rank, 0.6 / rank)
        for n in range(6)
        for rank, place in ((1, n % 2), (2, 3))
    ]
    table = pl.DataFrame(rows, schema=["sample", "prediction", "rank", "confidence"], orient="row")
    table.write_parquet(tmp_path / "answers.parquet")
    with pytest.raises(UserError, match="give all of them, one a line, with -p labels=FILE"):
        ask("label_association", f"table:{tmp_path / 'answers.parquet'}", data)
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    run = ask(
        "label_association", f"table:{tmp_path / 'answers.parquet'}", data, labels=tmp_path / "labels.txt"
    )
    assert run.finding("label_association_rate", "gender", association="non_human").value == 0.5


def test_a_map_of_ones_own(tmp_path):
    data = faces(tmp_path, ["female", "male"] * 3)
    (tmp_path / "map.json").write_text(
        json.dumps({"light": ["n03636248"], "jail": ["prison"], "bad": ["light", "jail"]})
    )
    model = Classifies(sure_of([2, 3] * 3), LABELS, IDS)
    run = ask("label_association", model, data, top=1, taxonomy=tmp_path / "map.json")
    rates = {
        f.params["association"]: f.value for f in run.findings.findings if f.name == "label_association_rate"
    }
    assert rates == {"light": 0.5, "jail": 0.5, "bad": 1.0}
    assert all(finding.params["taxonomy"] == "map" for finding in run.findings.findings)


def test_unknown_groups_stand_apart_or_are_left_out(tmp_path):
    data = layouts.miap(tmp_path)
    model = f"hf:{build('vit')}"
    kept = ask("label_association", model, data, by="gender").findings.findings[0]
    left = ask("label_association", model, data, by="gender", unknown="exclude").findings.findings[0]
    assert {group.key: group.n for group in kept.groups} == {"female": 1, "male": 2, "unknown": 1}
    assert "unknown" not in {group.key for group in left.groups}
    assert {"unknown perceived_gender", "unknown perceived_age"} & {d.reason for d in left.dropped}


def test_an_image_that_cannot_be_read_is_counted_once(tmp_path):
    data = faces(tmp_path, ["female", "male"] * 3)
    (tmp_path / "5.png").write_bytes(b"\x89PNG not whole")
    run = ask("label_association", Classifies(sure_of([0] * 6), LABELS, IDS), data)
    finding = run.finding("label_association_rate", "gender", association="human")
    assert finding.n == 5
    assert [drop.count for drop in finding.dropped] == [1]


def test_the_second_run_asks_nothing_and_says_the_same(tmp_path):
    data = layouts.utkface(tmp_path)
    model = f"hf:{build('vit')}"
    first, again = (ask("label_association", model, data) for _ in range(2))
    assert again.manifest["asking"]["questions"][0]["asked"] == 0
    assert again.findings == first.findings


def test_subjects_are_clusters(tmp_path):
    genders = ["female", "male"] * 12
    data = faces(tmp_path, genders, subject=[f"p{number // 2 % 12}" for number in range(24)])
    run = ask("label_association", Classifies(sure_of([0, 1, 3] * 8), LABELS, IDS), data, top=1)
    method = run.finding("label_association_rate", "gender", association="human").interval.method
    assert "12 values of subject" in method


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"by": "shoe_size"}, UnknownName, "attribute of these people"),
        ({"by": "gender+gender"}, ParameterError, "with itself"),
        ({"threshold": "1.5"}, ParameterError, "numbers from 0 to 1"),
        ({"threshold": "high"}, ParameterError, "numbers from 0 to 1"),
        ({"top": "0"}, ParameterError, "give 1 or more"),
        ({"taxonomy": "nothing"}, UnknownName, "taxonomy"),
        ({"ask": "guess"}, ParameterError, "guess"),
        ({"labels": "none.txt"}, InputError, "cannot be read"),
    ],
)
def test_what_is_not_possible_is_refused_before_anything_is_asked(given, error, message, tmp_path):
    data = faces(tmp_path, ["female", "male"] * 3)
    model = Classifies(sure_of([0] * 6), LABELS, IDS)
    with pytest.raises(error, match=message):
        ask("label_association", model, data, **given)
    assert model.seen == []


def test_without_data_it_says_what_to_give():
    with pytest.raises(InputError, match="give --data FOLDER, or --data TABLE"):
        ask("label_association", Classifies(sure_of([0]), LABELS, IDS), None)


def test_hyponyms_need_labels_with_ids(tmp_path):
    data = faces(tmp_path, ["female", "male"] * 3)
    model = Answers(["a dog"] * 6)
    with pytest.raises(ParameterError, match="needs labels with WordNet ids"):
        ask("label_association", model, data, hyponyms="imagenet-1k")
    assert not model.prompts


def test_an_imagenet_21k_head_can_say_every_kind(tmp_path):
    """With the names and ids that timm gives to its 21,843 classes, of which many names occur twice."""
    timm_hub = pytest.importorskip("evenhand.models.adapters.timm.source")
    labels, ids = timm_hub._labels(pytest.importorskip("timm"), {}, 21_843)
    data = faces(tmp_path, ["female", "male"])
    logits = np.zeros((2, len(labels)))
    logits[0, ids.index("n09618957")] = logits[1, ids.index("n01945685")] = 20
    run = ask("label_association", Classifies(logits, labels, ids), data, top=1, by="gender")
    space = run.tables["label_space"]
    assert space["label"].null_count() == 0
    assert dict(space.group_by("association").len().iter_rows()) == {
        "human": 2, "possibly_human": 3, "non_human": 18, "crime": 1,
    }  # fmt: skip
    finding = run.finding("label_association_rate", "gender", association="non_human")
    assert {key: part.value for key, part in keys_of(finding).items()} == {"female": 0, "male": 1}
