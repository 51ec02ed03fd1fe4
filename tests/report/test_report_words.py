"""The sentences and the numbers in them."""

from __future__ import annotations

import pytest

from evenhand.core.cards import MetricCard
from evenhand.core.findings import Interval, Null, Part
from evenhand.core.significance import alpha_of
from evenhand.display.text import formatting as formats
from evenhand.report import glossary
from evenhand.report.chapters import in_chapters, left_out
from evenhand.report.wording import limits
from evenhand.report.wording import sentences as words
from tests.report import report_samples as samples


@pytest.fixture(scope="module")
def chapter():
    return in_chapters(samples.realistic().findings.findings)[0]


def measured(value, p_value=None, p_adjusted=None, ends=None):
    null = Null(mean=0.15, low=0.1, high=0.2, method="x")
    interval = Interval(low=ends[0], high=ends[1], method="x") if ends else None
    return Part(kind="class", key="a", value=value, null=null, interval=interval, p_value=p_value,
                p_adjusted=p_adjusted, n=10)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.3128, "0.313"),
        (-0.3128, "−0.313"),
        (0.0, "0.000"),
        (-0.0, "0.000"),
        (0.0001, "<0.001"),
        (-0.0001, ">−0.001"),
        (1234.5, "1,234.500"),
        (None, "–"),
    ],
)
def test_numbers(value, text):
    assert formats.number(value) == text


def test_other_formats():
    assert formats.p_value(0.00001) == "<0.001"
    assert formats.p_value(0.0) == "<0.001"
    assert formats.p_value(1.0) == "1.000"
    assert formats.p_value(None) == "–"
    assert formats.percent(0.95) == "95%"
    assert formats.percent(1 - 0.05 / 3) == "98.33%"
    assert formats.percent(1 - 0.05 / 4000) == "99.9988%"
    assert formats.count(12345.0) == "12,345"
    assert formats.count(2.5) == "2.5"
    assert formats.size(482113) == "482.1 kB"
    assert formats.size(12) == "12 bytes"
    assert formats.moment("2025-03-04T10:12:00+00:00") == "4 March 2025, 10:12 UTC"
    assert formats.moment("last week") == "last week"
    assert formats.listing(["a", "b", "c"]) == "a, b and c"
    assert formats.plural(1, "class", "classes") == "1 class"


def test_labels_cannot_hide_or_reverse():
    assert formats.visible("a\nb\r\u2028\t\x00\u202e") == "a⏎b⏎⏎⇥␀[U+202E]"
    assert formats.shorten("x" * 100, 10) == "x" * 9 + "…"
    assert formats.quoted("عربي") == "“\u2068عربي\u2069”"
    assert formats.quoted("cat") == "“cat”"


def test_what_was_asked(chapter):
    text = words.question_text(samples.MANIFEST, [chapter])
    assert "“resnet50.a1_in1k”" in text
    assert "“predictions.parquet”" in text
    assert "4,812 rows" in text
    assert "perceived gender" in text
    assert words.question_text({}, []) == "evenhand examined a table of predictions."


@pytest.mark.parametrize("value", [0.3, 0.2, 0.05])
def test_without_a_test_there_is_no_verdict(value):
    part = measured(value)
    assert words.against_chance(part, 0.05) == ""
    assert words.reading(part, 0.05) == ""


@pytest.mark.parametrize(
    ("value", "p_value", "p_adjusted", "ends", "text"),
    [
        (0.3, 0.01, None, (0.2, 0.4), "above chance"),
        (0.05, 0.01, None, (0.01, 0.1), "below chance"),
        (0.05, 0.01, None, (0.01, 0.2), "within chance by its interval (p 0.010)"),
        (0.19, 0.033, None, None, "above chance"),
        (0.15, 0.4, None, (0.1, 0.2), "within chance"),
        (0.21, 0.06, None, (0.16, 0.3), "within chance"),
        (0.3, 0.01, 0.2, (0.2, 0.4), "within chance, corrected for several tests"),
        (0.3, 0.0001, 0.04, (0.2, 0.4), "above chance"),
    ],
)
def test_test_and_interval_decide_together(value, p_value, p_adjusted, ends, text):
    part = measured(value, p_value, p_adjusted, ends)
    assert words.reading(part, 0.05) == text
    assert words.against_chance(part, 0.05) == text.replace("chance", "what chance alone gives", 1)
    assert words.reading(part.model_copy(update={"role": "exploratory"}), 0.05) == "exploratory"


def test_the_level_of_the_run_decides():
    part = measured(0.3, 0.03, ends=(0.2, 0.4))
    assert words.reading(part, 0.05) == "above chance"
    assert words.reading(part, 0.01) == "within chance"


def test_reading_says_why_there_is_no_value():
    nothing = Part(kind="class", key="a", value=None, n=0)
    assert words.against_chance(nothing, 0.05) == ""
    for reason, text in (("single_group", "only one group has rows here"), (None, "no reason was recorded")):
        assert words.reading(nothing.model_copy(update={"reason": reason}), 0.05) == text
    zero = Part(kind="class", key="a", value=0.0, n=9, reason="uninformative")
    assert words.reading(zero, 0.05).startswith("too few usable classes")


def test_verdicts(chapter):
    assert words.verdict(chapter, 0.05) == (
        "Mistakes differ between groups beyond chance in 3 of 11 classes that could be estimated, of 12."
    )
    assert words.verdict(chapter, 1e-12).startswith(
        "No difference of mistakes beyond chance over 11 classes that could be estimated, of 12."
    )
    nothing = in_chapters(samples.undefined().findings.findings)[0]
    assert words.verdict(nothing, 0.05).startswith("Differences of mistakes could not be estimated.")


def test_what_was_found(chapter):
    text = " ".join(words.finding_sentences(chapter, 0.05))
    assert "Accuracy is 0.861 (95% interval 0.851 to 0.871); by group it runs from 0.850 for “male”" in text
    assert "11 of 12 classes: 4 negligible, 4 small, 2 medium and 1 large" in text
    assert "at most 0.05 in 3 of the 11 classes tested, after Holm’s correction" in text
    assert "The largest, for “nurse”, is " in text
    assert ", 0.580 with it; " in text
    assert "SkewSize, the lopsidedness of these effect sizes, is 0.812" in text
    assert "mean 0.200, median 0.114 and maximum 0.580" in text
    assert "1 class could not be estimated, which is not the same as fair" in text
    assert "No value could be given for SkewSize, sufficiency form: only one class could be used" in text
    assert "“female” (2,400) and “male” (2,393)" in text


def test_alpha_is_read_or_assumed():
    assert alpha_of({"alpha": 0.01}) == 0.01
    assert alpha_of({}) == 0.05
    assert alpha_of({"alpha": "x"}) == 0.05


def test_perceived_attributes_are_called_perceived():
    seen, unclear = limits.perceived(["perceived_gender", "race", "background", "self_reported_age"])
    assert seen.startswith("“perceived gender” is perceived")
    assert "“race”" in unclear
    assert limits.perceived(["background", "image", "usage"]) == []


def test_reasons_and_titles_fall_back_to_themselves():
    assert glossary.reason("a_new_reason") == "a new reason"
    assert glossary.reason("Already a sentence_with an underscore") == "Already a sentence_with an underscore"
    assert glossary.reason("class: single_group") == "class not estimable: only one group has rows here"
    assert MetricCard.plain("ndkl_at_k").title == "Ndkl at k"
    assert MetricCard.plain("").title == "Unnamed metric"


def test_left_out_says_of_which_findings(chapter):
    found = {item.reason: item for item in left_out([chapter], {})}
    assert found["“perceived gender” is not annotated"].everywhere
    constant = found[glossary.reason("class: constant")]
    assert not constant.everywhere
    assert constant.metrics == ("skewsize",)
    of_audit = {item.reason for item in left_out([chapter], {"kind": "audit"})}
    assert "no value in the column “perceived_gender”" in of_audit
