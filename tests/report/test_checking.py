"""First lines that are true pass; falsified ones, of runs and of what is printed, are each caught."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.display.overview.overview import overview_of
from evenhand.display.overview.subject import Subject
from evenhand.display.text.language import written_in
from evenhand.display.text.statement import Slot, Statement, said
from evenhand.report.checking.check import contradictions
from evenhand.report.checking.exported_lines import exported_lines
from evenhand.report.checking.printed_numbers import PrintedNumber
from evenhand.report.checking.sourced import misprinted
from evenhand.report.checking.translations import mistranslated
from evenhand.report.glossary import in_language
from tests.report.falsified import headline, number, placed, share, worded
from tests.report.printed_media import checked, printed_by

ODD = {"g0": "a: 3 of 5", "g1": "12 of 30 men", "g2": "x; y", "g3": "90 % p = .01", "g4": "1,000 € | *b*"}


def table(seed):
    """Groups of unequal sizes and, in every second table, accuracies; in every third odd names or digits."""
    rng = np.random.default_rng(seed)
    groups, classes = int(rng.integers(2, 7)), int(rng.choice([1, 2, 3, 6]))
    rows = int(rng.choice([60, 300, 1_200]))
    group = rng.choice(groups, rows, p=rng.dirichlet(np.full(groups, 3.0)))
    truth = rng.integers(classes, size=rows)
    right = rng.random(rows) < np.where(seed % 2, rng.uniform(0.4, 1, groups)[group], 0.8)
    answer = np.where(right, truth, (truth + 1) % max(classes, 2))
    digits, odd = seed % 3 == 1, seed % 3 == 2
    labels = np.array([str(code) if digits else f"c{code}" for code in range(max(classes, 2))])
    names = np.array([str(code) if digits else f"g{code}" for code in range(groups)])
    frame = pl.DataFrame(
        {
            "truth": labels[truth],
            "prediction": labels[answer],
            "group": names[group],
            "site": rng.choice(["north", "south", "east"], rows),
            "person": rng.integers(rows // 6, size=rows).astype(str),
            "weight": rng.uniform(0.5, 3, rows),
            "stars": rng.normal(size=rows) + 0.3 * (seed % 2) * group,
        }
    )
    return frame.with_columns(pl.col("group").replace(ODD)) if odd else frame


FORMS = [
    {"by": "group"},
    {"by": ["group", "site", "group+site"]},
    {"by": "group", "cluster": "person"},
    {"by": "group", "weight": "weight"},
    {"by": ["group"], "search": ["group", "site"]},
    {"by": "group", "alpha": 0.2},
    {"by": ["group", "site"], "value": "stars", "better": "high", "unit": "years"},
]


NIGHTLY = [pytest.param(seed, marks=pytest.mark.nightly) for seed in range(21, 321)]


@pytest.mark.parametrize("seed", [*range(21), *NIGHTLY])
def test_audits_of_generated_tables_say_nothing_wrong(seed, tmp_path):
    form = FORMS[seed % len(FORMS)]
    columns = {} if "value" in form else {"truth": "truth", "prediction": "prediction"}
    run = eh.audit(table(seed), **columns, **form)
    assert checked(run, **printed_by(run, tmp_path)) == []
    assert checked(run, language="de", page=run.html(language="de")) == []


def answered_again(frame, form, seed):
    """The same rows by another model: a little, or much, better or only other."""
    rng, size = np.random.default_rng(seed), len(frame)
    if "value" in form:
        return frame.with_columns(stars=frame["stars"] + rng.normal(0, 0.1 + 0.5 * (seed % 3), size))
    mended = frame["truth"] if seed // 3 % 2 else frame["prediction"].shuffle(seed)
    is_changed = pl.Series(rng.random(size) < (0.02, 0.2, 0.4)[seed % 3])
    return frame.with_columns(prediction=mended.zip_with(is_changed, frame["prediction"]))


COMPARED = [form for form in FORMS if "weight" not in form]


def compared(seed, folder):
    form = COMPARED[seed % len(COMPARED)]
    columns = {} if "value" in form else {"truth": "truth", "prediction": "prediction"}
    first = table(seed).with_columns(id=pl.int_range(pl.len()).cast(str))
    for name, frame in (("first", first), ("second", answered_again(first, form, seed))):
        eh.audit(frame, **columns, **form, id="id", out=folder / name)
    return eh.compare([folder / "first", folder / "second"])


@pytest.mark.parametrize(
    "seed", [*range(7), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(7, 60))]
)
def test_comparisons_of_generated_tables_say_nothing_wrong(seed, tmp_path):
    run = compared(seed, tmp_path)
    assert checked(run, **printed_by(run, tmp_path)) == []


def test_the_model_with_more_is_named(tmp_path):
    run = compared(1, tmp_path)
    texts = [line.text for line in run.overview.headlines]
    index = next(index for index, text in enumerate(texts) if ": lower with " in text)
    subject, findings = Subject.of(run.manifest, run.findings), list(run.findings)
    assert list(contradictions(run.overview, findings, subject)) == []
    for change in (worded(": lower with", ": higher with"), placed("model", "another")):
        false = headline(index, text=change)(run.overview)
        assert list(contradictions(false, findings, subject))


@pytest.fixture(scope="module")
def improved(tmp_path_factory):
    """Two models, of which the second is right more often in every group."""
    folder, rng = tmp_path_factory.mktemp("models"), np.random.default_rng(3)
    group, truth = rng.choice(["a", "b", "c"], 600), rng.choice(["x", "y"], 600)
    wrong, right = np.where(truth == "x", "y", "x"), rng.random(600) < 0.7
    for name in ("older", "newer"):
        answer = np.where(right | ((rng.random(600) < 0.5) & (name == "newer")), truth, wrong)
        frame = pl.DataFrame({"id": np.arange(600), "truth": truth, name: answer, "group": group})
        eh.audit(frame, truth="truth", prediction=name, by="group", id="id", out=folder / name)
    run = eh.compare([folder / "older", folder / "newer"])
    assert " better than " in run.overview.kicker
    return run


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("sentence", worded("is better", "is worse")),
        ("sentence", placed("model", "older of older", 1)),
        ("text", placed("model", "older of older")),
        ("size", placed("n", lambda old: share(-old.value))),
        ("kicker", worded("better than", "worse than")),
        ("kicker", placed("title", "Accuracy gap")),
        ("kicker", placed("n", lambda old: share(10 * old.value))),
        ("kicker", placed("newer", "older of older")),
    ],
)
def test_the_better_model_is_named(improved, field, change):
    overview, findings = improved.overview, list(improved.findings)
    subject = Subject.of(improved.manifest, improved.findings)
    assert list(contradictions(overview, findings, subject)) == []
    false = headline(**{field: change}) if field != "kicker" else None
    false = false(overview) if false else replace(overview, kicker=change(overview.kicker))
    assert false != overview
    assert list(contradictions(false, findings, subject))


@pytest.fixture(scope="module")
def planted():
    """Three groups of unequal sizes, one of which gets one mistake far more often."""
    rng = np.random.default_rng(7)
    group = rng.choice(["red", "green", "blue"], 1_500, p=[0.5, 0.3, 0.2])
    truth = rng.choice(["cup", "dog", "kite"], 1_500)
    answer = np.where(rng.random(1_500) < 0.9, truth, "kite")
    answer = np.where((group == "blue") & (truth == "cup") & (rng.random(1_500) < 0.4), "dog", answer)
    frame = pl.DataFrame({"truth": truth, "prediction": answer, "group": group})
    run = eh.audit(frame, truth="truth", prediction="prediction", by="group")
    assert run.overview.beyond
    assert run.overview.title.startswith("blue: ")
    return run


def counts_of(overview, which):
    """The counts of the first headline: hits and rows, here and elsewhere."""
    texts = [str(text) for name, text in said(overview.headlines[0].text).slots() if name in ("hits", "rows")]
    return texts[which]


def by_one(old):
    return number(old.value + 1)


SPARED = Statement.of("{group} is spared", group="blue")
FALSE = {
    "another group": ("who", headline(text=placed("group", "red"))),
    "another class": ("truth", headline(text=placed("truth", "kite"))),
    "another label": ("label", headline(text=placed("label", "kite"))),
    "class and label exchanged": (
        "label",
        headline(text=lambda text: placed("label", "cup")(placed("truth", "dog")(text))),
    ),
    "counts of the other side": ("hits", headline(text=placed("hits", by_one))),
    "counts elsewhere": ("hits", headline(text=placed("hits", by_one, 1))),
    "another n": ("rows", headline(text=placed("rows", by_one))),
    "another n in full": ("n", headline(sentence=placed("n", by_one))),
    "another share in full": ("text", headline(sentence=placed("text", lambda _: share(0.99)))),
    "a digit where a name stands": ("group", headline(sentence=placed("group", "12 of 34"))),
    "a sentence without places": ("text", headline(sentence=str.upper)),
    "spared": ("has more", headline(text=placed("group", SPARED))),
    "a stale p": ("p", headline(certainty=placed("p", number(0.031)))),
    "no test": ("p", headline(certainty=lambda _: "Not tested.")),
    "another number of comparisons": ("n", headline(certainty=placed("n", by_one))),
    "an inverted sign": ("difference", headline(size=worded("more than", "fewer than"))),
    "a wrong unit": ("n", headline(size=placed("n", lambda old: number(old.value)))),
    "another end of the interval": ("high", headline(size=placed("high", lambda _: share(0.99)))),
    "an interval that holds 0": ("low", headline(size=placed("low", lambda old: share(-old.value)))),
    "another band": ("high", headline(chance=placed("high", lambda _: number(99_999)))),
    "within chance": ("chance", headline(beyond=lambda _: False)),
    "under another grouping": ("by", headline(by=lambda _: "site")),
    "of a finding that is not there": ("no finding", headline(metric=lambda _: "accuracy_gap(by=site)")),
    "rows behind it": ("rows", headline(cases=lambda _: 1.0)),
    "nothing differs": ("", lambda overview: replace(overview, headlines=(), title=NOTHING)),
}
NOTHING = "Nothing differs by group beyond chance."


@pytest.mark.parametrize("name", FALSE)
def test_false_first_lines_are_caught(planted, name):
    """By the name of the place that is wrong."""
    subject, counts = Subject.of(planted.manifest, planted.findings), next(iter(planted.counts.values()))
    findings = list(planted.findings)
    assert list(contradictions(planted.overview, findings, subject, counts)) == []
    place, falsified = FALSE[name]
    wrong = list(contradictions(falsified(planted.overview), findings, subject, counts))
    assert wrong
    assert any(place in contradiction.why for contradiction in wrong)


def test_numbers_look_like_what_they_stand_for():
    right, wrong = number(12.0), Slot("13", 12.0)
    assert list(misprinted(Statement.of("{hits} rows", hits=right))) == []
    (contradiction,) = misprinted(Statement.of("{hits} rows", hits=wrong))
    assert contradiction.why == "hits is 12, and not 13"


def test_false_findings_are_caught_by_the_counts(planted):
    """Parts that agree with the sentence, and not with the rows."""
    counts = next(iter(planted.counts.values()))
    subject = Subject.of(planted.manifest, planted.findings)
    other = counts.relabelled({"truth": ("dog", "cup", "kite")})
    assert list(contradictions(planted.overview, list(planted.findings), subject, other))


@pytest.mark.parametrize("medium", ["page", "terminal", "verbose", "notebook", "print", "markdown"])
def test_false_prints_are_caught(planted, tmp_path, medium):
    text = printed_by(planted, tmp_path)[medium]
    assert checked(planted, **{medium: text}) == []
    hits, rows = counts_of(planted.overview, 0), counts_of(planted.overview, 1)
    for false in (text.replace(f"{hits} of {rows}", f"{rows} of {rows}"), text.replace("blue", "red")):
        assert false != text
        wrong = checked(planted, **{medium: false})
        assert wrong
        assert {one.where for one in wrong} == {medium}


def test_german_first_lines_hold_what_the_english_ones_hold(planted):
    page = planted.html(language="de")
    assert "Zufall" in page
    assert checked(planted, language="de", page=page) == []
    hits, rows = counts_of(planted.overview, 0), counts_of(planted.overview, 1)
    for false in (page.replace(f"{hits} von {rows}", f"{rows} von {rows}"), page.replace("blue", "red")):
        wrong = checked(planted, language="de", page=false)
        assert {one.where for one in wrong} == {"page"}


@pytest.mark.parametrize(
    ("field", "change", "why"),
    [
        ("text", placed("hits", by_one), "hits is not"),
        ("text", placed("label", "kite"), "label is not dog"),
        ("certainty", placed("p", lambda old: Slot("0.012", old.value)), "p is"),
        ("certainty", lambda _: Statement("p", "p"), "it has 0 places"),
        ("beyond", lambda _: False, "it has other headlines"),
    ],
)
def test_false_translations_are_caught(planted, field, change, why):
    names = {"blue", "red", "green", "cup", "dog", "kite"}
    with written_in("de"):
        german = overview_of(in_language(planted.findings), planted.manifest)
        assert list(mistranslated(planted.overview, german, names)) == []
        false = headline(**{field: change})(german)
        (wrong, *_) = mistranslated(planted.overview, false, names)
    assert wrong.why.startswith(why)


def moved(text, pattern, kind):
    """A text in which the first number that a pattern finds is another one."""
    match = re.search(pattern, text)
    assert match, kind
    number = match[1]
    other = f"{9 - int(number[-1])}" if number[-1].isdigit() else "5"
    return text[: match.end(1) - 1] + other + text[match.end(1) :]


FALSE_LINES = {
    "value": r" = (\d\.\d+);",
    "interval": r"; interval (-?\d\.\d+) to",
    "band": r"chance alone gives (-?\d\.\d+) to",
    "p": r"p = (\d\.\d+)[;<]",
    "n": r"; n = ([\d,]+)\.",
}


@pytest.mark.parametrize("kind", [*FALSE_LINES, "verdict", "finding", "left out"])
@pytest.mark.parametrize("medium", ["sarif", "junit"])
def test_false_lines_of_exports_are_caught(planted, tmp_path, medium, kind):
    text = printed_by(planted, tmp_path)[medium]
    assert checked(planted, **{medium: text}) == []
    if kind in FALSE_LINES:
        false = moved(text, FALSE_LINES[kind], kind)
    elif kind == "verdict":
        false = text.replace("; exploratory;", "; above what chance alone gives: the unfair side;")
        if medium == "sarif":  # of findings beyond chance only
            false = text.replace(
                "; above what chance alone gives: the unfair side;", "; within what chance alone gives;"
            )
    elif kind == "finding":
        first, second = [metric for metric, _ in exported_lines(text)][:2]
        false = text.replace(f'{first}"', f'{second}"')
    else:
        false = re.sub(r"; chance alone gives [^;]*;", ";", text, count=1)
    assert false != text
    wrong = checked(planted, **{medium: false})
    assert wrong
    assert {line.where for line in wrong} == {medium}


@pytest.mark.parametrize(
    ("text", "value", "is_share", "stands"),
    [("12", 0.1249, True, True), ("12", 0.126, True, False), ("<0.001", 0.0004, False, True),
     ("<0.001", 0.002, False, False), (">−0.001", -0.0004, False, True), ("1,234", 1234.0, False, True),
     ("1,234", 1235.0, False, False)],
)  # fmt: skip
def test_numbers_stand_for_what_rounds_to_them(text, value, is_share, stands):
    assert PrintedNumber(text, is_share).stands_for(value) is stands


def test_text_with_a_small_p_is_no_html(planted):
    """``p <0.001`` opens no element."""
    title = planted.overview.title
    printed = f"{title} {planted.overview.headlines[0].certainty}"
    assert "<" in printed
    assert checked(planted, terminal=printed) == []
