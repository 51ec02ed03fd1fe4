"""Vocabularies: names, other spellings, files of synonyms, and what is refused."""

from itertools import pairwise

import polars as pl
import pytest

from evenhand.core.errors import InputError, ParameterError
from evenhand.evidence.open_answers.answer_lemma import singular
from evenhand.evidence.open_answers.normalise import Pipeline, Vocabulary, normalised
from evenhand.evidence.open_answers.synonyms import KINDS, SHIPPED, read_synonyms
from evenhand.evidence.open_answers.text import plain_form
from evenhand.evidence.open_answers.vocabulary import wordnet_synonyms


def label(text, vocabulary, **options):
    return normalised(pl.DataFrame({"sample": ["a"], "text": [text]}), vocabulary, **options)["prediction"][0]


def written(folder, *lines):
    path = folder / "synonyms.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", SHIPPED)
def test_our_files_have_a_kind_and_a_reason_on_every_line_and_no_contradiction(name):
    lines = read_synonyms(name)
    assert all(line.reason and line.kind in KINDS for line in lines)
    names = sorted({line.name for line in lines})
    vocabulary = Vocabulary.read(names, name)
    assert len({plain_form(line.spelling) for line in lines}) == len(lines)
    for line in lines:
        assert label(line.spelling, vocabulary) == line.name


def test_gendered_forms_are_marked_in_our_file():
    gendered = {line.spelling for line in read_synonyms("occupations") if line.kind == "gendered"}
    assert {"waitress", "policewoman", "policeman", "stewardess", "actress", "mailman"} <= gendered
    told = [line for line in read_synonyms("occupations") if line.spelling.endswith(("woman", "ess"))]
    assert all(line.kind == "gendered" for line in told)


def test_gendered_lines_can_be_left_out():
    vocabulary = Vocabulary.read(["waiter"], "occupations", gendered=False)
    assert label("waitress", vocabulary) == "waitress"
    assert label("waitstaff", vocabulary) == "waiter"


def test_a_group_of_ours_goes_to_the_word_that_is_a_label():
    vocabulary = Vocabulary.read(["physician", "attorney", "Cook"], "occupations")
    said = ["doctor", "GP", "lawyer", "attorney at law", "chef", "cook"]
    found = normalised(pl.DataFrame({"sample": list("abcdef"), "text": said}), vocabulary)
    assert found["prediction"].to_list() == ["physician"] * 2 + ["attorney"] * 2 + ["Cook"] * 2


def test_words_that_are_labels_themselves_are_no_synonyms():
    vocabulary = Vocabulary.read(["chef", "cook", "waiter", "waitress"], "occupations")
    for name in vocabulary.names:
        assert label(f"a {name}", vocabulary) == name


def test_one_sort_of_a_thing_does_not_take_the_whole():
    vocabulary = Vocabulary.read(["registered nurse"], "occupations")
    assert label("registered nurse", vocabulary) == "registered nurse"
    assert label("nurse", vocabulary) == "nurse"


def test_a_file_of_the_users(tmp_path):
    path = written(tmp_path, "# mine", "", "spelling\tname", "vet\tanimal doctor", "cop\tofficer\tshort\tx")
    vocabulary = Vocabulary.read(["animal doctor", "officer"], path)
    assert vocabulary.synonyms == {"vet": "animal doctor", "cop": "officer"}
    assert label("the vets", vocabulary) == "animal doctor"
    (tmp_path / "again.tsv").write_text(vocabulary.text())
    assert Vocabulary.read(vocabulary.names, tmp_path / "again.tsv").synonyms == vocabulary.synonyms


def test_kinds_are_kept_when_written_and_read(tmp_path):
    vocabulary = Vocabulary.read(["waiter"], "occupations")
    (tmp_path / "again.tsv").write_text(vocabulary.text())
    again = Vocabulary.read(["waiter"], tmp_path / "again.tsv")
    assert again.gendered == vocabulary.gendered
    assert again.text() == vocabulary.text()
    assert "waitress\twaiter\tgendered\tfeminine form\n" in again.text()
    assert "waitress" in again.gendered


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["vet"], r"line 1 is 'vet'; write spelling, name"),
        (["vet\tdoctor\tsillyness"], "kind .same, spelling"),
        (["a b\tdoctor", "A-B\tnurse"], "lines 1 and 2 give 'A-B' two names, 'doctor' and 'nurse'"),
        (["nurse\tdoctor"], "line 1 makes 'nurse' a spelling of 'doctor', but it is a label itself"),
        (["gp\tmedic", "medic\tdoctor"], "'gp' stands for 'medic', which itself stands for 'doctor'"),
        (["...\tdoctor"], "is empty"),
    ],
)
def test_lines_that_cannot_be_used_are_refused(tmp_path, lines, message):
    with pytest.raises((InputError, ParameterError), match=message) as caught:
        Vocabulary.read(["doctor", "nurse"], written(tmp_path, *lines))
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_used_are_refused(tmp_path):
    with pytest.raises(InputError, match="give one of occupations, sports, objects"):
        Vocabulary.read(["a"], tmp_path / "none.tsv")
    (tmp_path / "latin.tsv").write_bytes(b"caf\xe9\tcafe\n")
    with pytest.raises(InputError, match="not text in UTF-8"):
        Vocabulary.read(["a"], tmp_path / "latin.tsv")


def test_labels_that_no_answer_can_tell_apart_are_refused():
    with pytest.raises(ParameterError, match=r"'Doctor' and 'doctor!' are both 'doctor'"):
        Vocabulary(("Doctor", "doctor!"))
    with pytest.raises(ParameterError, match="'Doctor' and 'Doctor' are both 'doctor'"):
        Vocabulary(("Doctor", "nurse", "Doctor"))
    with pytest.raises(ParameterError, match="cannot be found in an answer"):
        Vocabulary(("...",))
    with pytest.raises(ParameterError, match="'Cop' stands for 'nurse' and for 'doctor'"):
        Vocabulary(("doctor", "nurse"), {"cop": "doctor", "Cop": "nurse"})


def test_labels_that_differ_by_number_only_stay_apart():
    vocabulary = Vocabulary(("sunglass", "sunglasses"))
    assert [label(text, vocabulary) for text in ("a sunglass", "Sunglasses")] == ["sunglass", "sunglasses"]


def test_synonyms_can_be_left_out():
    vocabulary = Vocabulary.read(["police officer"], "occupations")
    steps = Pipeline(("case", "frame", "article", "punctuation", "lemma"))
    said = ["a cop", "Police Officers", "cops"]
    assert [label(text, vocabulary, pipeline=steps) for text in said] == ["cop", "police officer", "cop"]


def test_every_label_of_a_long_list_is_itself():
    names = [f"class {number} of {number % 7}, kind-{number}" for number in range(300)]
    vocabulary = Vocabulary(tuple(names))
    found = normalised(pl.DataFrame({"sample": names, "text": names}), vocabulary)
    assert found["prediction"].to_list() == names
    assert all(left != right for left, right in pairwise(sorted(found["prediction"])))


LMF = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd">
<LexicalResource xmlns:dc="https://globalwordnet.github.io/schemas/dc/">
<Lexicon id="tiny" label="Tiny" language="en" email="a@b.c" license="MIT" version="1">
{entries}{synsets}
</Lexicon></LexicalResource>
"""
SYNSETS = {
    "lawyer": ["lawyer", "attorney"],
    "crane-bird": ["crane"],
    "crane-machine": ["crane", "derrick"],
    "physician": ["physician", "medico"],
    "surgeon": ["surgeon", "medico"],
}


@pytest.fixture
def wordnet(tmp_path, monkeypatch):
    """A WordNet of five synsets, in a folder of its own."""
    wn = pytest.importorskip("wn")
    monkeypatch.setattr(wn.config, "_dbpath", None, raising=False)
    monkeypatch.setattr(wn.config, "data_directory", tmp_path / "wn")
    words = sorted({word for members in SYNSETS.values() for word in members})
    entries = "".join(
        f'<LexicalEntry id="tiny-{word}"><Lemma writtenForm="{word}" partOfSpeech="n"/>'
        + "".join(
            f'<Sense id="tiny-{word}-{synset}" synset="tiny-{synset}"/>'
            for synset, members in SYNSETS.items()
            if word in members
        )
        + "</LexicalEntry>"
        for word in words
    )
    synsets = "".join(
        f'<Synset id="tiny-{synset}" ili="" partOfSpeech="n"><Definition>a {synset}</Definition></Synset>'
        for synset in SYNSETS
    )
    (tmp_path / "tiny.xml").write_text(LMF.format(entries=entries, synsets=synsets))
    wn.add(tmp_path / "tiny.xml", progress_handler=None)
    return "wordnet:tiny:1"


def test_wordnet_gives_the_words_of_an_only_sense(wordnet):
    vocabulary = Vocabulary.read(["Lawyer", "crane", "physician", "surgeon"], wordnet)
    assert vocabulary.synonyms == {"attorney": "Lawyer"}  # crane has two senses; medico is two labels
    assert vocabulary.lines[0].reason == "WordNet tiny-lawyer: a lawyer"
    assert label("two attorneys", vocabulary) == "Lawyer"
    found = wordnet_synonyms(["crane"], lexicon="tiny:1", senses={"crane": "tiny-crane-machine"})
    assert [(line.spelling, line.name) for line in found] == [("derrick", "crane")]


def test_a_wordnet_that_is_not_there_is_told(wordnet):
    with pytest.raises(InputError, match=r"type: python -m wn download oewn:1999"):
        Vocabulary.read(["crane"], "wordnet:oewn:1999")


def test_a_word_becomes_the_known_one_only_by_an_ending_of_a_plural():
    known = {"lady", "wolf", "knife", "box", "cat", "fireman", "bus"}
    for plural, one in {
        "ladies": "lady", "wolves": "wolf", "knives": "knife", "boxes": "box", "cats": "cat",
        "firemen": "fireman", "the buses": "the bus",
    }.items():  # fmt: skip
        assert singular(plural, known | {"the bus"}) == one
    for word in ("ladder", "wolfram", "knitter", "boxer", "catch", "cassette"):
        assert singular(word, known) == word


@pytest.mark.parametrize("line", ["\tname", "spelling\t", "alone", "a\tb\tunknown-kind"])
def test_lines_of_synonyms_without_both_sides_are_refused(line, tmp_path):
    with pytest.raises(InputError, match="line 2"):
        read_synonyms(str(written(tmp_path, "car\tauto", line)))
