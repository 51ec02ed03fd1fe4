"""Sentences on lines, gaps and what would have been noticed, as the specification has them."""

from evenhand.display.text.disparities import gap_sentence, headline, line_sentence, share, status_sentence

LAGOS = {
    "group": "Lagos", "truth": "account_locked", "prediction": "fraud_report", "direction": "more", "a": 33,
    "n": 98, "b": 9, "m": 313, "rate": 33 / 98, "others": 9 / 313, "excess": 30.18, "certain": 21.42,
}  # fmt: skip


def test_an_empty_group_and_an_empty_label_are_said():
    assert headline({**LAGOS, "group": "", "prediction": ""}) == (
        "(empty): 33 of 98 account_locked rows are called (empty); elsewhere 9 of 313."
    )


def test_a_line_of_several_groups():
    assert line_sentence(LAGOS, noun="tickets") == (
        "Of 98 Lagos tickets that are account_locked, 33 (34 %) are called fraud_report; elsewhere 9 of 313 "
        "(3 %). At the rate elsewhere it would be 30 fewer (at least 21)."
    )
    assert headline(LAGOS, noun="tickets") == (
        "Lagos: 33 of 98 account_locked tickets are called fraud_report; elsewhere 9 of 313."
    )


def test_the_headline_of_a_spared_group_says_so():
    assert headline({**LAGOS, "direction": "less"}, noun="tickets") == (
        "Lagos is spared: 33 of 98 account_locked tickets are called fraud_report; elsewhere 9 of 313."
    )


def test_two_groups_a_miss_and_never():
    line = {**LAGOS, "prediction": None, "b": 0, "others": 0.0, "certain": 0.4}
    assert line_sentence(line, elsewhere="Osaka") == (
        "Of 98 Lagos rows that are account_locked, 33 (34 %) are wrong, under several labels; never in Osaka "
        "(0 of 313). At the rate of Osaka it would be 30 fewer."
    )
    assert "never elsewhere (0 of 313)" in line_sentence(line)


def test_a_group_that_is_spared():
    line = {**LAGOS, "direction": "less", "a": 0, "rate": 0.0, "parent": "office = Lagos"}
    assert line_sentence(line) == (
        "Lagos is spared: of its 98 account_locked rows, 0 (0 %) are called fraud_report; in the other "
        "groups 9 of 313 (3 %). It is so in all of office = Lagos."
    )


def test_shares_stand_beside_ten_rows_or_more():
    assert "5 are called" in line_sentence({**LAGOS, "a": 5, "n": 9, "rate": 5 / 9})
    assert [share(rate) for rate in (0, 0.004, 0.336, 1)] == ["0 %", "0.4 %", "34 %", "100 %"]


GAP = {"value": 0.076, "low": 0.03, "high": 0.12, "accuracy": 0.798, "rest": 0.874}
ERRORS = {"value": 0.077, "low": 0.04, "high": 0.11}


def test_a_gap_is_said_where_it_is_beyond_chance():
    mistake = {
        "truth": "account_locked",
        "prediction": "fraud_report",
        "value": 0.066,
        "low": 0.044,
        "high": 0.087,
    }
    assert gap_sentence("Lagos", GAP, {"value": -0.002}, ERRORS, (mistake,), 0.011) == (
        "Lagos is right in 80 %, the rest in 87 %: 7.6 points lower. 6.6 of them (4.4 to 8.7) are "
        "account_locked called fraud_report; −0.2 come from its mix of classes; 1.1 from all other mistakes."
    )
    text = gap_sentence("Lagos", GAP, {"value": -1e-9}, ERRORS)
    assert text.endswith("points lower. None come from its mix of classes; 7.7 from mistakes.")
    within = {**GAP, "low": -0.1}
    assert gap_sentence("Lagos", within, {"value": 0.0}, {**ERRORS, "low": -0.1}) is None


def test_easier_classes_are_the_cause_only_where_they_make_up_for_the_mistakes():
    level = {**GAP, "value": 0.007, "low": -0.02}
    assert gap_sentence("Lagos", level, {"value": -0.07}, ERRORS) == (
        "Lagos looks level, but only because its classes are easier (−7.0 points); within classes it is 7.7 "
        "points worse."
    )
    few = {"value": 0.203, "low": -0.06, "high": 0.47, "accuracy": 8 / 12, "rest": 0.87}
    errors = {"value": 0.183, "low": 0.01, "high": 0.35}
    assert gap_sentence("tiny", few, {"value": 0.02}, errors) == (
        "tiny is right in 67 %, the rest in 87 %: 20.3 points lower, within chance. 2.0 come from its mix of "
        "classes; 18.3 (1.0 to 35.0) from mistakes within classes."
    )
    text = gap_sentence("tiny", few, {"value": -0.01}, {**errors, "value": 0.213})
    assert "looks level" not in text
    assert "−1.0 come from its mix of classes; 21.3 (" in text
    assert gap_sentence("tiny", {**few, "value": -0.1, "high": -0.01}, {"value": -0.2}, errors) is None


def test_what_would_have_been_noticed():
    details = {"status": "none_beyond_chance", "tested": 22.0, "detectable_n": 220.0,
               "detectable_others": 0.038, "detectable_rate": 0.135}  # fmt: skip
    facts = {"by": "channel", "groups": 2, "n": 1957}
    assert status_sentence(details, **facts) == (
        "No mistake differs between the 2 groups of channel beyond chance (22 comparisons). In a class with "
        "220 rows of one group a mistake made 4 % of the time elsewhere would have been noticed (4 times in "
        "5) had it been 14 % there."
    )
    assert status_sentence({**details, "detectable_rate": None}, **facts).endswith("noticed at any rate.")
    assert "chance (1 comparison). In" in status_sentence({**details, "tested": 1.0}, **facts)
    assert status_sentence({"status": "no_mistakes"}, **facts) == "No mistake in 1,957 rows."
    assert status_sentence({"status": "found"}, **facts) is None
