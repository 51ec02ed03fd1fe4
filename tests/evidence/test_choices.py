"""Scores become outcomes; what cannot be used is dropped and counted."""

import numpy as np
import polars as pl
import pytest

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.choices import BINARY_PRONOUNS, OUTCOMES, PRONOUNS, Choices


def long(rows):
    """Scores from {sample: (his, her, their)}."""
    found = [
        (sample, name, score)
        for sample, values in rows.items()
        for name, score in zip(PRONOUNS, values, strict=False)
    ]
    schema = {"sample": pl.String, "candidate": pl.String, "score": pl.Float64}
    return pl.DataFrame(found, schema=schema, orient="row")


def people(**truths):
    return pl.DataFrame(
        {"sample": list(truths), "truth": list(truths.values()), "place": ["x"] * len(truths)},
        schema_overrides={"truth": pl.String},
    )


def shares(choices, ties="share"):
    values, unit = choices.outcomes(ties)
    assert (values.sum(axis=1) == unit).all()
    return (values / unit).tolist()


def counted(choices):
    return dict(choices.reason.drop_nulls().value_counts().iter_rows())


def test_a_choice_is_correct_misgendered_or_neutral():
    scores = long({"a": (3, 1, 2), "b": (1, 3, 2), "c": (1, 2, 3), "d": (3, 1, 2)})
    truths = people(a="masculine", b="masculine", c="feminine", d="feminine")
    assert shares(Choices.join(scores, truths)) == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]]


def test_a_candidate_of_another_label_is_neither_neutral_nor_misgendering():
    scores = long({"a": (1, 2, 3), "b": (1, 2, 3)})
    meant = {"his": "masculine", "her": "feminine", "their": "neopronoun"}
    choices = Choices.join(scores, people(a="masculine", b="feminine"), candidates=meant)
    assert shares(choices) == [[0, 0, 0, 1]] * 2
    assert choices.chance("other") == pytest.approx((1 / 3, 1 / 3))
    assert choices.chance("neutral") == (0, 0)


def test_ties_share_the_weight_or_go_to_the_first():
    scores = long({"a": (2, 2, 1), "b": (1, 2, 2), "c": (1, 1, 1), "d": (3, 1, 1)})
    choices = Choices.join(scores, people(a="feminine", b="feminine", c="feminine", d="feminine"))
    third = pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert shares(choices) == [[0.5, 0.5, 0, 0], [0.5, 0, 0.5, 0], third, [0, 1, 0, 0]]
    assert shares(choices, "first") == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]]
    assert choices.tied.tolist() == [True, True, True, False]
    with pytest.raises(ParameterError, match="choose one of 'share', 'first'"):
        choices.outcomes("last")


def test_the_order_of_candidates_decides_first():
    scores = long({"a": (1, 1, 1)})
    turned = {name: PRONOUNS[name] for name in ("their", "her", "his")}
    assert shares(Choices.join(scores, people(a="masculine"), candidates=turned), "first") == [[0, 0, 1, 0]]


def test_two_scores_may_stand_for_one_gender():
    meant = {"his": "masculine", "her": "feminine", "their": "masculine"}
    choices = Choices.join(long({"a": (2, 1, 2)}), people(a="masculine"), candidates=meant)
    assert shares(choices) == [[1, 0, 0, 0]]
    assert choices.chance("correct") == pytest.approx((2 / 3, 1 / 3))
    assert choices.chance("misgendered") == pytest.approx((1 / 3, 2 / 3))


def test_everything_that_is_dropped_has_a_reason():
    scores = long(
        {
            "a": (1, 2, 3),
            "null": (1, None, 3),
            "nan": (1, float("nan"), 3),
            "short": (1, 2),
            "stranger": (1, 2, 3),
            "unlabelled": (1, 2, 3),
            "third": (1, 2, 3),
            "least": (float("-inf"), 1, float("-inf")),
        }
    )
    truths = {"a": "masculine", "null": "feminine", "nan": "feminine", "short": "feminine"}
    more = {"silent": "feminine", "unlabelled": None, "third": "neutral", "least": "feminine"}
    choices = Choices.join(scores, people(**truths, **more))
    assert counted(choices) == {"missing score": 3, "no scores": 1, "missing truth": 1, "other truth": 1}
    assert choices.unannotated == 1
    assert choices.table["sample"].to_list() == ["a", "least"]
    assert shares(choices)[1] == [1, 0, 0, 0]


def test_a_missing_candidate_matters_only_where_it_is_a_candidate():
    scores = long({"a": (1, 2), "b": (1, 2, 3)})
    truths = people(a="feminine", b="feminine")
    assert Choices.join(scores, truths).table.height == 1
    assert Choices.join(scores, truths, candidates=BINARY_PRONOUNS).table.height == 2
    fewer = Choices.join(scores, truths).only(["his", "her"])
    assert fewer.candidates == BINARY_PRONOUNS
    assert shares(fewer) == [[1, 0, 0, 0]]
    with pytest.raises(UnknownName, match="there is no candidate 'hers'"):
        fewer.only(["his", "hers"])
    with pytest.raises(ParameterError, match="none for 'feminine'"):
        fewer.only(["his"])


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    scores = long({str(i): rng.integers(3, size=3).astype(float).tolist() for i in range(60)})
    truths = people(**{str(i): rng.choice(["masculine", "feminine"]) for i in range(60)})
    one = Choices.join(scores, truths)
    other = Choices.join(scores.sample(fraction=1, shuffle=True, seed=1), truths.reverse())
    assert one.table.equals(other.table)
    assert (one.scores == other.scores).all()


def test_no_scores_at_all_drops_everyone():
    choices = Choices.join(long({}), people(a="masculine", b="feminine"))
    assert counted(choices) == {"no scores": 2}
    assert choices.outcomes()[0].shape == (0, len(OUTCOMES))
    assert choices.tied.size == 0


def test_lazy_scores_and_numeric_ids_are_taken():
    scores = long({"1": (1, 2, 3)}).lazy()
    truths = pl.DataFrame({"sample": [1], "truth": ["feminine"]})
    assert shares(Choices.join(scores, truths)) == [[0, 0, 1, 0]]


def test_other_genders_can_be_compared():
    meant = {"his": "man", "her": "woman"}
    truths = pl.DataFrame({"sample": ["a"], "label": ["woman"]})
    choices = Choices.join(
        long({"a": (1, 2)}), truths, candidates=meant, truth="label", genders=("man", "woman")
    )
    assert shares(choices) == [[1, 0, 0, 0]]


def test_wrong_tables_are_refused_in_one_line():
    scores, truths = long({"a": (1, 2, 3)}), people(a="masculine")
    with pytest.raises(InputError, match="'his' has several scores for sample 'a'"):
        Choices.join(pl.concat([scores, scores]), truths)
    with pytest.raises(InputError, match="sample 'a' has several rows of annotations"):
        Choices.join(scores, pl.concat([truths, truths]))
    with pytest.raises(UnknownName, match="did you mean 'truth'"):
        Choices.join(scores, truths, truth="truht")
    with pytest.raises(UnknownName, match="no column of scores 'score'"):
        Choices.join(scores.rename({"score": "logit"}), truths)
    with pytest.raises(UnknownName, match="no column of annotations 'occupation'"):
        Choices.join(scores, truths, cluster="occupation")
    with pytest.raises(UnknownName, match="candidate in these scores 'xyr'"):
        Choices.join(scores, truths, candidates={**PRONOUNS, "xyr": "neopronoun"})
    with pytest.raises(ParameterError, match="none for 'masculine'"):
        Choices.join(scores, truths, candidates={"her": "feminine"})


def test_a_selection_names_attributes_and_values_that_exist():
    choices = Choices.join(long({"a": (1, 2, 3), "b": (1, 2, 3)}), people(a="masculine", b="feminine"))
    assert choices.selected({"place": "x"}).all()
    assert choices.selected({}).all()
    with pytest.raises(UnknownName, match="value of 'place' 'y'"):
        choices.selected({"place": ["x", "y"]})
    with pytest.raises(UnknownName, match="did you mean 'place'"):
        choices.selected({"palce": "x"})


def test_a_sample_is_tied_where_any_of_its_wordings_is():
    truths = people(a="masculine", b="masculine", c="feminine")
    first = Choices.join(long({"a": (2, 2, 1), "b": (3, 2, 1), "c": (3, 2, 1)}), truths)
    second = Choices.join(long({"a": (3, 2, 1), "b": (3, 2, 1), "c": (1, 1, 1)}), truths)
    assert Choices.averaged([first, second]).tied.tolist() == [True, False, True]
