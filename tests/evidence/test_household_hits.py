"""HouseholdHits: what is a hit, one row an image or a pair, what is dropped, and what is refused."""

import numpy as np
import polars as pl
import pytest

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.household_hits import UNNAMEABLE, HouseholdHits, income_buckets

MAP = {"cup": ["cups"], "plate": ["plates", "plates of food"], "stove": ["stoves"], "bed": ["beds"]}
ROWS = [
    ("a", "cup", 1, 0.6), ("a", "plate", 2, 0.3), ("a", "stove", 3, 0.1),
    ("b", "bed", 1, 0.5), ("b", "plate", 2, 0.5), ("b", "cup", 3, 0.0),
    ("c", "stove", 1, 0.9), ("c", "cup", 2, 0.1), ("c", "bed", 3, 0.0),
]  # fmt: skip


def table(rows=ROWS):
    schema = {"sample": pl.String, "prediction": pl.String, "rank": pl.Int64, "confidence": pl.Float64}
    return pl.LazyFrame(rows, schema=schema, orient="row")


def homes(**columns):
    return pl.DataFrame(
        {
            "sample": ["a", "b", "c"],
            "household": ["h", "h", "i"],
            "concepts": [["cups", "plates"], ["cups"], ["stoves", "beds"]],
            "region": ["Asia", "Asia", "Africa"],
            "income": [45.5, 45.5, 2000.0],
            **columns,
        }
    )


def hits(rows=ROWS, annotations=None, concept_map=MAP, top=2, **options):
    homes_ = homes() if annotations is None else annotations
    return HouseholdHits.from_predictions(table(rows), homes_, concept_map, top=top, **options)


def pairs(found, column="hit"):
    return {(s, c): value for s, c, value in found.table.select("sample", "concept", column).iter_rows()}


def test_a_pair_is_hit_where_a_first_prediction_names_its_concept():
    assert pairs(hits()) == {
        ("a", "cups"): 1, ("a", "plates"): 1, ("b", "cups"): 0, ("c", "beds"): 0, ("c", "stoves"): 1,
    }  # fmt: skip
    assert pairs(hits(top=1))["a", "plates"] == 0


def test_a_hit_is_surer_than_the_threshold_and_coverage_as_sure():
    assert pairs(hits(top=3))["b", "cups"] == 0  # its confidence is 0, not above
    assert pairs(hits(threshold=0.3))["a", "plates"] == 0
    assert pairs(hits(threshold=0.29))["a", "plates"] == 1
    assert pairs(hits(threshold=0.5), "covered")["b", "cups"] == 1
    assert pairs(hits(threshold=0.51), "covered")["b", "cups"] == 0


def test_another_threshold_is_as_if_made_with_it():
    assert hits().at(0.3).table.equals(hits(threshold=0.3).table)
    with pytest.raises(ParameterError, match=r"choose a confidence in \[0, 1\]"):
        hits().at(1.5)


def test_an_image_is_hit_where_any_of_its_concepts_is():
    images = hits().images
    assert images.select("household", "image", "hit").rows() == [("h", "a", 1), ("h", "b", 0), ("i", "c", 1)]
    assert "concept" not in images.columns


def test_samples_with_the_same_image_of_a_household_are_one():
    found = hits(annotations=homes(image=["x", "x", "x"]))
    assert found.images.select("household", "image", "hit").rows() == [("h", "x", 1), ("i", "x", 1)]
    assert found.table.height == 5


def test_the_first_of_several_classes_of_a_concept_counts():
    rows = [("a", "cup", 1, 0.6), ("a", "mug", 2, 0.4)]
    found = hits(rows, homes()[:1], {"cup": ["cups"], "mug": ["cups", "plates"]})
    assert pairs(found, "confidence") == {("a", "cups"): 0.6, ("a", "plates"): 0.4}


def test_labels_name_themselves_without_a_map():
    rows = [("a", "cups", 1, 0.6), ("b", "beds", 1, 0.6), ("c", "beds", 1, 0.6)]
    found = hits(rows, concept_map=None, top=1)
    assert sum(pairs(found).values()) == 2
    assert found.inexpressible == ()


def test_concepts_that_no_label_names_are_left_out_and_counted():
    found = hits(annotations=homes(concepts=[["cups", "goats"], ["goats"], ["stoves"]]))
    assert sorted(pairs(found)) == [("a", "cups"), ("c", "stoves")]
    assert found.dropped == {UNNAMEABLE: 1}
    assert found.inexpressible == ("goats",)
    assert "concepts that no label names: 1, such as 'goats'" in found.notes[0]


def test_classes_that_the_model_lacks_name_nothing():
    found = hits(labels=["cup", "plate", "bed"])
    assert "stoves" in found.inexpressible
    assert ("c", "stoves") not in pairs(found)


def test_what_is_lost_is_counted():
    annotations = pl.concat([homes(), homes()[:1].with_columns(sample=pl.lit("d"))])
    rows = [*ROWS, ("z", "cup", 1, 0.5)]
    found = hits(rows, annotations)
    assert found.dropped == {"no answer": 1, "not annotated": 1}
    empty = hits(annotations=homes(concepts=[["cups"], [], ["stoves"]]))
    assert empty.dropped == {"missing concept": 1}


def test_income_buckets_are_made_and_kept():
    assert hits().images["income_bucket"].to_list() == ["low", "low", "high"]
    own = hits(annotations=homes(income_bucket=["x", "y", "z"]))
    assert own.images["income_bucket"].to_list() == ["x", "y", "z"]
    odd = income_buckets(pl.Series([None, -5.0, 0.0, float("nan"), float("inf"), 100.0]))
    assert odd.to_list() == [None, None, None, None, None, "medium"]


def test_rounded_confidences():
    rows = [("a", "cup", 1, 0.6), ("a", "plate", 2, 0.000_004)]
    assert pairs(hits(rows, homes()[:1]))["a", "plates"] == 1
    found = hits(rows, homes()[:1], digits=5)
    assert pairs(found)["a", "plates"] == 0
    assert found.facts == {"digits": 5}


def test_predictions_without_confidence_or_rank():
    bare = table().select("sample", "prediction").filter(pl.int_range(pl.len()) % 3 == 0)
    found = HouseholdHits.from_predictions(bare, homes(), MAP)
    assert sum(pairs(found).values()) == 2
    assert "carry no confidence" in found.notes[0]
    assert "at most 1 predictions, fewer than the 5" in " ".join(found.notes)


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    shuffled = [ROWS[i] for i in rng.permutation(len(ROWS))]
    assert hits(shuffled, homes()[[2, 0, 1]]).table.equals(hits().table)


def test_hits_made_elsewhere():
    frame = pl.DataFrame({"sample": [1, 2, 3], "household": ["h", "h", "i"], "hit": [1, None, 0]})
    found = HouseholdHits.from_hits(frame.with_columns(income=pl.lit(50)))
    assert found.images["hit"].to_list() == [1, 0]
    assert found.dropped == {"missing hit": 1}
    assert found.images["income_bucket"].to_list() == ["low", "low"]
    with pytest.raises(InputError, match="have no confidences"):
        found.at(0.5)
    with pytest.raises(InputError, match="hits reach 7; give 0 or 1"):
        HouseholdHits.from_hits(frame.with_columns(hit=pl.lit(7)))
    with pytest.raises(UnknownName, match="no column of hits 'hit'"):
        HouseholdHits.from_hits(frame.drop("hit"))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: hits(top=0), ParameterError, "top=0 is not possible"),
        (lambda: hits(threshold=2), ParameterError, "threshold=2 is not possible"),
        (lambda: hits([("a", "cup", 1, 7.0)]), InputError, "confidences reach 7; give probabilities"),
        (lambda: hits([("a", "n01", 1, 0.7)]), InputError, "no prediction is a class of the concept map"),
        (lambda: hits(annotations=homes().drop("household")), UnknownName, "no column of annotations"),
        (lambda: hits(annotations=homes().drop("concepts")), UnknownName, "'concepts'"),
        (lambda: hits(annotations=homes()[[0, 0]]), InputError, "sample 'a' has several rows"),
        (lambda: hits(annotations=homes(hit=[1, 1, 1])), InputError, "a column 'hit'"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_no_row_at_all():
    found = hits([("z", "cup", 1, 0.5)])
    assert found.table.height == found.images.height == 0
    assert found.dropped == {"no answer": 3, "not annotated": 1}
    assert "hit" in found.table.columns


def test_columns_that_are_absent_are_made_with_their_kinds():
    hits = pl.DataFrame({"sample": ["a", "b"], "household": ["x", "y"], "hit": [1, 0]})
    table = HouseholdHits.from_hits(hits).table
    kinds = {"concept": pl.String, "covered": pl.Float64, "confidence": pl.Float64, "best": pl.Float64}
    assert {name: table.schema[name] for name in kinds} == kinds
    assert table["covered"].to_list() == [1.0, 1.0]
