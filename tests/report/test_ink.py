"""One rule of ink: marks are filled and coloured only where a test corrected for the others passed."""

import re

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.cli.summaries.first_lines import first_lines
from evenhand.core.significance import is_beyond
from evenhand.display.overview.content import Chart, Mark
from evenhand.display.overview.strips import Signs
from evenhand.report.insight.drawing import draw


def audited(hurt, seed=1, n=900):
    """Three unequal groups; the mistakes of the smallest are more by a share of its rows."""
    rng = np.random.default_rng(seed)
    truth, group = rng.integers(4, size=n), rng.choice(3, n, p=(0.5, 0.35, 0.15))
    wrong = rng.random(n) < 0.1 + hurt * (group == 2)
    said = (truth + wrong * rng.integers(1, 4, n)) % 4
    frame = pl.DataFrame({"t": truth, "p": said, "g": group}).cast(pl.String)
    return eh.audit(frame, truth="t", prediction="p", by="g")


@pytest.fixture(scope="module")
def fair():
    return audited(0.0)


@pytest.fixture(scope="module")
def unfair():
    return audited(0.3)


def filled(page):
    """Marks of pictures and of the table of findings that are filled."""
    shown = page[page.index('<section class="opening') :]
    figures = "".join(re.findall(r'<div class="mark-row.*?</div>', shown, re.DOTALL))
    strips = "".join(re.findall(r'<span class="strip".*?</svg>', shown, re.DOTALL))
    return figures.count('class="point"'), strips.count('class="dot"')


def test_a_fair_table_has_no_filled_mark(fair):
    assert not fair.overview.beyond
    assert filled(fair.html()) == (0, 0)
    assert "hollow-point" in fair.html()
    assert "●" not in "".join(first_lines(fair, None, signs=Signs()))
    cell = fair._repr_html_()
    assert 'class="hot"' not in cell.partition("</style>")[2]
    assert 'fill="var(--hot)"' not in cell


def test_a_page_without_a_finding_is_quiet(fair, unfair):
    """No blue kicker or rule, no bold p; a hollow mark outside its band says of what the band is."""
    opening = fair.html().partition('id="finding"')
    assert opening[0].endswith('<section class="opening quiet" ')
    facts = opening[2].partition("</dl>")[0].partition("<dl")[2]
    assert "p = " in facts
    assert "<strong>" not in facts
    assert '<section class="opening" id="finding"' in unfair.html()
    assert "<strong>" in unfair.html().partition('id="finding"')[2].partition("</dl>")[0]


@pytest.mark.parametrize(("value", "is_beyond_chance", "ending"), [
    (0.2, False, ", in a single comparison"), (0.2, True, ""), (0.1, False, ""),
])  # fmt: skip
def test_the_key_says_where_bands_are_of_one_mark_alone(value, is_beyond_chance, ending):
    mark = Mark("a", value, null=(0.0, 0.15), beyond=is_beyond_chance)
    assert Chart("t", (mark,), "chance alone").band == f"chance alone{ending}"
    assert draw(Chart("t", (mark,), "chance alone")).null == f"chance alone{ending}"


def test_what_is_beyond_chance_is_filled(unfair):
    assert unfair.overview.beyond
    n_figures, n_strips = filled(unfair.html())
    assert n_figures >= 2  # the headline's, and that of accuracy by group
    judged = [finding for finding in unfair.findings if is_beyond(finding)]
    assert n_strips == len(judged)
    assert "●" in "".join(first_lines(unfair, None, signs=Signs()))
    assert 'fill="var(--hot)"' in unfair._repr_html_()


def test_accuracy_by_group_says_no_more_than_the_first_screen(fair, unfair):
    """Reasons for a lower accuracy stand where the run's test of accuracy passed, whatever intervals say."""
    for seed in range(6):
        page = audited(0.0, seed).html()
        assert "points lower" not in page.partition('id="numbers"')[0]
    assert "2 is right in " in unfair.html().partition('id="numbers"')[0]
