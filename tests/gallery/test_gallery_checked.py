"""The first lines of every demo run, in every medium, compared with its findings by a program."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from evenhand.display.overview.overview import overview_of
from evenhand.display.overview.subject import Subject
from evenhand.display.text.language import written_in
from evenhand.report.checking.check import contradictions
from evenhand.report.glossary import in_language
from evenhand.workflows.outputs.result import Run
from tests.gallery.demo import WITH_PAGES
from tests.report.printed_media import checked, printed_by

pytestmark = pytest.mark.slow
KINDS = sorted(WITH_PAGES - {f"{study}-uneven" for study in ("backgrounds", "waterbirds", "celeba")})
"""A run of each kind of page; studies of labelled images have one, and at night all are read."""


def test_first_lines_of_every_kind_of_run_are_borne_out(demo_folder, tmp_path):
    runs = [Run.read(path.parent) for path in sorted((demo_folder / "runs").glob("*/findings.json"))]
    assert len(runs) > 20
    for run in runs:
        assert checked(run) == []
        assert run.overview.headlines


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in KINDS else pytest.mark.nightly) for name in sorted(WITH_PAGES)],
)
def test_every_medium_says_the_same(demo_folder, tmp_path, name):
    run = Run.read(demo_folder / "runs" / name)
    assert checked(run, **printed_by(run, tmp_path)) == []


@pytest.mark.parametrize(
    ("name", "text", "false"),
    [
        ("association", "nearer to unpleasant", "nearer to pleasant"),
        ("association", "than american", "than mexican"),
        ("retrieval-clip-b", "feminine people lead", "masculine people lead"),
        ("retrieval-clip-b", "masculine people in 11", "feminine people in 11"),
    ],
)
def test_sides_that_are_changed_are_caught(demo_folder, name, text, false):
    """Both sides of a headline, which numbers alone do not tell apart."""
    run = Run.read(demo_folder / "runs" / name)
    subject, overview = Subject.of(run.manifest, run.findings), run.overview
    first = overview.headlines[0]
    assert text in first.text
    changed = replace(first, text=first.text.replace(text, false))
    assert list(contradictions(overview, list(run.findings), subject)) == []
    wrong = contradictions(replace(overview, headlines=(changed,)), list(run.findings), subject)
    assert changed.text in {one.text for one in wrong}


@pytest.mark.parametrize("pattern", [*KINDS, "debias", pytest.param("*", marks=pytest.mark.nightly)])
def test_german_pages_say_the_same(demo_folder, pattern):
    paths = sorted((demo_folder / "runs").glob(f"{pattern}/findings.json"))
    assert paths
    for path in paths:
        run = Run.read(path.parent)
        assert checked(run, language="de", page=run.html(language="de")) == []


ENGLISH = re.compile(
    r"\b(the|of|and|than|is|are|with|by|for|to|on|from|not|nor|only|which|whose|whom|does|get|take|lie|lies|"
    r"nearer|chance|chosen|named|called|pairs|images|items|people|places|before|after|first|second|largest|"
    r"smallest|group|groups|gap|share|right|wrong|mean|more|fewer|elsewhere|comparison|comparisons)\b"
)


def texts_of_key(key):
    """Names of a part that have words; a single one might be a word of a sentence."""
    return [text for text in ([key] if isinstance(key, str) else key) if " " in text]


def texts_of(overview):
    """All that a first screen says, and the titles and notes of its charts."""
    yield from (overview.title, overview.lead, overview.kicker, overview.caveat)
    yield from (*overview.silent, *overview.checks)
    for line in overview.headlines:
        yield from (line.text, line.sentence, line.size, line.chance, line.certainty, line.remark, line.scope)
        yield from line.steps
        if line.chart is not None:
            yield from (line.chart.title, line.chart.band, line.chart.note)
            yield from (mark.text for mark in line.chart.marks)


def test_first_screens_of_every_kind_of_run_are_german(demo_folder):
    """But names of groups, columns, labels and parameters."""
    for path in sorted((demo_folder / "runs").glob("*/findings.json")):
        run = Run.read(path.parent)
        with written_in("de"):
            said = list(texts_of(overview_of(in_language(run.findings), run.manifest)))
        labels = {text for line in run.findings for part in line.parts for text in texts_of_key(part.key)}
        of_data = re.compile("|".join(map(re.escape, labels)) or "$^")
        for text in said:
            assert ENGLISH.findall(of_data.sub("", text)) == [], text
