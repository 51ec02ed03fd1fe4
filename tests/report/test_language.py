"""A report in German: every text of every kind of run, the same numbers; the English page stays as it is."""

from __future__ import annotations

import ast
import calendar
import json
import re
from functools import cache
from string import Formatter

import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.core.errors import InputError
from evenhand.display.overview.overview import overview_of
from evenhand.display.text import language
from evenhand.display.text.language import Catalogue, filled, written_in
from evenhand.metrics.catalogue import known_cards
from evenhand.report.page.html import render_html
from evenhand.workflows.outputs.result import Run
from tests.architecture.source_tree import FILES, nodes
from tests.cli.test_audit import type_in
from tests.report import report_samples as samples
from tests.report.compared_kinds import KINDS, made
from tests.report.first_screens import audited, tickets
from tests.report.page_texts import (
    WORDS,
    Missing,
    Texts,
    names_in,
    texts_of_data,
    texts_of_modules,
    texts_of_templates,
)
from tests.report.printed_media import checked

COMPARISONS = sorted(KINDS)
DATA = re.compile(r"=|, numpy |^\{ |^evenhand compare OLD|evenhand-frozen")
ALIKE = {"Name", "Seeds", "evenhand"}
"""What is written alike in both languages."""


@pytest.fixture(scope="module")
def german():
    return Catalogue("de")


@pytest.fixture(scope="module")
def run():
    return audited(tickets())


@pytest.fixture(scope="module")
def page(run):
    return run.html(language="de")


def test_every_text_that_an_audit_looks_up_is_in_the_catalogue(german):
    texts = {*texts_of_modules(), *texts_of_templates()}
    assert len(texts) > 450
    assert sorted(text for text in texts if WORDS.search(text) and text not in german.texts) == []


def test_words_of_benchmarks_and_metrics_are_in_the_catalogue(german):
    """Titles of differences of models are put together from two texts."""
    texts = []
    for name in BENCHMARKS.names():
        words = BENCHMARKS.get(name)
        texts += [words.asks, words.examined, *words.limits, *words.nouns.sample, *words.nouns.query]
        texts += [text for attribute in words.nouns.attributes.values() for text in attribute.groups.values()]
    for card in known_cards().values():
        if card.of is None and (card.headline or card.first_line):
            texts += [card.title, *card.sentences.model_dump().values()]
    assert len(texts) > 300
    assert sorted({text for text in texts if WORDS.search(text) and text not in german.texts}) == []


def test_no_text_of_the_page_is_missing(run, monkeypatch):
    """But names: of the run's table and its columns."""
    catalogue, missing = Catalogue("de"), Missing()
    catalogue.add_fallback(missing)
    monkeypatch.setattr(language, "_catalogue", lambda code: catalogue)
    page = run.html(language="de")
    own = {"ticket_id", "office", "channel", "true_intent", "model_intent", "evenhand", "EO", "DP"}
    shown = "\n".join(Texts(page).texts)
    left = {text for text in missing.texts if WORDS.search(text) and " " in text and text in shown}
    assert left - own == set()


def test_no_text_of_the_page_is_english(run, page):
    """What both pages hold alike is data: labels, names of metrics and columns, references, the manifest."""

    def sentences(html):
        return [text for text in Texts(html).texts if " " in text and WORDS.search(text)]

    alike = set(sentences(page)) & set(sentences(run.html(language="en")))
    references = {f"{line.source.paper}, {line.source.equation}".removesuffix(", ") for line in run.findings}
    data = re.compile(r"=|, numpy |^\{ |^evenhand compare OLD|pytest|evenhand-frozen")
    assert sorted(text for text in alike - references if not data.search(text)) == []


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """From a kind of comparison to its run, and its pages in German and English."""

    @cache
    def pages(kind):
        run = made(kind, tmp_path_factory.mktemp("compared"))
        return run, run.html(language="de"), run.html(language="en")

    return pages


@pytest.mark.parametrize("kind", COMPARISONS)
def test_no_text_of_the_page_of_a_comparison_is_missing(kind, compared, monkeypatch):
    """But names, and the papers' tables and figures, whose texts are those of the benchmarks."""
    run, catalogue, missing = compared(kind)[0], Catalogue("de"), Missing()
    catalogue.add_fallback(missing)
    monkeypatch.setattr(language, "_catalogue", lambda code: catalogue)
    page = run.html(language="de")
    own, shown = names_in(run), "\n".join([*Texts(page, without="artifacts").texts, *texts_of_data(page)])
    left = {text for text in missing.texts if " " in text and text in shown and not DATA.search(text)}
    assert {text for text in left if WORDS.search(own.sub("", text))} == set()


@pytest.mark.parametrize("kind", COMPARISONS)
def test_no_text_of_the_page_of_a_comparison_is_english(kind, compared):
    """Neither sentences nor single words, nor headings and words of tables and charts."""
    run, german_page, english_page = compared(kind)

    def shown(page):
        return {*Texts(page, without="artifacts").texts, *texts_of_data(page)}

    own, alike = names_in(run), shown(german_page) & shown(english_page)
    left = {text for text in alike - ALIKE if not DATA.search(text)}
    assert sorted(text for text in left if WORDS.search(own.sub("", text))) == []


@pytest.mark.parametrize("kind", COMPARISONS)
def test_the_page_of_a_comparison_is_borne_out_in_both_languages(kind, compared):
    run, german_page, english_page = compared(kind)
    assert checked(run, page=english_page) == []
    assert checked(run, language="de", page=german_page) == []


def test_the_page_says_its_language(run, page):
    assert Texts(page).language == "de"
    assert Texts(run.html()).language == "en"


def test_headline_and_sentences_read_as_german(page):
    text = " ".join(Texts(page).texts).replace("\u00a0", " ")
    assert "Lagos : 33 von 100 Tickets, die account_locked sind, werden fraud_report genannt; sonst" in text
    assert "Der Zufall allein ergäbe" in text
    assert "Lesen Sie die 33 Tickets" in text


def test_numbers_of_the_first_screen_are_those_of_the_findings(run, page):
    found = json.loads(run.findings.dump())["findings"]
    finding = next(one for one in found if one["name"] == "disparities")
    part = finding["parts"][0]
    low, high = (round(100 * part["interval"][end]) for end in ("low", "high"))
    details = {name: round(part["details"][name]) for name in "anbm"}
    text = " ".join(Texts(page[: page.index('id="groups"')]).texts)
    assert "{a} von {n} Tickets".format(**details) in text
    assert "sonst {b} von {m}".format(**details) in text
    assert f"{round(100 * part['value'])} Prozentpunkte mehr als sonst" in text
    assert f"95-%-Intervall {low} bis {high}" in text
    assert f"korrigiert für {finding['details']['tested']:.0f} Vergleiche" in text


def test_numbers_have_german_signs():
    with written_in("de"):
        from evenhand.display.text import formatting

        assert formatting.number(1234.5678) == "1.234,568"
        assert formatting.count(2000) == "2.000"
        assert formatting.p_value(0.0001) == "<0,001"
    assert formatting.number(1234.5678) == "1,234.568"


def test_the_english_page_needs_no_catalogue(run, monkeypatch):
    plain = run.html()
    assert run.html(language="de") != plain
    monkeypatch.setattr(language, "_read", lambda code: pytest.fail(f"{code} was read"))
    assert run.html() == plain
    monkeypatch.setenv(language.VARIABLE, "en")
    assert run.html() == plain


def test_findings_stay_english(run, tmp_path, monkeypatch):
    before = run.findings.dump()
    monkeypatch.setenv(language.VARIABLE, "de")
    run.save(tmp_path / "run")
    assert Texts((tmp_path / "run" / "report.html").read_text()).language == "de"
    assert (tmp_path / "run" / "findings.json").read_bytes() == before
    assert "account_locked tickets are called" in Run.read(tmp_path / "run").overview.title


def test_an_unknown_language_is_an_error(run):
    with pytest.raises(InputError, match="written in en or de, not in 'fr'"):
        run.html(language="fr")


def test_the_command_line_writes_german(tmp_path, monkeypatch, capsys):
    tickets().write_csv(tmp_path / "tickets.csv")
    words = ["--truth", "true_intent", "--prediction", "model_intent", "--by", "office", "--noun", "tickets"]
    out = tmp_path / "run"
    audit = ["audit", tmp_path / "tickets.csv", *words, "-o", out]
    assert type_in(monkeypatch, *audit, "--language", "de") == 0
    assert "tickets are called" in " ".join(capsys.readouterr().out.split())
    assert Texts((out / "report.html").read_text()).language == "de"
    assert type_in(monkeypatch, "report", out) == 0
    assert Texts((out / "report.html").read_text()).language == "en"
    assert type_in(monkeypatch, "report", out, "--language", "xx") != 0


def test_labels_stay_inert_in_german():
    page = render_html(samples.hostile(), language="de")
    tags = Texts(render_html(samples.hostile())).tags
    assert sorted(Texts(page).tags) == sorted(tags)


@pytest.mark.parametrize("label", ["{n}", "{0.__class__}", "%(x)s", "{", "<img src=x>", "{noun!r}"])
def test_labels_are_no_placeholders(label):
    labels = (label, "fraud_report", "refund")
    run = audited(tickets(labels=labels))
    texts = Texts(run.html(language="de")).texts
    assert any(re.search(f"die „?{re.escape(label)}“? sind", text) for text in texts)


def odd_tables():
    """Tables that the checks of an audit warn of, and what they are told."""
    rows = [
        (
            f"s{n}",
            f"p{n % 12}",
            ["cat", "dog"][n % 2],
            ["cat", "Cat", "hound"][n % 3],
            n % 24 / 4,
            ["north", "n\u043erth"][n % 2],
        )
        for n in range(60)
    ]
    names = ["sample", "person", "truth", "answer", "age", "site"]
    plain = pl.DataFrame(rows, schema=names, orient="row")
    plain = plain.with_columns(kind=pl.Series(["x", "y", "NA"] * 20), n=pl.Series([1, 2, 3] * 20))
    yield plain, {"by": ["kind"]}
    yield plain.rename({"n": "weight"}), {"by": ["age"]}
    yield plain, {"by": ["kind"], "cluster": "person", "missing": ["none of these"]}
    yield plain, {"by": ["kind"], "map": {"lynx": "cat"}}
    yield pl.concat([plain, plain.head(20)]), {"by": ["kind"], "id": "sample"}
    yield pl.concat([plain, plain.head(20)]).drop("sample"), {"by": ["kind"], "weight": "n"}
    yield plain.with_columns(answer=pl.col("answer").replace("hound", "d\u043eg")), {"by": ["site", "kind"]}


def test_warnings_of_tables_are_german():
    """But names, and what is to be typed."""
    seen = set()
    for frame, form in odd_tables():
        run = eh.audit(frame, truth="truth", prediction="answer", **form)
        with written_in("de"):
            checks = overview_of(run.findings, run.manifest).checks
        seen |= {warning.code for warning in run.findings.warnings}
        assert len(checks) >= len(run.findings.warnings) > 0
        for text in checks:
            words = re.sub(r"'[^']*'|--\S+( [A-Za-z]+)?", "", text)
            assert not re.search(r"\b(the|of|and|rows|with|they|type|here|more)\b", words), text
    assert seen >= {"missing_words", "numbers_as_groups", "spelled_alike", "look_alike", "unused_cluster"}
    assert seen >= {"unused_missing", "unused_map", "repeated_ids", "never_met", "unused_weight"}


def test_names_in_warnings_stay_as_they_are():
    text = (
        "60 of 1,200 rows have the 'right' of an earlier row, and intervals and p take each row as a "
        "sample of its own. If rows of one value belong together, such as pictures of a person, type: "
        "--cluster right"
    )
    with written_in("de"):
        translated = filled(text)
    assert translated.startswith("60 von 1.200 Zeilen haben 'right' einer früheren Zeile")
    assert translated.endswith("--cluster right")


def test_user_texts_are_looked_up_and_not_filled():
    with written_in("de"):
        assert filled("{0.__class__} 3") == "{0.__class__} 3"
        assert language._("{n} rows") == "{n} Zeilen"


def test_entries_keep_the_placeholders_of_their_key(german):
    def names(text):
        return sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None)

    assert {key: text for key, text in german.texts.items() if names(key) != names(text)} == {}
    assert [text for text in german.texts.values() if re.search(r"<[a-z/]|&\w+;|\"", text)] == []
    edges = {
        key
        for key, text in german.texts.items()
        if (key[0] == " ", key[-1] == " ") != (text[0] == " ", text[-1] == " ")
    }
    assert edges == set()


OPPOSITES = [
    ("more", r"\bmehr\b|häufiger|öfter|stärker|enger", "fewer|less", r"\bweniger\b|seltener|schwächer"),
    ("better|best", "besser|beste", "worse|worst", "schlechte"),
    ("above", "über|oberhalb|Vorsprung", "below", "unter|unten|Rückstand"),
    ("masculine|masc", "männl", "feminine|fem", "weibl"),
    ("right", "richtig", "wrong", "falsch"),
    ("highest|higher|high|largest|larger|most", "höchst|höher|hoch|größ|meist|oberes",
     "lowest|lower|low|smallest|smaller|least", "niedrig|gering|klein|unter|mindest"),
    ("at least", "mindestens|wenigstens", "at most", "höchstens"),
    ("beyond chance|above what chance", "hinaus|über dem", "within chance|within what chance",
     "im Zufallsbereich|innerhalb"),
    ("nearer|near", "näher|nahe", "farther|far", "ferner|weiter|fern"),
    ("first", "erste|zuerst", "second|last", "zweite|letzte|zuletzt"),
    ("true", "wahr", "predicted", "vorhergesagt"),
    ("always", "immer|stets", "never", r"\bnie\b"),
]  # fmt: skip


def contrary(english, german):
    """A word of the English text whose opposite alone stands in the German one."""
    for word, same, opposite, other in [*OPPOSITES, *((c, d, a, b) for a, b, c, d in OPPOSITES)]:
        says = [re.search(rf"(?<![\w{{-])(?:{one})(?![\w}}-])", english, re.I) for one in (word, opposite)]
        means = [re.search(one, german, re.I) for one in (same, other)]
        if says[0] and not says[1] and means[1] and not means[0]:
            return word
    return None


def test_no_entry_says_the_contrary(german):
    assert [text for text, translated in german.texts.items() if contrary(text, translated)] == []
    assert contrary("{n} points more than elsewhere", "{n} Prozentpunkte weniger als sonst")
    assert contrary("Feminine people", "männliche Personen")
    assert contrary("{value}, within what chance alone gives", "{value}, über dem Zufallsbereich")


def test_every_entry_is_a_text_of_the_source(german):
    """But what is put together there: months, verdicts, and finished texts of metrics and of papers."""
    constants = {
        node.value
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    constants |= {
        "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.JoinedStr)
    }
    constants |= {sentence.rstrip(".") for text in constants for sentence in text.split(". ")}
    constants |= {f"{text}s" for text in constants} | {text.replace("_", " ") for text in constants}
    constants |= {*texts_of_templates()}
    constants |= {part for mark in (": ", "; ") for text in constants for part in text.split(mark)}
    constants |= {language._PARTS.sub("{}", text) for text in constants}
    months = {*calendar.month_name}
    made = re.compile(
        r"\{\}|^(within|above|below|beyond) (what )?chance|^(default|paper) mode$|^no (null|spread)"
        r"|^(Effect sizes over|Rule: min|EO:|this table|sets raw)"
        r"|^They count as |-income households$|^(masculine|feminine) (people|subjects)$|^asked for "
        r"|^(held-out|fit) $|^the value itself is |^not paired, |^runs that are not paired "
    )
    assert [key for key in {*german.texts} - constants - months if not made.search(key)] == []
