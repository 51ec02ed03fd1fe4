"""Which tests are made: pairs of MMBias by any of their names, and a user's own files of tests."""

import json

import pytest

from evenhand.benchmarks.mmbias.data.groups import PAPER_PAIRS
from evenhand.benchmarks.mmbias.data.sets import Test, read_association_data
from evenhand.core.errors import InputError, ParameterError, UnknownName
from tests.benchmarks.mmbias_release import (
    digests,
    own_home,  # noqa: F401 - for all tests here
    picture,
    release,
    traps_of,
    write_zip,
)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("muslim:christian", [("muslim", "christian")]),
        ("Muslim:Christian, arab:American", [("muslim", "christian"), ("arab", "american")]),
        ("LGBTQ:hetero", [("lgbt", "heterosexual")]),
        ("disability:No disability", [("physical", "non-disabled")]),
        ("mental:abled:pleasant:unpleasant", [("mental", "non-disabled")]),
    ],
)
def test_pairs_are_chosen_by_any_of_their_names(tmp_path, asked, expected):
    data = read_association_data(release(tmp_path / "clone"), pairs=asked)
    assert [(test.x, test.y) for test in data.pairs] == expected


def test_all_pairs_keep_the_direction_of_the_paper(tmp_path):
    pairs = [
        (test.x, test.y) for test in read_association_data(release(tmp_path / "clone"), pairs="all").pairs
    ]
    assert len(pairs) == len({frozenset(pair) for pair in pairs}) == 18 * 17 // 2
    assert set(PAPER_PAIRS) <= set(pairs)


@pytest.mark.parametrize(
    ("asked", "kind", "words"),
    [
        ("muslm:christian", UnknownName, "there is no target set 'muslm'; did you mean 'muslim'"),
        ("muslim:christian:nasty:pleasant", UnknownName, "no attribute set 'nasty'"),
        ("muslim", ParameterError, "write each pair as x:y"),
        ("muslim:muslim", ParameterError, "compares a set with itself"),
        ("muslim:islam:x", ParameterError, "write each pair as x:y"),
        (",", ParameterError, "leaves no test"),
    ],
)
def test_pairs_that_are_not_there_are_explained(tmp_path, asked, kind, words):
    with pytest.raises(kind, match=words) as problem:
        read_association_data(release(tmp_path / "clone"), pairs=asked)
    assert "\n" not in str(problem.value)


SEAT = {
    "targ1": {"category": "Flowers", "examples": ["aster", "clover", "rose"]},
    "targ2": {"category": "Insects", "examples": ["ant", "flea", "wasp"]},
    "attr1": {"category": "Pleasant", "examples": ["love", "peace"]},
    "attr2": {"category": "Unpleasant", "examples": ["abuse", "crash"]},
}


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("indent", [None, 2])
def test_one_test_of_weat(tmp_path, indent):
    data = read_association_data(write(tmp_path / "weat1.jsonl", json.dumps(SEAT, indent=indent)))
    assert data.pairs == (Test("Flowers", "Insects", "Pleasant", "Unpleasant", "weat1"),)
    assert data.target_phrases == {"Flowers": ("aster", "clover", "rose"), "Insects": ("ant", "flea", "wasp")}
    assert data.attribute_phrases == {"Pleasant": ("love", "peace"), "Unpleasant": ("abuse", "crash")}
    assert (len(data.images), data.target_images, dict(data.names)["Flowers"]) == (0, {}, "Flowers")
    unnamed = {**SEAT, "targ1": {**SEAT["targ1"], "category": None}}
    data = read_association_data(write(tmp_path / "weat2.jsonl", json.dumps(unnamed, indent=indent)))
    assert list(data.target_phrases) == ["targ1", "Insects"]


@pytest.mark.parametrize("form", ["lines", "list"])
def test_several_tests_whose_categories_differ_in_their_phrases(tmp_path, form):
    other = {**SEAT, "targ1": {"category": "Flowers", "examples": ["tulip", "lily"]}}
    text = json.dumps([SEAT, other]) if form == "list" else f"{json.dumps(SEAT)}\n{json.dumps(other)}\n"
    data = read_association_data(write(tmp_path / "tests.jsonl", text))
    assert [(test.x, test.y, test.name) for test in data.pairs] == [
        ("Flowers", "Insects", "tests#1"),
        ("Flowers (2)", "Insects", "tests#2"),
    ]
    assert data.target_phrases["Flowers (2)"] == ("tulip", "lily")
    assert [
        test.x for test in read_association_data(tmp_path / "tests.jsonl", pairs="flowers (2):insects").pairs
    ] == ["Flowers (2)"]


def own(folder):
    """Sets of phrases and of images, in a folder and in a zip file."""
    for number, name in enumerate(("young", "old")):
        (folder / "img" / name).mkdir(parents=True)
        for n in range(1, 4):
            (folder / "img" / name / f"{n}.jpg").write_bytes(picture(n, number, 2))
    write_zip(folder / "nice.zip", [(f"{n}.jpg", picture(n, 6, 2)) for n in (1, 2)])
    return {
        "targets": {
            "young": {"images": "img/young", "phrases": ["young", "youth"]},
            "old": {"images": "img/old"},
        },
        "attributes": {"nice": {"images": "nice.zip"}, "nasty": ["nasty", "bad"], "good": ["good", "fine"]},
        "tests": [["young", "old", "good", "nasty"], ["old", "young", "nice", "nasty"]],
    }


def test_sets_of_phrases_and_images_of_the_user(tmp_path):
    data = read_association_data(write(tmp_path / "mine.json", own(tmp_path)))
    assert data.target_images == {
        "young": ("young/1", "young/2", "young/3"),
        "old": ("old/1", "old/2", "old/3"),
    }
    assert data.attribute_images == {"nice": ("nice/1", "nice/2")}
    assert data.target_phrases == {"young": ("young", "youth")}
    assert list(data.attribute_phrases) == ["nasty", "good"]
    assert [(test.x, test.a, test.b) for test in data.pairs] == [
        ("young", "good", "nasty"),
        ("old", "nice", "nasty"),
    ]
    assert (len(data.image_ids), len(data.images), len(set(digests(data).values()))) == (8, 8, 8)
    assert read_association_data(tmp_path / "mine.json", pairs="young:old:nice:good").pairs == (
        Test("young", "old", "nice", "good"),
    )
    with pytest.raises(ParameterError, match="young:old:good:nasty, young:old:nice:nasty"):
        read_association_data(tmp_path / "mine.json", pairs="young:old")
    with pytest.raises(InputError, match=r"the sets nasty in .* have no images"):
        data.require_images(["nasty", "nice"])


def test_two_sets_a_side_need_no_list_of_tests(tmp_path):
    sets = {"targets": {"x": ["a"], "y": ["b"]}, "attributes": {"p": ["c"], "q": ["d"]}}
    assert read_association_data(write(tmp_path / "t.json", sets)).pairs == (Test("x", "y", "p", "q"),)


def test_sets_whose_names_hold_colons_and_commas_can_be_chosen(tmp_path):
    sets = {"age: old": ["old"], "age: young": ["young"], "poor, or rich": ["poor"]}
    content = {"targets": sets, "attributes": {"bad": ["ugly"], "good": ["fair"]}}
    content["tests"] = [["age: old", "age: young"]]
    path = write(tmp_path / "own.json", json.dumps(content))
    for asked, expected in (
        ("age: old:age: young", [("age: old", "age: young")]),
        ("age: young : poor, or rich, age: old:poor, or rich:bad:good", [
            ("age: young", "poor, or rich"), ("age: old", "poor, or rich"),
        ]),
    ):  # fmt: skip
        pairs = read_association_data(path, pairs=asked).pairs
        assert [(test.x, test.y) for test in pairs] == expected


def test_a_set_of_images_may_be_target_and_attribute(tmp_path):
    sets = own(tmp_path)
    sets["attributes"]["young"] = sets["targets"]["young"]
    data = read_association_data(write(tmp_path / "mine.json", sets))
    assert data.attribute_images["young"] == data.target_images["young"]
    assert (len(data.image_ids), len(data.images)) == (8, 8)
    sets["attributes"]["young"] = {"images": "img/old"}
    with pytest.raises(InputError, match=r"'young' in .* has other images as attributes"):
        read_association_data(write(tmp_path / "mine.json", sets))


def test_words_of_both_sides_matter_only_where_they_meet_in_a_test(tmp_path):
    swapped = {"targ1": SEAT["attr1"], "targ2": SEAT["attr2"], "attr1": SEAT["targ1"], "attr2": SEAT["targ2"]}
    path = write(tmp_path / "tests.json", [SEAT, swapped])
    data = read_association_data(path, drop_overlap=True)
    assert data.traps.height == 0
    assert data.target_phrases["Flowers"] == data.attribute_phrases["Flowers"]
    own_word = {**SEAT, "targ1": {"category": "Flowers", "examples": ["aster", "Love"]}}
    data = read_association_data(write(path, own_word), drop_overlap=True)
    assert data.target_phrases["Flowers"] == ("aster",)
    assert traps_of(data, "word in a target and an attribute set") == [("Flowers", "Love", "Pleasant")]


TWO = {"x": ["a"], "y": ["b"]}


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        ("no json", InputError, "is not JSON"),
        (f"{json.dumps(SEAT)}\n{{broken\n", InputError, "line 2 of .* is not JSON"),
        ([], InputError, "holds no tests"),
        ("3", InputError, "holds no tests"),
        ({"targ1": SEAT["targ1"]}, InputError, "has no 'targ2'"),
        (
            [SEAT, {**SEAT, "attr2": {"category": "x"}}],
            InputError,
            "'attr2' of test 2 in .* has no 'examples'",
        ),
        ({**SEAT, "targ1": {"category": "x", "examples": []}}, InputError, "set 'x' in .* is empty"),
        ({**SEAT, "targ1": {"category": "x", "examples": [["a"]]}}, InputError, "must be a text"),
        ({**SEAT, "targ2": SEAT["targ1"]}, InputError, "name two different sets"),
        ({"targets": TWO}, InputError, "'attributes' in .* must be at least two sets"),
        (
            {"targets": {"x": ["a"]}, "attributes": TWO},
            InputError,
            "'targets' in .* must be at least two sets",
        ),
        ({"targets": {**TWO, "z": 3}, "attributes": TWO}, InputError, "the set 'z'"),
        ({"targets": {**TWO, "z": {"photos": "p"}}, "attributes": TWO}, InputError, "the set 'z'"),
        ({"targets": {**TWO, "z": {"images": "gone"}}, "attributes": TWO}, InputError, "there is no folder"),
        ({"targets": {**TWO, "z": {"images": "."}}, "attributes": TWO}, InputError, "has no image"),
        ({"targets": {**TWO, "z": {"images": 4}}, "attributes": TWO}, InputError, "must be a folder's path"),
        ({"targets": {**TWO, "z": ["c"]}, "attributes": TWO}, InputError, "has no 'tests'"),
        ({"targets": TWO, "attributes": TWO, "tests": [["x"]]}, InputError, r"is not \[x, y, a, b\]"),
        ({"targets": TWO, "attributes": TWO, "tests": [["x", "z", "x", "y"]]}, UnknownName, "no set 'z'"),
        ({"targets": TWO, "attributes": TWO, "tests": [["x", "x"]]}, InputError, "two different sets"),
        (
            {"targets": TWO, "attributes": {**TWO, "x": {"phrases": ["a", "c"], "family": ["f"]}}},
            InputError,
            "'x' has 2 items, and its families are a list of 1; give a list with the family of each item",
        ),
        (
            {"targets": TWO, "attributes": {**TWO, "x": {"phrases": ["a"], "family": "f"}}},
            InputError,
            "'family' of the set 'x' in .* must be a list beside 'phrases'",
        ),
        (
            {
                "targets": TWO,
                "attributes": {
                    "x": {"phrases": ["a"], "family": ["f"]},
                    "y": {"phrases": ["a", "b"], "family": ["g", None]},
                },
            },
            InputError,
            "'a' is of the families 'f' and 'g'; give it one of them everywhere",
        ),
    ],
)
def test_files_of_tests_that_cannot_be_used_say_why(tmp_path, content, kind, words):
    with pytest.raises(kind, match=words) as problem:
        read_association_data(write(tmp_path / "mine.json", content))
    assert "\n" not in str(problem.value)


def test_a_column_of_families_is_read_and_otherwise_words_of_one_root_are_seen(tmp_path):
    """Blanks around phrases and families do not matter; a phrase twice has its family once."""
    words = {"category": "Unpleasant", "examples": ["abuse ", "crash", "harm", "crash"]}
    path = tmp_path / "tests.json"
    content = {**SEAT, "attr2": {**words, "family": ["harm", " accident", "harm ", None]}}
    assert read_association_data(write(path, content)).families == {
        "abuse": "harm", "crash": "accident", "harm": "harm",
    }  # fmt: skip
    sets = {"targets": TWO, "attributes": {**TWO, "x": {"phrases": ["a", "c"], "family": ["f", "f"]}}}
    assert read_association_data(write(path, sets)).families == {"a": "f", "c": "f"}
    roots = {**SEAT, "attr2": {**words, "examples": ["abuse", "abused", "crash"]}}
    assert read_association_data(write(path, roots)).families == {"abuse": "abuse", "abused": "abuse"}
    names = {"X": ["Christ", "christian"], "Y": ["Christelle", "christianity"]}  # between words of X
    apart = {"targets": {name: {"phrases": phrases} for name, phrases in names.items()}, "attributes": TWO}
    assert read_association_data(write(path, apart)).families == dict.fromkeys(names["X"], "Christ")
    none = {
        **SEAT,
        "attr2": {"category": "Unpleasant", "examples": ["abuse", "abused"], "family": [None, ""]},
    }
    assert read_association_data(write(path, none)).families == {}


def test_binary_files_are_no_tests(tmp_path):
    (tmp_path / "mine.json").write_bytes(picture(1, 2, 3))
    with pytest.raises(InputError, match="cannot be read as text"):
        read_association_data(tmp_path / "mine.json")
