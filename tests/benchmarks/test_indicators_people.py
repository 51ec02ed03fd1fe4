"""Pictures of people in every official layout, and what is said of rows that are not there."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from evenhand.benchmarks.attributes import AnnotatedAttribute, plain_axis, shared_attribute
from evenhand.benchmarks.datasets.download_source import DATA
from evenhand.benchmarks.indicators.people.ages import CC_AGES, cc_age, utk_age
from evenhand.benchmarks.indicators.people.datasets import casual_conversations, miap, utkface
from evenhand.benchmarks.indicators.people.datasets.layouts import KINDS, read_people
from evenhand.benchmarks.indicators.people.skin import fitzpatrick_type, monk_tone, skin_tone
from evenhand.cli.commands.data import data_app
from evenhand.core.errors import Incomplete, InputError, ParameterError, UnknownName
from evenhand.files.images.sources import ImageFiles
from tests.benchmarks import people_layouts as layouts
from tests.conftest import ROOT, SHARED

VECTORS = ROOT / "tests" / "papers" / "vectors" / "indicators" / "buckets.json"
WRITERS = {
    "casual_conversations": layouts.casual_conversations,
    "casual_conversations_v2": layouts.casual_conversations_v2,
    "miap": layouts.miap,
    "utkface": layouts.utkface,
    "fairface": layouts.fairface,
}

each_layout = pytest.mark.parametrize(("kind", "write"), WRITERS.items(), ids=list(WRITERS))


def rows_of(people, *columns):
    return people.annotations.select(columns).rows()


def ends_of(people):
    return [sample.rpartition("/")[2] for sample in people.annotations["sample"].to_list()]


@pytest.fixture
def buckets():
    return json.loads(VECTORS.read_text(encoding="utf-8"))


def test_buckets_are_those_of_the_released_code(buckets):
    assert {years: cc_age(years) for years in buckets["cc_age"]} == buckets["cc_age"]
    similarity = buckets["cc_age_similarity"]
    assert {years: cc_age(years, unknown="-1") for years in similarity} == similarity
    assert {years: utk_age(int(years)) for years in buckets["utk_age"]} == buckets["utk_age"]
    assert {kind: skin_tone(kind) for kind in buckets["skin"]} == buckets["skin"]
    assert (cc_age(None), skin_tone(None)) == (None, None)


def test_steps_of_skin_scales_are_read_in_words_and_in_numbers():
    assert [fitzpatrick_type(text) for text in ("type i", "Type IV", "6", "vii", "", "type 0")] == [
        "1", "4", "6", "unknown", "unknown", "unknown",
    ]  # fmt: skip
    assert [monk_tone(text) for text in ("scale 10", "scale 1", "5", "scale 11")] == [
        "10",
        "1",
        "5",
        "unknown",
    ]
    assert monk_tone(None) is None


@each_layout
def test_every_layout_is_known_by_what_lies_there(kind, write, tmp_path):
    people = read_people(write(tmp_path))
    assert people.name == kind
    table = people.annotations
    assert table.height == len(people.images) > 0
    assert table["sample"].n_unique() == table.height
    assert table.columns[0] == "sample"
    assert {"subject", *people.attributes} <= set(table.columns)
    assert all(table[name].dtype == pl.String for name in ("sample", "subject", *people.attributes))
    assert all(definition.name == name for name, definition in people.definitions.items())
    for index in range(table.height):
        assert people.images.load(index).dtype == np.uint8
    assert len(set(people.images.digests(0, table.height))) == table.height
    assert read_people(tmp_path, kind).annotations.equals(table)


@each_layout
def test_levels_are_those_of_the_definition_or_unknown(kind, write, tmp_path):
    people = read_people(write(tmp_path), kind)
    for name, definition in people.definitions.items():
        if definition.levels:
            assert set(people.counts(name)) <= {*definition.levels, "unknown", "n/a", "prefer not to say"}, (
                name
            )


def test_casual_conversations_keeps_every_annotation_and_its_lighting(tmp_path):
    people = read_people(layouts.casual_conversations(tmp_path))
    assert ends_of(people) == [
        "0001_00_123.jpg", "0001_01_123.jpg", "0002_00_123.jpg", "0003_00_123.jpg", "0004_10_123.jpg",
    ]  # fmt: skip
    wanted = ("subject", "gender", "age", "perceived_skin_tone", "perceived_fitzpatrick", "lighting", "years")
    assert rows_of(people, *wanted) == [
        ("1", "female", "18-30", "darker", "5", "bright", 20),
        ("1", "female", "18-30", "darker", "5", "dark", 20),
        ("2", "n/a", "unknown", "lighter", "2", "bright", None),
        ("3", "other", "70+", "lighter", "3", "bright", 70),
        ("4", "male", "30-45", "darker", "4", "dark", 44),
    ]
    assert people.clusters == "subject"
    assert people.dropped == {"video without an image": 1}
    assert people.unknown == {"gender": 1, "age": 1}


def test_frames_of_one_video_are_all_kept_and_counted(tmp_path):
    people = read_people(layouts.casual_conversations(tmp_path, frames=(1, 2)))
    assert people.annotations.height == 10
    assert people.notes == {"image that shares its video": 10}
    assert (
        people.annotations.filter(pl.col("video").str.ends_with("0001_01"))["lighting"].to_list()
        == ["dark"] * 2
    )
    assert people.annotations["subject"].n_unique() == 4


@pytest.mark.parametrize(
    "place", ["0001_00_123.jpg", "crops/0001_00.png", "CasualConversationsA/0001/0001_00.jpg"]
)
def test_frames_in_other_folders_are_found_by_name(tmp_path, place):
    layouts.casual_conversations(tmp_path, frames=())
    layouts.picture(tmp_path / place)
    layouts.picture(tmp_path / "stranger_1.jpg", seed=5)
    people = read_people(tmp_path)
    assert rows_of(people, "subject", "lighting") == [("1", "bright")]
    assert people.dropped == {"video without an image": 5, "image of a video that is not annotated": 1}
    assert people.notes.get("image found by its file name alone", 0) == ("Conversations" not in place)


def test_the_list_of_the_released_code_gives_the_same_people_without_lighting(tmp_path):
    layouts.casual_conversations(tmp_path)
    whole = read_people(tmp_path)
    layouts.released_list(tmp_path)
    people = read_people(tmp_path)
    assert people.annotations.drop("lighting", "video").equals(whole.annotations.drop("lighting", "video"))
    assert people.annotations["lighting"].null_count() == 5


def test_several_annotations_are_not_guessed_among(tmp_path):
    layouts.casual_conversations(tmp_path)
    shutil.copy(tmp_path / "CasualConversations.json", tmp_path / "CasualConversations_mini.json")
    with pytest.raises(InputError, match=r"several annotations .* give the one that is meant"):
        read_people(tmp_path)
    assert read_people(tmp_path / "CasualConversations_mini.json").annotations.height == 5


def test_videos_alone_are_told_how_to_become_frames(tmp_path):
    layouts.casual_conversations(tmp_path, frames=())
    (tmp_path / "0001_00.MP4").write_bytes(b"")
    with pytest.raises(
        InputError, match=r"\(video without an image: 6\); it holds 1 videos: .*evenhand data faces"
    ):
        read_people(tmp_path)


def test_broken_annotations_are_counted_or_refused(tmp_path):
    layouts.casual_conversations(tmp_path)
    path = tmp_path / "CasualConversations.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "5": {"files": ["a/0005/0005_00.MP4"]}, "6": 3}))
    assert read_people(tmp_path).dropped["entry that is not as released"] == 2
    path.write_text("{")
    with pytest.raises(InputError, match="is no JSON that can be read"):
        read_people(tmp_path)
    path.write_text("3")
    with pytest.raises(InputError, match="holds no people"):
        read_people(tmp_path)


def test_casual_conversations_v2_keeps_both_scales_and_all_other_fields(tmp_path):
    people = read_people(layouts.casual_conversations_v2(tmp_path))
    assert people.annotations.height == 5
    last = people.annotations.row(-1, named=True)
    assert {key: value for key, value in last.items() if key not in ("sample", "video")} == {
        "years": None,
        "subject": "0001",
        "gender": None,
        "age": "prefer not to say",
        "perceived_skin_tone": "darker",
        "perceived_fitzpatrick": "6",
        "perceived_fitzpatrick_confidence": "low",
        "perceived_monk": "10",
        "perceived_monk_confidence": "high",
        "native_language": "portuguese",
        "secondary_languages": "english, spanish",
        "script": "nonscripted",
        "country": "brazil",
        "state_region": "bahia",
        "disability": None,
        "physical_attributes_hair": "bald",
        "physical_attributes_beard": "yes",
    }
    assert (
        rows_of(people.where("script", ["scripted"]), "gender", "age", "perceived_monk")
        == [("cis woman", "30-45", "5")] * 2
    )
    assert people.unknown == {"age": 1}
    assert [(each.present, each.expected) for each in people.coverage] == [(3, 3), (2, 2)]


def test_miap_keeps_large_boxes_and_counts_the_others(tmp_path):
    people = read_people(layouts.miap(tmp_path))
    assert rows_of(
        people, "sample", "subject", "perceived_gender", "perceived_age", "truncated", "inside_of"
    ) == [
        ("aaaa#1", "aaaa", "female", "middle", "yes", "unknown"),
        ("aaaa#2", "aaaa", "male", "young", "yes", "unknown"),
        ("aaaa#3", "aaaa", "unknown", "older", "yes", "unknown"),
        ("bbbb#1", "bbbb", "male", "unknown", "yes", "unknown"),
    ]
    assert people.dropped == {
        "box below 100 pixels": 1,
        "box listed twice": 1,
        "box of something else than a person": 1,
        "box that does not lie in its image": 1,
        "header that cannot be read": 1,
        "no such image": 1,
    }
    assert [(each.present, each.expected) for each in people.coverage] == [(2, 4)]
    assert people.clusters == "subject"


def test_miap_boxes_are_cut_as_coded_or_as_written(tmp_path):
    layouts.miap(tmp_path)
    whole = ImageFiles([tmp_path / "test" / "aaaa.png"]).load(0)
    code, paper, none = (read_people(tmp_path, crop=crop).images for crop in ("code", "paper", "none"))
    assert np.array_equal(code.load(0), whole[:200, :200])  # tall: the top
    assert np.array_equal(code.load(1), whole[:150, 125:275])  # wide: the middle
    assert np.array_equal(paper.load(1), whole[:150, :150])
    assert np.array_equal(none.load(1), whole[:150])
    assert np.array_equal(code.load(2), whole[30:135, 80:180])  # square enough
    with pytest.raises(ParameterError, match="crop='left' is not possible"):
        read_people(tmp_path, crop="left")


def test_miap_unknown_ones_are_kept_apart_or_left_out_as_the_paper_says(tmp_path):
    layouts.miap(tmp_path)
    kept, left = (read_people(tmp_path, unknown=policy) for policy in ("keep", "exclude"))
    assert kept.unknown == {"inside_of": 4, "perceived_age": 1, "perceived_gender": 1}
    assert left.annotations["sample"].to_list() == ["aaaa#1", "aaaa#2"]
    assert left.dropped["unknown perceived_gender"] == left.dropped["unknown perceived_age"] == 1
    assert left.images.digests(0, 2) == kept.images.digests(0, 2)
    assert left.annotations["inside_of"].null_count() == 2
    assert left.notes["inside_of taken as not annotated"] == 2
    with pytest.raises(ParameterError, match="unknown='drop' is not possible"):
        read_people(tmp_path, unknown="drop")


def test_miap_takes_the_test_split_unless_told(tmp_path):
    layouts.miap(tmp_path, "val")
    layouts.miap(tmp_path, "test", images=False)
    assert read_people(tmp_path).counts("split") == {"test": 4}
    assert read_people(tmp_path, split="val").counts("split") == {"val": 4}
    with pytest.raises(InputError, match=r"_boxes_train\.csv, but boxes of test, val; get it from"):
        read_people(tmp_path, split="train")
    table = tmp_path / "open_images_extended_miap_boxes_test.csv"
    table.write_text(table.read_text().replace("AgePresentation", "Age"))
    with pytest.raises(UnknownName, match="AgePresentation"):
        read_people(tmp_path)


def test_a_box_of_exactly_a_hundred_pixels_is_large_enough_whatever_binary_numbers_say(tmp_path):
    header = (*layouts.BOX_COLUMNS[:3], *layouts.BOX_COLUMNS[3:7], *layouts.BOX_COLUMNS[-2:])
    rows = [("aaaa", "/m/01g317", "1", 0.2, 0.3, 0.1, 0.2, "Unknown", "Young")]  # 0.3 - 0.2 < 0.1
    layouts.write_csv(tmp_path / "open_images_extended_miap_boxes_test.csv", header, rows)
    layouts.picture(tmp_path / "aaaa.png", 1000, 1000)
    assert read_people(tmp_path).images.load(0).shape == (100, 100, 3)


def test_utkface_reads_names_and_says_what_is_wrong_with_the_others(tmp_path):
    people = read_people(layouts.utkface(tmp_path))
    wanted = ("perceived_years", "perceived_gender", "perceived_race", "perceived_age", "perceived_age_utk")
    assert rows_of(people, *wanted) == [
        (116, "male", "indian", "70+", "45+"),
        (12, "male", "others", "<18", "< 13"),
        (1, "female", "asian", "<18", "< 13"),
        (25, "female", "white", "18-30", "13-30"),
        (26, "male", "black", "18-30", "13-30"),
    ]
    assert people.dropped == {
        "name with 3 parts instead of age, gender, race and date": 3,
        "name without gender": 1,
    }
    assert people.clusters is None


def test_utkface_names_are_judged_one_by_one():
    faults = {
        "24_0_1_20170116220224657 .jpg": "",
        "55_0_0_20170116232725357jpg.jpg": "",
        "44_1_4_20170116235150272.jpg.chip.jpg": "",
        "900_0_0_20170116235150272.jpg": "name with unknown age",
        "20_2_0_20170116235150272.jpg": "name with unknown gender",
        "20_1_5_20170116235150272.jpg": "name with unknown race",
        "20_1_5_.jpg": "name without date",
        "holiday.jpg": "name with 1 parts instead of age, gender, race and date",
    }
    assert {name: utkface.fault_of(name) for name in faults} == faults


def test_a_face_that_is_there_twice_counts_once_in_the_wild(tmp_path):
    layouts.utkface(tmp_path / "wild", layouts.UTK_NAMES[:2])
    layouts.utkface(tmp_path / "aligned", [f"{name}.chip.jpg" for name in layouts.UTK_NAMES[:3]])
    layouts.utkface(tmp_path / "again", layouts.UTK_NAMES[:1])
    people = read_people(tmp_path)
    assert sorted(ends_of(people)) == sorted([*layouts.UTK_NAMES[:2], f"{layouts.UTK_NAMES[2]}.chip.jpg"])
    assert people.dropped == {
        "aligned crop of a face that is there": 2,
        "file name in a second place": 1,
    }


def test_fairface_joins_its_tables_with_the_images(tmp_path):
    people = read_people(layouts.fairface(tmp_path))
    assert rows_of(
        people, "perceived_gender", "perceived_age", "perceived_race", "service_test", "split"
    ) == [
        ("male", "10-19", "White", "yes", "train"),
        ("female", "70+", "East Asian", "no", "val"),
        ("male", "0-2", "Latino_Hispanic", "yes", "val"),
    ]
    assert people.dropped == {"no such image": 1}
    shutil.copytree(
        tmp_path / "fairface-img-margin025-trainval", tmp_path / "fairface-img-margin125-trainval"
    )
    again = read_people(tmp_path, split="val")
    assert all("margin025" in sample for sample in again.annotations["sample"].to_list())
    assert again.annotations.height == 2
    assert again.notes == {"image in a second folder": 3}
    with pytest.raises(InputError, match="nobody has split test; there are train, val"):
        read_people(tmp_path, split="test")


def test_a_table_of_ones_own_has_its_columns_as_attributes(tmp_path):
    rows = [
        (f"faces/{n}.jpg", "Male" if n % 2 else "Female", 20 + n, "yes", f"p{n // 2}", f"free text {n}")
        for n in range(6)
    ]
    for n in range(5):
        layouts.picture(tmp_path / ("faces" if n else "elsewhere") / f"{n}.jpg", seed=n)
    table = layouts.write_csv(
        tmp_path / "mine.csv", ("file", "gender", "age", "glasses", "person", "x"), rows
    )
    for place in (tmp_path, table):
        people = read_people(place)
        assert people.attributes == ("gender", "age", "glasses", "x")
        assert rows_of(people, "gender", "age", "years", "subject")[0] == ("female", "18-30", 20, "p0")
        assert people.clusters == "subject"
        assert people.dropped == {"no such image": 1}
        assert people.notes == {
            "image found by its file name alone": 1,
            "age in years that was put into a group": 6,
        }
    assert read_people(table, attributes=("glasses",)).attributes == ("glasses",)
    with pytest.raises(UnknownName, match="there is no column 'glases'; did you mean 'glasses'"):
        read_people(table, attributes=("glases",))
    layouts.write_csv(table, ("a", "b"), [("1", "2")])
    with pytest.raises(InputError, match="has no column of images"):
        read_people(table)


def test_a_table_with_the_columns_of_the_released_code_gets_its_groups(tmp_path):
    rows = [("a.jpg", "44", "Male", "4", "7"), ("b.jpg", "17", "Female", "3", "8"), ("c.jpg", "", "", "", "")]
    for seed, row in enumerate(rows):
        layouts.picture(tmp_path / row[0], seed=seed)
    layouts.write_csv(tmp_path / "a.csv", ("img_path", "age", "gender", "skin-type", "subject_id"), rows)
    people = read_people(tmp_path)
    assert rows_of(people, "subject", "age", "gender", "skin-type", "skin_tone") == [
        ("7", "30-45", "male", "4", "darker"),
        ("8", "<18", "female", "3", "lighter"),
        (None, None, None, None, None),
    ]
    theirs = read_people(layouts.casual_conversations(tmp_path / "cc")).definitions
    for match in ("age", "gender", "skin_tone"):
        shared_attribute(people.definitions, theirs, match)


def test_the_list_of_images_of_miap_is_counted_if_it_is_there(tmp_path):
    layouts.miap(tmp_path)
    (tmp_path / "open_images_extended_miap_images_test.lst").write_text("test/aaaa\ntest/bbbb\ntest/cccc\n")
    assert [(each.present, each.expected) for each in read_people(tmp_path).coverage] == [(2, 4), (2, 3)]


def test_nothing_that_is_read_is_said_with_what_could_be(tmp_path):
    with pytest.raises(InputError, match=r"none of the layouts that are read: .*utkface"):
        read_people(tmp_path)
    with pytest.raises(InputError, match="there is no file or folder"):
        read_people(tmp_path / "none")
    with pytest.raises(UnknownName, match="did you mean 'utkface'"):
        read_people(tmp_path, "utk-face")


def test_hidden_files_and_odd_names_are_passed_over(tmp_path):
    layouts.utkface(tmp_path, layouts.UTK_NAMES[:2])
    layouts.picture(tmp_path / "__MACOSX" / "9_1_0_20170116235150272.jpg")
    layouts.picture(tmp_path / ".thumbs" / "9_1_0_20170116235150273.jpg")
    (tmp_path / "loop").symlink_to(tmp_path)
    try:
        Path(str(tmp_path / "9_1_0_2017") + "\udcff.jpg").write_bytes(b"")
    except OSError:
        pytest.skip("needs a file system that takes any bytes as a name")
    people = read_people(tmp_path)
    assert people.annotations.height == 2
    assert people.notes == {"file name that is not UTF-8": 1}


def test_shared_attributes_are_found_by_what_they_mean(tmp_path):
    queries = read_people(layouts.casual_conversations(tmp_path / "cc")).definitions
    database = read_people(layouts.utkface(tmp_path / "utk")).definitions
    for match in ("gender", "perceived_gender"):
        assert shared_attribute(queries, database, match) == ("gender", "perceived_gender")
    assert shared_attribute(queries, database, "age") == ("age", "perceived_age")
    with pytest.raises(UnknownName, match=r"both queries and database 'race'; .*both have: age, gender"):
        shared_attribute(queries, database, "race")


def test_other_definitions_of_one_word_are_refused(tmp_path):
    cc, v2, utk, fair = (
        read_people(WRITERS[kind](tmp_path / kind)).definitions
        for kind in ("casual_conversations", "casual_conversations_v2", "utkface", "fairface")
    )
    for ours, theirs, match in (
        (cc, fair, "age"),
        (fair, utk, "race"),
        (v2, utk, "gender"),
        (utk, fair, "age"),
    ):
        with pytest.raises(InputError, match="mean different groups"):
            shared_attribute(ours, theirs, match)
    assert shared_attribute(fair, utk, "gender") == ("perceived_gender", "perceived_gender")
    own = {"sex": AnnotatedAttribute("sex", plain_axis("sex"), "the user's table")}
    assert shared_attribute(own, utk, "gender", query_levels=["female", "x"]) == ("sex", "perceived_gender")
    with pytest.raises(InputError, match=r"mean different groups \(F, M against female, male\)"):
        shared_attribute(own, utk, "gender", query_levels=["F", "M"])


def command(*words):
    return CliRunner().invoke(data_app, [str(word) for word in words])


@each_layout
def test_the_command_checks_every_layout(kind, write, tmp_path):
    assert DATA.get(kind).name == kind
    done = command("check", kind, "--data", write(tmp_path))
    assert done.stdout
    assert isinstance(done.exception, Incomplete) or done.exit_code == 0
    missing = command("fetch", kind, "--data", tmp_path / "none")
    assert isinstance(missing.exception, InputError)
    assert KINDS[kind].layout in str(missing.exception)
    assert "\n" not in str(missing.exception)


def test_what_is_got_by_hand_is_listed_as_that():
    listed = command("list").stdout
    assert listed.count("to be got by hand; for what is missing type: evenhand data check ") >= len(WRITERS)
    assert "evenhand data check miap)" in listed


def test_the_check_sets_counts_beside_those_of_the_paper(tmp_path):
    done = command("check", "miap", "--data", layouts.miap(tmp_path))
    assert isinstance(done.exception, Incomplete)
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "images of the boxes 2 of 4" in lines
    assert "left out: box below 100 pixels 1" in lines
    assert "boxes 4 paper or release: 43523" in lines
    assert "perceived_gender female 1 paper or release: 10807" in lines
    assert "perceived_gender unknown 1 paper or release: 18371" in lines
    assert "perceived_age older 1 paper or release: 986" in lines


def test_the_check_of_whole_data_is_content_and_names_damaged_images(tmp_path):
    layouts.utkface(tmp_path, layouts.UTK_NAMES)
    done = command("check", "utkface", "--data", tmp_path)
    assert (done.exit_code, done.exception) == (0, None)
    assert "paper or release: 24108" in done.stdout
    (tmp_path / layouts.UTK_NAMES[0]).write_bytes(b"")
    done = command("check", "utkface", "--data", tmp_path)
    assert isinstance(done.exception, Incomplete)
    assert "1 header that cannot be read" in done.stdout


def test_counts_of_the_paper_add_up_as_the_specification_says():
    counts = miap.PAPER_COUNTS
    assert sum(counts["perceived_age"].values()) == sum(counts["perceived_gender"].values()) == 43_523
    assert sum(utkface.PAPER_COUNTS["perceived_gender"].values()) == 24_108
    cc = casual_conversations.PAPER_COUNTS
    assert [sum(cc[name].values()) for name in ("gender", "age", "perceived_skin_tone")] == [
        2_921,
        2_909,
        2_975,
    ]
    assert set(cc["age"]) < set(CC_AGES)


def test_real_faces_are_read_from_their_table():
    folder = SHARED / "assets" / "faces"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    people = read_people(folder)
    assert people.annotations.height == 1_004
    assert people.counts("true_gender") == {"female": 434, "male": 570}
    assert people.notes["image found by its file name alone"] == 964
    assert people.dropped == {}
    assert people.images.load(500).shape == (224, 224, 3)
    faces = read_people(folder, attributes=("true_gender", "true_race"))
    assert faces.attributes == ("true_gender", "true_race")
    assert faces.definitions["true_gender"].axis == "gender"
