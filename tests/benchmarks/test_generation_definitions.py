"""Definitions of generated images: the grammar, what is refused, prompts, ids and seeds."""

from __future__ import annotations

import re

import polars as pl
import pytest

from evenhand.benchmarks.datasets.generation.articles import with_articles
from evenhand.benchmarks.datasets.generation.definition_text import MAX_BYTES
from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition, image_seed, shipped
from evenhand.core.errors import InputError, ParameterError, UnknownName
from tests.conftest import ROOT

TEXT = """
name: rooms
class_axis: object
attribute: background
classes: [owl, {name: T-shirt, text: shirt, wordnet_id: n03595614}]
groups:
  - {name: in the grass, template: "a photo of a(n) {class} in the grass"}
  - {name: blue}
  - orange
templates: ["A(n) {group} {object}", "a photo of a(n) {background} {class}"]
images_per_cell: 3
seed: 7
question: "What is this?"
limits: [one, two]
"""


def parse(text=TEXT, **replaced):
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    return GenerationDefinition.parse(text.encode(), "rooms.yaml")


def test_everything_is_read():
    made = parse()
    assert (made.name, made.class_axis, made.attribute) == ("rooms", "object", "background")
    assert [entry.name for entry in made.classes] == ["owl", "T-shirt"]
    assert (made.classes[1].text, made.classes[1].wordnet_id) == ("shirt", "n03595614")
    assert made.groups[0].templates == ("a photo of a(n) {class} in the grass",)
    assert made.groups[1].templates == ()
    assert (made.images_per_cell, made.seed, made.people) == (3, 7, False)
    assert (made.question, made.limits) == ("What is this?", ("one", "two"))


def test_what_is_written_reads_as_the_same():
    assert GenerationDefinition.parse(parse().dump()) == parse()


def test_prompts_say_class_and_group_and_take_templates_in_turn():
    table = parse().prompts()
    assert len(table) == 2 * 3 * 3
    owl = table.filter(pl.col("class") == "owl", pl.col("group") == "orange")
    assert owl["prompt"].to_list() == ["An orange owl", "a photo of an orange owl", "An orange owl"]
    grass = table.filter(pl.col("class") == "T-shirt", pl.col("group") == "in the grass")
    assert set(grass["prompt"]) == {"a photo of a shirt in the grass"}
    assert table["sample"].n_unique() == len(table)
    assert table["seed"].is_between(0, 2**32 - 1).all()


def test_the_first_rows_are_balanced():
    first = parse().prompts().head(6)
    assert first.select("class", "group").n_unique() == 6
    assert first["index"].to_list() == [0] * 6


def test_more_images_add_rows_and_change_none():
    few, many = parse().prompts(), parse().changed(images_per_cell=5).prompts()
    assert many.head(len(few)).equals(few)
    assert not set(many["sample"][len(few) :]) & set(few["sample"])


def test_a_seed_depends_on_its_own_image_alone():
    small = parse().prompts()
    other = parse(**{"classes: [owl,": "classes: [cat, owl,", "- orange": "- green"}).prompts()
    both = small.join(other, on="sample", suffix="_other")
    assert len(both) == 2 * 2 * 3
    assert both["seed"].equals(both["seed_other"], check_names=False)
    assert small["seed"].n_unique() == len(small)
    assert not set(parse().prompts(seed=8)["seed"]) & set(small["seed"])
    assert image_seed(7, "owl", "orange", "A(n) {group} {object}", 0) in set(small["seed"])


def test_ids_are_file_names_and_differ_where_names_do():
    made = parse(**{"[owl,": '[owl, "O W L", o w l!, ../../etc/passwd, Été, ete, "a:b",'})
    samples = made.prompts()["sample"]
    assert samples.str.contains(r"^[a-z0-9-]+/[a-z0-9-]+/\d{5}$").all()
    assert samples.n_unique() == len(samples)
    assert "owl/in-the-grass/00000" in set(samples)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a(n) umpire", "an umpire"),
        ("A(n) unicyclist", "A unicyclist"),
        ("a(n) honest usher", "an honest usher"),
        ("a(n) European", "a European"),
        ("A(n) MRI technician", "An MRI technician"),
        ("a(n) UX designer", "a UX designer"),
        ("a(n) NASA engineer", "a NASA engineer"),
        ('a(n) "owl"', 'an "owl"'),
        ("a(n) one-eyed cat and a(n) egg", "a one-eyed cat and an egg"),
        ("a(n) uninsured user", "an uninsured user"),
        ("banana(n) owl", "banana(n) owl"),
    ],
)
def test_articles_follow_the_next_word(text, expected):
    assert with_articles(text) == expected


AN = (
    "8-ball, 80-year-old, 8, 800, 8,000, 8th, 80s, 8.5, 11, 11th, 11-year-old, 11,000, 18, 18th, 18.5, "
    "1880s, école, Éclair, ørsted, unidentified, unironed, unimportant, uninhabited, unideal, unissued, "
    "unitemised, unnamed, unanswered, umpire, usher, utter, utmost, urban, urn, ugly, ulcer, honour, "
    "hour, heir, X-ray, x-ray, MRI, FBI, HIV, HDMI, NCAA, LGBT, F1, mRNA, MP3, R.N., M, A-level, "
    "oneiric, onerous, O’Brien, Yttrium"
)
A = (
    "7-ball, 70-year-old, 1, 10, 100, 110, 118, 1,100, 1,800, 1100000, 111, 180, 12th, 1.8, 0.8, 1980s, "
    "2018, Ukrainian, ukulele, Uruguayan, utensil, utopia, uterus, Utah, Ute, uranium, urologist, "
    "unicyclist, unique, unit, university, union, unison, unidirectional, unimodal, unilateral, "
    "unanimous, unary, ubiquitous, Ugandan, ufologist, uvula, user, usual, usurer, used, European, "
    "eulogist, ewe, one-way, one, once-famous, ouija, hotel, hairdresser, historian, US, UK, UX, "
    "U-turn, U.S., URL, UFO, UNESCO, USDA, NASA, FIFA, SWAT, RAM, tRNA, yoga, yacht, T-shirt"
)


@pytest.mark.parametrize(("words", "article"), [(AN, "an"), (A, "a")])
def test_articles_go_by_sound(words, article):
    given = words.split(", ")
    assert [with_articles(f"a(n) {word}") for word in given] == [f"{article} {word}" for word in given]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("attribute: background", "", "has no 'attribute'"),
        ("attribute: background", "attribute: flags", "'flags' is the name of another column"),
        ("attribute: background", "attribute: flagged", "'flagged' is the name of another column"),
        ("attribute: background", "attribute: prediction", "'prediction' is the name of another column"),
        ("attribute: background", "attribute: n", "'n' is the name of another column"),
        ("attribute: background", "attribute: In Front", "no name of a column"),
        ("seed: 7", "seed: seven", "seed must be a whole number, and is 'seven'"),
        ("seed: 7", "seed: true", "seed must be a whole number"),
        ("seed: 7", "seed: 7\nseed: 8", "says 'seed' twice, again in line"),
        ("[owl,", "[owl, Owl,", "classes name 'owl' twice"),
        ("[owl,", "[owl, caf\u00e9, cafe\u0301,", "classes name 'café' twice"),
        ("[owl,", "[owl, no,", "write it in quotes"),
        ("[owl,", "[owl, 1984,", "write it in quotes"),
        ("[owl,", "[owl, [x],", "name must be a text, and is a list"),
        ("[owl,", "[owl, '',", "name is empty"),
        ("question:", "quesion:", "did you mean 'question'"),
        ("{name: blue}", "{name: blue, txt: x}", "there is no key of 'rooms.yaml', groups 2 'txt'"),
        ("A(n) {group} {object}", "A(n) {group} thing", "does not say the class"),
        ("A(n) {group} {object}", "A(n) {object}", "does not say the group"),
        ("A(n) {group} {object}", "A(n) {group.__class__} {object}", "there is no place"),
        ("- orange", "- {name: orange, text: blue}", "two cells have the prompt"),
        ("[owl, {name", "&a [owl, {name", None),
        ("limits: [one, two]", "limits: &a [one, two]\nsource: *a", "uses a YAML alias"),
        ("limits: [one, two]", "limits: !!python/object/apply:os.system [ls]", "is no YAML"),
        ("limits: [one, two]", "limits: [one", "is no YAML"),
        ("limits: [one, two]", "limits: one", "limits must be a list"),
    ],
)
def test_what_means_nothing_is_refused_with_what_to_do(old, new, told):
    if told is None:
        assert parse(**{old: new}) == parse()
        return
    with pytest.raises((InputError, UnknownName), match=told) as caught:
        parse(**{old: new})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"), [("images_per_cell", 0), ("images_per_cell", 10**7), ("seed", -1)]
)
def test_numbers_outside_what_is_possible_are_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        parse().changed(**{name: value})


def test_one_group_is_no_comparison():
    with pytest.raises(InputError, match="needs 2 or more"):
        GenerationDefinition.parse(b"attribute: a\nclasses: [x]\ngroups: [y]\ntemplates: ['{class} {group}']")


def test_a_huge_file_is_not_parsed():
    with pytest.raises(InputError, match="bytes; a definition has at most"):
        GenerationDefinition.parse(b"a: " + b"x" * MAX_BYTES)


def test_a_file_is_read_and_a_missing_one_told(tmp_path):
    path = tmp_path / "rooms.yaml"
    path.write_text(TEXT)
    assert GenerationDefinition.read(path) == parse()
    with pytest.raises(InputError, match="there is no file"):
        GenerationDefinition.read(tmp_path / "room.yaml")
    with pytest.raises(UnknownName, match="there is no definition 'nothing'"):
        GenerationDefinition.read("nothing")


@pytest.mark.parametrize("name", shipped())
def test_shipped_definitions_have_a_source_and_limits(name):
    made = GenerationDefinition.read(name)
    assert made.source
    assert made.limits
    assert len(made.changed(images_per_cell=1).prompts()) == len(made.classes) * len(made.groups)


def test_the_definition_in_the_documentation_works():
    printed = re.search(r"```yaml\n(.*?)```", (ROOT / "docs" / "generate.md").read_text(), re.DOTALL)
    made = GenerationDefinition.parse(printed[1].encode())
    assert made.prompts()["prompt"].to_list()[:3] == [
        "A photo of a blue umbrella",
        "A photo of a red umbrella",
        "A photo of an umbrella at night",
    ]
