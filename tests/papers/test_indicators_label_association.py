"""Label association of the released code, to the digit, on its own outputs for synthetic logits."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand import metrics
from evenhand.benchmarks.labelling.taxonomies import CASUAL_CONVERSATIONS, OPENIMAGES_MIAP
from evenhand.evidence.label_matches import LabelMatches
from evenhand.metrics.labels.tables import association_confidences

CASE = json.loads((Path(__file__).parent / "vectors/indicators/label_assoc_cc.json").read_text())
TYPES = {"non-human": "non_human", "human": "human", "possibly_human": "possibly_human", "crime": "crime"}
GROUPINGS = {
    "gender": "gender",
    "age": "age",
    "skintone": "skintone",
    "gender_skintone": ["gender", "skintone"],
}
IDS = {
    "dog": "n02084071", "cat": "n02121620", "chair": "n03001627", "table": "n04379243", "hat": "n03497657",
    "scarf": "n04143897",
}  # fmt: skip


def age_of(text):
    if not text.isdigit():
        return "unknown"
    edges = [(18, "<18"), (30, "18-30"), (45, "30-45"), (70, "45-70")]
    return next((name for edge, name in edges if int(text) < edge), "70+")


def skin_of(text):
    return {"1": "lighter", "2": "lighter", "3": "lighter", "4": "darker", "5": "darker", "6": "darker"}.get(
        text, "unknown"
    )


def softmax(logits):
    """As the released code: over all logits, float32."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


CONFIDENCES = softmax(np.array(CASE["logits"], dtype=np.float32))
SAMPLES = [row["img_path"] for row in CASE["metadata"]]
ANNOTATIONS = pl.DataFrame(
    {
        "sample": SAMPLES,
        "gender": [row["gender"].lower() for row in CASE["metadata"]],
        "age": [age_of(row["age"]) for row in CASE["metadata"]],
        "skintone": [skin_of(row["skin-type"]) for row in CASE["metadata"]],
    }
)


def ranked(kept=10):
    """The predictions as a run writes them."""
    order = np.argsort(-CONFIDENCES, axis=1, kind="stable")[:, :kept]
    rows = [
        (SAMPLES[i], CASE["label_names"][code], rank, float(CONFIDENCES[i, code]))
        for i, codes in enumerate(order)
        for rank, code in enumerate(codes, 1)
    ]
    return pl.LazyFrame(rows, schema=["sample", "prediction", "rank", "confidence"], orient="row")


def by_name():
    terms = CASUAL_CONVERSATIONS.terms(synonyms=False)
    unions = CASUAL_CONVERSATIONS.unions
    return LabelMatches.from_predictions(ranked(), ANNOTATIONS, terms, CASE["label_names"], unions=unions)


def by_id():
    known = {
        name: id_
        for taxonomy in (CASUAL_CONVERSATIONS, OPENIMAGES_MIAP)
        for kind, names in taxonomy.words.items()
        for name, id_ in zip(names, taxonomy.ids[kind], strict=True)
    }
    ids = [{**IDS, **known}[name] for name in CASE["label_names"]]
    terms = CASUAL_CONVERSATIONS.terms(ids)
    return LabelMatches.from_confidences(
        CONFIDENCES, SAMPLES, ANNOTATIONS, terms, CASE["label_names"], ids, unions=CASUAL_CONVERSATIONS.unions
    )


@pytest.fixture(params=[by_name, by_id], ids=["names", "WordNet ids"])
def matches(request):
    return request.param()


def test_the_map_is_the_one_of_the_released_code():
    assert {TYPES[kind]: sorted(names) for kind, names in CASE["mapping"].items()} == {
        kind: sorted(names) for kind, names in CASUAL_CONVERSATIONS.words.items()
    }


def test_the_map_is_the_shared_one():
    path = Path(__file__).parents[3] / "shared/data/indicators/label_association_map.json"
    if not path.is_file():
        pytest.skip(f"needs {path}")
    shared = json.loads(path.read_text())
    for key, ours in (("casual_conversations", CASUAL_CONVERSATIONS), ("openimages_miap", OPENIMAGES_MIAP)):
        assert {kind.replace("-", "_"): set(names) for kind, names in shared[key].items()} == {
            kind: set(names) for kind, names in ours.words.items()
        }
        for kind, names in ours.words.items():
            for name, id_ in zip(names, ours.ids[kind], strict=True):
                assert shared["labels"][name]["wnid"] == id_


@pytest.mark.parametrize("threshold", CASE["expected"])
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_paper_mode_is_the_released_code(matches, threshold, grouping):
    expected = CASE["expected"][threshold][grouping]
    for theirs, ours in TYPES.items():
        finding = metrics.label_association_rate(
            matches, association=ours, by=GROUPINGS[grouping], threshold=float(threshold), mode="paper",
            inference="none",
        )  # fmt: skip
        found = {
            part.key if isinstance(part.key, str) else "_".join(part.key): part for part in finding.parts
        }
        assert found.keys() == expected.keys()
        for group, row in expected.items():
            assert (found[group].details["percent"], found[group].n) == (row[theirs], row["total"])
            assert found[group].value == row[theirs] / 100


@pytest.mark.parametrize("threshold", CASE["expected"])
def test_harmful_is_a_union_by_image(matches, threshold):
    finding = metrics.harmful_association_rate(
        matches, by="gender", threshold=float(threshold), mode="paper", inference="none"
    )
    found = {part.key: part.details["percent"] for part in finding.parts}
    assert found == CASE["harmful_union_by_gender_ours"][threshold]


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_curves_are_the_same_numbers(matches, grouping):
    cuts = [float(threshold) for threshold in CASE["expected"]]
    curve = metrics.association_curve(matches, GROUPINGS[grouping], cuts)
    rows = {
        (row["association"], row["group"].replace("*", "_"), row["threshold"]): row
        for row in curve.iter_rows(named=True)
    }
    for threshold, groupings in CASE["expected"].items():
        for group, expected in groupings[grouping].items():
            for theirs, ours in TYPES.items():
                row = rows[ours, group, float(threshold)]
                assert round(100 * row["rate"], 3) == expected[theirs]
                assert row["n"] == expected["total"]
                assert row["low"] <= row["rate"] <= row["high"]


def test_thresholds_are_inclusive_on_float32_confidences():
    exactly = np.array([[0.1, 0.3, 0.6]], dtype=np.float32)
    table = pl.DataFrame({"sample": ["a"]})
    found = LabelMatches.from_confidences(exactly, ["a"], table, {"crime": ["x"]}, ["x", "y", "z"])
    assert metrics.label_association_rate(found, association="crime", threshold=0.1).value == 1


def one_by_one(matches, group, association, threshold):
    """Confidences of the labels that count, by the released code's loops."""
    inside = set(matches.labels_of(association))
    values = []
    for row in np.flatnonzero((ANNOTATIONS["gender"] == group).to_numpy()):
        order = np.argsort(-CONFIDENCES[row], kind="stable")[:10]
        kept = [code for code in order if CONFIDENCES[row, code] >= threshold][:5]
        values += [float(CONFIDENCES[row, code]) for code in kept if CASE["label_names"][code] in inside]
    return values


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.3])
def test_mean_confidence_of_the_labels_that_count(matches, threshold):
    table = association_confidences(matches, "gender", threshold)
    for row in table.filter(pl.col("association") != "harmful").iter_rows(named=True):
        values = one_by_one(matches, row["group"], row["association"], threshold)
        assert row["labels"] == len(values)
        assert row["mean_confidence"] == (pytest.approx(np.mean(values)) if values else None)
        group = (ANNOTATIONS["gender"] == row["group"]).to_numpy()
        assert row["first_confidence"] == pytest.approx(CONFIDENCES[group].max(axis=1).mean())
