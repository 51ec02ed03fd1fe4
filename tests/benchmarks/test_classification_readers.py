"""Labelled images in every form give the same samples; what cannot be used is told in one line."""

import io
import json
import tarfile

import polars as pl
import pytest
from PIL import Image

from evenhand.benchmarks.datasets.labelled_images import read_samples
from evenhand.core.errors import InputError, UnknownName
from evenhand.core.requests import UnreadableImage
from tests.conftest import SHARED

COLOURS = [(200, 0, 0), (0, 200, 0), (0, 0, 200), (9, 9, 9)]
TRUTH = ["cat", "dog", "cat", "dog"]
GROUP = ["a", "b", None, "b"]


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


def png(colour):
    stream = io.BytesIO()
    Image.new("RGB", (4, 3), colour).save(stream, "PNG")
    return stream.getvalue()


def write_images(folder, names=("0.png", "1.png", "2.png", "3.png")):
    for name, colour in zip(names, COLOURS, strict=False):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(png(colour))


def frame():
    return pl.DataFrame({"path": [f"{n}.png" for n in range(4)], "label": TRUTH, "group": GROUP})


def as_csv(folder):
    write_images(folder)
    frame().write_csv(folder / "table.csv")
    return {"data": folder / "table.csv", "image": "path", "truth": "label"}


def as_tsv_in_a_folder(folder):
    write_images(folder)
    frame().write_csv(folder / "table.tsv", separator="\t")
    return {"data": folder, "image": "path", "truth": "label"}


def as_jsonl(folder):
    write_images(folder)
    frame().write_ndjson(folder / "table.jsonl")
    return {"data": folder / "table.jsonl", "image": "path", "truth": "label"}


def as_parquet_of_paths(folder):
    write_images(folder)
    frame().write_parquet(folder / "table.parquet")
    return {"data": folder / "table.parquet", "image": "path", "truth": "label"}


def as_parquet_of_bytes(folder):
    images = [{"bytes": png(colour), "path": f"{n}.png"} for n, colour in enumerate(COLOURS)]
    table = frame().drop("path").with_columns(image=pl.Series(images))
    table[:3].write_parquet(folder / "a.parquet")
    table[3:].write_parquet(folder / "b.parquet")
    return {"data": folder, "truth": "label"}


def as_class_folders(folder):
    names = [f"{truth}/{n}.png" for n, truth in enumerate(TRUTH)]
    write_images(folder, names)
    (folder / "cat" / ".hidden.png").write_bytes(b"")
    (folder / "cat" / "notes.txt").write_text("not an image")
    pl.DataFrame({"path": names, "group": GROUP})[[3, 0, 1]].write_csv(folder / "annotations.csv")
    return {"data": folder}


def as_shards(folder):
    for shard in range(2):
        with tarfile.open(folder / f"{shard}.tar", "w") as archive:
            for number in (2 * shard, 2 * shard + 1):
                note = json.dumps({"group": GROUP[number], "more": [1, 2]}).encode()
                parts = {"png": png(COLOURS[number]), "cls": TRUTH[number].encode() + b"\n", "json": note}
                for extension, content in parts.items():
                    info = tarfile.TarInfo(f"{number}.{extension}")
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))
    return {"data": folder}


def as_saved(folder):
    datasets = pytest.importorskip("datasets")
    label = datasets.ClassLabel(names=["cat", "dog"])
    kinds = {"image": datasets.Image(), "label": label, "group": datasets.Value("string")}
    images = [{"bytes": png(colour), "path": None} for colour in COLOURS]
    rows = {"image": images, "label": [label.str2int(name) for name in TRUTH], "group": GROUP}
    datasets.Dataset.from_dict(rows, features=datasets.Features(kinds)).save_to_disk(folder / "saved")
    return {"data": folder / "saved", "truth": "label"}


def as_parquet_of_the_hub(folder):
    datasets = pytest.importorskip("datasets")
    saved = datasets.load_from_disk(as_saved(folder)["data"])
    saved.to_parquet(folder / "hub.parquet")
    return {"data": folder / "hub.parquet", "truth": "label"}


FORMS = [
    as_csv, as_tsv_in_a_folder, as_jsonl, as_parquet_of_paths, as_parquet_of_bytes, as_class_folders,
    as_shards, as_saved, as_parquet_of_the_hub,
]  # fmt: skip


@pytest.mark.parametrize("write", FORMS)
def test_every_form_gives_the_same_samples(write, tmp_path):
    (tmp_path / "data").mkdir()
    given = write(tmp_path / "data")
    samples = read_samples(**given, by=["group"])
    assert samples.annotations.columns == ["sample", "truth", "group"]
    assert samples.annotations.dtypes == [pl.String] * 3
    assert samples.annotations["sample"].is_unique().all()
    found = {
        tuple(samples.images.load(row)[0, 0].tolist()): (truth, group)
        for row, (_, truth, group) in enumerate(samples.annotations.iter_rows())
    }
    assert found == dict(zip(COLOURS, zip(TRUTH, GROUP, strict=True), strict=True))
    assert len(samples) == len(samples.images) == 4
    assert (dict(samples.dropped), samples.repeated, samples.by_name) == ({}, 0, 0)
    first = read_samples(**given, by=["group"], limit=2)
    assert first.annotations.equals(samples.annotations.head(2))
    assert len(first.images) == 2


def test_ids_are_paths_keys_or_rows(tmp_path):
    expected = {
        as_csv: ["0.png", "1.png", "2.png", "3.png"],
        as_parquet_of_bytes: ["0.png", "1.png", "2.png", "3.png"],
        as_class_folders: ["cat/0.png", "cat/2.png", "dog/1.png", "dog/3.png"],
        as_shards: ["0", "1", "2", "3"],
        as_saved: ["0", "1", "2", "3"],
    }
    for number, (write, ids) in enumerate(expected.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert read_samples(**write(folder)).annotations["sample"].to_list() == ids


def test_repeated_paths_and_ids_stay_samples(tmp_path):
    write_images(tmp_path)
    (tmp_path / "t.csv").write_text("path,name\n0.png,x\n1.png,x\n0.png,x#2\n0.png,y\n")
    samples = read_samples(tmp_path / "t.csv", image="path")
    assert samples.annotations["sample"].to_list() == ["0.png", "1.png", "0.png#2", "0.png#3"]
    assert samples.repeated == 2
    assert samples.annotations["truth"].null_count() == 4
    assert (samples.images.load(2) == samples.images.load(0)).all()
    named = read_samples(tmp_path / "t.csv", image="path", id="name")
    assert named.annotations["sample"].to_list() == ["x", "x#3", "x#2", "y"]
    assert named.repeated == 1


def test_ids_are_text_and_complete(tmp_path):
    write_images(tmp_path)
    frame().with_columns(id=pl.Series([7.0, 8.0, 9.0, 10.0])).write_parquet(tmp_path / "t.parquet")
    samples = read_samples(tmp_path / "t.parquet", image="path", id="id")
    assert samples.annotations["sample"].to_list() == ["7", "8", "9", "10"]
    with pytest.raises(InputError, match="id column 'group' has 1 empty cells"):
        read_samples(tmp_path / "t.parquet", image="path", id="group")


def test_labels_are_read_as_predictions_are(tmp_path):
    write_images(tmp_path)
    (tmp_path / "t.csv").write_text("path,n,f,g\n0.png,97.0,1.5,1\n1.png,3.0,2,\n2.png,,2,0\n")
    samples = read_samples(tmp_path / "t.csv", image="path", truth="n", by=["g"])
    assert samples.annotations["truth"].to_list() == ["97", "3", None]
    assert samples.annotations["g"].to_list() == ["1", None, "0"]
    with pytest.raises(InputError, match=r"fractional numbers such as 1\.5"):
        read_samples(tmp_path / "t.csv", image="path", truth="f")
    columns = {"n": [97.0, None, float("nan")], "b": [True, None, False], "half": [0.5, 1.0, None]}
    typed = pl.DataFrame({"path": ["0.png", "1.png", "2.png"], **columns})
    typed.write_parquet(tmp_path / "t.parquet")
    samples = read_samples(tmp_path / "t.parquet", image="path", truth="n", by=["b", "half"])
    assert samples.annotations["truth"].to_list() == ["97", None, None]
    assert samples.annotations["b"].to_list() == ["true", None, "false"]
    assert samples.annotations["half"].to_list() == ["0.5", "1.0", None]


def test_rows_without_a_path_are_dropped_and_counted(tmp_path):
    write_images(tmp_path)
    (tmp_path / "t.csv").write_text("path,label\n0.png,a\n,b\n2.png,c\n")
    samples = read_samples(tmp_path / "t.csv", image="path", truth="label")
    assert samples.annotations["truth"].to_list() == ["a", "c"]
    assert samples.dropped == {"no image path in the row": 1}
    assert samples.images.load(1)[0, 0].tolist() == list(COLOURS[2])
    assert len(read_samples(tmp_path / "t.csv", image="path")) == 2


def test_a_missing_file_is_told_when_it_is_read(tmp_path):
    (tmp_path / "t.csv").write_text("path,label\ngone.png,a\n")
    samples = read_samples(tmp_path / "t.csv", image="path", truth="label")
    with pytest.raises(UnreadableImage, match="no such file"):
        samples.images.load(0)


def test_roots_are_searched_in_order_by_path_then_by_name(tmp_path):
    for root, name, colour in [
        ("one", "val/0.png", 0), ("two", "val/0.png", 3), ("two", "1.png", 1), ("two", "deep/2.png", 2)
    ]:  # fmt: skip
        (tmp_path / root / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / root / name).write_bytes(png(COLOURS[colour]))
    (tmp_path / "t.csv").write_text("path\nval/0.png\nval/1.png\nval/2.png\nval/9.png\n")
    samples = read_samples(tmp_path / "t.csv", image="path", roots=[tmp_path / "one", tmp_path / "two"])
    assert [samples.images.load(row)[0, 0].tolist() for row in range(3)] == [list(c) for c in COLOURS[:3]]
    assert samples.by_name == 2
    assert samples.images.digests(3, 4)[0].reason == "no such file"
    assert samples.annotations["sample"].to_list() == ["val/0.png", "val/1.png", "val/2.png", "val/9.png"]
    (tmp_path / "two" / "deep" / "1.png").write_bytes(b"")
    with pytest.raises(InputError, match=r"2 files of that name"):
        read_samples(tmp_path / "t.csv", image="path", roots=[tmp_path / "two"])
    with pytest.raises(InputError, match="there is no folder"):
        read_samples(tmp_path / "t.csv", image="path", roots=[tmp_path / "gone"])


def test_without_roots_only_the_path_counts(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "0.png").write_bytes(png(COLOURS[0]))
    (tmp_path / "t.csv").write_text("path\nval/0.png\n")
    assert read_samples(tmp_path / "t.csv", image="path").images.digests(0, 1)[0].reason == "no such file"


def test_what_cannot_be_used_is_told_in_one_line(tmp_path):
    def check_refused(kind, words, data, **options):
        with pytest.raises(kind, match=words) as caught:
            read_samples(tmp_path / data, **options)
        assert "\n" not in str(caught.value)

    write_images(tmp_path / "images")
    frame().write_csv(tmp_path / "t.csv")
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed" / "cat").mkdir(parents=True)
    write_images(tmp_path / "mixed", ["cat/0.png", "1.png"])
    write_images(tmp_path / "classes", ["cat/0.png", "dog/1.png"])
    check_refused(UnknownName, "no column 'pth'; did you mean 'path'", "t.csv", image="pth")
    check_refused(
        UnknownName, "no column 'lable'; did you mean 'label'", "t.csv", image="path", truth="lable"
    )
    check_refused(UnknownName, "no column 'grup'; did you mean 'group'", "t.csv", image="path", by=["grup"])
    check_refused(InputError, "name its column of images with --image, one of 'path'", "t.csv")
    check_refused(InputError, "there is no file", "gone.csv", image="path")
    check_refused(InputError, "there is no file", "gone-*.tar")
    check_refused(InputError, "unknown format", "images/0.png", image="path")
    check_refused(InputError, "no table and no class folders", "empty")
    check_refused(InputError, "no table .*leave --image out", "classes", image="path")
    check_refused(InputError, "no table and no class folders", "images")
    check_refused(InputError, "outside of class folders", "mixed")
    check_refused(InputError, "no annotations.csv, where 'group'", "classes", by=["group"])
    check_refused(InputError, "cannot be called 'truth'", "t.csv", image="path", by=["truth"])
    (tmp_path / "classes" / "annotations.csv").write_text("path,group\nelsewhere.png,a\n")
    check_refused(InputError, "no path in .* is that of an image", "classes", by=["group"])
    (tmp_path / "none.csv").write_text("path\n")
    check_refused(InputError, "holds no images", "none.csv", image="path")
    frame().write_csv(tmp_path / "t2.csv")
    check_refused(InputError, "several tables; give one of", ".", image="path")
    pl.DataFrame({"path": [1.5]}).write_parquet(tmp_path / "n.parquet")
    check_refused(InputError, "holds Float64 values", "n.parquet", image="path")
    with pytest.raises(InputError, match="not on this machine"):
        read_samples("s3://bucket/t.csv", image="path")


def write_tar(path, entries):
    with tarfile.open(path, "w") as archive:
        for name, content in entries:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def test_shards_with_gaps(tmp_path):
    first = [("a/x.y.png", png(COLOURS[0])), ("a/x.cls", b"1"), ("._b.png", b""), ("b.cls", b"2")]
    write_tar(tmp_path / "0.tar", [*first, ("c.jpg", png(COLOURS[1])), ("c.json", b'{"kind": 5}')])
    samples = read_samples(tmp_path / "*.tar", by=["kind"])
    assert samples.annotations.rows() == [("a/x", "1", None), ("c", None, "5")]
    assert samples.dropped == {"no image in the sample": 1}
    samples = read_samples(tmp_path / "0.tar", image="jpg", truth="kind")
    assert samples.annotations.rows() == [("c", "5")]
    assert samples.dropped == {"no image in the sample": 2}
    with pytest.raises(UnknownName, match="did you mean 'kind'"):
        read_samples(tmp_path / "0.tar", by=["kinds"])
    write_tar(tmp_path / "1.tar", [("a.txt", b"text")])
    with pytest.raises(InputError, match="no image"):
        read_samples(tmp_path / "1.tar")
    write_tar(tmp_path / "2.tar", [("a.png", png(COLOURS[0])), ("a.json", b"{")])
    with pytest.raises(InputError, match="mend sample 'a'"):
        read_samples(tmp_path / "2.tar")


def test_the_labelled_faces():
    faces = SHARED / "assets" / "faces"
    if not faces.is_dir():
        pytest.skip(f"needs {faces}")
    options = {"image": "img_path", "truth": "true_gender", "by": ["true_race"]}
    samples = read_samples(faces / "labels.csv", **options, roots=[faces / "extra_val"])
    assert (len(samples), samples.repeated, samples.by_name) == (1004, 4, 1004)
    assert len(set(samples.images.digests(0, 1004))) == 1000
    assert samples.images.load(1003).shape == (224, 224, 3)
