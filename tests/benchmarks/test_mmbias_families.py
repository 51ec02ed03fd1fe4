"""Families of words that a user's file names: in tests, tables, mitigations and comparisons of a run."""

import json
import zlib
from itertools import product

import numpy as np
import pytest

import evenhand as eh
from evenhand.display.text.language import written_in
from evenhand.workflows.debias.items import SourceRun, read_items

ROOTS = {"x": "abcdefgh", "y": "ijklmnop", "bad": "qrst", "good": "uvwz"}
WORDS = {name: [f"{root}{n}" for root, n in product(roots, range(3))] for name, roots in ROOTS.items()}
FAMILIES = {name: [word[0] for word in words] for name, words in WORDS.items()}


class Roots:
    """Words of one letter lie together; a second model adds what no word says."""

    version, logit_scale = "1", 1.0

    def __init__(self, away: float = 0.0) -> None:
        self.away = away

    def embed_texts(self, texts):
        made = [self._vector(text.removeprefix("This is ").strip(".")) for text in texts]
        return np.array(made, dtype=np.float32)

    def _vector(self, word):
        def drawn(text):
            return np.random.default_rng(zlib.crc32(text.encode())).normal(size=12)

        return drawn(word[0]) + 0.1 * drawn(word) + self.away * drawn(f"{word[0]} again")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of two models on the words with families and without."""
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for declared in (True, False):
        sets = {
            name: {"phrases": words} | ({"family": FAMILIES[name]} if declared else {})
            for name, words in WORDS.items()
        }
        content = {
            "targets": {name: sets[name] for name in "xy"},
            "attributes": {name: sets[name] for name in ("bad", "good")},
        }
        data = folder / f"{declared}.json"
        data.write_text(json.dumps(content))
        for away in (0.0, 0.6):
            out = folder / f"{declared}-{away}"
            eh.run("mmbias/association", model=Roots(away), data=data, out=out)
            found[declared, away] = eh.Run.read(out)
    return found


def of(run, name="association_effect_size"):
    return next(finding for finding in run.findings if finding.name == name)


def test_tests_take_families_and_the_run_says_which_words_they_hold(runs):
    families, words = of(runs[True, 0.0]), of(runs[False, 0.0])
    assert families.value == pytest.approx(words.value)
    assert families.interval.method == "t over families of targets and families of attributes"
    assert families.interval.low < words.interval.low
    assert families.interval.high > words.interval.high
    assert families.p_value > words.p_value
    members = runs[True, 0.0].tables["members"]
    assert dict(members.select("item", "family").iter_rows()) == {
        word: word[0] for words in WORDS.values() for word in words
    }
    assert runs[False, 0.0].tables["members"]["family"].null_count() == 72
    single = of(runs[True, 0.0], "single_category_association")
    assert any(note.startswith("24 attributes of 8 families") for note in single.notes)


def test_page_and_terminal_say_what_chance_means_and_which_words_are_one(runs):
    page = runs[True, 0.0].html()
    means = "Chance means other words and photos of the same kind, not other concepts."
    assert means in page
    assert "48 targets of 16 families, each of which counts as one unit: a (a0, a1, a2)" in page
    with written_in("de"):
        overview = eh.Run.read(runs[True, 0.0].folder).overview
    assert "andere Wörter und Fotos derselben Art, keine anderen Konzepte" in overview.caveat
    assert eh.Run.read(runs[True, 0.0].folder).overview.caveat.endswith(means)


def test_mitigations_and_comparisons_take_families_too(runs):
    items = read_items(SourceRun.read(runs[True, 0.0].folder))
    assert {items.families[word] for word in items.attributes} == set("qrstuvwz")
    assert read_items(SourceRun.read(runs[False, 0.0].folder)).families == {}
    compared = [
        next(iter(eh.compare([runs[declared, away].folder for away in (0.0, 0.6)]).findings))
        for declared in (True, False)
    ]
    assert compared[0].value == pytest.approx(compared[1].value)
    assert (
        compared[0].interval.high - compared[0].interval.low
        > compared[1].interval.high - compared[1].interval.low
    )
