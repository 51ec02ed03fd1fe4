"""Which classes a head has: those with an image that can be read, said by words, as wide as was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError
from evenhand.models.resolve import resolve
from tests.models.tiny import build
from tests.runner.adapting import write_extractor, write_folders

pytestmark = pytest.mark.usefixtures("without_pages")

SWINE, SLUG, MOTOR, DOG, CHIHUAHUA = "n02395003", "n01945685", "n03791053", "n02084071", "n02085620"
BOAR, POOCH = "n02396427", "n02084732"  # the first is of ImageNet-1k, the second of ImageNet-21k alone


@pytest.fixture
def extractor(tmp_path: Path) -> str:
    return write_extractor(tmp_path)


@pytest.mark.parametrize("method", ["probe", "fine_tuning"])
def test_a_class_without_a_readable_image_is_no_output(tmp_path, extractor, method):
    train = write_folders(tmp_path / "train", {"red": 6, "green": 6})
    (train / "violet").mkdir()
    (train / "violet" / "bad.png").write_bytes(b"no image")
    (train / "red" / "bad.png").write_bytes(b"no image either")
    fine = method == "fine_tuning"
    made = eh.adapt(
        f"hf:{build('resnet')}" if fine else extractor,
        train=train,
        method=method,
        out=tmp_path / "m",
        seeds=2,
        parameters={"epochs": "1"} if fine else {"l2": ".1"},
    )
    for one in made:
        assert [(c["label"], c["images"]) for c in one.card["classes"]] == [("green", 6), ("red", 6)]
        assert one.card["not_found"] == ["violet"]
        assert sum(entry["count"] for entry in one.card["dropped"]) == 2
        assert one.card["training"]["images"] == 12
    assert list(resolve(made[0].uri).load().labels) == ["green", "red"]
    (train / "red").rename(tmp_path / "elsewhere")
    (train / "violet" / "worse.png").write_bytes(b"nor this")
    with pytest.raises(InputError, match="only 1 of the 2 classes has images that could be read"):
        eh.adapt(extractor, train=train, out=tmp_path / "m2")


def test_prompts_are_words_and_never_ids(tmp_path):
    clip = f"hf:{build('clip')}"
    ids = tmp_path / "ids.txt"
    ids.write_text(f"{SWINE}\n{SLUG}\n")
    made = eh.adapt(clip, method="zero_shot", classes=str(ids), out=tmp_path / "m")[0]
    named = [(one["label"], one["text"], one["wordnet_id"]) for one in made.card["classes"]]
    assert named == [("swine", "swine", SWINE), ("slug", "slug", SLUG)]
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"bad": [SWINE, "swine", "monster"], "good": ["people"]}))
    made = eh.adapt(clip, method="zero_shot", classes=str(own), out=tmp_path / "m")[0]
    named = [(one["label"], one["wordnet_id"]) for one in made.card["classes"]]
    assert named == [("swine", SWINE), ("monster", ""), ("people", "")]  # swine is no rival of itself
    ids.write_text(f"{MOTOR}\n{SLUG}\n")
    with pytest.raises(InputError, match=f"no name to write into a prompt, .* {MOTOR}<TAB>name"):
        eh.adapt(clip, method="zero_shot", classes=str(ids), out=tmp_path / "m2")
    train = write_folders(tmp_path / "train", {MOTOR: 2, f"{SLUG}_slug": 2})
    with pytest.raises(InputError, match="no name to write into a prompt"):
        eh.adapt(clip, method="zero_shot", train=train, out=tmp_path / "m2")


def test_hyponyms_need_images_to_pick_from(tmp_path):
    for hyponyms in ("isa.txt", "imagenet-1k"):
        with pytest.raises(ParameterError, match="add --train IMAGES, or leave it out"):
            eh.adapt(
                f"hf:{build('clip')}",
                method="zero_shot",
                classes="casual-conversations",
                parameters={"hyponyms": hyponyms},
                out=tmp_path / "m",
            )


def test_hyponyms_of_imagenet_1k_in_any_copy(tmp_path, extractor):
    train = write_folders(tmp_path / "in21k", {BOAR: 6, CHIHUAHUA: 6, POOCH: 6, MOTOR: 6, SLUG: 6})
    how = {"classes": "casual-conversations", "parameters": {"hyponyms": "imagenet-1k"}}
    (made,) = eh.adapt(extractor, train=train, out=tmp_path / "m", **how)
    assert [one["wordnet_id"] for one in made.card["classes"]] == [SLUG, CHIHUAHUA, BOAR]
    missing = made.card["not_found"]
    assert f"dog ({DOG})" not in missing  # a Chihuahua is one
    assert f"swine ({SWINE})" not in missing
    assert "people (n07942152)" in missing
    plain = write_folders(tmp_path / "plain", {"red": 3, "blue": 3})
    with pytest.raises(InputError, match="0 are in"):
        eh.adapt(extractor, train=plain, out=tmp_path / "m2", **how)


def test_the_hyponyms_of_a_head_count_in_a_run(tmp_path, extractor, capsys):
    from evenhand.benchmarks.labelling.taxonomies import CASUAL_CONVERSATIONS
    from evenhand.cli.summaries.adapted import print_adapted

    (tmp_path / "isa.txt").write_text(f"{DOG} {CHIHUAHUA}\n")
    train = write_folders(tmp_path / "in21k", {CHIHUAHUA: 6, SLUG: 6})
    how = {"classes": "casual-conversations", "parameters": {"hyponyms": str(tmp_path / "isa.txt")}}
    made = eh.adapt(extractor, train=train, out=tmp_path / "m", **how)
    assert f"dog ({DOG})" not in made[0].card["not_found"]
    print_adapted(made)
    told = capsys.readouterr().out
    assert f"only with -p hyponyms={tmp_path / 'isa.txt'}" in told
    ids = list(resolve(made[0].uri).load().wordnet_ids)
    assert CHIHUAHUA in CASUAL_CONVERSATIONS.terms(ids, hyponyms="imagenet-1k")["non_human"]


def test_words_stand_for_labels_without_ids(tmp_path, extractor):
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"bad": [SWINE, "pig"], "people": ["man"], "slimy": [SLUG, DOG]}))
    train = write_folders(tmp_path / "train", {SWINE: 6, SLUG: 6})
    (made,) = eh.adapt(extractor, train=train, out=tmp_path / "m", classes=str(own))
    assert made.card["not_found"] == ["man", f"dog ({DOG})"]
    train = write_folders(tmp_path / "words", {"pig": 6, "man": 6})
    (made,) = eh.adapt(extractor, train=train, out=tmp_path / "m2", classes=str(own))
    assert made.card["not_found"] == [f"swine ({SWINE})", f"slug ({SLUG})", f"dog ({DOG})"]


@pytest.mark.parametrize(
    ("given", "message"),
    [({"l2": "inf"}, "give auto, or a number"), ({"l2": "nan"}, "give auto, or a number")],
)
def test_penalties_are_finite(tmp_path, extractor, given, message):
    train = write_folders(tmp_path / "train", {"red": 6, "green": 6})
    with pytest.raises(ParameterError, match=message):
        eh.adapt(extractor, train=train, out=tmp_path / "m", parameters=given)


@pytest.mark.parametrize("name", ["learning_rate", "weight_decay", "crop", "validation"])
def test_parameters_are_finite(tmp_path, extractor, name):
    with pytest.raises(ParameterError):
        eh.adapt(
            extractor, train=tmp_path, method="fine_tuning", out=tmp_path / "m", parameters={name: "inf"}
        )
