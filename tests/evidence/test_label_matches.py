"""LabelMatches: what counts as a match, what is dropped, and what is refused."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.label_matches import NOT_EXPRESSIBLE, LabelMatches

LABELS = ["tench, Tinca tinca", "slug", "prison, prison house", "face powder", "people"]
IDS = ["n01440764", "n01945685", "n04005630", "n03314780", "n07942152"]
TYPES = {"human": ["n07942152"], "non_human": ["n01945685"], "crime": ["n04005630"]}
ROWS = [
    ("a", "slug", 1, 0.7), ("a", "people", 2, 0.2), ("a", "face powder", 3, 0.1),
    ("b", "people", 1, 0.5), ("b", "prison, prison house", 2, 0.5),
]  # fmt: skip


def table(rows=ROWS):
    schema = {"sample": pl.String, "prediction": pl.String, "rank": pl.Int64, "confidence": pl.Float64}
    return pl.LazyFrame(rows, schema=schema, orient="row")


def people(*samples, **columns):
    return pl.DataFrame({"sample": list(samples), **columns})


def matches(rows=ROWS, samples=("a", "b"), types=TYPES, labels=LABELS, ids=IDS, **options):
    return LabelMatches.from_predictions(table(rows), people(*samples), types, labels, ids, **options)


def test_scores_are_the_highest_confidence_of_each_type():
    found = matches()
    assert found.associations == ("human", "non_human", "crime")
    assert found.scores.tolist() == [[0.2, 0.7, -np.inf], [0.5, -np.inf, 0.5]]
    assert found.best.tolist() == [0.7, 0.5]
    assert found.table["sample"].to_list() == ["a", "b"]
    assert found.dropped == {}


def test_only_the_first_predictions_count():
    assert matches(top=1).scores[:, 0].tolist() == [-np.inf, 0.5]
    assert matches(top=1).predicted.shape == (2, 3)
    assert matches(top=1, kept=2).predicted.shape == (2, 2)


def test_gaps_in_ranks_do_not_matter():
    rows = [("a", "slug", 1, 0.7), ("a", "people", 4, 0.2), ("b", "people", 1, 0.5)]
    assert matches(rows, top=2).scores[0, 0] == 0.2


def test_the_order_of_rows_does_not_matter():
    one, other = matches(), matches(ROWS[::-1], samples=("b", "a"))
    assert one.scores.tolist() == other.scores.tolist()
    assert one.table.equals(other.table)


def test_without_ranks_confidences_order():
    shuffled = table(ROWS[::-1]).drop("rank")
    found = LabelMatches.from_predictions(shuffled, people("a", "b"), TYPES, LABELS, IDS)
    assert found.scores.tolist() == matches().scores.tolist()
    assert found.best.tolist() == [0.7, 0.5]


def test_ids_match_ids_and_words_match_names_between_commas():
    assert matches().expressible == {"human": ("people",), "non_human": ("slug",), "crime": (LABELS[2],)}
    words = {"human": ["People", "face"], "crime": ["prison house"], "fish": ["tinca tinca", "Tinca"]}
    found = matches(types=words)
    assert found.expressible == {"human": ("people",), "crime": (LABELS[2],), "fish": (LABELS[0],)}


def test_ids_are_read_off_labels_that_begin_with_them():
    labels = [f"{id_} {label}" for id_, label in zip(IDS, LABELS, strict=True)]
    rows = [("a", labels[1], 1, 0.7), ("b", labels[4], 1, 0.5)]
    found = LabelMatches.from_predictions(table(rows), people("a", "b"), TYPES, labels)
    assert found.scores[:, :2].tolist() == [[-np.inf, 0.7], [0.5, -np.inf]]
    named = LabelMatches.from_predictions(table(rows), people("a", "b"), {"fish": ["tench"]}, labels)
    assert named.labels_of("fish") == (labels[0],)


def test_what_the_labels_cannot_say_is_known():
    found = matches(types={"human": ["n09618957"], "crime": ["n04005630"]})
    assert found.labels_of("human") == ()
    assert np.isneginf(found.scores_of("human")).all()
    assert NOT_EXPRESSIBLE == "not in the label space"


def test_a_union_is_the_highest_of_its_parts():
    found = matches(unions={"harmful": ["non_human", "crime"]})
    assert found.names == ("human", "non_human", "crime", "harmful")
    assert found.scores_of("harmful").tolist() == [0.7, 0.5]
    assert found.labels_of("harmful") == ("slug", LABELS[2])
    assert found.members("harmful").tolist() == [False, True, True, False, False]


def test_free_answers_are_searched_for_words():
    rows = [("a", "A woman with a beard, smiling.", 1, None), ("b", "a womanly thing", 1, None)]
    found = LabelMatches.from_predictions(
        table(rows),
        people("a", "b"),
        {"human": ["woman"], "possibly_human": ["beard"], "crime": ["n04005630"]},
    )
    assert found.scores.tolist() == [[1, 1, -np.inf], [-np.inf, -np.inf, -np.inf]]
    assert found.expressible == {"human": ("woman",), "possibly_human": ("beard",), "crime": ()}
    assert found.notes == ("predictions carry no confidence, so each passes every threshold",)


def test_what_is_lost_is_counted():
    rows = [
        *ROWS,
        ("c", "slug", 1, None),
        ("e", None, 1, 0.4),
        ("x", "slug", 1, 0.4),
        ("x", "people", 2, 0.1),
    ]
    found = matches(rows, samples=("a", "b", "c", "d", "e"))
    assert found.table["sample"].to_list() == ["a", "b"]
    assert found.dropped == {"missing confidence": 1, "no answer": 2, "not annotated": 1}


def test_evidence_of_too_few_predictions_is_noted():
    found = matches([row for row in ROWS if row[2] == 1])
    assert found.notes == (
        "samples have at most 1 predictions, fewer than the 5 that count; rates are lower than they would be",
    )
    assert not matches(top=2).notes


@pytest.mark.parametrize("nothing", [[], [("x", "slug", 1, 0.4)]], ids=["no rows", "no annotated rows"])
def test_no_usable_sample_is_no_error(nothing):
    found = matches(nothing)
    assert found.scores.shape == (0, 3)
    assert found.dropped["no answer"] == 2
    assert matches(samples=()).dropped == {"not annotated": 2}


def test_confidences_of_all_labels_give_the_same():
    wide = np.array([[0.0, 0.7, 0.0, 0.1, 0.2], [0.0, 0.0, 0.5, 0.0, 0.5]])
    found = LabelMatches.from_confidences(
        wide, ["b", "a"], people("b", "a", "c"), TYPES, LABELS, IDS, unions={"harmful": ["crime"]}
    )
    assert found.table["sample"].to_list() == ["a", "b"]
    assert found.scores.tolist() == [[0.5, 0.0, 0.5], [0.2, 0.7, 0.0]]
    assert found.dropped == {"no answer": 1}


def test_of_equal_confidences_the_first_label_comes_first():
    found = LabelMatches.from_confidences(
        np.full((2, 5), 0.2), ["a", "b"], people("a", "b"), TYPES, LABELS, IDS, top=2, kept=3
    )
    assert found.predicted.tolist() == [[0, 1, 2]] * 2
    assert found.scores.tolist() == [[-np.inf, 0.2, -np.inf]] * 2


def test_five_predictions_count_where_nothing_else_is_said():
    wide, labels = np.linspace(0.9, 0.1, 9)[None], [f"label {number}" for number in range(9)]
    found = LabelMatches.from_confidences(
        wide, ["a"], people("a"), {"t": labels[4:5], "u": labels[5:6]}, labels
    )
    assert found.scores.tolist() == [[pytest.approx(0.5), -np.inf]]


def test_a_row_with_nan_is_dropped():
    wide = np.array([[0.1, np.nan, 0.0, 0.1, 0.2], [0.0, 0.0, 0.5, 0.0, 0.5]])
    found = LabelMatches.from_confidences(
        wide, ["a", "b"], people("a", "b"), TYPES, LABELS, IDS, kept=3, top=3
    )
    assert (found.table["sample"].to_list(), found.dropped) == (["b"], {"missing confidence": 1})


def slow(confidences, labels, inside, threshold, top):
    """The rule in its own words: those of the first ten that are sure, of them the first ``top``."""
    hits = []
    for row in confidences:
        order = np.argsort(-row, kind="stable")[:10]
        sure = [code for code in order if row[code] >= threshold][:top]
        hits.append(any(labels[code] in inside for code in sure))
    return hits


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(2, 25), st.integers(1, 10), st.booleans())
def test_one_array_holds_every_threshold(seed, n, width, top, coarse):
    rng = np.random.default_rng(seed)
    wide = rng.dirichlet(np.full(width, 0.3), size=n)
    wide = wide.round(1) if coarse else wide
    labels = [f"l{number}" for number in range(width)]
    inside = labels[: rng.integers(1, width + 1)]
    samples = [f"s{number:02d}" for number in range(n)]
    found = LabelMatches.from_confidences(wide, samples, people(*samples), {"t": inside}, labels, top=top)
    for threshold in [0, 0.1, 0.5, float(wide[0, 0]), 1]:
        assert (found.scores[:, 0] >= threshold).tolist() == slow(wide, labels, inside, threshold, top)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "slug", 0, 0.7)], "numbered from 0; number the best prediction of each sample 1"),
        ([("a", "slug", 1, 0.7), ("a", "people", None, 0.2)], "ranks are missing for some predictions"),
        ([("a", "slug", 1, 0.7), ("a", "people", 1, 0.2)], "sample 'a' has several predictions of rank 1"),
        ([("a", "slug", 1, 0.2), ("a", "people", 2, 0.7)], "confidences of sample 'a' rise with the rank"),
        ([("a", "slug", 1, 7.2)], r"confidences reach 7.2; give probabilities in \[0, 1\]"),
        ([("a", "slug", 1, 0.2), ("a", "people", 2, -1.0)], "confidences reach -1; give probabilities"),
        ([("a", "slug", 1, float("inf"))], "confidences reach inf"),
        ([("a", "snail", 1, 0.2)], "prediction 'snail' is not among the 5 labels; give all labels"),
    ],
)  # fmt: skip
def test_wrong_predictions_are_refused(rows, message):
    with pytest.raises(InputError, match=message):
        matches(rows)


def test_wrong_arguments_are_refused():
    with pytest.raises(ParameterError, match="choose 1 <= top <= kept"):
        matches(top=11)
    with pytest.raises(ParameterError, match="'crime' is an association and a union"):
        matches(unions={"crime": ["human"]})
    with pytest.raises(UnknownName, match="did you mean 'crime'"):
        matches(unions={"harmful": ["crimes"]})
    with pytest.raises(UnknownName, match="there is no association 'humn'; did you mean 'human'"):
        matches().scores_of("humn")
    with pytest.raises(UnknownName, match="column of annotations 'subject'"):
        matches(cluster="subject")
    with pytest.raises(UnknownName, match="column of predictions 'prediction'; did you mean 'predictions'"):
        LabelMatches.from_predictions(
            table().rename({"prediction": "predictions"}), people("a"), TYPES, LABELS, IDS
        )
    with pytest.raises(InputError, match="sample 'a' has several rows of annotations"):
        matches(samples=("a", "a"))
    with pytest.raises(InputError, match="4 WordNet ids for 5 labels"):
        matches(ids=IDS[:4])
    with pytest.raises(InputError, match="two labels of the model have the same name"):
        matches(labels=[*LABELS[:4], "slug"])
    with pytest.raises(InputError, match=r"confidences have shape \(1, 2\); give one row for each of 1"):
        LabelMatches.from_confidences([[0.5, 0.5]], ["a"], people("a"), TYPES, LABELS, IDS)
    with pytest.raises(InputError, match="sample 'a' has several rows; give one"):
        LabelMatches.from_confidences(np.eye(5)[:2], ["a", "a"], people("a"), TYPES, LABELS, IDS)
