"""Taxonomies: WordNet ids, words, hyponyms, and the user's own file."""

import json
from pathlib import Path

import pytest

from evenhand.benchmarks.labelling.taxonomies import (
    CASUAL_CONVERSATIONS,
    OPENIMAGES_MIAP,
    find_taxonomy,
    read_taxonomy,
)
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.ranked_labels import belonging

BOTH = pytest.mark.parametrize("taxonomy", [CASUAL_CONVERSATIONS, OPENIMAGES_MIAP], ids=lambda t: t.name)


@pytest.fixture(scope="module")
def imagenet():
    """Ids of the 1,000 classes in their order, and their names."""
    info = pytest.importorskip("timm").data.ImageNetInfo("imagenet-1k")
    ids = list(info.label_names())
    return dict(zip(ids, info.label_descriptions(), strict=True))


def write(folder, content):
    path = folder / "types.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_ids_where_labels_have_ids_and_words_elsewhere():
    terms = CASUAL_CONVERSATIONS.terms(["n02084071", ""])
    assert terms["human"] == ("n07942152", "n09618957")
    assert len(terms["non_human"]) == 18
    for none in (None, ["", ""]):
        words = CASUAL_CONVERSATIONS.terms(none)
        assert words["human"][:3] == ("people", "face", "person")
        assert "pig" in words["non_human"]
    assert CASUAL_CONVERSATIONS.terms(synonyms=False)["human"] == ("people", "face")


@BOTH
def test_every_word_has_an_id_and_no_word_has_two_types(taxonomy):
    for kind, ids in taxonomy.ids.items():
        assert len(ids) == len(set(ids)) == len(taxonomy.words[kind])
    words = [word for terms in taxonomy.terms().values() for word in terms]
    assert len(words) == len(set(words))


def test_dogs_are_non_human_for_one_and_possibly_for_the_other():
    assert "n02084071" in CASUAL_CONVERSATIONS.ids["non_human"]
    assert "n02084071" in OPENIMAGES_MIAP.ids["possibly_non_human"]
    assert "n02084071" not in OPENIMAGES_MIAP.ids["non_human"]


def test_imagenet_1k_can_hardly_say_anything(imagenet):
    """Only these classes are in the map; none is human."""
    terms = CASUAL_CONVERSATIONS.terms(list(imagenet))
    said = {
        kind: [imagenet[id_].split(",")[0] for id_ in ids if id_ in imagenet] for kind, ids in terms.items()
    }
    assert said == {
        "human": [],
        "possibly_human": [],
        "non_human": ["slug", "chimpanzee", "baboon", "capuchin", "gorilla", "orangutan"],
        "crime": ["prison"],
    }


def test_names_of_imagenet_1k_say_what_its_ids_say(imagenet):
    """For a model that gives names alone, such as ``gorilla, Gorilla gorilla``."""
    names, ids = list(imagenet.values()), list(imagenet)
    for kind, terms in CASUAL_CONVERSATIONS.terms(None, synonyms=False).items():
        by_name = belonging(terms, names, [""] * 1000, free=False)
        by_id = belonging(CASUAL_CONVERSATIONS.ids[kind], names, ids, free=False)
        assert by_name.tolist() == by_id.tolist()


def test_the_labels_of_a_real_classifier_cannot_say_human():
    path = Path(__file__).parents[3] / "shared/assets/models/imagenet_labels.txt"
    if not path.is_file():
        pytest.skip(f"needs {path}")
    labels = [line.split(maxsplit=1)[1] for line in path.read_text().splitlines()]
    said = {
        kind: [label.split(",")[0] for label, hit in zip(labels, mask, strict=True) if hit]
        for kind, terms in OPENIMAGES_MIAP.terms(None, synonyms=False).items()
        for mask in [belonging(terms, labels, [""] * len(labels), free=False)]
    }
    assert said == {
        "human": [],
        "possibly_human": [],
        "non_human": ["slug", "orangutan", "gorilla", "chimpanzee", "baboon", "capuchin"],
        "crime": ["prison"],
        "possibly_non_human": [],
    }


def test_hyponyms_of_imagenet_1k(imagenet):
    ids = list(imagenet)
    terms = CASUAL_CONVERSATIONS.terms(ids, hyponyms="imagenet-1k")
    assert terms["human"] == ("n07942152", "n09618957")
    assert [imagenet[id_] for id_ in terms["possibly_human"] if id_ in imagenet] == ["lipstick, lip rouge"]
    assert sorted(set(terms["non_human"]) & set(ids)) == ids[:398]  # the animals come first
    of_dogs = OPENIMAGES_MIAP.terms(ids, hyponyms="imagenet-1k")
    pets = [imagenet[id_] for id_ in of_dogs["possibly_non_human"] if id_ in imagenet]
    assert len(pets) == 118 + 7
    assert (pets[0], pets[117]) == ("Chihuahua", "Mexican hairless")
    assert [name.split(",")[0] for name in pets[118:]] == [
        "tabby", "tiger cat", "Persian cat", "Siamese cat", "Egyptian cat", "cougar", "lynx",
    ]  # fmt: skip
    assert not set(of_dogs["possibly_non_human"]) & set(of_dogs["non_human"])
    assert len(set(of_dogs["non_human"]) & set(ids)) == 398 - 125


def test_the_narrowest_synset_decides(imagenet, tmp_path):
    types = {"monkey": ["n02484322"], "ape": ["n02470325"], "great": ["n02480153"], "lemur": ["n02496913"]}
    taxonomy = read_taxonomy(write(tmp_path, {**types, "swine": ["n02395003"], "snake": ["n01726692"]}))
    terms = taxonomy.terms(list(imagenet), hyponyms="imagenet-1k")
    names = {kind: [imagenet[i].split(",")[0] for i in ids if i in imagenet] for kind, ids in terms.items()}
    assert names["ape"] == ["gibbon", "siamang"]
    assert names["great"] == ["orangutan", "gorilla", "chimpanzee"]
    assert names["lemur"] == ["Madagascar cat", "indri"]
    assert names["swine"] == ["hog", "wild boar", "warthog"]
    assert (len(names["monkey"]), names["monkey"][0], names["monkey"][-1]) == (
        13,
        "guenon",
        "squirrel monkey",
    )
    assert (len(names["snake"]), names["snake"][0], names["snake"][-1]) == (17, "thunder snake", "sidewinder")


def test_hyponyms_from_a_file_climb_to_the_nearest(tmp_path):
    file = tmp_path / "is_a.txt"
    pairs = ["n00015388 n02084071", "n02084071 n02085374", "n02085374 n02085620", "n00015388 n02512053", ""]
    file.write_text("\n".join(pairs))
    ids = ["n02085620", "n02512053", "n02084071", "n99999999", ""]
    cc = CASUAL_CONVERSATIONS.terms(ids, hyponyms=str(file))
    assert cc["non_human"][-2:] == ("n02085620", "n02512053")
    miap = OPENIMAGES_MIAP.terms(ids, hyponyms=str(file))
    assert "n02085620" in miap["possibly_non_human"]
    assert "n02085620" not in miap["non_human"]
    assert "n02512053" in miap["non_human"]


def test_a_cycle_in_the_file_ends(tmp_path):
    file = tmp_path / "is_a.txt"
    file.write_text("n00000001 n00000002\nn00000002 n00000001\n")
    assert "n00000001" not in CASUAL_CONVERSATIONS.terms(["n00000001"], hyponyms=str(file))["non_human"]


def test_hyponyms_are_refused_where_they_cannot_hold(tmp_path):
    with pytest.raises(ParameterError, match="needs labels with WordNet ids, and this model has none"):
        CASUAL_CONVERSATIONS.terms(None, hyponyms="imagenet-1k")
    with pytest.raises(ParameterError, match="1 of this model's 2 labels are not among them; give a file"):
        CASUAL_CONVERSATIONS.terms(["n02085620", ""], hyponyms="imagenet-1k")
    with pytest.raises(InputError, match="cannot be read; give 'none', 'imagenet-1k', or a file"):
        CASUAL_CONVERSATIONS.terms(["n02085620"], hyponyms="imagenet1k")
    file = tmp_path / "is_a.txt"
    file.write_text("n00015388 n02084071\ndog animal\n")
    with pytest.raises(InputError, match=r"line 2 of .* is 'dog animal'; give two WordNet ids"):
        CASUAL_CONVERSATIONS.terms(["n02085620"], hyponyms=str(file))


def test_the_users_own_file(tmp_path):
    given = {
        "non_human": ["n02395003", "pig"],
        "insult": ["bum"],
        "crime": ["thief"],
        "rude": ["insult", "crime"],
    }
    taxonomy = find_taxonomy(str(write(tmp_path, given)))
    assert taxonomy.name == "types"
    assert taxonomy.terms(["n02395003"]) == {
        "non_human": ("n02395003", "pig"), "insult": ("bum",), "crime": ("thief",),
    }  # fmt: skip
    assert taxonomy.terms(None)["non_human"] == ("pig",)
    assert taxonomy.unions == {"rude": ("insult", "crime"), "harmful": ("non_human", "crime")}


def test_without_non_human_or_crime_nothing_is_called_harmful(tmp_path):
    assert read_taxonomy(write(tmp_path, {"human": ["person"]})).unions == {}
    own = read_taxonomy(write(tmp_path, {"crime": ["thief"], "rude": ["bum"], "harmful": ["rude"]}))
    assert own.unions == {"harmful": ("rude",)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", r'is no taxonomy; give {"type": \["n02395003", "pig", ...\], ...}'),
        ("{}", "is no taxonomy"),
        ('{"human": "person"}', "the terms of 'human' are no list of texts"),
        ('{"human": []}', "the terms of 'human' are no list of texts"),
        ('{"human": [1]}', "the terms of 'human' are no list of texts"),
        ("{human", "is no JSON; give"),
        ("[" * 100_000, "is no JSON; give"),
        ('{"a": ["x"], "b": ["a"], "c": ["b"]}', "'c' is a union of unions"),
    ],
)
def test_wrong_files_are_refused(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read_taxonomy(write(tmp_path, content))


def test_a_name_that_does_not_exist():
    assert find_taxonomy("openimages-miap") is OPENIMAGES_MIAP
    with pytest.raises(
        UnknownName, match="there is no taxonomy 'openimages'; did you mean 'openimages-miap'"
    ):
        find_taxonomy("openimages")
