"""Words for differences of models in answers that are not predictions."""

import pytest

from evenhand.core.cards import Source
from evenhand.core.findings import Finding
from evenhand.metrics.catalogue import card_of
from evenhand.report.comparison.answer_differences import called, surest, untested
from evenhand.report.comparison.sentences import of_one_pair, sentences


def difference(name="label_association_rate", p_adjusted=0.01, value=0.2, notes=(), **params):
    finding = Finding(
        metric=name, name=f"{name}_difference", value=value,
        params={**params, "model": "a", "reference": "b"},
        p_adjusted=p_adjusted, n=10, model="a", reference="b", direction="descriptive", fair_at=0.0,
        source=Source(paper="p"), details={"unit": "person"}, notes=list(notes),
    )  # fmt: skip
    return finding.with_card(card_of(finding.name))


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("label_association_rate", {"association": "human", "top": 2}, "Labels of one kind (human)"),
        (
            "association_effect_size", {"targets": ["arab", "french"], "form": "visual"},
            "Association, effect size d (“arab” and “french”)",
        ),
        ("max_skew_at_k", {"k": 5, "template": "occ_first"}, "(occupation first, k = 5)"),
        ("harmful_association_rate", {}, "Harmful labels"),
    ],
)  # fmt: skip
def test_a_difference_is_called_by_what_tells_it_from_others(name, params, said):
    assert called(difference(name, **params)).endswith(said)


def test_differences_of_predictions_keep_their_title():
    plain = difference("accuracy", group="x").model_copy(update={"details": {}})
    assert called(plain) == "Accuracy"


def test_the_headline_counts_and_names_the_surest():
    several = [
        difference(association=name, p_adjusted=p) for name, p in zip("abcde", (3, 1, 2, 5, 4), strict=True)
    ]
    several = [one.model_copy(update={"p_adjusted": (one.p_adjusted or 0) / 200}) for one in several]
    said = surest(several, 9)
    assert said.startswith("5 of 9 differences are more than noise: Labels of one kind (b), ")
    assert said.endswith("and 2 more.")
    assert of_one_pair(several, 0.05).startswith("5 of 5 differences")


def test_a_value_that_is_tested_elsewhere_says_so():
    again = difference(
        p_adjusted=None, notes=["the value itself is the same as by gender, where it is tested"]
    )
    assert untested(again) == "tested under another grouping, where it is the same"
    assert sentences([again], 0.05)[0].endswith("tested under another grouping, where it is the same.")
    assert untested(difference(p_adjusted=None)) == "not tested"


def test_nothing_beyond_noise_is_said_of_what_was_tested():
    alike = [difference(p_adjusted=0.6), difference(p_adjusted=0.9)]
    assert of_one_pair(alike, 0.05).startswith("None of 2 differences tested here is more than noise.")
