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
from evenhand.display.text.language import current_catalogue, written_in
from evenhand.report.checking.check import contradictions
from evenhand.report.checking.exported_lines import exported_lines
from evenhand.report.checking.printed_numbers import numbers_in
from evenhand.report.checking.translations import mistranslated
from evenhand.report.glossary import in_language
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
    lines = list(run.overview.headlines)
    lines[index] = replace(lines[index], text=texts[index].replace(": lower with", ": higher with"))
    subject, findings = Subject.of(run.manifest, run.findings), list(run.findings)
    assert list(contradictions(run.overview, findings, subject)) == []
    assert list(contradictions(replace(run.overview, headlines=tuple(lines)), findings, subject))


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
        ("sentence", ("is better", "is worse")),
        ("sentence", ("newer of newer is", "older of older is")),
        ("text", ("With newer of newer", "With older of older")),
        ("size", (": ", ": −")),
        ("kicker", ("better than", "worse than")),
        ("kicker", ("Accuracy:", "Accuracy gap:")),
        ("kicker", (" points", "0 points")),
        ("kicker", ("newer of newer is", "older of older is")),
    ],
)
def test_the_better_model_is_named(improved, field, change):
    overview, findings = improved.overview, list(improved.findings)
    subject = Subject.of(improved.manifest, improved.findings)
    assert list(contradictions(overview, findings, subject)) == []
    if field == "kicker":
        false = replace(overview, kicker=overview.kicker.replace(*change))
    else:
        false = headline(**{field: change})(overview)
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


def headline(**changes):
    """First lines whose first headline says something else; a change is a text, or of which to which."""

    def falsified(overview):
        first = overview.headlines[0]
        about = {
            name: getattr(first, name).replace(*change) if isinstance(change, tuple) else change
            for name, change in changes.items()
        }
        assert all(getattr(first, name) != value for name, value in about.items())
        return replace(overview, headlines=(replace(first, **about), *overview.headlines[1:]))

    return falsified


def counts_of(overview, which):
    """The counts of the first headline: hits and rows, here and elsewhere."""
    return [number.text for number in numbers_in(overview.headlines[0].text)][which]


FALSE = {
    "another group": headline(text=("blue", "red")),
    "another class": headline(text=("cup", "kite")),
    "another label": headline(text=("dog", "kite")),
    "counts of the other side": lambda overview: headline(
        text=(counts_of(overview, 0), counts_of(overview, 2))
    )(overview),
    "another n": lambda overview: headline(
        text=(f"of {counts_of(overview, 1)}", f"of {int(counts_of(overview, 1)) + 1}")
    )(overview),
    "another n in full": lambda overview: headline(
        sentence=(f"Of {counts_of(overview, 1)}", f"Of {int(counts_of(overview, 1)) + 1}")
    )(overview),
    "a stale p": headline(certainty="p = 0.031, corrected for 6 comparisons."),
    "no test": headline(certainty="Not tested."),
    "another number of comparisons": headline(certainty=("for 12 comparisons", "for 13 comparisons")),
    "an inverted sign": headline(size=("more than", "fewer than")),
    "a wrong unit": headline(size=(" points", "")),
    "an interval that holds 0": headline(size=("interval ", "interval −")),
    "another band": headline(chance=("give ", "give 9")),
    "within chance": headline(beyond=False),
    "under another grouping": headline(by="site"),
    "of a finding that is not there": headline(metric="accuracy_gap(by=site)"),
    "rows behind it": headline(cases=1.0),
    "nothing differs": lambda overview: replace(
        overview, title="Nothing differs by group beyond chance.", headlines=()
    ),
}


@pytest.mark.parametrize("name", FALSE)
def test_false_first_lines_are_caught(planted, name):
    subject, counts = Subject.of(planted.manifest, planted.findings), next(iter(planted.counts.values()))
    findings = list(planted.findings)
    assert list(contradictions(planted.overview, findings, subject, counts)) == []
    false = FALSE[name](planted.overview)
    assert list(contradictions(false, findings, subject, counts))


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
        ("text", (" von ", " von 1"), "its numbers are not those"),
        ("text", ("dog", "kite"), "it does not name 'dog'"),
        ("certainty", ("0,0", "0.0"), "its numbers are not those"),
        ("beyond", False, "it has other headlines"),
    ],
)
def test_false_translations_are_caught(planted, field, change, why):
    names = ["blue", "red", "green", "cup", "dog", "kite"]
    with written_in("de"):
        catalogue = current_catalogue()
        german = overview_of(in_language(planted.findings), planted.manifest)
    assert list(mistranslated(planted.overview, german, names, catalogue)) == []
    false = headline(**{field: change})(german)
    (wrong, *_) = mistranslated(planted.overview, false, names, catalogue)
    assert why in wrong.why


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
    ("text", "expected"),
    [
        ("33 of 99", [("33", False), ("99", False)]),
        ("12 to 30 points", [("12", True), ("30", True)]),
        ("5 points (95 % interval −1.5 to 12)", [("5", True), ("95", True), ("−1.5", True), ("12", True)]),
        ("0.1 (95 % interval 0.01 to 0.2)", [("0.1", False), ("95", True), ("0.01", False), ("0.2", False)]),
        ("12 points more than 0 (95 % interval 4 to 19)",
         [("12", True), ("0", False), ("95", True), ("4", True), ("19", True)]),
        ("Of 31.5 points below the rest, 7.6 come from its mix", [("31.5", True), ("7.6", True)]),
        ("1,234 rows, g12, 3.5 %.", [("1,234", False), ("3.5", True)]),
    ],
)  # fmt: skip
def test_numbers_are_read_with_their_units(text, expected):
    assert [(number.text, number.is_share) for number in numbers_in(text)] == expected


@pytest.mark.parametrize(
    ("text", "value", "stands"),
    [("12 %", 0.1249, True), ("12 %", 0.126, False), ("<0.001", 0.0004, True), ("<0.001", 0.002, False),
     (">−0.001", -0.0004, True), ("1,234", 1234.0, True), ("1,234", 1235.0, False)],
)  # fmt: skip
def test_numbers_stand_for_what_rounds_to_them(text, value, stands):
    (number,) = numbers_in(text)
    assert number.stands_for(value) is stands


def test_text_with_a_small_p_is_no_html(planted):
    """``p <0.001`` opens no element."""
    title = planted.overview.title
    printed = f"{title} {planted.overview.headlines[0].certainty}"
    assert "<" in printed
    assert checked(planted, terminal=printed) == []
