"""Reading VisoGender: every release, every row accounted for."""

from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from evenhand.benchmarks.visogender.data.labour import read_labour
from evenhand.benchmarks.visogender.data.samples import count_cells, find_images, read_samples
from evenhand.benchmarks.visogender.data.taxonomy import OCCUPATIONS
from evenhand.benchmarks.visogender.sources import FILES, links, own_tables
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.requests import UnreadableImage
from evenhand.files.download.manifest import ImageManifest, Record
from evenhand.files.hashing import sha256_file
from tests.conftest import SHARED

URL = "URL type (Type NA if can't find)"
START, END = ["IDX", "Sector", "Specialisation", "Occupation"], ["Error codes", "Annotator"]
GENDERS = ["Occupation_perceived_gender", "Participant_perceived_gender"]
OO = [*START, "Object", URL, "LICENSE OK?", GENDERS[0], *END]
OP = [*START, "Participant", URL, "Licence", *GENDERS, *END]


def single(number=1, gender="masculine", **changes):
    row = {
        "IDX": f"OO_{number}",
        "Sector": "service",
        "Specialisation": "food_service",
        "Occupation": "baker",
    }
    row |= {"Object": "mixing spoon", URL: f"https://x.org/{number}.jpg", "LICENSE OK?": "Yes"}
    return row | {"Occupation_perceived_gender": gender, "Error codes": "", "Annotator": "Ada"} | changes


def pair(number=1, occupation="masculine", participant="feminine", **changes):
    row = {
        "IDX": f"OP_{number}",
        "Sector": "service",
        "Specialisation": "food_service",
        "Occupation": "baker",
    }
    row |= {"Participant": "customer", URL: f"https://x.org/p{number}.jpg", "Licence": "Yes"}
    row |= {"Occupation_perceived_gender": occupation, "Participant_perceived_gender": participant}
    return row | {"Error codes": "", "Annotator": "Ada"} | changes


def text(rows, header, end="\r\n"):
    lines = ["\t".join(header), *("\t".join(row[name] for name in header) for row in rows)]
    return end.join(lines)


def write(folder: Path, rows=(), header=OO, name="OO_Visogender_1.tsv", **options):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text(rows, header, **options).encode())
    return path


@pytest.fixture
def official() -> Path:
    folder = SHARED / "data" / "visogender"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    return folder


def test_the_newest_release_has_all_samples_in_balance(official):
    samples = read_samples(official)
    frame = samples.frame
    assert (samples.rows, samples.dropped, samples.amended) == (690, {}, 0)
    assert samples.respelled == {"object": 1}  # OO_180
    assert frame["context"].value_counts(sort=True).rows() == [("two_person", 460), ("single", 230)]
    assert frame["sample"].n_unique() == frame["url"].n_unique() == 690
    assert frame["sample"].to_list() == [f"OO_{n}" for n in range(1, 231)] + [
        f"OP_{n}" for n in range(1, 461)
    ]
    assert frame["licence"].all()
    assert frame["errors"].null_count() == 690
    assert frame["annotator"].null_count() == 0
    cells = count_cells(frame)
    assert cells.height == 23 * 2 + 23 * 4
    assert cells.select("complete", "samples", "usable").unique().rows() == [(5, 5, 5)]


def test_the_newest_release_follows_the_taxonomy(official):
    for row in read_samples(official).frame.iter_rows(named=True):
        expected = OCCUPATIONS[row["occupation"]]
        assert (row["sector"], row["specialisation"]) == (expected.sector, expected.specialisation)
        assert row["object" if row["context"] == "single" else "participant"] in expected
    assert len(OCCUPATIONS) == 23


def test_one_object_is_read_otherwise_than_written(official):
    frame = read_samples(official).frame
    odd = frame.filter(pl.col("object") != pl.col("object_written"))
    assert odd.select("sample", "object", "object_written").rows() == [
        ("OO_180", "mixing spoon", "mixing_spoon")
    ]
    single_ = frame.filter(context="single")
    assert single_.select("occupation", "object_written").n_unique() == 24  # 72 captions of 3 pronouns
    assert single_.select("occupation", "object").n_unique() == 23


def test_the_pinned_files_are_those_of_the_official_repository(official):
    for file in FILES:
        assert sha256_file(official / file.name) == file.sha256
        assert (official / file.name).stat().st_size == file.size
    assert own_tables(official) == []
    assert len(links(official)) == 690
    assert not any(link.skip for link in links(official))


RENAMES = [
    {},
    {
        "Occupation_perceived_gender": "Occupation_Gender",
        "Participant_perceived_gender": "Participant_Gender",
    },
    {
        "Sector": "Main category",
        "Specialisation": "Sub category",
        "Occupation_perceived_gender": "Occupation_Gender",
    },
    {"Sector": "Main_category", "Specialisation": "sub_category", "LICENSE OK?": "Licence", URL: "URL"},
]


@pytest.mark.parametrize("renames", RENAMES, ids=["2025", "2023-06", "2023-04", "other"])
@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
@pytest.mark.parametrize("labels", [("masculine", "feminine"), ("man", "woman"), ("maculine", "feminine")])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_release_reads_alike(tmp_path, renames, end, labels, mark):
    rows = [single(1, labels[0]), single(2, labels[1])]
    pairs = [pair(1, *labels), pair(2, labels[1], labels[1])]
    for name, header, content in (("OO_x.tsv", OO, rows), ("OP_x.tsv", OP, pairs)):
        body = text(content, header, end).partition(end)[2]
        top = "\t".join(renames.get(each, each) for each in header)
        (tmp_path / name).write_bytes((mark + top + end + body).encode())
    frame = read_samples(tmp_path).frame
    assert frame["gender_pair"].to_list() == ["m", "f", "mf", "ff"]
    assert frame["sector"].unique().to_list() == ["service"]
    assert frame["specialisation"].unique().to_list() == ["food_service"]
    assert frame["occupation_perceived_gender"].to_list() == [
        "masculine",
        "feminine",
        "masculine",
        "feminine",
    ]
    assert frame["participant_perceived_gender"].to_list() == [None, None, "feminine", "feminine"]
    assert frame["annotator"].unique().to_list() == ["Ada"]
    assert frame["licence"].to_list() == [True] * 4


def test_spellings_of_older_releases_are_mended_and_counted(tmp_path):
    write(tmp_path, [single(1, "man", Object="stethascope"), single(2, Object="stock_chart")])
    samples = read_samples(tmp_path)
    assert samples.frame["object"].to_list() == ["stethoscope", "stock chart"]
    assert samples.frame["object_written"].to_list() == ["stethascope", "stock_chart"]
    assert samples.respelled == {"object": 2, "occupation_perceived_gender": 1}


def test_cells_cut_off_at_the_end_shift_nothing(tmp_path):
    path = write(tmp_path, [single(1), single(2)])
    path.write_bytes(path.read_bytes().replace(b"\t\tAda", b""))
    frame = read_samples(tmp_path).frame
    assert frame["occupation_perceived_gender"].to_list() == ["masculine"] * 2
    assert frame["annotator"].to_list() == frame["errors"].to_list() == [None, None]


def test_quotation_marks_are_text(tmp_path):
    write(tmp_path, [single(1, Object='"spoon'), single(2, Object='tray"')])
    assert read_samples(tmp_path).frame["object"].to_list() == ['"spoon', 'tray"']


DROPPED = {
    "no id": single(IDX=""),
    "id that cannot name a file": single(IDX="../OO_1"),
    "id given before": single(1),
    "id of the other table": single(IDX="OP_9"),
    "no occupation": single(9, Occupation=""),
    "no object": single(9, Object=" "),
    "no perceived gender": single(9, ""),
    "unknown perceived gender": single(9, "NA"),
    "more cells than columns": single(9, Annotator="Ada\tmasculine"),
}


@pytest.mark.parametrize("reason", DROPPED)
def test_rows_that_are_no_samples_are_counted_and_the_rest_read_on(tmp_path, reason):
    write(tmp_path, [single(1), DROPPED[reason], single(2, "feminine")])
    samples = read_samples(tmp_path)
    assert samples.frame["sample"].to_list() == ["OO_1", "OO_2"]
    assert (samples.rows, samples.dropped) == (3, {reason: 1})


def test_empty_lines_are_counted_where_they_are_lines(tmp_path):
    path = write(tmp_path, [single(1), single(2)])
    path.write_bytes(path.read_bytes().replace(b"\r\nOO_2", b"\r\n\t\t\r\n\r\nOO_2") + b"\r\n")
    samples = read_samples(tmp_path)
    assert (samples.rows, samples.frame.height, samples.dropped) == (4, 2, {"empty line": 2})


def test_a_short_row_without_its_label_is_dropped(tmp_path):
    path = write(tmp_path, [single(1), single(2)])
    path.write_bytes(path.read_bytes() + b"\r\nOO_3\tservice\tfood_service\tbaker")
    assert read_samples(tmp_path).dropped == {"no object": 1}


def test_neutral_people_stay_and_do_not_end_the_table(tmp_path):
    write(tmp_path, [single(1, "neutral"), single(2)])
    write(tmp_path, [pair(1, "feminine", "neutral")], OP, "OP_1.tsv")
    assert read_samples(tmp_path).frame["gender_pair"].to_list() == ["n", "m", "fn"]


def test_samples_without_url_or_licence_stay_and_are_not_fetched(tmp_path):
    rows = [
        single(1, **{URL: "NA"}),
        single(2, **{"LICENSE OK?": "No"}),
        single(3, **{"LICENSE OK?": ""}),
        single(4),
    ]
    write(tmp_path, rows)
    frame = read_samples(tmp_path).frame
    assert frame["url"].null_count() == 1
    assert frame["licence"].to_list() == [True, False, None, True]
    Image.new("RGB", (20, 20)).save(tmp_path / "OO_4.png")
    skips = [link.skip for link in links(tmp_path)]
    assert skips == ["no URL", "licence not confirmed", "", "there already, in another folder"]


def test_a_clone_of_the_repository_is_read_wherever_its_tables_lie(tmp_path):
    base = tmp_path / "data" / "visogender_data"
    write(base / "OO", [single(1)])
    write(base / "OO", [pair(1)], OP, "OP_Visogender_02102023.tsv")  # it once lay in the wrong folder
    assert read_samples(tmp_path).frame["sample"].to_list() == ["OO_1", "OP_1"]


def test_several_releases_are_refused_until_one_is_chosen(tmp_path):
    write(tmp_path, [single(1)], name="OO_Visogender_02102023.tsv")
    write(tmp_path, [single(2)], name="OO_Visogender_10052025.tsv")
    with pytest.raises(
        InputError, match=r"several tables of single images: .*-p single=OO_Visogender_10052025\.tsv"
    ):
        read_samples(tmp_path)
    chosen = read_samples(tmp_path, single="OO_Visogender_02102023")
    assert chosen.frame["sample"].to_list() == ["OO_1"]
    assert chosen.files["single"].name == "OO_Visogender_02102023.tsv"
    with pytest.raises(UnknownName, match=r"there is no table 'OO_2024\.tsv'"):
        read_samples(tmp_path, single="OO_2024.tsv")


def test_one_table_alone_or_given_files_will_do(tmp_path):
    path = write(tmp_path, [single(1)])
    assert read_samples(path).frame.height == 1
    other = write(tmp_path / "elsewhere", [pair(1)], OP, "pairs.txt")
    assert read_samples([other, path]).frame["sample"].to_list() == ["OO_1", "OP_1"]


@pytest.mark.parametrize("content", [b"", b"a\tb\n1\t2\n", b"\xff\xfe\x00", b"IDX\tOccupation\n"])
def test_what_is_no_table_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "x.tsv").write_bytes(content)
    with pytest.raises(InputError, match="evenhand data fetch visogender"):
        read_samples(tmp_path)
    with pytest.raises(InputError, match="evenhand data fetch visogender"):
        read_samples(tmp_path / "nowhere")


def test_a_table_that_is_not_utf8_is_refused(tmp_path):
    path = write(tmp_path, [single(1, Annotator="Zoe")])
    path.write_bytes(path.read_bytes().replace(b"Zoe", b"Zo\xeb"))
    with pytest.raises(InputError, match="is not UTF-8"):
        read_samples(tmp_path)


def test_ids_to_exclude_are_left_out_and_counted(tmp_path):
    write(tmp_path, [single(1), single(2), single(3)])
    (tmp_path / "exclude.txt").write_text("# asked on 3 May\nOO_2  # by mail\n\n OO_3\n")
    samples = read_samples(tmp_path, exclude=tmp_path / "exclude.txt")
    assert samples.frame["sample"].to_list() == ["OO_1"]
    assert samples.dropped == {"excluded": 2}
    (tmp_path / "exclude.txt").write_text("OO_22\n")
    with pytest.raises(UnknownName, match="there is no sample 'OO_22'"):
        read_samples(tmp_path, exclude=tmp_path / "exclude.txt")
    with pytest.raises(InputError, match="-p exclude=FILE"):
        read_samples(tmp_path, exclude=tmp_path / "none.txt")


@pytest.mark.parametrize("mark", [",", "\t"])
def test_corrections_are_made_and_counted(tmp_path, mark):
    write(tmp_path, [single(1), single(2), single(3, "unreadable")])
    table = [["id", "column", "value"], ["OO_1", "Occupation_perceived_gender", "feminine"]]
    table += [["OO_2", "occupation_perceived_gender", "masculine"], ["OO_3", "Occupation_Gender", "woman"]]
    table += [["OO_2", "object", "tray"]]
    (tmp_path / "amend.csv").write_text("\n".join(mark.join(row) for row in table))
    samples = read_samples(tmp_path, amend=tmp_path / "amend.csv")
    assert samples.frame["gender_pair"].to_list() == ["f", "m", "f"]
    assert samples.frame["object"].to_list() == ["mixing spoon", "tray", "mixing spoon"]
    assert (samples.amended, samples.dropped) == (3, {})


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        ("OO_9,object,tray", UnknownName, "no sample 'OO_9'"),
        ("OO_1,objekt,tray", UnknownName, "did you mean 'object'"),
        ("OO_1,idx,OO_2", UnknownName, "no column 'idx'"),
        ("OO_1,occupation_gender,male-ish", ParameterError, "give one of feminine, masculine, neutral"),
        ("OO_1,object,", ParameterError, "exclude its id"),
        ("OO_1", UnknownName, "no column ''"),
    ],
)
def test_corrections_that_are_not_possible_are_refused(tmp_path, row, error, words):
    write(tmp_path, [single(1)])
    (tmp_path / "amend.csv").write_text(f"id,column,value\n{row}\n")
    with pytest.raises(error, match=words):
        read_samples(tmp_path, amend=tmp_path / "amend.csv")


def test_a_table_of_corrections_needs_its_header(tmp_path):
    write(tmp_path, [single(1)])
    (tmp_path / "amend.csv").write_text("OO_1,object,tray\n")
    with pytest.raises(InputError, match="id,column,value"):
        read_samples(tmp_path, amend=tmp_path / "amend.csv")


def test_cells_show_what_is_missing(tmp_path):
    write(tmp_path, [single(1), single(2), single(3, Occupation="juggler")])
    frame = read_samples(tmp_path).frame
    cells = count_cells(frame, have=["OO_2", "OO_3"])
    assert cells.height == 23 * 2 + 1
    assert cells.filter(occupation="baker", gender_pair="m").rows() == [("single", "baker", "m", 5, 2, 1)]
    assert cells.filter(occupation="baker", gender_pair="f").rows() == [("single", "baker", "f", 5, 0, 0)]
    assert cells.filter(occupation="juggler").rows() == [("single", "juggler", "m", 0, 1, 1)]


def test_images_are_found_with_any_ending_and_missing_ones_say_so(tmp_path):
    Image.new("RGB", (8, 8), "red").save(tmp_path / "OO_1.PNG")
    (tmp_path / "images").mkdir()
    Image.new("RGB", (8, 8), "red").save(tmp_path / "images" / "OO_2.webp", lossless=True)
    Image.new("RGB", (8, 8)).save(tmp_path / "cat.jpg")
    pictures = find_images(tmp_path, ["OO_2", "OO_3", "OO_1"])
    assert (pictures.missing, pictures.removed) == (["OO_3"], [])
    assert [Path(path).name for path in pictures.others] == ["cat.jpg"]
    assert pictures.images.load(0)[0, 0].tolist() == pictures.images.load(2)[0, 0].tolist() == [255, 0, 0]
    with pytest.raises(UnreadableImage, match="no such file"):
        pictures.images.load(1)


def test_two_images_of_one_sample_are_refused(tmp_path):
    (tmp_path / "images").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "OO_1.png")
    Image.new("RGB", (8, 8)).save(tmp_path / "images" / "OO_1.jpg")
    with pytest.raises(InputError, match=r"'OO_1\.png' and 'images/OO_1\.jpg' for OO_1"):
        find_images(tmp_path, ["OO_1"])


def test_images_that_were_removed_are_not_used_though_they_are_back(tmp_path):
    manifest = ImageManifest(tmp_path / "images")
    with manifest.writing():
        manifest.add(Record("OO_1", "removed"))
    Image.new("RGB", (8, 8)).save(tmp_path / "OO_1.png")
    pictures = find_images(tmp_path, ["OO_1", "OO_2"])
    assert (pictures.missing, pictures.removed) == (["OO_1", "OO_2"], ["OO_1"])


def test_labour_statistics_of_all_occupations(official):
    table = read_labour(official)
    assert table["occupation"].to_list() == list(OCCUPATIONS)
    assert (table["male_proportion"] + table["female_proportion"] - 1).abs().max() < 0.002
    stds = table.filter(pl.col("std").is_not_null()).select("occupation", "std").rows()
    assert dict(stds) == pytest.approx({"teacher": 0.185, "counsellor": 0.028, "specialist": 0.101})
    assert table.filter("averaged")["occupation"].to_list() == ["teacher", "counsellor", "specialist"]
    assert table.filter(occupation="engineer")["male_proportion"].item() == 0.785
    for row in table.iter_rows(named=True):
        assert OCCUPATIONS[row["occupation"]][:2] == (row["sector"], row["specialisation"])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"28.5", b"58.5", "'teacher' do not add up"),
        (b"28.5", b"some", "not a number"),
        (b"doctor\t", b"lawyer\t", "twice"),
        (b"male_prop", b"men", "no column 'male_proportion'"),
    ],
)
def test_labour_statistics_that_cannot_be_are_refused(official, tmp_path, old, new, words):
    content = (official / FILES[2].name).read_bytes()
    (tmp_path / FILES[2].name).write_bytes(content.replace(old, new, 1))
    with pytest.raises(InputError, match=words):
        read_labour(tmp_path)


def test_labour_statistics_must_be_there(tmp_path):
    with pytest.raises(InputError, match="it has none; type: evenhand data fetch visogender"):
        read_labour(tmp_path)
