"""MMBias as it was released: every layout, every trap, and one clear line for what cannot be used."""

import json
import os
import shutil
import stat
import zipfile
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks.datasets.download_source import default_folder
from evenhand.benchmarks.mmbias.data.groups import ATTRIBUTES, PAPER_PAIRS, TARGETS
from evenhand.benchmarks.mmbias.data.sets import Test, read_association_data
from evenhand.core.errors import InputError
from tests.benchmarks.mmbias_release import (
    digests,
    own_home,  # noqa: F401 - for all tests here
    phrase_file,
    picture,
    release,
    traps_of,
    url_file,
    write_zip,
    write_zip_of,
)
from tests.conftest import SHARED

REAL = SHARED / "data" / "mmbias"
WITH_IMAGES = [group.name for group in TARGETS if group.images]

real = pytest.mark.skipif(not REAL.is_dir(), reason=f"needs {REAL}")


@real
def test_the_released_phrases_are_18_groups_and_350_phrases_with_these_traps():
    data = read_association_data(REAL)
    counts = {name: len(phrases) for name, phrases in data.target_phrases.items()}
    assert counts == {group.name: 15 if group.name in ("lgbt", "heterosexual") else 20 for group in TARGETS}
    assert (len(counts), sum(counts.values())) == (18, 350)
    assert {name: len(words) for name, words in data.attribute_phrases.items()} == {
        "unpleasant": 60,
        "pleasant": 60,
    }
    assert list(data.attribute_phrases) == ["unpleasant", "pleasant"]
    assert traps_of(data, "blanks around a phrase") == [("heterosexual", "heterosexuality", "")]
    assert "heterosexuality" in data.target_phrases["heterosexual"]
    assert traps_of(data, "phrase in two groups") == [
        ("buddhist", "dharma", "hindu"),
        ("buddhist", "meditation", "hindu"),
        ("buddhist", "reincarnation", "hindu"),
        ("italian", "Elena", "mexican"),
        ("italian", "Martina", "mexican"),
    ]
    assert traps_of(data, "word in a target and an attribute set") == [("non-disabled", "strong", "pleasant")]
    photos = traps_of(data, "photo in two sets")
    assert sorted({tuple(sorted((one, other.partition("/")[0]))) for one, _, other in photos}) == [
        ("arab", "muslim"),
        ("heterosexual", "hindu"),
        ("mental", "physical"),
    ]
    assert len(photos) == 6
    assert ("arab", "arab/24", "muslim/29") in photos
    (quotes,) = data.traps.filter(pl.col("kind") == "stray quote in URLs")["detail"]
    assert quotes.startswith("3600 photos")
    assert data.traps.height == 1 + 5 + 1 + 6 + 1
    assert data.photos.height == 3600
    assert not data.photos["url"].str.contains('"').any()
    assert data.photos["url"].str.starts_with("https://www.flickr.com/photos/").all()
    assert dict(data.dropped) == {}


@real
def test_the_released_valence_photos_are_read_out_of_their_zip():
    data = read_association_data(REAL)
    assert {name: len(ids) for name, ids in data.attribute_images.items()} == {
        "unpleasant": 50,
        "pleasant": 50,
    }
    assert data.attribute_images["pleasant"][:3] == ("pleasant/1", "pleasant/2", "pleasant/3")
    assert data.target_images == {}
    assert [data.images.load(index).ndim for index in range(100)] == [3] * 100
    assert data.notes["file that a file manager left"] == 5
    assert [(test.x, test.y) for test in data.pairs] == list(PAPER_PAIRS)


def test_a_clone_of_the_repository_is_read_as_it_is(tmp_path):
    data = read_association_data(release(tmp_path / "clone", images=3))
    assert list(data.target_phrases) == [group.name for group in TARGETS]
    assert list(data.target_images) == WITH_IMAGES
    assert list(data.attribute_images) == [group.name for group in ATTRIBUTES]
    assert data.target_images["physical"] == ("physical/1", "physical/2", "physical/3")
    assert len(data.image_ids) == len(data.images) == len(set(data.image_ids)) == 16 * 3
    assert data.names["non-disabled"] == "Abled"
    assert data.names["lgbt"] == "LGBTQ"
    assert {(test.a, test.b) for test in data.pairs} == {("unpleasant", "pleasant")}
    assert len(data.pairs) == 19
    assert data.notes["file that a file manager left"] == 10


def test_unpacked_folders_in_any_casing_give_the_same_images(tmp_path):
    packed = release(tmp_path / "clone")
    loose = tmp_path / "loose"
    for path in (packed / "data" / "Images").glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(loose)
    (loose / "Religion" / "Muslim").rename(loose / "Religion" / "MUSLIM")
    (loose / "Disability" / "Non-Disabled").rename(loose / "Disability" / "no_disability")
    (loose / "Disability" / "Mental Disability").rename(loose / "Disability" / "mental")
    (loose / "Valence Images" / "Pleasant").rename(loose / "Valence Images" / "Valence-Pleasant")
    for file in (loose / "Religion" / "MUSLIM").iterdir():
        file.rename(file.with_suffix(".JPG"))
    shutil.copy(packed / "data" / "textual_phrases.txt", loose / "Textual_Phrases.TXT")
    assert digests(read_association_data(loose)) == digests(read_association_data(packed))


def test_zips_beside_what_was_unpacked_from_them_count_once(tmp_path):
    folder = release(tmp_path / "clone")
    with zipfile.ZipFile(folder / "data" / "Images" / "Religion.zip") as archive:
        archive.extractall(folder / "data" / "Images")
    data = read_association_data(folder)
    assert len(data.image_ids) == 48
    assert data.notes["image in a second place of its group"] == 15
    assert not traps_of(data, "same image in two sets")


def test_a_group_in_two_folders_loses_no_image_and_takes_none_twice(tmp_path):
    (tmp_path / "textual_phrases.txt").write_text(json.dumps(phrase_file()))
    for place, numbers in (("part1/Muslim", range(1, 6)), ("part2/MUSLIM", range(4, 9))):
        (tmp_path / place).mkdir(parents=True)
        for number in numbers:
            other = 9 if (place, number) == ("part2/MUSLIM", 5) else 1
            (tmp_path / place / f"{number}.jpg").write_bytes(picture(number, other, other) + b"x" * other)
    data = read_association_data(tmp_path)
    assert data.target_images["muslim"] == tuple(f"muslim/{number}" for number in range(1, 9))
    assert data.notes["image in a second place of its group"] == 1  # 4 is there twice
    (reason,) = [reason for reason in data.dropped if "second place" in reason]
    assert reason.endswith("of a name that the first has for another image")
    assert data.dropped[reason] == 1  # 5


def test_photos_without_any_phrases_say_what_is_missing(tmp_path):
    write_zip_of(tmp_path / "mine", "Muslim", "Christian")
    for pairs in ("paper", "all", "muslim:christian"):
        with pytest.raises(
            InputError, match=r"no phrases \(textual_phrases.txt\).*evenhand data fetch mmbias"
        ):
            read_association_data(tmp_path / "mine", pairs=pairs)


def test_one_zip_of_one_group_and_other_endings(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    write_zip(
        folder / "Hindu.zip", [("2.jpeg", picture(1, 1, 1)), ("10.png", picture(1, 2, 1)), ("1.webp", b"x")]
    )
    (folder / "christian").mkdir()
    for name in ("7.jpg", "7.png", "notes.txt"):
        (folder / "christian" / name).write_bytes(picture(len(name), 1, 3))
    (folder / "textual_phrases.txt").write_text(json.dumps(phrase_file()))
    data = read_association_data(folder)
    assert data.target_images == {
        "christian": ("christian/7", "christian/7.png"),
        "hindu": ("hindu/1", "hindu/2", "hindu/10"),
    }


def test_images_without_phrases_go_with_the_fetched_ones(tmp_path):
    fetched = default_folder("mmbias")
    fetched.mkdir(parents=True)
    (fetched / "textual_phrases.txt").write_text(json.dumps(phrase_file(phrases=2)))
    (fetched / "URLs.txt").write_text(json.dumps(url_file()))
    shutil.copy(release(tmp_path / "clone") / "data" / "Images" / "Valence Images.zip", fetched)
    mine = tmp_path / "mine"
    write_zip_of(mine, "Muslim", "Christian")
    data = read_association_data(mine)
    assert {len(phrases) for phrases in data.target_phrases.values()} == {2}
    assert (list(data.target_images), list(data.attribute_images)) == (
        ["muslim", "christian"],
        ["unpleasant", "pleasant"],
    )
    assert data.notes == {
        "phrase file taken from the fetched data": 1,
        "images taken from the fetched data": 6,
    }
    assert data.photos.height == 48
    alone = read_association_data(None)
    assert (alone.path, list(alone.target_images)) == (fetched, [])


def test_every_trap_is_told(tmp_path):
    data = read_association_data(release(tmp_path / "clone", traps=True))
    assert traps_of(data, "blanks around a phrase") == [("heterosexual", "Heterosexual phrase 0", "")]
    assert traps_of(data, "phrase repeated in its set") == [("muslim", "muslim phrase 0", "muslim")]
    assert traps_of(data, "phrase in two groups") == [("buddhist", "buddhist phrase 0", "hindu")]
    assert traps_of(data, "word in a target and an attribute set") == [("non-disabled", "good 0", "pleasant")]
    assert traps_of(data, "photo in two sets") == [("muslim", "muslim/1", "arab/2")]
    assert ("muslim", "muslim/4", "christian/4") in traps_of(data, "same image in two sets")
    assert data.traps.schema == dict.fromkeys(("kind", "set", "item", "other", "detail"), pl.String)
    assert data.dropped == {"phrase repeated in its set": 1}
    assert len(data.target_phrases["muslim"]) == 4


def test_words_of_both_sides_stay_unless_told_otherwise(tmp_path):
    folder = release(tmp_path / "clone", traps=True)
    assert "good 0" in read_association_data(folder).target_phrases["non-disabled"]
    data = read_association_data(folder, drop_overlap=True)
    assert "good 0" not in data.target_phrases["non-disabled"]
    assert "good 0" in data.attribute_phrases["pleasant"]
    assert data.dropped["word in a target and an attribute set"] == 1
    (detail,) = data.traps.filter(pl.col("kind") == "word in a target and an attribute set")["detail"]
    assert detail == "left out of the targets"


def test_a_set_that_is_all_overlap_is_not_emptied_silently(tmp_path):
    found = phrase_file()
    found["category_phrases"]["hindu"] = ["good 1"]
    (tmp_path / "textual_phrases.txt").write_text(json.dumps(found))
    with pytest.raises(InputError, match="every phrase of the set 'hindu'"):
        read_association_data(tmp_path, drop_overlap=True)


def test_groups_that_mmbias_does_not_have_keep_their_names(tmp_path):
    found = phrase_file()
    found["category_phrases"]["Sikh"] = ["sikh", "turban"]
    folder = tmp_path / "data"
    write_zip_of(folder, "Hindu", "sikh")
    (folder / "textual_phrases.txt").write_text(json.dumps(found))
    data = read_association_data(folder, pairs="Sikh:hindu")
    assert data.pairs == (Test("Sikh", "hindu", "unpleasant", "pleasant"),)
    assert data.target_images["Sikh"] == ("Sikh/1", "Sikh/2")


def test_groups_without_images_are_told_with_what_was_looked_for(tmp_path):
    folder = tmp_path / "data"
    write_zip_of(folder, "Muslim", "Abled", "Martians")
    (folder / "textual_phrases.txt").write_text(json.dumps(phrase_file()))
    data = read_association_data(folder)
    assert data.dropped == {"image in a folder that names no group": 2}
    data.require_images(["muslim", "non-disabled"])
    with pytest.raises(InputError) as problem:
        data.require_images(["muslim", "mental", "pleasant"])
    said = str(problem.value)
    assert "has no images of mental, pleasant" in said
    assert "mental: mental or mental disability" in said
    assert "'Martians'" in said
    assert "evenhand data check mmbias --data" in said
    assert "\n" not in said


def test_zips_inside_of_zips_are_not_opened_and_it_is_said(tmp_path):
    folder = tmp_path / "data"
    inner = write_zip_of(folder, "Muslim").read_bytes()
    write_zip(folder / "mine.zip", [("MMBias-main/data/Images/Religion.zip", inner)])
    (folder / "textual_phrases.txt").write_text(json.dumps(phrase_file()))
    data = read_association_data(folder)
    assert data.notes["archive in an archive, not opened"] == 1
    with pytest.raises(InputError, match="1 zips inside of zips were not opened, unpack them once"):
        data.require_images(["muslim"])


def linked():
    info = zipfile.ZipInfo("Muslim/1.jpg")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("../../evil.jpg", picture(1, 1, 1), "leads outside"),
        ("/tmp/evil.jpg", picture(1, 1, 1), "leads outside"),  # noqa: S108 - nothing is written
        (linked(), b"/etc/passwd", "is a link"),
        ("Muslim/1.jpg", bytes(40 * 2**20), "claims 41,943,040 bytes"),
    ],
)
def test_unsafe_zips_are_refused_in_one_line_and_nothing_is_written(tmp_path, name, content, words):
    folder = release(tmp_path / "clone")
    write_zip(
        folder / "data" / "Images" / "Religion.zip", [("Muslim/2.jpg", picture(1, 1, 1)), (name, content)]
    )
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=words) as problem:
        read_association_data(folder)
    assert "\n" not in str(problem.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_damaged_zip_is_refused(tmp_path):
    folder = release(tmp_path / "clone")
    path = folder / "data" / "Images" / "Religion.zip"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(InputError, match=r"Religion\.zip' is not a whole zip file"):
        read_association_data(folder)


def changed(**keys):
    return {**phrase_file(), **keys}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("", "is not JSON"),
        ("[1, 2]", "has no 'unpleasant_phrases'"),
        ("[" * 100_000, "is not JSON"),
        (json.dumps({"pleasant_phrases": []}), "has no 'unpleasant_phrases'"),
        (json.dumps(changed(category_phrases={})), "must be groups with lists"),
        (json.dumps(changed(pleasant_phrases=[])), "the set 'pleasant' in .* is empty"),
        (json.dumps(changed(pleasant_phrases="good")), "is no list of phrases"),
        (json.dumps(changed(category_phrases={"hindu": ["a", 3]})), "holds 3; each phrase must be a text"),
        (json.dumps(changed(category_phrases={"hindu": ["a", "  "]})), "holds '  '"),
        (json.dumps(changed(category_phrases={"hindu": ["a\ud800"]})), "each phrase must be a text"),
        (
            json.dumps(changed(category_phrases={"Abled": ["a"], "No disability": ["b"]})),
            "'non-disabled' twice",
        ),
    ],
)
def test_phrase_files_that_cannot_be_used_say_why(tmp_path, content, words):
    (tmp_path / "textual_phrases.txt").write_text(content)
    with pytest.raises(InputError, match=words) as problem:
        read_association_data(tmp_path)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("content", ['{"muslim": 3}', '{"muslim": {"1": {"Owner": "x"}}}', "[]"])
def test_url_lists_that_cannot_be_used_say_why(tmp_path, content):
    (tmp_path / "textual_phrases.txt").write_text(json.dumps(phrase_file()))
    (tmp_path / "urls.txt").write_text(content)
    with pytest.raises(InputError, match=r"is not a URL list|has no text 'URL'"):
        read_association_data(tmp_path)


def test_no_data_says_what_to_type(tmp_path):
    with pytest.raises(InputError, match="type: evenhand data fetch mmbias, or give --data FOLDER"):
        read_association_data(None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds nothing of MMBias: no textual_phrases.txt, and no images"):
        read_association_data(tmp_path / "empty")


def test_files_whose_names_are_no_text_are_counted(tmp_path):
    folder = release(tmp_path / "clone")
    (folder / "hindu").mkdir()
    for name in (b"\xff.jpg", b"\xfe.jpg", b"a.jpg", b"b.jpg"):
        (folder / "hindu" / os.fsdecode(name)).write_bytes(picture(5, 5, 5))
    data = read_association_data(folder)
    assert data.notes["name of a file that is not UTF-8"] == 2
    assert len(data.target_images["hindu"]) == 5


def test_pipes_are_not_waited_for(tmp_path):
    folder = release(tmp_path / "clone")
    for name in ("pipe.zip", "urls.json", "pipe.jpg"):
        os.mkfifo(folder / name)
    (folder / "gone.zip").symlink_to(tmp_path / "nowhere.zip")
    assert read_association_data(folder).notes["not a file"] == 4
    with pytest.raises(InputError, match="is not a file; give a JSON file"):
        read_association_data(folder / "urls.json")


def test_a_download_of_the_repository_as_one_zip_is_explained(tmp_path):
    write_zip_of(tmp_path / "data", "Muslim")
    inner = (tmp_path / "data" / "mine.zip").read_bytes()
    path = write_zip(tmp_path / "MMBias-main.zip", [("MMBias-main/data/Images/Religion.zip", inner)])
    with pytest.raises(InputError, match="zips inside of zips, which are not opened: unpack them once"):
        read_association_data(path)


def test_links_in_a_circle_are_followed_once(tmp_path):
    folder = release(tmp_path / "clone")
    (folder / "data" / "again").symlink_to(folder, target_is_directory=True)
    assert len(read_association_data(folder).image_ids) == 48


def test_the_card_says_where_it_is_from_and_what_it_cannot_show():
    from evenhand.benchmarks import mmbias

    card = (Path(mmbias.__file__).parent / "card.md").read_text(encoding="utf-8")
    for words in ("EACL 2023", "MIT", "Cannot show", "perceived", "sepehrjng92/MMBias"):
        assert words in card
